"""How the cells of each column look, on Spark: one shuffle, of the different cells."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from anonrisk.counts import contents as rules
from anonrisk.counts.contents import SPELLINGS, ColumnContents, Contents, Looks, Numbers
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection, refuse_nested
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name, Qid

# Columns of folded spellings are counted behind all others.
_FOLDED = 1_000_000
_SPELLING = SPELLINGS["spark"]
_TEXTS = ("string", "char", "varchar")
_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")
_DATES = ("date", "timestamp", "timestamp_ntz")
_SUMS = ("n", "total", "squares", "low", "high", "low_alone", "high_alone")


def contents(frame: DataFrame, asked: Contents) -> dict[Name, ColumnContents]:
    """Look at all columns in one job."""
    with guarded("read the schema"):
        projection = Projection.of(frame)
    held = {name: _held(projection, name) for name in asked.columns}
    rows: dict[int, list[Any]] = defaultdict(list)
    with guarded("look at the columns"):
        for row in _looks(projection, held, asked.keys).collect():
            rows[row["i"]].append(row)
    return {name: _made(kind, i, rows) for i, (name, kind) in enumerate(held.items())}


def with_folded(frame: DataFrame, columns: Qid) -> DataFrame:
    """Return the table with some texts without case, spaces and accents."""
    with guarded("make the table"):
        projection = Projection.of(frame)
        cells = [
            _folded(projection, projection.column(name)) if name in columns else f"c{i}"
            for i, name in enumerate(projection.names)
        ]
        return projection.table.select(*cells).toDF(*projection.names)


def _held(projection: Projection, name: Name) -> str:
    field = projection.fields[projection.names.index(str(name))]
    try:
        refuse_nested(field, "column")
    except UnsupportedColumnError:
        return rules.NESTED
    kind = field.dataType.typeName()
    for held, kinds in ((rules.TEXT, _TEXTS), (rules.NUMBER, _NUMBERS), (rules.DATE, _DATES)):
        if kind in kinds:
            return held
    return rules.TEXT if kind == "void" else rules.OTHER


def _folded(projection: Projection, column: Column) -> Column:
    f = projection.functions
    folded: Column = f.translate(column.cast("string"), rules.FOLDED_FROM, rules.FOLDED_TO)
    return folded


def _looks(projection: Projection, held: dict[Name, str], keys: tuple[str, ...]) -> DataFrame:
    """Give a row per column and number of bits: values, rows and sums."""
    f = projection.functions
    cells = [
        cell
        for i, (name, kind) in enumerate(held.items())
        for cell in _cells(projection, i, name, kind, keys)
    ]
    each = projection.table.select(f.explode(f.array(*cells)).alias("e")).select("e.*")
    one = f.count(f.lit(1))
    different = each.groupBy("i", "k", "x", "y").agg(one.alias("n"))
    # On one line, and without separators, before the long expression names them again and again.
    different = different.withColumns(
        {
            "t": f.expr(
                f"case when k = '{rules.TEXT}' then {rules.plain_text('x', _SPELLING)} "
                f"when k = '{rules.NUMBER}' then {rules.whole_text('y', _SPELLING)} else x end"
            )
        }
    ).withColumn("c", f.expr(rules.compact_text("t")))
    # Inside of a function of arrays Spark computes an expression as it stands; making a program of
    # one this long takes minutes.
    written = rules.bits(keys, _SPELLING, identifiers=True)
    bits = f"transform(array(n), z -> {written})[0]"
    known = "(x is not null or y is not null)"
    nested = f"k = '{rules.NESTED}'"
    marked = different.select(
        "i",
        "n",
        "y",
        f.expr(
            f"case when not {known} then cast(-1 as bigint) "
            f"when {nested} then cast(x as bigint) else {bits} end"
        ).alias("b"),
    )
    usual = f"abs(y) < {rules.LARGEST:g}"
    sums = {
        "n": f"sum(case when {usual} then n end)",
        "total": f"sum(case when {usual} then n * y end)",
        "squares": f"sum(case when {usual} then n * y * y end)",
        "low": f"min(case when {usual} then y end)",
        "high": f"max(case when {usual} then y end)",
        "low_alone": f"min(case when {usual} and n = 1 then y end)",
        "high_alone": f"max(case when {usual} and n = 1 then y end)",
    }
    named = [f.expr(text).alias(f"s_{name}") for name, text in sums.items()]
    return marked.groupBy("i", "b").agg(one.alias("v"), f.sum("n").alias("r"), *named)


def _cells(
    projection: Projection, i: int, name: Name, kind: str, keys: tuple[str, ...]
) -> list[Any]:
    """Give the cell of a column as text or number; of a text its folded spelling, too."""
    f = projection.functions
    nothing, number = f.lit(None).cast("string"), f.lit(None).cast("double")
    if kind == rules.NESTED:
        text = _nested(projection, name, keys)
    elif kind == rules.NUMBER:
        # Inside a struct Spark tells 0.0 from -0.0.
        text, value = nothing, projection.column(name).cast("double")
        number = f.when(value == f.lit(0.0), f.lit(0.0)).otherwise(value)
    elif kind == rules.OTHER:
        text = (
            f.hex(projection.column(name).cast("binary"))
            if _is_binary(projection, name)
            else (projection.column(name).cast("string"))
        )
    else:
        text = projection.column(name).cast("string")

    def cell(at: int, held: str, x: Any) -> Any:
        parts = (f.lit(at).alias("i"), f.lit(held).alias("k"), x.alias("x"), number.alias("y"))
        return f.struct(*parts)

    made = [cell(i, kind, text)]
    if kind == rules.TEXT:
        made.append(cell(_FOLDED + i, rules.OTHER, _folded(projection, text)))
    return made


def _is_binary(projection: Projection, name: Name) -> bool:
    field = projection.fields[projection.names.index(str(name))]
    return bool(field.dataType.typeName() == "binary")


def _nested(projection: Projection, name: Name, keys: tuple[str, ...]) -> Any:
    """Give the bits of a cell made of others: whether a map has one of the keys."""
    f = projection.functions
    position = projection.names.index(str(name))
    kind = projection.fields[position].dataType
    has = "false"
    if keys and kind.typeName() == "map" and kind.keyType.typeName() in _TEXTS:
        has = rules.has_key(f"to_json(map_keys(c{position}))", keys, _SPELLING, end="")
    bit = f"cast(case when {has} then {rules.BITS['keys']} else 0 end as string)"
    return f.expr(f"case when c{position} is not null then {bit} end")


def _made(kind: str, i: int, rows: dict[int, list[Any]]) -> ColumnContents:
    # A cell that is missing has -1 for its bits.
    looks = []
    for row in rows[i]:
        if row["b"] >= 0:
            sums = [row[f"s_{name}"] for name in _SUMS]
            numbers = Numbers(*sums) if sums[0] is not None else Numbers()
            n_values = row["r"] if kind == rules.NESTED else row["v"]
            looks.append(Looks(row["b"], n_values, row["r"], numbers))
    n_rows = sum(row["r"] for row in rows[i])
    folded = [row["v"] for row in rows.get(_FOLDED + i, ()) if row["b"] >= 0]
    n_folded = sum(folded) if kind == rules.TEXT else None
    return ColumnContents.of(kind, n_rows, looks, n_folded)
