"""The classes of a table as codes: a small thing that stands for a large one.

It is made by an engine and holds the values of columns, so it never goes into a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.counts.domain import Domain


@dataclass(frozen=True)
class Tally:
    """The classes of some columns: for each its codes, and how many records it has."""

    domains: dict[Name, Domain]
    codes: dict[Name, NDArray[np.int64]]
    counts: NDArray[np.int64]

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.counts)

    def margin(self, name: Name) -> NDArray[np.int64]:
        """Count the records of each value of a column, missing last."""
        sums = np.bincount(self.codes[name], self.counts, len(self.domains[name]) + 1)
        return np.rint(sums).astype(np.int64)

    def only(self, names: Sequence[Name]) -> Tally:
        """Add up the classes that are alike in some of the columns."""
        sizes = [len(self.domains[name]) + 1 for name in names]
        codes = [self.codes[name] for name in names]
        keys, _ = radix.keys_of(zip(codes, sizes, strict=True))
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        counts = np.rint(np.bincount(number, self.counts)).astype(np.int64)
        return Tally(
            {name: self.domains[name] for name in names},
            {name: self.codes[name][first] for name in names},
            counts,
        )


@dataclass(frozen=True)
class Margins(Tally):
    """The values of some columns, each counted for itself: `codes` has one for each value."""

    counted: dict[Name, NDArray[np.int64]]

    def margin(self, name: Name) -> NDArray[np.int64]:
        """Count the records of each value of a column, missing last."""
        return self.counted[name]

    @classmethod
    def of(cls, columns: Mapping[Name, Tally]) -> Margins:
        """Put tallies of single columns side by side."""
        domains = {name: tally.domains[name] for name, tally in columns.items()}
        codes = {name: np.arange(len(domain) + 1) for name, domain in domains.items()}
        counted = {name: tally.margin(name) for name, tally in columns.items()}
        whole = next(iter(columns.values())).counts
        return cls(domains, codes, whole, counted)


@dataclass(frozen=True)
class PlacedTally:
    """The classes of regions, columns by place.

    Attributes
    ----------
    regions, places, counts
        The region of each class, its place in each column, and how many records it has.
    values : dict of column to (Domain, array)
        Of other columns the values that occur, and that of each class.
    """

    regions: NDArray[np.int64]
    places: list[NDArray[np.int64]]
    counts: NDArray[np.int64]
    values: dict[Name, tuple[Domain, NDArray[np.int64]]]
