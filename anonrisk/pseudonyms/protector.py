"""The identity protector: the one place that knows who is behind a pseudonym."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.keys import as_key
from anonrisk.core.pseudonyms import EPOCH, Form, Pseudonymisation, canonical, check_scope, hasher
from anonrisk.core.render import count_of
from anonrisk.errors import ArgumentError, NotAllowedError, StoreError, UnknownPseudonymError
from anonrisk.pseudonyms.sealing import Sealer
from anonrisk.pseudonyms.store import IdentityStore

if TYPE_CHECKING:
    from collections.abc import Mapping

ACTIONS = ("issue", "reveal", "convert", "grant", "audit")


@dataclass(frozen=True)
class Event:
    """One line of the audit: who did, or tried, what to whom, when and why.

    Attributes
    ----------
    action : str
        ``"issue"``, ``"reveal"``, ``"convert"``, ``"grant"``, ``"revoke"`` or ``"audit"``.
    subject : str
        The pseudonym; whom something was granted to or revoked from; how many got pseudonyms.
    target : str
        The recipient that a pseudonym was converted for; the action that was granted or revoked.
    outcome : str
        ``"done"``, ``"refused"``, ``"unknown"`` (no such pseudonym or grant) or ``"failed"`` (the
        identity in the store was changed or cannot be read).
    """

    number: int
    at: str
    by: str
    action: str
    scope: str
    subject: str
    target: str
    reason: str
    outcome: str


@dataclass(frozen=True)
class _Doing:
    """What somebody does or tries, before one knows how it ends."""

    by: str
    action: str
    scope: str = ""
    subject: str = ""
    target: str = ""
    reason: str = ""

    def row(self, outcome: str) -> dict[str, str]:
        at = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
        return {**asdict(self), "at": at, "outcome": outcome}


class IdentityProtector:
    """Issue pseudonyms, convert them between recipients, and reveal who is behind one.

    Fischer-Hübner's identity protector (Registratiekamer 1995). A pseudonym of a scope is the one
    that `anonrisk.pseudonymize` makes with the same key and scope, so that one of a published
    table can be revealed here, if the person was issued one.

    Parameters
    ----------
    key : Key or bytes
        The secret key. A store remembers which key it was made with, and refuses any other.
    url : str
        The database, as SQLAlchemy writes it; ``sqlite:///identities.db`` if left out. One that
        is not there is made, and refuses everybody until it has an administrator.
    admin : str, optional
        Who may do everything, in a store that is new. Needed once.
    format, length
        How pseudonyms are written, as in `anonrisk.pseudonymize`.

    Notes
    -----
    What it protects, and what not:

    - The database alone reveals nobody: identities are sealed with the key. It does show how many
      pseudonyms each scope has, and the audit.
    - The key alone lets one guess: who has it can make the pseudonym of any name, and compare.
    - Who has the key *and* the database can reveal everybody, without this class and without a
      trace. Roles and audit bind those who come through a program that holds both, so run it as a
      service, and let nobody else have them.
    - `by` is taken on trust: the program must know who is asking.
    - The audit is an ordinary table. Let the program's database account insert there, but not
      change or delete.
    - A pseudonym that changes by `period` is not issued here.

    An identity is returned only after its audit record is committed. Writers may work side by side
    and may die at any moment: a row is there as a whole or not at all.

    Examples
    --------
    >>> from anonrisk.core.keys import Key
    >>> keeper = IdentityProtector(Key.generate(), "sqlite://", admin="officer")
    >>> pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
    >>> keeper.grant("judge", "reveal", by="officer")
    >>> keeper.reveal(pseudonym, scope="hospital", by="judge", reason="case 7")
    'Ann'
    >>> keeper.reveal(pseudonym, scope="hospital", by="clerk", reason="curious")
    Traceback (most recent call last):
    ...
    anonrisk.errors.NotAllowedError: 'clerk' may not reveal; somebody who may grant can allow it
    >>> for event in keeper.audit(by="officer"):
    ...     print(event.by, event.action, event.subject == pseudonym, event.outcome)
    officer issue False done
    officer grant False done
    judge reveal True done
    clerk reveal True refused
    officer audit False done
    """

    def __init__(
        self,
        key: Any,
        url: str = "sqlite:///identities.db",
        *,
        admin: str | None = None,
        format: str = "hex",  # noqa: A002
        length: int | None = None,
    ) -> None:
        """Open the store, and refuse a key other than the one it was made with."""
        self._key = as_key(key)
        self._form = Form.of(format, length)
        self._sealer = Sealer.of(self._key, "", 1)
        if admin is not None:
            _name(admin, "admin")
        self._store = IdentityStore(url, self._key)
        if admin is not None:
            self._appoint(admin)

    def __repr__(self) -> str:
        """Show where, and neither the key nor a password in the address."""
        return f"IdentityProtector({self._store.engine.url.render_as_string()!r})"

    def __enter__(self) -> Self:
        """Close the store at the end of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Give back the connections to the database."""
        self._store.close()

    # ---- what it does ---------------------------------------------------------------------

    def issue(self, identity: Any, *, scope: str, by: str) -> str:
        """Give the pseudonym of a person for a recipient, and remember whose it is.

        Parameters
        ----------
        identity : str, int, date or datetime
            Who it is.
        scope : str
            The recipient.
        by : str
            Who asks; must have been granted ``"issue"``.
        """
        return self.issue_all([identity], scope=scope, by=by)[identity]

    def issue_all(self, identities: Iterable[Any], *, scope: str, by: str) -> Mapping[Any, str]:
        """Give the pseudonyms of many persons; one audit record for all of them.

        Every identity that was given is a key of the result. In the hour that a clock change
        repeats, Python holds two different instants of one zone equal; who gives both is told so.
        """
        recipient = _scope(scope)
        if isinstance(identities, (str, bytes)) or not isinstance(identities, Iterable):
            raise ArgumentError("issue_all takes a list of persons; issue takes one")
        everybody = list(identities)
        # Before equal ones become one: True == 1, but is not a person.
        values = [canonical(person) for person in everybody]
        of = _by_identity(everybody, values)
        values = list(dict.fromkeys(values))
        doing = _Doing(by, "issue", recipient, count_of(len(values), "person"))
        self._allow(doing, record=False)
        pseudonyms = dict(zip(values, self._pseudonyms(values, recipient), strict=True))
        rows = [
            {
                "scope": recipient,
                "pseudonym": pseudonym,
                "sealed": self._sealed(recipient, pseudonym, value),
            }
            for value, pseudonym in pseudonyms.items()
        ]
        self._store.insert("identity", rows)
        self._record(doing, "done")
        return {person: pseudonyms[value] for person, value in of.items()}

    def reveal(self, pseudonym: str, *, scope: str, by: str, reason: str) -> Any:
        """Tell who is behind a pseudonym, and record who asked and why.

        Parameters
        ----------
        pseudonym : str
            As it was issued.
        scope : str
            The recipient that it was issued for.
        by : str
            Who asks; must have been granted ``"reveal"``.
        reason : str
            Why; must not be empty.
        """
        recipient = _scope(scope)
        value = self._look_up("reveal", pseudonym, recipient, by, _reason(reason))
        return _identity(value)

    def convert(self, pseudonym: str, *, scope: str, to: str, by: str, reason: str) -> str:
        """Give the pseudonym that the same person has for another recipient.

        Parameters
        ----------
        pseudonym, scope
            As in `reveal`.
        to : str
            The other recipient.
        by : str
            Who asks; must have been granted ``"convert"``. Nobody is named, but two recipients'
            records can be linked from now on.
        reason : str
            Why; must not be empty.
        """
        recipient, other = _scope(scope), _scope(to)
        value = self._look_up("convert", pseudonym, recipient, by, _reason(reason), other)
        (converted,) = self._pseudonyms([value], other)
        sealed = self._sealed(other, converted, value)
        row = {"scope": other, "pseudonym": converted, "sealed": sealed}
        self._store.insert("identity", [row])
        return converted

    def grant(self, person: str, action: str, *, by: str) -> None:
        """Allow a person to issue, reveal, convert, grant or audit.

        Parameters
        ----------
        person : str
            Whom to allow.
        action : {"issue", "reveal", "convert", "grant", "audit"}
            What.
        by : str
            Who allows it; must have been granted ``"grant"``.
        """
        _name(person, "person")
        _action(action)
        self._allow(_Doing(by, "grant", "", person, action))
        self._store.insert("grant", [{"person": person, "action": action}])

    def revoke(self, person: str, action: str, *, by: str) -> None:
        """Take back what was granted.

        Parameters
        ----------
        person, action
            As they were granted. The last one who may grant cannot lose that: nobody could ever
            grant anything again.
        by : str
            Who takes it back; must have been granted ``"grant"``.
        """
        _name(person, "person")
        _action(action)
        doing = _Doing(by, "revoke", "", person, action)
        self._allow(doing, right="grant", record=False)
        outcome = self._revoke(person, action, doing)
        if outcome == "done":
            return
        self._record(doing, outcome)
        if outcome == "unknown":
            raise ArgumentError(f"{person!r} was never granted {action!r}; nothing is taken back")
        raise NotAllowedError(
            f"{person!r} is the last one who may grant; grant it to somebody else first"
        )

    def _revoke(self, person: str, action: str, doing: _Doing) -> str:
        sa, grants = self._store.sa, self._store.tables["grant"]
        settings = self._store.tables["setting"]
        with self._store.write("revoke a grant") as connection:
            # Two who revoke each other at once must wait for each other: this locks a row.
            first = settings.c.name == "admin"
            connection.execute(settings.update().where(first).values(name="admin"))
            able = sa.select(grants.c.person).where(grants.c.action == action)
            people = set(connection.execute(able).scalars())
            if person not in people:
                return "unknown"
            if action == "grant" and len(people) == 1:
                return "refused"
            mine = (grants.c.person == person) & (grants.c.action == action)
            connection.execute(grants.delete().where(mine))
            connection.execute(self._store.tables["event"].insert(), doing.row("done"))
        return "done"

    def audit(self, *, by: str) -> tuple[Event, ...]:
        """Give every event, in the order in which they were recorded.

        Parameters
        ----------
        by : str
            Who asks; must have been granted ``"audit"``.
        """
        self._allow(_Doing(by, "audit"))
        table = self._store.tables["event"]
        with self._store.read("read the audit") as connection:
            rows = connection.execute(table.select().order_by(table.c.number)).all()
        return tuple(Event(*row) for row in rows)

    # ---- how ------------------------------------------------------------------------------

    def _pseudonyms(self, values: list[bytes], scope: str) -> list[str]:
        step = Pseudonymisation("identity", self._key, self._form, scope)
        return hasher(step)(values)

    def _sealed(self, scope: str, pseudonym: str, value: bytes) -> bytes:
        today = dt.datetime.now(dt.UTC) - EPOCH
        return self._sealer.seal(scope, pseudonym, value, today.days)

    def _look_up(  # noqa: PLR0917
        self, action: str, pseudonym: str, scope: str, by: str, reason: str, target: str = ""
    ) -> bytes:
        if not isinstance(pseudonym, str):
            raise ArgumentError("a pseudonym is a text")
        doing = _Doing(by, action, scope, pseudonym, target, reason)
        self._allow(doing, record=False)
        table = self._store.tables["identity"]
        query = self._store.sa.select(table.c.sealed).where(
            table.c.scope == scope, table.c.pseudonym == pseudonym
        )
        try:
            with self._store.read("look up a pseudonym") as connection:
                sealed = connection.execute(query).scalar_one_or_none()
            opener = self._sealer
            value = None if sealed is None else opener.unseal(scope, pseudonym, sealed).identity
        except StoreError:
            # Who asks for a row that somebody tampered with is on record too.
            self._record(doing, "failed")
            raise
        if value is None:
            self._record(doing, "unknown")
            raise UnknownPseudonymError(
                f"no such pseudonym was issued for scope {scope!r}; it may belong to another scope"
            )
        # Nobody is revealed before the record of it is safe.
        self._record(doing, "done")
        return value

    def _allow(self, doing: _Doing, *, right: str | None = None, record: bool = True) -> None:
        """Refuse who was not granted an action; either way it is recorded."""
        person = _name(doing.by, "by")
        table = self._store.tables["grant"]
        query = self._store.sa.select(table.c.person).where(
            table.c.person == person, table.c.action == (right or doing.action)
        )
        with self._store.read("look up a grant") as connection:
            granted = connection.execute(query).scalar_one_or_none() is not None
        if not granted:
            self._record(doing, "refused")
            raise self._not_allowed(person, doing.action)
        if record:
            self._record(doing, "done")

    def _not_allowed(self, person: str, action: str) -> NotAllowedError:
        if self._administrator() is None:
            return NotAllowedError(
                f"nobody may {action}: this store is new and has no administrator yet. Is its "
                "address the right one? If so, name the administrator once, with admin="
            )
        return NotAllowedError(f"{person!r} may not {action}; somebody who may grant can allow it")

    def _record(self, doing: _Doing, outcome: str) -> None:
        with self._store.write("write the audit") as connection:
            connection.execute(self._store.tables["event"].insert(), doing.row(outcome))

    def _appoint(self, admin: str) -> None:
        """Let the first administrator do everything; a store has one only once."""
        appointed = {"setting": [{"name": "admin", "value": admin}]}
        grants = {"grant": [{"person": admin, "action": action} for action in ACTIONS]}
        if self._store.insert_together({**appointed, **grants}):
            return
        if self._administrator() != admin:
            raise NotAllowedError("this store has an administrator already; ask them for a grant")

    def _administrator(self) -> str | None:
        """Give the first administrator, if there is one."""
        table = self._store.tables["setting"]
        query = self._store.sa.select(table.c.value).where(table.c.name == "admin")
        with self._store.read("read the settings") as connection:
            first: str | None = connection.execute(query).scalar_one_or_none()
        return first


def _by_identity(everybody: list[Any], values: list[bytes]) -> dict[Any, bytes]:
    """Give the canonical bytes of each person, and refuse equal ones that are not the same."""
    of: dict[Any, bytes] = {}
    for person, value in zip(everybody, values, strict=True):
        if of.setdefault(person, value) != value:
            raise ArgumentError(
                "two of the identities are different but equal in Python, as instants are in the "
                "hour that a clock change repeats; give instants in UTC: astimezone(dt.UTC)"
            )
    return of


def _identity(value: bytes) -> Any:
    """Turn canonical bytes back into what they are of."""
    kind, text = value[:1], value[1:].decode()
    if kind == b"i":
        return int(text)
    if kind == b"d":
        return dt.date.fromisoformat(text)
    if kind == b"t":
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=int(text))
    return text


def _scope(scope: Any) -> str:
    checked = check_scope(scope)
    if checked is None or len(checked) > 255:
        raise ArgumentError("scope= names a recipient: a text of at most 255 characters")
    return checked


def _name(given: Any, what: str) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > 255:
        raise ArgumentError(f"{what}= is the name of somebody: a text of at most 255 characters")
    return given


def _reason(reason: Any) -> str:
    if not isinstance(reason, str) or not reason.strip():
        raise ArgumentError("reason= says why: a text that is not empty")
    return reason


def _action(action: Any) -> str:
    from anonrisk.core.arguments import one_of

    return one_of(action, "action", ACTIONS)
