"""What holds of the table that a plan makes, by count, and what no model here covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core import render
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.goal import MET, MISSED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.planning.goal import PlannedBudget
    from anonrisk.planning.plan_fields import PlanFields

NOT_COVERED = (
    "not covered: links with other releases, columns that are not among these, sensitive columns "
    "without a goal, what correlations tell"
)


def lines(plan: PlanFields) -> list[str]:
    """Say what holds, which budgets are met, missed or not planned for, and what is not covered."""
    if plan.after is None or plan.after.average_risk is None:
        return []
    return [f"holds: {'; '.join(_holds(plan))}", *_budgets(plan.budgets), NOT_COVERED]


def _holds(plan: PlanFields) -> Iterator[str]:
    after = plan.after
    assert after is not None  # noqa: S101
    who = "record" if plan.unit is None else "person"
    yield f"{render.count_of(after.k or 0, who)} or more in every class of {_named(plan.qids)}"
    goals = [(rule, goal) for rule in plan.class_rules for goal in rule.goals]
    # Counted in stages, every region keeps to the limits, and no score is known.
    scores = after.scores or [None] * len(goals)
    for (rule, goal), score in zip(goals, scores, strict=True):
        if score is None:
            yield str(goal)
            continue
        name = FORMULAS[goal.score].measure.rpartition("_")[2]
        of = "" if len(rule.qid) == len(plan.qids) else f" by {_named(rule.qid)}"
        yield f"{goal.score} {name} {score:.3g} of {render.visible(goal.column)}{of}"
    highest, average = render.percent(after.highest_risk or 0.0), after.average_risk or 0.0
    yield f"risk at most {highest}, on average {render.percent(average)}"


def _named(columns: tuple[object, ...]) -> str:
    return render.joined(columns)


def _budgets(budgets: tuple[PlannedBudget, ...]) -> Iterator[str]:
    met = dict.fromkeys(one.budget for one in budgets if one.status == MET)
    if met:
        yield f"meets: {', '.join(met)}"
    for one in budgets:
        if one.status != MET:
            value = "" if one.value is None else f" is {one.value:.3g}, and"
            only = " (only warns)" if one.severity == "warn" else ""
            word = "misses" if one.status == MISSED else one.status
            about = "" if one.sensitive is None else f" of {render.visible(one.sensitive)}"
            yield f"{word}: {one.budget}{about}{only}{value} the limit is {one.limit:g}: {one.why}"
