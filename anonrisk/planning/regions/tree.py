"""The cuts that lead to regions, as they are made, and as a tree with two ways at every cut."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import runs_of
from anonrisk.planning.regions.axes import Ladder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.types import Booleans, Integers
    from anonrisk.planning.regions.axes import Axis
    from anonrisk.planning.regions.part import RegionPart


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
