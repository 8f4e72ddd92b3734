"""Ranks of sensitive values: their order where it matters, their place in a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core.hierarchy import text_of
from anonrisk.engines import refusals
from anonrisk.engines.order import check_kinds, kind_of
from anonrisk.engines.pandas.encode import column_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.counts.question import Sensitive
    from anonrisk.engines.numpy.codes import Codes


@dataclass(frozen=True)
class Ranked:
    """A sensitive column as ranks from 0 to `n_ranks` - 1; missing, if any, comes last."""

    ranks: NDArray[np.int64]
    n_ranks: int
    ordered: bool = False
    levels: NDArray[np.int64] | None = None


def ranked(
    frame: pd.DataFrame, codes: Codes, rows: NDArray[np.int64], sensitive: Sensitive
) -> Ranked:
    """Give the values ranks; in order, or with their place in a hierarchy, where asked for.

    Only the values of the given rows take part.
    """
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
    values = column_of(frame, sensitive.column).iloc[first[present]]
    if sensitive.hierarchy is not None:
        levels = _levels(values, codes, present, sensitive, missing=bool(missing))
        return Ranked(ranks, codes.cardinality, levels=levels)
    refusals.check_ordered(sensitive.column, len(present) + bool(missing))
    place = np.full(codes.cardinality, len(present))
    place[present] = _order(values, sensitive)
    return Ranked(place[ranks], len(present) + 1, ordered=True)


def _order(values: pd.Series[Any], sensitive: Sensitive) -> NDArray[np.int64]:
    """Rank different values among each other."""
    places = np.empty(len(values), dtype=np.int64)
    if sensitive.order is not None:
        held = kind_of(values.iloc[0]) if len(values) else None
        check_kinds(sensitive.column, sensitive.order, held)
        known = {value: i for i, value in enumerate(sensitive.order)}
        unknown = sum(value not in known for value in values)
        if unknown:
            raise refusals.unknown_values(sensitive.column, unknown, "order")
        places[np.argsort([known[value] for value in values])] = np.arange(len(values))
        return places
    dtype: Any = values.dtype
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        places[np.argsort(values.cat.codes.to_numpy())] = np.arange(len(values))
        return places
    plain = values.astype(object) if isinstance(dtype, pd.CategoricalDtype) else values
    if any(isinstance(value, (str, bytes)) for value in plain.iloc[:1]):
        raise refusals.not_ordered(sensitive.column)
    try:
        places[np.argsort(plain.to_numpy(), kind="stable")] = np.arange(len(values))
    # Objects may raise whatever they like when they are compared.
    except Exception:  # noqa: BLE001
        raise refusals.not_ordered(sensitive.column) from None
    return places


def _levels(
    values: pd.Series[Any],
    codes: Codes,
    present: NDArray[np.int64],
    sensitive: Sensitive,
    *,
    missing: bool,
) -> NDArray[np.int64]:
    """Find the group of each code on each level of the hierarchy."""
    hierarchy = sensitive.hierarchy
    assert hierarchy is not None  # noqa: S101
    if any(isinstance(value, (float, np.floating, Decimal)) for value in values):
        raise refusals.no_hierarchy(sensitive.column)
    texts = [text_of(value) for value in values]
    unknown = sum(text not in hierarchy.leaves for text in texts) + missing
    if unknown:
        raise refusals.unknown_values(sensitive.column, unknown, "hierarchy")
    levels = np.zeros((max(hierarchy.height, 1), codes.cardinality), dtype=np.int64)
    for level, groups in enumerate(hierarchy.levels()):
        levels[level, present] = [groups[text] for text in texts]
    return levels
