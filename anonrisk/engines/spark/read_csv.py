"""CSV files to a table of Spark's, cell by cell as Python reads them, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.reading import csv_text
from anonrisk.engines.spark import charsets, csv_checks
from anonrisk.engines.spark.project import Projection, modules
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.engines.reading.files import TextFormat, Wanted
    from anonrisk.engines.spark.lines import TextSource


def read(
    source: TextSource, wanted: Wanted, text: TextFormat, folders: Sequence[str]
) -> tuple[DataFrame, int]:
    """Read the files; give the table, and how many of its columns are in the files.

    One scan of all lines comes first, and a second one where a cell holds the end of a line.
    """
    sep = _separator(source, text)
    heads = csv_checks.look(source, sep)
    orders = [csv_checks.names(source, head, sep, text.sep) for head in heads]
    header, width = orders[0], len(orders[0])
    first = source.part(heads[0].paths[0])
    for head, names in zip(heads[1:], orders[1:], strict=True):
        csv_text.same_header(first, header, source.part(head.paths[0]), names)
    csv_text.chosen(header, folders, wanted, text)
    by_lines = all(head.whole for head in heads) and not charsets.is_wide(source.charset)
    for head in heads if by_lines else ():
        csv_checks.refuse_widths(source, head, width)
    lossy = not by_lines and csv_checks.check_across_lines(source, sep, width)
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
    found = {csv_text.separator(source.part(name), text.sep) for name in source.names}
    if len(found) > 1:
        raise ArgumentError("some of the files are called .tsv and others are not; say --sep")
    return found.pop() if found else csv_text.separator(source.part(""), text.sep)


def _field_names(header: Sequence[str], folders: Sequence[str]) -> list[str] | None:
    """Give the names that Spark may compare with those of each file, if it can tell them apart."""
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
        "maxCharsPerColumn": str(csv_text.LONGEST_CELL),
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
    """Say where a file has each column; of several with one name the first is the first.

    Examples
    --------
    >>> _places(["b", "a", "b"], ["a", "b", "b"])
    [1, 0, 2]
    """
    left = list(enumerate(names))
    places = []
    for wanted in header:
        found = next(one for one in left if one[1] == wanted)
        left.remove(found)
        places.append(found[0])
    return places
