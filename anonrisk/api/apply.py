"""A plan applied to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from anonrisk.api.question import in_one_state
from anonrisk.core.arguments import one_of
from anonrisk.core.columns import require
from anonrisk.core.render import kind_name, percent
from anonrisk.core.types import ChecksTables, OnUnseen
from anonrisk.engines import engine_for
from anonrisk.engines.refusals import check_unseen
from anonrisk.errors import (
    ArgumentError,
    ColumnNotFoundError,
    EngineError,
    PlanError,
    UnseenValuesError,
    raise_alone,
)
from anonrisk.measures.counts.change import (
    CountUnseen,
    LargeClasses,
    LeaveOut,
    Recode,
    RecodeByRegion,
)
from anonrisk.measures.counts.question import Question
from anonrisk.measures.recode.kinds import unresolved
from anonrisk.planning.left_out import publishable
from anonrisk.planning.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import FrameT, Name
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.schema import Schema


@in_one_state
def apply(
    frame: FrameT,
    plan: Plan,
    *,
    on_unseen: OnUnseen = "refuse",
    policy: ChecksTables | None = None,
) -> FrameT:
    """Recode the columns of a table as a plan says, and leave out the records of small classes.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    plan : Plan
        From `anonrisk.plan`, `anonrisk.hipaa.safe_harbor`, or read from a file.
    on_unseen : {"refuse", "suppress", "top"}
        What becomes of a record that the plan does not know: a value that its hierarchy lacks, or
        in a multidimensional plan no region. It is an error; or the record is left out and counts
        towards `max_suppressed`; or the cell becomes the top of its hierarchy, and without a
        region every cell that the plan recodes becomes a star. Numbers and dates beyond those that
        were planned for are known: the outer bins are open.
    policy : Policy, optional
        What the result is checked by, before it is given back.

    Returns
    -------
    DataFrame
        A new table of the same kind. Lazy on Spark, after one count that makes sure of the
        promise: if the table is not the one planned for and more than `max_suppressed` of its
        records would be left out, or a goal of the plan would be missed, that is a `PlanError` and
        no table. What the policy does not pass is a `ReleaseBlocked`, with the verdict.

    Raises
    ------
    ColumnNotFoundError, MissingUnitError, EmptyTableError, UnsupportedColumnError
        As in `anonrisk.classes`.
    UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    PlanError
        If too many records would be left out, or the table misses a goal of the plan.
    UnseenValuesError
        If the plan does not know a value and ``on_unseen="refuse"``.
    ReleaseBlocked
        If the result does not pass `policy`.

    See Also
    --------
    anonrisk.plan : finds a plan
    anonrisk.Plan.from_json : reads a stored one
    anonrisk.Plan.diff : compares it with another
    anonrisk.utility : what the result is still good for

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1012", "1021", "1022"]})
    >>> plan = df.anon.plan("zip", k=2, max_suppressed=0)
    >>> df.anon.apply(plan)["zip"].tolist()
    ['101*', '101*', '102*', '102*']
    """
    if not isinstance(plan, Plan):
        raise ArgumentError(
            f"apply takes a plan made by anonrisk.plan, not {kind_name(plan)}; "
            + (
                "plan(policy=…) makes one by a policy"
                if isinstance(plan, ChecksTables)
                else "a stored one is read by anonrisk.Plan.from_json(text)"
            )
        )
    one_of(on_unseen, "on_unseen", get_args(OnUnseen))
    if plan.has_rules:
        raise unresolved()
    if policy is not None and not isinstance(policy, ChecksTables):
        raise ArgumentError(f"policy= takes an anonrisk.Policy, not {kind_name(policy)}")
    engine = engine_for(frame)
    schema = engine.schema(frame)
    _require(plan.qids, "the plan's column", schema)
    schema.check(dict.fromkeys(plan.qids, "the plan's column"))
    _check_about(plan, schema)
    there = tuple(name for name in plan.leave_out if name in schema.columns)
    original = frame
    frame = engine.rewrite(frame, LeaveOut(there)) if there else frame
    try:
        made, n_original = _made(engine, frame, plan, on_unseen)
    except UnseenValuesError as error:
        raise_alone(
            UnseenValuesError(
                f"{error}. on_unseen='suppress' leaves such records out, on_unseen='top' makes "
                "them as coarse as possible;"
                " or make a new plan with previous="
            )
        )
    if policy is not None:
        verdict = policy.check(made, n_original=n_original, plan=plan, original=original)
        verdict.raise_for_status()
    return made


def _made(engine: Engine, frame: Any, plan: Plan, on_unseen: OnUnseen) -> tuple[Any, int | None]:
    """Return the table that a plan promises, and how many records there were, where it is known."""
    change: Recode | RecodeByRegion = (
        Recode(plan.recodings, on_unseen)
        if plan.regions is None
        else RecodeByRegion(plan.qids, plan.regions, on_unseen)
    )
    refusing = plan.may_meet_unseen and on_unseen == "refuse"
    unseen = None
    if plan.may_meet_unseen and on_unseen == "suppress":
        unseen = engine.count(frame, CountUnseen(change))
        _within(plan, unseen.n_records, 0, unseen.n_unseen)
    recoded = engine.rewrite(frame, change)
    if plan.k is None:
        if refusing:
            check_unseen(engine.count(frame, CountUnseen(change)))
        return recoded, None if unseen is None else unseen.n_records
    n_unseen = 0 if unseen is None else unseen.n_unseen
    try:
        return _kept(engine, recoded, plan, n_unseen)
    except EngineError:
        # A lazy table refuses when it is counted, and can say no more than that.
        if refusing:
            check_unseen(engine.count(frame, CountUnseen(change)))
        raise


def _kept(engine: Engine, recoded: Any, plan: Plan, n_unseen: int) -> tuple[Any, int]:
    """Leave out the classes that break what the plan promises; say how many records there were."""
    if plan.goals or plan.rules or plan.unit is not None:
        return publishable(engine, recoded, plan, n_unseen)
    question = Question((plan.qids,))
    counted = engine.count(recoded, question)[0]
    n, below = counted.n_records + n_unseen, counted.records_below(plan.k or 1)
    _within(plan, n, below, n_unseen)
    return engine.keep(recoded, LargeClasses(question, plan.k or 1)) if below else recoded, n


def _within(plan: Plan, n_records: int, below: int, n_unseen: int) -> None:
    """Reject to leave out more records than the plan may."""
    if below + n_unseen <= plan.may_leave_out(n_records):
        return
    small = f"{percent(below / n_records)} of the records would be in classes smaller than {plan.k}"
    new = f"{percent(n_unseen / n_records)} of the records have values that the plan does not know"
    why = " and ".join([small] * (below > 0) + [new] * (n_unseen > 0))
    raise PlanError(
        f"{why} and the plan may suppress {percent(plan.max_suppressed)}: "
        "it was made for another table, or too few may be left out"
    )


def _require(names: Iterable[Name], role: str, schema: Schema) -> None:
    """Reject a table that lacks columns of a plan, and say what to do."""
    try:
        require(names, role, schema.columns)
    except ColumnNotFoundError as error:
        raise ColumnNotFoundError(
            f"{error} Give the column this name, or plan this table anew, without it: "
            "anonrisk.plan, on the command line anonrisk plan."
        ) from None


def _check_about(plan: Plan, schema: Schema) -> None:
    """Reject a table that lacks what the plan counts, or whose rows are not what it counts."""
    _require([name for rule in plan.rules for name in rule.qid], "the plan's column", schema)
    goals = [goal.column for rule in plan.class_rules for goal in rule.goals]
    _require(goals, "the plan's sensitive column", schema)
    if plan.unit is not None:
        _require([plan.unit], "the plan's unit", schema)
    declared = None if schema.roles is None else schema.roles.unit
    if plan.k is not None and declared not in (None, plan.unit):
        counted = "records" if plan.unit is None else f"persons by {plan.unit!r}"
        raise ArgumentError(
            f"the plan counts {counted}, and the table declares persons by {declared!r}: "
            f"make the plan with unit={declared!r}"
        )
