"""One encoding of cells, so that a cell has the same keyed hash on every engine.

A cell is a letter and bytes, with the number of both before them (4 bytes, big-endian):

========  ==========================================================================
``n``     missing (None, NULL, NaN, NaT, NA): no bytes
``s``     a text, in UTF-8 as it is (no case folding, no normal form)
``i``     an integer, in decimal
``f``     a float, as 8 bytes of IEEE 754, big-endian; -0.0 as 0.0
``b``     a boolean, 0 or 1
``d``     a date, as 2026-11-15
``t``     an instant, in microseconds since 1970-01-01 UTC; one without a zone is read as UTC
``m``     a decimal number, in plain digits without trailing zeros (0.50 as 0.5, 1E+2 as 100)
``x``     bytes
========  ==========================================================================

Three things are hashed, each by HMAC-SHA-256 under a subkey of its own (`Key.derived`), cut to
the first 16 bytes; names and cells have their lengths before them:

- a class, under ``state class``: the names of its columns, sorted, then their cells in that order;
- a person, under ``state person``: the cell alone, whatever its column is called;
- a sensitive value, under ``state value``: the name of the column, then the cell.

A column has one letter, that of its known cells, or ``n`` where it has none. Cells of different
letters have different hashes even where people take them for equal (7 and 7.0), so that counts
of columns with different letters are never put together.
"""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonrisk.errors import ArgumentError, StateError, UnsupportedColumnError
from anonrisk.pseudonyms.pseudonym import FLOATS, canonical, canonical_all, keyed_digests, sized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.pseudonyms.keys import Key

    Digests: TypeAlias = Callable[[Iterable[bytes]], bytes]

# One row a hash: its first and its last 64 bits.
Hashes: TypeAlias = NDArray[np.uint64]
LETTERS = {
    "n": "missing",
    "s": "text",
    "i": "integer",
    "f": "float",
    "b": "boolean",
    "d": "date",
    "t": "instant",
    "m": "decimal",
    "x": "bytes",
}
MISSING = sized(b"n")
# Lengths of most cells, written once.
_SHORT = 256
_SIZES = [length.to_bytes(4, "big") for length in range(_SHORT)]
# Where the letter stands, after the length.
_LETTER = 4


def encoded(values: Sequence[Any], column: Name) -> list[bytes]:
    r"""Encode cells of one column.

    Examples
    --------
    >>> encoded(["Ann", None], "name"), encoded([7], "age")
    ([b'\x00\x00\x00\x04sAnn', b'\x00\x00\x00\x01n'], [b'\x00\x00\x00\x02i7'])
    >>> encoded([dt.timedelta(1)], "stay")
    Traceback (most recent call last):
    ...
    anonrisk.errors.UnsupportedColumnError: column 'stay' holds values of type timedelta, ...
    """
    kinds = set(map(type, values))
    # The commonest kinds are spared the questions that are asked of each value.
    if kinds in ({int}, {str}):
        cells = canonical_all(values, column)
    elif kinds == {float}:
        cells = [_float(value, column) for value in values]
    else:
        cells = [_cell(value, column) for value in values]
    return [_SIZES[len(cell)] + cell if len(cell) < _SHORT else sized(cell) for cell in cells]


def _cell(value: Any, column: Name) -> bytes:
    if value is None or type(value).__name__ in {"NaTType", "NAType"}:
        return b"n"
    if isinstance(value, (bool, np.bool_)):
        return b"b1" if value else b"b0"
    if isinstance(value, np.timedelta64):
        # NumPy counts durations among the integers.
        raise refused(column, "timedelta64")
    if isinstance(value, (str, Integral, dt.date)):
        return canonical(value, column)
    if isinstance(value, (float, np.floating)):
        return _float(value, column)
    if isinstance(value, Decimal):
        return _decimal(value, column)
    if isinstance(value, bytes):
        return b"x" + value
    raise refused(column, type(value).__name__)


def _float(value: Any, column: Name) -> bytes:
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        return b"n"
    double = float(value)
    if double != value:
        raise refused(column, type(value).__name__)
    return b"f" + struct.pack(">d", double + 0.0)


def _decimal(value: Decimal, column: Name) -> bytes:
    if value.is_nan():
        return b"n"
    if not value.is_finite():
        raise refused(column, "infinite decimal")
    digits = format(value, "f")
    if "." in digits:
        digits = digits.rstrip("0").removesuffix(".")
    return b"m" + ("0" if digits.strip("-0.") == "" else digits).encode()


def refused(column: Name, kind: str) -> UnsupportedColumnError:
    """Return which types have an encoding."""
    return UnsupportedColumnError(
        f"column {column!r} holds values of type {kind}, which have no keyed hash: text, integers, "
        "floats, booleans, dates, instants, decimals and bytes have; write it as text"
    )


