"""One column to small integer codes: equal cells, equal codes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.pandas import objects
from anonrisk.errors import AnonRiskError, UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name

# Below this many records a thread costs more than it saves.
_WORTH_A_THREAD = 200_000
# Integers that span no more than this serve as their own codes; counting does not mind the gaps.
_SPAN = 2**31
_ONE_AT_A_TIME = Lock()
# What is known of each table that somebody asks about, the latest first.
_REMEMBERED: ContextVar[tuple[tuple[Any, dict[Any, Codes]], ...]] = ContextVar(
    "remembered", default=()
)


@contextmanager
def remembering(frame: Any) -> Iterator[None]:
    """Encode each column of a table once for all that is asked inside."""
    before = _REMEMBERED.set(((frame, remembered(frame)), *_REMEMBERED.get()))
    try:
        yield
    finally:
        _REMEMBERED.reset(before)


def remembered(frame: Any) -> dict[Any, Codes]:
    """Return the codes of columns that are known; a new dict where none are remembered."""
    return next((codes for known, codes in _REMEMBERED.get() if known is frame), {})


def column_of(frame: pd.DataFrame, name: Name) -> pd.Series[Any]:
    """Get a column by position: a label may be a tuple, or look like an indexer of pandas."""
    column: Any = frame.iloc[:, _place(frame.columns, name)]
    return objects.with_one_missing(cast("pd.Series[Any]", column))


def _place(columns: pd.Index[Any], name: Name) -> int:
    """Find a label; pandas knows the places of plain ones, of which a table may have thousands."""
    if type(columns) is pd.Index and columns.is_unique:
        place = columns.get_loc(name)
        if isinstance(place, int):
            return place
    return list(columns).index(name)


def encode(frame: pd.DataFrame, roles: Mapping[Name, str]) -> dict[Name, Codes]:
    """Encode some columns of a table, side by side where it is large."""
    return side_by_side(
        lambda name: encode_column(column_of(frame, name), name, roles[name]),
        roles,
        len(frame),
        remembered(frame),
    )


def side_by_side(
    encoder: Callable[[Name], Codes], names: Iterable[Name], n_rows: int, known: dict[Name, Codes]
) -> dict[Name, Codes]:
    """Encode the columns that are not known yet, one in each thread where there are many rows."""
    new = [name for name in names if name not in known]
    if n_rows < _WORTH_A_THREAD or len(new) <= 1:
        known |= {name: encoder(name) for name in new}
        return {name: known[name] for name in names}
    # pyarrow and the hash tables of pandas release the interpreter while they work.
    with ThreadPoolExecutor(min(len(new), os.cpu_count() or 1)) as pool:
        known |= zip(new, pool.map(encoder, new), strict=True)
    # Arrow keeps what it freed; counting comes next and needs room of its own.
    objects.release_arrow()
    return {name: known[name] for name in names}


def refuse_nested(dtype: Any, name: Name, role: str) -> None:
    """Reject a type whose cells are lists, maps or structs."""
    if isinstance(dtype, pd.ArrowDtype) and objects.arrow_nested(dtype.pyarrow_dtype):
        raise UnsupportedColumnError(
            f"{role} {name!r} holds values of type {dtype}, which cannot be compared as one cell"
        )


def encode_column(column: Any, name: Name, role: str) -> Codes:
    """Encode one column, of pandas or of Arrow."""
    try:
        return _dispatch(column, name, role)
    except AnonRiskError:
        raise
    # Errors of other libraries may quote the cell that upset them.
    except Exception as error:  # noqa: BLE001
        reason = "unhashable" if "unhashable" in str(error) else type(error).__name__
        raise UnsupportedColumnError(
            f"{role} {name!r} holds values that cannot be compared as one cell ({reason})"
        ) from None


def _dispatch(column: Any, name: Name, role: str) -> Codes:
    if not isinstance(column, pd.Series):
        return _of_arrow(objects.arrow_with_one_missing(column), name, role)
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(column, name, role)
    if isinstance(dtype, np.dtype):
        return _plain(column, name, role)
    if not _is_arrow(dtype):
        return _factorized(column.array)
    arrays: Any = column.array
    return _of_arrow(arrays.__arrow_array__(), name, role)


def _of_arrow(arrow: Any, name: Name, role: str) -> Codes:
    return _arrow_span(arrow) or _dictionary(arrow, name, role)


def _plain(column: pd.Series[Any], name: Name, role: str) -> Codes:
    values = column.to_numpy()
    if values.dtype.kind == "b":
        return Codes(values.view(np.uint8), 2)
    if values.dtype.kind in "iu" and len(values):
        spanned = _span(values)
        if spanned is not None:
            return spanned
    if values.dtype.kind == "O":
        return _objects(column, name, role)
    # pandas has no hash tables for numbers in the byte order of another machine.
    return _factorized(values.astype(values.dtype.newbyteorder("="), copy=False))


def _span(values: NDArray[Any]) -> Codes | None:
    low, high = int(values.min()), int(values.max())
    span = high - low + 1
    if span > _SPAN:
        return None
    # Subtracted in the column's own width, then narrowed: the difference fits by construction.
    shifted = values if low == 0 else values - values.dtype.type(low)
    if low != 0 and values.dtype.kind == "i":
        # An int8 column from -128 to 127 wraps around; seen as unsigned it is right again.
        shifted = shifted.view(f"u{values.dtype.itemsize}")
    return Codes(_narrow(shifted, span), span)


def _arrow_span(arrow: Any) -> Codes | None:
    """Let whole numbers and days of Arrow be their own codes, as those of NumPy are."""
    integers = objects.arrow_integers(arrow)
    if integers is None:
        return None
    values, missing = integers
    spanned = _span(values)
    if spanned is None or missing is None:
        return spanned
    return _with_missing(
        np.where(missing, -1, spanned.values.astype(np.int64)), spanned.cardinality
    )


def _categories(column: pd.Series[Any], name: Name, role: str) -> Codes:
    categories, codes = column.cat.categories, column.cat.codes.to_numpy()
    if categories.dtype == object:
        used = np.bincount(codes[codes >= 0], minlength=len(categories)) > 0
        objects.refuse_mixed(categories.to_numpy()[used], name, role)
    return _with_missing(codes, len(categories))


def _objects(column: pd.Series[Any], name: Name, role: str) -> Codes:
    values = column.to_numpy()
    # Python objects are hashed one at a time anyway; side by side they would only take more room.
    with _ONE_AT_A_TIME:
        codes, uniques = pd.factorize(values)
    kinds = objects.kinds_of(uniques, name, role)
    # 1, 1.0 and True hash alike, so that one of them hides the others among the uniques.
    hiding = any(map(objects.may_hide_another, kinds))
    objects.refuse_mixed(values[codes >= 0] if hiding else uniques, name, role)
    if objects.are_instants(uniques):
        codes, uniques = pd.factorize(objects.as_instants(values))
    return _with_missing(codes, len(uniques))


def _factorized(array: Any) -> Codes:
    codes, uniques = pd.factorize(array)
    # A nullable Float64 keeps NaN apart from NA, depending on the version of pandas.
    unknown = np.asarray(pd.isna(np.asarray(uniques, dtype=float))) if _is_float(uniques) else None
    if unknown is not None and unknown.any():
        codes = np.where((codes < 0) | unknown[codes], -1, codes)
    return _with_missing(codes, len(uniques))


def _is_float(values: Any) -> bool:
    return getattr(values.dtype, "kind", "O") == "f"


def _is_arrow(dtype: Any) -> bool:
    return isinstance(dtype, pd.ArrowDtype) or (
        isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow")
    )


def _dictionary(arrow: Any, name: Name, role: str) -> Codes:
    encoded = objects.arrow_dictionary(arrow)
    if encoded is None:
        return _objects(pd.Series(arrow.to_pylist(), dtype=object), name, role)
    codes, uniques = encoded
    mapping = objects.arrow_merges(uniques)
    n_missing = codes.null_count
    size = len(uniques)
    values: NDArray[Any] = codes.fill_null(size).to_numpy() if n_missing else codes.to_numpy()
    if mapping is None:
        return Codes(_narrow(values, size + bool(n_missing)), size + bool(n_missing), n_missing)
    return _with_missing(np.append(mapping, -1)[values], size)


def _with_missing(codes: NDArray[Any], size: int) -> Codes:
    """Turn the -1 by which pandas marks a missing value into the last code."""
    absent = codes < 0
    n_missing = int(np.count_nonzero(absent))
    if not n_missing:
        return Codes(_narrow(codes, size), max(size, 1))
    return Codes(_narrow(np.where(absent, size, codes), size + 1), size + 1, n_missing)


def _narrow(codes: NDArray[Any], cardinality: int) -> NDArray[Any]:
    """Keep codes in the fewest bytes that hold them."""
    return codes.astype(np.min_scalar_type(max(cardinality - 1, 0)), copy=False)
