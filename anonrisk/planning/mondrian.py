"""Mondrian: a table cut into regions, each as small as its limits allow.

LeFevre, DeWitt & Ramakrishnan (2006), strict: whatever is equal stays together. Every round looks
at all regions at once; counts are of distinct combinations, so that nothing is done by record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.counts.class_profiles import ValueCounts
from anonrisk.planning.axes import Ladder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Booleans, Floats, Integers
    from anonrisk.measures.formula import Formula
    from anonrisk.planning.axes import Axis, Ruler

# Scores that differ by less are the same, and the earlier column is taken.
_DIGITS = 12


@dataclass(frozen=True)
class SensitiveLimit:
    """What every region must keep to about a sensitive column: the rank of each combination's."""

    ranks: Integers
    # How often the table has each rank.
    overall: Integers
    formula: Formula
    c: float | None
    limit: float

    def holds(self, of: Integers, counts: Integers, rows: Integers) -> Booleans:
        """Tell which of some parts keep to it; `of` is the part of each of the rows."""
        part, rank, times = runs(of, self.ranks[rows], len(self.overall), counts)
        starts = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
        found = ValueCounts(
            starts=np.append(starts, len(part)),
            ranks=rank,
            counts=times,
            classes=np.ones(len(starts), dtype=np.int64),
            sizes=np.add.reduceat(times, starts),
            overall=self.overall,
            ordered=True,
        )
        return ~np.asarray(self.formula.breaks(self.formula.of(found, self.c), self.limit))

@dataclass(frozen=True)
class Partition:
    """Regions, and the cuts that lead to them.

    Attributes
    ----------
    cuts : array of (column, position, below, above)
        A record below the position goes on at `below`, another at `above`: a cut, or the region
        ``~below`` where it is negative. The first cut is the first; there is none if there is one
        region.
    boxes : array of regions by columns by 2
        The first and the last position of what a region holds of each column.
    sizes : array
        The records of each region.
    """

    cuts: Integers
    boxes: Integers
    sizes: Integers


@dataclass(frozen=True)
class _Proposal:
    """The best way to cut each region along one column; a score of 0 where there is none."""

    scores: Floats
    # Of a ladder the step to go down to, of a ruler the position to cut at.
    at: Integers
    # Of a ladder the parts that stay together, as number of the region times size plus begin.
    rest: Integers


def runs(
    of: Integers, value: Integers, size: int, counts: Integers
) -> tuple[Integers, Integers, Integers]:
    """Add up what has the same owner and value, in order of both."""
    keys = of * size + value
    bound = (int(of[-1]) + 1 if len(of) else 0) * size
    if bound <= 4 * len(of) + 4_096:
        sums = np.bincount(keys, counts, bound)
        present = np.flatnonzero(sums)
        return present // size, present % size, np.rint(sums[present]).astype(np.int64)
    order = _order(keys, bound)
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[starts] // size, keys[starts] % size, np.add.reduceat(counts[order], starts)


def _order(keys: Integers, bound: int) -> Integers:
    """Sort, equal keys as they came: with its row in the same number, a key is sorted by value."""
    bits = len(keys).bit_length()
    if bound.bit_length() + bits > 62:
        return np.argsort(keys, kind="stable")
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    return packed & ((1 << bits) - 1)


