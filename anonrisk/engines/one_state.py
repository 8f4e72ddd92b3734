"""One state of a table for all that belongs together, where others may change it meanwhile."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from anonrisk.engines.pandas.encode import remembering
from anonrisk.engines.refusals import refuse_word

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["asked_word", "one_state", "remembering"]

# The word that the user typed, for those who watch a cluster; none inside a call of another kind.
asked_word: ContextVar[str] = ContextVar("anonrisk_asked_word", default="")


@contextmanager
def one_state(frame: Any, word: str) -> Iterator[None]:
    """Let all that is asked inside see one state of a table in a database.

    What a database is not asked for is refused by the word that the caller wrote. Tables of other
    libraries are what they are; of one in memory each column is encoded once.
    """
    sql = sys.modules.get("anonrisk.engines.sql")
    if sql is None or not isinstance(frame, sql.SqlTable):
        token = asked_word.set(asked_word.get() or word)
        try:
            with remembering(frame):
                yield
        finally:
            asked_word.reset(token)
        return
    refuse_word(word)
    with frame.reading():
        yield
