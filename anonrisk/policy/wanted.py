"""Which columns of a table a policy needs, for whoever reads its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.reading.files import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import Name
    from anonrisk.policy.terms import Terms


def wanted_by(policy: Terms, more: Iterable[Name] = ()) -> Wanted:
    """List the columns that a policy needs, and others; those that it orders are numbers."""
    roles = policy.roles
    budgets = [budget for rule in policy.rules for budget in rule.budgets]
    ordered = [budget for budget in budgets if budget.needs_numbers]
    numbers = {name for budget in ordered for name in budget.sensitive or roles.sensitive}
    numbers |= set() if roles.weight is None else {roles.weight}
    whole_rules = any(rule.columns is None for rule in policy.rules)
    listed = [*roles.quasi, *(name for rule in policy.rules for name in rule.columns or ())]
    if policy.unlisted == "quasi" or (whole_rules and not roles.quasi) or not listed:
        # Only the table knows its quasi-identifier.
        return Wanted(None, frozenset(map(str, numbers)), missing=policy.missing)
    about = [name for budget in budgets for name in budget.sensitive or ()]
    single = [name for name in (roles.unit, roles.weight, policy.by) if name is not None]
    names = dict.fromkeys((*listed, *roles.sensitive, *about, *single, *more))
    return Wanted(tuple(map(str, names)), frozenset(map(str, numbers)), missing=policy.missing)
