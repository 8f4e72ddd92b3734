"""Files that are too large to be read into memory, by what they hold once they are unpacked.

Whether they are scanned changes no answer: what a scan refuses is read into memory, whatever it
takes.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from anonrisk.engines.reading import files, raw_files
from anonrisk.errors import AnonRiskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted
    from anonrisk.engines.scan.table import ScanTable

# Bytes of plain text.
LARGE = 1_000_000_000
# What a byte stands for that is packed, as cells of Parquet are.
_UNPACKED = 4
_LIBRARIES = ("duckdb", "pyarrow", "sqlalchemy", "sqlglot")


def opened(
    parts: Sequence[Part],
    wanted: Wanted,
    text: TextFormat,
    format: str | None,  # noqa: A002
    beside: Sequence[Sequence[Part]] = (),
) -> ScanTable | None:
    """Open files to be scanned, unless they are small or a scan refuses the question.

    Tables that are asked about together are all scanned, or none: those `beside` count as well.
    """
    tables = [(each, files.format_of(each, format)) for each in (parts, *beside)]
    if wanted.missing == "wildcard" or not all(_can_be_scanned(*each) for each in tables):
        return None
    if not any(is_large(*each) for each in tables):
        return None
    from anonrisk.engines.scan.table import ScanTable

    about = wanted, text, format
    if any(_refuses(each, *about) for each, kind in tables if kind == "parquet" and each != parts):
        return None
    table = ScanTable.opened(parts, wanted, text, format=format)
    if _refused(table, wanted):
        table.close()
        return None
    return table


def _refuses(
    parts: Sequence[Part],
    wanted: Wanted,
    text: TextFormat,
    format: str | None,  # noqa: A002
) -> bool:
    """Return whether a scan of files refuses a column, as it does of Parquet alone."""
    from anonrisk.engines.scan.table import ScanTable

    # What else is wrong with another table is said when that one is read.
    with suppress(AnonRiskError), ScanTable.opened(parts, wanted, text, format=format) as table:
        return _refused(table, wanted)
    return False


def _refused(table: ScanTable, wanted: Wanted) -> bool:
    asked = table.names if wanted.columns is None else wanted.columns
    return not table.columns.refused.keys().isdisjoint(asked)


def is_large(parts: Sequence[Part], kind: str) -> bool:
    """Return whether files hold more than is read into memory unasked."""
    sizes = (part.path.stat().st_size * _factor(part, kind) for part in parts)
    return sum(sizes) >= LARGE


def _can_be_scanned(parts: Sequence[Part], kind: str) -> bool:
    piped = any(str(part.path) == files.STDIN for part in parts)
    return kind in ("csv", "parquet") and not piped and all(map(find_spec, _LIBRARIES))


def _factor(part: Part, kind: str) -> int:
    is_packed = part.path.suffix.casefold() in raw_files.SUFFIXES
    return _UNPACKED if is_packed or kind == "parquet" else 1
