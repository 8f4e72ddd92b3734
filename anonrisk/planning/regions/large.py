"""Plans by region of tables that have more combinations than an engine brings at once."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.errors import PlanError, TooManyClassesError
from anonrisk.measures.counts import question
from anonrisk.measures.counts.question import (
    ClassesInRegions,
    ClassesWithValues,
    Question,
    ValuesAndSizes,
)
from anonrisk.measures.counts.tally import Margins
from anonrisk.planning.class_rules import beside
from anonrisk.planning.losses import entropy_of
from anonrisk.planning.outcome import PlanOutcome
from anonrisk.planning.regions.axes import Ladder, RegionTree, Ruler, axis_of
from anonrisk.planning.regions.mondrian import cut_further
from anonrisk.planning.regions.multidimensional import limit_of, outcome_of, placed, regions_of
from anonrisk.planning.regions.part import CutRule, RegionPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.tally import Domain, PlacedTally, Tally
    from anonrisk.measures.recode.regions import Regions
    from anonrisk.planning.class_rules import SensitiveGoal
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.losses import CellLoss
    from anonrisk.planning.plan import Plan
    from anonrisk.planning.regions.axes import Axis, Partition
    from anonrisk.planning.regions.part import SensitiveLimit


# A stage counts the regions found so far by cells that are as fine as there is room for, and cuts
# them where cells meet. What can be cut between finer cells is counted again by the next stage.

# How often a table is counted; what could be cut after the last count stays together. Chosen: each
# is a pass over the whole table, and fewer of them leave coarser regions, never wrong ones.
MAX_JOBS = 16
# A stage hopes to fill this share of the room, by how full the last one was; the rest is for
# regions that are denser than those. Chosen, as is the next: the answer, or a refusal, puts it
# right, so that another number costs a job or two.
_FILLED = 0.7
# And after a refusal for this share of what was hoped for.
_AFTER_REFUSAL = 4


@dataclass(frozen=True)
class _CellsOfRuler(Ruler):
    """A ruler that is cut between cells: each stands at its first position.

    `ends`, (n_positions,), is the last position of the cell that a position is in.
    """

    ends: Integers

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return what a cell loses, up to the last position of the last cell."""
        return super().losses(first, self.ends[last])

    def boxes(self, first: Integers, last: Integers) -> tuple[Integers, Integers]:
        """Return the first position of the first cell and the last of the last."""
        return first, self.ends[last]


