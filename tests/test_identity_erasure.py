"""Erasing persons, for good or when they expire: nobody comes back, and the audit names nobody."""

from __future__ import annotations

import pandas as pd
import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
pytest.importorskip("cryptography", reason="needs the extra 'store'")

from kept import WHY, WORK, Clock, change, copy_of, do_not_wait, grant, opened, rows_of
from keys import KEY, OTHER

from anonrisk.errors import (
    ArgumentError,
    ErasedError,
    NotAllowedError,
    StoreError,
    UnknownPseudonymError,
    UnsupportedColumnError,
)
from anonrisk.identity import IdentityProtector
from anonrisk.pseudonyms.session import StoreSession

ASKED = {"scope": "insurer", **WORK}


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


def gone(keeper, pseudonym, scope="insurer"):
    with pytest.raises(ErasedError, match="the person behind this pseudonym was erased"):
        keeper.reveal(pseudonym, scope=scope, **WORK)
    return True


def put_back(url, rows):
    for row in rows:
        change(
            url,
            "UPDATE anonrisk_identity SET sealed = :sealed, epoch = :epoch "
            "WHERE scope = :scope AND pseudonym = :pseudonym",
            **row._asdict(),
        )


# ---- on request ----------------------------------------------------------------------------


def test_a_person_goes_from_every_recipient_and_every_key(keeper):
    first = {one: keeper.issue("Ann", scope=one, **WORK) for one in ("insurer", "hospital")}
    keeper.rotate(OTHER, **WORK)
    later = keeper.issue("Ann", **ASKED)
    bob = keeper.issue("Bob", **ASKED)
    assert later != first["insurer"]
    done = keeper.erase(first["hospital"], scope="hospital", **WORK)
    assert done.pseudonyms == 3
    for pseudonym, scope in (*((p, s) for s, p in first.items()), (later, "insurer")):
        assert gone(keeper, pseudonym, scope)
        with pytest.raises(ErasedError):
            keeper.convert(pseudonym, scope=scope, to="research", **WORK)
    assert keeper.reveal(bob, **ASKED) == "Bob"
    verified = keeper.verify(by="officer")
    assert (verified.pseudonyms, verified.erased) == (4, 3)


def test_who_was_erased_is_not_issued_again(url, keeper):
    keeper.issue("Ann", **ASKED)
    assert keeper.erase(identity="Ann", **WORK).pseudonyms == 1
    for scope in ("insurer", "research"):
        with pytest.raises(ErasedError, match="somebody of those given had been erased") as raised:
            keeper.issue("Ann", scope=scope, **WORK)
        assert "Ann" not in str(raised.value)
    with pytest.raises(ErasedError):
        keeper.issue_all(["Ann", "Bob"], **ASKED)
    assert list(keeper.issue_all(["Ann", "Bob"], erased="skip", **ASKED)) == ["Bob"]
    with IdentityProtector(KEY, url) as again, pytest.raises(ErasedError):
        again.issue("Ann", **ASKED)


def test_the_audit_says_that_and_when_but_not_who(keeper):
    ann = keeper.issue("Ann", **ASKED)
    keeper.convert(ann, scope="insurer", to="hospital", **WORK)
    keeper.erase(ann, **ASKED)
    event = keeper.audit(by="officer")[-2]
    assert (event.by, event.action, event.outcome) == ("worker", "erase", "done")
    assert (event.pseudonyms, event.persons, event.details["erased"]) == ((), 1, 2)
    (tag,) = event.details["tags"]
    assert set(event.details) == {"persons", "erased", "tags"}
    # The tag is of the person, under a key of its own, and not of a pseudonym.
    assert len(tag) == 64
    assert ann not in str(event)


def test_the_tag_is_the_same_whatever_the_key_and_other_than_in_another_store(keeper, tmp_path):
    keeper.issue("Ann", **ASKED)
    keeper.erase(identity="Ann", **WORK)
    with opened(tmp_path / "other.db") as other:
        other.issue("Ann", **ASKED)
        other.erase(identity="Ann", **WORK)
        theirs = other.audit(by="officer")[-2].details["tags"]
    assert theirs != keeper.audit(by="officer")[-2].details["tags"]


def test_tombstones_look_like_everybody_else(url, keeper):
    keeper.issue_all(["Ann", "x" * 240, 7], **ASKED)
    keeper.erase(identity="Ann", **WORK)
    rows = rows_of(url, "SELECT sealed FROM anonrisk_identity")
    assert {len(row.sealed) for row in rows} == {272}


