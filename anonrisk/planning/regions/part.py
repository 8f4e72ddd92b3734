"""Regions of a table that is being cut, and what they hold; counts are of combinations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonrisk.engines.numpy.count import runs_of
from anonrisk.measures.counts.class_profiles import ValueCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Booleans, Floats, Integers
    from anonrisk.measures.formula import Formula


class RegionLimit(Protocol):
    """What every region must keep to beside its records."""

    def holds(self, parts: Integers, counts: Integers, rows: Integers) -> Booleans:
        """Return which of some parts keep to it; `parts` is the part of each of the rows."""


class PartLoss(Protocol):
    """What parts of regions lose by the records that they hold; in which unit does not matter."""

    def lost(self, parts: Integers, counts: Integers, rows: Integers) -> Floats:
        """Return what the records of each part lose together; `parts` is the part of each row."""

    def sides(
        self, part: RegionPart, column: int, below: Integers, above: Integers
    ) -> tuple[Floats, Floats]:
        """Return what both sides lose of a cut behind each position that a region has of a column.

        `below` and `above` are the records of the sides, by region and position.
        """


@dataclass(frozen=True)
class SensitiveLimit:
    """What every region must keep to about a sensitive column: the rank of each combination's."""

    ranks: Integers
    # How often the table has each rank.
    overall: Integers
    formula: Formula
    c: float | None
    limit: float

    def holds(self, parts: Integers, counts: Integers, rows: Integers) -> Booleans:
        """Return which of some parts keep to it; `parts` is the part of each of the rows."""
        part, rank, times = runs(parts, self.ranks[rows], len(self.overall), counts)
        starts = runs_of(part)
        value_counts = ValueCounts(
            starts=np.append(starts, len(part)),
            ranks=rank,
            counts=times,
            classes=np.ones(len(starts), dtype=np.int64),
            sizes=np.add.reduceat(times, starts),
            overall=self.overall,
            ordered=True,
        )
        return ~np.asarray(self.formula.breaks(self.formula.of(value_counts, self.c), self.limit))


@dataclass(frozen=True)
class CutRule:
    """What every region must keep to, and which cut is taken.

    Attributes
    ----------
    k : int
        The fewest records of a region.
    weights : sequence of float
        What the detail of each column is worth.
    limits : sequence of RegionLimit
        What else a region must keep to.
    median : bool
        Whether to cut the column that loses most, numbers where the records are halved, as in the
        paper; else where most loss is gained per bit: (n·L − Σ nᵢ·Lᵢ) / Σ nᵢ·log₂(n/nᵢ) for n
        records of loss L cut into parts of nᵢ and Lᵢ. Records can be halved only so many times
        before k are left, so that bits are what is spent.
    classes : PartLoss, optional
        What regions lose as a whole, where that is to be gained; then cells decide between cuts
        that gain the same.
    """

    k: int
    weights: Sequence[float]
    limits: Sequence[RegionLimit] = ()
    median: bool = False
    classes: PartLoss | None = None


def runs(
    parts: Integers, value: Integers, size: int, counts: Integers
) -> tuple[Integers, Integers, Integers]:
    """Add up what has the same owner and value, in order of both."""
    keys = parts * size + value
    bound = (int(parts[-1]) + 1 if len(parts) else 0) * size
    if bound <= 4 * len(parts) + 4_096:
        sums = np.bincount(keys, counts, bound)
        present = np.flatnonzero(sums)
        return present // size, present % size, np.rint(sums[present]).astype(np.int64)
    order = in_order(keys, bound)
    keys = keys[order]
    starts = runs_of(keys)
    return keys[starts] // size, keys[starts] % size, np.add.reduceat(counts[order], starts)


def in_order(keys: Integers, bound: int) -> Integers:
    """Sort, equal keys as they came: with its row in the same number, a key is sorted by value."""
    bits = len(keys).bit_length()
    if bound.bit_length() + bits > 62:
        return np.argsort(keys, kind="stable")
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    return packed & ((1 << bits) - 1)


def grouped(
    owners: Integers, values: Integers, size: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Put rows of one owner and value together.

    Gives the order of the rows, the number of each row's group in it, and the owner and the value
    of each group.
    """
    keys = owners * size + values
    order = in_order(keys, (int(owners[-1]) + 1 if len(owners) else 1) * size)
    keys = keys[order]
    starts = runs_of(keys)
    number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(keys)))
    return order, number, keys[starts] // size, keys[starts] % size


@dataclass(frozen=True)
class RegionPart:
    """Some regions: their combinations, in order of region, and what each holds of a column."""

    owners: Integers
    rows: Integers
    positions: list[Integers]
    counts: Integers
    sizes: Integers
    first: list[Integers]
    last: list[Integers]

    @classmethod
    def of(
        cls, owners: Integers, rows: Integers, positions: Sequence[Integers], counts: Integers
    ) -> RegionPart:
        """See what regions hold, of the position and the records of each of their combinations."""
        held = list(positions)
        if not len(rows):
            return cls(owners, rows, held, counts, counts, held, held)
        starts = runs_of(owners)
        return cls(
            owners,
            rows,
            held,
            counts,
            np.add.reduceat(counts, starts),
            [np.minimum.reduceat(position, starts) for position in held],
            [np.maximum.reduceat(position, starts) for position in held],
        )

    def parted(
        self, going: Booleans, begins: Integers, size: int
    ) -> tuple[RegionPart, Integers, Integers]:
        """Part combinations by region and begin; give also the region and begin of each part."""
        order, owners, parents, begun = grouped(self.owners[going], begins[going], size)
        rows = np.flatnonzero(going)[order]
        held = [position[rows] for position in self.positions]
        return RegionPart.of(owners, self.rows[rows], held, self.counts[rows]), parents, begun

    def rows_in(self, chosen: Booleans) -> RegionPart:
        """Take some of the combinations; what each region holds stays as it was."""
        return replace(
            self, owners=self.owners[chosen], rows=self.rows[chosen], counts=self.counts[chosen]
        )

    def only(self, chosen: Booleans) -> RegionPart:
        """Take some of the regions."""
        if chosen.all():
            return self
        inside = chosen[self.owners]
        return RegionPart(
            (np.cumsum(chosen) - 1)[self.owners[inside]],
            self.rows[inside],
            [position[inside] for position in self.positions],
            self.counts[inside],
            self.sizes[chosen],
            [first[chosen] for first in self.first],
            [last[chosen] for last in self.last],
        )


def keeping(
    part: RegionPart, values: Integers, size: int, limits: Sequence[RegionLimit]
) -> tuple[Integers, Booleans]:
    """Return by region and value whether the records that have both keep to the limits.

    Gives the region of each pair, in order of both, and whether it does.
    """
    order, number, owners, _ = grouped(part.owners, values, size)
    kept = np.ones(len(owners), dtype=bool)
    for limit in limits:
        kept &= limit.holds(number, part.counts[order], part.rows[order])
    return owners, kept


def lost_apart(part: RegionPart, values: Integers, size: int, loss: PartLoss) -> Floats:
    """Return what regions lose where their records are parted by a value."""
    order, number, owners, _ = grouped(part.owners, values, size)
    lost = loss.lost(number, part.counts[order], part.rows[order])
    return np.asarray(np.bincount(owners, lost, len(part.sizes)), dtype=np.float64)
