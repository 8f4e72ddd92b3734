"""Many sets of the same columns, from one encoding, and who is alone with the fewest."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.core.progress import interruptible, tell, time_is_up
from anonrisk.core.render import count_of
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import (
    counts_of,
    distinct_pairs,
    histogram,
    histogram_of_persons,
    is_dense,
)
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import UnsupportedColumnError
from anonrisk.measures.counts.change import Totals
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.counter import DECIDED, number_of_sets
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.numpy.table import CodedTable
    from anonrisk.measures.counts.counter import Positions
    from anonrisk.measures.counts.question import Question


class CodedSets:
    """Counts the classes of sets of columns; the codes of a set grow from those of its prefix."""

    batch = 0

    def __init__(self, table: CodedTable, question: Question) -> None:
        """Encode every column once; those that cannot be compared are set apart."""
        coded, self.unsupported = _encoded(table, question.qid)
        self.columns = tuple(coded)
        self._question = question
        self._n_before = len(table)
        unit: Codes | None = None
        if question.unit is not None:
            unit = table.codes({question.unit: "unit"})[question.unit]
            if unit.n_missing:
                raise refusals.missing_unit(question.unit, unit.n_missing)
        n_missing = {name: codes.n_missing for name, codes in coded.items()}
        if question.missing == "error" and any(n_missing.values()):
            raise refusals.missing_values(n_missing)
        self.rows: NDArray[np.int64] | None = None
        if question.missing == "drop" and any(n_missing.values()):
            missing = [c.missing for c in coded.values() if c.n_missing]
            self.rows = np.flatnonzero(~np.logical_or.reduce(missing))
        self._unit = unit and Codes(self._kept(unit.values), unit.cardinality)
        self._codes = [compact(self._kept(c.values), c.cardinality) for c in coded.values()]
        drops = self.rows is not None
        self._n_known = [self.n_rows - (0 if drops else n) for n in n_missing.values()]
        self._prefix: list[tuple[int, NDArray[Any], int]] = []

    def _kept(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.rows is None else values[self.rows]

    @property
    def n_rows(self) -> int:
        """Rows that are counted."""
        return self._n_before if self.rows is None else len(self.rows)

    def count(self, sets: Sequence[Positions]) -> Iterator[ClassCounts]:
        """Count the classes of each set; sets with a common beginning should follow each other."""
        for positions in sets:
            keys, bound = self.keys(positions)
            persons = None
            if self._unit is None:
                # Sorts nothing but its own: codes of a single column are without gaps.
                sizes, classes = histogram(counts_of(keys, bound))
            else:
                units, n_units = self._unit.values, self._unit.cardinality
                pairs = distinct_pairs(keys, bound, units, n_units)
                sizes, classes, persons = histogram_of_persons(*pairs)
            yield ClassCounts(
                sizes,
                classes,
                persons,
                qid=[self.columns[i] for i in positions],
                unit=self._question.unit,
                missing=self._question.missing,
                n_rows=self.n_rows,
                n_dropped=self._n_before - self.n_rows,
            )

    def unique(self, positions: Positions) -> NDArray[np.bool_]:
        """Mark the counted rows that are alone in their class."""
        keys, bound = self.keys(positions)
        if not is_dense(bound, len(keys)):
            keys, bound = closed_up(keys)
        return np.asarray(np.bincount(keys, minlength=1)[keys] == 1)

    def keys(self, positions: Positions) -> tuple[NDArray[Any], int]:
        """Return one number per row, equal where the columns are, and a bound above it.

        The numbers of the beginning that this set shares with the last one are used again.
        """
        shared = 0
        for (position, _, _), asked in zip(self._prefix, positions[:-1], strict=False):
            if position != asked:
                break
            shared += 1
        del self._prefix[shared:]
        for position in positions[shared:-1]:
            self._prefix.append((position, *self._extended(position)))
        return self._extended(positions[-1])

    def _extended(self, position: int) -> tuple[NDArray[Any], int]:
        codes = self._codes[position]
        if not self._prefix:
            return codes.values, codes.cardinality
        _, keys, bound = self._prefix[-1]
        return radix.extended(keys, bound, codes.values, codes.cardinality, closed_up)


def _encoded(table: CodedTable, names: Qid) -> tuple[dict[Name, Codes], dict[Name, str]]:
    """Encode the columns that can be, and say of the others why not."""
    try:
        # Side by side, if all goes well.
        return table.codes(dict.fromkeys(names, "column")), {}
    except UnsupportedColumnError:
        coded: dict[Name, Codes] = {}
        unsupported: dict[Name, str] = {}
    for name in names:
        try:
            coded |= table.codes({name: "column"})
        except UnsupportedColumnError as error:
            unsupported[name] = str(error)
    return coded, unsupported


def compact(values: NDArray[Any], cardinality: int) -> Codes:
    """Renumber codes without gaps, in as few bytes as they take."""
    if is_dense(cardinality, len(values)):
        present = np.bincount(values, minlength=cardinality) > 0
        n_values = int(present.sum())
        if n_values < cardinality:
            values = (np.cumsum(present) - 1)[values]
    else:
        values, n_values = closed_up(values)
    kind = np.int32 if n_values > 2**15 else np.int16
    return Codes(values.astype(kind, copy=False), max(n_values, 1))


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