def test_a_row_that_comes_back_from_a_backup_reveals_nobody(url, keeper):
    ann = keeper.issue("Ann", **ASKED)
    rows = rows_of(url, "SELECT * FROM anonrisk_identity")
    keeper.erase(identity="Ann", **WORK)
    put_back(url, rows)
    assert gone(keeper, ann)
    with pytest.raises(StoreError, match="an identity that was erased is in the store again"):
        keeper.verify(by="officer")
    # It is erased as it was the first time, by the pseudonym or by the person.
    assert keeper.erase(ann, **ASKED).pseudonyms == 1
    keeper.verify(by="officer")
    put_back(url, rows)
    assert keeper.erase(identity="Ann", **WORK).pseudonyms == 1
    keeper.verify(by="officer")


def test_a_whole_store_from_before_is_seen_by_the_anchor(path, tmp_path):
    anchor = tmp_path / "anchor"
    with opened(path, anchor=anchor) as keeper:
        ann = keeper.issue("Ann", **ASKED)
        backup = copy_of(path, "backup.db")
        keeper.erase(identity="Ann", **WORK)
    backup.replace(path)
    path.chmod(0o600)
    with pytest.raises(StoreError, match="its end was cut off"):
        IdentityProtector(KEY, path, anchor=anchor)
    # Without one nobody can tell, as the documentation says.
    with IdentityProtector(KEY, path) as keeper:
        assert keeper.reveal(ann, **ASKED) == "Ann"


@pytest.mark.parametrize("also", ["insurer", "*"])
def test_who_erases_must_have_the_right_wherever_the_person_is(keeper, also):
    for scope in ("insurer", "hospital"):
        keeper.issue("Ann", scope=scope, **WORK)
    ann = keeper.issue("Ann", **ASKED)
    grant(keeper, "clerk", "erase", scope="hospital", per_day=5)
    clerk = {"by": "clerk", "reason": "request"}
    with pytest.raises(NotAllowedError, match="'clerk' may not erase for 'insurer'"):
        keeper.erase(ann, scope="insurer", **clerk)
    with pytest.raises(NotAllowedError, match=r"'clerk' may not erase for '\*'"):
        keeper.erase(identity="Ann", **clerk)
    there = keeper.issue("Ann", scope="hospital", **WORK)
    with pytest.raises(NotAllowedError, match="recipients that 'clerk' may not") as raised:
        keeper.erase(there, scope="hospital", **clerk)
    assert "insurer" not in str(raised.value)
    assert keeper.reveal(ann, **ASKED) == "Ann"
    grant(keeper, "clerk", "erase", scope=also, per_day=5)
    assert keeper.erase(there, scope="hospital", **clerk).pseudonyms == 2
    outcomes = [e.outcome for e in keeper.audit(by="officer") if e.action == "erase"]
    assert outcomes == ["refused"] * 3 + ["done"]


def test_the_volume_counts_persons(keeper):
    keeper.issue_all(["Ann", "Bob", "Cem"], **ASKED)
    grant(keeper, "clerk", "erase", per_day=2)
    clerk = {"by": "clerk", "reason": "request"}
    for person in ("Ann", "Bob"):
        keeper.erase(identity=person, **clerk)
    with pytest.raises(NotAllowedError, match="0 persons more"):
        keeper.erase(identity="Cem", **clerk)


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ({}, ArgumentError, "a pseudonym with its scope=, or identity="),
        ({"pseudonym": "f00d", "identity": "Ann"}, ArgumentError, "or identity="),
        ({"pseudonym": "f00d"}, ArgumentError, "give both"),
        ({"identity": "Ann", "scope": "insurer"}, ArgumentError, "give both"),
        ({"pseudonym": "Ann Onymous", "scope": "insurer"}, ArgumentError, "a pseudonym is"),
        ({"pseudonym": "f00d", "scope": "*"}, ArgumentError, "name one"),
        ({"pseudonym": "f00d", "scope": "insurer"}, UnknownPseudonymError, "no such pseudonym"),
        ({"identity": "Onymous"}, UnknownPseudonymError, "no pseudonym of this person"),
        ({"identity": 1.5}, UnsupportedColumnError, "float"),
    ],
)
def test_wrong_calls(keeper, how, error, text):
    with pytest.raises(error, match=text) as raised:
        keeper.erase(**how, **WORK)
    assert "Onymous" not in str(raised.value)
    keeper.verify(by="officer")


def test_who_was_erased_already_is_told_so(keeper):
    ann = keeper.issue("Ann", **ASKED)
    keeper.erase(ann, **ASKED)
    with pytest.raises(ErasedError, match="erased already"):
        keeper.erase(ann, **ASKED)
    with pytest.raises(UnknownPseudonymError, match="no pseudonym of this person"):
        keeper.erase(identity="Ann", **WORK)
    outcomes = [e.outcome for e in keeper.audit(by="officer") if e.action == "erase"]
    assert outcomes == ["done", "unknown", "unknown"]


