"""Ranks of sensitive values: their order where it matters, their place in a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.hierarchy import text_of
from anonrisk.engines import refusals
from anonrisk.engines.numpy.codes import Codes
from anonrisk.engines.numpy.count import is_dense
from anonrisk.engines.order import check_kinds, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.counts.question import Sensitive
    from anonrisk.engines.numpy.table import CodedTable

    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Ranked:
    """A sensitive column as ranks from 0 to `n_ranks` - 1; missing, if any, comes last."""

    ranks: Integers
    n_ranks: int
    ordered: bool = False
    levels: Integers | None = None


def ranked(table: CodedTable, codes: Codes, rows: Integers, sensitive: Sensitive) -> Ranked:
    """Give the values ranks; in order, or with their place in a hierarchy, where asked for.

    Only the values of the given rows take part.
    """
    codes = _dense(codes)
    ranks = codes.values.astype(np.int64)
    if not sensitive.ordered and sensitive.hierarchy is None:
        return Ranked(ranks, codes.cardinality)
    # Where each code occurs first: assigned backwards, so that the first is what remains.
    first = np.full(codes.cardinality, -1)
    first[ranks[rows][::-1]] = rows[::-1]
    present = np.flatnonzero(first >= 0)
    missing = codes.n_missing and first[-1] >= 0
    if missing:
        present = present[:-1]
    if sensitive.hierarchy is not None:
        cells = table.cells(sensitive.column, first[present])
        levels = _levels(cells, codes, present, sensitive, missing=bool(missing))
        return Ranked(ranks, codes.cardinality, levels=levels)
    refusals.check_ordered(sensitive.column, len(present) + bool(missing))
    place = np.full(codes.cardinality, len(present))
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
