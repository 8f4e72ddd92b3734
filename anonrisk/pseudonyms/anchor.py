"""The anchor: a head of the audit in a file elsewhere, so that a cut-off end is noticed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from anonrisk.core.render import kind_name
from anonrisk.errors import ArgumentError, StoreError
from anonrisk.pseudonyms.audit import WORDS
from anonrisk.pseudonyms.private_files import private_file, replace_file

# A head is a number, a colon and 64 hexadecimal digits.
_LONGEST = 200


class Anchor:
    """Keeps the head of a store in a file, or nowhere."""

    def __init__(self, path: Any) -> None:
        """Name the file; None for no anchor."""
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise ArgumentError(f"anchor= is the path of a file, not {kind_name(path)}")
        self.path = None if path is None else Path(path)

    def refuse_new(self) -> None:
        """Reject to make a store where the anchor says that there was one, or cannot be kept."""
        if self.path is not None and self._head() is not None:
            raise StoreError(
                f"the anchor {str(self.path)!r} says that there was a store already: it was moved "
                "away, or this is the anchor of another one"
            )

    def kept(self) -> str | None:
        """Return the head in the file, which the audit must have; None if there is no anchor."""
        if self.path is None:
            return None
        head = self._head()
        if head is None:
            raise StoreError(
                f"the anchor {str(self.path)!r} is not there: it was taken away, or there never "
                "was one. If so, open the store without it once, and write its head there"
            )
        return head

    def keep(self, head: str) -> None:
        """Put the head into the file, unless a later one is there already."""
        if self.path is None:
            return
        kept = self._head()
        if kept is not None and WORDS.number_of(head) <= WORDS.number_of(kept):
            return
        try:
            # Where a link leads to: else it would become a file here, and the one there grow old.
            replace_file(self.path.resolve(), head.encode() + b"\n")
        except OSError as error:
            raise StoreError(
                f"what was done is on record, but the anchor {str(self.path)!r} cannot be "
                f"written: {error.strerror}"
            ) from None

    def _head(self) -> str | None:
        """Read the head, if the file is there."""
        path = Path(str(self.path))
        problem = private_file(path, make=False)
        if problem is None:
            return None
        if problem:
            raise StoreError(f"the anchor {str(path)!r} is not used: {problem}")
        try:
            with path.open(encoding="ascii") as file:
                head = file.read(_LONGEST).strip()
            WORDS.number_of(head)
        except (OSError, ValueError):
            raise StoreError(f"the anchor {str(path)!r} cannot be read, or holds no head") from None
        return head
