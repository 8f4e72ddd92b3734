"""How long identities and events are kept, and what happens to those that are older."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonrisk.core.render import PrintedFields
from anonrisk.errors import NotAllowedError, StoreError
from anonrisk.pseudonyms.erasure import Found
from anonrisk.pseudonyms.pruning import prune
from anonrisk.pseudonyms.rights import ANY, DAY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.pseudonyms.session import Doing, StoreSession, Turn


@dataclass(frozen=True, repr=False)
class Expiry(PrintedFields):
    """What was older than it is kept.

    Attributes
    ----------
    identities : int
        How many pseudonyms lead to nobody from now on.
    events : int
        How many events of the audit were deleted.
    """

    identities: int
    events: int


def set_retention(session: StoreSession, doing: Doing, days: Mapping[str, int | None]) -> None:
    """Settle after how many days identities and events expire."""
    with session.turn() as turn:
        turn.allow_office(doing, "grant")
        turn.record(doing, "done", **days)


def expire(session: StoreSession, doing: Doing) -> Expiry:
    """Erase identities and prune events that are older than they are kept."""
    with session.turn() as turn:
        if turn.keeping.left(doing.by, "erase", ANY, turn.at) is None:
            error = NotAllowedError(
                f"{doing.by!r} may not expire: that takes the right to erase for every recipient"
            )
            turn.end(doing, "refused", error)
        try:
            events = _pruned(turn, doing)
        except StoreError as broken:
            turn.end(doing, "failed", broken)
        found = _old_identities(turn)
        found.bury(turn)
        turn.record(doing, persons=0, erased=len(found.named))
        found.refuse_unreadable()
    return Expiry(len(found.named), events)


def _pruned(turn: Turn, doing: Doing) -> int:
    keep = turn.keeping.settings.keep_audit
    return 0 if keep is None else prune(turn, doing, turn.at - keep * DAY)


def _old_identities(turn: Turn) -> Found:
    if turn.keeping.settings.keep_identities is None:
        return Found((), 0)
    return Found.by(turn, lambda one: one.identity is not None and turn.is_past(one.day))
