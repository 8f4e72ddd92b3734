"""Whether a table can fail what is asked of it at all: a gate that nothing can break is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.render import exact
from anonrisk.policy.finding import FAIL, LIMITS, PASS, Finding, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.rules import Rule
    from anonrisk.policy.terms import Terms

_INSTEAD = "set a limit that a table can break"
_MEANT = ", or say advisory: true if a report is all that is wanted"


def of_policy(policy: Terms) -> list[Finding]:
    """Judge the limits of a policy; one without any is about columns alone."""
    every = [budget for rule in policy.rules for budget in rule.budgets]
    if policy.advisory:
        text = (
            "this policy is advisory (advisory: true): it reports, and passes no table; "
            f"{'; '.join(map(said, every))}"
        )
        return [unknown(LIMITS, text)]
    return of_budgets(every, of_policy=True)


def of_budgets(budgets: Iterable[Budget], *, of_policy: bool = False) -> list[Finding]:
    """Stop where nothing that is asked can fail, and warn of a limit that says nothing."""
    every = list(budgets)
    loose = [budget for budget in every if budget.vacuous]
    if every and nothing_decides(every):
        # Where warnings decide, those that can be broken make it a gate.
        severity = "fail" if len(loose) == len(every) else "warn"
        return [unknown(LIMITS, undecided(every, of_policy=of_policy), severity=severity)]
    if loose:
        text = f"No table can break {'; nor '.join(map(said, loose))}."
        return [Finding(LIMITS, FAIL, "warn", text)]
    return []


def placed(policy: Terms) -> Iterator[tuple[str, Rule, Budget]]:
    """List every budget with its place in a document, and its rule."""
    n = 0
    for rule in policy.rules:
        entry = "budgets"
        if rule.columns is not None or rule.every_subset_of is not None:
            entry, n = f"qids[{n}].budgets", n + 1
        yield from ((f"{entry}.{budget.name}", rule, budget) for budget in rule.budgets)


def undecided(budgets: Iterable[Budget], *, of_policy: bool = False) -> str:
    """Return for each limit why it decides nothing, and what to do."""
    instead = _INSTEAD + (_MEANT if of_policy else "")
    return f"no table can fail what is asked: {'; '.join(map(said, budgets))}; {instead}"


def nothing_decides(budgets: Iterable[Budget]) -> bool:
    """Return whether every limit only warns or is out of reach."""
    return all(budget.vacuous or budget.severity != "fail" for budget in budgets)


def said(budget: Budget) -> str:
    """Return what is wrong with a limit that does not decide."""
    if budget.vacuous:
        return f"{budget.name}: {budget.likely_meaning}"
    return f"{budget.name}: {exact(budget.limit)} only warns (severity: warn)"


def every_column_listed() -> Finding:
    """Return the finding of a table whose columns are all that is asked about, and have roles."""
    text = "Every column has a role."
    return Finding("unlisted", PASS, "fail", text, value=0, limit=0, margin=0)
