"""Text that fits a terminal and HTML for a notebook, for results that print themselves."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import fields
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    Row: TypeAlias = Sequence[str]

# Places of a line: what a terminal has that nobody made wider.
WIDTH = 80
_NAME = 40
# Stands for a blank at which no line ends: printable, and in no name that `shown` has escaped.
_TIE = "\u2420"
# Blanks between columns, and where room is scarce.
_BETWEEN = (3, 2)
# A column of words is not folded to less, unless its words are shorter.
_NARROW = 28
# One character or word at a time, so that no name makes it try all ways to part it.
_NUMBER = re.compile(
    r"(?:[\d.,%<>≤≥()+/\s-]|\b(?:at|fewer|in|inf|least|most|nan|of|than|to)\b|(?<=\d)e(?=[-+]))*"
)

# What Markdown, tables and mentions of people take for themselves.
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
# A code forge looks for people in the text that a reader sees: what is between keeps it from them.
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;&#8203;"}

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
    return _COMMAND.sub(lambda result: f"{result[0][:-1]}\\x{ord(result[0][-1]):02x}", written)


def escaped(text: str, but: str = "") -> str:
    """Escape all characters that are not printable, but these."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in but else _escape(c) for c in text)


def visible(name: object) -> str:
    """Write a name of which something is seen: one that is empty or blank stands in quotes.

    Examples
    --------
    >>> print(visible("zip"), visible(""), visible("  "), visible(0))
    zip '' '  ' 0
    """
    text = shown(name)
    return text if text.strip() else repr(text)


def named(name: object) -> str:
    """Write a name in a sentence or a cell; one that nobody would read to its end is shortened."""
    return short(visible(name), _NAME)


def kind_of(table: object) -> str:
    """Name the kind of a table by its library.

    Examples
    --------
    >>> import pandas as pd
    >>> kind_of(pd.DataFrame())
    'pandas DataFrame'
    """
    return f"{type(table).__module__.partition('.')[0]} {type(table).__name__}"


def joined(names: Iterable[object]) -> str:
    """Write the names of a quasi-identifier.

    Examples
    --------
    >>> joined(["zip", "age"])
    'zip + age'
    """
    return " + ".join(map(named, names))


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


def exact(number: float) -> str:
    """Write a limit, or what was measured, with all its digits.

    Examples
    --------
    >>> exact(1_234_567), exact(0.2)
    ('1,234,567', '0.2')
    """
    return f"{int(number):,}" if number == number // 1 else f"{number:.15g}"


def beside(number: float, limit: float, digits: int = 6) -> str:
    """Write what was measured in short; with all its digits where that lies beyond its limit.

    Examples
    --------
    >>> beside(1.58496250072, 2), beside(1.99999991, 2)
    ('1.58496', '1.99999991')
    """
    short = float(f"{number:.{digits}g}")
    same = (short < limit) == (number < limit) and (short > limit) == (number > limit)
    return f"{number:.{digits}g}" if same else exact(number)


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


def with_article(noun: str) -> str:
    """Write a noun behind its indefinite article.

    Examples
    --------
    >>> with_article("IBAN"), with_article("UUID or hash"), with_article("ndarray")
    ('an IBAN', 'a UUID or hash', 'an ndarray')
    """
    return f"{'an' if noun[:1] in 'AEIOaeio' or noun.startswith('nd') else 'a'} {noun}"


def kind_name(value: object) -> str:
    """Return what a wrong argument is, for an error that must not quote it.

    Examples
    --------
    >>> kind_name(3), kind_name("zip"), kind_name(None)
    ('an int', 'a str', 'None')
    """
    return "None" if value is None else with_article(type(value).__name__)


def bytes_of(number: int) -> str:
    """Write a size of files.

    Examples
    --------
    >>> bytes_of(1), bytes_of(999_950), bytes_of(3_140_000_000)
    ('1 byte', '1.0 MB', '3.1 GB')
    """
    for unit, word in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= unit * 0.99995:
            return f"{number / unit:.1f} {word}"
    return count_of(number, "byte")


def expectation(people: float) -> str:
    """Write an expected number: few digits, and never a risk as nothing.

    Examples
    --------
    >>> expectation(1234.5), expectation(0.0), expectation(0.0321), expectation(5e-11)
    ('1,234.5', '0.0', '0.032', 'fewer than 0.001')
    """
    if people == 0 or people >= 0.05:
        return f"{people:,.1f}"
    return f"{people:.2g}" if people >= 0.001 else "fewer than 0.001"


