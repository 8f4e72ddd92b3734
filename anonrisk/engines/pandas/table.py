"""A pandas table as the core that counts in process sees it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines import refusals
from anonrisk.engines.pandas import objects, values
from anonrisk.engines.pandas.encode import column_of, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.numpy.codes import Codes

    Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PandasTable:
    """Codes and cells of a pandas table."""

    frame: pd.DataFrame

    def __len__(self) -> int:
        """How many rows it has."""
        return len(self.frame)

    def codes(self, roles: Mapping[Name, str]) -> dict[Name, Codes]:
        """Encode some columns, side by side where the table is large."""
        return encode(self.frame, roles)

    def cells(self, column: Name, rows: Integers) -> list[Any]:
        """Give the cells of some rows."""
        return list(self._some(column, rows))

    def sortable(self, column: Name, rows: Integers) -> NDArray[Any]:
        """Give cells as an array; of ordered categories the codes."""
        cells = self._some(column, rows)
        if not isinstance(cells.dtype, pd.CategoricalDtype):
            return cells.to_numpy()
        return (cells.cat.codes if cells.dtype.ordered else cells.astype(object)).to_numpy()

    def plain(self, column: Name, rows: Integers) -> tuple[str, NDArray[Any]]:
        """Give known cells as a plain array, and what they are."""
        return values.plain(self._some(column, rows))

    def _some(self, column: Name, rows: Integers) -> pd.Series[Any]:
        return objects.without_views(column_of(self.frame, column)).iloc[rows]

    def weights(self, column: Name) -> NDArray[np.float64]:
        """Read a column of numbers, missing as NaN."""
        cells = column_of(self.frame, column)
        if not _are_numbers(cells):
            raise refusals.not_a_number(column)
        try:
            return cells.astype(object).where(cells.notna(), np.nan).to_numpy(dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise refusals.not_a_number(column) from None

    def stacked(self, other: pd.DataFrame, columns: Qid) -> PandasTable:
        """Put some columns of another table below."""
        cells = {}
        for place, name in enumerate(columns):
            both = [column_of(self.frame, name), column_of(other, name)]
            if both[0].dtype != both[1].dtype:
                # Left to itself, pandas would turn long integers into floats that merge them.
                both = [column.astype(object) for column in both]
            cells[place] = pd.concat(both, ignore_index=True)
        made = pd.DataFrame(cells)
        made.columns = pd.Index(list(columns), tupleize_cols=False)
        return PandasTable(made)


def _are_numbers(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
        return False
    if column.dtype == object:
        kinds = set(map(type, column[column.notna()]))
        return all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds)
    return bool(pd.api.types.is_numeric_dtype(column.dtype))
