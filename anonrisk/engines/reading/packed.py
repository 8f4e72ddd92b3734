"""Packed files, whole: one that is cut off, or goes on with something else, is an error."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from anonrisk.errors import UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

GZIP = ".gz"
SUFFIXES = (GZIP, ".bz2", ".xz", ".zip", ".zst")
_BLOCK = 1 << 16


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a file for its bytes, unpacked if its name says that it is packed."""
    suffix = path.suffix.casefold()
    if suffix == ".zip":
        with _in_zip(path) as file:
            yield file
        return
    if suffix == GZIP:
        import gzip

        with gzip.open(path, "rb") as file:
            yield file
        return
    if suffix == ".zst":
        import pyarrow as pa

        with pa.input_stream(path, compression="zstd") as file:
            yield io.BufferedReader(file)
        return
    with path.open("rb") as file:
        if suffix == ".bz2":
            from bz2 import BZ2Decompressor

            yield io.BufferedReader(_Streams(file, BZ2Decompressor))
        elif suffix == ".xz":
            from lzma import LZMADecompressor

            yield io.BufferedReader(_Streams(file, LZMADecompressor, padding=b"\0"))
        else:
            yield file


class _Streams(io.RawIOBase):
    """What is packed in streams, one after the other, up to the last byte of the file.

    The readers of Python end without a word at the first byte that begins no stream.
    """

    def __init__(self, file: IO[bytes], begin: Callable[[], Any], *, padding: bytes = b"") -> None:
        """Take the file, and what unpacks one stream of it; `padding` may stand between them."""
        super().__init__()
        self._file, self._begin, self._padding = file, begin, padding
        self._stream, self._waiting = begin(), b""

    def readable(self) -> bool:
        """Return whether it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack some bytes; none at the end of the file."""
        result = b""
        while not result:
            if self._stream.eof and not self._begin_next():
                return 0
            result = self._stream.decompress(self._more(), len(buffer))
        buffer[: len(result)] = result
        return len(result)

    def _more(self) -> bytes:
        """Hand the stream what it asks for; a file that ends before the stream does is cut off."""
        if not self._stream.needs_input:
            return b""
        packed, self._waiting = self._waiting or self._file.read(_BLOCK), b""
        if not packed:
            raise EOFError
        return packed

    def _begin_next(self) -> bool:
        """Begin the next stream, with what was read beyond the end of the last one."""
        rest = self._stream.unused_data.lstrip(self._padding)
        while not rest:
            more = self._file.read(_BLOCK)
            if not more:
                return False
            rest = more.lstrip(self._padding)
        self._stream, self._waiting = self._begin(), rest
        return True


@contextmanager
def _in_zip(path: Path) -> Iterator[IO[bytes]]:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        names = [info for info in archive.infolist() if not info.is_dir()]
        if len(names) != 1:
            raise UnreadableTableError(f"{path.name!r} must hold one file; it has {len(names)}")
        with archive.open(names[0]) as file:
            yield file
