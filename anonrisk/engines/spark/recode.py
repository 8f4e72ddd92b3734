"""Recodings as Spark expressions."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from anonrisk.engines import limits, refusals
from anonrisk.engines.pandas.recode import decimal_ends
from anonrisk.engines.refusals import not_numbers
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, whole_part
from anonrisk.engines.spark.rewrite import refusing
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import UnseenCounts
from anonrisk.measures.counts.tally import MICROSECONDS
from anonrisk.measures.recode import (
    Bins,
    DatePart,
    Keep,
    Level,
    MergeRare,
    Prefix,
    Star,
    TopBottom,
    ZipArea,
)
from anonrisk.measures.recode.kinds import ZIP
from anonrisk.measures.recode.recoding import of_earlier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name
    from anonrisk.measures.recode import Recoding

_WHOLE = ("byte", "short", "integer", "long")
_BROKEN = ("float", "double", "decimal")
# From here on every double is a whole number.
_ALL_WHOLE = 2.0**52


def in_intervals(frame: DataFrame, widths: Mapping[Name, float]) -> DataFrame:
    """Return the table with the number of its interval in place of each value; lazy."""
    with guarded("put numbers into intervals"):
        projection = Projection.of(frame)
        f = projection.functions
        columns = []
        for position, field in enumerate(projection.fields):
            column = f.col(f"c{position}")
            if field.name in widths:
                kind = field.dataType.typeName()
                column = _numbered(f, column, kind, field.name, widths[field.name])
            columns.append(column.alias(field.name, metadata=field.metadata or {}))
        return projection.table.select(*columns)


def _numbered(f: Any, column: Column, kind: str, name: Name, width: float) -> Column:
    if kind in _WHOLE and width == int(width):
        step = f.lit(int(width)).cast("long")
        whole: Column = column.cast("long") - f.pmod(column.cast("long"), step)
        return whole
    if kind not in _WHOLE + _BROKEN:
        raise not_numbers(name)
    share = column.cast("double") / f.lit(float(width))
    floored: Column = f.when(f.abs(share) < _ALL_WHOLE, f.floor(share).cast("double"))
    return floored.otherwise(share)


_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "whole"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "char", "varchar", "void"), "text"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
    "date": "date",
    "boolean": "boolean",
}
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


def recode(frame: DataFrame, recodings: Mapping[Name, Recoding], unseen: str) -> DataFrame:
    """Return a table with some columns recoded; lazy."""
    with guarded("recode the columns"):
        projection = Projection.of(frame)
        new = {
            name: expression(projection, name, recoding)
            for name, recoding in recodings.items()
            if not isinstance(recoding, Keep)
        }
        table = projection.table
        for name, lost in _unknown(projection, recodings).items():
            if unseen == "suppress":
                table = table.where(~lost)
            elif unseen == "top":
                top = projection.functions.lit(recodings[name].for_unseen)
                new[name] = projection.functions.when(lost, top).otherwise(new[name])
            else:
                message = f"the hierarchy lacks a value of column {name!r}"
                new[name] = refusing(projection, lost, message, new[name])
        return replaced(projection, table, new)


def unseen(frame: DataFrame, recodings: Mapping[Name, Recoding]) -> UnseenCounts:
    """Count the records with values that a recoding does not know."""
    with guarded("look for new values"):
        projection = Projection.of(frame)
        return counted(projection, projection.table, _unknown(projection, recodings))


def counted(
    projection: Projection, table: DataFrame, lost: Mapping[Name | None, Column]
) -> UnseenCounts:
    """Count records of which the conditions hold; None stands for all columns together."""
    f = projection.functions
    any_ = reduce(or_, lost.values(), f.lit(1) == f.lit(0))
    added = table.agg(f.count(f.lit(1)), *map(f.count_if, [*lost.values(), any_]))
    n_records, *n_lost, n_unseen = collect(added)[0]
    by_column = {name: n for name, n in zip(lost, n_lost, strict=True) if name is not None}
    return UnseenCounts(n_records, n_unseen, by_column)


def _unknown(projection: Projection, recodings: Mapping[Name, Recoding]) -> dict[Any, Column]:
    """Return of which records the values are unknown, column by column."""
    unknown = {}
    for name, recoding in recodings.items():
        if isinstance(recoding, Level):
            text, label = projection.column(name), expression(projection, name, recoding)
            unknown[name] = text.isNotNull() & label.isNull()
    return unknown


def replaced(
    projection: Projection,
    table: DataFrame,
    new: Mapping[Name, Column],
    metadata: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Put new cells into some columns, which keep their place, their name and their metadata."""
    f = projection.functions
    columns = []
    for position, field in enumerate(projection.fields):
        old = f.col(f"c{position}")
        if field.name in new:
            kept = {**field.metadata, **(metadata or {})}
            columns.append(new[field.name].alias(f"c{position}", metadata=kept))
        else:
            columns.append(old)
    return table.select(*columns).toDF(*projection.names)


def kind_of(projection: Projection, name: Name) -> str:
    """Return what a column holds by its type."""
    return _KINDS.get(type_of(projection, name).typeName(), "other")


def type_of(projection: Projection, name: Name) -> Any:
    """Get the type of a column."""
    return projection.fields[projection.names.index(str(name))].dataType


