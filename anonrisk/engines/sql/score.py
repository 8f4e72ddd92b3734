"""Scores of classes in SQL: by group-bys and window sums, so that only the worst leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.question import Question, Score, Scored, Sensitive
from anonrisk.engines.sql.count import Records, made, of_persons
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.engines.sql.table import SqlTable

_KNOWN = ("distinct", "entropy", "recursive", "equal")


def scores(
    table: SqlTable,
    question: Question,
    sensitive: Sensitive,
    asked: Sequence[Score],
) -> Scored:
    """Score every class in one query, and give the worst of each class size."""
    for score in asked:
        if score.name not in _KNOWN:
            raise ArgumentError(
                f"{score.name!r} is not computed in SQL, which does {', '.join(_KNOWN)}; "
                "use a pandas or Spark batch for it"
            )
    records = Records.of(table, question, question.qid, sensitive)
    classes = _classes(records, question, asked)
    worst = [
        (sa.func.min if score.least else sa.func.max)(classes.c[f"x{i}"])
        for i, score in enumerate(asked)
    ]
    query = sa.select(classes.c.n, sa.func.count(), sa.func.sum(classes.c.rows), *worst).group_by(
        classes.c.n
    )
    rows = records.fetch(query, "score the classes")
    sizes = made([row[:3] for row in rows], records, question, question.qid)
    if question.unit is not None:
        sizes = of_persons(records, question, question.qid)
    found = {}
    for i, score in enumerate(asked):
        values = [row[3 + i] for row in rows]
        worst_value = min(values) if score.least else max(values)
        whole = score.name in {"distinct", "recursive"}
        found[score] = int(worst_value) if whole else float(worst_value)
    return Scored(sizes, found)


def _classes(records: Records, question: Question, asked: Sequence[Score]) -> Any:
    """One row per class: its size `n`, its `rows`, and the scores `x0`, `x1`, …."""
    pairs = _pairs(records) if question.unit is None else _pairs_of_persons(records)
    of_class = [pairs.c[q] for q in records.qs]
    up = {"partition_by": of_class, "order_by": pairs.c.c, "rows": (None, 0)}
    columns = [
        *of_class,
        *(pairs.c[name] for name in ("c", "first", "rows")),
        sa.func.sum(pairs.c.t).over(partition_by=pairs.c.s).label("t"),
        sa.func.sum(pairs.c.t).over().label("t_all"),
        sa.func.sum(pairs.c.c).over(partition_by=of_class).label("all_"),
    ]
    if any(score.name == "recursive" for score in asked):
        # From the smallest count up, the running sum is the tail r_l + … + r_m.
        columns += [
            sa.func.sum(pairs.c.c).over(**up).label("tail"),
            sa.func.max(pairs.c.c).over(partition_by=of_class).label("most"),
        ]
    table = sa.select(*columns).subquery("w")
    return (
        sa.select(
            sa.func.sum(table.c.first).label("n"),
            sa.func.sum(table.c.rows).label("rows"),
            *(_expression(table.c, score).label(f"x{i}") for i, score in enumerate(asked)),
        )
        .group_by(*(table.c[q] for q in records.qs))
        .subquery("g")
    )


def _pairs(records: Records) -> Any:
    """Count each (class, value) pair."""
    rows = records.rows
    n = sa.func.count()
    return (
        sa.select(*records.keys, rows.c.s, *(n.label(name) for name in ("c", "first", "rows", "t")))
        .group_by(*records.keys, rows.c.s)
        .subquery("p")
    )


def _pairs_of_persons(records: Records) -> Any:
    """Count each person once per pair, once per class (`first`) and once per value (`t`)."""
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
    return (
        sa.select(
            *keys,
            marked.c.s,
            sa.func.count().label("c"),
            first.label("first"),
            sa.func.sum(marked.c.rows).label("rows"),
            of_table.label("t"),
        )
        .group_by(*keys, marked.c.s)
        .subquery("p")
    )


def _expression(c: Any, score: Score) -> Any:
    """Give the aggregate of one score over the pairs of a class; formulas as in `measures`."""
    count, everything = _double(c.c), _double(sa.func.sum(c.c))
    if score.name == "distinct":
        values, persons = sa.func.count(), sa.func.sum(c.first)
        return sa.case((values < persons, values), else_=persons)
    if score.name == "entropy":
        nats = sa.func.ln(everything) - sa.func.sum(count * sa.func.ln(count)) / everything
        return sa.func.exp(sa.case((nats > 0.0, nats), else_=_double(sa.literal(0.0))))
    if score.name == "recursive":
        enough = _double(sa.literal(score.c)) * _double(c.tail) > _double(c.most)
        return sa.func.sum(sa.case((enough, 1), else_=0))
    gain = count / _double(c.all_) - _double(c.t) / _double(c.t_all)
    return sa.func.sum(sa.case((gain > 0.0, gain), else_=_double(sa.literal(0.0))))


def _double(expression: Any) -> Any:
    return sa.cast(expression, sa.Double())
