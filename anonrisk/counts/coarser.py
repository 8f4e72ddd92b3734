"""Simple coarsenings that need no knowledge of a column, the same on every engine."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Self, TypeAlias


@dataclass(frozen=True)
class EqualBins:
    """Bins of equal width over numbers, days or instants: floor((x − low) · scale)."""

    low: float
    scale: float
    number: int

    def __str__(self) -> str:
        """Say it without a value of the table."""
        return f"{self.number:,} bins of equal width"


@dataclass(frozen=True)
class FirstCharacters:
    """The first characters of a text or code."""

    length: int

    @classmethod
    def of(cls, longest: int) -> Self | None:
        """Leave the last character of the longest text away; None where nothing would remain."""
        return cls(longest - 1) if longest > 1 else None

    def __str__(self) -> str:
        """Say it without a value of the table."""
        return f"first {self.length:,} character{'' if self.length == 1 else 's'}"


Coarsening: TypeAlias = EqualBins | FirstCharacters


def halved(low: float, high: float, n_values: int) -> EqualBins | None:
    """Make half as many bins as there are values; None where that would be a single one.

    Examples
    --------
    >>> str(halved(0.0, 9.0, 10))
    '5 bins of equal width'
    >>> halved(0.0, 1.0, 2)
    """
    number = (n_values + 1) // 2
    if number < 2 or not isfinite(high - low) or high <= low:
        return None
    scale = number / (high - low)
    return EqualBins(low, scale, number) if isfinite(scale) else None
