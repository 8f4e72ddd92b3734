"""Files as bytes: packed ones, written whole or not at all, and a private folder meanwhile.

Whether a folder is still in use is told by a lock on it, which ends with the process that holds it,
however that ends. Where there are no such locks nothing is removed.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from anonrisk.errors import (
    AnonRiskError,
    MissingLibraryError,
    UnreadableTableError,
    UnwritableTableError,
    raise_alone,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GZIP = ".gz"
SUFFIXES = (GZIP, ".bz2", ".xz", ".zip", ".zst")
_BLOCK = 1 << 16


@contextmanager
def unpacked(path: Path) -> Iterator[Any]:
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


@contextmanager
def whole_file(path: Path, title: str) -> Iterator[Path]:
    """Yield where to write; in the end, unless something went wrong, that becomes the file.

    Errors of others are replaced, because they may quote a cell.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(path)
    except AnonRiskError:
        raise
    except OSError as error:
        # pandas has a sentence of its own for a folder that is not there, and no number.
        gone = isinstance(error, FileNotFoundError) or error.strerror is None
        why = "there is no such folder" if gone else error.strerror
        raise UnwritableTableError(f"cannot write {str(path)!r}: {why}") from None
    except ImportError:
        raise MissingLibraryError(
            f"writing {title} needs pyarrow: pip install 'anonrisk[arrow]'"
        ) from None
    except Exception as error:  # noqa: BLE001
        raise_alone(
            UnwritableTableError(
                f"the table cannot be written to {str(path)!r} as {title} ({type(error).__name__})"
            )
        )
    finally:
        beside.unlink(missing_ok=True)


if sys.platform != "win32":
    import fcntl

# Hidden, so that no other reader of the folder of a table takes it for a part of it.
PREFIX = ".anonrisk-scan-"
_NOBODY = -1


class PrivateFolder:
    """A new folder that only this user can look into (mode 0700), in a place that is given."""

    def __init__(self, place: Path) -> None:
        """Remove what killed runs left in the place, and make the folder."""
        _remove_left(place)
        self.path, self._lock = _made(place)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        _let_go(self._lock)


def is_private_folder(path: Path) -> bool:
    """Return whether a folder is such a private one, by its name."""
    return path.name.startswith(PREFIX) and not path.is_symlink()


def _made(place: Path) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        try:
            lock = _locked(path)
        except (BlockingIOError, FileNotFoundError):
            # Somebody who removes what was left came between.
            continue
        except OSError:
            return path, _NOBODY
        if path.is_dir():
            return path, lock
        _let_go(lock)


def _remove_left(place: Path) -> None:
    with suppress(OSError):
        for path in place.glob(f"{PREFIX}*"):
            with suppress(OSError):
                lock = _locked(path)
                if lock != _NOBODY and os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)
                _let_go(lock)


def _locked(path: Path) -> int:
    """Lock a folder, and raise where somebody else has."""
    if sys.platform == "win32":
        return _NOBODY
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        _let_go(lock)
        raise
    return lock


def _let_go(lock: int) -> None:
    if lock != _NOBODY:
        os.close(lock)
