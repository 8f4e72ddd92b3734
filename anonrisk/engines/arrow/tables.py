"""The kinds of table that speak the Arrow stream: how each is read, and what is given back."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anonrisk.engines.arrow import cells
from anonrisk.engines.reading import parquet_files
from anonrisk.errors import (
    ArgumentError,
    UnsupportedColumnError,
    UnsupportedFrameError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

# DuckDB's types that come through Arrow as they are. Of others the zone is lost, or the sign.
_NUMBERS = {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
_NUMBERS |= {"utinyint", "usmallint", "uinteger", "ubigint"}
_TIMES = {"date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"}
_EXACT = _NUMBERS | _TIMES | {"timestamp with time zone", "boolean", "varchar", "blob", "bit"}
_EXACT |= {"uuid", "enum", "null"}
# Refused by what they are made of.
_EXACT |= {"list", "array", "struct", "map", "union"}


def table_of(frame: Any) -> ArrowTable:
    """Tell the kind of a table."""
    if isinstance(frame, pa.Table):
        return ArrowTable(frame)
    if "polars" in sys.modules and isinstance(frame, sys.modules["polars"].DataFrame):
        return PolarsTable(frame)
    if "duckdb" in sys.modules and isinstance(frame, sys.modules["duckdb"].DuckDBPyRelation):
        return DuckDBTable(frame)
    return ArrowTable(_read(frame))


def _read(frame: Any) -> Any:
    """Read a stream to its end; how many rows it must have tells whether it was read before."""
    try:
        table = pa.RecordBatchReader.from_stream(frame).read_all()
    except Exception:  # noqa: BLE001
        table = None
    if table is None or table.num_rows != len(frame):
        raise UnsupportedFrameError(
            f"{type(frame).__name__} cannot be read as a table of Arrow; "
            "pyarrow.table() makes one of most that is like it"
        )
    return table


class ArrowTable:
    """A pyarrow table."""

    def __init__(self, frame: Any) -> None:
        """Keep the table."""
        self.frame = frame

    def names(self) -> list[str]:
        """List the names of the columns; repeated ones as often as they occur."""
        return list(self.frame.schema.names)

    def read(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Give some columns."""
        everything = self.names()
        return {name: self.frame.column(everything.index(name)) for name in names}

    def types(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Give some columns without their rows."""
        return {name: column.slice(0, 0) for name, column in self.read(names).items()}

    def held(self) -> ArrowTable:
        """Give the table in memory, where every look finds the same rows in the same order."""
        return self

    def check_order(self, verb: str) -> None:
        """Refuse a table whose rows may have come in another order when they were counted."""

    def attrs(self) -> dict[Any, Any]:
        """Read what the table says of its columns, where pandas and Spark keep it in Parquet."""
        return parquet_files.attrs_of(self.frame.schema)

    def has_dictionary(self, name: str) -> bool:
        """Tell whether a column lists its values, also those that no row has."""
        kind = cells.plain(self.frame.schema.field(self.names().index(name)).type)
        return bool(pa.types.is_dictionary(kind))

    def changed(self, rows: Any, new: pd.DataFrame, attrs: Any) -> Any:
        """Give the table with these of its rows, or all, and with new cells in some columns."""
        table = self.frame if rows is None else _taken(self.frame, rows)
        for name in new.columns:
            table = self._with(table, name, new[name])
        if attrs == self.attrs():
            return table
        told = {**(table.schema.metadata or {}), parquet_files.DECLARED: json.dumps(attrs).encode()}
        return table.replace_schema_metadata(told)

    def _with(self, table: Any, name: str, cells_of: pd.Series[Any]) -> Any:
        names = table.schema.names
        if name not in names:
            return table.append_column(name, cells.to_arrow(cells_of))
        at = names.index(name)
        field = table.schema.field(at)
        column = cells.to_arrow(cells_of, field.type)
        table = table.set_column(at, field.with_type(column.type), column)
        return table if column.type == field.type else _without_note(table, name)

    def without(self, columns: Sequence[Any]) -> Any:
        """Give the table without some columns, by their place: a name may be there twice."""
        return self.frame.select([i for i, n in enumerate(self.names()) if n not in columns])

    def with_columns(self, new: pd.DataFrame) -> Any:
        """Give the table with some columns more."""
        table = self.frame
        for name in self._new(new):
            table = table.append_column(name, cells.to_arrow(new[name]))
        return table

    def _new(self, new: pd.DataFrame) -> list[str]:
        there = set(self.names()) & set(new.columns)
        if there:
            raise ArgumentError(
                f"the table already has a column {min(there)!r}; give another name="
            )
        return list(new.columns)


class PolarsTable(ArrowTable):
    """A Polars DataFrame."""

    def names(self) -> list[str]:
        """List the names of the columns."""
        return list(self.frame.columns)

    def read(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Give some columns; Python objects, and numbers that Arrow does not know, as a list."""
        # By `get_column`: a name that looks like a pattern would select by it.
        # Under another name: the stream ends the process where one has a zero byte.
        columns = {name: self.frame.get_column(name).alias("") for name in names}
        for name, column in columns.items():
            if any("\0" in field for field in _fields(column.dtype)):
                raise UnsupportedColumnError(f"column {name!r} has a field with a zero byte")
        return {
            name: column.to_list() if _is_python(column.dtype) else pa.chunked_array(column)
            for name, column in columns.items()
        }

    def types(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Give some columns without their rows."""
        for name in names:
            if str(self.frame.schema[name]) == "Object":
                raise UnsupportedColumnError(f"column {name!r} holds Python objects")
        return PolarsTable(self.frame.clear()).read(names)

    def attrs(self) -> dict[Any, Any]:
        """Give nothing: a Polars table says nothing of its columns."""
        return {}

    def has_dictionary(self, name: str) -> bool:  # noqa: ARG002
        """Tell no: only texts have one, as categories that pandas sees."""
        return False

    def changed(self, rows: Any, new: pd.DataFrame, attrs: Any) -> Any:
        """Give the table with these of its rows, or all, and with new cells in some columns."""
        if attrs:
            raise UnsupportedFrameError(
                "a Polars table cannot carry roles, nor the marks of columns that were changed at "
                "random: give the names of the columns with each question, or the table as "
                "to_arrow()"
            )
        table = self.frame if rows is None else self.frame[rows]
        return table.with_columns([_polars(new[name]) for name in new.columns])

    def without(self, columns: Sequence[Any]) -> Any:
        """Give the table without some columns."""
        kept = [name for name in self.names() if name not in columns]
        return self.frame.select([self.frame.get_column(name) for name in kept])

    def with_columns(self, new: pd.DataFrame) -> Any:
        """Give the table with some columns more."""
        return self.frame.with_columns([_polars(new[name]) for name in self._new(new)])


class DuckDBTable(ArrowTable):
    """A DuckDB relation: a query, which is run for each look at it."""

    def names(self) -> list[str]:
        """List the names of the columns."""
        return list(self.frame.columns)

    def read(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Run the query for some columns."""
        return self._read(self.frame, names)

    def types(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Give some columns without their rows."""
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
                f"column {lossy[0]!r} is of a type that does not come through Arrow as it is; "
                "cast it, for example to VARCHAR, or leave it out"
            )
        return ArrowTable(pa.table(self.frame))

    def check_order(self, verb: str) -> None:
        """Refuse: the next run of the query may give its rows in another order."""
        raise UnsupportedFrameError(
            f"{verb} gives a number to each row, and the rows of a DuckDB relation have no order; "
            "give it the table as to_arrow_table()"
        )

    def attrs(self) -> dict[Any, Any]:
        """Give nothing: a relation says nothing of its columns."""
        return {}


def _taken(table: Any, rows: Any) -> Any:
    """Give some rows of a table, whatever its columns hold."""
    columns = [_picked(column, rows) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _picked(column: Any, rows: Any) -> Any:
    # Text as a view, which is how Polars hands it over, has no `take`; and what is cut out of it
    # keeps the text of all rows, which a file would then hold.
    kind = cells.without_views(column.type)
    if kind != column.type:
        return _picked(column.cast(kind), rows).cast(column.type)
    try:
        return column.take(pa.array(rows))
    except pa.ArrowNotImplementedError:
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        parts = [column.slice(run[0], len(run)) for run in runs if len(run)]
        chunks = [chunk for part in parts for chunk in part.chunks]
        return pa.chunked_array(chunks, column.type).combine_chunks()


def _without_note(table: Any, name: str) -> Any:
    """Take out what pandas noted of a column's type, which it has no more."""
    told = table.schema.metadata or {}
    if b"pandas" not in told:
        return table
    note = json.loads(told[b"pandas"])
    note["columns"] = [one for one in note["columns"] if one.get("field_name") != name]
    return table.replace_schema_metadata({**told, b"pandas": json.dumps(note).encode()})


def _polars(column: pd.Series[Any]) -> Any:
    return sys.modules["polars"].Series(str(column.name), cells.to_arrow(column))


def _fields(dtype: Any) -> Iterator[str]:
    """Find the names of the fields of Polars' structs, also in lists and arrays of them."""
    for field in getattr(dtype, "fields", ()):
        yield field.name
        yield from _fields(field.dtype)
    inner = getattr(dtype, "inner", None)
    if inner is not None:
        yield from _fields(inner)


def _is_python(dtype: Any) -> bool:
    return str(dtype) in ("Object", "Int128", "UInt128")


def _stand_in(kind: str, n_rows: int) -> list[Any]:
    """Make cells of a type that no engine compares, named like the one that they stand for."""
    return [type(kind, (), {})()] * n_rows
