"""Every combination of offered recodings, measured by arithmetic on one tally."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell, time_is_up
from anonrisk.engines.numpy.count import distinct_pairs, histogram_of_persons, runs_of, split
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.recode import Keep
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.lattice.lattice import Choice, different, merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.losses import CellLoss

MAX_COMBINATIONS = 10_000
# More than a person can choose among.
MAX_LEVELS = 10
# Why a level is not there that a time limit came before.
NO_TIME = "time_limit= was over before it was measured"


@dataclass(frozen=True)
class LeftOutLevel:
    """A recoding that was offered and is not among the levels, and why."""

    column: Name
    recoding: Recoding
    why: str


def levels_of(
    tally: Tally,
    offered: Mapping[Name, Sequence[Recoding]],
    loss: CellLoss,
) -> tuple[dict[Name, list[Choice]], list[LeftOutLevel]]:
    """Choose the levels of each column, the finest first, and say which were left out.

    Parameters
    ----------
    tally : Tally
        Of the columns.
    offered : dict of column to recodings
        From `anonrisk.planning.lattice.offer`.
    loss : CellLoss
        By which the more detailed of two levels with as many values stays.

    Notes
    -----
    The first and the last level of a column always stay. Of the others those go, one at a time,
    first from the column with most levels, that leave the smallest gap: between the numbers of
    values of their two neighbours.
    """
    left_out: list[LeftOutLevel] = []
    levels = {}
    for name, recodings in offered.items():
        margin = tally.margin(name)
        column = name, tally.domains[name], margin
        choices = different([Choice.of(recoding, *column, loss) for recoding in recodings])
        kept: list[Choice] = []
        for choice in sorted(choices, key=lambda item: (-item.n_groups, item.mean_loss(margin))):
            if kept and kept[-1].n_groups == choice.n_groups:
                why = "another level has as many values and keeps more detail"
                left_out.append(LeftOutLevel(name, choice.recoding, why))
            else:
                kept.append(choice)
        levels[name] = kept
    for name, kept in levels.items():
        while len(kept) > MAX_LEVELS:
            why = f"a column has at most {MAX_LEVELS} levels"
            left_out.append(LeftOutLevel(name, kept.pop(_closest(kept)[1]).recoding, why))
    while (number := math.prod(map(len, levels.values()))) > MAX_COMBINATIONS:
        name = max(levels, key=lambda item: len(levels[item]))
        if len(levels[name]) < 3:
            raise ArgumentError(
                f"{len(levels):,} columns make {number:,} combinations with two levels each, and "
                f"at most {MAX_COMBINATIONS:,} can be explored: name fewer columns"
            )
        why = f"there are at most {MAX_COMBINATIONS:,} combinations"
        gone = levels[name].pop(_closest(levels[name])[1])
        left_out.append(LeftOutLevel(name, gone.recoding, why))
    return levels, left_out


def _closest(choices: Sequence[Choice]) -> tuple[float, int]:
    """Find the inner level whose neighbours are closest to each other."""
    gaps = (
        (finer.n_groups / coarser.n_groups, i + 1)
        for i, (finer, coarser) in enumerate(zip(choices, choices[2:], strict=False))
    )
    return min(gaps)


@dataclass(frozen=True)
class Combinations:
    """What is true of a table at each combination; the level of the last column changes fastest.

    These are counts as they are: what leaves the library goes through a floor first.

    Attributes
    ----------
    classes, smallest : array of int
        Number of classes, and the size of the smallest.
    smaller : dict of int to array of int
        Records in classes smaller than each size; with persons, those of whom a class is.
    ldiv, tcloseness : dict of (sensitive column, int) to array
        Once the records in classes smaller than that are left out; 0 and NaN where none remains.
    """

    classes: Integers
    smallest: Integers
    smaller: dict[int, Integers]
    ldiv: dict[tuple[Name, int], Integers]
    tcloseness: dict[tuple[Name, int], Floats]


def combinations(
    tally: Tally,
    levels: Mapping[Name, Sequence[Choice]],
    *,
    sizes: Sequence[int],
    sensitive: Mapping[Name, str],
    kept: Sequence[int],
    unit: Name | None = None,
) -> tuple[Combinations, dict[Name, list[Choice]], list[LeftOutLevel]]:
    """Measure every combination of levels; give also the levels that there was time for.

    Parameters
    ----------
    tally : Tally
        Of the columns, and of the sensitive ones.
    levels : dict of column to levels
        From `levels_of`.
    sizes : sequence of int
        For each of which people in smaller classes are counted, in order.
    sensitive : dict of column to distance
        By which distance t-closeness is told.
    kept : sequence of int
        The sizes from which on classes are looked at for l and t, in order.
    unit : name, optional
        The column of persons, who are then counted, each once.

    Notes
    -----
    The finest and the coarsest level of each column come first, then one level after another: a
    time limit leaves every combination of some levels.
    """
    measuring = _Measuring(tally, levels, sizes, sensitive, kept, unit)
    chosen = [sorted({0, size - 1}) for size in measuring.shape]
    measuring.measure(chosen)
    for column, level in _between(measuring.shape):
        more = [[level] if c == column else at for c, at in enumerate(chosen)]
        if not measuring.measure(more, in_time=True):
            break
        chosen[column] = sorted((*chosen[column], level))
    return measuring.taken(chosen)


class CountedWhenAsked:
    """Combinations of levels, each counted when somebody asks for it; arguments as above.

    Attributes
    ----------
    number : int
        How many combinations there are.
    """

    def __init__(
        self,
        tally: Tally,
        levels: Mapping[Name, Sequence[Choice]],
        *,
        sizes: Sequence[int],
        sensitive: Mapping[Name, str],
        kept: Sequence[int],
        unit: Name | None = None,
    ) -> None:
        """Count nothing yet."""
        self._measuring = _Measuring(tally, levels, sizes, sensitive, kept, unit)
        self.number = math.prod(self._measuring.shape)
        self._done: set[int] = set()

    def at(self, nodes: Sequence[int]) -> Combinations:
        """Return some combinations, by their numbers, in that order."""
        for node in dict.fromkeys(nodes):
            if node not in self._done:
                self._measuring.measure_one(node)
                self._done.add(node)
        return self._measuring.at(np.array(nodes, dtype=np.int64))


def _between(shape: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the inner levels: of the column that has most left, the one in their middle."""
    left = [[*range(1, size - 1)] for size in shape]
    while any(left):
        column = max(range(len(left)), key=lambda c: len(left[c]))
        yield column, left[column].pop(len(left[column]) // 2)


class _Measuring:
    """Counts of combinations, as they are measured."""

    def __init__(  # noqa: PLR0917
        self,
        tally: Tally,
        levels: Mapping[Name, Sequence[Choice]],
        sizes: Sequence[int],
        sensitive: Mapping[Name, str],
        kept: Sequence[int],
        unit: Name | None,
    ) -> None:
        self.tally, self.levels, self.sensitive, self.kept = tally, levels, sensitive, kept
        self.sizes = sizes
        self.beside = () if unit is None else (unit,)
        self.shape = tuple(map(len, levels.values()))
        number = math.prod(self.shape)
        self.counts = np.zeros((2 + len(sizes), number), dtype=np.int64)
        about = [*product(sensitive, kept)]
        self.ldiv = {each: np.zeros(number, dtype=np.int64) for each in about}
        self.tcloseness = {each: np.full(number, np.nan) for each in about}
        self.n_done = 0

    @cached_property
    def parts(self) -> dict[Name | None, Tally]:
        """What is counted with each sensitive column, in order."""
        return {
            other: self.tally.only((*self.levels, *self._with(other)))
            for other in self.sensitive or (None,)
        }

    def _with(self, other: Name | None) -> tuple[Name, ...]:
        return self.beside if other is None else (*self.beside, other)

    def places(self, chosen: Sequence[Sequence[int]]) -> Integers:
        """Number the combinations of some levels among all."""
        number: Integers = np.arange(math.prod(self.shape)).reshape(self.shape)
        return number[np.ix_(*chosen)].ravel()

    def measure(self, chosen: Sequence[Sequence[int]], *, in_time: bool = False) -> bool:
        """Measure the combinations of some levels; return whether there was time for all."""
        columns = zip(self.levels.items(), chosen, strict=True)
        levels = {name: [every[i] for i in at] for (name, every), at in columns}
        places = self.places(chosen)
        for other, part in self.parts.items():
            for n, (place, node) in enumerate(zip(places, _nodes(part, levels), strict=True)):
                if in_time and time_is_up():
                    return False
                tell("combinations", self.n_done + n, self.counts.shape[1])
                self._measure(int(place), node, other)
        self.n_done += len(places)
        return True

    def measure_one(self, place: int) -> None:
        """Measure one combination: no work is shared, and none is done for others."""
        at = np.unravel_index(place, self.shape)
        chosen = [
            (name, every[int(i)]) for (name, every), i in zip(self.levels.items(), at, strict=True)
        ]
        tally = self.tally
        if tuple(tally.codes) == tuple(self.levels) and all(
            choice.recoding == Keep() for _, choice in chosen
        ):
            # The classes are those that were counted.
            self._measure(place, (np.arange(tally.n_classes), [], tally.counts), None)
            return
        groups = [choice.groups[tally.codes[name]] for name, choice in chosen]
        sizes = [len(choice.losses) for _, choice in chosen]
        for other in self.sensitive or (None,):
            names = self._with(other)
            codes = [*groups, *(tally.codes[name] for name in names)]
            bounds = [*sizes, *(len(tally.domains[name]) + 1 for name in names)]
            rolled, counts = merged(codes, tally.counts, bounds)
            ids = np.arange(len(counts))
            if names:
                keys, _ = radix.keys_of(zip(rolled[: len(groups)], sizes, strict=True))
                # Rows are in order, so that a class begins wherever its key is a new one.
                ids = np.cumsum(np.diff(keys, prepend=keys[:1]) != 0)
            self._measure(place, (ids, rolled[len(groups) :], counts), other)

    def _measure(self, place: int, node: _Node, other: Name | None) -> None:
        ids, codes, counts = node
        units = codes[0] if self.beside else None
        if units is not None:
            codes = codes[1:]
            keys, who = distinct_pairs(ids, int(ids[-1]) + 1, units, int(units.max()) + 1)
            sizes = np.bincount(keys)
            measured = _measured(*histogram_of_persons(keys, who), self.sizes)
        else:
            # Without other codes a row is a class.
            sizes = np.rint(np.bincount(ids, counts)).astype(np.int64) if codes else counts
            measured = _measured(sizes, np.ones_like(sizes), sizes, self.sizes)
        self.counts[:, place] = measured
        if other is None:
            return
        distance, n_large, worst = self.sensitive[other], 0, (0.0, math.nan)
        # From the largest size on: often as many classes have the next one.
        for least in reversed(self.kept):
            large = sizes >= least
            if (n := int(np.count_nonzero(large))) != n_large:
                profiles = _profiles((ids, codes, counts), sizes, large, units)
                profiles = replace(profiles, ordered=distance == "ordered")
                n_large = n
                worst = FORMULAS["distinct"].worst(profiles), FORMULAS[distance].worst(profiles)
            self.ldiv[other, least][place], self.tcloseness[other, least][place] = worst

    def taken(
        self, chosen: Sequence[Sequence[int]]
    ) -> tuple[Combinations, dict[Name, list[Choice]], list[LeftOutLevel]]:
        """Return the combinations of some levels, and which levels are not among these."""
        levels, left_out = {}, []
        for (name, every), at in zip(self.levels.items(), chosen, strict=True):
            levels[name] = [every[i] for i in at]
            rest = (choice for i, choice in enumerate(every) if i not in at)
            left_out += [LeftOutLevel(name, choice.recoding, NO_TIME) for choice in rest]
        return self.at(self.places(chosen)), levels, left_out

    def at(self, places: Integers) -> Combinations:
        """Return some combinations, which have been measured."""
        classes, smallest, *smaller = self.counts[:, places]
        return Combinations(
            classes,
            smallest,
            dict(zip(self.sizes, smaller, strict=True)),
            {name: values[places] for name, values in self.ldiv.items()},
            {name: values[places] for name, values in self.tcloseness.items()},
        )


def _measured(
    sizes: Integers, classes: Integers, members: Integers, wanted: Sequence[int]
) -> list[int]:
    """Sum up classes, and who is in those smaller than some sizes."""
    smaller = [members[sizes < size].sum() for size in wanted]
    return [classes.sum(), sizes.min(), *smaller]


_Node = tuple["Integers", "list[Integers]", "Integers"]


def _nodes(tally: Tally, levels: Mapping[Name, Sequence[Choice]]) -> Iterator[_Node]:
    """Yield at each combination the class, the other codes and the number of each kind of record.

    Columns are made coarser one after the other, and the classes so far are one number: the work
    of a column is shared by all combinations of those behind it. The tally is in order, as `only`
    gives it.
    """
    names = list(tally.codes)
    sizes = [len(tally.domains[name]) + 1 for name in names]
    choices = list(levels.values())

    def coarser(
        depth: int, ids: Integers, codes: list[Integers], counts: Integers
    ) -> Iterator[_Node]:
        if depth == len(choices):
            yield ids, codes, counts
            return
        for choice in choices[depth]:
            n_groups = len(choice.losses)
            groups = [ids, choice.groups[codes[0]], *codes[1:]]
            if len(codes) == 1:
                sums = counts
                if choice.recoding != Keep():
                    keys = ids * n_groups + groups[1]
                    _, sums = merged([keys], counts, [(int(ids[-1]) + 1) * n_groups])
                yield ids, [], sums
                continue
            if choice.recoding == Keep():
                rolled, sums = groups, counts
            else:
                bounds = [int(ids.max()) + 1, n_groups, *sizes[depth + 1 :]]
                rolled, sums = merged(groups, counts, bounds)
            keys = rolled[0] * n_groups + rolled[1]
            # Rows are in order, so that a class begins wherever its key is a new one.
            new = np.cumsum(np.diff(keys, prepend=keys[:1]) != 0)
            yield from coarser(depth + 1, new, rolled[2:], sums)

    ids = np.zeros(tally.n_classes, dtype=np.int64)
    return coarser(0, ids, [tally.codes[name] for name in names], tally.counts)


def _profiles(node: _Node, sizes: Integers, large: Booleans, units: Integers | None) -> ValueCounts:
    """Return the values of the classes that are large enough, one at least."""
    ids, (ranks,), counts = node
    rows = large[ids]
    ids, ranks, counts = ids[rows], ranks[rows], counts[rows]
    if units is None:
        overall = np.rint(np.bincount(ranks, counts)).astype(np.int64)
    else:
        # A row is a person with a value, once in a class.
        who, n_ranks = units[rows], int(ranks.max()) + 1
        overall = np.bincount(distinct_pairs(ranks, n_ranks, who, int(who.max()) + 1)[0])
        pairs = np.sort(ids * n_ranks + ranks)
        first = runs_of(pairs)
        (ids, ranks), counts = split(pairs[first], n_ranks), np.diff(first, append=len(pairs))
    present = overall > 0
    lengths = np.bincount(ids, minlength=len(sizes))[large]
    return ValueCounts(
        starts=np.concatenate(([0], np.cumsum(lengths))),
        ranks=(np.cumsum(present) - 1)[ranks],
        counts=counts,
        classes=np.ones(len(lengths), dtype=np.int64),
        sizes=sizes[large],
        overall=overall[present],
    )
