"""What a cell leaves unknown of a sensitive value."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.planning.losses.base import CellLoss

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.arrays import Floats
    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.losses.base import GroupedColumn


@dataclass(frozen=True)
class PrivateLoss(CellLoss):
    """A record of the group B loses −log Pr(y | B), on average H(Y | B).

    Mahiou & Nagle 4.5 (Goldberger & Tassa 2010); here as a share of the bits of as many equally
    likely values, so that a suppressed record, which tells nothing, loses 1. The print calls this
    loss Π_MI, the name of another one (4.4), which does not look at the sensitive value at all.

    Attributes
    ----------
    pairs : dict of column to Tally
        Of each column and the sensitive one.
    """

    pairs: Mapping[Name, Tally]
    word: ClassVar[str] = "private"

    def of_groups(self, column: GroupedColumn) -> Floats:
        """Count the sensitive values of each group."""
        pairs = self.pairs[column.name]
        (other,) = pairs.domains.keys() - {column.name}
        n_values = len(pairs.domains[other]) + 1
        keys = column.groups[pairs.codes[column.name]] * n_values + pairs.codes[other]
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        both = np.bincount(number, pairs.counts)
        group = (keys // n_values)[first]
        of_group = np.bincount(group, both, column.n_groups)
        bits = np.bincount(group, both * np.log2(of_group[group] / both), column.n_groups)
        present = len(np.unique(pairs.codes[other]))
        return np.asarray(bits / np.maximum(of_group, 1) / np.log2(max(present, 2)))
