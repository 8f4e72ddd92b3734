"""States on disk: Parquet, with what it reveals in its header, and a keyed checksum.

A row is an entry of the counts: `part` 0 has the classes, part i the values of the i-th sensitive
column. Hashes are 16 bytes. The metadata of the schema hold the header (JSON) and the checksum,
HMAC-SHA-256 under the subkey ``state file`` of the header and of every column of every part, each
with its length before it.
"""

from __future__ import annotations

import hmac
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.private_files import replace_file
from anonrisk.counts.keyed import KeyedCounts, KeyedValues
from anonrisk.errors import (
    MissingLibraryError,
    StateError,
    UnwritableTableError,
    WrongKeyError,
    raise_alone,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Qid
    from anonrisk.core.encoding import Hashes
    from anonrisk.core.keys import Key

VERSION = 1
HEADER, CHECKSUM = b"anonrisk state", b"anonrisk checksum"
REVEALS = (
    "Pseudonymous personal data, not anonymous. With the key: everything that can be enumerated, "
    "by trying values. Without it: how large classes are, how often each sensitive value occurs, "
    "and which classes, persons and values are the same in files of one key. "
    "Keep the key elsewhere."
)
# 64 bits tell keys apart, and are of no use to find one.
_ID = 16
_HASH = 16
# Class, person, value; and how many rows.
_Part = tuple[tuple["Hashes | None", ...], "Integers"]


def key_id(key: Key) -> str:
    """Give what tells keys apart, and says nothing else of them."""
    return key.derived("key id").hex()[:_ID]


def to_bytes(counts: KeyedCounts, key: Key) -> bytes:
    """Write counts as Parquet."""
    pa, parquet = _pyarrow()
    header = _canonical(_header(counts, key))
    parts = list(_parts(counts))
    numbers = [np.full(len(rows), i, dtype=np.int32) for i, (_, rows) in enumerate(parts)]
    columns = {"part": pa.array(np.concatenate(numbers))}
    for place, name in enumerate(("class", "person", "value")):
        columns[name] = pa.concat_arrays(
            [_binary(pa, hashes[place], len(rows)) for hashes, rows in parts]
        )
    columns["rows"] = pa.array(np.concatenate([rows for _, rows in parts]), pa.int64())
    checksum = _checksum(header, parts, key)
    table = pa.table(columns).replace_schema_metadata({HEADER: header, CHECKSUM: checksum})
    sink = pa.BufferOutputStream()
    # Hashes do not repeat often enough for a dictionary to save anything.
    parquet.write_table(table, sink, compression="zstd", use_dictionary=["part", "rows"])
    return bytes(sink.getvalue())


def from_bytes(data: bytes, key: Key) -> KeyedCounts:
    """Read counts, and refuse what is not a whole state of this key."""
    pa, parquet = _pyarrow()
    header, checksum = _read_header(pa, parquet, data)
    if header.get("key_id") != key_id(key):
        raise WrongKeyError(
            f"the state was made with another key: {header.get('key_id')!r}, not {key_id(key)!r}"
        )
    try:
        counts = _counts(header, parquet.read_table(pa.BufferReader(data)))
        whole = checksum == _checksum(_canonical(header), list(_parts(counts)), key)
    # Whatever is wrong with its bytes, messages of others may quote them.
    except Exception:  # noqa: BLE001
        whole = False
    if not whole:
        raise_alone(StateError("the state is damaged, or was changed by somebody without the key"))
    return counts


def qid_of(data: bytes) -> Qid:
    """Read of which columns a state counts the classes, without the counts."""
    return tuple(_read_header(*_pyarrow(), data)[0]["qid"])


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file that its owner alone can read, or leave what is there."""
    try:
        replace_file(Path(path), data)
    except (OSError, ValueError) as error:
        raise UnwritableTableError(
            f"cannot write the state {os.fspath(path)!r}: {_why(error)}"
        ) from None


def read(path: str | os.PathLike[str]) -> bytes:
    """Read a file."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise StateError(f"cannot read the state {os.fspath(path)!r}: {_why(error)}") from None


def _why(error: OSError | ValueError) -> str:
    """Say what the system said; Python refuses some names before it asks."""
    return getattr(error, "strerror", None) or "this is no name of a file"


def _header(counts: KeyedCounts, key: Key) -> dict[str, Any]:
    return {
        "version": VERSION,
        "reveals": REVEALS,
        "key_id": key_id(key),
        "qid": list(counts.qid),
        "unit": counts.unit,
        "sensitive": list(counts.sensitive),
        "missing": counts.missing,
        "kinds": dict(counts.kinds),
        "n_rows": counts.n_rows,
        "n_dropped": counts.n_dropped,
    }


def _canonical(header: dict[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True).encode()


def _parts(counts: KeyedCounts) -> Iterator[_Part]:
    yield (counts.classes, counts.persons, None), counts.rows
    for name in counts.sensitive:
        found = counts.values[name]
        yield (found.classes, found.persons, found.values), found.rows


def _checksum(header: bytes, parts: list[_Part], key: Key) -> bytes:
    found = hmac.new(key.derived("state file"), digestmod="sha256")
    columns = (_big_endian(column) for hashes, rows in parts for column in (*hashes, rows))
    for content in (header, *columns):
        found.update(len(content).to_bytes(8, "big"))
        found.update(content)
    return found.digest()


def _big_endian(numbers: Hashes | Integers | None) -> bytes:
    if numbers is None:
        return b""
    return numbers.astype(numbers.dtype.newbyteorder(">")).tobytes()


def _binary(pa: Any, hashes: Hashes | None, length: int) -> Any:
    """Give hashes to Arrow as 16 bytes each; without any, as many nulls."""
    kind = pa.binary(_HASH)
    if hashes is None:
        return pa.nulls(length, kind)
    return pa.FixedSizeBinaryArray.from_buffers(
        kind, length, [None, pa.py_buffer(_big_endian(hashes))]
    )


def _hashes(part: Any, name: str) -> Hashes:
    """Take hashes from Arrow; a null, which no whole state has here, is refused."""
    column = part.column(name)
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if column.null_count:
        raise StateError("a hash is missing")
    first, data = whole.offset, whole.buffers()[1]
    words = np.frombuffer(data or b"", dtype=">u8")[2 * first : 2 * (first + len(whole))]
    return words.astype(np.uint64).reshape(-1, 2)


def _read_header(pa: Any, parquet: Any, data: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        metadata = parquet.read_schema(pa.BufferReader(data)).metadata or {}
        header, checksum = json.loads(metadata[HEADER]), metadata[CHECKSUM]
        version = header["version"]
    # Whatever it is, messages of others may quote it.
    except Exception:  # noqa: BLE001
        raise_alone(StateError("this is not a state of anonrisk, or it is damaged"))
    if version != VERSION:
        raise StateError(
            f"the state is of version {version!r}, and this anonrisk reads version {VERSION}: "
            "install the one that wrote it, or a newer one"
        )
    return header, checksum


def _counts(header: dict[str, Any], table: Any) -> KeyedCounts:
    number = table.column("part").to_numpy()
    names = tuple(header["sensitive"])
    ends = np.searchsorted(number, np.arange(len(names) + 2)).tolist()
    classes, *of_values = [table.slice(first, last - first) for first, last in pairwise(ends)]
    return KeyedCounts(
        tuple(header["qid"]),
        header["unit"],
        names,
        header["missing"],
        header["kinds"],
        _hashes(classes, "class"),
        _persons(header, classes),
        classes.column("rows").to_numpy(),
        {name: _values(header, part) for name, part in zip(names, of_values, strict=True)},
        header["n_rows"],
        header["n_dropped"],
    )


def _values(header: dict[str, Any], part: Any) -> KeyedValues:
    return KeyedValues(
        _hashes(part, "class"),
        _persons(header, part),
        _hashes(part, "value"),
        part.column("rows").to_numpy(),
    )


def _persons(header: dict[str, Any], part: Any) -> Hashes | None:
    return None if header["unit"] is None else _hashes(part, "person")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingLibraryError(
            "a state is kept as Parquet, which needs pyarrow: pip install 'anonrisk[arrow]'"
        ) from None
    return pa, parquet
