"""The columns of files as DuckDB reads them; CSV is copied first.

DuckDB does not tell names apart by case. Columns are therefore `c0`, `c1`, … to it.

What is read goes into a Parquet file in the private folder, encrypted by a key that only this
process has, and forgets: no parser but ours says what a cell is.
"""

# Names of columns are ours, and paths are written as texts.
# ruff: noqa: S608

from __future__ import annotations

import dataclasses
from dataclasses import field
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import sqlalchemy as sa
from pyarrow import parquet
from pyarrow.parquet import encryption

from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell
from anonrisk.core.render import count_of
from anonrisk.engines.reading import files, parquet_files, text_files
from anonrisk.engines.scan.private import path_of, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted
    from anonrisk.engines.reading.parquet_files import ParquetFiles
    from anonrisk.engines.reading.text_files import Block

# A type that no column is compared in.
NOTHING = "CAST(NULL AS BOOLEAN[])"
NOT_READ = "was not read, because it was not requested"
_READ_ALIKE = {
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "string_view": "VARCHAR",
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "halffloat": "FLOAT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32[day]": "DATE",
    "time32[ms]": "TIME",
    "time64[us]": "TIME",
    "timestamp[ms]": "TIMESTAMP",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[ns]": "TIMESTAMP_NS",
    "binary": "BLOB",
    "large_binary": "BLOB",
    "binary_view": "BLOB",
    "null": "VARCHAR",
}


@dataclass(frozen=True)
class Columns:
    """The columns of a table, and what DuckDB selects them by.

    Attributes
    ----------
    names : list of str
        What they are called, in their order.
    query : str
        The statement that gives `c0`, `c1`, ….
    refused : dict of str to str
        Columns that cannot be compared, and why, to go on after the name.
    copies : dict of str to Dataset
        Tables of Arrow that the statement selects from, by their names in it.
    """

    names: list[str]
    query: str
    refused: dict[str, str]
    copies: dict[str, Any] = field(default_factory=dict)

    def shown(self, connection: Any) -> Any:
        """Make a view of the columns; give what SQLAlchemy selects from."""
        for name, copy in self.copies.items():
            connection.register(name, copy)
        view = f"anonrisk_{token_hex(8)}"
        connection.execute(f"CREATE TEMP VIEW {view} AS {self.query}")
        return sa.table(view)


def of_parquet(connection: Any, table: ParquetFiles) -> Columns:
    """Select from Parquet files as they lie there."""
    names = [*table.names, *table.folders]
    query = " UNION ALL ".join(_alike(table, group) for group in _groups(table))
    described = connection.execute(f"DESCRIBE {query}").fetchall()
    refused = {}
    for place, name in enumerate(table.names):
        kinds = [parquet_files.stored_type(schema.field(name).type) for schema in table.schemas]
        kind = next((kind for kind in kinds if str(kind) != "null"), kinds[0])
        if not parquet_files.is_nested(kind) and described[place][1] != _expected(kind):
            # The words are Arrow's, and hold no cell.
            refused[name] = f"is of a type, {kind}, that DuckDB may read differently from pandas"
    return Columns(names, query, refused)


def _expected(kind: Any) -> str | None:
    """Name the type of DuckDB that holds exactly the values of a type of Arrow."""
    from pyarrow import types

    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if types.is_fixed_size_binary(kind):
        return "BLOB"
    if types.is_timestamp(kind) and kind.tz is not None:
        return "TIMESTAMP WITH TIME ZONE" if kind.unit != "ns" else None
    return _READ_ALIKE.get(str(kind), "UUID" if "uuid" in str(kind) else None)


