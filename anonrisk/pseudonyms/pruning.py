"""Pruning the audit: old events go, and one event says what held after the last of them.

What is left is checked from there. The event is part of the chain: what it says can be changed as
little as any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anonrisk.pseudonyms.replay import PRUNED, Known, beginning
from anonrisk.pseudonyms.verifying import compare, digest_of, issued_after, without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.pseudonyms.audit import Event
    from anonrisk.pseudonyms.session import Doing, Turn


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
    found = turn.tables.all_names()
    compare(turn, found)
    rest = without(turn, found, issued_after(turn, through))
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
    """Give what the audit says up to the last event that goes."""
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
