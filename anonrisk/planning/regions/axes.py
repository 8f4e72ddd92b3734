"""The columns of a table as axes, and the cuts along them that lead to regions."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import runs_of
from anonrisk.errors import PlanError
from anonrisk.measures.counts.tally import DATES
from anonrisk.measures.recode import Keep, Recoding, Star
from anonrisk.measures.recode.edges import fine_dates, fine_edges
from anonrisk.measures.recode.regions import TOLD
from anonrisk.planning.lattice.lattice import Choice
from anonrisk.planning.lattice.offer import offer
from anonrisk.planning.losses import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.counts.tally import Domain, Tally
    from anonrisk.planning.losses import CellLoss, Span
    from anonrisk.planning.regions.part import RegionPart


@dataclass(frozen=True)
class Ladder:
    """Values with a tree above them: each step down puts fewer of them together.

    Steps are numbered from the root, which holds all. Every part of every step has a position,
    those inside of it after it, so that a part reaches from its own position to the last inside.

    Attributes
    ----------
    place : array (n_codes,)
        The position of each code of the column, missing last.
    begins, ends : array (n_steps, n_positions)
        The first and the last position of the part that a position is in; below its own step, a
        part has itself.
    members : array (n_steps, n_positions)
        The group of its step that a position is in.
    choices : list of Choice
        The recoding of each step, n_steps of them.
    costs : array (n_steps, n_positions)
        What a cell of that part loses.
    """

    place: Integers
    begins: Integers
    ends: Integers
    members: Integers
    choices: list[Choice]
    costs: Floats

    @property
    def size(self) -> int:
        """Number of positions."""
        return len(self.begins[0])

    def step(self, first: Integers, last: Integers) -> Integers:
        """Find the lowest step on which two positions are in one part; arrays of one length."""
        result = np.zeros(len(first), dtype=np.int64)
        for begins in self.begins[1:]:
            result += begins[first] == begins[last]
        return result

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return what a cell loses if these positions, and all between, are put together."""
        return self.costs[self.step(first, last), first]

    def priced(self, loss: CellLoss, tally: Tally, name: Name) -> Ladder:
        """Return the same steps at the prices of another loss."""
        column = name, tally.domains[name], tally.margin(name)
        choices = [Choice.of(choice.recoding, *column, loss) for choice in self.choices]
        return replace(self, choices=choices, costs=_costs(choices, self.members))

    def boxes(self, first: Integers, last: Integers) -> tuple[Integers, Integers]:
        """Return the ends of the smallest part that holds these positions."""
        step = self.step(first, last)
        return self.begins[step, first], self.ends[step, first]


