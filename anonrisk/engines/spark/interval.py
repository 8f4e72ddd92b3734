"""Numbers replaced by the interval that they lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines.refusals import not_numbers
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name

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
