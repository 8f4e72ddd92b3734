"""Minimal sample uniques: who is alone with a set, and with no smaller one."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.interrupt import interruptible, time_is_up
from anonrisk.core.progress import tell
from anonrisk.core.render import count_of
from anonrisk.measures.counts.change import Totals
from anonrisk.measures.counts.counter import DECIDED, number_of_sets
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonrisk.measures.counts.counter import Positions


class UniqueScores:
    """The scores of the records that are alone with all columns; no other can have any."""

    def __init__(
        self,
        alone_with: Callable[[Positions], NDArray[np.bool_]],
        n_columns: int,
        max_size: int,
    ) -> None:
        """Ask who is alone with each set of columns."""
        self.alone_with = alone_with
        self.weights = weights(n_columns, max_size)
        self.per_size = number_of_sets(n_columns, max_size)
        everything = tuple(range(n_columns))
        tell("looking for records that are alone")
        self.rows = np.flatnonzero(alone_with(everything))
        self.score = np.zeros(len(self.rows))
        self.n_minimal = np.zeros(len(self.rows), dtype=np.int64)
        self.by_column = np.zeros((n_columns, len(self.rows)))
        self.by_size = np.zeros(len(self.weights), dtype=np.int64)
        self.decided = np.zeros(len(self.weights), dtype=np.int64)
        self._begun: list[tuple[NDArray[Any], Any, Any]] = []
        with interruptible() as interruption:
            self._score(everything)
        # What was begun by then is brought to its end.
        self._assign()
        n_decided, n_sets = int(self.decided.sum()), sum(self.per_size)
        interruption.keep(n_decided, n_sets, DECIDED)

    def _score(self, everything: Positions) -> None:
        # Who is alone with each set of the size before, eight records in a byte.
        before: dict[Positions, NDArray[np.uint8]] = {}
        for size, n_sets in enumerate(self.per_size, start=1):
            alone = {}
            doing = f"sets of {count_of(size, 'column')}"
            for number, positions in enumerate(combinations(everything, size)):
                tell(doing, number, n_sets)
                unique = self.alone_with(positions)[self.rows]
                alone[positions] = np.packbits(unique)
                for i in range(size):
                    smaller = before.get(positions[:i] + positions[i + 1 :])
                    if smaller is not None:
                        unique &= ~np.unpackbits(smaller, count=len(unique)).astype(bool)
                self._add(positions, np.flatnonzero(unique))
                if time_is_up():
                    return
            before = alone

    def _add(self, positions: Positions, result: NDArray[np.int64]) -> None:
        """Add a minimal unique of some records.

        New values are made first and only assigned then. An assignment can be done twice, so that
        what Ctrl-C leaves half done can be brought to its end.
        """
        at = len(positions) - 1
        weight = self.weights[at]
        self._begun = [
            (self.score, result, self.score[result] + weight),
            (self.n_minimal, result, self.n_minimal[result] + 1),
            *((self.by_column[i], result, self.by_column[i, result] + weight) for i in positions),
            (self.by_size, at, self.by_size[at] + len(result)),
            (self.decided, at, self.decided[at] + 1),
        ]
        self._assign()

    def _assign(self) -> None:
        for array, places, values in self._begun:
            array[places] = values

    def totals(self) -> Totals:
        """Add up what may leave the engine."""
        scored = self.score[self.score > 0]
        power = exponent(len(self.by_column))
        return Totals(
            n_scored=len(scored),
            score=float(scored.sum()),
            largest=float(scored.max(initial=0.0)),
            adjustment=float((scored**-power).sum()),
            n_minimal=tuple(self.by_size.tolist()),
            contributions=tuple(self.by_column.sum(axis=1).tolist()),
            n_decided=int(self.decided.sum()),
        )
