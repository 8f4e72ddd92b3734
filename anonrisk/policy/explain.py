"""Which columns, dropped, would keep to a budget that did not pass: measured, not guessed."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import limited, time_is_up
from anonrisk.policy.budgets.base import MethodBudget, ReleaseBudget, TableBudget
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.finding import about_of, named_once
from anonrisk.policy.judge import Judge
from anonrisk.policy.measure import CheckedTable, context_of, measure, policy_for
from anonrisk.policy.plan_goals import direct_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.planning.plan import Plan
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.evidence import Evidence
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.terms import Terms
    from anonrisk.policy.trial import Gate, PlanTrial, Trials

# Every pair is tried where there are few: at most ten measurements more.
_FEW = 5
# Budgets that are shown; a policy with groups may have hundreds.
_SHOWN = 20


@dataclass(frozen=True, repr=False)
class Without(render.PrintedFields):
    """A budget as it would be without one column of its quasi-identifier."""

    column: Name
    before: Finding
    after: Finding

    @property
    def dropped(self) -> tuple[Name, ...]:
        """The column, as a list of one."""
        return (self.column,)

    @property
    def gain(self) -> float:
        """How much more room there would be; minus infinity where that cannot be told."""
        return _gain(self.before, self.after)


@dataclass(frozen=True, repr=False)
class WithoutSeveral(render.PrintedFields):
    """A budget as it would be without several columns, where no single one is enough."""

    dropped: tuple[Name, ...]
    before: Finding
    after: Finding

    @property
    def gain(self) -> float:
        """How much more room there would be; minus infinity where that cannot be told."""
        return _gain(self.before, self.after)


def _gain(before: Finding, after: Finding) -> float:
    return float("-inf") if after.margin is None else after.margin - (before.margin or 0.0)


@dataclass(frozen=True, repr=False)
class Explanation(render.Printed):
    """For each budget that did not pass, what it would be without some of its columns.

    Attributes
    ----------
    columns : tuple of Without
        By budget, each column, that one first whose absence lowers the risk furthest.
    together : tuple of WithoutSeveral
        For budgets that no single column brings within the limit: the fewest columns found that
        do, or, if none do, all but that one which alone comes nearest.
    trials : tuple of PlanTrial
        Of a table that failed: plans that were applied to it, and what the policy says of the
        result; the one of least loss first.
    storage : tuple of Finding
        What a file holds besides rows that pass: no plan is tried, and each says what to do.
    """

    columns: tuple[Without, ...]
    together: tuple[WithoutSeveral, ...] = ()
    trials: tuple[PlanTrial, ...] = ()
    storage: tuple[Finding, ...] = ()

    @property
    def plan(self) -> Plan | None:
        """The plan to save, after which the policy passes; None if no such plan was found."""
        return next((trial.plan for trial in self.trials if trial.passed), None)

    @property
    def steps(self) -> tuple[str, ...]:
        """What makes the whole policy pass, tried; if nothing does, what was tried and why not.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"zip": ["a", "b"], "sex": ["f", "m"]})
        >>> anonrisk.Policy(quasi=["zip", "sex"], k=3).check(df).explain().steps
        ('No plan was found: ...',)
        """
        if self.storage:
            return tuple(finding.sentence for finding in self.storage)
        enough = tuple(trial.sentence for trial in self.trials if trial.passed)
        return enough or tuple(trial.sentence for trial in self.trials)

    def best(self) -> dict[str, Name]:
        """Return for each budget the column that, dropped, lowers the risk furthest, if any."""
        results: dict[str, Name] = {}
        for column in self.columns:
            if column.gain > 0:
                results.setdefault(column.before.budget, column.column)
        return results

    def advice(self) -> tuple[str, ...]:
        """Return what makes the policy pass, then for each budget whether dropping columns does.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "id": [1, 2, 3, 4]})
        >>> anonrisk.Policy(quasi=["zip", "id"], k=2).check(df).explain().advice()[-1]
        'k of zip + id: dropping id is enough (it would be 2, the limit is 2).'
        """
        return (*self.steps, *(_sentence(tried) for tried in _by_finding(self)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {
            "advice": list(self.advice()),
            "trials": [trial.to_dict() for trial in self.trials],
            "without": [{"column": column.column, **_both(column)} for column in self.columns],
            "together": [{"columns": list(item.dropped), **_both(item)} for item in self.together],
        }

    def _rows(self, said: Qid) -> list[list[str]]:
        """List what changes something, the best first."""
        rows = []
        for tried in _by_finding(self)[:_SHOWN]:
            lines = [item for item in tried if item.after.value not in (None, item.before.value)]
            # The sort is stable: of what does as much, fewer columns come first.
            for item in sorted(lines, key=lambda item: item.gain, reverse=True):
                before, after = item.before, item.after
                numbers = (before.numbers[0], after.numbers[0], before.numbers[1])
                status = after.status.replace("_", " ")
                dropped = render.joined(item.dropped)
                rows.append([before.budget, dropped, *numbers, status, about_of(before, said)])
        return rows

    def _table(self) -> tuple[list[str], tuple[str, ...], list[list[str]]]:
        return named_once((column.before for column in self.columns), _HEADER, self._rows)

    def _advice_lines(self) -> list[str]:
        lines = list(self.advice())
        if self.plan is not None:
            lines.insert(len(self.steps), _SAVE)
        more = [f"({len(lines) - _SHOWN:,} more not shown)"] if len(lines) > _SHOWN else []
        return [*lines[:_SHOWN], *more]

    def _blocks(self) -> list[str | render.Table]:
        """What helps in a sentence, then what changes how much."""
        if not self.columns and not self.steps:
            return ["There is no budget that did not pass and has a column to drop."]
        source, header, rows = self._table()
        table = render.Table(header, rows)
        return [*self._advice_lines(), *source, table] if rows else [*self._advice_lines()]


_SAVE = (
    "Save the plan: explanation.plan.to_json(), on the command line --save-plan plan.json; "
    "df.anon.apply(explanation.plan) applies it."
)
_HEADER = ("budget", "without", "value", "would be", "limit", "then", "of")


def _by_finding(explanation: Explanation) -> list[list[Without | WithoutSeveral]]:
    """Group what was tried by the finding that it is about, in order."""
    groups: dict[int, list[Without | WithoutSeveral]] = {}
    tried: list[Without | WithoutSeveral] = [*explanation.columns, *explanation.together]
    for item in tried:
        groups.setdefault(id(item.before), []).append(item)
    return list(groups.values())


def _both(item: Without | WithoutSeveral) -> dict[str, Any]:
    return {"before": item.before.to_dict(), "after": item.after.to_dict()}


def _sentence(tried: Sequence[Without | WithoutSeveral]) -> str:
    """Return whether one column is enough, several together are, or none."""
    before = tried[0].before
    about = f"{before.budget} of {about_of(before)}"
    enough = [item for item in tried if item.after.passed]
    if not enough:
        return f"{about}: dropping columns is not enough, as far as tried."
    best = enough[0]
    then = f"it would be {best.after.numbers[0]}, the limit is {before.numbers[1]}"
    if isinstance(best, WithoutSeveral):
        return (
            f"{about}: no single column is enough; dropping "
            f"{render.joined(best.dropped)} together is ({then})."
        )
    others = ", ".join(
        render.named(item.column) for item in enough[1:] if isinstance(item, Without)
    )
    or_else = f"; so is {others}" if others else ""
    return f"{about}: dropping {render.named(best.column)} is enough ({then}){or_else}."


# ---- measuring ----------------------------------------------------------------------------------


def explain(
    gate: Gate, findings: Sequence[Finding], plans: Trials | None, seconds: float | None = None
) -> Explanation:
    """Measure every budget that did not pass once more, without each column in turn.

    Where none is enough, each column is measured alone. One that does not pass alone passes in no
    company, since classes of more columns are smaller: it must go. (Not so where rows are dropped
    for a missing value, of which more columns have more; but what is said to be enough was
    measured there as well.) Of the others those with most classes are dropped first. That is at
    most two measurements a column, and the pairs of few.

    What is not measured after so many seconds is left out. Then `plans`, if any may help, tries
    the policy as a whole: a plan made for it, and the fewest columns left out that are enough for
    every budget.
    """
    policy, frame = gate.policy, gate.frame
    named = attempt(lambda: policy_for(policy, frame))
    table = named if isinstance(named, Problem) else attempt(lambda: CheckedTable.of(named, frame))
    if isinstance(named, Problem) or isinstance(table, Problem):
        return Explanation(())
    policy = named
    open_ = [f for f in findings if f.value is not None and len(f.qid) > 1]
    result = ((finding, _budget_of(policy, finding)) for finding in open_)
    # What is about more than classes of this table, no column of it decides.
    others = (MethodBudget, ReleaseBudget, TableBudget)
    asked = [_Asked(f, b) for f, b in result if b is not None and not isinstance(b, others)]
    measured = _Measurements(table, policy, gate.population, seconds)
    singles: list[Without] = []
    unsolved: list[_Asked] = []
    with limited(seconds):
        for item, outcomes in measured.run([(item, [(c,) for c in item.qid]) for item in asked]):
            ranked = sorted(outcomes, key=item.gain, reverse=True)
            singles += [Without(tried.dropped[0], item.finding, tried.after) for tried in ranked]
            if not any(outcome.after.passed for outcome in ranked):
                unsolved.append(item)
        explanation = Explanation(tuple(singles), tuple(_together(measured, unsolved)))
    if plans is None:
        return explanation
    direct = direct_columns(policy, table.published)
    return replace(explanation, trials=tuple(_tried(explanation, plans, direct)))


def _tried(explanation: Explanation, plans: Trials, direct: Qid) -> Iterator[PlanTrial]:
    """Try a plan for the policy, and the columns left out that are enough for each budget."""
    plan = plans.of_policy()
    yield plan
    dropped = _enough_for_all(explanation)
    if dropped is None or not (dropped or direct):
        return
    if {*plan.left_out} != {*dropped, *direct} or plan.coarser:
        yield plans.without(dropped, direct)


def _enough_for_all(explanation: Explanation) -> tuple[Name, ...] | None:
    """Return the fewest columns that are enough for every budget; None where some has none."""
    enough = [
        [item.dropped for item in tried if item.after.passed]
        for tried in _by_finding(explanation)
        if tried[0].before.severity == "fail"
    ]
    if not all(enough):
        return None
    if not enough:
        return ()
    every = tuple(dict.fromkeys(name for each in enough for name in each[0]))
    common = (dropped for dropped in enough[0] if all(dropped in each for each in enough[1:]))
    return min((*common, every), key=len)


def _together(measured: _Measurements, unsolved: Sequence[_Asked]) -> Iterator[WithoutSeveral]:
    """Find the fewest columns to drop, or show that one alone is too many."""
    longer: list[tuple[_Asked, list[tuple[Name, ...]]]] = []
    # Of two columns each was measured alone already.
    wide = [item for item in unsolved if len(item.qid) > 2]
    for item, alone in measured.run([(item, _all_but_one(item.qid)) for item in wide]):
        if any(outcome.after.passed for outcome in alone):
            longer.append((item, _several(item.qid, alone)))
        elif alone:
            yield item.without(max(alone, key=item.gain))
    for item, outcomes in measured.run(longer):
        enough = sorted((o for o in outcomes if o.after.passed), key=item.gain, reverse=True)
        if enough:
            yield item.without(min(enough, key=lambda outcome: len(outcome.dropped)))


def _all_but_one(qid: Qid) -> list[tuple[Name, ...]]:
    return [_without(qid, (name,)) for name in qid]


def _several(qid: Qid, alone: Sequence[_Tried]) -> list[tuple[Name, ...]]:
    """List what to drop together, from few columns to all but one that passes alone."""
    passing = {tried.dropped: tried.n_classes for tried in alone if tried.after.passed}
    n_classes = {name: passing.get(_without(qid, (name,))) for name in qid}
    must = tuple(name for name in qid if n_classes[name] is None)
    may = sorted(
        (name for name in qid if name not in must), key=lambda name: -(n_classes[name] or 0)
    )
    lists = [(*must, *may[:n]) for n in range(len(may))]
    pairs = combinations(qid, 2) if len(qid) <= _FEW else ()
    lists += [pair for pair in pairs if set(must) <= set(pair)]
    return list(dict.fromkeys(dropped for dropped in lists if len(dropped) > 1))


@dataclass(frozen=True)
class _Asked:
    """A finding that did not pass, and the budget that it is of."""

    finding: Finding
    budget: Budget

    @property
    def qid(self) -> Qid:
        return self.finding.qid

    def gain(self, tried: _Tried) -> float:
        return _gain(self.finding, tried.after)

    def without(self, tried: _Tried) -> WithoutSeveral:
        return WithoutSeveral(tried.dropped, self.finding, tried.after)


@dataclass(frozen=True)
class _Tried:
    """What a finding would be without some columns, and how many classes would be left."""

    dropped: tuple[Name, ...]
    after: Finding
    n_classes: int


@dataclass(frozen=True)
class _Measurements:
    """Measures quasi-identifiers without some of their columns, as long as there is time."""

    table: CheckedTable
    policy: Terms
    population: Any
    seconds: float | None

    def run(
        self, asked: Sequence[tuple[_Asked, Sequence[tuple[Name, ...]]]]
    ) -> Iterator[tuple[_Asked, list[_Tried]]]:
        """Try every list of columns of every finding, all of them measured together."""
        wanted: dict[Qid, list[Budget]] = {}
        for item, lists in asked:
            for dropped in lists:
                budgets = wanted.setdefault(_without(item.qid, dropped), [])
                # One budget has a finding for each sensitive column.
                if item.budget not in budgets:
                    budgets.append(item.budget)
        measured = self._measured(wanted)
        for item, lists in asked:
            yield (
                item,
                [tried for dropped in lists for tried in self._tried(item, dropped, measured)],
            )

    def _measured(self, wanted: dict[Qid, list[Budget]]) -> dict[Qid, Evidence]:
        """Measure all together, or with a time limit one by one until it is over."""
        if self.seconds is None:
            return measure(self.table, self.policy, wanted, self.population) if wanted else {}
        results: dict[Qid, Evidence] = {}
        for qid, budgets in wanted.items():
            if time_is_up("what would help"):
                break
            results |= measure(self.table, self.policy, {qid: budgets}, self.population)
        return results

    def _tried(
        self, size: _Asked, dropped: tuple[Name, ...], measured: Mapping[Qid, Evidence]
    ) -> Iterator[_Tried]:
        rest, finding = _without(size.qid, dropped), size.finding
        if rest not in measured:
            return
        sensitive = () if finding.sensitive is None else (finding.sensitive,)
        context = context_of(self.policy, replace(self.table.roles, sensitive=sensitive))
        judge = Judge(rest, measured[rest], context)
        groups = measured[rest].groups
        sizes = [g.sizes for g in groups if g.sizes is not None] if isinstance(groups, list) else []
        for after in judge.findings(size.budget):
            if after.group == finding.group and after.sensitive == finding.sensitive:
                yield _Tried(dropped, after, sum(size.n_classes for size in sizes))


def _without(qid: Qid, dropped: Iterable[Name]) -> Qid:
    gone = set(dropped)
    return tuple(name for name in qid if name not in gone)


def _budget_of(policy: Terms, finding: Finding) -> Budget | None:
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
