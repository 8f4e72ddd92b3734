"""JSON lines to a table of Spark's, cell by cell as Python reads them, or refused.

Spark forgives what Python refuses: it reads the first of two objects in a line, the last of two
cells of one key, and makes a text of a number where another line has a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anonrisk.engines.reading import files
from anonrisk.engines.spark import lines
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.lines import any_of, is_float
from anonrisk.engines.spark.project import modules
from anonrisk.errors import ArgumentError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import Column, DataFrame

    from anonrisk.engines.reading.files import Wanted
    from anonrisk.engines.spark.lines import TextSource

_STRICT = {"allowSingleQuotes": "false", "columnNameOfCorruptRecord": "anonrisk corrupt record"}
# Possessive, so that Java needs no stack for it.
_TEXT = r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
_ESCAPE = "\\u"
# How deep objects and arrays may be inside one another.
_DEPTH = 20
# Whole numbers above this are not all floats.
_EXACT = str(2**53)
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
# What every number has that no float keeps apart from others.
_LONG = r"[0-9.]{16}|[eE][+-]?[0-9]{3}"


def read(source: TextSource, wanted: Wanted, folders: Sequence[str]) -> DataFrame:
    """Read the files; Spark looks for the columns in one scan, and one more is spent on checks."""
    if lines.is_wide(source.charset):
        raise ArgumentError(
            f"--encoding {source.encoding}: Spark reads JSON lines of other encodings, as UTF-8"
        )
    options = {**source.options, **_STRICT, "encoding": source.charset, "mode": "FAILFAST"}
    if (ends := _ends(source)) is not None:
        options["lineSep"] = ends
    try:
        reader = source.spark.read.format("json").options(**options)
        frame = reader.load(list(source.paths))
        inside = frame.columns
        if folders:
            plain = source.spark.read.format("json").options(**options, recursiveFileLookup="true")
            inside = plain.load(list(source.paths)).columns
    except Exception:
        # What is wrong with the lines is said better here.
        _check(source, [])
        raise
    for name in inside:
        if name in folders:
            raise files.in_folders_too(name)
    files.check_names(wanted, {}, frame.columns)
    fields = [field for field in frame.schema.fields if field.name in inside]
    asked = [f for f in fields if wanted.columns is None or f.name in wanted.columns]
    _check(source, asked, wanted.numbers)
    return frame


def _ends(source: TextSource) -> str | None:
    """Return where lines end: beside UTF-8 Spark must be told, and knows one way."""
    return None if source.charset == "UTF-8" else "\n"


def _check(source: TextSource, fields: Sequence[Any], scales: Collection[str] = ()) -> None:
    """Reject lines that are not one object each, and columns that mix texts and numbers."""
    lines = source.lines(_ends(source))
    f, _ = modules(lines)
    line = f.col("line")
    mixed = [_mixes(f, line, field) for field in fields]
    long = [_is_too_long(f, line, field, scales) for field in fields]
    looked = lines.agg(
        f.min(f.when(f.col("lost"), f.struct("path", "raw"))).alias("lost"),
        f.min(f.when(line.contains("\0"), f.struct("path", "raw"))).alias("nul"),
        f.min(f.when(~line.rlike(r"\A[ \t\r]*+\z") & ~_is_object(f, line), f.col("path"))).alias(
            "no"
        ),
        f.min(f.when(_has_half(f, line), f.col("path"))).alias("half"),
        *(any_of(f, test).alias(f"m{i}") for i, test in enumerate(mixed)),
        *(any_of(f, test).alias(f"l{i}") for i, test in enumerate(long)),
    )
    result = collect(looked)[0]
    for row, lost in ((result.lost, True), (result.nul, False)):
        if row is not None:
            source.refuse_damaged(row.path, row.raw, lost=lost, nul=not lost)
    if result.no is not None:
        raise UnreadableTableError(
            f"a line of {source.part(result.no).shown} is not one JSON object with each key once"
        )
    if result.half is not None:
        raise UnreadableTableError(
            f"{source.part(result.half).shown} holds half a character, written as \\ud800 or the "
            "like, which Spark cannot distinguish from others"
        )
    for i, field in enumerate(fields):
        if result[f"m{i}"]:
            raise UnreadableTableError(
                f"column {field.name!r} mixes texts, numbers or other cells, or floating-point "
                "numbers with whole ones that are too large for them; write one kind"
            )
        if result[f"l{i}"]:
            raise files.too_many_digits(field.name)


def _is_object(f: Any, line: Column) -> Column:
    """Return whether a line is one object, and nothing behind it, in which each key is once."""
    bare = f.regexp_replace(line, _TEXT, "s")
    brackets = f.regexp_replace(bare, r"[^{}\[\]]", "")
    inner = f.regexp_replace(brackets, r"\A\{|\}\z", "")
    for _ in range(_DEPTH):
        inner = f.regexp_replace(inner, r"\{\}|\[\]", "")
    flat = bare.rlike(r"\A[ \t\r]*+\{[^{}\[\]]*+\}[ \t\r]*+\z")
    nested = bare.rlike(r"\A[ \t\r]*+\{[\s\S]*\}[ \t\r]*+\z") & (inner == "")
    # What Spark takes for a text or for infinity, and Python for neither.
    known = ~bare.rlike(r"INF|'|(?<![eE])\+")
    keys = f.json_object_keys(line)
    once = keys.isNotNull() & (f.size(f.array_distinct(keys)) == f.size(keys))
    fits: Column = (flat | nested) & known & once
    return fits


def _has_half(f: Any, line: Column) -> Column:
    """Return whether a letter that takes two escapes has one of them only."""
    escapes = f.regexp_replace(line, r"\\\\", "")
    pairs = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    half = f.regexp_replace(escapes, pairs, "").rlike(r"\\u[dD][89a-fA-F]")
    column: Column = line.contains(_ESCAPE) & half
    return column


def _is_too_long(f: Any, line: Column, field: Any, scales: Collection[str]) -> Column:
    """Return whether a line has a number that no float keeps; a scale needs no last digit."""
    if field.dataType.typeName() != "double" or field.name in scales:
        never: Column = f.lit(False)  # noqa: FBT003
        return never
    # Of all objects in the line, since one inside another may have the key as well.
    pattern = rf'"{_key(field.name)}"\s*+:\s*+({_NUMBER})'
    numbers = f.regexp_extract_all(line, f.lit(pattern), f.lit(1))
    lost: Column = line.rlike(_LONG) & f.exists(numbers, lambda number: ~is_float(f, number))
    return lost


def _mixes(f: Any, line: Column, field: Any) -> Column:
    """Return whether a line has a cell of another kind than Spark takes the column for."""
    never: Column = f.lit(False)  # noqa: FBT003
    kinds = {
        # A text, or null.
        "string": r'[^"n\s]',
        "double": rf"-?(?:[0-9]{{17,}}|{_above(_EXACT)})(?![0-9.eE])",
    }
    cell = kinds.get(field.dataType.typeName())
    if cell is None:
        return never
    every, usual = (
        line.rlike(rf'"{key}"\s*+:\s*+{cell}') for key in (_key(field.name), re.escape(field.name))
    )
    if re.search(r'["\\/\x00-\x1f]', field.name):
        return every
    # Far faster where no letter is escaped.
    mixed: Column = f.when(line.contains(_ESCAPE), every).otherwise(usual)
    return mixed


def _above(number: str) -> str:
    """Write what a number of as many digits is that is larger.

    Examples
    --------
    >>> _above("207")
    '(?:[3-9][0-9]{2}|2[1-9][0-9]{1}|20[8-9][0-9]{0})'
    """
    ways = []
    for i, digit in enumerate(number):
        if digit != "9":
            rest = len(number) - i - 1
            ways.append(f"{number[:i]}[{int(digit) + 1}-9][0-9]{{{rest}}}")
    return f"(?:{'|'.join(ways)})"


def _key(name: str) -> str:
    r"""Write a key in every way that JSON may write it.

    Examples
    --------
    >>> bool(re.fullmatch(_key("é"), "é")), bool(re.fullmatch(_key("é"), "\\u00E9"))
    (True, True)
    """
    return "".join(_letter(letter) for letter in name)


def _letter(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join(rf"\\u(?i:{units[i : i + 4]})" for i in range(0, len(units), 4))
    short = {'"': r"\\\"", "\\": r"\\\\", "/": r"\\?/", "\n": r"\\n", "\t": r"\\t", "\r": r"\\r"}
    plain = short.get(letter, re.escape(letter))
    return f"(?:{plain}|{escaped})"
