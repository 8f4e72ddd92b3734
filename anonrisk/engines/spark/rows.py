"""The relational steps of `engines.pushed` on Spark, through the DataFrame API."""

from __future__ import annotations

import datetime as dt
from dataclasses import field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.order import as_number
from anonrisk.engines.pushed import rows as steps
from anonrisk.engines.spark.jobs import collect, count, guarded
from anonrisk.engines.spark.project import Projection, modules
from anonrisk.measures import tcloseness
from anonrisk.measures.counts import question
from anonrisk.measures.formula import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from anonrisk.core.columns import Name
    from anonrisk.engines.pushed.rows import Numbered, PushedTable, Row, Rows


_WHOLE = ("byte", "short", "integer", "long")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
_MOST_DIGITS = 38
_BEGAN = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def numbered(table: DataFrame, step: Numbered) -> DataFrame:
    """Add the numbers of the values `s` among those that the caller lists; NULL for another."""
    f, _ = modules(table)
    type_, value = table.schema["s"].dataType, f.col("s")
    if step.as_text:
        literals, value = list(step.values), value.cast("string")
    else:
        literals = [_literal(f, argument, type_) for argument in step.values]
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


def _number(value: Any, type_: DataType) -> Any:
    """Write a number as the column would hold it; nothing where it could not."""
    if type_.typeName() in ("float", "double"):
        return as_number(value, None)
    scale = getattr(type_, "scale", 0)
    number = as_number(value, scale)
    beyond = 2**63 if type_.typeName() in _WHOLE else 10 ** (getattr(type_, "precision", 0) - scale)
    return number if number is not None and -beyond < number < beyond else None


def _wide(type_: DataType) -> str:
    if type_.typeName() == "decimal":
        return type_.simpleString()
    return "bigint" if type_.typeName() in _WHOLE else "double"


