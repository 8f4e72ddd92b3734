"""Where a command writes: never over what it reads."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.engines.reading.files import STDIN, refuse_blank, without_values
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

# Options that name a file for a result.
RESULTS = ("junit", "sarif", "markdown", "output")
# How options are called whose values have another name, because another command has that one.
_OPTIONS = {"draft": "output", "changed": "output", "sealed": "manifest"}
_TABLES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def refuse_overwriting(given: argparse.Namespace) -> None:
    """Reject to write over anything that is read or kept, or over what is written as well.

    Results are written even where a command fails, so that this comes before everything.
    """
    tables = _tables(given)
    taken = [*_single(given)]
    taken += [(name, f"part of {what} that is read") for what, names in tables for name in names]
    for option in ("apply", "changed", "html", *RESULTS, "draft", "sealed"):
        path = getattr(given, option, None)
        if path is None:
            continue
        for other, what in taken:
            if _same_file(Path(path), Path(other)):
                name = _OPTIONS.get(option, option)
                shown = without_values(path)
                raise ArgumentError(f"--{name} {shown!r} is {what}: write it somewhere else")
        taken.append((path, f"what --{option} writes"))
        if option in RESULTS and "://" not in path:
            # An empty path is refused where it is read: no earlier result is left standing then.
            for what, names in tables:
                outside_table(f"--{option}", path, [name for name in names if name.strip()], what)


def _tables(given: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """List the paths of each table that a command reads: files, folders or patterns."""
    found = []
    options = {"table": ("table", "input"), "population": ("population",), "base": ("against",)}
    options["release"] = ("files",)
    for what, names in options.items():
        paths = [getattr(given, name, None) or () for name in names]
        # What a repository calls a population is a text, and no path.
        listed = [path for one in paths if not isinstance(one, str) for path in one]
        found.append((f"the {what}", [path for path in listed if path != STDIN]))
    return [*found, ("a table", of_release(given))]


def of_release(given: argparse.Namespace) -> list[str]:
    """List the paths of the tables that a release names."""
    if getattr(given, "release", None) is None:
        return []
    from anonrisk.releases.release.parts import table_paths

    return table_paths(given.release)


def _single(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """List the other files that a command reads, or keeps things in."""
    known = {"policy": "the policy", "plan": "the plan", "previous": "the plan before"}
    known |= {"release": "the release", "approvals": "where approvals are", "key_file": "the key"}
    known |= {"seal": "the key", "public_key": "the key", "manifest": "the manifest"}
    for option, what in known.items():
        if getattr(given, option, None) is not None:
            yield getattr(given, option), what
    for part in getattr(given, "key_part", None) or ():
        yield part, "a part of the key"
    for _, name in getattr(given, "hierarchies", None) or ():
        yield name, "a hierarchy that is read"
    if getattr(given, "ledger", None) is not None:
        yield given.ledger.rpartition(":///")[2], "the ledger"
    if getattr(given, "release", None) is not None:
        from anonrisk.releases.release.parts import policy_paths

        yield from ((path, "a policy of the release") for path in policy_paths(given.release))
    if hasattr(given, "repository"):
        from anonrisk.priors.repository import DEFAULT_PLACE

        yield (given.repository or DEFAULT_PLACE).removeprefix("sqlite:///"), "the repository"


def outside_table(option: str, given: str, tables: Sequence[str], what: str = "the table") -> Path:
    """Reject a file that would be part of the table when that is read again."""
    refuse_blank(tables)
    path = Path(given)
    if path.is_dir():
        raise ArgumentError(f"{option} {given!r} is a folder: name a file")
    where = path.resolve()
    for table in tables:
        read = Path(table).resolve()
        if read in where.parents or fnmatch.fnmatch(str(where), str(read)):
            raise ArgumentError(
                f"{option} {without_values(given)!r} would be part of {what} that is read: write "
                "it somewhere else"
            )
    return path


def _same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are one file, also where it has two names."""
    return one.resolve() == other.resolve() or (
        one.exists() and other.exists() and one.samefile(other)
    )


def table_path(option: str, given: str, tables: Sequence[str], *, force: bool) -> tuple[Path, str]:
    """Find where a table goes, and in which format; nothing is lost that nobody gave up."""
    path = outside_table(option, given, tables)
    kind = _TABLES.get(path.suffix.casefold())
    if kind is None:
        raise ArgumentError(f"{option} {given!r}: the name must end in {', '.join(_TABLES)}")
    _refuse_existing(option, path, given, force=force)
    return path, kind


def rewritten_path(given: str, tables: Sequence[str], *, force: bool) -> Path:
    """Find where a file goes that is written anew; its format is that of the one that is read."""
    if any(_same_file(Path(given), Path(table)) for table in tables):
        raise ArgumentError(f"OUT {given!r} is the file that is read: write it somewhere else")
    path = outside_table("OUT", given, tables)
    _refuse_existing("OUT", path, given, force=force)
    return path


def policy_path(option: str, given: str, tables: Sequence[str], *, force: bool) -> Path:
    """Find where a policy goes; one that somebody has edited is not lost unless they say so."""
    path = outside_table(option, given, tables)
    if path.suffix.casefold() in _TABLES:
        raise ArgumentError(f"{option} {given!r}: a policy is YAML, or JSON if it ends in .json")
    _refuse_existing(option, path, given, force=force)
    return path


def _refuse_existing(option: str, path: Path, given: str, *, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise ArgumentError(f"{option} {given!r} is there already; --force replaces it")
