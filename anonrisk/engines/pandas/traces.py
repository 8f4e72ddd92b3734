"""Traces on pandas, and links across a change of pseudonyms.

Times become whole numbers that order the records.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.util import hash_pandas_object

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.engines.limits import (
    check_moment,
    missing_time,
    not_a_time,
    not_on_the_calendar,
    too_far_away,
)
from anonrisk.engines.numpy.count import Encoded
from anonrisk.engines.numpy.traces import NumberedRecords, link_counts, trace_counts
from anonrisk.engines.pandas.encode import column_of, encode
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import AnonRiskError, UnsupportedColumnError
from anonrisk.measures.counts.question import (
    LinkCounts,
    Question,
    TraceCounts,
    check_any,
    missing_items,
    missing_user,
)
from anonrisk.pseudonyms.pseudonym import instant, too_fine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Integers
    from anonrisk.engines.numpy.table import Codes
    from anonrisk.measures.counts.question import LinkQuestion, TraceQuestion

_DAY = 86_400_000_000


@dataclass(frozen=True)
class Clock:
    """Microseconds since 1970 UTC, or plain numbers where the column has those; 0 if missing."""

    values: NDArray[np.int64]
    missing: NDArray[np.bool_]
    on_calendar: bool


def clock(frame: pd.DataFrame, name: Any, *, calendar: bool = False) -> Clock:
    """Read a column of dates, timestamps or whole numbers; `calendar` refuses the last."""
    column = column_of(frame, name)
    try:
        read = _read(column, name)
    except AnonRiskError:
        raise
    # Errors of other libraries may quote the cell that upset them.
    except Exception as error:  # noqa: BLE001
        raise UnsupportedColumnError(
            f"time {name!r} cannot be read ({type(error).__name__})"
        ) from None
    if calendar and not read.on_calendar:
        raise not_on_the_calendar(name)
    return read


def _read(column: pd.Series[Any], name: Name) -> Clock:
    dtype: Any = column.dtype
    missing = np.asarray(column.isna())
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow(column, name, missing)
    if kind == "M":
        return Clock(_microseconds(column, name, missing), missing, on_calendar=True)
    if kind in "iu" and not isinstance(dtype, pd.CategoricalDtype):
        whole = column.fillna(0) if missing.any() else column
        return Clock(_whole(whole.to_numpy(), name), missing, on_calendar=False)
    if kind == "O" and isinstance(dtype, np.dtype):
        return _objects(column.to_numpy(), name, missing)
    raise not_a_time(name, str(dtype))


def _microseconds(
    column: pd.Series[Any], name: Name, missing: NDArray[np.bool_]
) -> NDArray[np.int64]:
    zoned = getattr(column.dtype, "tz", None) is not None
    local: Any = column.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else column
    values = local.to_numpy()
    try:
        fine = values.astype("datetime64[us]")
    except OverflowError:  # NumPy before 2.5 goes on from the other end
        raise too_far_away(name) from None
    if (fine.astype(values.dtype) != values)[~missing].any():
        finer = np.datetime_data(values.dtype)[0] == "ns"
        raise too_fine(name) if finer else too_far_away(name)
    return np.where(missing, 0, fine.astype(np.int64))


def _whole(values: NDArray[Any], name: Name) -> NDArray[np.int64]:
    if values.dtype.kind == "u" and len(values) and int(values.max()) >= 2**63:
        raise not_a_time(name, "integers beyond 64 bits")
    return values.astype(np.int64)


def _arrow(column: pd.Series[Any], name: Name, missing: NDArray[np.bool_]) -> Clock:
    import pyarrow as pa

    array: Any = column.array
    arrow = array.__arrow_array__()
    kind = arrow.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        try:
            zone = getattr(kind, "tz", None)
            arrow = arrow.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            finer = getattr(kind, "unit", "") == "ns"
            raise (too_fine(name) if finer else too_far_away(name)) from None
        calendar = True
    elif pa.types.is_integer(kind):
        calendar = False
    else:
        raise not_a_time(name, str(kind))
    values = arrow.cast(pa.int64()).fill_null(0).to_numpy()
    return Clock(np.asarray(values, dtype=np.int64), missing, calendar)


def _objects(values: NDArray[Any], name: Name, missing: NDArray[np.bool_]) -> Clock:
    known = values[~missing]
    kinds = {_kind(value) for value in known}
    if len(kinds) > 1 or not kinds <= {"timestamp", "date", "integer"}:
        raise not_a_time(name, " and ".join(sorted(kinds)))
    numbers = np.zeros(len(values), dtype=np.int64)
    if kinds == {"timestamp"}:
        numbers[~missing] = [instant(value, name) for value in known]
    elif kinds == {"date"}:
        start = dt.date(1970, 1, 1).toordinal()
        numbers[~missing] = [(value.toordinal() - start) * _DAY for value in known]
    else:
        numbers[~missing] = [int(value) for value in known]
    return Clock(numbers, missing, on_calendar=kinds != {"integer"})


def _kind(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return "timestamp"
    if isinstance(value, dt.date):
        return "date"
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return "integer"
    return "text" if isinstance(value, str) else type(value).__name__


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


def links(frame: pd.DataFrame, question: LinkQuestion) -> LinkCounts:
    """Match persons before and after each change by their quasi-identifiers."""
    asked = Question((question.qid,), None, question.missing)
    encoded = Encoded.of(PandasTable(frame), asked, {question.user: "user"})
    users = encoded.columns[question.user]
    if users.n_missing:
        raise missing_user(question.user, users.n_missing)
    rows = encoded.rows(question.qid)
    check_any(len(rows), len(frame) - len(rows))
    time = clock(frame, question.time, calendar=question.period is not None)
    if question.at is not None:
        check_moment(
            question.time,
            at_on_calendar=question.at_on_calendar,
            on_calendar=time.on_calendar,
        )
    n_missing = int(np.count_nonzero(time.missing[rows]))
    if n_missing:
        raise missing_time(question.time, n_missing)
    user, n_users = closed_up(users.values[rows].astype(np.int64))
    qid, n_qids = closed_up(encoded.keys(question.qid)[0][rows])
    return link_counts(
        (user, n_users), (qid, n_qids), time.values[rows], question, len(frame) - len(rows)
    )
