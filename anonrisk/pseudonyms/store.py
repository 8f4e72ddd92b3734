"""The three tables of the identity protector, sealed so that they alone say nothing.

AES-SIV (RFC 5297), as `cryptography` keeps it, under a subkey of 512 bits. What is sealed is bound
to the store, the epoch of its key, the scope and the pseudonym: a byte that was changed, and a row
that was copied from elsewhere, are noticed when it is opened. Every sealed identity has one
length, that of an erased one too. Sealing the same again gives the same bytes.

The text is 4 bytes of the day of the last issue (counted from 1970-01-01), 2 bytes of the length
of the identity, its canonical bytes (`anonrisk.pseudonyms.pseudonym`), and zeros up to 256 bytes.
Length 0 says that the person was erased. Numbers are big-endian.

The format, for reviewers. "With length" means preceded by its length in 4 bytes, big-endian. A
subkey is HKDF-SHA-256 of the key, with salt ``anonrisk`` and the purpose as info, as for states
(docs/ledger.md).

- ``anonrisk_keeper`` (``name``, ``value``): ``version``, the id of the ``store``, the ``epoch`` of
  its key (from 1), a ``key check``, and the ``tag key``, wrapped.
- ``anonrisk_audit`` (``number``, ``epoch``, ``content``, ``mac``): an event as JSON in the one form
  of docs/ledger.md, with its ``number`` and as ``previous`` the SHA-256 of the content before it.
  ``mac`` is HMAC-SHA-256, under the subkey ``identity audit``, of the store's id and the epoch,
  each with length, and the content.
- ``anonrisk_identity`` (``scope``, ``pseudonym``, ``epoch``, ``sealed``): AES-SIV (RFC 5297) under
  the 64-byte subkey ``identity sealing``, of 256 bytes: 4 for the day of the last issue, 2 for the
  length of the identity, the identity as in a pseudonym (docs/pseudonyms.md), zeros. Associated
  data is one text: ``anonrisk sealed identity 2``, then the store's id, the epoch, scope and
  pseudonym, each with length.

The ``tag key`` is sealed in the same way, with ``anonrisk wrapped key 2``, the store's id, the
epoch and ``tag key`` as associated data. The tag of an erased person is HMAC-SHA-256 of the
identity, under the subkey ``identity erased`` of the tag key.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.database import (
    has_tables,
    keep_on_disk,
    open_store,
    reading,
    withheld,
    writing,
)
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError, MissingLibraryError, StoreError
from anonrisk.pseudonyms.private_files import NeverPickled, private_file
from anonrisk.pseudonyms.pseudonym import sized

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from sqlalchemy import Connection, MetaData, Row, Table

    from anonrisk.pseudonyms.keys import Key

# With the letter that says what kind of value it is.
LONGEST_IDENTITY = 240
_PADDED = 256
_TAG = 16
# What an identity is bound to never looks like what a wrapped key is bound to.
_IDENTITY, _WRAPPED = b"anonrisk sealed identity 2", b"anonrisk wrapped key 2"


@dataclass(frozen=True)
class Opened:
    """What was sealed: who it is, and on which day they were last issued this pseudonym.

    Attributes
    ----------
    identity : bytes or None
        The canonical bytes of the person; None if they were erased.
    day : int
        The day of the last issue, counted from 1970-01-01; 0 if they were erased.
    """

    identity: bytes | None = field(repr=False)
    day: int


@dataclass(frozen=True)
class Sealer(NeverPickled):
    """Seals and opens the identities of one store under the key of one epoch.

    Examples
    --------
    >>> from anonrisk.pseudonyms.keys import Key
    >>> sealer = Sealer.of(Key.generate(), "f3a1", 1)
    >>> sealed = sealer.seal("insurer", "f00d", b"sAnn", 20_000)
    >>> len(sealed), b"Ann" in sealed, sealer.unseal("insurer", "f00d", sealed).identity
    (272, False, b'sAnn')
    >>> sealer.unseal("hospital", "f00d", sealed)
    Traceback (most recent call last):
    ...
    anonrisk.errors.StoreError: an identity in the store was changed, or belongs to another ...
    """

    secret: bytes = field(repr=False)
    store: str
    epoch: int

    @classmethod
    def of(cls, key: Key, store: str, epoch: int) -> Self:
        """Derive the subkey that seals from the key of this epoch."""
        return cls(key.derived("identity sealing", length=64), store, epoch)

    def seal(self, scope: str, pseudonym: str, identity: bytes, day: int) -> bytes:
        """Encrypt who is behind a pseudonym of a scope, and the day of the last issue."""
        check_identity(identity)
        return self._cipher.encrypt(_padded(identity, day), self._place(scope, pseudonym))

    def tombstone(self, scope: str, pseudonym: str) -> bytes:
        """Seal that whoever was behind a pseudonym was erased."""
        return self._cipher.encrypt(_padded(b"", 0), self._place(scope, pseudonym))

    def unseal(self, scope: Any, pseudonym: Any, sealed: Any) -> Opened:
        """Decrypt an identity; refuse one that was changed, or belongs elsewhere."""
        # SQLite lets any type into any column.
        named = isinstance(scope, str) and isinstance(pseudonym, str)
        text = self._opened(sealed, self._place(scope, pseudonym)) if named else None
        if text is None or len(text) != _PADDED:
            raise StoreError(
                "an identity in the store was changed, or belongs to another scope, pseudonym, "
                "store or key"
            )
        day, length = int.from_bytes(text[:4], "big"), int.from_bytes(text[4:6], "big")
        return Opened(text[6 : 6 + length] or None, day)

    def wrap(self, secret: bytes, what: str) -> bytes:
        """Encrypt another key, which is kept in the store under the name of what it is for."""
        return self._cipher.encrypt(secret, [self._bound(_WRAPPED, what)])

    def unwrap(self, wrapped: Any, what: str) -> bytes:
        """Decrypt a key; refuse one that was changed, or wrapped for something else."""
        secret = self._opened(wrapped, [self._bound(_WRAPPED, what)])
        if secret is None:
            raise StoreError(f"the {what} that is kept in the store was changed")
        return secret

    def _opened(self, sealed: Any, place: list[bytes]) -> bytes | None:
        if not isinstance(sealed, (bytes, bytearray, memoryview)) or len(sealed) <= _TAG:
            return None
        cipher = self._cipher
        from cryptography.exceptions import InvalidTag

        try:
            return cipher.decrypt(bytes(sealed), place)
        except InvalidTag:
            return None

    def _place(self, scope: str, pseudonym: str) -> list[bytes]:
        return [self._bound(_IDENTITY, scope, pseudonym)]

    def _bound(self, kind: bytes, *names: str) -> bytes:
        # One part that is never empty: OpenSSL up to 3.1.1 left empty parts out (CVE-2023-2975).
        parts = (self.store, str(self.epoch), *names)
        # A row of a database may hold what has no UTF-8 form; it must be refused, not raise.
        return kind + b"".join(sized(part.encode("utf-8", "surrogatepass")) for part in parts)

    @cached_property
    def _cipher(self) -> AESSIV:
        """The cipher of `cryptography`, which is imported when something is first sealed."""
        try:
            from cryptography.exceptions import UnsupportedAlgorithm
            from cryptography.hazmat.primitives.ciphers.aead import AESSIV
        except ImportError:
            raise MissingLibraryError(
                "the identity protector needs cryptography 41 or newer: "
                "pip install 'anonrisk[store]'"
            ) from None
        try:
            return AESSIV(self.secret)
        except UnsupportedAlgorithm:
            raise MissingLibraryError(
                "the identity protector needs AES-SIV, which the OpenSSL of this cryptography "
                "lacks: install the wheel of cryptography, which brings its own"
            ) from None


def check_identity(identity: bytes) -> None:
    """Reject canonical bytes that cannot be sealed."""
    if not identity:
        raise ArgumentError("an identity has at least one byte, which says its kind")
    if len(identity) > LONGEST_IDENTITY + 1:
        raise ArgumentError(
            f"an identity takes at most {LONGEST_IDENTITY} bytes in UTF-8, so that all are "
            "sealed in one length; this one has more"
        )


def _padded(identity: bytes, day: int) -> bytes:
    text = day.to_bytes(4, "big") + len(identity).to_bytes(2, "big") + identity
    return text.ljust(_PADDED, b"\0")


VERSION = "2"
KEEPER, AUDIT, IDENTITY = "anonrisk_keeper", "anonrisk_audit", "anonrisk_identity"
# A recipient and a pseudonym, by which a row of identities is known.
Named = tuple[str, str]
_WHAT = "a store of identities"
# Tables that the first version had, and this one has not.
_FIRST = {"anonrisk_setting", "anonrisk_grant", "anonrisk_event"}
# Rows that one statement holds, and that are fetched at a time.
_ROWS = 500


class IdentityStore:
    """Opens transactions; all errors of the database become ours, and quote nobody."""

    def __init__(self, url: Any) -> None:
        """Make an engine; nothing is opened yet."""
        self.engine, self.place = open_store(url, _WHAT)
        if self.engine.dialect.name == "sqlite":
            keep_on_disk(self.engine)

    def __repr__(self) -> str:
        """Show where it is, and no password."""
        return f"IdentityStore({self.place!r})"

    def check_file(self, *, make: bool) -> None:
        """Reject a file that others may use; make one that only its owner may, if told to."""
        name = self.engine.url.database
        if self.engine.dialect.name != "sqlite" or name in {None, "", ":memory:"}:
            return
        problem = private_file(Path(str(name)), make=make)
        if problem is None:
            raise self.none()
        if problem:
            raise StoreError(f"{self.place} is not taken for {_WHAT}: {problem}")

    def none(self) -> StoreError:
        """Return an error: there is no store here."""
        return StoreError(
            f"there is no store of identities in {self.place}. Is its address the right one? If "
            "so, admin= makes a new one"
        )

    def holds(self) -> bool:
        """Return whether the database has our tables; refuse those of another version."""
        from sqlalchemy import inspect

        with withheld(f"{self.place} cannot be used"), reading(self.engine) as connection:
            if _FIRST & set(inspect(connection).get_table_names()):
                raise StoreError(
                    f"{self.place} holds a store of identities of an earlier state of anonrisk, "
                    "which is not read any more: issue anew in a new one"
                )
            return has_tables(connection, _tables(), f"{self.place} holds", _WHAT)

    @contextmanager
    def reading(self) -> Iterator[StoreTransaction]:
        """Open a transaction that sees one state."""
        with withheld(f"{self.place} cannot be used"), reading(self.engine) as connection:
            yield StoreTransaction(connection, _tables())

    @contextmanager
    def writing(self) -> Iterator[StoreTransaction]:
        """Open a transaction that no other writer is in; committed at its end, or not at all."""
        with withheld(f"{self.place} cannot be used"), writing(self.engine, "identity") as made:
            yield StoreTransaction(made, _tables())

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


@dataclass(frozen=True)
class StoreTransaction:
    """What is read from and written to the tables inside one transaction."""

    connection: Connection
    tables: MetaData

    def make_tables(self) -> None:
        """Make those that are not there."""
        self.tables.create_all(self.connection)

    # ---- what the store says of itself ------------------------------------------------------

    def about(self) -> dict[str, str]:
        """Return what the store says of itself, by name."""
        rows = self.connection.execute(self._table(KEEPER).select()).all()
        return {row.name: row.value for row in rows}

    def say(self, name: str, value: str | None) -> None:
        """Let the store say this of itself from now on; None: not any more."""
        table = self._table(KEEPER)
        self.connection.execute(table.delete().where(table.c.name == name))
        if value is not None:
            self.connection.execute(table.insert(), {"name": name, "value": value})

    # ---- events -----------------------------------------------------------------------------

    def events(self, after: int | None = None) -> Iterator[Row[Any]]:
        """Yield all events, or those behind a number, in order, a few at a time."""
        number = self._table(AUDIT).c.number
        query = self._table(AUDIT).select().order_by(number).limit(_ROWS)
        part = self.connection.execute(
            query if after is None else query.where(number > after)
        ).all()
        # No statement stays open: who keeps an error that is raised meanwhile would keep the lock.
        while part:
            yield from part
            part = self.connection.execute(query.where(number > part[-1].number)).all()

    def event(self, number: int) -> Row[Any] | None:
        """Return one event, if it is there."""
        table = self._table(AUDIT)
        return self.connection.execute(table.select().where(table.c.number == number)).first()

    def first_number(self) -> int:
        """Return the number of the first event that is there; 0 if none is."""
        from sqlalchemy import func, select

        first = self.connection.execute(select(func.min(self._table(AUDIT).c.number))).scalar()
        return first if isinstance(first, int) else 0

    def add_event(self, row: Mapping[str, Any]) -> None:
        """Store an event, and look whether it was kept as it is."""
        self.connection.execute(self._table(AUDIT).insert(), dict(row))
        kept = self.event(row["number"])
        # A trigger or a rule of the database may have made something else of it.
        if kept is None or kept._asdict() != dict(row):
            raise StoreError("the database did not keep an event of the audit")

    def drop_events(self, through: int) -> None:
        """Delete the events up to a number and with it."""
        table = self._table(AUDIT)
        self.connection.execute(table.delete().where(table.c.number <= through))

    # ---- identities -------------------------------------------------------------------------

    def identities(self, scope: str, pseudonyms: Sequence[str]) -> dict[str, Row[Any]]:
        """Return the rows of those pseudonyms that are there."""
        table = self._table(IDENTITY)
        results: dict[str, Row[Any]] = {}
        for start in range(0, len(pseudonyms), _ROWS):
            part = pseudonyms[start : start + _ROWS]
            query = table.select().where(table.c.scope == scope, table.c.pseudonym.in_(part))
            results |= {row.pseudonym: row for row in self.connection.execute(query).all()}
        return results

    def identities_after(
        self, last: Named | None, most: int = _ROWS, *, not_of: int | None = None
    ) -> Sequence[Row[Any]]:
        """Return the next rows behind one, in order: all, or those that are not of an epoch."""
        from sqlalchemy import tuple_

        table = self._table(IDENTITY)
        order = table.c.scope, table.c.pseudonym
        query = table.select().order_by(*order).limit(most)
        if last is not None:
            query = query.where(tuple_(*order) > last)
        if not_of is not None:
            query = query.where(table.c.epoch != not_of)
        return self.connection.execute(query).all()

    def all_identities(self) -> Iterator[Row[Any]]:
        """Yield all rows, a few at a time."""
        part = self.identities_after(None)
        while part:
            yield from part
            part = self.identities_after((part[-1].scope, part[-1].pseudonym))

    def all_names(self) -> set[Named]:
        """Return the recipient and the pseudonym of all rows."""
        from sqlalchemy import select

        table = self._table(IDENTITY)
        query = select(table.c.scope, table.c.pseudonym)
        return {(scope, pseudonym) for scope, pseudonym in self.connection.execute(query).all()}

    def count_identities(self, *, not_of: int) -> int:
        """Count the rows that are not of an epoch."""
        from sqlalchemy import func, select

        table = self._table(IDENTITY)
        query = select(func.count()).select_from(table).where(table.c.epoch != not_of)
        return int(self.connection.execute(query).scalar_one())

    def put(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Store new rows: scope, pseudonym, epoch, sealed."""
        lines = [dict(row) for row in rows]
        if lines:
            self.connection.execute(self._table(IDENTITY).insert(), lines)
        self._look_again(lines)

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Set another epoch and seal of rows that are there, by scope and pseudonym."""
        from sqlalchemy import bindparam

        table = self._table(IDENTITY)
        new = [dict(row) for row in rows]
        lines = [{f"its_{name}": value for name, value in row.items()} for row in new]
        if lines:
            mine = (table.c.scope == bindparam("its_scope")) & (
                table.c.pseudonym == bindparam("its_pseudonym")
            )
            changed: dict[str, Any] = {
                name: bindparam(f"its_{name}") for name in ("epoch", "sealed")
            }
            self.connection.execute(table.update().where(mine).values(changed), lines)
        self._look_again(new)

    def _look_again(self, rows: Iterable[dict[str, Any]]) -> None:
        """Raise unless rows were kept as they are, whatever triggers and rules there are."""
        by_scope: dict[str, dict[str, dict[str, Any]]] = {}
        for row in rows:
            by_scope.setdefault(row["scope"], {})[row["pseudonym"]] = row
        for scope, summary in by_scope.items():
            kept = self.identities(scope, list(summary))
            if {name: row._asdict() for name, row in kept.items()} != summary:
                raise StoreError("the database did not keep an identity: nothing was done")

    def _table(self, name: str) -> Table:
        return self.tables.tables[name]


@cache
def _tables() -> MetaData:
    from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table, Text

    tables = MetaData()
    whole = BigInteger().with_variant(Integer(), "sqlite")
    Table(KEEPER, tables, Column("name", String(255), primary_key=True), Column("value", Text))
    Table(
        AUDIT,
        tables,
        Column("number", whole, primary_key=True, autoincrement=False),
        Column("epoch", Integer, nullable=False),
        Column("content", Text, nullable=False),
        Column("mac", String(64), nullable=False),
    )
    Table(
        IDENTITY,
        tables,
        Column("scope", String(255), primary_key=True),
        Column("pseudonym", String(64), primary_key=True),
        Column("epoch", Integer, nullable=False),
        Column("sealed", LargeBinary, nullable=False),
        # Else the order of rows tells who was issued after whom.
        sqlite_with_rowid=False,
    )
    return tables
