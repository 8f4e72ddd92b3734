"""The relational steps of `engines.pushed` in a database: each a named query, all one statement.

`of_sizes` and `of_scores` write what is asked as text for whoever sends it later, when nobody is
connected yet. A table is `anonrisk_records` there, with `q0`, `q1`, … and, where they are asked
for, the sensitive value `s` and the person `u`, such that missing is NULL and equal cells are
equal.
"""

# No text of a caller enters: columns go by names of ours.
# ruff: noqa: S608

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.core.frozen import dataclass
from anonrisk.core.hierarchy import text_of
from anonrisk.engines.order import as_number
from anonrisk.engines.pushed import rows as steps
from anonrisk.engines.pushed.count import CountedRecords, persons_by_size, sizes_of_records
from anonrisk.engines.pushed.rows import Named
from anonrisk.engines.pushed.score import ClassValues, scored_classes
from anonrisk.engines.refusals import NO_PLACES
from anonrisk.engines.sql.dialects import dialect_of
from anonrisk.engines.sql.text import written
from anonrisk.errors import UnsupportedColumnError
from anonrisk.measures.counts.question import Question, Sensitive
from anonrisk.measures.formula import ALL, UP_TO
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anonrisk.engines.pushed.rows import Numbered, Rows
    from anonrisk.engines.sql.dialects import Dialect
    from anonrisk.measures.counts.question import Score


# Constants that a statement may hold in every database.
_MOST_CONSTANTS = 30_000
_PLACED = ("text", "booleans", "whole numbers", "floats", "dates")


def numbered(step: Numbered, table: str) -> Any:
    """Select rows with their numbers: first the place of a value, then all else by that."""
    rows = sa.table(table, *map(sa.column, step.rows.columns))
    placed = sa.select(*rows.c, _place(step, rows.c.s).label("place_")).subquery("p")
    columns = [placed.c[name] for name in step.rows.columns]
    for name, numbers in step.numbers.items():
        plain = numbers == range(len(numbers))
        cases = ((placed.c.place_ == sa.literal_column(str(i)), n) for i, n in enumerate(numbers))
        columns.append((placed.c.place_ if plain else _case(cases)).label(name))
    return sa.select(*columns)


def _place(step: Numbered, cell: Any) -> Any:
    """Write the place of a value among those that the caller lists; NULL where it has none."""
    kind, column = step.table.holds(step.column, "sensitive column"), step.column
    as_text = kind in {"text", "booleans"} or step.as_text
    if kind not in _PLACED or (kind == "dates" and as_text):
        raise UnsupportedColumnError(f"sensitive column {column!r} holds {kind}, {NO_PLACES}")
    if len(step.values) > _MOST_CONSTANTS:
        raise UnsupportedColumnError(
            f"more than {_MOST_CONSTANTS:,} values of sensitive column {column!r} are listed, too "
            "many for a statement; read the table into pandas or Spark"
        )
    cell = sa.cast(cell, sa.Text) if as_text else cell
    written = [text_of(value) if as_text else _constant(value, kind) for value in step.values]
    return _case((cell == value, i) for i, value in enumerate(written) if value is not None)


def _constant(value: Any, kind: str) -> Any:
    """Write a value as the column would hold it; nothing where it could not."""
    if kind == "dates":
        return value
    if kind == "floats":
        return as_number(value, None)
    number = as_number(value, 0)
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _case(numbers: Iterable[tuple[Any, int]]) -> Any:
    whens: list[Any] = [
        (condition, sa.literal_column(str(number))) for condition, number in numbers
    ]
    return sa.case(*whens, else_=sa.null()) if whens else sa.cast(sa.null(), sa.Integer)


# No text of a caller enters: columns have names of ours.


# Beside the user's tables, so that none of those is likely to have this name.
_NAME = "anonrisk_step"


def statement(rows: Rows, dialect: Dialect, *, counted: bool) -> Any:
    """Write rows as one statement; `counted` adds how many there are, as a last column."""
    tables = []
    for name, step, text, often in _named_steps(rows, dialect):
        if isinstance(step, steps.Cells):
            made = _cells(step)
        elif isinstance(step, steps.Made):
            made = step.query
        elif isinstance(step, steps.Numbered):
            made = numbered(step, text)
        else:
            made = sa.text(text.replace(":", r"\:")).columns(*map(sa.column, step.columns))
        named = made.cte(name)
        if not dialect.keeps_steps:
            pass
        elif isinstance(step, steps.Made) and step.few:
            named = named.prefix_with("NOT MATERIALIZED")
        elif often and dialect.name == "duckdb":
            # The others keep what is named twice; older versions of DuckDB where they are told to.
            named = named.prefix_with("MATERIALIZED")
        tables.append(named)
        last = name
    columns: list[Any] = [sa.literal_column(name).label(name) for name in rows.columns]
    if counted:
        columns.append(sa.func.count().over().label("anonrisk_rows"))
    return sa.select(*columns).select_from(sa.text(last)).add_cte(*tables)


