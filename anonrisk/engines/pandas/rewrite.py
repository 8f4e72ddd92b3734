"""New columns and new tables, in pandas' own kind; suppressed cells by their marker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.numpy import profile
from anonrisk.engines.numpy.count import Encoded
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.pandas.schema import row_labels, without_unused
from anonrisk.engines.pandas.table import PandasTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.change import RowsOfPersons
    from anonrisk.measures.counts.question import Question, Score, Sensitive


def marked(frame: pd.DataFrame, columns: Sequence[Name], marker: str) -> int:
    """Count the rows that have the marker of a suppressed cell in one of the columns."""
    result = np.zeros(len(frame), dtype=bool)
    for name in columns:
        column = column_of(frame, name)
        dtype = column.dtype
        kind = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
        if isinstance(kind, pd.ArrowDtype) and hasattr(kind.pyarrow_dtype, "value_type"):
            # A dictionary of Arrow, as Parquet keeps categories in.
            kind = pd.ArrowDtype(kind.pyarrow_dtype.value_type)
            column = column.astype(kind)
        # Numbers and dates hold no text, and some of their types refuse to be compared with one.
        if pd.api.types.is_object_dtype(kind) or pd.api.types.is_string_dtype(kind):
            result |= column.isin([marker]).to_numpy(dtype=bool)
    return int(result.sum())


def sizes(frame: pd.DataFrame, question: Question, name: str) -> pd.Series[Any]:
    """Return the class size of each record; NA where the record was dropped."""
    counts, kept = Encoded.of(PandasTable(frame), question).sizes_by_row()
    values: Any = counts
    if question.missing == "drop":
        values = pd.array(counts, dtype="Int64")
        values[~kept] = pd.NA
    return pd.Series(values, index=frame.index, name=name)


def at_risk(frame: pd.DataFrame, question: Question, k: int) -> pd.DataFrame:
    """Select the records in classes smaller than k; a dropped record is in no class."""
    counts, kept = Encoded.of(PandasTable(frame), question).sizes_by_row()
    return frame.loc[(counts < k) & kept]


def breaking(
    frame: pd.DataFrame,
    question: Question,
    limits: Sequence[tuple[Sensitive, Score, float]],
    k: int | None,
) -> pd.DataFrame:
    """Select the records of the classes that break a limit, or are smaller than k."""
    marked = profile.breaking(PandasTable(frame), question, limits)
    if k is not None:
        counts, kept = Encoded.of(PandasTable(frame), question).sizes_by_row()
        marked |= (counts < k) & kept
    return frame[marked]


def of_persons(frame: pd.DataFrame, asked: RowsOfPersons) -> pd.DataFrame:
    """Select the records of some persons, or of all others."""
    from anonrisk.engines.numpy.tally import rows_of_persons

    marked = rows_of_persons(PandasTable(frame), asked)
    return without_unused(frame.loc[~marked if asked.others else marked])


def mixed(frame: pd.DataFrame, other: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Put other rows among them; rows that have no labels but their numbers are numbered anew."""
    numbered = None in frame.index.names and row_labels(frame.index) != "unnamed"
    parts = [frame.copy(deep=False), other[list(frame.columns)].copy(deep=False)]
    for i, name in enumerate(frame.columns):
        kinds = [part.dtypes.iloc[i] for part in parts]
        if all(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
            every = kinds[0].categories.union(kinds[1].categories, sort=False)
            for part in parts:
                part[name] = part[name].cat.set_categories(every)
    made = pd.concat(parts).sample(frac=1, random_state=seed, ignore_index=numbered)
    made.attrs = frame.attrs
    return made
