"""Sources of Spark to a table, a result to where Spark can write, and micro-batches."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anonrisk.core.column_roles import Roles
from anonrisk.engines.reading import files
from anonrisk.engines.spark import lines, read_text, schema
from anonrisk.engines.spark.jobs import collect, count, guarded, run
from anonrisk.engines.spark.project import Projection
from anonrisk.errors import ArgumentError, RoleConflictError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted


_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_WHOLE = r"^[+-]?[0-9]{1,18}\z"


def typed(
    frame: DataFrame, wanted: Wanted, text: TextFormat, n_inside: int, *, csv: bool
) -> DataFrame:
    """Make texts that mean missing so, and numbers of what the caller takes for numbers.

    Only the first `n_inside` columns are in the files; the others are folders.
    """
    projection = Projection.of(frame)
    f = projection.functions
    markers = ["", *text.na] if csv else list(text.na)
    kinds = dict.fromkeys(wanted.numbers, "number") if csv else {}
    kinds.update(text.dtypes)
    cells: list[Column] = []
    for position, field in enumerate(projection.fields):
        column = f.col(f"c{position}")
        missing = markers if position < n_inside else [""]
        if missing and field.dataType.typeName() == "string":
            column = f.when(~column.isin(missing), column)
        cells.append(column)
    names = projection.names
    # Of several columns with one name none can be asked for.
    columns = dict(zip(names, cells, strict=True))
    wrong = {name: kind for name, kind in kinds.items() if kind != "text" and name in columns}
    whole = _check(projection, columns, wrong, scales=wanted.numbers)
    for name, kind in wrong.items():
        if kind == "date":
            columns[name] = f.to_date(columns[name], "yyyy-MM-dd")
        else:
            columns[name] = columns[name].cast("bigint" if whole[name] else "double")
    pairs = zip(names, cells, strict=True)
    changed = [columns[name] if name in wrong else cell for name, cell in pairs]
    return projection.table.select(*changed).toDF(*names)


def _check(
    projection: Projection,
    columns: Mapping[str, Column],
    kinds: Mapping[str, str],
    scales: Collection[str],
) -> dict[str, bool]:
    """Reject cells that are not what they should be, in one pass; tell which are all whole.

    What is measured on a scale, as a weight, need not be told apart by its last digits.
    """
    if not kinds:
        return {}
    f = projection.functions
    sums: list[Any] = []
    for name, kind in kinds.items():
        column = columns[name]
        if kind == "date":
            # The parser of a session may take what follows a date.
            written = f.when(column.rlike(_DAY), column)
            fits = f.try_to_timestamp(written, f.lit("yyyy-MM-dd")).isNotNull()
            exact = f.lit(True)  # noqa: FBT003
        else:
            fits = column.rlike(_NUMBER)
            exact = lines.is_float(f, f.when(fits, column))
        sums += [
            f.count(f.when(column.isNotNull() & ~test, f.lit(1)))
            for test in (fits, column.rlike(_WHOLE), exact)
        ]
    named = [item.alias(f"s{i}") for i, item in enumerate(sums)]
    results = list(collect(projection.table.agg(*named))[0])
    whole = {}
    for i, (name, kind) in enumerate(kinds.items()):
        others, broken, lost = results[3 * i : 3 * i + 3]
        if others:
            raise files.not_all(name, kind, others)
        if kind == "number" and broken and lost and name not in scales:
            raise files.not_exact(name, lost)
        whole[name] = not broken
    return whole


_ROLES, _MARKS = "anonrisk", "anonrisk_perturbed"
# Each costs a look at the end of one file.
_MOST = 500
# Spark calls the files of one writing alike, but for their number.
_WRITTEN = re.compile(
    r"part-[0-9]+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[^/]*\Z", re.IGNORECASE
)


def refuse_different(
    spark: SparkSession, frame: DataFrame, names: Sequence[str], options: Mapping[str, str]
) -> None:
    """Reject a table of which one file says less of its columns than another.

    Spark takes the word of one of them, and would publish what another calls a name.
    """
    writings = {_writing(name): name for name in names}
    if len(writings) < 2:
        return
    plain = {**options, "mergeSchema": "false", "recursiveFileLookup": "true"}
    reader = spark.read.format("parquet").options(**plain)
    looked_at = list(writings.values())[:_MOST]
    said = {_said(reader.load(_exact(name)).schema) for name in looked_at}
    if len(said) > 1:
        raise UnreadableTableError(
            f"the {len(names):,} files of this table declare different roles, or different columns "
            "that were changed at random; declare the roles of the whole table, or check the files "
            "one by one"
        )
    if len(writings) > _MOST and (said | {_said(frame.schema)}) != {_said(None)}:
        raise UnreadableTableError(
            f"the table was written in {len(writings):,} times, more than the {_MOST} that can be "
            "compared for their roles"
            "; write it anew, or without roles"
        )


def on_this_machine(names: Sequence[str]) -> list[str]:
    """List the paths of those files that Spark does not read from elsewhere."""
    return [unquote(name.removeprefix("file:")) for name in names if name.startswith("file:")]


def of_pandas(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Take over the roles that pandas wrote into files of this machine, which Spark overlooks.

    Of files elsewhere nobody but Spark sees anything.
    """
    local = on_this_machine(names)
    result = {_attrs(name) for name in local[:_MOST]}
    if result <= {_attrs(None)} or _said(frame.schema) != _said(None):
        return frame
    (attrs,) = result if len(result) == 1 else (None,)
    stored = {} if attrs is None else json.loads(attrs)
    if _ROLES not in stored or _MARKS in stored or len(local) > _MOST:
        raise UnreadableTableError(
            f"the {len(names):,} files of this table declare different roles, or columns that were "
            "changed at random; declare the roles of the whole table, or check the files one by one"
        )
    return schema.write_roles(frame, Roles.from_dict(stored[_ROLES]))


