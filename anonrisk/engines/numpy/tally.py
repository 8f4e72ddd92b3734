"""The classes of some columns as codes with counts: made once, then generalised by arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.engines.numpy.count import is_dense, tally_keys
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.tally import Domain, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.engines.numpy.table import CodedTable, Codes

    Integers = NDArray[np.int64]

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
