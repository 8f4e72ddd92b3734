"""Scores of classes in SQL: by group-bys and window sums, so that only the worst leave.

One statement and one scan: what touches the user's table is built with SQLAlchemy, down to one row
per class and value, from which all that is told and scored follows; `steps` has the text of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.question import Question, Score, Scored, Sensitive
from anonrisk.engines.sql import ranks, steps
from anonrisk.engines.sql.count import persons_by_size
from anonrisk.engines.sql.records import ONE, ZERO, Records, lost_rows, refuse
from anonrisk.engines.sql.text import check_logarithms, written
from anonrisk.errors import ArgumentError, EngineError
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.engines.sql.records import Row
    from anonrisk.engines.sql.table import SqlTable

# Beside the tables of `steps`: all pairs, what is told of them and of their values, the persons.
_ALL, _TOLD, _VALUES, _PERSONS = (
    f"anonrisk_{word}" for word in ("all", "told", "values", "persons")
)


def scores(
    table: SqlTable,
    question: Question,
    sensitive: Sensitive,
    asked: Sequence[Score],
) -> Scored:
    """Score every class in one query, and give the worst of each class size."""
    records = Records.of(table, question, question.qid, sensitive)
    placed: ranks.Placed | None = None
    if any(score.name == "hierarchical" for score in asked):
        if len(asked) > 1:
            raise ArgumentError("a hierarchical distance is scored by itself")
        placed = ranks.in_hierarchy(records, sensitive)
    elif any(score.name == "ordered" for score in asked):
        placed = ranks.in_order(records, sensitive)
    pairs = ValuePairs.of(records, placed)
    if sensitive.hierarchy is not None and placed is not None:
        query = steps.in_hierarchy(records.qs, max(sensitive.hierarchy.height, 1))
    else:
        query = steps.by_values(records.qs, asked, joined=table.dialect in steps.JOINED)
    check_logarithms(table, query)
    rows = records.fetch(_joined(pairs, asked, written(query, table.dialect)), "score the classes")
    refuse([(records, rows[:1])])
    if placed is not None:
        placed.refuse(rows[0])
    return Scored(
        _sizes(records, rows),
        {score: _worst(rows, i, score) for i, score in enumerate(asked)},
    )


@dataclass(frozen=True)
class ValuePairs:
    """The rows of each class and value, and of each person too; the only scan of the table."""

    records: Records
    placed: ranks.Placed | None
    every: Any

    @classmethod
    def of(cls, records: Records, placed: ranks.Placed | None) -> ValuePairs:
        """Count them; those that do not count are told of."""
        columns = list(records.rows.c)
        more = [] if placed is None else placed.columns
        every = grouped(columns, more).cte(_ALL)
        if records.table.dialect == "duckdb":
            # The others keep what is named twice; older versions of DuckDB where they are told to.
            every = every.prefix_with("MATERIALIZED")
        return cls(records, placed, every)

    def told(self) -> Any:
        """Give the one row that says how many rows there are, are dropped, and miss what."""
        records, every = self.records, self.every
        dropped = sa.func.sum(sa.case((records.dropped(every), every.c.rows), else_=ZERO))
        return sa.select(dropped.label("dropped"), *records.told(every, every.c.rows))

    def kept(self) -> Any:
        """Those that count."""
        every = self.every
        return sa.select(*every.c).where(sa.not_(self.records.dropped(every))).subquery("p")

    def counted(self) -> Any:
        """Count each pair, in the columns of `steps`; ranks of ordered values beside them."""
        kept = self.kept()
        persons = self.records.question.unit is not None
        counted = pairs_of(kept, self.records.keys(kept), persons=persons)
        if self.placed is None or self.placed.sensitive.hierarchy is not None:
            return counted
        pairs = counted.subquery("c")
        rank = sa.func.dense_rank().over(order_by=self.placed.order(pairs))
        return sa.select(*pairs.c, (sa.cast(rank, sa.Integer) - ONE).label("r"))

    def persons(self) -> Any:
        """Count the persons by the smallest of their classes."""
        kept = self.kept()
        return persons_by_size(kept, self.records.keys(kept))


def grouped(columns: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    """Count the rows of each combination of cells."""
    return sa.select(*columns, *more, sa.func.count().label("rows")).group_by(*columns)


def pairs_of(rows: Any, keys: Sequence[Any], *, persons: bool) -> Any:
    """Count each pair of class and value, in the columns of `steps`.

    Of a table with a row for each, or for each person of each, that says how many `rows` it is.
    """
    more = [rows.c.place] if "place" in rows.c else []
    if persons:
        return _of_persons(rows, keys, more)
    counts = (_double(rows.c.rows).label(name) for name in steps.COUNTS)
    return sa.select(*keys, rows.c.s, *more, *counts)


def _of_persons(rows: Any, keys: Sequence[Any], more: Sequence[Any]) -> Any:
    """Count each person once per pair, once per class (`persons`), once per value (`t`)."""

    def met_first(*within: Any, by: Any) -> Any:
        return sa.func.row_number().over(partition_by=within, order_by=by)

    marked = sa.select(
        *keys,
        rows.c.s,
        *more,
        rows.c.rows,
        met_first(*keys, rows.c.u, by=rows.c.s).label("in_class"),
        met_first(rows.c.s, rows.c.u, by=keys).label("in_value"),
    ).subquery("m")
    first = sa.func.sum(sa.case((marked.c.in_class == ONE, ONE), else_=ZERO))
    of_table = sa.func.sum(sa.case((marked.c.in_value == ONE, ONE), else_=ZERO))
    pair = [marked.c[column.name] for column in (*keys, rows.c.s, *more)]
    counted = (sa.func.count(), first, sa.func.sum(marked.c.rows), of_table)
    counts = (_double(n).label(name) for n, name in zip(counted, steps.COUNTS, strict=True))
    return sa.select(*pair, *counts).group_by(*pair)


def _joined(pairs: ValuePairs, asked: Sequence[Score], classes: str) -> Any:
    """Put what is told beside every row of the histogram, also where that has none."""
    found = ["n", "classes", "n_rows"]
    found += [name for i in range(len(asked)) for name in (f"worst_{i}", f"scored_{i}")]
    columns = _of("w", found)
    text = f"{_TOLD} LEFT JOIN ({classes}) AS w ON 1 = 1"
    tables = [pairs.counted().cte(steps.PAIRS), told := pairs.told().cte(_TOLD)]
    columns += _of(_TOLD, told.c.keys())
    if pairs.placed is not None:
        text += f" CROSS JOIN {_VALUES}"
        tables.append(values := pairs.placed.values(pairs.kept()).cte(_VALUES))
        columns += _of(_VALUES, values.c.keys())
        if pairs.placed.sensitive.hierarchy is not None:
            tables.append(pairs.placed.groups(pairs.kept()).cte(steps.GROUPS))
    if pairs.records.question.unit is not None:
        text += f" LEFT JOIN {_PERSONS} ON {_PERSONS}.n = w.n"
        tables.append(pairs.persons().cte(_PERSONS))
        columns += _of(_PERSONS, ["persons"])
    # As a Select: SQLAlchemy 2.0.0 takes two bare texts for one whatever tables stand beside them,
    # and would give the answer of another column.
    joined: Any = sa.select(*columns).select_from(sa.text(text)).add_cte(*tables)
    return joined


def _of(table: str, names: Iterable[str]) -> list[Any]:
    return [sa.literal_column(f"{table}.{name}").label(name) for name in names]


def _sizes(records: Records, rows: Sequence[Row]) -> ClassCounts:
    """Make the histogram, and see that no row was lost on the way."""
    question, n_dropped = records.question, int(rows[0]["dropped"])
    counted = sorted((row for row in rows if row["n"] is not None), key=lambda row: int(row["n"]))
    n_rows = sum(int(row["n_rows"]) for row in counted)
    if n_rows != int(rows[0]["rows"]) - n_dropped:
        raise lost_rows(int(rows[0]["rows"]) - n_dropped, n_rows)
    return ClassCounts(
        [int(row["n"]) for row in counted],
        [int(row["classes"]) for row in counted],
        None if question.unit is None else [int(row["persons"] or 0) for row in counted],
        qid=records.qid,
        unit=question.unit,
        missing=question.missing,
        n_rows=n_rows,
        n_dropped=n_dropped,
    )


def _worst(rows: Sequence[Row], i: int, score: Score) -> float:
    """Find the worst score among classes of all sizes; every class must have one."""
    if any(row[f"scored_{i}"] != row["classes"] for row in rows):
        raise EngineError(f"the database found no {score.name!r} score of some classes")
    formula = FORMULAS[score.name]
    worst = formula.worst_of(row[f"worst_{i}"] for row in rows)
    return int(worst) if formula.whole else float(worst)


def _double(number: Any) -> Any:
    """Make counts floats: sums and quotients of those are floats in every database."""
    return sa.cast(number, sa.Double())
