"""Keys of which some miss cells, as one table of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from anonrisk.core import radix
from anonrisk.engines.numpy.codes import Codes
from anonrisk.engines.numpy.wildcard import matched_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Integers

# Columns by their places.
Columns: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class IncompleteKeys:
    """Keys as a table of codes, -1 where a cell is missing, and how many records have each."""

    codes: Integers
    counts: Integers

    @classmethod
    def of(cls, columns: Sequence[Codes], counts: Integers) -> IncompleteKeys:
        """Put columns side by side."""
        codes = [np.where(column.missing, -1, column.values) for column in columns]
        return cls(np.column_stack(codes).astype(np.int64), counts)

    def sizes(self, columns: Columns | None = None) -> Integers:
        """Count the records that match each key, by some of the columns."""
        used = self.codes if columns is None else self.codes[:, list(columns)]
        if not used.shape[1]:
            return np.full(len(self.counts), self.counts.sum())
        return matched_sizes([_as_codes(column) for column in used.T], self.counts)

    def numbers(self, columns: Columns) -> Integers:
        """Give one number a key, equal where some columns are, missing cells among them."""
        if not columns:
            return np.zeros(len(self.counts), dtype=np.int64)
        used = (self.codes[:, column] + 1 for column in columns)
        return radix.keys_of((codes, int(codes.max(initial=0)) + 1) for codes in used)[0]


def _as_codes(column: Integers) -> Codes:
    size = int(column.max(initial=-1)) + 2
    missing = column < 0
    return Codes(np.where(missing, size - 1, column), size, int(missing.sum()))
