"""Whether the classes of a target column stay predictable (T8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import runs_of
from anonrisk.planning.losses.base import ClassLoss
from anonrisk.planning.regions.part import grouped, in_order, runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.losses.base import GroupedClasses
    from anonrisk.planning.regions.part import RegionPart


@dataclass(frozen=True)
class TargetLoss(ClassLoss):
    """A record loses 1 where most of its class have another value of the target.

    Iyengar's classification metric. The commonest value of two classes that become one is no
    commoner than those of both together.

    Attributes
    ----------
    tally : Tally
        Of the columns and the target.
    """

    tally: Tally
    target: Name
    word: ClassVar[str] = "target"

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Count the commonest value of each class."""
        tally = self.tally
        digits = [
            (group[tally.codes[name]], size)
            for (name, group), size in zip(classes.groups.items(), classes.n_groups, strict=True)
        ]
        return np.asarray(1 - self._commonest(*radix.keys_of(digits), tally) / classes.sizes)

    def _commonest(self, keys: Integers, bound: int, tally: Tally) -> Integers:
        """Count the commonest value of the target in each class, in order of keys."""
        both, _ = radix.keys_of([(keys, bound), (tally.codes[self.target], self._n_values)])
        order = np.argsort(both, kind="stable")
        starts = runs_of(both[order])
        counts = np.add.reduceat(tally.counts[order], starts)
        return np.maximum.reduceat(counts, runs_of(keys[order][starts]))

    @property
    def about(self) -> Qid:
        """The target."""
        return (self.target,)

    def of_parts(self, values: Sequence[Integers]) -> MixedTargets:
        """Look at the target's values."""
        return MixedTargets(values[0], self._n_values)

    def mean(self, classes: Integers, tally: Tally) -> float:
        """Count the records that have not the commonest value of their class."""
        right = self._commonest(classes, int(classes.max(initial=0)) + 1, tally).sum()
        return 1 - int(right) / tally.n_records

    @property
    def _n_values(self) -> int:
        return len(self.tally.domains[self.target]) + 1

    def least_added(self, largest: int, n: int) -> float:  # noqa: ARG002
        """Take a class in which all values are equally common: that many are right at least."""
        return 1 / max(min(self._n_values, largest), 1)


@dataclass(frozen=True)
class MixedTargets:
    """How mixed parts of regions are: n − Σ c²/n of n records, c of which have each value (Gini).

    So many are wrong where each is told the value of one of its part at random. Those that have not
    the commonest value are no guide for single cuts: often it is the same on both sides, and only
    what is cut next gains. As finer classes never lose more by T8, cuts that gain nothing are made
    too, those of most bits first, until k stops them. On Adult, 8 columns and k = 5, .146 are then
    wrong, where cuts by the commonest value leave .150.

    Attributes
    ----------
    values : array (n_combinations,)
        The value of the target that each combination has.
    n_values : int
        How many values there may be.
    """

    values: Integers
    n_values: int

    def lost(self, parts: Integers, counts: Integers, rows: Integers) -> Floats:
        """Count the values of each part."""
        part, _, times = runs(parts, self.values[rows], self.n_values, counts)
        starts = runs_of(part)
        sizes = np.add.reduceat(times, starts)
        return np.asarray(sizes - np.add.reduceat(times**2, starts) / sizes)

    def sides(
        self, part: RegionPart, column: int, below: Integers, above: Integers
    ) -> tuple[Floats, Floats]:
        """Add up what each position changes of the squares of counts, which are exact."""
        # (n_rows,) each but the last, the region of each pair of a region and a position.
        held = part.positions[column]
        order, number, source, _ = grouped(part.owners, held, int(held.max()) + 1)
        values = self.values[part.rows[order]]
        # One row per pair and value: how often a pair has it, and its region up to there and after.
        place, value, times = runs(number, values, self.n_values, part.counts[order])
        up_to, after = _running(source[place] * self.n_values + value, times)
        ends = np.append(runs_of(place)[1:], len(place)) - 1
        begins = runs_of(source)

        def along(change: Integers) -> Integers:
            sums = np.cumsum(change)
            result = sums[ends]
            return np.asarray(result - np.append(0, result)[begins][source])

        low = along(times * (2 * up_to - times))
        whole = low[np.append(begins[1:], len(source)) - 1][source]
        high = whole - along(times * (2 * after + times))
        return below - low / below, above - high / np.maximum(above, 1)


def _running(keys: Integers, times: Integers) -> tuple[Integers, Integers]:
    """Return how often each key occurs up to each place, and after it."""
    order = in_order(keys, int(keys.max()) + 1)
    starts, ordered = runs_of(keys[order]), times[order]
    totals = np.add.reduceat(ordered, starts)
    lengths = np.diff(starts, append=len(keys))
    up_to, after = np.empty_like(times), np.empty_like(times)
    up_to[order] = np.cumsum(ordered) - np.repeat(np.cumsum(totals) - totals, lengths)
    after[order] = np.repeat(totals, lengths) - up_to[order]
    return up_to, after
