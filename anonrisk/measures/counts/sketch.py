"""The classes with the smallest keyed hashes, where all do not fit, and sums from them.

The first 64 bits of a class's keyed hash are as good as random. The classes whose hashes are the
smallest are therefore a random sample of all classes, each with its exact size, and the same ones
wherever they are counted: a class among the K smallest of a union is among the K smallest of every
part that has it, so that sketches of parts give that of the whole, number by number.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Estimated, Interval
from anonrisk.errors import StateError
from anonrisk.measures.counts.keyed import KeyedTally
from anonrisk.measures.counts.question import Asks, Question
from anonrisk.pseudonyms.encoding import agreed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Integers
    from anonrisk.measures.counts.keyed import KeyedCounts
    from anonrisk.pseudonyms.keys import Key

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