def text(rows: Rows, dialect: Dialect) -> str:
    """Write rows that are made of named ones alone, for whoever sends them later."""
    every = list(_named_steps(rows, dialect))
    before = ", ".join(f"{name} AS ({made})" for name, _, made, _ in every[:-1])
    return f"with {before} {every[-1][2]}" if before else every[-1][2]


def _named_steps(rows: Rows, dialect: Dialect) -> Iterator[tuple[str, Rows, str, bool]]:
    """Yield each step with its name, its text, and whether it is used more than once."""
    ordered: list[Rows] = []
    uses: Counter[int] = Counter()
    _visit(rows, ordered, uses)
    names: dict[int, str] = {}
    for step in ordered:
        if isinstance(step, steps.Named):
            names[id(step)] = step.name
            continue
        names[id(step)] = name = f"{_NAME}{len(names)}"
        inputs = [names[id(_whole(item))] for item in step.inputs]
        yield name, step, _written(step, inputs, dialect) if inputs else "", uses[id(step)] > 1


def _visit(rows: Rows, ordered: list[Rows], uses: Counter[int]) -> None:
    rows = _whole(rows)
    uses[id(rows)] += 1
    if uses[id(rows)] == 1:
        for step in rows.inputs:
            _visit(step, ordered, uses)
        ordered.append(rows)


def _whole(rows: Rows) -> Rows:
    """Return the rows that were arranged: a database has its own ways."""
    return _whole(rows.rows) if isinstance(rows, steps.Arranged) else rows


def _cells(step: steps.Cells) -> Any:
    """Select columns of the user's table: SQLAlchemy writes this, so that no name is misread."""
    table = step.table
    # SQLite tells types by cells, which are counted first.
    kinds = {} if table.typed_by_cell else table.kinds(step.roles)
    cells = (table.cell(name, kinds.get(name, "")).label(q) for q, name in step.names.items())
    return sa.select(*cells).select_from(table.source)


def _written(step: Rows, inputs: list[str], dialect: Dialect) -> str:
    """Write a step in the dialect of a database."""
    if isinstance(step, steps.Gathered | steps.Listed):
        return _gathered(step, inputs[0], dialect)
    if isinstance(step, steps.Numbered):
        return inputs[0]
    return written(_text(step, inputs, dialect), dialect)


def _text(step: Rows, inputs: list[str], dialect: Dialect) -> str:  # noqa: PLR0911
    """Write a step in Spark's dialect."""
    table = inputs[0]
    match step:
        case steps.Selected():
            return f"select {_named(step.texts)} from {table}"
        case steps.Filtered():
            return f"select * from {table} where {step.condition}"
        case steps.Grouped():
            return _grouped(step.keys, _named(step.sums), table)
        case steps.GroupedSets():
            return _sets(step, table, dialect)
        case steps.Totalled():
            return _totalled(step, table, dialect)
        case steps.LookedUp():
            return _looked_up(step, table, inputs[1], dialect)
        case steps.United():
            below = f"select {_named(step.texts)} from {inputs[1]}"
            return f"select {', '.join(step.columns)} from {table} union all {below}"
    raise TypeError(type(step))


def _named(texts: Any) -> str:
    return ", ".join(text if text == name else f"{text} as {name}" for name, text in texts.items())


def _grouped(keys: Any, sums: str, table: str) -> str:
    named = ", ".join(keys)
    return f"select {', '.join(filter(None, (named, sums)))} from {table}" + (
        f" group by {named}" if named else ""
    )


def _totalled(step: steps.Totalled, table: str, dialect: Dialect) -> str:
    """Write a sum by a window or, where those sort and joins do not, by a join."""
    keys = ", ".join(step.keys)
    if dialect.joins_missing != "fast":
        order = f" order by {step.order} {ALL}" if step.order else ""
        return (
            f"select *, {step.text} over (partition by {keys}{order}) as {step.name} from {table}"
        )
    sums = f"select {keys}, {step.text} as {step.name} from {table} group by {keys}"
    same = " and ".join(f"a.{key} <=> b.{key}" for key in step.keys)
    return f"select a.*, b.{step.name} from {table} as a join ({sums}) as b on {same}"


def _looked_up(step: steps.LookedUp, table: str, few: str, dialect: Dialect) -> str:
    """Write a join, in which a missing key equals another."""
    if dialect.joins_missing == "sorted":
        return _sorted_together(step, table, few)
    equal = "<=>" if dialect.joins_missing == "fast" else "="
    same = " and ".join(f"a.{key} {equal} b.{key}" for key in step.keys)
    added = {name: f"b.{name}" for name in step.added}
    if equal == "=" and len(step.keys) == 1:
        # There is only a slow join by what may be missing: that one is looked up apart.
        (key,) = step.keys
        none = {name: f"(select {name} from {few} where {key} is null)" for name in added}
        added = {name: f"if(a.{key} is null, {none[name]}, b.{name})" for name in added}
    return f"select a.*, {_named(added)} from {table} as a left join {few} as b on {same}"


