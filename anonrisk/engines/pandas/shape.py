"""How cells look, on pandas: each different value is looked at once, and none is kept."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.measures.counts.shapes import (
    DATES,
    FRACTION,
    NATIONAL_NUMBERS,
    SHAPES,
    WHOLE,
    Numerals,
    Shape,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ANY = "|".join(f"(?:{pattern})" for pattern in SHAPES.values())


def shape_of(column: pd.Series[Any], codes: NDArray[Any], n_codes: int, n_known: int) -> Shape:
    """Count the rows whose cell has the shape of a direct identifier.

    `codes` has a number for every row, equal where the cells are.
    """
    if not n_known:
        return Shape(0)
    values = first_of_each(column, codes, n_codes)
    known = values.notna().to_numpy()
    weights = np.bincount(codes, minlength=n_codes)
    if is_whole(values, known):
        numbers = values.where(known, 0).astype("float64").to_numpy()
        inside = [(numbers >= low) & (numbers < high) for low, high in NATIONAL_NUMBERS]
        return Shape(n_known, {"national id": int(weights[np.logical_or.reduce(inside)].sum())})
    if not is_text(values, known):
        return Shape(n_known)
    texts = pd.Series(values[known].astype(object).to_numpy(), dtype="str")
    weights = weights[known]
    looks = _matches(texts, _ANY)
    # Nearly always no value looks like anything, and one expression was enough to know.
    texts, weights = texts[looks], weights[looks]
    dates = _matches(texts, DATES)
    matches = {}
    for kind, pattern in SHAPES.items():
        has = _matches(texts, pattern)
        matches[kind] = int(weights[has & ~dates if kind == "telephone number" else has].sum())
    return Shape(n_known, matches)


def numerals_of(column: pd.Series[Any], codes: NDArray[Any], n_codes: int) -> Numerals:
    """Count the rows whose cell is a number or a date, as such or as text."""
    values = first_of_each(column, codes, n_codes)
    known = values.notna().to_numpy()
    weights = np.bincount(codes, minlength=n_codes)[known]
    n_known = int(weights.sum())
    if is_whole(values, known):
        return Numerals(n_whole=n_known)
    if is_text(values, known):
        texts = pd.Series(values[known].astype(object).to_numpy(), dtype="str")
        counts = (int(weights[_matches(texts, p)].sum()) for p in (WHOLE, FRACTION, DATES))
        return Numerals(*counts)
    if is_date(values, known):
        return Numerals(n_dates=n_known)
    if not _has_fractions(values, known):
        return Numerals()
    numbers = values[known].astype("float64").to_numpy()
    fractions = np.isfinite(numbers) & (np.floor(numbers) != numbers)
    n_fractions = int(weights[fractions].sum())
    return Numerals(n_known - n_fractions, n_fractions)


def first_of_each(column: pd.Series[Any], codes: NDArray[Any], n_codes: int) -> pd.Series[Any]:
    """Return the cell of each code, in order."""
    # Where each code occurs first: assigned backwards, so that the first is what remains.
    first = np.zeros(n_codes, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    values = column.iloc[first].reset_index(drop=True)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(values.cat.categories.dtype)
    return values


def is_text(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column holds text."""
    if values.dtype == object:
        return isinstance(next(iter(values[known]), None), str)
    return pd.api.types.is_string_dtype(values.dtype)


def is_whole(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column holds whole numbers."""
    if values.dtype == object:
        first = next(iter(values[known]), None)
        return isinstance(first, (int, np.integer)) and not isinstance(first, bool)
    return pd.api.types.is_integer_dtype(values.dtype)


def is_date(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column holds dates or instants."""
    if values.dtype == object:
        return isinstance(next(iter(values[known]), None), dt.date)
    dtype = values.dtype
    if isinstance(dtype, pd.ArrowDtype) and dtype.type is dt.date:
        return True
    return pd.api.types.is_datetime64_any_dtype(dtype)


def _has_fractions(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column is of a type for numbers with a fraction."""
    if values.dtype == object:
        return isinstance(next(iter(values[known]), None), (float, np.floating, Decimal))
    if isinstance(values.dtype, pd.ArrowDtype) and values.dtype.type is Decimal:
        return True
    return pd.api.types.is_float_dtype(values.dtype)


def _matches(texts: pd.Series[Any], pattern: str) -> NDArray[np.bool_]:
    if len(texts) < _WORTH_AN_ARRAY:
        matches = _expression(pattern).fullmatch
        return np.array([matches(text) is not None for text in texts], dtype=bool)
    return texts.str.fullmatch(pattern).to_numpy(dtype=bool)
