"""Arithmetic in SQL that neither overflows nor underflows, which PostgreSQL refuses."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

# Below this an exponential is nothing beside any sum of ours.
_NOTHING = -600.0
# What is above is infinite.
LARGEST = 1.7976931348623157e308


def double(number: Any) -> Any:
    """Make a number a float; quotients and sums of those are floats in every database."""
    return sa.cast(sa.literal(number) if isinstance(number, float) else number, sa.Double())


def exp(number: Any) -> Any:
    """Take an exponential, that of very negative numbers as 0."""
    return sa.case((number < _NOTHING, double(0.0)), else_=sa.func.exp(number))


def at_most_one(size: Any) -> Any:
    """Give ln(1 − 1/size), of sizes above 1."""
    return sa.func.ln(1 - double(1.0) / size)


def rising(number: Any) -> Any:
    """Give (1 − exp(−x))/x, by its series where the difference would lose digits."""
    series = double(1.0)
    for n in (5, 4, 3, 2):
        series = 1 - number / n * series
    small = number < 1e-3
    safe = sa.case((small, double(1.0)), else_=number)
    return sa.case((small, series), else_=(1 - exp(-safe)) / safe)
