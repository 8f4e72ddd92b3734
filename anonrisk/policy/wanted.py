"""Which columns of a table a policy needs, for whoever reads its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.reading.files import Wanted

if TYPE_CHECKING:
    from anonrisk.policy.terms import Terms


def wanted_by(policy: Terms) -> Wanted:
    """Return what a policy needs: all columns, since each is examined, and some as numbers."""
    roles = policy.roles
    budgets = [budget for rule in policy.rules for budget in rule.budgets]
    ordered = [budget for budget in budgets if budget.needs_numbers]
    numbers = {name for budget in ordered for name in budget.sensitive or roles.sensitive}
    numbers |= set() if roles.weight is None else {roles.weight}
    return Wanted(None, frozenset(map(str, numbers)), missing=policy.missing)
