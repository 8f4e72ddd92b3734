"""Numbers replaced by the interval that they lie in."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.refusals import not_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name


def in_intervals(frame: pd.DataFrame, widths: Mapping[Name, float]) -> pd.DataFrame:
    """Return the table with the number of its interval in place of each value."""
    changed = frame.copy(deep=False)
    for name, width in widths.items():
        changed[name] = _numbered(column_of(frame, name), name, width)
    changed.attrs = dict(frame.attrs)
    return changed


def _numbered(column: pd.Series[Any], name: Name, width: float) -> pd.Series[Any]:
    if column.dtype == object:
        column = _of_objects(column, name)
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        raise not_numbers(name)
    if pd.api.types.is_integer_dtype(column.dtype) and width == int(width):
        return column // int(width)
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(np.floor(values / width), index=column.index)


def _of_objects(column: pd.Series[Any], name: Name) -> pd.Series[Any]:
    known = column[column.notna()]
    kinds = set(known.map(type))
    if not all(issubclass(kind, (int, float, Decimal, np.number)) for kind in kinds):
        raise not_numbers(name)
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        raise not_numbers(name)
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        return column.astype("Int64")
    return column.map(float, na_action="ignore").astype("Float64")