def _sorted_together(step: steps.LookedUp, table: str, few: str) -> str:
    """Write a join as a window over both tables, in which each key has one row of the few."""
    columns, keys = step.rows.columns, ", ".join(step.keys)
    own = (name if name in step.keys else f"null as {name}" for name in columns)
    nothing = ", ".join(f"null as {name}" for name in step.added)
    both = (
        f"select {', '.join(columns)}, {nothing}, 0 as of_few from {table} union all "
        f"select {', '.join((*own, *step.added))}, 1 as of_few from {few}"
    )
    added = {name: f"max({name}) over (partition by {keys})" for name in step.added}
    whole = f"select {', '.join(columns)}, {_named(added)}, of_few from ({both}) as x"
    return f"select {', '.join(step.columns)} from ({whole}) as y where of_few = 0"


def _sets(step: steps.GroupedSets, table: str, dialect: Dialect) -> str:
    """Write one grouping for all sets, or one for each where the database has no such thing."""
    every, sums = step.of_sets, _named(step.sums)
    if len(every) > dialect.most_grouped:
        each = []
        for w, item in enumerate(step.sets):
            # A missing value with the type of its column: others of a union must have the same.
            none = (f"(select {name} from {table} limit 0) as {name}" for name in every)
            cells = (name if name in item else no for name, no in zip(every, none, strict=True))
            columns = ", ".join([f"{w} as {step.name}", *step.keys, *cells, sums])
            keys = ", ".join((*step.keys, *item))
            each.append(f"select {columns} from {table} group by {keys}")
        return " union all ".join(each)
    # The bits of what is not in a set.
    masks = [sum(2**i for i, name in enumerate(reversed(every)) if name not in item)
             for item in step.sets]  # fmt: skip
    numbers = " ".join(f"when {mask} then {w}" for w, mask in enumerate(masks))
    which = f"case grouping({', '.join(every)}) {numbers} end as {step.name}"
    sets = ", ".join(f"({', '.join((*step.keys, *item))})" for item in step.sets)
    columns = ", ".join([which, *step.keys, *every, sums])
    return f"select {columns} from {table} group by grouping sets ({sets})"


def _gathered(step: steps.Gathered | steps.Listed, table: str, dialect: Dialect) -> str:
    """Number what is different, and put the numbers of each group together as one text."""
    *cells, rows = step.entry
    keys, sums = ", ".join(step.keys), ""
    if step.sums:
        sums = written(f"select {_named(step.sums)} from t", dialect)
        sums = ", " + sums.removeprefix("SELECT ").removesuffix(" FROM t")
    # What is listed is a number already.
    rank = (
        cells[0]
        if isinstance(step, steps.Listed)
        else f"DENSE_RANK() OVER (ORDER BY {', '.join(cells)} {UP_TO})"
    )
    numbered = f"SELECT *, {rank} AS c_ FROM {table}"
    entry = f"CAST(c_ AS TEXT) || ':' || CAST({rows} AS TEXT)"
    entries, each = dialect.listed(entry, "c_", keys, f"({numbered})")
    return f"SELECT {keys}, {entries} AS {step.name}{sums} FROM {each} AS x GROUP BY {keys}"


# Databases that are asked by other tools. SQLite has a type for each cell, which no catalogue of
# columns tells beforehand.
DIALECTS = ("duckdb", "postgresql")
RECORDS = "anonrisk_records"
_SIZES = "anonrisk_sizes"


@dataclass(frozen=True)
class Types:
    """The types of columns whose equality is known to be ours, as a database calls them."""

    texts: tuple[str, ...]
    floats: tuple[str, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, dialect: str) -> Types:
        """List those of a database."""
        known = dialect_of(dialect)
        return cls(known.texts, known.floats, known.others)


def of_sizes(n_columns: int, measure: str, dialect: str, *, persons: bool) -> str:
    """Ask for a measure of class sizes, as `SizeBudget.in_sql` writes it."""
    qs = [f"q{i}" for i in range(n_columns)]
    rows = Named((*qs, *(["u"] if persons else [])), RECORDS)
    counted = persons_by_size(rows, qs) if persons else sizes_of_records(rows, qs)
    sizes = counted.select("n", records="cast(records as double)")
    asked = written(
        f"select cast({measure} as double) as measured from {_SIZES}", dialect_of(dialect)
    )
    return f"with {_SIZES} as ({text(sizes, dialect_of(dialect))}) {asked}"


def of_scores(n_columns: int, score: Score, dialect: str, *, persons: bool) -> str:
    """Ask for the worst score of a class; NULL where some class has none."""
    qs = tuple(f"q{i}" for i in range(n_columns))
    rows = Named((*qs, "s", *(["u"] if persons else [])), RECORDS)
    question = Question((qs,), "u" if persons else None)
    records = CountedRecords(_NoTable(), question, sensitive=Sensitive("s"), source=rows)  # type: ignore[arg-type]
    classes = scored_classes(ClassValues(records, Sensitive("s")), [score])
    worst = f"{FORMULAS[score.name].worst_in_sql}(x0)"
    return text(
        classes.group(measured=f"cast(if(count(x0) = count(1), {worst}, null) as double)"),
        dialect_of(dialect),
    )


class _NoTable:
    """Stands for a table that nobody is connected to."""

    typed_by_cell = False
    sorts_by_hash = False
