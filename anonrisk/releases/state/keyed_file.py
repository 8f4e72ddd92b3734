"""Counts under a key on disk: Parquet, a header that says what they reveal, a checksum.

The metadata of the schema hold the header (JSON) and the checksum: HMAC-SHA-256, under a subkey for
this kind of file, of the header and of every column of the counts, each with its length before it.

A row is an entry of the counts: `part` 0 has the classes, part i the values of the i-th sensitive
column. Hashes are 16 bytes.
"""

from __future__ import annotations

import hmac
import json
from abc import ABC, abstractmethod
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import as_path, why_not
from anonrisk.core.frozen import dataclass
from anonrisk.errors import (
    MissingLibraryError,
    StateError,
    UnwritableTableError,
    WrongKeyError,
    raise_alone,
)
from anonrisk.measures.counts.keyed import KeyedCounts, KeyedValues
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.pseudonyms.private_files import replace_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Qid
    from anonrisk.core.types import Integers
    from anonrisk.pseudonyms.encoding import Hashes

CountsT = TypeVar("CountsT")
VERSION = 1
CHECKSUM = b"anonrisk checksum"
# 64 bits tell keys apart, and are of no use to find one.
_ID = 16


def key_id(key: Key) -> str:
    """Return what tells keys apart, and says nothing else of them."""
    return key.derived("key id").hex()[:_ID]


