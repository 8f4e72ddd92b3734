"""Class sizes in SQL: group, count, group by the count; a few hundred rows leave the database.

Columns of ours: `q0`, `q1`, … the quasi-identifying columns, `s` the sensitive value, `u` the
person, `n` the size of a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.engines import refusals
from anonrisk.engines.sql.schema import refused
from anonrisk.engines.sql.table import any_missing, kind_of_cells, look
from anonrisk.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Qid
    from anonrisk.counts.question import Question, Sensitive
    from anonrisk.engines.sql.table import SqlTable


@dataclass(frozen=True)
class Records:
    """The records that count, under our names, and how many were left out."""

    table: SqlTable
    rows: Any
    qs: list[str]
    n_rows: int
    n_dropped: int
    value_kind: str = ""  # what the sensitive column holds

    @classmethod
    def of(
        cls,
        table: SqlTable,
        question: Question,
        qid: Qid,
        sensitive: Sensitive | None = None,
    ) -> Records:
        """Refuse what the question refuses, and leave out what it leaves out."""
        more = [] if sensitive is None else [sensitive.column]
        kinds = table.kinds({**question.roles(), **dict.fromkeys(more, "sensitive column")})
        cells = {name: table.cell(name, kind) for name, kind in kinds.items()}
        needed = [
            *(qid if question.missing == "drop" else ()),
            *([sensitive.column] if sensitive is not None and sensitive.missing == "drop" else ()),
        ]
        found = look(table, cells, needed)
        if question.unit is not None and found.n_missing[question.unit]:
            raise refusals.missing_unit(question.unit, found.n_missing[question.unit])
        gaps = {name: found.n_missing[name] for name in question.columns}
        if question.missing == "error" and any(gaps.values()):
            raise refusals.missing_values(gaps)
        names = dict(zip([f"q{i}" for i in range(len(qid))], qid, strict=True))
        selected = [cells[name].label(q) for q, name in names.items()]
        if sensitive is not None:
            selected.append(cells[sensitive.column].label("s"))
        if question.unit is not None:
            selected.append(cells[question.unit].label("u"))
        rows = sa.select(*selected).select_from(table.source)
        if needed:
            rows = rows.where(sa.not_(any_missing(cells[name] for name in needed)))
        records = cls(
            table,
            rows.subquery("r"),
            list(names),
            found.n_rows - found.n_incomplete,
            found.n_incomplete,
            "" if sensitive is None else kind_of_cells(kinds[sensitive.column]),
        )
        if sensitive is not None and sensitive.missing == "error":
            records.refuse_missing(sensitive)
        if not records.n_rows:
            # Says how many were dropped.
            ClassCounts([], [], n_dropped=records.n_dropped)
        return records

    def refuse_missing(self, sensitive: Sensitive) -> None:
        """Refuse a sensitive value that is missing in a record that counts."""
        lost = sa.select(sa.func.count()).select_from(self.rows).where(self.rows.c.s.is_(None))
        ((n_missing,),) = self.table.fetch(lost, "count the missing values")
        if n_missing:
            raise refusals.missing_sensitive(sensitive.column, int(n_missing))

    @property
    def keys(self) -> list[Any]:
        """The columns of the quasi-identifier."""
        return [self.rows.c[q] for q in self.qs]

    def fetch(self, query: Any, doing: str) -> list[Any]:
        """Read the rows of a histogram, which has at least one."""
        rows = self.table.fetch(query, doing)
        if not rows:
            raise lost_rows(self.n_rows, 0)
        return rows


def class_sizes(table: SqlTable, question: Question) -> list[ClassCounts]:
    """Count the classes of each quasi-identifier."""
    if question.missing == "wildcard":
        raise refused("missing='wildcard'")
    return [
        of_persons(Records.of(table, question, qid), question, qid)
        if question.unit is not None
        else _of_records(Records.of(table, question, qid), question, qid)
        for qid in question.qids
    ]


def _of_records(records: Records, question: Question, qid: Qid) -> ClassCounts:
    rows = records.fetch(sizes_of_records(records), "count the classes")
    return made([(n, classes, n * classes) for n, classes in rows], records, question, qid)


def sizes_of_records(records: Records) -> Any:
    """Ask for the number of classes of each size."""
    classes = (
        sa.select(sa.func.count().label("n"))
        .select_from(records.rows)
        .group_by(*records.keys)
        .subquery("k")
    )
    return sa.select(classes.c.n, sa.func.count().label("classes")).group_by(classes.c.n)


def made(
    rows: Sequence[Any],
    records: Records,
    question: Question,
    qid: Qid,
    persons: dict[int, int] | None = None,
) -> ClassCounts:
    """Make the histogram from (size, classes, rows), and see that no row was lost on the way."""
    counted = sorted((int(n), int(classes), int(n_rows)) for n, classes, n_rows in rows)
    n_rows = sum(row[2] for row in counted)
    if n_rows != records.n_rows:
        raise lost_rows(records.n_rows, n_rows)
    return ClassCounts(
        [n for n, _, _ in counted],
        [classes for _, classes, _ in counted],
        None if persons is None else [persons.get(n, 0) for n, _, _ in counted],
        qid=qid,
        unit=question.unit,
        missing=question.missing,
        n_rows=n_rows,
        n_dropped=records.n_dropped,
    )


def of_persons(records: Records, question: Question, qid: Qid) -> ClassCounts:
    """Count the different persons of each class, and persons by the smallest of their classes."""
    sized = _sized_persons(records)
    members = sa.select(sized.c.n, sa.func.count(), sa.func.sum(sized.c.rows)).group_by(sized.c.n)
    found = records.fetch(members, "count the classes")
    counted = records.fetch(persons_by_size(records), "count the persons")
    persons = {int(n): int(count) for n, count in counted}
    classes = [(n, int(count) // int(n), n_rows) for n, count, n_rows in found]
    return made(classes, records, question, qid, persons)


def persons_by_size(records: Records) -> Any:
    """Ask for the number of persons by the smallest of their classes."""
    sized = _sized_persons(records)
    smallest = sa.select(sa.func.min(sized.c.n).label("n")).group_by(sized.c.u).subquery("m")
    return sa.select(smallest.c.n, sa.func.count().label("persons")).group_by(smallest.c.n)


def _sized_persons(records: Records) -> Any:
    """Ask for each person in each class, with its number of different persons."""
    rows = records.rows
    once = (
        sa.select(*records.keys, rows.c.u, sa.func.count().label("rows"))
        .group_by(*records.keys, rows.c.u)
        .subquery("o")
    )
    size = sa.func.count().over(partition_by=[once.c[q] for q in records.qs])
    return sa.select(once.c.u, once.c.rows, size.label("n")).subquery("z")


def lost_rows(expected: int, found: int) -> EngineError:
    """Say that two counts of the same rows disagree."""
    return EngineError(
        f"the database counted {expected:,} rows at first and {found:,} when it grouped them; "
        "the table changes while it is measured, or its driver loses rows"
    )
