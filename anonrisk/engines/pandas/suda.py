"""Minimal sample uniques on pandas: who is alone with a set, and with no smaller one."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.counts.minimal_uniques import Totals
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonrisk.engines.pandas.sets import PandasSets

    Floats = NDArray[np.float64]


class _Scores:
    """The scores of the records that are alone with all columns; no other can have any."""

    def __init__(self, counter: PandasSets, n_columns: int, max_size: int) -> None:
        everything = tuple(range(n_columns))
        self.rows = np.flatnonzero(counter.unique(everything))
        self.score = np.zeros(len(self.rows))
        self.n_minimal = np.zeros(len(self.rows), dtype=np.int64)
        self.by_column = np.zeros((n_columns, len(self.rows)))
        self.by_size: list[int] = []
        # Who is alone with each set of the size before, eight records in a byte.
        before: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        for size, weight in enumerate(weights(n_columns, max_size), start=1):
            alone = {}
            n_found = 0
            for positions in combinations(everything, size):
                unique = counter.unique(positions)[self.rows]
                alone[positions] = np.packbits(unique)
                for i in range(size):
                    smaller = before.get(positions[:i] + positions[i + 1 :])
                    if smaller is not None:
                        unique &= ~np.unpackbits(smaller, count=len(unique)).astype(bool)
                found = np.flatnonzero(unique)
                n_found += len(found)
                self.n_minimal[found] += 1
                self.score[found] += weight
                for i in positions:
                    self.by_column[i, found] += weight
            self.by_size.append(n_found)
            before = alone

    def totals(self) -> Totals:
        scored = self.score[self.score > 0]
        power = exponent(len(self.by_column))
        return Totals(
            n_scored=len(scored),
            score=float(scored.sum()),
            largest=float(scored.max(initial=0.0)),
            adjustment=float((scored**-power).sum()),
            n_minimal=tuple(self.by_size),
            contributions=tuple(self.by_column.sum(axis=1).tolist()),
        )


def scores(
    frame: pd.DataFrame,
    counter: PandasSets,
    max_size: int,
    names: list[str],
    risk: Callable[[Totals], float | None],
) -> tuple[pd.Series[Any], pd.DataFrame, Totals]:
    """Score every record; `risk` is what DIS-SUDA adds to 1 / score^power, if it is asked for."""
    found = _Scores(counter, len(counter.columns), max_size)
    totals = found.totals()
    odds = risk(totals)
    score_name, number_name, dis_name, *column_names = names
    rows = found.rows if counter.rows is None else counter.rows[found.rows]

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        everywhere = np.zeros(len(frame))
        if counter.rows is not None:
            everywhere[:] = np.nan
            everywhere[counter.rows] = 0
        everywhere[rows] = values
        return everywhere

    has = found.score > 0
    safe = np.where(has, found.score, 1.0)
    columns = {score_name: spread(found.score), number_name: spread(found.n_minimal)}
    if counter.rows is None:
        columns[number_name] = columns[number_name].astype(np.int64)
    if odds is not None:
        power = exponent(len(column_names))
        columns[dis_name] = spread(np.where(has, 1 / (1 + odds / safe**power), 0.0))
    for name, part in zip(column_names, found.by_column, strict=True):
        columns[name] = spread(part / safe)
    records = pd.DataFrame(columns, index=frame.index)
    return records[score_name], records, totals
