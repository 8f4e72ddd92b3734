"""Encodings by Python's names, for Java: only those that both read letter by letter alike."""

from __future__ import annotations

from anonrisk.engines.reading.text_files import canonical
from anonrisk.errors import ArgumentError

# Others differ in some letters (big5, shift_jis, the EBCDIC pages) or are not known to Java; a
# test compares every byte. Two letters that become one would hide a person.
JAVA = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
    "utf-32-le": "UTF-32LE",
    "utf-32-be": "UTF-32BE",
    "ascii": "US-ASCII",
    "gb2312": "GB2312",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "mac-roman": "x-MacRoman",
    "mac-latin2": "x-MacCentralEurope",
    "cp858": "IBM00858",
    **{f"cp{n}": f"windows-{n}" for n in range(1250, 1259)},
    **{f"cp{n}": f"IBM{n}" for n in (437, 775, 850, 852, 855, 857)},
    **{f"cp{n}": f"IBM{n}" for n in (*range(860, 867), 869)},
    **{f"iso8859-{n}": f"ISO-8859-{n}" for n in (*range(1, 10), 13, 15)},
}


def java(encoding: str | None) -> str:
    """Give Java's name of an encoding, or refuse one that it reads otherwise than Python.

    Examples
    --------
    >>> java("latin-1"), java(None), java("cp437")
    ('ISO-8859-1', 'UTF-8', 'IBM437')
    """
    name = JAVA.get(canonical(encoding))
    if name is None:
        raise ArgumentError(
            f"--encoding {encoding}: Spark does not read it as Python does; "
            "convert the files to UTF-8, or check them without Spark"
        )
    return name


def is_wide(charset: str) -> bool:
    """Tell whether a byte that ends lines elsewhere may be half of another letter here."""
    return charset.startswith(("UTF-16", "UTF-32"))
