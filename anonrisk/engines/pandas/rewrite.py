"""New columns and new tables, in pandas' own kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.numpy.count import distinct_pairs
from anonrisk.engines.pandas import profile
from anonrisk.engines.pandas.count import encoded_of
from anonrisk.engines.renumber import closed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.counts.question import Question, Score, Sensitive


def sizes(frame: pd.DataFrame, question: Question, name: str) -> pd.Series[Any]:
    """Give each record the size of its class; NA where the record was dropped."""
    counts, kept = class_sizes(frame, question)
    values: Any = counts
    if question.missing == "drop":
        values = pd.array(counts, dtype="Int64")
        values[~kept] = pd.NA
    return pd.Series(values, index=frame.index, name=name)


def at_risk(frame: pd.DataFrame, question: Question, k: int) -> pd.DataFrame:
    """Select the records in classes smaller than k; a dropped record is in no class."""
    counts, kept = class_sizes(frame, question)
    return frame.loc[(counts < k) & kept]


def breaking(
    frame: pd.DataFrame,
    question: Question,
    limits: Sequence[tuple[Sensitive, Score, float]],
    k: int | None,
) -> pd.DataFrame:
    """Select the records of the classes that break a limit, or are smaller than k."""
    marked = profile.breaking(frame, question, limits)
    if k is not None:
        counts, kept = class_sizes(frame, question)
        marked |= (counts < k) & kept
    return frame[marked]


def class_sizes(
    frame: pd.DataFrame, question: Question
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Size the class of each record, and tell which are counted."""
    encoded = encoded_of(frame, question)
    classes, n_classes = closed_up(encoded.keys(question.qid)[0])
    kept = encoded.kept(question.qid)
    if encoded.unit is None:
        counts = np.bincount(classes, minlength=n_classes)
    else:
        pairs = distinct_pairs(classes, n_classes, encoded.unit.values, encoded.unit.cardinality)
        counts = np.bincount(pairs[0], minlength=n_classes)
    return counts[classes], np.ones(len(frame), dtype=bool) if kept is None else kept
