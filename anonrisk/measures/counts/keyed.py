"""Counts under keyed hashes: which classes there are, told apart but not named.

Unlike class sizes they can be added up: a class of one in each half of a table is a class of two in
the whole, because it has one hash. How hashes are made stands in `anonrisk.pseudonyms.encoding`.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.errors import StateError
from anonrisk.measures.counts.question import Asks, Question
from anonrisk.pseudonyms.encoding import Hashes, agreed, name_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Integers
    from anonrisk.pseudonyms.keys import Key


class _Arrays:
    """Frozen arrays that are compared as a whole."""

    def __post_init__(self) -> None:
        for item in fields(self):  # type: ignore[arg-type]
            array = getattr(self, item.name)
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        """Two are equal if they say the same of the same columns."""
        if type(other) is not type(self):
            return NotImplemented
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]


def _same(item: Any, other: Any) -> bool:
    if isinstance(item, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(item, other)
    return bool(item == other)


@dataclass(frozen=True, eq=False)
class KeyedValues(_Arrays):
    """The values of one sensitive column: an entry a distinct (class[, person], value), sorted.

    Attributes
    ----------
    classes, values : arrays of hashes
        The class and the value of each entry.
    persons : array of hashes, optional
        The person of each entry, where there is a unit.
    rows : array of int
        How many rows each entry has.
    """

    classes: Hashes = field(repr=False)
    persons: Hashes | None = field(repr=False)
    values: Hashes = field(repr=False)
    rows: Integers = field(repr=False)

    @classmethod
    def of(cls, classes: Hashes, persons: Hashes | None, values: Hashes, rows: Integers) -> Self:
        """Sort entries, and add up those that are alike."""
        if persons is None:
            (classes, values), rows = added_up([classes, values], rows)
        else:
            (classes, persons, values), rows = added_up([classes, persons, values], rows)
        return cls(classes, persons, values, rows)

    def renamed(self, person: Hashes, other: Hashes) -> KeyedValues:
        """Return the entries with another person in the place of one."""
        persons = None if self.persons is None else _renamed(self.persons, person, other)
        return KeyedValues.of(self.classes, persons, self.values, self.rows)

    def merge(self, other: KeyedValues) -> KeyedValues:
        """Add up the entries of two tables."""
        return KeyedValues.of(
            np.concatenate((self.classes, other.classes)),
            _both(self.persons, other.persons),
            np.concatenate((self.values, other.values)),
            np.concatenate((self.rows, other.rows)),
        )


@dataclass(frozen=True, eq=False)
class KeyedCounts(_Arrays):
    """The classes of a table under keyed hashes: an entry a distinct (class[, person]), sorted.

    Attributes
    ----------
    qid : names
        The columns of the quasi-identifier, sorted.
    unit : name, optional
        The column that says which person a row belongs to.
    sensitive : names
        The sensitive columns, sorted.
    missing : str
        What was done with missing quasi-identifiers: ``"value"``, ``"drop"`` or ``"error"``.
    kinds : dict of name to str
        The letter of each of these columns, in the rows that are counted; see
        `anonrisk.pseudonyms.encoding`.
    classes : array of hashes
        The class of each entry.
    persons : array of hashes, optional
        The person of each entry, where there is a unit.
    rows : array of int
        How many rows each entry has.
    values : dict of name to KeyedValues
        The values of each sensitive column.
    n_rows, n_dropped : int
        Number of rows counted, and left out because a quasi-identifier was missing.
    """

    qid: Qid
    unit: Name | None
    sensitive: Qid
    missing: str
    kinds: dict[Name, str]
    classes: Hashes = field(repr=False)
    persons: Hashes | None = field(repr=False)
    rows: Integers = field(repr=False)
    values: dict[Name, KeyedValues] = field(repr=False)
    n_rows: int
    n_dropped: int

    @classmethod
    def of(
        cls,
        asked: KeyedTally,
        kinds: Mapping[Name, str],
        *,
        classes: Hashes,
        persons: Hashes | None,
        rows: Integers,
        values: Mapping[Name, KeyedValues],
        n_dropped: int,
    ) -> Self:
        """Sort the entries of a table, and add up those that are alike."""
        if persons is None:
            (classes,), rows = added_up([classes], rows)
        else:
            (classes, persons), rows = added_up([classes, persons], rows)
        return cls(
            asked.question.qid,
            asked.question.unit,
            asked.sensitive,
            asked.question.missing,
            dict(kinds),
            classes,
            persons,
            rows,
            dict(values),
            n_rows=int(rows.sum()),
            n_dropped=n_dropped,
        )

    def renamed(self, person: Hashes, other: Hashes) -> KeyedCounts:
        """Return the counts with another person in the place of one; each is one hash (1, 2)."""
        if self.persons is None:
            return self
        renamed = _renamed(self.persons, person, other)
        (classes, persons), rows = added_up([self.classes, renamed], self.rows)
        values = {name: item.renamed(person, other) for name, item in self.values.items()}
        return replace(self, classes=classes, persons=persons, rows=rows, values=values)

    def merge(self, other: KeyedCounts) -> KeyedCounts:
        """Add up the counts of two tables of the same columns, which share no row.

        Examples
        --------
        >>> one = KeyedCounts(
        ...     *(("zip",), None, (), "value", {"zip": "s"}),
        ...     *(np.zeros((1, 2), dtype=np.uint64), None, np.array([1]), {}, 1, 0),
        ... )
        >>> one.merge(one).rows.tolist()
        [2]
        """
        self._check(other)
        classes = np.concatenate((self.classes, other.classes))
        persons = _both(self.persons, other.persons)
        hashes = [classes] if persons is None else [classes, persons]
        hashes, rows = added_up(hashes, np.concatenate((self.rows, other.rows)))
        return KeyedCounts(
            self.qid,
            self.unit,
            self.sensitive,
            self.missing,
            {name: agreed(name, self.kinds[name], other.kinds[name]) for name in self.kinds},
            hashes[0],
            None if persons is None else hashes[1],
            rows,
            {name: value.merge(other.values[name]) for name, value in self.values.items()},
            self.n_rows + other.n_rows,
            self.n_dropped + other.n_dropped,
        )

    def _check(self, other: KeyedCounts) -> None:
        for what, mine, its in (
            ("quasi-identifier", self.qid, other.qid),
            ("sensitive columns", self.sensitive, other.sensitive),
            ("unit", (self.unit,), (other.unit,)),
        ):
            if mine != its:
                raise StateError(
                    f"states of different columns do not fit together: {what} {_listed(mine)} "
                    f"here, {_listed(its)} there"
                )
        if self.missing != other.missing:
            raise StateError(
                "states that treat missing values differently do not fit together: "
                f"missing={self.missing!r} "
                f"here, missing={other.missing!r} there"
            )


@dataclass(frozen=True)
class KeyedTally(Asks[KeyedCounts]):
    """The classes of a question, one quasi-identifier, under keyed hashes.

    With the rows of each sensitive column's values in them.
    """

    question: Question
    sensitive: Qid
    key: Key = field(repr=False)

    def __post_init__(self) -> None:
        """Sort the columns by name, as they are hashed, in whatever order they are given."""
        (qid,) = self.question.qids
        question = replace(self.question, qids=(tuple(sorted(qid, key=name_bytes)),))
        object.__setattr__(self, "question", question)
        object.__setattr__(self, "sensitive", tuple(sorted(self.sensitive, key=name_bytes)))


def added_up(columns: Sequence[Hashes], rows: Integers) -> tuple[list[Hashes], Integers]:
    """Sort entries by their hashes, the first column first, and add up the rows of equal ones.

    Examples
    --------
    >>> hashes = np.array([[0, 7], [0, 3], [0, 7]], dtype=np.uint64)
    >>> (found,), rows = added_up([hashes], np.array([1, 1, 5]))
    >>> found.tolist(), rows.tolist()
    ([[0, 3], [0, 7]], [1, 6])
    """
    if not len(rows):
        return list(columns), rows
    words = [hashes[:, word] for hashes in columns for word in (0, 1)]
    order = np.lexsort(words[::-1])
    new = np.zeros(len(order), dtype=bool)
    new[0] = True
    for word in words:
        placed = word[order]
        new[1:] |= placed[1:] != placed[:-1]
    first = np.flatnonzero(new)
    return [hashes[order[first]] for hashes in columns], np.add.reduceat(rows[order], first)


def _renamed(persons: Hashes, person: Hashes, other: Hashes) -> Hashes:
    return np.where((persons == person).all(axis=1)[:, None], other, persons)


def _both(hashes: Hashes | None, other: Hashes | None) -> Hashes | None:
    return None if hashes is None or other is None else np.concatenate((hashes, other))


def _listed(names: Sequence[Name | None]) -> str:
    known = [name for name in names if name is not None]
    return render.joined(known) if known else "none"
