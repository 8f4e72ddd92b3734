"""Suppression on pandas: records, or cells, of classes smaller than k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core import radix
from anonrisk.engines import refusals
from anonrisk.engines.numpy import profile
from anonrisk.engines.numpy.count import Encoded, sizes_of
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.numpy.tally import coded_rows
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.pandas.numbers import without_categories
from anonrisk.engines.pandas.recode import labelled, replaced, without_unused
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import CellSuppression, ChosenCells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.question import Question, Score, Sensitive
    from anonrisk.measures.counts.tally import Domain


def records(
    frame: pd.DataFrame,
    question: Question,
    k: int,
    limits: Sequence[tuple[Sensitive, Score, float]] = (),
) -> pd.DataFrame:
    """Leave out the records of classes smaller than k, or that break a limit."""
    counts, _ = Encoded.of(PandasTable(frame), question).sizes_by_row()
    large = counts >= k
    if limits:
        large &= ~profile.breaking(PandasTable(frame), question, limits)
    return without_unused(frame.loc[large], question.qid)


def cells(frame: pd.DataFrame, change: CellSuppression | ChosenCells) -> pd.DataFrame:
    """Suppress cells of small classes."""
    if not len(frame):
        return frame.copy(deep=False)
    marker = change.marker if isinstance(change, CellSuppression) else None
    columns = {name: _SuppressedColumn.of(frame, name, marker) for name in change.question.qid}
    if isinstance(change, ChosenCells):
        _mark_chosen(columns, change)
    else:
        _mark_from_the_last(frame, columns, change)
    return replaced(frame, {name: column.cells(frame, name) for name, column in columns.items()})


def _mark_from_the_last(
    frame: pd.DataFrame, columns: dict[Name, _SuppressedColumn], change: CellSuppression
) -> None:
    """Mark cells of small classes, from the last column on, until no class is smaller than k."""
    question, k = change.question, change.k
    unit = Encoded.of(PandasTable(frame), question).unit
    n_persons = len(frame) if unit is None else len(np.unique(unit.values))
    refusals.check_k(k, n_persons)
    for name in reversed(question.qid):
        small = _sizes(columns, unit) < k
        columns[name].mark(small)
    left = _sizes(columns, unit) < k
    if left.any():
        # Those left have every cell marked, and are too few. Whoever joins them makes them enough,
        # because every other class has k members.
        joining = _smallest(columns, unit, left)
        for column in columns.values():
            column.mark(joining)


def _mark_chosen(columns: dict[Name, _SuppressedColumn], change: ChosenCells) -> None:
    """Mark the cells that a function chooses by the keys of the table."""
    number, n_keys = closed_up(_keys(columns))
    row = np.empty(n_keys, dtype=np.int64)
    row[number] = np.arange(len(number))
    keys = [column.keys(row) for column in columns.values()]
    chosen = change.choose(keys, np.bincount(number))
    for place, column in enumerate(columns.values()):
        column.mark(chosen[number, place])


class _SuppressedColumn:
    """A column as codes, of which one stands for a marked cell."""

    def __init__(
        self, domain: Domain, codes: NDArray[np.int64], marker: str | float | None
    ) -> None:
        self.domain, self.codes, self.marker = domain, codes, marker
        self.marked = np.zeros(len(codes), dtype=bool)
        self.size = len(domain) + 2
        self.code = self._code_of_marker()

    @classmethod
    def of(cls, frame: pd.DataFrame, name: Name, marker: str | float | None) -> _SuppressedColumn:
        domain, codes = coded_rows(PandasTable(frame), name)
        if isinstance(marker, str) and domain.kind in ("number", "timestamp", "other"):
            raise refusals.not_markable(name)
        if isinstance(marker, (int, float)) and domain.kind not in ("whole", "number"):
            raise ArgumentError(f"column {name!r} is not a column of numbers: mark it with a text")
        return cls(domain, codes, marker)

    def _code_of_marker(self) -> int:
        """A cell that already is what the marker is counts with the marked ones."""
        if self.marker is None:
            return len(self.domain)
        texts: Any = self.domain.texts() if isinstance(self.marker, str) else self.domain.values
        results = [i for i, text in enumerate(texts) if text == self.marker]
        return results[0] if results else len(self.domain) + 1

    def mark(self, rows: NDArray[np.bool_]) -> None:
        self.marked |= rows
        self.codes = np.where(rows, self.code, self.codes)

    def keys(self, rows: NDArray[np.int64]) -> Codes:
        """Return the codes of some rows, one after the last value where a cell is missing."""
        codes, missing = self.codes[rows], len(self.domain)
        return Codes(codes, missing + 1, int((codes == missing).sum()))

    def text(self, code: int) -> tuple[bool, str]:
        """Return what a class is ordered by among classes of its size: missing first."""
        if code == self.code:
            return (self.marker is not None, "" if self.marker is None else str(self.marker))
        return (False, "") if code == len(self.domain) else (True, self.domain.texts()[code])

    def cells(self, frame: pd.DataFrame, name: Name) -> Any:
        column = column_of(frame, name)
        if not self.marked.any() and not (
            isinstance(self.marker, str) and self.domain.kind != "text"
        ):
            return column.array
        if isinstance(self.marker, str):
            words = [*self.domain.texts(), "", self.marker]
            places = np.where(self.marked, len(words) - 1, self.codes)
            return labelled(np.where(places == len(self.domain), -1, places), words)
        if (
            self.marker is None
            and column.dtype.kind in "iub"
            and isinstance(column.dtype, np.dtype)
        ):
            # Plain integers and booleans of pandas have no missing value.
            return column.convert_dtypes().mask(self.marked).array
        if self.marker is None and isinstance(column.dtype, pd.CategoricalDtype):
            return column.mask(self.marked).cat.remove_unused_categories().array
        return without_categories(column).mask(self.marked, self.marker).array


def _keys(columns: dict[Name, _SuppressedColumn]) -> NDArray[np.int64]:
    return radix.keys_of(((c.codes, c.size) for c in columns.values()), closed_up)[0]


def _sizes(columns: dict[Name, _SuppressedColumn], unit: Codes | None) -> NDArray[np.int64]:
    number, n_classes = closed_up(_keys(columns))
    return sizes_of(number, n_classes, unit)[number]


def _smallest(
    columns: dict[Name, _SuppressedColumn], unit: Codes | None, left: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Select the smallest class that is not among those left; the first by its text if several."""
    sizes, keys = _sizes(columns, unit), _keys(columns)
    least = sizes[~left].min()
    candidates = np.flatnonzero(~left & (sizes == least))
    _, first = np.unique(keys[candidates], return_index=True)
    chosen = min(
        candidates[first],
        key=lambda row: [column.text(int(column.codes[row])) for column in columns.values()],
    )
    return np.asarray(keys == keys[chosen])
