"""Minimal sample uniques on pandas: who is alone with a set, and with no smaller one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.numpy.suda import UniqueScores
from anonrisk.measures.suda import exponent

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonrisk.engines.pandas.sets import PandasSets
    from anonrisk.measures.counts.change import Totals


def scores(
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
