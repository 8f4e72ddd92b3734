"""The columns of a search in SQL: those that can be compared, over the records that count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.engines import refusals
from anonrisk.engines.sql.table import any_missing, look
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.sql.table import SqlTable
    from anonrisk.measures.counts.question import Question


class SearchedColumns:
    """The cells of some columns, and how many records have them."""

    def __init__(self, table: SqlTable, question: Question) -> None:
        """Set columns apart that cannot be compared, and refuse what the question refuses."""
        self.table, self.question = table, question
        self.kinds, self.unsupported = kinds_of(table, question.qid)
        columns = tuple(self.kinds)
        self.cells = [table.cell(name, kind) for name, kind in self.kinds.items()]
        cells = dict(zip(columns, self.cells, strict=True))
        unit, self.unit = question.unit, None
        more: dict[Name, Any] = {}
        if unit is not None:
            self.unit = more[unit] = table.cell(unit, table.kinds({unit: "unit"})[unit])
        self.drops = question.missing == "drop"
        result = look(table, {**cells, **more}, columns if self.drops else ())
        if unit is not None and result.n_missing[unit]:
            raise refusals.missing_unit(unit, result.n_missing[unit])
        gaps = {name: result.n_missing[name] for name in columns}
        if question.missing == "error" and any(gaps.values()):
            raise refusals.missing_values(gaps)
        self.n_dropped = result.n_incomplete
        self.n_rows = result.n_rows - result.n_incomplete
        self.n_known = [self.n_rows - (0 if self.drops else n) for n in gaps.values()]

    def rows(self, **cells: Any) -> Any:
        """Select cells, under names, of the records that count."""
        chosen = sa.select(*(cell.label(name) for name, cell in cells.items()))
        chosen = chosen.select_from(self.table.source)
        return chosen.where(sa.not_(any_missing(self.cells))) if self.drops else chosen


def kinds_of(table: SqlTable, names: Qid) -> tuple[dict[Name, str], dict[Name, str]]:
    """Find the types of the columns that can be compared, and say of the others why not."""
    try:
        return table.kinds(dict.fromkeys(names, "column")), {}
    except UnsupportedColumnError:
        kinds: dict[Name, str] = {}
        unsupported: dict[Name, str] = {}
    for name in names:
        try:
            kinds |= table.kinds({name: "column"})
        except UnsupportedColumnError as error:
            unsupported[name] = str(error)
    return kinds, unsupported
