"""Scores of classes in SQL: by group-bys and window sums, so that only the worst leave.

What touches the user's table is built with SQLAlchemy, down to one row per class and value:
`steps` has the text of all that follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.question import Question, Score, Scored, Sensitive
from anonrisk.engines.sql import ranks, steps
from anonrisk.engines.sql.count import Records, made, of_persons
from anonrisk.engines.sql.text import check_logarithms, written
from anonrisk.errors import ArgumentError, EngineError
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name
    from anonrisk.engines.sql.table import SqlTable


def scores(
    table: SqlTable,
    question: Question,
    sensitive: Sensitive,
    asked: Sequence[Score],
) -> Scored:
    """Score every class in one query, and give the worst of each class size."""
    records = Records.of(table, question, question.qid, sensitive)
    pairs = pairs_of(records, question.unit)
    if any(score.name == "hierarchical" for score in asked):
        if len(asked) > 1:
            raise ArgumentError("a hierarchical distance is scored by itself")
        groups = ranks.groups(records, sensitive)
        assert sensitive.hierarchy is not None  # noqa: S101
        query = steps.in_hierarchy(records.qs, max(sensitive.hierarchy.height, 1))
        tables = [pairs.cte(steps.PAIRS), groups.cte(steps.GROUPS)]
    else:
        n_values = 0
        if any(score.name == "ordered" for score in asked):
            order, n_values = ranks.in_order(records, sensitive)
            place = sa.cast(sa.func.dense_rank().over(order_by=order), sa.Integer)
            counted = pairs.subquery("p")
            pairs = sa.select(*map(sa.column, counted.c.keys()), (place - 1).label("r"))
            pairs = pairs.select_from(counted)
        query = steps.by_values(records.qs, asked, n_values)
        tables = [pairs.cte(steps.PAIRS)]
    check_logarithms(table, query)
    # As a Select: SQLAlchemy 2.0.0 takes two bare texts for one whatever tables stand beside them,
    # and would give the answer of another column.
    text = sa.text(f"({written(query, table.dialect)}) AS w")
    found: Any = sa.select(sa.literal_column("*")).select_from(text).add_cte(*tables)
    rows = records.fetch(found, "score the classes")
    sizes = made([row[:3] for row in rows], records, question, question.qid)
    if question.unit is not None:
        sizes = of_persons(records, question, question.qid)
    return Scored(sizes, {score: _worst(rows, i, score) for i, score in enumerate(asked)})


def _worst(rows: Sequence[Any], i: int, score: Score) -> float:
    """Find the worst score among classes of all sizes; every class must have one."""
    if any(row[4 + 2 * i] != row[1] for row in rows):
        raise EngineError(f"the database found no {score.name!r} score of some classes")
    formula = FORMULAS[score.name]
    worst = formula.worst_of(row[3 + 2 * i] for row in rows)
    return int(worst) if formula.whole else float(worst)


def pairs_of(records: Records, unit: Name | None) -> Any:
    """Ask for each (class, value) pair with its counts."""
    return _pairs(records) if unit is None else _pairs_of_persons(records)


def _pairs(records: Records) -> Any:
    """Count each (class, value) pair."""
    rows = records.rows
    n = sa.func.count()
    counts = (_double(n).label(name) for name in steps.COUNTS)
    return sa.select(*records.keys, rows.c.s, *counts).group_by(*records.keys, rows.c.s)


def _pairs_of_persons(records: Records) -> Any:
    """Count each person once per pair, once per class (`persons`), once per value (`t`)."""
    rows = records.rows
    once = (
        sa.select(*records.keys, rows.c.s, rows.c.u, sa.func.count().label("rows"))
        .group_by(*records.keys, rows.c.s, rows.c.u)
        .subquery("o")
    )
    keys = [once.c[q] for q in records.qs]

    def met_first(*within: Any, by: Any) -> Any:
        place = sa.func.row_number().over(partition_by=within, order_by=by)
        return place.label("place")

    marked = sa.select(
        *keys,
        once.c.s,
        once.c.rows,
        met_first(*keys, once.c.u, by=once.c.s).label("in_class"),
        met_first(once.c.s, once.c.u, by=keys).label("in_value"),
    ).subquery("m")
    first = sa.func.sum(sa.case((marked.c.in_class == 1, 1), else_=0))
    of_table = sa.func.sum(sa.case((marked.c.in_value == 1, 1), else_=0))
    keys = [marked.c[q] for q in records.qs]
    counted = (sa.func.count(), first, sa.func.sum(marked.c.rows), of_table)
    counts = (_double(n).label(name) for n, name in zip(counted, steps.COUNTS, strict=True))
    return sa.select(*keys, marked.c.s, *counts).group_by(*keys, marked.c.s)


def _double(number: Any) -> Any:
    """Make counts floats: sums and quotients of those are floats in every database."""
    return sa.cast(number, sa.Double())
