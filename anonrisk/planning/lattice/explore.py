"""Every combination of offered recodings, measured by arithmetic on one tally."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.progress import tell
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.recode import Keep
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.lattice.lattice import Choice, different, merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.losses.base import CellLoss

MAX_COMBINATIONS = 10_000
# More than a person can choose among.
MAX_LEVELS = 10
# Where bands of class sizes begin, in units of k: those below k have their own.
_BANDS = (1, 2, 10)


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
    alone, below : array of int
        Records in classes of one, and in classes smaller than k.
    bands : dict of (int, int or None) to array of int
        Records in larger classes, by the least and the largest size of a band.
    classes, smallest : array of int
        Number of classes, and the size of the smallest.
    ldiv, tcloseness : dict of sensitive column to array
        Once the records in classes smaller than `kept` are left out; 0 and NaN where none remains.
    """

    alone: Integers
    below: Integers
    bands: dict[tuple[int, int | None], Integers]
    classes: Integers
    smallest: Integers
    ldiv: dict[Name, Integers]
    tcloseness: dict[Name, Floats]


def combinations(
    tally: Tally,
    levels: Mapping[Name, Sequence[Choice]],
    *,
    k: int,
    sensitive: Mapping[Name, str],
    kept: int,
) -> Combinations:
    """Measure every combination of levels.

    Parameters
    ----------
    tally : Tally
        Of the columns, and of the sensitive ones.
    levels : dict of column to levels
        From `levels_of`.
    k : int
        Below which size a class is too small.
    sensitive : dict of column to distance
        By which distance t-closeness is told.
    kept : int
        The size from which on classes are looked at for l and t.
    """
    columns = tuple(levels)
    number = math.prod(map(len, levels.values()))
    starts = [k * times for times in _BANDS]
    result = np.zeros((4 + len(starts), number), dtype=np.int64)
    ldiv = {name: np.zeros(number, dtype=np.int64) for name in sensitive}
    tcloseness = {name: np.full(number, np.nan) for name in sensitive}
    for other in sensitive or (None,):
        part = tally.only(columns if other is None else (*columns, other))
        for node, (ids, codes, counts) in enumerate(_nodes(part, levels)):
            tell("combinations", node, number)
            # Without other codes a row is a class.
            sizes = np.rint(np.bincount(ids, counts)).astype(np.int64) if codes else counts
            result[:, node] = _measured(sizes, starts)
            if other is not None:
                scores = _scores(ids, codes[0], counts, sizes, sensitive[other], kept)
                if scores is not None:
                    ldiv[other][node], tcloseness[other][node] = scores
    ends = [start - 1 for start in starts[1:]]
    bands = dict(zip(zip(starts, (*ends, None), strict=True), result[4:], strict=True))
    alone, below, classes, smallest = result[:4]
    return Combinations(alone, below, bands, classes, smallest, ldiv, tcloseness)


def _measured(sizes: Integers, starts: Sequence[int]) -> list[int]:
    below = [int(sizes[sizes < start].sum()) for start in starts]
    bands = np.diff(below, append=sizes.sum())
    return [np.count_nonzero(sizes == 1), below[0], len(sizes), sizes.min(), *bands]


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


def _scores(  # noqa: PLR0917
    ids: Integers, ranks: Integers, counts: Integers, sizes: Integers, distance: str, kept: int
) -> tuple[float, float] | None:
    """Return l and t of the classes that are large enough; None if there is none."""
    large = sizes >= kept
    if not large.any():
        return None
    of_large = large[ids]
    ranks, counts = ranks[of_large], counts[of_large]
    overall = np.rint(np.bincount(ranks, counts)).astype(np.int64)
    present = overall > 0
    lengths = np.bincount(ids)[large]
    profiles = ValueCounts(
        starts=np.concatenate(([0], np.cumsum(lengths))),
        ranks=(np.cumsum(present) - 1)[ranks],
        counts=counts,
        classes=np.ones(len(lengths), dtype=np.int64),
        sizes=sizes[large],
        overall=overall[present],
        ordered=distance == "ordered",
    )
    return FORMULAS["distinct"].worst(profiles), FORMULAS[distance].worst(profiles)
