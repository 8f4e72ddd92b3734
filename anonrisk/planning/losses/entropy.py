"""The bits that a cell loses (T11), as a share of those that a cell of its column has."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.planning.losses.base import CellLoss, entropy_of

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.planning.losses.base import GroupedColumn, Scale


@dataclass(frozen=True)
class EntropyLoss(CellLoss):
    """A cell of the group B tells log₂(n/n(B)) bits, and loses what that lacks of the mean H(X).

    1 − log₂(n/n(B)) / H(X): nothing on average where values stay, 1 where all are together, and
    less than nothing in a rare group, which tells more than a cell does on average. Over a table it
    adds up to −log₂ Pr(x | B) by record, since Σ log₂ n(x) is the same for every plan. A column of
    one value loses nothing.
    """

    word: ClassVar[str] = "entropy"

    def of_groups(self, column: GroupedColumn) -> Floats:
        """Count the records of each group."""
        held = np.bincount(column.groups, column.margin, column.n_groups)
        return _losses(held, int(column.margin.sum()), entropy_of(column.margin))

    def along(self, scale: Scale) -> EntropySpan:
        """Count the records up to each position."""
        up_to = np.concatenate(([0], np.cumsum(scale.records)))
        several = bool(np.count_nonzero(scale.margin[:-1]) > 1)
        return EntropySpan(up_to, entropy_of(scale.margin), several)


@dataclass(frozen=True)
class EntropySpan:
    """Records up to each position of a scale, and the bits of its column."""

    up_to: Integers
    bits: float
    # Whether the column has more than one number, so that all of them together are a star.
    several: bool

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Count the records between; a star, of all numbers or with missing ones, tells nothing."""
        missing = len(self.up_to) - 2
        n = int(self.up_to[-1])
        star = (first < last) & (last == missing)
        if self.several:
            star |= (first == 0) & (last == missing - 1)
        held = np.where(star, n, self.up_to[last + 1] - self.up_to[first])
        return _losses(held, n, self.bits)


def _losses(held: Floats | Integers, n: int, bits: float) -> Floats:
    if bits == 0:
        return np.zeros(len(held))
    return np.asarray(1 - np.log2(n / np.maximum(held, 1)) / bits)
