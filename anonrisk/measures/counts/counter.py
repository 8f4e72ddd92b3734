"""What a search asks of an engine: classes of many sets of columns, as they are and coarser."""

from __future__ import annotations

from dataclasses import field
from math import comb, isfinite
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.shapes import Numerals, Shape

    Positions = tuple[int, ...]

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


# Where a set of columns is the bits of a number, it has at most so many.
BITS = 62
# What is counted of sets where Ctrl-C came before all of them were looked at.
DECIDED = "sets decided"


def number_of_sets(n_columns: int, max_size: int) -> list[int]:
    """Count the sets of each size.

    Examples
    --------
    >>> number_of_sets(10, 4), sum(number_of_sets(10, 4))
    ([10, 45, 120, 210], 385)
    """
    return [comb(n_columns, size) for size in range(1, min(max_size, n_columns) + 1)]


class Counter(Protocol):
    """Counts the classes of sets of columns; sets are given by the positions of their columns.

    Every set is counted over the same records: with ``missing="drop"`` those that miss none of
    the columns. Only so is a set never less telling than its subsets.
    """

    # How many sets share a pass over the table; 0 where sets are counted one by one.
    batch: int

    @property
    def columns(self) -> Qid:
        """The columns that can be counted."""

    @property
    def unsupported(self) -> Mapping[Name, str]:
        """The columns that cannot, and why."""

    def count(self, sets: Sequence[Positions]) -> Iterator[ClassCounts]:
        """Count the classes of each set, in the given order."""

    def coarsen(self, n_values: Sequence[int]) -> Mapping[int, tuple[int, Coarsening]]:
        """Take up a coarser version of each column that has one.

        Given the number of different values of each column, gives for its position the position of
        the coarser one, and how that came about.
        """

    def shapes(self) -> list[Shape]:
        """Look at the cells of each column."""

    def numerals(self) -> list[Numerals]:
        """Count the numbers and dates of each column."""
