"""A full-domain plan refined by region: its classes are cut further, each for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts.domain import DATES
from anonrisk.engines.numpy.count import runs_of
from anonrisk.errors import PlanError
from anonrisk.planning.axes import Ladder, ruler
from anonrisk.planning.losses.base import GroupedColumn
from anonrisk.planning.losses.choose import RANGE
from anonrisk.planning.mondrian import cut_further
from anonrisk.planning.region_part import RegionPart, keeping
from anonrisk.planning.region_tree import RegionTree
from anonrisk.recode import Star
from anonrisk.recode.labels import extent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Name
    from anonrisk.counts.tally import Tally
    from anonrisk.planning.axes import Axis, Ruler
    from anonrisk.planning.region_part import CutRule
    from anonrisk.planning.region_tree import Partition
    from anonrisk.recode import Recoding


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
    begins : sequence of arrays
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
    """Give axes on which the groups of recodings stand together, and where each group begins."""
    found = [
        _fitted(axis, recoding, tally, name, k)
        for axis, (name, recoding) in zip(axes, recodings.items(), strict=True)
    ]
    return [axis for axis, _ in found], [begins for _, begins in found]


def _fitted(
    axis: Axis, recoding: Recoding, tally: Tally, name: Name, k: int
) -> tuple[Axis, Integers]:
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
            raise PlanError(f"what column {name!r} becomes is no step of the way up that it has")
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
