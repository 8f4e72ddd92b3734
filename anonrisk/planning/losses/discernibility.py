"""How many others a record cannot be told from: the squares of class sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.planning.losses.base import ClassLoss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.losses.base import GroupedClasses
    from anonrisk.planning.regions.part import RegionPart


@dataclass(frozen=True)
class DiscernibilityLoss(ClassLoss):
    """A record in a class of s of n loses s/n: (Σ s² + n·suppressed) / n² in all.

    Two classes that become one have (a + b)² ≥ a² + b².
    """

    word: ClassVar[str] = "discernibility"

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Return the share of the table that each class is."""
        return np.asarray(classes.sizes / classes.sizes.sum())

    def of_parts(self, values: Sequence[Integers]) -> SquaredSizes:  # noqa: ARG002
        """Look at nothing but sizes."""
        return SquaredSizes()

    def mean(self, classes: Integers, tally: Tally) -> float:
        """Square the sizes of classes."""
        return float((np.bincount(classes, tally.counts) ** 2).sum()) / tally.n_records**2

    def least_added(self, largest: int, n: int) -> float:
        """Take the largest class: its records have least to lose."""
        return max(n - largest, 0) / n


class SquaredSizes:
    """Pairs of records that nobody can tell apart: n² of a part, so that every cut gains."""

    def lost(self, parts: Integers, counts: Integers, rows: Integers) -> Floats:  # noqa: ARG002
        """Square the sizes of parts."""
        return np.asarray(np.bincount(parts, counts) ** 2, dtype=np.float64)

    def sides(
        self,
        part: RegionPart,  # noqa: ARG002
        column: int,  # noqa: ARG002
        below: Integers,
        above: Integers,
    ) -> tuple[Floats, Floats]:
        """Square the sizes of both sides."""
        return below.astype(np.float64) ** 2, above.astype(np.float64) ** 2
