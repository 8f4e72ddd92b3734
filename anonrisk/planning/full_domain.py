"""A full-domain plan: the best combination of offered recodings, each for a whole column."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import positive
from anonrisk.core.progress import tell
from anonrisk.core.render import percent
from anonrisk.errors import PlanError
from anonrisk.planning.budget import ValueBudget, chernoff_values, exact_values, shares
from anonrisk.planning.class_rules import ClassRule, Requirements
from anonrisk.planning.goals import budgets, outcome, with_rules
from anonrisk.planning.lattice import Lattice
from anonrisk.planning.losses.base import CellLoss, GroupedColumn
from anonrisk.planning.losses.choose import ENTROPY, RANGE
from anonrisk.planning.offer import offers
from anonrisk.planning.outcome import PlanOutcome, bits_kept
from anonrisk.planning.persons import PersonTally
from anonrisk.planning.plan_steps import RecodedColumn, steps_of
from anonrisk.planning.search import BestNode, search
from anonrisk.recode import Keep, Star

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.tally import Tally
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.lattice import MeasuredNode
    from anonrisk.planning.losses.base import Loss
    from anonrisk.planning.plan import Plan
    from anonrisk.planning.plan_steps import PlanStep


def best_of(request: PlanRequest, made: Plan, tally: Tally, **settings: Any) -> Plan:
    """Find the best plan; what is asked of a table as a whole may cost less class by class."""
    strict = request.strict()
    if strict.rules == request.rules:
        return full_domain(made, tally, request, **settings)
    found: list[Plan] = []
    for wanted in (request, strict):
        try:
            found.append(full_domain(with_rules(made, wanted), tally, wanted, **settings))
        except PlanError:
            if wanted is strict and not found:
                raise
    return min(found, key=lambda plan: plan.after.loss if plan.after is not None else 1.0)


def full_domain(
    made: Plan,
    tally: Tally,
    request: PlanRequest,
    *,
    loss: Loss,
    asked: PlanRequest,
    n: int,
    beta: float,
    weights: list[float] | None,
    given: Mapping[Name, Any],
    bins: str,
    budget: float | None,
    max_loss: float | None,
    rival: float = math.inf,
) -> Plan:
    """Find the best combination of offered recodings, each for a whole column.

    `request` is what it must keep to, and `asked` all that it is to tell of; `rival` is what a plan
    of another kind loses.
    """
    tell("making the recodings")
    # What a plan tells of a value stays a value of many, also where classes may be smaller.
    qid, k = request.qid, max(request.k, 2)
    held = tally if request.unit is None else PersonTally(**vars(tally), unit=request.unit)
    about = value_budget(held, qid, k=request.k, n=n, beta=beta, weights=weights, given=budget)
    shares = dict(zip(qid, about.per_column, strict=True))
    offered = offers(held, shares, given, k=k, bins=bins)
    allowed = made.may_leave_out(tally.n_records)
    required = Requirements(
        tally,
        qid,
        request.rules,
        request.wholes,
        about=asked.about,
        unit=request.unit,
        allowed=allowed,
    )
    by_size = required.rules == (ClassRule(qid, request.k),) and not required.wholes
    plain = by_size and not required.beside
    lattice = Lattice.of(
        tally, offered, request.k, weights, loss, required=None if plain else required
    )
    tell("looking for a first plan")
    found = search(lattice, allowed, rival)
    best = _met(lattice, found, request, made, max_loss)
    chosen = {
        name: lattice.choices[c][i].recoding
        for c, (name, i) in enumerate(zip(qid, best.node, strict=True))
    }
    coded = lattice.coded(best.node)
    rows = required.kept(coded).rows
    after = PlanOutcome(
        tally.n_records - best.n_below,
        best.n_classes - best.n_small,
        best.k_kept,
        best.n_below,
        lattice.plain_loss(best.node),
        best.discernibility,
        tuple(lattice.present(best.node)),
        bits=bits_kept(lattice.by_column(best.node, ENTROPY), tally, qid),
        range_loss=float(lattice.by_column(best.node, RANGE).mean()),
    )
    return replace(
        made,
        recodings=chosen,
        after=outcome(required, coded, rows, after) if rows.any() else after,
        budget=about,
        steps=_steps(lattice, best, required),
        optimal=found.optimal,
        partial=found.stopped,
        budgets=budgets(asked, required, coded, rows),
    )


def _steps(lattice: Lattice, best: MeasuredNode, required: Requirements) -> tuple[PlanStep, ...]:
    """Measure what the recoding of each column does; by bits where the loss is one of classes."""
    tally, columns = lattice.tally, []
    loss = lattice.loss if isinstance(lattice.loss, CellLoss) else ENTROPY
    for c, (name, i) in enumerate(zip(lattice.columns, best.node, strict=True)):
        choice, codes = lattice.choices[c][i], tally.codes[name]
        column = name, tally.domains[name], lattice.margins[c]
        now, then = (GroupedColumn.of(r, *column) for r in (Keep(), choice.recoding))
        present = np.count_nonzero(lattice.margins[c])
        columns.append(
            RecodedColumn(
                name,
                tally.domains[name].kind,
                codes,
                now.n_groups,
                codes if choice.n_groups == present else choice.groups[codes],
                then.n_groups,
                then.mean(loss.of_groups(then)),
                now.mean(loss.of_groups(now)),
            )
        )
    return steps_of(columns, tally, required)


def value_budget(
    tally: Tally,
    qid: Qid,
    *,
    k: int,
    n: int,
    beta: float = 0.05,
    weights: list[float] | None = None,
    given: float | None = None,
) -> ValueBudget:
    """Share the number of values that a table can bear among its columns."""
    exact, chernoff = exact_values(n, k, beta), chernoff_values(n, k, beta)
    values = exact if given is None else positive(given, "budget")
    caps = [int((tally.margin(name) > 0).sum()) for name in qid]
    # A column without weight is worth one value.
    worth = [max(w, 1e-9) for w in weights or [1.0] * len(qid)]
    split = shares(max(values, 1.0), worth, caps)
    return ValueBudget(n, k, beta, exact, chernoff, tuple(split))


def _met(
    lattice: Lattice,
    found: BestNode,
    request: PlanRequest,
    made: Plan,
    max_loss: float | None,
) -> MeasuredNode:
    """Give the best node, or say which constraint stops all of them."""
    n, goals = lattice.n, request.told()
    if found.best is None:
        unfinished = [
            repr(name)
            for name, choices in zip(lattice.columns, lattice.choices, strict=True)
            if not any(isinstance(choice.recoding, Star) for choice in choices)
        ]
        stops = (
            f"max_suppression={percent(made.max_suppression)} stops it, the least that would do is "
        )
        # With stars everywhere, and everybody left out, it is the whole table that breaks a goal.
        if found.least_below > made.may_leave_out(n) and (unfinished or found.least_below < n):
            why = f"{stops}{percent(found.least_below / n)}. Raise it, lower k, or"
        else:
            why = "no record would be left, or those left would break another. Lower one, or"
        raise PlanError(
            f"no combination of the offered recodings reaches {goals}: {why} offer coarser "
            "recodings" + (f" for {', '.join(unfinished)}" if unfinished else "")
        )
    if max_loss is not None and lattice.plain_loss(found.best.node) > max_loss * (1 + 1e-9):
        if found.stopped:
            # Another one may do: nobody knows.
            raise KeyboardInterrupt
        raise PlanError(
            f"max_loss={max_loss:g} stops every plan with {goals}: the best one found loses "
            f"{lattice.plain_loss(found.best.node):.3f}. Raise it, lower k, or allow more "
            f"suppression than {made.may_leave_out(n):,} records"
        )
    return found.best
