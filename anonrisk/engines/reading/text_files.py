"""Text files, letter by letter, and what a CSV file is, for every engine that reads one."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Collection, Mapping
from contextlib import contextmanager
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import one_of
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.engines.reading import files, raw_files
from anonrisk.errors import ArgumentError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted

# What stands for letters that were lost; of UTF-8 alone every reader can tell whether it was in
# the file already.
LOST = "\ufffd"
_MARK = "\ufeff"
# How spreadsheets begin: those of Office 97 and older, and the newer ones, which are archives.
_SPREADSHEETS = (bytes.fromhex("d0cf11e0a1b11ae1"), b"PK\x03\x04")
_BEGIN = 8


def canonical(encoding: str | None) -> str:
    """Return the one name that Python has for an encoding; UTF-8 with a mark is UTF-8.

    Examples
    --------
    >>> canonical("Latin1"), canonical(None), canonical("utf_8_sig"), canonical("UTF-16LE")
    ('iso8859-1', 'utf-8', 'utf-8', 'utf-16-le')
    """
    name = codecs.lookup(encoding or "utf-8").name
    return "utf-8" if name == "utf-8-sig" else name


def text_format(
    sep: Any, encoding: str | None, na: Any, dtypes: Any, option: str = ""
) -> TextFormat:
    """Read how text files are written, as a caller says it; `option` stands before a word."""
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n'):
        raise ArgumentError(f"{option}sep is one character, and no quotation mark")
    if encoding is not None:
        try:
            # Unlike looking it up, this refuses what encodes no text, as hex.
            "".encode(encoding)
        except (LookupError, ValueError):
            raise ArgumentError(f"{option}encoding {encoding!r} is not known") from None
    if not isinstance(dtypes, Mapping):
        raise ArgumentError(f"{option}dtypes is a mapping of columns to their types")
    for name, kind in dtypes.items():
        one_of(kind, f"{option}dtypes of {name!r}", files.DTYPES)
    # A text alone is one of them: its letters are not.
    missing = [na] if isinstance(na, str) else na
    listed = isinstance(missing, Collection) and not isinstance(missing, Mapping)
    if not listed or not all(isinstance(cell, str) for cell in missing):
        raise ArgumentError(f"{option}na lists the texts that stand for a missing value")
    return files.TextFormat(sep, encoding, tuple(missing), dict(dtypes))


@contextmanager
def opened(part: Part, encoding: str | None = None) -> Iterator[Iterator[str]]:
    """Open a text file and give its lines, unpacked if its name says that it is packed."""
    name = canonical(encoding)
    with _binary(part) as raw:
        refuse_spreadsheet(part, _begin(raw))
        text = io.TextIOWrapper(raw, "utf-8-sig" if name == "utf-8" else name, newline="")
        try:
            yield _sound(part, text, encoding)
        finally:
            # Standard input belongs to the caller.
            text.detach()


def refuse_spreadsheet(part: Part, begin: bytes) -> None:
    """Reject a spreadsheet by its first bytes, whatever it is called."""
    if begin.startswith(_SPREADSHEETS):
        raise UnreadableTableError(
            f"{part.shown} is a spreadsheet, or an archive that is not called .zip; "
            "save it as CSV or Parquet"
        )


def other_mark(part: Part, encoding: str | None) -> UnreadableTableError:
    """Return an error: a file begins with the byte-order mark of another encoding."""
    return UnreadableTableError(
        f"{part.shown} begins with the byte-order mark of an encoding other than {encoding}; "
        "say that one, or leave --encoding out for UTF-8"
    )


def not_in(encoding: str | None, part: Part) -> UnreadableTableError:
    """Return an error: a file has bytes that are no letters in its encoding."""
    if encoding is None:
        return UnreadableTableError(
            f"{part.shown} is not text in UTF-8; say which --encoding it has, "
            "as --encoding latin-1 or --encoding cp1252"
        )
    return UnreadableTableError(
        f"{part.shown} is not text in {encoding}: some of its bytes represent no character there"
    )


def no_text(part: Part) -> UnreadableTableError:
    """Return an error: a file holds NUL, as text does only if it is read in the wrong encoding."""
    return UnreadableTableError(
        f"{part.shown} holds the character NUL, and is not a text file, or is in another encoding; "
        "say which, as --encoding utf-16-le"
    )


def _sound(part: Part, text: io.TextIOWrapper, encoding: str | None) -> Iterator[str]:
    """Yield the lines; refuse what another reader would read otherwise, or not at all."""
    name = canonical(encoding)
    exact = name == "utf-8"
    wide = name.startswith(("utf-16", "utf-32"))
    # The mark of UTF-8, or the bytes of the right mark the other way round.
    foreign = "\ufffe" if exact or wide else codecs.BOM_UTF8.decode(name, "replace")
    try:
        for number, line in enumerate(text):
            if number == 0 and line.startswith(foreign):
                raise other_mark(part, encoding)
            if "\0" in line:
                raise no_text(part)
            if not exact and LOST in line:
                raise not_in(encoding, part)
            yield line.removeprefix(_MARK) if wide and number == 0 else line
    except UnicodeError:
        raise not_in(encoding, part) from None


def _begin(raw: Any) -> bytes:
    return bytes(raw.peek(_BEGIN)) if hasattr(raw, "peek") else b""


@contextmanager
def _binary(part: Part) -> Iterator[Any]:
    """Open a file for its bytes, or standard input, which belongs to the caller."""
    if str(part.path) == files.STDIN:
        yield sys.stdin.buffer
        return
    with raw_files.unpacked(part.path) as file:
        yield file


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


# The most letters of a cell that Python reads unless the whole process is told otherwise.
LONGEST_CELL = 131_072
# Rows that are read at a time.
BLOCK = 50_000


@dataclass(frozen=True)
class Block:
    """Some rows of a file, column by column; every file has one, if it may be without a row."""

    part: Part
    header: list[str]  # of the first file, whatever the order in this one
    chosen: list[str]  # columns that matter, those of folders included
    cells: dict[str, tuple[str, ...]]
    n_rows: int


def blocks(parts: Sequence[Part], wanted: Wanted, text: TextFormat) -> Iterator[Block]:
    """Read CSV files, many rows at a time; every row must have as many cells as the header."""
    first: list[str] = []
    result: list[str] = []
    for part in parts:
        with files.readable(part, "CSV"), opened(part, text.encoding) as file:
            read = rows(part, file, text.sep)
            names = header(part, next(read, []), text.sep)
            if first:
                same_header(parts[0], first, part, names)
            else:
                first = names
                result = chosen(first, list(part.partitions), wanted, text)
            places = {name: names.index(name) for name in result if name in names}
            yield Block(part, first, result, {}, 0)
            for columns in _columns(part, read, len(names)):
                cells = {name: columns[place] for name, place in places.items()}
                yield Block(part, first, result, cells, len(columns[0]))


def _columns(part: Part, rows: Iterator[list[str]], width: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield many rows at a time, column by column; a row of another width is refused."""
    done = 0
    while block := list(islice(rows, BLOCK)):
        for i, row in enumerate(block, done + 1):
            if len(row) != width:
                raise wrong_width(part, f"row {i:,}", len(row), width)
        done += len(block)
        yield list(zip(*block, strict=True))


