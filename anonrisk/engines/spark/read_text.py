"""CSV files and JSON lines to a table of Spark's, as Python reads them, or refused.

Spark forgives what Python refuses: it reads the first of two objects in a line, the last of two
cells of one key, and makes a text of a number where another line has a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading import files, text_files
from anonrisk.engines.spark import lines
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.lines import BEGIN, any_of, is_float
from anonrisk.engines.spark.project import Projection, modules
from anonrisk.errors import ArgumentError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from anonrisk.engines.reading.files import TextFormat, Wanted
    from anonrisk.engines.spark.lines import TextSource


# Lines are looked at one by one. Where each is a row by itself, Spark's reader of lines agrees with
# Python's (`look`). Where a cell holds the end of a line, the lines are taken in their order, so
# that it is known which begin inside a cell (`check_across_lines`); Spark's reader of whole files
# then agrees if quotation marks stand only around cells, and all rows end alike.

# The most first lines that come to the driver, and how long they may be.
_HEADS, _LONGEST = 100, 1_000_000
# A cell in quotation marks, whose own are doubled. Possessive, so that Java needs no stack for it.
_INSIDE = '[^"]*+(?:""[^"]*+)*+'
_QUOTED = f'"{_INSIDE}"'


@dataclass(frozen=True)
class Head:
    """Files with the same first line, and what the lines below it are like.

    Attributes
    ----------
    line : str
        The first line that is not blank.
    paths : tuple of str
        The files.
    whole : bool
        Whether every line is a row by itself, for Spark as well.
    fewest, most : int or None
        Cells of rows that have no quotation mark.
    blank : bool
        Whether a line below the first one is blank.
    """

    line: str
    paths: tuple[str, ...]
    whole: bool
    fewest: int | None
    most: int | None
    blank: bool


def look(source: TextSource, sep: str) -> list[Head]:
    """Look at every line once; refuse files that are no text, or empty."""
    lines = source.lines()
    f, _ = modules(lines)
    line = f.col("line")
    place, blank, marks = f.struct("block", "id"), line == "", line.contains('"')
    cells = _count(f, line, sep) + 1
    # Spark's reader of lines passes over those that its language calls blank, as one of tabs.
    seen = blank | (line >= "!") | line.rlike(r"[^\x00-\x20]")
    whole = (~marks | line.rlike(_row(sep))) & seen
    tests = {"lost": f.col("lost"), "nul": line.contains("\0"), "broken": ~whole}
    files_seen = lines.groupBy("path").agg(
        f.min(f.when(~blank, f.struct("block", "id", "line", "raw"))).alias("head"),
        f.max(f.when(blank, place)).alias("last_blank"),
        # Sets, because Spark then keeps the groups in memory; else it would sort the lines.
        *(f.collect_set(f.when(test, f.lit(1))).alias(key) for key, test in tests.items()),
        f.min(f.when(~marks & ~blank, cells)).alias("fewest"),
        f.max(f.when(~marks & ~blank, cells)).alias("most"),
    )
    lost, nul, broken = (f.size(key) > 0 for key in tests)
    below = f.col("last_blank") > f.struct("head.block", "head.id")
    first = f.substring("head.line", 1, _LONGEST).alias("first")
    result = (
        files_seen.groupBy(first, lost.alias("lost"), nul.alias("nul"))
        .agg(
            f.min(f.substring("head.raw", 1, BEGIN)).alias("raw"),
            f.sort_array(f.collect_list("path")).alias("paths"),
            any_of(f, broken).alias("broken"),
            f.min("fewest").alias("fewest"),
            f.max("most").alias("most"),
            any_of(f, below).alias("blank"),
        )
        .limit(_HEADS + 1)
    )
    heads = sorted((_head(source, row) for row in collect(result)), key=lambda head: head.paths)
    _check_heads(source, heads)
    return heads


def _head(source: TextSource, row: Any) -> Head:
    source.refuse_damaged(row.paths[0], row.raw, lost=row.lost, nul=row.nul)
    if row.first is None:
        raise files.nameless(source.part(row.paths[0]))
    return Head(row.first, tuple(row.paths), not row.broken, row.fewest, row.most, row.blank)


def _check_heads(source: TextSource, heads: list[Head]) -> None:
    seen = sum(len(head.paths) for head in heads)
    if len(heads) > _HEADS:
        raise UnreadableTableError(
            f"the files differ: they have more than {_HEADS} different first lines"
        )
    if seen < len(source.names):
        empty = len(source.names) - seen
        raise UnreadableTableError(
            f"{empty:,} of the {len(source.names):,} files are empty: they do not even have column "
            "names"
        )
    if any(len(head.line) >= _LONGEST for head in heads):
        raise UnreadableTableError(f"the first line has more than {_LONGEST:,} letters")


def names_in(source: TextSource, head: Head, sep: str, text: str | None) -> list[str]:
    """Read the names of the columns, with the reader that reads files without Spark."""
    part = source.part(head.paths[0])
    row: list[str] = []
    if re.fullmatch(_row(sep).replace(r"\z", ""), head.line):
        row = next(text_files.rows(part, [head.line], sep), [])
    elif len(head.paths) > 1:
        # The lines that follow may differ.
        raise UnreadableTableError(
            f"the first line of {part.shown} is not whole: a name that holds the end of a line is "
            "read from one file at a time only, or a quotation mark is not closed"
        )
    else:
        row = _first_row(source, head, sep)
    return text_files.header(part, row, text)


def _first_row(source: TextSource, head: Head, sep: str) -> list[str]:
    lines = source.lines("\n")
    f, _ = modules(lines)
    cut = f.substring("line", 1, _LONGEST).alias("line")
    first = lines.where((f.col("path") == head.paths[0]) & (f.col("block") == 0))
    result = collect(first.select("id", cut).orderBy("id").limit(_HEADS))
    part = source.part(head.paths[0])
    return next(text_files.rows(part, [f"{row.line}\n" for row in result], sep), [])


def check_across_lines(source: TextSource, sep: str, width: int) -> bool:
    """Reject files that the reader of whole files may read otherwise than Python does.

    Tell whether every end of a line that a cell holds is CRLF, of which Spark makes LF where rows
    end so too.
    """
    lines = source.lines("\n")
    f, window = modules(lines)
    line = f.col("line")
    plain_line = ~line.contains('"') & ~line.contains("\r")
    # No letter of a cell is shuffled, only what was found out about its line.
    flat = lines.select(
        "path",
        "block",
        "id",
        _count(f, line, '"').alias("marks"),
        (plain_line | line.rlike(_from_outside(sep))).alias("fits_outside"),
        (plain_line | line.rlike(_from_inside(sep))).alias("fits_inside"),
        line.endswith("\r").alias("returns"),
        (line.contains("\r") & line.rlike(r"\r[\s\S]")).alias("returns_before"),
        line.isin("", "\r").alias("blank"),
    )
    before = window.partitionBy("path").orderBy("block", "id")
    before = before.rowsBetween(window.unboundedPreceding, -1)
    inside = f.coalesce(f.sum("marks").over(before), f.lit(0)) % 2 == 1
    known = flat.withColumn("inside", inside).withColumn("place", f.struct("block", "id"))
    ends_row = (f.col("inside").cast("int") + f.col("marks")) % 2 == 0
    plain = ends_row & ~f.col("returns")
    fits = f.when(f.col("inside"), f.col("fits_inside")).otherwise(f.col("fits_outside"))
    outside_blank = f.col("blank") & ~f.col("inside")
    seen = known.groupBy("path").agg(
        any_of(f, ~fits).alias("broken"),
        (f.sum("marks") % 2 == 1).alias("open"),
        any_of(f, ends_row & f.col("returns")).alias("crlf"),
        any_of(f, ~ends_row & f.col("returns")).alias("crlf_inside"),
        any_of(f, ~ends_row & ~f.col("returns")).alias("lf_inside"),
        f.count(f.when(plain, 1)).alias("n_plain"),
        f.max(f.struct("place", plain.cast("int").alias("plain"))).alias("last"),
        f.min(f.struct("place", "returns", "returns_before")).alias("first"),
        f.max(f.when(outside_blank, f.col("place"))).alias("last_blank"),
        f.min(f.when(~outside_blank, f.col("place"))).alias("header"),
    )
    # The last line may end with the file.
    lf = f.col("n_plain") > f.col("last.plain")
    alike = ~(f.col("crlf") & lf) & ~f.col("first.returns_before")
    # Spark goes by the first end of a line that it sees, wherever that is.
    alike = alike & (f.col("first.returns") == f.col("crlf"))
    lossy = f.col("crlf") & f.col("crlf_inside")
    kept = ~lossy & (f.col("crlf_inside") | f.col("lf_inside"))
    problems = {
        "broken": f.col("broken") | f.col("open"),
        "mixed": ~alike | (lossy & f.col("lf_inside")),
        "blank": f.lit(width == 1) & (f.col("last_blank") > f.col("header")),
        "lossy": lossy,
        "kept": kept,
    }
    aggregated = [f.min(f.when(test, f.col("path"))).alias(key) for key, test in problems.items()]
    result = collect(seen.agg(*aggregated))[0]
    if result.broken is not None:
        raise _not_certain(source, result.broken)
    both = result.lossy if result.lossy is not None and result.kept is not None else None
    mixed = result.mixed if result.mixed is not None else both
    if mixed is not None:
        raise UnreadableTableError(
            f"{source.part(mixed).shown} has cells that hold the end of a line, and its lines end "
            "in more than one way, which Spark cannot distinguish; write them all alike"
        )
    if result.blank is not None:
        raise files.blank(f"a line of {source.part(result.blank).shown}")
    return result.lossy is not None


def _count(f: Any, line: Column, letter: str) -> Column:
    """Count how often a letter is in a line."""
    without = f.replace(line, f.lit(letter), f.lit(""))
    bytes_less = f.octet_length(line) - f.octet_length(without)
    counted: Column = (bytes_less / len(letter.encode())).cast("int")
    return counted


def _not_certain(source: TextSource, path: str) -> UnreadableTableError:
    return UnreadableTableError(
        f"{source.part(path).shown} is not a CSV file that Spark reads reliably: a quotation "
        "mark is not closed, text follows a closing one, or other cells hold the end of a line and "
        "one stands in a cell without quotation marks, or CR alone ends a row"
    )


def refuse_widths(source: TextSource, head: Head, width: int) -> None:
    """Reject rows of too few or too many cells, where lines are rows."""
    part = source.part(head.paths[0])
    for n_cells in (head.fewest, head.most):
        if n_cells is not None and n_cells != width:
            raise text_files.wrong_width(part, "a row", n_cells, width)
    if width == 1 and head.blank:
        raise files.blank(f"a line of {part.shown}")


def _row(sep: str) -> str:
    """Write what a line is that is a whole row."""
    s = _literal(sep)
    cell = f'(?:{_QUOTED}|[^"{s}][^{s}]*+|)'
    return rf"\A{cell}(?:[{s}]{cell})*+\z"


def _from_outside(sep: str) -> str:
    """Write what a line is that begins outside a cell; the last cell may go on in the next."""
    s = _literal(sep)
    cell = _strict(s)
    return rf'\A(?:{cell}(?:[{s}]{cell})*+\r?|(?:{cell}[{s}])*+"{_INSIDE})\z'


def _from_inside(sep: str) -> str:
    """Write what a line is that begins inside a cell."""
    s = _literal(sep)
    more = rf"(?:[{s}]{_strict(s)})*+"
    return rf'\A{_INSIDE}(?:"{more}(?:\r?|[{s}]"{_INSIDE}))?\z'


def _strict(s: str) -> str:
    """Write what a cell is, with quotation marks only around it."""
    return rf'(?:{_QUOTED}|[^"{s}\r][^"{s}\r]*+|)(?=[{s}]|\r?\z)'


def _literal(sep: str) -> str:
    """Write a character so that it is itself in a set, for Python and Java alike."""
    return f"\\{sep}" if re.fullmatch(r"[\\\]\[^&~|-]", sep) else sep


def read_csv(
    source: TextSource, wanted: Wanted, text: TextFormat, folders: Sequence[str]
) -> tuple[DataFrame, int]:
    """Read the files; give the table, and how many of its columns are in the files.

    One scan of all lines comes first, and a second one where a cell holds the end of a line.
    """
    sep = _separator(source, text)
    heads = look(source, sep)
    orders = [names_in(source, head, sep, text.sep) for head in heads]
    header, width = orders[0], len(orders[0])
    first = source.part(heads[0].paths[0])
    for head, names in zip(heads[1:], orders[1:], strict=True):
        text_files.same_header(first, header, source.part(head.paths[0]), names)
    text_files.chosen(header, folders, wanted, text)
    by_lines = all(head.whole for head in heads) and not lines.is_wide(source.charset)
    for head in heads if by_lines else ():
        refuse_widths(source, head, width)
    lossy = not by_lines and check_across_lines(source, sep, width)
    alike = all(names == header for names in orders)
    fields = _field_names(header, folders) if alike else None
    options = _options(source, sep, width, by_lines=by_lines, named=fields is not None)
    frame = _load(source, options, fields or [f"anonrisk cell {i}" for i in range(width)])
    if not alike:
        others = [(head.paths, names) for head, names in zip(heads, orders, strict=True)]
        frame = _in_order(frame, header, others)
    if lossy:
        frame = _with_returns(frame, width)
    return frame.toDF(*header, *frame.columns[width:]), width


def _separator(source: TextSource, text: TextFormat) -> str:
    result = {text_files.separator(source.part(name), text.sep) for name in source.names}
    if len(result) > 1:
        raise ArgumentError("some of the files end in .tsv and others do not; say --sep")
    return result.pop() if result else text_files.separator(source.part(""), text.sep)


def _field_names(header: Sequence[str], folders: Sequence[str]) -> list[str] | None:
    """Return the names that Spark may compare with those of each file, if it tells them apart."""
    plain = [name.casefold() for name in (*header, *folders)]
    apart = len(set(plain)) == len(plain) and all(name.strip() for name in plain)
    return list(header) if apart else None


def _load(source: TextSource, options: Mapping[str, str], names: Sequence[str]) -> DataFrame:
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField(name, StringType()) for name in names])
    reader = source.spark.read.format("csv").options(**options).schema(schema)
    return reader.load(list(source.paths))


def _options(
    source: TextSource, sep: str, width: int, *, by_lines: bool, named: bool
) -> dict[str, str]:
    return {
        **source.options,
        "header": "true",
        # A backslash is one only if it is written twice.
        "sep": sep.replace("\\", "\\\\"),
        "encoding": source.charset,
        "escape": '"',
        "unescapedQuoteHandling": "RAISE_ERROR",
        "multiLine": "false" if by_lines else "true",
        "enforceSchema": "false" if named else "true",
        "mode": "FAILFAST",
        "columnNameOfCorruptRecord": "anonrisk corrupt record",
        "maxCharsPerColumn": str(text_files.LONGEST_CELL),
        "maxColumns": str(width + 1),
    }


def _with_returns(frame: DataFrame, width: int) -> DataFrame:
    """Put back the CR of line ends in cells, all of which had one."""
    projection = Projection.of(frame)
    f = projection.functions
    cells = [f.col(f"c{i}") for i in range(len(frame.columns))]
    cells[:width] = [f.replace(cell, f.lit("\n"), f.lit("\r\n")) for cell in cells[:width]]
    return projection.table.select(*cells).toDF(*frame.columns)


def _in_order(
    frame: DataFrame, header: list[str], orders: Sequence[tuple[Sequence[str], list[str]]]
) -> DataFrame:
    """Put the cells of each file where the first file has them."""
    f, _ = modules(frame)
    n_columns = len(frame.columns)
    cells = [f.col(f"c{i}") for i in range(n_columns)]
    table = frame.select("*", f.col("_metadata.file_path").alias("path"))
    table = table.toDF(*(f"c{i}" for i in range(n_columns)), "path")
    for paths, names in orders:
        here = f.col("path").isin(list(paths))
        for position, place in enumerate(_places(names, header)):
            if place != position:
                moved = f.when(here, f.col(f"c{place}")).otherwise(cells[position])
                cells[position] = moved
    return table.select(*cells).toDF(*frame.columns)


def _places(names: list[str], header: list[str]) -> list[int]:
    """Return where a file has each column; of several with one name the first is the first.

    Examples
    --------
    >>> _places(["b", "a", "b"], ["a", "b", "b"])
    [1, 0, 2]
    """
    left = list(enumerate(names))
    places = []
    for wanted in header:
        result = next(item for item in left if item[1] == wanted)
        left.remove(result)
        places.append(result[0])
    return places


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


def read_json(source: TextSource, wanted: Wanted, folders: Sequence[str]) -> DataFrame:
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
