"""How the cells of each column look, on Spark: one shuffle, of the different cells."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import add, and_, eq, ge, le, mod, mul, or_, sub
from typing import TYPE_CHECKING, Any

from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, refuse_nested
from anonrisk.errors import UnsupportedColumnError
from anonrisk.measures.counts import contents as rules
from anonrisk.measures.counts.contents import (
    BITS,
    CellContents,
    ColumnContents,
    Looks,
    Numbers,
    SomeTexts,
    Spelling,
)
from anonrisk.measures.counts.shapes import CHECKED, FORMATS, SqlSigns

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.shapes import CheckedNumber

# Columns of folded spellings are counted behind all others.
_FOLDED = 1_000_000
# Signs of the text of a rule that Spark reads at once.
_SHORT = 1_000
_SPELLING = Spelling("({} rlike '{}')", "ascii", "chr", "string")
_TEXTS = ("string", "char", "varchar")
_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")
_DATES = ("date", "timestamp", "timestamp_ntz")


def contents(frame: DataFrame, asked: CellContents) -> dict[Name, ColumnContents]:
    """Look at all columns in one job; digits are checked in another, where there may be numbers."""
    with guarded("read the schema"):
        projection = Projection.of(frame)
    held = {name: _held(projection, name) for name in asked.columns}

    def look(columns: Qid, formats: Collection[str]) -> dict[Name, ColumnContents]:
        return _contents_of(projection, {name: held[name] for name in columns}, asked, formats)

    return rules.with_digits(look, asked.columns)


def _contents_of(
    projection: Projection,
    held: dict[Name, str],
    asked: CellContents,
    formats: Collection[str],
) -> dict[Name, ColumnContents]:
    rows: dict[int, list[Any]] = defaultdict(list)
    with guarded("look at the columns"):
        for row in collect(_looks(projection, held, asked, formats)):
            rows[row["i"]].append(row)
    return {name: _made(kind, i, rows) for i, (name, kind) in enumerate(held.items())}


def some_texts(frame: DataFrame, asked: SomeTexts) -> dict[Name, list[str]]:
    """Return some different texts of each column, by a job of each."""
    made = {}
    with guarded("read some texts"):
        projection = Projection.of(frame)
        for name in asked.columns:
            texts = projection.table.select(projection.column(name).cast("string").alias("t"))
            first = texts.where("t is not null").distinct().orderBy(projection.functions.md5("t"))
            made[name] = [row[0] for row in collect(first.limit(asked.at_most))]
    return made


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


def _looks(
    projection: Projection, held: dict[Name, str], asked: CellContents, formats: Collection[str]
) -> DataFrame:
    """Return a row per column and number of bits: values, rows and sums."""
    f, keys = projection.functions, asked.keys
    cells = [
        cell
        for i, (name, kind) in enumerate(held.items())
        for cell in _cells(projection, i, name, kind, keys)
    ]
    each = projection.table.select(f.explode(f.array(*cells)).alias("e")).select("e.*")
    count = f.count(f.lit(1))
    different = each.groupBy("i", "k", "x", "y").agg(count.alias("n"))
    # On one line, and without separators, before the long expression names them again and again.
    different = different.withColumns(
        {
            "t": f.expr(
                f"case when k = '{rules.TEXT}' then {rules.plain_text('x', _SPELLING)} "
                f"when k = '{rules.NUMBER}' then {rules.whole_text('y', _SPELLING)} else x end"
            )
        }
    ).withColumn("c", f.expr(rules.compact_text("t")))
    known = f.col("x").isNotNull() | f.col("y").isNotNull()
    # Inside of a function of arrays Spark computes an expression as it stands; making a program of
    # one this long takes longer than to compute it.
    bits = f.transform(f.array("n"), lambda _: _bits(f, asked, formats))
    mask = (
        f.when(~known, f.lit(-1).cast("long"))
        .when(f.col("k") == rules.NESTED, f.col("x").cast("long"))
        .otherwise(f.get(bits, f.lit(0)))
    )
    marked = different.select("i", "n", "y", mask.alias("b"))
    # A session may take a number with an exponent for a decimal, which is never so large.
    largest = f"{rules.LARGEST:g}"
    texts = {name: text.replace(largest, f"{largest}D") for name, text in rules.SUMS.items()}
    named = [f.expr(text).alias(f"s_{name}") for name, text in texts.items()]
    return marked.groupBy("i", "b").agg(count.alias("v"), f.sum("n").alias("r"), *named)


def _bits(f: Any, asked: CellContents, formats: Collection[str]) -> Column:
    """Compute the bits of a cell, and whether the digits of some formats agree."""

    def marked(condition: Any, bit: Any) -> Any:
        return f.when(condition, bit).otherwise(f.lit(0).cast("long"))

    every = f.expr(rules.bits(asked.keys, _SPELLING, (), identifiers=asked.identifiers))
    for name in formats:
        digits = [
            marked(_agrees(f, number), f.lit(BITS[f"checked {j}"]).cast("long"))
            for j, number in enumerate(CHECKED)
            if number.candidates == name
        ]
        has_format = f"{rules.may_be_number(_SPELLING)} and {_SPELLING.whole('t', FORMATS[name])}"
        every += marked(f.expr(has_format), reduce(add, digits))
    bits: Column = every.cast("long")
    return bits


def _agrees(f: Any, number: CheckedNumber) -> Any:
    """Compute whether the digits of a number agree.

    A long rule is put together as columns: Spark would take minutes to read the text of all. A
    short one is a text, for Spark Connect sends no columns that nest a hundred levels deep.
    """
    text = str(number.agrees(SqlSigns("c", "ascii", "string")))
    short = len(text) <= _SHORT
    return f.expr(text) if short else number.agrees(lambda i: _sign(f, i)).column


def _sign(f: Any, i: int) -> ColumnNumber:
    return ColumnNumber(f, f.coalesce(f.ascii(f.substring("c", i + 1, 1)), f.lit(0)).cast("long"))


class ColumnNumber:
    """A number or a condition as a column of Spark, for rules that are written for many engines."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, functions: Any, column: Any) -> None:
        """Keep the column, and the functions of its kind of Spark."""
        self.functions, self.column = functions, column

    def choose(self, yes: Any, no: Any) -> ColumnNumber:
        """Return one of two numbers, by whether this condition holds."""
        chosen = self.functions.when(self.column, self._plain(yes)).otherwise(self._plain(no))
        return ColumnNumber(self.functions, chosen)

    def look_up(self, table: str) -> ColumnNumber:
        """Return the code of the sign at this place of a table, counted from 0."""
        f = self.functions
        place = (self.column + f.lit(1)).cast("int")
        return ColumnNumber(f, f.ascii(f.substr(f.lit(table), place, f.lit(1))).cast("long"))

    def _plain(self, other: Any) -> Any:
        if isinstance(other, ColumnNumber):
            return other.column
        return self.functions.lit(other).cast("long")

    def _with(self, operator: Any, other: Any) -> ColumnNumber:
        return ColumnNumber(self.functions, operator(self.column, self._plain(other)))

    def __add__(self, other: Any) -> ColumnNumber:
        return self._with(add, other)

    def __sub__(self, other: Any) -> ColumnNumber:
        return self._with(sub, other)

    def __rsub__(self, other: Any) -> ColumnNumber:
        return ColumnNumber(self.functions, self._plain(other) - self.column)

    def __mul__(self, other: Any) -> ColumnNumber:
        return self._with(mul, other)

    def __mod__(self, other: Any) -> ColumnNumber:
        return self._with(mod, other)

    def __eq__(self, other: object) -> ColumnNumber:  # type: ignore[override]
        return self._with(eq, other)

    def __ge__(self, other: Any) -> ColumnNumber:
        return self._with(ge, other)

    def __le__(self, other: Any) -> ColumnNumber:
        return self._with(le, other)

    def __and__(self, other: Any) -> ColumnNumber:
        return self._with(and_, other)

    def __or__(self, other: Any) -> ColumnNumber:
        return self._with(or_, other)


