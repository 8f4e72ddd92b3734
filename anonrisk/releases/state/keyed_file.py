"""Counts under a key on disk: Parquet, with what they reveal in the header, and a keyed checksum.

The metadata of the schema hold the header (JSON) and the checksum: HMAC-SHA-256, under a subkey for
this kind of file, of the header and of every column of the counts, each with its length before it.
"""

from __future__ import annotations

import hmac
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from anonrisk.core.paths import as_path, why_not
from anonrisk.errors import (
    MissingLibraryError,
    StateError,
    UnwritableTableError,
    WrongKeyError,
    raise_alone,
)
from anonrisk.pseudonyms.private_files import replace_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from anonrisk.pseudonyms.keys import Key

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
