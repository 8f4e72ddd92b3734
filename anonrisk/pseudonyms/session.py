"""An open store: its keys, what its audit says, and transactions that end on record."""

from __future__ import annotations

import hmac
import json
import secrets
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from anonrisk.core.documents import canonical
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import AnonRiskError, NotAllowedError, StoreError, WrongKeyError, raise_alone
from anonrisk.pseudonyms import hash_chain
from anonrisk.pseudonyms.audit import BEGINNING, FIRST_EPOCH, WORDS, AuditChain, head_of
from anonrisk.pseudonyms.keys import Key, hkdf
from anonrisk.pseudonyms.private_files import NeverPickled
from anonrisk.pseudonyms.pseudonym import folded, sized
from anonrisk.pseudonyms.rights import DAY, Keeping, StoreSettings
from anonrisk.pseudonyms.store import VERSION, IdentityStore, Sealer, StoreTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Row

    from anonrisk.pseudonyms.audit import Anchor, Event
    from anonrisk.pseudonyms.store import Opened

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


@dataclass(frozen=True)
class Doing:
    """What somebody does or tries, before one knows how it ends."""

    by: str
    action: str
    scope: str = ""
    pseudonyms: tuple[str, ...] = ()
    target: str = ""
    person: str = ""
    per_day: int | None = None
    reason: str = ""


@dataclass(frozen=True, repr=False)
class StoreKeys:
    """What follows from the key for one store and epoch."""

    key: Key
    store: str
    epoch: int
    chain: AuditChain
    sealer: Sealer

    @classmethod
    def of(cls, key: Key, store: str, epoch: int) -> StoreKeys:
        """Derive all of it."""
        chain = AuditChain.of(key, store, epoch)
        return cls(key, store, epoch, chain, Sealer.of(key, store, epoch))

    @property
    def check(self) -> str:
        """What the store says of its key, so that another one is noticed."""
        message = f"{VERSION} {self.store} {self.epoch}".encode()
        return hmac.digest(self.key.derived("identity check"), message, "sha256").hex()


class OnRecord(Exception):  # noqa: N818
    """Ends a transaction whose event is written: it is committed, then the error is raised."""

    def __init__(self, error: AnonRiskError) -> None:
        """Keep what the caller is told."""
        super().__init__()
        self.error = error


