"""Files of keys: read if nobody else could have read or exchanged them, written for one alone."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from anonrisk.core.paths import as_path, why_not
from anonrisk.errors import SecretKeyError
from anonrisk.pseudonyms.private_files import make_private, why_not_private, why_not_safe

if TYPE_CHECKING:
    from pathlib import Path

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
