"""Classes beside a population: matched with it, weighted, or drawn in clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from anonrisk.core import radix
from anonrisk.core.arguments import not_negative
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.core.results import Document, Interval
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.tally import Tally

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


@dataclass(frozen=True, eq=False)
class ClusteredClasses:
    """Which clusters the records of each class come from, without any value.

    A part is what one cluster has in one class.

    Attributes
    ----------
    sizes : ClassCounts
        How many classes there are of each size.
    class_of, cluster_of, members : array of int (n_parts,)
        For each part the number of its class, that of its cluster, and its records.
    cluster : name
        The column that tells clusters apart.
    """

    sizes: ClassCounts
    class_of: Integers
    cluster_of: Integers
    members: Integers
    cluster: Name

    @classmethod
    def of(cls, tally: Tally, cluster: Name, *, missing: str = "value", n_dropped: int = 0) -> Self:
        """Take a tally of the quasi-identifiers and the cluster apart."""
        qid = tuple(name for name in tally.codes if name != cluster)
        columns = [(tally.codes[name], len(tally.domains[name]) + 1) for name in qid]
        class_of, n_classes = radix.renumbered(radix.keys_of(columns)[0])
        sizes, classes = np.unique(
            np.bincount(class_of, tally.counts, n_classes).astype(np.int64), return_counts=True
        )
        return cls(
            ClassCounts(sizes, classes, qid=qid, missing=missing, n_dropped=n_dropped),
            class_of,
            radix.renumbered(tally.codes[cluster])[0],
            tally.counts,
            cluster,
        )

    @property
    def n(self) -> int:
        """Number of records."""
        return self.sizes.n_records

    @property
    def people(self) -> Integers:
        """Number of records of each cluster."""
        return np.bincount(self.cluster_of, self.members).astype(np.int64)

    @property
    def together(self) -> float:
        """Number of records that somebody's cluster has, on average over people."""
        return float((self.people.astype(float) ** 2).sum()) / self.n

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster_of.max()) + 1
