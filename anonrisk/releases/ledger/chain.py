"""The entries of a ledger, and the chain of seals that none can be taken out of or changed in."""

from __future__ import annotations

import hmac
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.documents import Reader, canonical
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, PrintedTable, count_of, named
from anonrisk.core.results import Document
from anonrisk.errors import LedgerError
from anonrisk.pseudonyms.hash_chain import CLOCKS_DIFFER, ChainWords, linked
from anonrisk.pseudonyms.private_files import NeverPickled
from anonrisk.pseudonyms.pseudonym import sized
from anonrisk.releases.ledger.manifest import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonrisk.pseudonyms.keys import Key

# The seal of an entry is HMAC-SHA-256, under a subkey of the ledger's key, over its content, which
# names the seal of the entry before; that of the first names a beginning that belongs to one ledger
# alone. Without the key no entry can be changed, put in, taken out of the middle or moved. What is
# cut off at the end leaves a chain that is whole: that is seen by a head that was kept elsewhere.

_READER = Reader("entry of the ledger", LedgerError)
_WORDS = ChainWords("entry", "entries", "ledger", "seal", LedgerError)
_SHOWN = 20
PUBLISH, ROTATE = "publish", "rotate"
# What an entry says that publishes nothing.
NO_RELEASE: dict[str, Any] = {
    **dict.fromkeys(("release", "audience", "status", "manifest_sha256"), ""),
    "revision": 0,
    "policy_digest": None,
    "states": {},
    "details": {},
}
RECALLED, NEVER_HANDED_OUT = "recalled", "never handed out"