def separator(part: Part, sep: str | None) -> str:
    """Return what separates the cells of a file."""
    return sep or ("\t" if part.tabbed else ",")


def rows(part: Part, lines: Iterable[str], sep: str | None) -> Iterator[list[str]]:
    """Yield the rows; blank lines are none, where a row has more than one cell."""
    width = 0
    reader = csv.reader(lines, delimiter=separator(part, sep), strict=True)
    try:
        for row in reader:
            if row:
                width = width or len(row)
                yield row
            elif width == 1:
                raise files.blank(f"line {reader.line_num:,} of {part.shown}")
    except csv.Error:
        raise damaged(part, f", near line {reader.line_num:,}") from None


def damaged(part: Part, where: str = "") -> UnreadableTableError:
    """Return an error: a file is not written as CSV."""
    return UnreadableTableError(
        f"{part.shown} is not a CSV file, or is damaged{where}: a quotation mark is not closed, "
        f"text follows a closing one, or a cell has more than {LONGEST_CELL:,} letters"
    )


def header(part: Part, row: list[str], sep: str | None) -> list[str]:
    """Return the names of the columns, if they can be those of a table with this separator."""
    if not row:
        raise files.nameless(part)
    if len(row) == 1 and sep is None:
        for other, shown in ((";", "';'"), ("\t", r"'\t'"), ("|", "'|'")):
            if other in row[0]:
                raise ArgumentError(
                    f"{part.shown} has one column, whose name holds {shown}; if that separates "
                    f"columns say --sep {shown}, else --sep ','"
                )
    return row


def same_header(first: Part, wanted: list[str], part: Part, names: list[str]) -> None:
    """Reject a file with other columns than the first one; their order may differ."""
    files.same_columns(first, wanted, part, names)
    if sorted(names) != sorted(wanted):
        raise UnreadableTableError(
            f"the files differ: {part.shown} has some column more often than {first.shown}, or less"
        )


def wrong_width(part: Part, row: str, n_cells: int, width: int) -> UnreadableTableError:
    """Return an error: a row has too few or too many cells."""
    return UnreadableTableError(
        f"{part.shown} is damaged: {row} has {count_of(n_cells, 'cell')}, not {width} as the header"
    )


def chosen(
    names: Sequence[str], folders: Sequence[str], wanted: Wanted, text: TextFormat
) -> list[str]:
    """Find the columns that matter; each must be there once."""
    every = [*names, *folders]
    files.check_names(wanted, text.dtypes, every)
    results = [name for name in every if wanted.columns is None or name in wanted.columns]
    for name in results:
        if name in names and name in folders:
            raise files.in_folders_too(name)
        if names.count(name) > 1:
            raise UnreadableTableError(
                f"{name!r} is the name of {names.count(name)} columns of this table; "
                "give each column a name of its own"
            )
    return results
