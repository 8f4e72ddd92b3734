"""The classes of some columns as codes with counts: made once, then generalised by arithmetic."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core import radix
from anonrisk.counts.domain import Domain
from anonrisk.counts.tally import Tally
from anonrisk.engines.numpy.count import tally as tally_of_keys
from anonrisk.engines.pandas.encode import column_of, encode
from anonrisk.engines.renumber import closed_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.engines.numpy.codes import Codes

# Codes of more different integers than this are looked up by sorting, not by place.
_PLACES = 20_000_000


def tally(
    frame: pd.DataFrame, roles: Mapping[Name, str], weights: NDArray[np.int64] | None = None
) -> Tally:
    """Count the classes of some columns; with weights, a row stands for that many records."""
    columns = encode(frame, roles)
    first, counts = _classes(list(columns.values()), len(frame), weights)
    domains: dict[Name, Domain] = {}
    codes: dict[Name, NDArray[np.int64]] = {}
    for name, coded in columns.items():
        domains[name], codes[name] = domain_of_codes(column_of(frame, name), coded, first)
    return Tally(domains, codes, counts)


def _classes(
    columns: Sequence[Codes], n_rows: int, weights: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find a row of each class, and how many records the class has."""
    keys, bound = radix.keys_of(((c.values, c.cardinality) for c in columns), closed_up)
    if weights is None and bound <= max(n_rows, 4_096):
        present, counts = tally_of_keys(keys, bound)
        row = np.empty(bound, dtype=np.int64)
        row[keys] = np.arange(n_rows)
        return row[present], counts
    number, n_classes = closed_up(keys)
    row = np.empty(n_classes, dtype=np.int64)
    row[number] = np.arange(n_rows)
    if weights is None:
        return row, np.bincount(number, minlength=n_classes)
    sums = np.zeros(n_classes, dtype=np.int64)
    np.add.at(sums, number, weights)
    return row, sums


def domain_of_codes(
    column: pd.Series[Any], coded: Codes, rows: NDArray[np.int64]
) -> tuple[Domain, NDArray[np.int64]]:
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
    domain, order = domain_of(column.iloc[known])
    rank = np.empty(len(known) + 1, dtype=np.int64)
    rank[order] = np.arange(len(known))
    rank[len(known)] = len(known)
    return domain, rank[number]


def domain_of(values: pd.Series[Any]) -> tuple[Domain, NDArray[np.int64]]:
    """Read different known values as an ordered domain; give the order in which they were met."""
    kind, array = plain(values)
    if kind == "other":
        return Domain(kind, np.arange(len(values))), np.arange(len(values))
    order = np.argsort(array, kind="stable")
    return Domain(kind, array[order]), order


def plain(values: pd.Series[Any]) -> tuple[str, NDArray[Any]]:  # noqa: PLR0911
    """Turn known values into a plain array, and say what they are."""
    dtype: Any = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = pd.Series(dtype.categories.to_numpy(dtype=object)[values.cat.codes.to_numpy()])
        values = values.infer_objects()
        dtype = values.dtype
    kind = getattr(dtype, "kind", "O")
    if is_arrow_date(dtype):
        return _of_objects(values.to_numpy(dtype=object))
    if isinstance(dtype, pd.DatetimeTZDtype) or kind == "M":
        return "timestamp", _microseconds(values)
    if isinstance(dtype, pd.StringDtype):
        return "text", _texts(values.to_numpy(dtype=object))
    if kind in "iu":
        array = values.to_numpy()
        if kind == "u" and len(array) and int(array.max()) >= 2**63:
            return "number", array.astype(np.float64)
        return "whole", array.astype(np.int64)
    if kind == "f":
        return _numbers(values.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "b":
        return "boolean", _truths(values)
    return _of_objects(values.to_numpy(dtype=object))


def is_arrow_date(dtype: Any) -> bool:
    """Tell whether a type is one of days of Arrow, which pandas takes for one of instants."""
    return isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("date")


def _of_objects(cells: NDArray[Any]) -> tuple[str, NDArray[Any]]:  # noqa: PLR0911
    first = next(iter(cells), "")
    if isinstance(first, str):
        return "text", _texts(cells)
    if isinstance(first, (bool, np.bool_)):
        return "boolean", _truths(cells)
    if isinstance(first, (int, np.integer)):
        inside = all(-(2**63) <= int(cell) < 2**63 for cell in cells)
        return ("whole", cells.astype(np.int64)) if inside else _numbers(cells.astype(np.float64))
    if isinstance(first, (float, np.floating, Decimal)):
        return _numbers(cells.astype(np.float64))
    if isinstance(first, dt.datetime):
        return "timestamp", _microseconds(pd.Series(pd.to_datetime(cells, utc=True)))
    if isinstance(first, dt.date):
        return "date", cells.astype("datetime64[D]").astype(np.int64)
    return "other", np.arange(len(cells))


def _texts(cells: NDArray[Any]) -> NDArray[Any]:
    """Write a text that is more than one: what raises does so here, where no cell gets out."""
    for cell in cells:
        if type(cell) is not str:
            str(cell)
    return cells


def _numbers(array: NDArray[np.float64]) -> tuple[str, NDArray[Any]]:
    """Take whole numbers for what they are: pandas makes them floats where one is missing."""
    if np.all(np.abs(array) < 2**53) and np.all(array == np.floor(array)):
        return "whole", array.astype(np.int64)
    # 0.0 and -0.0 are one value.
    return "number", array + 0.0


def _truths(values: Any) -> NDArray[Any]:
    return np.array(["true" if value else "false" for value in values], dtype=object)


def _microseconds(values: pd.Series[Any]) -> NDArray[np.int64]:
    if getattr(values.dt, "tz", None) is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    return values.to_numpy(dtype="datetime64[us]").astype(np.int64)
