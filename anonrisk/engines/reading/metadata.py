"""Metadata that files of tables carry: which of it is known, and what is left when it is not.

The known keys stand here and nowhere else. What a key holds is looked at too: a text that no writer
writes there is as unknown as the key would be.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading.parquet_files import DECLARED, OF_SPARK, OURS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


# A text that looks like none of them may be anybody's, whatever it is called.

_VERSION = re.compile(
    r"v?\d{1,4}(\.\d{1,4}){0,7}([.-]?(a|b|rc|dev|post|preview|amzn|cdh|SNAPSHOT)[.-]?\d{0,4}){0,2}"
)
_OFFSET = re.compile(r"(UTC|GMT|UT|Z)?([+-]\d{1,2}(:?\d\d){0,2})?")
_UNITS = frozenset(("s", "ms", "us", "ns"))
_CLOSED = frozenset(("left", "right", "both", "neither"))
_FREQUENCY = re.compile(
    r"\d{0,3}((A|Y|Q|BQ|BY|BA)([SE]?-[A-Z]{3})?|W(-[A-Z]{3})?|[ABCDHLMNQSTUY]|h|min|s|ms|us|ns)"
)
_BREAKS = re.compile(r"[\s<>\[\](),:;=]+")
# Words of the types of numpy, pandas, Arrow and Spark.
_TYPES = frozenset(
    _BREAKS.split("""
    bool boolean Boolean int int8 int16 int32 int64 Int8 Int16 Int32 Int64 integer byte short long
    uint uint8 uint16 uint32 uint64 UInt8 UInt16 UInt32 UInt64 float float16 float32 float64 Float32
    Float64 floating halffloat double decimal decimal32 decimal64 decimal128 decimal256 complex
    complex64 complex128 object str string String python pyarrow pyarrow_numpy large_string
    string_view unicode bytes binary large_binary binary_view fixed_size_binary char varchar collate
    UTF8_BINARY UTF8_LCASE UNICODE UNICODE_CI date date32 date64 day days time time32 time64
    datetime datetimetz datetime64 timestamp timestamp_ntz timestamp_ltz tz timedelta timedelta64
    duration period interval month_day_nano_interval calendarinterval year month hour minute second
    to category categorical dictionary values indices ordered Sparse nan list large_list
    fixed_size_list item element array map key value entries struct null not void empty variant
    mixed mixed-integer mixed-integer-float extension
    """)
)
_NUMBER = re.compile(r"-?\d{1,4}")


@dataclass(frozen=True)
class FileColumns:
    """The names of a file: of its columns, and of these and whatever is inside of them."""

    top: frozenset[str] = frozenset()
    every: frozenset[str] = frozenset()
    _words: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        words = {word for name in self.every for word in _BREAKS.split(name)}
        object.__setattr__(self, "_words", frozenset(words))

    @classmethod
    def of(cls, names: Iterable[str], inside: Iterable[str]) -> FileColumns:
        """Return the names of columns, and of what is inside of them."""
        top = frozenset(names)
        return cls(top, top | frozenset(inside))

    def is_type(self, summary: Any) -> bool:
        """Return whether a text is a type: known words, small numbers, zones, names of the file.

        Examples
        --------
        >>> FileColumns().is_type("datetime64[ns, Europe/Paris]"), FileColumns().is_type("Ann")
        (True, False)
        """
        return isinstance(summary, str) and all(map(self._is_word, _BREAKS.split(summary)))

    def _is_word(self, word: str) -> bool:
        return (
            word in _TYPES
            or word in _UNITS
            or word in _CLOSED
            or word in self._words
            or _NUMBER.fullmatch(word) is not None
            or is_frequency(word)
            or is_zone(word)
        )


def is_version(summary: Any) -> bool:
    """Return whether a text is a version.

    Examples
    --------
    >>> [is_version(one) for one in ("4.1.0-SNAPSHOT", "3.0.0rc1", "Ann", "0612345678")]
    [True, True, False, False]
    """
    return isinstance(summary, str) and _VERSION.fullmatch(summary) is not None


def is_zone(summary: Any) -> bool:
    """Return whether a text is a zone of time, or a distance from one."""
    return isinstance(summary, str) and (bool(_OFFSET.fullmatch(summary)) or summary in _zones())


def is_frequency(summary: Any) -> bool:
    """Return whether a text is a frequency of pandas."""
    return isinstance(summary, str) and _FREQUENCY.fullmatch(summary) is not None


def is_number(summary: Any) -> bool:
    """Return whether something is a whole number, or a yes or no."""
    return isinstance(summary, int)


def fits(stored: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what is known of a document by its key, and says what it may; nothing is always known.

    Examples
    --------
    >>> fits({"version": "1.0", "by": "Ann"}, {"version": is_version})
    {'version': '1.0'}
    """
    return {
        key: value
        for key, value in stored.items()
        if key in known and (value is None or known[key](value))
    }


