"""Classes from codes: a quasi-identifier's codes become one key a record, then are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.numpy.wildcard import MatchedKeys
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import Group, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.numpy.table import CodedTable

    Integers = NDArray[np.int64]

# A table of counts this small is filled directly, however few the records are.
# Rows that are counted at once.
_PART = 2**20
_SMALL = 4_096
# Class sizes below this are counted by position, rarer larger ones by sorting.
_USUAL_SIZE = 65_536


@dataclass(frozen=True)
class Encoded:
    """The columns of a question as codes: made once, asked many times."""

    columns: dict[Name, Codes]
    question: Question
    n_rows: int

    @classmethod
    def of(
        cls, table: CodedTable, question: Question, more: Mapping[Name, str] | None = None
    ) -> Encoded:
        """Encode every column that the question names, and any more with their roles.

        Missing values that the question refuses are refused.
        """
        columns = table.codes(question.roles(more))
        if question.unit is not None and columns[question.unit].n_missing:
            raise refusals.missing_unit(question.unit, columns[question.unit].n_missing)
        incomplete = {name: columns[name].n_missing for name in question.columns}
        if question.missing == "error" and any(incomplete.values()):
            raise refusals.missing_values(incomplete)
        return cls(columns, question, len(table))

    @property
    def unit(self) -> Codes | None:
        """The persons, if they are what is counted."""
        return None if self.question.unit is None else self.columns[self.question.unit]

    def kept(self, qid: Qid) -> NDArray[np.bool_] | None:
        """Which records are counted; None if all are."""
        if self.question.missing != "drop":
            return None
        kept: NDArray[np.bool_] | None = None
        for codes in (codes for codes in self._codes(qid) if codes.n_missing):
            kept = ~codes.missing if kept is None else kept & ~codes.missing
        return kept

    def rows(self, qid: Qid) -> Integers:
        """Which records are counted, by their positions."""
        kept = self.kept(qid)
        return np.arange(self.n_rows) if kept is None else np.flatnonzero(kept)

    def _codes(self, qid: Qid) -> list[Codes]:
        return [self.columns[name] for name in qid]

    def _overlaps(self, qid: Qid) -> bool:
        """Return whether a cell that is missing matches others."""
        wildcard = self.question.missing == "wildcard"
        return wildcard and any(codes.n_missing for codes in self._codes(qid))

    def keys(self, qid: Qid) -> tuple[Integers, int]:
        """Return one number per record, equal where the quasi-identifier is, and a bound."""
        columns = [(c.values, c.cardinality) for c in self._codes(qid)]
        return radix.keys_of(columns, closed_up, short=True)

    def class_sizes(self, qid: Qid) -> ClassCounts:
        """Count the classes of one quasi-identifier."""
        if self._overlaps(qid):
            return self._count_matched(qid, MatchedKeys.of(self._codes(qid)))
        keys, bound = self.keys(qid)
        kept = self.kept(qid)
        rows = np.flatnonzero(kept) if kept is not None else None
        return self._count(qid, keys, bound, rows, self.n_rows)

    def class_sizes_within(
        self, qid: Qid, groups: Sequence[Integers], labels: Iterable[Any]
    ) -> list[Group]:
        """Count the classes of one quasi-identifier within each group of rows."""
        if self._overlaps(qid):
            group_of = np.empty(self.n_rows, dtype=np.int64)
            for i, rows in enumerate(groups):
                group_of[rows] = i
            matched = MatchedKeys.of([*self._codes(qid), Codes(group_of, len(groups))])
            return [
                Group(label, self._count_matched(qid, matched.among(rows)))
                for label, rows in zip(labels, groups, strict=True)
            ]
        keys, bound = self.keys(qid)
        kept = self.kept(qid)
        counted = [rows if kept is None else rows[kept[rows]] for rows in groups]
        return [
            Group(
                label,
                self._count(qid, keys, bound, rows, len(group)) if len(rows) else None,
                len(group) - len(rows),
            )
            for label, rows, group in zip(labels, counted, groups, strict=True)
        ]

    def sizes_by_row(self) -> tuple[Integers, NDArray[np.bool_]]:
        """Size the class of each record, and tell which are counted."""
        qid = self.question.qid
        if self._overlaps(qid):
            matched = MatchedKeys.of(self._codes(qid))
            return matched.sizes[matched.of_row], np.ones(self.n_rows, dtype=bool)
        classes, n_classes = closed_up(self.keys(qid)[0])
        counts = sizes_of(classes, n_classes, self.unit)
        kept = self.kept(qid)
        return counts[classes], np.ones(self.n_rows, dtype=bool) if kept is None else kept

    def _count(
        self, qid: Qid, keys: Integers, bound: int, rows: Integers | None, n_before: int
    ) -> ClassCounts:
        if rows is not None:
            keys = keys[rows]
        n_rows, persons = len(keys), None
        if self.unit is None:
            sizes, classes = histogram(counts_of(keys, bound))
        else:
            units = self.unit.values if rows is None else self.unit.values[rows]
            pairs = distinct_pairs(keys, bound, units, self.unit.cardinality)
            sizes, classes, persons = histogram_of_persons(*pairs)
        return ClassCounts(
            sizes,
            classes,
            persons,
            qid=qid,
            unit=self.question.unit,
            missing=self.question.missing,
            n_rows=n_rows,
            n_dropped=n_before - n_rows,
        )

    def _count_matched(self, qid: Qid, matched: MatchedKeys) -> ClassCounts:
        sizes, classes = histogram(matched.sizes)
        place = np.searchsorted(sizes, matched.sizes)
        records = np.zeros(len(sizes), dtype=np.int64)
        np.add.at(records, place, matched.counts)
        return ClassCounts(sizes, classes, records, qid=qid, missing=self.question.missing)


def class_sizes(table: CodedTable, question: Question) -> list[ClassCounts]:
    """Count the classes of each quasi-identifier."""
    encoded = Encoded.of(table, question)
    return [encoded.class_sizes(qid) for qid in question.qids]


def class_sizes_by(table: CodedTable, question: Question, by: Name) -> list[list[Group]]:
    """Count the classes of each quasi-identifier within each group of `by`."""
    encoded = Encoded.of(table, question, {by: "grouping column"})
    codes = encoded.columns[by].values
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, runs_of(codes[order])[1:]) if len(order) else []
    refusals.check_groups(by, len(groups))
    labels = table.cells(by, np.array([rows[0] for rows in groups], dtype=np.int64))
    return [
        refusals.in_order(encoded.class_sizes_within(qid, groups, labels)) for qid in question.qids
    ]


def sizes_of(classes: Integers, n_classes: int, unit: Codes | None) -> Integers:
    """Count the records of each class, or its persons."""
    if unit is not None:
        classes = distinct_pairs(classes, n_classes, unit.values, unit.cardinality)[0]
    return np.bincount(classes, minlength=n_classes)


def is_dense(bound: int, n_rows: int) -> bool:
    """Return whether a place for every number below the bound is no waste for so many records."""
    return bound <= max(n_rows, _SMALL)


def counts_of(keys: Integers, bound: int) -> Integers:
    """Count how often each key occurs, zeros among them; sorts `keys` if sparse."""
    if is_dense(bound, len(keys)):
        return _counted(keys, bound)
    keys.sort()
    return np.diff(runs_of(keys), append=len(keys))


def _counted(keys: Integers, bound: int) -> Integers:
    """Count each key, in parts: NumPy makes a copy of 64 bits, which must not be of all rows."""
    size = max(bound, _PART)
    if len(keys) <= 2 * size or keys.dtype.itemsize == np.dtype(np.intp).itemsize:
        return np.bincount(keys)
    counts = np.bincount(keys[:size], minlength=bound)
    for start in range(size, len(keys), size):
        counts += np.bincount(keys[start : start + size], minlength=bound)
    return counts


def tally_keys(keys: Integers, bound: int) -> tuple[Integers, Integers]:
    """Find the keys that occur, ascending, and how often each does; sorts `keys` if sparse."""
    if is_dense(bound, len(keys)):
        counts = _counted(keys, bound)
        present = np.flatnonzero(counts)
        return present, counts[present]
    keys.sort()
    starts = runs_of(keys)
    return keys[starts], np.diff(starts, append=len(keys))


def histogram(counts: Integers) -> tuple[Integers, Integers]:
    """Count equal counts: the sizes that occur, ascending, and the number of classes of each."""
    if counts.max(initial=0) < _USUAL_SIZE:
        classes = np.bincount(counts, minlength=1)
        sizes = np.flatnonzero(classes[1:]) + 1
        return sizes, classes[sizes]
    usual = np.bincount(counts[counts < _USUAL_SIZE], minlength=1)
    sizes = np.flatnonzero(usual[1:]) + 1
    large, n_large = np.unique(counts[counts >= _USUAL_SIZE], return_counts=True)
    return np.concatenate((sizes, large)), np.concatenate((usual[sizes], n_large))


def distinct_pairs(
    keys: Integers, bound: int, units: NDArray[Any], n_units: int
) -> tuple[Integers, Integers]:
    """Pair every class with each of its persons once: keys, ascending, and units."""
    pairs, _ = radix.extended(keys, bound, units, n_units, closed_up)
    pairs.sort()
    pairs = pairs[runs_of(pairs)].astype(np.int64, copy=False)
    return split(pairs, n_units)


def split(pairs: Integers, size: int) -> tuple[Integers, Integers]:
    """Take the last digit off numbers, and give both."""
    keys = pairs // size
    # NumPy divides by one number at once, but takes the rest of each by itself.
    return keys, pairs - keys * size


def histogram_of_persons(keys: Integers, units: Integers) -> tuple[Integers, Integers, Integers]:
    """Sizes, number of classes of each, and of persons by the smallest of their classes."""
    counts = np.diff(runs_of(keys), append=len(keys))
    sizes, classes = histogram(counts)
    # By sorting, because codes of persons may span far more numbers than there are persons.
    order = np.argsort(units, kind="stable")
    of_person = np.repeat(counts, counts)[order]
    smallest = np.minimum.reduceat(of_person, runs_of(units[order])) if len(order) else of_person
    return sizes, classes, np.bincount(np.searchsorted(sizes, smallest), minlength=len(sizes))


def runs_of(ascending: Integers) -> Integers:
    """Where each run of equal numbers starts."""
    if not len(ascending):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate(([0], np.flatnonzero(ascending[1:] != ascending[:-1]) + 1))
