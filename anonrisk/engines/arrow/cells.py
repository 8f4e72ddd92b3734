"""Arrow columns to pandas or to codes, over the same memory where that is possible, and back.

Columns of few short texts come as views, which is how Polars holds them. A view has sixteen bytes,
in which a text of up to twelve stands whole. So two numbers of 64 bits are all that tells such
texts apart, and each row is looked up in a small table by both: what is not in its slot is new.
That takes a third of the time of Arrow's hash table.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.pandas import encode
from anonrisk.engines.pandas.encode import encode_column, side_by_side
from anonrisk.engines.pandas.table import TableOfSeries
from anonrisk.engines.reading.arrays import INSIDE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name

    Views = NDArray[np.uint64]

# Columns of fewer rows are encoded by Arrow, as are those of more texts.
_LARGE = 2**14
_MOST = 512
# Slots by which no two of so many texts meet in one of eight tries, at worst.
_BITS = 16
_TRIES = 128
# Rows that are looked up at once: few enough to stay near.
_PART = 2**14
# New ones that are compared with each other at once, which takes a sort.
_NEW = 256


@dataclass(frozen=True, eq=False)
class FewTexts:
    """The different texts of a column, as bytes, and for each row which is its own.

    A row without one has the number after the last.
    """

    texts: list[bytes]
    places: NDArray[Any]
    n_missing: int

    @classmethod
    def of(cls, column: Any) -> FewTexts | None:
        """Return the texts of a column; None where they are long, many, or no views."""
        if str(getattr(column, "type", "")) != "string_view" or len(column) < _LARGE:
            return None
        table, places = _Table(), np.full(len(column), _MOST, dtype=np.uint16)
        end = 0
        for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            start, end = end, end + len(part)
            if len(part) and not _look_up(table, part, places[start:end]):
                return None
        texts = table.texts()
        if len(set(texts)) < len(texts):
            # Whoever made these has not filled them up with zeros.
            return None
        missing = places == _MOST if column.null_count else np.zeros(0, dtype=bool)
        places[: len(missing)][missing] = len(texts)
        kind = np.min_scalar_type(len(texts))
        return cls(texts, places.astype(kind, copy=False), column.null_count)

    def codes(self) -> Codes:
        """Return the column as codes."""
        return Codes(self.places, len(self.texts) + bool(self.n_missing), self.n_missing)

    def cells(self) -> Any:
        """Return the different texts, and a missing one if there is any, as an Arrow array."""
        cells = [*self.texts, None] if self.n_missing else self.texts
        # Seen as text, not checked to be: what others encoded otherwise stays what it is.
        return pa.array(cells, pa.large_binary()).view(pa.large_string())


class _Table:
    """Different views, each in a slot of its own."""

    def __init__(self) -> None:
        self._views: Views = np.empty((0, 2), dtype=np.uint64)
        self._factors = np.ones(2, dtype=np.uint64)
        self._shift = np.uint64(63)
        self._in_slots = np.zeros((2, 2), dtype=np.uint64)
        self._numbers = np.zeros(2, dtype=np.uint16)

    def add(self, views: Views) -> bool:
        """Add new ones; return whether they are short, and there is a slot for each."""
        self._views = np.concatenate((self._views, np.unique(views, axis=0)))
        number = len(self._views)
        if number > _MOST or (self._lengths() > INSIDE).any():
            return False
        bits = min(2 * number.bit_length(), _BITS)
        self._shift = np.uint64(64 - bits)
        random = np.random.default_rng(1)
        for _ in range(_TRIES):
            self._factors = random.integers(2**63, size=2, dtype=np.uint64) * np.uint64(2)
            self._factors += np.uint64(1)
            slots = self._slots(self._views[:, 0], self._views[:, 1])
            if len(np.unique(slots)) == number:
                # In the slots of none stands one that belongs elsewhere.
                self._in_slots = np.repeat(self._views[:1].T, 2**bits, axis=1)
                self._in_slots[:, slots] = self._views.T
                self._numbers = np.zeros(2**bits, dtype=np.uint16)
                self._numbers[slots] = np.arange(number)
                return True
        return False

    def find(self, views: Views) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """Return the number of each view, and which of them are known."""
        first, second = views[:, 0], views[:, 1]
        slots = self._slots(first, second)
        # There is none beyond the last, but so NumPy need not look.
        known = self._in_slots[0].take(slots, mode="clip") == first
        known &= self._in_slots[1].take(slots, mode="clip") == second
        return self._numbers.take(slots, mode="clip"), known & (len(self._views) > 0)

    def _slots(self, first: Views, second: Views) -> NDArray[np.int64]:
        mixed = first * self._factors[0]
        mixed += second * self._factors[1]
        mixed >>= self._shift
        slots: NDArray[np.int64] = mixed.view(np.int64)
        return slots

    def _lengths(self) -> NDArray[np.int32]:
        lengths: NDArray[np.int32] = self._views.view(np.int32)[:, 0]
        return lengths

    def texts(self) -> list[bytes]:
        """Return the texts in the order of their numbers."""
        rows = self._views.view(np.uint8)[:, 4:]
        return [row[:n].tobytes() for row, n in zip(rows, self._lengths(), strict=True)]


def _look_up(table: _Table, part: Any, places: NDArray[np.uint16]) -> bool:
    """Write the numbers of texts to their places; return whether they are few and short."""
    end = part.offset + len(part)
    # A buffer may be longer than its views, by any number of bytes.
    halves = np.frombuffer(part.buffers()[1], dtype=np.uint64, count=2 * end)
    views = halves.reshape(-1, 2)[part.offset :]
    valid = part.is_valid().to_numpy(zero_copy_only=False) if part.null_count else None
    for start in range(0, len(part), _PART):
        rows = slice(start, start + _PART)
        # Of a missing one, nothing says what stands in its view.
        some = views[rows] if valid is None else views[rows][valid[rows]]
        numbers, known = table.find(some)
        while not known.all():
            if not table.add(some[~known][:_NEW]):
                return False
            numbers, known = table.find(some)
        if valid is None:
            places[rows] = numbers
        else:
            places[rows][valid[rows]] = numbers
    return True


# By name, because older versions of pyarrow do not have these types.
_VIEWS = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}


def to_pandas(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Make a table of Arrow columns, and of lists of Python objects."""
    return pd.DataFrame({name: series(column) for name, column in columns.items()}, copy=False)


