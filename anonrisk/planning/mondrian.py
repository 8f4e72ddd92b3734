"""Mondrian: a table cut into regions, each as small as its limits allow.

LeFevre, DeWitt & Ramakrishnan (2006), strict: whatever is equal stays together. Every round looks
at all regions at once; counts are of distinct combinations, so that nothing is done by record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.planning.region_cuts import proposals
from anonrisk.planning.region_part import RegionPart, keeping
from anonrisk.planning.region_tree import RegionTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.planning.axes import Axis
    from anonrisk.planning.region_part import CutRule
    from anonrisk.planning.region_tree import Partition


def partition(
    axes: Sequence[Axis], positions: Sequence[Integers], counts: Integers, rule: CutRule
) -> Partition:
    """Cut until no cut leaves what the rule asks for on every side.

    Parameters
    ----------
    axes, positions
        The columns, and where each combination of their values is on them.
    counts : array
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

    What is smaller than `small` is left as it is.
    """
    while len(uids):
        # Fewer than twice k cannot be cut.
        many = part.sizes >= max(2 * rule.k, small)
        made.leave(uids[~many], part.only(~many), axes)
        part, uids = part.only(many), uids[many]
        column, begins = _cut(part, axes, rule)
        cut = column >= 0
        made.leave(uids[~cut], part.only(~cut), axes)
        uids, part = made.parted(uids, part, axes, column, begins)


def _cut(part: RegionPart, axes: Sequence[Axis], rule: CutRule) -> tuple[Integers, Integers]:
    """Choose the column of each region, -1 for none; and the begin of each combination's part."""
    made = proposals(part, axes, rule)
    column, begins = np.full(len(part.sizes), -1), np.zeros(len(part.owners), dtype=np.int64)
    if not made:
        return column, begins
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
    return np.where(scores.max(axis=0) > 0, np.argmax(scores, axis=0), -1)
