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
_OPTIONS = dict.fromkeys(("changed", "draft", "page", "sealed"), "output")
_OPTIONS["save_plan"] = "save-plan"
_TABLES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def refuse_overwriting(args: argparse.Namespace) -> None:
    """Reject to write over anything that is read or kept, or over what is written as well.

    Results are written even where a command fails, so that this comes before everything.
    """
    tables = _tables(args)
    taken = [*_single(args)]
    taken += [(name, f"part of {what} that is read") for what, names in tables for name in names]
    for option in (
        "apply",
        "changed",
        "page",
        *RESULTS,
        "draft",
        "sealed",
        "resolved",
        "save_plan",
    ):
        path = getattr(args, option, None)
        if path is None:
            continue
        name = _OPTIONS.get(option, option)
        for other, what in taken:
            if _same_file(Path(path), Path(other)):
                shown = without_values(path)
                raise ArgumentError(f"--{name} {shown!r} is {what}: write it somewhere else")
        taken.append((path, f"what --{name} writes"))
        if option in RESULTS and "://" not in path:
            # An empty path is refused where it is read: no earlier result is left standing then.
            for what, names in tables:
                outside_table(f"--{option}", path, [name for name in names if name.strip()], what)


def _tables(args: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """List the paths of each table that a command reads: files, folders or patterns."""
    results = []
    options = {"table": ("table", "input"), "population": ("population",), "base": ("against",)}
    options["release"] = ("files",)
    for what, names in options.items():
        paths = [getattr(args, name, None) or () for name in names]
        # What a repository calls a population is a text, and no path.
        listed = [path for item in paths if not isinstance(item, str) for path in item]
        results.append((f"the {what}", [path for path in listed if path != STDIN]))
    return [*results, ("a table", of_release(args))]


def of_release(args: argparse.Namespace) -> list[str]:
    """List the paths of the tables that a release names."""
    if getattr(args, "release", None) is None:
        return []
    from anonrisk.releases.release.parts import table_paths

    return table_paths(args.release)


def _single(args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """List the other files that a command reads, or keeps things in."""
    known = {"policy": "the policy", "plan": "the plan", "previous": "the plan before"}
    known |= {"release": "the release", "approvals": "where approvals are", "key_file": "the key"}
    known |= {
        "seal": "the key",
        "signing_key": "the key",
        "public_key": "the key",
        "manifest": "the manifest",
    }
    for option, what in known.items():
        if getattr(args, option, None) is not None:
            yield getattr(args, option), what
    for part in getattr(args, "key_part", None) or ():
        yield part, "a part of the key"
    for _, name in getattr(args, "hierarchies", None) or ():
        yield name, "a hierarchy that is read"
    if getattr(args, "ledger", None) is not None:
        yield args.ledger.rpartition(":///")[2], "the ledger"
    if getattr(args, "release", None) is not None:
        from anonrisk.releases.release.parts import policy_paths

        yield from ((path, "a policy of the release") for path in policy_paths(args.release))
    if hasattr(args, "repository"):
        from anonrisk.priors.repository import DEFAULT_PLACE

        yield (args.repository or DEFAULT_PLACE).removeprefix("sqlite:///"), "the repository"


def outside_table(option: str, text: str, tables: Sequence[str], what: str = "the table") -> Path:
    """Reject a file that would be part of the table when that is read again."""
    refuse_blank(tables)
    path = Path(text)
    if path.is_dir():
        raise ArgumentError(f"{option} {text!r} is a folder: name a file")
    where = path.resolve()
    for table in tables:
        read = Path(table).resolve()
        if read in where.parents or fnmatch.fnmatch(str(where), str(read)):
            raise ArgumentError(
                f"{option} {without_values(text)!r} would be part of {what} that is read: write "
                "it somewhere else"
            )
    return path


def _same_file(item: Path, other: Path) -> bool:
    """Return whether two paths are one file, also where it has two names."""
    return item.resolve() == other.resolve() or (
        item.exists() and other.exists() and item.samefile(other)
    )


def table_path(option: str, text: str, tables: Sequence[str], *, force: bool) -> tuple[Path, str]:
    """Find where a table goes, and in which format; nothing is lost that nobody gave up."""
    path = outside_table(option, text, tables)
    kind = _TABLES.get(path.suffix.casefold())
    if kind is None:
        raise ArgumentError(f"{option} {text!r}: the name must end in {', '.join(_TABLES)}")
    _refuse_existing(option, path, text, force=force)
    return path, kind


def rewritten_path(text: str, tables: Sequence[str], *, force: bool) -> Path:
    """Find where a file goes that is written anew; its format is that of the one that is read."""
    if any(_same_file(Path(text), Path(table)) for table in tables):
        raise ArgumentError(f"OUT {text!r} is the file that is read: write it somewhere else")
    path = outside_table("OUT", text, tables)
    _refuse_existing("OUT", path, text, force=force)
    return path


def policy_path(option: str, text: str, tables: Sequence[str], *, force: bool) -> Path:
    """Find where a policy goes; one that somebody has edited is not lost unless they say so."""
    path = outside_table(option, text, tables)
    if path.suffix.casefold() in _TABLES:
        raise ArgumentError(f"{option} {text!r}: a policy is YAML, or JSON if it ends in .json")
    _refuse_existing(option, path, text, force=force)
    return path


def _refuse_existing(option: str, path: Path, text: str, *, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise ArgumentError(f"{option} {text!r} is there already; --force replaces it")