@dataclass(frozen=True)
class StagedAxis:
    """A column in details from one cell to all positions that it has.

    Attributes
    ----------
    axis : Axis
        The column in full detail.
    begins : array (n_details, n_positions)
        The first position of the cell that a position is in.
    taken : array (n_taken,)
        The positions that values of the column have.
    counts : array (n_taken,)
        How many records each of these has.
    """

    axis: Axis
    begins: Integers
    taken: Integers
    counts: Integers

    @classmethod
    def of(cls, axis: Axis, margin: Integers) -> StagedAxis:
        """Halve the cells of a ruler again and again; of a ladder take the steps."""
        counts = np.rint(np.bincount(axis.place, margin, axis.size)).astype(np.int64)
        taken = np.flatnonzero(counts)
        if isinstance(axis, Ladder):
            return cls(axis, axis.begins, taken, counts[taken])
        position, missing = np.arange(axis.size), axis.size - 1
        widths = [2**i for i in range(max(missing - 1, 0).bit_length(), -1, -1)]
        cells = [np.where(position < missing, position // w * w, missing) for w in widths]
        return cls(axis, np.stack([np.zeros_like(position), *cells]), taken, counts[taken])

    @property
    def finest(self) -> int:
        """The number of the finest detail."""
        return len(self.begins) - 1

    def at(self, detail: int) -> Axis:
        """Return the axis in some detail; positions keep their numbers."""
        axis = self.axis
        if isinstance(axis, Ladder):
            kept = slice(detail + 1)
            return replace(
                axis,
                begins=axis.begins[kept],
                ends=axis.ends[kept],
                members=axis.members[kept],
                costs=axis.costs[kept],
                choices=axis.choices[kept],
            )
        begins = self.begins[detail]
        starts = np.unique(begins)
        ends = np.append(starts[1:], axis.size) - 1
        return _CellsOfRuler(**vars(axis), ends=ends[np.searchsorted(starts, begins)])

    def held(self, detail: int) -> Integers:
        """List the cells that have records by their first positions."""
        return np.unique(self.begins[detail, self.taken])

    def cells(self, detail: int, boxes: Integers) -> Integers:
        """Count the cells with records that a region may have: (n_regions,) of boxes with two ends.

        `boxes` is (n_regions, 2), the first and the last position of each region.
        """
        begins = self.begins[detail, self.taken]
        number = np.concatenate(([0], np.cumsum(np.diff(begins) != 0)))
        first = np.searchsorted(self.taken, boxes[:, 0])
        last = np.searchsorted(self.taken, boxes[:, 1], side="right") - 1
        return number[last] - number[np.minimum(first, last)] + 1

    def loss(self, detail: int) -> float:
        """Return what a record loses on average where every cell is told apart."""
        axis = self.at(detail)
        begins = self.begins[detail, self.taken]
        return float(axis.losses(begins, begins) @ self.counts) / int(self.counts.sum())


def in_stages(
    axes: Sequence[StagedAxis],
    weights: Sequence[float],
    k: int,
    *,
    n_values: int,
    most: int,
    count: Callable[[Partition | None, Sequence[int], Integers], PlacedTally | None],
    rule: Callable[[PlacedTally], CutRule],
) -> Partition:
    """Cut a table as `mondrian.partition` does, in stages.

    Parameters
    ----------
    axes, weights, k
        The columns, what their detail is worth, and the fewest records of a region.
    n_values : int
        How many classes other columns make of one, at most.
    most : int
        How many classes can be counted at once.
    count : callable
        Counts some of the regions found so far, columns in some detail; None if that is too much.
    rule : callable
        Gives what regions must keep to, for classes that were counted.
    """
    # (1, n_columns, 2): one region, the whole table.
    whole = np.array([[[0, staged.axis.size - 1] for staged in axes]])
    tree = RegionTree([np.zeros(1, dtype=np.int64)], [whole], [axes[0].counts.sum(keepdims=True)])
    # (n_regions, n_columns): the details in which each region was cut.
    tried = np.zeros((1, len(axes)), dtype=np.int64)
    asking = _Asking.first(axes, weights, n_values, most)
    for jobs in range(MAX_JOBS, 0, -1):
        text = tree.partition()
        ahead = np.flatnonzero(text.sizes >= 2 * k)
        ahead = ahead[_finer(axes, asking.full, tried[ahead], text.boxes[ahead])]
        stage = asking.next(text, ahead, tried[ahead], jobs)
        if stage is None:
            break
        counted = count(text if len(text.sizes) > 1 else None, stage.details, stage.regions)
        asking = asking.after(stage, counted)
        if counted is None:
            continue
        part = _part(counted, stage.regions)
        if not np.array_equal(part.sizes, text.sizes[stage.regions]):
            raise PlanError("the table changed while it was counted: store it, and plan again")
        again = np.zeros(len(text.sizes), dtype=bool)
        again[stage.regions] = True
        at = [staged.at(detail) for staged, detail in zip(axes, stage.details, strict=True)]
        cut_further(tree, tree.reopened(again), part, at, rule(counted), small=stage.small)
        sizes = np.concatenate(tree.sizes)[np.count_nonzero(~again) :]
        current = np.where((sizes < stage.small)[:, None], 0, stage.details)
        tried = np.concatenate((tried[~again], current))
    return tree.partition()


@dataclass(frozen=True)
class _Stage:
    """Regions to count, in which details; those below `small` records are not cut yet."""

    # (n_chosen,), and a detail per column.
    regions: Integers
    details: list[int]
    # How many classes they may have, before anybody has counted.
    most: float
    small: int = 0
    in_full: bool = False


@dataclass(frozen=True)
class _Asking:
    """What to count next, by how many of the classes that there may be there were.

    Of the cells that regions might have, most hold no record; of the records of a region, many are
    a class of their own.
    """

    axes: Sequence[StagedAxis]
    weights: Sequence[float]
    n_values: int
    most: int
    # Before anything is known of the cells that hold no record, as if all did.
    room: float
    room_in_full: float

    @classmethod
    def first(
        cls, axes: Sequence[StagedAxis], weights: Sequence[float], n_values: int, most: int
    ) -> _Asking:
        """Ask for what is certain to be no more than can be brought."""
        return cls(axes, weights, n_values, most, float(most), float(most))

    @property
    def full(self) -> list[int]:
        """The finest details of the columns that are worth something."""
        pairs = zip(self.axes, self.weights, strict=True)
        return [staged.finest if weight > 0 else 0 for staged, weight in pairs]

    def next(
        self, partition: Partition, ahead: Integers, tried: Integers, jobs: int
    ) -> _Stage | None:
        """Count small regions in full detail, as many as there is room for.

        Those that are too large alone are cut into smaller ones first. Where small ones would take
        more jobs than there are, all are cut in the detail that there is room for, and what jobs
        are left are for those that lose most. `ahead` are the numbers of the regions that may be
        cut, (n_ahead,), `tried` the details in which they were, (n_ahead, n_columns).
        """
        boxes, sizes = partition.boxes[ahead], partition.sizes[ahead]
        need = self._classes(self.full, boxes, sizes)
        fits = need <= self.room_in_full
        enough = bool(need.sum() <= jobs * self.room_in_full)
        if not (enough and fits.all()):
            chosen = ~fits if enough else np.ones_like(fits)
            details, most = self._coarse(boxes[chosen], sizes[chosen])
            chosen[chosen] = _finer(self.axes, details, tried[chosen], boxes[chosen])
            if chosen.any():
                small = int(self.room_in_full // 2) if enough else 0
                return _Stage(ahead[chosen], details, most, small)
        losses = sum(
            staged.axis.losses(*boxes[:, c].T) * weight
            for c, (staged, weight) in enumerate(zip(self.axes, self.weights, strict=True))
        )
        order = np.argsort(-losses, kind="stable")
        order = order[fits[order]]
        chosen = np.sort(order[np.cumsum(need[order]) <= self.room_in_full])
        if not len(chosen):
            return None
        return _Stage(ahead[chosen], self.full, float(need[chosen].sum()), in_full=True)

    def after(self, stage: _Stage, counted: PlacedTally | None) -> _Asking:
        """Hope for as much next time as was there, or for a part of it where that was too much."""
        which = "room_in_full" if stage.in_full else "room"
        if counted is None:
            room = getattr(self, which) / _AFTER_REFUSAL
        else:
            room = _FILLED * self.most * stage.most / len(counted.counts)
        return replace(self, **{which: max(room, float(self.most))})

    def _classes(self, details: Sequence[int], boxes: Integers, sizes: Integers) -> Floats:
        """Bound the classes of each region by its cells and its records.

        `boxes` is (n_regions, n_columns, 2), `sizes` and the result (n_regions,).
        """
        cells = [
            staged.cells(detail, boxes[:, c]).astype(float)
            for c, (staged, detail) in enumerate(zip(self.axes, details, strict=True))
        ]
        return np.asarray(np.minimum(np.prod(cells, axis=0) * self.n_values, sizes))

    def _coarse(self, boxes: Integers, sizes: Integers) -> tuple[list[int], float]:
        """Make the column finer that loses most, as long as there is room.

        `boxes` is (n_regions, n_columns, 2), `sizes` (n_regions,). Gives the detail of each column,
        and how many classes there may then be.
        """
        details, most = [0] * len(self.axes), 0.0
        losses = [staged.loss(0) * w for staged, w in zip(self.axes, self.weights, strict=True)]
        open_ = {c for c, finest in enumerate(self.full) if finest}
        while open_:
            c = max(open_, key=lambda c: losses[c])
            finer = [*details[:c], details[c] + 1, *details[c + 1 :]]
            wanted = float(self._classes(finer, boxes, sizes).sum())
            if wanted > self.room:
                open_.discard(c)
                continue
            details, most = finer, wanted
            losses[c] = self.axes[c].loss(details[c]) * self.weights[c]
            if details[c] == self.axes[c].finest:
                open_.discard(c)
        return details, most


def _finer(
    axes: Sequence[StagedAxis], details: Sequence[int], tried: Integers, boxes: Integers
) -> Booleans:
    """Return which regions have cells in some detail that they had not when they were cut.

    `details` has one number per column, `tried` is (n_regions, n_columns), `boxes` (n_regions,
    n_columns, 2) and the result (n_regions,).
    """
    result = np.zeros(len(boxes), dtype=bool)
    for c, staged in enumerate(axes):
        cells = staged.cells(details[c], boxes[:, c])
        for detail in np.unique(tried[:, c]).tolist():
            mine = tried[:, c] == detail
            result[mine] |= cells[mine] > staged.cells(detail, boxes[mine, c])
    return result


def _part(counted: PlacedTally, chosen: Integers) -> RegionPart:
    """Put what was counted in order of region; `chosen`, ascending, numbers them from 0."""
    order = np.argsort(counted.regions, kind="stable")
    owners = np.searchsorted(chosen, counted.regions[order])
    held = [places[order] for places in counted.places]
    return RegionPart.of(owners, order, held, counted.counts[order])


WHY_IN_STAGES = (
    "multidimensional, cut in stages: the table has more combinations of values than can be "
    "counted at once, which a full-domain plan needs"
)


def countable_in_stages(request: PlanRequest) -> bool:
    """Return whether what is asked is of records, and of one class after another."""
    return request.unit is None and not request.of_policy and not request.wholes


def large_plan(
    made: Plan,
    engine: Engine,
    frame: Any,
    request: PlanRequest,
    loss: CellLoss,
    *,
    free: Qid,
    by_column: Mapping[Name, Any],
    weights: Sequence[float] | None,
    median: bool,
) -> Plan:
    """Make a plan by region in stages; what the table is before it, the engine counts."""
    qid, rule = request.qid, request.on_all_columns()
    margins, counted = margins_of(engine, frame, (*qid, *beside(rule.goals, None)), qid, free)
    regions, after = divide_in_stages(
        engine, frame, margins, qid, rule.k,
        loss=loss, by_column=by_column, weights=weights, goals=rule.goals, median=median,
    )  # fmt: skip
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


def margins_of(
    engine: Engine, frame: Any, columns: Qid, qid: Qid, free: Qid
) -> tuple[Margins, ClassCounts]:
    """Count each column for itself, and the sizes of classes, in one look at the table.

    Where a column alone is too much they are counted one by one, and close values of the free ones
    may be put together.
    """
    try:
        tallies, sizes = engine.tally(frame, ValuesAndSizes(columns, qid))
    except TooManyClassesError:
        made = {name: _margin_of(engine, frame, name, free) for name in columns}
        (sizes,) = engine.count(frame, Question((qid,)))
        return Margins.of(made), sizes
    return Margins.of(dict(zip(columns, tallies, strict=True))), sizes


def _margin_of(engine: Engine, frame: Any, name: Name, free: Qid) -> Tally:
    asked = ClassesWithValues((name,), (name,) if name in free else ())
    try:
        return engine.tally(frame, asked)
    except TooManyClassesError:
        raise TooManyClassesError(
            f"column {name!r} alone has more than {question.MAX_CLASSES:,} different values, too "
            "many to bring to the driver; recode it first, or leave it out"
        ) from None


def divide_in_stages(
    engine: Engine,
    frame: Any,
    margins: Margins,
    qid: Qid,
    k: int,
    *,
    loss: CellLoss,
    by_column: Mapping[Name, Any],
    weights: Sequence[float] | None,
    goals: Sequence[SensitiveGoal] = (),
    median: bool = False,
) -> tuple[Regions, PlanOutcome]:
    """Do as `multidimensional.divide` where more combinations are than can be counted at once."""
    asked = beside(goals, None)
    fine = [axis_of(margins, name, k, by_column.get(name), loss) for name in qid]
    axes = [StagedAxis.of(axis, margins.margin(name)) for axis, name in zip(fine, qid, strict=True)]
    limits = [(goal.column, _by_value(goal, margins)) for goal in goals]
    worth = weights or [1.0] * len(qid)

    def count(
        partition: Partition | None, details: Sequence[int], chosen: Integers
    ) -> PlacedTally | None:
        regions = None if partition is None else regions_of(fine, qid, margins, partition)
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
    most = question.MAX_CLASSES if asked else question.MAX_PLACED
    parts = in_stages(axes, worth, k, n_values=n_values, most=most, count=count, rule=rule)
    regions, after, _ = outcome_of(fine, qid, margins, parts)
    return regions, replace(after, average_risk=after.n_classes / after.n_records)


def _by_value(goal: SensitiveGoal, margins: Margins) -> SensitiveLimit:
    """Return a limit with the rank of each value that a column has."""
    margin = margins.margin(goal.column)
    codes = np.flatnonzero(margin)
    made = limit_of(goal, codes, margin[codes], margins)
    ranks = np.zeros(len(margin), dtype=np.int64)
    ranks[codes] = made.ranks
    return replace(made, ranks=ranks)


def _among(all_values: Domain, some: Domain, codes: Integers) -> Integers:
    """Return the codes of some values among all, missing last."""
    place = np.searchsorted(all_values.values, some.values)
    return np.append(place, len(all_values))[codes]
