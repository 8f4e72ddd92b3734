"""Recodings that differ by region: how coarse a column is depends on the other columns."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import PlanError
from anonrisk.measures.counts.tally import DATES, NUMBERS
from anonrisk.measures.recode import recoding as text
from anonrisk.measures.recode.kinds import Keep, from_dict
from anonrisk.measures.recode.recoding import Recoding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.tally import Domain


# Kinds of values that have one text on every engine, by which a value can be told.
TOLD = ("text", "whole", "boolean", "date")


class ByRegion(Recoding):
    """How the values of a column are placed, so that a region is a range of places of each.

    Attributes
    ----------
    kept : bool
        Whether the cells stay as they are, because no region puts two values together.
    """

    kept: bool

    @property
    @abstractmethod
    def missing(self) -> int:
        """The place of a missing value; -1 where no region has one."""

    @property
    @abstractmethod
    def n_places(self) -> int:
        """Number of places."""

    @abstractmethod
    def label(self, first: int, last: int) -> str | None:
        """Write the label of the places from one to another; None where the cell is missing."""

    def with_labels(
        self, boxes: Integers, rest: Booleans | None = None
    ) -> tuple[Integers, list[str]]:
        """Return the label number of each range of places, -1 where missing; and the labels.

        `boxes` is (n_regions, 2), the first and the last place of each, and `rest`, (n_regions,),
        says which have not all of the places between; the numbers are (n_regions,).
        """
        keys = (boxes[:, 0] * self.n_places + boxes[:, 1]) * 2 + (0 if rest is None else rest)
        keys, number = np.unique(keys, return_inverse=True)
        written = [self.label(*divmod(key // 2, self.n_places)) for key in keys.tolist()]
        written = [
            text.of_remainder(name) if key % 2 and name is not None else name
            for key, name in zip(keys.tolist(), written, strict=True)
        ]
        names = sorted({name for name in written if name is not None})
        place = {name: i for i, name in enumerate(names)}
        source = np.array([-1 if name is None else place[name] for name in written], dtype=np.int64)
        return source[number], names

    def in_words(self, boxes: Integers) -> str:
        """Return what becomes of the column, and in how many of the ranges of places it is told.

        `boxes` as in `with_labels`.
        """
        n_cut = int(((boxes[:, 0] > 0) | (boxes[:, 1] < self.n_places - 1)).sum())
        return f"{self}, {_shown_in(n_cut)}" if n_cut else str(self)


@dataclass(frozen=True)
class NumberRanges(ByRegion):
    """Numbers between edges; a region takes one or more of the bins between them."""

    edges: tuple[float, ...]
    whole: bool = False
    kept: bool = False
    name: ClassVar[str] = "number ranges"
    takes: ClassVar[tuple[str, ...] | None] = NUMBERS

    @property
    def missing(self) -> int:
        """The place after the last bin."""
        return len(self.edges) + 1

    @property
    def n_places(self) -> int:
        """A bin more than there are edges, and the missing."""
        return len(self.edges) + 2

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the bin of each number."""
        edges = np.asarray(self.edges, dtype=np.float64)
        return np.searchsorted(edges, domain.positions(), side="right"), None

    def label(self, first: int, last: int) -> str | None:
        """Name the range; with missing values among them, or of all numbers, it names none."""
        if last == self.missing:
            return None if first == last else text.MARKER
        low = self.edges[first - 1] if first else None
        return self._named(low, self.edges[last] if last < len(self.edges) else None)

    def _named(self, low: float | None, high: float | None) -> str:
        return text.of_range(low, high, whole=self.whole)

    def rests(self, boxes: Integers) -> Booleans:
        """Return which ranges have a star and not all that others have; `boxes` as elsewhere."""
        first, last = boxes.T
        numbers = (first == 0) & (last == self.missing - 1)
        starred = numbers | ((first < last) & (last == self.missing))
        partial = (first > 0) | (last < last.max(initial=0))
        return np.asarray(starred & partial & (not self.kept))

    def overlaps(self, boxes: Integers) -> bool:
        """Return whether a number is in two of the ranges; `boxes` as in `with_labels`."""
        dates = isinstance(self, DateRanges)
        _, labels = self.with_labels(boxes)
        read = (text.extent(name, dates=dates, whole=self.whole) for name in labels)
        ends = sorted(extent for extent in read if extent is not None)
        return any(before[1] >= after[0] for before, after in pairwise(ends))

    def in_words(self, boxes: Integers) -> str:
        """Return the narrowest and the widest range that a region has, of those with two ends."""
        numbers, labels = self.with_labels(boxes)
        dates = isinstance(self, DateRanges)
        read = [text.extent(name, dates=dates, whole=self.whole) for name in labels]
        # A star has no ends: it may be of some numbers and missing values.
        fields = {i: (ends, labels[i]) for i, ends in enumerate(read) if ends is not None}
        if not fields:
            alone = int((numbers < 0).sum())
            return f"all {text.MARKER!r}" + (f", missing ones {_shown_in(alone)}" if alone else "")
        n_shown = int(np.isin(numbers, [-1, *fields]).sum())
        ranges = [*fields.values()]
        closed = [(high - low, name) for (low, high), name in ranges if math.isfinite(high - low)]
        names = [name for _, name in sorted(closed or [(low, name) for (low, _), name in ranges])]
        both = names[0] if names[0] == names[-1] else f"finest {names[0]}, coarsest {names[-1]}"
        return f"ranges by region: {both}, {_shown_in(n_shown)}"

    def __str__(self) -> str:
        """Return what is done."""
        if self.kept:
            return str(Keep())
        if not self.edges:
            return f"all {text.MARKER!r}"
        lowest, highest = self._named(None, self.edges[0]), self._named(self.edges[-1], None)
        return f"ranges by region: from {lowest} to {highest}"


