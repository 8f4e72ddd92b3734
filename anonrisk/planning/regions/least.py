"""The least that recodings by region can lose: exactly for few combinations, else a lower bound.

What is searched is wider than what cuts lead to: any way to put the combinations of a table
together, k records or more each, whether or not cuts could part them so. What a part has of a
column is told by the narrowest label that the column has for it.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell
from anonrisk.core.results import Interval
from anonrisk.errors import PlanError
from anonrisk.measures.recode.regions import NumberRanges
from anonrisk.planning.losses import OF_COLUMNS, RANGE, tidy
from anonrisk.planning.prices import PlanGap
from anonrisk.planning.regions.axes import Ladder, axis_of, ruler
from anonrisk.planning.regions.multidimensional import limit_of, located, weighted_loss
from anonrisk.planning.regions.part import PersonsLimit, PersonTally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.measures.recode.regions import Regions
    from anonrisk.planning.class_rules import ClassRule
    from anonrisk.planning.losses import CellLoss
    from anonrisk.planning.plan import Plan
    from anonrisk.planning.regions.axes import Axis
    from anonrisk.planning.regions.part import RegionLimit

# Up to so many combinations every way to put them together is gone through: 3ⁿ steps.
MOST_EXACT = 16
# Up to so many regions are looked at around one record. Of those that are left the cheapest bounds
# what it loses, which is proven too, but lower.
_MOST_REGIONS = 500
# What rounding may leave between equal losses.
_HAIR = 1e-12
# Pairs of a part and a row that are checked against limits at once.
_PAIRS = 2**22
# The chance with which an interval holds, and its ends in standard errors.
_LEVEL, _ERRORS = 0.95, 1.96


@dataclass(frozen=True)
class PlacedTable:
    """A table on the axes of its columns.

    Attributes
    ----------
    axes : list of Axis
        The columns, at the prices of a loss.
    positions : array (n_columns, n_combinations)
        Where each combination is.
    counts : array (n_combinations,)
        How many records it has.
    number : array (n_rows,)
        The combination of each row of the tally.
    weights : array (n_columns,)
        What the detail of each column is worth, 1 together.
    stays : list of array (n_positions,)
        Which positions of a column lose nothing if they are alone, whatever their label covers.
    """

    axes: Sequence[Axis]
    positions: Integers
    counts: Integers
    number: Integers
    weights: Floats
    stays: Sequence[Booleans]

    @classmethod
    def of(
        cls,
        regions: Regions,
        tally: Tally,
        k: int,
        loss: CellLoss,
        *,
        by_column: Mapping[Name, Any],
        weights: Sequence[float] | None,
        unit: Name | None,
    ) -> PlacedTable:
        """Place a table on the axes that its regions were cut along."""
        held = tally if unit is None else PersonTally.of(tally, unit)
        axes: list[Axis] = []
        for name, column in regions.columns.items():
            axis = axis_of(held, name, k, by_column.get(name), loss)
            if isinstance(column, NumberRanges) and not isinstance(axis, Ladder):
                # Regions that began with a full-domain plan have its edges too.
                edges = sorted({*axis.edges.tolist(), *column.edges})
                axis = ruler(tally.domains[name], edges, held.margin(name), loss)
            axes.append(axis.priced(loss, tally, name))
        names = list(regions.columns)
        codes = [axis.place[tally.codes[name]] for axis, name in zip(axes, names, strict=True)]
        keys, _ = radix.keys_of([(code, a.size) for code, a in zip(codes, axes, strict=True)])
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        worth = np.ones(len(axes)) if weights is None else np.asarray(weights, dtype=np.float64)
        return cls(
            axes,
            np.stack([code[first] for code in codes]),
            np.rint(np.bincount(number, tally.counts)).astype(np.int64),
            number,
            worth / worth.sum(),
            [_staying(axis, loss) for axis in axes],
        )

    def lost(self, first: Integers, last: Integers) -> Floats:
        """Return what a record of each region loses, (n_regions,), from its (n_columns, …) ends."""
        total = np.zeros(first.shape[1])
        for axis, stays, low, high, worth in zip(
            self.axes, self.stays, first, last, self.weights, strict=True
        ):
            alone = (low == high) & stays[low]
            total += worth * np.where(alone, 0.0, axis.losses(low, high))
        return total

    def closed(self, first: Integers, last: Integers) -> tuple[Integers, Integers]:
        """Return the ends of the smallest regions with labels, (n_columns, n_regions) as given."""
        ends = [a.boxes(f, x) for a, f, x in zip(self.axes, first, last, strict=True)]
        return np.stack([begin for begin, _ in ends]), np.stack([end for _, end in ends])

    def lost_by(self, classes: Integers) -> Floats:
        """Return what a record of each combination loses where these are put into classes."""
        first = np.full((len(self.axes), int(classes.max()) + 1), np.iinfo(np.int64).max)
        last = np.zeros_like(first)
        for c, position in enumerate(self.positions):
            np.minimum.at(first[c], classes, position)
            np.maximum.at(last[c], classes, position)
        return self.lost(first, last)[classes]


def _staying(axis: Axis, loss: CellLoss) -> Booleans:
    """Return which positions hold one value, and would lose by the range between their edges.

    Where a column has these alone its values are published as they are.
    """
    if loss is not RANGE or isinstance(axis, Ladder):
        return np.zeros(axis.size, dtype=bool)
    return np.asarray(np.bincount(axis.place[:-1], minlength=axis.size) == 1)


def gap_of(
    plan: Plan,
    tally: Tally,
    rule: ClassRule,
    *,
    by_column: Mapping[Name, Any],
    weights: Sequence[float] | None,
    unit: Name | None,
    sample: int | None,
    seed: int,
) -> PlanGap:
    """Compare a plan by region with what no recoding by region loses less than.

    `rule` is what every region keeps to, `sample` how many records are looked at, None for all.
    """
    regions, before = plan.regions, plan.before
    assert regions is not None  # noqa: S101
    assert before is not None  # noqa: S101
    region_of = located(regions, tally)
    n = tally.n_records
    if (
        n != before.n_records
        or tally.only(plan.qids).n_classes != before.n_classes
        or min(region_of) < 0
    ):
        raise PlanError("the plan was made for another table: it has other records")
    table = PlacedTable.of(
        regions,
        tally,
        rule.k,
        OF_COLUMNS[plan.loss],
        by_column=by_column,
        weights=weights,
        unit=unit,
    )
    classes = np.zeros(len(table.counts), dtype=np.int64)
    classes[table.number] = region_of
    own, loss = table.lost_by(classes), weighted_loss(plan, weights)
    about = plan.qids, rule.k, len(table.counts), n
    if len(table.counts) <= MOST_EXACT:
        units = None if unit is None else tally.codes[unit]
        limits: list[RegionLimit] = [
            limit_of(goal, tally.codes[goal.column], tally.counts, tally, units)
            for goal in rule.goals
        ]
        if units is not None:
            limits.append(PersonsLimit(units, rule.k))
        least = least_loss(table, rule.k, limits, tally)
        return PlanGap(loss, float(tidy(least)), "exact", *about, n)
    gap = PlanGap(loss, 0.0, "bound", *about, n)
    return _bounded(table, own, gap, sample=sample, seed=seed)


def _bounded(
    table: PlacedTable, own: Floats, gap: PlanGap, *, sample: int | None, seed: int
) -> PlanGap:
    """Bound the least loss by each record's cheapest region, for all records or a sample.

    `own`, (n_combinations,), is what a record of each combination loses with the plan.
    """
    n, chosen, times = gap.n_records, np.arange(len(own)), table.counts
    if sample is not None and len(chosen) > sample:
        drawn = np.random.default_rng(seed).choice(n, sample, replace=False)
        held = np.searchsorted(np.cumsum(times), drawn, side="right")
        chosen, times = np.unique(held, return_counts=True)
    saved = np.zeros(len(chosen))
    for i, which in enumerate(chosen.tolist()):
        if i % 100 == 0:
            tell(f"looking for the cheapest region of each record: {i:,} of {len(chosen):,}")
        saved[i] = own[which] - cheapest_region(table, gap.k, which, float(own[which]))
    # What all records lose is known; what they could save is what a sample says.
    known, n_seen = float(own @ table.counts) / n, int(times.sum())
    mean = float(saved @ times) / n_seen
    gap = replace(gap, least=float(tidy(known - mean)), n_looked_at=n_seen)
    if n_seen == n:
        return gap
    variance = float((saved - mean) ** 2 @ times) / (n_seen - 1)
    aside = _ERRORS * float(np.sqrt(variance / n_seen * (1 - n_seen / n)))
    # Nobody loses less than their own values do, nor more than now.
    lowest = float(table.lost(table.positions, table.positions) @ table.counts) / n
    ends = np.clip([known - mean - aside, known - mean + aside], tidy(lowest), known)
    interval = Interval(float(ends[0]), float(ends[1]), _LEVEL)
    return replace(gap, kind="estimate", interval=interval)


def least_loss(table: PlacedTable, k: int, limits: Sequence[RegionLimit], tally: Tally) -> float:
    """Return the least that a record loses on average, over every way to put combinations together.

    Subsets of combinations are numbers, whose bits say which they hold; arrays are (2ⁿ,).
    """
    n = len(table.counts)
    sizes = np.zeros(1, dtype=np.int64)
    first = np.full((len(table.axes), 1), np.iinfo(np.int64).max)
    last = np.full((len(table.axes), 1), -1)
    for i in range(n):
        at = table.positions[:, i : i + 1]
        sizes = np.append(sizes, sizes + table.counts[i])
        first = np.append(first, np.minimum(first, at), axis=1)
        last = np.append(last, np.maximum(last, at), axis=1)
    fit = np.flatnonzero(sizes >= k)
    fit = fit[_keeping(fit, table.number, limits, tally)]
    costs = np.full(2**n, np.inf)
    costs[fit] = sizes[fit] * table.lost(first[:, fit], last[:, fit])
    best = np.full(2**n, np.inf)
    best[0] = 0.0
    for i in range(n - 1):
        below = 2**i - 1
        # Whatever has this combination last is a part that has it, and the best of what is left.
        for part in (2**i + np.flatnonzero(np.isfinite(costs[2**i : 2 ** (i + 1)]))).tolist():
            if best[part] > costs[part]:
                # Else it is parted by now, and loses no more.
                others = _subsets(below & ~part)
                whole = part + others
                best[whole] = np.minimum(best[whole], costs[part] + best[others])
    return float((costs[2 ** (n - 1) :] + best[2 ** (n - 1) - 1 :: -1]).min()) / int(sizes[-1])


def _subsets(mask: int) -> Integers:
    """Return the numbers all of whose bits another has."""
    subsets = np.zeros(1, dtype=np.int64)
    while mask:
        bit = mask & -mask
        subsets = np.append(subsets, subsets + bit)
        mask ^= bit
    return subsets


def _keeping(
    subsets: Integers, number: Integers, limits: Sequence[RegionLimit], tally: Tally
) -> Booleans:
    """Return which subsets of combinations keep to all limits."""
    kept = np.ones(len(subsets), dtype=bool)
    if not limits:
        return kept
    step = max(_PAIRS // len(number), 1)
    for start in range(0, len(subsets), step):
        some = subsets[start : start + step]
        parts, rows = np.nonzero((some[:, None] >> number) & 1)
        for limit in limits:
            kept[start : start + step] &= limit.holds(parts, tally.counts[rows], rows)
    return kept


def cheapest_region(table: PlacedTable, k: int, which: int, most: float) -> float:
    """Return the least that a record loses in a region of k records, or a bound from below.

    The cheapest region is looked at first, and made larger by every combination that is not in
    it. A region that still lacks m records costs no less than with the m cheapest to reach, one
    at a time.

    Parameters
    ----------
    table, k
        The records, and how many of them a region has.
    which : int
        The combination that the record has.
    most : float
        What it loses in a region that is known.
    """
    at = table.positions[:, which : which + 1]
    region = table.closed(at, at)
    near = np.arange(len(table.counts))
    ahead: list[tuple[float, int, Any, Integers]] = [(-np.inf, 0, region, near)]
    seen = {_key(region)}
    n_looked_at = 0
    while ahead:
        bound, _, region, near = heapq.heappop(ahead)
        if n_looked_at == _MOST_REGIONS:
            return max(bound, float(table.lost(at, at)[0]))
        n_looked_at += 1
        first, last = table.closed(
            np.minimum(region[0], table.positions[:, near]),
            np.maximum(region[1], table.positions[:, near]),
        )
        lost = table.lost(first, last)
        inside = ((first == region[0]) & (last == region[1])).all(axis=0)
        lacking = k - int(table.counts[near[inside]].sum())
        if lacking <= 0:
            return float(table.lost(*region)[0])
        outside = ~inside & (lost < most - _HAIR)
        order = np.flatnonzero(outside)[np.argsort(lost[outside], kind="stable")]
        enough = np.cumsum(table.counts[near[order]]) >= lacking
        if not enough.any():
            # Whatever has k records loses as much as what is known.
            continue
        bound = max(bound, float(lost[order[int(np.argmax(enough))]]))
        near = near[inside | outside]
        for i in order.tolist():
            larger = first[:, i : i + 1], last[:, i : i + 1]
            key = _key(larger)
            if key not in seen:
                seen.add(key)
                heapq.heappush(ahead, (max(bound, float(lost[i])), len(seen), larger, near))
    return most


def _key(region: tuple[Integers, Integers]) -> bytes:
    return region[0].tobytes() + region[1].tobytes()
