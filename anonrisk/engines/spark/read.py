"""Sources of Spark to a table, and a result to where Spark can write: for spark-submit jobs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anonrisk import files
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from anonrisk.files import TextFormat, Wanted

FORMATS = ("parquet", "delta", "csv", "json", "orc", "table")
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
_WHOLE = r"^[+-]?[0-9]{1,18}\z"
# Numbers of up to 15 digits are kept apart by floats, but for the smallest ones.
_DIGITS, _SMALLEST = 15, 2.3e-308
# Sources that are files which Spark itself lists and reads.
_FILES = ("parquet", "csv", "json", "orc")
# A cluster may be set to pass over what it cannot read, and people with it.
_NOTHING_IGNORED = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
_SETTINGS = {
    # A folder zip=01234 stands for the text, not for 1234.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Else rows with too few or too many cells pass unseen where not all columns are used.
    "spark.sql.csv.parser.columnPruning.enabled": "false",
}


@contextmanager
def session(name: str) -> Iterator[SparkSession]:
    """Take the session that there is, or start one and stop it in the end."""
    with guarded("start"):
        from pyspark.sql import SparkSession

        running = SparkSession.getActiveSession()
        spark = running or SparkSession.builder.appName(name).getOrCreate()
        before = {key: spark.conf.get(key) for key in _SETTINGS}
        for key, value in _SETTINGS.items():
            spark.conf.set(key, value)
    try:
        yield spark
    finally:
        with guarded("stop"):
            if running is None:
                spark.stop()
            else:
                for key, old in before.items():
                    spark.conf.set(key, str(old))


def read(
    spark: SparkSession,
    paths: Sequence[str],
    wanted: Wanted,
    text: TextFormat,
    *,
    format: str,  # noqa: A002
    options: Mapping[str, str],
) -> DataFrame:
    """Read any source of Spark; cells of CSV are text unless the caller says otherwise."""
    if text.dtypes and format != "csv":
        raise ArgumentError(
            "--dtypes is for CSV: other sources say themselves what their cells are"
        )
    if len(set(paths)) < len(paths):
        # Every person in it would have a twin to hide behind.
        raise ArgumentError("a path of the table is named twice")
    for key, value in options.items():
        if key.casefold() in map(str.casefold, _NOTHING_IGNORED) and value.casefold() != "false":
            raise ArgumentError(f"--option {key}: a table of which a part is not read cannot pass")
    with guarded(f"read the {format} source"):
        if format == "table":
            if len(paths) != 1:
                raise ArgumentError("give the name of one table")
            return spark.read.options(**_NOTHING_IGNORED).table(paths[0])
        every = {**_options(format, text), **options}
        frame: DataFrame = spark.read.format(format).options(**every).load(list(paths))
        files.check_names(wanted, text.dtypes, frame.columns)
        if format in _FILES:
            _check_files(spark, frame, paths, every, format)
        if format in ("csv", "json"):
            frame = _typed(frame, format, wanted, text)
        return frame


def _check_files(
    spark: SparkSession,
    frame: DataFrame,
    paths: Sequence[str],
    options: Mapping[str, str],
    format: str,  # noqa: A002
) -> None:
    """Refuse files that two paths lead to, and columns that are in the folders as well.

    Spark reads such a file twice, and takes what the folder says for what the file says.
    """
    found = frame.inputFiles()
    if len(paths) > 1:
        # As text, because no schema is looked for then.
        listed = [spark.read.format("text").options(**options).load(path) for path in paths]
        if sum(len(one.inputFiles()) for one in listed) > len(found):
            raise ArgumentError("a file of the table is named twice, by more than one path")
    base = [value for key, value in options.items() if key.casefold() == "basepath"] or paths
    given = {piece for path in base for piece in path.split("/")}
    folders = {unquote(piece) for file in found for piece in file.split("/")[:-1]} - given
    keys = {unquote(piece.split("=")[0]).casefold() for piece in folders if "=" in piece}
    if keys:
        plain = {**options, "recursiveFileLookup": "true"}
        inside = spark.read.format(format).options(**plain).load(list(paths)).columns
        for name in inside:
            if name.casefold() in keys:
                raise files.in_folders_too(name)
    own = [name for name in frame.columns if name.casefold() not in keys]
    if format == "csv" and len(own) == 1:
        _check_lines(spark, paths, options)


def _check_lines(spark: SparkSession, paths: Sequence[str], options: Mapping[str, str]) -> None:
    """Refuse blank lines of a table of one column, which Spark takes for no rows."""
    from pyspark.sql import functions as f

    whole = {**options, "recursiveFileLookup": "true"}
    lines = spark.read.format("text").options(**whole).load(list(paths))
    if lines.where(f.trim("value") == "").limit(1).count():
        raise files.blank("a line")


def write(spark: SparkSession, text: str, path: str) -> None:
    """Write a text to a folder of any file system that Spark knows, as one file."""
    with guarded("write the result"):
        from pyspark.sql import functions as f

        one = spark.range(1, numPartitions=1).select(f.lit(text).alias("value"))
        one.write.mode("overwrite").text(path)


def _options(format: str, text: TextFormat) -> dict[str, str]:  # noqa: A002
    if format == "csv":
        return {
            **_NOTHING_IGNORED,
            "header": "true",
            "sep": text.sep or ",",
            "encoding": text.encoding or "UTF-8",
            "escape": '"',
            # A cell may hold the end of a line; files of different columns must not be mixed.
            "multiLine": "true",
            "enforceSchema": "false",
            "mode": "FAILFAST",
        }
    more = {"json": {"mode": "FAILFAST"}, "parquet": {"mergeSchema": "true"}}.get(format, {})
    return {**_NOTHING_IGNORED, **more} if format in _FILES else {}


def _typed(frame: DataFrame, format: str, wanted: Wanted, text: TextFormat) -> DataFrame:  # noqa: A002
    """Make texts that mean missing so, and numbers of what the caller takes for numbers."""
    projection = Projection.of(frame)
    f = projection.functions
    markers = ["", *text.na] if format == "csv" or text.na else []
    kinds = dict.fromkeys(wanted.numbers, "number") if format == "csv" else {}
    kinds.update(text.dtypes)
    columns: dict[str, Column] = {}
    for position, field in enumerate(projection.fields):
        column = f.col(f"c{position}")
        if markers and field.dataType.typeName() == "string":
            column = f.when(~column.isin(markers), column)
        columns[field.name] = column
    wrong = {name: kind for name, kind in kinds.items() if kind != "text" and name in columns}
    whole = _check(projection, columns, wrong, scales=wanted.numbers)
    for name, kind in wrong.items():
        if kind == "date":
            columns[name] = f.to_date(columns[name], "yyyy-MM-dd")
        else:
            columns[name] = columns[name].cast("bigint" if whole[name] else "double")
    return projection.table.select(
        *(
            columns[field.name].alias(field.name, metadata=field.metadata or {})
            for field in projection.fields
        )
    )


def _check(
    projection: Projection,
    columns: Mapping[str, Column],
    kinds: Mapping[str, str],
    scales: Collection[str],
) -> dict[str, bool]:
    """Refuse cells that are not what they should be, in one pass; tell which are all whole.

    What is measured on a scale, as a weight, need not be told apart by its last digits.
    """
    if not kinds:
        return {}
    f = projection.functions
    sums: list[Any] = []
    for name, kind in kinds.items():
        column = columns[name]
        if kind == "date":
            fits = f.try_to_timestamp(column, f.lit("yyyy-MM-dd")).isNotNull()
            exact = f.lit(True)  # noqa: FBT003
        else:
            fits = column.rlike(_NUMBER)
            exact = _is_float(f, f.when(fits, column))
        sums += [
            f.count(f.when(column.isNotNull() & ~test, f.lit(1)))
            for test in (fits, column.rlike(_WHOLE), exact)
        ]
    named = [one.alias(f"s{i}") for i, one in enumerate(sums)]
    found = list(projection.table.agg(*named).collect()[0])
    whole = {}
    for i, (name, kind) in enumerate(kinds.items()):
        others, broken, lost = found[3 * i : 3 * i + 3]
        if others:
            raise files.not_all(name, kind, others)
        if kind == "number" and broken and lost and name not in scales:
            raise files.not_exact(name, lost)
        whole[name] = not broken
    return whole


def _is_float(f: Any, text: Column) -> Column:
    """Tell whether a float keeps a number apart from all others, as the reader of files does."""
    number = text.cast("double")
    digits, kept = (
        f.regexp_replace(f.regexp_replace(one, "[eE].*|[^0-9a-zA-Z]", ""), "^0+|0+$", "")
        for one in (text, number.cast("string"))
    )
    usual = (f.abs(number) >= _SMALLEST) & (f.abs(number) < float("inf"))
    exact: Column = (digits == kept) | ((f.length(digits) <= _DIGITS) & usual)
    return exact
