"""Regions of a table that is being cut: the combinations and the persons that they hold.

Arrays have one axis and run in parallel, named by their length:

- n_combinations: the distinct combinations of values that the table has; `rows` are their numbers.
- n_rows: those of the regions that are looked at, in order of region. `owners` numbers the region
  of each from 0, `parts` a part of it, `counts` has its records.
- n_regions, n_parts: the regions, the parts; each of them has a row.
- n_pairs: pairs of a region and a position, or another value, that occur, in order of both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import distinct_pairs, runs_of
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.formula import Formula


class RegionLimit(Protocol):
    """What every region must keep to beside its records."""

    def holds(self, parts: Integers, counts: Integers, rows: Integers) -> Booleans:
        """Return which of some parts keep to it; `parts` is the part of each of the rows.

        Takes three arrays (n_rows,), in order of part, and returns (n_parts,).
        """


class PartLoss(Protocol):
    """What parts of regions lose by the records that they hold; in which unit does not matter."""

    def lost(self, parts: Integers, counts: Integers, rows: Integers) -> Floats:
        """Return what the records of each part lose together; `parts` is the part of each row.

        Takes three arrays (n_rows,), in order of part, and returns (n_parts,).
        """

    def sides(
        self, part: RegionPart, column: int, below: Integers, above: Integers
    ) -> tuple[Floats, Floats]:
        """Return what both sides lose of a cut behind each position that a region has of a column.

        `below` and `above` are the records of the sides; they and both results are (n_pairs,).
        """


@dataclass(frozen=True)
class SensitiveLimit:
    """What every region must keep to about a sensitive column.

    Attributes
    ----------
    ranks : array (n_combinations,)
        The rank of the value that each combination has, from 0.
    overall : array (n_ranks,)
        How often the table has each rank.
    formula, c, limit
        The score of a region, its parameter, and what it may be.
    """

    ranks: Integers
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
        What the detail of each column is worth, in order of the axes.
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


# Up to so many places per row, and some more, counts are added up by place, above by sorting; both
# give the same. Measured on 100 to a million rows, sorting takes 1.6 to 2.2 times as long at one
# place per row, .8 to 1.1 times at four (1.9 for 100 rows, hence the others) and half at sixteen.
_PLACES_PER_ROW, _PLACES = 4, 4_096
# A key and the number of its row fit into what a signed number of 64 bits has beside its sign, one
# bit to spare.
_BITS = 62


def runs(
    parts: Integers, value: Integers, size: int, counts: Integers
) -> tuple[Integers, Integers, Integers]:
    """Add up what has the same owner and value, in order of both.

    Takes arrays (n_rows,), in order of `parts`, and values below `size`; returns the owner, the
    value and the sum of each pair that occurs, (n_pairs,) each.
    """
    keys = parts * size + value
    bound = (int(parts[-1]) + 1 if len(parts) else 0) * size
    if bound <= _PLACES_PER_ROW * len(parts) + _PLACES:
        sums = np.bincount(keys, counts, bound)
        present = np.flatnonzero(sums)
        return present // size, present % size, np.rint(sums[present]).astype(np.int64)
    order = in_order(keys, bound)
    keys = keys[order]
    starts = runs_of(keys)
    return keys[starts] // size, keys[starts] % size, np.add.reduceat(counts[order], starts)


def in_order(keys: Integers, bound: int) -> Integers:
    """Sort, equal keys as they came: with its row in the same number, a key is sorted by value.

    Keys are below `bound`; gives the row of each in the new order, (n_rows,) as they are.
    """
    bits = len(keys).bit_length()
    if bound.bit_length() + bits > _BITS:
        return np.argsort(keys, kind="stable")
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    return packed & ((1 << bits) - 1)


def grouped(
    owners: Integers, values: Integers, size: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Put rows of one owner and value together.

    Takes arrays (n_rows,), in order of `owners`, and values below `size`. Gives the order of the
    rows and the number of each row's group in it, (n_rows,) both, and the owner and the value of
    each group, (n_pairs,) both.
    """
    keys = owners * size + values
    order = in_order(keys, (int(owners[-1]) + 1 if len(owners) else 1) * size)
    keys = keys[order]
    starts = runs_of(keys)
    number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(keys)))
    return order, number, keys[starts] // size, keys[starts] % size


