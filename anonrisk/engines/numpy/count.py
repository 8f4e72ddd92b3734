"""Classes from codes: a quasi-identifier's codes become one key per record, then are counted.

Keys in which a missing cell matches every value are counted by the records that match each of them.

Two keys match if they agree in every column that neither of them misses. Which columns those are
depends on two patterns of missing columns alone, of which there are few: each pair of patterns is
compared at once, by the columns that both have.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.renumber import closed_up, looked_up
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import Group, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Integers
    from anonrisk.engines.numpy.table import CodedTable


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
