"""Granting and revoking rights, and accepting a clock that was set back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.errors import ArgumentError, NotAllowedError, StoreError
from anonrisk.pseudonyms.audit import AuditTrail
from anonrisk.pseudonyms.session import microseconds_now

if TYPE_CHECKING:
    from anonrisk.pseudonyms.rights import Rights
    from anonrisk.pseudonyms.session import Doing, StoreSession


def grant(session: StoreSession, doing: Doing) -> None:
    """Allow somebody something; nobody grants themselves anything."""
    with session.turn() as turn:
        turn.allow_office(doing, "grant")
        if doing.person == doing.by:
            error = NotAllowedError(
                f"nobody grants themselves anything: somebody else who may grant can allow it to "
                f"{doing.by!r}"
            )
            turn.end(doing, "refused", error)
        turn.record(doing)


def revoke(session: StoreSession, doing: Doing) -> None:
    """Take back what was granted, but for the last right to grant."""
    with session.turn() as turn:
        turn.allow_office(doing, "grant")
        key = (doing.person, doing.target, doing.scope or None)
        if key not in turn.keeping.granted:
            scope = f" for {doing.scope!r}" if doing.scope else ""
            error = ArgumentError(
                f"{doing.person!r} may not {doing.target}{scope}: nothing is taken back"
            )
            turn.end(doing, "unknown", error)
        if doing.target == "grant" and len(turn.keeping.granters()) == 1:
            last = NotAllowedError(
                f"{doing.person!r} is the last one who may grant; grant it to somebody else first"
            )
            turn.end(doing, "refused", last)
        turn.record(doing)


def rights(session: StoreSession, doing: Doing) -> Rights:
    """Give the table of present rights."""
    with session.turn() as turn:
        turn.allow_office(doing, "audit", "grant")
        turn.record(doing)
    return turn.keeping.rights(turn.at)


def audit(session: StoreSession, doing: Doing) -> AuditTrail:
    """Give every event that is there, this one too."""
    with session.turn() as turn:
        turn.allow_office(doing, "audit")
        turn.record(doing)
        rows = turn.tables.events()
        events = [event for event, _ in turn.keys.chain.read(rows, turn.known.start)]
    return AuditTrail(tuple(events), turn.known.head)


def accept_clock(session: StoreSession, doing: Doing) -> None:
    """Go on with a clock that is behind the last event."""
    with session.turn(any_clock=True) as turn:
        turn.allow_office(doing, "grant")
        now = microseconds_now()
        if now >= turn.keeping.at:
            raise StoreError("the clock is not behind the last event: there is nothing to accept")
        # Not before it is allowed: who may not accept a clock must not set it back by asking.
        turn.at = now
        turn.record(doing)
