"""Marked rows in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
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