def partition(
    axes: Sequence[Axis],
    positions: Sequence[Integers],
    counts: Integers,
    k: int,
    *,
    weights: Sequence[float],
    limits: Sequence[SensitiveLimit] = (),
    median: bool = False,
) -> Partition:
    """Cut until no cut leaves k records, and what the limits ask for, on every side.

    Parameters
    ----------
    axes, positions
        The columns, and where each combination of their values is on them.
    counts : array
        How many records each combination has.
    k : int
        The fewest records of a region.
    weights : sequence of float
        What the detail of each column is worth.
    limits : sequence of SensitiveLimit
        What else a region must keep to.
    median : bool
        Whether to cut the column that loses most, numbers where the records are halved, as in the
        paper; else where most loss is gained per bit: (n·L − Σ nᵢ·Lᵢ) / Σ nᵢ·log₂(n/nᵢ) for n
        records of loss L cut into parts of nᵢ and Lᵢ. Records can be halved only so many times
        before k are left, so that bits are what is spent.
    """
    made = _Made()
    part = _Part.of(np.zeros(len(counts), dtype=np.int64), np.arange(len(counts)), positions, counts)
    uids = np.zeros(1, dtype=np.int64)
    while len(uids):
        # Fewer than twice k cannot be cut.
        many = part.sizes >= 2 * k
        made.leave(uids[~many], part.only(~many), axes)
        part, uids = part.only(many), uids[many]
        column, begins = _cut(part, axes, k, weights, limits, median=median)
        cut = column >= 0
        made.leave(uids[~cut], part.only(~cut), axes)
        going = cut[part.owners]
        order, owners, parents, begun = grouped(
            part.owners[going], begins[going], max(axis.size for axis in axes)
        )
        uids = made.split(uids, column, part, axes, parents, begun)
        part = _Part.of(owners, part.rows[going][order], positions, counts)
    return made.partition()