@cache
def _zones() -> frozenset[str]:
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


# What pandas notes of the cells of a column.
OF_CELLS = {
    "encoding": lambda note: note == "UTF-8",
    "num_categories": is_number,
    "ordered": is_number,
    "precision": is_number,
    "scale": is_number,
    "timezone": is_zone,
    "unit": _UNITS.__contains__,
}
_NUMBERS = {
    key: lambda numbers: all(number is None or is_number(number) for number in numbers)
    for key in ("shape", "uniform_shape", "permutation")
}
# Types that Arrow, pandas and others define, and what belongs to each: a unit or a shape.
EXTENSIONS: dict[str, dict[str, Any]] = {
    **{f"arrow.{name}": {} for name in ("json", "uuid", "bool8", "parquet.variant")},
    **{f"arrow.{name}_shape_tensor": _NUMBERS for name in ("fixed", "variable")},
    **{f"geoarrow.{name}": {} for name in ("wkb", "wkt", "point", "linestring", "polygon")},
    **{f"geoarrow.multi{name}": {} for name in ("point", "linestring", "polygon")},
    "pandas.period": {"freq": is_frequency},
    "pandas.interval": {"subtype": FileColumns().is_type, "closed": _CLOSED.__contains__},
}


_ARROW_SCHEMA, _OF_PANDAS = b"ARROW:schema", b"pandas"
_TYPE_NAME, _TYPE_NOTE = b"ARROW:extension:name", b"ARROW:extension:metadata"
# Keys of a file, or of a field, and what the text of each may be.
_TEXTS: dict[bytes, Callable[[str], bool]] = {
    b"org.apache.spark.version": is_version,
    b"org.apache.spark.timeZone": is_zone,
    b"org.apache.spark.legacyDateTime": lambda text: not text,
    b"org.apache.spark.legacyINT96": lambda text: not text,
    b"PARQUET:field_id": lambda text: re.fullmatch(r"-?\d{1,10}", text) is not None,
    b"_PL_CATEGORICAL": lambda text: text in ("", "lexical", "physical"),
    # Sizes of its two names, which are free, its type and the names.
    b"_PL_CATEGORICAL2": lambda text: re.fullmatch(r"0;0;u(8|16|32);", text) is not None,
    _TYPE_NAME: EXTENSIONS.__contains__,
    b"spark.sql.catalyst.type": FileColumns().is_type,
}
_CREATOR = {"library": ("pyarrow", "fastparquet").__contains__, "version": is_version}
_RANGE = {
    "kind": lambda note: note == "range",
    **dict.fromkeys(("start", "stop", "step"), is_number),
}
_ATTRIBUTES = "attributes"
# What is inside of a list or a map has no name of its own; Parquet and Arrow give it others.
_ITEMS = frozenset(("item", "element", "array", "list", "entries", "key_value", "key", "value"))
# What Spark has for each kind of type beside the types inside of it, and classes of its own.
_FLAGS = ("nullable", "containsNull", "valueContainsNull")
_INSIDE = ("type", "elementType", "keyType", "valueType", "sqlType")
_NESTED = ("struct", "array", "map", "udt")
_CLASS = re.compile(r"(org\.apache\.spark|pyspark)\.ml(lib)?\.linalg\.(Vector|Matrix)UDT")
# What Spark notes of a column beside our roles and marks: the length of CHAR and VARCHAR.
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"


