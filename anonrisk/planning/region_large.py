"""Plans by region of tables that have more combinations than an engine brings at once."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts import bounds
from anonrisk.counts.question import ClassesInRegions, ClassesWithValues, Question
from anonrisk.counts.tally import Margins
from anonrisk.errors import TooManyClassesError
from anonrisk.planning.axes import axis_of
from anonrisk.planning.class_rules import beside
from anonrisk.planning.losses.base import entropy_of
from anonrisk.planning.multidimensional import limit_of, placed, regions_of, told
from anonrisk.planning.outcome import PlanOutcome
from anonrisk.planning.region_part import CutRule
from anonrisk.planning.region_stages import StagedAxis, in_stages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.domain import Domain
    from anonrisk.counts.tally import PlacedTally
    from anonrisk.engines.base import Engine
    from anonrisk.planning.goal import SensitiveGoal
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.losses.base import CellLoss
    from anonrisk.planning.plan import Plan
    from anonrisk.planning.region_part import SensitiveLimit
    from anonrisk.planning.region_tree import Partition
    from anonrisk.recode.regions import Regions


WHY_IN_STAGES = (
    "multidimensional, cut in stages: the table has more combinations of values than can be "
    "counted at once, which a full-domain plan needs"
)


def countable_in_stages(request: PlanRequest) -> bool:
    """Tell whether what is asked is of records, and of one class after another."""
    return request.unit is None and not request.of_policy and not request.wholes


def large_plan(
    made: Plan,
    engine: Engine,
    frame: Any,
    request: PlanRequest,
    loss: CellLoss,
    *,
    free: Qid,
    given: Mapping[Name, Any],
    weights: Sequence[float] | None,
    median: bool,
) -> Plan:
    """Make a plan by region in stages; what the table is before it, the engine counts."""
    qid, rule = request.qid, request.on_all_columns()
    margins = margins_of(engine, frame, (*qid, *beside(rule.goals, None)), free)
    regions, after = divide_in_stages(
        engine, frame, margins, qid, rule.k,
        loss=loss, given=given, weights=weights, goals=rule.goals, median=median,
    )  # fmt: skip
    (counted,) = engine.count(frame, Question((qid,)))
    before = PlanOutcome(
        counted.n_records,
        counted.n_classes,
        counted.k,
        counted.records_below(request.k),
        0.0,
        int((counted.sizes**2 * counted.classes).sum()),
        tuple(int((margins.margin(name) > 0).sum()) for name in qid),
        bits=float(np.mean([entropy_of(margins.margin(name)) for name in qid])),
        range_loss=0.0,
    )
    return replace(
        made, recodings=dict(regions.columns), regions=regions, before=before, after=after
    )


def margins_of(engine: Engine, frame: Any, columns: Qid, free: Qid) -> Margins:
    """Count columns one by one; close values of the free ones may be put together for that."""
    found = {}
    for name in columns:
        asked = ClassesWithValues((name,), (name,) if name in free else ())
        try:
            found[name] = engine.tally(frame, asked)
        except TooManyClassesError:
            raise TooManyClassesError(
                f"column {name!r} alone has more than {bounds.MAX_CLASSES:,} different values, too "
                "many to bring to the driver; recode it first, or leave it out"
            ) from None
    return Margins.of(found)


def divide_in_stages(
    engine: Engine,
    frame: Any,
    margins: Margins,
    qid: Qid,
    k: int,
    *,
    loss: CellLoss,
    given: Mapping[Name, Any],
    weights: Sequence[float] | None,
    goals: Sequence[SensitiveGoal] = (),
    median: bool = False,
) -> tuple[Regions, PlanOutcome]:
    """Do as `multidimensional.divide` where more combinations are than can be counted at once."""
    asked = beside(goals, None)
    fine = [axis_of(margins, name, k, given.get(name), loss) for name in qid]
    axes = [StagedAxis.of(axis, margins.margin(name)) for axis, name in zip(fine, qid, strict=True)]
    limits = [(goal.column, _by_value(goal, margins)) for goal in goals]
    worth = weights or [1.0] * len(qid)

    def count(
        found: Partition | None, details: Sequence[int], chosen: Integers
    ) -> PlacedTally | None:
        regions = None if found is None else regions_of(fine, qid, margins, found)
        places, positions = {}, []
        for name, staged, detail in zip(qid, axes, details, strict=True):
            axis, first = staged.at(detail), staged.held(detail)
            places[name], (_, place, _) = placed(
                axis, margins.domains[name], first[:0], *axis.boxes(first, first)
            )
            lookup = np.full(places[name].n_places, -1)
            lookup[place] = first
            positions.append(lookup)
        counted = engine.tally(frame, ClassesInRegions(places, regions, tuple(chosen), asked))
        if counted is None:
            return None
        known = {
            name: (margins.domains[name], _among(margins.domains[name], *found_values))
            for name, found_values in counted.values.items()
        }
        at_positions = [p[place] for p, place in zip(positions, counted.places, strict=True)]
        return replace(counted, places=at_positions, values=known)

    def rule(counted: PlacedTally) -> CutRule:
        kept = [
            replace(limit, ranks=limit.ranks[counted.values[name][1]]) for name, limit in limits
        ]
        return CutRule(k, worth, kept, median)

    n_values = math.prod(len(margins.domains[name]) + 1 for name in asked)
    parts = in_stages(axes, worth, k, n_values=n_values, count=count, rule=rule)
    regions, after, _ = told(fine, qid, margins, parts)
    return regions, replace(after, average_risk=after.n_classes / after.n_records)


def _by_value(goal: SensitiveGoal, margins: Margins) -> SensitiveLimit:
    """Give a limit with the rank of each value that a column has."""
    margin = margins.margin(goal.column)
    codes = np.flatnonzero(margin)
    made = limit_of(goal, codes, margin[codes], margins)
    ranks = np.zeros(len(margin), dtype=np.int64)
    ranks[codes] = made.ranks
    return replace(made, ranks=ranks)


def _among(all_values: Domain, some: Domain, codes: Integers) -> Integers:
    """Give the codes of some values among all, missing last."""
    place = np.searchsorted(all_values.values, some.values)
    return np.append(place, len(all_values))[codes]
