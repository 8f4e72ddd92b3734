"""Simple coarser columns on pandas, cell by cell the same as on Spark."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.counts.coarser import (
    CODE,
    DAY,
    MOST_WORDS,
    Commonest,
    EqualBins,
    FirstCharacters,
    halved,
)
from anonrisk.engines.pandas.shape import first_of_each, is_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.counts.coarser import Coarsening


def coarser(
    column: pd.Series[Any], codes: NDArray[Any], n_codes: int, n_values: int
) -> tuple[NDArray[np.int64], int, Coarsening] | None:
    """Give codes of a coarser column, their number, and how it came about; None if it has none."""
    values = first_of_each(column, codes, n_codes)
    known = values.notna().to_numpy()
    groups = np.full(n_codes, -1, dtype=np.int64)
    how: Coarsening | None
    if is_text(values, known):
        texts = [str(text) for text in values[known]]
        how = _of_texts(texts, np.bincount(codes, minlength=n_codes)[known], n_values)
        if how is None:
            return None
        number: dict[tuple[str, ...], int] = {}
        groups[known] = [number.setdefault(_told(text, how), len(number)) for text in texts]
    else:
        numbers = _numbers(values[known])
        if numbers is None or not len(numbers):
            return None
        how = halved(float(numbers.min()), float(numbers.max()), len(numbers))
        if how is None:
            return None
        groups[known] = _binned(numbers, how)
    # Missing stays a value of its own.
    return groups[codes] + 1, int(groups.max()) + 2, how


def _of_texts(
    texts: list[str], counts: NDArray[np.int64], n_values: int
) -> FirstCharacters | Commonest | None:
    if all(re.search(CODE, text) for text in texts):
        days = all(re.search(DAY, text) for text in texts)
        return FirstCharacters.of(max(map(len, texts), default=0), days=days)
    if n_values > MOST_WORDS:
        return None
    return Commonest.of(dict(zip(texts, counts.tolist(), strict=True)))


def _told(text: str, how: FirstCharacters | Commonest) -> tuple[str, ...]:
    if isinstance(how, FirstCharacters):
        return (text[: how.length],)
    # No word is like that of the others.
    return (text,) if text in how.words else ()


def _binned(numbers: NDArray[np.float64], bins: EqualBins) -> NDArray[np.int64]:
    places = np.floor((numbers - bins.low) * bins.scale).astype(np.int64)
    return np.minimum(places, bins.number - 1)


def _numbers(values: pd.Series[Any]) -> NDArray[np.float64] | None:
    """Read numbers, days or microseconds; None where the values are something else."""
    dtype: Any = values.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return None
    if pd.api.types.is_numeric_dtype(dtype):
        return values.to_numpy(dtype=np.float64)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        instants = pd.DatetimeIndex(values)
        instants = instants if instants.tz is None else instants.tz_convert("UTC").tz_localize(None)
        return instants.to_numpy().astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return _of_objects(list(values))


def _of_objects(cells: list[Any]) -> NDArray[np.float64] | None:
    first = cells[0] if cells else None
    if isinstance(first, (bool, np.bool_)):
        return None
    if isinstance(first, (int, float, Decimal, np.number)):
        return np.array([float(cell) for cell in cells])
    if isinstance(first, dt.datetime):
        if first.tzinfo is not None:
            cells = [cell.astimezone(dt.UTC).replace(tzinfo=None) for cell in cells]
        return np.array(cells, dtype="datetime64[us]").astype(np.int64).astype(np.float64)
    if isinstance(first, dt.date):
        return np.array(cells, dtype="datetime64[D]").astype(np.int64).astype(np.float64)
    return None