def grouped(
    owners: Integers, values: Integers, size: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Put rows of one owner and value together.

    Gives the order of the rows, the number of each row's group in it, and the owner and the value
    of each group.
    """
    keys = owners * size + values
    order = _order(keys, (int(owners[-1]) + 1 if len(owners) else 1) * size)
    keys = keys[order]
    new = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    return order, np.cumsum(new) - 1, keys[new] // size, keys[new] % size


@dataclass(frozen=True)
class _Part:
    """Some regions: their combinations, in order of region, and what each holds of a column."""

    owners: Integers
    rows: Integers
    positions: list[Integers]
    counts: Integers
    sizes: Integers
    first: list[Integers]
    last: list[Integers]

    @classmethod
    def of(
        cls, owners: Integers, rows: Integers, positions: Sequence[Integers], counts: Integers
    ) -> _Part:
        """Look up what the rows hold."""
        inside, times = [position[rows] for position in positions], counts[rows]
        if not len(rows):
            return cls(owners, rows, inside, times, times, inside, inside)
        starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
        return cls(
            owners,
            rows,
            inside,
            times,
            np.add.reduceat(times, starts),
            [np.minimum.reduceat(position, starts) for position in inside],
            [np.maximum.reduceat(position, starts) for position in inside],
        )

    def only(self, chosen: Booleans) -> _Part:
        """Take some of the regions."""
        if chosen.all():
            return self
        inside = chosen[self.owners]
        return _Part(
            (np.cumsum(chosen) - 1)[self.owners[inside]],
            self.rows[inside],
            [position[inside] for position in self.positions],
            self.counts[inside],
            self.sizes[chosen],
            [first[chosen] for first in self.first],
            [last[chosen] for last in self.last],
        )


def _cut(
    part: _Part,
    axes: Sequence[Axis],
    k: int,
    weights: Sequence[float],
    limits: Sequence[SensitiveLimit],
    *,
    median: bool,
) -> tuple[Integers, Integers]:
    """Choose the column of each region, -1 for none; and the begin of each combination's part."""
    made = [
        _proposed(part, c, axis, k, weight, median=median)
        for c, (axis, weight) in enumerate(zip(axes, weights, strict=True))
    ]
    scores = np.stack([proposal.scores for proposal in made])
    begins = np.zeros(len(part.owners), dtype=np.int64)
    column = _best(scores)
    fresh = column >= 0
    while fresh.any():
        for c in np.unique(column[fresh]).tolist():
            mine = (fresh & (column == c))[part.owners]
            begins[mine] = _begins(axes[c], made[c], part.owners[mine], part.positions[c][mine])
        if not limits:
            break
        broken = fresh & ~_keeping(part, begins, fresh, limits, max(axis.size for axis in axes))
        scores[column[broken], np.flatnonzero(broken)] = 0
        column[broken] = _best(scores[:, broken])
        fresh = broken & (column >= 0)
    return column, begins


def _best(scores: Floats) -> Integers:
    return np.where(scores.max(axis=0) > 0, np.argmax(scores, axis=0), -1)


def _keeping(
    part: _Part,
    begins: Integers,
    asked: Booleans,
    limits: Sequence[SensitiveLimit],
    size: int,
) -> Booleans:
    """Tell which of the regions asked about keep to the limits in every part of their cut."""
    inside = asked[part.owners]
    order, number, owners, _ = grouped(part.owners[inside], begins[inside], size)
    rows, counts = part.rows[inside][order], part.counts[inside][order]
    kept = np.ones(len(part.sizes), dtype=bool)
    for limit in limits:
        kept[owners[~limit.holds(number, counts, rows)]] = False
    return kept


def _begins(axis: Axis, proposal: _Proposal, of: Integers, position: Integers) -> Integers:
    """Give the begin of the part that each combination goes to."""
    at = proposal.at[of]
    if not isinstance(axis, Ladder):
        return np.where(position >= at, at, 0)
    begins = axis.begins[at, position]
    keys = of * axis.size + begins
    place = np.minimum(np.searchsorted(proposal.rest, keys), len(proposal.rest) - 1)
    stays = proposal.rest[place] == keys if len(proposal.rest) else np.zeros(len(of), dtype=bool)
    return np.where(stays, axis.begins[at - 1, position], begins)


def _proposed(
    part: _Part, c: int, axis: Axis, k: int, weight: float, *, median: bool
) -> _Proposal:
    first, last = part.first[c], part.last[c]
    none = np.zeros(len(part.sizes))
    if weight <= 0 or not (first < last).any():
        return _Proposal(none, none.astype(np.int64), none[:0].astype(np.int64))
    of, position, counts = runs(part.owners, part.positions[c], axis.size, part.counts)
    starts = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
    before = axis.losses(first, last)
    seen = _Seen(of, position, counts, starts, part.sizes, first, last, before)
    propose = _down if isinstance(axis, Ladder) else _across
    found = propose(seen, axis, k, median)  # type: ignore[arg-type]
    scores = before if median else found.scores
    scores = np.round(np.where(found.scores > 0, scores * weight, 0), _DIGITS)
    return _Proposal(scores, found.at, found.rest)


@dataclass(frozen=True)
class _Seen:
    """The positions of one column that occur in each region, with their records."""

    of: Integers
    position: Integers
    counts: Integers
    starts: Integers
    sizes: Integers
    first: Integers
    last: Integers
    before: Floats


def _down(seen: _Seen, axis: Ladder, k: int, _: bool) -> _Proposal:
    """Go one step down: parts of it that have k records become one, the rest stays together."""
    step = axis.step(seen.first, seen.last)
    lowest = len(axis.begins) - 1
    at = np.minimum(step + 1, lowest)
    begins = axis.begins[at[seen.of], seen.position]
    starts = np.flatnonzero(
        np.append(True, (seen.of[1:] != seen.of[:-1]) | (begins[1:] != begins[:-1]))
    )
    of, counts = seen.of[starts], np.add.reduceat(seen.counts, starts)
    ends = np.append(starts[1:], len(begins)) - 1
    losses = axis.losses(seen.position[starts], seen.position[ends])
    stays = _rest(of, counts, k)
    kept = np.bincount(of, np.where(stays, counts, 0), len(step))
    left = np.bincount(of, np.where(stays, 0, counts * losses), len(step)) + kept * seen.before
    size, parted = seen.sizes[of], np.where(stays, 1, counts)
    bits = np.bincount(of, np.where(stays, 0, counts * np.log2(size / parted)), len(step))
    bits += kept * np.log2(seen.sizes / np.maximum(kept, 1))
    fit = (step < lowest) & (kept < seen.sizes)
    rest = (of * axis.size + begins[starts])[stays]
    return _Proposal(_per_bit(seen.sizes * seen.before - left, bits, fit), at, rest)


def _rest(of: Integers, counts: Integers, k: int) -> Booleans:
    """Tell which parts of a step stay together: the small, and more of the smallest up to k."""
    order = np.lexsort((counts, of))
    owners, ordered = of[order], counts[order]
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    before = np.cumsum(ordered) - ordered
    before -= np.repeat(before[starts], np.diff(starts, append=len(of)))
    any_small = np.repeat(ordered[starts] < k, np.diff(starts, append=len(of)))
    stays = np.empty(len(of), dtype=bool)
    stays[order] = any_small & ((ordered < k) | (before < k))
    return stays


def _across(seen: _Seen, axis: Ruler, k: int, median: bool) -> _Proposal:
    """Cut between two positions that occur; a missing value is cut off before all else."""
    below = np.cumsum(seen.counts)
    below -= (below - seen.counts)[seen.starts][seen.of]
    above = seen.sizes[seen.of] - below
    following = np.append(seen.position[1:], 0)
    missing = len(axis.edges) + 1
    fit = (below >= k) & (above >= k)
    fit &= (seen.last[seen.of] < missing) | (following == missing)
    # The last position of a region has nothing above it, and thus does not fit.
    places = np.flatnonzero(fit)
    scores, at = np.zeros(len(seen.sizes)), np.zeros(len(seen.sizes), dtype=np.int64)
    if not len(places):
        return _Proposal(scores, at, at[:0])
    of, low, high = seen.of[places], below[places], above[places]
    n = seen.sizes[of]
    left = low * axis.losses(seen.first[of], seen.position[places])
    left = left + high * axis.losses(following[places], seen.last[of])
    bits = low * np.log2(n / low) + high * np.log2(n / high)
    gained = _per_bit(n * seen.before[of] - left, bits, np.ones(len(of), dtype=bool))
    rank = np.where(gained > 0, np.minimum(low, high), 0) if median else np.round(gained, _DIGITS)
    starts = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
    best = np.maximum.reduceat(rank, starts)
    top = np.flatnonzero(rank == np.repeat(best, np.diff(starts, append=len(of))))
    top = top[np.append(True, of[top][1:] != of[top][:-1])]
    scores[of[top]], at[of[top]] = gained[top], following[places][top]
    return _Proposal(scores, at, at[:0])


def _per_bit(gain: Floats, bits: Floats, fit: Booleans) -> Floats:
    """Give what is gained per bit; 0 where a cut does not fit or gains nothing."""
    useful = fit & (gain > 1e-12) & (bits > 0)
    return np.where(useful, gain, 0.0) / np.where(useful, bits, 1.0)


@dataclass(frozen=True)
class _Made:
    """What has been cut so far. A slot is a place from which on a cut leads to a region."""

    leaves: list[Integers] = field(default_factory=list)
    boxes: list[Integers] = field(default_factory=list)
    sizes: list[Integers] = field(default_factory=list)
    splits: list[tuple[Integers, ...]] = field(default_factory=list)
    begins: list[Integers] = field(default_factory=list)
    leads: list[Integers] = field(default_factory=list)

    def leave(self, uids: Integers, part: _Part, axes: Sequence[Axis]) -> None:
        """Leave regions as they are."""
        self.leaves.append(uids)
        self.sizes.append(part.sizes)
        ends = [a.boxes(f, x) for a, f, x in zip(axes, part.first, part.last, strict=True)]
        self.boxes.append(np.array(ends, dtype=np.int64).transpose(2, 0, 1))

    def split(
        self,
        uids: Integers,
        columns: Integers,
        part: _Part,
        axes: Sequence[Axis],
        parents: Integers,
        begins: Integers,
    ) -> Integers:
        """Cut regions into parts with these begins; give the numbers of the parts."""
        taken = 1 + sum(len(split[-1]) for split in self.splits)
        new = taken + np.arange(len(parents))
        owners, starts, leads = parents, begins, new
        for c, axis in enumerate(axes):
            if isinstance(axis, Ladder):
                # Behind a part that went its own way, the rest goes on.
                again = _behind(part, c, axis, columns, parents, begins)
                owners = np.append(owners, parents[again[0]])
                starts = np.append(starts, again[1])
                leads = np.append(leads, new[again[2]])
        order = np.lexsort((np.arange(len(owners)), starts, owners))
        owners, starts, leads = owners[order], starts[order], leads[order]
        once = np.append(True, (owners[1:] != owners[:-1]) | (starts[1:] != starts[:-1]))
        once = once[: len(owners)]
        owners, starts, leads = owners[once], starts[once], leads[once]
        first = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])[: len(owners)])
        slot = sum(map(len, self.begins))
        cut = np.unique(parents)
        sizes = np.diff(first, append=len(owners))
        self.splits.append((uids[cut], columns[cut], slot + first, sizes, new))
        self.begins.append(starts)
        self.leads.append(leads)
        return new

    def partition(self) -> Partition:
        """Put everything together, with two ways at every cut."""
        leaves = np.concatenate(self.leaves)
        uids, columns, starts, sizes, _ = (
            np.concatenate([split[i] for split in self.splits]) for i in range(5)
        )
        targets = np.empty(len(leaves) + len(uids), dtype=np.int64)
        targets[leaves] = ~np.arange(len(leaves))
        targets[uids] = np.arange(len(uids))
        leads = targets[np.concatenate(self.leads)]
        cuts = _in_two(columns, starts, sizes, np.concatenate(self.begins), leads)
        return Partition(cuts, np.concatenate(self.boxes), np.concatenate(self.sizes))


