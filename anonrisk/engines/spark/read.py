"""Sources of Spark to a table, and a result to where Spark can write: for spark-submit jobs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonrisk import files
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from anonrisk.files import TextFormat, Wanted

FORMATS = ("parquet", "delta", "csv", "json", "orc", "table")
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"
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
    with guarded(f"read the {format} source"):
        if format == "table":
            if len(paths) != 1:
                raise ArgumentError("give the name of one table")
            return spark.table(paths[0])
        reader = spark.read.format(format).options(**{**_options(format, text), **options})
        frame: DataFrame = reader.load(list(paths))
        files.check_names(wanted, text.dtypes, frame.columns)
        if format in ("csv", "json"):
            frame = _typed(frame, format, wanted, text)
        return frame


def write(spark: SparkSession, text: str, path: str) -> None:
    """Write a text to a folder of any file system that Spark knows, as one file."""
    with guarded("write the result"):
        from pyspark.sql import functions as f

        one = spark.range(1, numPartitions=1).select(f.lit(text).alias("value"))
        one.write.mode("overwrite").text(path)


def _options(format: str, text: TextFormat) -> dict[str, str]:  # noqa: A002
    if format == "csv":
        return {
            "header": "true",
            "sep": text.sep or ",",
            "encoding": text.encoding or "UTF-8",
            "escape": '"',
            # A cell may hold the end of a line; files of different columns must not be mixed.
            "multiLine": "true",
            "enforceSchema": "false",
            "mode": "FAILFAST",
        }
    return {"json": {"mode": "FAILFAST"}, "parquet": {"mergeSchema": "true"}}.get(format, {})


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
    whole = _check(projection, columns, wrong)
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
    projection: Projection, columns: Mapping[str, Column], kinds: Mapping[str, str]
) -> dict[str, bool]:
    """Refuse cells that are not what they should be, in one pass; tell which are all whole."""
    if not kinds:
        return {}
    f = projection.functions
    sums: list[Any] = []
    for name, kind in kinds.items():
        column = columns[name]
        if kind == "date":
            fits = f.try_to_timestamp(column, f.lit("yyyy-MM-dd")).isNotNull()
        else:
            fits = column.rlike(_NUMBER)
        sums += [
            f.count(f.when(column.isNotNull() & ~test, f.lit(1)))
            for test in (fits, column.rlike(_WHOLE))
        ]
    named = [one.alias(f"s{i}") for i, one in enumerate(sums)]
    found = list(projection.table.agg(*named).collect()[0])
    for i, (name, kind) in enumerate(kinds.items()):
        if found[2 * i]:
            raise files.not_all(name, kind, found[2 * i])
    return {name: not found[2 * i + 1] for i, name in enumerate(kinds)}
