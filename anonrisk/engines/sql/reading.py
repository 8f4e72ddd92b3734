"""One state of a database for all that belongs together: a question, a check, a report.

Who asks inside `reading` shares its connection and transaction, and what was found out about the
table; who asks outside has a transaction of its own.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines.sql.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from anonrisk.engines.sql.database import Connected, Database


@dataclass(frozen=True)
class Reading:
    """A transaction that is under way, and what it has told that stays true inside it."""

    connected: Connected
    known: dict[Hashable, Any] = field(default_factory=dict)


# By context, so that threads that ask the same table have a transaction each.
_UNDER_WAY: ContextVar[Mapping[Hashable, Reading]] = ContextVar("under_way", default={})  # noqa: B039


@contextmanager
def reading(database: Database) -> Iterator[Reading]:
    """Open a transaction, or share the one that is under way."""
    others = _UNDER_WAY.get()
    if database.key in others:
        yield others[database.key]
        return
    state = database.one_state()
    with guarded("open a transaction"):
        connected = state.__enter__()
    token = _UNDER_WAY.set({**others, database.key: (ours := Reading(connected))})
    try:
        yield ours
    finally:
        _UNDER_WAY.reset(token)
        # Nothing was written, so that nothing is lost where it cannot be ended.
        with suppress(Exception):
            state.__exit__(None, None, None)
