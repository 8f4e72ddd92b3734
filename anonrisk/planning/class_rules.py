"""What every class of a planned table must keep to, and which are left out for that."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anonrisk.core import radix, render
from anonrisk.core.arguments import not_negative, one_of, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.hierarchy import text_of
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import distinct_pairs, histogram, histogram_of_persons, runs_of
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.counts.tally import Domain, Tally

MET, MISSED, NOT_PLANNED = "met", "missed", "not planned"


@dataclass(frozen=True)
class SensitiveGoal:
    """What the sensitive values of every class must keep to.

    Attributes
    ----------
    column : name
        The sensitive column.
    score : str
        The score of a class: a kind of `anonrisk.ldiv`, or a distance of `anonrisk.tcloseness`.
    limit : float
        The least diversity, or the largest distance.
    c : float or None
        The constant of ``"recursive"``.
    order : tuple or None
        The values from the smallest to the largest, as the caller gave them.
    """

    column: Name
    score: str
    limit: float
    c: float | None = None
    order: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        """Check the numbers: no class would ever break a limit that is none."""
        one_of(self.score, "the score", tuple(FORMULAS))
        not_negative(self.limit, "the limit")
        if self.c is not None:
            positive(self.c, "c")

    def __str__(self) -> str:
        """Return what is asked for."""
        sign = "at least" if FORMULAS[self.score].least else "at most"
        name = f"{self.score} {FORMULAS[self.score].measure.rpartition('_')[2]}"
        constant = "" if self.c is None else f" (c = {self.c:g})"
        return (
            f"{name}{constant} of {render.visible(self.column)} {sign} {render.exact(self.limit)}"
        )

    def implies(self, other: SensitiveGoal) -> bool:
        """Return whether what keeps to this goal keeps to the other one."""
        same = (self.column, self.score, self.c, self.order)
        if same != (other.column, other.score, other.c, other.order):
            return False
        least = FORMULAS[self.score].least
        return self.limit >= other.limit if least else self.limit <= other.limit


class GoalResult(NamedTuple):
    """The outcome of a goal: the value reached, whether it suffices, or why it is unknown."""

    value: float | None
    met: bool
    why: str = ""


@dataclass(frozen=True)
class TableGoal:
    """What the classes of some columns must keep to all together, as an average or a share."""

    qid: Qid
    measure: Callable[[ClassCounts, int], GoalResult] = field(repr=False)


@dataclass(frozen=True)
class PlanGoal:
    """One budget of a policy, as a plan goes about it.

    Attributes
    ----------
    budget : str
        Its name in a verdict.
    qid : tuple of names
        The columns that it is about.
    limit : float
    severity : {"fail", "warn"}
        Whether a plan must keep to it, or should.
    k : int
        The size that every class must have for it; 1 where less may do.
    by_size : bool
        Whether that size is all that it asks for.
    enough : int or None
        A size of every class with which it is met, mostly.
    about : SensitiveGoal or None
        What the sensitive values of every class must keep to for it.
    measure : function or None
        What tells from the classes that are left, and from how many rows there were, whether it is
        met.
    of_suppression : bool
        Whether it limits the share of records that are left out.
    why_not : str
        Why no recoding is looked for by it.
    """

    budget: str
    qid: Qid
    limit: float
    severity: str = "fail"
    k: int = 1
    by_size: bool = False
    enough: int | None = None
    about: SensitiveGoal | None = None
    measure: Callable[[ClassCounts, int], GoalResult] | None = field(default=None, repr=False)
    of_suppression: bool = False
    why_not: str = ""


@dataclass(frozen=True, repr=False)
class PlannedBudget(render.PrintedFields):
    """What a plan makes of one budget of a policy.

    Attributes
    ----------
    budget : str
        Its name in a verdict, as ``"k"`` or ``"risk.prosecutor.highest"``.
    status : {"met", "missed", "not planned"}
        Whether the table that the plan makes keeps to it; the last where a recoding is not how it
        is reached.
    severity : {"fail", "warn"}
    limit : float
    value : float or None
        What it will be.
    qid : tuple of names
    sensitive : name or None
    why : str
        Why it is not met.
    """

    budget: str
    status: str
    severity: str
    limit: float
    value: float | None = None
    qid: Qid = ()
    sensitive: Name | None = None
    why: str = ""


@dataclass(frozen=True)
class ClassRule:
    """What every class of some columns must keep to.

    Attributes
    ----------
    qid : tuple of names
        The columns.
    k : int
        The fewest records of a class; with a unit, persons.
    goals : tuple of SensitiveGoal
        What its sensitive values must keep to.
    """

    qid: Qid
    k: int = 1
    goals: tuple[SensitiveGoal, ...] = ()
    _parts = (SensitiveGoal,)

    def __post_init__(self) -> None:
        """Check the size."""
        whole_number(self.k, "k of a rule", at_least=1)

    def implies(self, other: ClassRule, *, persons: bool) -> bool:
        """Return whether a table that keeps to this rule keeps to the other one.

        A class of fewer columns is a union of classes of more, and no rule is broken by a union of
        classes that keep to it; but where a person is in several of them, shares of values may be.
        """
        return (
            {*other.qid} <= {*self.qid}
            and other.k <= self.k
            and all(
                (not persons or goal.score == "distinct" or {*other.qid} == {*self.qid})
                and any(mine.implies(goal) for mine in self.goals)
                for goal in other.goals
            )
        )


def needed(rules: Sequence[ClassRule], *, persons: bool) -> tuple[ClassRule, ...]:
    """Leave out rules that others imply."""
    together: dict[frozenset[Name], ClassRule] = {}
    for rule in rules:
        key = frozenset(rule.qid)
        known = together.get(key, ClassRule(rule.qid))
        goals = tuple(dict.fromkeys((*known.goals, *rule.goals)))
        together[key] = replace(known, k=max(known.k, rule.k), goals=goals)
    kept: list[ClassRule] = []
    # From the most columns down, so that whatever implies a rule is there before it.
    for rule in sorted(together.values(), key=lambda rule: -len(rule.qid)):
        asks = rule.k > 1 or rule.goals
        if asks and not any(other.implies(rule, persons=persons) for other in kept):
            kept.append(rule)
    return tuple(kept)


def steady(rules: Sequence[ClassRule]) -> tuple[ClassRule, ...]:
    """Take of rules what more records never break: sizes and different values.

    It leaves out the same classes in any order, and in finer recodings at least these. A share is
    another matter: records that break a rule may take others with them once they are one class.
    """
    return tuple(
        replace(rule, goals=tuple(goal for goal in rule.goals if goal.score == "distinct"))
        for rule in rules
    )


class KeptClasses(NamedTuple):
    """What is left of a table once classes that break a rule are left out.

    Attributes
    ----------
    rows : array of bool
        Which combinations are left.
    n_sure : int
        The records that are left out of every finer recoding too.
    sizes, records : array of int
        The size of each class that is left, as rules count it, and its records.
    n_classes : int
        The classes of all columns before any was left out.
    holds : bool
        Whether the table as a whole keeps to what is asked of it.
    """

    rows: Booleans
    n_sure: int
    sizes: Integers
    records: Integers
    n_classes: int
    holds: bool


@dataclass(frozen=True)
class Coded:
    """Combinations of values as codes: of the columns, then of what is counted beside them."""

    codes: Sequence[Integers]
    counts: Integers
    sizes: Sequence[int]


class Requirements:
    """The rules of a table, asked of any recoding of it by arithmetic on one tally.

    Classes that break a rule are left out, rule after rule, until all that are left keep to every
    rule: sizes and different values first, which leave out the same whatever the order, then what
    depends on the others that are left, as a distance from the table does. What becomes of a table
    with `planning.left_out` goes the same way.

    Parameters
    ----------
    tally : Tally
        Of the columns and of `beside`.
    columns : tuple of names
        The columns that are recoded.
    rules : sequence of ClassRule
    wholes : sequence of TableGoal
        What the table that is left must keep to.
    about : sequence of SensitiveGoal
        What else may be scored.
    unit : name, optional
        The column that says which person a record belongs to.
    allowed : int
        The most records that may be left out.
    """

    def __init__(
        self,
        tally: Tally,
        columns: Qid,
        rules: Sequence[ClassRule],
        wholes: Sequence[TableGoal] = (),
        *,
        about: Sequence[SensitiveGoal] = (),
        unit: Name | None = None,
        allowed: int = 0,
    ) -> None:
        """Rank the sensitive values once."""
        self.columns, self.rules, self.wholes = columns, tuple(rules), tuple(wholes)
        self.unit, self.allowed = unit, allowed
        about = (*about, *(goal for rule in rules for goal in rule.goals))
        self.beside = beside(about, unit)
        self.place = {name: i for i, name in enumerate((*columns, *self.beside))}
        self.ranks = {goal: ranks_of(goal, tally.domains[goal.column]) for goal in about}
        self.steady = steady(self.rules)

    # ---- which classes are left -------------------------------------------------------------

    def kept(self, coded: Coded) -> KeptClasses:
        """Leave out classes until those that are left keep to every rule."""
        n, counts = int(coded.counts.sum()), coded.counts
        numbers = [self._numbered(coded, rule.qid) for rule in self.rules]
        rows = self._stable(coded, self.steady, numbers, np.ones(len(counts), dtype=bool))
        n_sure = n - int(counts[rows].sum())
        if self.steady != self.rules and n_sure <= self.allowed:
            rows = self._stable(coded, self.rules, numbers, rows)
            if not self.allowed and self.unit is None:
                # Where nothing may be left out, no rule is broken by putting classes together.
                n_sure = n - int(counts[rows].sum())
        number, n_classes = self._numbered(coded, self.columns)
        sizes = self._sizes(coded, number, n_classes, rows)
        records = np.rint(np.bincount(number[rows], counts[rows], n_classes)).astype(np.int64)
        left = records > 0
        n_left = int(records.sum())
        holds = bool(left.any()) and (
            n - n_left > self.allowed
            or all(goal.measure(self.counted(coded, goal.qid, rows), n).met for goal in self.wholes)
        )
        return KeptClasses(rows, n_sure, sizes[left], records[left], n_classes, holds)

    def _stable(
        self,
        coded: Coded,
        rules: Sequence[ClassRule],
        numbers: Sequence[tuple[Integers, int]],
        rows: Booleans,
    ) -> Booleans:
        once = len(rules) == 1 and rules[0] == self.steady[0]
        while rows.any():
            before = rows
            for rule, (number, n_classes) in zip(rules, numbers, strict=True):
                rows = rows & ~self._broken(coded, rule, number, n_classes, rows)[number]
            # A class that is left whole is as it was, whichever others are gone.
            if once or np.array_equal(before, rows):
                break
        return rows

    def _broken(
        self, coded: Coded, rule: ClassRule, number: Integers, n_classes: int, rows: Booleans
    ) -> Booleans:
        sizes = self._sizes(coded, number, n_classes, rows)
        broken = sizes < rule.k
        for goal in rule.goals if rows.any() else ():
            classes, scores = self._scores(coded, goal, number, sizes, rows)
            broken[classes] |= np.asarray(FORMULAS[goal.score].breaks(scores, goal.limit))
        return broken

    def _numbered(self, coded: Coded, qid: Qid) -> tuple[Integers, int]:
        """Number the classes of some columns."""
        places = [self.place[name] for name in qid]
        keys, _ = radix.keys_of([(coded.codes[i], coded.sizes[i]) for i in places], closed_up)
        return closed_up(keys)

    def _sizes(self, coded: Coded, number: Integers, n_classes: int, rows: Booleans) -> Integers:
        if self.unit is None:
            sums = np.bincount(number[rows], coded.counts[rows], n_classes)
            return np.rint(sums).astype(np.int64)
        return np.bincount(self._pairs(coded, number, n_classes, rows)[0], minlength=n_classes)

    def _pairs(
        self, coded: Coded, number: Integers, n_classes: int, rows: Booleans
    ) -> tuple[Integers, Integers]:
        """Pair every class, or whatever is numbered, with each of its persons once."""
        assert self.unit is not None  # noqa: S101
        place = self.place[self.unit]
        return distinct_pairs(number[rows], n_classes, coded.codes[place][rows], coded.sizes[place])

    # ---- what is true of what is left -------------------------------------------------------

    def _scores(
        self,
        coded: Coded,
        goal: SensitiveGoal,
        number: Integers,
        sizes: Integers,
        rows: Booleans,
    ) -> tuple[Integers, Floats]:
        """Score the classes that are left, of these sizes, by their sensitive values."""
        ranks, n_ranks = self.ranks[goal], int(self.ranks[goal].max()) + 1
        rank = ranks[coded.codes[self.place[goal.column]]]
        pairs, n_pairs = closed_up(number * n_ranks + rank)
        of_pair, rank_of_pair = np.zeros((2, n_pairs), dtype=np.int64)
        of_pair[pairs], rank_of_pair[pairs] = number, rank
        if self.unit is None:
            times = self._sums(coded, pairs, n_pairs, rows)
            overall = self._sums(coded, rank, n_ranks, rows)
        else:
            times = np.bincount(self._pairs(coded, pairs, n_pairs, rows)[0], minlength=n_pairs)
            overall = np.bincount(self._pairs(coded, rank, n_ranks, rows)[0], minlength=n_ranks)
        left = np.flatnonzero(times)
        left = left[np.lexsort((rank_of_pair[left], of_pair[left]))]
        starts = runs_of(of_pair[left])
        classes, present = of_pair[left][starts], overall > 0
        value_counts = ValueCounts(
            starts=np.append(starts, len(left)),
            # Values that nobody has any more take no rank.
            ranks=(np.cumsum(present) - 1)[rank_of_pair[left]],
            counts=times[left],
            classes=np.ones(len(starts), dtype=np.int64),
            sizes=sizes[classes],
            overall=overall[present],
            ordered=True,
        )
        return classes, FORMULAS[goal.score].of(value_counts, goal.c)

    def _sums(self, coded: Coded, number: Integers, n: int, rows: Booleans) -> Integers:
        return np.rint(np.bincount(number[rows], coded.counts[rows], n)).astype(np.int64)

    def worst(self, coded: Coded, qid: Qid, goal: SensitiveGoal, rows: Booleans) -> float:
        """Score the worst class that is left."""
        number, n_classes = self._numbered(coded, qid)
        sizes = self._sizes(coded, number, n_classes, rows)
        _, scores = self._scores(coded, goal, number, sizes, rows)
        return FORMULAS[goal.score].worst_of(scores.tolist())

    def counted(self, coded: Coded, qid: Qid, rows: Booleans) -> ClassCounts:
        """Count the classes of some columns that are left, as a gate counts them."""
        number, n_classes = self._numbered(coded, qid)
        n_rows = int(coded.counts[rows].sum())
        if self.unit is None:
            sizes, classes = histogram(self._sizes(coded, number, n_classes, rows))
            return ClassCounts(sizes, classes, qid=qid, n_rows=n_rows)
        result = histogram_of_persons(*self._pairs(coded, number, n_classes, rows))
        return ClassCounts(*result, qid=qid, unit=self.unit, n_rows=n_rows)


def beside(goals: Sequence[SensitiveGoal], unit: Name | None) -> Qid:
    """List what is counted beside the columns: sensitive ones, and persons."""
    about = dict.fromkeys(goal.column for goal in goals)
    return (*about, *(() if unit is None else (unit,)))


def ranks_of(goal: SensitiveGoal, domain: Domain) -> Integers:
    """Rank the values of a sensitive column, missing last; by their order where there is one."""
    if FORMULAS[goal.score].order != "r":
        return np.arange(len(domain) + 1)
    refusals.check_ordered(goal.column, len(domain))
    if goal.order is None:
        if not domain.is_scale:
            raise refusals.not_ordered(goal.column)
        return np.arange(len(domain) + 1)
    place = {text_of(value): i for i, value in enumerate(goal.order)}
    ranks = [place.get(text, -1) for text in domain.texts()]
    if -1 in ranks:
        raise refusals.unknown_values(goal.column, ranks.count(-1), "order")
    return np.array([*ranks, len(place)], dtype=np.int64)
