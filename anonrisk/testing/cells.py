"""The cells of the small tables: as JSON has them, as Python has them, as pandas has them."""

from __future__ import annotations

import datetime as dt
from dataclasses import field
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pandas as pd

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# From here on floats leave out integers.
_EXACT = 2**53
_READ: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "date": dt.date.fromisoformat,
    "instant": dt.datetime.fromisoformat,
    "zoned": dt.datetime.fromisoformat,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
}
_KINDS = {str: "text", bool: "boolean", int: "integer", float: "float"}


@dataclass(frozen=True)
class SmallColumn:
    """The cells of a column as Python has them, None where one is missing.

    Parameters
    ----------
    kind : str
        text, integer, float, boolean, date, instant (without a zone), zoned, decimal, bytes or
        category.
    cells : tuple
        The cells.
    levels : tuple of str
        The categories of a category, those among them that no cell has.
    zone : str, optional
        The zone in which instants with a zone are kept.
    """

    kind: str
    cells: tuple[Any, ...]
    levels: tuple[str, ...] = ()
    zone: str | None = None

    @classmethod
    def read(cls, written: Any) -> SmallColumn:
        """Read a column from JSON: a list, or a dict from its kind to one."""
        if isinstance(written, list):
            known = [type(cell) for cell in written if cell is not None]
            return cls(_KINDS[known[0]] if known else "text", tuple(written))
        (kind, cells), *_ = written.items()
        if kind == "sizes":
            return cls("integer", tuple(i for i, size in enumerate(cells) for _ in range(size)))
        read = _READ.get(kind, lambda cell: cell)
        values = [None if cell is None else read(cell) for cell in cells]
        zone = written.get("zone", "UTC") if kind == "zoned" else None
        if zone:
            values = [cell and cell.astimezone(ZoneInfo(zone)) for cell in values]
        return cls(kind, tuple(values), tuple(written.get("levels", ())), zone)


@dataclass(frozen=True)
class SmallTable:
    """A small table, by its name, its columns, and the labels of its rows where there are any."""

    name: str
    columns: Mapping[str, SmallColumn] = field(hash=False)
    labels: tuple[int, ...] = ()

    @classmethod
    def read(cls, name: str, written: dict[str, Any]) -> SmallTable:
        """Read a table from JSON."""
        labels = tuple(written.pop("row labels", ()))
        columns = {column: SmallColumn.read(cells) for column, cells in written.items()}
        return cls(name, columns, labels)

    def to_pandas(self) -> pd.DataFrame:
        """Build it as a pandas table, with the types that pandas itself would take."""
        frame = pd.DataFrame({name: _series(column) for name, column in self.columns.items()})
        return frame.set_axis(list(self.labels), axis=0) if self.labels else frame

    def rows(self) -> list[dict[str, Any]]:
        """Return it row by row."""
        cells = zip(*(column.cells for column in self.columns.values()), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in cells]


def _series(column: SmallColumn) -> pd.Series[Any]:
    cells = list(column.cells)
    if column.kind == "category":
        return pd.Series(pd.Categorical(cells, categories=list(column.levels)))
    if column.kind == "zoned":
        instants = pd.to_datetime(pd.Series(cells, dtype=object), utc=True)
        return instants.dt.tz_convert(column.zone)
    if column.kind == "instant":
        return pd.to_datetime(pd.Series(cells, dtype=object))
    large = column.kind == "integer" and None in cells
    if large and max(abs(cell or 0) for cell in cells) >= _EXACT:
        return pd.Series(cells, dtype="Int64")
    return pd.Series(cells, dtype="float64") if column.kind == "float" else pd.Series(cells)
