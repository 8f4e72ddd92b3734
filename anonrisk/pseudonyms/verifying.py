"""Reading everything: every identity opens, and the audit knows all pseudonyms that are there."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, count_of
from anonrisk.errors import StoreError
from anonrisk.pseudonyms.pseudonym import sized

if TYPE_CHECKING:
    from anonrisk.pseudonyms.session import Doing, StoreSession, Turn
    from anonrisk.pseudonyms.store import Named


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
