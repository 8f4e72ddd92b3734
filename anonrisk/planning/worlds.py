"""The tables that could have led to a release: who may have which of the values of a class.

Whoever knows everybody's quasi-identifiers and a release knows which values a class has, and who is
in it, but not who has which. Whoever also knows the method, which is public, tries: an arrangement
of the values from which the method makes another release is not the truth (Wong, Fu, Wang & Pei
2007). Persons of one combination of quasi-identifiers are alike to any method, so that it is
combinations that are looked at, and tables of counts, of combinations by values.
"""

from __future__ import annotations

from itertools import islice, product
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anonrisk.core.arrays import Floats, Integers

# Up to so many tables are gone through, and up to so many of them handed to the method, each of
# which takes some hundredths of a second.
_MOST, _MOST_RUNS = 20_000, 500
# Together they have up to so many cells, which are held at once; and a class so many combinations
# and values, each of which is a call inside of another one.
_MOST_HELD, _DEEPEST = 10_000_000, 100

_Counts = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Worlds:
    """A table whose quasi-identifiers, classes and values of each class are known.

    Attributes
    ----------
    counts : array (n_combinations, n_values)
        How many persons of each combination have each value: the truth.
    classes : array (n_combinations,)
        The class that each combination is in.
    alike : bool
        Whether a method tells values apart by their counts only, so that tables that differ in the
        order of their values alone lead to the same release.
    """

    counts: Integers
    classes: Integers
    alike: bool

    def credibilities(self, leads_here: Callable[[Integers], bool]) -> Floats | None:
        """Return how likely each value is for a person of each combination.

        All arrangements of the values that `leads_here`, asked about their counts, does not exclude
        are equally likely. An array (n_combinations, n_values); None where there are too many.
        """
        worlds = self._all()
        if worlds is None:
            return None
        # Whole numbers of any length: the arrangements are more than a float can count.
        total, weighted = 0, np.zeros(self.counts.shape, dtype=object)
        for i, alike in enumerate(worlds.values(), start=1):
            tell(f"trying tables that could have led here: {i:,} of {len(worlds):,}")
            if leads_here(alike[0]):
                # Their cells are the same, in other places.
                weight = arrangements(alike[0].tolist())
                total += weight * len(alike)
                weighted += weight * np.sum(alike, axis=0).astype(object)
        # A person of a combination is any of its persons.
        sizes = self.counts.sum(axis=1).tolist()
        rows = zip(weighted.tolist(), sizes, strict=True)
        return np.array([[cell / (total * n) for cell in row] for row, n in rows])

    def _all(self) -> dict[object, list[Integers]] | None:
        """Return all tables; alike ones are in one list. None where there are too many."""
        choices = self._choices()
        if choices is None:
            return None
        worlds: dict[object, list[Integers]] = {}
        for world in product(*(tables for _, tables in choices)):
            counts = np.zeros_like(self.counts)
            for (rows, _), table in zip(choices, world, strict=True):
                counts[rows] = table
            worlds.setdefault(self._key(counts), []).append(counts)
            if len(worlds) > _MOST_RUNS:
                return None
        return worlds

    def _key(self, counts: Integers) -> object:
        if not self.alike:
            return counts.tobytes()
        return tuple(sorted(map(tuple, counts.T.tolist())))

    def _choices(self) -> list[tuple[Integers, list[Integers]]] | None:
        """Return of each class its combinations, and its tables; None where there are too many."""
        choices, n_worlds = [], 1
        most = min(_MOST, _MOST_HELD // self.counts.size)
        for number in np.unique(self.classes).tolist():
            rows = np.flatnonzero(self.classes == number)
            mine = self.counts[rows]
            if len(rows) > 1 and sum(mine.shape) > _DEEPEST:
                return None
            sums = mine.sum(axis=1).tolist(), mine.sum(axis=0).tolist()
            tables = list(islice(tables_with(*sums), most // n_worlds + 1))
            n_worlds *= len(tables)
            if n_worlds > most:
                return None
            choices.append((rows, [np.array(table) for table in tables]))
        return choices


def tables_with(rows: Sequence[int], columns: Sequence[int]) -> Iterator[_Counts]:
    """Yield every table of counts that has these sums of rows and of columns.

    Examples
    --------
    >>> list(tables_with([2, 1], [2, 1]))
    [((2, 0), (0, 1)), ((1, 1), (1, 0))]
    """
    if len(rows) == 1:
        yield (tuple(columns),)
        return
    for first in _taken(rows[0], columns):
        left = [n - taken for n, taken in zip(columns, first, strict=True)]
        for rest in tables_with(rows[1:], left):
            yield (first, *rest)


def _taken(n: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every way to take so many, of each kind as many as there are at most."""
    if len(most) == 1:
        yield (n,)
        return
    others = sum(most[1:])
    for first in range(min(n, most[0]), max(n - others, 0) - 1, -1):
        for rest in _taken(n - first, most[1:]):
            yield (first, *rest)


def arrangements(table: Sequence[Sequence[int]]) -> int:
    """Count the ways in which persons can have the values of a table.

    Examples
    --------
    >>> arrangements(((1, 1), (1, 0)))
    2
    """
    return prod(factorial(sum(row)) // prod(map(factorial, row)) for row in table)


def bounds(sizes: Integers, classes: Integers, most: Integers) -> Floats:
    """Bound how likely the likeliest value of a person of each combination is, by any method.

    Of a combination of n persons at most c have a value that c of the class have, and they are
    alike to any method: c / n, or certainty. A class of one combination has no other arrangement.

    Parameters
    ----------
    sizes, classes : array (n_combinations,)
        The persons of each combination, and its class, from 0.
    most : array (n_classes,)
        How often the commonest value of each class occurs in it.

    Examples
    --------
    >>> bounds(np.array([2, 5]), np.array([0, 0]), np.array([2])).tolist()
    [1.0, 0.4]
    """
    return np.asarray(np.minimum(most[classes] / sizes, 1.0), dtype=np.float64)