class Turn:
    """One transaction of a writer: what holds, what is stored, and what goes on record."""

    def __init__(self, keys: StoreKeys, tables: StoreTransaction, known: Known, at: int) -> None:
        """Begin with what the audit says."""
        self.keys, self.tables, self.known, self.at = keys, tables, known, at
        self.about = tables.about()

    @property
    def keeping(self) -> Keeping:
        """What holds now."""
        return self.known.keeping

    @property
    def day(self) -> int:
        """The days since 1970."""
        return self.at // DAY

    def record(self, doing: Doing, outcome: str = "done", **details: Any) -> Event:
        """Put on record what somebody did or tried."""
        fields = {
            **asdict(doing),
            "at": hash_chain.written(self.at),
            "outcome": outcome,
            "details": details,
        }
        event, row = self.keys.chain.link(self.known.head, fields)
        self.tables.add_event(row)
        head = head_of(row["content"], event.number)
        self.known = replace(self.known, head=head, keeping=self.keeping.after([event]))
        return event

    def end(self, doing: Doing, outcome: str, error: AnonRiskError, **details: Any) -> NoReturn:
        """Put on record how it ended, and raise after that is committed."""
        self.record(doing, outcome, **details)
        raise OnRecord(error)

    def allow(self, doing: Doing, *scopes: str, persons: int = 1) -> None:
        """Reject who may not do this to so many persons for all of these recipients."""
        for scope in dict.fromkeys(scopes):
            left = self.keeping.left(doing.by, doing.action, scope, self.at)
            if left is None:
                error = f"{doing.by!r} may not {doing.action} for {scope!r}; {_ASK}"
            elif left < persons:
                error = (
                    f"{doing.by!r} may {doing.action} {count_of(left, 'person')} more for "
                    f"{scope!r} now, not {persons:,}: the volume of 24 hours is used"
                )
            else:
                continue
            self.end(doing, "refused", NotAllowedError(error), persons=persons)

    def allow_office(self, doing: Doing, *offices: str) -> None:
        """Reject who holds none of these offices."""
        if not any(self.keeping.may(doing.by, office) for office in offices):
            error = NotAllowedError(f"{doing.by!r} may not {doing.action}; {_ASK}")
            self.end(doing, "refused", error)

    def unseal(self, row: Row[Any]) -> Opened:
        """Open the identity of a row; raise where it was changed."""
        if row.epoch == self.keys.epoch:
            sealer = self.keys.sealer
        # The audit says whether one is needed: a wrapped key that was put back is not asked.
        elif self.keeping.rotating and row.epoch == self.keys.epoch - 1:
            sealer = self._old_sealer
        else:
            raise StoreError("an identity in the store was sealed with a key of another epoch")
        return sealer.unseal(row.scope, row.pseudonym, row.sealed)

    @cached_property
    def _old_sealer(self) -> Sealer:
        """What opens rows that a rotation did not come to yet."""
        secret = unwrapped(self.keys.sealer, self.about, OLD_KEY)
        return Sealer(secret, self.keys.store, self.keys.epoch - 1)

    def seal(
        self, scope: str, pseudonym: str, identity: bytes | None, day: int | None = None
    ) -> dict[str, Any]:
        """Make the row of an identity that is issued today, or was on a day; None: erased."""
        fields = {"scope": scope, "pseudonym": pseudonym, "epoch": self.keys.epoch}
        sealer, issued = self.keys.sealer, self.day if day is None else day
        if identity is None:
            return {**fields, "sealed": sealer.tombstone(scope, pseudonym)}
        return {**fields, "sealed": sealer.seal(scope, pseudonym, identity, issued)}

    @cached_property
    def tags(self) -> Tags:
        """Make keyed tags by which something is known again, also after a rotation."""
        return Tags(unwrapped(self.keys.sealer, self.about, TAG_KEY))

    def person(self, identity: bytes) -> bytes:
        """Return what tells erased persons apart: not the case of letters, if so settled."""
        return folded(identity) if self.keeping.settings.fold_case else identity

    def is_past(self, day: int) -> bool:
        """Return whether an identity that was last issued on this day is kept no longer."""
        keep = self.keeping.settings.keep_identities
        return keep is not None and day < self.day - keep

    def is_erased(self, identity: bytes) -> bool:
        """Return whether this person was erased."""
        erased = self.keeping.erased
        return bool(erased) and self.tags.of_person(self.person(identity)) in erased


# Under this name the store keeps the key of tags, wrapped by the present key.
TAG_KEY = "tag key"
# And under this one, during a rotation, what sealed identities before.
OLD_KEY = "old sealing key"
_ASK = "somebody who may grant can allow it"