def letter_of(cells: Iterable[bytes], column: Name) -> str:
    """Return the letter of a column by its encoded cells, each at least once.

    Examples
    --------
    >>> letter_of(encoded([None, 7], "age"), "age"), letter_of([], "age")
    ('i', 'n')
    """
    result = {chr(cell[_LETTER]) for cell in cells} - {"n"}
    if len(result) > 1:
        kinds = ", ".join(sorted(LETTERS[letter] for letter in result))
        raise UnsupportedColumnError(
            f"column {column!r} mixes types ({kinds}); convert the column to one of them"
        )
    return result.pop() if result else "n"


def agreed(column: Name, before: str, current: str) -> str:
    """Return the letter of a column of two tables together, and refuse two that do not fit.

    Examples
    --------
    >>> agreed("age", "n", "i")
    'i'
    >>> agreed("age", "i", "f")
    Traceback (most recent call last):
    ...
    anonrisk.errors.StateError: column 'age' was of type integer and is of type float now, ...
    """
    if before in ("n", current):
        return current
    if current == "n":
        return before
    hint = f"; {FLOATS}" if {before, current} == {"i", "f"} else ""
    raise StateError(
        f"column {column!r} was of type {LETTERS[before]} and is of type {LETTERS[current]} now, "
        f"whose hashes say nothing of each other: convert it{hint}"
    )


def name_bytes(name: Name) -> bytes:
    """Return a name as it is hashed.

    Examples
    --------
    >>> name_bytes("zip")
    b'zip'
    >>> name_bytes(0)
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: a state outlives its table, and knows columns by text: rename 0
    """
    if not isinstance(name, str):
        raise ArgumentError(
            f"a state outlives its table, and knows columns by text: rename {name!r}"
        )
    try:
        return name.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"the name {name!r} has no UTF-8 form: rename the column") from None


# How texts are read for a column of another kind, by its letter.
_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "i": int,
    "m": Decimal,
    "d": dt.date.fromisoformat,
    "t": dt.datetime.fromisoformat,
}


def encoded_like(values: Sequence[Any], name: Name, kind: str) -> list[bytes] | None:
    """Return the bytes of values as a column of this kind has them; None of another type.

    Numbers, dates and instants may come as texts, out of a file.
    """
    if kind in _FROM_TEXT and all(isinstance(value, str) for value in values):
        try:
            values = [_FROM_TEXT[kind](value.strip()) for value in values]
        except (ValueError, ArithmeticError):
            return None
    cells = encoded(values, name)
    return cells if letter_of(cells, name) == kind else None


def class_hashes(key: Key, names: Sequence[Name], columns: Sequence[Sequence[bytes]]) -> Hashes:
    """Hash classes.

    Parameters
    ----------
    key : Key
        The key, of which a subkey is taken.
    names : names
        The columns, sorted.
    columns : lists of encoded cells
        For each column the cell of every class.
    """
    return _hashes(class_digests(key, names), map(b"".join, zip(*columns, strict=True)))


def person_hashes(key: Key, cells: Iterable[bytes]) -> Hashes:
    """Hash the encoded cells of a unit."""
    return _hashes(person_digests(key), cells)


def value_hashes(key: Key, name: Name, cells: Iterable[bytes]) -> Hashes:
    """Hash the encoded cells of a sensitive column."""
    return _hashes(value_digests(key, name), cells)


def class_digests(key: Key, names: Iterable[Name]) -> Digests:
    """Make the function from the cells of classes to their digests; names are sorted."""
    start = b"".join(sized(name_bytes(name)) for name in names)
    return keyed_digests(key.derived("state class"), start)


def person_digests(key: Key) -> Digests:
    """Make the function from cells of a unit to their digests."""
    return keyed_digests(key.derived("state person"))


def value_digests(key: Key, name: Name) -> Digests:
    """Make the function from cells of a sensitive column to their digests."""
    return keyed_digests(key.derived("state value"), sized(name_bytes(name)))


def _hashes(digests: Digests, ends: Iterable[bytes]) -> Hashes:
    # Of the 32 bytes of a digest the first 16 are kept.
    words = np.frombuffer(digests(ends), dtype=">u8").reshape(-1, 4)
    return words[:, :2].astype(np.uint64)


def placed(hashes: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
    """Sort hashes, each once, and give the place of each among them.

    Examples
    --------
    >>> there, place = placed(np.array([[9, 0], [2, 5], [9, 0]], dtype=np.uint64))
    >>> there.tolist(), place.tolist()
    ([[2, 5], [9, 0]], [1, 0, 1])
    """
    order = np.argsort(hashes[:, 0])
    ascending = hashes[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = ascending[1:, 0] != ascending[:-1, 0]
    if not new.all():
        # Only where first halves are equal do the last ones decide.
        order = np.lexsort((hashes[:, 1], hashes[:, 0]))
        ascending = hashes[order]
        new[1:] = (ascending[1:] != ascending[:-1]).any(axis=1)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return ascending[new], place
