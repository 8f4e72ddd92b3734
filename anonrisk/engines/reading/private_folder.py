"""A private folder for what is put down while files are read; what killed runs left is removed.

Whether a folder is still in use is told by a lock on it, which ends with the process that holds it,
however that ends. Where there are no such locks nothing is removed.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

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


def is_one(path: Path) -> bool:
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
