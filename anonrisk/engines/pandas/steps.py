"""Microaggregation, noise, permutation and suppression on pandas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core import radix
from anonrisk.engines import limits, refusals
from anonrisk.engines.microaggregate import means, means_of_several, too_large
from anonrisk.engines.numpy import profile
from anonrisk.engines.numpy.count import Encoded, sizes_of
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.numpy.tally import coded_rows, tally
from anonrisk.engines.pandas.encode import column_of, encode
from anonrisk.engines.pandas.recode import (
    as_floats,
    in_type,
    kind_of,
    labelled,
    moved_whole,
    replaced,
    type_decides,
    without_categories,
    without_unused,
)
from anonrisk.engines.pandas.schema import marked
from anonrisk.engines.pandas.table import PandasTable, is_arrow_date
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import CellSuppression, ChosenCells
from anonrisk.measures.counts.tally import DATES, MICROSECONDS, NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.change import Noise
    from anonrisk.measures.counts.question import Question, Score, Sensitive
    from anonrisk.measures.counts.tally import Domain


def microaggregate(frame: pd.DataFrame, columns: Qid, k: int) -> pd.DataFrame:
    """Replace numbers by the mean of their group; a missing value stays missing."""
    if not len(frame):
        return frame.copy(deep=False)
    if len(columns) == 1:
        name = columns[0]
        counted = tally(PandasTable(frame), {name: "column"})
        domain, codes = coded_rows(PandasTable(frame), name)
        column = without_categories(column_of(frame, name))
        domain = _by_type(domain, column, name)
        new = means(domain, counted.margin(name)[:-1], k, name)
        return replaced(frame, {name: _typed(column, domain.kind, new, codes)})
    counted = tally(PandasTable(frame), dict.fromkeys(columns, "column"))
    cells = {name: without_categories(column_of(frame, name)) for name in columns}
    typed = {n: _by_type(domain, cells[n], n) for n, domain in counted.domains.items()}
    counted = replace(counted, domains=typed)
    moved = means_of_several(counted, k)
    coded = {name: coded_rows(PandasTable(frame), name) for name in columns}
    keys = np.zeros(len(frame), dtype=np.int64)
    of_class = np.zeros(counted.n_classes, dtype=np.int64)
    for name, (domain, codes) in coded.items():
        # The digits of a class, closed up together so that both are numbered alike.
        both = np.concatenate((keys, of_class)) * (len(domain) + 1)
        both += np.concatenate((codes, counted.codes[name]))
        both, _ = closed_up(both)
        keys, of_class = both[: len(keys)], both[len(keys) :]
    row_of = np.empty(int(of_class.max()) + 1, dtype=np.int64)
    row_of[of_class] = np.arange(len(of_class))
    place = row_of[keys]
    return replaced(
        frame,
        {name: _typed(cells[name], typed[name].kind, moved[name], place) for name in columns},
    )


def _by_type(domain: Domain, column: pd.Series[Any], name: Name) -> Domain:
    """Take numbers for what the column's type says: floats may be whole by chance."""
    if domain.kind not in NUMBERS:
        return domain
    if type_decides(column) == "whole":
        if domain.kind != "whole":
            raise too_large(name)
        return domain
    return replace(domain, kind="number", values=domain.values.astype(np.float64))


def _typed(column: pd.Series[Any], kind: str, new: NDArray[Any], place: NDArray[np.int64]) -> Any:
    """Write new numbers in a column's own type."""
    missing = column.isna().to_numpy()
    if kind in DATES:
        unit = MICROSECONDS if kind == "date" else 1
        instants = (np.append(new, 0)[np.minimum(place, len(new))] * unit).astype("datetime64[us]")
        return _dates(column, instants, missing)
    return in_type(column, np.append(new, 0)[np.minimum(place, len(new))])


def _dates(column: pd.Series[Any], instants: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    made = pd.Series(instants, index=column.index).mask(missing)
    if is_arrow_date(column.dtype):
        days: Any = made.dt.date.mask(missing, None)
        return pd.Series(days.tolist(), index=column.index, dtype=column.dtype).array
    zone = getattr(getattr(column, "dt", None), "tz", None)
    if zone is not None:
        made = made.dt.tz_localize("UTC").dt.tz_convert(zone)
    if pd.api.types.is_object_dtype(column.dtype):
        first = column[column.notna()].iloc[0]
        cells = made.astype(object) if hasattr(first, "hour") else made.dt.date
        return cells.mask(missing, None).array
    return made.astype(column.dtype).array


def perturb(frame: pd.DataFrame, noise: Noise) -> pd.DataFrame:
    """Add noise; whole numbers are rounded, dates move by whole days, the missing stay."""
    changed: dict[Name, Any] = {}
    for number, (name, scale) in enumerate(noise.scales.items()):
        random = np.random.default_rng([noise.seed, number])
        column = without_categories(column_of(frame, name))
        drawn = _drawn(random, noise.law, scale, len(frame))
        kind = kind_of(column)
        if kind in DATES:
            limits.check_noise(name, noise.law, scale)
            domain, codes = coded_rows(PandasTable(frame), name)
            days = np.rint(drawn).astype(np.int64)
            unit = 1 if domain.kind == "date" else MICROSECONDS
            moved = np.append(domain.values, 0)[codes] + days * unit
            changed[name] = _typed(column, domain.kind, moved, np.arange(len(frame)))
            continue
        if kind is not None and kind not in NUMBERS:
            raise refusals.not_noisy(name, kind)
        if type_decides(column) == "whole":
            limits.check_noise(name, noise.law, scale)
            changed[name] = in_type(column, moved_whole(column, drawn))
        else:
            changed[name] = in_type(column, as_floats(column, name) + drawn)
    return marked(replaced(frame, changed), tuple(changed), "perturb")


def _drawn(random: np.random.Generator, law: str, scale: float, size: int) -> NDArray[np.float64]:
    if law == "laplace":
        return random.laplace(0.0, scale, size)
    if law == "uniform":
        return random.uniform(-scale, scale, size)
    return random.normal(0.0, scale, size)


def permute(frame: pd.DataFrame, columns: Qid, by: Qid, seed: int) -> pd.DataFrame:
    """Move to each record the cells of the next one in a random order of its group."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(frame))
    groups = np.zeros(len(frame), dtype=np.int64)
    for coded in encode(frame, dict.fromkeys(by, "grouping column")).values() if by else ():
        groups, _ = closed_up(groups * coded.cardinality + coded.values)
    order = order[np.argsort(groups[order], kind="stable")]
    ends = (
        np.flatnonzero(np.append(groups[order][1:] != groups[order][:-1], True))
        if len(order)
        else np.zeros(0, dtype=np.int64)
    )
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    following = np.roll(order, -1)
    following[ends] = order[starts]
    source = np.empty(len(frame), dtype=np.int64)
    source[order] = following
    changed = {name: column_of(frame, name).array.take(source) for name in columns}
    return marked(replaced(frame, changed), columns, "permute")


def suppress_records(
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


def suppress_cells(frame: pd.DataFrame, change: CellSuppression | ChosenCells) -> pd.DataFrame:
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
