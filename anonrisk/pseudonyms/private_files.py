"""Files that only their owner may read: keys, and what is kept about persons."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from anonrisk.core.paths import why_not

if TYPE_CHECKING:
    from pathlib import Path

# Windows has no such bits.
_HAS_MODES = os.name == "posix"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a whole file, or leave what is there; it stays when the power fails.

    Readable by its owner alone, unless another mode is given.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        # Whoever may do everything, as in a container, would lose a device or a pipe for good.
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a power cut, where folders can be told to."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_private(path: Path) -> int:
    """Make a new file that only its owner may read and write; give its open descriptor."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def private_file(path: Path, *, make: bool) -> str | None:
    """Return why a file is not safe for what is kept about persons: nothing where it is.

    None where there is no file, unless one is to be made.
    """
    try:
        # A link is as safe as its own folder and that of the file which it leads to.
        problem = why_not_safe(path.absolute().parent) or why_not_safe(path.resolve().parent)
        if problem:
            return problem
        if make and not path.exists():
            # Where somebody else was quicker, whose file it is is told below.
            with suppress(FileExistsError):
                os.close(make_private(path))
        return why_not_private(path.stat()) if path.exists() else None
    except (OSError, ValueError) as error:
        return why_not(error)


def why_not_private(result: os.stat_result, *, shared: bool = False) -> str:
    """Return who else may use this file, and what to do; nothing where nobody may.

    `shared` lets others read it, though not write to it, and own it: whoever mounts it does.
    """
    mode, others = result.st_mode, _MAY_WRITE if shared else _OTHERS
    if not _HAS_MODES:
        return ""
    # Whoever may do everything reads what anybody has put there.
    if not shared and result.st_uid not in (_ROOT, os.geteuid()):
        return "it belongs to another account, which may change it: chown it"
    if not mode & others:
        return ""
    may = "write to it" if shared else "use it"
    right = "go-w" if shared else "600"
    return f"accounts other than its owner may {may} (mode {mode & 0o777:04o}): chmod {right} it"


def why_not_safe(folder: Path, *, shared: bool = False) -> str:
    """Return why a file in this folder can be exchanged by anybody; nothing where it cannot.

    `shared` takes a folder that everybody may write to, if files there are their owner's alone
    (the sticky bit): containers mount secrets in such.
    """
    if not folder.is_dir():
        return "the folder is not there"
    mode = folder.stat().st_mode
    if not _HAS_MODES or not mode & stat.S_IWOTH or (shared and mode & stat.S_ISVTX):
        return ""
    return "everybody may write to its folder, and exchange the file: take one of your own"
