"""The part of a column's range, or of the leaves of its hierarchy, that a cell covers (T9)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.tally import DATES
from anonrisk.measures.recode import Keep, Level, Star, TopBottom
from anonrisk.measures.recode.labels import extent
from anonrisk.planning.losses.base import CellLoss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.measures.counts.tally import Domain
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.losses.base import GroupedColumn, Scale


@dataclass(frozen=True)
class RangeLoss(CellLoss):
    """(U − L) / range of an interval, (leaves − 1) / (all leaves − 1) of a node (Iyengar 2002)."""

    word: ClassVar[str] = "range"

    def of_groups(self, column: GroupedColumn) -> Floats:
        """Read what labels cover; what is missing stays itself."""
        known = column.groups[:-1]
        n_known = column.n_groups - (column.recoding.for_missing is None)
        losses = _known(column.recoding, column.domain, known, n_known, column.labels)
        return np.append(losses, np.zeros(column.n_groups - n_known))

    def along(self, scale: Scale) -> RangeSpan:
        """Remember what each position covers."""
        return RangeSpan(scale.least, scale.largest)


@dataclass(frozen=True)
class RangeSpan:
    """The least and the largest number that each position of a scale stands for."""

    least: Floats
    largest: Floats

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return the part of the range between; missing values stay alone, or all is lost."""
        missing = len(self.least)
        known = np.minimum(last, missing - 1)
        spread = self.largest[-1] - self.least[0]
        covered = np.maximum(self.largest[known] - self.least[np.minimum(first, known)], 0.0)
        shares = covered / spread if spread > 0 else np.zeros(len(first))
        return np.where(last < missing, shares, np.where(first == last, 0.0, 1.0))


def _known(
    recoding: Recoding,
    domain: Domain,
    groups: Integers,
    n_groups: int,
    labels: Sequence[str] | None,
) -> Floats:
    """Return what a cell of each group loses, between 0 and 1."""
    if isinstance(recoding, Keep):
        return np.zeros(n_groups)
    if isinstance(recoding, Star):
        return np.ones(n_groups)
    if isinstance(recoding, Level) and recoding.hierarchy is not None:
        return _node_losses(recoding.hierarchy, recoding.mapping(), labels or [])
    if isinstance(recoding, TopBottom):
        return _spread(domain, groups, n_groups)
    if domain.is_scale and labels is not None:
        return np.array([interval_loss(label, domain) for label in labels])
    return _shared(groups, n_groups)


def interval_loss(label: str, domain: Domain) -> float:
    """Return the part of the range of a column that a label covers: (U − L) / range."""
    read = extent(label, dates=domain.kind in DATES, whole=domain.kind == "whole")
    if read is None or not len(domain):
        return 1.0
    low, high = replace(domain, values=domain.values[[0, -1]]).positions().tolist()
    covered = min(read[1], high) - max(read[0], low)
    return max(covered, 0.0) / (high - low) if high > low else 0.0


def _node_losses(hierarchy: Hierarchy, mapping: dict[str, str], labels: Sequence[str]) -> Floats:
    """Return the part of the leaves that hang below each label: (leaves − 1) / (all leaves − 1)."""
    below: dict[str, int] = {}
    for label in mapping.values():
        below[label] = below.get(label, 0) + 1
    scale = max(len(hierarchy.leaves) - 1, 1)
    return np.array([(below[label] - 1) / scale for label in labels])


def _shared(groups: Integers, n_groups: int) -> Floats:
    """Take the values that occur for the leaves."""
    members = np.bincount(groups, minlength=n_groups)
    return np.maximum(members - 1, 0) / max(len(groups) - 1, 1)


def _spread(domain: Domain, groups: Integers, n_groups: int) -> Floats:
    places = domain.positions()
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, groups, places)
    np.maximum.at(high, groups, places)
    spread = float(places[-1] - places[0]) if len(places) else 0.0
    return np.asarray((high - low) / spread) if spread > 0 else np.zeros(n_groups)
