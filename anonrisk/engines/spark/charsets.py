"""Encodings by Python's names, for Java: only those that both read letter by letter alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.reading.text_files import canonical
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.project import modules
from anonrisk.errors import ArgumentError, EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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

# What every Java must have, so that it is not asked.
_EVERYWHERE = ("UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "US-ASCII", "ISO-8859-1")
# How Spark 4 and Spark 3.5 say that there is no such encoding.
_UNKNOWN = ("INVALID_PARAMETER_VALUE.CHARSET", "UnsupportedEncodingException")


def java(encoding: str | None) -> str:
    """Return Java's name of an encoding, or refuse one that it reads otherwise than Python.

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


def refuse_unknown(spark: SparkSession, encoding: str | None) -> None:
    """Reject an encoding that the Java of Spark lacks: a small runtime is without many.

    The session must be one of `read.session`: with other settings Spark 4 decodes a few only.
    """
    charset = java(encoding)
    if charset in _EVERYWHERE:
        return
    f, _ = modules(spark.range(1))
    try:
        collect(spark.range(1).select(f.decode(f.lit("a").cast("binary"), charset)))
    except Exception as error:
        if not any(word in str(error) for word in _UNKNOWN):
            raise
        raise EngineError(
            f"--encoding {encoding}: the Java that Spark runs on does not know it; start Spark "
            "with a Java that has the module jdk.charsets, convert the files to UTF-8, or check "
            "them without Spark"
        ) from None


def is_wide(charset: str) -> bool:
    """Return whether a byte that ends lines elsewhere may be half of another letter here."""
    return charset.startswith(("UTF-16", "UTF-32"))
