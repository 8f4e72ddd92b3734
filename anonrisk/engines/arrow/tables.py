"""A table as Arrow has it, and what stands around one: how each is read, and what is given back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anonrisk.engines.arrow import cells
from anonrisk.engines.reading import parquet_files
from anonrisk.engines.refusals import NO_ROLES, refused
from anonrisk.errors import ArgumentError, UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from anonrisk.core.columns import Name
    from anonrisk.engines.arrow.cells import CodedColumns
    from anonrisk.engines.numpy.table import Codes

# What a table around another has from that one as it is.
_OF_THE_INNER = (
    "names",
    "read",
    "coded",
    "types",
    "has_rows",
    "check_order",
    "has_dictionary",
    "in_memory",
)


class ArrowTable:
    """A pyarrow table."""

    # Whether every look finds the same rows in the same order.
    in_memory = True

    def __init__(self, frame: Any) -> None:
        """Keep the table."""
        self.frame = frame

    def carries(self) -> bool:
        """Return whether it can say which roles its columns have, and which were randomised."""
        return True

    def names(self) -> list[str]:
        """List the names of the columns; repeated ones as often as they occur."""
        return list(self.frame.schema.names)

    def read(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return some columns."""
        everything = self.names()
        return {name: self.frame.column(everything.index(name)) for name in names}

    def coded(self, names: Sequence[str], known: dict[Name, Codes]) -> CodedColumns:
        """Return some columns to be counted, of which some codes may be known."""
        return cells.CodedColumns(self.read(names), known)

    def types(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return some columns without their rows."""
        return {name: column.slice(0, 0) for name, column in self.read(names).items()}

    def has_rows(self) -> bool:
        """Return whether there is any row."""
        return len(self.frame) > 0

    def held(self) -> ArrowTable:
        """Return the table in memory, where every look finds the same rows in the same order."""
        return self

    def check_order(self) -> None:
        """Reject a table whose rows may have come in another order when they were counted."""

    def attrs(self) -> dict[Any, Any]:
        """Read what the table says of its columns, where pandas and Spark keep it in Parquet."""
        return parquet_files.attrs_of(self.frame.schema)

    def has_dictionary(self, name: str) -> bool:
        """Return whether a column lists its values, also those that no row has."""
        kind = cells.plain(self.frame.schema.field(self.names().index(name)).type)
        return bool(pa.types.is_dictionary(kind))

    def changed(self, rows: Any, new: pd.DataFrame, attrs: Any) -> Any:
        """Return the table with these of its rows, or all, and with new cells in some columns."""
        table = self.frame if rows is None else _taken(self.frame, rows)
        for name in new.columns:
            table = self._with(table, name, new[name])
        if attrs == self.attrs():
            return table
        fields = {
            **(table.schema.metadata or {}),
            parquet_files.DECLARED: json.dumps(attrs).encode(),
        }
        return table.replace_schema_metadata(fields)

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
        """Return the table without some columns, by their place: a name may be there twice."""
        return self.frame.select([i for i, n in enumerate(self.names()) if n not in columns])

    def mixed(self, other: ArrowTable, seed: int) -> Any:
        """Return the table with the rows of another one of its kind among its own."""
        if type(other) is not ArrowTable or type(self) is not ArrowTable:
            raise UnsupportedFrameError(
                "rows of an earlier release can be put among those of a pandas, Polars, pyarrow or "
                "Spark table, from a table of the same kind; convert both to one of these"
            )
        frames = [self.frame, other.frame.select(self.names())]
        # An int32 of one month and an int64 of the next are the same numbers.
        both = pa.concat_tables(frames, promote_options="permissive")
        return both.take(np.random.default_rng(seed).permutation(len(both)))

    def with_columns(self, new: pd.DataFrame) -> Any:
        """Return the table with some columns more."""
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


class TableAround(ArrowTable):
    """A table that stands around another, which is read, and around what that gives back."""

    def __init__(self, frame: Any, inner: ArrowTable) -> None:
        """Keep both."""
        super().__init__(frame)
        self.inner = inner
        # Whoever asks these asks the one inside.
        for same in _OF_THE_INNER:
            setattr(self, same, getattr(inner, same))

    def carries(self) -> bool:
        """Return what the one inside can."""
        return self.inner.carries()

    def around(self, table: Any, attrs: Any) -> Any:
        """Make a table of the caller's kind of the one inside."""
        raise NotImplementedError

    def held(self) -> ArrowTable:
        """Hold the one inside."""
        return type(self)(self.frame, self.inner.held())

    def attrs(self) -> dict[Any, Any]:
        """Return what the one inside says."""
        return self.inner.attrs()

    def changed(self, rows: Any, new: pd.DataFrame, attrs: Any) -> Any:
        """Change the one inside."""
        return self.around(self.inner.changed(rows, new, attrs), attrs)

    def without(self, columns: Sequence[Any]) -> Any:
        """Leave some columns of the one inside out."""
        return self.around(self.inner.without(columns), self.attrs())

    def with_columns(self, new: pd.DataFrame) -> Any:
        """Return the one inside some columns more."""
        return self.around(self.inner.with_columns(new), self.attrs())


def cannot_carry(what: str) -> UnsupportedFrameError:
    """Return where roles and marks are kept instead."""
    return refused(f"{what} {NO_ROLES}")


def _taken(table: Any, rows: Any) -> Any:
    """Return some rows of a table, whatever its columns hold."""
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
    fields = dict(table.schema.metadata or {})
    if b"pandas" not in fields:
        return table
    try:
        note = json.loads(fields.pop(b"pandas"))
        note["columns"] = [item for item in note["columns"] if item.get("field_name") != name]
        fields[b"pandas"] = json.dumps(note).encode()
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        pass  # A note that cannot be read says nothing of any column.
    return table.replace_schema_metadata(fields)
