"""Files that name types, Parquet foremost: their columns, and what they say of these."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading import files
from anonrisk.errors import UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.engines.reading.files import Part, Wanted

# Where pandas keeps `attrs`, and with them declared roles, in a Parquet file.
DECLARED = b"PANDAS_ATTRS"
# Where Spark keeps the metadata of its columns there, and with them the same.
OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_ROLES, _MARKS = "anonrisk", "anonrisk_perturbed"
_FIRST_FEATHER = b"FEA1"
# All that the library keeps in `attrs`; the last lists the columns when the first mark was made.
OURS = (_ROLES, _MARKS, "anonrisk_perturbed_among")


@dataclass(frozen=True)
class ParquetFiles:
    """Files of one table.

    Attributes
    ----------
    parts : sequence of Part
        The files.
    schemas : sequence of pyarrow.Schema
        The columns of each; the names are the same, if in another order.
    attrs : dict
        What all files say of their columns, as pandas keeps it.
    """

    parts: Sequence[Part]
    schemas: Sequence[Any]
    attrs: dict[Any, Any]

    @property
    def names(self) -> list[str]:
        """The columns in the files, in the order of the first one."""
        return [str(name) for name in self.schemas[0].names]

    @property
    def folders(self) -> list[str]:
        """The columns that folders stand for."""
        return list(self.parts[0].partitions)

    def chosen(self, wanted: Wanted) -> list[str]:
        """List the columns in the files that matter."""
        if wanted.columns is None or self.attrs:
            # A table that says itself what its columns are is asked about all of them.
            return self.names
        # What a struct holds is published by name too, whoever asks for it.
        return [
            name
            for name in self.names
            if name in wanted.columns or is_nested(self.schemas[0].field(name).type)
        ]


def opened(parts: Sequence[Part], wanted: Wanted, kind: str = "parquet") -> ParquetFiles:
    """Look at the columns of files; refuse those that are not of one table."""
    parquet_files = ParquetFiles(parts, [_schema(part, kind) for part in parts], {})
    names, first = parquet_files.names, parquet_files.schemas[0]
    for part, schema in zip(parts[1:], parquet_files.schemas[1:], strict=True):
        files.same_columns(parts[0], names, part, schema.names)
        for name in names:
            if not _same_type(first.field(name).type, schema.field(name).type):
                raise UnreadableTableError(
                    f"the files differ: column {name!r} has a different type in {part.shown} than "
                    f"in {parts[0].shown}"
                )
    for key in parquet_files.folders:
        if key in names:
            raise files.in_folders_too(key)
    files.check_names(wanted, {}, [*names, *parquet_files.folders])
    return replace(parquet_files, attrs=_common_attrs(parquet_files.schemas))


def is_nested(kind: Any) -> bool:
    """Return whether the cells of a type hold others."""
    from pyarrow import types

    return bool(types.is_nested(kind))


def _common_attrs(schemas: Sequence[Any]) -> dict[Any, Any]:
    """Return what the files say of their columns, or refuse where one says less than another.

    Taking the word of one file would publish what another calls a name.
    """
    results = [attrs_of(schema) for schema in schemas]
    said = {_what_is_said(attrs) for attrs in results}
    if len(said) > 1:
        raise UnreadableTableError(
            f"the {len(results):,} files of this table declare different roles, or different "
            "columns that were changed at random; declare the roles of the whole table, or check "
            "the files one by one"
        )
    return results[0]


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
        return {**_attrs_of_spark(json.loads(metadata.get(OF_SPARK, b"{}"))), **attrs}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise UnreadableTableError("the roles that the file carries are damaged") from None


def _attrs_of_spark(row: dict[str, Any]) -> dict[str, Any]:
    """Read roles and marks that were declared on Spark, as pandas would have kept them."""
    fields = [(item["name"], item.get("metadata") or {}) for item in row.get("fields", ())]
    roles = {field[_ROLES] for _, field in fields if field.get(_ROLES)}
    marks = [[name, str(field[_MARKS])] for name, field in fields if _MARKS in field]
    if len(roles) > 1:
        raise ValueError
    attrs: dict[str, Any] = {_ROLES: json.loads(roles.pop())} if roles else {}
    return {**attrs, _MARKS: marks} if marks else attrs


def read(part: Part, kind: str, columns: list[str]) -> Any:
    """Read some columns of a file, as an Arrow table."""
    if kind == "feather":
        return open_feather(part).read_all().select(columns)
    if kind == "orc":
        from pyarrow import orc

        return orc.ORCFile(part.path).read(columns)
    from pyarrow import parquet

    return parquet.read_table(part.path, columns=columns, partitioning=None)


def open_feather(part: Part) -> Any:
    """Open a file of Arrow; the first version of Feather shows less than it holds."""
    import pyarrow as pa

    with part.path.open("rb") as file:
        if file.read(len(_FIRST_FEATHER)) == _FIRST_FEATHER:
            raise UnreadableTableError(
                f"{part.shown} is of the first version of Feather, which may hold more than it "
                "shows; write it anew: anonrisk clean IN OUT"
            )
    return pa.ipc.open_file(pa.memory_map(str(part.path)))


def _schema(part: Part, kind: str) -> Any:
    with files.readable(part, files.TITLES[kind]):
        if kind == "feather":
            schema = open_feather(part).schema
        elif kind == "orc":
            from pyarrow import orc

            schema = orc.ORCFile(part.path).schema
        else:
            from pyarrow import parquet

            schema = parquet.read_schema(part.path)
    repeated = [name for name in schema.names if schema.names.count(name) > 1]
    if repeated:
        raise UnreadableTableError(
            f"{part.shown} has more than one column called {repeated[0]!r}; "
            "give each column a name of its own"
        )
    return schema


def _same_type(item: Any, other: Any) -> bool:
    """Compare types; a dictionary is a way of storing, and a file may have no value at all."""
    from pyarrow import types

    plain = [stored_type(t) for t in (item, other)]
    return cast("bool", plain[0] == plain[1]) or any(types.is_null(t) for t in plain)


def stored_type(kind: Any) -> Any:
    """Return the type of the values, where a dictionary is a way of storing them."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind
