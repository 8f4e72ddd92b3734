"""Checks of arguments that are not names of columns: numbers, words, lengths of time, paths."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from unicodedata import category

from anonrisk.core.columns import nearest
from anonrisk.core.render import kind_name, with_article
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from anonrisk.errors import AnonRiskError

Item = TypeVar("Item")
Taken = ParamSpec("Taken")
Result = TypeVar("Result")

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


def refuse_renamed(keywords: Mapping[str, Any], renamed: Mapping[str, str]) -> None:
    """Raise for a keyword that had another name before version 0.9."""
    for old in renamed.keys() & keywords.keys():
        raise ArgumentError(f"{old}= is no longer an argument: write {renamed[old]}")


def renaming(**renamed: str) -> Callable[[Callable[Taken, Result]], Callable[Taken, Result]]:
    """Let a method answer the old names of its keywords with the new ones.

    Examples
    --------
    >>> @renaming(order="alpha=")
    ... def entropy(alpha: float = 1) -> float:
    ...     return alpha
    >>> entropy(order=2)
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: order= is no longer an argument: write alpha=
    """

    def decorate(method: Callable[Taken, Result]) -> Callable[Taken, Result]:
        @wraps(method)
        def checked(*args: Taken.args, **kwargs: Taken.kwargs) -> Result:
            refuse_renamed(kwargs, renamed)
            return method(*args, **kwargs)

        return checked

    return decorate


def by_column(value: Any, name: str) -> dict[Any, Any]:
    """Read a mapping from columns, which may be left out.

    Examples
    --------
    >>> by_column(None, "hierarchies"), by_column({"zip": 2}, "column_weights")
    ({}, {'zip': 2})
    """
    if value is not None and not isinstance(value, Mapping):
        raise ArgumentError(
            f"{name}= must be a dict keyed by column, not {kind_name(value)}: write "
            f"{name}={{'zip': …}}"
        )
    return dict(value or {})


def whole_number(value: Any, what: str, *, at_least: int, at_most: int | None = None) -> int:
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
    if at_most is not None and int(value) > at_most:
        raise ArgumentError(f"{what} must be a whole number, at most {at_most:,}")
    return int(value)


def positive(value: Any, what: str, *, above: int = 0) -> float:
    """Read a number above zero, or above another one from zero up.

    Examples
    --------
    >>> positive(3, "c")
    3.0
    """
    known = not isinstance(value, bool) and isinstance(value, Real)
    if not known or not _within(value) or float(value) <= above:
        raise ArgumentError(f"{what} must be a finite number above {above}")
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


def as_percent(value: Any) -> str:
    """Return how a percentage is written that stands where a share should, to end a sentence.

    Examples
    --------
    >>> as_percent(5), as_percent("20%"), as_percent(-1)
    (': 5% is 0.05', ': 20% is 0.2', '')
    """
    try:
        number = float(value.removesuffix("%") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return ""
    return f": {number:g}% is {number / 100:g}" if 1 < number <= 100 else ""


def one_of(value: Any, what: str, words: Sequence[str]) -> str:
    """Read one of a few words.

    Examples
    --------
    >>> one_of("equal", "distance", ["equal", "ordered"])
    'equal'
    """
    if not isinstance(value, str) or value not in words:
        known = ", ".join(map(repr, words))
        shown = repr(value[:_QUOTED]) if isinstance(value, str) else kind_name(value)
        raise ArgumentError(f"{what}={shown} is not one of {known}{nearest(shown, words)}")
    return str(value)


def true_or_false(value: Any, what: str) -> bool:
    """Read a switch; what only counts as true or false, such as a table, is not one.

    Examples
    --------
    >>> true_or_false(True, "strict")
    True
    """
    if not isinstance(value, bool):
        raise ArgumentError(f"{what} must be True or False, not {kind_name(value)}")
    return value


def text_or_none(value: Any, what: str) -> str | None:
    """Read a text that may be left out.

    Examples
    --------
    >>> text_or_none("People", "title"), text_or_none(None, "title")
    ('People', None)
    """
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"{what} must be a text, not {kind_name(value)}")
    return value


def day_of(text: Any) -> date:
    """Read a day as 2026-12-31 alone: Python also takes 20261231 and 2026-W53-4.

    Examples
    --------
    >>> day_of("2026-12-31")
    datetime.date(2026, 12, 31)
    """
    day = date.fromisoformat(text)
    if day.isoformat() != text:
        raise ValueError
    return day


def instance_of(value: Any, kind: type[Item], what: str) -> Item:
    """Read an object of one type.

    Examples
    --------
    >>> instance_of("zip", str, "name")
    'zip'
    """
    if not isinstance(value, kind):
        raise ArgumentError(f"{what} must be {with_article(kind.__name__)}, not {kind_name(value)}")
    return value


def list_of(value: Any, kind: type[Item], rule: str) -> tuple[Item, ...]:
    """Read a list whose items are all of one type; left out, it is empty.

    Examples
    --------
    >>> list_of(["a.csv"], str, "files must be a list of texts")
    ('a.csv',)
    >>> list_of("a.csv", str, "files must be a list of texts")
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: files must be a list of texts, not a str
    """
    items = () if value is None else value
    listed = isinstance(items, (list, tuple))
    wrong = [item for item in items if not isinstance(item, kind)] if listed else [items]
    if wrong:
        raise ArgumentError(f"{rule}, not {kind_name(wrong[0])}")
    return tuple(items)


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


_SECOND = 1_000_000
_MOST_DIGITS = 30
_UNITS = {
    "s": _SECOND,
    "min": 60 * _SECOND,
    "h": 3_600 * _SECOND,
    "D": 86_400 * _SECOND,
    "W": 7 * 86_400 * _SECOND,
}


def microseconds(value: Any) -> int:
    """Read a length of time.

    Examples
    --------
    >>> microseconds("30D") == microseconds(dt.timedelta(days=30)) == 30 * 86_400 * 10**6
    True
    >>> microseconds("1M")
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: period='1M' is not a number of s, min, h, D or W; months ...
    """
    if isinstance(value, dt.timedelta):
        length = value // dt.timedelta(microseconds=1)
    else:
        result = (
            re.fullmatch(r"\s*(\d+)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
        )
        if result is None or result[2] not in _UNITS:
            shown = repr(value) if isinstance(value, str) else kind_name(value)
            months = "; months and years are not all of one length" if result else ""
            raise ArgumentError(
                f"period={shown} is not a number of {', '.join(list(_UNITS)[:-1])} or W{months}"
            )
        # Python reads numbers of a few thousand digits only.
        length = int(result[1]) * _UNITS[result[2]] if len(result[1]) <= _MOST_DIGITS else 2**62
    if not 0 < length < 2**62:
        raise ArgumentError("period must be longer than zero and shorter than 146,000 years")
    return int(length)


def as_path(value: Any, what: str, error: type[AnonRiskError] = ArgumentError) -> Path:
    """Read the path of something.

    Examples
    --------
    >>> as_path("week.state", "a state").name
    'week.state'
    >>> as_path(None, "a state")
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: the path of a state is a text or a path, not None
    """
    try:
        return Path(value)
    except TypeError:
        raise error(f"the path of {what} is a text or a path, not {kind_name(value)}") from None


def is_there(path: Path) -> bool:
    """Return whether a file or folder exists; one with a name that no system takes does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def nearest_beside(path: Path, endings: Container[str]) -> str:
    """Return which file of the same folder may have been meant, as the end of a sentence."""
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix.casefold() in endings]
    except (OSError, ValueError):
        return ""
    # Endings are alike by themselves.
    stems = {Path(name).stem.casefold(): name for name in names}
    close = get_close_matches(path.stem.casefold(), stems, n=1)
    return f"; did you mean {stems[close[0]]!r}?" if close else ""


def why_not(error: OSError | ValueError) -> str:
    """Return what the system said; Python refuses some names before it asks."""
    return getattr(error, "strerror", None) or "this is not the name of a file"
