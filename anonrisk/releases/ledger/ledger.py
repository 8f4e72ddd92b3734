"""The ledger: what was published, when, for whom, under keyed hashes, and never changed."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from anonrisk.core.arguments import list_of, true_or_false, whole_number
from anonrisk.core.columns import nearest
from anonrisk.core.database import (
    check_installed,
    has_tables,
    keep_on_disk,
    open_store,
    reading,
    withheld,
    writing,
)
from anonrisk.core.render import kind_name, shown
from anonrisk.errors import ArgumentError, LedgerError, LedgerMovedError, WrongKeyError
from anonrisk.policy.finding import PASS
from anonrisk.policy.verdict import now as current_time
from anonrisk.pseudonyms.encoding import encoded_like, person_hashes
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.pseudonyms.private_files import private_file
from anonrisk.pseudonyms.rights import name_of, reason_of
from anonrisk.pseudonyms.session import unwrapped
from anonrisk.pseudonyms.store import Sealer
from anonrisk.releases.ledger.chain import (
    NEVER_HANDED_OUT,
    NO_RELEASE,
    PUBLISH,
    RECALLED,
    ROTATE,
    Chain,
    LedgerEntries,
    LedgerEntry,
)
from anonrisk.releases.ledger.manifest import Manifest, moment
from anonrisk.releases.state.keyed_file import qid_of
from anonrisk.releases.state.state import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, MetaData

    from anonrisk.core.columns import Qid
    from anonrisk.pseudonyms.encoding import Hashes
    from anonrisk.releases.release.published_files import AnyPath

VERSION = 2
_ABOUT, _ENTRY, _PART = "anonrisk_ledger_about", "anonrisk_ledger", "anonrisk_ledger_part"
_MANIFEST, _STATE = "manifest", "state"
_LATER = "when published"
# Under these names a ledger keeps keys that it had, wrapped by the present one.
_STATE_KEY, _OLD = "state key", "sealing key {}"


class Ledger:
    """Keyed memory of what was published: SQLite by default, or PostgreSQL (extra ``store``).

    An entry is written in one transaction and never changed. Each is sealed together with the one
    before it, so that one that was changed, taken out, put in or moved is noticed whenever the
    ledger is read. It holds the states of tables, which are pseudonymous personal data: keep the
    key elsewhere.

    Parameters
    ----------
    url : str or path
        The path of an SQLite file, which only its owner may read, or a URL of SQLAlchemy.
    key : Key or bytes
        The key of the ledger. States are made with `state_key`: the first key that it had, which
        it keeps, wrapped, when its key is rotated.
    new : bool or "when published"
        Make a new ledger; one that is there already is refused. Without it, one that is not there
        is: a ledger that was moved away must not look like one without any publication.
        ``"when published"`` makes it together with its first entry: before that, releases are
        checked as the first, and what is not published leaves nothing.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.db"
    >>> key = Key.generate()
    >>> ledger = Ledger(path, key=key, new=True)
    >>> len(ledger.entries()), ledger.head[:2]
    (0, '0:')
    >>> Ledger(path.with_name("leger.db"), key=key)
    Traceback (most recent call last):
    ...
    anonrisk.errors.LedgerError: there is no ledger in SQLite file ...; new=True makes one (--new)
    """

    def __init__(
        self, url: AnyPath, key: Key | bytes, *, new: bool | Literal["when published"] = False
    ) -> None:
        """Open the ledger, and check that it is one and that this is its key."""
        if new not in (False, True, _LATER):
            raise ArgumentError(f"new= is True, False or {_LATER!r}")
        check_installed("a ledger")
        self.key = self.state_key = as_key(key)
        self._engine, self.place = open_store(url, "a ledger")
        self._tables = _tables()
        self._is_file = self._engine.dialect.name == "sqlite"
        # What is said of a ledger that is made with its first entry.
        self._unmade: dict[str, str] | None = None
        is_there = not self._is_file or self._has_file(make=new is True)
        if self._is_file:
            keep_on_disk(self._engine)
        about = None
        # Who reads a file of SQLite that is not there makes it.
        if is_there:
            with self._withheld():
                about = self._about()
        if new:
            if about is not None:
                raise self._already()
            about = self._unmade = self._of_a_new_one()
        if about is None:
            raise self._none()
        self._chain = self._checked(about)
        if new is True:
            with self._changing():
                pass

    # ---- what is in it ----------------------------------------------------------------------

    @property
    def head(self) -> str:
        """What names the ledger as it is: the number of its last entry, a colon, and a seal."""
        return self.entries().head

    def entries(self) -> LedgerEntries:
        """Return all entries in order; raise if one was changed, taken out, put in or moved."""
        if self._unmade is not None:
            return self._chain.entries(())
        with self._withheld(), reading(self._engine) as connection:
            return self._entries(connection)

    def entry(self, release: str) -> LedgerEntry | None:
        """Return the entry of a release, if it has one and the chain holds."""
        return self.entries().of(release)

    def manifest(self, release: str, *, revision: int | None = None) -> Manifest:
        """Return the manifest of a release, its last revision or that one.

        Also where the process that published it was killed.
        """
        if self._unmade is not None:
            raise _not_in_it(release, revision)
        with self._withheld(), reading(self._engine) as connection:
            entry = self._entries(connection).of(release, revision)
            if entry is None:
                raise _not_in_it(release, revision)
            return Manifest.from_bytes(self._parts(connection, entry)[_MANIFEST, ""])

    def states(self, table: str) -> Iterator[tuple[LedgerEntry, State]]:
        """Yield the state of a table in every release that had it, one at a time, in order.

        Of a release that was withdrawn before anybody had it there is none.
        """
        for entry, data in self.state_bytes(table):
            yield entry, State.from_bytes(data, key=self.state_key)

    def state_bytes(self, table: str) -> Iterator[tuple[LedgerEntry, bytes]]:
        """Yield the same as they are stored."""
        for entry in self._held():
            if table in entry.states:
                yield entry, self._states_in(entry)[table]

    def states_like(self, table: str, qid: Qid) -> Iterator[tuple[LedgerEntry, str, State]]:
        """Yield the same, and what other tables with that quasi-identifier were called.

        A table may get another name, and its people are in it all the same.
        """
        for entry in self._held():
            for name, data in self._states_in(entry).items():
                if name == table or qid_of(data) == qid:
                    yield entry, name, State.from_bytes(data, key=self.state_key)

    def _held(self) -> list[LedgerEntry]:
        """Return the entries of what somebody may hold."""
        return [entry for entry in self.entries() if entry.withdrawn != NEVER_HANDED_OUT]

    def _states_in(self, entry: LedgerEntry) -> dict[str, bytes]:
        with self._withheld(), reading(self._engine) as connection:
            parts = self._parts(connection, entry)
        return {name: data for (kind, name), data in sorted(parts.items()) if kind == _STATE}

    def verify(self, *, head: str | None = None) -> LedgerEntries:
        """Read everything, states and manifests too; raise where anything is not as it was written.

        Parameters
        ----------
        head : str, optional
            A head that the ledger once had and that was kept elsewhere, such as
            `Manifest.previous`: without one, entries cut off at the end are not missed.

        Returns
        -------
        LedgerEntries
            The entries, with the head to keep.
        """
        entries = self._whole() if self._unmade is None else self.entries()
        if head is not None:
            entries.refuse_other(head)
        return entries

    def _whole(self) -> LedgerEntries:
        """Read everything in one transaction."""
        with self._withheld(), reading(self._engine) as connection:
            entries = self._entries(connection)
            for entry in entries:
                self._parts(connection, entry)
            part = self._tables.tables[_PART]
            known = part.c.number.between(1, len(entries))
            beyond = part.select().where(~known)
            if connection.execute(beyond.limit(1)).first():
                raise LedgerError("the ledger holds a state of no entry: its end was cut off")
        return entries

    # ---- publishing -------------------------------------------------------------------------

    def append(
        self,
        manifest: Manifest,
        states: Mapping[str, State | bytes] | None = None,
        *,
        expected_head: str | None = None,
    ) -> LedgerEntry:
        """Remember a publication, all of it or nothing, in one transaction.

        A release that is in the ledger already is not put in again: its entry is given, so that
        who does not know whether a killed process got so far asks again. Another one of that name
        is refused, unless that was withdrawn: then it is the next revision.

        Parameters
        ----------
        manifest : Manifest
            What is published: sealed, passed, and made for the head that the ledger has.
        states : mapping of str to State
            The state of each table, made with the key of the ledger; or the bytes of one.
        expected_head : str, optional
            The head that the release was checked against; the manifest's own if it is left out.

        Returns
        -------
        LedgerEntry
            The entry; `LedgerEntry.head` names the ledger from then on.
        """
        self._refuse_unfit(manifest)
        if not isinstance(states, (dict, type(None))):
            raise ArgumentError(
                f"states= must be a mapping of tables to states, not {kind_name(states)}"
            )
        kept = {table: self._bytes_of(state, table) for table, state in (states or {}).items()}
        about = {
            **NO_RELEASE,
            "action": PUBLISH,
            "reason": "",
            "release": manifest.release,
            "audience": manifest.audience,
            "by": manifest.by,
            "at": manifest.at,
            "policy_digest": manifest.policy_digest,
            "status": manifest.status,
            "manifest_sha256": manifest.sha256,
            "states": {t: self._chain.state_digest(t, state) for t, state in kept.items()},
        }
        with self._changing() as (connection, entries):
            result = entries.of(manifest.release)
            if result is not None and not result.withdrawn:
                return self._again(connection, result, manifest, about)
            about["revision"] = 1 if result is None else result.revision + 1
            for head in (manifest.previous, expected_head):
                if head not in (None, entries.head):
                    raise _moved(entries, head)
            entries.refuse_before(manifest.at)
            parts = {(_MANIFEST, ""): manifest.to_bytes()}
            parts |= {(_STATE, table): state for table, state in kept.items()}
            return self._write(connection, entries, about, parts)

    # ---- a life after publishing ------------------------------------------------------------

    def accept_clock(self, *, by: str, reason: str) -> LedgerEntry:
        """Go on although the clock of this machine is behind the last entry.

        Nothing is published while it is by more than five minutes: either this clock is wrong, and
        is set right, or that of the last entry was.

        Parameters
        ----------
        by : str
            Who decides it.
        reason : str
            Why; must not be blank.
        """
        about = self._doing("accept_clock", by, reason)
        with self._changing() as (connection, entries):
            if not entries.is_after(about["at"]):
                raise ArgumentError("the clock is not behind the last entry: nothing is to accept")
            return self._write(connection, entries, about)

    def withdraw(
        self,
        release: str,
        *,
        by: str,
        reason: str,
        received: bool = True,
        revision: int | None = None,
    ) -> LedgerEntry:
        """Take a release back: its manifest is verified no more, and its name is free again.

        What was received cannot be taken back: later releases are judged together with it all the
        same. A corrected release of that name is published as its next revision.

        Parameters
        ----------
        release : str
            Its name.
        by : str
            Who takes it back.
        reason : str
            Why; must not be blank.
        received : bool
            Whether anybody may have got it. If nobody has, it is compared with no more; who learns
            later that somebody has, withdraws it once more and says so.
        revision : int, optional
            Which of the releases of that name; left out, the last. It must be said where an earlier
            one, which nobody is said to have received, could be meant.
        """
        withdrawn = RECALLED if true_or_false(received, "received") else NEVER_HANDED_OUT
        if revision is not None:
            whole_number(revision, "revision", at_least=1)
        about = self._doing("withdraw", by, reason)
        with self._changing() as (connection, entries):
            entry = entries.of(release, revision)
            if entry is None:
                raise _not_in_it(release, revision)
            if revision is None and withdrawn == RECALLED:
                entries.refuse_ambiguous(entry)
            if entry.withdrawn and (entry.withdrawn, withdrawn) != (NEVER_HANDED_OUT, RECALLED):
                raise LedgerError(
                    f"{_named(release, revision)} was withdrawn already: {entry.withdrawn}"
                )
            if withdrawn == NEVER_HANDED_OUT:
                entries.refuse_relied_on(entry)
            entries.refuse_before(about["at"])
            details = {"entry": entry.number, "withdrawn": withdrawn}
            about |= {"release": entry.release, "revision": entry.revision, "details": details}
            return self._write(connection, entries, about)

    def rotate(self, new_key: Key | bytes, *, by: str, reason: str) -> LedgerEntry:
        """Set another key of the ledger: only that one opens and seals it from then on.

        Heads that were kept elsewhere hold. States stay as they are, since nobody has the values
        that they are hashes of: whoever had the old key and a copy can try values still. What the
        old key sealed, manifests and approvals, only the old one verifies.

        Parameters
        ----------
        new_key : Key or bytes
            The key that it gets; this object goes on with it.
        by : str
            Who does it.
        reason : str
            Why; must not be blank.
        """
        key, about = as_key(new_key), self._doing(ROTATE, by, reason)
        if key in (self.key, self.state_key):
            raise ArgumentError("the ledger has or had this key: rotate to a new one")
        before = self.key, self._chain
        sealed, ledger = self._chain.secrets, self._chain.ledger
        try:
            with self._changing() as (connection, entries):
                entries.refuse_before(about["at"])
                self._say(connection, self._about_key(key))
                self._chain = Chain.of(key, ledger, earlier=sealed, states=self.state_key)
                self.key = key
                return self._write(connection, entries, about)
        except BaseException:
            self.key, self._chain = before
            raise

    def expire(self, before: dt.date, *, by: str, reason: str) -> LedgerEntry | None:
        """Delete states of releases that are older than a day; entries and manifests stay.

        Whoever holds those releases may compare them all the same, and nobody sees any more what
        they learn. The last state of every table that an audience received is kept, however old it
        is.

        Parameters
        ----------
        before : date
            Releases of earlier days expire, in UTC.
        by : str
            Who does it.
        reason : str
            Why; must not be blank.

        Returns
        -------
        LedgerEntry or None
            None if nothing is so old; then nothing is written.
        """
        if type(before) is not dt.date:
            raise ArgumentError(f"before must be a date, not {kind_name(before)}")
        about = self._doing("expire", by, reason)
        with self._changing() as (connection, entries):
            entries.refuse_before(about["at"])
            gone: dict[str, dict[str, None]] = {}
            later: set[tuple[str, str]] = set()
            at = moment(about["at"])
            for entry in reversed(entries.items):
                # An entry whose clock was ahead is no younger than those that follow it.
                at = min(at, moment(entry.at))
                for table in entry.states:
                    if (entry.audience, table) in later and at.date() < before:
                        gone.setdefault(str(entry.number), {})[table] = None
                        self._keep_state(connection, entry.number, table, None)
                later.update(entry.held)
            if not gone:
                return None
            return self._write(connection, entries, {**about, "details": {"states": gone}})

    def erase(self, person: Any, *, by: str, reason: str, ended: Sequence[str] = ()) -> LedgerEntry:
        """Take a person out of every state, so that nobody finds them by trying any more.

        Their rows stay counted as those of somebody with a random hash, since whoever left with
        them hides among as many as were published. The last release of each table must be without
        them: publish one first, so that it is judged together with those that have them
        (``Release.mend(erased=…)``). The entry names nobody, and says which states have changed.

        Parameters
        ----------
        person : value
            The value of the unit that is theirs, as the tables have it.
        by : str
            Who does it.
        reason : str
            Why; must not be blank, and name nobody.
        ended : list of str
            Tables that are published no more, of which no release without them will follow. If one
            comes back all the same, it is judged as one that this person alone has left.
        """
        about = self._doing("erase", by, reason)
        ended = list_of(ended, str, "ended= is a list of tables")
        # Others left with them, and hide among as many as they were.
        nobody = person_hashes(self.state_key, [secrets.token_bytes(32)])
        with self._changing() as (connection, entries):
            entries.refuse_before(about["at"])
            gone: dict[str, dict[str, str]] = {}
            tables = {table for entry in entries for table in entry.states}
            for table in ended:
                if table not in tables:
                    problem = f"no release has table {table!r} of ended={nearest(table, tables)}"
                    raise ArgumentError(problem)
            later: set[tuple[str, str]] = set()
            for entry in reversed(entries.items):
                for (kind, table), data in self._parts(connection, entry).items():
                    rest = None if kind != _STATE else self._erased(data, person, nobody)
                    if rest is None:
                        continue
                    if table not in ended and (entry.audience, table) not in later:
                        # The next release would be judged rightly, with somebody unknown in their
                        # place. But `mend` could take nobody along with them by their value, and
                        # the files that were published would fit no state any more.
                        again = ", with this table once more" if later else ""
                        raise LedgerError(
                            f"the last release of table {table!r}, {entry.release!r}, has this "
                            f"person: publish one without them first, for {shown(entry.audience)}"
                            f"{again}, judged together with "
                            "this one (anonrisk release mend --erased), and erase them then; or "
                            "say that this table is published no more (ended=, --ended)"
                        )
                    self._keep_state(connection, entry.number, table, rest)
                    digest = self._chain.state_digest(table, rest)
                    gone.setdefault(str(entry.number), {})[table] = digest
                later.update(entry.held)
            if not gone:
                raise LedgerError("no state in the ledger has this person: nothing was erased")
            details = {"states": gone, "ended": sorted({*ended})} if ended else {"states": gone}
            return self._write(connection, entries, {**about, "details": details})

    def _erased(self, data: bytes, person: Any, nobody: Hashes) -> bytes | None:
        """Return a state with nobody in the place of a person; None if it has not got them."""
        state = State.from_bytes(data, key=self.state_key)
        counts = state.counts
        if counts.unit is None:
            return None
        cells = encoded_like([person], counts.unit, counts.kinds[counts.unit])
        if cells is None:
            return None
        rest = counts.renamed(person_hashes(self.state_key, cells), nobody)
        return None if rest == counts else State(rest, self.state_key).to_bytes()

    def _keep_state(
        self, connection: Connection, number: int, table: str, data: bytes | None
    ) -> None:
        """Put another state in the place of one, or none."""
        part = self._tables.tables[_PART]
        mine = (part.c.number == number) & (part.c.kind == _STATE) & (part.c.name == table)
        connection.execute(part.delete().where(mine))
        if data is not None:
            row = {"number": number, "kind": _STATE, "name": table, "data": data}
            connection.execute(part.insert(), row)

    def _about_key(self, key: Key) -> dict[str, str]:
        """Return what the ledger says of a key that it gets, and keeps under it of those before."""
        chain = self._chain
        epoch = len(chain.secrets) + 1
        kept = {_OLD.format(number): item for number, item in enumerate(chain.secrets, 1)}
        kept[_STATE_KEY] = self.state_key.reveal()
        sealer = Sealer.of(key, chain.ledger, epoch)
        wrapped = {name: sealer.wrap(secret, name).hex() for name, secret in kept.items()}
        return {"epoch": str(epoch), "key check": _key_check(key, chain.ledger, epoch), **wrapped}

    def _say(self, connection: Connection, about: Mapping[str, str]) -> None:
        """Let the ledger say this of itself from now on."""
        table = self._tables.tables[_ABOUT]
        connection.execute(table.delete().where(table.c.name.in_(list(about))))
        rows = [{"name": name, "value": value} for name, value in about.items()]
        connection.execute(table.insert(), rows)

    def _doing(self, action: str, by: str, reason: str) -> dict[str, Any]:
        """Return the content of an entry that publishes nothing."""
        if self._unmade is not None:
            raise self._none()
        said = {"by": name_of(by, "by"), "reason": reason_of(reason), "at": current_time()}
        return {**NO_RELEASE, "action": action, **said}

    def _bytes_of(self, state: State | bytes, table: str) -> bytes:
        if isinstance(state, bytes):
            return state
        if state.key != self.state_key:
            raise WrongKeyError(f"the state of table {table!r} has another key than the ledger")
        return state.to_bytes()

    @staticmethod
    def _refuse_unfit(manifest: Any) -> None:
        if not isinstance(manifest, Manifest):
            raise ArgumentError(
                f"a ledger takes a Manifest, not {kind_name(manifest)}: see Release.publish"
            )
        if not manifest.signatures:
            raise ArgumentError("a manifest is sealed before it goes into a ledger: see sealed")
        if manifest.previous is None:
            raise ArgumentError("the manifest names no head of a ledger: Manifest(previous=…)")
        manifest.refuse_contradictions()
        if manifest.status != PASS:
            raise LedgerError(f"the release did not pass ({manifest.status}): it is not published")

    def _again(
        self,
        connection: Connection,
        ledger_entry: LedgerEntry,
        manifest: Manifest,
        about: Mapping[str, Any],
    ) -> LedgerEntry:
        before = Manifest.from_bytes(self._parts(connection, ledger_entry)[_MANIFEST, ""])
        same = all(
            about[key] == getattr(ledger_entry, key) for key in ("audience", "policy_digest")
        )
        if same and about["states"] == ledger_entry.states and manifest.same_content(before):
            return ledger_entry
        raise LedgerError(
            f"release {manifest.release!r} is entry {ledger_entry.number:,} of the ledger already, "
            "with something else in it: give this one another name, or withdraw that one first"
        )

    def _write(
        self,
        connection: Connection,
        entries: LedgerEntries,
        about: Mapping[str, Any],
        parts: Mapping[tuple[str, str], bytes] | None = None,
    ) -> LedgerEntry:
        """Add an entry, with what belongs to it, and look whether it was kept."""
        made, content = self._chain.link(entries.head, about)
        tables, number = self._tables.tables, made.number
        row = {"number": number, "release": made.release, "content": content, "seal": made.seal}
        connection.execute(tables[_ENTRY].insert(), row)
        for (kind, name), data in (parts or {}).items():
            part = {"number": number, "kind": kind, "name": name, "data": data}
            connection.execute(tables[_PART].insert(), part)
        # A trigger or a rule of the database may have made something else of it.
        again = self._entries(connection)
        if again.head != made.head:
            raise LedgerError(f"{self.place} did not keep the entry")
        for number in {made.number, *map(int, made.details.get("states", ()))}:
            self._parts(connection, again[number - 1])
        return made

    # ---- the database -----------------------------------------------------------------------

    def _entries(self, connection: Connection) -> LedgerEntries:
        entry, about = self._tables.tables[_ENTRY], self._tables.tables[_ABOUT]
        check = about.select().where(about.c.name == "key check")
        epoch = len(self._chain.secrets)
        if connection.execute(check).one().value != _key_check(self.key, self._chain.ledger, epoch):
            raise WrongKeyError("the key of this ledger was rotated: open it with the new one")
        # All at once: who keeps an error that is raised in between would keep SQLite's lock.
        rows = connection.execute(entry.select().order_by(entry.c.number)).all()
        return self._chain.entries(rows)

    def _parts(self, connection: Connection, entry: LedgerEntry) -> dict[tuple[str, str], bytes]:
        """Read what belongs to an entry; raise unless it is what its seal says."""
        part = self._tables.tables[_PART]
        rows = connection.execute(part.select().where(part.c.number == entry.number)).all()
        # SQLite lets any type into any column; what is no bytes is nothing that was written.
        results = {
            (row.kind, row.name): row.data if isinstance(row.data, bytes) else b"" for row in rows
        }
        digests = {
            key: self._chain.state_digest(key[1], data)
            if key[0] == _STATE
            else hashlib.sha256(data).hexdigest()
            for key, data in results.items()
        }
        stated = {(_STATE, table): digest for table, digest in entry.states.items()}
        if entry.action == PUBLISH:
            stated[_MANIFEST, ""] = entry.manifest_sha256
        for kind, name in sorted({*stated, *digests}, key=str):
            if stated.get((kind, name)) != digests.get((kind, name)):
                about = (
                    f"state of table {name!r}" if (kind, name) in stated and name else "manifest"
                )
                raise LedgerError(
                    f"the {about} in entry {entry.number:,} of the ledger was changed, taken out "
                    "or put in"
                )
        return results

    @contextmanager
    def _changing(self) -> Iterator[tuple[Connection, LedgerEntries]]:
        """Open a transaction that no other writer is in; all of it is committed, or nothing."""
        if self._unmade is not None and self._is_file:
            self._has_file(make=True)
        with self._withheld(), writing(self._engine, "ledger") as connection:
            if self._unmade is not None:
                self._make(connection, self._unmade)
            yield connection, self._entries(connection)
        self._unmade = None

    def _has_file(self, *, make: bool) -> bool:
        """Reject a file that others may use; make a new one that only its owner may, if told to."""
        name = self._engine.url.database
        if not name or name == ":memory:":
            raise ArgumentError("a ledger in memory forgets: name a file")
        problem = private_file(Path(name), make=make)
        if problem:
            raise LedgerError(f"{self.place} is not taken for a ledger: {problem}")
        return problem is not None

    def _about(self) -> dict[str, str] | None:
        """What the database says of its ledger; None if it has none."""
        with reading(self._engine) as connection:
            if not has_tables(
                connection, self._tables, f"{self.place} holds", "a ledger", LedgerError
            ):
                return None
            rows = connection.execute(self._tables.tables[_ABOUT].select()).all()
            return {row.name: row.value for row in rows}

    def _of_a_new_one(self) -> dict[str, str]:
        ledger = secrets.token_hex(16)
        check = _key_check(self.key, ledger, 1)
        return {"version": str(VERSION), "ledger": ledger, "epoch": "1", "key check": check}

    def _make(self, connection: Connection, about: Mapping[str, str]) -> None:
        # Of two who look and then make, one waits here for the other.
        self._tables.create_all(connection)
        table = self._tables.tables[_ABOUT]
        if connection.execute(table.select()).first():
            raise self._already()
        self._say(connection, about)

    def _checked(self, about: Mapping[str, str]) -> Chain:
        version, ledger = about.get("version", "unknown"), about.get("ledger")
        if version != str(VERSION) or not isinstance(ledger, str):
            raise LedgerError(
                f"{self.place} holds version {version} of a ledger, this library reads version "
                f"{VERSION}: use the version of anonrisk that wrote it, or a newer one"
            )
        text, said = str(about.get("key check", "")), str(about.get("epoch"))
        epoch = int(said) if said.isascii() and said.isdecimal() and len(said) < 9 else 0
        expected = _key_check(self.key, ledger, epoch)
        if not epoch or not hmac.compare_digest(text.encode(), expected.encode()):
            raise WrongKeyError(
                f"{self.place} holds a ledger of another key: it was made with another one, its "
                "key was rotated, or what it says of itself was changed"
            )
        earlier: list[bytes] = []
        if epoch > 1:
            sealer = Sealer.of(self.key, ledger, epoch)
            self.state_key = Key.from_bytes(unwrapped(sealer, about, _STATE_KEY))
            names = map(_OLD.format, range(1, epoch))
            earlier = [unwrapped(sealer, about, name) for name in names]
        return Chain.of(self.key, ledger, earlier=earlier, states=self.state_key)

    def _withheld(self) -> Any:
        return withheld(f"{self.place} cannot be used")

    def _already(self) -> LedgerError:
        return LedgerError(f"{self.place} holds a ledger already: leave new=True out (--new)")

    def _none(self) -> LedgerError:
        return LedgerError(f"there is no ledger in {self.place}; new=True makes one (--new)")

    def __repr__(self) -> str:
        """Show where it is, and no key."""
        return f"Ledger({self.place!r})"


def _key_check(key: Key, ledger: str, epoch: int) -> str:
    """Return what a ledger says of its key, so that another one is noticed."""
    message = f"{VERSION} {ledger} {epoch}".encode()
    return hmac.digest(key.derived("ledger check"), message, "sha256").hex()


def as_ledger(value: Any) -> Ledger:
    """Take the ledger that a caller gives."""
    if not isinstance(value, Ledger):
        raise ArgumentError(
            f"the ledger is an anonrisk.Ledger, not {kind_name(value)}: Ledger(path, key=…) "
            "opens one, with new=True it makes one"
        )
    return value


def _not_in_it(release: str, revision: int | None = None) -> LedgerError:
    return LedgerError(f"{_named(release, revision)} is not in the ledger")


def _named(release: str, revision: int | None) -> str:
    return f"release {release!r}" + ("" if revision is None else f", revision {revision},")


def _moved(entries: LedgerEntries, head: str | None) -> LedgerMovedError:
    """Return what was published since the release was checked."""
    last = ""
    if entries.items:
        done, about = entries[-1], f" of release {entries[-1].release!r}"
        last = f" ({done.action}{about if done.release else ''} by {shown(done.by)})"
    return LedgerMovedError(
        "the ledger was written to since this release was checked: it is at entry "
        f"{len(entries):,}{last}, not at {str(head).partition(':')[0]}; check it again"
    )


@cache
def _tables() -> MetaData:
    from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table, Text

    tables = MetaData()
    whole = BigInteger().with_variant(Integer(), "sqlite")
    Table(_ABOUT, tables, Column("name", String(255), primary_key=True), Column("value", Text))
    Table(
        _ENTRY,
        tables,
        Column("number", whole, primary_key=True, autoincrement=False),
        Column("release", Text, nullable=False),
        Column("content", Text, nullable=False),
        Column("seal", String(64), nullable=False),
    )
    Table(
        _PART,
        tables,
        Column("number", whole, primary_key=True, autoincrement=False),
        Column("kind", String(16), primary_key=True),
        Column("name", Text, primary_key=True),
        Column("data", LargeBinary, nullable=False),
    )
    return tables
