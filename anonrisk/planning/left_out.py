"""What is left out: classes that break a rule, or cells, so that every record matches k.

A missing cell matches every value. To lose as few cells as possible would be a poor aim by itself:
k rows without a cell match everybody, and every k holds on paper. So a rule goes with it: only
records that match too few lose cells, and none loses more than it would need if it were the only
one that did. Then each that lost cells fits k records of the table as it was. Where cells are
shared, what one loses may help others, which keep theirs. Records that are alike are treated alike.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import combinations, groupby
from math import comb, inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, percent
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import matched_sizes
from anonrisk.engines.numpy.table import Codes
from anonrisk.errors import ArgumentError, EmptyTableError, PlanError
from anonrisk.measures.counts.change import LargeClasses
from anonrisk.measures.counts.question import Question, Score, Sensitive
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.class_rules import steady

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.planning.class_rules import ClassRule, SensitiveGoal
    from anonrisk.planning.plan import Plan

    Choice = tuple[int, ...]
    Cost = tuple[float, int]

# A plan's own table takes one or two; each is a pass over the table.
_MOST_ROUNDS = 20


def publishable(engine: Engine, recoded: Any, plan: Plan, n_gone: int = 0) -> tuple[Any, int]:
    """Leave out the classes that break a rule of a plan, and make sure that the others keep to all.

    Too many of them, with those that are gone already, or rules that cannot be kept, are a
    `PlanError`, and no table. Beside it, the number of rows that there were.
    """
    rules = plan.class_rules
    first = steady(rules)
    counted = _count(engine, recoded, plan)
    n_rows = counted[0].n_rows if counted else 0
    share = _Share(plan, n_rows, n_gone)
    kept = recoded
    for asked in (first, rules) if first != rules else (rules,):
        kept, counted = _stable(engine, kept, asked, share, counted)
    return kept, n_rows + n_gone


@dataclass(frozen=True)
class _Share:
    """How many records a plan may leave out."""

    plan: Plan
    n_rows: int
    n_gone: int

    def check(self, n_left: int) -> None:
        """Reject to leave out more than that."""
        n, most = self.n_rows + self.n_gone, self.plan.max_suppressed
        if n - n_left > self.plan.may_leave_out(n):
            rules = self.plan.class_rules
            goals = dict.fromkeys(str(goal) for rule in rules for goal in rule.goals)
            broken = f", or that break {', '.join(goals)}," if goals else ""
            raise PlanError(
                f"{percent((n - n_left) / n)} of the records would be in classes smaller than "
                f"{self.plan.k}{broken} and the plan may suppress {percent(most)}: "
                "it was made for another table, or too few may be left out"
            )


def _stable(
    engine: Engine,
    frame: Any,
    rules: Sequence[ClassRule],
    share: _Share,
    counted: list[ClassCounts],
) -> tuple[Any, list[ClassCounts]]:
    """Leave out classes, rule after rule, until all that are left keep to every rule."""
    kept, unit = frame, share.plan.unit
    for _ in range(_MOST_ROUNDS):
        share.check(counted[0].n_rows if counted else 0)
        if not counted or _holds(engine, kept, rules, counted, unit):
            return kept, counted
        for rule in rules:
            limits = tuple(_limit(goal) for goal in rule.goals)
            kept = engine.keep(kept, LargeClasses(Question((rule.qid,), unit), rule.k, limits))
        counted = _count(engine, kept, share.plan)
    raise PlanError("classes are left out again and again: the plan was made for another table")


def _count(engine: Engine, frame: Any, plan: Plan) -> list[ClassCounts]:
    """Count the classes of every rule at once; there are none in an empty table."""
    sets = tuple(rule.qid for rule in plan.class_rules)
    try:
        return engine.count(frame, Question(sets, plan.unit))
    except EmptyTableError:
        return []


def _holds(
    engine: Engine,
    frame: Any,
    rules: Sequence[ClassRule],
    counted: list[ClassCounts],
    unit: Name | None,
) -> bool:
    """Return whether every class keeps to its rules."""
    for rule, sizes in zip(rules, counted, strict=True):
        if sizes.k < rule.k:
            return False
        for goal in rule.goals:
            about, score, limit = _limit(goal)
            result = engine.score(frame, Question((rule.qid,), unit), about, [score]).worst[score]
            if FORMULAS[score.name].breaks(np.float64(result), limit):
                return False
    return True


def _limit(goal: SensitiveGoal) -> tuple[Sensitive, Score, float]:
    ordered = FORMULAS[goal.score].order == "r"
    about = Sensitive(goal.column, ordered=ordered, order=goal.order)
    return about, Score(goal.score, goal.c), goal.limit


# Columns by their places.
Columns: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class IncompleteKeys:
    """Keys as a table of codes, -1 where a cell is missing, and how many records have each.

    `codes` is (n_keys, n_columns), `counts` (n_keys,).
    """

    codes: Integers
    counts: Integers

    @classmethod
    def of(cls, columns: Sequence[Codes], counts: Integers) -> IncompleteKeys:
        """Put columns side by side."""
        codes = [np.where(column.missing, -1, column.values) for column in columns]
        return cls(np.column_stack(codes).astype(np.int64), counts)

    def sizes(self, columns: Columns | None = None) -> Integers:
        """Count the records that match each key, by some of the columns: (n_keys,)."""
        used = self.codes if columns is None else self.codes[:, list(columns)]
        if not used.shape[1]:
            return np.full(len(self.counts), self.counts.sum())
        return matched_sizes([_as_codes(column) for column in used.T], self.counts)

    def numbers(self, columns: Columns) -> Integers:
        """Return one number per key, equal where some columns are, missing cells among them."""
        if not columns:
            return np.zeros(len(self.counts), dtype=np.int64)
        used = (self.codes[:, column] + 1 for column in columns)
        return radix.keys_of((codes, int(codes.max(initial=0)) + 1) for codes in used)[0]


def _as_codes(column: Integers) -> Codes:
    size = int(column.max(initial=-1)) + 2
    missing = column < 0
    return Codes(np.where(missing, size - 1, column), size, int(missing.sum()))


# Keys that cannot help each other are searched apart, so that many small tables are done exactly.

# Groups of more keys, or that take more steps, are left as they are. Chosen, for time: the cells
# are then good enough all the same, and nobody is told that they are the fewest.
MAX_KEYS = 16
MAX_STEPS = 10_000


def search(
    keys: IncompleteKeys,
    k: int,
    weights: Sequence[float],
    matches: Mapping[int, tuple[Integers, Integers]],
    known: Booleans,
) -> tuple[Booleans, bool]:
    """Improve a choice of cells as far as can be, and tell whether no better one exists.

    Parameters
    ----------
    keys : IncompleteKeys
        Those that match fewer than k records.
    k, weights
        As in `choose_cells`.
    matches : dict of int to two arrays (n_keys,)
        For each set of columns that a key may lose, as bits: the records that it then matches, and
        how many of them are not of these keys.
    known : array of bool (n_keys, n_columns)
        A choice of cells that is good enough.
    """
    problem = _Problem.of(keys, k, weights, matches)
    best, optimal = known.copy(), True
    for group in problem.groups():
        if len(group) > MAX_KEYS:
            optimal = False
            continue
        tree = _Branching(problem, group, tuple(_bits(row) for row in known[group]))
        tree.descend(0)
        optimal &= tree.steps <= MAX_STEPS
        for key, lost in zip(group, tree.best, strict=True):
            best[key] = [lost >> column & 1 for column in range(known.shape[1])]
    return best, optimal


def _bits(flags: Booleans) -> int:
    return sum(1 << int(column) for column in np.flatnonzero(flags))


@dataclass(frozen=True)
class _Problem:
    """What keys may lose, what it costs, and by which columns two of them differ.

    Sets of columns are the bits of a number. Lists have one entry per key; `outside` has, for each
    set, what each key matches without it beside these keys; `differ` is a square of keys by keys.
    """

    k: int
    counts: list[int]
    # For each key, the sets that it may lose, cheapest first, and all their columns together.
    sets: list[list[int]]
    most: list[int]
    costs: list[dict[int, Cost]]
    outside: dict[int, list[int]]
    differ: list[list[int]]

    @classmethod
    def of(
        cls,
        keys: IncompleteKeys,
        k: int,
        weights: Sequence[float],
        matches: Mapping[int, tuple[Integers, Integers]],
    ) -> _Problem:
        known = keys.codes >= 0
        # (n_keys, n_keys, n_columns), then the columns as bits: (n_keys, n_keys).
        differ = (keys.codes[:, None] != keys.codes[None]) & known[:, None] & known[None]
        bits = (differ * (1 << np.arange(known.shape[1]))).sum(axis=2)
        sets: list[list[int]] = []
        costs: list[dict[int, Cost]] = []
        for key, count in enumerate(keys.counts.tolist()):
            minimal: list[int] = []
            for mask in sorted(matches, key=int.bit_count):
                enough = matches[mask][0][key] >= k
                if enough and not any(mask & less == less for less in minimal):
                    minimal.append(mask)
            allowed = [mask for mask in matches if any(mask & most == mask for most in minimal)]
            cost = {mask: _cost(mask, weights, count) for mask in allowed}
            sets.append(sorted(allowed, key=cost.__getitem__))
            costs.append(cost)
        most = [int(np.bitwise_or.reduce(allowed)) for allowed in sets]
        outside = {mask: match[1].tolist() for mask, match in matches.items()}
        return cls(k, keys.counts.tolist(), sets, most, costs, outside, bits.tolist())

    def groups(self) -> list[list[int]]:
        """Part the keys into groups such that no key can help one of another group."""
        left, groups = set(range(len(self.counts))), []
        while left:
            group = [min(left)]
            left -= set(group)
            for key in group:
                near = sorted(
                    other
                    for other in left
                    if not self.differ[key][other] & ~(self.most[key] | self.most[other])
                )
                group += near
                left -= set(near)
            groups.append(sorted(group))
        return groups


def _cost(mask: int, weights: Sequence[float], count: int) -> Cost:
    chosen = [weight for column, weight in enumerate(weights) if mask >> column & 1]
    return sum(chosen) * count, len(chosen) * count


class _Branching:
    """A search through what the keys of one group lose, one key after another.

    Keys that are still open are taken to lose all that they may: who matches too few even then
    ends a branch, and so does a cost that is not below the best.
    """

    def __init__(self, problem: _Problem, keys: list[int], known: Choice) -> None:
        self.problem, self.keys, self.best = problem, keys, known
        self.best_cost = self._total(known)
        self.chosen = [problem.most[key] for key in keys]
        self.cost: Cost = (0.0, 0)
        self.steps = 0

    def _total(self, choice: Choice) -> Cost:
        costs = [self.problem.costs[key][lost] for key, lost in zip(self.keys, choice, strict=True)]
        return sum(cost for cost, _ in costs), sum(cells for _, cells in costs)

    def descend(self, place: int) -> None:
        """Try every set that one key may lose, and go on with the next key."""
        if place == len(self.keys):
            self.best, self.best_cost = tuple(self.chosen), self.cost
            return
        before, widest = self.cost, self.chosen[place]
        key = self.keys[place]
        for lost in self.problem.sets[key]:
            weight, cells = self.problem.costs[key][lost]
            self.cost = (before[0] + weight, before[1] + cells)
            if not _below(self.cost, self.best_cost):
                # The others cost more.
                break
            self.steps += 1
            if self.steps > MAX_STEPS:
                break
            self.chosen[place] = lost
            if self._all_match():
                self.descend(place + 1)
        self.cost, self.chosen[place] = before, widest

    def _all_match(self) -> bool:
        problem = self.problem
        for key, lost in zip(self.keys, self.chosen, strict=True):
            size, differ = problem.outside[lost][key], problem.differ[key]
            for other, lost_there in zip(self.keys, self.chosen, strict=True):
                if not differ[other] & ~(lost | lost_there):
                    size += problem.counts[other]
            if size < problem.k:
                return False
        return True


def _below(cost: Cost, best: Cost) -> bool:
    """Compare weights, then cells; sums of floats that are equal on paper count as equal."""
    if abs(cost[0] - best[0]) > _ALIKE * max(1.0, abs(best[0])):
        return cost[0] < best[0]
    return cost[1] < best[1]


# Costs that differ by less are equal on paper: rounding of a sum of weights is 1e-13 of it or so.
_ALIKE, _ALIKE_DIGITS = 1e-9, 9
# Sets of columns that are tried; of more columns than twelve only the smaller sets are.
MAX_SETS = 4_096
# An exact search looks at every set of columns of every key, and at pairs of keys below k. Chosen,
# for time: beyond, the choice is good enough, and not said to be the best.
_MAX_SEARCHED = 200
_MAX_COUNTED = 4_000_000


@dataclass(frozen=True, eq=False)
class LocalSuppression:
    """Which cells of which keys become missing.

    Attributes
    ----------
    cells : array of bool (n_keys, n_columns)
        Which cells become missing.
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
    >>> from anonrisk.engines.numpy.table import Codes
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
        return round(sum(weights[column] for column in columns), _ALIKE_DIGITS), len(columns)

    sets.sort(key=cost)
    return [list(alike) for _, alike in groupby(sets, key=cost)], size == len(free)