class StoreSession:
    """An open store, whose whole audit was checked; every turn checks what is new."""

    def __init__(self, store: IdentityStore, key: Key, anchor: Anchor) -> None:
        """Check the key and the audit."""
        self.store, self.anchor = store, anchor
        # Before the store is read: somebody else may be at work, and renew it meanwhile.
        kept = anchor.kept()
        with store.reading() as tables:
            about = tables.about()
            self.keys = self._keys(about, key)
            self._known = self._caught_up(tables, about, None)
            self._known.refuse_without(tables, kept)

    # ---- transactions -----------------------------------------------------------------------

    @contextmanager
    def turn(self, *, any_clock: bool = False) -> Iterator[Turn]:
        """Open a writer's transaction; what it puts on record is committed with what it does."""
        ended: AnonRiskError | None = None
        with self.store.writing() as tables:
            known = self._caught_up(tables, tables.about(), self._known)
            # Another process may go on with another copy of the store since this one was opened.
            known.refuse_without(tables, self.anchor.kept())
            at = max(microseconds_now(), known.keeping.at) if any_clock else self._time(known)
            turn = Turn(self.keys, tables, known, at)
            try:
                yield turn
            except OnRecord as caught:
                ended = caught.error
        self._known, self.keys = turn.known, turn.keys
        self.anchor.keep(turn.known.head)
        if ended is not None:
            raise_alone(ended)

    def seen(self) -> Known:
        """Read what is new in the audit, and give what it says."""
        with self.store.reading() as tables:
            self._known = self._caught_up(tables, tables.about(), self._known)
        return self._known

    @staticmethod
    def _time(known: Known) -> int:
        """Return the time of an event that happens now, which is never before the last."""
        at, last = microseconds_now(), known.keeping.at
        behind = timedelta(microseconds=last - at)
        if behind > hash_chain.CLOCKS_DIFFER:
            raise StoreError(
                f"the clock of this machine is {behind} behind the last event of the audit: "
                "nothing is done. Set it right; if the last event's was wrong, accept_clock"
            )
        return max(at, last)

    # ---- reading the audit ------------------------------------------------------------------

    def _keys(self, about: Mapping[str, str], key: Key) -> StoreKeys:
        version, place = about.get("version"), self.store.place
        if version != VERSION:
            raise StoreError(
                f"{place} holds version {version} of a store of identities, this library reads "
                f"version {VERSION}: use the version of anonrisk that wrote it"
            )
        epoch = str(about.get("epoch", ""))
        if epoch.isascii() and epoch.isdecimal():
            keys = StoreKeys.of(key, str(about.get("store")), int(epoch))
            if hmac.compare_digest(str(about.get("key check")).encode(), keys.check.encode()):
                return keys
        raise WrongKeyError(
            f"{place} holds a store of identities of another key: it was made with another one, "
            "its key was rotated, or what it says of itself was changed"
        )

    def _caught_up(
        self, tables: StoreTransaction, about: Mapping[str, str], known: Known | None
    ) -> Known:
        if about.get("epoch") != str(self.keys.epoch):
            raise WrongKeyError("the key of this store was rotated: open it with the new one")
        if not hmac.compare_digest(str(about.get("key check")).encode(), self.keys.check.encode()):
            raise WrongKeyError("the store's record of its key was changed")
        return caught_up(tables, about, self.keys.chain, known)


@dataclass(frozen=True, repr=False)
class Tags(NeverPickled):
    """Keyed tags by which something is known again that is not written down."""

    secret: bytes

    def of_person(self, identity: bytes) -> str:
        """Make the tag of a person who was erased."""
        return self._tag("identity erased", identity)

    def of_pseudonym(self, scope: str, pseudonym: str) -> str:
        """Make the tag of a pseudonym that came of a conversion.

        The audit must not name it beside the one that it was converted from: who reads it could
        link the two recipients.
        """
        return self._tag("identity converted", sized(scope.encode()) + sized(pseudonym.encode()))

    def _tag(self, purpose: str, about: bytes) -> str:
        subkey = hkdf(self.secret, b"anonrisk", purpose.encode(), 32)
        return hmac.digest(subkey, about, "sha256").hex()


def create(store: IdentityStore, key: Key, settings: StoreSettings, anchor: Anchor) -> None:
    """Make a new store with its first event, unless somebody else was quicker."""
    keys = StoreKeys.of(key, secrets.token_hex(16), FIRST_EPOCH)
    with store.writing() as tables:
        # Of two who look and then make, one waits here for the other.
        tables.make_tables()
        if tables.about():
            return
        anchor.refuse_new()
        tag_key = keys.sealer.wrap(secrets.token_bytes(32), TAG_KEY).hex()
        for name, value in (
            ("version", VERSION),
            ("store", keys.store),
            ("epoch", str(keys.epoch)),
            ("key check", keys.check),
            (TAG_KEY, tag_key),
        ):
            tables.say(name, value)
        turn = Turn(keys, tables, Known(), microseconds_now())
        fields = {name: value for name, value in vars(settings).items() if name != "admin"}
        doing = Doing(by=settings.admin, action="create", person=settings.admin)
        turn.record(doing, settings=fields, store=keys.store)
    anchor.keep(turn.known.head)


def unwrapped(sealer: Sealer, about: Mapping[str, str], what: str) -> bytes:
    """Return a key that the store keeps wrapped; refuse one that was changed."""
    try:
        wrapped = bytes.fromhex(about.get(what, ""))
    except (TypeError, ValueError):
        wrapped = b""
    return sealer.unwrap(wrapped, what)


def microseconds_now() -> int:
    """Return the time of this machine."""
    return hash_chain.microseconds(hash_chain.now())
