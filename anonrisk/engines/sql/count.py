"""Class sizes in SQL: group, count, group by the count; a few hundred rows leave the database.

One statement and one scan for each quasi-identifier; `n` is the size of a class.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by

from anonrisk.counts import bounds
from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.question import Group
from anonrisk.engines import refusals
from anonrisk.engines.refused import WILDCARD, refused
from anonrisk.engines.sql.equality import declared_boolean
from anonrisk.engines.sql.records import ONE, ZERO, Records, lost_rows, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.question import Question
    from anonrisk.engines.sql.records import Row
    from anonrisk.engines.sql.table import SqlTable


def class_sizes(table: SqlTable, question: Question) -> list[ClassCounts]:
    """Count the classes of each quasi-identifier."""
    counted = _counted(table, question, None, _histograms)
    return [
        found[None].class_sizes(question, qid)
        for qid, found in zip(question.qids, counted, strict=True)
    ]


def class_sizes_by(table: SqlTable, question: Question, by: Name) -> list[list[Group]]:
    """Count the classes of each quasi-identifier within each group of a column."""
    counted = _counted(table, question, by, _histograms)
    every = {label for groups in counted for label in groups}
    truths = every <= {0, 1, None} and declared_boolean(table, by)
    return [
        refusals.in_order(
            found.group(bool(label) if truths and label is not None else label, question, qid)
            for label, found in groups.items()
        )
        for qid, groups in zip(question.qids, counted, strict=True)
    ]


def whole_persons(table: SqlTable, question: Question) -> ClassCounts:
    """Count the persons who have the same rows, all of them together."""
    (found,) = _counted(table, question, None, kinds_of_persons)
    return replace(found[None].class_sizes(question, question.qid), whole_persons=True)


def marked(table: SqlTable, columns: Qid, marker: str) -> int:
    """Count the rows that have the marker of a suppressed cell in one of the columns."""
    kinds = table.kinds(dict.fromkeys(columns, "quasi-identifier"))
    texts = [name for name in kinds if table.holds(name) == "text"]
    if not texts:
        return 0
    same = sa.or_(*(table.cell(name, kinds[name]) == marker for name in texts))
    query = sa.select(sa.func.count()).select_from(table.source).where(same)
    ((n,),) = table.fetch(query, "count the suppressed records")
    return int(n)


@dataclass
class _HistogramRows:
    """One histogram as its rows arrive."""

    rows: list[Row] = field(default_factory=list)

    @property
    def n_dropped(self) -> int:
        return sum(int(row["rows"]) for row in self.rows if row["d"])

    def class_sizes(self, question: Question, qid: Qid) -> ClassCounts:
        kept = sorted((row for row in self.rows if not row["d"]), key=lambda row: int(row["n"]))
        return ClassCounts(
            [int(row["n"]) for row in kept],
            [int(row["members"]) // int(row["n"]) for row in kept],
            None if question.unit is None else [int(row["persons"]) for row in kept],
            qid=qid,
            unit=question.unit,
            missing=question.missing,
            n_rows=sum(int(row["rows"]) for row in kept),
            n_dropped=self.n_dropped,
        )

    def group(self, label: Any, question: Question, qid: Qid) -> Group:
        kept = any(not row["d"] for row in self.rows)
        return Group(label, self.class_sizes(question, qid) if kept else None, self.n_dropped)


def _counted(
    table: SqlTable,
    question: Question,
    by: Name | None,
    histograms: Callable[[Records], Any],
) -> list[dict[Any, _HistogramRows]]:
    """Count for each quasi-identifier, refuse what the question refuses, sort by group."""
    if question.missing == "wildcard":
        raise refused(WILDCARD)
    asked = []
    for qid in question.qids:
        records = Records.of(table, question, qid, by=by)
        rows = records.fetch(histograms(records), "count the classes")
        if by is not None and rows:
            refusals.check_groups(by, max(int(row["group_number"]) for row in rows))
        asked.append((records, rows))
    refuse(asked)
    counted = []
    for _, rows in asked:
        n_rows = sum(int(row["rows"]) for row in rows)
        if n_rows != int(rows[0]["total"]):
            raise lost_rows(int(rows[0]["total"]), n_rows)
        found: dict[Any, _HistogramRows] = defaultdict(_HistogramRows)
        for row in rows:
            found[row.get("g")].rows.append(row)
        counted.append(found)
    return counted


def _histograms(records: Records) -> Any:
    """Write the one statement: sizes of classes with how many there are, and what is told."""
    rows = records.rows
    about = [rows.c.g] if "g" in records.names else []
    keys = [*about, *records.keys(rows)]
    dropped = sa.case((records.dropped(rows), ONE), else_=ZERO).label("d")
    if records.question.unit is None:
        n = sa.func.count().label("n")
        classes = sa.select(*keys, dropped, n).group_by(*keys).subquery("k")
        weight, persons = classes.c.n, []
        members: Any = sa.func.sum(classes.c.n)
    else:
        each = sa.func.count().label("rows")
        once = sa.select(*keys, rows.c.u, dropped, each).group_by(*keys, rows.c.u).subquery("o")
        classes = _from_the_smallest(_sized(once, [key.name for key in keys]), [*about, dropped])
        weight, members = classes.c.rows, sa.func.count()
        persons = [sa.func.sum(sa.case((classes.c.place == ONE, ONE), else_=ZERO)).label("persons")]
    groups = [classes.c.g] if about else []
    total = sa.func.sum(sa.func.sum(weight)).over().label("total")
    query = sa.select(
        *(group.label("g") for group in groups),
        *([sa.func.dense_rank().over(order_by=groups).label("group_number")] if groups else []),
        classes.c.d,
        classes.c.n,
        members.label("members"),
        *persons,
        *records.told(classes, weight),
        total,
    ).group_by(*groups, classes.c.d, classes.c.n)
    if not groups:
        return query
    # No more leaves than it takes to see that there are too many.
    every = query.subquery("h")
    return sa.select(*every.c).where(every.c.group_number <= bounds.MAX_GROUPS + 1)


def kinds_of_persons(records: Records) -> Any:
    """Write the one statement: how many persons have all their rows in common with how many.

    Classes get numbers, and a person's own, in order and each with its number of rows, become one
    text: equal where all the rows are. What is told is summed up on the way.
    """
    rows, sqlite = records.rows, records.table.dialect == "sqlite"
    keys = records.keys(rows)
    dropped = sa.case((records.dropped(rows), ONE), else_=ZERO).label("d")
    each = sa.func.count().label("rows")
    once = sa.select(*keys, rows.c.u, dropped, each).group_by(*keys, rows.c.u).subquery("o")
    number = sa.func.dense_rank().over(order_by=records.keys(once))
    numbered = sa.select(*once.c, number.label("c")).subquery("x")
    entry = sa.cast(numbered.c.c, sa.Text) + ":" + sa.cast(numbered.c.rows, sa.Text)
    if sqlite:
        # A window, because SQLite before 3.44 sorts in no other way what it puts together.
        apart: dict[str, Any] = {"partition_by": [numbered.c.d, numbered.c.u]}
        joined: Any = sa.func.group_concat(entry, ",")
        joined = joined.over(**apart, order_by=numbered.c.c, rows=(None, None))
        numbered = sa.select(*numbered.c, joined.label("e")).subquery("y")
        entries: Any = sa.func.min(numbered.c.e)
    else:
        comma: Any = aggregate_order_by(sa.literal_column("','"), numbered.c.c)
        entries = sa.func.string_agg(entry, comma)
    told = records.told(numbered, numbered.c.rows)
    persons = sa.select(numbered.c.d, numbered.c.u, entries.label("e"), *told)
    one = persons.group_by(numbered.c.d, numbered.c.u).subquery("p")
    names = [column.name for column in told]
    kinds = sa.select(one.c.d, sa.func.count().label("n"), *_again(one, names))
    kind = kinds.group_by(one.c.d, one.c.e).subquery("k")
    return sa.select(
        kind.c.d,
        kind.c.n,
        sa.func.sum(kind.c.n).label("members"),
        sa.func.sum(kind.c.n).label("persons"),
        *_again(kind, names),
        sa.func.sum(sa.func.sum(kind.c.rows)).over().label("total"),
    ).group_by(kind.c.d, kind.c.n)


def _again(table: Any, names: Sequence[str]) -> list[Any]:
    """Sum up once more what `Records.told` has summed up."""
    ends: dict[str, Any] = {"first": sa.func.min, "last": sa.func.max}
    return [
        ends.get(name.partition("_")[0], sa.func.sum)(table.c[name]).label(name) for name in names
    ]


def sizes_of_records(rows: Any, keys: Sequence[Any]) -> Any:
    """Ask for the number of classes of each size, and for nothing beside it."""
    classes = sa.select(sa.func.count().label("n")).select_from(rows).group_by(*keys).subquery("k")
    return sa.select(classes.c.n, sa.func.count().label("classes")).group_by(classes.c.n)


def persons_by_size(rows: Any, keys: Sequence[Any]) -> Any:
    """Ask for the number of persons by the smallest of their classes."""
    once = sa.select(*keys, rows.c.u).group_by(*keys, rows.c.u).subquery("o")
    each = _sized(once, [key.name for key in keys])
    smallest = sa.select(sa.func.min(each.c.n).label("n")).group_by(each.c.u).subquery("m")
    return sa.select(smallest.c.n, sa.func.count().label("persons")).group_by(smallest.c.n)


def _sized(once: Any, keys: Sequence[str]) -> Any:
    """Give each pair of class and person the number of persons of its class, `n`."""
    n = sa.func.count().over(partition_by=[once.c[key] for key in keys]).label("n")
    return sa.select(*once.c, n).subquery("z")


def _from_the_smallest(table: Any, apart: Sequence[Any]) -> Any:
    """Number the classes of each person from the smallest on, by `place`; 1 is where it counts."""
    within = [*(table.c[column.name] for column in apart), table.c.u]
    place = sa.func.row_number().over(partition_by=within, order_by=table.c.n).label("place")
    return sa.select(*table.c, place).subquery("k")
