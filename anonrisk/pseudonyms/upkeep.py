"""What is done with a whole store: erase persons, expire them, verify everything, renew the key.

An erased identity becomes a tombstone, sealed like an identity and as long. The audit says that
somebody was erased, when, by whom and how many pseudonyms they had, and holds a keyed tag of the
person instead of their pseudonyms: by it they are refused when they are issued one again, or when
a row comes back from a backup. Who expires may be issued a pseudonym again, and leaves no tag.

A person's pseudonyms are found by opening every row: pseudonyms of earlier keys and other forms
cannot be computed any more.

One transaction changes the key: from then on only the new one opens the store, the audit goes on
under it, and the subkey that sealed identities until then is kept in the store, wrapped under the
new key, so that every row can be read. Then all rows are sealed anew, some at a time; at the end
the wrapped subkey is deleted. Whoever is killed in between opens the store with the new key and
rotates to it again, which goes on from there.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, count_of
from anonrisk.errors import (
    ArgumentError,
    ErasedError,
    NotAllowedError,
    SecretKeyError,
    StoreError,
    UnknownPseudonymError,
)
from anonrisk.pseudonyms.issuing import not_issued
from anonrisk.pseudonyms.pseudonym import sized
from anonrisk.pseudonyms.rights import ANY, DAY, refuse_parts
from anonrisk.pseudonyms.session import (
    OLD_KEY,
    PRUNED,
    TAG_KEY,
    Known,
    OnRecord,
    StoreKeys,
    beginning,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Row

    from anonrisk.pseudonyms.audit import Event
    from anonrisk.pseudonyms.keys import Key
    from anonrisk.pseudonyms.session import Doing, StoreSession, Turn
    from anonrisk.pseudonyms.store import Named, Opened


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


@dataclass(frozen=True, repr=False)
class VerifiedStore(PrintedFields):
    """A store in which everything was read and found as it was written.

    Attributes
    ----------
    head : str
        What names its audit as it is; keep it elsewhere.
    events, pseudonyms, erased : int
        How many events and pseudonyms there are, and behind how many of these nobody is any more.
    """

    head: str
    events: int
    pseudonyms: int
    erased: int


def verify(session: StoreSession, doing: Doing, head: str | None) -> VerifiedStore:
    """Read everything; raise where anything is not as it was written."""
    with session.turn() as turn:
        turn.allow_office(doing, "audit")
        try:
            if head is not None:
                turn.known.refuse_other(turn.tables, head)
            erased, result = _opened(turn)
            compare(turn, result)
        except StoreError as error:
            turn.end(doing, "failed", error)
        turn.record(doing)
        events = turn.known.number - turn.known.pruned
    return VerifiedStore(turn.known.head, events, len(result), erased)


def _opened(turn: Turn) -> tuple[int, set[Named]]:
    """Open every identity; give how many were erased, and all pseudonyms."""
    erased, result = 0, set()
    for row in turn.tables.all_identities():
        identity = turn.unseal(row).identity
        erased += identity is None
        if identity is not None and turn.is_erased(identity):
            raise StoreError("an identity that was erased is in the store again")
        result.add((row.scope, row.pseudonym))
    return erased, result


def compare(turn: Turn, result: set[Named]) -> None:
    """Reject pseudonyms that the audit does not know, and ones that it does and are not there."""
    summary = issued_after(turn)
    rest = without(turn, result, summary)
    if digest_of(rest) != summary.digest:
        raise _other(len(rest), summary.count)


def without(turn: Turn, result: set[Named], issued: Issued) -> set[Named]:
    """Leave out the pseudonyms that the audit says are there; refuse if one is not."""
    for named, number in issued.issued.items():
        if named not in result:
            raise _gone(number)
    rest = result - issued.issued.keys()
    by_tag = {turn.tags.of_pseudonym(*named): named for named in rest} if issued.converted else {}
    for tag, number in issued.converted.items():
        if tag not in by_tag:
            raise _gone(number)
    return rest - {by_tag[tag] for tag in issued.converted}


@dataclass
class Issued:
    """The pseudonyms that the audit says are there.

    Those of events that are there, each with its event; of those that were pruned, how many they
    were, and a hash.
    """

    issued: dict[Named, int]
    converted: dict[str, int]
    count: int
    digest: str


def issued_after(turn: Turn, number: int = 0) -> Issued:
    """Read which pseudonyms were issued by the events behind a number, and were new then."""
    issued = Issued({}, {}, 0, digest_of(set()))
    for event, _ in turn.keys.chain.read(turn.tables.events(), turn.known.start):
        if event.outcome != "done" or event.number <= number:
            continue
        if event.action == "issue":
            new = event.pseudonyms[: len(event.pseudonyms) - event.details["known"]]
            issued.issued |= {(event.scope, pseudonym): event.number for pseudonym in new}
        elif event.action == "convert" and event.details["made"]:
            issued.converted[event.details["made"]] = event.number
        elif event.action == "prune" and str(event.number) == turn.known.hint:
            issued.count, issued.digest = (event.details[name] for name in ("count", "digest"))
    return issued


def digest_of(named: set[Named]) -> str:
    """Return a hash of a set of pseudonyms."""
    summary = (sized(scope.encode()) + sized(item.encode()) for scope, item in sorted(named))
    return hashlib.sha256(b"".join(summary)).hexdigest()


def _gone(number: int) -> StoreError:
    return StoreError(f"a pseudonym that event {number:,} of the audit issued is not in the store")


def _other(result: int, known: int) -> StoreError:
    if known == 0:
        return StoreError(f"the store holds {count_of(result, 'pseudonym')} that nobody issued")
    return StoreError(
        f"of the pseudonyms that were issued before the audit was pruned, {known:,}, there are "
        f"now {result:,}, or others: rows were put in or taken out"
    )


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


# So many rows are sealed anew in one transaction.
PART = 1_000


@dataclass(frozen=True, repr=False)
class Rotation(PrintedFields):
    """What a rotation has done.

    Attributes
    ----------
    epoch : int
        How many keys the store has had by now.
    sealed : int
        How many identities this call has sealed with the new key.
    unreadable : int
        How many cannot be opened and stay as they are; more than 0 only if that was allowed.
    """

    epoch: int
    sealed: int
    unreadable: int


def rotate(session: StoreSession, key: Key, doing: Doing, *, leave_unreadable: bool) -> Rotation:
    """Change the key of a store, or go on with a change to this key that was interrupted."""
    if key != session.keys.key and session.seen().keeping.rotating:
        _seal_anew(session, doing, leave_unreadable=leave_unreadable)
    _begin(session, key, doing)
    return _seal_anew(session, doing, leave_unreadable=leave_unreadable)


def _begin(session: StoreSession, key: Key, doing: Doing) -> None:
    with session.turn() as turn:
        turn.allow_office(doing, "rotate")
        try:
            refuse_parts(key, turn.keeping.settings)
        except SecretKeyError as error:
            turn.end(doing, "refused", error)
        if key == turn.keys.key:
            if not turn.keeping.rotating:
                same = ArgumentError(
                    "the store has this key already, and nothing is left to do: rotate to another"
                )
                turn.end(doing, "refused", same)
            return
        _adopt(turn, StoreKeys.of(key, turn.keys.store, turn.keys.epoch + 1))
        turn.record(doing, epoch=turn.keys.epoch)


def _adopt(turn: Turn, keys: StoreKeys) -> None:
    """Let the store have a new key, under which it keeps what it still needs of the old one."""
    kept = {TAG_KEY: turn.tags.secret, OLD_KEY: turn.keys.sealer.secret}
    turn.tables.say("epoch", str(keys.epoch))
    turn.tables.say("key check", keys.check)
    for name, secret in kept.items():
        turn.tables.say(name, keys.sealer.wrap(secret, name).hex())
    turn.keys = keys


def _seal_anew(session: StoreSession, doing: Doing, *, leave_unreadable: bool) -> Rotation:
    """Seal anew what the old key has sealed, in parts; each part is a transaction."""
    sealed = unreadable = 0
    last: Named | None = None
    while True:
        with session.turn() as turn:
            turn.allow_office(doing, "rotate")
            # Another process may go on with it too, and may have been quicker.
            if not turn.keeping.rotating:
                return Rotation(turn.keys.epoch, sealed, unreadable)
            rows = turn.tables.identities_after(last, PART, not_of=turn.keys.epoch)
            if rows:
                renewed = [new for row in rows if (new := _renewed(turn, row)) is not None]
                turn.tables.replace(renewed)
            elif turn.tables.count_identities(not_of=turn.keys.epoch) == unreadable:
                return _end(turn, doing, sealed, unreadable, leave_unreadable=leave_unreadable)
        if rows:
            last = rows[-1].scope, rows[-1].pseudonym
            sealed += len(renewed)
            unreadable += len(rows) - len(renewed)
        else:
            # Rows were put back behind us: once more from the beginning.
            last, unreadable = None, 0


def _renewed(turn: Turn, row: Row[Any]) -> dict[str, Any] | None:
    """Seal one identity with the present key; None if it cannot be opened."""
    try:
        opened = turn.unseal(row)
    except StoreError:
        return None
    identity = opened.identity
    # A row of somebody erased, put back from a backup, is not made good again.
    if identity is not None and turn.is_erased(identity):
        identity = None
    return turn.seal(row.scope, row.pseudonym, identity, opened.day)


def _end(
    turn: Turn, doing: Doing, sealed: int, unreadable: int, *, leave_unreadable: bool
) -> Rotation:
    """Forget the old key, unless it may still be needed."""
    if unreadable and not leave_unreadable:
        text = count_of(unreadable, "identity", "identities")
        error = StoreError(
            f"{text} cannot be opened: somebody changed them. The new key holds and all others "
            "are sealed with it, but the old one is not forgotten yet: put those rows back from a "
            "backup and rotate to the same key again, or do so with leave_unreadable=True"
        )
        turn.end(doing, "failed", error)
    turn.tables.say(OLD_KEY, None)
    turn.record(replace(doing, action="rotated"), unreadable=unreadable)
    return Rotation(turn.keys.epoch, sealed, unreadable)
