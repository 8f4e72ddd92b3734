"""Class sizes in SQL, as parts of other statements, and marked rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Qid
    from anonrisk.engines.sql.table import SqlTable


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