@dataclass(frozen=True)
class DateRanges(NumberRanges):
    """Days between edges, which are days since 1970; a region takes one or more of the periods."""

    name: ClassVar[str] = "date ranges"
    takes: ClassVar[tuple[str, ...] | None] = DATES

    def _named(self, low: float | None, high: float | None) -> str:
        return text.of_days(low, high)


@dataclass(frozen=True)
class Parts(ByRegion):
    """Values with a tree above them; a region takes one part of the tree.

    Attributes
    ----------
    levels : tuple of Recoding
        The steps of the tree that a region takes, the finest first.
    parts : tuple of (level, label, last)
        Each part that a region takes, one inside another after it: its step, its label, and the
        last part inside of it. The label is a value where the step keeps values, and then of k
        persons; it is None where the part holds what is missing.
    """

    levels: tuple[Recoding, ...]
    parts: tuple[tuple[int, str | None, int], ...]
    kept: bool = False
    name: ClassVar[str] = "parts"

    @property
    def missing(self) -> int:
        """The part of missing values alone, or the one that has all."""
        for place, (_, label, _) in enumerate(self.parts):
            if label is None:
                return place
        level = self.parts[0][0]
        return 0 if self.levels[level].for_missing is not None else -1

    @property
    def n_places(self) -> int:
        """Number of parts."""
        return len(self.parts)

    def places(self, level: int) -> dict[str, int]:
        """Return the labels of a step their places."""
        return {
            label: place
            for place, (source, label, _) in enumerate(self.parts)
            if source == level and label is not None
        }

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the smallest part that each value is in, or -1."""
        result = np.full(len(domain), -1)
        for level, recoding in enumerate(self.levels):
            ahead = (result < 0) & recoding.knows(domain)
            if not ahead.any():
                continue
            rest = domain.only(ahead)
            groups, labels = recoding.groups(rest)
            places = self.places(level)
            names = rest.texts() if labels is None else labels
            source = np.array([places.get(name, -1) for name in names], dtype=np.int64)
            result[ahead] = source[groups]
        return result, None

    def label(self, first: int, last: int) -> str | None:  # noqa: ARG002
        """Return the label of the part that begins there."""
        return self.parts[first][1]

    def to_dict(self) -> dict[str, Any]:
        """Return the steps and the parts."""
        return {
            "recoding": self.name,
            "levels": [recoding.to_dict() for recoding in self.levels],
            "parts": [list(part) for part in self.parts],
            "kept": self.kept,
        }

    def __str__(self) -> str:
        """Return what is done."""
        if self.kept:
            return str(Keep())
        steps = [str(recoding).partition(":")[0] for recoding in self.levels]
        return steps[0] if len(steps) == 1 else f"{steps[0]} to {steps[-1]}, by region"


def _shown_in(n_regions: int) -> str:
    return f"shown in {count_of(n_regions, 'region')}"


def read_recoding(stored: Mapping[str, Any], hierarchy: Hierarchy | None) -> Recoding:
    """Read back what `to_dict` of any recoding gave, by region or not."""
    name = stored["recoding"]
    if name == Parts.name:
        plain = [{k: v for k, v in level.items() if k != "nodes"} for level in stored["levels"]]
        return Parts(
            tuple(from_dict(level, hierarchy) for level in plain),
            tuple((int(level), label, int(last)) for level, label, last in stored["parts"]),
            bool(stored["kept"]),
        )
    ranges = {kind.name: kind for kind in (NumberRanges, DateRanges)}.get(name)
    if ranges is None:
        return from_dict(stored, hierarchy)
    edges = tuple(map(float, stored["edges"]))
    return ranges(edges, bool(stored["whole"]), bool(stored["kept"]))


@dataclass(frozen=True, eq=False)
class Regions:
    """A table cut into regions: in each, a column is as coarse as the region says.

    Attributes
    ----------
    columns : dict of column to ByRegion
        How the values of each column are placed.
    cuts : array (n_cuts, 4) of (column, place, below, above)
        The way to a record's region: below the place it goes on at the cut `below`, else at
        `above`; where that is negative, it has come to the region ``~below``.
    boxes : array (n_regions, n_columns, 2)
        The first and the last place that a region has of each column.
    """

    columns: Mapping[Name, ByRegion]
    cuts: Integers
    boxes: Integers

    def __len__(self) -> int:
        """Count the regions."""
        return len(self.boxes)

    def __eq__(self, other: object) -> bool:
        """Compare everything."""
        return (
            isinstance(other, Regions)
            and self.columns == other.columns
            and np.array_equal(self.cuts, other.cuts)
            and np.array_equal(self.boxes, other.boxes)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def depth(self) -> int:
        """The most cuts on the way to a region."""
        depth, ahead = 0, self.cuts[:1]
        while len(ahead):
            depth += 1
            following = ahead[:, 2:].ravel()
            ahead = self.cuts[following[following >= 0]]
        return depth

    def find(self, places: Sequence[Integers]) -> Integers:
        """Find the region of each record by its place in each column; -1 where there is none."""
        # (n_columns, n_records)
        at = np.stack(places)
        result = np.zeros(at.shape[1], dtype=np.int64) if len(self.cuts) else ~np.zeros_like(at[0])
        ahead = np.flatnonzero(result >= 0)
        while len(ahead):
            column, place, below, above = self.cuts[result[ahead]].T
            result[ahead] = np.where(at[column, ahead] < place, below, above)
            ahead = ahead[result[ahead] >= 0]
        regions = ~result
        return np.where(self._inside(at, regions), regions, -1)

    def _inside(self, at: Integers, regions: Integers) -> Booleans:
        """Return which records are where their region is; `at` is (n_columns, n_records)."""
        inside = np.ones(len(regions), dtype=bool)
        for column, place in enumerate(at):
            first, last = self.boxes[regions, column].T
            inside &= (place >= first) & (place <= last)
        return inside

    @cached_property
    def rests(self) -> Booleans:
        """Which regions have not all of the values between their ends, (n_regions, n_columns).

        What a part of a tree leaves to others goes their ways by cuts between its ends; the first
        place of all columns stays with it, and comes by these cuts.
        """
        result = np.zeros((len(self), len(self.columns)), dtype=bool)
        first, last = self.boxes[:, :, 0], self.boxes[:, :, 1]
        ahead = np.arange(len(self) if len(self.cuts) else 0)
        at = np.zeros(len(ahead), dtype=np.int64)
        while len(ahead):
            column, place, below, above = self.cuts[at].T
            begin, end = first[ahead, column], last[ahead, column]
            result[ahead, column] |= (begin < place) & (place <= end)
            at = np.where(begin < place, below, above)
            ahead, at = ahead[at >= 0], at[at >= 0]
        for c, recoding in enumerate(self.columns.values()):
            if isinstance(recoding, NumberRanges):
                result[:, c] = recoding.rests(self.boxes[:, c])
        return result

    def labels(self) -> dict[Name, tuple[Integers, list[str]]]:
        """Return for each column the number of each region's label, -1 for missing; and the labels.

        Columns that are kept are left out.
        """
        return {
            name: recoding.with_labels(self.boxes[:, c], self.rests[:, c])
            for c, (name, recoding) in enumerate(self.columns.items())
            if not recoding.kept
        }

    def to_dict(self) -> dict[str, Any]:
        """Return cuts and boxes as lists; columns are stored with the plan."""
        return {"cuts": self.cuts.tolist(), "boxes": self.boxes.reshape(len(self), -1).tolist()}

    @classmethod
    def read(cls, stored: Mapping[str, Any], recodings: Mapping[Name, Recoding]) -> Regions:
        """Read back what `to_dict` gave, and refuse ways that lead nowhere."""
        columns = {n: r for n, r in recodings.items() if isinstance(r, ByRegion)}
        cuts = np.array(stored["cuts"], dtype=np.int64).reshape(-1, 4)
        boxes = np.array(stored["boxes"], dtype=np.int64).reshape(-1, len(columns), 2)
        ahead = cuts[:, 2:]
        numbers = np.arange(len(cuts))[:, None]
        if (
            len(columns) < len(recodings)
            or not len(boxes)
            or ((ahead >= 0) & (ahead <= numbers)).any()
            or (ahead >= len(cuts)).any()
            or (~ahead[ahead < 0] >= len(boxes)).any()
            or not ((cuts[:, 0] >= 0) & (cuts[:, 0] < len(columns))).all()
        ):
            raise PlanError("this is not a stored plan: its cuts lead nowhere")
        return cls(columns, cuts, boxes)