@dataclass(frozen=True, eq=False)
class CodedColumns(TableOfSeries):
    """Codes and cells of Arrow columns, and of lists of Python objects, without a frame of them.

    What is known of some columns already is kept in `known`, and added to.
    """

    columns: Mapping[Any, Any]
    known: dict[Name, Codes] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many rows it has."""
        return len(next(iter(self.columns.values()), ()))

    def column(self, name: Name) -> pd.Series[Any]:
        """Return a column."""
        return encode.with_one_missing(series(self.columns[name]))

    def codes(self, roles: Mapping[Name, str]) -> dict[Name, Codes]:
        """Encode some columns, side by side where the table is large."""
        return side_by_side(
            lambda name: self.encoded(name, roles[name]), roles, len(self), self.known
        )

    def encoded(self, name: Name, role: str) -> Codes:
        """Encode a column."""
        column = handed_over(self.columns[name], views=views_are_coded())
        few = FewTexts.of(column)
        return encode_column(column, name, role) if few is None else few.codes()


@cache
def views_are_coded() -> bool:
    """Return whether this Arrow can tell texts as views apart."""
    try:
        pa.array([], pa.string_view()).dictionary_encode()
    except (AttributeError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def to_arrow(column: pd.Series[Any], like: Any = None) -> Any:
    """Make an Arrow column; one that is what it was handed over as gets its own type back."""
    made = pa.array(column.array, from_pandas=True)
    if like is not None and made.type == plain(like) and made.type != like:
        return made.cast(like)
    return made


def dtype(column: Any) -> Any:
    """Return the type that a column has as one of pandas, as far as that tells nested ones."""
    return object if isinstance(column, list) else pd.ArrowDtype(plain(column.type))


def plain(kind: Any) -> Any:
    """Return the type by which cells of a type are handed over."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain(kind.storage_type)
    if str(kind) in _VIEWS:
        return _VIEWS[str(kind)]
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def lists_values(column: Any) -> bool:
    """Return whether a column has a dictionary of its values; one of Python objects has none."""
    return bool(pa.types.is_dictionary(getattr(column, "type", pa.null())))


def without_views(kind: Any) -> Any:
    """Return a type that holds the same cells, but no text or bytes as views."""
    if str(kind) in _VIEWS:
        return plain(kind)
    if pa.types.is_struct(kind):
        return pa.struct([_field_without_views(field) for field in kind])
    for is_list, make in (
        (pa.types.is_list, pa.list_),
        (pa.types.is_large_list, pa.large_list),
        (pa.types.is_fixed_size_list, lambda field: pa.list_(field, kind.list_size)),
    ):
        if is_list(kind):
            return make(_field_without_views(kind.value_field))
    return kind


def _field_without_views(field: Any) -> Any:
    return field.with_type(without_views(field.type))


def series(column: Any) -> pd.Series[Any]:
    """Make a column of pandas."""
    made = handed_over(column)
    return made if isinstance(made, pd.Series) else pd.Series(pd.arrays.ArrowExtensionArray(made))


def handed_over(column: Any, *, views: bool = False) -> Any:
    """Return an Arrow column in a type that pandas takes, or Python objects as its Series.

    One that will only be coded keeps its text as views, which is how Polars holds it: they can be
    told apart as they are, and little else.
    """
    if isinstance(column, list):
        return pd.Series(column, dtype=object)
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_dictionary(column.type) and not pa.types.is_nested(column.type.value_type):
        categories = _categories(column)
        if categories is not None:
            return pd.Series(categories)
        column = decoded(column)
    as_views = views and str(column.type) == "string_view"
    if plain(column.type) != column.type and not as_views:
        column = column.cast(plain(column.type))
    return column


def decoded(column: Any) -> Any:
    """Return the values of a column with a dictionary, without it."""
    values = plain(column.type.value_type)
    parts = [part.dictionary.cast(values).take(part.indices) for part in column.chunks]
    return pa.chunked_array(parts, values)


def _categories(column: Any) -> pd.Categorical | None:
    """Make categories of a dictionary of texts; none where it has one twice, a null, or changes."""
    parts, values = column.chunks, column.type.value_type
    is_text = pa.types.is_string(values) or plain(values) == pa.large_string()
    if not parts or not is_text or any(p.dictionary != parts[0].dictionary for p in parts[1:]):
        return None
    texts = parts[0].dictionary.to_pylist()
    if None in texts or len(set(texts)) < len(texts):
        return None
    codes = [part.indices.cast(pa.int64()).fill_null(-1).to_numpy() for part in parts]
    return pd.Categorical.from_codes(
        np.concatenate(codes).astype(np.min_scalar_type(-max(len(texts), 1))),
        categories=pd.Index(texts, dtype=None if texts else object),
        ordered=column.type.ordered,
    )