class _KeysBelow:
    """The keys that match too few records, and what they lose.

    `below` are their numbers, (n_below,); `were`, `codes` and `blank` have a row for each of them,
    (n_below, n_columns): the cells as they were, as they become, and which were lost.
    """

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
        """Reject weights that leave too little to suppress."""
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
        """Return the other columns."""
        return tuple(column for column in self.all_columns if column not in columns)

    def lose(self, rows: Integers, columns: Columns) -> None:
        """Make cells of some keys missing."""
        # A cell that was missing before is not one that was suppressed.
        cells = np.ix_(rows, np.array(columns))
        self.blank[cells] = self.were.codes[cells] >= 0
        self.codes[cells] = -1

    def enough(self, sets: list[Columns]) -> Booleans:
        """Return whether losing a set is enough for a key itself: (n_sets, n_below)."""
        return np.stack(
            [self.keys.sizes(self.without(chosen))[self.below] >= self.k for chosen in sets]
        )

    def needs(self) -> Iterator[tuple[list[Columns], Booleans]]:
        """Go through costs: the sets of each, and which keys need as much and which would do.

        The latter is (n_sets, n_below), of the sets of that cost.
        """
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
        best, optimal = search(self.were, self.k, self.weights, self._matches(), self.blank)
        self.blank = best
        return optimal

    def _greedy(self) -> Integers:
        """Choose cells; give what each key that keeps its cells matches then, (n_below,)."""
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
        each record that loses cells. `enough` is (n_sets, n_below), `rows` are some of the keys and
        `sizes` is (n_below,).
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
        results = {}
        for chosen in [(), *(chosen for alike in self.sets for chosen in alike)]:
            columns = self.without(chosen)
            mask = sum(1 << column for column in chosen)
            results[mask] = (self.keys.sizes(columns)[self.below], self.outside(columns))
        return results

    def outside(self, columns: Columns) -> Integers:
        """Count what each matches by some columns among the records that lose nothing."""
        return self.keys.sizes(columns)[self.below] - self.were.sizes(columns)


