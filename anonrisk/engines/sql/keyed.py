"""Classes of a table in a database under keyed hashes.

The database groups, and its classes come out in batches and are hashed in this process: the key is
in no statement, plan or log.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from anonrisk.engines import keyed
from anonrisk.engines.keyed import Batch
from anonrisk.engines.refused import SQLITE_STATE, refused
from anonrisk.engines.sql.dialects import NANOSECONDS
from anonrisk.engines.sql.numbers import double
from anonrisk.engines.sql.table import kind_of_cells
from anonrisk.pseudonyms.encoding import refused as no_letter

if TYPE_CHECKING:
    from collections.abc import Generator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.sql.table import SqlTable
    from anonrisk.measures.counts.keyed import KeyedCounts, KeyedTally
    from anonrisk.measures.counts.sketch import SketchCounts, SketchTally

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
