"""Metadata that files of tables carry: which of it is known, and what is left when it is not.

The known keys stand here and nowhere else. What a key holds is looked at too: a text that no writer
writes there is as unknown as the key would be.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from anonrisk.engines.reading.parquet_files import DECLARED, OF_SPARK, OURS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ARROW_SCHEMA, _OF_PANDAS = b"ARROW:schema", b"pandas"
_WORD = re.compile(r"[\w.+/:;-]{0,64}", re.ASCII)
# Keys of a file, or of a field, that hold short words of the writer: versions, zones, places.
_WORDS = (
    b"org.apache.spark.version",
    b"org.apache.spark.timeZone",
    b"org.apache.spark.legacyDateTime",
    b"org.apache.spark.legacyINT96",
    b"PARQUET:field_id",
    b"_PL_CATEGORICAL",
    b"_PL_CATEGORICAL2",
    b"ARROW:extension:name",
    b"spark.sql.catalyst.type",
)
# Types that Arrow and pandas define; what belongs to one is a unit or a shape.
_TYPES = re.compile(rb"(arrow|pandas)\.\w+")
_TYPE_NAME, _TYPE_NOTE = b"ARROW:extension:name", b"ARROW:extension:metadata"
# What the note of pandas has, and what it has for each column.
_PANDAS = frozenset(
    ("index_columns", "column_indexes", "columns", "creator", "pandas_version", "partition_columns")
)
_PANDAS_COLUMN = frozenset(("name", "field_name", "pandas_type", "numpy_type", "metadata"))
_PANDAS_TYPE = frozenset(
    ("encoding", "num_categories", "ordered", "precision", "scale", "timezone", "unit")
)
_PANDAS_RANGE = frozenset(("kind", "name", "start", "stop", "step"))
_CREATOR = frozenset(("library", "version"))
_ATTRIBUTES = "attributes"
# What Spark notes of a column beside our roles and marks: the length of CHAR and VARCHAR.
_SPARK_FIELD = frozenset((*OURS, "__CHAR_VARCHAR_TYPE_STRING"))


def kept(metadata: Mapping[bytes, bytes] | None) -> dict[bytes, bytes]:
    """Give what may stay of the metadata of a file or a field: what is known of it.

    What a file holds of its own Arrow schema is left out, because a writer writes it anew.
    """
    told = dict(metadata or {})
    whole = {key: _left(key, value, told) for key, value in told.items() if key != _ARROW_SCHEMA}
    return {key: value for key, value in whole.items() if value is not None}


def unknown_keys(metadata: Mapping[bytes, bytes] | None) -> Iterator[str]:
    """Name the keys of metadata of which something is not known."""
    told = dict(metadata or {})
    for key, value in told.items():
        if key == _ARROW_SCHEMA:
            yield from _in_schema(value)
        elif not _same(key, _left(key, value, told), value):
            yield key.decode("utf-8", "backslashreplace")


def unknown_of_fields(schema: Any) -> Iterator[str]:
    """Name the keys of the fields of an Arrow schema, nested ones too, that are not known."""
    for field in schema:
        for key in unknown_keys(field.metadata):
            yield f"{field.name}: {key}"
        yield from (f"{field.name}.{one}" for one in unknown_of_fields(fields_of(field.type)))


def fields_of(kind: Any) -> list[Any]:
    """List the fields inside a type, also inside a dictionary and an extension."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return fields_of(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return fields_of(kind.value_type)
    return [kind.field(i) for i in range(kind.num_fields)] if pa.types.is_nested(kind) else []


def _in_schema(stored: bytes) -> Iterator[str]:
    """Look into the Arrow schema that a Parquet file carries, whole: nothing may follow it."""
    import pyarrow as pa

    name = _ARROW_SCHEMA.decode()
    try:
        message = base64.b64decode(stored, validate=True)
        schema = pa.ipc.read_schema(pa.py_buffer(message))
    except (ValueError, pa.ArrowException):
        yield name
        return
    yield from unknown_keys(schema.metadata)
    yield from unknown_of_fields(schema)


def _left(key: bytes, value: bytes, beside: Mapping[bytes, bytes]) -> bytes | None:
    """Give what of the value of one key is known; None where nothing is."""
    if key in _WORDS:
        text = value.decode("utf-8", "replace")
        return value if _WORD.fullmatch(text) else None
    if key == _TYPE_NOTE:
        return value if _TYPES.fullmatch(beside.get(_TYPE_NAME, b"")) else None
    part = _PARTS.get(key)
    if part is None:
        return None
    try:
        return json.dumps(part(json.loads(value))).encode()
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


def _same(key: bytes, left: bytes | None, value: bytes) -> bool:
    """Tell whether all is left; JSON may be written in more than one way."""
    if left is None or left == value:
        return left == value
    return key in _PARTS and bool(json.loads(left) == json.loads(value))


def _attrs(stored: dict[str, Any]) -> dict[str, Any]:
    """Keep the roles and marks of ours."""
    return {key: value for key, value in stored.items() if key in OURS}


def _pandas(stored: dict[str, Any]) -> dict[str, Any]:
    """Keep what pandas says of its columns and its index, which are names and types."""
    told = {key: value for key, value in stored.items() if key in _PANDAS}
    for listed in ("columns", "column_indexes"):
        if listed in told:
            told[listed] = [_pandas_column(one) for one in told[listed]]
    if "index_columns" in told:
        told["index_columns"] = [
            _only(one, _PANDAS_RANGE) if isinstance(one, dict) else str(one)
            for one in told["index_columns"]
        ]
    if told.get("creator") is not None:
        told["creator"] = _only(told["creator"], _CREATOR)
    if _ATTRIBUTES in stored:
        told[_ATTRIBUTES] = _attrs(stored[_ATTRIBUTES])
    return told


def _pandas_column(stored: dict[str, Any]) -> dict[str, Any]:
    told = _only(stored, _PANDAS_COLUMN)
    if told.get("metadata") is not None:
        told["metadata"] = _only(told["metadata"], _PANDAS_TYPE)
    return told


def _only(stored: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in stored.items() if key in known}


def _spark(stored: Any) -> Any:
    """Keep the types of Spark's columns, and the known notes on them, nested ones too."""
    if isinstance(stored, list):
        return [_spark(one) for one in stored]
    if not isinstance(stored, dict):
        return stored
    told = {key: _spark(value) for key, value in stored.items() if key != "metadata"}
    if "metadata" in stored:
        told["metadata"] = _only(stored["metadata"], _SPARK_FIELD)
    return told


_PARTS: dict[bytes, Callable[[Any], Any]] = {
    DECLARED: _attrs,
    _OF_PANDAS: _pandas,
    OF_SPARK: _spark,
}
