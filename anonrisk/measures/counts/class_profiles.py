"""How often each sensitive value occurs in each kind of class, without saying which value it is."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import radix, render
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Integers

# How many entries are scored at a time.
_ENTRIES = 2**15


@dataclass(frozen=True, eq=False, repr=False)
class ValueCounts:
    """The value counts of every kind of class: all that l-diversity and t-closeness need.

    Classes with the same counts are one kind. Values are known by their rank only: one scan gives
    this object, and the rest is arithmetic on it.

    Attributes
    ----------
    starts : array of int (n_kinds + 1,)
        Kind i has the entries from ``starts[i]`` to ``starts[i + 1]``.
    ranks, counts : array of int (n_entries,)
        For each entry, the rank of a value and how often the kind has it, ranks ascending.
    classes : array of int (n_kinds,)
        For each kind, the number of classes of it.
    sizes : array of int (n_kinds,)
        For each kind, the number of records in such a class; with a `unit`, of persons.
    overall : array of int (n_values,)
        For each rank, how often the table has the value.
    ordered : bool
        Whether the ranks are an order of the values, rather than arbitrary.
    levels : array of int (n_levels, n_values), optional
        For each level of a hierarchy and each rank, the group that the value belongs to.
    """

    starts: Integers
    ranks: Integers
    counts: Integers
    classes: Integers
    sizes: Integers
    overall: Integers
    ordered: bool = False
    levels: Integers | None = None
    qid: Qid = ()
    sensitive: Name | None = None
    unit: Name | None = None
    missing: str = "value"
    missing_sensitive: str = "value"
    n_rows: int = 0
    n_dropped: int = 0

    def __post_init__(self) -> None:
        """Freeze the arrays too."""
        for array in (self.starts, self.ranks, self.counts, self.classes, self.sizes, self.overall):
            array.setflags(write=False)

    def class_sizes(self) -> ClassCounts:
        """Count the classes of each size; not for persons, who may be in several classes."""
        if self.unit is not None:
            raise ArgumentError("profiles do not say which persons are in several classes")
        sizes, place = np.unique(self.sizes, return_inverse=True)
        classes = np.bincount(place, weights=self.classes).astype(np.int64)
        return ClassCounts(
            sizes,
            classes,
            qid=self.qid,
            missing=self.missing,
            n_rows=self.n_rows,
            n_dropped=self.n_dropped,
        )

    @cached_property
    def kind(self) -> Integers:
        """For each entry, the number of its kind."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))

    @cached_property
    def totals(self) -> Integers:
        """For each kind, the sum of its counts: its size, but a person counts once per value."""
        return np.add.reduceat(self.counts, self.starts[:-1])

    def sum(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Sum something over the entries of each kind."""
        return np.add.reduceat(entries, self.starts[:-1])

    def parts(self) -> Iterator[Self]:
        """Yield some kinds at a time: what a formula makes of them fits into a processor's cache.

        The table's own counts are the same in all of them.
        """
        length = max(_ENTRIES, len(self.overall))
        cuts = np.searchsorted(self.starts, np.arange(length, len(self.ranks), length))
        edges = np.unique((0, *cuts, len(self.sizes))).tolist()
        for first, last in pairwise(edges):
            start, end = self.starts[first], self.starts[last]
            yield replace(
                self,
                starts=self.starts[first : last + 1] - start,
                ranks=self.ranks[start:end],
                counts=self.counts[start:end],
                classes=self.classes[first:last],
                sizes=self.sizes[first:last],
            )

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each entry, the share of its value in the class, and in the table."""
        p = self.counts / np.repeat(self.totals, np.diff(self.starts))
        q = (self.overall / self.overall.sum())[self.ranks]
        return p, q

    def cumulative(self) -> Integers:
        """Sum the counts of each kind up to and including each entry."""
        running = np.cumsum(self.counts)
        before = np.concatenate(([0], running))[self.starts[:-1]]
        return running - before[self.kind]

    def descending(self) -> tuple[Integers, Integers]:
        """Return the counts of each kind from the largest down, with the kind of each."""
        span = int(self.counts.max()) + 1
        keys, _ = radix.extended(self.kind, len(self.sizes), span - 1 - self.counts, span)
        keys.sort()
        # Sorted by kind first, so that every entry is still one of its own kind.
        return self.kind, span - 1 - (keys - self.kind * span)

    def merged(self, groups: Integers) -> Self:
        """Put values together that belong to one group."""
        n_groups = int(groups.max()) + 1
        keys = self.kind * n_groups + groups[self.ranks]
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        counts = np.add.reduceat(self.counts[order], first)
        kind = keys[order][first] // n_groups
        return replace(
            self,
            starts=np.searchsorted(kind, np.arange(len(self.sizes) + 1)),
            ranks=keys[order][first] % n_groups,
            counts=counts,
            overall=np.bincount(groups, weights=self.overall).astype(np.int64),
            ordered=False,
            levels=None,
        )

    def collapsed(self) -> Self:
        """Count equal kinds once, in an order that tells nothing of the table's values.

        Kinds are told apart by their entries, size by size, compared as whole rows.
        """
        lengths = np.diff(self.starts)
        parts = []
        for length in np.unique(lengths):
            kinds = np.flatnonzero(lengths == length)
            # (n_kinds of this length, length); a row is then the size, the ranks and the counts.
            entries = self.starts[kinds][:, None] + np.arange(length)
            rows = np.concatenate(
                (self.sizes[kinds][:, None], self.ranks[entries], self.counts[entries]), axis=1
            )
            unique, place = np.unique(rows, axis=0, return_inverse=True)
            weights = np.bincount(place.ravel(), weights=self.classes[kinds])
            parts.append((int(length), unique, weights.astype(np.int64)))
        lengths = np.concatenate([np.full(len(rows), length) for length, rows, _ in parts])
        return replace(
            self,
            starts=np.concatenate(([0], np.cumsum(lengths))),
            ranks=np.concatenate([rows[:, 1 : 1 + n].ravel() for n, rows, _ in parts]),
            counts=np.concatenate([rows[:, 1 + n :].ravel() for n, rows, _ in parts]),
            classes=np.concatenate([weights for _, _, weights in parts]),
            sizes=np.concatenate([rows[:, 0] for _, rows, _ in parts]),
        )

    def __repr__(self) -> str:
        """Print as text."""
        kinds = render.count_of(len(self.sizes), "kind")
        classes = render.count_of(int(self.classes.sum()), "class", "classes")
        values = render.count_of(len(self.overall), "value")
        about = f"{render.named(self.sensitive)} in {classes} of {render.joined(self.qid)}"
        return render.fitted(f"Profiles of {about}: {kinds} of class, {values}")