def _attrs(name: str | None) -> str:
    """Write down what pandas keeps of ours at the end of a file; nothing if it cannot be read."""
    try:
        from pyarrow import parquet

        metadata = {} if name is None else parquet.read_schema(name).metadata or {}
        attrs = json.loads(metadata.get(b"PANDAS_ATTRS", b"{}"))
    except (ImportError, OSError, ValueError):
        attrs = {}
    ours = {key: attrs[key] for key in (_ROLES, _MARKS) if attrs.get(key)}
    return json.dumps(ours, sort_keys=True)


def _writing(name: str) -> str:
    """Return of which writing a file is: those of one have the same columns and roles."""
    result = _WRITTEN.search(name)
    return name if result is None else result[1]


def _exact(name: str) -> str:
    """Write the path of one file so that no letter of it is taken for a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", unquote(name))


def _said(schema: Any) -> str:
    """Write down roles and marks so that equal ones look equal, whichever columns carry them."""
    fields = [] if schema is None else schema.fields
    stated = {_in_order(summary) for field in fields if (summary := field.metadata.get(_ROLES))}
    marks = {field.name: summary for field in fields if (summary := field.metadata.get(_MARKS))}
    return json.dumps([sorted(stated), marks], sort_keys=True)


def _in_order(text: str) -> str:
    try:
        stored = json.loads(text)
    except ValueError:
        return text
    return json.dumps(
        {
            key: sorted(value, key=json.dumps) if isinstance(value, list) else value
            for key, value in dict(stored).items()
        },
        sort_keys=True,
    )


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
    files.refuse_ignored(format, text)
    files.refuse_blank(paths)
    if len(set(paths)) < len(paths):
        # Every person in it would have a twin to hide behind.
        raise ArgumentError("a path of the table is named twice")
    _check_options(format, options)
    if format in _TEXT:
        # Refused by name before any work.
        lines.java_charset(text.encoding)
    with guarded(f"read the {format} source"):
        if format == "table":
            if len(paths) != 1:
                raise ArgumentError("give the name of one table")
            _refuse_ignoring(spark)
            return spark.read.options(**NOTHING_IGNORED).table(paths[0])
        if format in _FILES:
            options = _with_base(paths, options)
        if format in _TEXT:
            lines.refuse_unknown_charset(spark, text.encoding)
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
                refuse_different(spark, frame, names, every)
                frame = of_pandas(frame, names)
        return frame


def local_files(frame: DataFrame, format: str) -> list[Part]:  # noqa: A002
    """List the files of a table that this machine can open; Spark may read them on another."""
    if format not in _FILES or not find_spec("pyarrow"):
        return []
    with guarded("list the files"):
        local = map(Path, on_this_machine(frame.inputFiles()))
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
        frame, n_inside = read_text.read_csv(source, wanted, text, folders)
    else:
        source.spark.conf.set(_CASES, "true")
        frame = read_text.read_json(source, wanted, folders)
        n_inside = len(frame.columns) - len(folders)
    return typed(frame, wanted, text, n_inside, csv=format == "csv")


def _check_options(format: str, options: Mapping[str, str]) -> None:  # noqa: A002
    for key, value in options.items():
        if key.casefold() in map(str.casefold, NOTHING_IGNORED):
            if value.casefold() != "false":
                raise ArgumentError(f"--option {key}: a table that is only partly read cannot pass")
        elif key.casefold() in _PART:
            raise ArgumentError(
                f"--option {key}: a table that is only partly read cannot pass; name the files, "
                "or give a path with a pattern, as data/*.parquet"
            )
        elif format in _TEXT and key.casefold() not in _WHICH:
            raise ArgumentError(
                f"--option {key}: {format} is read in one way only, as without Spark; "
                "--sep, --encoding, --na and --dtypes say how it is written"
            )


def _refuse_ignoring(spark: SparkSession) -> None:
    """Reject tables of Hive where the cluster passes over files, which no session can change."""
    for key in NOTHING_IGNORED:
        setting = f"spark.files.{key}"
        if str(spark.conf.get(setting, "false")).casefold() == "true":
            raise UnreadableTableError(
                f"this cluster is started with {setting}=true: a table that is only partly read "
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
    result = reader.load(list(paths)).inputFiles()
    alone = {path: len(reader.load(path).inputFiles()) for path in paths}
    for path in [path for path, n_files in alone.items() if not n_files]:
        where = files.without_values(path)
        raise UnreadableTableError(
            f"Spark reads no file of {where!r}: it skips names that begin with _ or a dot"
        )
    if sum(alone.values()) > len(result):
        raise ArgumentError("a file of the table is named twice, by more than one path")
    if len(deep.load(list(paths)).inputFiles()) > len(result):
        raise UnreadableTableError(
            "some files are in subfolders of the table's folder, which Spark skips; name those "
            "folders, or say --option recursiveFileLookup=true"
        )
    return sorted(result)


def _folders(paths: Sequence[str], names: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """Return the columns that folders such as country=NL stand for."""
    fields = {key.casefold(): value for key, value in options.items()}
    if fields.get("recursivefilelookup", "false").casefold() == "true":
        return []
    base = [fields["basepath"]] if "basepath" in fields else paths
    argument = {piece for path in base for piece in path.split("/")}
    pieces = [unquote(piece) for name in names for piece in name.split("/")[:-1]]
    keys = [piece.split("=")[0] for piece in pieces if "=" in piece and piece not in argument]
    return list(dict.fromkeys(unquote(key) for key in keys))


def _refuse_in_folders(
    spark: SparkSession,
    paths: Sequence[str],
    options: Mapping[str, str],
    format: str,  # noqa: A002
    folders: Sequence[str],
) -> None:
    """Reject columns that are in the folders as well: Spark takes what the folder says."""
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

        item = spark.range(1, numPartitions=1).select(f.lit(text).alias("value"))
        run(spark, lambda: item.write.mode("overwrite").text(path))


def _options(format: str) -> dict[str, str]:  # noqa: A002
    if format not in _FILES:
        return {}
    return {**NOTHING_IGNORED, **({"mergeSchema": "true"} if format == "parquet" else {})}


# The folder of a batch, which is a column for whoever reads all of them.
COLUMN = "batch_id"


def place_of(root: str, batch_id: int) -> str:
    """Name the folder of a batch."""
    return f"{root.rstrip('/')}/{COLUMN}={batch_id}"


def stored(batch: DataFrame, place: str) -> DataFrame:
    """Write a batch in place of an earlier attempt, and give what was written.

    A batch is a recipe: computed once more it may be another one than was checked.
    """
    if COLUMN in batch.columns:
        raise RoleConflictError(
            f"column {COLUMN!r} would be lost: folders of batches have that name; rename it first"
        )
    with guarded("store a batch"):
        _write(schema.without_other_notes(batch), place)
        return batch.sparkSession.read.options(**NOTHING_IGNORED).parquet(place)


def n_rows(batch: DataFrame) -> int:
    """Count the rows of a batch that was stored."""
    with guarded("count the rows of a batch"):
        return count(batch)


def emptied(batch: DataFrame, place: str) -> None:
    """Leave a folder that has the columns of a batch and none of its rows."""
    with guarded("empty the folder of a batch"):
        _write(schema.without_other_notes(batch).limit(0), place)


def _write(table: DataFrame, place: str) -> None:
    run(table.sparkSession, lambda: table.write.mode("overwrite").parquet(place))
