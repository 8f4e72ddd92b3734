"""Issuing pseudonyms, revealing who is behind one, and converting one for another recipient."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.errors import (
    ArgumentError,
    CollisionError,
    ErasedError,
    StoreError,
    UnknownPseudonymError,
)
from anonrisk.pseudonyms.pseudonym import EPOCH, Pseudonymisation, canonical, pseudonym_maker
from anonrisk.pseudonyms.store import check_identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Row

    from anonrisk.pseudonyms.keys import Key
    from anonrisk.pseudonyms.pseudonym import Form
    from anonrisk.pseudonyms.session import Doing, StoreSession, Turn

# So many persons are issued in one transaction, and named by one event.
PART = 1_000
_ERASED = (
    "somebody of those given had been erased: nobody is issued a pseudonym; erased='skip' leaves "
    "such persons out"
)


@dataclass(frozen=True)
class WantedPersons:
    """Persons that pseudonyms are wanted for.

    Attributes
    ----------
    by_identity : mapping
        Their canonical bytes, by the identity that was given.
    """

    by_identity: Mapping[Any, bytes]

    @classmethod
    def from_identities(cls, identities: Iterable[Any]) -> WantedPersons:
        """Read identities; refuse equal ones that are not the same."""
        fields: dict[Any, bytes] = {}
        for person in identities:
            # Before equal ones become one: True == 1, but is not a person.
            value = canonical(person)
            check_identity(value)
            if fields.setdefault(person, value) != value:
                raise ArgumentError(
                    "two of the identities are different but equal in Python, as instants are in "
                    "the hour that a clock change repeats; give instants in UTC: "
                    "astimezone(dt.UTC)"
                )
        return cls(fields)

    def values(self) -> list[bytes]:
        """Return each person once."""
        return list(dict.fromkeys(self.by_identity.values()))


def pseudonyms_of(values: Sequence[bytes], key: Key, form: Form, scope: str) -> list[str]:
    """Make pseudonyms, as `anonrisk.pseudonymize` does."""
    make = pseudonym_maker(Pseudonymisation("identity", key, form, scope))
    return list(map(make, values))


def issue_all(
    session: StoreSession, wanted: WantedPersons, form: Form, doing: Doing, *, skip_erased: bool
) -> dict[Any, str]:
    """Issue pseudonyms, in parts; each part is a transaction and an event.

    Persons go by their pseudonyms, not as they were given: else the lists of two recipients could
    be laid side by side.
    """
    made: dict[bytes, str] = {}
    todo: list[tuple[str, bytes]] | None = None
    while todo is None or todo:
        with session.turn() as turn:
            if todo is None:
                turn.allow(doing, doing.scope, persons=len(wanted.values()))
                everybody = _in_order(turn, wanted.values(), form, doing)
                todo = _not_erased(turn, everybody, doing, skip=skip_erased)
            else:
                turn.allow(doing, doing.scope, persons=len(todo))
            # Once more: somebody may have been erased between two parts.
            part = dict(_not_erased(turn, todo[:PART], doing, skip=skip_erased))
            _issue(turn, part, doing)
        made |= {value: pseudonym for pseudonym, value in part.items()}
        todo = todo[PART:]
    return {person: made[value] for person, value in wanted.by_identity.items() if value in made}


def _not_erased(
    turn: Turn, persons: list[tuple[str, bytes]], doing: Doing, *, skip: bool
) -> list[tuple[str, bytes]]:
    """Leave out persons who were erased, or refuse all because of them."""
    left = [person for person in persons if not turn.is_erased(person[1])]
    if len(left) < len(persons) and not skip:
        # How many is not told: what is refused is not counted, and who adds one name after the
        # other to one whom they know to be erased would learn for nothing who else was.
        turn.end(doing, "refused", ErasedError(_ERASED), persons=len(persons))
    return left


def _in_order(turn: Turn, values: list[bytes], form: Form, doing: Doing) -> list[tuple[str, bytes]]:
    pseudonyms = pseudonyms_of(values, turn.keys.key, form, doing.scope)
    if max(Counter(pseudonyms).values(), default=1) > 1:
        turn.end(doing, "failed", _collision(), persons=len(values))
    return sorted(zip(pseudonyms, values, strict=True))


def _issue(turn: Turn, part: Mapping[str, bytes], doing: Doing) -> None:
    known = remember(turn, doing, doing.scope, part)
    new = sorted(part.keys() - known)
    turn.record(replace(doing, pseudonyms=(*new, *sorted(known))), known=len(known))


def remember(turn: Turn, doing: Doing, scope: str, part: Mapping[str, bytes]) -> set[str]:
    """Store whose these pseudonyms are; give those that were there already.

    Ends somebody's doing, before anything is stored, where one is there of somebody else.
    """
    rows = turn.tables.identities(scope, list(part))
    try:
        again = _to_renew(turn, rows, part)
    except StoreError as error:
        turn.end(doing, "failed", error, persons=len(part))
    new = {pseudonym: value for pseudonym, value in part.items() if pseudonym not in rows}
    turn.tables.put(turn.seal(scope, *item) for item in new.items())
    turn.tables.replace(turn.seal(scope, *item) for item in again.items())
    return set(rows)


def _to_renew(
    turn: Turn, rows: Mapping[str, Row[Any]], part: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return who is there and must be stored again; raise where one is somebody else."""
    again = {}
    for pseudonym, row in rows.items():
        opened = turn.unseal(row)
        if opened.identity not in (None, part[pseudonym]):
            raise _collision()
        if opened.identity is None or opened.day != turn.day:
            again[pseudonym] = part[pseudonym]
    return again