def width_of(text: str) -> int:
    """Return the places that a text takes on a terminal: two for a character of East Asia.

    Examples
    --------
    >>> width_of("zip"), width_of("郵便"), width_of("e" + chr(0x301))
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_places, text))


def _places(character: str) -> int:
    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _beginning(text: str, width: int) -> str:
    return text[: bisect_right(list(accumulate(map(_places, text))), width)]


def short(name: object, width: int) -> str:
    """Write a name in one line of at most so many places: its beginning and its end.

    Examples
    --------
    >>> short("age", 20), short("income of the household in the year before", 20)
    ('age', 'income of …ar before')
    """
    text = shown(name)
    if width_of(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{_beginning(text, width - 1 - end)}…{_beginning(text[::-1], end)[::-1]}"


def folded(line: str, width: int = WIDTH, indent: str = "  ") -> list[str]:
    """Fold a line between words; a word that no line has room for is shortened in its middle.

    Examples
    --------
    >>> folded("- one of two, and three", 12)
    ['- one of', '  two, and', '  three']
    """
    if width_of(line) <= width:
        return [line]
    first, *rest = (short(word, width - len(indent)) for word in _words(line))
    lines = [first]
    for word in rest:
        longer = f"{lines[-1]} {word}"
        if width_of(longer) <= width:
            lines[-1] = longer
        elif word:
            lines.append(indent + word)
    return [part.rstrip().replace(_TIE, " ") for part in lines if part.strip()]


def _words(line: str) -> list[str]:
    """Split between words; a plus stays with the name before it."""
    return line.replace(" + ", f"{_TIE}+ ").split(" ")


def fitted(*texts: str) -> str:
    """Write texts one below the other, in lines that a terminal does not fold."""
    lines = (line for text in texts for line in text.split("\n"))
    return "\n".join(part for line in lines for part in folded(line))


def text_table(header: Row, rows: Sequence[Row]) -> str:
    """Set rows under a header in lines that a terminal does not fold, numbers right-aligned.

    Where there is not enough room, cells are folded between words. Columns of words that would
    still not fit stand above the numbers of their row, the widest first.
    """
    table = [[shown(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(width_of, column)) for column in zip(*table, strict=True)]
    between = _BETWEEN[0]
    numbers = _numbers(table[1:], len(widths))
    if sum(widths) + between * (len(widths) - 1) <= WIDTH:
        lines = (_side_by_side(row, widths, numbers, " " * between, "") for row in table)
        return "\n".join(line for folds in lines for line in folds)
    return _folded_table(table, widths, numbers)


def _folded_table(table: list[list[str]], widths: list[int], numbers: list[bool]) -> str:
    places = range(len(widths))
    by_width = sorted((i for i in places if not numbers[i]), key=lambda i: -widths[i])
    for n_above in range(len(by_width) + 1):
        above = sorted(by_width[:n_above])
        below = [i for i in places if i not in above]
        kinds = [numbers[i] for i in below]
        for between in _BETWEEN:
            indent = 2 if above else 0
            cells = [[row[i] for i in below] for row in table]
            narrow = _narrowed(cells, kinds, WIDTH - indent - between * (len(below) - 1))
            if narrow is None:
                continue
            lines: list[str] = []
            for row, rest in zip(table, cells, strict=True):
                named = ", ".join(row[i] for i in above if row[i])
                lines += folded(named, indent="    ") if named else []
                lines += _side_by_side(rest, narrow, kinds, " " * between, " " * indent)
            return "\n".join(lines)
    head, *rows = table
    pairs = (
        ", ".join(f"{name} {cell}" for name, cell in zip(head, row, strict=True)) for row in rows
    )
    return fitted(*pairs)


def _numbers(rows: Sequence[Row], n_columns: int) -> list[bool]:
    """Return which columns hold numbers, but for a word here and there."""
    columns = [[row[i] for row in rows if row[i] not in ("", "-")] for i in range(n_columns)]
    return [sum(map(bool, map(_NUMBER.fullmatch, cells))) * 2 >= len(cells) for cells in columns]


def _narrowed(cells: list[list[str]], numbers: list[bool], room: int) -> list[int] | None:
    """Return widths that fit, the header folded first, then the widest; None where nothing fits."""
    columns = list(zip(*cells, strict=True))
    words = [max(width_of(word) for cell in column for word in _words(cell)) for column in columns]
    least = [n if number else min(n, _NARROW) for n, number in zip(words, numbers, strict=True)]
    if sum(least) > room:
        return None
    widest = [max(map(width_of, column[1:])) for column in columns]
    caps = range(room, -1, -1)
    tried = ([max(n, min(w, cap)) for n, w in zip(least, widest, strict=True)] for cap in caps)
    widths = next(widths for widths in tried if sum(widths) <= room)
    for place, (head, *_) in enumerate(columns):
        widths[place] += max(0, min(width_of(head) - widths[place], room - sum(widths)))
    return widths


def _side_by_side(
    row: Row, widths: Sequence[int], numbers: Sequence[bool], between: str, indent: str
) -> list[str]:
    """Fold each cell to its width, and set them beside each other."""
    parts = [folded(cell, width, "") for cell, width in zip(row, widths, strict=True)]
    lines = []
    for i in range(max(map(len, parts))):
        cells = [part[i] if i < len(part) else "" for part in parts]
        blanks = [" " * (w - width_of(cell)) for w, cell in zip(widths, cells, strict=True)]
        aligned = [
            blank + cell if number else cell + blank
            for cell, blank, number in zip(cells, blanks, numbers, strict=True)
        ]
        lines.append((indent + between.join(aligned)).rstrip())
    return lines


def html_lines(lines: Sequence[str]) -> str:
    """Write sentences as HTML, a paragraph each; everything is escaped."""
    return "".join(f"<p>{escape(shown(line))}</p>" for line in lines)


def html_table(header: Row, rows: Sequence[Row]) -> str:
    """Set rows under a header as an HTML table; everything is escaped.

    There is no caption, which would be folded to the width of the table, and no colour, so that a
    notebook's own theme decides.
    """
    cells = [[shown(cell) for cell in row] for row in rows]
    sides = ["right" if number else "left" for number in _numbers(cells, len(header))]
    head = _html_row("th", [shown(cell) for cell in header], sides)
    body = "".join(_html_row("td", row, sides) for row in cells)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _html_row(tag: str, cells: Row, sides: Sequence[str]) -> str:
    inside = "".join(
        f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{inside}</tr>"


def markdown_text(text: object) -> str:
    r"""Escape what Markdown would take for its own.

    Examples
    --------
    >>> print(markdown_text("<b>zip</b> | a_b @all"))
    &lt;b&gt;zip&lt;/b&gt; \| a\_b &#64;&#8203;all
    """
    summary = "".join(_ENTITIES.get(c, c) for c in str(text)).replace("://", "&#58;//")
    return re.sub(r"(&#?\w+;)|" + _SPECIAL.pattern, lambda m: m[1] or f"\\{m[2]}", summary)


def markdown_table(header: Row, rows: Sequence[Row]) -> str:
    """Set rows under a header as Markdown, numbers to the right."""
    sides = (" ---: " if number else " --- " for number in _numbers(rows, len(header)))
    first, *lines = (f"| {' | '.join(map(markdown_text, row))} |" for row in (header, *rows))
    return "\n".join((first, f"|{'|'.join(sides)}|", *lines))


@dataclass(frozen=True)
class Table:
    """Rows under a header, as a block of a printed result."""

    header: Row
    rows: Sequence[Row]


class Printed(ABC):
    """A result that prints the same blocks in a shell, in a notebook and as Markdown."""

    def __repr__(self) -> str:
        """Print as text."""
        blocks = self._blocks()
        return fitted(*(b if isinstance(b, str) else text_table(b.header, b.rows) for b in blocks))

    def _repr_html_(self) -> str:
        return "".join(
            html_lines([block]) if isinstance(block, str) else html_table(block.header, block.rows)
            for block in self._blocks()
        )

    def to_markdown(self) -> str:
        """Write it as Markdown, for a ticket or a pull request.

        Returns
        -------
        str
            The sentences and tables that it prints; names cannot leave their place.

        See Also
        --------
        anonrisk.report : everything about a table, as Markdown too
        anonrisk.Policy.check : the verdict on a table

        Examples
        --------
        >>> import pandas as pd
        >>> risk = pd.DataFrame({"zip": ["10", "11", "11"]}).anon.risk("zip")
        >>> print("".join(risk.to_markdown().splitlines(keepends=True)[:3]))
        | attacker | highest | average |
        | --- | ---: | ---: |
        | prosecutor | 100.0% | 66.7% |
        <BLANKLINE>
        """
        return (
            "".join(
                markdown_text(shown(block)) + "\n\n"
                if isinstance(block, str)
                else markdown_table(block.header, [[*map(shown, row)] for row in block.rows])
                + "\n\n"
                for block in self._blocks()
            ).rstrip()
            + "\n"
        )

    @abstractmethod
    def _blocks(self) -> Iterable[str | Table]: ...


class PrintedTable(Printed):
    """A result that prints itself as a few lines, a table, and what is to be said of it."""

    def _blocks(self) -> Iterable[str | Table]:
        rows = self._rows()
        return *self._lines(), *([Table(self._header(), rows)] if rows else []), *self._notes()

    @abstractmethod
    def _lines(self) -> list[str]: ...

    @abstractmethod
    def _header(self) -> Sequence[str]: ...

    @abstractmethod
    def _rows(self) -> Sequence[Sequence[str]]: ...

    def _notes(self) -> list[str]:
        return []


class PrintedLines(Printed):
    """A result that prints itself as sentences."""

    def _blocks(self) -> Iterable[str | Table]:
        return self._lines()

    @abstractmethod
    def _lines(self) -> list[str]: ...


class PrintedFields(PrintedTable):
    """A part of a result that prints its fields, but for what no line has room for."""

    def _lines(self) -> list[str]:
        return [type(self).__name__]

    def _header(self) -> tuple[str, ...]:
        return "field", "value"

    def _rows(self) -> list[list[str]]:
        summary = ((field.name, getattr(self, field.name)) for field in fields(self) if field.repr)  # type: ignore[arg-type]
        written = ((name, _field(value)) for name, value in summary)
        return [[name, value] for name, value in written if value is not None]


def _field(value: object) -> str | None:
    """Write the value of a field; None for one that is not there, and for arrays and the like."""
    if isinstance(value, Interval):
        return " to ".join(f"{end:,.6g}" for end in value)
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, tuple) and all(isinstance(part, str | int) for part in value):
        return ", ".join(map(named, value)) or "-"
    return shown(value) if isinstance(value, str | int) else None
