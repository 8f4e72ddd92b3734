"""The kinds of table that speak the Arrow stream, and what stands around one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anonrisk.engines.arrow.duckdb_tables import DuckDBTable
from anonrisk.engines.arrow.polars_tables import LazyTable, PolarsTable
from anonrisk.engines.arrow.tables import ArrowTable, TableAround
from anonrisk.engines.held import HeldTable
from anonrisk.engines.narwhals import inside_narwhals, loaded, to_narwhals
from anonrisk.errors import UnsupportedFrameError

if TYPE_CHECKING:
    import pandas as pd


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
