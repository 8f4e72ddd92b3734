"""`plan(policy)`: every budget of a policy as a goal of a plan, or why none is made for it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import question_of
from anonrisk.errors import NoPlanHelpsError
from anonrisk.measures.counts.question import Group, Sensitive
from anonrisk.planning.class_rules import GoalResult, PlanGoal, SensitiveGoal
from anonrisk.planning.goals import PlanRequest
from anonrisk.policy import release_rules
from anonrisk.policy.budgets.base import (
    MethodBudget,
    ReleaseBudget,
    Seen,
    SensitiveBudget,
    SizeBudget,
    TableBudget,
)
from anonrisk.policy.evidence import Evidence, Problem, attempt
from anonrisk.policy.finding import PASS
from anonrisk.policy.judge import status_of
from anonrisk.policy.measure import CheckedTable, context_of, expanded, published_by
from anonrisk.policy.release_rules import with_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.evidence import Context
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms

# What to do about cells that are missing where the policy does not count them.
_MISSING = {
    "error": "the policy refuses that (missing: error): fill it in, or remove these rows first",
    "drop": "the policy leaves these rows out (missing: drop): remove them first, or count them "
    "with missing: value",
}
_MISSING_SENSITIVE = {
    None: "nobody has said what that means: set missing_sensitive to value (a diagnosis like any "
    "other), or remove these rows first",
    "error": "the policy refuses that (missing_sensitive: error): fill it in, remove these rows "
    "first, or say missing_sensitive: value if you mean it",
    "drop": "the policy does not look at these rows (missing_sensitive: drop): remove them first, "
    "or say missing_sensitive: value",
}


def plan_goals(policy: Terms, frame: Any) -> PlanRequest:
    """Read the budgets as goals; what no recoding helps against is a `NoPlanHelpsError`."""
    published = published_by(frame)
    policy = with_labels(policy, published.names)
    leave_out = direct_columns(policy, published)
    left = replace(
        published, columns=tuple(name for name in published.columns if name not in leave_out)
    )
    for finding in release_rules.of_columns(policy, left):
        if not finding.passed:
            raise _unhelpful(finding.sentence)
    table = CheckedTable.of(policy, frame, left)
    if table.frame is not frame:
        raise NoPlanHelpsError(
            "no plan helps: the labels of the rows would be published; name them first"
        )
    if table.roles.weight is not None:
        raise NoPlanHelpsError(
            "no plan helps: a plan does not know what becomes of sampling weights"
        )
    if not policy.rules:
        raise NoPlanHelpsError(
            "no plan is needed: the policy is about columns alone, and has no budget"
        )
    context = context_of(policy, table.roles)
    goals = tuple(_goals(policy, table, context))
    if all(goal.severity == "warn" for goal in goals):
        raise NoPlanHelpsError(
            "no plan is needed: every budget of the policy only warns. Let one of them decide "
            "(severity: fail), or plan for k="
        )
    _check_missing(policy, table, goals)
    qid = tuple(dict.fromkeys(name for goal in goals for name in goal.qid))
    complete = dict.fromkeys(qid, _MISSING[policy.missing]) if policy.missing in _MISSING else {}
    if policy.missing_sensitive != "value":
        why = _MISSING_SENSITIVE[policy.missing_sensitive]
        complete |= {goal.about.column: why for goal in goals if goal.about is not None}
    return PlanRequest(
        qid,
        goals,
        table.roles.unit,
        fixed=tuple(name for name in (policy.by,) if name in qid and name not in table.roles.whole),
        leave_out=leave_out,
        complete=complete,
        of_policy=True,
    )


def _check_missing(policy: Terms, table: CheckedTable, goals: tuple[PlanGoal, ...]) -> None:
    """Reject a rule for missing cells under which a gate could not assess any table."""
    of_sizes = all(goal.about is None and not goal.why_not for goal in goals)
    sets = [list(goal.qid) for goal in goals]
    asked = attempt(
        lambda: question_of(
            table.frame,
            sets,
            unit=table.roles.unit,
            missing=policy.missing,
            several=True,
            wildcard=of_sizes,
        )
    )
    if isinstance(asked, Problem):
        raise _unhelpful(asked.message)


def _unhelpful(why: str) -> NoPlanHelpsError:
    return NoPlanHelpsError(f"no plan helps: {why}")


def direct_columns(policy: Terms, published: Published) -> Qid:
    """List the columns that name a person, which a plan leaves out."""
    named = {*policy.roles.direct, *published.declared.direct}
    return tuple(name for name in published.columns if name in named)


def _goals(policy: Terms, table: CheckedTable, context: Context) -> Iterator[PlanGoal]:
    for i, rule in enumerate(policy.rules):
        sets = expanded(table, rule, i)
        if isinstance(sets, Problem):
            raise _unhelpful(sets.message)
        for qid in sets:
            table.require_columns(qid, "quasi-identifier")
            for budget in rule.budgets:
                yield from _of_budget(budget, _within(qid, policy.by), table, context)


def _within(qid: Qid, by: Name | None) -> Qid:
    """Take the column of groups into the classes: each is then of one group."""
    return qid if by is None or by in qid else (*qid, by)


def _of_budget(
    budget: Budget, qid: Qid, table: CheckedTable, context: Context
) -> Iterator[PlanGoal]:
    goal = PlanGoal(budget.name, qid, budget.limit, budget.severity)
    if isinstance(budget, (MethodBudget, ReleaseBudget)):
        yield replace(goal, why_not=budget.not_planned)
    elif isinstance(budget, SensitiveBudget):
        yield from _of_values(budget, goal, table)
    elif isinstance(budget, TableBudget):
        yield replace(goal, of_suppression=True)
    elif isinstance(budget, SizeBudget):
        yield _of_sizes(budget, goal, context)


def _of_values(budget: SensitiveBudget, goal: PlanGoal, table: CheckedTable) -> Iterator[PlanGoal]:
    columns = budget.sensitive or table.roles.sensitive
    if not columns:
        raise _unhelpful(
            f"{budget.name} is about a sensitive column, and neither the policy nor the table "
            "names one"
        )
    for column in columns:
        table.require_columns([column], "sensitive column")
        about, score = budget.score(table.engine, table.frame, Sensitive(column))
        if about.hierarchy is not None:
            yield replace(goal, why_not="a plan knows the distances 'equal' and 'ordered'")
            continue
        asked = SensitiveGoal(column, score.name, budget.limit, score.c, about.order)
        yield replace(goal, about=asked)


def _of_sizes(budget: SizeBudget, goal: PlanGoal, context: Context) -> PlanGoal:
    needed = budget.needed_k(context)
    enough = budget.enough_k(budget.limit, budget.parameters())
    need = budget.need(context)
    if need is not None:
        return replace(
            goal, why_not="it depends on people or cells that the classes alone do not describe"
        )
    if context.by is not None:
        # Of each group by itself; where no class is small, no group has one.
        if (needed or enough) is None:
            return replace(goal, why_not="no size of classes is enough for it, group by group")
        return replace(goal, k=needed or enough or 1, by_size=True)
    return replace(
        goal,
        k=needed or 1,
        by_size=needed is not None,
        enough=enough,
        measure=partial(_measured, budget, context),
    )


def _measured(
    budget: SizeBudget, context: Context, sizes: ClassCounts, n_original: int
) -> GoalResult:
    """Measure as a gate does that knows how many rows there were."""
    context = replace(context, n_original=n_original)
    sizes = replace(sizes, missing=context.missing)
    evidence = Evidence(groups=[Group(None, sizes)])
    value = attempt(lambda: budget.value(Seen(ClassSizes.of(sizes), evidence, context)))
    if isinstance(value, Problem):
        return GoalResult(None, met=False, why=value.message)
    return GoalResult(float(value.number), status_of(budget, value) == PASS)
