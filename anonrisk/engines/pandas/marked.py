"""Cells that were suppressed, found by their marker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from anonrisk.engines.pandas.encode import column_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name


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
