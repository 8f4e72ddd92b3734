"""How long identities and events are kept, and what happens to those that are older."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.errors import NotAllowedError, StoreError
from anonrisk.pseudonyms.erasure import Found
from anonrisk.pseudonyms.replay import PRUNED, Known, beginning
from anonrisk.pseudonyms.rights import ANY, DAY
from anonrisk.pseudonyms.verifying import compare, digest_of, issued_after, without

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.pseudonyms.audit import Event
    from anonrisk.pseudonyms.session import Doing, StoreSession, Turn


# What is left is checked from there. The event is part of the chain: what it says can be changed as
# little as any other.


def prune(turn: Turn, doing: Doing, before: int) -> int:
    """Take out the first events, as far as all are of a time before this; give how many.

    Parameters
    ----------
    turn : Turn
        The transaction in which it happens; somebody else has checked that it may.
    doing : Doing
        Who prunes, and why: the event ``"prune"`` says so.
    before : int
        In microseconds since 1970.
    """
    last = _last_before(turn, before)
    through = last.number
    if through == turn.known.pruned:
        return 0
    # Else rows that somebody put in or took out would count as known from now on.
    names = turn.tables.all_names()
    compare(turn, names)
    rest = without(turn, names, issued_after(turn, through))
    event = turn.record(
        replace(doing, action="prune"),
        through=through,
        hash=last.head.partition(":")[2],
        keeping=last.keeping.to_dict(),
        count=len(rest),
        digest=digest_of(rest),
    )
    pruned = through - turn.known.pruned
    turn.tables.say(PRUNED, str(event.number))
    turn.tables.drop_events(through)
    turn.known = replace(turn.known, start=last.head, hint=str(event.number))
    return pruned


def _last_before(turn: Turn, before: int) -> Known:
    """Return what the audit says up to the last event that goes."""
    known, last = turn.known, turn.known.start

    def going() -> Iterator[Event]:
        nonlocal last
        for event, head in turn.keys.chain.read(turn.tables.events(), known.start):
            # One event stays in any case, so that whoever has seen it finds it again.
            if event.moment >= before or event.number == known.number:
                return
            last = head
            yield event

    keeping = beginning(turn.tables, known.hint).keeping.after(going())
    return Known(last, keeping)


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
        old_identities = _old_identities(turn)
        old_identities.bury(turn)
        turn.record(doing, persons=0, erased=len(old_identities.named))
        old_identities.refuse_unreadable()
    return Expiry(len(old_identities.named), events)


def _pruned(turn: Turn, doing: Doing) -> int:
    keep = turn.keeping.settings.keep_audit
    return 0 if keep is None else prune(turn, doing, turn.at - keep * DAY)


def _old_identities(turn: Turn) -> Found:
    if turn.keeping.settings.keep_identities is None:
        return Found((), 0)
    return Found.by(turn, lambda item: item.identity is not None and turn.is_past(item.day))
