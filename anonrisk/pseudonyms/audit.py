"""The audit: every event names the hash of the one before it, and the key vouches for the last.

The content of an event is canonical JSON; its hash is SHA-256, without a key, so that a head that
was kept elsewhere stays right when the key is rotated. Beside it stands a MAC, HMAC-SHA-256 over
the id of the store, the epoch and the content, under a subkey of the key of that epoch. Events of
earlier keys are vouched for by those of the present one, which follow them in the chain.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import field, fields
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, PrintedTable, count_of, kind_name, named
from anonrisk.errors import ArgumentError, StoreError
from anonrisk.pseudonyms.hash_chain import ChainWords, linked, microseconds
from anonrisk.pseudonyms.private_files import NeverPickled, private_file, replace_file
from anonrisk.pseudonyms.pseudonym import sized

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anonrisk.pseudonyms.keys import Key

WORDS = ChainWords("event", "events", "audit", "hash", StoreError)
# The head before the first event.
BEGINNING = "0:"
# The number of the key that a store is made with.
FIRST_EPOCH = 1
_SHOWN = 20


@dataclass(frozen=True, repr=False)
class Event(PrintedFields):
    """One line of the audit: who did, or tried, what to whom, when and why.

    Attributes
    ----------
    number : int
        Its place in the audit, from 1.
    at : str
        When, in UTC; never before the event before it, but for one that accepts the clock.
    by : str
        Who.
    action : str
        The method that was called; ``"create"`` for the first of all, and ``"rotated"`` and
        ``"prune"`` for what followed from a call.
    scope : str
        The recipient; for a right, the recipient that it is for.
    pseudonyms : tuple of str
        Those that were asked for or given, in an order that says nothing about persons.
    target : str
        The recipient that a pseudonym was converted for; the action that was granted or revoked.
    person : str
        Whom something was granted to or revoked from.
    per_day : int or None
        How many persons a day were granted.
    reason : str
        Why.
    outcome : str
        ``"done"``, ``"refused"``, ``"unknown"`` (no such pseudonym or right) or ``"failed"`` (an
        identity in the store cannot be read, or two persons would share a pseudonym).
    details : dict
        What else the store must know of it; no identity, and nothing that one can be told by.
    """

    number: int
    at: str
    by: str
    action: str
    scope: str = ""
    pseudonyms: tuple[str, ...] = ()
    target: str = ""
    person: str = ""
    per_day: int | None = None
    reason: str = ""
    outcome: str = "done"
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def moment(self) -> int:
        """When, in microseconds since 1970."""
        return microseconds(datetime.fromisoformat(self.at))

    @property
    def persons(self) -> int:
        """How many persons it is about."""
        return int(self.details.get("persons", len(self.pseudonyms)))


_NAMES = frozenset(event.name for event in fields(Event)) - {"number"}


@dataclass(frozen=True, repr=False)
class AuditTrail(PrintedTable):
    """The events of a store, whose chain was found unbroken.

    Attributes
    ----------
    items : tuple of Event
        In the order in which they happened.
    head : str
        What names the audit as it is; keep it elsewhere, and give it to `verify`.
    """

    items: tuple[Event, ...]
    head: str

    def __iter__(self) -> Iterator[Event]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Event:
        return self.items[place]

    def _lines(self) -> list[str]:
        return [f"Audit of {count_of(len(self.items), 'event')}"]

    def _header(self) -> tuple[str, ...]:
        return "event", "at", "by", "action", "for", "persons", "outcome", "reason"

    def _rows(self) -> list[list[str]]:
        return [
            [
                *(f"{event.number:,}", event.at[:19], named(event.by), event.action),
                *(named(event.scope) or "-", f"{event.persons:,}", event.outcome),
                named(event.reason) or "-",
            ]
            for event in self.items[-_SHOWN:]
        ]

    def _notes(self) -> list[str]:
        earlier = len(self.items) - _SHOWN
        return [f"({earlier:,} earlier not shown)"] if earlier > 0 else []


def head_of(content: str, number: int) -> str:
    """Return the head of an audit whose last event has this content."""
    return f"{number}:{hashlib.sha256(content.encode()).hexdigest()}"


@dataclass(frozen=True)
class AuditChain(NeverPickled):
    """Makes and checks the events of one store, under the key of one epoch."""

    secret: bytes
    store: str
    epoch: int

    @classmethod
    def of(cls, key: Key, store: str, epoch: int) -> Self:
        """Derive what is needed from the key, for the store with this id."""
        return cls(key.derived("identity audit"), store, epoch)

    def __repr__(self) -> str:
        """Show no key."""
        return f"AuditChain({self.store}, epoch {self.epoch})"

    def link(self, head: str, event: Mapping[str, Any]) -> tuple[Event, dict[str, Any]]:
        """Make the event that follows a head; give it with the row that is stored."""
        content = linked(head, event)
        stored = json.loads(content)
        row = {
            "number": stored["number"],
            "epoch": self.epoch,
            "content": content,
            "mac": self._mac(content),
        }
        return _event(stored), row

    def read(self, rows: Iterable[Any], head: str) -> Iterator[tuple[Event, str]]:
        """Yield the events that follow a head, each with the head after it.

        Raises where the chain is broken. Before the last row was read nothing of it is sure:
        events of earlier keys are vouched for by what follows them.
        """
        # Not 0, which a row could be given that is of no key: nothing would vouch for it.
        epoch, read = FIRST_EPOCH, False
        for row in rows:
            number, _, previous = head.partition(":")
            event = self._checked(row, int(number) + 1, previous, epoch)
            epoch, read, head = row.epoch, True, head_of(row.content, row.number)
            yield event, head
        if read and epoch != self.epoch:
            raise StoreError(
                "the last event of the audit was not written with the present key: the end was "
                "cut off, or the store was put together from two states"
            )

    def _checked(self, row: Any, number: int, previous: str, epoch: int) -> Event:
        WORDS.check_place(number, row.number)
        changed = WORDS.changed(number)
        texts = (row.content, row.mac)
        if not all(isinstance(text, str) and text.isascii() for text in texts):
            raise changed
        if not (isinstance(row.epoch, int) and epoch <= row.epoch <= self.epoch):
            raise changed
        if row.epoch == self.epoch and not hmac.compare_digest(self._mac(row.content), row.mac):
            raise changed
        try:
            stored = json.loads(row.content)
            WORDS.check_link(stored, number, previous, _NAMES)
            event = _event(stored)
            _ = event.moment
        # Of an earlier key's event nothing is known before the chain was read to its end.
        except (AttributeError, RecursionError, TypeError, ValueError):
            raise changed from None
        return event

    def _mac(self, content: str) -> str:
        message = sized(self.store.encode()) + sized(str(self.epoch).encode()) + content.encode()
        return hmac.digest(self.secret, message, "sha256").hex()


def _event(stored: Mapping[str, Any]) -> Event:
    summary = {name: value for name, value in stored.items() if name != "previous"}
    return Event(**{**summary, "pseudonyms": tuple(summary["pseudonyms"])})


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
