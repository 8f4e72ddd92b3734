"""Which column, dropped, would lower the risk furthest: measured, not guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk import render
from anonrisk.policy.judge import Judge
from anonrisk.policy.measure import measure
from anonrisk.policy.table import Problem, Table, attempt

if TYPE_CHECKING:
    from anonrisk.columns import Name, Qid
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.verdict import Verdict


@dataclass(frozen=True)
class Without:
    """A budget as it would be without one column of its quasi-identifier."""

    column: Name
    before: Finding
    after: Finding

    @property
    def gain(self) -> float:
        """How much more room there would be; minus infinity where that cannot be told."""
        if self.after.margin is None:
            return float("-inf")
        return self.after.margin - (self.before.margin or 0.0)


@dataclass(frozen=True, repr=False)
class Explanation:
    """For each budget that did not pass, what it would be without each column.

    Attributes
    ----------
    columns : tuple of Without
        By budget, the column first whose absence lowers the risk furthest.
    """

    columns: tuple[Without, ...]

    def best(self) -> dict[str, Name]:
        """Give for each budget the column that, dropped, lowers the risk furthest."""
        found: dict[str, Name] = {}
        for one in self.columns:
            found.setdefault(one.before.budget, one.column)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON."""
        return {
            "without": [
                {
                    "column": one.column,
                    "before": one.before.to_dict(),
                    "after": one.after.to_dict(),
                }
                for one in self.columns
            ]
        }

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.before.budget,
                " + ".join(map(str, one.before.qid)),
                str(one.column),
                _shown(one.before.value),
                _shown(one.after.value),
                _shown(one.before.limit),
                one.after.status.replace("_", " "),
            ]
            for one in self.columns
        ]

    def __repr__(self) -> str:
        """Print as text."""
        if not self.columns:
            return "There is no budget that did not pass and has a column to drop."
        return render.text_table(_HEADER, self._rows())

    def _repr_html_(self) -> str:
        return render.html_table("Without each column", _HEADER, self._rows())


_HEADER = ("budget", "of", "without", "value", "would be", "limit", "then")


def _shown(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


def explain(policy: Policy, verdict: Verdict, frame: Any, population: Any) -> Explanation:
    """Measure every budget that did not pass once more, without each column in turn."""
    table = attempt(lambda: Table.of(policy, frame))
    if isinstance(table, Problem):
        return Explanation(())
    open_ = [f for f in verdict.findings if not f.passed and f.value is not None and f.qid]
    open_ = [f for f in open_ if f.budget != "max_suppressed"]
    budgets = {id(f): _budget_of(policy, f) for f in open_}
    asked = [f for f in open_ if budgets[id(f)] is not None and len(f.qid) > 1]
    wanted: dict[Qid, list[Budget]] = {}
    for finding in asked:
        budget = budgets[id(finding)]
        for column in finding.qid:
            if budget is not None:
                wanted.setdefault(_without(finding.qid, column), []).append(budget)
    measured = measure(table, policy, wanted, population)
    found: list[Without] = []
    for finding in asked:
        budget = budgets[id(finding)]
        each = []
        for column in finding.qid:
            rest = _without(finding.qid, column)
            judge = Judge(
                rest,
                measured[rest],
                sensitive=() if finding.sensitive is None else (finding.sensitive,),
                sampling_fraction=policy.sampling_fraction,
                grouped=policy.by is not None,
            )
            if budget is not None:
                after = [
                    f
                    for f in judge.findings(budget)
                    if f.group == finding.group and f.sensitive == finding.sensitive
                ]
                each += [Without(column, finding, f) for f in after]
        found += sorted(each, key=lambda one: one.gain, reverse=True)
    return Explanation(tuple(found))


def _without(qid: Qid, column: Name) -> Qid:
    return tuple(name for name in qid if name != column)


def _budget_of(policy: Policy, finding: Finding) -> Budget | None:
    """Find the budget that a finding is of."""
    for rule in policy.rules:
        for budget in rule.budgets:
            same = (budget.name, budget.limit, budget.severity) == (
                finding.budget,
                finding.limit,
                finding.severity,
            )
            about = budget.sensitive is None or finding.sensitive in budget.sensitive
            if same and about and budget.parameters() == finding.parameters:
                return budget
    return None
