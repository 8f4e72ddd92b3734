"""A release matched with a population, class by class."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.matched import GRID, Attacker, Matched, Presence
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import closed_up, histogram
from anonrisk.engines.pandas.count import encoded_of
from anonrisk.engines.pandas.encode import column_of, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.counts.question import Against, Question


def matched(frame: pd.DataFrame, question: Question, against: Against) -> Matched:
    """Find the size that each class of the release has in the population."""
    f, F, n_dropped = classes_of(frame, question, against)[:3]
    present = f > 0
    refusals.check_population(int(f[present & (F == 0)].sum()), int(f[(F > 0) & (f > F)].sum()))
    share = f / np.maximum(F, 1)
    f, F = f[present], F[present]
    steps, place = np.unique(1 / F, return_inverse=True)
    return Matched(
        ClassCounts(*histogram(f), qid=question.qid, missing=question.missing, n_dropped=n_dropped),
        steps,
        np.bincount(place.ravel(), weights=f).astype(float),
        float(F.min()),
        float(F.sum()),
        float((f / F).sum()),
        Presence(float(share.min()), float(share.max())),
    )


def households(frame: pd.DataFrame, question: Question, against: Against) -> Attacker:
    """Give the risk that a record has by any member of its household."""
    f, F, _, class_of, rows = classes_of(frame, question, against)
    if against.population is not None:
        refusals.check_population(int(f[(f > 0) & (F == 0)].sum()), int(f[(F > 0) & (f > F)].sum()))
    assert against.household is not None  # noqa: S101
    home = encode(frame, {against.household: "household"})[against.household]
    lost = int(home.missing[rows].sum())
    if lost:
        raise refusals.missing_household(against.household, lost)
    homes = home.values[rows].astype(np.int64)
    with np.errstate(divide="ignore"):
        # A member who is certain to be found makes the sum minus infinity, and the risk 1.
        log_safe = np.log1p(-1 / F[class_of])
    risks = -np.expm1(np.bincount(homes, weights=log_safe, minlength=home.cardinality))[homes]
    steps, records = np.unique(np.ceil(risks * GRID - 1e-6), return_counts=True)
    return Attacker(
        "household", float(risks.mean()), float(risks.max()), steps / GRID, records.astype(float)
    )


def classes_of(
    frame: pd.DataFrame, question: Question, against: Against
) -> tuple[NDArray[Any], NDArray[Any], int, NDArray[np.int64], NDArray[np.int64]]:
    """Count f and F of every class; with the class of each counted row, and those rows."""
    n = len(frame)
    weights = None if against.weight is None else weights_of(frame, against.weight)
    table = frame
    if against.population is not None:
        # Encoded together, so that equal cells have equal codes in both.
        table = _stacked(frame, against.population, question)
    encoded = encoded_of(table, question)
    classes, n_classes = closed_up(encoded.keys(question.qid)[0])
    kept = encoded.kept(question.qid)
    rows = np.arange(len(table)) if kept is None else np.flatnonzero(kept)
    released = rows[rows < n]
    ClassCounts([1][: len(released)], [1][: len(released)], n_dropped=n - len(released))
    f = np.bincount(classes[released], minlength=n_classes)
    if against.population is not None:
        F = np.bincount(classes[rows[rows >= n]], minlength=n_classes)
    elif weights is not None:
        F = np.bincount(classes[released], weights=weights[released], minlength=n_classes)
    else:
        F = f
    counted = (f > 0) | (F > 0)
    number = np.cumsum(counted) - 1
    return f[counted], F[counted], n - len(released), number[classes[released]], released


def _stacked(frame: pd.DataFrame, population: Any, question: Question) -> pd.DataFrame:
    columns = {}
    for name in question.columns:
        both = [column_of(frame, name), column_of(population, name)]
        if both[0].dtype != both[1].dtype:
            # Left to itself, pandas would turn long integers into floats that merge them.
            both = [column.astype(object) for column in both]
        columns[name] = pd.concat(
            [column.reset_index(drop=True) for column in both], ignore_index=True
        )
    stacked = pd.DataFrame(dict(enumerate(columns.values())))
    stacked.columns = pd.Index(list(columns), tupleize_cols=False)
    return stacked


def _are_numbers(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
        return False
    if column.dtype == object:
        kinds = set(map(type, column[column.notna()]))
        return all(issubclass(kind, Number) and not issubclass(kind, bool) for kind in kinds)
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def weights_of(frame: pd.DataFrame, weight: Name) -> NDArray[np.float64]:
    """Read sampling weights, one a row, and refuse what is not one."""
    column = column_of(frame, weight)
    if not _are_numbers(column):
        raise refusals.not_a_number(weight)
    try:
        weights = column.astype(object).where(column.notna(), np.nan).to_numpy(dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise refusals.not_a_number(weight) from None
    missing = ~np.isfinite(weights)
    refusals.check_weights(weight, int(missing.sum()), int((weights[~missing] < 1).sum()))
    return np.asarray(weights)
