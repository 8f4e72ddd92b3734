"""Many sets of the columns of a pandas table, and who is alone with the fewest of them."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.numpy.sets import CodedSets, UniqueScores, compact
from anonrisk.engines.pandas import contents
from anonrisk.engines.pandas.contents import first_of_each, is_text
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.pandas.schema import guarded
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.measures.counts.counter import (
    CODE,
    DAY,
    MOST_WORDS,
    Commonest,
    EqualBins,
    FirstCharacters,
    halved,
)
from anonrisk.measures.suda import exponent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from anonrisk.measures.counts.change import Totals
    from anonrisk.measures.counts.counter import Coarsening
    from anonrisk.measures.counts.question import Question
    from anonrisk.measures.counts.shapes import Numerals, Shape


def coarser(
    column: pd.Series[Any], codes: NDArray[Any], n_codes: int, n_values: int
) -> tuple[NDArray[np.int64], int, Coarsening] | None:
    """Return codes of a coarser column, their number, and how it came about; None if none."""
    values = first_of_each(column, codes, n_codes)
    known = values.notna().to_numpy()
    groups = np.full(n_codes, -1, dtype=np.int64)
    how: Coarsening | None
    if is_text(values, known):
        texts = [str(text) for text in values[known]]
        how = _of_texts(texts, np.bincount(codes, minlength=n_codes)[known], n_values)
        if how is None:
            return None
        number: dict[tuple[str, ...], int] = {}
        groups[known] = [number.setdefault(_group_key(text, how), len(number)) for text in texts]
    else:
        numbers = _numbers(values[known])
        if numbers is None or not len(numbers):
            return None
        how = halved(float(numbers.min()), float(numbers.max()), len(numbers))
        if how is None:
            return None
        groups[known] = _binned(numbers, how)
    # Missing stays a value of its own.
    return groups[codes] + 1, int(groups.max()) + 2, how


def _of_texts(
    texts: list[str], counts: NDArray[np.int64], n_values: int
) -> FirstCharacters | Commonest | None:
    if all(re.search(CODE, text) for text in texts):
        days = all(re.search(DAY, text) for text in texts)
        return FirstCharacters.of(max(map(len, texts), default=0), days=days)
    if n_values > MOST_WORDS:
        return None
    return Commonest.of(dict(zip(texts, counts.tolist(), strict=True)))


def _group_key(text: str, how: FirstCharacters | Commonest) -> tuple[str, ...]:
    if isinstance(how, FirstCharacters):
        return (text[: how.length],)
    # No word is like that of the others.
    return (text,) if text in how.words else ()


def _binned(numbers: NDArray[np.float64], bins: EqualBins) -> NDArray[np.int64]:
    places = np.floor((numbers - bins.low) * bins.scale).astype(np.int64)
    return np.minimum(places, bins.number - 1)


def _numbers(values: pd.Series[Any]) -> NDArray[np.float64] | None:
    """Read numbers, days or microseconds; None where the values are something else."""
    dtype: Any = values.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return None
    if pd.api.types.is_numeric_dtype(dtype):
        return values.to_numpy(dtype=np.float64)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        instants = pd.DatetimeIndex(values)
        instants = instants if instants.tz is None else instants.tz_convert("UTC").tz_localize(None)
        return instants.to_numpy().astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return _of_objects(list(values))


def _of_objects(cells: list[Any]) -> NDArray[np.float64] | None:
    first = cells[0] if cells else None
    if isinstance(first, (bool, np.bool_)):
        return None
    if isinstance(first, (int, float, Decimal, np.number)):
        return np.array([float(cell) for cell in cells])
    if isinstance(first, dt.datetime):
        if first.tzinfo is not None:
            cells = [cell.astimezone(dt.UTC).replace(tzinfo=None) for cell in cells]
        return np.array(cells, dtype="datetime64[us]").astype(np.int64).astype(np.float64)
    if isinstance(first, dt.date):
        return np.array(cells, dtype="datetime64[D]").astype(np.int64).astype(np.float64)
    return None


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
        value = list(zip(self._series, self._codes, n_values, strict=True))
        for position, (series, codes, n) in enumerate(value):
            result = coarser(self._kept_of(series), codes.values, codes.cardinality, n)
            if result is not None:
                values, cardinality, how = result
                made[position] = len(self._codes), how
                self.columns = (*self.columns, self.columns[position])
                self._codes.append(compact(values, cardinality))
        return made

    def shapes(self) -> list[Shape]:
        """Look at the different cells of each column."""
        return [
            contents.shape_of(self._kept_of(series), codes.values, codes.cardinality, n_known)
            for series, codes, n_known in zip(self._series, self._codes, self._n_known, strict=True)
        ]

    def numerals(self) -> list[Numerals]:
        """Count the numbers and dates among the different cells of each column."""
        return [
            contents.numerals_of(self._kept_of(series), codes.values, codes.cardinality)
            for series, codes in zip(self._series, self._codes, strict=False)
        ]


def suda_scores(
    frame: pd.DataFrame,
    counter: PandasSets,
    max_size: int,
    names: list[str],
    risk: Callable[[Totals], float | None],
) -> tuple[pd.Series[Any], pd.DataFrame, Totals]:
    """Score every record; `risk` is what DIS-SUDA adds to 1 / score^power, if it is asked for."""
    unique_scores = UniqueScores(counter.unique, len(counter.columns), max_size)
    totals = unique_scores.totals()
    odds = risk(totals)
    score_name, number_name, dis_name, *column_names = names
    rows = unique_scores.rows if counter.rows is None else counter.rows[unique_scores.rows]

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        everywhere = np.zeros(len(frame))
        if counter.rows is not None:
            everywhere[:] = np.nan
            everywhere[counter.rows] = 0
        everywhere[rows] = values
        return everywhere

    has = unique_scores.score > 0
    safe = np.where(has, unique_scores.score, 1.0)
    columns = {
        score_name: spread(unique_scores.score),
        number_name: spread(unique_scores.n_minimal),
    }
    if counter.rows is None:
        columns[number_name] = columns[number_name].astype(np.int64)
    if odds is not None:
        power = exponent(len(column_names))
        columns[dis_name] = spread(np.where(has, 1 / (1 + odds / safe**power), 0.0))
    for name, part in zip(column_names, unique_scores.by_column, strict=True):
        columns[name] = spread(part / safe)
    records = pd.DataFrame(columns, index=frame.index)
    return records[score_name], records, totals
