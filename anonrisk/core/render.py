"""Small tables as text and as HTML, for results that print themselves."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Build servers take these for commands: at the beginning of a line, and anywhere.
_COMMAND = re.compile(r"^\s*:(?=:)|#(?=#\w*\[)")


def shown(text: object) -> str:
    r"""Write a name or a value in one line for people, with escapes as `repr` has them.

    Whoever names a column or a policy must not reach the terminal, the build server or the reading
    direction of whoever reads about it.

    Examples
    --------
    >>> shown("né"), shown(7), shown("a" + chr(10) + chr(27) + "[31m" + chr(0x202E))
    ('né', '7', 'a\\n\\x1b[31m\\u202e')
    >>> print(shown("::error::no"), shown("##vso[task]"))
    \x3a:error::no \x23#vso[task]
    """
    written = escaped(str(text))
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}", written)


def escaped(text: str, but: str = "") -> str:
    """Escape all characters that are not printable, but these."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in but else _escape(c) for c in text)


def joined(names: Iterable[object]) -> str:
    """Write the names of a quasi-identifier.

    Examples
    --------
    >>> joined(["zip", "age"])
    'zip + age'
    """
    return " + ".join(map(shown, names))


def escaped_json(text: str) -> str:
    r"""Escape in JSON what `shown` escapes; whoever reads it as JSON reads the same.

    Examples
    --------
    >>> print(escaped_json('"' + chr(0x9B) + chr(0x1F600) + '"'))
    "\u009b😀"
    """
    kept = "".join(c if c.isprintable() or c == "\n" else _in_json(c) for c in text)
    return re.sub(r"#(?=#\w*\[)", r"\\u0023", kept)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


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
    header, *rows = [[shown(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "   ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (header, *rows)
    ]
    return "\n".join(lines)


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Set rows under a header as an HTML table; everything is escaped."""
    from html import escape

    header, *rows = [[shown(cell) for cell in row] for row in (header, *rows)]
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(shown(caption))}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


class PrintedTable(ABC):
    """A result that prints itself as a few lines and a table."""

    def __repr__(self) -> str:
        """Print as text."""
        return "\n".join((*self._lines(), text_table(self._header(), self._rows())))

    def _repr_html_(self) -> str:
        return html_table(". ".join(self._lines()), self._header(), self._rows())

    @abstractmethod
    def _lines(self) -> list[str]: ...

    @abstractmethod
    def _header(self) -> Sequence[str]: ...

    @abstractmethod
    def _rows(self) -> Sequence[Sequence[str]]: ...


class PrintedLines(ABC):
    """A result that prints itself as sentences."""

    def __repr__(self) -> str:
        """Print as sentences."""
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        first, *rest = self._lines()
        return html_table(first, (), [[line] for line in rest])

    @abstractmethod
    def _lines(self) -> list[str]: ...
