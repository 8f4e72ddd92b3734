"""Profiles from codes: the classes of a quasi-identifier with the counts of a sensitive column."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.core.hierarchy import text_of
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import (
    Encoded,
    histogram,
    histogram_of_persons,
    is_dense,
    runs_of,
    split,
    tally_keys,
)
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.order import check_kinds, kind_of
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import EmptyTableError
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import Question, Score, Scored, Sensitive
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.core.types import Integers
    from anonrisk.engines.numpy.table import CodedTable

    Rows = Integers | slice


@dataclass(frozen=True)
class Ranked:
    """A sensitive column as ranks from 0 to `n_ranks` - 1; missing, if any, comes last."""

    ranks: NDArray[Any]
    n_ranks: int
    ordered: bool = False
    levels: Integers | None = None


def ranked(table: CodedTable, codes: Codes, rows: Rows, sensitive: Sensitive) -> Ranked:
    """Return the values ranks; in order, or with their place in a hierarchy, where asked for.

    Only the values of the given rows take part.
    """
    codes = _dense(codes)
    ranks = codes.values
    if not sensitive.ordered and sensitive.hierarchy is None:
        return Ranked(ranks, codes.cardinality)
    # Where each code occurs first: assigned backwards, so that the first is what remains.
    first = np.full(codes.cardinality, -1)
    first[ranks[rows][::-1]] = np.arange(len(ranks))[rows][::-1]
    present = np.flatnonzero(first >= 0)
    missing = codes.n_missing and first[-1] >= 0
    if missing:
        present = present[:-1]
    if sensitive.hierarchy is not None:
        cells = table.cells(sensitive.column, first[present])
        levels = _levels(cells, codes, present, sensitive, missing=bool(missing))
        return Ranked(ranks, codes.cardinality, levels=levels)
    refusals.check_ordered(sensitive.column, len(present) + bool(missing))
    place = np.full(codes.cardinality, len(present), dtype=np.min_scalar_type(len(present)))
    place[present[_order(table, first[present], sensitive)]] = np.arange(len(present))
    return Ranked(place[ranks], len(present) + 1, ordered=True)


def _dense(codes: Codes) -> Codes:
    """Close up codes with wide gaps: a few integers that lie far apart would fill the memory."""
    if is_dense(codes.cardinality // 4, len(codes.values)):
        return codes
    present, values = np.unique(codes.values, return_inverse=True)
    return Codes(values, len(present), codes.n_missing)


def _order(table: CodedTable, rows: Integers, sensitive: Sensitive) -> Integers:
    """Sort rows of different values."""
    if sensitive.order is not None:
        cells = table.cells(sensitive.column, rows)
        check_kinds(sensitive.column, sensitive.order, kind_of(cells[0]) if cells else None)
        known = {value: i for i, value in enumerate(sensitive.order)}
        unknown = sum(value not in known for value in cells)
        if unknown:
            raise refusals.unknown_values(sensitive.column, unknown, "order")
        return np.argsort([known[value] for value in cells])
    sortable = table.sortable(sensitive.column, rows)
    if any(isinstance(value, (str, bytes)) for value in sortable[:1]):
        raise refusals.not_ordered(sensitive.column)
    try:
        return np.argsort(sortable, kind="stable")
    # Objects may raise whatever they like when they are compared.
    except Exception:  # noqa: BLE001
        raise refusals.not_ordered(sensitive.column) from None


def _levels(
    cells: Sequence[Any],
    codes: Codes,
    present: Integers,
    sensitive: Sensitive,
    *,
    missing: bool,
) -> Integers:
    """Find the group of each code on each level of the hierarchy."""
    hierarchy = sensitive.hierarchy
    assert hierarchy is not None  # noqa: S101
    if any(isinstance(value, (float, np.floating, Decimal)) for value in cells):
        raise refusals.no_hierarchy(sensitive.column)
    texts = [text_of(value) for value in cells]
    unknown = sum(text not in hierarchy.leaves for text in texts) + missing
    if unknown:
        raise refusals.unknown_values(sensitive.column, unknown, "hierarchy")
    levels = np.zeros((max(hierarchy.height, 1), codes.cardinality), dtype=np.int64)
    for level, groups in enumerate(hierarchy.levels()):
        levels[level, present] = [groups[text] for text in texts]
    return levels


@dataclass(frozen=True)
class _Counted:
    """A profile per class, with what it takes to find the class's records again."""

    profiles: ValueCounts
    sizes: ClassCounts
    class_keys: Integers  # for each class, its key, ascending
    keys: Integers  # for each row, the key of its class
    kept: NDArray[np.bool_] | None  # which rows are in a class; None if all are


def profiles(table: CodedTable, question: Question, sensitive: Sensitive) -> ValueCounts:
    """Count the sensitive values of each kind of class."""
    return _count(table, question, sensitive).profiles.collapsed()


def scores(
    table: CodedTable,
    question: Question,
    sensitive: Sensitive,
    asked: Sequence[Score],
) -> Scored:
    """Score every class, and give the worst."""
    count = _count(table, question, sensitive)
    worst: dict[Score, float] = {}
    for part in count.profiles.parts():
        for score in asked:
            formula = FORMULAS[score.name]
            scored = formula.worst(part, score.c)
            worst[score] = formula.worst_of((worst.get(score, scored), scored))
    return Scored(count.sizes, worst)


