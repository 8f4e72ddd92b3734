"""Tables with more columns or fewer records: queries, which run when somebody reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.sql import quoted_name

from anonrisk.engines import refusals
from anonrisk.engines.sql.schema import refused
from anonrisk.engines.sql.table import any_missing, look
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonrisk.core.columns import Qid
    from anonrisk.counts.question import Question
    from anonrisk.engines.sql.table import SqlTable


def sizes(table: SqlTable, question: Question, name: str) -> SqlTable:
    """Add the size of each record's class; NULL where the record was dropped."""
    check_new(table, [name])
    if not table.has_rows():
        return with_columns(table, {name: sa.cast(sa.null(), sa.BigInteger)})
    return _sized(table, question, name)


def small(table: SqlTable, question: Question, k: int) -> SqlTable:
    """Select the records in classes smaller than k; a dropped record is in no class."""
    return _where(table, question, lambda n: n < k)


def large(table: SqlTable, question: Question, k: int) -> SqlTable:
    """Select the records in classes of at least k."""
    return _where(table, question, lambda n: n >= k)


def without(table: SqlTable, columns: Qid) -> SqlTable:
    """Leave out columns."""
    return with_columns(table, {}, [name for name in table.names if name not in columns])


def check_new(table: SqlTable, names: list[str]) -> None:
    """Refuse names of new columns that the table has, as a database would compare them."""
    taken = {name.casefold() for name in table.names}
    for name in names:
        if name.casefold() in taken:
            raise ArgumentError(f"the table already has a column {name!r}; give another name=")


def with_columns(
    table: SqlTable, columns: Mapping[str, Any], own: list[str] | None = None
) -> SqlTable:
    """Give a query of the table's own columns, or some of them, and new ones."""
    names = table.names if own is None else own
    if len(set(names)) < len(names):
        raise refused("a table of which two columns have the same name")
    new = (value.label(quoted_name(name, quote=True)) for name, value in columns.items())
    chosen = sa.select(*map(table.raw, names), *new).select_from(table.source)
    return replace(table, source=chosen.subquery())


def _where(table: SqlTable, question: Question, holds: Callable[[Any], Any]) -> SqlTable:
    if not table.has_rows():
        return table
    n = _free_name(table)
    sized = _sized(table, question, n)
    chosen = sa.select(*map(table.raw, table.names)).select_from(sized.source)
    return replace(table, source=chosen.where(holds(table.raw(n))).subquery())


def _sized(table: SqlTable, question: Question, name: str) -> SqlTable:
    if question.missing == "wildcard":
        raise refused("missing='wildcard'")
    unit = question.unit
    kinds = table.kinds(question.roles())
    cells = {column: table.cell(column, kind) for column, kind in kinds.items()}
    found = look(table, cells, ())
    if unit is not None and found.n_missing[unit]:
        raise refusals.missing_unit(unit, found.n_missing[unit])
    gaps = {column: found.n_missing[column] for column in question.columns}
    if question.missing == "error" and any(gaps.values()):
        raise refusals.missing_values(gaps)
    keys = [cells[column] for column in question.qid]
    counted = table
    size: Any = sa.func.count().over(partition_by=keys)
    if unit is not None:
        # The last rank of a person within the class is the number of its different persons; no
        # distinct count goes over a window everywhere.
        rank = sa.func.dense_rank().over(partition_by=keys, order_by=cells[unit])
        ranked = _free_name(table)
        counted = with_columns(table, {ranked: rank})
        size = sa.func.max(table.raw(ranked)).over(partition_by=keys)
    if question.missing == "drop":
        size = sa.case((any_missing(keys), sa.null()), else_=size)
    return with_columns(counted, {name: size}, table.names)


def _free_name(table: SqlTable) -> str:
    """Make up a name that no column has."""
    name = "anonrisk_n"
    while name in {taken.casefold() for taken in table.names}:
        name += "_"
    return name
