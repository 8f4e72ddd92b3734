"""Erasing persons: on request, for good, and when they expire.

An erased identity becomes a tombstone, sealed like an identity and as long. The audit says that
somebody was erased, when, by whom and how many pseudonyms they had, and holds a keyed tag of the
person instead of their pseudonyms: by it they are refused when they are issued one again, or when
a row comes back from a backup. Who expires may be issued a pseudonym again, and leaves no tag.

A person's pseudonyms are found by opening every row: pseudonyms of earlier keys and other forms
cannot be computed any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, count_of
from anonrisk.errors import ErasedError, NotAllowedError, StoreError, UnknownPseudonymError
from anonrisk.pseudonyms.issuing import not_issued
from anonrisk.pseudonyms.session import OnRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.pseudonyms.sealing import Opened
    from anonrisk.pseudonyms.session import Doing, StoreSession, Turn
    from anonrisk.pseudonyms.store import Named


@dataclass(frozen=True, repr=False)
class Erasure(PrintedFields):
    """What an erasure has done.

    Attributes
    ----------
    pseudonyms : int
        How many pseudonyms of the person lead to nobody from now on, of all recipients.
    """

    pseudonyms: int


@dataclass(frozen=True)
class Found:
    """Rows that were looked for, and how many could not be opened."""

    named: tuple[Named, ...]
    unreadable: int

    @classmethod
    def by(cls, turn: Turn, wanted: Callable[[Opened], bool]) -> Found:
        """Open every row of the store."""
        named, unreadable = [], 0
        for row in turn.tables.all_identities():
            try:
                if wanted(turn.unseal(row)):
                    named.append((row.scope, row.pseudonym))
            except StoreError:
                unreadable += 1
        return cls(tuple(named), unreadable)

    def bury(self, turn: Turn) -> None:
        """Put tombstones in their place."""
        turn.tables.replace(turn.seal(*item, None) for item in self.named)

    def refuse_unreadable(self) -> None:
        """Raise, once what was found is buried, where nobody can tell whether this was all."""
        if self.unreadable:
            text = count_of(self.unreadable, "row")
            error = f"what was found is erased, but {text} of the store cannot be opened, and "
            raise OnRecord(
                StoreError(
                    f"{error}it cannot be decided whose they are: somebody changed them. Put them "
                    "back from a backup, and erase again"
                )
            )


def erase(
    session: StoreSession, doing: Doing, *, pseudonym: str | None, identity: bytes | None
) -> Erasure:
    """Erase one person from the store, whatever the recipient and the key of their pseudonyms."""
    with session.turn() as turn:
        turn.allow(doing, doing.scope)
        person = identity if pseudonym is None else _behind(turn, doing, pseudonym)
        whom = None if person is None else turn.person(person)
        result = Found.by(turn, lambda item: whom == (item.identity and turn.person(item.identity)))
        if whom is None or not result.named:
            error = UnknownPseudonymError("the store has no pseudonym of this person")
            turn.end(doing, "unknown", error, persons=0)
        _allow_all(turn, doing, {scope for scope, _ in result.named})
        result.bury(turn)
        tags = [turn.tags.of_person(whom)]
        turn.record(doing, persons=1, erased=len(result.named), tags=tags)
        result.refuse_unreadable()
    return Erasure(len(result.named))


def _behind(turn: Turn, doing: Doing, pseudonym: str) -> bytes:
    row = turn.tables.identities(doing.scope, [pseudonym]).get(pseudonym)
    if row is None:
        turn.end(doing, "unknown", not_issued(doing.scope), persons=0)
    try:
        identity = turn.unseal(row).identity
    except StoreError as broken:
        turn.end(doing, "failed", broken, persons=0)
    if identity is None:
        turn.end(doing, "unknown", ErasedError("this person was erased already"), persons=0)
    return identity


def _allow_all(turn: Turn, doing: Doing, scopes: set[str]) -> None:
    """Reject who may not erase for one of the recipients, without telling which."""
    if all(turn.keeping.left(doing.by, doing.action, scope, turn.at) for scope in scopes):
        return
    error = NotAllowedError(
        f"this person has pseudonyms for recipients that {doing.by!r} may not erase for; "
        "somebody who may erase for every recipient can"
    )
    turn.end(doing, "refused", error, persons=1)
