"""Rows of which a cell was suppressed, by the marker that stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from anonrisk.engines.sql.table import kind_of_cells

if TYPE_CHECKING:
    from anonrisk.core.columns import Qid
    from anonrisk.engines.sql.table import SqlTable


def marked(table: SqlTable, columns: Qid, marker: str) -> int:
    """Count the rows that have the marker of a suppressed cell in one of the columns."""
    kinds = table.kinds(dict.fromkeys(columns, "quasi-identifier"))
    texts = [
        sa.cast(table.raw(name), sa.Text)
        for name, kind in kinds.items()
        if kind_of_cells(kind) == "text"
    ]
    if not texts:
        return 0
    found = sa.or_(*(text == marker for text in texts))
    query = sa.select(sa.func.count()).select_from(table.source).where(found)
    ((n_marked,),) = table.fetch(query, "count the suppressed records")
    return int(n_marked)
