"""Small tables as text and as HTML, for results that print themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# What XML and HTML cannot hold, not even escaped.
_NOT_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def percent(share: float) -> str:
    """Write a share as a percentage that never rounds a small risk to nothing.

    Examples
    --------
    >>> percent(0.25), percent(0.0), percent(0.00001), percent(0.99999)
    ('25.0%', '0.0%', '<0.1%', '>99.9%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return f"{share:.1%}"


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> count_of(1, "record"), count_of(2000, "record"), count_of(2, "class", "classes")
    ('1 record', '2,000 records', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Set rows under a header, every column right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "   ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (header, *rows)
    ]
    return "\n".join(lines)


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Set rows under a header as an HTML table; everything is escaped."""
    from html import escape

    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def clean(text: str) -> str:
    """Replace characters that no document can hold, as a name of a column may have.

    Examples
    --------
    >>> clean(chr(0)) == chr(0xFFFD), clean("né")
    (True, 'né')
    """
    return _NOT_TEXT.sub("\ufffd", text)
