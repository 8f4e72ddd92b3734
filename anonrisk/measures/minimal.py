"""The minimal sets of columns that single out more than a share, level by level.

Write s(S) for the singletons of a set S of columns, D(S) for its classes, n for the records (with a
unit: the persons). Nothing is left out that is not proven to be hopeless or not minimal:

1. s(S) ≤ s(T) where S ⊆ T: whoever is alone with the values of S is alone with those of T. So a
   superset of a found set is not minimal, and where s(T) does not exceed the share no subset of T
   does. T may be larger than any set that is asked for: all columns at once are looked at first.
2. A class of c records that another column, or set of columns, with at most d different values
   cuts up has at most b(c, d) singletons, where b(c, d) = c if c ≤ d, else d − 1: d pieces of
   c > d records cannot all be of one. Summed over the classes of a measured set A,
   s(A ∪ B) ≤ Σ b(c, D(B)).
3. With A empty, one class of n, this is (D − 1)/n: s(S) ≤ D(S) − 1 unless D(S) ≥ n. And
   D(A ∪ B) ≤ D(A)·D(B), so that this needs no count of S itself.

All three hold for persons: one who is alone in a class is alone in one of its pieces, and each
person who is alone needs a piece of their own.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.interrupt import interruptible, time_is_up
from anonrisk.core.progress import tell
from anonrisk.core.render import count_of
from anonrisk.measures.counts.counter import DECIDED, number_of_sets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.counter import Counter, Positions

# Looking for a large set that singles out few pays only where it may save many counts: so many sets
# per column, chosen. The answer is the same with any number.
_WORTH_A_PROBE = 4
# How many sets are made between two looks at the clock.
_BETWEEN_LOOKS = 1_000


@dataclass(frozen=True)
class MinimalSet:
    """One minimal set, by the positions of its columns, with its classes."""

    positions: Positions
    sizes: ClassCounts


@dataclass(frozen=True)
class MinimalSets:
    """What a search has found, and how it went.

    Attributes
    ----------
    minimal_sets : tuple of MinimalSet
        The minimal sets.
    columns : tuple of ClassCounts
        The classes of each column by itself.
    together : ClassCounts
        The classes of all columns at once, however many they are.
    n_sets : int
        Number of sets up to the size asked for.
    n_counted : int
        Number of sets whose classes were counted.
    n_settled : int
        Number of sets that are decided: counted, or ruled out by a proof.
    stopped : bool
        Whether Ctrl-C ended the search.
    """

    minimal_sets: tuple[MinimalSet, ...]
    columns: tuple[ClassCounts, ...]
    together: ClassCounts
    n_sets: int
    n_counted: int
    n_settled: int
    stopped: bool = False


def most_singletons(sizes: ClassCounts, n_values: int) -> int:
    """Bound the singletons after a cut by something with so many values (rule 2).

    Examples
    --------
    >>> from anonrisk import ClassSizes
    >>> most_singletons(ClassSizes([2, 5], [10, 3]), 3)
    26
    """
    pieces = np.where(sizes.sizes <= n_values, sizes.sizes, n_values - 1)
    return int((pieces * sizes.classes).sum())


def search(
    counter: Counter,
    alpha: float,
    max_size: int,
) -> MinimalSets:
    """Find the minimal sets of at most `max_size` columns that single out more than `alpha`."""
    return _Search(counter, alpha, max_size).run()


def nearest_set(counter: Counter, outcome: MinimalSets, max_size: int) -> MinimalSet:
    """Return a set that singles out many, where none singles out enough.

    It begins with the column that singles out most, and takes the one that adds most, and so on: a
    few counts for each column of the set. Another set may single out more, up to the share.
    """
    n_columns = len(outcome.columns)
    if n_columns <= max_size:
        return MinimalSet(tuple(range(n_columns)), outcome.together)

    def best(sets: Sequence[Positions], counted: Iterable[ClassCounts]) -> MinimalSet:
        pairs = (
            MinimalSet(positions, sizes) for positions, sizes in zip(sets, counted, strict=True)
        )
        return max(pairs, key=lambda item: (item.sizes.records_at_most(1), item.sizes.n_classes))

    nearest = best([(i,) for i in range(n_columns)], outcome.columns)
    for _ in range(1, max_size):
        if time_is_up(DECIDED):
            break
        others = [i for i in range(n_columns) if i not in nearest.positions]
        wider = [tuple(sorted((*nearest.positions, i))) for i in others]
        wider_best = best(wider, counter.count(wider))
        if wider_best.sizes.n_classes == nearest.sizes.n_classes:
            break
        nearest = wider_best
    return nearest


@dataclass
class _Search:
    counter: Counter
    alpha: float
    max_size: int
    minimal_sets: list[MinimalSet] = field(default_factory=list)
    n_counted: int = 0
    n_settled: int = 0
    # Sets, as bits, proven not to exceed the share (rule 2), before they were counted.
    hopeless: set[int] = field(default_factory=set)
    # A large set that singles out few; none of its subsets exceeds the share (rule 1).
    quiet: int = 0
    # Bounds on the number of classes of the sets of the last level.
    classes: dict[int, int] = field(default_factory=dict)
    # Sets found, counted and decided, put down together: what Ctrl-C leaves.
    safe: tuple[int, int, int] = (0, 0, 0)

    def run(self) -> MinimalSets:
        n_columns = len(self.counter.columns)
        self.per_size = per_size = number_of_sets(n_columns, self.max_size)
        singles = [(i,) for i in range(n_columns)]
        everything = tuple(range(n_columns))
        first = [*singles, everything] if n_columns > 1 else singles
        self._settled(0)
        counted = list(self.counter.count(first))
        columns = counted[:n_columns]
        self.everything = counted[-1]
        self.n_records = columns[0].n_records
        self.values = [sizes.n_classes for sizes in columns]
        with interruptible() as interruption:
            self.n_counted = len(first)
            alive = self._level(zip(singles, columns, strict=True))
            # Rule 1 with all columns at once.
            if not self._exceeds(self.everything.records_at_most(1)):
                self._settled(sum(per_size) - n_columns)
            else:
                self._grow(alive)
        n_found, n_counted, n_settled = self.safe
        stopped = interruption.keep(n_settled, sum(per_size), DECIDED)
        result = tuple(self.minimal_sets[:n_found])
        about = (sum(per_size), n_counted, n_settled, stopped)
        return MinimalSets(result, tuple(columns), self.everything, *about)

    def _grow(self, alive: set[int]) -> None:
        """Decide the sets of two columns, of three, …, until all are or the time is over."""
        n_sets = sum(self.per_size)
        if not self.counter.batch and n_sets > _WORTH_A_PROBE * len(self.values):
            self._find_quiet()
        for size in range(2, len(self.per_size) + 1):
            alive = self._next(alive, size)
            if self._late():
                break
            # Whatever was not a candidate had a found subset.
            self._settled(sum(self.per_size[:size]) - self.n_settled)

    def _next(self, alive: set[int], size: int) -> set[int]:
        """Decide the sets of one size, from those of the size before that have no found subset."""
        last_level = size == self.max_size
        before, self.classes = self.classes, {}
        still: set[int] = set()
        waiting: list[Positions] = []
        # Counted one by one, sets go to the engine as they come, or at least often enough to stop.
        together = self.counter.batch or 1
        for number, positions in enumerate(self._candidates(alive)):
            if number % _BETWEEN_LOOKS == 0:
                self._settled(0)
                if self._late():
                    break
            mask = _mask(positions)
            n_classes = min(before[mask ^ (1 << i)] * self.values[i] for i in positions)
            if not last_level:
                self.classes[mask] = n_classes
            if self._ruled_out(mask, n_classes):
                still.add(mask)
                self._settled(1, quietly=True)
                continue
            if len(positions) == len(self.values):
                still |= self._level([(positions, self.everything)])
                continue
            waiting.append(positions)
            if len(waiting) == together:
                still |= self._level(self._counted(waiting))
                waiting = []
                if self._late():
                    break
        if waiting and not self._late():
            still |= self._level(self._counted(waiting))
        return still

    def _ruled_out(self, mask: int, n_classes: int) -> bool:
        """Return whether a set is proven not to exceed the share."""
        if mask in self.hopeless or mask & self.quiet == mask:
            return True
        # Rule 3.
        return n_classes < self.n_records and not self._exceeds(n_classes - 1)

    def _candidates(self, alive: set[int]) -> Iterator[Positions]:
        """Make the sets of one column more none of whose subsets is, or holds, a found one."""
        n_columns = len(self.values)
        for mask in sorted(alive, key=_positions):
            for i in range(mask.bit_length(), n_columns):
                wider = mask | (1 << i)
                positions = _positions(wider)
                if all(wider ^ (1 << j) in alive for j in positions):
                    yield positions

    def _counted(self, sets: Sequence[Positions]) -> Iterable[tuple[Positions, ClassCounts]]:
        for positions, sizes in zip(sets, self.counter.count(sets), strict=True):
            self.n_counted += 1
            yield positions, sizes

    def _level(self, counted: Iterable[tuple[Positions, ClassCounts]]) -> set[int]:
        """Sort counted sets into found ones and ones that may grow; give the latter."""
        alive = set()
        for positions, sizes in counted:
            if self._exceeds(sizes.records_at_most(1)):
                self.minimal_sets.append(MinimalSet(positions, sizes))
            else:
                mask = _mask(positions)
                alive.add(mask)
                self.classes[mask] = sizes.n_classes
                if len(positions) < self.max_size:
                    self._foresee(mask, sizes)
            self._settled(1)
        return alive

    def _foresee(self, mask: int, sizes: ClassCounts) -> None:
        """Rule out extensions of a set by its classes (rule 2)."""
        for i, n_values in enumerate(self.values):
            bit = 1 << i
            if not mask & bit and not self._exceeds(most_singletons(sizes, n_values)):
                self.hopeless.add(mask | bit)

    def _find_quiet(self) -> None:
        """Grow a set from the columns with the fewest values while it singles out few."""
        mask, n_classes = 0, 1
        for i in sorted(range(len(self.values)), key=self.values.__getitem__):
            self._settled(0)
            if self._late():
                return
            wider, product = mask | (1 << i), n_classes * self.values[i]
            if not self._ruled_out(wider, product):
                (sizes,) = self.counter.count([_positions(wider)])
                self.n_counted += 1
                if self._exceeds(sizes.records_at_most(1)):
                    continue
                product = sizes.n_classes
            mask, n_classes = wider, product
        self.quiet = mask

    def _exceeds(self, n_singletons: int) -> bool:
        return n_singletons / self.n_records > self.alpha

    def _late(self) -> bool:
        return time_is_up(DECIDED)

    def _settled(self, number: int, *, quietly: bool = False) -> None:
        """Put down that so many sets more are decided, after those of them that were found."""
        self.n_settled += number
        self.safe = len(self.minimal_sets), self.n_counted, self.n_settled
        if quietly:
            return
        # Each size by itself: of all sets together the first ones are too small a part to be seen.
        decided = self.n_settled
        for size, n_sets in enumerate(self.per_size, start=1):
            if decided < n_sets or size == len(self.per_size):
                text = f"{len(self.minimal_sets):,} found"
                tell(f"{text}, sets of {count_of(size, 'column')} decided", decided, n_sets)
                return
            decided -= n_sets


def _mask(positions: Positions) -> int:
    return sum(1 << i for i in positions)


def _positions(mask: int) -> Positions:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
