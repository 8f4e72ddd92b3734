"""Reading the audit from the database: all of it when a store is opened, later what is new."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from anonrisk.core.documents import canonical
from anonrisk.core.frozen import dataclass
from anonrisk.errors import StoreError
from anonrisk.pseudonyms.audit import BEGINNING, WORDS, head_of
from anonrisk.pseudonyms.rights import Keeping, StoreSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.pseudonyms.audit import AuditChain, Event
    from anonrisk.pseudonyms.store import StoreTransaction

_NOBODY = Keeping(StoreSettings(admin=""))
# Under this name the store says which event stands in the place of those that were pruned. It is
# a hint: that event is part of the chain, and is read again as such.
PRUNED = "pruned"


@dataclass(frozen=True)
class Known:
    """What the audit says up to a head.

    Attributes
    ----------
    head : str
        The last event that was read.
    keeping : Keeping
        What holds after it.
    start : str
        The head before the first event that is there: those before it were pruned.
    hint : str or None
        Which event says so, as the store tells.
    promised : str
        What that event must turn out to say, while it was not read in its place.
    """

    head: str = BEGINNING
    keeping: Keeping = _NOBODY
    start: str = BEGINNING
    hint: str | None = None
    promised: str = ""

    @property
    def number(self) -> int:
        """The number of the last event."""
        return int(self.head.partition(":")[0])

    @property
    def pruned(self) -> int:
        """The number of the last event that was pruned; 0 if none was."""
        return int(self.start.partition(":")[0])

    def refuse_without(self, tables: StoreTransaction, kept: str | None) -> None:
        """Raise unless the audit has the head of an anchor, if there is one."""
        if kept is not None:
            self.refuse_other(tables, kept)

    def refuse_other(self, tables: StoreTransaction, head: str) -> None:
        """Raise unless the audit once had this head."""
        number = WORDS.number_of(head)
        if number < self.pruned:
            raise StoreError(
                f"event {number:,} of the audit was pruned, so that it cannot be decided whether "
                f"this was its head; the audit begins with event {self.pruned + 1:,}: keep a newer "
                "head"
            )
        row = tables.event(number)
        result = None if row is None else head_of(str(row.content), number)
        WORDS.refuse_other(head, self.start if number == self.pruned else result, self.number)


def caught_up(
    tables: StoreTransaction, about: Mapping[str, str], chain: AuditChain, known: Known | None
) -> Known:
    """Read the events that are new, and check that what was known of the audit still holds."""
    hint = about.get(PRUNED)
    if known is not None and known.hint == hint:
        known.refuse_other(tables, known.head)
        return _read(tables, chain, known)
    result = _read(tables, chain, beginning(tables, hint))
    if known is not None and known.number >= result.pruned:
        result.refuse_other(tables, known.head)
    return result


def _read(tables: StoreTransaction, chain: AuditChain, known: Known) -> Known:
    """Read what follows."""
    head, prunings = known.head, set()
    # Nothing stands before the beginning, not even an event 0.
    after = None if known.head == known.start else known.number

    def events() -> Iterator[Event]:
        nonlocal head
        for event, then in chain.read(tables.events(after), known.head):
            head = then
            if str(event.number) == known.hint:
                prunings.add((event.action, event.outcome, canonical(event.details)))
            yield event

    keeping = known.keeping.after(events())
    if head == BEGINNING:
        raise StoreError("the store has no event at all: its audit was taken out")
    if keeping.epoch != chain.epoch:
        raise StoreError("the audit ends with another key than the present one: its end is gone")
    if known.promised and prunings != {("prune", "done", known.promised)}:
        raise StoreError("the audit does not begin as the event that pruned it says")
    return replace(known, head=head, keeping=keeping, promised="")


def beginning(tables: StoreTransaction, hint: str | None) -> Known:
    """Return what the audit begins with: nothing, or what was kept of events that were pruned."""
    if hint is None:
        return Known()
    damaged = StoreError("the audit was pruned, and the event that says so is not there")
    row = tables.event(int(hint)) if hint.isascii() and hint.isdecimal() else None
    if row is None:
        raise damaged
    try:
        details = json.loads(row.content)["details"]
        start = f"{details['through']}:{details['hash']}"
        keeping, promised = Keeping.from_dict(details["keeping"]), canonical(details)
    # Nothing is known of the row yet: it is part of the chain that is read from here on.
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise damaged from None
    if tables.first_number() != details["through"] + 1:
        raise StoreError("the audit does not begin where it was pruned: events were put in")
    return Known(start, keeping, start, hint, promised)
