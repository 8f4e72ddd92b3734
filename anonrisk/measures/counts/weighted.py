"""Classes with the weights of a sample, and beside what independent columns would give."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_sizes import ClassCounts

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WeightedClasses:
    """What an engine gives of a table with sampling weights.

    Attributes
    ----------
    sizes : ClassCounts
        The classes of the table.
    total, pairs : float
        Sum of all weights, and of those of records in classes of two.
    singles, all : float
        Sum of the risks E(1/F) of singletons, and of all records.
    highest : float
        The highest risk of a record.
    lowest_weight, highest_weight : float
        The least and the largest weight.
    """

    sizes: ClassCounts
    total: float
    pairs: float
    singles: float
    all: float
    highest: float
    lowest_weight: float
    highest_weight: float

    @property
    def equal(self) -> bool:
        """Whether all weights are the same, so that everybody had the same chance."""
        return self.highest_weight <= self.lowest_weight * (1 + 1e-9)


@dataclass(frozen=True, eq=False)
class Independence:
    """What an engine gives of a table for the model in which its columns are independent.

    μ is the model's mean of a cell in the table, m = μ (1 − f)/f that of the people of the cell
    who are not in the table.

    Attributes
    ----------
    unique, match : float
        Sums over singletons of exp(−m) and of (1 − exp(−m))/m.
    observed : float
        Sum over the classes of their part of the statistic B of fit.
    margins : sequence of (counts, values)
        For each column the counts that its values have, and how many values have each.
    """

    unique: float
    match: float
    observed: float
    margins: Sequence[tuple[Floats, Floats]]
