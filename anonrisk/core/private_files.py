"""Files that only their owner may read: keys, and what is kept about persons."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Windows has no such bits.
_HAS_MODES = os.name == "posix"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(path: Path) -> int:
    """Make a new file that only its owner may read and write; give its open descriptor."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def why_not_private(path: Path) -> str:
    """Say who else may use a file, and what to do; nothing where nobody may."""
    mode = path.stat().st_mode
    if _HAS_MODES and mode & _OTHERS:
        return f"others than its owner may use it (mode {mode & 0o777:04o}): chmod 600 it"
    return ""


def why_not_safe(folder: Path) -> str:
    """Say why a file in this folder can be exchanged by anybody; nothing where it cannot."""
    if not folder.is_dir():
        return "the folder is not there"
    if _HAS_MODES and folder.stat().st_mode & stat.S_IWOTH:
        return "everybody may write to its folder, and exchange the file: take one of your own"
    return ""
