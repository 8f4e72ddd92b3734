"""The kinds of table that speak the Arrow stream, and what stands around one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anonrisk.engines.arrow.polars_tables import LazyTable, PolarsTable
from anonrisk.engines.arrow.tables import ArrowTable, TableAround, cannot_carry
from anonrisk.engines.held import HeldTable, inside_narwhals, loaded, to_narwhals
from anonrisk.engines.refusals import RELATION_ROWS, refused
from anonrisk.errors import UnsupportedColumnError, UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

# DuckDB's types that come through Arrow as they are. Of others the zone is lost, or the sign.
_NUMBERS = {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
_NUMBERS |= {"utinyint", "usmallint", "uinteger", "ubigint"}
_TIMES = {"date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"}
_EXACT = _NUMBERS | _TIMES | {"timestamp with time zone", "boolean", "varchar", "blob", "bit"}
_EXACT |= {"uuid", "enum", "null"}
# Refused by what they are made of.
_EXACT |= {"list", "array", "struct", "map", "union"}


class DuckDBTable(ArrowTable):
    """A DuckDB relation: a query, which is run for each look at it."""

    in_memory = False

    def carries(self) -> bool:
        """Return False."""
        return False

    def names(self) -> list[str]:
        """List the names of the columns."""
        return list(self.frame.columns)

    def read(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Run the query for some columns."""
        return self._read(self.frame, names)

    def types(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return some columns without their rows."""
        return self._read(self.frame.limit(0), names)

    def _read(self, relation: Any, names: Sequence[str]) -> Mapping[str, Any]:
        # By place: to DuckDB "A" is the name of a column "a" as well, even in quotation marks.
        everything = self.names()
        places = [everything.index(name) for name in names]
        table = pa.table(relation.project(", ".join(f"#{place + 1}" for place in places)))
        kinds = [relation.types[place].id for place in places]
        return {
            name: column if kind in _EXACT else _stand_in(kind, len(column))
            for name, kind, column in zip(names, kinds, table.columns, strict=True)
        }

    def held(self) -> ArrowTable:
        """Run the query once."""
        lossy = [
            name
            for name, kind in zip(self.frame.columns, self.frame.types, strict=True)
            if kind.id not in _EXACT
        ]
        if lossy:
            raise UnsupportedColumnError(
                f"column {lossy[0]!r} is of a type that Arrow does not preserve; cast it"
                ", for example to VARCHAR, or leave it out"
            )
        return RelationTable(self.frame, ArrowTable(pa.table(self.frame)))

    def changed(self, rows: Any, new: pd.DataFrame, attrs: Any) -> Any:  # noqa: ARG002
        """Raise an error: a query is run before it is changed; only roles are put on it."""
        raise cannot_carry("a DuckDB relation")

    def check_order(self) -> None:
        """Raise an error: the next run of the query may give its rows in another order."""
        raise refused(RELATION_ROWS)

    def attrs(self) -> dict[Any, Any]:
        """Return nothing: a relation says nothing of its columns."""
        return {}


class RelationTable(TableAround):
    """What a DuckDB relation gives, to which its changed tables turn again."""

    def carries(self) -> bool:
        """Return False."""
        return False

    def attrs(self) -> dict[Any, Any]:
        """Return nothing: a relation says nothing of its columns."""
        return {}

    def around(self, table: Any, attrs: Any) -> Any:
        """Make it a relation, of the same connection where it is known: others cannot see it."""
        if attrs:
            raise cannot_carry("a DuckDB relation")
        connection = getattr(self.frame, "_con", None) or sys.modules["duckdb"]
        return connection.from_arrow(table)


def _stand_in(kind: str, n_rows: int) -> list[Any]:
    """Make cells of a type that no engine compares, named like the one that they stand for."""
    return [type(kind, (), {})()] * n_rows


def table_of(frame: Any) -> ArrowTable:
    """Return the kind of a table."""
    if isinstance(frame, pa.Table):
        return ArrowTable(frame)
    if isinstance(frame, HeldTable):
        return TableWithNotes(frame, table_of(frame.frame))
    native = inside_narwhals(frame)
    if native is not None:
        return NarwhalsTable(frame, table_of(native))
    for library, kind, made in (
        ("polars", "DataFrame", PolarsTable),
        ("polars", "LazyFrame", LazyTable),
        ("duckdb", "DuckDBPyRelation", DuckDBTable),
    ):
        if isinstance(frame, loaded(library, kind)):
            return made(frame)
    return ArrowTable(_read(frame))


def _read(frame: Any) -> Any:
    """Read a stream to its end; how many rows it must have tells whether it was read before."""
    try:
        table = pa.table(frame)
    except Exception:  # noqa: BLE001
        table = None
    if table is None or table.num_rows != len(frame):
        raise UnsupportedFrameError(
            f"{type(frame).__name__} cannot be read as an Arrow table; pyarrow.table() converts "
            "most similar objects"
        )
    return table


class NarwhalsTable(TableAround):
    """A narwhals frame."""

    def around(self, table: Any, attrs: Any) -> Any:  # noqa: ARG002
        """Let narwhals hold it."""
        return to_narwhals(self.frame, table)


class TableWithNotes(TableAround):
    """A table that is held together with what is said of its columns."""

    def attrs(self) -> dict[Any, Any]:
        """Return what is held."""
        return dict(self.frame.notes)

    def changed(self, rows: Any, new: pd.DataFrame, attrs: Any) -> Any:
        """Change the one inside, which says the same if it can."""
        if self.inner.carries():
            return self.around(self.inner.changed(rows, new, attrs), attrs)
        same = rows is None and new.columns.empty
        return self.around(self.frame.frame if same else self.inner.changed(rows, new, {}), attrs)

    def around(self, table: Any, attrs: Any) -> Any:
        """Hold it again."""
        return HeldTable(table, attrs)
