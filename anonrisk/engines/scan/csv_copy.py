"""CSV files as a table that DuckDB reads: read once, by the code that reads them for pandas.

What is read goes into a Parquet file in the private folder, encrypted by a key that only this
process has, and forgets: no parser but ours says what a cell is.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import parquet
from pyarrow.parquet import encryption

from anonrisk.core.progress import tell
from anonrisk.core.render import count_of
from anonrisk.engines.reading import csv_cells, csv_text, files
from anonrisk.engines.scan.columns import NOT_READ, NOTHING, Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from anonrisk.engines.reading.csv_text import Block
    from anonrisk.engines.reading.files import Part, TextFormat, Wanted

_ROW = ("row", pa.bool_())
# Rows of CSV that are packed together.
_ROWS = 20 * csv_text.BLOCK


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
        read: Callable[[str], Any] = csv_cells.number if self.kind == "number" else csv_cells.day
        values = [read(item) for item in known]
        self.n_wrong += _rows_of(coded, (value is None for value in values))
        if self.kind == "date":
            return [pa.array(values, pa.date32()).take(coded.indices)]
        whole = [value if isinstance(value, int) else None for value in values]
        self.is_whole &= None not in whole
        pairs = zip(known, values, strict=True)
        lost = (value is not None and not csv_cells.is_float(pair) for pair, value in pairs)
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
    blocks = csv_text.blocks(parts, wanted, text)
    first = next(blocks)
    names = [*first.header, *parts[0].partitions]
    columns = [
        _Column(
            name,
            names.index(name),
            csv_cells.kind_of(name, wanted, text),
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
    return Columns(names, f"SELECT {cells} FROM {copy}", unread, held_by)  # noqa: S608


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