def _literal(f: Any, value: Any, type_: DataType) -> Any:
    """Write a value as a constant of the column's type; nothing where no cell can be equal."""
    name = type_.typeName()
    if name in _NUMBERS:
        number = _number(value, type_)
        if number is None:
            return None
        # A decimal may have more digits than any number that Python hands over.
        text = f"{Decimal(number):f}" if name == "decimal" else number
        return f.lit(text).cast(_wide(type_))
    plain = pd.Timestamp(value) if isinstance(value, np.datetime64) else value
    if isinstance(plain, np.generic):
        plain = plain.item()
    if isinstance(plain, pd.Timestamp) and plain.nanosecond:
        return None
    # As text or number, because Python's own zone and calendar must have no part in it.
    if name == "date" or (name == "timestamp_ntz" and plain.tzinfo is None):
        return f.lit(plain.isoformat()).cast(name)
    if name == "timestamp" and isinstance(plain, dt.datetime) and plain.tzinfo is not None:
        return f.timestamp_micros(f.lit((plain - _BEGAN) // dt.timedelta(microseconds=1)))
    return f.lit(plain)


# Cells of the grid by which a cumulative share is looked up among those of the table.
_GRID, _LARGEST_GRID = 1 << 10, 1 << 16


def split_by_arrays(table: PushedTable, rows: Rows, values: Rows, column: Name) -> Rows:
    """Look every share up in constants: sorting them with those of the table is a shuffle more.

    A grid says how many shares of the table are below the cell in which one lies; those inside the
    cell are searched by halves. See `measures.tcloseness.ordered`.
    """
    most = question.MAX_ORDERED + 1
    counted = table.fetch_rows(values.select("r", "t"), "rank the sensitive values", most)
    refusals.check_ordered(column, len(counted))
    counts = [row["t"] for row in sorted(counted, key=lambda row: row["r"])]
    Q = np.cumsum(counts) / max(sum(counts), 1)
    grid = min(max(_GRID, 1 << int(4 * len(Q)).bit_length()), _LARGEST_GRID)
    starts = np.searchsorted(Q, np.arange(grid + 1) / grid, side="right")
    rounds = int(np.diff(starts).max(initial=0)).bit_length()
    shares = _array(np.concatenate((Q, np.full(1 << rounds, 2.0))))
    cell = f"cast(least(floor(reached * {grid}), {grid}) as int) + 1"
    rows = rows.select("*", below=f"cast(element_at({_array(starts)}, {cell}) as int)")
    for step in (1 << i for i in reversed(range(rounds))):
        beyond = f"element_at({shares}, below + {step}) <= reached"
        rows = rows.select("*", below=f"below + if({beyond}, {step}, 0)")
    rows = rows.select("*", split=tcloseness.SPLIT)
    sums = _array(np.concatenate(([0.0], np.cumsum(Q))))
    ranks = ("r", "high", "split")
    return rows.select(
        "*", **{f"sum_{x}": f"element_at({sums}, cast({x} as int) + 1)" for x in ranks}
    )


def _array(numbers: Any) -> str:
    """Write numbers as one constant: as separate literals they would take seconds to send."""
    return f"cast(split('{','.join(map(repr, numbers.tolist()))}', ',') as array<double>)"


# Of so many records so large a part must differ. Of 5,000 about 25 are alike where there are half a
# million classes with values, equally frequent: a task does not read many more records than that.
_LOOKED_AT, _MOSTLY = 5_000, 0.995

_HELD = {
    **dict.fromkeys(("string", "char", "varchar"), "text"),
    **dict.fromkeys(("byte", "short", "integer", "long"), "whole numbers"),
    **dict.fromkeys(("float", "double"), "floats"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamps"),
    "binary": "bytes",
    "boolean": "booleans",
    "date": "dates",
    "daytimeinterval": "durations",
    "decimal": "decimals",
    "time": "times",
    "void": "nothing",
}


@dataclass(frozen=True)
class SparkTable:
    """A Spark table as `engines.pushed` asks it."""

    frame: DataFrame
    typed_by_cell = False
    sorts_by_hash = True

    def fetch_rows(self, rows: Rows, doing: str, most: int | None = None) -> list[Row]:
        """Run the steps in one action, and bring the rows to the driver."""
        with guarded(doing):
            made = frame_of(rows)
            result = collect(made if most is None else made.limit(most))
        return [{name: label_of(cell) for name, cell in row.asDict().items()} for row in result]

    def moves_first(self, records: Rows) -> bool:
        """Look at the first records whether nearly all differ; with persons they mostly do.

        To group those before the shuffle leaves as many, and a second shuffle of them. Where many
        are alike, or many are of one class, there are few when they have been grouped.
        """
        if "u" in records.columns:
            return True
        pair = records.select(pair=f"xxhash64({', '.join(records.columns)})")
        first = self.fetch_rows(pair, "look at the first records", _LOOKED_AT)
        return len({row["pair"] for row in first}) >= _MOSTLY * len(first)

    def unlike(self, other: SparkTable, names: Iterable[Name]) -> dict[Name, tuple[str, str]]:
        """Return columns that a union would change: clocks beside instants, decimals too long."""
        with guarded("read the schema"):
            of_each = [{f.name: f.dataType for f in x.frame.schema.fields} for x in (self, other)]
        types = {name: [fields[str(name)] for fields in of_each] for name in names}
        return {
            name: (ours.simpleString(), theirs.simpleString())
            for name, (ours, theirs) in types.items()
            if _changed_by_union(ours, theirs)
        }

    def hold(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Return what columns hold, by their types."""
        with guarded("read the schema"):
            kinds = {field.name: field.dataType.typeName() for field in self.frame.schema.fields}
        return {name: _HELD.get(kinds[str(name)], kinds[str(name)]) for name in roles}

    def beside(self, other: DataFrame) -> SparkTable:
        """Take another table of the session."""
        return SparkTable(other)

    def check_logarithms(self) -> None:
        """Do nothing: Spark takes logarithms."""

    def n_rows(self) -> int:
        """Count all rows."""
        with guarded("count the rows"):
            return count(self.frame)

    def split_shares(self, rows: Rows, _: Rows, alone: Rows, column: Name) -> Rows:
        """Add what an ordered distance needs, after a look at the values."""
        return split_by_arrays(self, rows, alone, column)

    def check_types(self, roles: Mapping[Name, str], ends: Mapping[Name, tuple[Any, Any]]) -> None:
        """Do nothing: a column of Spark has one type."""

    def group_labels(self, by: Name, labels: Sequence[Any]) -> list[Any]:
        """Return the values of a column as Python knows them; instants come as numbers."""
        if not _is_instant(self.frame.schema[str(by)]):
            return list(labels)
        return [x if x is None else _BEGAN + dt.timedelta(microseconds=x) for x in labels]


def _changed_by_union(ours: DataType, theirs: DataType) -> bool:
    names = {ours.typeName(), theirs.typeName()}
    if names == {"decimal"}:
        both: list[Any] = [ours, theirs]
        digits = max(x.precision - x.scale for x in both) + max(x.scale for x in both)
        return bool(digits > _MOST_DIGITS)
    return names == {"timestamp", "timestamp_ntz"}


def label_of(cell: Any) -> Any:
    """Return a cell as Python compares and hashes it."""
    return bytes(cell) if isinstance(cell, bytearray) else cell


def frame_of(rows: Rows) -> DataFrame:
    """Make a table of Spark; nothing runs yet."""
    return _Made().of(rows)


def _text(projection: Projection, q: str, name: Name) -> str:
    """Write a cell; of a group an instant as a number, which no clock on the way changes."""
    text = projection.text(name)
    instant = q == "g" and _is_instant(projection.fields[projection.names.index(str(name))])
    return f"unix_micros({text})" if instant else text


def _is_instant(field: Any) -> bool:
    return bool(field.dataType.typeName() == "timestamp")


@dataclass
class _Made:
    """Tables of Spark, one for each step: what is used twice is one plan, and shuffled once."""

    known: dict[int, DataFrame] = field(default_factory=dict)

    def of(self, rows: Rows) -> DataFrame:
        if id(rows) not in self.known:
            made = rows.query if isinstance(rows, steps.Made) else self._step(rows)
            self.known[id(rows)] = made
        return self.known[id(rows)]

    def _step(self, rows: Rows) -> DataFrame:  # noqa: C901, PLR0911
        if isinstance(rows, steps.Cells):
            projection = Projection.of(rows.table.frame)
            texts = (f"{_text(projection, q, name)} as {q}" for q, name in rows.names.items())
            return select(projection.table, *texts)
        table, *others = map(self.of, rows.inputs)
        match rows:
            case steps.Selected():
                return select(table, *_named(rows.texts))
            case steps.Filtered():
                return table.where(rows.condition)
            case steps.Grouped():
                return _grouped(table, rows.keys, _named(rows.sums))
            case steps.Gathered():
                cells = ", ".join(_in_struct(table, name) for name in rows.entry)
                entries = f"sort_array(collect_list(struct({cells}))) as {rows.name}"
                return _grouped(table, rows.keys, [entries, *_named(rows.sums)])
            case steps.Listed():
                entries = f"sort_array(collect_list(struct({', '.join(rows.entry)})))"
                first, second = rows.entry
                item = f"x -> concat(x.{first}, ':', x.{second})"
                text = f"array_join(transform({entries}, {item}), ',') as {rows.name}"
                return _grouped(table, rows.keys, [text, *_named(rows.sums)])
            case steps.Arranged():
                return table.repartition(*rows.keys) if rows.keys else table.coalesce(1)
            case steps.Totalled():
                order = f" order by {rows.order} {ALL}" if rows.order else ""
                over = f"over (partition by {', '.join(rows.keys)}{order})"
                return table.selectExpr("*", f"{rows.text} {over} as {rows.name}")
            case steps.LookedUp():
                return _looked_up(table, others[0], rows)
            case steps.Numbered():
                return numbered(table, rows)
            case steps.GroupedSets():
                return _sets(table, rows)
            case steps.United():
                return table.union(select(others[0], *_named(rows.texts)))
        raise TypeError(type(rows))


def select(table: DataFrame, *texts: str) -> DataFrame:
    """Select columns by their texts; SQLFrame has no `selectExpr`."""
    functions, _ = modules(table)
    return table.select(*map(functions.expr, texts))


def _named(texts: Any) -> list[str]:
    return [text if text == name else f"{text} as {name}" for name, text in texts.items()]


def _grouped(table: DataFrame, keys: Sequence[str], sums: list[str]) -> DataFrame:
    functions, _ = modules(table)
    return table.groupBy(*keys).agg(*map(functions.expr, sums))


def _looked_up(table: DataFrame, few: DataFrame, rows: steps.LookedUp) -> DataFrame:
    """Send the few rows to where the others are."""
    functions, _ = modules(table)
    renamed = few.selectExpr(*(f"{key} as key_{key}" for key in rows.keys), *rows.added)
    same = functions.expr(" and ".join(f"{key} <=> key_{key}" for key in rows.keys))
    text = table.join(functions.broadcast(renamed), same, "left")
    return text.drop(*(f"key_{key}" for key in rows.keys))


def _sets(table: DataFrame, rows: steps.GroupedSets) -> DataFrame:
    """Make a row of each for every set, with the columns of that one: one scan serves all."""
    last = len(rows.sets) - 1
    repeated = select(table, *table.columns, f"explode(sequence(0, {last})) as {rows.name}")
    inside = {}
    for column in rows.of_sets:
        numbers = (str(w) for w, item in enumerate(rows.sets) if column in item)
        inside[column] = f"if({rows.name} in ({', '.join(numbers)}), {column}, null)"
    keys = (rows.name, *rows.keys, *rows.of_sets)
    others = [name for name in table.columns if name not in inside]
    each = select(repeated, rows.name, *others, *_named(inside))
    return _grouped(each, keys, _named(rows.sums))


def _in_struct(table: DataFrame, name: str) -> str:
    """Write a column for a struct, inside of which Spark tells 0.0 from -0.0."""
    kind = table.schema[name].dataType.typeName()
    if kind not in {"float", "double"}:
        return name
    return f"if({name} = 0, cast(0 as {kind}), {name}) as {name}"
