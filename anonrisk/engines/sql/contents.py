"""How the cells of each column look, in SQL: the database groups them, only counts leave.

Columns of ours: `x` a cell, `n` its rows, `t` its text on one line, `c` that without separators,
`y` its number, `b` the bits of what it looks like.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.engines.sql.rewrite import own
from anonrisk.engines.sql.schema import let_look
from anonrisk.engines.sql.sets import kinds_of
from anonrisk.engines.sql.table import kind_of_cells
from anonrisk.measures.counts import contents as rules
from anonrisk.measures.counts.contents import (
    CellContents,
    ColumnContents,
    Looks,
    Numbers,
    SomeTexts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.sql.table import SqlTable

# Numbers of statements that are no columns: of all rows, of folded spellings.
_ROWS, _FOLDED = -1, 1_000_000
_SHORT_FLOATS = ("FLOAT", "real", "Float16", "Float32")
# So many columns share a statement.
_TOGETHER = 16
_NUMBERS = {"whole numbers", "floats", "decimals"}
_DATES = {"dates", "timestamps"}
_OTHERS = {"booleans", "times", "bytes", "BLOB", "bytea", "stored as blob"}
_COUNT = sa.func.count()


def contents(table: SqlTable, asked: CellContents) -> dict[Name, ColumnContents]:
    """Look at each column; several share a statement."""
    let_look(table)
    columns = _columns(table, asked.columns)

    def look(names: Qid, formats: Collection[str]) -> dict[Name, ColumnContents]:
        rows: dict[int, list[Any]] = defaultdict(list)
        each = [(i, *columns[name]) for i, name in enumerate(names)]
        for first in range(0, len(each), _TOGETHER):
            query = _asked(table, each[first : first + _TOGETHER], asked, formats)
            for row in table.fetch(query, "look at the columns"):
                rows[int(row[0])].append(row)
        n_rows = int(rows[_ROWS][0][2])
        return {name: _made(columns[name][1], n_rows, rows, i) for i, name in enumerate(names)}

    if table.dialect.spelling.checking is not None:
        return look(asked.columns, ())
    return rules.with_digits(look, asked.columns)


def some_texts(table: SqlTable, asked: SomeTexts) -> dict[Name, list[str]]:
    """Return some different texts of each column, by a statement of each."""
    let_look(table)
    columns = _columns(table, asked.columns)
    place = table.dialect.hashed
    made = {}
    for name in asked.columns:
        text = sa.cast(columns[name][0], sa.Text).label("t")
        different = sa.select(text).select_from(table.source).where(text.is_not(None)).distinct()
        each = different.subquery("d")
        query = sa.select(each.c.t).order_by(place(each.c.t).asc()).limit(asked.at_most)
        made[name] = [str(row[0]) for row in table.fetch(query, "read some texts")]
    return made


def with_folded(table: SqlTable, columns: Qid) -> SqlTable:
    """Return a query of the table with some texts without case, spaces and accents."""
    let_look(table)
    cells = own(table)
    cells |= {str(name): _folded(table, cells[str(name)]) for name in columns}
    return table.made(cells, table.source)


def _columns(table: SqlTable, names: Qid) -> dict[Name, tuple[Any, str]]:
    """Return the cells of each column, and what they are."""
    kinds, unsupported = kinds_of(table, names)
    return {
        name: _unsupported(table, name)
        if name in unsupported
        else (_as_written(table.cell(name, kinds[name]), kinds[name]), _held(kinds[name]))
        for name in names
    }


def _as_written(cell: Any, kind: str) -> Any:
    """Return a float of 4 bytes as a double by its digits: as it is it has many more."""
    return sa.cast(sa.cast(cell, sa.Text), sa.Double()) if kind in _SHORT_FLOATS else cell


def _unsupported(table: SqlTable, name: Name) -> tuple[Any, str]:
    """Return a column that cannot be compared: of SQLite one with cells of several types."""
    if table.typed_by_cell:
        return sa.cast(table.cell(name, ""), sa.Text), rules.TEXT
    return table.raw(name), rules.NESTED


def _held(kind: str) -> str:
    held = kind_of_cells(kind)
    if held in _NUMBERS:
        return rules.NUMBER
    if held in _DATES:
        return rules.DATE
    # What else is compared can be written as a text: enumerations, UUIDs.
    return rules.OTHER if held in _OTHERS else rules.TEXT


def _made(held: str, n_rows: int, rows: dict[int, list[Any]], i: int) -> ColumnContents:
    looks = [
        Looks(int(bits), int(n_values), int(n), Numbers.of(sums))
        for _, bits, n_values, n, *sums in rows[i]
    ]
    folded = rows.get(_FOLDED + i)
    return ColumnContents.of(held, n_rows, looks, None if folded is None else int(folded[0][2]))


def _asked(
    table: SqlTable,
    columns: Sequence[tuple[int, Any, str]],
    wanted: CellContents,
    formats: Collection[str],
) -> Any:
    """Ask for column, bits, values, rows and sums; also for all rows, and folded spellings."""
    all_rows = sa.select(_whole(_ROWS), _whole(0), _COUNT, _COUNT, *_no_sums())
    asked = [all_rows.select_from(table.source)]
    cells = []
    for i, cell, held in columns:
        if held == rules.NESTED:
            asked.append(_of_nested(table, i, cell, wanted.keys))
            continue
        different = (
            sa.select(cell.label("x"), _COUNT.label("n"))
            .select_from(table.source)
            .where(cell.is_not(None))
            .group_by(cell)
            .cte(f"anonrisk_d{i}")
        )
        cells.append(_cells(table, different, i, held))
        if held == rules.TEXT:
            fold = _folded(table, different.c.x)
            spelt = sa.select(fold.label("f")).select_from(different).group_by(fold).subquery()
            counted = sa.select(_whole(_FOLDED + i), _whole(0), _COUNT, _COUNT, *_no_sums())
            asked.append(counted.select_from(spelt))
    if cells:
        # One expression for all: a database takes longer to read it than to compute it.
        every = sa.union_all(*cells).subquery("e")
        spelling = table.dialect.spelling
        written = rules.bits(wanted.keys, spelling, formats, identifiers=wanted.identifiers)
        bits: Any = sa.literal_column(written).label("b")
        marked = sa.select(every.c.i, every.c.n, every.c.y, bits).subquery("m")
        counts = [marked.c.i, marked.c.b, _COUNT, sa.func.sum(marked.c.n)]
        texts = (f"cast({text} as double precision)" for text in rules.SUMS.values())
        sums: list[Any] = [sa.literal_column(text) for text in texts]
        asked.append(sa.select(*counts, *sums).group_by(marked.c.i, marked.c.b))
    return sa.union_all(*asked)


def _cells(table: SqlTable, different: Any, i: int, held: str) -> Any:
    """Return the different cells of a column in the columns of `rules.bits`."""
    spelling = table.dialect.spelling
    x = f"{different.name}.x"
    text = f"cast({x} as {spelling.text})"
    nothing = f"cast(null as {spelling.text})"
    t, c, y = nothing, nothing, "cast(null as double precision)"
    if held == rules.TEXT:
        t = rules.plain_text(text, spelling)
        c = rules.compact_text(t)
    elif held == rules.NUMBER:
        y = f"cast({x} as double precision)"
        t = c = rules.whole_text(y, spelling)
    elif held == rules.DATE:
        t = text
    named = {"k": f"'{held}'", "t": t, "c": c, "y": y}
    written: list[Any] = [sa.literal_column(text).label(name) for name, text in named.items()]
    return sa.select(_whole(i).label("i"), different.c.n, *written).select_from(different)


def _no_sums() -> list[Any]:
    return [sa.cast(sa.null(), sa.Double())] * len(rules.SUMS)


def _of_nested(table: SqlTable, i: int, cell: Any, keys: tuple[str, ...]) -> Any:
    """Count the rows of cells made of others, by whether they have one of the keys."""
    spelling = table.dialect.spelling
    text = sa.cast(table.dialect.as_json(cell), sa.Text).label("t")
    rows = sa.select(text).select_from(table.source).where(cell.is_not(None)).subquery()
    has = rules.has_key("t", keys, spelling) if keys else "1 = 0"
    bit = f"case when {has} then {rules.BITS['keys']} else 0 end"
    marked = sa.select(sa.literal_column(bit).label("b")).select_from(rows).subquery()
    counts = [_whole(i), marked.c.b, _COUNT, _COUNT]
    return sa.select(*counts, *_no_sums()).group_by(marked.c.b)


def _folded(table: SqlTable, cell: Any) -> Any:
    return table.dialect.folded(sa.cast(cell, sa.Text))


def _whole(number: int) -> Any:
    """Write a number that is ours into the statement."""
    return sa.literal_column(str(number))
