"""Keys in which a missing cell matches every value: how many records match each of them.

Two keys match if they agree in every column that neither of them misses. Which columns those are
depends on two patterns of missing columns alone, of which there are few: each pair of patterns is
compared at once, by the columns that both have.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.renumber import closed_up, looked_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.engines.numpy.table import Codes

    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class MatchedKeys:
    """The different keys of a table, and how many records match each."""

    of_row: Integers
    counts: Integers
    sizes: Integers

    @classmethod
    def of(cls, columns: Sequence[Codes]) -> Self:
        """Find the keys that occur, and match them."""
        keys = radix.keys_of(((c.values, c.cardinality) for c in columns), closed_up)[0]
        of_row, n_keys = closed_up(keys)
        row = np.empty(n_keys, dtype=np.int64)
        row[of_row] = np.arange(len(of_row))
        counts = np.bincount(of_row, minlength=n_keys)
        return cls(
            of_row,
            counts,
            matched_sizes([replace(c, values=c.values[row]) for c in columns], counts),
        )

    def among(self, rows: Integers) -> Self:
        """Return the keys that some records have, with those records alone."""
        present, of_row = np.unique(self.of_row[rows], return_inverse=True)
        return type(self)(of_row, np.bincount(of_row), self.sizes[present])


def matched_sizes(columns: Sequence[Codes], counts: Integers) -> Integers:
    """Count the records that match each key, its own among them.

    Parameters
    ----------
    columns : sequence of Codes
        The keys, column by column; missing cells are those that `Codes` says.
    counts : array of int
        How many records have each key. A key may stand there more than once.

    Returns
    -------
    array of int
        For each key, the records of all the keys that it matches. Matching is mutual, but not
        transitive: (a, missing) matches (a, b) and (a, c), which do not match each other.

    Examples
    --------
    >>> from anonrisk.engines.numpy.table import Codes
    >>> zip_code = Codes(np.array([0, 0, 1, 1]), 2)
    >>> age = Codes(np.array([0, 2, 1, 0]), 3, n_missing=1)
    >>> matched_sizes([zip_code, age], np.array([5, 1, 3, 2])).tolist()
    [6, 6, 3, 2]
    """
    patterns = ((column.missing, 2) for column in columns if column.n_missing)
    # A column without a bit, for keys that miss nothing.
    nothing = (np.zeros(len(counts), dtype=bool), 1)
    pattern, n_patterns = closed_up(radix.keys_of([nothing, *patterns], closed_up)[0])
    refusals.check_patterns(n_patterns)
    order = np.argsort(pattern, kind="stable")
    ends = np.searchsorted(pattern[order], np.arange(n_patterns + 1)).tolist()
    parts = [slice(start, end) for start, end in pairwise(ends)]
    parts.sort(key=lambda part: part.stop - part.start)
    keys = _Keys(columns, counts, order)
    for few, many in combinations(parts, 2):
        keys.match(few, many)
    for part in parts:
        keys.match_within(part)
    sizes = np.empty_like(keys.sizes)
    sizes[order] = keys.sizes
    return sizes


class _Keys:
    """Keys in the order of their patterns, each with the records found to match it so far."""

    def __init__(self, columns: Sequence[Codes], counts: Integers, order: Integers) -> None:
        self.columns = [(column.values[order], column.cardinality) for column in columns]
        self.missing = [column.missing[order] for column in columns]
        self.counts = counts[order]
        self.sizes = np.zeros(len(counts), dtype=np.int64)

    def match(self, few: slice, many: slice) -> None:
        """Let every key of one pattern find those of another, and be found by them."""
        keys = self._keys(few, many)
        if keys is None:
            # They have no column in common, so that all of them match.
            self.sizes[few] += self.counts[many].sum()
            self.sizes[many] += self.counts[few].sum()
            return
        n_few = few.stop - few.start
        number, n_numbers, place = looked_up(keys[:n_few], keys[n_few:])
        result = np.flatnonzero(place >= 0)
        place = place[result]
        result += many.start
        self.sizes[result] += _sums(number, self.counts[few], n_numbers)[place]
        self.sizes[few] += _sums(place, self.counts[result], n_numbers)[number]

    def match_within(self, part: slice) -> None:
        """Let every key of a pattern find its equals."""
        keys = self._keys(part)
        if keys is None:
            self.sizes[part] += self.counts[part].sum()
            return
        number, n_numbers = closed_up(keys)
        self.sizes[part] += _sums(number, self.counts[part], n_numbers)[number]

    def _keys(self, *parts: slice) -> Integers | None:
        """Return one number per key, equal where the columns that all the parts have are equal."""
        common = [
            (np.concatenate([codes[part] for part in parts]), size)
            for (codes, size), missing in zip(self.columns, self.missing, strict=True)
            if not any(missing[part.start] for part in parts)
        ]
        return radix.keys_of(common, closed_up)[0] if common else None


def _sums(number: Integers, counts: Integers, n_numbers: int) -> Integers:
    # As floats, which hold every count of records exactly.
    return np.bincount(number, weights=counts, minlength=n_numbers).astype(np.int64)
