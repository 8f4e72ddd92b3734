"""What a table, or the file that it is in, holds besides its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Stored:
    """Counts and names of what is stored besides the rows; never a value.

    Attributes
    ----------
    unused : mapping of str to int
        By column, how many values are stored that no row has.
    metadata : tuple of str
        The keys of metadata that are not known to be harmless.
    in_file : bool
        Whether a file holds it, which is published as it is.
    remedy : str
        What takes it away, ready to paste.
    """

    unused: Mapping[str, int] = field(default_factory=dict)
    metadata: tuple[str, ...] = ()
    in_file: bool = False
    remedy: str = ""
