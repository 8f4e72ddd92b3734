"""Arrow columns to pandas, over the same memory where that is possible, and back."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anonrisk.core.frozen import dataclass
from anonrisk.engines.arrow.views import FewTexts
from anonrisk.engines.pandas import objects
from anonrisk.engines.pandas.encode import encode_column, side_by_side
from anonrisk.engines.pandas.table import TableOfSeries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name
    from anonrisk.engines.numpy.table import Codes

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
        return objects.with_one_missing(series(self.columns[name]))

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
