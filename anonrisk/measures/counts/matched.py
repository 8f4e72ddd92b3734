"""Classes of a release beside those of the population that it was drawn from, and risks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from anonrisk.core.arguments import not_negative
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.core.results import Document, Interval
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_sizes import ClassCounts

    Floats: TypeAlias = NDArray[np.float64]

# Risks of households are not one over a whole number: they are kept on a grid of this many steps,
# rounded up.
GRID = 100_000
# 1/5 > 0.2 must not turn on the last bit of a division.
ABOVE = 1 + 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Attacker(Document, PrintedFields):
    """The risk that one attacker is to the records of a table.

    Where it is counted, an interval has two equal ends; where it is bounded, from a sample, the
    numbers are upper ends.

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
    _document = ("highest", "average")

    def share_above(self, threshold: float) -> float:
        """Share of the records whose risk is strictly greater than a threshold.

        Risks of households are rounded up to the next 0.00001, so that the share
        is exact at thresholds of five decimals and never too small at others.
        """
        limit = not_negative(threshold, "the threshold")
        if self.risks is None or self.records is None:
            raise ArgumentError(f"the {self.name} has only an average")
        above = self.risks > limit * ABOVE
        return float(self.records[above].sum() / self.records.sum())

    @property
    def average_interval(self) -> Interval:
        """Least and largest average."""
        return Interval(self.average, self.average)

    @property
    def highest_interval(self) -> Interval | None:
        """Least and largest risk of the record at most risk; a marketer has none."""
        return None if self.highest is None else Interval(self.highest, self.highest)

    def share_interval(self, threshold: float) -> Interval:
        """Least and largest share of the records whose risk is above a threshold."""
        share = self.share_above(threshold)
        return Interval(share, share)


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
        The risks 1/F that occur, and how many records of the release have each.
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
