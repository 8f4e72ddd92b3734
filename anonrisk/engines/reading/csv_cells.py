"""Cells of a CSV file that are said to be numbers or dates: which are, for readers in Python."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from anonrisk.engines.reading import files

if TYPE_CHECKING:
    from collections.abc import Iterable

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def number(text: str) -> int | float | None:
    """Read a number; nothing where there is none."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return None


def is_float(text: str) -> bool:
    """Return whether a float keeps a number apart from all others: if written with its digits.

    The shortest way to write a float has the digits of every number of up to 15 digits.
    """
    kept = repr(float(text))
    return text == kept or files.digits(text) == files.digits(kept)


def day(text: str) -> date | None:
    """Read a date; nothing where there is none."""
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def inferred(texts: Iterable[str]) -> str:
    """Return what the cells of a column are, one of `files.DTYPES`, by all of its texts.

    They are numbers, or dates, only if each is written back as it was: 0123 is a code, +5 and 2.50
    are kept as somebody wrote them, 1 beside 1.0 too, and -0 would be the same number as 0.

    Examples
    --------
    >>> inferred(["34", "-7"]), inferred(["0.5", "2.0"]), inferred(["0.5", "2"])
    ('number', 'number', 'number')
    >>> inferred(["34", "0123"]), inferred(["1", "1.0"]), inferred(["2.50"]), inferred(["-0"])
    ('text', 'text', 'text', 'text')
    >>> inferred(["1950-03-07"]), inferred(["1950-02-30"]), inferred([])
    ('date', 'text', 'text')
    """
    cells = list(texts)
    if not cells:
        return "text"
    if all(_WHOLE.fullmatch(text) and str(int(text)) == text for text in cells):
        return "number"
    if not seems_number(cells):
        return "date" if all(map(day, cells)) else "text"
    for writes in (repr, short):
        if all(writes(float(text)) == text and text not in ("-0", "-0.0") for text in cells):
            return "number"
    return "text"


def short(number: float) -> str:
    """Write a number, a whole one without a point.

    Examples
    --------
    >>> short(2.0), short(2.5)
    ('2', '2.5')
    """
    return repr(number).removesuffix(".0")


def is_short(texts: Iterable[str]) -> bool:
    """Return whether `short` writes numbers as these are, and `repr` does not."""
    cells = list(texts)
    return all(short(float(text)) == text for text in cells) and any("." not in t for t in cells)


def is_code(text: str) -> bool:
    """Return whether a number begins with a zero that an amount would not have."""
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def seems_number(texts: Iterable[str]) -> bool:
    """Return whether every text is a number, however it is written."""
    return all(map(_NUMBER.fullmatch, texts))


def kind_of(name: str, wanted: files.Wanted, text: files.TextFormat) -> str:
    """Return what the cells of a column are, one of `files.DTYPES`."""
    kind = "date" if name in wanted.dates else "text"
    return text.dtypes.get(name, "number" if name in wanted.numbers else kind)
