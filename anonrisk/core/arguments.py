"""Checks of arguments that are not names of columns."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any
from unicodedata import category

from anonrisk.core.columns import nearest
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Control characters, halves of characters, and ends of lines and paragraphs.
_UNFIT = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Larger numbers are no floats, and Python does not write the largest of them.
_TOO_LARGE = 1e300
# So much of a wrong word is quoted.
_QUOTED = 80


def _within(value: Any) -> bool:
    """Return whether a number is from zero up, and small enough to be a float."""
    try:
        return 0 <= float(value) < _TOO_LARGE
    except OverflowError:
        return False


def by_column(value: Any, name: str) -> dict[Any, Any]:
    """Read a mapping from columns, which may be left out.

    Examples
    --------
    >>> by_column(None, "hierarchies"), by_column({"zip": 2}, "column_weights")
    ({}, {'zip': 2})
    """
    if value is not None and not isinstance(value, Mapping):
        raise ArgumentError(f"{name}= is a dict from columns, not a {type(value).__name__}")
    return dict(value or {})


def whole_number(value: Any, what: str, *, at_least: int) -> int:
    """Read a whole number; True is not one, nor is 2.5.

    Examples
    --------
    >>> whole_number(5, "k", at_least=1)
    5
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < at_least:
        raise ArgumentError(f"{what} must be a whole number, at least {at_least}")
    if int(value) >= _TOO_LARGE:
        raise ArgumentError(f"{what} must be a whole number of at most 300 digits")
    return int(value)


def positive(value: Any, what: str) -> float:
    """Read a number above zero.

    Examples
    --------
    >>> positive(3, "c")
    3.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not _within(value) or value == 0:
        raise ArgumentError(f"{what} must be a number above 0")
    return float(value)


def not_negative(value: Any, what: str) -> float:
    """Read a number from zero up.

    Examples
    --------
    >>> not_negative(0, "t")
    0.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not _within(value):
        raise ArgumentError(f"{what} must be a number from 0 up")
    return float(value)


def finite(value: Any, what: str) -> float:
    """Read a number, of either sign.

    Examples
    --------
    >>> finite(-1, "offset")
    -1.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not _within(abs(float(value))):
        raise ArgumentError(f"{what} must be a finite number")
    return float(value)


def one_of(value: Any, what: str, words: Sequence[str]) -> str:
    """Read one of a few words.

    Examples
    --------
    >>> one_of("equal", "distance", ["equal", "ordered"])
    'equal'
    """
    if not isinstance(value, str) or value not in words:
        known = ", ".join(map(repr, words))
        shown = repr(value[:_QUOTED]) if isinstance(value, str) else f"a {type(value).__name__}"
        raise ArgumentError(f"{what}={shown} is not one of {known}{nearest(shown, words)}")
    return str(value)


def line_of_text(value: Any, what: str, longest: int) -> str:
    """Read a name or a reason: not blank, in one line, and encodable.

    Examples
    --------
    >>> line_of_text("Ann", "by= is the name of somebody", 255)
    'Ann'
    >>> line_of_text(" ", "by= is the name of somebody", 255)
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: by= is the name of somebody: a text of at most 255 characters ...
    """
    text = f"{what}: a text of at most {longest:,} characters"
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        raise ArgumentError(f"{text} that is not blank")
    if _UNFIT & set(map(category, value)):
        raise ArgumentError(f"{text}, without control characters and ends of lines")
    return value
