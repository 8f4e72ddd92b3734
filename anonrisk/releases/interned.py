"""Hashes as small numbers, so that classes and persons are counted as quickly as integers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.renumber import numbered
from anonrisk.errors import StateError

if TYPE_CHECKING:
    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.core.columns import Name
    from anonrisk.core.encoding import Hashes
    from anonrisk.counts.keyed import KeyedCounts

# The number of what is not there.
NONE = -1


def interned(hashes: Hashes) -> tuple[Integers, int]:
    """Give equal hashes equal numbers from 0 on, and how many there are.

    Examples
    --------
    >>> interned(np.array([[7, 1], [5, 1], [7, 2], [7, 1]], dtype=np.uint64))
    (array([0, 1, 2, 0]), 3)
    """
    first, found = numbered(hashes[:, 0])
    one = np.empty(len(found), dtype=np.uint64)
    one[first] = hashes[:, 1]
    if (hashes[:, 1] == one[first]).all():
        return first, len(found)
    # Two hashes that share 64 bits: rare, unless they are made up.
    last = numbered(hashes[:, 1])[0]
    both, pairs = numbered(first * len(hashes) + last)
    return both, len(pairs)


def summed(key: Integers, hashes: Hashes, n: int) -> Hashes:
    """Add up the hashes of each key, whatever their order: equal sets have equal sums.

    Different sets have different ones, as far as random numbers of 128 bits go.
    """
    order = np.argsort(key, kind="stable")
    placed = key[order]
    first = np.flatnonzero(np.diff(placed, prepend=NONE))
    sums = np.zeros((n, 2), dtype=np.uint64)
    sums[placed[first]] = np.add.reduceat(hashes[order], first, axis=0)
    return sums


def all_alike(group: Integers, value: Integers) -> Booleans:
    """Tell of each member whether all of the group have its value."""
    one = np.empty(group.max(initial=0) + 1, dtype=value.dtype)
    one[group] = value
    differs = np.zeros(len(one), dtype=bool)
    differs[group[value != one[group]]] = True
    return ~differs[group]


def entries_of(counts: KeyedCounts, name: Name) -> Integers:
    """Give the entry that each value belongs to; both are sorted in one way."""
    values = counts.values[name]
    hashes = [(values.classes, counts.classes)]
    if values.persons is not None and counts.persons is not None:
        hashes.append((values.persons, counts.persons))
    new = np.zeros(len(values.rows), dtype=bool)
    new[:1] = True
    for one, _ in hashes:
        new[1:] |= (one[1:] != one[:-1]).any(axis=1)
    if any(not np.array_equal(one[new], entries) for one, entries in hashes):
        raise StateError(f"the values of column {name!r} are not those of the classes beside them")
    return np.cumsum(new) - 1


def added_by(key: Integers, rows: Integers, n: int, *, by_entry: bool = False) -> Integers:
    """Add up rows by key, or count entries, each of which is a person."""
    weights = None if by_entry else rows
    return np.bincount(key, weights=weights, minlength=n).astype(np.int64)
