"""A column of times as whole numbers that order the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines.times import not_a_time, not_on_the_calendar

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.engines.spark.project import Projection

_WHOLE = ("byte", "short", "integer", "long")
_DAY = 86_400_000_000


def on_calendar(projection: Projection, name: Name) -> bool:
    """Return whether it holds dates or timestamps, not plain numbers; reject everything else."""
    kind = projection.fields[projection.names.index(str(name))].dataType.typeName()
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return True
    if kind in _WHOLE:
        return False
    raise not_a_time(name, kind)


def clock(projection: Projection, name: Name, *, calendar: bool = False) -> Any:
    """Return microseconds since 1970 UTC, or plain numbers where the column has those."""
    if not on_calendar(projection, name):
        if calendar:
            raise not_on_the_calendar(name)
        return projection.column(name).cast("long")
    return instant(projection, name)


def instant(projection: Projection, name: Name) -> Any:
    """Return microseconds since 1970 UTC; a timestamp without a zone is read as UTC."""
    kind = projection.fields[projection.names.index(str(name))].dataType.typeName()
    return microseconds(projection.functions, projection.column(name), kind)


def microseconds(f: Any, column: Any, kind: str) -> Any:
    """Return the same of a column of that type."""
    if kind == "timestamp":
        return f.unix_micros(column)
    days = f.datediff(f.to_date(column), f.lit("1970-01-01").cast("date")).cast("long")
    if kind == "date":
        return days * f.lit(_DAY)
    # By the clock on the wall: a cast to a timestamp would go through the session's zone.
    seconds = (f.hour(column) * 3_600 + f.minute(column) * 60).cast("long")
    part = f.extract(f.lit("SECOND"), column) * f.lit(1_000_000)
    return days * f.lit(_DAY) + seconds * f.lit(1_000_000) + part.cast("long")


def whole_part(f: Any, number: Any, divisor: int) -> Any:
    """Divide whole numbers and round down, without a detour through floats."""
    by = f.lit(divisor).cast("long")
    number = number.cast("long")
    return f.call_function("div", number - f.pmod(number, by), by)
