"""Profiles in SQL: explicit, and bounded, because what is asked for leaves the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from anonrisk.counts import bounds
from anonrisk.counts.class_profiles import ValueCounts
from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.engines.sql import ranks
from anonrisk.engines.sql.records import ONE, ZERO, Records, refuse
from anonrisk.engines.sql.score import ValuePairs
from anonrisk.errors import TooManyProfilesError

if TYPE_CHECKING:
    from anonrisk.counts.question import Question, Sensitive
    from anonrisk.engines.sql.table import SqlTable


def profiles(table: SqlTable, question: Question, sensitive: Sensitive) -> ValueCounts:
    """Count the sensitive values of each kind of class."""
    records = Records.of(table, question, question.qid, sensitive)
    placed: ranks.Placed | None = None
    if sensitive.hierarchy is not None:
        placed = ranks.in_hierarchy(records, sensitive)
    elif sensitive.ordered:
        placed = ranks.in_order(records, sensitive)
    pairs = ValuePairs.of(records, placed)
    told = records.fetch(pairs.told(), "count the rows")
    refuse([(records, told)])
    n_rows, n_dropped = int(told[0]["rows"]), int(told[0]["dropped"])
    if n_rows == n_dropped:
        ClassCounts([], [], n_dropped=n_dropped)
    if placed is not None:
        placed.refuse(records.fetch(placed.values(pairs.kept()), "rank the sensitive values")[0])
    ranked = _ranked(pairs)
    overall = records.fetch(_values(pairs, ranked), "count the sensitive values")
    if len(overall) > bounds.MAX_ORDERED:
        raise _too_many(f"{bounds.MAX_ORDERED:,} different values")
    kinds = records.fetch(_kinds(records, ranked), "count the profiles")
    if len(kinds) > bounds.MAX_PROFILES:
        raise _too_many(f"{bounds.MAX_PROFILES:,} kinds of class")
    entries = [
        ([tuple(map(int, entry.split(":"))) for entry in row["entries"].split(",")], row)
        for row in kinds
    ]
    entries.sort(key=lambda found: found[0])
    levels = [name for name in overall[0] if name.startswith("h")]
    groups = [[int(row[name]) for row in overall] for name in levels]
    flat = [entry for found, _ in entries for entry in found]
    return ValueCounts(
        starts=np.concatenate(([0], np.cumsum([len(found) for found, _ in entries]))),
        ranks=np.array([rank for rank, _ in flat], dtype=np.int64),
        counts=np.array([n for _, n in flat], dtype=np.int64),
        classes=np.array([int(row["classes"]) for _, row in entries], dtype=np.int64),
        sizes=np.array([int(row["n"]) for _, row in entries], dtype=np.int64),
        overall=np.array([int(row["t"]) for row in overall], dtype=np.int64),
        ordered=sensitive.ordered,
        levels=np.array(groups, dtype=np.int64) if groups else None,
        qid=question.qid,
        sensitive=sensitive.column,
        unit=question.unit,
        missing=question.missing,
        missing_sensitive=sensitive.missing,
        n_rows=n_rows - n_dropped,
        n_dropped=n_dropped,
    )


def _ranked(pairs: ValuePairs) -> Any:
    """Number the values, by their order where they have one."""
    counted = pairs.counted().subquery("c")
    if "r" in counted.c:
        return counted
    missing = sa.case((counted.c.s.is_(None), ONE), else_=ZERO)
    rank = sa.func.dense_rank().over(order_by=[missing, counted.c.s])
    return sa.select(*counted.c, (sa.cast(rank, sa.Integer) - ONE).label("r")).subquery("x")


def _values(pairs: ValuePairs, ranked: Any) -> Any:
    """Give each value's rank, its number in the table, and its groups in a hierarchy."""
    value = (ranked.c.s, ranked.c.r)
    counted = sa.select(*value, sa.func.sum(ranked.c.t).label("t")).group_by(*value)
    values = counted.subquery("y")
    query: Any = sa.select(values.c.r, values.c.t)
    if pairs.placed is not None and pairs.placed.sensitive.hierarchy is not None:
        groups = pairs.placed.groups(pairs.kept()).subquery("g")
        levels = [column for column in groups.c if column.name != "s"]
        query = sa.select(values.c.r, values.c.t, *levels)
        query = query.join_from(values, groups, groups.c.s == values.c.s)
    return query.order_by(values.c.r).limit(bounds.MAX_ORDERED + 1)


def _kinds(records: Records, ranked: Any) -> Any:
    """Give the values of each kind of class as text, rank and count, and how many are alike."""
    keys = records.keys(ranked)
    count = sa.cast(sa.cast(ranked.c.c, sa.BigInteger), sa.Text)
    entry = sa.cast(ranked.c.r, sa.Text) + ":" + count
    joined: Any = sa.func.group_concat if records.table.dialect == "sqlite" else sa.func.string_agg
    # A window, because SQLite before 3.44 sorts in no other way what it puts together.
    in_order: dict[str, Any] = {"partition_by": keys, "order_by": ranked.c.r}
    all_of_them = joined(entry, ",").over(**in_order, rows=(None, None))
    rows = sa.select(
        ranked.c.persons,
        all_of_them.label("entries"),
        sa.func.sum(ranked.c.persons).over(partition_by=keys).label("n"),
        sa.func.row_number().over(**in_order).label("place"),
    ).subquery("z")
    kinds: Any = sa.select(rows.c.entries, rows.c.n, sa.func.count().label("classes"))
    kinds = kinds.where(rows.c.place == ONE).group_by(rows.c.entries, rows.c.n)
    return kinds.limit(bounds.MAX_PROFILES + 1)


def _too_many(limit: str) -> TooManyProfilesError:
    return TooManyProfilesError(
        f"more than {limit}: too many to leave the database. Ask for the measures themselves "
        "(ldiv, tcloseness, assess), which have no such limit"
    )
