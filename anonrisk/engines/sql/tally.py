"""The classes of some columns, brought out of a database: as values, or under keyed hashes.

Columns of ours: those of `engines.pushed.count`, `x` a number, `b` the number of its bin.

The database groups, and its classes come out in batches and are hashed in this process: the key is
in no statement, plan or log.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from anonrisk.core.frozen import dataclass
from anonrisk.engines import keyed, limits
from anonrisk.engines.keyed import Batch
from anonrisk.engines.pushed import tally as pushed_tally
from anonrisk.engines.pushed.rows import Made
from anonrisk.engines.refusals import SQLITE_STATE, refused
from anonrisk.engines.sql.dialects import NANOSECONDS
from anonrisk.engines.sql.schema import LARGEST, double
from anonrisk.engines.sql.table import kind_of_cells
from anonrisk.errors import UnsupportedColumnError
from anonrisk.measures.counts import question
from anonrisk.measures.counts.tally import DATES, NUMBERS
from anonrisk.pseudonyms.encoding import refused as no_letter

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.pushed.rows import Row, Rows
    from anonrisk.engines.sql.table import SqlTable
    from anonrisk.measures.counts.keyed import KeyedCounts, KeyedTally, SketchCounts, SketchTally
    from anonrisk.measures.counts.tally import Tally

# Where classes would have to be brought.
OUT = "out of the database"
_KINDS = {
    "whole numbers": "whole",
    "floats": "number",
    "decimals": "number",
    "text": "text",
    "timestamps": "timestamp",
    "dates": "date",
    "booleans": "boolean",
}


def tally(table: SqlTable, columns: Qid, collapsible: Qid = ()) -> Tally:
    """Count the classes of some columns; close values are put together if there are too many."""
    with table.reading():
        return pushed_tally.tally(_TalliedSqlTable(table), columns, collapsible)


def tallies(table: SqlTable, sets: Sequence[Qid]) -> list[Tally]:
    """Count the classes of several sets of columns in one statement."""
    with table.reading():
        return pushed_tally.tallies(_TalliedSqlTable(table), sets)


@dataclass(frozen=True)
class _TalliedSqlTable:
    """A table in a database as `engines.pushed.tally` asks it."""

    table: SqlTable
    place = OUT

    def fetch_rows(self, rows: Rows, doing: str, most: int | None = None) -> list[Row]:
        return self.table.fetch_rows(rows, doing, most)

    def kinds_of_values(self, columns: Qid) -> dict[Name, str]:
        types = self._types(columns)
        return {name: _KINDS.get(kind_of_cells(type_), "other") for name, type_ in types.items()}

    def plain_cells(self, columns: Qid, coarser: Mapping[Name, Any]) -> Rows:
        types, kinds = self._types(columns), self.kinds_of_values(columns)
        cells = {name: self.table.cell(name, type_) for name, type_ in types.items()}
        self._refuse_fine({name: cells[name] for name in columns if types[name] == NANOSECONDS})
        out = {name: self._cell(cells[name], types[name], kinds[name]) for name in columns} | dict(
            coarser
        )
        named = {f"q{i}": out[name] for i, name in enumerate(columns)}
        selected = (cell.label(q) for q, cell in named.items())
        return Made(tuple(named), sa.select(*selected).select_from(self.table.source))

    def coarser_cells(self, columns: Qid) -> dict[Name, Any]:
        types, kinds = self._types(columns), self.kinds_of_values(columns)
        made = {name: self._coarser(name, types[name], kinds[name]) for name in columns}
        return {name: cell for name, cell in made.items() if cell is not None}

    def _types(self, columns: Qid) -> dict[Name, str]:
        return self.table.kinds(dict.fromkeys(columns, "quasi-identifier"))

    def _refuse_fine(self, instants: Mapping[Name, Any]) -> None:
        """Reject instants that are no whole microseconds: two of them would become one value."""
        for name, cell in instants.items():
            fine = self.table.dialect.nanoseconds(cell) % sa.literal_column("1000") != 0
            query = sa.select(sa.func.count()).select_from(self.table.source).where(fine)
            if int(self.table.fetch(query, "look at the instants")[0][0]):
                raise UnsupportedColumnError(
                    f"quasi-identifier {str(name)!r} holds instants finer than a microsecond, "
                    "which a plan cannot distinguish; round them first"
                )

    def _cell(self, cell: Any, type_: str, kind: str) -> Any:
        """Return a cell in a form that every driver fetches as it is; of a decimal every digit."""
        if kind == "timestamp":
            return self.table.dialect.microseconds(cell)
        if kind == "number":
            return cell if kind_of_cells(type_) == "decimals" else double(cell)
        return self.table.dialect.as_text(cell) if kind == "other" else cell

    def _coarser(self, name: Name, type_: str, kind: str) -> Any:
        """Return a coarser cell: dates by month, numbers by fine bins; None where there is none."""
        dialect, cell = self.table.dialect, self.table.cell(name, type_)
        if kind in DATES:
            month = sa.func.date_trunc("month", dialect.in_greenwich(cell, type_))
            return sa.cast(month, sa.Date) if kind == "date" else dialect.microseconds(month)
        if kind not in NUMBERS:
            return None
        whole = kind == "whole"
        edges, inside = pushed_tally.fine_bins(self._cuts(name, double(cell)), whole=whole)
        if not edges:
            return None
        bins: list[Any] = [
            (double(cell) < double(float(edge)), sa.literal(number))
            for edge, number in zip(edges, inside, strict=False)
        ]
        bins.append((cell.is_not(None), sa.literal(inside[-1])))
        return sa.cast(sa.case(*bins), sa.BigInteger() if whole else sa.Double())

    def _cuts(self, name: Name, number: Any) -> list[float]:
        """Find the ends of fine parts of the same number of records; nothing if none is known."""
        parts = sa.func.ntile(question.FINE_BINS).over(order_by=number.asc())
        rows = sa.select(number.label("x"), parts.label("b")).select_from(self.table.source)
        subquery = rows.where(number.is_not(None)).subquery("n")
        infinite = sa.or_(subquery.c.x > double(LARGEST), subquery.c.x < double(-LARGEST))
        ends = sa.select(
            sa.func.min(subquery.c.x),
            sa.func.max(subquery.c.x),
            sa.func.sum(sa.case((infinite, 1), else_=0)),
        )
        fetched = self.table.fetch(
            ends.group_by(subquery.c.b).order_by(subquery.c.b.asc()), "find the quantiles"
        )
        limits.refuse_infinite(sum(int(row[2]) for row in fetched), name)
        return sorted({float(row[1]) for row in fetched} | {float(row[0]) for row in fetched[:1]})


# Classes that are here at once.
BATCH = 100_000
_LETTERS = {
    "text": "s",
    "whole numbers": "i",
    "floats": "f",
    "decimals": "m",
    "booleans": "b",
    "dates": "d",
    "timestamps": "t",
    "bytes": "x",
    "bytea": "x",
    "BLOB": "x",
}


def counts(table: SqlTable, asked: KeyedTally) -> KeyedCounts:
    """Count all classes under keyed hashes."""
    unit = asked.question.unit
    batches = _batches(table, asked, () if unit is None else (unit,))
    with table.reading(), closing(batches):
        return keyed.keyed(asked, batches)


def sketch(table: SqlTable, asked: SketchTally) -> SketchCounts:
    """Keep the classes with the smallest hashes."""
    batches = _batches(table, asked.whole, ())
    with table.reading(), closing(batches):
        return keyed.sketch(asked, batches)


def _batches(table: SqlTable, asked: KeyedTally, persons: Qid) -> Generator[Batch, None, None]:
    """Let the database group, and bring out what is different with its number of rows."""
    if table.typed_by_cell:
        raise refused(SQLITE_STATE)
    roles = asked.question.roles(dict.fromkeys(asked.sensitive, "sensitive column"))
    names: Qid = (*asked.question.qid, *persons, *asked.sensitive)
    kinds = table.kinds({name: roles[name] for name in names})
    letters = {name: _letter(table, name, kinds[name]) for name in names}
    out = (_cell(table, name, kinds[name], letters[name]) for name in names)
    named = (cell.label(f"q{i}") for i, cell in enumerate(out))
    rows = sa.select(*named).select_from(table.source).subquery("r")
    query = sa.select(*rows.c, sa.func.count()).group_by(*rows.c)
    for batch in table.batches(query, BATCH, "count the classes"):
        *columns, n = zip(*batch, strict=True)
        made = dict(zip(names, columns, strict=True))
        yield Batch(made, letters, np.array(list(map(int, n)), dtype=np.int64))


def _letter(table: SqlTable, name: Name, kind: str) -> str:
    letter = _LETTERS.get(kind_of_cells(kind))
    if letter is None:
        if kind in table.dialect.known:
            raise no_letter(name, kind)
        # What else PostgreSQL lets us group by is an enumeration.
        return "s"
    return "T" if kind == NANOSECONDS else letter


def _cell(table: SqlTable, name: Name, kind: str, letter: str) -> Any:
    """Return a cell in a form that every driver brings out as it is."""
    cell = table.cell(name, kind)
    if letter == "T":
        return table.dialect.nanoseconds(cell)
    if letter == "t":
        return table.dialect.microseconds(cell)
    # Drivers read a float of 4 bytes by its shortest decimal digits.
    return double(cell) if letter == "f" else cell