def _first_few(groups: Integers, sizes: Integers, counts: Integers, k: int) -> Booleans:
    """Return which keys lose cells so that everyone else in their group matches k.

    Whoever loses them is matched by the whole group. Keys that match fewest go first, until the
    next one has enough by what they add. All arrays have one entry per key.
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
        # (n_columns, n_below), since keys are looked for column by column; all else by key.
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
            value = set()
            for row, column, outside in self._candidates(rows):
                if row not in value and self._give_back(row, column, outside):
                    value.add(row)
            rows = np.array(sorted(value), dtype=np.int64)

    def _candidates(self, rows: Integers) -> Iterator[tuple[int, int, int]]:
        """List lost cells, those that weigh most first, and what a key would match outside."""
        # One row per lost cell from here on; `blank` is (n_cells, n_columns).
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
        """Return one cell of a key back if everybody still matches k."""
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
    """Where each of some numbers stands: number i from `ends[i]` to `ends[i + 1]` of `order`."""

    order: Integers
    ends: list[int]

    @classmethod
    def of(cls, numbers: Integers, n_numbers: int) -> _Places:
        counts = np.bincount(numbers, minlength=n_numbers)
        return cls(np.argsort(numbers, kind="stable"), [0, *np.cumsum(counts).tolist()])

    def at(self, number: int) -> Integers:
        """Return the places of a number."""
        return self.order[self.ends[number] : self.ends[number + 1]]
