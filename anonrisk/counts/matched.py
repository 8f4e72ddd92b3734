"""Classes of a release beside those of the population that it was drawn from, and risks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from anonrisk.core.arguments import not_negative
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anonrisk.counts.class_sizes import ClassCounts

    Floats: TypeAlias = NDArray[np.float64]

# Risks that are not one over a whole number are kept on a grid of this many steps, rounded up.
GRID = 100_000


@dataclass(frozen=True, eq=False)
class Attacker:
    """The risk that one attacker is to the records of a table.

    Attributes
    ----------
    name : str
        Prosecutor, journalist, marketer or household.
    average : float
        Mean risk of a record.
    highest : float or None
        Risk of the record at most risk; a marketer has none.
    risks, records : array, optional
        The risks that occur and how many records have each.
    """

    name: str
    average: float
    highest: float | None = None
    risks: Floats | None = None
    records: Floats | None = None

    def share_above(self, threshold: float) -> float:
        """Share of the records whose risk is strictly greater than a threshold.

        Risks from weights and of households are rounded up to the next 0.00001, so that the share
        is exact at thresholds of five decimals and never too small at others.
        """
        limit = not_negative(threshold, "the threshold")
        if self.risks is None or self.records is None:
            raise ArgumentError(f"the {self.name} has an average only")
        # 1/5 > 0.2 must not turn on the last bit of a division.
        above = self.risks > limit * (1 + 1e-9)
        return float(self.records[above].sum() / self.records.sum())


@dataclass(frozen=True)
class Presence:
    """Least and largest share of a population class that is in the release (δ-presence)."""

    lowest: float
    highest: float


@dataclass(frozen=True, eq=False)
class Matched:
    """The classes of a release beside their sizes F in the population.

    Attributes
    ----------
    sizes : ClassCounts
        The classes of the release.
    risks, records : array
        The risks 1/F that occur, and how many records of the release have each; F that are sums of
        weights are on a grid, rounded up.
    smallest : float
        Least F of a class that the release has.
    total : float
        Sum of F over the classes that the release has.
    matches : float
        Sum of f/F over them: how many correct matches to expect.
    presence : Presence
        Least and largest f/F over the classes of the population.
    """

    sizes: ClassCounts
    risks: Floats
    records: Floats
    smallest: float
    total: float
    matches: float
    presence: Presence