def _groups(table: ParquetFiles) -> Iterator[list[int]]:
    """Yield the files whose columns stand in the same places with the same types."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for i, schema in enumerate(table.schemas):
        key = tuple((field.name, str(parquet_files.stored_type(field.type))) for field in schema)
        groups.setdefault(key, []).append(i)
    yield from groups.values()


def _alike(table: ParquetFiles, group: Sequence[int]) -> str:
    """Select from files that are alike; what folders stand for is told by the name of a file."""
    schema = table.schemas[group[0]]
    parts = [table.parts[i] for i in group]
    places = {field.name: i for i, field in enumerate(schema)}
    cells = [
        f"{_nothing(table, name) if _is_null(schema, name) else f'x{places[name]}'} AS c{i}"
        for i, name in enumerate(table.names)
    ]
    paths = ", ".join(text(path_of(part)) for part in parts)
    options = "hive_partitioning = false, union_by_name = false, binary_as_string = false"
    columns = ", ".join(f"x{i}" for i in range(len(places)))
    if not table.folders:
        return f"SELECT {', '.join(cells)} FROM read_parquet([{paths}], {options}) AS t({columns})"
    cells += [f"f{i} AS c{len(cells) + i}" for i in range(len(table.folders))]
    # DuckDB refuses a name that a column of the files has.
    file = f"anonrisk_{token_hex(8)}"
    rows = ", ".join(_row(part) for part in parts)
    keys = ", ".join(["name", *(f"f{i}" for i in range(len(table.folders)))])
    return (
        f"SELECT {', '.join(cells)} FROM read_parquet([{paths}], {options}, "
        f"filename = '{file}') AS t({columns}, file) "
        f"JOIN (VALUES {rows}) AS folders({keys}) ON folders.name = t.file"
    )


def _is_null(schema: Any, name: str) -> bool:
    return str(schema.field(name).type) == "null"


def _nothing(table: ParquetFiles, name: str) -> str:
    """Select nothing for a column without a type, of that which it has in other files."""
    everywhere = all(_is_null(schema, name) for schema in table.schemas)
    return "CAST(NULL AS VARCHAR)" if everywhere else "NULL"


def _row(part: Part) -> str:
    """Write the name of a file, and what its folders stand for, as a row."""
    cells = [str(part.path.absolute()), *part.partitions.values()]
    return f"({', '.join(f'CAST({text(cell)} AS VARCHAR)' for cell in cells)})"


_ROW = ("row", pa.bool_())
# Rows of CSV that are packed together.
_ROWS = 20 * text_files.BLOCK


class _OwnKeys(encryption.KmsClient):  # type: ignore[misc]
    """Keeps the keys of this process's own files in its memory alone."""

    def __init__(self, keys: list[bytes]) -> None:
        """Take the list that holds them."""
        super().__init__()
        self._keys = keys

    def wrap_key(self, key_bytes: bytes, _: str) -> str:
        """Keep a key; the file holds only which one it is."""
        self._keys.append(key_bytes)
        return str(len(self._keys) - 1)

    def unwrap_key(self, wrapped_key: str, _: str) -> bytes:
        """Return a key."""
        return self._keys[int(wrapped_key)]


