"""What a generalised cell loses: of the range or the leaves (T9), or about a sensitive value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.counts.domain import DATES
from anonrisk.recode import Keep, Level, Star, TopBottom
from anonrisk.recode.labels import extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.core.columns import Name
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.counts.domain import Domain
    from anonrisk.counts.tally import Tally
    from anonrisk.recode import Recoding


def group_losses(
    recoding: Recoding,
    domain: Domain,
    groups: Integers,
    labels: Sequence[str] | None,
) -> Floats:
    """Give what a cell of each group loses, between 0 and 1."""
    n_groups = int(groups.max(initial=-1)) + 1 if labels is None else len(labels)
    if isinstance(recoding, Keep):
        return np.zeros(n_groups)
    if isinstance(recoding, Star):
        return np.ones(n_groups)
    if isinstance(recoding, Level) and recoding.hierarchy is not None:
        return node_losses(recoding.hierarchy, recoding.mapping(), labels or [])
    if isinstance(recoding, TopBottom):
        return _spread(domain, groups, n_groups)
    if domain.is_scale and labels is not None:
        return np.array([interval_loss(label, domain) for label in labels])
    return _shared(groups, n_groups)


def private_losses(groups: Integers, n_groups: int, name: Name, pairs: Tally) -> Floats:
    """Give what a cell of each group leaves unknown of a sensitive value, between 0 and 1.

    Parameters
    ----------
    groups : array
        The group of each value of the column, missing last.
    n_groups : int
        How many there are.
    name : name
        The column.
    pairs : Tally
        Of the column and the sensitive one.

    Notes
    -----
    Mahiou & Nagle 4.5 (Goldberger & Tassa 2010): a record of the group B loses −log Pr(y | B), on
    average H(Y | B); here as a share of the bits of as many equally likely values, so that a
    suppressed record, which tells nothing, loses 1. The print calls this loss Π_MI, the name of
    another one (4.4), which does not look at the sensitive value at all.
    """
    (other,) = pairs.domains.keys() - {name}
    n_values = len(pairs.domains[other]) + 1
    keys, counts = groups[pairs.codes[name]] * n_values + pairs.codes[other], pairs.counts
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    both = np.bincount(number, counts)
    group = (keys // n_values)[first]
    of_group = np.bincount(group, both, n_groups)
    bits = np.bincount(group, both * np.log2(of_group[group] / both), n_groups)
    present = len(np.unique(pairs.codes[other]))
    return np.asarray(bits / np.maximum(of_group, 1) / np.log2(max(present, 2)))


def interval_loss(label: str, domain: Domain) -> float:
    """Give the part of the range of a column that a label covers: (U − L) / range."""
    read = extent(label, dates=domain.kind in DATES, whole=domain.kind == "whole")
    if read is None or not len(domain):
        return 1.0
    low, high = replace(domain, values=domain.values[[0, -1]]).positions().tolist()
    covered = min(read[1], high) - max(read[0], low)
    return max(covered, 0.0) / (high - low) if high > low else 0.0


def node_losses(hierarchy: Hierarchy, mapping: dict[str, str], labels: Sequence[str]) -> Floats:
    """Give the part of the leaves that hang below each label: (leaves − 1) / (all leaves − 1)."""
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
