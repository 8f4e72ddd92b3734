"""Persons who have several records: what a region or a value holds of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import distinct_pairs, runs_of
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.tally import Tally
from anonrisk.planning.regions.part import SensitiveLimit

if TYPE_CHECKING:
    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.core.columns import Name


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
