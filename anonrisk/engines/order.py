"""A caller's order of values beside the column that they are to be found in."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import Name

# The first that fits is what a value is; bool is derived from int, datetime from date.
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (str,)),
    ("bytes", (bytes,)),
    ("booleans", (bool, np.bool_)),
    ("durations", (dt.timedelta, np.timedelta64)),
    ("numbers", (int, float, Decimal, np.integer, np.floating)),
    ("timestamps", (dt.datetime, np.datetime64)),
    ("dates", (dt.date,)),
    ("times", (dt.time,)),
)

_LARGEST = sys.float_info.max


def check_kinds(column: Name, order: Iterable[Any], held: str | None) -> None:
    """Reject an order of other things than the column holds, before any value is looked up.

    Python holds True, 1 and 1.0 equal and Spark casts what it compares, so that each engine would
    find values in such an order, but not the same ones.
    """
    values = list(order)
    if any(pd.isna(value) for value in values):
        raise ArgumentError("order= lists values; a missing one comes after the largest by itself")
    kinds = sorted({kind_of(value) or type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise ArgumentError(f"order= mixes {' and '.join(kinds)}")
    if kinds and held is not None and kinds != [held]:
        raise ArgumentError(
            f"order= lists {kinds[0]}, but sensitive column {column!r} holds {held}"
        )


def kind_of(value: Any) -> str | None:
    """Name what a value is; nothing for what only Python knows."""
    return next((kind for kind, types in _KINDS if isinstance(value, types)), None)


def as_number(value: Any, digits: int | None) -> int | float | Decimal | None:
    """Write a number with so many digits after the point, None for a float's.

    Nothing where that is another number: no cell of such a column can be equal to it.
    """
    try:
        exact = Fraction(value.item() if isinstance(value, np.generic) else value)
    except OverflowError:
        # Infinity is a float, and no number of digits writes it.
        return float(value) if digits is None else None
    if digits is None:
        return float(exact) if abs(exact) <= _LARGEST and Fraction(float(exact)) == exact else None
    shifted = exact * 10**digits
    if shifted.denominator > 1:
        return None
    return Decimal(f"{shifted.numerator}E-{digits}") if digits else shifted.numerator
