"""Simple coarsenings that need no knowledge of a column, the same on every engine."""

from __future__ import annotations

from dataclasses import field
from math import isfinite
from typing import TYPE_CHECKING, Self, TypeAlias

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

# Texts of which every one matches are codes, whose beginning says something; others are words.
CODE = "[0-9]"
# Texts of which every one matches, and none is longer than the pattern, are days of ISO 8601.
DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DAY_LENGTH, _MONTH_LENGTH = len("2024-05-01"), len("2024-05")
# Different words of a column among which the commonest are looked for.
MOST_WORDS = 1_000


@dataclass(frozen=True)
class EqualBins:
    """Bins of equal width over numbers, days or instants: floor((x − low) · scale)."""

    low: float
    scale: float
    number: int

    def __str__(self) -> str:
        """Describe it without a value of the table."""
        return f"{self.number:,} bins of equal width"


@dataclass(frozen=True)
class FirstCharacters:
    """The first characters of a text or code."""

    length: int
    months: bool = False

    @classmethod
    def of(cls, longest: int, *, days: bool) -> Self | None:
        """Leave the last character of the longest text away; None where nothing would remain.

        Of days both digits of the day are left away, so that what remains is a month.

        Examples
        --------
        >>> str(FirstCharacters.of(4, days=False)), str(FirstCharacters.of(10, days=True))
        ('first 3 characters', 'year and month')
        """
        if days and longest == _DAY_LENGTH:
            return cls(_MONTH_LENGTH, months=True)
        return cls(longest - 1) if longest > 1 else None

    def __str__(self) -> str:
        """Describe it without a value of the table."""
        if self.months:
            return "year and month"
        return f"first {self.length:,} character{'' if self.length == 1 else 's'}"


@dataclass(frozen=True)
class Commonest:
    """The commonest of the words of a column; the others are put together."""

    words: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Self | None:
        """Leave half as many values as there are; None where that would be a single one.

        Examples
        --------
        >>> str(Commonest.of({"red": 5, "blue": 3, "pink": 1}))
        'commonest value, others merged'
        >>> Commonest.of({"red": 5, "blue": 3})
        """
        number = (len(counts) - 1) // 2
        order = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(frozenset(order[:number])) if number else None

    def __str__(self) -> str:
        """Describe it without a value of the table."""
        many = len(self.words) > 1
        return f"{f'{len(self.words):,} commonest' if many else 'commonest value'}, others merged"


Coarsening: TypeAlias = EqualBins | FirstCharacters | Commonest


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
