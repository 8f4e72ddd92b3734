"""Cells of text sources: which mean missing, and which are numbers and dates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines.reading import files
from anonrisk.engines.spark.project import Projection

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import Column, DataFrame

    from anonrisk.engines.reading.files import TextFormat, Wanted

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
_WHOLE = r"^[+-]?[0-9]{1,18}\z"
# Numbers of up to 15 digits are kept apart by floats, but for the smallest ones.
_DIGITS, _SMALLEST = 15, 2.3e-308


def typed(
    frame: DataFrame, wanted: Wanted, text: TextFormat, n_inside: int, *, csv: bool
) -> DataFrame:
    """Make texts that mean missing so, and numbers of what the caller takes for numbers.

    Only the first `n_inside` columns are in the files; the others are folders.
    """
    projection = Projection.of(frame)
    f = projection.functions
    markers = ["", *text.na] if csv or text.na else []
    kinds = dict.fromkeys(wanted.numbers, "number") if csv else {}
    kinds.update(text.dtypes)
    cells: list[Column] = []
    for position, field in enumerate(projection.fields):
        column = f.col(f"c{position}")
        if markers and field.dataType.typeName() == "string":
            missing = markers if position < n_inside else [""]
            column = f.when(~column.isin(missing), column)
        cells.append(column)
    names = projection.names
    # Of several columns with one name none can be asked for.
    columns = dict(zip(names, cells, strict=True))
    wrong = {name: kind for name, kind in kinds.items() if kind != "text" and name in columns}
    whole = _check(projection, columns, wrong, scales=wanted.numbers)
    for name, kind in wrong.items():
        if kind == "date":
            columns[name] = f.to_date(columns[name], "yyyy-MM-dd")
        else:
            columns[name] = columns[name].cast("bigint" if whole[name] else "double")
    pairs = zip(names, cells, strict=True)
    changed = [columns[name] if name in wrong else cell for name, cell in pairs]
    return projection.table.select(*changed).toDF(*names)


def _check(
    projection: Projection,
    columns: Mapping[str, Column],
    kinds: Mapping[str, str],
    scales: Collection[str],
) -> dict[str, bool]:
    """Refuse cells that are not what they should be, in one pass; tell which are all whole.

    What is measured on a scale, as a weight, need not be told apart by its last digits.
    """
    if not kinds:
        return {}
    f = projection.functions
    sums: list[Any] = []
    for name, kind in kinds.items():
        column = columns[name]
        if kind == "date":
            fits = f.try_to_timestamp(column, f.lit("yyyy-MM-dd")).isNotNull()
            exact = f.lit(True)  # noqa: FBT003
        else:
            fits = column.rlike(_NUMBER)
            exact = _is_float(f, f.when(fits, column))
        sums += [
            f.count(f.when(column.isNotNull() & ~test, f.lit(1)))
            for test in (fits, column.rlike(_WHOLE), exact)
        ]
    named = [one.alias(f"s{i}") for i, one in enumerate(sums)]
    found = list(projection.table.agg(*named).collect()[0])
    whole = {}
    for i, (name, kind) in enumerate(kinds.items()):
        others, broken, lost = found[3 * i : 3 * i + 3]
        if others:
            raise files.not_all(name, kind, others)
        if kind == "number" and broken and lost and name not in scales:
            raise files.not_exact(name, lost)
        whole[name] = not broken
    return whole


def _is_float(f: Any, text: Column) -> Column:
    """Tell whether a float keeps a number apart from all others, as the reader of files does."""
    number = text.cast("double")
    digits, kept = (
        f.regexp_replace(f.regexp_replace(one, "[eE].*|[^0-9a-zA-Z]", ""), "^0+|0+$", "")
        for one in (text, number.cast("string"))
    )
    usual = (f.abs(number) >= _SMALLEST) & (f.abs(number) < float("inf"))
    exact: Column = (digits == kept) | ((f.length(digits) <= _DIGITS) & usual)
    return exact
