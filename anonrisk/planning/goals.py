"""What a plan is asked for: goals of a policy or of a call, and how they are met together."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, exact, visible
from anonrisk.engines import refusals
from anonrisk.errors import AnonRiskError, NoPlanHelpsError
from anonrisk.measures.risk import of_release
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.class_rules import (
    MET,
    MISSED,
    NOT_PLANNED,
    ClassRule,
    GoalResult,
    PlanGoal,
    PlannedBudget,
    TableGoal,
    needed,
    ranks_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.class_rules import Coded, Requirements, SensitiveGoal
    from anonrisk.planning.outcome import PlanOutcome
    from anonrisk.planning.plan import Plan

# Why a budget that a plan could have kept to is missed.
_WARNS = "the plan gives up no detail for it; plan.prices(frame) says how much that would take"
# What nobody has asked for is that every class has so many.
DEFAULT_K = 5


@dataclass(frozen=True)
class PlanRequest:
    """What a table is planned for.

    Attributes
    ----------
    qid : tuple of names
        Every column that a goal is about.
    goals : tuple of PlanGoal
    unit : name or None
        The column that says which person a record belongs to.
    fixed : tuple of names
        Those of the columns that stay as they are.
    leave_out : tuple of names
        Columns that are not published.
    complete : mapping of name to str
        Columns in which no cell may be missing, and what to do where one is.
    of_policy : bool
        Whether the goals are budgets of a policy, of each of which the plan tells.
    """

    qid: Qid
    goals: tuple[PlanGoal, ...]
    unit: Name | None = None
    fixed: Qid = ()
    leave_out: Qid = ()
    complete: Mapping[Name, str] = field(default_factory=dict)
    of_policy: bool = False

    @property
    def deciding(self) -> PlanRequest:
        """What a gate fails by; what only warns is told of, and no loss is paid for it."""
        return replace(self, goals=tuple(goal for goal in self.goals if goal.severity == "fail"))

    @property
    def about(self) -> tuple[SensitiveGoal, ...]:
        """What is asked of sensitive values, whether it must be or should."""
        return tuple(dict.fromkeys(goal.about for goal in self.goals if goal.about is not None))

    @property
    def rules(self) -> tuple[ClassRule, ...]:
        """What every class must keep to."""
        asked = [
            ClassRule(goal.qid, goal.k, () if goal.about is None else (goal.about,))
            for goal in self.goals
            if not goal.why_not
        ]
        return needed(asked, persons=self.unit is not None)

    @property
    def wholes(self) -> tuple[TableGoal, ...]:
        """What the table must keep to as a whole."""
        return tuple(
            TableGoal(goal.qid, goal.measure)
            for goal in self.goals
            if goal.measure is not None and not goal.by_size and not goal.why_not
        )

    @property
    def k(self) -> int:
        """The largest size that any class must have."""
        return max((rule.k for rule in self.rules), default=1)

    def most_suppressed(self, value: float) -> float:
        """Return the share of records that may be left out."""
        limits = (goal.limit for goal in self.deciding.goals if goal.of_suppression)
        return min((value, *limits))

    def strict(self) -> PlanRequest:
        """Ask of every class what would be enough for the table as a whole."""
        goals = (replace(goal, k=max(goal.k, goal.enough or 1)) for goal in self.goals)
        return replace(self, goals=tuple(goals))

    def on_all_columns(self) -> ClassRule:
        """Ask of the classes of all columns what is asked of any of them, which is enough.

        A plan by region names the values of its regions: these are never those of one record.
        """
        strict = self.strict()
        goals = tuple(dict.fromkeys(goal for rule in strict.rules for goal in rule.goals))
        return ClassRule(self.qid, max(strict.k, 2), goals)

    def summary(self) -> str:
        """Return what is asked of the table, for whoever is told that it cannot be had."""
        about = [str(goal) for rule in self.rules for goal in rule.goals]
        wholes = [
            f"{goal.budget} at most {exact(goal.limit)}"
            for goal in self.goals
            if goal.measure is not None and not goal.by_size and not goal.why_not
        ]
        return ", ".join((f"k={self.k}", *dict.fromkeys((*about, *wholes))))

    def check_values(self, tally: Tally) -> None:
        """Reject what no recoding helps against: missing cells, values without an order."""
        if self.unit is not None:
            n_missing = int(tally.margin(self.unit)[-1])
            if n_missing:
                raise refusals.missing_unit(self.unit, n_missing)
        for name, what in self.complete.items():
            n_missing = int(tally.margin(name)[-1])
            if n_missing:
                rows = count_of(n_missing, "row")
                raise NoPlanHelpsError(
                    f"no plan helps: column {visible(name)} is missing in {rows}; {what}"
                )
        for goal in self.about if self.of_policy else ():
            try:
                ranks_of(goal, tally.domains[goal.column])
            except AnonRiskError as error:
                raise NoPlanHelpsError(f"no plan helps: {error}") from None


def with_rules(plan: Plan, request: PlanRequest) -> Plan:
    """Let a plan keep to what is asked: of all columns, or set by set."""
    rules = request.rules
    if len(rules) == 1 and len(rules[0].qid) == len(request.qid):
        return replace(plan, k=request.k, goals=rules[0].goals, rules=())
    return replace(plan, k=request.k, goals=(), rules=rules)


def outcome(
    required: Requirements, coded: Coded, rows: Booleans, after: PlanOutcome
) -> PlanOutcome:
    """Add to what is true of a table what holds of its classes and persons."""
    sizes = required.counted(coded, required.columns, rows)
    return replace(
        after,
        n_persons=None if required.unit is None else sizes.n_records,
        average_risk=float(of_release(sizes).prosecutor.average),
        scores=tuple(
            float(required.worst(coded, rule.qid, goal, rows))
            for rule in required.rules
            for goal in rule.goals
        ),
    )


def budgets(
    request: PlanRequest, required: Requirements, coded: Coded, rows: Booleans
) -> tuple[PlannedBudget, ...]:
    """Return for every budget whether the table that is left keeps to it."""
    if not request.of_policy:
        return ()
    return tuple(_budget(goal, required, coded, rows) for goal in request.goals)


def _budget(goal: PlanGoal, required: Requirements, coded: Coded, rows: Booleans) -> PlannedBudget:
    column = None if goal.about is None else goal.about.column
    if goal.why_not:
        measured, status = GoalResult(None, met=False, why=goal.why_not), NOT_PLANNED
    else:
        measured = _measured(goal, required, coded, rows)
        status = MET if measured.met else MISSED
    why = measured.why or (_WARNS if status == MISSED and goal.severity != "fail" else "")
    return PlannedBudget(
        goal.budget, status, goal.severity, goal.limit, measured.value, goal.qid, column, why
    )


def _measured(goal: PlanGoal, required: Requirements, coded: Coded, rows: Booleans) -> GoalResult:
    if goal.about is not None:
        worst = required.worst(coded, goal.qid, goal.about, rows)
        broken = bool(FORMULAS[goal.about.score].breaks(worst, goal.limit))
        return GoalResult(float(worst), not broken)
    if goal.measure is not None:
        return goal.measure(required.counted(coded, goal.qid, rows), int(coded.counts.sum()))
    gone = int(coded.counts[~rows].sum()) / int(coded.counts.sum())
    return GoalResult(gone, gone <= goal.limit * (1 + 1e-9))