@dataclasses.dataclass
class _Column:
    """What is read of one column: texts, or numbers both whole and not, until all are known."""

    name: str
    place: int
    kind: str
    missing: Any
    is_exact: bool
    n_wrong: int = 0
    n_lost: int = 0
    is_whole: bool = True
    stored: list[tuple[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        """Declare the types it is stored by."""
        types = {"text": [pa.string()], "date": [pa.date32()], "number": [pa.int64(), pa.float64()]}
        named = enumerate(types[self.kind])
        self.stored = [(f"c{self.place}_{i}", item) for i, item in named]

    def read(self, cells: Sequence[str | None]) -> list[Any]:
        """Make arrays of texts; count those that are not what they should be."""
        texts = pa.array(cells, pa.string())
        texts = pc.if_else(pc.is_in(texts, self.missing), None, texts)
        if self.kind == "text":
            return [texts]
        coded = texts.dictionary_encode()
        known = coded.dictionary.to_pylist()
        read: Callable[[str], Any] = text_files.number if self.kind == "number" else text_files.day
        values = [read(item) for item in known]
        self.n_wrong += _rows_of(coded, (value is None for value in values))
        if self.kind == "date":
            return [pa.array(values, pa.date32()).take(coded.indices)]
        whole = [value if isinstance(value, int) else None for value in values]
        self.is_whole &= None not in whole
        pairs = zip(known, values, strict=True)
        lost = (value is not None and not text_files.is_float(pair) for pair, value in pairs)
        self.n_lost += _rows_of(coded, lost)
        floats = [None if value is None else float(value) for value in values]
        made = (pa.array(whole, pa.int64()), pa.array(floats, pa.float64()))
        return [item.take(coded.indices) for item in made]

    def selected(self) -> str:
        """Return the type of the column, once all of it was read; reject cells that do not fit."""
        if self.n_wrong:
            raise files.not_all(self.name, self.kind, self.n_wrong)
        if self.kind == "number" and not self.is_whole:
            if self.is_exact and self.n_lost:
                raise files.not_exact(self.name, self.n_lost)
            return self.stored[1][0]
        return self.stored[0][0]


def _rows_of(coded: Any, is_meant: Iterable[bool]) -> int:
    """Count the rows whose value is meant."""
    codes = [i for i, meant in enumerate(is_meant) if meant]
    if not codes:
        return 0
    return int(pc.sum(pc.is_in(coded.indices, pa.array(codes, coded.indices.type))).as_py())


def of_csv(parts: Sequence[Part], wanted: Wanted, text: TextFormat, folder: Path) -> Columns:
    """Read CSV files into the private folder, and select from what lies there then."""
    keys: list[bytes] = []
    factory = encryption.CryptoFactory(lambda _: _OwnKeys(keys))
    kms = encryption.KmsConnectionConfig()
    config = encryption.EncryptionConfiguration(
        footer_key="rows", uniform_encryption=True, double_wrapping=False, data_key_length_bits=256
    )
    blocks = text_files.blocks(parts, wanted, text)
    first = next(blocks)
    names = [*first.header, *parts[0].partitions]
    columns = [
        _Column(
            name,
            names.index(name),
            text_files.kind_of(name, wanted, text),
            pa.array(["", *text.na] if name in first.header else [""], pa.string()),
            is_exact=name not in wanted.numbers,
        )
        for name in first.chosen
    ]
    path = folder / "rows.parquet"
    _write(path, columns, blocks, factory.file_encryption_properties(kms, config))
    opening = ds.ParquetDecryptionConfig(factory, kms, encryption.DecryptionConfiguration())
    held = ds.ParquetFileFormat(
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(decryption_config=opening)
    )
    copy = f"anonrisk_{token_hex(8)}"
    selected = {column.place: column.selected() for column in columns}
    cells = ", ".join(f"{selected.get(i, NOTHING)} AS c{i}" for i in range(len(names)))
    unread = dict.fromkeys((name for name in names if name not in first.chosen), NOT_READ)
    held_by = {copy: ds.dataset(path, format=held)}
    return Columns(names, f"SELECT {cells} FROM {copy}", unread, held_by)


def _write(path: Path, columns: Sequence[_Column], blocks: Iterator[Block], cipher: Any) -> None:
    """Read all rows, and put them down."""
    # A row counts also where no column of it does.
    schema = pa.schema([*(item for column in columns for item in column.stored), _ROW])
    about = {"compression": "zstd", "compression_level": 1, "encryption_properties": cipher}
    n_rows = 0
    with parquet.ParquetWriter(path, schema, **about) as writer:
        waiting: list[Any] = []
        for block in blocks:
            with files.readable(block.part, "CSV"):
                waiting.append(_batch(block, columns, schema))
            n_rows += block.n_rows
            tell(f"reading, {count_of(n_rows, 'row')}")
            if sum(map(len, waiting)) >= _ROWS:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        writer.write_table(pa.Table.from_batches(waiting, schema))


def _batch(block: Block, columns: Sequence[_Column], schema: Any) -> Any:
    arrays = []
    for column in columns:
        folder = block.part.partitions.get(column.name)
        arrays += column.read(block.cells.get(column.name, [folder] * block.n_rows))
    return pa.record_batch([*arrays, pa.nulls(block.n_rows, pa.bool_())], schema=schema)
