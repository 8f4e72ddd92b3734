"""Simple coarser columns in SQL, cell by cell the same as on pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.coarser import (
    CODE,
    DAY,
    MOST_WORDS,
    Commonest,
    EqualBins,
    FirstCharacters,
    halved,
)
from anonrisk.engines.sql import cells
from anonrisk.engines.sql.table import kind_of_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.counts.coarser import Coarsening
    from anonrisk.engines.sql.searched import SearchedColumns

    _Coarser = dict[int, tuple[Any, Coarsening]]


def coarser(searched: SearchedColumns, n_values: Sequence[int]) -> _Coarser:
    """Give the cells of coarser columns, by the place of those that have one."""
    made: _Coarser = {}
    for i, kind in enumerate(searched.kinds.values()):
        cell, held = searched.cells[i], kind_of_cells(kind)
        found = (
            _of_texts(searched, cell, n_values[i])
            if held == "text"
            else _of_numbers(
                searched,
                cells.as_number(searched.table, cell, kind),
                n_values[i] - (searched.n_known[i] < searched.n_rows),
            )
        )
        if found is not None:
            made[i] = found
    return made


def _of_numbers(
    searched: SearchedColumns, number: Any, n_different: int
) -> tuple[Any, EqualBins] | None:
    if number is None:
        return None
    rows = searched.rows(x=number).subquery()
    asked = sa.select(sa.func.min(rows.c.x), sa.func.max(rows.c.x))
    ((low, high),) = searched.table.fetch(asked, "look at the columns")
    how = None if low is None else halved(float(low), float(high), n_different)
    if how is None:
        return None
    place = searched.table.dialect.floor((number - _double(how.low)) * _double(how.scale))
    last = how.number - 1
    return sa.case((place > last, last), else_=place), how


def _of_texts(
    searched: SearchedColumns, cell: Any, n_values: int
) -> tuple[Any, FirstCharacters | Commonest] | None:
    """Give the beginnings of codes, or the commonest words."""
    cells.let_look(searched.table)
    text = sa.cast(cell, sa.Text)
    kinds = {"code": CODE, "day": DAY}
    looks = {kind: cells.contains(searched.table, text, kinds[kind]) for kind in kinds}
    rows = searched.rows(x=text, **looks).subquery()
    others = [sa.func.sum(sa.case((rows.c[k] == sa.false(), 1), else_=0)) for k in kinds]
    asked = sa.select(sa.func.max(sa.func.length(rows.c.x)), *others)
    ((longest, n_words, n_no_days),) = searched.table.fetch(asked, "look at the columns")
    if not n_words:
        first = FirstCharacters.of(int(longest or 0), days=not n_no_days)
        return None if first is None else (sa.func.substr(text, 1, first.length), first)
    if n_values > MOST_WORDS:
        return None
    words = searched.rows(x=text).where(text.is_not(None)).subquery()
    counted = sa.select(words.c.x, sa.func.count().label("n")).group_by(words.c.x)
    found = searched.table.fetch(counted, "look at the columns")
    how = Commonest.of({word: int(n) for word, n in found})
    if how is None:
        return None
    # Found again by their counts, so that no word stands in the text of a statement.
    by_letters = cells.by_letters(searched.table, words.c.x)
    order = counted.order_by(sa.func.count().desc(), by_letters).limit(len(how.words)).subquery()
    common = searched.table.dialect.is_among(text, order.c.x)
    # What begins with a plus is a word; the others are none.
    word = sa.case(
        (common, sa.literal_column("'+'", sa.Text) + text), else_=sa.literal_column("''")
    )
    return sa.case((text.is_not(None), word), else_=sa.null()), how


def _double(number: float) -> Any:
    return sa.cast(sa.literal(number), sa.Double())
