"""Sources of Spark to a table, and a result to where Spark can write: for spark-submit jobs."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from anonrisk.engines.reading import files
from anonrisk.engines.spark import charsets, declared, lines, read_csv, read_json
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.typed import typed
from anonrisk.errors import ArgumentError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted

FORMATS = ("parquet", "delta", "csv", "json", "orc", "table")
# Sources that are files which Spark itself lists and reads, and those of them that are text.
_FILES = ("parquet", "csv", "json", "orc")
_TEXT = ("csv", "json")
# A cluster may be set to pass over what it cannot read, and people with it.
NOTHING_IGNORED = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
# Options by which files of a folder are passed over, and so is whoever is in them.
_PART = ("modifiedafter", "modifiedbefore", "pathglobfilter", "mapreduce.input.pathfilter.class")
# Options that say what folders are. What is said of text in any other way could make another table
# of it than files are without Spark.
_WHICH = ("basepath", "recursivefilelookup")
_SETTINGS = {
    # For views and sources that take no options of a reader.
    **{f"spark.sql.files.{key}": value for key, value in NOTHING_IGNORED.items()},
    # A folder zip=01234 stands for the text, not for 1234.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Else rows with too few or too many cells pass unseen where not all columns are used.
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    # Spark 4 would refuse most encodings, and stop at a byte that is no letter with an error that
    # may quote it; older versions do not have these.
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
}
# Two keys of JSON may differ by case alone; names of tables are another matter.
_CASES = "spark.sql.caseSensitive"


@contextmanager
def session(name: str) -> Iterator[SparkSession]:
    """Take the session that there is, or start one and stop it in the end."""
    with guarded("start"):
        from pyspark.sql import SparkSession

        running = SparkSession.getActiveSession()
        spark = running or SparkSession.builder.appName(name).getOrCreate()
        before = {key: spark.conf.get(key, None) for key in (*_SETTINGS, _CASES)}
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
                    if old is None:
                        spark.conf.unset(key)
                    else:
                        spark.conf.set(key, old)


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
    files.refuse_blank(paths)
    if len(set(paths)) < len(paths):
        # Every person in it would have a twin to hide behind.
        raise ArgumentError("a path of the table is named twice")
    _check_options(format, options)
    if format in _TEXT:
        # Refused by name before any work.
        charsets.java(text.encoding)
    with guarded(f"read the {format} source"):
        if format == "table":
            if len(paths) != 1:
                raise ArgumentError("give the name of one table")
            _refuse_ignoring(spark)
            return spark.read.options(**NOTHING_IGNORED).table(paths[0])
        if format in _FILES:
            options = _with_base(paths, options)
        if format in _TEXT:
            charsets.refuse_unknown(spark, text.encoding)
            every = {**NOTHING_IGNORED, **options}
            names = _listed(spark, paths, every)
            source = lines.TextSource(spark, paths, names, every, text.encoding)
            return _text(source, wanted, text, format)
        every = {**_options(format), **options}
        frame: DataFrame = spark.read.format(format).options(**every).load(list(paths))
        files.check_names(wanted, {}, frame.columns)
        if format in _FILES:
            names = _listed(spark, paths, every)
            _refuse_in_folders(spark, paths, every, format, _folders(paths, names, every))
            if format == "parquet":
                declared.refuse_different(spark, frame, names, every)
                frame = declared.of_pandas(frame, names)
        return frame


def local_files(frame: DataFrame, format: str) -> list[Part]:  # noqa: A002
    """List the files of a table that this machine can open; Spark may read them on another."""
    if format not in _FILES or not find_spec("pyarrow"):
        return []
    with guarded("list the files"):
        local = map(Path, declared.on_this_machine(frame.inputFiles()))
    return [files.Part(path) for path in local if path.is_file()]


def _text(
    source: lines.TextSource,
    wanted: Wanted,
    text: TextFormat,
    format: str,  # noqa: A002
) -> DataFrame:
    lines.refuse_foreign(source.names)
    folders = _folders(source.paths, source.names, source.options)
    if format == "csv":
        frame, n_inside = read_csv.read(source, wanted, text, folders)
    else:
        source.spark.conf.set(_CASES, "true")
        frame = read_json.read(source, wanted, folders)
        n_inside = len(frame.columns) - len(folders)
    return typed(frame, wanted, text, n_inside, csv=format == "csv")


def _check_options(format: str, options: Mapping[str, str]) -> None:  # noqa: A002
    for key, value in options.items():
        if key.casefold() in map(str.casefold, NOTHING_IGNORED):
            if value.casefold() != "false":
                raise ArgumentError(
                    f"--option {key}: a table of which a part is not read cannot pass"
                )
        elif key.casefold() in _PART:
            raise ArgumentError(
                f"--option {key}: a table of which a part is not read cannot pass; name the files, "
                "or give a path with a pattern, as data/*.parquet"
            )
        elif format in _TEXT and key.casefold() not in _WHICH:
            raise ArgumentError(
                f"--option {key}: {format} is read in one way only, as without Spark; "
                "--sep, --encoding, --na and --dtypes say how it is written"
            )


def _refuse_ignoring(spark: SparkSession) -> None:
    """Refuse tables of Hive where the cluster passes over files, which no session can change."""
    for key in NOTHING_IGNORED:
        setting = f"spark.files.{key}"
        if str(spark.conf.get(setting, "false")).casefold() == "true":
            raise UnreadableTableError(
                f"this cluster is started with {setting}=true: a table of which a part is not read "
                "cannot pass; start it without"
            )


def _with_base(paths: Sequence[str], options: Mapping[str, str]) -> dict[str, str]:
    """Let folders such as country=NL be a column also where they are named themselves."""
    base = None if "basepath" in map(str.casefold, options) else files.base_of(paths)
    return dict(options) if base is None else {**options, "basePath": base}


def _listed(spark: SparkSession, paths: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """List the files; refuse those that two paths lead to, and folders that Spark passes over."""
    # As text, because no schema is looked for then.
    reader = spark.read.format("text").options(**options)
    deep = spark.read.format("text").options(**{**options, "recursiveFileLookup": "true"})
    files.look_over(paths)
    found = reader.load(list(paths)).inputFiles()
    alone = {path: len(reader.load(path).inputFiles()) for path in paths}
    for path in [path for path, n_files in alone.items() if not n_files]:
        where = files.without_values(path)
        raise UnreadableTableError(
            f"Spark reads no file of {where!r}: it passes over names that begin with _ or a dot"
        )
    if sum(alone.values()) > len(found):
        raise ArgumentError("a file of the table is named twice, by more than one path")
    if len(deep.load(list(paths)).inputFiles()) > len(found):
        raise UnreadableTableError(
            "some files are in folders inside of the table's, which Spark passes over; name those "
            "folders, or say --option recursiveFileLookup=true"
        )
    return sorted(found)


def _folders(paths: Sequence[str], names: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """Give the columns that folders such as country=NL stand for."""
    told = {key.casefold(): value for key, value in options.items()}
    if told.get("recursivefilelookup", "false").casefold() == "true":
        return []
    base = [told["basepath"]] if "basepath" in told else paths
    given = {piece for path in base for piece in path.split("/")}
    pieces = [unquote(piece) for name in names for piece in name.split("/")[:-1]]
    keys = [piece.split("=")[0] for piece in pieces if "=" in piece and piece not in given]
    return list(dict.fromkeys(unquote(key) for key in keys))


def _refuse_in_folders(
    spark: SparkSession,
    paths: Sequence[str],
    options: Mapping[str, str],
    format: str,  # noqa: A002
    folders: Sequence[str],
) -> None:
    """Refuse columns that are in the folders as well: Spark takes what the folder says."""
    if not folders:
        return
    keys = {key.casefold() for key in folders}
    plain = {**options, "recursiveFileLookup": "true"}
    inside = spark.read.format(format).options(**plain).load(list(paths)).columns
    for name in inside:
        if name.casefold() in keys:
            raise files.in_folders_too(name)


def write(spark: SparkSession, text: str, path: str) -> None:
    """Write a text to a folder of any file system that Spark knows, as one file."""
    with guarded("write the result"):
        from pyspark.sql import functions as f

        one = spark.range(1, numPartitions=1).select(f.lit(text).alias("value"))
        one.write.mode("overwrite").text(path)


def _options(format: str) -> dict[str, str]:  # noqa: A002
    if format not in _FILES:
        return {}
    return {**NOTHING_IGNORED, **({"mergeSchema": "true"} if format == "parquet" else {})}
