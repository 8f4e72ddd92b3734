"""Local suppression: which cells become missing so that every record matches k, itself counted.

A missing cell matches every value. To lose as few cells as possible would be a poor aim by itself:
k rows without a cell match everybody, and every k holds on paper. So a rule goes with it: only
records that match too few lose cells, and none loses more than it would need if it were the only
one that did. Then each that lost cells fits k records of the table as it was. Where cells are
shared, what one loses may help others, which keep theirs. Records that are alike are treated alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, groupby
from math import comb, inf
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.core.render import count_of
from anonrisk.engines import refusals
from anonrisk.errors import ArgumentError
from anonrisk.planning import local_optimum
from anonrisk.planning.incomplete_keys import IncompleteKeys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.engines.numpy.codes import Codes
    from anonrisk.planning.incomplete_keys import Columns

# Sets of columns that are tried; of more columns than twelve only the smaller sets are.
MAX_SETS = 4_096
# An exact search looks at every set of columns of every key, and at pairs of keys below k.
_MAX_SEARCHED = 200
_MAX_COUNTED = 4_000_000


@dataclass(frozen=True, eq=False)
class LocalSuppression:
    """Which cells of which keys become missing.

    Attributes
    ----------
    cells : array of bool
        A row a key, a column a column.
    n_cells : int
        Cells of records that become missing.
    cost : float
        Their weights, added up.
    optimal : bool
        Whether it is proven that there is no cheaper choice under the rule of this module.
    """

    cells: Booleans
    n_cells: int
    cost: float
    optimal: bool


def choose_cells(
    columns: Sequence[Codes],
    counts: Integers,
    k: int,
    weights: Sequence[float],
    *,
    shared: bool = False,
) -> LocalSuppression:
    """Choose cells to become missing, so that every record matches at least k, itself counted.

    Parameters
    ----------
    columns : sequence of Codes
        The keys, each once, column by column; codes are in the order of the values.
    counts : array of int
        How many records have each key.
    k : int
        How many records each is to match.
    weights : sequence of float
        What a missing cell costs, column by column; infinity is never touched.
    shared : bool
        Whether a record may match k thanks to the cells that others lost. Otherwise each that
        matches too few loses cells until it would match k if it were the only one that did.

    Examples
    --------
    >>> from anonrisk.engines.numpy.codes import Codes
    >>> area, age = Codes(np.array([0, 0, 1]), 2), Codes(np.array([0, 1, 1]), 2)
    >>> chosen = choose_cells([area, age], np.array([4, 1, 4]), k=2, weights=[1.0, 2.0])
    >>> chosen.cells.tolist(), chosen.cost, chosen.optimal
    ([[False, False], [True, False], [False, False]], 1.0, True)
    """
    refusals.check_k(k, int(counts.sum()))
    keys = IncompleteKeys.of(columns, counts)
    order = np.lexsort(keys.codes.T[::-1])
    cells = np.zeros(keys.codes.shape, dtype=bool)
    # By their values, so that nothing follows from the order of the records.
    search = _KeysBelow(IncompleteKeys(keys.codes[order], keys.counts[order]), k, weights)
    optimal = search.together() if shared else search.alone()
    cells[order[search.below]] = search.blank
    lost = cells.sum(axis=1) @ counts
    # A column that is never touched has an infinite weight, and no cell of it is chosen.
    prices = np.where(np.isinf(weights), 0.0, weights)
    return LocalSuppression(cells, int(lost), float(counts @ (cells @ prices)), optimal)


def sets_by_cost(weights: Sequence[float]) -> tuple[list[list[Columns]], bool]:
    """List the sets of columns that may be suppressed, cheapest first, those of one cost together.

    Of two that cost alike the smaller one is cheaper, and a later column goes before an earlier.
    The second answer is whether they are all there; if not, those that hold the cheapest columns
    are, up to the set of all.
    """
    free = [column for column in reversed(range(len(weights))) if weights[column] < inf]
    size = max(
        n for n in range(len(free) + 1) if sum(comb(len(free), i) for i in range(n + 1)) <= MAX_SETS
    )
    sets = [chosen for n in range(1, size + 1) for chosen in combinations(free, n)]
    cheapest = sorted(free, key=lambda column: weights[column])
    sets += [tuple(cheapest[:n]) for n in range(size + 1, len(free) + 1)]

    def cost(columns: Columns) -> tuple[float, int]:
        # Sums of floats that would be equal on paper differ in their last bits.
        return round(sum(weights[column] for column in columns), 9), len(columns)

    sets.sort(key=cost)
    return [list(alike) for _, alike in groupby(sets, key=cost)], size == len(free)


class _KeysBelow:
    """The keys that match too few records, and what they lose."""

    def __init__(self, keys: IncompleteKeys, k: int, weights: Sequence[float]) -> None:
        self.keys, self.k, self.weights = keys, k, weights
        self.below = np.flatnonzero(keys.sizes() < k)
        # As they were, and what they become.
        self.were = IncompleteKeys(keys.codes[self.below], keys.counts[self.below])
        self.codes = self.were.codes.copy()
        self.blank = np.zeros(self.were.codes.shape, dtype=bool)
        self.sets, self.complete = sets_by_cost(weights)
        self._refuse()

    def _refuse(self) -> None:
        """Refuse weights that leave too little to suppress."""
        kept = tuple(column for column, weight in enumerate(self.weights) if weight == inf)
        alike = self.keys.sizes(kept)[self.below]
        stuck = int(self.were.counts[alike < self.k].sum())
        if stuck:
            raise ArgumentError(
                f"k={self.k} cannot be reached: {count_of(stuck, 'record')} would match too few "
                "others by the columns of infinite weight alone; give one of them a finite weight"
            )

    @cached_property
    def all_columns(self) -> Columns:
        return tuple(range(len(self.weights)))

    def without(self, columns: Columns) -> Columns:
        """Give the other columns."""
        return tuple(column for column in self.all_columns if column not in columns)

    def lose(self, rows: Integers, columns: Columns) -> None:
        """Make cells of some keys missing."""
        # A cell that was missing before is not one that was suppressed.
        cells = np.ix_(rows, np.array(columns))
        self.blank[cells] = self.were.codes[cells] >= 0
        self.codes[cells] = -1

    def enough(self, sets: list[Columns]) -> Booleans:
        """Tell of each set, and each key, whether losing it is enough for the key itself."""
        return np.stack(
            [self.keys.sizes(self.without(chosen))[self.below] >= self.k for chosen in sets]
        )

    def needs(self) -> Iterator[tuple[list[Columns], Booleans]]:
        """Go through costs: the sets of each, and which keys need as much and which would do."""
        left = np.ones(len(self.below), dtype=bool)
        for sets in self.sets:
            if not left.any():
                break
            enough = left & self.enough(sets)
            left &= ~enough.any(axis=0)
            yield sets, enough

    def alone(self) -> bool:
        """Let each key lose the first set that is enough; tell whether that is the optimum."""
        for sets, enough in self.needs():
            first = np.where(enough.any(axis=0), enough.argmax(axis=0), -1)
            for number, chosen in enumerate(sets):
                self.lose(np.flatnonzero(first == number), chosen)
        return self.complete

    def together(self) -> bool:
        """Let keys lose cells as long as they match too few.

        What is not needed in the end is given back, and small tables are searched exactly.
        """
        if not len(self.below):
            return True
        _GiveBack(self, self._greedy()).run()
        work = len(self.keys.counts) * 2 ** len(self.weights)
        if not self.complete or len(self.below) > _MAX_SEARCHED or work > _MAX_COUNTED:
            return False
        best, optimal = local_optimum.search(
            self.were, self.k, self.weights, self._matches(), self.blank
        )
        self.blank = best
        return optimal

    def _greedy(self) -> Integers:
        """Choose cells; give what each key that keeps its cells matches then."""
        sizes = self.keys.sizes()[self.below]
        # Who needs most first: without many cells it helps many others.
        for sets, enough in reversed(list(self.needs())):
            able = enough.any(axis=0)
            while len(rows := np.flatnonzero(self._todo(sizes) & able)):
                self._share(sets, enough, rows, sizes)
        return sizes

    def _todo(self, sizes: Integers) -> Booleans:
        todo: Booleans = (sizes < self.k) & ~self.blank.any(axis=1)
        return todo

    def _share(
        self, sets: list[Columns], enough: Booleans, rows: Integers, sizes: Integers
    ) -> None:
        """Let some keys of each group lose a set, so that the others of the group need not.

        A group is alike without the set. Each key goes with the group that helps most records for
        each record that loses cells.
        """
        counts, before = self.were.counts[rows], sizes[rows]
        groups = [self.were.numbers(self.without(chosen))[rows] for chosen in sets]
        helped = np.zeros((len(sets), len(rows)))
        for number, group in enumerate(groups):
            can = np.flatnonzero(enough[number, rows])
            _, alike = np.unique(group[can], return_inverse=True)
            loses = _first_few(alike, before[can], counts[can], self.k)
            cost = np.bincount(alike, counts[can] * loses)
            helped[number, can] = (np.bincount(alike, counts[can]) / np.maximum(cost, 1))[alike]
        best = helped.argmax(axis=0)
        for number, group in enumerate(groups):
            # Those before may have helped.
            mine = np.flatnonzero((best == number) & (sizes[rows] < self.k))
            loses = _first_few(group[mine], sizes[rows[mine]], counts[mine], self.k)
            self.lose(rows[mine[loses]], sets[number])
            self._help(rows[mine[loses]], sizes)

    def _help(self, losing: Integers, sizes: Integers) -> None:
        """Add to the sizes of the others what they match since some keys have lost cells."""
        others = np.flatnonzero(~self.blank.any(axis=1))
        counts = np.concatenate((np.zeros(len(others), dtype=np.int64), self.were.counts[losing]))
        for codes, sign in ((self.codes, 1), (self.were.codes, -1)):
            stacked = np.concatenate((self.were.codes[others], codes[losing]))
            # Keys without a gap match none but themselves.
            if stacked.min(initial=0) < 0:
                sizes[others] += sign * IncompleteKeys(stacked, counts).sizes()[: len(others)]

    def _matches(self) -> dict[int, tuple[Integers, Integers]]:
        """Count what each key matches without a set, in all and among those that lose nothing."""
        found = {}
        for chosen in [(), *(chosen for alike in self.sets for chosen in alike)]:
            columns = self.without(chosen)
            mask = sum(1 << column for column in chosen)
            found[mask] = (self.keys.sizes(columns)[self.below], self.outside(columns))
        return found

    def outside(self, columns: Columns) -> Integers:
        """Count what each matches by some columns among the records that lose nothing."""
        return self.keys.sizes(columns)[self.below] - self.were.sizes(columns)


def _first_few(groups: Integers, sizes: Integers, counts: Integers, k: int) -> Booleans:
    """Tell which keys lose cells so that everyone else in their group matches k.

    Whoever loses them is matched by the whole group. Keys that match fewest go first, until the
    next one has enough by what they add.
    """
    order = np.lexsort((sizes, groups))
    sorted_groups, sorted_counts = groups[order], counts[order]
    before = np.cumsum(sorted_counts) - sorted_counts
    starts = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
    lengths = np.diff(starts, append=len(order))
    before -= np.repeat(before[starts], lengths)
    loses = np.zeros(len(order), dtype=bool)
    loses[order] = sizes[order] + before < k
    return loses


class _GiveBack:
    """Gives back cells that nobody needs, until every one that is lost is needed.

    Sizes only shrink meanwhile: a cell that could not be given back never can be.
    """

    def __init__(self, search: _KeysBelow, sizes: Integers) -> None:
        self.search, self.k = search, search.k
        # By column, since keys are looked for column by column.
        self.codes, self.were = search.codes.T.copy(), search.were.codes
        self.counts, self.blank = search.were.counts, search.blank
        # Who lost cells matches k without anybody's help, until one is given back.
        self.sizes = np.where(self.blank.any(axis=1), np.iinfo(np.int64).max, sizes)
        gaps = (self.codes < 0).any(axis=0)
        self.with_gaps, self.complete = np.flatnonzero(gaps), np.flatnonzero(~gaps)
        n_codes = (self.were.max(axis=0) + 1).tolist()
        self.places = [
            _Places.of(column[self.with_gaps] + 1, n + 1)
            for column, n in zip(self.codes, n_codes, strict=True)
        ]
        self.alike = cache(self._alike)

    def run(self) -> None:
        """Try every cell; of a key that gets one back, the others once more."""
        rows = np.flatnonzero(self.blank.any(axis=1))
        while len(rows):
            given = set()
            for row, column, outside in self._candidates(rows):
                if row not in given and self._give_back(row, column, outside):
                    given.add(row)
            rows = np.array(sorted(given), dtype=np.int64)

    def _candidates(self, rows: Integers) -> Iterator[tuple[int, int, int]]:
        """List lost cells, those that weigh most first, and what a key would match outside."""
        places, columns = np.nonzero(self.blank[rows])
        rows = rows[places]
        blank = self.blank[rows]
        blank[np.arange(len(rows)), columns] = False
        outside = np.empty(len(rows), dtype=np.int64)
        patterns, number = np.unique(blank, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            here = np.flatnonzero(number.ravel() == i)
            known = tuple(np.flatnonzero(~pattern).tolist())
            outside[here] = self.search.outside(known)[rows[here]]
        gain = self.counts[rows] * np.array(self.search.weights)[columns]
        for i in np.lexsort((columns, rows, -gain)):
            yield int(rows[i]), int(columns[i]), int(outside[i])

    def _give_back(self, row: int, column: int, outside: int) -> bool:
        """Give one cell of a key back if everybody still matches k."""
        near = self._near(row)
        codes, own = self.codes[column][near], self.were[row, column]
        match = (codes == own) | (codes < 0)
        size, lost = outside + int(self.counts[near[match]].sum()), near[~match]
        if size < self.k or (self.sizes[lost] - self.counts[row] < self.k).any():
            return False
        self.sizes[lost] -= self.counts[row]
        self.sizes[row] = size
        self.codes[column, row] = own
        self.blank[row, column] = False
        return True

    def _near(self, row: int) -> Integers:
        """Find the keys that match one, of those that match too few records."""
        own = self.codes[:, row].tolist()
        known = tuple(column for column, code in enumerate(own) if code >= 0)
        numbers, places = self.alike(known)
        near = self.with_gaps
        if known:
            # From the column that fewest share.
            few = min(known, key=lambda column: self._n_alike(column, own[column]))
            missing, same = (self.places[few].at(code) for code in (0, own[few] + 1))
            near = self.with_gaps[np.concatenate((missing, same))]
        for column in known:
            codes = self.codes[column][near]
            near = near[(codes == own[column]) | (codes < 0)]
        return np.concatenate((near, self.complete[places.at(numbers[row])]))

    def _n_alike(self, column: int, code: int) -> int:
        ends = self.places[column].ends
        return ends[1] + ends[code + 2] - ends[code + 1]

    def _alike(self, columns: Columns) -> tuple[Integers, _Places]:
        """Number keys by some columns, and find those without a gap by their number."""
        numbers, n_numbers = radix.renumbered(self.search.were.numbers(columns))
        return numbers, _Places.of(numbers[self.complete], n_numbers)


@dataclass(frozen=True)
class _Places:
    """Where each of some numbers stands."""

    order: Integers
    ends: list[int]

    @classmethod
    def of(cls, numbers: Integers, n_numbers: int) -> _Places:
        counts = np.bincount(numbers, minlength=n_numbers)
        return cls(np.argsort(numbers, kind="stable"), [0, *np.cumsum(counts).tolist()])

    def at(self, number: int) -> Integers:
        """Give the places of a number."""
        return self.order[self.ends[number] : self.ends[number + 1]]
