"""Tables with more columns or fewer records, and marked rows: queries nobody has run yet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.engines import refusals
from anonrisk.engines.refusals import WILDCARD, refused
from anonrisk.engines.sql.table import any_missing, look
from anonrisk.errors import ArgumentError, DuplicateColumnError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonrisk.core.columns import Qid
    from anonrisk.engines.sql.table import SqlTable
    from anonrisk.measures.counts.question import Question


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


def sizes(table: SqlTable, question: Question, name: str) -> SqlTable:
    """Add the size of each record's class; NULL where the record was dropped."""
    check_new(table, [name])
    if not table.has_rows():
        return table.made({**own(table), name: sa.cast(sa.null(), sa.BigInteger)}, table.source)
    return table.made({**own(table), name: _N}, _sized(table, question))


def small(table: SqlTable, question: Question, k: int) -> SqlTable:
    """Select the records in classes smaller than k; a dropped record is in no class."""
    return _where(table, question, lambda n: n < k)


def large(table: SqlTable, question: Question, k: int) -> SqlTable:
    """Select the records in classes of at least k."""
    return _where(table, question, lambda n: n >= k)


def without(table: SqlTable, columns: Qid) -> SqlTable:
    """Leave out columns."""
    kept = {name: cell for name, cell in own(table).items() if name not in columns}
    return table.made(kept, table.source)


def check_new(table: SqlTable, names: list[str]) -> None:
    """Reject names of new columns that the table has, as a database would compare them."""
    taken = {name.casefold() for name in table.names}
    for name in names:
        if name.casefold() in taken:
            raise ArgumentError(f"the table already has a column {name!r}; give another name=")


def own(table: SqlTable) -> dict[str, Any]:
    """Return the columns that a table has, which must be different ones."""
    for name, n in Counter(table.names).items():
        if n > 1:
            raise DuplicateColumnError(
                f"{name!r} is the name of {n} columns of this table; give each a name of its own"
            )
    return {name: table.raw(name) for name in table.names}


def with_marks(table: SqlTable, marks: Mapping[str, Any], rows: Any = None) -> Any:
    """Select the columns of a table as they are, and marks of ours beside them."""
    named = (mark.label(name) for name, mark in marks.items())
    chosen = sa.select(*own(table).values(), *named)
    return chosen.select_from(table.source if rows is None else rows).subquery()


def check_marks(table: SqlTable, beginning: str) -> None:
    """Reject columns that are called as our marks are."""
    for name in table.names:
        if name.casefold().startswith(beginning):
            raise ArgumentError(f"column {name!r} has a name that anonrisk needs; rename it")


# How our marks begin, and what the size of a class is called among them.
MARK = "anonrisk_"
_N: Any = sa.column(f"{MARK}n")
_RANK: Any = sa.column(f"{MARK}rank")


def _where(table: SqlTable, question: Question, holds: Callable[[Any], Any]) -> SqlTable:
    if not table.has_rows():
        return table
    rows = sa.select(sa.text("*")).select_from(_sized(table, question)).where(holds(_N))
    return table.made(own(table), rows.subquery())


def _sized(table: SqlTable, question: Question) -> Any:
    """Select the columns of a table, and beside them the size of each record's class."""
    if question.missing == "wildcard":
        raise refused(WILDCARD)
    check_marks(table, MARK)
    unit = question.unit
    kinds = table.kinds(question.roles())
    cells = {name: table.cell(name, kind) for name, kind in kinds.items()}
    result = look(table, cells, ())
    if unit is not None and result.n_missing[unit]:
        raise refusals.missing_unit(unit, result.n_missing[unit])
    gaps = {name: result.n_missing[name] for name in question.columns}
    if question.missing == "error" and any(gaps.values()):
        raise refusals.missing_values(gaps)
    keys = [cells[name] for name in question.qid]
    rows = table.source
    size: Any = sa.func.count().over(partition_by=keys)
    if unit is not None:
        # The last rank of a person within the class is the number of its different persons; no
        # distinct count goes over a window everywhere.
        rank = sa.func.dense_rank().over(partition_by=keys, order_by=cells[unit], rows=(None, 0))
        rows = with_marks(table, {_RANK.name: rank})
        size = sa.func.max(_RANK).over(partition_by=keys)
    if question.missing == "drop":
        size = sa.case((any_missing(keys), sa.null()), else_=size)
    return with_marks(table, {_N.name: size}, rows)
