"""`assess(policy)`: the measures that a policy names, of its one quasi-identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.assess import assess as assess_table
from anonrisk.errors import PolicyError
from anonrisk.policy.table import Table

if TYPE_CHECKING:
    from anonrisk.api.assessment import Assessment
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.policy import Policy

_OF_KIND = {"distinct": "ldiv", "entropy": "entropy_ldiv", "recursive": "recursive_ldiv"}
_OF_RISK = {"highest": "highest_risk", "average": "average_risk"}


def assess(policy: Policy, frame: Any) -> Assessment:
    """Take every measure that the budgets name, and k and uniqueness in any case."""
    if (
        len(policy.rules) > 1
        or policy.rules[0].every_subset_of is not None
        or policy.by is not None
    ):
        raise PolicyError(
            "assess takes a policy of one quasi-identifier, without by; check takes any"
        )
    table = Table.of(policy, frame)
    (rule,) = policy.rules
    closeness = [budget for budget in rule.budgets if budget.name == "tcloseness"]
    constants = {budget.c for budget in rule.budgets if budget.c is not None}
    if len(closeness) > 1 or len(constants) > 1:
        raise PolicyError("assess takes one tcloseness and one c; check takes any number")
    measures = dict.fromkeys(
        ("k", "uniqueness", *(name for b in rule.budgets if (name := _measure(b))))
    )
    about: Any = closeness[0] if closeness else None
    return assess_table(
        table.frame,
        list(rule.columns or table.roles.whole) or None,
        list(table.roles.sensitive) or None,
        list(measures),
        c=constants.pop() if constants else None,
        distance="auto" if about is None else about.distance or "auto",
        order=None if about is None or about.order is None else list(about.order),
        hierarchy=None if about is None else about.hierarchy,
        unit=table.roles.unit,
        missing=policy.missing,
        missing_sensitive=policy.missing_sensitive or "value",
    )


def _measure(budget: Budget) -> str | None:
    if budget.name == "ldiv":
        return _OF_KIND[budget.kind or "distinct"]
    if budget.name.startswith("risk.prosecutor"):
        return _OF_RISK.get(budget.name.rpartition(".")[2])
    return budget.name if budget.name == "tcloseness" else None
