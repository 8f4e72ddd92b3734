"""Paths that a caller gives, and what the system says of them."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import kind_name
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Container

    from anonrisk.errors import AnonRiskError


def as_path(value: Any, what: str, error: type[AnonRiskError] = ArgumentError) -> Path:
    """Read the path of something.

    Examples
    --------
    >>> as_path("week.state", "a state").name
    'week.state'
    >>> as_path(None, "a state")
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: the path of a state is a text or a path, not None
    """
    try:
        return Path(value)
    except TypeError:
        raise error(f"the path of {what} is a text or a path, not {kind_name(value)}") from None


def is_there(path: Path) -> bool:
    """Return whether a file or folder exists; one with a name that no system takes does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def nearest_beside(path: Path, endings: Container[str]) -> str:
    """Return which file of the same folder may have been meant, as the end of a sentence."""
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix.casefold() in endings]
    except (OSError, ValueError):
        return ""
    # Endings are alike by themselves.
    stems = {Path(name).stem.casefold(): name for name in names}
    close = get_close_matches(path.stem.casefold(), stems, n=1)
    return f"; did you mean {stems[close[0]]!r}?" if close else ""


def why_not(error: OSError | ValueError) -> str:
    """Return what the system said; Python refuses some names before it asks."""
    return getattr(error, "strerror", None) or "this is not the name of a file"
