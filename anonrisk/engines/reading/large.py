"""Files that are too large to be read into memory, by what they hold once they are unpacked."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from anonrisk.engines.reading import files, packed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.engines.reading.files import Part

# Bytes of plain text.
LARGE = 1_000_000_000
# What a byte stands for that is packed, as cells of Parquet are.
_UNPACKED = 4
_LIBRARIES = ("duckdb", "pyarrow", "sqlalchemy", "sqlglot")


def is_scanned(parts: Sequence[Part], kind: str) -> bool:
    """Tell whether files are scanned unless somebody says otherwise: if they are large."""
    if kind not in ("csv", "parquet") or any(str(part.path) == files.STDIN for part in parts):
        return False
    sizes = (part.path.stat().st_size * _factor(part, kind) for part in parts)
    return sum(sizes) >= LARGE and all(map(find_spec, _LIBRARIES))


def _factor(part: Part, kind: str) -> int:
    is_packed = part.path.suffix.casefold() in packed.SUFFIXES
    return _UNPACKED if is_packed or kind == "parquet" else 1
