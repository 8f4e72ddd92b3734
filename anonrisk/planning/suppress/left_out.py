"""A recoded table, less the classes that break a rule: as a plan has counted it, on any engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import percent
from anonrisk.errors import EmptyTableError, PlanError
from anonrisk.measures.counts.change import LargeClasses
from anonrisk.measures.counts.question import Question, Score, Sensitive
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.suppress.class_rules import steady

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.planning.goal import SensitiveGoal
    from anonrisk.planning.plan import Plan
    from anonrisk.planning.suppress.class_rules import ClassRule

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
