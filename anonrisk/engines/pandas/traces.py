"""Traces on pandas: who else has the points that are known of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pandas.util import hash_pandas_object

from anonrisk.core import radix
from anonrisk.engines.numpy.traces import NumberedRecords, trace_counts
from anonrisk.engines.pandas.clock import clock
from anonrisk.engines.pandas.encode import column_of, encode
from anonrisk.engines.renumber import closed_up
from anonrisk.engines.times import missing_time
from anonrisk.measures.counts.traces import TraceCounts, check_any, missing_items, missing_user

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.engines.numpy.table import Codes
    from anonrisk.measures.counts.traces import TraceQuestion

    Integers = NDArray[np.int64]


def traces(frame: pd.DataFrame, question: TraceQuestion) -> TraceCounts:
    """Count who is singled out by each number of records."""
    return trace_counts(_records(frame, question), question)


def _records(frame: pd.DataFrame, question: TraceQuestion) -> NumberedRecords:
    # The time may be part of the item too, and is then encoded like any other.
    codes = encode(frame, {question.user: "user", **dict.fromkeys(question.item, "item")})
    if codes[question.user].n_missing:
        raise missing_user(question.user, codes[question.user].n_missing)
    lacking = {name: codes[name].n_missing for name in question.item}
    if question.missing == "error" and any(lacking.values()):
        raise missing_items("item", lacking)
    kept = np.ones(len(frame), dtype=bool)
    if question.missing == "drop":
        for name in question.item:
            kept &= ~codes[name].missing
    n_dropped = int(len(frame) - kept.sum())
    check_any(len(frame) - n_dropped, n_dropped)
    rows = np.flatnonzero(kept)
    user, n_users = _by_value(frame, question.user, codes[question.user], rows)
    items = (_by_value(frame, name, codes[name], rows) for name in question.item)
    item, n_items = radix.renumbered(radix.keys_of(items)[0])
    if question.time is None:
        return NumberedRecords(user, item, n_users, n_items, None, n_dropped)
    times = clock(frame, question.time)
    n_missing = int(np.count_nonzero(times.missing & kept))
    if n_missing:
        raise missing_time(question.time, n_missing)
    user, item, time = _once(user, item, times.values[kept])
    return NumberedRecords(user, item, n_users, n_items, time, n_dropped, times.on_calendar)


def _by_value(
    frame: pd.DataFrame, name: Name, codes: Codes, rows: Integers
) -> tuple[Integers, int]:
    """Number the values of a column without gaps, in an order that the rows' does not change.

    What a seed draws goes by these numbers. The order is that of hashes, since cells of different
    types have no other.
    """
    code, number = closed_up(codes.values[rows].astype(np.int64))
    first = np.zeros(number, dtype=np.int64)
    first[code[::-1]] = rows[::-1]
    column = column_of(frame, name)
    if _written_alike(column.iloc[first]):
        hashes = hash_pandas_object(column.iloc[first], index=False).to_numpy()
    else:
        every = hash_pandas_object(column.iloc[rows], index=False, categorize=False).to_numpy()
        hashes = np.full(number, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(hashes, code, every)
    rank = np.empty(number, dtype=np.int64)
    rank[np.argsort(hashes, kind="stable")] = np.arange(number)
    return rank[code], number


def _written_alike(cells: pd.Series[Any]) -> bool:
    """Return whether equal cells have equal hashes.

    One instant has many zones, one decimal number many zeros at its end, and zero two signs. Which
    of them comes first depends on the order of the rows, so that all of them must be asked.
    """
    if cells.dtype != object:
        return cells.dtype.kind != "f" and cells.dtype.name != "category"
    known = cells[cells.notna()].iloc[:1]
    return all(isinstance(value, (str, bytes, int)) for value in known)


def _once(user: Integers, item: Integers, time: Integers) -> tuple[Integers, Integers, Integers]:
    """Sort by user and time; the same item of a user at the same time is one record."""
    order = np.lexsort((item, time, user))
    user, item, time = user[order], item[order], time[order]
    new = np.ones(len(user), dtype=bool)
    new[1:] = (user[1:] != user[:-1]) | (time[1:] != time[:-1]) | (item[1:] != item[:-1])
    return user[new], item[new], time[new]