def _behind(
    part: _Part, c: int, axis: Ladder, columns: Integers, parents: Integers, begins: Integers
) -> tuple[Integers, Integers, Integers]:
    """Find the places behind parts of a ladder where the rest of a region goes on.

    Gives the part, the place behind it and the part that is the rest.
    """
    mine = np.flatnonzero(columns[parents] == c)
    first, last = part.first[c], part.last[c]
    step = axis.step(first, last)
    whole = axis.begins[step, first][parents[mine]]
    rests = mine[begins[mine] == whole]
    rest = np.full(len(columns), -1)
    rest[parents[rests]] = rests
    parted = mine[(begins[mine] != whole) & (rest[parents[mine]] >= 0)]
    owners = parents[parted]
    behind = axis.ends[np.minimum(step + 1, len(axis.begins) - 1)[owners], begins[parted]] + 1
    return parted, behind, rest[owners]


def _in_two(
    columns: Integers, starts: Integers, sizes: Integers, begins: Integers, targets: Integers
) -> Integers:
    """Turn cuts into many parts into cuts into two, balanced; the first of each keeps its place."""
    cuts = np.zeros((int(np.maximum(sizes - 1, 0).sum()), 4), dtype=np.int64)
    ids, low, high = np.arange(len(columns)), starts, starts + sizes
    taken = len(columns)
    while len(ids):
        middle = (low + high) // 2
        cuts[ids, 0], cuts[ids, 1] = columns, begins[middle]
        ahead = []
        for side, (a, b) in enumerate(((low, middle), (middle, high))):
            many = b - a > 1
            found = targets[a]
            found[many] = taken + np.arange(many.sum())
            taken += int(many.sum())
            cuts[ids, 2 + side] = found
            ahead.append((found[many], a[many], b[many], columns[many]))
        ids, low, high, columns = (np.concatenate(pair) for pair in zip(*ahead, strict=True))
    return _downward(cuts)


def _downward(cuts: Integers) -> Integers:
    """Number cuts such that every way leads to larger numbers."""
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
    found = cuts[rows]
    ways = found[:, 2:]
    found[:, 2:] = np.where(ways >= 0, number[np.maximum(ways, 0)], ways)
    return found
