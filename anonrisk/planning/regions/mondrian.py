"""Mondrian: a table cut into regions, each as small as its limits allow.

LeFevre, DeWitt & Ramakrishnan (2006), strict: whatever is equal stays together. Every round looks
at all regions at once; counts are of distinct combinations, so that nothing is done by record.

The lengths of arrays, n_rows, n_regions, n_parts and n_pairs, are named in `regions.part`. What all
columns have together is a list with an array per column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import time_is_up
from anonrisk.engines.numpy.count import runs_of
from anonrisk.planning.regions.axes import Ladder, RegionTree
from anonrisk.planning.regions.part import RegionPart, keeping, lost_apart, runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.planning.regions.axes import Axis, Partition, Ruler
    from anonrisk.planning.regions.part import CutRule


# Scores that agree to so many digits are the same, and the earlier column is taken: few enough to
# hide what the order of a sum leaves, so that another processor or version of numpy cuts alike.
_DIGITS = 12
# What a region counts as losing that loses nothing, or less. Any number above 0 will do that
# _DIGITS shows: by the median, a column without a score cannot be cut.
_LEAST = 1e-9
# What rounding may leave of no gain in a region of thousands of records. Where it leaves more, a
# cut is made that gains nothing; it keeps to every limit as others do.
_NO_GAIN = 1e-12
# What cells weigh beside a loss of classes: enough to choose between cuts that gain the same of it.
# Chosen: squared sizes gain whole numbers and cells n at most, so that these weigh less than one
# of those up to a million records.
_OF_CELLS = 1e-6


@dataclass(frozen=True)
class ProposedCut:
    """The best way to cut each region along one column; a score of 0 where there is none."""

    column: int
    axis: Axis
    # (n_regions,)
    scores: Floats
    # (n_regions,): of a ladder the step to go down to, of a ruler the position to cut at.
    at: Integers
    # Of a ladder the parts that stay together, as number of the region times size plus begin,
    # ascending; of a ruler none.
    rest: Integers

    def begins(self, parts: Integers, position: Integers) -> Integers:
        """Return the begin of the part that each combination goes to.

        `parts`, the region of each, `position` and the result are (n_rows,).
        """
        at = self.at[parts]
        if not isinstance(self.axis, Ladder):
            return np.where(position >= at, at, 0)
        begins = self.axis.begins[at, position]
        if not len(self.rest):
            return begins
        keys = parts * self.axis.size + begins
        place = np.minimum(np.searchsorted(self.rest, keys), len(self.rest) - 1)
        return np.where(self.rest[place] == keys, self.axis.begins[at - 1, position], begins)


def proposals(part: RegionPart, axes: Sequence[Axis], rule: CutRule) -> list[ProposedCut]:
    """Propose ways to cut regions; with limits, numbers also in the middle, which may keep them."""
    made = []
    loss = rule.classes
    # (n_regions,), or nothing where cells alone count.
    lost = np.zeros(0) if loss is None else loss.lost(part.owners, part.counts, part.rows)
    for c, axis in enumerate(axes):
        if rule.weights[c] <= 0 or not (part.first[c] < part.last[c]).any():
            continue
        seen = _Occurring.in_regions(part, c, axis)
        if isinstance(axis, Ladder):
            made.append(_down(seen, axis, part, rule, lost))
        else:
            ways = {rule.median, rule.median or bool(rule.limits)}
            made += [
                _across(seen, axis, part, rule, lost, middle=middle) for middle in sorted(ways)
            ]
    return made


@dataclass(frozen=True)
class _Occurring:
    """The positions of one column that occur in each region, with their records.

    Attributes
    ----------
    owners, position, counts : array (n_pairs,)
        The region and the position of each pair, in order of both, and its records.
    sizes, first, last, before : array (n_regions,)
        The records of each region, its first and last position, and what a cell loses as it is.
    """

    column: int
    owners: Integers
    position: Integers
    counts: Integers
    sizes: Integers
    first: Integers
    last: Integers
    before: Floats

    @classmethod
    def in_regions(cls, part: RegionPart, c: int, axis: Axis) -> _Occurring:
        """Add up the records of each position."""
        owners, position, counts = runs(part.owners, part.positions[c], axis.size, part.counts)
        first, last = part.first[c], part.last[c]
        before = axis.losses(first, last)
        return cls(c, owners, position, counts, part.sizes, first, last, before)

    def scored(self, gained: Floats, rule: CutRule) -> Floats:
        """Score cuts by what they gain, or all alike by what the region loses; (n_regions,) all."""
        # A rare part may lose less than nothing, and can be cut all the same.
        lost = np.maximum(self.before, _LEAST)
        scores = np.where(gained > 0, lost, 0.0) if rule.median else gained
        return np.round(scores * rule.weights[self.column], _DIGITS)


def _down(
    seen: _Occurring, axis: Ladder, part: RegionPart, rule: CutRule, lost: Floats
) -> ProposedCut:
    """Go one step down: parts of it that keep to k and the limits go, the rest stays together.

    `lost` is (n_regions,), what regions lose as a whole, if the rule looks at that.
    """
    # (n_regions,): the step that a region is on, and the one below it.
    step = axis.step(seen.first, seen.last)
    lowest = len(axis.begins) - 1
    at = np.minimum(step + 1, lowest)
    # (n_pairs,), and from `starts` on (n_parts,): pairs that have the same begin are one part.
    begins = axis.begins[at[seen.owners], seen.position]
    keys = seen.owners * axis.size + begins
    starts = runs_of(keys)
    keys = keys[starts]
    source, counts = seen.owners[starts], np.add.reduceat(seen.counts, starts)
    ends = np.append(starts[1:], len(begins)) - 1
    losses = axis.losses(seen.position[starts], seen.position[ends])
    # `of_rows` is (n_rows,): the begin of the part that each combination would go to.
    broken, of_rows = counts < rule.k, axis.begins[at[part.owners], part.positions[seen.column]]
    if rule.limits:
        broken |= ~keeping(part, of_rows, axis.size, rule.limits)[1]
    stays = _rest(source, counts, broken, rule.k)
    if rule.limits and stays.any():
        rows = stays[np.searchsorted(keys, part.owners * axis.size + of_rows)]
        alone = part.rows_in(rows)
        owners, holds = keeping(alone, np.zeros_like(alone.owners), 1, rule.limits)
        stays = _rest(source, counts, broken, rule.k, more=owners[~holds])
    # (n_regions,): the records that stay together, what is lost after the cut, the bits of it.
    kept = np.bincount(source, np.where(stays, counts, 0), len(step))
    left = np.bincount(source, np.where(stays, 0, counts * losses), len(step)) + kept * seen.before
    parted = np.where(stays, 1, counts)
    spent = np.bincount(
        source, np.where(stays, 0, counts * np.log2(seen.sizes[source] / parted)), len(step)
    )
    bits: Floats = np.asarray(spent + kept * np.log2(seen.sizes / np.maximum(kept, 1)))
    gain = seen.sizes * seen.before - left
    if rule.classes is not None:
        rows = stays[np.searchsorted(keys, part.owners * axis.size + of_rows)]
        parts = np.where(rows, axis.size, of_rows)
        current = lost_apart(part, parts, axis.size + 1, rule.classes)
        gain = lost - current + _OF_CELLS * gain
    gained = _per_bit(gain, bits, (step < lowest) & (kept < seen.sizes))
    return ProposedCut(seen.column, axis, seen.scored(gained, rule), at, keys[stays])


def _rest(
    parts: Integers, counts: Integers, broken: Booleans, k: int, more: Integers | None = None
) -> Booleans:
    """Return which parts stay together: those that cannot go, and of the smallest enough for k.

    `parts`, the region of each part, `counts`, `broken` and the result are (n_parts,). Regions of
    which `more`, their numbers, is asked keep one part more.
    """
    # Of every region those that cannot go first, then the smallest.
    order = np.lexsort((counts, ~broken, parts))
    owners, ordered, first = parts[order], counts[order], broken[order]
    starts = runs_of(owners)
    sizes = np.diff(starts, append=len(parts))
    before = np.cumsum(ordered) - ordered
    before -= np.repeat(before[starts], sizes)
    result = np.repeat(first[starts], sizes) & (first | (before < k))
    if more is not None:
        staying = np.add.reduceat(result.astype(np.int64), starts)
        longer = np.isin(owners[starts], more) & (staying < sizes)
        result[(starts + staying)[longer]] = True
    stays = np.empty(len(parts), dtype=bool)
    stays[order] = result
    return stays


def _across(
    seen: _Occurring, axis: Ruler, part: RegionPart, rule: CutRule, lost: Floats, *, middle: bool
) -> ProposedCut:
    """Cut between two positions that occur; missing values are above all, alone or not.

    `lost` is (n_regions,), what regions lose as a whole, if the rule looks at that.
    """
    # (n_pairs,): the records up to a position, those above it, and the next position.
    below = np.cumsum(seen.counts)
    starts = runs_of(seen.owners)
    below -= (below - seen.counts)[starts][seen.owners]
    above = seen.sizes[seen.owners] - below
    following = np.append(seen.position[1:], 0)
    fit = (below >= rule.k) & (above >= rule.k)
    # The last position of a region has nothing above it, and thus does not fit.
    places = np.flatnonzero(fit)
    scores, at = np.zeros(len(seen.sizes)), np.zeros(len(seen.sizes), dtype=np.int64)
    if not len(places):
        return ProposedCut(seen.column, axis, scores, at, at[:0])
    # (n_places,), the pairs behind which a cut fits.
    source, low, high = seen.owners[places], below[places], above[places]
    n = seen.sizes[source]
    left = low * axis.losses(seen.first[source], seen.position[places])
    left = left + high * axis.losses(following[places], seen.last[source])
    bits = low * np.log2(n / low) + high * np.log2(n / high)
    gain = n * seen.before[source] - left
    if rule.classes is not None:
        current = np.add(*rule.classes.sides(part, seen.column, below, above))[places]
        gain = lost[source] - current + _OF_CELLS * gain
    gained = _per_bit(gain, bits, np.ones(len(source), dtype=bool))
    rank = np.where(gained > 0, np.minimum(low, high), 0) if middle else np.round(gained, _DIGITS)
    starts = runs_of(source)
    best = np.maximum.reduceat(rank, starts)
    top = np.flatnonzero(rank == np.repeat(best, np.diff(starts, append=len(source))))
    top = top[runs_of(source[top])]
    scores[source[top]], at[source[top]] = gained[top], following[places][top]
    scores = seen.scored(scores, rule)
    return ProposedCut(seen.column, axis, scores, at, at[:0])


def _per_bit(gain: Floats, bits: Floats, fit: Booleans) -> Floats:
    """Return what each cut gains per bit; 0 where it does not fit or gains nothing."""
    useful = fit & (gain > _NO_GAIN) & (bits > 0)
    return np.where(useful, gain, 0.0) / np.where(useful, bits, 1.0)


def partition(
    axes: Sequence[Axis], positions: Sequence[Integers], counts: Integers, rule: CutRule
) -> Partition:
    """Cut until no cut leaves what the rule asks for on every side.

    Parameters
    ----------
    axes, positions : sequence of Axis, sequence of array (n_combinations,)
        The columns, and where each combination of their values is on them.
    counts : array (n_combinations,)
        How many records each combination has.
    rule : CutRule
        What every region must keep to, and which cut is taken.
    """
    made = RegionTree()
    whole = np.zeros(1, dtype=np.int64)
    rows = np.arange(len(counts))
    cut_further(
        made, whole, RegionPart.of(np.zeros_like(rows), rows, positions, counts), axes, rule
    )
    return made.partition()


def cut_further(
    made: RegionTree,
    uids: Integers,
    part: RegionPart,
    axes: Sequence[Axis],
    rule: CutRule,
    *,
    small: int = 0,
) -> None:
    """Cut regions of a tree, which have these numbers, until no cut leaves what the rule asks.

    `uids` is (n_regions,), in order of the part's. What is smaller than `small` is left as it is,
    and so is everything where the time is up: what was cut by then keeps to the rule.
    """
    while len(uids):
        if time_is_up("the cuts of regions"):
            made.leave(uids, part, axes)
            return
        # Fewer than twice k cannot be cut.
        many = part.sizes >= max(2 * rule.k, small)
        made.leave(uids[~many], part.only(~many), axes)
        part, uids = part.only(many), uids[many]
        column, begins = _cut(part, axes, rule)
        cut = column >= 0
        made.leave(uids[~cut], part.only(~cut), axes)
        uids, part = made.parted(uids, part, axes, column, begins)


def _cut(part: RegionPart, axes: Sequence[Axis], rule: CutRule) -> tuple[Integers, Integers]:
    """Choose the column of each region, -1 for none; and the begin of each combination's part.

    Gives arrays (n_regions,) and (n_rows,).
    """
    made = proposals(part, axes, rule)
    column, begins = np.full(len(part.sizes), -1), np.zeros(len(part.owners), dtype=np.int64)
    if not made:
        return column, begins
    # (n_proposals, n_regions)
    scores = np.stack([proposal.scores for proposal in made])
    chosen, size = _best(scores), max(axis.size for axis in axes)
    fresh = chosen >= 0
    while fresh.any():
        for i in np.unique(chosen[fresh]).tolist():
            mine = (fresh & (chosen == i))[part.owners]
            positions = part.positions[made[i].column]
            begins[mine] = made[i].begins(part.owners[mine], positions[mine])
        broken = np.zeros(len(chosen), dtype=bool)
        if rule.limits:
            inside = fresh[part.owners]
            owners, kept = keeping(part.rows_in(inside), begins[inside], size, rule.limits)
            broken[owners[~kept]] = True
        # Regions whose best cut breaks a limit try their next.
        scores[chosen[broken], np.flatnonzero(broken)] = 0
        chosen[broken] = _best(scores[:, broken])
        fresh = broken & (chosen >= 0)
    columns = np.array([proposal.column for proposal in made])
    return np.where(chosen >= 0, columns[chosen], -1), begins


def _best(scores: Floats) -> Integers:
    """Return the first best proposal of each region, -1 for none, of (n_proposals, n_regions)."""
    return np.where(scores.max(axis=0) > 0, np.argmax(scores, axis=0), -1)