def columns_of(schema: Any, folders: Iterable[str] = ()) -> FileColumns:
    """Return the names that metadata of a file may say: of its columns and of its folders."""
    return FileColumns.of((*schema.names, *folders), _names_in(schema))


def kept(
    metadata: Mapping[bytes, bytes] | None, columns: FileColumns | None = None
) -> dict[bytes, bytes]:
    """Return what may stay of the metadata of a file or a field: what is known of it.

    What a file holds of its own Arrow schema is left out, because a writer writes it anew.
    """
    fields = dict(metadata or {})
    whole = {
        key: _left(key, value, fields, columns or FileColumns())
        for key, value in fields.items()
        if key != _ARROW_SCHEMA
    }
    return {key: value for key, value in whole.items() if value is not None}


def unknown_keys(
    metadata: Mapping[bytes, bytes] | None, columns: FileColumns | None = None
) -> Iterator[str]:
    """Name the keys of metadata of which something is not known."""
    summary, names = dict(metadata or {}), columns or FileColumns()
    for key, value in summary.items():
        if key == _ARROW_SCHEMA:
            yield from _in_schema(value, names)
        elif not _same(key, _left(key, value, summary, names), value):
            yield key.decode("utf-8", "backslashreplace")


def unknown_of_fields(schema: Any) -> Iterator[str]:
    """Name the keys of the fields of an Arrow schema, nested ones too, that are not known."""
    for part in schema:
        for key in unknown_keys({**(part.metadata or {}), **_of_type(part.type)}):
            yield f"{part.name}: {key}"
        yield from (f"{part.name}.{key}" for key in unknown_of_fields(fields_of(part.type)))


def is_known(kind: Any) -> bool:
    """Return whether nothing is said of a type of others but what is known of it."""
    return not any(unknown_keys(_of_type(kind)))


def _of_type(kind: Any) -> dict[bytes, bytes]:
    """Return what a file says of a type of others, which Arrow takes out of the metadata."""
    import pyarrow as pa

    if not isinstance(kind, pa.BaseExtensionType):
        return {}
    if hasattr(kind, "__arrow_ext_serialize__"):
        note = bytes(kind.__arrow_ext_serialize__())
    else:
        free = {
            name: getattr(kind, name, None) for name in ("dim_names", "type_name", "vendor_name")
        }
        note = json.dumps({key: value for key, value in free.items() if value}).encode()
    return {_TYPE_NAME: kind.extension_name.encode(), _TYPE_NOTE: note}


def _names_in(schema: Any) -> Iterator[str]:
    for part in schema:
        yield part.name
        yield from _names_in(fields_of(part.type))


def fields_of(kind: Any) -> list[Any]:
    """List the fields inside a type, also inside a dictionary and an extension."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return fields_of(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return fields_of(kind.value_type)
    return [kind.field(i) for i in range(kind.num_fields)] if pa.types.is_nested(kind) else []


def _in_schema(stored: bytes, columns: FileColumns) -> Iterator[str]:
    """Look into the Arrow schema that a Parquet file carries, whole: nothing may follow it."""
    import pyarrow as pa

    name = _ARROW_SCHEMA.decode()
    try:
        message = base64.b64decode(stored, validate=True)
        schema = pa.ipc.read_schema(pa.py_buffer(message))
    except (ValueError, pa.ArrowException):
        yield name
        return
    if not _ITEMS | columns.every >= set(_names_in(schema)):
        yield name
    yield from unknown_keys(schema.metadata, columns)
    yield from unknown_of_fields(schema)


def _left(
    key: bytes, value: bytes, beside: Mapping[bytes, bytes], columns: FileColumns
) -> bytes | None:
    """Return what of the value of one key is known; None where nothing is."""
    if key in _TEXTS:
        return value if _TEXTS[key](value.decode("utf-8", "replace")) else None
    try:
        if key == _TYPE_NOTE:
            known = EXTENSIONS[beside[_TYPE_NAME].decode()]
            summary = _json(value or b"{}")
            return value if fits(summary, known) == summary else None
        part = _PARTS[key]
        return json.dumps(part(_json(value), columns)).encode()
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


def _json(value: bytes) -> Any:
    """Read JSON in which no key stands twice: of two, nobody would see the first."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            raise ValueError("a key occurs twice")
        return made

    return json.loads(value, object_pairs_hook=once)


