"""Tables of Polars: DataFrames, and LazyFrames, which are queries."""

from __future__ import annotations

import sys
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anonrisk.engines.arrow import cells
from anonrisk.engines.arrow.batches import BatchedColumns
from anonrisk.engines.arrow.tables import ArrowTable, TableAround, cannot_carry
from anonrisk.engines.refused import LAZY_ROWS, refused
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from anonrisk.core.columns import Name
    from anonrisk.engines.arrow.cells import CodedColumns
    from anonrisk.engines.numpy.table import Codes

# Rows that are read at a time, and so many times: what ends before is held whole, which is faster.
_BATCH = 250_000
_AT_ONCE = 16


class PolarsTable(ArrowTable):
    """A Polars DataFrame."""

    def carries(self) -> bool:
        """Return False."""
        return False

    def names(self) -> list[str]:
        """List the names of the columns."""
        return list(self.frame.columns)

    def read(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return some columns; Python objects, and numbers that Arrow does not know, as a list."""
        # By `get_column`: a name that looks like a pattern would select by it.
        return {name: _arrow(self.frame.get_column(name)) for name in names}

    def types(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return some columns without their rows."""
        columns = {name: self.frame.get_column(name) for name in names}
        for name, column in columns.items():
            if str(column.dtype) == "Object":
                raise UnsupportedColumnError(f"column {name!r} holds Python objects")
        return {name: _arrow(column.clear()) for name, column in columns.items()}

    def attrs(self) -> dict[Any, Any]:
        """Return nothing: a Polars table says nothing of its columns."""
        return {}

    def mixed(self, other: ArrowTable, seed: int) -> Any:
        """Return the table with the rows of another Polars table among its own."""
        if type(other) is not PolarsTable:
            return super().mixed(other, seed)
        # An Int32 of one month and an Int64 of the next are the same numbers.
        frames = [self.frame, other.frame.select(self.names())]
        both = sys.modules["polars"].concat(frames, how="vertical_relaxed")
        return both.sample(fraction=1, shuffle=True, seed=seed)

    def has_dictionary(self, name: str) -> bool:  # noqa: ARG002
        """Return False: only texts have one, as categories that pandas sees."""
        return False

    def changed(self, rows: Any, new: pd.DataFrame, attrs: Any) -> Any:
        """Return the table with these of its rows, or all, and with new cells in some columns."""
        if attrs:
            raise cannot_carry("a Polars table")
        table = self.frame if rows is None else self.frame[rows]
        return table.with_columns([_polars(new[name]) for name in new.columns])

    def without(self, columns: Sequence[Any]) -> Any:
        """Return the table without some columns."""
        kept = [name for name in self.names() if name not in columns]
        return self.frame.select([self.frame.get_column(name) for name in kept])

    def with_columns(self, new: pd.DataFrame) -> Any:
        """Return the table with some columns more."""
        return self.frame.with_columns([_polars(new[name]) for name in self._new(new)])


class LazyTable(PolarsTable):
    """A Polars LazyFrame: a query, which is run for each look at it, for the columns asked for."""

    in_memory = False

    def names(self) -> list[str]:
        """List the names of the columns."""
        return list(self.frame.collect_schema().names())

    def read(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Run the query for some columns."""
        return PolarsTable(self._query(names).collect()).read(names)

    def coded(self, names: Sequence[str], known: dict[Name, Codes]) -> CodedColumns:
        """Run the query for some columns in batches, if Polars can and they are Arrow's."""
        query, schema = self._query(names), self.frame.collect_schema()
        if not hasattr(query, "collect_batches") or any(_is_python(schema[n]) for n in names):
            return super().coded(names, known)
        batches = iter(query.collect_batches(chunk_size=_BATCH))
        first = deque(islice(batches, _AT_ONCE))
        more = list(islice(batches, 1))
        if not more:
            parts = first or [self._without_rows(names)]
            whole = sys.modules["polars"].concat(parts) if len(parts) > 1 else parts[0]
            return PolarsTable(whole).coded(names, known)
        # Each goes when it was read.
        rows = chain((first.popleft() for _ in range(len(first))), more, batches)
        none = self.types(names)
        return BatchedColumns.of(chain([none], (PolarsTable(each).read(names) for each in rows)))

    def _query(self, names: Sequence[str]) -> Any:
        # By place: a name that looks like a pattern would select by it.
        everything = self.names()
        places = [everything.index(name) for name in names]
        return self.frame.select(sys.modules["polars"].nth(places))

    def types(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return some columns without their rows."""
        return PolarsTable(self._without_rows(names)).types(names)

    def _without_rows(self, names: Sequence[str]) -> Any:
        schema = self.frame.collect_schema()
        return sys.modules["polars"].DataFrame(schema={name: schema[name] for name in names})

    def has_rows(self) -> bool:
        """Run the query for one row."""
        return bool(self.frame.limit(1).collect().height)

    def held(self) -> ArrowTable:
        """Run the query once."""
        return CollectedTable(self.frame, PolarsTable(self.frame.collect()))

    def check_order(self) -> None:
        """Raise an error: the next run of the query may give its rows in another order."""
        raise refused(LAZY_ROWS)


class CollectedTable(TableAround):
    """What a LazyFrame gives, to which its changed tables turn again."""

    def around(self, table: Any, attrs: Any) -> Any:  # noqa: ARG002
        """Make it lazy."""
        return table.lazy()


def _polars(column: pd.Series[Any]) -> Any:
    return sys.modules["polars"].Series(str(column.name), cells.to_arrow(column))


def _arrow(column: Any) -> Any:
    if any("\0" in field for field in _fields(column.dtype)):
        raise UnsupportedColumnError(f"column {column.name!r} has a field with a zero byte")
    # Under another name: the stream ends the process where one has a zero byte.
    return column.to_list() if _is_python(column.dtype) else pa.chunked_array(column.alias(""))


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
