"""Counts against budgets: what came of it, and the sentence that says so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, joined, visible
from anonrisk.policy import messages
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
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, Finding, unknown
from anonrisk.policy.problem import Problem, attempt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.question import Group
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.evidence import Context, Evidence


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
        label = None if self.context.by is None else messages.label(group.label)
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
        sentence=f"{messages.inside(group)}{said}.{doubt}",
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
