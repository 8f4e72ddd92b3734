"""Files that a command writes beside its result: never the table that it reads."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.errors import ArgumentError
from anonrisk.files import STDIN

if TYPE_CHECKING:
    from collections.abc import Sequence

_TABLES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def apart(option: str, given: str, tables: Sequence[str]) -> Path:
    """Refuse a file that is part of the table, or would be when it is read again."""
    path = Path(given)
    if path.is_dir():
        raise ArgumentError(f"{option} {given!r} is a folder: name a file")
    where = path.resolve()
    for table in tables:
        if table == STDIN:
            continue
        read = Path(table).resolve()
        same = where == read or (path.exists() and read.exists() and path.samefile(read))
        # A pattern may hold folders that are not there yet.
        if same or read in where.parents or fnmatch.fnmatch(str(where), str(read)):
            raise ArgumentError(
                f"{option} {given!r} is part of the table that is read: write it somewhere else"
            )
    return path


def table(option: str, given: str, tables: Sequence[str], *, force: bool) -> tuple[Path, str]:
    """Find where a table goes, and in which format; nothing is lost that nobody gave up."""
    path = apart(option, given, tables)
    kind = _TABLES.get(path.suffix.casefold())
    if kind is None:
        raise ArgumentError(f"{option} {given!r}: the name must end in {', '.join(_TABLES)}")
    if os.path.lexists(path) and not force:
        raise ArgumentError(f"{option} {given!r} is there already; --force replaces it")
    return path, kind