def reveal(session: StoreSession, doing: Doing) -> Any:
    """Return who is behind a pseudonym, after that is on record."""
    with session.turn() as turn:
        turn.allow(doing, doing.scope)
        identity = look_up(turn, doing)
        turn.record(doing)
    return identity_of(identity)


def convert(session: StoreSession, doing: Doing, form: Form) -> str:
    """Return the pseudonym that the same person has for another recipient."""
    with session.turn() as turn:
        turn.allow(doing, doing.scope, doing.target)
        identity = look_up(turn, doing)
        (made,) = pseudonyms_of([identity], turn.keys.key, form, doing.target)
        known = remember(turn, doing, doing.target, {made: identity})
        tag = None if known else turn.tags.of_pseudonym(doing.target, made)
        turn.record(doing, made=tag)
    return made


def look_up(turn: Turn, doing: Doing) -> bytes:
    """Return the identity behind a pseudonym for somebody's doing; recorded where there is none."""
    (pseudonym,) = doing.pseudonyms
    row = turn.tables.identities(doing.scope, [pseudonym]).get(pseudonym)
    if row is None:
        turn.end(doing, "unknown", not_issued(doing.scope))
    try:
        opened = turn.unseal(row)
    except StoreError as broken:
        # Who asks for a row that somebody tampered with is on record too.
        turn.end(doing, "failed", broken)
    identity = opened.identity
    if identity is None or turn.is_erased(identity):
        turn.end(doing, "unknown", ErasedError("the person behind this pseudonym was erased"))
    # Its day is sealed with it: a row that comes back from a backup is as old as it was.
    if turn.is_past(opened.day):
        turn.end(doing, "unknown", ErasedError("the time that this identity is kept is over"))
    return identity


def not_issued(scope: str) -> UnknownPseudonymError:
    """Return an error: there is no such pseudonym."""
    return UnknownPseudonymError(
        f"no such pseudonym was issued for scope {scope!r}; it may belong to another scope"
    )


def identity_of(value: bytes) -> Any:
    """Turn canonical bytes back into what they are of."""
    kind, text = value[:1], value[1:].decode()
    if kind == b"i":
        return int(text)
    if kind == b"d":
        return dt.date.fromisoformat(text)
    if kind == b"t":
        return EPOCH + dt.timedelta(microseconds=int(text))
    return text


def _collision() -> CollisionError:
    return CollisionError(
        "two different persons would share a pseudonym: nothing was stored. Pseudonyms are too "
        "short for so many persons: take a longer length="
    )
