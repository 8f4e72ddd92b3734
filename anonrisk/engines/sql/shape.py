"""How cells look, in SQL: regular expressions are matched where the cells are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.shapes import DATES, FRACTION, NATIONAL_NUMBERS, SHAPES, WHOLE, Numerals, Shape
from anonrisk.engines.sql.cells import let_look, matches
from anonrisk.engines.sql.table import kind_of_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.engines.sql.searched import SearchedColumns
    from anonrisk.engines.sql.table import SqlTable


def shapes(searched: SearchedColumns) -> list[Shape]:
    """Count the cells that look like an identifier, of all columns in one statement."""
    looks = [
        _looks(searched.table, cell, kind)
        for cell, kind in zip(searched.cells, searched.kinds.values(), strict=True)
    ]
    found = iter(_counted(searched, [look for of in looks for look in of.values()]))
    return [
        Shape(known, {kind: next(found) for kind in of})
        for known, of in zip(searched.n_known, looks, strict=True)
    ]


def numerals(searched: SearchedColumns) -> list[Numerals]:
    """Count the whole numbers, fractions and dates of all columns in one statement."""
    asked = [
        is_one
        for cell, kind in zip(searched.cells, searched.kinds.values(), strict=True)
        for is_one in _numerals(searched.table, cell, kind)
    ]
    found = _counted(searched, asked)
    return [Numerals(*found[i : i + 3]) for i in range(0, len(found), 3)]


def _looks(table: SqlTable, cell: Any, kind: str) -> dict[str, Any]:
    """Tell, for each kind of identifier, whether a cell has its shape."""
    held = kind_of_cells(kind)
    if held == "whole numbers":
        inside = [sa.and_(cell >= low, cell < high) for low, high in NATIONAL_NUMBERS]
        return {"national id": sa.or_(*inside)}
    if held != "text":
        return {}
    looks = {name: matches(table, cell, pattern) for name, pattern in SHAPES.items()}
    dates = matches(table, cell, DATES)
    looks["telephone number"] = sa.and_(looks["telephone number"], sa.not_(dates))
    return looks


def _numerals(table: SqlTable, cell: Any, kind: str) -> list[Any]:
    held = kind_of_cells(kind)
    known = cell.is_not(None)
    if held == "text":
        return [matches(table, cell, pattern) for pattern in (WHOLE, FRACTION, DATES)]
    if held == "whole numbers":
        return [known, sa.false(), sa.false()]
    if held in {"floats", "decimals"}:
        whole = sa.func.round(cell) == cell
        return [whole, sa.not_(whole), sa.false()]
    return [sa.false(), sa.false(), known if held in {"dates", "timestamps"} else sa.false()]


def _counted(searched: SearchedColumns, conditions: Sequence[Any]) -> list[int]:
    """Count the records for which each condition holds."""
    if not conditions:
        return []
    let_look(searched.table)
    cells = {f"x{i}": sa.case((is_one, 1), else_=0) for i, is_one in enumerate(conditions)}
    rows = searched.rows(**cells).subquery()
    ((*found,),) = searched.table.fetch(
        sa.select(*(sa.func.sum(x) for x in rows.c)), "look at the columns"
    )
    return [int(n or 0) for n in found]
