"""Counts, probabilities and shares, as somebody gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import not_negative, whole_number
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anonrisk.core.arrays import Floats, Integers

# Probabilities may be off 1 by what rounding does, not by what a mistake does.
SUM_TOLERANCE = 1e-9


def n_values_of(value: Any, most: float) -> int:
    """Read a number of values, at least one."""
    n = whole_number(value, "n_values", at_least=1)
    if n > most:
        raise ArgumentError(f"n_values must be at most {most:,.0f}")
    return n


def share_of(value: Any) -> float:
    """Read a share of people: 5 is a percentage or a mistake, and would allow everything.

    Examples
    --------
    >>> share_of(0.05)
    0.05
    """
    share = not_negative(value, "share")
    if share > 1:
        raise ArgumentError("share is a part of all people, from 0 to 1; 5% is 0.05")
    return share


def as_array(value: ArrayLike, what: str) -> NDArray[Any]:
    """Read a list of numbers, of one length and none of them masked."""
    if np.ma.is_masked(value):
        raise ArgumentError(f"{what} must not be masked")
    try:
        return np.array(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be a list of numbers") from None


def as_floats(value: ArrayLike, what: str) -> Floats:
    """Read a number, or a list of numbers, as floats."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise ArgumentError(f"{what} must be a number or a list of numbers") from None


def check_sum(total: float) -> None:
    """Reject probabilities whose sum is not 1: only counts are divided by theirs."""
    if abs(total - 1) > SUM_TOLERANCE:
        raise ArgumentError(f"probabilities must sum to 1, not to {total:.10g}")


def as_probabilities(p: ArrayLike) -> Floats:
    """Read a list of numbers from zero up; whether they sum to 1 `check_sum` asks."""
    try:
        array = as_array(p, "probabilities").astype(float)
    except (TypeError, ValueError):
        raise ArgumentError("probabilities must be a list of numbers") from None
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any():
        raise ArgumentError("probabilities must be a list of numbers, none missing or below 0")
    return array


def histogram(counts: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return the different counts above 0, and how many values have each."""
    if int(counts.max()) <= 4 * len(counts) + 1_000:
        # One pass, where sorting all counts takes many.
        number = np.bincount(counts.astype(np.int64, copy=False))
        sizes = np.flatnonzero(number)
        number = number[sizes]
    else:
        sizes, number = np.unique(counts, return_counts=True)
    known = sizes > 0
    return sizes[known].astype(np.int64), number[known].astype(np.int64)
