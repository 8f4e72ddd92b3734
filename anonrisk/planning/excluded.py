"""What labels of regions include and the release excludes, because other regions have it.

A node of a tree whose children part from it leaves the rest under its name: a cell `*` beside cells
`a1` and `a2` is neither of them (downcoding; Cohen 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.measures.recode.labels import MARKER
from anonrisk.measures.recode.regions import Parts

if TYPE_CHECKING:
    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.measures.recode.regions import Regions

# Pairs of regions that are compared at most; more would take minutes.
_MOST_PAIRS = 200_000_000


@dataclass(frozen=True)
class LabelledColumn:
    """What the labels of one column include.

    Attributes
    ----------
    first, last : array (n_regions,)
        The places that the label of each region includes.
    before : array (n_places + 1,)
        How many values of the table are at a place before each.
    """

    first: Integers
    last: Integers
    before: Integers

    @classmethod
    def of(cls, regions: Regions, c: int, tally: Tally) -> LabelledColumn:
        """Read the labels of a column; the values are those that the table has."""
        name, recoding = list(regions.columns.items())[c]
        groups = np.append(recoding.groups(tally.domains[name])[0], recoding.missing)
        places = groups[tally.margin(name) > 0]
        values = np.bincount(places[places >= 0], minlength=recoding.n_places)
        first, last = regions.boxes[:, c].T
        if not isinstance(recoding, Parts):
            number, names = recoding.with_labels(regions.boxes[:, c])
            # Some numbers and what is missing have a star together, as if it were all of them.
            starred = np.array([*(name == MARKER for name in names), False])[number]
            first, last = np.where(starred, 0, first), np.where(starred, recoding.missing, last)
        return cls(first, last, np.append(0, np.cumsum(values)))

    @property
    def n_values(self) -> Integers:
        """How many values each label includes, (n_regions,)."""
        return self.before[self.last + 1] - self.before[self.first]

    def reached(self, owners: Integers, low: Integers, high: Integers) -> Integers:
        """Count the values of each label from which a way leads to its region, (n_regions,).

        `owners`, the region of each way, `low` and `high`, the places that it is open to, the last
        not among them, are (n_ways,).
        """
        order = np.lexsort((low, owners))
        owners, low, high = owners[order], low[order], high[order]
        # Ways of one region may overlap; those of two are kept apart by their numbers.
        apart = owners * len(self.before)
        furthest = np.maximum.accumulate(high + apart) - apart
        earlier = np.append(0, furthest[:-1])
        earlier[np.append(True, owners[1:] != owners[:-1])] = 0
        begin = np.maximum(low, np.minimum(earlier, high))
        counts = np.bincount(owners, self.before[high] - self.before[begin], len(self.first))
        return np.rint(counts).astype(np.int64)


def ways(regions: Regions) -> tuple[Integers, Integers, Integers]:
    """Follow all cuts down; return the region that each way leads to, and what it is open to there.

    The first place of each column, and the place after the last, are (n_ways, n_columns).
    """
    sizes = np.array([recoding.n_places for recoding in regions.columns.values()])
    ahead = np.zeros(1, dtype=np.int64) if len(regions.cuts) else np.full(1, -1)
    low, high = np.zeros((1, len(sizes)), dtype=np.int64), sizes[None, :]
    ends = []
    while len(ahead):
        left = ahead < 0
        ends.append((~ahead[left], low[left], high[left]))
        cuts, low, high = regions.cuts[ahead[~left]], low[~left], high[~left]
        rows, column, place = np.arange(len(cuts)), cuts[:, 0], cuts[:, 1]
        below, above = high.copy(), low.copy()
        below[rows, column] = np.minimum(high[rows, column], place)
        above[rows, column] = np.maximum(low[rows, column], place)
        ahead = np.concatenate((cuts[:, 2], cuts[:, 3]))
        low, high = np.concatenate((low, above)), np.concatenate((below, high))
        # What nothing leads to is no way.
        some = (low < high).all(axis=1)
        ahead, low, high = ahead[some], low[some], high[some]
    owners, low, high = map(np.concatenate, zip(*ends, strict=True))
    # A region begins and ends where its records do, in every column.
    low = np.maximum(low, regions.boxes[owners, :, 0])
    high = np.minimum(high, regions.boxes[owners, :, 1] + 1)
    some = (low < high).all(axis=1)
    return owners[some], low[some], high[some]


def seen_in_release(regions: Regions, c: int, labelled: LabelledColumn) -> Booleans | None:
    """Return which regions have a label from which others, by their labels alone, take values.

    Two regions were parted by this column, and the narrower label went its own way, if their labels
    in other trees are the same and their ranges meet: had another column parted them, it would
    show. More may be seen by putting several regions together: this counts what one of them tells.
    None where there are too many regions to compare.
    """
    recodings = list(regions.columns.values())
    taken = np.zeros(len(regions), dtype=bool)
    if not isinstance(recodings[c], Parts):
        return taken
    trees = [i for i, other in enumerate(recodings) if isinstance(other, Parts) and i != c]
    ranges = [i for i, other in enumerate(recodings) if not isinstance(other, Parts)]
    boxes = regions.boxes
    # A star of some numbers and what is missing does not show which.
    shown = np.ones(len(regions), dtype=bool)
    for i in ranges:
        shown &= (boxes[:, i, 1] < recodings[i].missing) | (boxes[:, i, 0] == boxes[:, i, 1])
    _, number = np.unique(boxes[:, trees, 0], axis=0, return_inverse=True)
    rows = np.flatnonzero(shown)
    rows = rows[np.argsort(number.ravel()[rows], kind="stable")]
    sizes = np.bincount(number.ravel()[rows])
    if int((sizes**2).sum()) > _MOST_PAIRS:
        return None
    n_values = labelled.n_values
    for group in np.split(rows, np.cumsum(sizes)[:-1]):
        others = group[n_values[group] > 0]
        for region in group[n_values[group] > 1].tolist():
            first, last = boxes[region, c]
            meets = (boxes[others, c, 0] > first) & (boxes[others, c, 1] <= last)
            for i in ranges:
                low, high = boxes[region, i]
                meets &= (boxes[others, i, 0] <= high) & (boxes[others, i, 1] >= low)
            taken[region] = meets.any()
    return taken
