"""The chain of a ledger: each entry is sealed together with the one before it.

The seal of an entry is HMAC-SHA-256, under a subkey of the ledger's key, over its content, which
names the seal of the entry before; that of the first names a beginning that belongs to one ledger
alone. Without the key no entry can be changed, put in, taken out of the middle or moved. What is
cut off at the end leaves a chain that is whole: that is seen by a head that was kept elsewhere.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.documents import Reader, canonical
from anonrisk.core.hash_chain import ChainWords, linked
from anonrisk.core.pseudonyms import sized
from anonrisk.core.render import PrintedFields, PrintedTable, count_of, named
from anonrisk.core.results import Document
from anonrisk.errors import LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anonrisk.core.keys import Key

_READER = Reader("entry of the ledger", LedgerError)
_WORDS = ChainWords("entry", "entries", "ledger", "seal", LedgerError)
_SHOWN = 20


@dataclass(frozen=True, repr=False)
class LedgerEntry(Document, PrintedFields):
    """One publication, as a ledger remembers it.

    Attributes
    ----------
    number : int
        Its place in the ledger, from 1.
    release, audience, by, at : str
        Which release was published, for whom, by whom and when.
    policy_digest : str or None
        By which policy.
    status : str
        What the verdict was.
    manifest_sha256 : str
        SHA-256 of its manifest.
    states : dict of str to str
        A keyed digest of the state of each table.
    previous : str
        The seal of the entry before.
    seal : str
        The seal of this one.
    """

    number: int
    release: str
    audience: str
    by: str
    at: str
    policy_digest: str | None
    status: str
    manifest_sha256: str
    states: Mapping[str, str]
    previous: str
    seal: str

    @property
    def head(self) -> str:
        """What names the ledger as it was after this entry."""
        return f"{self.number}:{self.seal}"

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables whose states are kept."""
        return tuple(sorted(self.states))

    def _rows(self) -> list[list[str]]:
        return [*super()._rows(), ["tables", ", ".join(map(named, self.tables)) or "-"]]


@dataclass(frozen=True, repr=False)
class LedgerEntries(PrintedTable):
    """The entries of a ledger, whose chain was found unbroken.

    Attributes
    ----------
    items : tuple of LedgerEntry
        In the order in which they were published.
    beginning : str
        The head of the ledger before its first entry.
    """

    items: tuple[LedgerEntry, ...]
    beginning: str

    @property
    def head(self) -> str:
        """What names the ledger as it is; keep it elsewhere, and give it to `Ledger.verify`."""
        return self.items[-1].head if self.items else self.beginning

    def of(self, release: str) -> LedgerEntry | None:
        """Give the entry of a release, if it has one."""
        return next((entry for entry in self.items if entry.release == release), None)

    def refuse_other(self, head: str) -> None:
        """Raise unless the ledger once had this head."""
        heads = (self.beginning, *(entry.head for entry in self.items))
        number = _WORDS.number_of(head)
        found = heads[number] if number < len(heads) else None
        _WORDS.refuse_other(head, found, len(self.items))

    def __iter__(self) -> Iterator[LedgerEntry]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> LedgerEntry:
        return self.items[place]

    def _lines(self) -> list[str]:
        return [f"Ledger of {count_of(len(self.items), 'entry', 'entries')}"]

    def _header(self) -> tuple[str, ...]:
        return "entry", "release", "audience", "at", "by", "tables"

    def _rows(self) -> list[list[str]]:
        return [
            [
                f"{one.number:,}",
                *map(named, (one.release, one.audience, one.at, one.by)),
                ", ".join(map(named, one.tables)),
            ]
            for one in self.items[-_SHOWN:]
        ]

    def _notes(self) -> list[str]:
        earlier = len(self.items) - _SHOWN
        return [f"({earlier:,} earlier not shown)"] if earlier > 0 else []


@dataclass(frozen=True)
class Chain:
    """Makes and checks the seals of one ledger."""

    secret: bytes
    of_states: bytes
    ledger: str

    @classmethod
    def of(cls, key: Key, ledger: str) -> Self:
        """Derive what is needed from the key, for the ledger with this id."""
        return cls(key.derived("ledger"), key.derived("ledger state"), ledger)

    def __repr__(self) -> str:
        """Show no key."""
        return f"Chain({self.ledger})"

    @property
    def beginning(self) -> str:
        """The head of the ledger before its first entry."""
        return f"0:{self._seal(canonical({'anonrisk_ledger': self.ledger}))}"

    def state_digest(self, table: str, state: bytes) -> str:
        """Give a keyed digest of the state of a table."""
        message = sized(table.encode("utf-8", "surrogatepass")) + state
        return hmac.digest(self.of_states, message, "sha256").hex()

    def link(self, head: str, about: Mapping[str, Any]) -> tuple[LedgerEntry, str]:
        """Make the entry that follows a head; give it with the content that is stored."""
        content = linked(head, about)
        return LedgerEntry(**_READER.json(content), seal=self._seal(content)), content

    def entries(self, rows: Iterable[Any]) -> LedgerEntries:
        """Read the rows of the database, in order; raise where the chain is broken."""
        items: list[LedgerEntry] = []
        head = self.beginning
        for row in rows:
            items.append(self._entry(len(items) + 1, head.partition(":")[2], row))
            head = items[-1].head
        return LedgerEntries(tuple(items), self.beginning)

    def _entry(self, number: int, previous: str, row: Any) -> LedgerEntry:
        _WORDS.check_place(number, row.number)
        changed = _WORDS.changed(number)
        texts = (row.content, row.seal, row.release)
        if not all(isinstance(text, str) and text.isascii() for text in texts[:2]):
            raise changed
        if not hmac.compare_digest(self._seal(row.content), row.seal):
            raise changed
        stored = _READER.json(row.content)
        if stored["release"] != row.release:
            raise changed
        names = {one.name for one in fields(LedgerEntry)} - {"seal"}
        _WORDS.check_link(stored, number, previous, names)
        return LedgerEntry(**stored, seal=row.seal)

    def _seal(self, content: str) -> str:
        return hmac.digest(self.secret, content.encode(), "sha256").hex()
