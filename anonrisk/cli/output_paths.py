"""Where a command writes: never over what it reads."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.engines.reading.files import STDIN, refuse_blank
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

# Options that name a file for a result.
RESULTS = ("junit", "sarif", "markdown", "output")
_TABLES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def refuse_overwriting(given: argparse.Namespace) -> None:
    """Refuse to write over anything that is read or kept, or over what is written as well.

    Results are written even where a command fails, so that this comes before everything.
    """
    tables = [*(getattr(given, "table", None) or ()), *(getattr(given, "input", None) or ())]
    taken = [(name, "part of the table that is read") for name in tables if name != STDIN]
    if getattr(given, "policy", None) is not None:
        taken.append((given.policy, "the policy"))
    if getattr(given, "plan", None) is not None:
        taken.append((given.plan, "the plan"))
    if getattr(given, "previous", None) is not None:
        taken.append((given.previous, "the plan before"))
    hierarchies = getattr(given, "hierarchies", None) or ()
    taken += [(name, "a hierarchy that is read") for _, name in hierarchies]
    population = getattr(given, "population", None) or ()
    if isinstance(population, str):
        # What a repository calls it, and no file.
        population = ()
    taken += [(name, "part of the population that is read") for name in population]
    base = getattr(given, "against", None) or ()
    taken += [(name, "part of the base that is read") for name in base]
    if hasattr(given, "repository"):
        from anonrisk.priors.repository import DEFAULT_PLACE

        place = (given.repository or DEFAULT_PLACE).removeprefix("sqlite:///")
        taken.append((place, "the repository"))
    for option in ("apply", "changed", "html", *RESULTS, "draft"):
        path = getattr(given, option, None)
        if path is None:
            continue
        for other, what in taken:
            if _same_file(Path(path), Path(other)):
                name = "output" if option in ("draft", "changed") else option
                raise ArgumentError(f"--{name} {path!r} is {what}: write it somewhere else")
        taken.append((path, f"what --{option} writes"))
        if option in RESULTS and "://" not in path:
            # An empty path is refused where it is read: no earlier result is left standing then.
            for what, names in (("table", tables), ("population", population), ("base", base)):
                read = [name for name in names if name.strip() not in ("", STDIN)]
                outside_table(f"--{option}", path, read, what)


def outside_table(option: str, given: str, tables: Sequence[str], what: str = "table") -> Path:
    """Refuse a file that would be part of the table when that is read again."""
    refuse_blank(tables)
    path = Path(given)
    if path.is_dir():
        raise ArgumentError(f"{option} {given!r} is a folder: name a file")
    where = path.resolve()
    for table in tables:
        read = Path(table).resolve()
        if read in where.parents or fnmatch.fnmatch(str(where), str(read)):
            raise ArgumentError(
                f"{option} {given!r} would be part of the {what} that is read: "
                "write it somewhere else"
            )
    return path


def _same_file(one: Path, other: Path) -> bool:
    """Tell whether two paths are one file, also where it has two names."""
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
