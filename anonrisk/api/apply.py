"""A plan applied to a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anonrisk.core.columns import require
from anonrisk.core.render import percent
from anonrisk.counts.change import LargeClasses, LeaveOut, Recode, RecodeByRegion
from anonrisk.counts.question import Question
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, PlanError
from anonrisk.planning.left_out import publishable
from anonrisk.planning.plan import Plan

if TYPE_CHECKING:
    from anonrisk.core.columns import FrameT
    from anonrisk.counts.schema import Schema


def apply(frame: FrameT, plan: Plan) -> FrameT:
    """Recode the columns of a table as a plan says, and leave out the records of small classes.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    plan : Plan
        From `anonrisk.plan`, `anonrisk.hipaa.safe_harbor`, or read from a file.

    Returns
    -------
    DataFrame
        A new table of the same kind. Lazy on Spark, after one count that makes sure of the
        promise: if the table is not the one planned for and more than `max_suppression` of its
        records would be left out, or a goal of the plan would be missed, that is a `PlanError` and
        no table. Where a multidimensional plan has no region for a record, because no planned one
        was like it, the record has a star in every column that the plan recodes.

    See Also
    --------
    anonrisk.plan : finds a plan
    anonrisk.Plan.from_json : reads a stored one
    anonrisk.generalize : recodes by hand
    anonrisk.utility : what the result is still good for

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1012", "1021", "1022"]})
    >>> plan = df.anon.plan("zip", k=2, max_suppression=0)
    >>> df.anon.apply(plan)["zip"].tolist()
    ['101*', '101*', '102*', '102*']
    """
    if not isinstance(plan, Plan):
        raise ArgumentError(f"a plan is what anonrisk.plan gives, not a {type(plan).__name__}")
    engine = engine_for(frame)
    schema = engine.schema(frame)
    require(plan.qids, "the plan's column", schema.columns)
    schema.check(dict.fromkeys(plan.qids, "the plan's column"))
    _check_about(plan, schema)
    there = tuple(name for name in plan.leave_out if name in schema.columns)
    frame = engine.rewrite(frame, LeaveOut(there)) if there else frame
    recoded = engine.rewrite(
        frame,
        Recode(plan.recodings) if plan.regions is None else RecodeByRegion(plan.qids, plan.regions),
    )
    if plan.k is None:
        return recoded
    if plan.goals or plan.rules or plan.unit is not None:
        return publishable(engine, recoded, plan)
    question = Question((plan.qids,))
    counted = engine.count(recoded, question)[0]
    below = counted.records_below(plan.k)
    if below > math.floor(plan.max_suppression * counted.n_records + 1e-9):
        raise PlanError(
            f"{percent(below / counted.n_records)} of the records would be in classes smaller than "
            f"{plan.k} and the plan may suppress {percent(plan.max_suppression)}: "
            "it was made for another table, or too few may be left out"
        )
    return engine.keep(recoded, LargeClasses(question, plan.k)) if below else recoded


def _check_about(plan: Plan, schema: Schema) -> None:
    """Refuse a table that lacks what the plan counts, or whose rows are not what it counts."""
    goals = [goal.column for rule in plan.class_rules for goal in rule.goals]
    require(goals, "the plan's sensitive column", schema.columns)
    if plan.unit is not None:
        require([plan.unit], "the plan's unit", schema.columns)
    declared = None if schema.roles is None else schema.roles.unit
    if plan.k is not None and declared not in (None, plan.unit):
        counted = "records" if plan.unit is None else f"persons by {plan.unit!r}"
        raise ArgumentError(
            f"the plan counts {counted}, and the table declares persons by {declared!r}: "
            f"make the plan with unit={declared!r}"
        )