class KeyedFile(ABC, Generic[CountsT]):
    """A kind of file: what is written of the counts, and how they are read again."""

    what: ClassVar[str]
    reveals: ClassVar[str]
    # How Parquet writes the columns.
    writing: ClassVar[Mapping[str, Any]]

    @abstractmethod
    def header(self, counts: CountsT) -> dict[str, Any]:
        """Return what is said of the counts, as plain values."""

    @abstractmethod
    def types(self, pa: Any) -> dict[str, Any]:
        """Return the type of each column of the table."""

    @abstractmethod
    def columns(self, pa: Any, counts: CountsT) -> dict[str, Any]:
        """Return what each of them holds."""

    @abstractmethod
    def contents(self, counts: CountsT) -> Iterator[NDArray[Any] | None]:
        """Return all that the checksum covers, in order."""

    @abstractmethod
    def counts(self, header: Mapping[str, Any], table: Any) -> CountsT:
        """Put the counts together again."""

    # ---- as bytes ---------------------------------------------------------------------------

    def to_bytes(self, counts: CountsT, key: Key) -> bytes:
        """Write counts as Parquet."""
        pa, parquet = self._pyarrow()
        about = {"version": VERSION, "reveals": self.reveals, "key_id": key_id(key)}
        header = _canonical({**about, **self.header(counts)})
        metadata = {self.header_name: header, CHECKSUM: self._checksum(header, counts, key)}
        schema = pa.schema(self.types(pa), metadata=metadata)
        table = pa.table(self.columns(pa, counts), schema=schema)
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink, **self.writing)
        return bytes(sink.getvalue())

    def from_bytes(self, data: bytes, key: Key) -> CountsT:
        """Read counts, and refuse what is not whole or not of this key."""
        pa, parquet = self._pyarrow()
        header, checksum = self._read_header(pa, parquet, data)
        if header.get("key_id") != key_id(key):
            raise WrongKeyError(
                f"the {self.what} was made with another key: {header.get('key_id')!r}, not "
                f"{key_id(key)!r}"
            )
        try:
            table = parquet.read_table(_reader(pa, data))
            counts = self.counts(header, table)
            expected = self._checksum(_canonical(header), counts, key)
            # The checksum is of bits, which are other numbers if they are read as another type.
            typed = table.schema.equals(pa.schema(self.types(pa)))
            whole = typed and hmac.compare_digest(checksum, expected)
        # Whatever is wrong with its bytes, messages of others may quote them.
        except Exception:  # noqa: BLE001
            whole = False
        if not whole:
            raise_alone(
                StateError(
                    f"the {self.what} is damaged, or was changed by somebody without the key"
                )
            )
        return counts

    def header_of(self, data: bytes) -> dict[str, Any]:
        """Read what is said of the counts, without them; no key vouches for it."""
        return self._read_header(*self._pyarrow(), data)[0]

    @property
    def header_name(self) -> bytes:
        """Under which name the metadata of the schema hold the header."""
        return f"anonrisk {self.what}".encode()

    # ---- on disk ----------------------------------------------------------------------------

    def write(self, path: str | os.PathLike[str], data: bytes) -> None:
        """Write a whole file that its owner alone can read, or leave what is there."""
        place = as_path(path, f"a {self.what}")
        try:
            replace_file(place, data)
        except (OSError, ValueError) as error:
            raise UnwritableTableError(
                f"cannot write the {self.what} {str(path)!r}: {why_not(error)}"
            ) from None

    def read(self, path: str | os.PathLike[str]) -> bytes:
        """Read a file."""
        place = as_path(path, f"a {self.what}")
        try:
            return place.read_bytes()
        except (OSError, ValueError) as error:
            raise StateError(
                f"cannot read the {self.what} {str(path)!r}: {why_not(error)}"
            ) from None

    # ---- parts ------------------------------------------------------------------------------

    def _read_header(self, pa: Any, parquet: Any, data: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            metadata = parquet.read_schema(_reader(pa, data)).metadata or {}
            header, checksum = json.loads(metadata[self.header_name]), metadata[CHECKSUM]
            version = header["version"]
        # Whatever it is, messages of others may quote it.
        except Exception:  # noqa: BLE001
            raise_alone(StateError(f"this is not a {self.what} of anonrisk, or it is damaged"))
        if version != VERSION:
            raise StateError(
                f"the {self.what} is of version {version!r}, and this anonrisk reads version "
                f"{VERSION}: install the one that wrote it, or a newer one"
            )
        return header, checksum

    def _checksum(self, header: bytes, counts: CountsT, key: Key) -> bytes:
        result = hmac.new(key.derived(f"{self.what} file"), digestmod="sha256")
        for content in (header, *map(big_endian, self.contents(counts))):
            result.update(len(content).to_bytes(8, "big"))
            result.update(content)
        return result.digest()

    def _pyarrow(self) -> tuple[Any, Any]:
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise MissingLibraryError(
                f"a {self.what} is kept as Parquet, which needs pyarrow: "
                "pip install 'anonrisk[arrow]'"
            ) from None
        return pa, parquet


def big_endian(numbers: NDArray[Any] | None) -> bytes:
    """Return numbers as bytes that are the same on every machine."""
    if numbers is None:
        return b""
    return numbers.astype(numbers.dtype.newbyteorder(">")).tobytes()


def _reader(pa: Any, data: bytes) -> Any:
    """Return a reader of a copy that Arrow owns.

    A thread of Arrow that lets go of an object of Python while the process ends aborts it.
    """
    copy = pa.allocate_buffer(len(data))
    np.frombuffer(copy, np.uint8)[:] = np.frombuffer(data, np.uint8)
    return pa.BufferReader(copy)


def _canonical(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True).encode()


_HASH = 16
_HASHES = ("class", "person", "value")
# Class, person, value; and how many rows.
_Part = tuple[tuple["Hashes | None", ...], "Integers"]


class StateFile(KeyedFile[KeyedCounts]):
    """The file of a state."""

    what = "state"
    reveals = (
        "Pseudonymous personal data, not anonymous. With the key: everything that can be "
        "enumerated, by trying values. Without it: how large classes are, how often each sensitive "
        "value occurs, and which classes, persons and values are the same in files of one key. "
        "Keep the key elsewhere."
    )
    # Hashes do not repeat often enough for a dictionary to save anything.
    writing: ClassVar[Mapping[str, Any]] = {
        "use_dictionary": ["part", "rows"],
        "compression": "zstd",
    }

    def header(self, counts: KeyedCounts) -> dict[str, Any]:
        """Return what is said of the counts, as plain values."""
        return {
            "qid": list(counts.qid),
            "unit": counts.unit,
            "sensitive": list(counts.sensitive),
            "missing": counts.missing,
            "kinds": dict(counts.kinds),
            "n_rows": counts.n_rows,
            "n_dropped": counts.n_dropped,
        }

    def types(self, pa: Any) -> dict[str, Any]:
        """Return the type of each column of the table."""
        hashes = dict.fromkeys(_HASHES, pa.binary(_HASH))
        return {"part": pa.int32(), **hashes, "rows": pa.int64()}

    def columns(self, pa: Any, counts: KeyedCounts) -> dict[str, Any]:
        """Return what each of them holds."""
        parts = list(_parts(counts))
        numbers = [np.full(len(rows), i, dtype=np.int32) for i, (_, rows) in enumerate(parts)]
        columns = {"part": pa.array(np.concatenate(numbers))}
        for place, name in enumerate(_HASHES):
            columns[name] = pa.concat_arrays(
                [_binary(pa, hashes[place], len(rows)) for hashes, rows in parts]
            )
        columns["rows"] = pa.array(np.concatenate([rows for _, rows in parts]))
        return columns

    def contents(self, counts: KeyedCounts) -> Iterator[NDArray[Any] | None]:
        """Yield all that the checksum covers, in order."""
        for hashes, rows in _parts(counts):
            yield from (*hashes, rows)

    def counts(self, header: Mapping[str, Any], table: Any) -> KeyedCounts:
        """Put the counts together again."""
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


STATE_FILE = StateFile()


def qid_of(data: bytes) -> Qid:
    """Read of which columns a state counts the classes, without the counts."""
    return tuple(STATE_FILE.header_of(data)["qid"])


def _parts(counts: KeyedCounts) -> Iterator[_Part]:
    yield (counts.classes, counts.persons, None), counts.rows
    for name in counts.sensitive:
        result = counts.values[name]
        yield (result.classes, result.persons, result.values), result.rows


def _binary(pa: Any, hashes: Hashes | None, length: int) -> Any:
    """Return hashes to Arrow as 16 bytes each; without any, as many nulls."""
    kind = pa.binary(_HASH)
    if hashes is None:
        return pa.nulls(length, kind)
    return pa.FixedSizeBinaryArray.from_buffers(
        kind, length, [None, pa.py_buffer(big_endian(hashes))]
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


def _values(header: Mapping[str, Any], part: Any) -> KeyedValues:
    return KeyedValues(
        _hashes(part, "class"),
        _persons(header, part),
        _hashes(part, "value"),
        part.column("rows").to_numpy(),
    )


def _persons(header: Mapping[str, Any], part: Any) -> Hashes | None:
    return None if header["unit"] is None else _hashes(part, "person")


class HoldsRows(Protocol):
    """What all counts say of the rows of their table."""

    @property
    def n_rows(self) -> int:
        """Number of rows counted."""

    @property
    def n_dropped(self) -> int:
        """Number of rows left out for a missing value."""


KeptT = TypeVar("KeptT", bound=HoldsRows)


@dataclass(frozen=True, eq=False, repr=False)
class Kept(render.PrintedLines, Generic[KeptT]):
    """Counts under keyed hashes, and their key."""

    file: ClassVar[KeyedFile[Any]]
    counts: KeptT
    key: Key = field(repr=False)

    @property
    def key_id(self) -> str:
        """Tells keys apart, and says nothing else of them."""
        return key_id(self.key)

    def check_same(self, other: object, doing: str) -> None:
        """Reject what is of another kind, or of another key: no hash of it is the same."""
        what = self.file.what
        if not isinstance(other, type(self)):
            raise StateError(
                f"a {what} is {doing} with another one, not with {render.kind_name(other)}"
            )
        if self.key != other.key:
            raise WrongKeyError(
                f"{what}s of different keys have nothing in common: {self.key_id} here, "
                f"{other.key_id} there"
            )

    # ---- on disk --------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file (Parquet), readable by its owner alone; needs pyarrow (extra ``arrow``).

        A writer that is killed leaves the file that was there, or the new one.
        """
        self.file.write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, key: Key | bytes) -> Self:
        """Read a file; refused are other keys, damaged and forged files, and newer versions."""
        return cls.from_bytes(cls.file.read(path), key=key)

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return self.file.to_bytes(self.counts, self.key)

    @classmethod
    def from_bytes(cls, data: bytes, *, key: Key | bytes) -> Self:
        """Read what `to_bytes` gave."""
        secret = as_key(key)
        return cls(cls.file.from_bytes(data, secret), secret)

    # ---- comparing and printing -------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Two are equal if they count the same under the same key."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.key == other.key and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def _last_lines(self) -> list[str]:
        """Return what was left out, and how it is to be kept."""
        lines = ["pseudonymous personal data, not anonymous: keep it apart from its key"]
        if self.counts.n_dropped:
            dropped = render.count_of(self.counts.n_dropped, "row")
            lines.insert(0, f"{dropped} with a missing quasi-identifier left out")
        return lines
