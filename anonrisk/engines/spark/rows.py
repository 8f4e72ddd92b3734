"""The relational steps of `engines.pushed` on Spark, through the DataFrame API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anonrisk.engines.pushed import rows as steps
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.places import numbered
from anonrisk.engines.spark.project import Projection, modules
from anonrisk.engines.spark.split import split_by_arrays
from anonrisk.measures.formula import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name
    from anonrisk.engines.pushed.rows import Row, Rows


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
            found = (made if most is None else made.limit(most)).collect()
        return [{name: label_of(cell) for name, cell in row.asDict().items()} for row in found]

    def hold(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Say what columns hold, by their types."""
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
            return self.frame.count()

    def split_shares(self, rows: Rows, _: Rows, alone: Rows, column: Name) -> Rows:
        """Add what an ordered distance needs, after a look at the values."""
        return split_by_arrays(self, rows, alone, column)

    def check_types(self, roles: Mapping[Name, str], ends: Mapping[Name, tuple[Any, Any]]) -> None:
        """Do nothing: a column of Spark has one type."""

    def group_labels(self, _: Name, labels: Sequence[Any]) -> list[Any]:
        """Return the values of a column as Python knows them."""
        return list(labels)


def label_of(cell: Any) -> Any:
    """Return a cell as Python compares and hashes it."""
    return bytes(cell) if isinstance(cell, bytearray) else cell


def frame_of(rows: Rows) -> DataFrame:
    """Make a table of Spark; nothing runs yet."""
    return _Made().of(rows)


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
            texts = (f"{projection.text(name)} as {q}" for q, name in rows.names.items())
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
                one = f"x -> concat(x.{first}, ':', x.{second})"
                text = f"array_join(transform({entries}, {one}), ',') as {rows.name}"
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
    found = table.join(functions.broadcast(renamed), same, "left")
    return found.drop(*(f"key_{key}" for key in rows.keys))


def _sets(table: DataFrame, rows: steps.GroupedSets) -> DataFrame:
    """Make a row of each for every set, with the columns of that one: one scan serves all."""
    last = len(rows.sets) - 1
    repeated = select(table, *table.columns, f"explode(sequence(0, {last})) as {rows.name}")
    inside = {}
    for column in rows.of_sets:
        numbers = (str(w) for w, one in enumerate(rows.sets) if column in one)
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
