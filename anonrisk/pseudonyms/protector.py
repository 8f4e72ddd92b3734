"""The identity protector: the one place that knows who is behind a pseudonym."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.arguments import one_of, true_or_false
from anonrisk.errors import ArgumentError, NotAllowedError, StoreError
from anonrisk.pseudonyms import issuing, upkeep
from anonrisk.pseudonyms.audit import Anchor, AuditTrail
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.pseudonyms.private_files import NeverPickled
from anonrisk.pseudonyms.pseudonym import canonical, safe_form
from anonrisk.pseudonyms.rights import (
    ANY,
    StoreSettings,
    at_least_one,
    name_of,
    pseudonym_of,
    reason_of,
    recipient_of,
    refuse_parts,
    right_of,
    volume_of,
)
from anonrisk.pseudonyms.session import Doing, StoreSession, create, microseconds_now
from anonrisk.pseudonyms.store import IdentityStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from anonrisk.core.types import Alphabet
    from anonrisk.pseudonyms.rights import Rights
    from anonrisk.pseudonyms.upkeep import Erasure, Expiry, Rotation, VerifiedStore


def grant(session: StoreSession, doing: Doing) -> None:
    """Allow somebody something; nobody grants themselves anything."""
    with session.turn() as turn:
        turn.allow_office(doing, "grant")
        if doing.person == doing.by:
            error = NotAllowedError(
                "nobody may grant rights to themselves: somebody else with the right to grant can "
                f"allow it to {doing.by!r}"
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
                f"{doing.person!r} is the last person with the right to grant; grant it to "
                "somebody else first"
            )
            turn.end(doing, "refused", last)
        turn.record(doing)


def rights(session: StoreSession, doing: Doing) -> Rights:
    """Return the table of present rights."""
    with session.turn() as turn:
        turn.allow_office(doing, "audit", "grant")
        turn.record(doing)
    return turn.keeping.rights(turn.at)


def audit(session: StoreSession, doing: Doing) -> AuditTrail:
    """Return every event that is there, this one too."""
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
        current = microseconds_now()
        if current >= turn.keeping.at:
            raise StoreError("the clock is not behind the last event: there is nothing to accept")
        # Not before it is allowed: who may not accept a clock must not set it back by asking.
        turn.at = current
        turn.record(doing)


class Upkeep:
    """The part of `IdentityProtector` that keeps a store in order."""

    _session: StoreSession

    def rotate(
        self, new_key: Key | bytes, *, by: str, reason: str, leave_unreadable: bool = False
    ) -> Rotation:
        """Return the store a new key, and go on with it here.

        From the first moment on only the new key opens the store: other processes that hold the
        old one are told so. Then every identity is sealed anew, 1,000 in a transaction. Who is
        interrupted opens the store with the new key and rotates to it again: that goes on.

        Pseudonyms that were issued are revealed as before. New ones are those of the new key:
        `convert` from a recipient to itself gives the new pseudonym of an old one.

        Parameters
        ----------
        new_key : Key or bytes
            The new key.
        by : str
            Who does it; must have been granted ``"rotate"``.
        reason : str
            Why; must not be blank.
        leave_unreadable : bool
            End the rotation although some identities cannot be opened, because somebody changed
            them. They stay as they are; after the rotation nothing opens them any more.

        Examples
        --------
        >>> from anonrisk.identity import IdentityProtector
        >>> keeper = IdentityProtector(Key.generate(), "sqlite://", admin="officer")
        >>> keeper.grant("security", "rotate", by="officer", reason="yearly rotation")
        >>> keeper.rotate(Key.generate(), by="security", reason="year 2").epoch
        2
        """
        doing = Doing(name_of(by, "by"), "rotate", reason=reason_of(reason))
        key = as_key(new_key)
        return upkeep.rotate(self._session, key, doing, leave_unreadable=leave_unreadable)

    def erase(
        self,
        pseudonym: str | None = None,
        *,
        identity: Any = None,
        scope: str | None = None,
        by: str,
        reason: str,
    ) -> Erasure:
        """Erase a person: their pseudonyms lead to nobody, and they are issued no other.

        All pseudonyms of the person are erased, of every recipient and every key that the store
        has had. To find them every identity is opened, and nobody else can write meanwhile.

        Parameters
        ----------
        pseudonym : str, optional
            A pseudonym of the person, with the `scope` that it was issued for.
        identity : str, int, date or datetime, optional
            Or the person, without a scope.
        scope : str, optional
            The recipient of the pseudonym.
        by : str
            Who does it; must have been granted ``"erase"`` for every recipient that the person
            has a pseudonym of, and for ``"*"`` if the person is given.
        reason : str
            Why. It stays in the audit: name nobody there.

        Examples
        --------
        >>> from anonrisk.identity import IdentityProtector
        >>> keeper = IdentityProtector(Key.generate(), "sqlite://", admin="officer")
        >>> for action in ("issue", "reveal", "erase"):
        ...     keeper.grant("clerk", action, scope="*", per_day=5, by="officer", reason="job")
        >>> pseudonym = keeper.issue("Ann", scope="insurer", by="clerk", reason="admitted")
        >>> keeper.erase(identity="Ann", by="clerk", reason="request 12").pseudonyms
        1
        >>> keeper.reveal(pseudonym, scope="insurer", by="clerk", reason="question")
        Traceback (most recent call last):
        ...
        anonrisk.errors.ErasedError: the person behind this pseudonym was erased
        """
        if (pseudonym is None) == (identity is None):
            raise ArgumentError("erase takes a pseudonym with its scope=, or identity=")
        if (pseudonym is None) != (scope is None):
            raise ArgumentError("scope= is the recipient of a pseudonym: give both, or identity=")
        asked = None if pseudonym is None else pseudonym_of(pseudonym)
        person = None if identity is None else canonical(identity)
        where = ANY if scope is None else recipient_of(scope)
        doing = Doing(name_of(by, "by"), "erase", where, reason=reason_of(reason))
        return upkeep.erase(self._session, doing, pseudonym=asked, identity=person)

    def set_retention(
        self, *, keep_identities: int | None, keep_audit: int | None, by: str, reason: str
    ) -> None:
        """Settle after how many days identities and events expire, from now on.

        Parameters
        ----------
        keep_identities : int or None
            Days since a pseudonym was last issued; None: for ever.
        keep_audit : int or None
            Days since an event; None: for ever.
        by : str
            Who settles it; must have been granted ``"grant"``.
        reason : str
            Why; must not be blank.
        """
        days = {
            "keep_identities": at_least_one(keep_identities, "keep_identities"),
            "keep_audit": at_least_one(keep_audit, "keep_audit"),
        }
        doing = Doing(name_of(by, "by"), "set_retention", reason=reason_of(reason))
        upkeep.set_retention(self._session, doing, days)

    def expire(self, *, by: str, reason: str) -> Expiry:
        """Erase identities and prune events that are older than they are kept.

        Nothing happens by itself: call it every night. Identities are erased whose pseudonym was
        last issued more days ago than `keep_identities`; they may be issued one again. To find
        them every identity is opened, and nobody else can write meanwhile.

        Parameters
        ----------
        by : str
            Who does it; must have been granted ``"erase"`` for ``"*"``. What expires does not
            count against the volume of the right.
        reason : str
            Why; must not be blank.

        Examples
        --------
        >>> from anonrisk.identity import IdentityProtector
        >>> keeper = IdentityProtector(
        ...     Key.generate(), "sqlite://", admin="officer", keep_identities=365, keep_audit=730
        ... )
        >>> keeper.grant("job", "erase", scope="*", per_day=1, by="officer", reason="nightly")
        >>> keeper.expire(by="job", reason="nightly").identities
        0
        """
        doing = Doing(name_of(by, "by"), "expire", ANY, reason=reason_of(reason))
        return upkeep.expire(self._session, doing)


class IdentityProtector(NeverPickled, Upkeep):
    """Issue pseudonyms, convert them between recipients, and reveal who is behind one.

    Fischer-Hübner's identity protector (Registratiekamer 1995). A pseudonym of a scope is the one
    that `anonrisk.pseudonymize` makes with the same key and scope, so that one of a published
    table can be revealed here, if the person was issued one.

    Parameters
    ----------
    key : Key or bytes
        The secret key. A store remembers which key it has, and refuses any other.
    url : str or path
        The path of an SQLite file, which only its owner may read, or a URL of SQLAlchemy for
        SQLite or PostgreSQL; ``sqlite:///identities.db`` if left out.
    admin : str, optional
        Makes a store where there is none, with this first administrator, who may grant and audit
        and nothing else. Leave it out afterwards: a store that was moved away is then missed.
    anchor : path, optional
        A small file elsewhere that holds the last head of the audit, renewed by whatever is done
        here. A store that does not have that head is refused: its end was cut off.
    key_parts : int
        Of a new store: of how many holders' parts its key must be put together. See `Key.split`.
    keep_identities, keep_audit : int, optional
        Of a new store: after how many days identities that were not issued again, and events,
        expire.
    fold_case : bool
        Of a new store: whether the case of letters tells nobody apart, as in addresses of mail.
        Who was erased as ``"Ann"`` is then not issued a pseudonym as ``"ann"`` either.
    format, length, people, max_collision
        How pseudonyms are written, as in `anonrisk.pseudonymize`.

    Notes
    -----
    What it protects, and what not:

    - The database alone reveals nobody: identities are sealed with the key. It does show how many
      pseudonyms each scope has, and the audit.
    - The key alone lets one guess: who has it can make the pseudonym of any name, and compare.
    - Who has the key *and* the database can reveal everybody, without this class and without a
      trace. Rights and audit bind those who come through a program that holds both, so run it as
      a service, and let nobody else have them.
    - `by` is taken on trust: the program must know who is asking.
    - Who may issue can issue for all names and compare: that is why a right is for a recipient
      and a number of persons a day, and why the audit names the pseudonyms.
    - Rights are what the audit says. A row that was put in, changed, taken out or moved is noticed
      before anything is done; events cut off at the end, by an anchor or a head kept elsewhere.
    - A pseudonym that changes by `period` is not issued here.

    Everything is one transaction: rights are checked, it is done, and it is on record, or nothing
    of it happened. Writers may work side by side and may die at any moment.

    Examples
    --------
    >>> from anonrisk.pseudonyms.keys import Key
    >>> keeper = IdentityProtector(Key.generate(), "sqlite://", admin="officer")
    >>> for person, action in (("clerk", "issue"), ("judge", "reveal")):
    ...     keeper.grant(
    ...         person, action, scope="hospital", per_day=5, by="officer", reason="their job"
    ...     )
    >>> pseudonym = keeper.issue("Ann", scope="hospital", by="clerk", reason="admitted")
    >>> keeper.reveal(pseudonym, scope="hospital", by="judge", reason="case 7")
    'Ann'
    >>> keeper.reveal(pseudonym, scope="hospital", by="clerk", reason="curious")
    Traceback (most recent call last):
    ...
    anonrisk.errors.NotAllowedError: 'clerk' may not reveal for 'hospital'; ...
    >>> for event in keeper.audit(by="officer"):
    ...     print(event.by, event.action, event.pseudonyms == (pseudonym,), event.outcome)
    officer create False done
    officer grant False done
    officer grant False done
    clerk issue True done
    judge reveal True done
    clerk reveal True refused
    officer audit False done
    """

    def __init__(
        self,
        key: Key | bytes,
        url: str | PathLike[str] = "sqlite:///identities.db",
        *,
        admin: str | None = None,
        anchor: str | PathLike[str] | None = None,
        key_parts: int | None = None,
        keep_identities: int | None = None,
        keep_audit: int | None = None,
        fold_case: bool | None = None,
        format: Alphabet = "hex",  # noqa: A002
        length: int | None = None,
        people: int | None = None,
        max_collision: float = 1e-6,
    ) -> None:
        """Open the store, and check its key and its audit."""
        secret = as_key(key)
        self._form = safe_form(format, length, people, max_collision)
        asked: dict[str, Any] = {
            "key_parts": at_least_one(key_parts, "key_parts"),
            "keep_identities": at_least_one(keep_identities, "keep_identities"),
            "keep_audit": at_least_one(keep_audit, "keep_audit"),
            "fold_case": None if fold_case is None else true_or_false(fold_case, "fold_case"),
        }
        settled = {name: value for name, value in asked.items() if value is not None}
        if admin is None and settled:
            names = ", ".join(f"{name}=" for name in settled)
            raise ArgumentError(f"{names} of a new store: it is made with admin=")
        kept, store = Anchor(anchor), IdentityStore(url)
        if admin is not None:
            settings = StoreSettings(name_of(admin, "admin"), **settled)
            refuse_parts(secret, settings)
        store.check_file(make=admin is not None)
        if not store.holds():
            if admin is None:
                raise store.none()
            create(store, secret, settings, kept)
        self._session = StoreSession(store, secret, kept)
        settings = self._session.seen().keeping.settings
        refuse_parts(secret, settings)
        if admin not in (None, settings.admin):
            raise NotAllowedError("this store has an administrator already; ask them for a grant")
        for name, value in settled.items():
            if getattr(settings, name) != value:
                raise ArgumentError(
                    f"{name}={value} is not what this store has, {getattr(settings, name)}: it is "
                    "settled when a store is made; leave it out"
                )

    def __repr__(self) -> str:
        """Show where, and neither the key nor a password in the address."""
        return f"IdentityProtector({self._session.store.place!r})"

    def __enter__(self) -> Self:
        """Close the store at the end of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self._session.store.close()

    # ---- what is done to persons ------------------------------------------------------------

    def issue(self, identity: Any, *, scope: str, by: str, reason: str) -> str:
        """Return the pseudonym of a person for a recipient, and remember whose it is.

        Parameters
        ----------
        identity : str, int, date or datetime
            Who it is: at most 240 bytes of UTF-8.
        scope : str
            The recipient.
        by : str
            Who asks; must have been granted ``"issue"`` for this recipient.
        reason : str
            Why. It is kept in the audit as it is: name nobody there.
        """
        return self.issue_all([identity], scope=scope, by=by, reason=reason)[identity]

    def issue_all(
        self, identities: Iterable[Any], *, scope: str, by: str, reason: str, erased: str = "refuse"
    ) -> Mapping[Any, str]:
        """Return the pseudonyms of many persons.

        Every identity that was given is a key of the result. In the hour that a clock change
        repeats, Python holds two different instants of one zone equal; who gives both is told so.
        Persons are issued in parts of 1,000, each of which is stored with its event or not at all;
        who asks again for all of them gets the same pseudonyms.

        Parameters
        ----------
        identities : iterable
            Who it is.
        scope, by, reason
            As in `issue`. All of them must be within the volume of the day.
        erased : {"refuse", "skip"}
            Whether persons who were erased are refused or left out of the result.
        """
        if isinstance(identities, (str, bytes)) or not isinstance(identities, Iterable):
            raise ArgumentError("issue_all takes a list of persons; issue takes one")
        doing = Doing(name_of(by, "by"), "issue", recipient_of(scope), reason=reason_of(reason))
        skip = one_of(erased, "erased", ("refuse", "skip")) == "skip"
        wanted = issuing.WantedPersons.from_identities(identities)
        return issuing.issue_all(self._session, wanted, self._form, doing, skip_erased=skip)

    def reveal(self, pseudonym: str, *, scope: str, by: str, reason: str) -> Any:
        """Return who is behind a pseudonym, and record who asked and why.

        Parameters
        ----------
        pseudonym : str
            As it was issued.
        scope : str
            The recipient that it was issued for.
        by : str
            Who asks; must have been granted ``"reveal"`` for this recipient.
        reason : str
            Why; must not be blank.
        """
        asked = (pseudonym_of(pseudonym),)
        who, why = name_of(by, "by"), reason_of(reason)
        doing = Doing(who, "reveal", recipient_of(scope), asked, reason=why)
        return issuing.reveal(self._session, doing)

    def convert(self, pseudonym: str, *, scope: str, to: str, by: str, reason: str) -> str:
        """Return the pseudonym that the same person has for another recipient.

        Parameters
        ----------
        pseudonym, scope
            As in `reveal`.
        to : str
            The other recipient.
        by : str
            Who asks; must have been granted ``"convert"`` for both. Nobody is named, but two
            recipients' records can be linked from now on.
        reason : str
            Why; must not be blank.
        """
        asked = (pseudonym_of(pseudonym),)
        who, why, other = name_of(by, "by"), reason_of(reason), recipient_of(to, "to")
        doing = Doing(who, "convert", recipient_of(scope), asked, other, reason=why)
        return issuing.convert(self._session, doing, self._form)

    # ---- rights -----------------------------------------------------------------------------

    def grant(
        self,
        person: str,
        action: str,
        *,
        scope: str | None = None,
        per_day: int | None = None,
        by: str,
        reason: str,
    ) -> None:
        """Allow somebody something; what they were granted of the same before is replaced.

        Parameters
        ----------
        person : str
            Whom to allow; nobody grants themselves anything.
        action : {"issue", "reveal", "convert", "erase", "grant", "audit", "rotate"}
            What.
        scope : str, optional
            For which recipient, ``"*"`` for all: the first four need it, the others take none.
        per_day : int, optional
            How many persons in any 24 hours: the first four need it, the others take none. Of
            several grants that fit, one with room left is enough.
        by : str
            Who allows it; must have been granted ``"grant"``.
        reason : str
            Why; must not be blank.
        """
        word, recipient = right_of(action, scope)
        doing = Doing(
            name_of(by, "by"),
            "grant",
            recipient,
            target=word,
            person=name_of(person, "person"),
            per_day=volume_of(per_day, word),
            reason=reason_of(reason),
        )
        grant(self._session, doing)

    def revoke(
        self, person: str, action: str, *, scope: str | None = None, by: str, reason: str
    ) -> None:
        """Take back what was granted.

        Parameters
        ----------
        person, action, scope
            As they were granted. The last one who may grant cannot lose that: nobody could ever
            grant anything again.
        by : str
            Who takes it back; must have been granted ``"grant"``.
        reason : str
            Why; must not be blank.
        """
        word, recipient = right_of(action, scope)
        who, whom, why = name_of(by, "by"), name_of(person, "person"), reason_of(reason)
        doing = Doing(who, "revoke", recipient, target=word, person=whom, reason=why)
        revoke(self._session, doing)

    def rights(self, *, by: str) -> Rights:
        """Return all present rights, each with what is left of it now.

        Parameters
        ----------
        by : str
            Who asks; must have been granted ``"audit"`` or ``"grant"``.
        """
        return rights(self._session, Doing(name_of(by, "by"), "rights"))

    # ---- the audit --------------------------------------------------------------------------

    @property
    def head(self) -> str:
        """What names the audit as it is: the number of its last event, a colon, and its hash."""
        return self._session.seen().head

    def audit(self, *, by: str) -> AuditTrail:
        """Return every event, in the order in which they happened.

        Parameters
        ----------
        by : str
            Who asks; must have been granted ``"audit"``.
        """
        return audit(self._session, Doing(name_of(by, "by"), "audit"))

    def verify(self, *, head: str | None = None, by: str) -> VerifiedStore:
        """Read everything; raise where anything is not as it was written.

        Every identity is opened, and every pseudonym that the audit says was issued must be there,
        and no other. Nobody else can write meanwhile.

        Parameters
        ----------
        head : str, optional
            A head that the audit once had and that was kept elsewhere: without one, and without
            an anchor, events cut off at the end are not missed.
        by : str
            Who asks; must have been granted ``"audit"``.
        """
        return upkeep.verify(self._session, Doing(name_of(by, "by"), "verify"), head)

    def accept_clock(self, *, by: str, reason: str) -> None:
        """Go on although the clock of this machine is behind the last event.

        Nothing is done while it is by more than five minutes: either this clock is wrong, and is
        set right, or that of the last event was.

        Parameters
        ----------
        by : str
            Who decides it; must have been granted ``"grant"``.
        reason : str
            Why; must not be blank.
        """
        doing = Doing(name_of(by, "by"), "accept_clock", reason=reason_of(reason))
        accept_clock(self._session, doing)
