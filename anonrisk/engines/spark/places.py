"""The numbers that values have among those that a caller lists, on Spark."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.order import as_number
from anonrisk.engines.spark.project import modules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from anonrisk.engines.pushed.rows import Numbered

_WHOLE = ("byte", "short", "integer", "long")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")


def numbered(table: DataFrame, step: Numbered) -> DataFrame:
    """Add the numbers of the values `s` among those that the caller lists; NULL for another."""
    f, _ = modules(table)
    type_, value = table.schema["s"].dataType, f.col("s")
    if step.as_text:
        literals, value = list(step.values), value.cast("string")
    else:
        literals = [_literal(f, given, type_) for given in step.values]
        if type_.typeName() in _NUMBERS:
            # Compared in one type that holds every cell, so that nothing is rounded on the way.
            value = value.cast(_wide(type_))
    columns = []
    for name, numbers in step.numbers.items():
        pairs = ((x, n) for x, n in zip(literals, numbers, strict=True) if x is not None)
        words = [f.lit(word) for pair in pairs for word in pair]
        number = f.create_map(*words)[value] if words else f.lit(None).cast("int")
        columns.append(number.alias(name))
    return table.select("*", *columns)


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
    name = type_.typeName()
    if name in _NUMBERS:
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
