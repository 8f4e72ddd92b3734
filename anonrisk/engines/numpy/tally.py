"""The classes of some columns as codes with counts, generalised by arithmetic, or keyed."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import Encoded, is_dense, runs_of, tally_keys
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.keyed import KeyedCounts, KeyedTally, KeyedValues
from anonrisk.measures.counts.tally import Domain, Tally
from anonrisk.pseudonyms.encoding import (
    class_hashes,
    encoded,
    letter_of,
    person_hashes,
    placed,
    value_hashes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.engines.numpy.table import CodedTable, Codes
    from anonrisk.measures.counts.change import RowsOfPersons
    from anonrisk.pseudonyms.encoding import Hashes

# Codes of more different integers than this are looked up by sorting, not by place.
_PLACES = 20_000_000


def tally(table: CodedTable, roles: Mapping[Name, str], weights: Integers | None = None) -> Tally:
    """Count the classes of some columns; with weights, a row stands for that many records."""
    columns = table.codes(roles)
    first, counts = _classes(list(columns.values()), len(table), weights)
    domains: dict[Name, Domain] = {}
    codes: dict[Name, Integers] = {}
    for name, coded in columns.items():
        domains[name], codes[name] = _domain(table, name, coded, first)
    return Tally(domains, codes, counts)


def coded_rows(table: CodedTable, name: Name) -> tuple[Domain, Integers]:
    """Return a column's values in order, and the place of each record's among them."""
    coded = table.codes({name: "column"})[name]
    number, n_codes = closed_up(coded.values.astype(np.int64))
    domain, place = _domain(table, name, coded, _last_rows(number, n_codes))
    return domain, place[number]


def _classes(
    columns: Sequence[Codes], n_rows: int, weights: Integers | None
) -> tuple[Integers, Integers]:
    """Find a row of each class, and how many records the class has."""
    keys, bound = radix.keys_of([(c.values, c.cardinality) for c in columns], closed_up)
    if weights is None and is_dense(bound, n_rows):
        row = _last_rows(keys, bound)
        present, counts = tally_keys(keys, bound)
        return row[present], counts
    number, n_classes = closed_up(keys)
    row = _last_rows(number, n_classes)
    if weights is None:
        return row, np.bincount(number, minlength=n_classes)
    sums = np.zeros(n_classes, dtype=np.int64)
    np.add.at(sums, number, weights)
    return row, sums


def _last_rows(keys: Integers, bound: int) -> Integers:
    """Return a row of each key; where none has it, any number."""
    row = np.empty(bound, dtype=np.int64)
    row[keys] = np.arange(len(keys))
    return row


def _domain(table: CodedTable, name: Name, coded: Codes, rows: Integers) -> tuple[Domain, Integers]:
    """Order the values that occur, and give each class the place of its value."""
    of_class = coded.values[rows].astype(np.int64)
    if coded.cardinality <= _PLACES:
        holder = np.full(coded.cardinality, -1)
        holder[of_class] = rows
        present = np.flatnonzero(holder >= 0)
        holders = holder[present]
        place = np.zeros(coded.cardinality, dtype=np.int64)
        place[present] = np.arange(len(present))
        number = place[of_class]
    else:
        present, where, number = np.unique(of_class, return_index=True, return_inverse=True)
        holders = rows[where]
    missing = bool(coded.n_missing) and len(present) > 0 and present[-1] == coded.cardinality - 1
    known = holders[: len(holders) - missing]
    kind, values = table.plain(name, known)
    # What has no order of its own is known by its place alone.
    order = np.arange(len(known)) if kind == "other" else np.argsort(values, kind="stable")
    rank = np.empty(len(known) + 1, dtype=np.int64)
    rank[order] = np.arange(len(known))
    rank[len(known)] = len(known)
    return Domain(kind, order if kind == "other" else values[order]), rank[number]


@dataclass(frozen=True)
class _Hashed:
    """Hashes, ascending and each once, and of every counted row the place of its own."""

    hashes: Hashes
    place: Integers

    def of(self, rows: Integers) -> Hashes:
        return self.hashes[self.place[rows]]


def keyed(table: CodedTable, asked: KeyedTally) -> KeyedCounts:
    """Count the classes of a table under keyed hashes."""
    question = asked.question
    more = dict.fromkeys(asked.sensitive, "sensitive column")
    columns = Encoded.of(table, question, more)
    cells = _Cells(table, columns, columns.rows(question.qid))
    classes, unit = _keyed_classes(cells, asked), question.unit
    persons = None
    if unit is not None:
        persons = cells.hashed(unit, partial(person_hashes, asked.key))
    parts = [classes] if persons is None else [classes, persons]
    first, rows = _entries(parts)
    values = {}
    for name in asked.sensitive:
        hashed = cells.hashed(name, partial(value_hashes, asked.key, name))
        here, counts = _entries([*parts, hashed])
        who = None if persons is None else persons.of(here)
        values[name] = KeyedValues(classes.of(here), who, hashed.of(here), counts)
    return KeyedCounts(
        question.qid,
        unit,
        asked.sensitive,
        question.missing,
        cells.kinds,
        classes.of(first),
        None if persons is None else persons.of(first),
        rows,
        values,
        len(cells.rows),
        len(table) - len(cells.rows),
    )


@dataclass(frozen=True)
class _Cells:
    """The cells behind the codes of the rows that are counted."""

    table: CodedTable
    columns: Encoded
    rows: Integers
    # Filled as columns are encoded.
    kinds: dict[Name, str] = field(default_factory=dict)

    def encoded(self, name: Name, rows: Integers) -> tuple[list[bytes], Integers]:
        """Encode the distinct cells of some rows, and give each row the number of its own."""
        column = self.columns.columns[name]
        codes, n_codes = _numbered(column.values[rows], column.cardinality)
        holder = np.empty(n_codes, dtype=np.int64)
        holder[codes] = rows
        cells = encoded(self.table.cells(name, holder), name)
        self.kinds[name] = letter_of(cells, name)
        return cells, codes

    def hashed(self, name: Name, make: Callable[[list[bytes]], Hashes]) -> _Hashed:
        cells, codes = self.encoded(name, self.rows)
        hashes, place = placed(make(cells))
        return _Hashed(hashes, place[codes])


def _keyed_classes(cells: _Cells, asked: KeyedTally) -> _Hashed:
    qid = asked.question.qid
    keys, bound = cells.columns.keys(qid)
    number, n_classes = _numbered(keys[cells.rows], bound)
    holder = np.empty(n_classes, dtype=np.int64)
    holder[number] = cells.rows
    columns = []
    for name in qid:
        result, codes = cells.encoded(name, holder)
        columns.append(np.array(result, dtype=object)[codes].tolist())
    hashes, place = placed(class_hashes(asked.key, qid, columns))
    return _Hashed(hashes, place[number])


def rows_of_persons(table: CodedTable, asked: RowsOfPersons) -> Booleans:
    """Mark the records of some persons."""
    unit = asked.unit
    codes, n_codes = closed_up(table.codes({unit: "unit"})[unit].values)
    holder = np.empty(n_codes, dtype=np.int64)
    holder[codes] = np.arange(len(codes))
    hashes = person_hashes(asked.key, encoded(table.cells(unit, holder), unit))
    there = {*map(tuple, asked.hashes.tolist())}
    marked = np.fromiter((tuple(row) in there for row in hashes.tolist()), bool, n_codes)
    return marked[codes]


def _numbered(keys: NDArray[Any], bound: int) -> tuple[Integers, int]:
    """Renumber keys without gaps, in whatever order is cheap."""
    if not is_dense(bound, len(keys)):
        return closed_up(keys)
    there = np.zeros(bound, dtype=np.int64)
    there[keys] = 1
    numbers = np.cumsum(there)
    return numbers[keys] - 1, int(numbers[-1])


def _entries(parts: Sequence[_Hashed]) -> tuple[Integers, Integers]:
    """Return a counted row of each distinct combination, sorted by hashes, and its row count."""
    keys, bound = radix.keys_of((part.place, max(len(part.hashes), 1)) for part in parts)
    if is_dense(bound, len(keys)):
        counts = np.bincount(keys)
        row = np.empty(len(counts), dtype=np.int64)
        row[keys] = np.arange(len(keys))
        present = np.flatnonzero(counts)
        return row[present], counts[present]
    order = np.argsort(keys, kind="stable")
    starts = runs_of(keys[order])
    return order[starts], np.diff(starts, append=len(order))
