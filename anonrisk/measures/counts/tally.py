"""The classes of a table as codes: a small thing that stands for a large one.

It is made by an engine and holds the values of columns, so it never goes into a result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name


# What the values of a column are, and how an array holds them: "whole" numbers as int64, a "number"
# as float64, a "date" as days and a "timestamp" as microseconds since 1970 in Greenwich, "text" and
# "boolean" ("true", "false") as str. "other" has an equality and nothing more.
NUMBERS = ("whole", "number")
DATES = ("date", "timestamp")
MICROSECONDS = 86_400_000_000


@dataclass(frozen=True)
class Domain:
    """The different values of a column, ascending; a code is a place among them.

    The code after the last stands for a missing value, whether one occurs or not.
    """

    kind: str
    values: NDArray[Any]
    # Whether close values were put together before they were counted.
    collapsed: bool = False

    def __len__(self) -> int:
        """Count the known values."""
        return len(self.values)

    @property
    def is_scale(self) -> bool:
        """Return whether values have distances."""
        return self.kind in NUMBERS or self.kind in DATES

    def positions(self) -> NDArray[np.float64]:
        """Return numbers that stand for the values: days for dates, else the numbers themselves."""
        if self.kind == "timestamp":
            return np.asarray(np.floor_divide(self.values, MICROSECONDS), dtype=np.float64)
        return np.asarray(self.values, dtype=np.float64)

    def only(self, chosen: NDArray[np.bool_]) -> Domain:
        """Return some of the values, in the same order."""
        return Domain(self.kind, self.values[chosen], self.collapsed)

    def texts(self) -> list[str]:
        """Write the values as a hierarchy knows them."""
        if self.kind == "whole":
            return [str(int(value)) for value in self.values]
        if self.kind == "date":
            return [str(day) for day in self.values.astype("datetime64[D]")]
        return [str(value) for value in self.values]


def typed(domain: Domain, kind: str) -> Domain:
    """Take values for what the type of their column says they are."""
    if kind == "other":
        return Domain(kind, np.arange(len(domain)))
    if kind == "timestamp":
        return replace(domain, kind=kind)
    return domain


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
