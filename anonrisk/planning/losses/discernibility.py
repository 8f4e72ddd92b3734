"""How many others a record cannot be told from: the squares of class sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.planning.losses.base import ClassLoss

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats
    from anonrisk.planning.losses.base import GroupedClasses


@dataclass(frozen=True)
class DiscernibilityLoss(ClassLoss):
    """A record in a class of s of n loses s/n: (Σ s² + n·suppressed) / n² in all.

    Two classes that become one have (a + b)² ≥ a² + b².
    """

    word: ClassVar[str] = "discernibility"

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Give the share of the table that each class is."""
        return np.asarray(classes.sizes / classes.sizes.sum())

    def least_added(self, largest: int, n: int) -> float:
        """Take the largest class: its records have least to lose."""
        return max(n - largest, 0) / n