def bounds(type_: Any) -> tuple[float, float] | None:
    """Return the least and the largest number that a type holds; None if it has none."""
    if type_.typeName() == "decimal":
        return limits.decimal_bounds(type_.precision, type_.scale)
    bits = _BITS.get(type_.typeName())
    return None if bits is None else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def expression(projection: Projection, name: Name, recoding: Recoding) -> Any:
    """Return the new cells of one column; NULL where the recoding does not know the value."""
    f = projection.functions
    if isinstance(recoding, Star):
        return f.lit(recoding.label)
    column = projection.column(name)
    refusals.check_kind(kind_of(projection, name), recoding, name)
    if isinstance(recoding, Bins):
        return in_bins(projection, column, recoding.edges, recoding.labels)
    if isinstance(recoding, TopBottom):
        return _clipped(projection, name, recoding)
    if isinstance(recoding, (Prefix, ZipArea, MergeRare)):
        return _text(projection, column.cast("string"), recoding)
    if isinstance(recoding, DatePart):
        return _period(projection, day(projection, name), recoding)
    if isinstance(recoding, Level):
        return _node(projection, name, recoding)
    raise ArgumentError(f"{type(recoding).__name__} is not a recoding that Spark can do")


def in_bins(projection: Projection, column: Column, edges: Any, labels: Any) -> Any:
    """Return the label of each number's bin; a missing one gets none."""
    f = projection.functions
    number = column.cast("double")
    chain = f.when(number < f.lit(float(edges[0])), f.lit(labels[0]))
    for edge, label in zip(edges[1:], labels[1:], strict=False):
        chain = chain.when(number < f.lit(float(edge)), f.lit(label))
    return chain.when(number.isNotNull(), f.lit(labels[-1]))


def _clipped(projection: Projection, name: Name, recoding: TopBottom) -> Any:
    f, column, kind = projection.functions, projection.column(name), type_of(projection, name)
    whole = kind_of(projection, name) == "whole"
    for end in (recoding.bottom, recoding.top):
        if whole and end is not None and end != int(end):
            raise ArgumentError(f"column {name!r} holds whole numbers: top and bottom must too")
    new = column
    ends: tuple[Any, Any] = limits.ends_within(recoding, name, bounds(kind))
    low, high = decimal_ends(*ends, kind.scale) if kind.typeName() == "decimal" else ends
    if high is not None:
        top = f.lit(high).cast(kind)
        new = f.when(column > top, top).otherwise(new)
    if low is not None:
        bottom = f.lit(low).cast(kind)
        new = f.when(column < bottom, bottom).otherwise(new)
    return new


def _text(projection: Projection, text: Column, recoding: Recoding) -> Any:
    f = projection.functions
    if isinstance(recoding, ZipArea):
        return _area(projection, text, recoding)
    if isinstance(recoding, MergeRare):
        first = recoding.beginning
        begun = text if first is None else _beginning(projection, text, first)
        stays = f.when(begun.isin(list(recoding.kept)), begun).otherwise(f.lit(recoding.other))
        return f.when(text.isNotNull(), stays)
    assert isinstance(recoding, Prefix)  # noqa: S101
    return _beginning(projection, text, recoding)


def _beginning(projection: Projection, text: Column, recoding: Prefix) -> Any:
    f = projection.functions
    head = f.substring(text, 1, recoding.length)
    if recoding.width is not None:
        return f.rpad(head, recoding.width, "*")
    rest = f.substring(text, recoding.length + 1, 2**31 - 1)
    return f.concat(head, f.regexp_replace(rest, "(?s).", "*"))


def _area(projection: Projection, text: Column, recoding: ZipArea) -> Any:
    f = projection.functions
    head = f.substring(text, 1, recoding.digits)
    # Java's $ would take a line end after the last digit.
    summary = text.rlike(f"^{ZIP.pattern}\\z") & head.isin(list(recoding.known))
    return f.when(text.isNotNull(), f.when(summary, head).otherwise(f.lit(recoding.other)))


def day(projection: Projection, name: Name) -> Any:
    """Return the day of a date, or of an instant in Greenwich."""
    f, column = projection.functions, projection.column(name)
    if type_of(projection, name).typeName() != "timestamp":
        return column.cast("date")
    return f.date_from_unix_date(whole_part(f, f.unix_micros(column), MICROSECONDS).cast("int"))


def _period(projection: Projection, date: Column, recoding: DatePart) -> Any:
    f = projection.functions

    def padded(number: Column, width: int) -> Any:
        return f.when(number.isNotNull(), f.format_string(f"%0{width}d", number))

    # The year of a week is that of its Thursday.
    year = f.year(f.date_add(f.trunc(date, "week"), 3) if recoding.part == "week" else date)
    if recoding.part == "decade":
        year = (f.floor(year / f.lit(10)) * f.lit(10)).cast("int")
    month = padded(f.month(date), 2)
    within: dict[str, list[Any]] = {
        "day": [f.lit("-"), month, f.lit("-"), padded(f.dayofmonth(date), 2)],
        "week": [f.lit("-W"), padded(f.weekofyear(date), 2)],
        "month": [f.lit("-"), month],
        "quarter": [f.lit("-Q"), f.quarter(date).cast("string")],
        "half": [f.lit("-H"), f.ceil(f.month(date) / f.lit(6)).cast("string")],
        "decade": [f.lit("s")],
    }
    named = f.concat(padded(year, 4), *within.get(recoding.part, []))
    if recoding.earliest is None:
        return named
    return f.when(year < recoding.earliest, f.lit(of_earlier(recoding.earliest))).otherwise(named)


def _node(projection: Projection, name: Name, recoding: Level) -> Any:
    f = projection.functions
    words = [f.lit(word) for pair in recoding.mapping().items() for word in pair]
    return f.create_map(*words)[projection.column(name).cast("string")]
