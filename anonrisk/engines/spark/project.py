"""A table's columns under names of ours, normalised so that equal cells are equal to Spark."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines.limits import not_a_time, not_on_the_calendar
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from anonrisk.core.columns import Name

# Types of cells that are one value each. Everything else (arrays, maps, structs, variants,
# calendar intervals, user types) has no equality as one cell, on one Spark version or another.
_SCALARS = frozenset(
    {
        *("boolean", "byte", "short", "integer", "long", "float", "double", "decimal"),
        *("string", "char", "varchar", "binary", "void"),
        *("date", "time", "timestamp", "timestamp_ntz", "daytimeinterval", "yearmonthinterval"),
    }
)
_BINARY = "UTF8_BINARY"


@dataclass(frozen=True)
class Projection:
    """A table whose columns are called c0, c1, … by position.

    No name that a user chose can then be misread: not one with dots, back-ticks or emoji, not two
    that differ only by case, not one that we use ourselves.
    """

    table: DataFrame
    fields: tuple[StructField, ...]
    functions: Any
    window: Any

    @classmethod
    def of(cls, frame: DataFrame) -> Projection:
        """Rename every column by its position."""
        functions, window = modules(frame)
        fields = tuple(frame.schema.fields)
        renamed = frame.toDF(*(f"c{i}" for i in range(len(fields))))
        return cls(renamed, fields, functions, window)

    @property
    def names(self) -> list[str]:
        """The user's names of the columns."""
        return [field.name for field in self.fields]

    def column(self, name: Name) -> Column:
        """Return a column such that missing is NULL and equal cells are equal."""
        column: Column = self.functions.expr(self.text(name))
        return column

    def text(self, name: Name) -> str:
        """Write such a column in SQL."""
        position = self.names.index(str(name))
        kind = self.fields[position].dataType
        column, type_name = f"c{position}", kind.typeName()
        if type_name in ("float", "double"):
            return f"if(isnan({column}), null, {column})"
        if type_name == "void":
            return f"cast({column} as string)"
        if type_name == "string" and getattr(kind, "collation", _BINARY) != _BINARY:
            return f"({column} collate {_BINARY})"
        return column

    def in_struct(self, name: Name, column: Column) -> Column:
        """Return such a column for a struct, inside of which Spark tells 0.0 from -0.0."""
        kind = self.fields[self.names.index(str(name))].dataType
        if kind.typeName() not in ("float", "double"):
            return column
        f = self.functions
        zero = f.lit(0.0)
        same: Column = f.when(column == zero, zero.cast(kind)).otherwise(column)
        return same

    def any_missing(self, columns: Iterable[Column]) -> Column:
        """Return whether one of the columns is missing."""
        return reduce(or_, (column.isNull() for column in columns))


def paths(name: str, kind: Any) -> list[str]:
    """List the paths inside a column: the fields of structs, however deep they lie."""
    results: list[str] = []
    for inner in ("elementType", "keyType", "valueType"):
        if hasattr(kind, inner):
            results += paths(name, getattr(kind, inner))
    for field in kind.fields if kind.typeName() == "struct" else ():
        below = f"{name}.{field.name}"
        results += [below, *paths(below, field.dataType)]
    return results


def refuse_nested(field: StructField, role: str) -> None:
    """Reject a column whose cells have no equality as one cell."""
    type_name = field.dataType.typeName()
    if type_name in _SCALARS:
        return
    raise UnsupportedColumnError(
        f"{role} {field.name!r} holds values of type {type_name}, "
        "which cannot be compared as one cell"
    )


def modules(frame: DataFrame) -> tuple[Any, Any]:
    """Find the functions that belong to this table; Connect has its own."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect import functions as connect_functions
        from pyspark.sql.connect.window import Window as ConnectWindow

        return connect_functions, ConnectWindow
    from pyspark.sql import Window, functions

    return functions, Window


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
