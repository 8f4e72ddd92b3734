"""Counts under keyed hashes: all classes, told apart but not named, or the smallest hashes.

Unlike class sizes they can be added up: a class of one in each half of a table is a class of two in
the whole, because it has one hash. How hashes are made stands in `anonrisk.pseudonyms.encoding`.

The first 64 bits of a class's keyed hash are as good as random. The classes whose hashes are the
smallest are therefore a random sample of all classes, each with its exact size, and the same ones
wherever they are counted: a class among the K smallest of a union is among the K smallest of every
part that has it, so that sketches of parts give that of the whole, number by number.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Estimated, Interval
from anonrisk.errors import StateError
from anonrisk.measures.counts.question import Asks, Question
from anonrisk.pseudonyms.encoding import Hashes, agreed, name_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

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


# How many classes are kept: 16 MB, and a share of singletons of 1% within 1.4%.
MOST = 2**20
# The end of all hashes: where nothing was left out.
ALL = 2**64


@dataclass(frozen=True)
class SketchTally(Asks["SketchCounts"]):
    """The classes of a question, one quasi-identifier, with the smallest keyed hashes."""

    question: Question
    key: Key = field(repr=False)
    most: int = MOST

    def __post_init__(self) -> None:
        """Sort the columns by name, as they are hashed."""
        object.__setattr__(self, "question", self.whole.question)

    @property
    def whole(self) -> KeyedTally:
        """The same question about all classes."""
        return KeyedTally(self.question, (), self.key)


@dataclass(frozen=True, eq=False)
class SketchCounts:
    """Every class whose hash lies below an end, with its size: all of them, or a sample.

    Attributes
    ----------
    qid : names
        The columns of the quasi-identifier, sorted.
    missing : str
        What was done with missing quasi-identifiers.
    kinds : dict of name to str
        The letter of each column; see `anonrisk.pseudonyms.encoding`.
    hashes, rows : arrays
        The first 64 bits of each class's hash, ascending, and its number of rows.
    end : int
        All classes with a smaller hash are there; 2**64 where none was left out.
    most : int
        How many classes are kept.
    n_rows, n_dropped : int
        Number of rows counted, all classes together, and left out for a missing value.
    """

    qid: Qid
    missing: str
    kinds: dict[Name, str]
    hashes: NDArray[np.uint64] = field(repr=False)
    rows: Integers = field(repr=False)
    end: int
    most: int
    n_rows: int
    n_dropped: int

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        self.hashes.setflags(write=False)
        self.rows.setflags(write=False)

    @classmethod
    def of(
        cls,
        asked: SketchTally,
        kinds: Mapping[Name, str],
        kept: Smallest,
        *,
        n_rows: int,
        n_dropped: int,
    ) -> Self:
        """Put together what an engine has found."""
        hashes, rows, end = kept.rows_by_hash()
        return cls(
            asked.question.qid,
            asked.question.missing,
            {name: kinds[name] for name in asked.question.qid},
            hashes,
            rows,
            end,
            asked.most,
            n_rows,
            n_dropped,
        )

    @classmethod
    def of_counts(cls, asked: SketchTally, counted: KeyedCounts) -> Self:
        """Cut counts of all classes down to a sketch."""
        kept = Smallest(asked.most)
        kept.add(counted.classes[:, 0], counted.rows)
        n_rows, n_dropped = counted.n_rows, counted.n_dropped
        return cls.of(asked, counted.kinds, kept, n_rows=n_rows, n_dropped=n_dropped)

    @property
    def is_whole(self) -> bool:
        """Whether no class was left out."""
        return self.end == ALL

    def merge(self, other: SketchCounts) -> SketchCounts:
        """Add up the sketches of two tables of the same columns, which share no row."""
        for what, mine, its in (
            ("columns", self.qid, other.qid),
            ("missing", self.missing, other.missing),
        ):
            if mine != its:
                raise StateError(
                    f"sketches do not fit together: {what} {mine!r} here, {its!r} there"
                )
        most = min(self.most, other.most)
        kept = Smallest(most, min(self.end, other.end))
        kept.add(self.hashes, self.rows)
        kept.add(other.hashes, other.rows)
        hashes, rows, end = kept.rows_by_hash()
        return SketchCounts(
            self.qid,
            self.missing,
            {name: agreed(name, self.kinds[name], other.kinds[name]) for name in self.kinds},
            hashes,
            rows,
            end,
            most,
            self.n_rows + other.n_rows,
            self.n_dropped + other.n_dropped,
        )

    def __eq__(self, other: object) -> bool:
        """Two are equal if they say the same of the same columns."""
        if not isinstance(other, SketchCounts):
            return NotImplemented
        first, second = ({**vars(x), "hashes": 0, "rows": 0} for x in (self, other))
        same: Any = np.array_equal
        return first == second and same(self.hashes, other.hashes) and same(self.rows, other.rows)

    __hash__ = None  # type: ignore[assignment]


class Smallest:
    """The smallest hashes of those that come along, in room for about twice as many."""

    def __init__(self, most: int, end: int = ALL) -> None:
        """Keep at most so many, and none from this end on."""
        self.most, self.end = most, end
        self._hashes: list[NDArray[np.uint64]] = []
        self._rows: list[Integers] = []
        self._waiting = 0

    def add(self, hashes: NDArray[np.uint64], rows: Integers) -> None:
        """Take some classes along; one may come in parts."""
        if self.end < ALL:
            inside = hashes < np.uint64(self.end)
            hashes, rows = hashes[inside], rows[inside]
        self._hashes.append(hashes)
        self._rows.append(rows)
        self._waiting += len(hashes)
        if self._waiting > 2 * self.most:
            self.rows_by_hash()

    def rows_by_hash(self) -> tuple[NDArray[np.uint64], Integers, int]:
        """Return the hashes, ascending, their rows added up, and the end below which all are there.

        Examples
        --------
        >>> kept = Smallest(2)
        >>> kept.add(np.array([9, 3, 5, 3], dtype=np.uint64), np.array([1, 1, 1, 1]))
        >>> hashes, rows, end = kept.rows_by_hash()
        >>> hashes.tolist(), rows.tolist(), end
        ([3, 5], [2, 1], 9)
        """
        hashes = np.concatenate([np.empty(0, dtype=np.uint64), *self._hashes])
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self._rows])
        if len(hashes):
            order = np.argsort(hashes)
            hashes, rows = hashes[order], rows[order]
            first = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
            hashes, rows = hashes[first], np.add.reduceat(rows, first)
        if len(hashes) > self.most:
            self.end = int(hashes[self.most])
            # A copy, so that what is left out is let go.
            hashes, rows = hashes[: self.most].copy(), rows[: self.most].copy()
        self._hashes, self._rows, self._waiting = [hashes], [rows], len(hashes)
        return hashes, rows, self.end


LEVEL = 0.95


def total(parts: NDArray[np.int64], share: float, *, largest: int, at_most: float) -> Estimated:
    """Estimate a sum over all classes from a random sample of them.

    Parameters
    ----------
    parts : array of int
        What each class of the sample adds, 0 or more.
    share : float
        The share of all hashes below which every class is in the sample; 1 if all classes are.
    largest : int
        The most that any class can add.
    at_most : float
        What the sum cannot exceed, whatever the sample.

    Notes
    -----
    The sum over the sample, divided by the share of the hashes that it covers (Horvitz and
    Thompson 1952; of the K smallest hashes Beyer et al. 2007). Each class is in the sample with
    that probability, whatever it adds, so that the number of classes that are not, given those
    that are, has a negative binomial law. The ends are its exact ones, as Clopper and Pearson
    (1934) take them: the lower by the classes seen, the upper by one more. Classes that add
    different parts count as w = Σy²/Σy each, as many as Σy/w; the one more adds the largest part.
    At least 95% of such intervals hold the truth, and hardly more where 300 classes were seen.

    Examples
    --------
    >>> total(np.ones(1_000, dtype=np.int64), 0.1, largest=1, at_most=20_000)
    10000 (95%: 9420.56 to 10605.7)
    >>> total(np.ones(1_000, dtype=np.int64), 1.0, largest=1, at_most=20_000)
    1000 (exact)
    """
    seen, squares = float(parts.sum()), float(np.square(parts.astype(float)).sum())
    if share >= 1:
        return Estimated(seen, Interval(seen, seen))
    from scipy.special import nbdtrik

    tail = (1 - LEVEL) / 2
    low = seen
    if seen:
        weight = squares / seen
        low += weight * float(nbdtrik(tail, seen / weight, share))
    weight = (squares + largest**2) / (seen + largest)
    number = (seen + largest) / weight
    high = weight * (number - 1 + float(nbdtrik(1 - tail, number, share)))
    estimate = min(seen / share, at_most)
    return Estimated(estimate, Interval(low, min(high, at_most), LEVEL))
