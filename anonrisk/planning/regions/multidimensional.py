"""A plan by regions: a tally cut by Mondrian, and told in the words of recodings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.engines.numpy.count import distinct_pairs, runs_of
from anonrisk.errors import PlanError
from anonrisk.measures.counts.tally import DATES
from anonrisk.measures.recode import Keep, Star
from anonrisk.measures.recode.recoding import extent
from anonrisk.measures.recode.regions import DateRanges, NumberRanges, Parts, Regions
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.class_rules import Coded, Requirements, beside, ranks_of
from anonrisk.planning.goals import budgets, outcome
from anonrisk.planning.losses import ENTROPY, RANGE, ClassLoss, GroupedColumn, tidy
from anonrisk.planning.outcome import PlanOutcome, RecodedColumn, bits_kept, steps_of
from anonrisk.planning.regions.axes import Ladder, RegionTree, axis_of, ruler
from anonrisk.planning.regions.mondrian import cut_further, partition
from anonrisk.planning.regions.part import (
    CutRule,
    PersonsLimit,
    PersonTally,
    PersonValues,
    RegionPart,
    SensitiveLimit,
    keeping,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.tally import Domain, Tally
    from anonrisk.measures.recode import Recoding
    from anonrisk.measures.recode.regions import ByRegion
    from anonrisk.planning.class_rules import SensitiveGoal
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.losses import CellLoss, Loss
    from anonrisk.planning.plan import Plan
    from anonrisk.planning.regions.axes import Axis, Partition, Ruler
    from anonrisk.planning.regions.part import RegionLimit


def refined(
    axes: Sequence[Axis],
    begins: Sequence[Integers],
    positions: Sequence[Integers],
    counts: Integers,
    rule: CutRule,
) -> Partition:
    """Cut a table into the classes of a full-domain plan, then these as `mondrian.partition` does.

    Classes that do not keep to the rule get a star in every column, and are one class.

    Parameters
    ----------
    axes, positions, counts, rule
        As in `mondrian.partition`.
    begins : sequence of array (n_positions,)
        Of each column the first position of the group that each position is in.
    """
    tree, rows = RegionTree(), np.arange(len(counts))
    uids, part = np.zeros(1, dtype=np.int64), RegionPart.of(0 * rows, rows, positions, counts)
    for c, begun in enumerate(begins):
        columns = np.full(len(uids), c)
        uids, part = tree.parted(uids, part, axes, columns, begun[part.positions[c]])
    kept = part.sizes >= rule.k
    if rule.limits:
        kept &= keeping(part, 0 * part.owners, 1, rule.limits)[1]
    out = part.only(~kept)
    starred = replace(
        out,
        first=[0 * first for first in out.first],
        last=[0 * last + axis.size - 1 for last, axis in zip(out.last, axes, strict=True)],
    )
    tree.leave(uids[~kept], starred, axes)
    cut_further(tree, uids[kept], part.only(kept), axes, rule)
    return tree.partition()


def fitted(
    axes: Sequence[Axis], recodings: Mapping[Name, Recoding], tally: Tally, k: int
) -> tuple[list[Axis], list[Integers]]:
    """Return axes on which the groups of recodings stand together, and where each group begins."""
    results = [
        _fitted(axis, recoding, tally, name, k)
        for axis, (name, recoding) in zip(axes, recodings.items(), strict=True)
    ]
    return [axis for axis, _ in results], [begins for _, begins in results]


def _fitted(
    axis: Axis, recoding: Recoding, tally: Tally, name: Name, k: int
) -> tuple[Axis, Integers]:
    """Return what `fitted` does of one column; where groups begin is (n_positions,)."""
    if not isinstance(axis, Ladder):
        axis, starts = _with_edges(axis, recoding, tally, name, k)
    else:
        margin = tally.margin(name)
        groups = GroupedColumn.of(recoding, name, tally.domains[name], margin).groups
        occurs = margin > 0
        order = np.argsort(axis.place[occurs], kind="stable")
        place, group = axis.place[occurs][order], groups[occurs][order]
        first = runs_of(group)
        # The part that holds a group: what is told of its values begins there or after.
        starts = axis.boxes(place[first], place[np.append(first[1:], len(place)) - 1])[0]
        if len(first) > len(np.unique(group)) or (np.diff(starts) <= 0).any():
            raise PlanError(
                f"what column {name!r} becomes is not one of its recodings, from fine to coarse"
            )
    begun = np.searchsorted(starts, np.arange(axis.size), side="right") - 1
    return axis, starts[np.maximum(begun, 0)]


def _with_edges(
    axis: Ruler, recoding: Recoding, tally: Tally, name: Name, k: int
) -> tuple[Ruler, Integers]:
    """Add the edges of a recoding to an axis; give the positions from which on it cuts."""
    domain, margin = tally.domains[name], tally.margin(name)
    _, labels = recoding.groups(domain)
    alone = len(np.unique(axis.place[:-1])) == len(domain)
    if labels is None and not alone:
        raise PlanError(f"the values of column {name!r} are kept, closer than it can be cut")
    reads: dict[str, Any] = {"dates": domain.kind in DATES, "whole": domain.kind == "whole"}
    ends = [extent(label, **reads) for label in labels or ()]
    asked = {end[0] for end in ends if end is not None} or {*axis.edges.tolist()}
    if isinstance(recoding, Star):
        asked = set()
    values = domain.positions()
    at = np.array(sorted(asked | {*axis.edges.tolist()}), dtype=np.float64)
    below = np.concatenate(([0], np.cumsum(margin[:-1])))
    before = below[np.searchsorted(values, at)]
    # As other edges: one that parts fewer than k records from the rest would tell of them.
    at = at[(before >= k) & (below[-1] - before >= k)]
    cut = 1 + np.flatnonzero(np.isin(at, list(asked)))
    missing = [] if recoding.for_missing is not None or not margin[-1] else [len(at) + 1]
    # Whoever cuts by it sets the price.
    return ruler(domain, at.tolist(), margin, RANGE), np.array([0, *cut, *missing])


def divide(
    tally: Tally,
    qid: Qid,
    k: int,
    loss: Loss,
    *,
    by_column: Mapping[Name, Any],
    weights: Sequence[float] | None,
    goals: Sequence[SensitiveGoal] = (),
    unit: Name | None = None,
    median: bool = False,
    start: Mapping[Name, Recoding] | None = None,
) -> tuple[Regions, PlanOutcome, list[float]]:
    """Cut a table into regions of k records, or persons, or more; measure what that leaves.

    Beside the outcome: what a cell of each column loses on average. With recodings to start from,
    it is their classes that are cut.
    """
    held = tally if unit is None else PersonTally(**vars(tally), unit=unit)
    of_cells = ENTROPY if isinstance(loss, ClassLoss) else loss
    axes = [axis_of(held, name, k, by_column.get(name), of_cells) for name in qid]
    begins = None
    if start is not None:
        axes, begins = fitted(axes, start, held, k)
    # Edges may look at persons, losses look at records.
    axes = _priced(axes, qid, tally, of_cells)
    about = loss.about if isinstance(loss, ClassLoss) else ()
    asked = list(dict.fromkeys((*about, *beside(goals, unit))))
    codes = [axis.place[tally.codes[name]] for axis, name in zip(axes, qid, strict=True)]
    codes += [tally.codes[name] for name in asked]
    sizes = [axis.size for axis in axes] + [len(tally.domains[name]) + 1 for name in asked]
    keys, _ = radix.keys_of(zip(codes, sizes, strict=True))
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    counts = np.rint(np.bincount(number, tally.counts)).astype(np.int64)
    # Half as wide, they are gathered twice as fast.
    positions: list[NDArray[Any]] = [code[first].astype(np.int32) for code in codes]
    values = dict(zip(asked, positions[len(qid) :], strict=True))
    units = None if unit is None else values[unit].astype(np.int64)
    limits: list[RegionLimit] = [
        limit_of(goal, values[goal.column], counts, tally, units) for goal in goals
    ]
    if units is not None:
        limits.append(PersonsLimit(units, k))
    of_parts = None
    if isinstance(loss, ClassLoss):
        of_parts = loss.of_parts([values[name] for name in about])
    rule = CutRule(k, weights or [1.0] * len(qid), limits, median, of_parts)
    if begins is None:
        parts = partition(axes, positions[: len(qid)], counts, rule)
    else:
        parts = refined(axes, begins, positions[: len(qid)], counts, rule)
    return outcome_of(axes, qid, tally, parts)


def limit_of(
    goal: SensitiveGoal,
    codes: Integers,
    counts: Integers,
    tally: Tally,
    units: Integers | None = None,
) -> SensitiveLimit:
    """Rank the values that occur, and see whether the table as a whole keeps to a goal.

    `codes`, the value of each combination, `counts` and `units` are (n_combinations,).
    """
    formula = FORMULAS[goal.score]
    ranks = ranks_of(goal, tally.domains[goal.column])[codes]
    present, number = np.unique(ranks, return_inverse=True)
    every = np.arange(len(codes))
    if units is None:
        overall = np.rint(np.bincount(number, counts, len(present))).astype(np.int64)
        made = SensitiveLimit(number, overall, formula, goal.c, goal.limit)
    else:
        held, _ = distinct_pairs(number, len(present), units, int(units.max()) + 1)
        overall = np.bincount(held, minlength=len(present))
        made = PersonValues(number, overall, formula, goal.c, goal.limit, units)
    if not made.holds(np.zeros_like(codes), counts, every).all():
        raise PlanError(
            f"no plan reaches {goal}: the table as a whole does not, however coarse it is made"
        )
    return made


def located(regions: Regions, tally: Tally) -> Integers:
    """Find the region of each combination of a table, -1 where none holds it."""
    places = []
    for name, recoding in regions.columns.items():
        groups, _ = recoding.groups(tally.domains[name])
        places.append(np.append(groups, recoding.missing)[tally.codes[name]])
    return regions.find(places)


def by_region(regions: Regions, tally: Tally, qid: Qid, others: Qid) -> Coded:
    """Return the combinations of a table as codes of what regions make of them."""
    result, labels = located(regions, tally), regions.labels()
    if (result < 0).any():
        # A class that is left as stars may be told by no part of its own.
        raise PlanError("regions that are known by their labels alone do not hold every record")
    codes = [labels[n][0][result] + 1 if n in labels else tally.codes[n] for n in qid]
    codes += [tally.codes[name] for name in others]
    return Coded(codes, tally.counts, [int(code.max(initial=0)) + 1 for code in codes])


def outcome_of(
    axes: Sequence[Axis], qid: Qid, tally: Tally, parts: Partition
) -> tuple[Regions, PlanOutcome, list[float]]:
    """Describe regions by the places that they need; measure their classes and columns."""
    regions = regions_of(axes, qid, tally, parts)
    sizes = parts.sizes
    n = int(sizes.sum())
    # Cells that stay lose nothing, however far the edges around them are apart.
    changed = np.array([not regions.columns[name].kept for name in qid])
    losses = (_lost(axes, parts) * changed).tolist()
    labels = regions.labels()
    codes = [
        labels[name][0] + 1 if name in labels else regions.boxes[:, c, 0]
        for c, name in enumerate(qid)
    ]
    # Two parts of a tree may have one name, and two regions then are one class.
    keys, _ = radix.keys_of([(code, int(code.max()) + 1) for code in codes])
    _, number = np.unique(keys, return_inverse=True)
    classes = np.rint(np.bincount(number, sizes)).astype(np.int64)
    outcome = PlanOutcome(
        n,
        len(classes),
        int(classes.min()),
        0,
        sum(losses) / len(qid),
        int((classes**2).sum()),
        tuple(len(np.unique(code)) for code in codes),
        bits=bits_kept(_lost(_priced(axes, qid, tally, ENTROPY), parts), tally, qid),
        range_loss=float((_lost(_priced(axes, qid, tally, RANGE), parts) * changed).mean()),
    )
    return regions, outcome, losses


def regions_of(axes: Sequence[Axis], qid: Qid, tally: Tally, parts: Partition) -> Regions:
    """Describe regions by the places that they need."""
    cuts, boxes = parts.cuts.copy(), parts.boxes.copy()
    columns: dict[Name, ByRegion] = {}
    for c, (name, axis) in enumerate(zip(qid, axes, strict=True)):
        mine = cuts[:, 0] == c
        columns[name], places = placed(
            axis, tally.domains[name], cuts[mine, 1], *parts.boxes[:, c].T
        )
        cuts[mine, 1], boxes[:, c, 0], boxes[:, c, 1] = places
    return Regions(columns, cuts, boxes)


def _priced(axes: Sequence[Axis], qid: Qid, tally: Tally, loss: CellLoss) -> list[Axis]:
    return [axis.priced(loss, tally, name) for axis, name in zip(axes, qid, strict=True)]


def _lost(axes: Sequence[Axis], parts: Partition) -> Floats:
    """Return what a cell of each column loses on average."""
    # (n_columns, 2, n_regions): the two ends of a column in all regions, as an axis takes them.
    boxes = parts.boxes.transpose(1, 2, 0)
    lost = [axis.losses(*box) @ parts.sizes for axis, box in zip(axes, boxes, strict=True)]
    return tidy(np.array(lost) / int(parts.sizes.sum()))


# The places of cuts, of first and of last positions: (n_cuts,), (n_ranges,) and (n_ranges,).
_Places = tuple["Integers", "Integers", "Integers"]


def placed(
    axis: Axis, domain: Domain, at: Integers, first: Integers, last: Integers
) -> tuple[ByRegion, _Places]:
    """Place the values of a column: cuts `at` and ranges get the numbers of their places.

    `at` is (n_cuts,), `first` and `last` are (n_ranges,), all of them positions of the axis.
    """
    if isinstance(axis, Ladder):
        return _parts(axis, domain, at, first, last)
    return _ranges(axis, at, first, last)


def _ranges(
    axis: Ruler, at: Integers, first: Integers, last: Integers
) -> tuple[NumberRanges, _Places]:
    """Keep the edges that a cut or a region has; arrays as in `placed`."""
    missing = len(axis.edges) + 1
    needed = np.unique(np.concatenate((at, first, last + 1)))
    needed = needed[(needed > 0) & (needed < missing)]
    kind = DateRanges if axis.dates else NumberRanges
    edges = tuple(float(edge) for edge in axis.edges[needed - 1])
    values = np.concatenate(([0], np.cumsum(np.bincount(axis.place[:-1], minlength=missing))))
    known = first < missing
    held = values[np.minimum(last + 1, missing)] - values[np.minimum(first, missing)]
    kept = bool((held[known] == 1).all() and (last < missing)[known].all())

    def place(position: Integers) -> Integers:
        result = np.searchsorted(needed, position, side="right")
        return np.where(position >= missing, len(needed) + 1, result)

    return kind(edges, axis.whole, kept), (place(at), place(first), place(last))


def _parts(
    axis: Ladder, domain: Domain, at: Integers, first: Integers, last: Integers
) -> tuple[Parts, _Places]:
    """Keep the parts that a region has, those inside of others after them.

    Arrays as in `placed`.
    """
    # By begin, the longest first; from here on (n_parts,) but for `begin`, the part of each range.
    keys, begin = np.unique(first * axis.size + (axis.size - 1 - last), return_inverse=True)
    begins, lasts = keys // axis.size, axis.size - 1 - keys % axis.size
    step = axis.step(begins, lasts)
    holder = np.zeros(axis.size, dtype=np.int64)
    holder[axis.place] = np.arange(len(axis.place))
    names: list[str | None] = [None] * len(keys)
    for s in np.unique(step).tolist():
        recoding = axis.choices[s].recoding
        groups, labels = recoding.groups(domain)
        written = domain.texts() if labels is None else labels
        for i in np.flatnonzero(step == s).tolist():
            code = int(holder[lasts[i]])
            names[i] = recoding.for_missing if code == len(domain) else written[groups[code]]
    used = np.unique(step)[::-1]
    levels = tuple(axis.choices[s].recoding for s in used.tolist())
    level = (len(used) - 1 - np.searchsorted(used[::-1], step)).tolist()
    inside = np.searchsorted(begins, lasts, side="right") - 1
    parts = tuple(zip(level, names, inside.tolist(), strict=True))
    kept = all(isinstance(recoding, Keep) for recoding in levels)
    return Parts(levels, parts, kept), (np.searchsorted(begins, at), begin, inside[begin])


def multidimensional(
    made: Plan,
    tally: Tally,
    request: PlanRequest,
    loss: Loss,
    *,
    asked: PlanRequest,
    by_column: Mapping[Name, Any],
    weights: Sequence[float] | None,
    median: bool,
    start: Plan | None = None,
) -> Plan:
    """Cut a table into regions that keep to a request, and tell of all that was asked.

    With a full-domain plan to start from, its classes are cut.
    """
    if request.fixed:
        raise PlanError(
            f"column {request.fixed[0]!r} stays as it is, since the policy looks at its groups one "
            "by one, and regions would put some together: use method='full-domain'"
        )
    qid, rule = request.qid, request.on_all_columns()
    cut = partial(
        divide,
        tally,
        qid,
        rule.k,
        by_column=by_column,
        weights=weights,
        goals=rule.goals,
        unit=request.unit,
        median=median,
        start=None if start is None else start.recodings,
    )
    if isinstance(loss, ClassLoss):
        # The best cut of every region is not the best of all: bits may leave less, but not more.
        ways = [_measured(cut(way), tally, qid, loss) for way in (loss, ENTROPY)]
        regions, after, losses = min(ways, key=lambda way: way[1].loss)
    else:
        regions, after, losses = cut(loss)
    required = Requirements(
        tally, qid, request.rules, request.wholes, about=asked.about, unit=request.unit
    )
    coded = by_region(regions, tally, qid, required.beside)
    kept = required.kept(coded)
    if not (kept.rows.all() and kept.holds):
        raise PlanError(f"no plan by region reaches {request.summary()}; try method='full-domain'")
    after = replace(after, k=int(kept.sizes.min()))
    columns = [
        RecodedColumn(
            name,
            tally.domains[name].kind,
            tally.codes[name],
            len(tally.domains[name]) + 1,
            coded.codes[c],
            coded.sizes[c],
            losses[c],
        )
        for c, name in enumerate(qid)
    ]
    return replace(
        made,
        recodings=dict(regions.columns),
        regions=regions,
        after=outcome(required, coded, kept.rows, after),
        budgets=budgets(asked, required, coded, kept.rows),
        steps=steps_of(columns, tally, required),
    )


def _measured(
    made: tuple[Regions, PlanOutcome, list[float]], tally: Tally, qid: Qid, loss: ClassLoss
) -> tuple[Regions, PlanOutcome, list[float]]:
    """Return what the classes of regions lose."""
    regions, after, losses = made
    coded = by_region(regions, tally, qid, ())
    keys, _ = radix.keys_of(zip(coded.codes, coded.sizes, strict=True))
    _, classes = np.unique(keys, return_inverse=True)
    return regions, replace(after, loss=loss.mean(classes, tally)), losses


FULL_DOMAIN, BY_REGION, REFINED = "full-domain", "multidimensional", "refined full-domain"


def best(
    full_domain: Callable[..., Plan],
    by_region: Callable[[Plan | None], Plan],
    max_loss: float | None,
    weights: Sequence[float] | None = None,
) -> Plan:
    """Make a plan of every kind, take the one that loses least, the simplest of equals; say why.

    After Ctrl-C during the search for a full-domain plan it is the best so far, and partial.
    """
    ways: dict[str, Callable[[], Plan]] = {
        BY_REGION: partial(by_region, None),
        # Where it cannot lose less, the rest of a long search would be for nothing.
        FULL_DOMAIN: lambda: full_domain(rival=weighted_loss(made.get(BY_REGION), weights)),
        REFINED: lambda: by_region(made[FULL_DOMAIN]),
    }
    made: dict[str, Plan] = {}
    refused: dict[str, PlanError] = {}
    stopped = False
    for what, make in ways.items():
        if what == REFINED and (stopped or FULL_DOMAIN not in made):
            continue
        try:
            made[what] = make()
            stopped |= made[what].partial
        except PlanError as error:
            refused[what] = error
    if not made:
        raise refused[FULL_DOMAIN]
    losses = {what: weighted_loss(plan, weights) for what, plan in sorted(made.items())}
    taken = min(losses, key=lambda what: round(losses[what], 12))
    # Of whole columns there may be better ones, which is not looked for where others win.
    unsure = {w for w, plan in made.items() if w == FULL_DOMAIN and not plan.optimal}
    others = [
        f"{what} {loss:.3f}{' or less' * (what in unsure)}"
        for what, loss in losses.items()
        if what != taken
    ]
    if FULL_DOMAIN in refused:
        others.append("no full-domain plan keeps to the limits")
    note = f"{taken}: it loses {losses[taken]:.3f}; {', '.join(others) or 'nothing else does'}"
    return replace(worthwhile(made[taken], max_loss), note=note, partial=stopped)


def weighted_loss(plan: Plan | None, weights: Sequence[float] | None) -> float:
    """Return the loss of a plan, its columns worth what the caller says; none loses everything."""
    if plan is None:
        return np.inf
    loss, of_columns = _after(plan).loss, {step.column: step.loss for step in plan.steps}
    if weights is None or not of_columns:
        return loss
    # Steps stand in order of whom they help, weights in that of the columns.
    steps = [of_columns[name] for name in plan.qids]
    # What is left beside the columns is lost with suppressed records, whatever they are worth.
    return loss + float(np.average(steps, weights=weights) - np.mean(steps))


def worthwhile(by_region: Plan, max_loss: float | None) -> Plan:
    """Reject a plan that loses too much."""
    loss = _after(by_region).loss
    if max_loss is not None and loss > max_loss * (1 + 1e-9):
        raise PlanError(
            f"max_loss={max_loss:g} stops every plan with k={by_region.k}: the regions found lose "
            f"{loss:.3f}. Raise it, or lower k"
        )
    return by_region


def _after(made: Plan) -> PlanOutcome:
    assert made.after is not None  # noqa: S101
    return made.after
