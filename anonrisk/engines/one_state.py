"""One state of a table for all that belongs together, where others may change it meanwhile."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from anonrisk.engines.pandas.encode import remembering
from anonrisk.engines.refused import refuse_word

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def one_state(frame: Any, word: str) -> Iterator[None]:
    """Let all that is asked inside see one state of a table in a database.

    What a database is not asked for is refused by the word that the caller wrote. Tables of other
    libraries are what they are; of one of pandas a check encodes each column once.
    """
    sql = sys.modules.get("anonrisk.engines.sql")
    if sql is None or not isinstance(frame, sql.SqlTable):
        with remembering(frame) if word == "check" else nullcontext():
            yield
        return
    refuse_word(word)
    with frame.reading():
        yield
