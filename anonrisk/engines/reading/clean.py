"""A file written anew: the same rows, columns and types, and nothing besides them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading import files, metadata
from anonrisk.engines.reading.parquet_files import open_feather
from anonrisk.engines.reading.raw_files import whole_file
from anonrisk.engines.reading.storage import stored
from anonrisk.errors import ArgumentError, UnreadableTableError, UnwritableTableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anonrisk.engines.reading.files import Part
    from anonrisk.measures.counts.schema import Stored


@dataclass(frozen=True)
class Cleaned:
    """What became of a file: its rows, and what is gone; None where nobody could see that."""

    n_rows: int
    gone: Stored | None


def clean(part: Part, path: Path, kind: str) -> Cleaned:
    """Write a file anew, row group by row group, and look whether nothing else is left in it."""
    if kind not in files.TYPED:
        raise ArgumentError(
            f"{files.TITLES[kind]} holds nothing besides its rows: there is nothing to clean"
        )
    title = files.TITLES[kind]
    first = kind == "feather" and _is_first(part)
    before = None if first else stored([part], kind)
    with whole_file(path, title) as beside:
        pieces = _pieces(part, kind, first=first)
        with files.readable(part, title):
            schema, lists, options = next(pieces)
        n_rows = 0
        with _writer(beside, kind, schema, options) as writer:
            while True:
                with files.readable(part, title):
                    table = next(pieces, None)
                if table is None:
                    break
                n_rows += table.num_rows
                writer.write(_table(table, schema, lists))
        left = stored([files.Part(beside)], kind)
        if left.unused or left.metadata:
            raise UnwritableTableError(
                f"{part.shown} cannot be written without what it holds besides its rows"
            )
    return Cleaned(n_rows, before)


def _is_first(part: Part) -> bool:
    """Return whether a file is of the first version of Feather."""
    with files.readable(part, files.TITLES["feather"]):
        try:
            open_feather(part)
        except UnreadableTableError:
            return True
    return False


# ---- read ---------------------------------------------------------------------------------------


def _pieces(part: Part, kind: str, *, first: bool) -> Iterator[Any]:
    """Yield the schema, what dictionaries list and how it is written; then tables of some rows."""
    if kind == "parquet":
        yield from _of_parquet(part)
    elif kind == "orc":
        yield from _of_orc(part)
    else:
        yield from _of_feather(part, first=first)


def _of_parquet(part: Part) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(part.path) as file:
        about = file.metadata
        n_chunks = about.num_row_groups and about.num_columns
        codec = about.row_group(0).column(0).compression if n_chunks else "SNAPPY"
        packed = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}.get(codec, codec.lower())
        # Each row group has dictionaries of its own.
        yield _schema(file.schema_arrow), None, {"compression": packed}
        for i in range(about.num_row_groups):
            yield file.read_row_group(i)


def _of_orc(part: Part) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import orc

    file = orc.ORCFile(part.path)
    yield _schema(file.schema), None, {"compression": file.compression.lower()}
    if not file.nstripes:
        # A file that nothing is written to is none.
        yield file.schema.empty_table()
    for i in range(file.nstripes):
        yield pa.Table.from_batches([file.read_stripe(i)])


def _of_feather(part: Part, *, first: bool) -> Iterator[Any]:
    """Read twice: a file of Arrow has one dictionary for all its rows."""
    import pyarrow as pa
    from pyarrow import feather

    from anonrisk.engines.reading.arrays import gather

    if first:
        with warnings.catch_warnings():
            # That this version is old is why it is read here.
            warnings.simplefilter("ignore")
            table = feather.read_table(part.path, memory_map=True)
        schema, batches = table.schema, table.to_batches()
        every = range(len(batches))
        read = batches.__getitem__
    else:
        reader = open_feather(part)
        schema, every, read = reader.schema, range(reader.num_record_batches), reader.get_batch
    lists: list[dict[str, Any]] = [{} for _ in schema]
    for i in every:
        for column, listed in zip(read(i).columns, lists, strict=True):
            gather(column, listed)
    yield _schema(schema), lists, {}
    for i in every:
        yield pa.Table.from_batches([read(i)])


# ---- written ------------------------------------------------------------------------------------


def _table(table: Any, schema: Any, lists: list[dict[str, Any]] | None) -> Any:
    """Return rows that carry nothing else."""
    import pyarrow as pa

    from anonrisk.engines.reading.arrays import fresh, gather

    made = []
    for i, column in enumerate(table.columns):
        listed: dict[str, Any] = {} if lists is None else lists[i]
        if lists is None:
            gather(column, listed)
        made.append(fresh(column, listed))
    return pa.Table.from_arrays(made, schema=schema)


def _writer(path: Path, kind: str, schema: Any, options: dict[str, Any]) -> Any:
    import pyarrow as pa

    if kind == "parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(path, schema, **options)
    if kind == "orc":
        from pyarrow import orc

        return orc.ORCWriter(str(path), **options)
    packed = pa.ipc.IpcWriteOptions(compression="lz4")
    return pa.ipc.new_file(str(path), schema, options=packed)


def _schema(schema: Any) -> Any:
    """Return a schema with known metadata alone, of nested fields too."""
    import pyarrow as pa

    from anonrisk.engines.reading.arrays import fresh_field

    known = metadata.kept(schema.metadata, metadata.columns_of(schema))
    return pa.schema(map(fresh_field, schema), known)
