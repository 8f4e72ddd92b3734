"""A table's columns under names of ours, normalised so that equal cells are equal to Spark."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
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