@dataclass(frozen=True)
class RegionPart:
    """Some regions: their combinations, in order of region, and what each holds of a column.

    Attributes
    ----------
    owners, rows, counts : array (n_rows,)
        The region of each combination, numbered from 0, its number in the table, and its records.
    positions : list of array (n_rows,)
        Of each column where each combination is.
    sizes : array (n_regions,)
        The records of each region.
    first, last : list of array (n_regions,)
        Of each column the first and the last position that each region holds.
    """

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
        """Part combinations by region and begin; give also the region and begin of each part.

        `going` and `begins`, below `size`, are (n_rows,); the last two results are (n_parts,).
        """
        order, owners, parents, begun = grouped(self.owners[going], begins[going], size)
        rows = np.flatnonzero(going)[order]
        held = [position[rows] for position in self.positions]
        return RegionPart.of(owners, self.rows[rows], held, self.counts[rows]), parents, begun

    def rows_in(self, chosen: Booleans) -> RegionPart:
        """Take some of the combinations, `chosen` (n_rows,); what each region holds stays.

        `positions` stays too, and is then longer: it is for those who do not look at it.
        """
        return replace(
            self, owners=self.owners[chosen], rows=self.rows[chosen], counts=self.counts[chosen]
        )

    def only(self, chosen: Booleans) -> RegionPart:
        """Take some of the regions, `chosen` (n_regions,), and number them anew."""
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

    `values` is (n_rows,), below `size`. Gives the region of each pair, in order of both, and
    whether it does, (n_pairs,) both.
    """
    order, number, owners, _ = grouped(part.owners, values, size)
    kept = np.ones(len(owners), dtype=bool)
    for limit in limits:
        kept &= limit.holds(number, part.counts[order], part.rows[order])
    return owners, kept


def lost_apart(part: RegionPart, values: Integers, size: int, loss: PartLoss) -> Floats:
    """Return what regions lose, (n_regions,), where their records are parted by a value.

    `values` is (n_rows,), below `size`.
    """
    order, number, owners, _ = grouped(part.owners, values, size)
    lost = loss.lost(number, part.counts[order], part.rows[order])
    return np.asarray(np.bincount(owners, lost, len(part.sizes)), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class PersonTally(Tally):
    """A tally whose values are held by persons: whoever has one in two records counts once."""

    unit: Name

    @classmethod
    def of(cls, tally: Tally, unit: Name) -> PersonTally:
        """Count by persons; reject records of nobody."""
        n_missing = int(tally.margin(unit)[-1])
        if n_missing:
            raise refusals.missing_unit(unit, n_missing)
        return cls(**vars(tally), unit=unit)

    def margin(self, name: Name) -> Integers:
        """Count the persons of each value of a column, missing last."""
        size, who = len(self.domains[name]) + 1, len(self.domains[self.unit]) + 1
        held, _ = distinct_pairs(self.codes[name], size, self.codes[self.unit], who)
        return np.bincount(held, minlength=size)


@dataclass(frozen=True)
class PersonsLimit:
    """The fewest persons of a region; `units` is the person of each combination.

    With persons, a combination is of one of them: `units` is (n_combinations,).
    """

    units: Integers
    k: int

    def holds(self, parts: Integers, counts: Integers, rows: Integers) -> Booleans:  # noqa: ARG002
        """Return which of some parts have enough; `parts` is the part of each of the rows."""
        part, _ = _pairs(parts, self.units[rows])
        return np.diff(runs_of(part), append=len(part)) >= self.k


@dataclass(frozen=True)
class PersonValues(SensitiveLimit):
    """What every region must keep to about a sensitive column, a person counting once per value.

    `units` is the person of each combination, (n_combinations,), as in `PersonsLimit`.
    """

    units: Integers

    def holds(self, parts: Integers, counts: Integers, rows: Integers) -> Booleans:  # noqa: ARG002
        """Return which of some parts keep to it; `parts` is the part of each of the rows."""
        n_ranks, units = len(self.overall), self.units[rows]
        pair, _ = _pairs(parts * n_ranks + self.ranks[rows], units)
        first = runs_of(pair)
        part = pair[first] // n_ranks
        starts = runs_of(part)
        persons, _ = _pairs(parts, units)
        value_counts = ValueCounts(
            starts=np.append(starts, len(part)),
            ranks=pair[first] % n_ranks,
            counts=np.diff(first, append=len(pair)),
            classes=np.ones(len(starts), dtype=np.int64),
            sizes=np.diff(runs_of(persons), append=len(persons)),
            overall=self.overall,
            ordered=True,
        )
        return ~np.asarray(self.formula.breaks(self.formula.of(value_counts, self.c), self.limit))


def _pairs(parts: Integers, units: Integers) -> tuple[Integers, Integers]:
    """Pair everything with each of its persons once, in order.

    Takes arrays (n_rows,); gives the part and the person of each pair, (n_pairs,) both.
    """
    bound = int(parts.max(initial=0)) + 1
    return distinct_pairs(parts, bound, units, int(units.max(initial=0)) + 1)