def test_rows_that_cannot_be_opened_leave_a_doubt_that_is_said(url, keeper):
    pseudonyms = keeper.issue_all(["Ann", "Bob"], **ASKED)
    broken = "UPDATE anonrisk_identity SET sealed = :sealed WHERE pseudonym = :pseudonym"
    change(url, broken, sealed=bytes(272), pseudonym=pseudonyms["Bob"])
    with pytest.raises(StoreError, match=r"is erased, but 1 row .* it cannot be decided whose"):
        keeper.erase(identity="Ann", **WORK)
    assert gone(keeper, pseudonyms["Ann"])
    with pytest.raises(StoreError, match="was changed"):
        keeper.erase(pseudonyms["Bob"], **ASKED)
    outcomes = [e.outcome for e in keeper.audit(by="officer") if e.action == "erase"]
    assert outcomes == ["done", "failed"]


def test_what_an_erasure_does_not_do(url, keeper):
    """Who has the key computes the pseudonym of a name; two copies show which rows went at once."""
    issued = {one: keeper.issue("Ann", scope=one, **WORK) for one in ("insurer", "hospital")}
    keeper.issue("Bob", **ASKED)
    published = pd.DataFrame({"who": ["Ann"]}).anon.pseudonymize("who", key=KEY, scope="insurer")
    before = set(rows_of(url, "SELECT scope, pseudonym, sealed FROM anonrisk_identity"))
    keeper.erase(identity="Ann", **WORK)
    after = set(rows_of(url, "SELECT scope, pseudonym, sealed FROM anonrisk_identity"))
    assert published["who"].tolist() == [issued["insurer"]]
    assert {(row.scope, row.pseudonym) for row in before - after} == set(issued.items())


# ---- retention -----------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def kept(url, quick, clock):
    with opened(url, keep_identities=30, keep_audit=60) as made:
        made.grant("worker", "rotate", **WHY)
        yield made


def test_identities_expire_after_the_days_since_their_last_issue(kept, clock):
    ann, bob = kept.issue_all(["Ann", "Bob"], **ASKED).values()
    clock.forward(days=20)
    kept.issue("Bob", **ASKED)
    clock.forward(days=10)
    assert kept.expire(**WORK).identities == 0
    clock.forward(days=1)
    done = kept.expire(**WORK)
    assert (done.identities, done.events) == (1, 0)
    assert gone(kept, ann)
    assert kept.reveal(bob, **ASKED) == "Bob"
    assert kept.expire(**WORK).identities == 0
    verified = kept.verify(by="officer")
    assert (verified.pseudonyms, verified.erased) == (2, 1)
    # Who has expired may come again; who was erased may not.
    assert kept.issue("Ann", **ASKED) == ann
    assert kept.reveal(ann, **ASKED) == "Ann"


def test_the_day_of_the_last_issue_survives_a_rotation(kept, clock):
    ann = kept.issue("Ann", **ASKED)
    clock.forward(days=20)
    kept.rotate(OTHER, **WORK)
    clock.forward(days=11)
    assert kept.expire(**WORK).identities == 1
    assert gone(kept, ann)


def test_old_events_are_pruned_and_what_they_said_still_holds(url, kept, clock):
    old = kept.head
    kept.issue_all(["Ann", "Bob"], **ASKED)
    kept.erase(identity="Ann", **WORK)
    events = len(kept.audit(by="officer"))
    clock.forward(days=61)
    done = kept.expire(**WORK)
    # The last event before stays, so that whoever has seen it finds it again.
    assert (done.identities, done.events) == (1, events - 1)
    for keeper in (kept, IdentityProtector(KEY, url)):
        with pytest.raises(ErasedError):
            keeper.issue("Ann", **ASKED)
        keeper.verify(by="officer")
        with pytest.raises(StoreError, match="was pruned"):
            keeper.verify(head=old, by="officer")
    assert kept.audit(by="officer")[0].number > 1


def test_the_file_keeps_nothing_of_what_expired(path, monkeypatch):
    """Also not in parts that the database does not use any more, as there are after many rows."""
    clock = Clock(monkeypatch)
    with opened(path, keep_identities=30, keep_audit=60) as keeper:
        reason = {"by": "worker", "reason": "a reason of long ago"}
        keeper.issue_all(range(600), scope="insurer", **reason)
        before = [row.sealed for row in rows_of(path, "SELECT sealed FROM anonrisk_identity")]
        keeper.audit(by="officer")
        clock.forward(days=61)
        assert keeper.expire(**WORK).identities == 600
    stored = path.read_bytes()
    assert not any(sealed in stored for sealed in before)
    assert b"of long ago" not in stored


