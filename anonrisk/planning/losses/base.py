"""What a loss is: of cells, by column, or of classes; either way a suppressed record loses 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

import numpy as np

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.arrays import Booleans, Floats, Integers
    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.tally import Domain, Tally
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.regions.part import PartLoss

# What rounding may leave of nothing, where losses are between 0 and 1.
_NOTHING = 1e-12


@dataclass(frozen=True)
class GroupedColumn:
    """A column with one recoding.

    Attributes
    ----------
    groups : array (n_values + 1,)
        The group of each value of the column, missing last.
    n_groups : int
        How many groups there are; missing values may have the last, or be in one of the others.
    labels : list of str or None
        The labels of the groups but that of missing values; None where values stay.
    margin : array (n_values + 1,)
        How many records have each value, missing last.
    """

    name: Name
    domain: Domain
    recoding: Recoding
    groups: Integers
    n_groups: int
    labels: Sequence[str] | None
    margin: Integers

    @classmethod
    def of(cls, recoding: Recoding, name: Name, domain: Domain, margin: Integers) -> GroupedColumn:
        """Apply a recoding; a missing value has a group of its own, or the only one."""
        known, labels = recoding.groups(domain)
        n_known = int(known.max(initial=-1)) + 1 if labels is None else len(labels)
        alone = recoding.for_missing is None
        groups = np.append(known, n_known if alone else 0)
        return cls(name, domain, recoding, groups, n_known + alone, labels, margin)

    def mean(self, losses: Floats) -> float:
        """Return what a cell loses on average where nobody is suppressed, from that of groups."""
        return float(tidy(losses[self.groups] @ self.margin / int(self.margin.sum())))


@dataclass(frozen=True)
class GroupedClasses:
    """The classes of a table with one recoding a column.

    Attributes
    ----------
    codes : list of array (n_classes,)
        The group that each class has of each column.
    groups : dict of column to array (n_values + 1,)
        The group of each value of a column, missing last.
    n_groups : list of int
        How many groups each column has.
    sizes : array (n_classes,)
        The records of each class.
    kept : array (n_classes,)
        Which classes are published.
    """

    codes: Sequence[Integers]
    groups: Mapping[Name, Integers]
    n_groups: Sequence[int]
    sizes: Integers
    kept: Booleans

    @property
    def columns(self) -> Qid:
        """The columns."""
        return tuple(self.groups)


class Span(Protocol):
    """What cells of a scale lose that is cut at edges."""

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return what a cell loses if these positions, and all between, are put together."""


@dataclass(frozen=True)
class Scale:
    """Positions between edges of a column of numbers or days, missing after the last.

    Attributes
    ----------
    least, largest : array (n_positions − 1,)
        The least and the largest number of the column that each position but the last stands for.
    records : array (n_positions,)
        How many records each position has.
    margin : array (n_values + 1,)
        How many records each value of the column has, missing last.
    """

    least: Floats
    largest: Floats
    records: Integers
    margin: Integers

    def counted(self, place: Integers, margin: Integers) -> Scale:
        """Count the records of each position anew, from those of each value."""
        sums = np.bincount(place, margin, len(self.least) + 1)
        return replace(self, records=np.rint(sums).astype(np.int64), margin=margin)


class CellLoss(ABC):
    """A loss of cells: a plan loses the mean over columns, weighted if asked."""

    word: ClassVar[str]

    @abstractmethod
    def of_groups(self, column: GroupedColumn) -> Floats:
        """Return what a cell of each group loses, 1 at most; cells of finer groups lose no more."""

    def along(self, scale: Scale) -> Span:
        """Prepare what cells of a scale lose; a loss without it is for whole columns only."""
        raise NotImplementedError

    def by_column(self, columns: Sequence[GroupedColumn], classes: GroupedClasses) -> Floats:
        """Return what a cell of each column loses on average, those of suppressed records 1."""
        kept = classes.sizes[classes.kept]
        n = int(classes.sizes.sum())
        lost = [
            self.of_groups(column)[codes[classes.kept]] @ kept
            for column, codes in zip(columns, classes.codes, strict=True)
        ]
        return tidy((np.array(lost) + (n - int(kept.sum()))) / n)


class ClassLoss(ABC):
    """A loss of classes, whatever the columns: weights have no use for it."""

    word: ClassVar[str]
    # Whether it never falls where classes are put together: then a node bounds all coarser ones.
    monotone: ClassVar[bool] = True

    @abstractmethod
    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Return what a record of each class loses, from 0 to 1."""

    @property
    def about(self) -> Qid:
        """The columns beside the quasi-identifiers that it looks at."""
        return ()

    def of_parts(self, values: Sequence[Integers]) -> PartLoss:
        """Prepare what regions lose, with the values of `about`; else it is for whole columns."""
        raise NotImplementedError

    def mean(self, classes: Integers, tally: Tally) -> float:
        """Return what a record loses on average where combinations are in classes of any form."""
        raise NotImplementedError

    @abstractmethod
    def least_added(self, largest: int, n: int) -> float:
        """Bound what it adds at least to suppress one of so many, or fewer, in a class, of n."""


Loss: TypeAlias = CellLoss | ClassLoss


def tidy(losses: Floats | float) -> Floats:
    """Take what rounding leaves of nothing for nothing."""
    return np.where(np.abs(losses) < _NOTHING, 0.0, losses)


def entropy_of(counts: Integers) -> float:
    """Return the entropy of counts, in bits."""
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log2(shares)).sum()) + 0.0
