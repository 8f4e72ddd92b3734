"""Classes of a pandas table: its columns become codes, which are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import Encoded
from anonrisk.engines.pandas.encode import column_of, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.counts.class_sizes import ClassCounts
    from anonrisk.counts.question import Group, Question


def encoded_of(
    frame: pd.DataFrame, question: Question, more: Mapping[Name, str] | None = None
) -> Encoded:
    """Encode every column that the question names, and any more with their roles."""
    return Encoded.of(encode(frame, question.roles(more)), question, len(frame))


def class_sizes(frame: pd.DataFrame, question: Question) -> list[ClassCounts]:
    """Count the classes of each quasi-identifier."""
    encoded = encoded_of(frame, question)
    return [encoded.class_sizes(qid) for qid in question.qids]


def class_sizes_by(frame: pd.DataFrame, question: Question, by: Name) -> list[list[Group]]:
    """Count the classes of each quasi-identifier within each group of `by`."""
    encoded = encoded_of(frame, question, {by: "grouping column"})
    codes = encoded.columns[by].values
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []
    refusals.check_groups(by, len(groups))
    labels = column_of(frame, by).iloc[[rows[0] for rows in groups]]
    return [
        refusals.in_order(encoded.class_sizes_within(qid, groups, labels)) for qid in question.qids
    ]


def marked(frame: pd.DataFrame, columns: Sequence[Name], marker: str) -> int:
    """Count the rows that have the marker of a suppressed cell in one of the columns."""
    found = np.zeros(len(frame), dtype=bool)
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
            found |= column.isin([marker]).to_numpy(dtype=bool)
    return int(found.sum())
