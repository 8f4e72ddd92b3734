"""A full-domain plan refined by region: its classes are cut further, each for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts.domain import DATES
from anonrisk.planning.axes import Ladder, ruler
from anonrisk.planning.lattice import Choice
from anonrisk.planning.mondrian import cut_further
from anonrisk.planning.region_part import RegionPart, keeping
from anonrisk.planning.region_tree import RegionTree
from anonrisk.recode.labels import extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Name
    from anonrisk.counts.domain import Domain
    from anonrisk.counts.tally import Tally
    from anonrisk.planning.axes import Axis
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
    axis: Axis, recoding: Recoding, tally: Tally, name: Name, k: int
) -> tuple[Axis, Integers] | None:
    """Give an axis on which the groups of a recoding stand together, with their begins.

    None where they do not, as numbers that are kept among edges that are wider apart.
    """
    domain = tally.domains[name]
    if not isinstance(axis, Ladder):
        axis = ruler(domain, sorted({*axis.edges.tolist(), *_edges(recoding, domain)}))
    groups = Choice.of(recoding, tally, name).groups
    occurs = tally.margin(name) > 0
    order = np.argsort(axis.place[occurs], kind="stable")
    place, group = axis.place[occurs][order], groups[occurs][order]
    new = np.append(True, group[1:] != group[:-1])
    apart = np.append(True, place[1:] != place[:-1])
    if new.sum() > len(np.unique(group)) or (new & ~apart).any():
        return None
    starts = place[new]
    if not isinstance(axis, Ladder):
        # As with other edges: one that parts fewer than k records from all others tells of them.
        before = np.concatenate(([0], np.cumsum(tally.margin(name)[occurs][order])))
        below = before[np.flatnonzero(new)]
        starts = starts[(below == 0) | ((below >= k) & (before[-1] - below >= k))]
    begun = np.searchsorted(starts, np.arange(axis.size), side="right") - 1
    return axis, starts[np.maximum(begun, 0)]


def _edges(recoding: Recoding, domain: Domain) -> list[float]:
    """List where the labels of a recoding begin, but for the first."""
    _, labels = recoding.groups(domain)
    reads: dict[str, Any] = {"dates": domain.kind in DATES, "whole": domain.kind == "whole"}
    ends = [extent(label, **reads) for label in labels or ()]
    low = float(domain.positions()[0]) if len(domain) else 0.0
    return [end[0] for end in ends if end is not None and end[0] > low]
