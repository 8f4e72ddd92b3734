"""A column of times as whole numbers that order the records."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core.frozen import dataclass
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.times import not_a_time, not_on_the_calendar, too_far_away
from anonrisk.errors import AnonRiskError, UnsupportedColumnError
from anonrisk.pseudonyms.pseudonym import instant, too_fine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name

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
