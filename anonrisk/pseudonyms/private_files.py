"""Files that only their owner may read: keys, and what is kept about persons."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from anonrisk.core.arguments import as_path, why_not
from anonrisk.errors import SecretKeyError

if TYPE_CHECKING:
    from pathlib import Path


class NeverPickled:
    """Base of every class that holds a key, or a subkey of one."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Reject to be pickled or copied."""
        name = type(self).__name__
        raise TypeError(f"{name} holds a key and is not pickled; make it where it is needed")


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


_WHAT = "a key file"
# No key is longer: who names a disk or a table by mistake is told so, and not waited for.
_MOST_BYTES = 65_536
# As keys are written, and few files are called.
_ONE_WORD = re.compile(r"[A-Za-z0-9+/=_-]+")
# What variables are called.
_VARIABLE = re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)+")
# Fewer characters are no key of 16 bytes or more, in whatever form.
_SHORTEST = 24


def read_key_file(path: Any, *, secret: bool = True, shared: bool = False) -> bytes:
    """Return the bytes of a key file.

    Parameters
    ----------
    path : path
        The file.
    secret : bool
        Whether it must be kept from others: not if it holds a public key.
    shared : bool
        Whether others may read it, though not write to it.
    """
    place, problem = as_path(path, _WHAT, SecretKeyError), ""
    try:
        with place.open("rb") as file:
            # Of what was opened, whatever may stand at its place by now.
            if secret:
                problem = _problem(place, os.fstat(file.fileno()), shared=shared)
            written = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unusable("read", place, error) from None
    if len(written) > _MOST_BYTES:
        problem = f"it has more than {_MOST_BYTES:,} bytes, which no key has"
    if problem:
        raise SecretKeyError(f"the key file {str(place)!r} is not taken: {problem}")
    return written


def could_be_key(name: str) -> bool:
    """Return whether the name of a variable or a file may be the key itself, given in its place.

    Such a name is not quoted.

    Examples
    --------
    >>> could_be_key("PSEUDONYM_KEY_OF_THE_HOSPITAL_2026"), could_be_key("pseudonyms.key")
    (False, False)
    >>> could_be_key("6b8f0ad1c7e2934f5581bd0c27fa9e36")
    True
    """
    return len(name) >= _SHORTEST and not _VARIABLE.fullmatch(name)


def write_key_file(path: Any, written: bytes, *, secret: bool = True) -> None:
    """Write a file: a new one that only its owner may read, if it holds a secret."""
    place = as_path(path, _WHAT, SecretKeyError)
    try:
        with os.fdopen(make_private(place), "wb") if secret else place.open("wb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, ValueError) as error:
        raise _unusable("write", place, error) from None


def _problem(path: Path, result: os.stat_result, *, shared: bool) -> str:
    folders = (path.absolute().parent, path.resolve().parent)
    open_to = why_not_private(result, shared=shared)
    if open_to and not shared and not why_not_private(result, shared=True):
        open_to += ", or say shared=True (--key-shared) if a container mounts it so"
    return open_to or next(
        filter(None, (why_not_safe(folder, shared=shared) for folder in folders)), ""
    )


def _unusable(doing: str, place: Path, error: OSError | ValueError) -> SecretKeyError:
    # Who gives the key in place of its file must not find it in a log.
    alone = _ONE_WORD.fullmatch(str(place)) and not (place.is_absolute() and place.parent.is_dir())
    called = "of this name" if alone and could_be_key(str(place)) else repr(str(place))
    hint = ""
    if doing == "write" and isinstance(error, FileExistsError):
        hint = "; name a new file: what a key was used for is lost with it"
    elif doing == "write" and isinstance(error, FileNotFoundError):
        hint = "; make its folder first"
    return SecretKeyError(f"cannot {doing} the key file {called}: {why_not(error)}{hint}")
