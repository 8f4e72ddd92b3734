"""Files to a pandas table: the cells of the columns that matter, the names of all others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from anonrisk.engines.pandas import read_text
from anonrisk.engines.reading import files
from anonrisk.errors import ArgumentError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted


# Where pandas keeps `attrs`, and with them declared roles, in a Parquet file.
DECLARED = b"PANDAS_ATTRS"
# Where Spark keeps the metadata of its columns there, and with them the same.
_OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_ROLES, _MARKS = "anonrisk", "anonrisk_perturbed"


def read(
    paths: Sequence[str] | list[Part],
    wanted: Wanted,
    text: TextFormat,
    *,
    format: str | None = None,  # noqa: A002
    progress: Callable[[int], None] = lambda _: None,
) -> pd.DataFrame:
    """Read a table from files, folders and patterns.

    Columns that are not wanted are in the table by name, without their cells: what is published
    counts, also where nobody measures it. Files that were found already are given as they are.
    """
    parts = [part for part in paths if isinstance(part, files.Part)]
    parts = parts or files.find([path for path in paths if isinstance(path, str)])
    kind = files.format_of(parts, format)
    if text.dtypes and kind != "csv":
        raise ArgumentError("--dtypes is for CSV: other files say themselves what their cells are")
    if kind == "parquet":
        return _parquet(parts, wanted, progress)
    reading = read_text.csv if kind == "csv" else read_text.json_lines
    columns, n_rows = reading(parts, wanted, text, progress)
    named = {i: _unread(n_rows) if cells is None else cells for i, (_, cells) in enumerate(columns)}
    frame = pd.DataFrame(named, index=pd.RangeIndex(n_rows))
    # By position until now: a file may have two columns of one name.
    frame.columns = pd.Index([name for name, _ in columns], dtype=object)
    return frame


class NotRead:
    """What stands in every cell of a column that was not read; an engine refuses to compare it."""


_NOT_READ = pd.Index([NotRead()], dtype=object)


def _unread(n_rows: int) -> Any:
    """A column of which only the name matters: one byte a row, and measuring it is an error."""
    return pd.Categorical.from_codes(np.zeros(n_rows, dtype=np.int8), categories=_NOT_READ)


def _parquet(
    parts: Sequence[Part], wanted: Wanted, progress: Callable[[int], None]
) -> pd.DataFrame:
    schemas = [_schema(part) for part in parts]
    names = [str(name) for name in schemas[0].names]
    for part, schema in zip(parts[1:], schemas[1:], strict=True):
        files.same_columns(parts[0], names, part, schema.names)
        for one in names:
            if not _same_type(schemas[0].field(one).type, schema.field(one).type):
                raise UnreadableTableError(
                    f"the files differ: column {one!r} has another type in {part.shown} than in "
                    f"{parts[0].shown}"
                )
    keys = list(parts[0].partitions)
    for key in keys:
        if key in names:
            raise files.in_folders_too(key)
    files.check_names(wanted, {}, [*names, *keys])
    attrs = _common_attrs(schemas)
    # What a struct holds is published by name too, whoever asks for it.
    chosen = [
        name
        for name in names
        if wanted.columns is None or name in wanted.columns or _is_nested(schemas[0], name)
    ]
    if attrs:
        # A table that says itself what its columns are is asked about all of them.
        chosen = names
    pieces, n_rows = [], 0
    for part in parts:
        piece = _piece(part, chosen)
        pieces.append(piece)
        n_rows += len(piece)
        progress(n_rows)
    frame = pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
    frame.attrs = attrs
    for one in names:
        if one not in chosen:
            frame[one] = _unread(n_rows)
    return frame


def _is_nested(schema: Any, name: str) -> bool:
    from pyarrow import types

    return bool(types.is_nested(schema.field(name).type))


def _piece(part: Part, chosen: list[str]) -> pd.DataFrame:
    """Read one file; what pandas calls an index is a column of the file like any other."""
    with files.readable(part, "Parquet"):
        from pyarrow import parquet

        read = parquet.read_table(part.path, columns=chosen, partitioning=None)
        # Arrow's own types are exact: whole numbers with missing ones would become floats.
        piece: pd.DataFrame = read.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
        piece = piece.set_axis(pd.RangeIndex(read.num_rows), axis=0)
    for key, value in part.partitions.items():
        piece[key] = pd.Series([value] * len(piece), dtype=object)
    return piece


def _common_attrs(schemas: Sequence[Any]) -> dict[Any, Any]:
    """Give what the files say of their columns, or refuse where one says less than another.

    Taking the word of one file would publish what another calls a name.
    """
    found = [attrs_of(schema) for schema in schemas]
    said = {_what_is_said(attrs) for attrs in found}
    if len(said) > 1:
        raise UnreadableTableError(
            f"the {len(found):,} files of this table declare different roles, or different columns "
            "that were changed at random; declare the roles of the whole table, or check the files "
            "one by one"
        )
    return found[0]


def _what_is_said(attrs: dict[Any, Any]) -> str:
    """Write down roles and marks so that equal ones look equal, in whatever order they are."""
    ours = {key: _in_order(attrs[key]) for key in attrs if str(key).startswith("anonrisk")}
    return json.dumps(ours, sort_keys=True)


def _in_order(stored: Any) -> Any:
    if isinstance(stored, dict):
        return {key: _in_order(value) for key, value in stored.items()}
    return sorted(stored, key=json.dumps) if isinstance(stored, list) else stored


def attrs_of(schema: Any) -> dict[Any, Any]:
    """Read what pandas or Spark noted of a table, as pandas would have kept it."""
    metadata = schema.metadata or {}
    try:
        attrs = json.loads(metadata.get(DECLARED, b"{}"))
        return {**_attrs_of_spark(json.loads(metadata.get(_OF_SPARK, b"{}"))), **attrs}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise UnreadableTableError("the roles that the file carries are damaged") from None


def _attrs_of_spark(row: dict[str, Any]) -> dict[str, Any]:
    """Read roles and marks that were declared on Spark, as pandas would have kept them."""
    fields = [(one["name"], one.get("metadata") or {}) for one in row.get("fields", ())]
    roles = {told[_ROLES] for _, told in fields if told.get(_ROLES)}
    marks = [[name, str(told[_MARKS])] for name, told in fields if _MARKS in told]
    if len(roles) > 1:
        raise ValueError
    attrs: dict[str, Any] = {_ROLES: json.loads(roles.pop())} if roles else {}
    return {**attrs, _MARKS: marks} if marks else attrs


def _schema(part: Part) -> Any:
    with files.readable(part, "Parquet"):
        from pyarrow import parquet

        schema = parquet.read_schema(part.path)
    repeated = [name for name in schema.names if schema.names.count(name) > 1]
    if repeated:
        raise UnreadableTableError(
            f"{part.shown} has more than one column called {repeated[0]!r}; "
            "give each column a name of its own"
        )
    return schema


def _same_type(one: Any, other: Any) -> bool:
    """Compare types; a dictionary is a way of storing, and a file may have no value at all."""
    from pyarrow import types

    plain = [t.value_type if types.is_dictionary(t) else t for t in (one, other)]
    return cast("bool", plain[0] == plain[1]) or any(types.is_null(t) for t in plain)
