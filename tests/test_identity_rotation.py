"""A new key for a store: nobody is lost, the old key opens nothing, and interruptions go on."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
pytest.importorskip("cryptography", reason="needs the extra 'store'")

from kept import WHY, WORK, change, copy_of, do_not_wait, opened, rows_of
from keys import KEY, OTHER

from anonrisk.errors import (
    ArgumentError,
    ErasedError,
    NotAllowedError,
    SecretKeyError,
    StoreError,
    WrongKeyError,
)
from anonrisk.identity import IdentityProtector
from anonrisk.pseudonyms import upkeep
from anonrisk.pseudonyms.hash_chain import linked
from anonrisk.pseudonyms.keys import Key
from anonrisk.pseudonyms.store import AUDIT

THIRD = Key.from_bytes(hashlib.sha256(b"anonrisk third example, not a secret").digest())
PEOPLE = ["Ann", "Zoë", 7, -(10**20), ""]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "identities.db"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def url(request, path):
    return request.getfixturevalue("postgres") if request.param == "postgresql" else path


@pytest.fixture
def quick(monkeypatch):
    do_not_wait(monkeypatch)


@pytest.fixture
def keeper(url, quick):
    with opened(url) as made:
        made.grant("worker", "rotate", **WHY)
        yield made


def issued(keeper, people=PEOPLE):
    return {
        (scope, pseudonym): person
        for scope in ("hospital", "insurer")
        for person, pseudonym in keeper.issue_all(people, scope=scope, **WORK).items()
    }


def revealed(keeper, pseudonyms):
    return {
        (scope, pseudonym): keeper.reveal(pseudonym, scope=scope, **WORK)
        for scope, pseudonym in pseudonyms
    }


def names(url):
    return {row.name for row in rows_of(url, "SELECT name FROM anonrisk_keeper")}


def epochs(url):
    rows = rows_of(url, "SELECT epoch FROM anonrisk_identity ORDER BY epoch")
    return [row.epoch for row in rows]


class StoppedError(Exception):
    """Stands for a kill in the middle; tests/killed_store.py kills in earnest."""


def interrupt(monkeypatch, parts):
    """Let a rotation die after so many parts of one row."""
    monkeypatch.setattr(upkeep, "PART", 1)
    real, left = upkeep._renewed, [parts]

    def renewed(turn, row):
        if not left[0]:
            raise StoppedError
        left[0] -= 1
        return real(turn, row)

    monkeypatch.setattr(upkeep, "_renewed", renewed)


def test_everybody_is_revealed_as_before_and_issued_anew(url, keeper):
    before = issued(keeper)
    head = keeper.head
    done = keeper.rotate(OTHER, **WORK)
    assert (done.epoch, done.sealed, done.unreadable) == (2, 10, 0)
    assert "epoch" in repr(done)
    for one in (keeper, IdentityProtector(OTHER, url)):
        assert revealed(one, before) == before
        assert one.verify(head=head, by="officer").pseudonyms == 10
    # From now on pseudonyms are those that pseudonymize makes with the new key.
    after = issued(keeper)
    assert not after.keys() & before.keys()
    new = {(scope, person): pseudonym for (scope, pseudonym), person in after.items()}
    for (scope, pseudonym), person in before.items():
        asked = {"scope": scope, "to": scope, **WORK}
        assert keeper.convert(pseudonym, **asked) == new[scope, person]
    assert keeper.verify(head=head, by="officer").pseudonyms == 20


def test_after_it_nothing_of_the_old_key_is_left(path):
    keeper = opened(path)
    keeper.grant("worker", "rotate", **WHY)
    keeper.issue_all(range(600), scope="hospital", **WORK)
    sealed = [row.sealed for row in rows_of(path, "SELECT sealed FROM anonrisk_identity")]
    keeper.rotate(OTHER, **WORK)
    assert epochs(path) == [2] * 600
    assert "old sealing key" not in names(path)
    stored = path.read_bytes()
    # Not even in parts of the file that the database does not use any more.
    assert not any(one in stored for one in sealed)
    for key in (KEY, OTHER):
        assert key.reveal() not in stored


def test_who_holds_the_old_key_is_told_so(url, keeper):
    pseudonym = keeper.issue("Ann", scope="hospital", **WORK)
    with IdentityProtector(KEY, url) as late:
        keeper.rotate(OTHER, **WORK)
        for call in (
            lambda: late.reveal(pseudonym, scope="hospital", **WORK),
            lambda: late.issue("Bob", scope="hospital", **WORK),
            lambda: late.rotate(OTHER, **WORK),
            lambda: late.audit(by="officer"),
            lambda: late.head,
        ):
            with pytest.raises(WrongKeyError, match="rotated"):
                call()
    with pytest.raises(WrongKeyError, match="its key was rotated"):
        IdentityProtector(KEY, url)
    assert keeper.verify(by="officer").pseudonyms == 1


@pytest.mark.parametrize("parts", [0, 1, 3])
def test_what_was_interrupted_goes_on_with_the_new_key(url, keeper, monkeypatch, parts):
    before = issued(keeper, ["Ann", "Bob"])
    head = keeper.head
    with monkeypatch.context() as patched:
        interrupt(patched, parts)
        with pytest.raises(StoreError, match="StoppedError"):
            keeper.rotate(OTHER, **WORK)
    assert epochs(url) == [1] * (4 - parts) + [2] * parts
    # Only the new key opens it, and everybody is there: rows of both keys are read.
    with pytest.raises(WrongKeyError):
        IdentityProtector(KEY, url)
    with IdentityProtector(OTHER, url) as other:
        assert revealed(other, before) == before
        other.verify(head=head, by="officer")
        new = other.issue("Cem", scope="hospital", **WORK)
        assert other.rotate(OTHER, **WORK).sealed == 4 - parts
        assert other.reveal(new, scope="hospital", **WORK) == "Cem"
        assert revealed(other, before) == before
        other.verify(head=head, by="officer")
    assert epochs(url) == [2] * 5
    assert "old sealing key" not in names(url)
    # The one that was interrupted has the new key too.
    assert revealed(keeper, before) == before


def test_a_third_key_waits_until_the_second_is_everywhere(url, keeper, monkeypatch):
    before = issued(keeper, ["Ann", "Bob"])
    with monkeypatch.context() as patched:
        interrupt(patched, 1)
        with pytest.raises(StoreError):
            keeper.rotate(OTHER, **WORK)
    with IdentityProtector(OTHER, url) as other:
        assert other.rotate(THIRD, **WORK).epoch == 3
        assert revealed(other, before) == before
        other.verify(by="officer")
        actions = [event.action for event in other.audit(by="officer")]
    assert [one for one in actions if one.startswith("rotate")] == ["rotate", "rotated"] * 2
    assert epochs(url) == [3] * 4


def test_many_keys_in_a_row(url, keeper):
    before = issued(keeper, ["Ann", "Bob"])
    for number, key in enumerate((OTHER, THIRD, KEY), start=2):
        assert keeper.rotate(key, **WORK).epoch == number
        assert revealed(keeper, before) == before
    keeper.verify(by="officer")
    with IdentityProtector(KEY, url) as again:
        # With the first key again, the pseudonyms are the first ones.
        assert issued(again, ["Ann", "Bob"]) == before


def test_only_who_may_rotates_and_attempts_are_on_record(keeper):
    with pytest.raises(NotAllowedError, match="'officer' may not rotate"):
        keeper.rotate(OTHER, **WHY)
    with pytest.raises(ArgumentError, match="has this key already"):
        keeper.rotate(KEY, **WORK)
    for wrong in ("text", None, b"short"):
        with pytest.raises(SecretKeyError):
            keeper.rotate(wrong, **WORK)
    with pytest.raises(ArgumentError, match="reason="):
        keeper.rotate(OTHER, by="worker", reason=" ")
    keeper.rotate(OTHER, **WORK)
    told = [
        (e.by, e.action, e.outcome)
        for e in keeper.audit(by="officer")
        if e.action.startswith("rotate")
    ]
    assert told == [
        ("officer", "rotate", "refused"),
        ("worker", "rotate", "refused"),
        ("worker", "rotate", "done"),
        ("worker", "rotated", "done"),
    ]


def test_a_changed_row_does_not_let_the_old_key_be_forgotten_in_passing(url, keeper):
    before = issued(keeper, ["Ann", "Bob"])
    (scope, pseudonym), _ = before.popitem()
    ((sealed,),) = rows_of(
        url, f"SELECT sealed FROM anonrisk_identity WHERE pseudonym = '{pseudonym}'"
    )
    mine = "UPDATE anonrisk_identity SET sealed = :sealed WHERE pseudonym = :pseudonym"
    change(url, mine, sealed=bytes(272), pseudonym=pseudonym)
    for key in (OTHER, OTHER):
        with pytest.raises(StoreError, match=r"1 identity cannot be opened.*leave_unreadable=True"):
            keeper.rotate(key, **WORK)
        # All others have the new key.
        assert epochs(url) == [1, 2, 2, 2]
        assert revealed(keeper, before) == before
    # Put back from a backup, it is as good as before.
    change(url, mine, sealed=sealed, pseudonym=pseudonym)
    done = keeper.rotate(OTHER, **WORK)
    assert (done.sealed, done.unreadable) == (1, 0)
    assert keeper.reveal(pseudonym, scope=scope, **WORK) in {"Ann", "Bob"}
    outcomes = [e.outcome for e in keeper.audit(by="officer") if e.action == "rotate"]
    assert outcomes == ["done", "failed", "failed"]


def test_a_changed_row_can_be_given_up(url, keeper):
    before = issued(keeper, ["Ann", "Bob"])
    (scope, pseudonym), _ = before.popitem()
    mine = "UPDATE anonrisk_identity SET sealed = :sealed WHERE pseudonym = :pseudonym"
    change(url, mine, sealed=bytes(272), pseudonym=pseudonym)
    done = keeper.rotate(OTHER, leave_unreadable=True, **WORK)
    assert (done.sealed, done.unreadable) == (3, 1)
    assert revealed(keeper, before) == before
    with pytest.raises(StoreError, match="another epoch"):
        keeper.reveal(pseudonym, scope=scope, **WORK)
    # It stays a row that was changed, as it was before.
    with pytest.raises(StoreError, match="another epoch"):
        keeper.verify(by="officer")
    (rotated,) = [e for e in keeper.audit(by="officer") if e.action == "rotated"]
    assert rotated.details["unreadable"] == 1
    # And it does not stand in the way of the next key.
    assert keeper.rotate(THIRD, leave_unreadable=True, **WORK).unreadable == 1


def test_rows_and_wrapped_keys_from_a_backup_open_nothing_after_it(url, keeper, monkeypatch):
    """Who has the old key and writes to the database cannot bring rows of their own in."""
    before = issued(keeper, ["Ann"])
    with monkeypatch.context() as patched:
        interrupt(patched, 0)
        with pytest.raises(StoreError):
            keeper.rotate(OTHER, **WORK)
    old = rows_of(url, "SELECT * FROM anonrisk_identity")[0]
    ((wrapped,),) = rows_of(url, "SELECT value FROM anonrisk_keeper WHERE name = 'old sealing key'")
    keeper.rotate(OTHER, **WORK)
    assert revealed(keeper, before) == before
    change(
        url,
        "UPDATE anonrisk_identity SET epoch = 1, sealed = :sealed WHERE pseudonym = :pseudonym",
        sealed=old.sealed,
        pseudonym=old.pseudonym,
    )
    change(url, "INSERT INTO anonrisk_keeper VALUES ('old sealing key', :value)", value=wrapped)
    with pytest.raises(StoreError, match="another epoch"):
        keeper.reveal(old.pseudonym, scope=old.scope, **WORK)
    with pytest.raises(StoreError, match="another epoch"):
        keeper.verify(by="officer")


def test_a_wrapped_key_that_was_taken_out_is_missed(url, keeper, monkeypatch):
    issued(keeper, ["Ann"])
    with monkeypatch.context() as patched:
        interrupt(patched, 1)
        with pytest.raises(StoreError):
            keeper.rotate(OTHER, **WORK)
    for statement in (
        "UPDATE anonrisk_keeper SET value = 'f00d' WHERE name = 'old sealing key'",
        "DELETE FROM anonrisk_keeper WHERE name = 'old sealing key'",
    ):
        change(url, statement)
        with pytest.raises(StoreError, match="old sealing key that is kept in the store was"):
            keeper.verify(by="officer")
        with pytest.raises(StoreError, match="1 identity cannot be opened"):
            keeper.rotate(OTHER, **WORK)
    # The row that has the new key already is read.
    (new,) = rows_of(url, "SELECT scope, pseudonym FROM anonrisk_identity WHERE epoch = 2")
    assert revealed(keeper, [tuple(new)]) == {tuple(new): "Ann"}


def test_erasures_hold_over_a_rotation(url, keeper):
    before = issued(keeper, ["Ann", "Bob"])
    rows = rows_of(url, "SELECT * FROM anonrisk_identity")
    keeper.erase(identity="Ann", **WORK)
    # From a backup, the rows of the person come back just before the key changes.
    for row in rows:
        change(
            url,
            "UPDATE anonrisk_identity SET sealed = :sealed WHERE pseudonym = :pseudonym",
            sealed=row.sealed,
            pseudonym=row.pseudonym,
        )
    keeper.rotate(OTHER, **WORK)
    for (scope, pseudonym), person in before.items():
        if person == "Ann":
            with pytest.raises(ErasedError):
                keeper.reveal(pseudonym, scope=scope, **WORK)
        else:
            assert keeper.reveal(pseudonym, scope=scope, **WORK) == person
    with pytest.raises(ErasedError):
        keeper.issue("Ann", scope="research", **WORK)
    assert keeper.verify(by="officer").erased == 2


def test_heads_and_anchors_from_before_stay_right(tmp_path, url):
    anchor = tmp_path / "anchor"
    with opened(url, anchor=anchor) as keeper:
        keeper.grant("worker", "rotate", **WHY)
        head = keeper.head
        keeper.rotate(OTHER, **WORK)
        assert keeper.verify(head=head, by="officer").events > 1
        assert anchor.read_text() == keeper.head + "\n"
    with IdentityProtector(OTHER, url, anchor=anchor) as again:
        again.verify(head=head, by="officer")


def test_a_store_put_back_from_before_the_rotation_is_refused(path, quick):
    keeper = opened(path)
    keeper.grant("worker", "rotate", **WHY)
    issued(keeper, ["Ann"])
    backup = copy_of(path, "backup.db")
    keeper.rotate(OTHER, **WORK)
    shutil.copy(backup, path)
    with pytest.raises(WrongKeyError):
        IdentityProtector(OTHER, path)
    with pytest.raises(WrongKeyError):
        keeper.issue("Bob", scope="hospital", **WORK)


@pytest.mark.parametrize("is_open", [True, False])
def test_an_event_that_pretends_to_be_of_an_earlier_key_is_refused(url, keeper, is_open):
    """Events of earlier keys have no MAC that could be checked: later ones vouch for them."""
    ann = keeper.issue("Ann", scope="hospital", **WORK)
    keeper.rotate(OTHER, **WORK)
    events = [json.loads(one.content) for one in rows_of(url, f"SELECT content FROM {AUDIT}")]
    grant = next(one for one in events if one["action"] == "grant" and one["target"] == "reveal")
    head = keeper.head
    forged = linked(head, {**grant, "person": "mallory", "at": max(one["at"] for one in events)})
    change(
        url,
        f"INSERT INTO {AUDIT} (number, epoch, content, mac) VALUES (:number, 1, :content, :mac)",
        number=int(head.partition(":")[0]) + 1,
        content=forged,
        mac="0" * 64,
    )
    open_it = (lambda: keeper) if is_open else (lambda: IdentityProtector(OTHER, url))
    with pytest.raises(StoreError, match=r"not written with the present key|was changed"):
        open_it().reveal(ann, scope="hospital", by="mallory", reason="curious")


def test_who_has_the_old_key_and_an_old_copy_reads_it(path, quick):
    """A rotation is no cure for a copy that somebody took before."""
    with opened(path) as keeper:
        keeper.grant("worker", "rotate", **WHY)
        ann = keeper.issue("Ann", scope="hospital", **WORK)
        copied = copy_of(path, "copy.db")
        keeper.rotate(OTHER, **WORK)
    copied.chmod(0o600)
    with IdentityProtector(KEY, copied) as thief:
        assert thief.reveal(ann, scope="hospital", **WORK) == "Ann"


def together(key, *holders):
    return Key.from_parts(key.split(*holders))


def test_a_key_of_two_persons_is_replaced_by_one_of_two_persons(url, quick):
    first = together(KEY, "Ann", "Bob")
    with IdentityProtector(first, url, admin="officer", key_parts=2) as keeper:
        keeper.grant("worker", "rotate", **WHY)
        with pytest.raises(SecretKeyError, match="parts of 2 holders at least"):
            keeper.rotate(OTHER, **WORK)
        assert keeper.rotate(together(OTHER, "Bob", "Cem"), **WORK).epoch == 2
        told = [(e.action, e.outcome) for e in keeper.audit(by="officer")]
        assert told[2:5] == [("rotate", "refused"), ("rotate", "done"), ("rotated", "done")]
    with pytest.raises(SecretKeyError, match="parts of 2 holders at least"):
        IdentityProtector(OTHER, url)
    with IdentityProtector(together(OTHER, "Bob", "Cem", "Dee"), url) as keeper:
        keeper.verify(by="officer")