def _same(key: bytes, left: bytes | None, value: bytes) -> bool:
    """Return whether all is left; JSON may be written in more than one way."""
    if left is None or left == value:
        return left == value
    return key in _PARTS and bool(json.loads(left) == json.loads(value))


def _attrs(stored: dict[str, Any], columns: FileColumns) -> dict[str, Any]:  # noqa: ARG001
    """Keep the roles and marks of ours; a role may be that of a column that was left out."""
    return {key: value for key, value in stored.items() if key in OURS}


def _pandas(stored: dict[str, Any], columns: FileColumns) -> dict[str, Any]:
    """Keep what pandas says of its columns and its index, which are names and types.

    Of a column it is all or nothing: pandas reads no half of it.
    """
    summary = fits(stored, {"pandas_version": is_version})
    for listed in ("columns", "column_indexes"):
        if listed in stored:
            summary[listed] = [
                column for column in stored[listed] if _is_of_pandas(column, columns)
            ]
    if "index_columns" in stored:
        of_index = columns.top & {column["field_name"] for column in summary.get("columns", ())}
        summary["index_columns"] = list(_index(stored["index_columns"], of_index, columns))
    if "partition_columns" in stored:
        summary["partition_columns"] = [n for n in stored["partition_columns"] if n in columns.top]
    if "creator" in stored:
        summary["creator"] = fits(stored["creator"] or {}, _CREATOR) or None
    if _ATTRIBUTES in stored:
        summary[_ATTRIBUTES] = _attrs(stored[_ATTRIBUTES], columns)
    return summary


def _is_of_pandas(stored: dict[str, Any], columns: FileColumns) -> bool:
    known = {
        **dict.fromkeys(("name", "field_name"), columns.top.__contains__),
        **dict.fromkeys(("pandas_type", "numpy_type"), columns.is_type),
        "metadata": lambda summary: fits(summary, OF_CELLS) == summary,
    }
    return fits(stored, known) == stored


def _index(stored: list[Any], of_index: frozenset[str], columns: FileColumns) -> Iterator[Any]:
    for level in stored:
        if isinstance(level, dict):
            name = level.get("name")
            yield {**fits(level, _RANGE), "name": name if name in columns.top else None}
        elif level in of_index:
            yield level


def _spark(stored: Any, columns: FileColumns) -> Any:
    """Keep the types of Spark's columns, and the known notes on them, nested ones too.

    A name or a type that is none leaves nothing: Spark takes the note for the whole table.
    """
    if not isinstance(stored, dict):
        if not columns.is_type(stored):
            raise ValueError
        return stored
    fields = {}
    for key, value in stored.items():
        if key in _INSIDE:
            fields[key] = value if value in _NESTED else _spark(value, columns)
        elif key == "fields":
            fields[key] = [_spark(part, columns) for part in value]
        elif key == "metadata":
            ours = {mark: text for mark, text in value.items() if mark in OURS}
            fields[key] = {**fits(value, {_LENGTH: columns.is_type}), **ours}
        elif key in _FLAGS and isinstance(value, bool):
            fields[key] = value
        elif key == "name" and value not in columns.every:
            raise ValueError
        elif key == "name" or (key in ("class", "pyClass") and _CLASS.fullmatch(value)):
            fields[key] = value
    return fields


_PARTS: dict[bytes, Callable[[Any, FileColumns], Any]] = {
    DECLARED: _attrs,
    _OF_PANDAS: _pandas,
    OF_SPARK: _spark,
}