def breaking(
    table: CodedTable,
    question: Question,
    limits: Sequence[tuple[Sensitive, Score, float]],
) -> NDArray[np.bool_]:
    """Mark the records of the classes that break one of the limits."""
    marked = np.zeros(len(table), dtype=bool)
    if not len(table):
        return marked
    for sensitive, score, limit in limits:
        try:
            count = _count(table, question, sensitive)
        except EmptyTableError:
            # Every value was dropped: no class is left that could break this limit.
            continue
        formula = FORMULAS[score.name]
        bad = formula.breaks(formula.of(count.profiles, score.c), limit)
        # A row whose own value was dropped still belongs to its class, if that was scored.
        place = np.minimum(np.searchsorted(count.class_keys, count.keys), len(bad) - 1)
        inside = bad[place] & (count.class_keys[place] == count.keys)
        marked |= inside if count.kept is None else inside & count.kept
    return marked


def _count(table: CodedTable, question: Question, sensitive: Sensitive) -> _Counted:
    """Count each (class, value) pair; with a unit, each person once per pair."""
    encoded = Encoded.of(table, question, {sensitive.column: "sensitive column"})
    codes = encoded.columns[sensitive.column]
    rows = _counted_rows(encoded, question, codes, sensitive)
    values = ranked(table, codes, rows, sensitive)
    every_key, bound = encoded.keys(question.qid)
    every_key, bound = radix.with_room(every_key, bound, values.n_ranks, closed_up)
    keys, ranks = every_key[rows], values.ranks[rows]
    about: dict[str, Any] = {
        "qid": question.qid,
        "unit": question.unit,
        "missing": question.missing,
        "n_rows": len(keys),
        "n_dropped": len(table) - len(keys),
    }
    if encoded.unit is None:
        pairs, counts = tally_keys(*radix.extended(keys, bound, ranks, values.n_ranks))
        pair_keys, pair_ranks = split(pairs, values.n_ranks)
        overall = np.bincount(pair_ranks, weights=counts, minlength=values.n_ranks)
        starts = runs_of(pair_keys)
        sizes = np.add.reduceat(counts, starts) if len(starts) else counts
        class_sizes = ClassCounts(*histogram(sizes), **about)
    else:
        keys, ranks = keys.astype(np.int64), ranks.astype(np.int64)
        units = encoded.unit.values[rows].astype(np.int64)
        pair_keys, pair_ranks, counts = distinct_counts(keys, ranks, units)
        _, overall_ranks, ones = distinct_counts(np.zeros_like(keys), ranks, units)
        overall = np.bincount(overall_ranks, weights=ones, minlength=values.n_ranks)
        starts = runs_of(pair_keys)
        persons, who = _distinct(keys, units)
        sizes = np.diff(runs_of(persons), append=len(persons))
        class_sizes = ClassCounts(*histogram_of_persons(persons, who), **about)
    # Values that no counted record has take no rank.
    present = overall > 0
    made = ValueCounts(
        starts=np.append(starts, len(pair_keys)),
        ranks=pair_ranks if present.all() else (np.cumsum(present) - 1)[pair_ranks],
        counts=counts,
        classes=np.ones(len(starts), dtype=np.int64),
        sizes=sizes,
        overall=overall[present].astype(np.int64),
        ordered=values.ordered,
        levels=None if values.levels is None else values.levels[:, present],
        sensitive=sensitive.column,
        missing_sensitive=sensitive.missing,
        **about,
    )
    kept = encoded.kept(question.qid)
    return _Counted(made, class_sizes, pair_keys[starts], every_key, kept)


def _counted_rows(encoded: Encoded, question: Question, codes: Codes, sensitive: Sensitive) -> Rows:
    """Find the rows that count: none dropped for a missing quasi-identifier or sensitive value."""
    kept = encoded.kept(question.qid)
    if sensitive.missing == "error":
        lost = codes.n_missing if kept is None else int((codes.missing & kept).sum())
        if lost:
            raise refusals.missing_sensitive(sensitive.column, lost)
    if sensitive.missing == "drop" and codes.n_missing:
        kept = ~codes.missing if kept is None else kept & ~codes.missing
    return slice(None) if kept is None else np.flatnonzero(kept)


def _distinct(keys: Integers, units: Integers) -> tuple[Integers, Integers]:
    """Pair every class with each of its persons once, by class."""
    order = np.lexsort((units, keys))
    keys, units = keys[order], units[order]
    new = np.flatnonzero((np.diff(keys, prepend=-1) != 0) | (np.diff(units, prepend=-1) != 0))
    return keys[new], units[new]


def distinct_counts(
    keys: Integers, ranks: Integers, units: Integers
) -> tuple[Integers, Integers, Integers]:
    """Count the persons of each (class, rank) pair, ascending."""
    order = np.lexsort((units, ranks, keys))
    keys, ranks, units = keys[order], ranks[order], units[order]
    pair = (np.diff(keys, prepend=-1) != 0) | (np.diff(ranks, prepend=-1) != 0)
    person = pair | (np.diff(units, prepend=-1) != 0)
    first = np.flatnonzero(pair)
    counts = np.add.reduceat(person.astype(np.int64), first) if len(first) else first
    return keys[first], ranks[first], counts
