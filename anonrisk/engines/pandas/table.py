"""A pandas table as the core that counts in process sees it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.pandas.encode import column_of, encode, without_views

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Integers
    from anonrisk.engines.numpy.table import Codes


def plain(values: pd.Series[Any]) -> tuple[str, NDArray[Any]]:  # noqa: PLR0911
    """Turn known values into a plain array, and say what they are."""
    dtype: Any = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = pd.Series(dtype.categories.to_numpy(dtype=object)[values.cat.codes.to_numpy()])
        values = values.infer_objects()
        dtype = values.dtype
    kind = getattr(dtype, "kind", "O")
    if is_arrow_date(dtype):
        return _of_objects(values.to_numpy(dtype=object))
    if isinstance(dtype, pd.DatetimeTZDtype) or kind == "M":
        return "timestamp", _microseconds(values)
    if isinstance(dtype, pd.StringDtype):
        return "text", _texts(values.to_numpy(dtype=object))
    if kind in "iu":
        array = values.to_numpy()
        if kind == "u" and len(array) and int(array.max()) >= 2**63:
            return "number", array.astype(np.float64)
        return "whole", array.astype(np.int64)
    if kind == "f":
        return _numbers(values.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "b":
        return "boolean", _truths(values)
    return _of_objects(values.to_numpy(dtype=object))


def is_arrow_date(dtype: Any) -> bool:
    """Return whether a type is one of days of Arrow, which pandas takes for one of instants."""
    return isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("date")


def _of_objects(cells: NDArray[Any]) -> tuple[str, NDArray[Any]]:  # noqa: PLR0911
    first = next(iter(cells), "")
    if isinstance(first, str):
        return "text", _texts(cells)
    if isinstance(first, (bool, np.bool_)):
        return "boolean", _truths(cells)
    if isinstance(first, (int, np.integer)):
        inside = all(-(2**63) <= int(cell) < 2**63 for cell in cells)
        return ("whole", cells.astype(np.int64)) if inside else _numbers(cells.astype(np.float64))
    if isinstance(first, (float, np.floating, Decimal)):
        return _numbers(cells.astype(np.float64))
    if isinstance(first, dt.datetime):
        return "timestamp", _microseconds(pd.Series(pd.to_datetime(cells, utc=True)))
    if isinstance(first, dt.date):
        return "date", cells.astype("datetime64[D]").astype(np.int64)
    return "other", np.arange(len(cells))


def _texts(cells: NDArray[Any]) -> NDArray[Any]:
    """Write a text that is more than one: what raises does so here, where no cell gets out."""
    for cell in cells:
        if type(cell) is not str:
            str(cell)
    return cells


def _numbers(array: NDArray[np.float64]) -> tuple[str, NDArray[Any]]:
    """Take whole numbers for what they are: pandas makes them floats where one is missing."""
    if np.all(np.abs(array) < 2**53) and np.all(array == np.floor(array)):
        return "whole", array.astype(np.int64)
    # 0.0 and -0.0 are one value.
    return "number", array + 0.0


def _truths(values: Any) -> NDArray[Any]:
    return np.array(["true" if value else "false" for value in values], dtype=object)


def _microseconds(values: pd.Series[Any]) -> NDArray[np.int64]:
    if getattr(values.dt, "tz", None) is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    return values.to_numpy(dtype="datetime64[us]").astype(np.int64)


class TableOfSeries:
    """Codes and cells of a table whose columns can be had as Series."""

    def __len__(self) -> int:
        """How many rows it has."""
        raise NotImplementedError

    def column(self, name: Name) -> pd.Series[Any]:
        """Return a column."""
        raise NotImplementedError

    def codes(self, roles: Mapping[Name, str]) -> dict[Name, Codes]:
        """Encode some columns, side by side where the table is large."""
        raise NotImplementedError

    def cells(self, column: Name, rows: Integers) -> list[Any]:
        """Return the cells of some rows."""
        return list(self._some(column, rows))

    def sortable(self, column: Name, rows: Integers) -> NDArray[Any]:
        """Return cells as an array; of ordered categories the codes."""
        cells = self._some(column, rows)
        if not isinstance(cells.dtype, pd.CategoricalDtype):
            return cells.to_numpy()
        return (cells.cat.codes if cells.dtype.ordered else cells.astype(object)).to_numpy()

    def plain(self, column: Name, rows: Integers) -> tuple[str, NDArray[Any]]:
        """Return known cells as a plain array, and what they are."""
        return plain(self._some(column, rows))

    def _some(self, column: Name, rows: Integers) -> pd.Series[Any]:
        return without_views(self.column(column)).iloc[rows]

    def weights(self, column: Name) -> NDArray[np.float64]:
        """Read a column of numbers, missing as NaN."""
        cells = self.column(column)
        if not _are_numbers(cells):
            raise refusals.not_a_number(column)
        try:
            return cells.astype(object).where(cells.notna(), np.nan).to_numpy(dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise refusals.not_a_number(column) from None

    def stacked(self, other: Any, columns: Qid) -> PandasTable:
        """Put some columns of another table below."""
        cells = {}
        for place, name in enumerate(columns):
            both = [self.column(name), coded(other).column(name)]
            if both[0].dtype != both[1].dtype:
                # Left to itself, pandas would turn long integers into floats that merge them.
                both = [column.astype(object) for column in both]
            cells[place] = pd.concat(both, ignore_index=True)
        made = pd.DataFrame(cells)
        made.columns = pd.Index(list(columns), tupleize_cols=False)
        return PandasTable(made)


@dataclass(frozen=True, eq=False)
class PandasTable(TableOfSeries):
    """Codes and cells of a pandas table."""

    frame: pd.DataFrame

    def __len__(self) -> int:
        """How many rows it has."""
        return len(self.frame)

    def column(self, name: Name) -> pd.Series[Any]:
        """Return a column."""
        return column_of(self.frame, name)

    def codes(self, roles: Mapping[Name, str]) -> dict[Name, Codes]:
        """Encode some columns, side by side where the table is large."""
        return encode(self.frame, roles)


def coded(frame: Any) -> TableOfSeries:
    """Return codes and cells of a table; one that has them already is what it is."""
    return frame if isinstance(frame, TableOfSeries) else PandasTable(frame)


def _are_numbers(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
        return False
    if column.dtype == object:
        kinds = set(map(type, column[column.notna()]))
        return all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds)
    return bool(pd.api.types.is_numeric_dtype(column.dtype))
