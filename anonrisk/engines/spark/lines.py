"""The lines of text files, as Spark's text source gives them: raw, and in their order.

Only encodings that Python and Java read letter by letter alike are taken.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading import files, text_files
from anonrisk.engines.reading.files import Part
from anonrisk.engines.reading.text_files import canonical
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.project import modules
from anonrisk.errors import ArgumentError, EngineError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

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


def java_charset(encoding: str | None) -> str:
    """Return Java's name of an encoding, or refuse one that it reads otherwise than Python.

    Examples
    --------
    >>> java_charset("latin-1"), java_charset(None), java_charset("cp437")
    ('ISO-8859-1', 'UTF-8', 'IBM437')
    """
    name = JAVA.get(canonical(encoding))
    if name is None:
        raise ArgumentError(
            f"--encoding {encoding}: Spark does not read it as Python does; "
            "convert the files to UTF-8, or check them without Spark"
        )
    return name


def refuse_unknown_charset(spark: SparkSession, encoding: str | None) -> None:
    """Reject an encoding that the Java of Spark lacks: a small runtime is without many.

    The session must be one of `read.session`: with other settings Spark 4 decodes a few only.
    """
    charset = java_charset(encoding)
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


# Spark would take their bytes for text.
_NOT_UNPACKED = (".xz", ".zip", ".7z", ".rar", ".tar", ".tgz", ".Z")
_PACKED = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst")
# How files of these encodings must begin, or may, in hexadecimal digits.
_MARKS = {
    "UTF-16": ("FFFE", "FEFF"),
    "UTF-16LE": ("FFFE",),
    "UTF-16BE": ("FEFF",),
    "UTF-32": ("FFFE0000", "0000FEFF"),
    "UTF-32LE": ("FFFE0000",),
    "UTF-32BE": ("0000FEFF",),
}
BEGIN = 8
# Numbers of up to 15 digits are kept apart by floats, but for the smallest ones.
_DIGITS, _SMALLEST = 15, 2.3e-308


@dataclass(frozen=True)
class TextSource:
    """Text files, and how to read them.

    Attributes
    ----------
    spark : SparkSession
        Where.
    paths : sequence of str
        What the caller named.
    names : sequence of str
        The files that are there.
    options : mapping of str to str
        Which of them Spark reads.
    encoding : str or None
        How their letters are written, as the caller says it.
    """

    spark: SparkSession
    paths: Sequence[str]
    names: Sequence[str]
    options: Mapping[str, str]
    encoding: str | None

    @property
    def charset(self) -> str:
        """The encoding, as Java calls it."""
        return java_charset(self.encoding)

    def lines(self, ends: str | None = None) -> DataFrame:
        """Return the lines as path, block, id, line, whether letters were lost, and raw bytes.

        Lines end in LF, CR or both, or in `ends` alone; block and id are in the order of the file.
        """
        # Folders such as country=NL are no columns here.
        options = {**self.options, "recursiveFileLookup": "true"}
        if is_wide(self.charset):
            return self._wide(options, ends)
        if ends is not None:
            options["lineSep"] = ends
        raw = self.spark.read.format("text").options(**options).load(list(self.paths))
        f, _ = modules(raw)
        value = f.col("value")
        if self.charset == "UTF-8":
            # What stands for lost letters may be in the file; if it comes by decoding, some are
            # lost now. A placeholder, because its neighbours might make a letter.
            line, without = value, f.replace(value, f.lit(text_files.LOST), f.lit("?"))
            lost = value.rlike(text_files.LOST) & without.rlike(text_files.LOST)
        else:
            line = f.decode(value.cast("binary"), self.charset)
            lost = line.contains(text_files.LOST)
        return raw.select(
            f.col("_metadata.file_path").alias("path"),
            f.col("_metadata.file_block_start").alias("block"),
            f.monotonically_increasing_id().alias("id"),
            line.alias("line"),
            lost.alias("lost"),
            value.cast("binary").alias("raw"),
        )

    def part(self, path: str) -> Part:
        """Return a file of Spark's for messages, by its name: folders may hold cells."""
        return part_of(path)

    def refuse_damaged(self, path: str, raw: bytes | None, *, lost: bool, nul: bool) -> None:
        """Reject a file that is no text in its encoding, by how it begins and what it holds."""
        part = self.part(path)
        begin = bytes(raw or b"").hex().upper()
        text_files.refuse_spreadsheet(part, bytes(raw or b""))
        wide = _MARKS.get(self.charset, ())
        marked = any(begin.startswith(mark) for marks in _MARKS.values() for mark in marks)
        right = any(begin.startswith(mark) for mark in wide)
        if wide and not right and (marked or self.charset in ("UTF-16", "UTF-32")):
            raise text_files.other_mark(part, self.encoding)
        if lost:
            raise text_files.not_in(self.encoding, part)
        if nul:
            raise text_files.no_text(part)

    def _wide(self, options: Mapping[str, str], ends: str | None) -> DataFrame:
        """Take whole files: no byte tells where a line ends."""
        for name in self.names:
            if name.casefold().endswith(_PACKED):
                raise UnreadableTableError(
                    f"{part_of(name).shown} is packed, and Spark does not unpack files in "
                    f"{self.encoding}; unpack it, or convert it to UTF-8"
                )
        raw = self.spark.read.format("binaryFile").options(**options).load(list(self.paths))
        f, _ = modules(raw)
        text = f.regexp_replace(f.decode("content", self.charset), "^\ufeff", "")
        # The end of the last line begins no other.
        last, each = (f"{ends}\\z", ends) if ends else (r"(\r\n|\r|\n)\z", r"\r\n|\r|\n")
        pieces = f.posexplode(f.split(f.regexp_replace(text, last, ""), each)).alias("id", "line")
        begin = f.substring("content", 1, BEGIN).alias("raw")
        path = f.col("_metadata.file_path").alias("path")
        exploded = raw.where("length > 0").select(path, begin, pieces)
        return exploded.select(
            "path",
            f.lit(0).alias("block"),
            "id",
            "line",
            f.col("line").contains(text_files.LOST).alias("lost"),
            "raw",
        )


def part_of(path: str) -> Part:
    """Return a file of Spark's by its name alone."""
    return Part(Path(unquote(path.rsplit("/", 1)[-1])))


def refuse_foreign(names: Sequence[str]) -> None:
    """Reject files that Spark would take for text although they are none, by their names."""
    for name in names:
        part = part_of(name)
        files.refuse_spreadsheets([part])
        if name.endswith(_NOT_UNPACKED) or name.casefold().endswith(_NOT_UNPACKED):
            raise UnreadableTableError(
                f"{part.shown} is packed as Spark cannot unpack it; unpack it, or pack it as .gz"
            )


def any_of(f: Any, condition: Column) -> Column:
    """Return whether a condition holds for some line."""
    column: Column = f.coalesce(f.max(condition), f.lit(False))  # noqa: FBT003
    return column


def is_float(f: Any, text: Column) -> Column:
    """Return whether a float keeps a number apart from all others, as the reader of files does."""
    number = text.cast("double")
    digits, kept = (
        f.regexp_replace(f.regexp_replace(item, "[eE].*|[^0-9a-zA-Z]", ""), "^0+|0+$", "")
        for item in (text, number.cast("string"))
    )
    usual = (f.abs(number) >= _SMALLEST) & (f.abs(number) < float("inf"))
    exact: Column = (digits == kept) | ((f.length(digits) <= _DIGITS) & usual)
    return exact
