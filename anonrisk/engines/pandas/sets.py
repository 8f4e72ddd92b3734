"""Many sets of the columns of a pandas table, and how their cells look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines.numpy.sets import CodedSets, compact
from anonrisk.engines.pandas import coarsen, shape
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.pandas.guard import guarded
from anonrisk.engines.pandas.table import PandasTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from anonrisk.counts.coarser import Coarsening
    from anonrisk.counts.question import Question
    from anonrisk.counts.shapes import Numerals, Shape


@guarded
class PandasSets(CodedSets):
    """Counts the classes of sets of columns, and looks at the cells of each."""

    def __init__(self, frame: pd.DataFrame, question: Question) -> None:
        """Encode every column once; those that cannot be compared are set apart."""
        super().__init__(PandasTable(frame), question)
        self._series = [column_of(frame, name) for name in self.columns]

    def _kept_of(self, series: pd.Series[Any]) -> pd.Series[Any]:
        return series if self.rows is None else series.iloc[self.rows]

    def coarsen(self, n_values: Sequence[int]) -> dict[int, tuple[int, Coarsening]]:
        """Take up a coarser version of each column that has one."""
        made = {}
        given = list(zip(self._series, self._codes, n_values, strict=True))
        for position, (series, codes, n) in enumerate(given):
            found = coarsen.coarser(self._kept_of(series), codes.values, codes.cardinality, n)
            if found is not None:
                values, cardinality, how = found
                made[position] = len(self._codes), how
                self.columns = (*self.columns, self.columns[position])
                self._codes.append(compact(values, cardinality))
        return made

    def shapes(self) -> list[Shape]:
        """Look at the different cells of each column."""
        return [
            shape.shape_of(self._kept_of(series), codes.values, codes.cardinality, n_known)
            for series, codes, n_known in zip(self._series, self._codes, self._n_known, strict=True)
        ]

    def numerals(self) -> list[Numerals]:
        """Count the numbers and dates among the different cells of each column."""
        return [
            shape.numerals_of(self._kept_of(series), codes.values, codes.cardinality)
            for series, codes in zip(self._series, self._codes, strict=False)
        ]
