"""A new key for a store.

One transaction changes the key: from then on only the new one opens the store, the audit goes on
under it, and the subkey that sealed identities until then is kept in the store, wrapped under the
new key, so that every row can be read. Then all rows are sealed anew, some at a time; at the end
the wrapped subkey is deleted. Whoever is killed in between opens the store with the new key and
rotates to it again, which goes on from there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, count_of
from anonrisk.errors import ArgumentError, SecretKeyError, StoreError
from anonrisk.pseudonyms.arguments import refuse_parts
from anonrisk.pseudonyms.session import OLD_KEY, TAG_KEY, StoreKeys

if TYPE_CHECKING:
    from sqlalchemy import Row

    from anonrisk.pseudonyms.keys import Key
    from anonrisk.pseudonyms.session import Doing, StoreSession, Turn
    from anonrisk.pseudonyms.store import Named

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