def _cells(
    projection: Projection, i: int, name: Name, kind: str, keys: tuple[str, ...]
) -> list[Any]:
    """Return the cell of a column as text or number; of a text its folded spelling, too."""
    f = projection.functions
    nothing, number = f.lit(None).cast("string"), f.lit(None).cast("double")
    if kind == rules.NESTED:
        text = _nested(projection, name, keys)
    elif kind == rules.NUMBER:
        text, value = nothing, projection.column(name)
        if _is_of_kind(projection, name, "float"):
            # As it is written: as a double it has many more digits.
            value = value.cast("string")
        value = value.cast("double")
        # Inside a struct Spark tells 0.0 from -0.0.
        number = f.when(value == f.lit(0.0), f.lit(0.0)).otherwise(value)
    elif kind == rules.OTHER:
        text = (
            f.hex(projection.column(name).cast("binary"))
            if _is_of_kind(projection, name, "binary")
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


def _is_of_kind(projection: Projection, name: Name, kind: str) -> bool:
    field = projection.fields[projection.names.index(str(name))]
    return bool(field.dataType.typeName() == kind)


def _nested(projection: Projection, name: Name, keys: tuple[str, ...]) -> Any:
    """Return the bits of a cell made of others: whether a map has one of the keys."""
    f = projection.functions
    position = projection.names.index(str(name))
    kind: Any = projection.fields[position].dataType
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
            numbers = Numbers.of(row[f"s_{name}"] for name in rules.SUMS)
            n_values = row["r"] if kind == rules.NESTED else row["v"]
            looks.append(Looks(row["b"], n_values, row["r"], numbers))
    n_rows = sum(row["r"] for row in rows[i])
    folded = [row["v"] for row in rows.get(_FOLDED + i, ()) if row["b"] >= 0]
    n_folded = sum(folded) if kind == rules.TEXT else None
    return ColumnContents.of(kind, n_rows, looks, n_folded)
