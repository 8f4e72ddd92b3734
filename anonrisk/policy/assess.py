"""`assess(policy)`: the measures that a policy names, of its one quasi-identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.assess import assess as assess_table
from anonrisk.engines.one_state import one_state
from anonrisk.errors import PolicyError
from anonrisk.policy.table import CheckedTable, policy_for

if TYPE_CHECKING:
    from anonrisk.api.assessment import Assessment
    from anonrisk.policy.terms import Terms


def assess(policy: Terms, frame: Any) -> Assessment:
    """Take every measure that the budgets name, and k and uniqueness in any case."""
    if (
        len(policy.rules) != 1
        or policy.rules[0].every_subset_of is not None
        or policy.by is not None
    ):
        raise PolicyError(
            "assess takes a policy of one quasi-identifier, without by; check takes any"
        )
    with one_state(frame, "assess"):
        return _assessed(policy, frame)


def _assessed(policy: Terms, frame: Any) -> Assessment:
    policy = policy_for(policy, frame)
    table = CheckedTable.of(policy, frame)
    (rule,) = policy.rules
    # Each with whether it is about a sensitive column.
    measures = {"k": False, "uniqueness": False}
    how: dict[str, Any] = {}
    for budget in rule.budgets:
        asked = budget.assessed()
        if "measures" in asked:
            measures[asked.pop("measures")] = budget.about_values
        if any(how.get(key, value) != value for key, value in asked.items()):
            raise PolicyError("assess takes one tcloseness and one c; check takes any number")
        how |= asked
    if any(measures.values()):
        how["sensitive"] = list(table.roles.sensitive) or None
        how["missing_sensitive"] = policy.missing_sensitive or "value"
    return assess_table(
        table.frame,
        list(rule.columns or table.roles.whole) or None,
        measures=list(measures),
        unit=table.roles.unit,
        missing=policy.missing,
        **how,
    )
