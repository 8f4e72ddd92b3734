"""What a plan keeps to, as plain values that JSON and YAML have, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.planning.class_rules import ClassRule
from anonrisk.planning.goal import PlannedBudget, SensitiveGoal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonrisk.planning.plan_fields import PlanFields


def written(plan: PlanFields, plain: Callable[[Any], Any]) -> dict[str, Any]:
    """Give what a plan keeps to; names of columns as `plain` writes them."""
    stored: dict[str, Any] = {}
    if plan.goals:
        stored["goals"] = [_goal(goal, plain) for goal in plan.goals]
    if plan.rules:
        stored["rules"] = [
            {
                "qid": [plain(name) for name in rule.qid],
                "k": rule.k,
                "goals": [_goal(goal, plain) for goal in rule.goals],
            }
            for rule in plan.rules
        ]
    if plan.unit is not None:
        stored["unit"] = plain(plan.unit)
    if plan.leave_out:
        stored["leave_out"] = [plain(name) for name in plan.leave_out]
    if plan.budgets:
        stored["budgets"] = [
            {
                **vars(one),
                "qid": [plain(name) for name in one.qid],
                "sensitive": plain(one.sensitive),
            }
            for one in plan.budgets
        ]
    return stored


def _goal(goal: SensitiveGoal, plain: Callable[[Any], Any]) -> dict[str, Any]:
    order = None if goal.order is None else list(goal.order)
    return {**vars(goal), "column": plain(goal.column), "order": order}


def read(stored: Mapping[str, Any], name: Callable[[Any], Any]) -> dict[str, Any]:
    """Read the fields back; `name` reads the name of a column."""
    return {
        "goals": tuple(_read_goal(goal, name) for goal in stored.get("goals", ())),
        "rules": tuple(
            ClassRule(
                tuple(map(name, rule["qid"])),
                int(rule["k"]),
                tuple(_read_goal(goal, name) for goal in rule["goals"]),
            )
            for rule in stored.get("rules", ())
        ),
        "unit": name(stored.get("unit")),
        "leave_out": tuple(map(name, stored.get("leave_out", ()))),
        "budgets": tuple(
            PlannedBudget(
                **{
                    **one,
                    "qid": tuple(map(name, one["qid"])),
                    "sensitive": name(one["sensitive"]),
                }
            )
            for one in stored.get("budgets", ())
        ),
    }


def _read_goal(goal: Mapping[str, Any], name: Callable[[Any], Any]) -> SensitiveGoal:
    order = None if goal["order"] is None else tuple(goal["order"])
    return SensitiveGoal(**{**goal, "column": name(goal["column"]), "order": order})
