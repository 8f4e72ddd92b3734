"""Minimal sample uniques: who is alone with a set, and with no smaller one."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.counts.minimal_uniques import Totals
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class UniqueScores:
    """The scores of the records that are alone with all columns; no other can have any."""

    def __init__(
        self,
        alone_with: Callable[[tuple[int, ...]], NDArray[np.bool_]],
        n_columns: int,
        max_size: int,
    ) -> None:
        """Ask who is alone with each set of columns."""
        everything = tuple(range(n_columns))
        self.rows = np.flatnonzero(alone_with(everything))
        self.score = np.zeros(len(self.rows))
        self.n_minimal = np.zeros(len(self.rows), dtype=np.int64)
        self.by_column = np.zeros((n_columns, len(self.rows)))
        self.by_size: list[int] = []
        # Who is alone with each set of the size before, eight records in a byte.
        before: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        for size, weight in enumerate(weights(n_columns, max_size), start=1):
            alone = {}
            n_found = 0
            for positions in combinations(everything, size):
                unique = alone_with(positions)[self.rows]
                alone[positions] = np.packbits(unique)
                for i in range(size):
                    smaller = before.get(positions[:i] + positions[i + 1 :])
                    if smaller is not None:
                        unique &= ~np.unpackbits(smaller, count=len(unique)).astype(bool)
                found = np.flatnonzero(unique)
                n_found += len(found)
                self.n_minimal[found] += 1
                self.score[found] += weight
                for i in positions:
                    self.by_column[i, found] += weight
            self.by_size.append(n_found)
            before = alone

    def totals(self) -> Totals:
        """Add up what may leave the engine."""
        scored = self.score[self.score > 0]
        power = exponent(len(self.by_column))
        return Totals(
            n_scored=len(scored),
            score=float(scored.sum()),
            largest=float(scored.max(initial=0.0)),
            adjustment=float((scored**-power).sum()),
            n_minimal=tuple(self.by_size),
            contributions=tuple(self.by_column.sum(axis=1).tolist()),
        )
