"""Where a value stands in an order that the caller gave, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines.order import as_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.types import DataType

_WHOLE = ("byte", "short", "integer", "long")
_KINDS = {
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    **dict.fromkeys((*_WHOLE, "float", "double", "decimal"), "numbers"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamps"),
    "binary": "bytes",
    "boolean": "booleans",
    "daytimeinterval": "durations",
    "date": "dates",
    "time": "times",
}


def kind_of_cells(type_: DataType) -> str:
    """Name what a column holds, in the words of `engines.order`."""
    return _KINDS.get(type_.typeName(), type_.typeName())


def place(f: Any, value: Any, type_: DataType, order: Sequence[Any]) -> Any:
    """Give the place of a value in the order, from 1; 0 where it has none."""
    places = {given: i for i, given in enumerate(order, 1)}
    if kind_of_cells(type_) == "numbers":
        # Compared in one type that holds every cell, so that nothing is rounded on the way.
        written = ((_number(given, type_), i) for given, i in places.items())
        places = {number: i for number, i in written if number is not None}
        value = value.cast(_wide(type_))
    if not places:
        return f.lit(0)
    literals = [x for given, i in places.items() for x in (_literal(f, given, type_), f.lit(i))]
    return f.coalesce(f.create_map(*literals)[value], f.lit(0))


def _number(given: Any, type_: DataType) -> Any:
    """Write a number as the column would hold it; nothing where it could not."""
    if type_.typeName() in ("float", "double"):
        return as_number(given, None)
    scale = getattr(type_, "scale", 0)
    number = as_number(given, scale)
    beyond = 2**63 if type_.typeName() in _WHOLE else 10 ** (getattr(type_, "precision", 0) - scale)
    return number if number is not None and -beyond < number < beyond else None


def _wide(type_: DataType) -> str:
    if type_.typeName() == "decimal":
        return type_.simpleString()
    return "bigint" if type_.typeName() in _WHOLE else "double"


def _literal(f: Any, given: Any, type_: DataType) -> Any:
    if kind_of_cells(type_) == "numbers":
        return f.lit(given).cast(_wide(type_))
    return f.lit(given.item() if isinstance(given, np.generic) else given)
