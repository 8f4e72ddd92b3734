"""Counts against budgets: what came of it, in a sentence, and whether it could fail at all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, exact, joined, visible
from anonrisk.policy import evidence
from anonrisk.policy.budgets.base import (
    MethodBudget,
    ReleaseBudget,
    Seen,
    SensitiveBudget,
    SizeBudget,
    Subject,
    TableBudget,
    Value,
    within,
)
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, LIMITS, PASS, Finding, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.question import Group
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.evidence import Context, Evidence
    from anonrisk.policy.terms import Rule, Terms

_INSTEAD = "set a limit that a table can break"
_MEANT = ", or say advisory: true if a report is all that is wanted"


def unbroken_limits(policy: Terms) -> list[Finding]:
    """Judge the limits of a policy; one without any is about columns alone."""
    every = [budget for rule in policy.rules for budget in rule.budgets]
    if policy.advisory:
        text = (
            "this policy is advisory (advisory: true): it reports, and passes no table; "
            f"{'; '.join(map(why_undecided, every))}"
        )
        return [unknown(LIMITS, text)]
    return unbroken_budgets(every, of_policy=True)


def unbroken_budgets(budgets: Iterable[Budget], *, of_policy: bool = False) -> list[Finding]:
    """Stop where nothing that is asked can fail, and warn of a limit that says nothing."""
    every = list(budgets)
    loose = [budget for budget in every if budget.vacuous]
    if every and nothing_decides(every):
        # Where warnings decide, those that can be broken make it a gate.
        severity = "fail" if len(loose) == len(every) else "warn"
        return [unknown(LIMITS, undecided(every, of_policy=of_policy), severity=severity)]
    if loose:
        text = f"No table can break {'; nor '.join(map(why_undecided, loose))}."
        return [Finding(LIMITS, FAIL, "warn", text)]
    return []


def budgets_in_place(policy: Terms) -> Iterator[tuple[str, Rule, Budget]]:
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
    return f"no table can fail what is asked: {'; '.join(map(why_undecided, budgets))}; {instead}"


def nothing_decides(budgets: Iterable[Budget]) -> bool:
    """Return whether every limit only warns or is out of reach."""
    return all(budget.vacuous or budget.severity != "fail" for budget in budgets)


def why_undecided(budget: Budget) -> str:
    """Return what is wrong with a limit that does not decide."""
    if budget.vacuous:
        return f"{budget.name}: {budget.likely_meaning}"
    return f"{budget.name}: {exact(budget.limit)} only warns (severity: warn)"


def every_column_listed() -> Finding:
    """Return the finding of a table whose columns are all that is asked about, and have roles."""
    text = "Every column has a role."
    return Finding("unlisted", PASS, "fail", text, value=0, limit=0, margin=0)


@dataclass(frozen=True)
class Judge:
    """Compares what was measured of one quasi-identifier with its budgets."""

    qid: Qid
    evidence: Evidence
    context: Context

    def findings(self, budget: Budget) -> Iterator[Finding]:
        """Yield the findings of a budget: one per sensitive column, or per group."""
        if isinstance(budget, SensitiveBudget):
            yield from self._of_values(budget)
        elif isinstance(budget, ReleaseBudget):
            yield self._unknown(budget, Problem(budget.lacks))
        elif budget in self.evidence.estimates:
            yield self._finding(budget, self.evidence.estimates[budget])
        elif isinstance(self.evidence.groups, Problem):
            yield self._unknown(budget, self.evidence.groups)
        elif isinstance(budget, TableBudget):
            yield self._finding(budget, attempt(lambda: budget.value(self.evidence, self.context)))
        elif isinstance(budget, SizeBudget):
            for group in self.evidence.groups or ():
                yield self._of_group(budget, group)
        else:
            # Without a finding it would count as kept.
            yield self._unknown(budget, Problem("nothing says how it is measured"))

    def _of_values(self, budget: SensitiveBudget) -> Iterator[Finding]:
        columns = budget.sensitive or self.context.sensitive
        if not columns:
            yield self._unknown(
                budget,
                Problem(
                    "no sensitive column: name it in the policy (roles: {sensitive: [diagnosis]}), "
                    "or once for the table, as in df.anon.declare(sensitive='diagnosis')"
                ),
            )
        for column in columns:
            result = self.evidence.worst.get((column, budget.measure))
            if result is None:
                reason = self.evidence.groups
                result = reason if isinstance(reason, Problem) else Problem("it was not measured")
            value = result if isinstance(result, Problem) else self._scored(budget, column, result)
            yield self._finding(budget, value, sensitive=column)

    def _scored(self, budget: SensitiveBudget, column: Name, score: float) -> Value | Problem:
        if not isinstance(budget, MethodBudget):
            return Value(score)
        beside = (self.qid, self.evidence, self.context)
        return attempt(lambda: budget.value(column, score, *beside))

    def _of_group(self, budget: SizeBudget, group: Group) -> Finding:
        label = None if self.context.by is None else evidence.label(group.label)
        if group.sizes is None:
            rows = count_of(group.n_dropped, "row")
            problem = Problem(f"no record is left to measure: {rows} dropped for a missing value")
            return self._unknown(budget, problem, group=label)
        sizes = ClassSizes.of(group.sizes)
        value = attempt(lambda: budget.value(Seen(sizes, self.evidence, self.context)))
        who = "record" if sizes.unit is None else "person"
        return self._finding(budget, value, who=who, group=label)

    def _finding(
        self,
        budget: Budget,
        value: Value | Problem,
        *,
        who: str = "record",
        sensitive: Name | None = None,
        group: str | None = None,
    ) -> Finding:
        return finding_of(budget, self.qid, value, who=who, sensitive=sensitive, group=group)

    def _unknown(
        self,
        budget: Budget,
        problem: Problem,
        *,
        sensitive: Name | None = None,
        group: str | None = None,
    ) -> Finding:
        return finding_of(budget, self.qid, problem, sensitive=sensitive, group=group)


def finding_of(
    budget: Budget,
    qid: Qid,
    value: Value | Problem,
    *,
    who: str = "record",
    sensitive: Name | None = None,
    group: str | None = None,
) -> Finding:
    """Compare what was measured of a quasi-identifier with a budget, and say it."""
    about: dict[str, Any] = {"qid": qid, "sensitive": sensitive, "group": group}
    about |= {"severity": budget.severity, "limit": budget.limit}
    about["parameters"] = budget.parameters()
    if isinstance(value, Value) and _no_number(value):
        value = Problem("the measured value is not a number")
    if isinstance(value, Problem):
        return unknown(budget.name, value.message, **about)
    status = status_of(budget, value)
    number = value.number
    room = number - budget.limit if budget.at_least else budget.limit - number
    said = budget.sentence(value, Subject(joined(qid), who, visible(sensitive)))
    doubt = ""
    if status == COULD_NOT_ASSESS:
        doubt = (
            " The interval contains the limit, so that the budget can be neither passed nor failed."
        )
    return Finding(
        budget=budget.name,
        status=status,
        value=number,
        margin=room,
        estimate=value.estimate,
        sentence=f"{evidence.inside(group)}{said}.{doubt}",
        **about,
    )


def worst(findings: list[Finding]) -> Finding:
    """Pick the finding that decides: a failure, else an unknown, else the least room."""
    order = {FAIL: 0, COULD_NOT_ASSESS: 1, PASS: 2}

    def rank(finding: Finding) -> tuple[int, float]:
        margin = math.inf if finding.margin is None else finding.margin
        return order[finding.status], margin

    return min(findings, key=rank)


def status_of(budget: Budget, value: Value) -> str:
    """Compare a measured value with the limit of its budget."""
    if _no_number(value):
        return COULD_NOT_ASSESS
    if within(value.number, budget.limit, at_least=budget.at_least):
        return PASS
    estimate = value.estimate
    # Within by the estimate and outside by its interval: nobody can tell.
    if estimate is not None and within(estimate, budget.limit, at_least=budget.at_least):
        return COULD_NOT_ASSESS
    return FAIL


def _no_number(value: Value) -> bool:
    return math.isnan(value.number) or (value.estimate is not None and math.isnan(value.estimate))
