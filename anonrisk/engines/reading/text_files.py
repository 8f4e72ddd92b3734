"""Text files, letter by letter: unpacked, decoded, and refused where that loses a letter."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Collection, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import one_of
from anonrisk.engines.reading import files, packed
from anonrisk.errors import ArgumentError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.engines.reading.files import Part, TextFormat

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
    with packed.opened(part.path) as file:
        yield file
