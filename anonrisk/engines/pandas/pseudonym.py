"""Pseudonyms on pandas: each different value is hashed once, then spread by its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.limits import missing_time
from anonrisk.engines.pandas import encode
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.pandas.traces import clock
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import AnonRiskError, UnsupportedColumnError
from anonrisk.pseudonyms.pseudonym import (
    canonical_all,
    pseudonym_maker,
    refuse_collisions,
    refused,
    too_far,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Integers
    from anonrisk.pseudonyms.pseudonym import Pseudonymisation

# Booleans, floats, durations and the like, by the letter that numpy has for them.
_REFUSED = "bfcmV"


def pseudonymize(frame: pd.DataFrame, step: Pseudonymisation) -> pd.DataFrame:
    """Return the table with one column replaced."""
    codes, values = _distinct(column_of(frame, step.column), step.column)
    make = pseudonym_maker(step)
    if step.time is None or step.every is None:
        made = list(map(make, values))
        refuse_collisions(made, values)
        return _replaced(frame, step, codes, made)
    known = codes >= 0
    numbers = np.zeros(len(codes), dtype=np.int64)
    numbers[known] = _numbers(frame, step, codes, known) // step.every
    pairs, firsts = _pairs(codes, numbers, known)
    named = [
        (values[code], step.period_label(number).encode())
        for code, number in zip(codes[firsts].tolist(), numbers[firsts].tolist(), strict=True)
    ]
    made = [make(value, period) for value, period in named]
    refuse_collisions(made, named)
    return _replaced(frame, step, pairs, made)


def _distinct(column: pd.Series[Any], name: Name) -> tuple[Integers, list[bytes]]:
    """Return a code per record, -1 for missing, and the canonical bytes of each code."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categories(column, name)
    if getattr(dtype, "kind", "O") in _REFUSED:
        raise refused(name, str(dtype))
    try:
        codes, uniques = _factorized(column, name)
        return codes, canonical_all(uniques, name)
    except AnonRiskError:
        raise
    except OverflowError:
        raise too_far(name) from None
    # Errors of other libraries may quote the cell that upset them.
    except Exception as error:  # noqa: BLE001
        raise UnsupportedColumnError(
            f"column {name!r} holds values that cannot be compared as one cell "
            f"({type(error).__name__})"
        ) from None


def _of_categories(column: pd.Series[Any], name: Name) -> tuple[Integers, list[bytes]]:
    codes = column.cat.codes.to_numpy().astype(np.int64)
    levels = column.cat.categories
    # Levels that no record has may be of any type.
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(levels)))
    numbers, values = _distinct(pd.Series(levels[used]), name)
    place = np.full(len(levels) + 1, -1)
    place[used] = numbers
    return place[codes], values


def _factorized(column: pd.Series[Any], name: Name) -> tuple[Integers, list[Any]]:
    if column.dtype != object:
        spanned = _span(column)
        if spanned is not None:
            return spanned
        codes, uniques = pd.factorize(column.to_numpy() if _plain(column) else column.array)
        return codes, list(uniques) if uniques.dtype.kind == "M" else uniques.tolist()
    cells = column.to_numpy()
    codes, result = pd.factorize(cells)
    hiding = any(map(encode.may_hide_another, encode.kinds_of(result, name, "column")))
    encode.refuse_mixed(cells[codes >= 0] if hiding else result, name, "column")
    if encode.are_instants(result):
        codes, result = pd.factorize(encode.as_instants(cells))
        # Pandas gives timestamps back as numbers of their own.
        return codes, list(pd.Series(result))
    return codes, list(result)


def _span(column: pd.Series[Any]) -> tuple[Integers, list[Any]] | None:
    """Code integers that lie close together by their place, which is faster than by a hash."""
    dtype: Any = column.dtype
    if not _plain(column) or dtype.kind not in "iu" or not len(column):
        return None
    values = column.to_numpy()
    low, span = int(values.min()), int(values.max()) - int(values.min()) + 1
    if span > len(values):
        return None
    # An int8 column from -128 to 127 wraps around; seen as unsigned it is right again.
    places = (values - dtype.type(low)).view(f"u{dtype.itemsize}").astype(np.int64)
    used = np.zeros(span, dtype=bool)
    used[places] = True
    return (np.cumsum(used) - 1)[places], (np.flatnonzero(used) + low).tolist()


def _numbers(
    frame: pd.DataFrame, step: Pseudonymisation, codes: Integers, known: NDArray[np.bool_]
) -> Integers:
    """Return the time, or the rank in time, of each record that has a value."""
    time = clock(frame, step.time, calendar=not step.by_records)
    n_missing = int(np.count_nonzero(time.missing & known))
    if n_missing:
        raise missing_time(step.time, n_missing)
    times = time.values[known]
    return _ranks(codes[known], times) if step.by_records else times


def _ranks(codes: Integers, times: Integers) -> Integers:
    """Count the earlier records of the same value; records of one time share a rank."""
    order = np.lexsort((times, codes))
    code, time = codes[order], times[order]
    position = np.arange(len(order))
    new = np.ones(len(order), dtype=bool)
    new[1:] = code[1:] != code[:-1]
    start = np.maximum.accumulate(np.where(new, position, 0))
    new[1:] |= time[1:] != time[:-1]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.maximum.accumulate(np.where(new, position, 0)) - start
    return ranks


def _pairs(
    codes: Integers, numbers: Integers, known: NDArray[np.bool_]
) -> tuple[Integers, Integers]:
    """Return a code to each pair of value and period, -1 for missing, and where each is first."""
    pairs = np.full(len(codes), -1, dtype=np.int64)
    rows = np.flatnonzero(known)
    if not len(rows):
        return pairs, rows
    number, bound = closed_up(numbers[rows])
    keys, uniques = pd.factorize(codes[rows].astype(np.int64) * bound + number)
    pairs[rows] = keys
    first = np.empty(len(uniques), dtype=np.int64)
    first[keys[::-1]] = rows[::-1]
    return pairs, first


def _replaced(
    frame: pd.DataFrame, step: Pseudonymisation, codes: Integers, pseudonyms: list[str]
) -> pd.DataFrame:
    missing = [None] if (codes < 0).any() else []
    named = pd.Series([*pseudonyms, *missing], dtype=_text_type())
    values = named.to_numpy()[codes] if _plain(named) else named.array.take(codes)
    column: pd.Series[Any] = pd.Series(values, index=frame.index, dtype=named.dtype)
    labels: list[Any] = list(frame.columns)
    changed = frame.copy(deep=False)
    changed.isetitem(labels.index(step.column), column)  # type: ignore[arg-type]
    return changed


def _plain(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind != "M"


def _text_type() -> Any:
    """Text as this pandas has it by itself."""
    return pd.Series(["text"]).dtype
