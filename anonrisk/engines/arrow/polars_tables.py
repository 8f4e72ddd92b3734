"""Tables of Polars: DataFrames, and LazyFrames, which are queries, counted in batches.

In batches, a row takes a byte or two for each column of few values, and the query is run once.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anonrisk.core.frozen import dataclass
from anonrisk.engines.arrow import cells
from anonrisk.engines.arrow.cells import (
    CodedColumns,
    FewTexts,
    decoded,
    handed_over,
    plain,
    views_are_coded,
)
from anonrisk.engines.arrow.tables import ArrowTable, TableAround, cannot_carry
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.pandas import encode
from anonrisk.engines.refusals import LAZY_ROWS, refused
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Integers

# A column of more different cells is no longer searched for those of the next batch.
_FEW = 2**16
# Rows that get their codes at once.
_PART = 2**20


@dataclass
class _BatchedColumn:
    """What is known of a column after some batches."""

    cells: list[Any] = field(default_factory=list)
    places: list[NDArray[Any]] = field(default_factory=list)
    n_cells: int = 0
    kind: Any = None

    def add(self, column: Any) -> None:
        """Take the rows of a batch."""
        flat = _flat(column)
        self.kind = plain(flat.type)
        for part in flat.chunks:
            cells, places = _distinct(part)
            if self.n_cells <= _FEW and not pa.types.is_dictionary(cells.type):
                cells, mapping = _distinct(pa.concat_arrays([*self.cells, cells]))
                mapping = mapping[self.n_cells :]
                self.cells, self.n_cells = [cells], len(cells)
            else:
                mapping = np.arange(self.n_cells, self.n_cells + len(cells))
                self.cells, self.n_cells = [*self.cells, cells], self.n_cells + len(cells)
            self.places.append(_narrow(mapping, self.n_cells)[places])

    def joined(self) -> tuple[Any, NDArray[Any]]:
        """Return the different cells, and for each row where its own is among them."""
        places = _narrow(np.empty(sum(map(len, self.places)), dtype=np.uint8), self.n_cells)
        at = len(places)
        while self.places:
            # One after the other goes, so that there are never two of all rows.
            part = self.places.pop()
            places[at - len(part) : at] = part
            at -= len(part)
        return pa.chunked_array(self.cells, self.kind), places


def _flat(column: Any) -> Any:
    """Return cells as they are handed over; only categories with an order stay what they are."""
    if not pa.types.is_dictionary(column.type):
        return handed_over(column, views=views_are_coded())
    # Every batch may have a dictionary of its own.
    return column if column.type.ordered else decoded(column)


def _distinct(part: Any) -> tuple[Any, NDArray[Any]]:
    """Return different cells, and where each row has its own: all of them if that is not known."""
    if pa.types.is_dictionary(part.type):
        numbers = part.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        _, first, places = np.unique(numbers, return_index=True, return_inverse=True)
        return part.take(pa.array(first)), places
    if pa.types.is_integer(part.type) and len(part) and not part.null_count:
        numbers = part.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _FEW and high < 2**63:
            # Without the hash table of Arrow, which takes several times as long.
            offsets = numbers.astype(np.int64) - low
            there = np.zeros(high - low + 1, dtype=bool)
            there[offsets] = True
            cells = pa.array(np.flatnonzero(there) + low, part.type)
            return cells, (np.cumsum(there) - 1)[offsets]
    few = FewTexts.of(part)
    if few is not None:
        return few.cells(), few.places
    if part.type != plain(part.type):
        part = part.cast(plain(part.type))
    try:
        encoded = part.dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError:
        return part, np.arange(len(part))
    return encoded.dictionary, encoded.indices.to_numpy()


def _narrow(places: NDArray[Any], n_cells: int) -> NDArray[Any]:
    return places.astype(np.min_scalar_type(max(n_cells - 1, 0)), copy=False)


@dataclass(frozen=True, eq=False)
class BatchedColumns(CodedColumns):
    """Codes and cells of a table of which `columns` has the different cells only.

    `places` says where each row has its own among them. Once they are encoded these are codes, and
    of equal cells one is left.
    """

    columns: dict[Any, Any]
    places: Mapping[Any, NDArray[Any]] = field(kw_only=True)

    @classmethod
    def of(cls, batches: Iterable[Mapping[str, Any]]) -> BatchedColumns:
        """Read all batches; the first, which may be without rows, names the columns."""
        columns: dict[str, _BatchedColumn] = {}
        for batch in batches:
            for name, column in batch.items():
                columns.setdefault(name, _BatchedColumn()).add(column)
        joined = {name: column.joined() for name, column in columns.items()}
        cells, places = ({name: both[i] for name, both in joined.items()} for i in (0, 1))
        return cls(cells, places=places)

    def __len__(self) -> int:
        """How many rows it has."""
        return len(next(iter(self.places.values()), ()))

    def column(self, name: Name) -> pd.Series[Any]:
        """Return a column with all of its rows."""
        return self._some(name, np.arange(len(self)))

    def _some(self, column: Name, rows: Integers) -> pd.Series[Any]:
        return encode.without_views(super().column(column)).iloc[self.places[column][rows]]

    def encoded(self, name: Name, role: str) -> Codes:
        """Encode the different cells, and give each row the code of its own."""
        of_cells, places = super().encoded(name, role), self.places[name]
        different, first, codes = np.unique(of_cells.values, return_index=True, return_inverse=True)
        if not np.array_equal(first, np.arange(len(codes))):
            self.columns[name] = self.columns[name].take(pa.array(first))
            codes = codes.astype(places.dtype)
            # In place and by parts: these are numbers of all rows, which need not be there twice.
            for start in range(0, len(places), _PART):
                places[start : start + _PART] = codes[places[start : start + _PART]]
        # What is missing has the last code, before and after.
        last = len(different) - 1
        n_missing = int((places == last).sum()) if of_cells.n_missing else 0
        return Codes(places, max(len(different), 1), n_missing)


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
    for part in getattr(dtype, "fields", ()):
        yield part.name
        yield from _fields(part.dtype)
    inner = getattr(dtype, "inner", None)
    if inner is not None:
        yield from _fields(inner)


def _is_python(dtype: Any) -> bool:
    return str(dtype) in ("Object", "Int128", "UInt128")
