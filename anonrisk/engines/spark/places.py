"""Where a value stands in an order that the caller gave, on Spark."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

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
    written = [(_literal(f, given, type_), i) for i, given in enumerate(order, 1)]
    literals = [x for literal, i in written if literal is not None for x in (literal, f.lit(i))]
    if not literals:
        return f.lit(0)
    if kind_of_cells(type_) == "numbers":
        # Compared in one type that holds every cell, so that nothing is rounded on the way.
        value = value.cast(_wide(type_))
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
    """Write a value as a constant of the column's type; nothing where no cell can be equal."""
    kind, name = kind_of_cells(type_), type_.typeName()
    if kind == "numbers":
        number = _number(given, type_)
        if number is None:
            return None
        # A decimal may have more digits than any number that Python hands over.
        text = f"{Decimal(number):f}" if name == "decimal" else number
        return f.lit(text).cast(_wide(type_))
    plain = pd.Timestamp(given) if isinstance(given, np.datetime64) else given
    if isinstance(plain, np.generic):
        plain = plain.item()
    if isinstance(plain, pd.Timestamp) and plain.nanosecond:
        return None
    # As text, because Python's own zone and calendar must have no part in it.
    if name == "date" or (name == "timestamp_ntz" and plain.tzinfo is None):
        return f.lit(plain.isoformat()).cast(name)
    return f.lit(plain)