@dataclass(frozen=True)
class Ruler:
    """Numbers or days between edges, missing after the last: cut wherever an edge is.

    Attributes
    ----------
    place : array (n_codes,)
        The position of each code of the column, missing last.
    edges : array (n_edges,)
        Position i holds the numbers from edge i − 1 up to edge i, the last position what is
        missing: n_positions = n_edges + 2.
    scale : Scale
        What each position stands for, and its records.
    span : Span
        What a cell loses, by the first and the last position that are put together.
    whole, dates : bool
        Whether the numbers are whole; whether they are days.
    """

    place: Integers
    edges: Floats
    scale: Scale
    span: Span
    whole: bool
    dates: bool

    @property
    def size(self) -> int:
        """Number of positions."""
        return len(self.edges) + 2

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return what a cell loses if these positions, and all between, are put together."""
        return self.span.losses(first, last)

    def priced(self, loss: CellLoss, tally: Tally, name: Name) -> Ruler:
        """Return the same edges at the prices of another loss."""
        scale = self.scale.counted(self.place, tally.margin(name))
        return replace(self, scale=scale, span=loss.along(scale))

    def boxes(self, first: Integers, last: Integers) -> tuple[Integers, Integers]:
        """Return these positions: edges are where they are."""
        return first, last


Axis: TypeAlias = Ladder | Ruler


def axis_of(tally: Tally, name: Name, k: int, value: Any, loss: CellLoss) -> Axis:
    """Choose how a column may be cut: numbers and dates at edges, others by what is offered."""
    domain, margin = tally.domains[name], tally.margin(name)
    if value is None and domain.is_scale:
        fine = fine_dates if domain.kind in DATES else fine_edges
        edges = fine(domain, margin[:-1], k) if len(domain) > 1 else []
        return ruler(domain, edges, margin, loss)
    offered = offer(domain, margin, k=k, share=0, recodings=value, column=name, nested=True)
    return ladder(tally, name, offered, loss)


def ruler(domain: Domain, edges: Sequence[float], margin: Integers, loss: CellLoss) -> Ruler:
    """Put numbers or days between edges."""
    dates = domain.kind in DATES
    whole = dates or domain.kind == "whole"
    at = np.asarray(edges, dtype=np.float64)
    values = domain.positions() if len(domain) else np.zeros(1)
    known = np.searchsorted(at, values, side="right")
    # As labels are read: up to the last whole number, or all but the edge itself.
    before = at - 1 if whole else np.nextafter(at, -np.inf)
    place = np.append(known[: len(domain)], len(at) + 1)
    ends = np.append(values[0], at), np.append(before, values[-1])
    scale = Scale(*ends, margin, margin).counted(place, margin)
    return Ruler(place, at, scale, loss.along(scale), whole, dates)


def ladder(tally: Tally, name: Name, offered: Sequence[Recoding], loss: CellLoss) -> Ladder:
    """Put values in an order in which every part of every step stands together."""
    column = name, tally.domains[name], tally.margin(name)
    steps = [Choice.of(recoding, *column, loss) for recoding in offered][::-1]
    if not isinstance(steps[0].recoding, Star):
        raise PlanError(
            f"the coarsest recoding that is offered for column {name!r} must put all of its values "
            "together: end the list with anonrisk.recode.Star()"
        )
    if isinstance(steps[-1].recoding, Keep) and tally.domains[name].kind not in TOLD:
        raise PlanError(
            f"column {name!r} holds values that have no single written form by which a region "
            "could name them: convert them to text first"
            ", or give recodings that are coarser than Keep()"
        )
    # (n_steps, n_codes), the coarsest step first; then with the codes in order of their parts.
    groups = np.stack([choice.groups for choice in steps])
    order = np.lexsort(groups[::-1])
    groups = groups[:, order]
    # (n_steps, n_codes) too: where a part begins that the value before was not in; then all steps
    # below begin anew.
    new = np.ones(groups.shape, dtype=bool)
    new[:, 1:] = groups[:, 1:] != groups[:, :-1]
    for step, begun in enumerate(new):
        if begun.sum() != len(np.unique(groups[step])) or (step and (new[step - 1] > begun).any()):
            raise PlanError(
                f"the recodings that are offered for column {name!r} do not build on each other: "
                "each must merge what the one before it does, and more"
            )
    # (n_steps, n_codes): the position of the part that begins there, and of the part that a code is
    # in. Positions count the parts by code, then by step.
    position = (np.cumsum(new.T.ravel()) - 1).reshape(new.T.shape).T
    first = np.maximum.accumulate(np.where(new, position, 0), axis=1)
    # (n_positions,): the code, in this order, and the step at which each position begins.
    value, begun_at = np.nonzero(new.T)
    own = np.arange(len(value))
    # From here on (n_steps, n_positions), as in a Ladder.
    below = np.arange(len(steps))[:, None] > begun_at
    begins = np.where(below, own, first[:, value])
    # The last position before the next part of the same step, or of a step above it, begins.
    ends = np.empty_like(begins)
    for step, begun in enumerate(begins):
        lasts = np.append(np.flatnonzero(begun[1:] != begun[:-1]), len(own) - 1)
        ends[step] = lasts[np.searchsorted(lasts, own)]
    members = groups[:, value]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = first[-1]
    return Ladder(place, begins, ends, members, steps, _costs(steps, members))


def _costs(steps: Sequence[Choice], members: Integers) -> Floats:
    """Return what a cell of each part loses, as `members` an array (n_steps, n_positions)."""
    return np.stack([step.losses[source] for step, source in zip(steps, members, strict=True)])


@dataclass(frozen=True)
class Partition:
    """Regions, and the cuts that lead to them.

    Attributes
    ----------
    cuts : array (n_cuts, 4) of (column, position, below, above)
        A record below the position goes on at `below`, another at `above`: a cut, or the region
        ``~below`` where it is negative. The first cut is the first; there is none if there is one
        region.
    boxes : array (n_regions, n_columns, 2)
        The first and the last position of what a region holds of each column.
    sizes : array (n_regions,)
        The records of each region.
    """

    cuts: Integers
    boxes: Integers
    sizes: Integers


@dataclass
class RegionTree:
    """What has been cut so far. A slot is a place from which on a cut leads to a region.

    Every attribute but `taken` is a list of batches, which `partition` puts end to end.

    Attributes
    ----------
    leaves, sizes : array (n_regions,)
        The numbers of the regions that were left as they are, and their records.
    boxes : array (n_regions, n_columns, 2)
        What they hold, as in `Partition`.
    splits : tuple of four arrays (n_splits,)
        The number of each region that was cut, the column, the first of its slots, how many slots.
    begins, leads : array (n_slots,)
        The position from which on a slot is, and the number of the region that it leads to.
    taken : int
        How many numbers regions have; the whole table has the first, 0.
    """

    leaves: list[Integers] = field(default_factory=list)
    boxes: list[Integers] = field(default_factory=list)
    sizes: list[Integers] = field(default_factory=list)
    splits: list[tuple[Integers, ...]] = field(default_factory=list)
    begins: list[Integers] = field(default_factory=list)
    leads: list[Integers] = field(default_factory=list)
    taken: int = 1

    def leave(self, uids: Integers, part: RegionPart, axes: Sequence[Axis]) -> None:
        """Leave regions as they are; `uids` are their numbers, (n_regions,) as in the part."""
        self.leaves.append(uids)
        self.sizes.append(part.sizes)
        ends = [a.boxes(f, x) for a, f, x in zip(axes, part.first, part.last, strict=True)]
        # From (n_columns, 2, n_regions).
        self.boxes.append(np.array(ends, dtype=np.int64).transpose(2, 0, 1))

    def parted(
        self,
        uids: Integers,
        part: RegionPart,
        axes: Sequence[Axis],
        columns: Integers,
        begins: Integers,
    ) -> tuple[Integers, RegionPart]:
        """Cut regions along a column each, -1 for none; give the parts with their numbers.

        `uids` and `columns` are (n_regions,); `begins`, (n_rows,), has the place from which on each
        combination's part is.
        """
        size = max(axis.size for axis in axes)
        parts, parents, begun = part.parted((columns >= 0)[part.owners], begins, size)
        return self._split(uids, columns, part, axes, parents=parents, begins=begun), parts

    def _split(
        self,
        uids: Integers,
        columns: Integers,
        part: RegionPart,
        axes: Sequence[Axis],
        *,
        parents: Integers,
        begins: Integers,
    ) -> Integers:
        """Lead to parts with these begins; give their numbers, that of the region if it is one.

        `uids` and `columns` are (n_regions,); `parents`, the region of each part, `begins` and the
        result are (n_parts,).
        """
        several = np.bincount(parents, minlength=len(uids))[parents] > 1
        numbers = np.where(several, self.taken + np.cumsum(several) - 1, uids[parents])
        self.taken += int(several.sum())
        parents, begins, new = parents[several], begins[several], numbers[several]
        # (n_slots,) each: the region that is cut, where the slot begins, what it leads to.
        owners, starts, leads = parents, begins, new
        for c, axis in enumerate(axes):
            if isinstance(axis, Ladder):
                # Behind a part that went its own way, the rest goes on.
                again = _behind(part, c, axis, cut=columns, parents=parents, begins=begins)
                owners = np.append(owners, parents[again[0]])
                starts = np.append(starts, again[1])
                leads = np.append(leads, new[again[2]])
        keys = owners * (max(axis.size for axis in axes) + 1) + starts
        order = np.argsort(keys, kind="stable")
        # Where a part begins behind another, it has its place, and not the rest.
        order = order[runs_of(keys[order])]
        owners, starts, leads = owners[order], starts[order], leads[order]
        first = runs_of(owners)
        slot = sum(map(len, self.begins))
        cut, sizes = owners[first], np.diff(first, append=len(owners))
        self.splits.append((uids[cut], columns[cut], slot + first, sizes))
        self.begins.append(starts)
        self.leads.append(leads)
        return numbers

    def reopened(self, chosen: Booleans) -> Integers:
        """Take some of the regions that were left back; give their numbers."""
        result = np.concatenate(self.leaves)
        self.leaves = [result[~chosen]]
        self.boxes = [np.concatenate(self.boxes)[~chosen]]
        self.sizes = [np.concatenate(self.sizes)[~chosen]]
        return result[chosen]

    def partition(self) -> Partition:
        """Put everything together, with two ways at every cut."""
        leaves = np.concatenate(self.leaves)
        if not self.splits:
            whole = np.empty((0, 4), dtype=np.int64)
            return Partition(whole, np.concatenate(self.boxes), np.concatenate(self.sizes))
        uids, columns, starts, sizes = (
            np.concatenate([split[i] for split in self.splits]) for i in range(4)
        )
        targets = np.empty(len(leaves) + len(uids), dtype=np.int64)
        targets[leaves] = ~np.arange(len(leaves))
        targets[uids] = np.arange(len(uids))
        leads = targets[np.concatenate(self.leads)]
        cuts = _in_two(columns, starts, sizes, np.concatenate(self.begins), leads)
        return Partition(cuts, np.concatenate(self.boxes), np.concatenate(self.sizes))


def _behind(
    part: RegionPart, c: int, axis: Ladder, *, cut: Integers, parents: Integers, begins: Integers
) -> tuple[Integers, Integers, Integers]:
    """Find the places behind parts of a ladder where the rest of a region goes on.

    `cut`, the column of each region, is (n_regions,), `parents` and `begins` are (n_parts,). Gives
    the part, the place behind it and the part that is the rest, one row per place.
    """
    mine = np.flatnonzero(cut[parents] == c)
    first, last = part.first[c], part.last[c]
    step = axis.step(first, last)
    whole = axis.begins[step, first][parents[mine]]
    rests = mine[begins[mine] == whole]
    rest = np.full(len(cut), -1)
    rest[parents[rests]] = rests
    parted = mine[(begins[mine] != whole) & (rest[parents[mine]] >= 0)]
    owners = parents[parted]
    behind = axis.ends[np.minimum(step + 1, len(axis.begins) - 1)[owners], begins[parted]] + 1
    return parted, behind, rest[owners]


def _in_two(
    columns: Integers, starts: Integers, sizes: Integers, begins: Integers, targets: Integers
) -> Integers:
    """Turn cuts into many parts into cuts into two, balanced; the first of each keeps its place.

    `columns`, `starts` and `sizes` are (n_splits,), `begins` and `targets` (n_slots,); gives the
    cuts of a `Partition`, (n_cuts, 4). A split of s slots takes s − 1 of them.
    """
    cuts = np.zeros((int(np.maximum(sizes - 1, 0).sum()), 4), dtype=np.int64)
    ids, low, high = np.arange(len(columns)), starts, starts + sizes
    taken = len(columns)
    while len(ids):
        middle = (low + high) // 2
        cuts[ids, 0], cuts[ids, 1] = columns, begins[middle]
        ahead = []
        for side, (a, b) in enumerate(((low, middle), (middle, high))):
            many = b - a > 1
            result = targets[a]
            result[many] = taken + np.arange(many.sum())
            taken += int(many.sum())
            cuts[ids, 2 + side] = result
            ahead.append((result[many], a[many], b[many], columns[many]))
        ids, low, high, columns = (np.concatenate(pair) for pair in zip(*ahead, strict=True))
    return _downward(cuts)


def _downward(cuts: Integers) -> Integers:
    """Number cuts, (n_cuts, 4), such that every way leads to larger numbers."""
    order, ahead = [], np.arange(min(len(cuts), 1))
    while len(ahead):
        order.append(ahead)
        following = cuts[ahead, 2:].ravel()
        ahead = following[following >= 0]
    if not order:
        return cuts
    rows = np.concatenate(order)
    number = np.empty(len(cuts), dtype=np.int64)
    number[rows] = np.arange(len(rows))
    result = cuts[rows]
    ways = result[:, 2:]
    result[:, 2:] = np.where(ways >= 0, number[np.maximum(ways, 0)], ways)
    return result
