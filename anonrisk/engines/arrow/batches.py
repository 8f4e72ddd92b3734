"""A query that is counted in batches: the different cells of each column, and where rows have them.

A row takes a byte or two for each column of few values, and the query is run once.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anonrisk.core.frozen import dataclass
from anonrisk.engines.arrow.cells import CodedColumns, decoded, handed_over, plain, views_are_coded
from anonrisk.engines.arrow.views import FewTexts
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.pandas import objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name

    Integers = NDArray[np.int64]

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
        return objects.without_views(super().column(column)).iloc[self.places[column][rows]]

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
