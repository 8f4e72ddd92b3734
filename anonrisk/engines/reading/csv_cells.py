"""Cells of a CSV file that are said to be numbers or dates: which are, for readers in Python."""

from __future__ import annotations

import re
from datetime import date

from anonrisk.engines.reading import files

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
    return files.digits(text) == files.digits(repr(float(text)))


def day(text: str) -> date | None:
    """Read a date; nothing where there is none."""
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def kind_of(name: str, wanted: files.Wanted, text: files.TextFormat) -> str:
    """Return what the cells of a column are, one of `files.DTYPES`."""
    kind = "date" if name in wanted.dates else "text"
    return text.dtypes.get(name, "number" if name in wanted.numbers else kind)
