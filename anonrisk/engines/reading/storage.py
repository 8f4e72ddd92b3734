"""What files of tables hold besides their rows: values that no row has, and unknown metadata.

Looked at row group by row group, one column at a time. A value that a dictionary lists counts only
if no row of the whole table has it: a dictionary is often that of all the files together.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading import files, metadata
from anonrisk.engines.reading.parquet_files import open_feather
from anonrisk.errors import UnreadableTableError
from anonrisk.measures.counts.schema import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anonrisk.engines.reading.files import Part

REMEDY = "anonrisk clean IN OUT"
# The writer of Spark and Hive, which is given cells, never a dictionary.
_ROW_BY_ROW = "parquet-mr "
_DICTIONARY_PAGE, _I32, _STRUCT = 2, 5, 12
_HEADER = 256


@dataclass(frozen=True)
class _Piece:
    """A column in some rows: what they have of it, and what is listed beside them."""

    column: str
    used: Any  # different values, as an array that can be compared
    listed: Any = None  # values that none of these rows has, but others may
    n_hidden: int = 0  # values that no row can have


def stored(parts: Sequence[Part], kind: str) -> Stored:
    """Count what files hold besides their rows; text files hold nothing."""
    looking = _LOOKS.get(kind)
    if looking is None:
        return Stored(in_file=True)
    import pyarrow as pa

    listed: dict[str, list[Any]] = {}
    hidden: Counter[str] = Counter()
    keys: dict[str, None] = {}
    for part in parts:
        with files.readable(part, files.TITLES[kind]):
            keys.update(dict.fromkeys(_KEYS[kind](part)))
            for piece in looking(part, None):
                hidden[piece.column] += piece.n_hidden
                if piece.listed is not None and len(piece.listed):
                    listed.setdefault(piece.column, []).append(piece.listed)
    left = {column: pa.concat_arrays(values).unique() for column, values in listed.items()}
    for part in parts if left else ():
        with files.readable(part, files.TITLES[kind]):
            for piece in looking(part, left):
                left[piece.column] = _without(left[piece.column], piece.used)
    for column, values in left.items():
        hidden[column] += len(values)
    unused = {column: n for column, n in hidden.items() if n}
    return Stored(unused, tuple(keys), in_file=True, remedy=REMEDY)


def n_unused(column: Any) -> int:
    """Count the values that the dictionaries of a column list, and that none of its rows has."""
    lists = [leaf.dictionary for leaf in _leaves_of(column) if hasattr(leaf, "dictionary")]
    return len(_without(_different(lists), _distinct(column)))


# ---- Parquet ------------------------------------------------------------------------------------


def _keys_of_parquet(part: Part) -> Iterator[str]:
    from pyarrow import parquet

    with parquet.ParquetFile(part.path) as file:
        about = file.metadata
        columns = metadata.columns_of(file.schema_arrow, part.partitions)
        yield from metadata.unknown_keys(about.metadata, columns)
        yield from metadata.unknown_of_fields(file.schema_arrow)
        for i in range(about.num_row_groups):
            group = about.row_group(i)
            for j in range(about.num_columns):
                # Older versions of Arrow do not see it.
                yield from metadata.unknown_keys(getattr(group.column(j), "metadata", None))


def _in_parquet(part: Part, only: Any) -> Iterator[_Piece]:
    from pyarrow import parquet

    with parquet.ParquetFile(part.path) as file, part.path.open("rb") as raw:
        about = file.metadata
        if only is None and (about.created_by or "").startswith(_ROW_BY_ROW):
            return
        for j in range(about.num_columns):
            for i in range(about.num_row_groups):
                chunk = about.row_group(i).column(j)
                if only is not None:
                    if chunk.path_in_schema in only:
                        yield _Piece(chunk.path_in_schema, _distinct(_read(file, i, j)))
                    continue
                n_listed = _size_of_dictionary(raw, chunk)
                if n_listed is not None:
                    yield _beside(part, file, (i, j), chunk, n_listed)


def _beside(part: Part, file: Any, place: tuple[int, int], chunk: Any, n_listed: int) -> _Piece:
    """Find what the dictionary of a column lists beside the values of the rows of a group.

    The dictionary is larger than the rows have values, or it lists nothing else. What it lists
    Arrow tells of texts alone; of others nobody knows whether other rows have it.
    """
    from pyarrow import parquet

    used = _distinct(_read(file, *place))
    column, more = chunk.path_in_schema, n_listed - len(used)
    if more <= 0:
        return _Piece(column, used)
    listed = None
    if chunk.physical_type == "BYTE_ARRAY":
        with parquet.ParquetFile(part.path, read_dictionary=[column]) as summary:
            lists = [
                array.dictionary
                for array in _leaves_of(_read(summary, *place))
                if hasattr(array, "dictionary")
            ]
        listed = _without(_different(lists), used) if lists else None
    if listed is None or len(listed) < more:
        return _Piece(column, used, listed, more - (0 if listed is None else len(listed)))
    return _Piece(column, used, listed)


def _read(file: Any, group: int, column: int) -> Any:
    # By its place: a name with a dot may be that of two columns.
    return file.reader.read_row_group(group, column_indices=[column]).column(0)


def _size_of_dictionary(raw: Any, chunk: Any) -> int | None:
    """Read how many values the dictionary of a column lists; None where it has none."""
    if not chunk.num_values:
        return None
    places = (chunk.dictionary_page_offset, chunk.data_page_offset)
    raw.seek(min(place for place in places if place))
    return _listed_in(raw.read(_HEADER))


def _listed_in(header: bytes) -> int | None:
    """Read the header of a page, as Thrift writes it: fields of numbers, the dictionary's last.

    Examples
    --------
    >>> _listed_in(bytes.fromhex("1504 1518 1518 4c 1506 1500 00 00"))
    3
    >>> _listed_in(bytes.fromhex("1500 1518")) is None
    True
    """
    rest, field = iter(header), 0
    for byte in rest:
        field += byte >> 4
        if byte & 15 == _STRUCT and field == 7 and next(rest) == 16 + _I32:
            return _number(rest)
        if byte & 15 != _I32 or not byte >> 4:
            break
        number = _number(rest)
        if field == 1 and number != _DICTIONARY_PAGE:
            return None
    raise UnreadableTableError("it is a Parquet file with a page whose header is damaged")


def _number(rest: Iterator[int]) -> int:
    """Read a number of seven bits a byte, the sign last."""
    number = shift = 0
    for byte in rest:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return (number >> 1) ^ -(number & 1)


# ---- Arrow and ORC ------------------------------------------------------------------------------


def _keys_of_feather(part: Part) -> Iterator[str]:
    reader = open_feather(part)
    columns = metadata.columns_of(reader.schema, part.partitions)
    yield from metadata.unknown_keys(reader.schema.metadata, columns)
    yield from metadata.unknown_of_fields(reader.schema)
    # What stands in the footer older versions of Arrow do not see.
    yield from metadata.unknown_keys(getattr(reader, "metadata", None))
    for i in range(reader.num_record_batches):
        yield from metadata.unknown_keys(reader.get_batch_with_custom_metadata(i).custom_metadata)


def _in_feather(part: Part, only: Any) -> Iterator[_Piece]:
    from anonrisk.engines.reading.arrays import hidden_in, leaves

    reader = open_feather(part)
    for i in range(reader.num_record_batches):
        batch = reader.get_batch(i)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if only is None and (n_hidden := hidden_in(column)):
                yield _Piece(name, None, None, n_hidden)
            for leaf in leaves(column):
                if hasattr(leaf, "dictionary") and (only is None or name in only):
                    used = _distinct(leaf)
                    listed = _without(_different([leaf.dictionary]), used)
                    yield _Piece(name, used, listed)


def _keys_of_orc(part: Part) -> Iterator[str]:
    from pyarrow import orc

    file = orc.ORCFile(part.path)
    columns = metadata.columns_of(file.schema, part.partitions)
    yield from metadata.unknown_keys(file.metadata, columns)
    yield from metadata.unknown_of_fields(file.schema)


def _in_orc(part: Part, only: Any) -> Iterator[_Piece]:  # noqa: ARG001
    """Look at nothing: ORC has no categories, and a dictionary is made of the rows of a stripe."""
    return iter(())


# ---- values -------------------------------------------------------------------------------------


def _leaves_of(column: Any) -> Iterator[Any]:
    from anonrisk.engines.reading.arrays import leaves

    for chunk in getattr(column, "chunks", [column]):
        yield from leaves(chunk)


def _distinct(column: Any) -> Any:
    """Return the different values of a column, those inside of nested ones; missing is none."""
    from anonrisk.engines.reading.arrays import without_views

    results = []
    for leaf in _leaves_of(column):
        if hasattr(leaf, "dictionary"):
            places = leaf.indices.unique().drop_null()
            results.append(without_views(leaf.dictionary).take(places))
        else:
            results.append(leaf)
    return _different(results)


def _different(arrays: Sequence[Any]) -> Any:
    """Return what is in arrays, once each, in a type that can be compared."""
    import pyarrow as pa

    same = [_comparable(item).unique().drop_null() for item in arrays]
    return pa.concat_arrays(same).unique() if same else pa.array([], pa.null())


def _comparable(array: Any) -> Any:
    """Return values as they can be compared exactly: texts as bytes, floats as their bits."""
    import pyarrow as pa

    from anonrisk.engines.reading.arrays import is_text

    kind = array.type
    if is_text(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_floating(kind):
        return array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width])
    return array


def _without(values: Any, others: Any) -> Any:
    """Leave out what is among others."""
    import pyarrow.compute as pc

    if not len(values) or not len(others):
        return values
    return values.filter(pc.invert(pc.is_in(values, value_set=others.cast(values.type))))


_LOOKS: dict[str, Callable[[Part, Any], Iterator[_Piece]]] = {
    "parquet": _in_parquet,
    "feather": _in_feather,
    "orc": _in_orc,
}
_KEYS: dict[str, Callable[[Part], Iterator[str]]] = {
    "parquet": _keys_of_parquet,
    "feather": _keys_of_feather,
    "orc": _keys_of_orc,
}
