"""What someone learns from a release who knows how it was made.

A release narrows down the tables that could have led to it: who may have which value of a class.

Whoever knows everybody's quasi-identifiers and a release knows which values a class has, and who is
in it, but not who has which. Whoever also knows the method, which is public, tries: an arrangement
of the values from which the method makes another release is not the truth (Wong, Fu, Wang & Pei
2007). Persons of one combination of quasi-identifiers are alike to any method, so that it is
combinations that are looked at, and tables of counts, of combinations by values.
"""

from __future__ import annotations

from dataclasses import field
from itertools import islice, product
from math import factorial, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import render
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Floats, Integers

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


# What a chance may be above a limit by rounding.
HAIR = 1e-9


@dataclass(frozen=True)
class Credibility(Document):
    """How sure one can be of a person's sensitive value, by the method and without it.

    Attributes
    ----------
    column : name
        The sensitive column.
    exact : bool
        Whether all tables that could have led to the release were tried; otherwise figures of the
        method are upper bounds.
    by_release : float
        The largest share that a value has of a class: what the release alone says.
    highest : float
        The largest credibility of a value for a person, given the method too, or a bound of it.
    limit : float or None
        1 / l of the plan's goal about the column, where it has one.
    n_above : int or None
        The persons whose credibility, or its bound, is above the limit.
    n_certain : int or None
        The persons whose value is certain; None where it is not exact.
    n_raised : int or None
        The persons of whom the method says more than the release alone; None where it is not
        exact.
    n_unbounded : int
        The persons whose bound is 1, of whom nothing is known; 0 where it is exact.
    """

    column: Name
    exact: bool
    by_release: float
    highest: float
    limit: float | None = None
    n_above: int | None = None
    n_certain: int | None = None
    n_raised: int | None = None
    n_unbounded: int = 0


@dataclass(frozen=True)
class ExcludedCells(Document):
    """Cells whose label includes several values, and whether it excludes some.

    Attributes
    ----------
    n_cells : int
        The cells of the release whose label includes more than one value of the table.
    n_rest : int
        Those that exclude some of the values of the part they are labelled by, which have labels
        of their own: `rest of …`. No other label includes a value that its cells cannot have,
        neither by the release alone nor with the recodings in hand.
    """

    n_cells: int
    n_rest: int


@dataclass(frozen=True, repr=False)
class PlanAttack(Document, render.PrintedTable):
    """What someone learns who knows a release, its method and everybody's quasi-identifiers.

    Not what the plan's own figures tell of the table before: see `anonrisk.Plan.to_dict`.

    Attributes
    ----------
    qid : tuple of names
        The quasi-identifiers.
    n_persons : int
        The persons of the table, one per record.
    n_left_out : int
        Those who are not in the release, which tells that their classes break a goal.
    credibility : tuple of Credibility
        One per sensitive column.
    excluded_cells : ExcludedCells
        Labels that exclude what other labels have.
    """

    qid: Qid
    n_persons: int
    n_left_out: int
    credibility: tuple[Credibility, ...]
    excluded_cells: ExcludedCells
    _by_person: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    _document = ("qid", "n_persons", "n_left_out", "credibility", "excluded_cells")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cells of the table."""
        return {**vars(self), "_by_person": {}}

    def by_person(self, column: Name) -> pd.DataFrame:
        """Return who is at risk: cells of the table, which no print of this result has.

        Parameters
        ----------
        column : name
            The sensitive column.

        Returns
        -------
        pandas.DataFrame
            One row per combination of quasi-identifiers: `persons` who have it, the largest share
            `by_release` of a value, and its largest `credibility`.
        """
        if column not in self._by_person:
            known = nearest(column, self._by_person)
            raise ArgumentError(
                f"{column!r} is not a sensitive column of this result, or the result is a stored "
                f"copy, which holds no cells{known}"
            )
        frame: pd.DataFrame = self._by_person[column]()
        return frame

    def _lines(self) -> list[str]:
        return [
            (
                f"What someone who knows the release, the method and everybody's "
                f"{render.joined(self.qid)} learns about "
                f"{render.count_of(self.n_persons, 'person')}"
            )
        ]

    def _header(self) -> tuple[str, ...]:
        return ("sensitive", "release alone", "with the method", "above the limit", "certain")

    def _rows(self) -> list[tuple[str, ...]]:
        return [_row(known) for known in self.credibility]

    def _notes(self) -> list[str]:
        notes = [_meaning(known, self.n_persons) for known in self.credibility]
        cells = self.excluded_cells
        notes.append(
            f"labels: of {render.count_of(cells.n_cells, 'generalised cell')} {cells.n_rest:,} "
            'exclude values that others have, and say so: "rest of"'
        )
        if self.n_left_out:
            who = render.count_of(self.n_left_out, "person")
            notes.append(
                f"left out: {who}; that they are missing tells that their classes break a goal. "
                "Their values are taken to be known as a whole"
            )
        return notes


def _row(known: Credibility) -> tuple[str, ...]:
    method = render.percent(known.highest)
    if not known.exact:
        method = "not bounded" if known.n_unbounded else f"at most {method}"
    above = "-"
    if known.limit is not None:
        above = f"{known.n_above:,} (> {render.percent(known.limit)})"
    certain = "-" if known.n_certain is None else f"{known.n_certain:,}"
    return render.named(known.column), render.percent(known.by_release), method, above, certain


def _meaning(known: Credibility, n_persons: int) -> str:
    name = render.named(known.column)
    if known.exact:
        return (
            f"{name}: exact; of {known.n_raised:,} of {n_persons:,} persons the method tells more "
            "than the release alone"
        )
    return (
        f"{name}: too many tables could have led to this release to try them all; figures are "
        f"upper bounds that hold for any method, and {known.n_unbounded:,} of {n_persons:,} "
        "persons are not bounded"
    )