def test_retention_is_changed_by_who_may_grant(kept, clock):
    kept.issue("Ann", **ASKED)
    with pytest.raises(NotAllowedError, match="'worker' may not set_retention"):
        kept.set_retention(keep_identities=1, keep_audit=None, **WORK)
    kept.set_retention(keep_identities=None, keep_audit=None, **WHY)
    clock.forward(days=400)
    done = kept.expire(**WORK)
    assert (done.identities, done.events) == (0, 0)
    kept.set_retention(keep_identities=399, keep_audit=None, **WHY)
    assert kept.expire(**WORK).identities == 1
    for wrong in (0, -1, 1.5, "30", True):
        with pytest.raises(ArgumentError, match="keep_identities"):
            kept.set_retention(keep_identities=wrong, keep_audit=None, **WHY)


def test_only_who_may_erase_everywhere_lets_things_expire(kept, clock):
    grant(kept, "clerk", "erase", scope="insurer", per_day=5)
    with pytest.raises(NotAllowedError, match="right to erase for every recipient"):
        kept.expire(by="clerk", reason="nightly")
    # What expires is settled by the retention, not by the volume.
    grant(kept, "job", "erase", per_day=1)
    kept.issue_all(["Ann", "Bob", "Cem"], **ASKED)
    clock.forward(days=31)
    assert kept.expire(by="job", reason="nightly").identities == 3
    outcomes = [e.outcome for e in kept.audit(by="officer") if e.action == "expire"]
    assert outcomes == ["refused", "done"]


def test_nothing_expires_beside_rows_that_somebody_put_in(url, kept, clock):
    """Else they would count as known once the events are gone that do not know them."""
    kept.issue("Ann", **ASKED)
    clock.forward(days=61)
    change(
        url,
        "INSERT INTO anonrisk_identity SELECT 'x', pseudonym, epoch, sealed FROM anonrisk_identity",
    )
    with pytest.raises(StoreError, match="nobody issued"):
        kept.expire(**WORK)
    trail = kept.audit(by="officer")
    assert trail[0].number == 1
    assert (trail[-2].action, trail[-2].outcome) == ("expire", "failed")


@pytest.mark.parametrize("erased", ["refuse", "skip"])
def test_who_was_erased_between_two_parts_is_not_issued_again(keeper, monkeypatch, erased):
    monkeypatch.setattr("anonrisk.pseudonyms.issuing.PART", 1)
    made = keeper.issue_all(["Ann", "Bob"], **ASKED)
    first, second = sorted(made, key=made.get)
    session, turns = keeper._session, []

    def turn(**options):
        turns.append(options)
        if len(turns) == 2:
            keeper.erase(identity=second, **WORK)
        return StoreSession.turn(session, **options)

    monkeypatch.setattr(session, "turn", turn)
    if erased == "refuse":
        with pytest.raises(ErasedError, match="somebody of those given"):
            keeper.issue_all(made, **ASKED)
    else:
        assert keeper.issue_all(made, **ASKED, erased="skip") == {first: made[first]}
    assert keeper.verify(by="officer").erased == 1


def test_how_many_of_a_list_were_erased_is_not_told_for_nothing(keeper):
    """Else: one known to be erased and a guess, again and again, and nothing is ever counted."""
    keeper.issue_all(["Ann", "Bob"], **ASKED)
    for name in ("Ann", "Bob"):
        keeper.erase(identity=name, **WORK)
    told = set()
    for guess in ("Bob", "Cem"):
        with pytest.raises(ErasedError) as raised:
            keeper.issue_all(["Ann", guess], **ASKED)
        told.add(str(raised.value))
    assert len(told) == 1


def test_where_case_is_folded_nobody_comes_back_in_other_letters(path, quick):
    for fold, name in ((True, "folded.db"), (False, "exact.db"), (None, "as before.db")):
        with opened(path.with_name(name), fold_case=fold) as keeper:
            issued = keeper.issue_all(["Ann", "ANN", "Bob", 7], **ASKED)
            # Pseudonyms are those of the texts as they are written.
            assert len(set(issued.values())) == 4
            keeper.erase(identity="ann" if fold else "Ann", **WORK)
            left = keeper.issue_all(["ann", "ANN", "\uff41nn", "Bob", 7], erased="skip", **ASKED)
            assert set(left) == ({"Bob", 7} if fold else {"ann", "ANN", "\uff41nn", "Bob", 7})
            assert gone(keeper, issued["Ann"])
            if fold:
                assert gone(keeper, issued["ANN"])
    with pytest.raises(ArgumentError, match="settled when a store is made"):
        opened(path.with_name("exact.db"), fold_case=True)
    with pytest.raises(ArgumentError, match="True or False"):
        opened(path.with_name("new.db"), fold_case=1)