@dataclass(frozen=True, repr=False)
class LedgerEntry(Document, PrintedFields):
    """One publication, or what else was done, as a ledger remembers it.

    Attributes
    ----------
    number : int
        Its place in the ledger, from 1.
    action : str
        ``"publish"``, ``"withdraw"``, ``"accept_clock"``, ``"rotate"``, ``"expire"``,
        ``"erase"``.
    release, audience, by, at : str
        Which release was published, for whom, by whom and when.
    revision : int
        How often a release of this name was published by then; 0 if nothing is.
    reason : str
        Why; empty for a publication.
    policy_digest : str or None
        By which policy.
    status : str
        What the verdict was.
    manifest_sha256 : str
        SHA-256 of its manifest.
    states : dict of str to str
        A keyed digest of the state of each table that is kept.
    details : dict
        What else there is to say of an action.
    previous : str
        The seal of the entry before.
    seal : str
        The seal of this one.
    withdrawn : str
        Of a release that a later entry withdraws: ``"recalled"``, or ``"never handed out"``.
    """

    number: int
    action: str
    release: str
    revision: int
    audience: str
    by: str
    at: str
    reason: str
    policy_digest: str | None
    status: str
    manifest_sha256: str
    states: Mapping[str, str]
    details: Mapping[str, Any]
    previous: str
    seal: str
    withdrawn: str = ""

    @property
    def head(self) -> str:
        """What names the ledger as it was after this entry."""
        return f"{self.number}:{self.seal}"

    @property
    def what(self) -> str:
        """The release, and what was done if it is not that it was published."""
        done = self.withdrawn if self.action == PUBLISH else self.action
        which = f"revision {self.revision}" if self.revision > 1 else ""
        note = ", ".join(filter(None, (which, done)))
        return " ".join(filter(None, (self.release, f"({note})" if note else "")))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables whose states are kept."""
        return tuple(sorted(self.states))

    @property
    def held(self) -> set[tuple[str, str]]:
        """The audience with each of these tables, if anybody may hold them."""
        never = self.withdrawn == NEVER_HANDED_OUT
        return set() if never else {(self.audience, table) for table in self.states}

    def _rows(self) -> list[list[str]]:
        said = [row for row in super()._rows() if row[1]]
        return [*said, ["tables", ", ".join(map(named, self.tables)) or "-"]]


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

    def of(self, release: str, revision: int | None = None) -> LedgerEntry | None:
        """Return the entry by which a release was published, its last revision or that one."""
        every = (item for item in reversed(self.items) if item.action == PUBLISH)
        mine = (item for item in every if item.release == release)
        return next((item for item in mine if revision in (None, item.revision)), None)

    def last_with(self, table: str) -> LedgerEntry | None:
        """Return the entry of the last release that had a table, if one had it."""
        return next((item for item in reversed(self.items) if table in item.states), None)

    def refuse_ambiguous(self, last: LedgerEntry) -> None:
        """Reject that the last revision is withdrawn where an earlier one may be meant."""
        for number in range(1, last.revision):
            entry = self.of(last.release, number)
            if entry is not None and entry.withdrawn == NEVER_HANDED_OUT:
                raise LedgerError(
                    f"release {last.release!r} has {last.revision} revisions, and of revision "
                    f"{number} it was said that nobody received it: revision={number} (--revision "
                    f"{number}) if somebody did, revision={last.revision} to withdraw the last"
                )

    def refuse_relied_on(self, entry: LedgerEntry) -> None:
        """Reject that nobody received what earlier states were changed for, which nothing else has.

        Those of earlier releases expire, and forget whom it lacks, because later ones are compared
        with it.
        """
        for done in self.items[entry.number :]:
            for number, changed in done.details.get("states", {}).items():
                first = int(number)
                others = [item for item in self.items[first:] if item != entry]
                later = {table for item in others for table in item.held}
                tables = {(self.items[first - 1].audience, table) for table in changed}
                if first < entry.number and (entry.held & tables) - later:
                    raise LedgerError(
                        f"states of release {self.items[first - 1].release!r} were deleted or "
                        f"changed (entry {done.number:,}, {done.action}) because {entry.release!r} "
                        "followed: withdraw it as one that may have been received"
                    )

    def refuse_other(self, head: str) -> None:
        """Raise unless the ledger once had this head."""
        heads = (self.beginning, *(entry.head for entry in self.items))
        number = _WORDS.number_of(head)
        result = heads[number] if number < len(heads) else None
        _WORDS.refuse_other(head, result, len(self.items))

    def is_after(self, at: str) -> bool:
        """Return whether the last entry is later than this, by more than clocks differ."""
        return bool(self.items) and moment(at) < moment(self.items[-1].at) - CLOCKS_DIFFER

    def refuse_before(self, at: str) -> None:
        """Reject what happens before the last entry."""
        if self.is_after(at):
            raise LedgerError(
                f"the time is {at}, before the last entry of the ledger ({self.items[-1].at}): one "
                "of the two clocks is wrong. Set this one right; if the last entry's was wrong, "
                "accept_clock (anonrisk release accept-clock)"
            )

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
                f"{item.number:,}",
                *map(named, (item.what, item.audience or "-", item.at, item.by)),
                ", ".join(map(named, item.tables)) or "-",
            ]
            for item in self.items[-_SHOWN:]
        ]

    def _notes(self) -> list[str]:
        earlier = len(self.items) - _SHOWN
        return [f"({earlier:,} earlier not shown)"] if earlier > 0 else []


@dataclass(frozen=True)
class Chain(NeverPickled):
    """Makes and checks the seals of one ledger."""

    secrets: tuple[bytes, ...]
    of_states: bytes
    ledger: str

    @classmethod
    def of(cls, key: Key, ledger: str, *, earlier: Sequence[bytes] = (), states: Key) -> Self:
        """Derive what is needed, for the ledger with this id.

        Parameters
        ----------
        key : Key
            The present one.
        ledger : str
            The id.
        earlier : sequence of bytes
            What sealed entries before the key was rotated, each time.
        states : Key
            The key of the states, which stays.
        """
        return cls((*earlier, key.derived("ledger")), states.derived("ledger state"), ledger)

    def __repr__(self) -> str:
        """Show no key."""
        return f"Chain({self.ledger})"

    @property
    def beginning(self) -> str:
        """The head of the ledger before its first entry."""
        return f"0:{_seal(self.secrets[0], canonical({'anonrisk_ledger': self.ledger}))}"

    def state_digest(self, table: str, state: bytes) -> str:
        """Return a keyed digest of the state of a table."""
        message = sized(table.encode("utf-8", "surrogatepass")) + state
        return hmac.digest(self.of_states, message, "sha256").hex()

    def link(self, head: str, about: Mapping[str, Any]) -> tuple[LedgerEntry, str]:
        """Make the entry that follows a head; give it with the content that is stored."""
        content = linked(head, about)
        return LedgerEntry(**_READER.json(content), seal=_seal(self.secrets[-1], content)), content

    def entries(self, rows: Iterable[Any]) -> LedgerEntries:
        """Read the rows of the database, in order; raise where the chain is broken."""
        items: list[LedgerEntry] = []
        head, epoch = self.beginning, 0
        for row in rows:
            items.append(self._entry(len(items) + 1, head.partition(":")[2], row, epoch))
            head = items[-1].head
            epoch += items[-1].action == ROTATE
        if epoch + 1 < len(self.secrets):
            raise LedgerError(
                "the key of the ledger was rotated after its last entry: its end was cut off"
            )
        return LedgerEntries(tuple(_as_it_is(items)), self.beginning)

    def _entry(self, number: int, previous: str, row: Any, epoch: int) -> LedgerEntry:
        _WORDS.check_place(number, row.number)
        changed = _WORDS.changed(number)
        texts = (row.content, row.seal, row.release)
        if not all(isinstance(text, str) and text.isascii() for text in texts[:2]):
            raise changed
        # The key that comes seals that it does; what else it seals follows.
        sealing = (self.secrets[epoch : epoch + 1], self.secrets[epoch + 1 : epoch + 2])
        fits = [
            any(hmac.compare_digest(_seal(secret, row.content), row.seal) for secret in secrets)
            for secrets in sealing
        ]
        stored = _READER.json(row.content) if any(fits) else {}
        if not fits[stored.get("action") == ROTATE] or stored["release"] != row.release:
            raise changed
        names = {field.name for field in fields(LedgerEntry)} - {"seal", "withdrawn"}
        _WORDS.check_link(stored, number, previous, names)
        return LedgerEntry(**stored, seal=row.seal)


def _seal(secret: bytes, content: str) -> str:
    return hmac.digest(secret, content.encode(), "sha256").hex()


def _as_it_is(items: list[LedgerEntry]) -> list[LedgerEntry]:
    """Return entries with what later ones have changed of them."""
    for entry in list(items):
        if entry.action == "withdraw":
            place = entry.details["entry"] - 1
            items[place] = replace(items[place], withdrawn=entry.details["withdrawn"])
        for number, changed in entry.details.get("states", {}).items():
            states = {**items[int(number) - 1].states, **changed}
            kept = {table: digest for table, digest in states.items() if digest is not None}
            items[int(number) - 1] = replace(items[int(number) - 1], states=kept)
    return items
