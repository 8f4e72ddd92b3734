"""The records that a question is about, under our names, and what is told of them on the way.

Columns of ours: `q0`, `q1`, … the quasi-identifying columns, `s` the sensitive value, `u` the
person, `g` the group, `d` whether the record is dropped. How many rows miss what, and in SQLite the
types of cells, come out of the statement that counts: a look of its own would be a scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.engines import refusals
from anonrisk.engines.sql import equality
from anonrisk.engines.sql.table import any_missing
from anonrisk.errors import EmptyTableError, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.question import Question, Sensitive
    from anonrisk.engines.sql.table import SqlTable
    from anonrisk.errors import AnonRiskError

    Row = Mapping[str, Any]

ONE: Any = sa.literal_column("1")
ZERO: Any = sa.literal_column("0")


@dataclass(frozen=True)
class Records:
    """The records of one quasi-identifier, and which of them do not count."""

    table: SqlTable
    question: Question
    qid: Qid
    sensitive: Sensitive | None
    rows: Any
    # Our name of each column, and its own.
    names: dict[str, Name]

    @classmethod
    def of(
        cls,
        table: SqlTable,
        question: Question,
        qid: Qid,
        sensitive: Sensitive | None = None,
        by: Name | None = None,
    ) -> Records:
        """Refuse columns by their types, and give the others our names."""
        names = {f"q{i}": name for i, name in enumerate(qid)}
        if sensitive is not None:
            names["s"] = sensitive.column
        if question.unit is not None:
            names["u"] = question.unit
        if by is not None:
            names["g"] = by
        records = cls(table, question, qid, sensitive, None, names)
        # SQLite tells types by cells, which are counted first.
        kinds = {} if table.dialect == "sqlite" else table.kinds(records.roles)
        cells = (table.cell(name, kinds.get(name, "")).label(q) for q, name in names.items())
        rows = sa.select(*cells).select_from(table.source).subquery("r")
        return cls(table, question, qid, sensitive, rows, names)

    @property
    def roles(self) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        more = {} if "g" not in self.names else {self.names["g"]: "grouping column"}
        if self.sensitive is not None:
            more[self.sensitive.column] = "sensitive column"
        return self.question.roles(more)

    @property
    def qs(self) -> list[str]:
        """Our names of the quasi-identifying columns."""
        return [f"q{i}" for i in range(len(self.qid))]

    @property
    def needed(self) -> list[str]:
        """The columns without which a record is dropped."""
        value = self.sensitive is not None and self.sensitive.missing == "drop"
        return [*(self.qs if self.question.missing == "drop" else ()), *(["s"] if value else ())]

    @property
    def value_kind(self) -> str:
        """What the sensitive column holds; SQLite looks at all of its cells for it."""
        assert self.sensitive is not None  # noqa: S101
        return self.table.holds(self.sensitive.column, "sensitive column")

    def keys(self, table: Any) -> list[Any]:
        """Give the columns of the quasi-identifier, of a table under our names."""
        return [table.c[q] for q in self.qs]

    def dropped(self, table: Any) -> Any:
        """Tell whether a record of a table under our names does not count."""
        return any_missing(table.c[name] for name in self.needed)

    def told(self, table: Any, weight: Any) -> list[Any]:
        """Sum up what may be refused, over a table under our names whose rows stand for many."""

        def rows_where(condition: Any) -> Any:
            return sa.func.sum(sa.case((condition, weight), else_=ZERO))

        asked = [sa.func.sum(weight).label("rows")]
        if self.question.missing == "error":
            asked += [rows_where(table.c[q].is_(None)).label(f"no_{q}") for q in self.qs]
        if self.question.unit is not None:
            asked.append(rows_where(table.c.u.is_(None)).label("no_u"))
        if self.sensitive is not None and self.sensitive.missing == "error":
            lost = sa.and_(sa.not_(self.dropped(table)), table.c.s.is_(None))
            asked.append(rows_where(lost).label("no_s"))
        if self.table.dialect == "sqlite":
            for name in self.names:
                first, last = equality.stored(table.c[name])
                asked += [first.label(f"first_{name}"), last.label(f"last_{name}")]
        return asked

    def fetch(self, query: Any, doing: str) -> list[Row]:
        """Run a query; give its rows by the names of their columns."""
        names = list(query.selected_columns.keys())
        return [dict(zip(names, row, strict=True)) for row in self.table.fetch(query, doing)]


def refuse(asked: Sequence[tuple[Records, Sequence[Row]]]) -> None:
    """Refuse what was told of the records of one question, by each of its quasi-identifiers."""
    for records, rows in asked:
        if not rows or rows[0]["rows"] is None:
            raise _no_rows(records.table)
        if records.table.dialect == "sqlite":
            _check_stored(records, rows)
    first, rows = asked[0]
    question = first.question
    if question.unit is not None and (n := _sum(rows, "no_u")):
        raise refusals.missing_unit(question.unit, n)
    if question.missing == "error":
        gaps: dict[Name, int] = dict.fromkeys(question.columns, 0)
        for records, found in asked:
            gaps |= {records.names[q]: _sum(found, f"no_{q}") for q in records.qs}
        if any(gaps.values()):
            raise refusals.missing_values(gaps)
    sensitive = first.sensitive
    if sensitive is not None and sensitive.missing == "error" and (n := _sum(rows, "no_s")):
        raise refusals.missing_sensitive(sensitive.column, n)


def _no_rows(table: SqlTable) -> AnonRiskError:
    """Tell a table without rows from a driver that has lost them."""
    n_rows = sa.select(sa.func.count()).select_from(table.source)
    for (expected,) in table.fetch(n_rows, "count the rows"):
        if expected:
            return lost_rows(int(expected), 0)
    return EmptyTableError("the table has no records; there is nothing to measure")


def _sum(rows: Iterable[Row], name: str) -> int:
    return sum(int(row[name]) for row in rows)


def _check_stored(records: Records, rows: Sequence[Row]) -> None:
    found: dict[Name, tuple[Any, Any]] = {}
    for q, name in records.names.items():
        firsts = [row[f"first_{q}"] for row in rows if row[f"first_{q}"] is not None]
        lasts = [row[f"last_{q}"] for row in rows if row[f"last_{q}"] is not None]
        found[name] = (min(firsts, default=None), max(lasts, default=None))
    equality.kinds_of_stored(records.table, records.roles, found)


def lost_rows(expected: int, found: int) -> EngineError:
    """Say that two counts of the same rows disagree."""
    return EngineError(
        f"the database counted {expected:,} rows at first and {found:,} when it grouped them; "
        "the table changes while it is measured, or its driver loses rows"
    )
