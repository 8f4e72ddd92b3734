"""Attacks of docs/threat_model.md, as an attacker makes them: with sqlite3, hmac and the formats.

What the page says does not hold is shown here to fail, as much as what holds.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import importlib
import json
import random
import shutil

import pandas as pd
import pytest
from keys import KEY, OTHER, person
from raw_store import Database, cipher_of, pseudonym_of, sized, subkey
from released import manifest_of

from anonrisk import Manifest
from anonrisk.errors import (
    AnonRiskError,
    ErasedError,
    NotAllowedError,
    SecretKeyError,
    StoreError,
    UnknownPseudonymError,
    WrongKeyError,
)
from anonrisk.keys import Key
from anonrisk.pseudonyms import hash_chain
from anonrisk.pseudonyms.pseudonym import Form, Pseudonymisation
from anonrisk.releases.release.approvals import Approval, counted

pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from anonrisk.identity import IdentityProtector

NAMES = ["Ann Onymous", "Bob", "Cem", "Zoë"]
WHY = {"reason": "test"}


A_GRANT = {
    "action": "grant",
    "by": "officer",
    "person": "mallory",
    "target": "reveal",
    "scope": "insurer",
    "per_day": 1_000_000,
    "pseudonyms": [],
    "reason": "their job",
    "outcome": "done",
    "details": {},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with people in it, to be copied: every event waits for the disk."""
    path = tmp_path_factory.mktemp("made") / "identities.db"
    with IdentityProtector(KEY, path, admin="officer") as keeper:
        for person, action in (("clerk", "issue"), ("doctor", "reveal"), ("desk", "convert")):
            keeper.grant(person, action, scope="*", per_day=9, by="officer", reason="their job")
        keeper.issue_all(NAMES[:3], scope="insurer", by="clerk", **WHY)
        keeper.issue("Ann Onymous", scope="hospital", by="clerk", **WHY)
    return path


@pytest.fixture
def store(made, tmp_path):
    shutil.copy(made, tmp_path / "identities.db")
    return Database(tmp_path / "identities.db")


@pytest.fixture
def anns():
    return pseudonym_of("Ann Onymous", "insurer", KEY.reveal())


def opened(store, **how):
    return IdentityProtector(KEY, store.path, **how)


def nothing_is_answered(store, pseudonym, message):
    """Whoever asks, however harmless the question, is told what was done to the store."""
    for ask in (
        lambda keeper: keeper.reveal(pseudonym, scope="insurer", by="doctor", **WHY),
        lambda keeper: keeper.issue("Dee", scope="insurer", by="clerk", **WHY),
        lambda keeper: keeper.audit(by="officer"),
    ):
        with pytest.raises(StoreError, match=message) as raised, opened(store) as keeper:
            ask(keeper)
        assert not any(name in str(raised.value) for name in NAMES)


# ---- recipients of tables ------------------------------------------------------------------


def published(scope, names=NAMES, **more):
    table = pd.DataFrame({"who": names, **more})
    return table.anon.pseudonymize("who", key=KEY, scope=scope)


def test_a_list_of_all_names_finds_nobody_without_the_key():
    column = set(published("insurer")["who"])
    tried = set()
    for name in NAMES:
        text = name.encode()
        message = b"anonrisk pseudonym 2" + sized(b"insurer") + sized(b"") + b"s" + text
        for secret in (b"", b"anonrisk", b"insurer", bytes(32)):
            tried |= {hmac.digest(secret, one, "sha256").hex() for one in (text, message)}
            tried.add(pseudonym_of(name, "insurer", secret))
        tried |= {hashlib.sha256(one).hexdigest() for one in (text, message)}
        tried.add(hashlib.md5(text, usedforsecurity=False).hexdigest())
    assert not column & {one[:32] for one in tried}
    # The attack itself is right: with the key it finds everybody.
    assert column == {pseudonym_of(name, "insurer", KEY.reveal()) for name in NAMES}


def test_a_pseudonym_is_as_long_for_every_name():
    assert set(published("x", ["", "a", "Ann " * 500])["who"].str.len()) == {32}


def test_rows_of_one_person_are_seen_to_be_one_persons():
    table = published("insurer", ["Ann", "Ann", "Bob"])
    assert table["who"].duplicated().tolist() == [False, True, False]


def test_two_recipients_share_no_pseudonym_unless_they_share_a_scope():
    one, other = (set(published(scope)["who"]) for scope in ("insurer", "hospital"))
    assert not one & other
    same = [set(published(None)["who"]) for _ in range(2)]
    assert same[0] == same[1]


def test_two_recipients_link_by_what_stands_beside_the_pseudonym():
    postal = ["1011", "1012", "1013", "1014"]
    one, other = (published(scope, zip=postal) for scope in ("insurer", "hospital"))
    joined = one.merge(other, on="zip")
    assert len(joined) == len(NAMES)
    truth = {pseudonym_of(n, "insurer", KEY.reveal()): n for n in NAMES}
    for row in joined.itertuples():
        assert row.who_y == pseudonym_of(truth[row.who_x], "hospital", KEY.reveal())


# ---- who reads the database ----------------------------------------------------------------


def test_the_database_alone_names_nobody(store):
    stored = store.path.read_bytes()
    for name in NAMES[:3]:
        assert name.encode() not in stored
    secrets = [KEY.reveal(), KEY.derived("pseudonym"), KEY.derived("identity sealing", length=64)]
    for secret in secrets:
        assert secret not in stored
        assert secret.hex().encode() not in stored
    assert {len(sealed) for (sealed,) in store.rows("SELECT sealed FROM anonrisk_identity")} == {
        272
    }


def test_who_reads_the_database_sees_who_asked_what_for_whom_and_why(store, anns):
    with opened(store) as keeper:
        keeper.reveal(anns, scope="insurer", by="doctor", reason="dangerous result")
    event = store.event(store.last())
    told = {name: event[name] for name in ("by", "action", "scope", "pseudonyms", "reason")}
    assert told == {
        "by": "doctor",
        "action": "reveal",
        "scope": "insurer",
        "pseudonyms": [anns],
        "reason": "dangerous result",
    }
    per_scope = "SELECT scope, count(*) FROM anonrisk_identity GROUP BY scope ORDER BY scope"
    assert store.rows(per_scope) == [("hospital", 1), ("insurer", 3)]


def test_lists_of_two_recipients_cannot_be_laid_side_by_side(store):
    people = [f"person {number}" for number in range(40)]
    with opened(store) as keeper:
        keeper.grant("bulk", "issue", scope="*", per_day=200, by="officer", **WHY)
        for scope in ("a", "b"):
            keeper.issue_all(people, scope=scope, by="bulk", **WHY)
    for scope in ("a", "b"):
        (event,) = [
            one
            for one in (store.event(number) for number in range(1, store.last() + 1))
            if one["scope"] == scope and one["action"] == "issue"
        ]
        assert event["pseudonyms"] == sorted(event["pseudonyms"])
        rows = store.rows("SELECT pseudonym FROM anonrisk_identity WHERE scope = ?", scope)
        assert [one for (one,) in rows] == event["pseudonyms"]
    seals = store.rows("SELECT sealed FROM anonrisk_identity WHERE scope IN ('a', 'b')")
    parts = [sealed[at : at + 16] for (sealed,) in seals for at in range(0, 272, 16)]
    assert len(set(parts)) == len(parts)


def test_people_issued_one_by_one_are_linked_by_the_order_of_events(store):
    with opened(store) as keeper:
        for scope in ("a", "b"):
            for person in ("Dee", "Eve"):
                keeper.issue(person, scope=scope, by="clerk", **WHY)
    last = [store.event(store.last() - back)["pseudonyms"][0] for back in (3, 2, 1, 0)]
    truth = [pseudonym_of(who, at, KEY.reveal()) for at in "ab" for who in ("Dee", "Eve")]
    assert last == truth


def test_a_conversion_names_one_pseudonym_and_the_other_is_found_where_it_is_the_only_one(
    store, anns
):
    with opened(store) as keeper:
        other = keeper.convert(anns, scope="insurer", to="research", by="desk", **WHY)
    event = store.event(store.last())
    assert event["pseudonyms"] == [anns]
    assert other not in json.dumps(event)
    issued = {
        one
        for number in range(1, store.last() + 1)
        if (event := store.event(number))["action"] == "issue"
        for one in event["pseudonyms"]
    }
    rest = [
        one for (one,) in store.rows("SELECT pseudonym FROM anonrisk_identity") if one not in issued
    ]
    assert rest == [other]


# ---- who writes to the database ------------------------------------------------------------


@pytest.mark.parametrize("mac", ["nothing", "random", "copied", "a hash"])
def test_who_writes_to_the_database_grants_themselves_nothing(store, anns, mac):
    content = store.forged(**A_GRANT)
    (copied,) = store.rows("SELECT mac FROM anonrisk_audit ORDER BY number DESC")[0]
    forged = {
        "nothing": "",
        "random": random.Random(1).randbytes(32).hex(),
        "copied": copied,
        "a hash": hashlib.sha256(content.encode()).hexdigest(),
    }[mac]
    store.append(content, forged)
    nothing_is_answered(store, anns, f"event {store.last()} of the audit was changed, or put in")


def test_who_writes_to_the_database_stops_the_keeper_until_it_is_mended(store, anns):
    store.append(store.forged(**A_GRANT), "0" * 64)
    nothing_is_answered(store, anns, "was changed, or put in")
    store.write(f"DELETE FROM anonrisk_audit WHERE number = {store.last()}")
    with opened(store) as keeper:
        assert keeper.reveal(anns, scope="insurer", by="doctor", **WHY) == "Ann Onymous"


def test_a_keeper_that_is_open_notices_too(store, anns):
    with opened(store) as keeper:
        store.append(store.forged(**A_GRANT), "0" * 64)
        with pytest.raises(StoreError, match="put in"):
            keeper.reveal(anns, scope="insurer", by="mallory", **WHY)
    with opened_before_a_cut(store) as keeper, pytest.raises(StoreError, match="cut off"):
        keeper.reveal(anns, scope="insurer", by="doctor", **WHY)


def opened_before_a_cut(store):
    store.write(f"DELETE FROM anonrisk_audit WHERE number = {store.last()}")
    keeper = opened(store)
    store.cut(store.last() - 1)
    return keeper


CHANGES = {
    "a volume raised": (
        "UPDATE anonrisk_audit SET content = replace(content, ':9,', ':999,') WHERE number = 3",
        "event 3 of the audit was changed",
    ),
    "a reason changed": (
        "UPDATE anonrisk_audit SET content = replace(content, 'test', 'best') WHERE number = 5",
        "event 5 of the audit was changed",
    ),
    "an event taken out": (
        "DELETE FROM anonrisk_audit WHERE number = 4",
        "event 4 of the audit is missing",
    ),
    "the first event taken out": (
        "DELETE FROM anonrisk_audit WHERE number = 1",
        "event 1 of the audit is missing",
    ),
    "two events exchanged": (
        "UPDATE anonrisk_audit SET number = 7 - number WHERE number IN (3, 4)",
        "event 3 of the audit .*(moved|changed)",
    ),
    "an event copied to the end": (
        "INSERT INTO anonrisk_audit SELECT 7, epoch, content, mac FROM anonrisk_audit LIMIT 1",
        "event 7 of the audit",
    ),
    "all events taken out": ("DELETE FROM anonrisk_audit", "no event at all"),
    "an epoch that is not the key's": (
        "UPDATE anonrisk_audit SET epoch = 0 WHERE number = 2",
        "event 2 of the audit was changed",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_done_to_an_event_is_noticed(store, anns, change):
    statement, message = CHANGES[change]
    if change == "two events exchanged":
        store.write("UPDATE anonrisk_audit SET number = -number WHERE number IN (3, 4)")
        statement = "UPDATE anonrisk_audit SET number = 7 + number WHERE number < 0"
    store.write(statement)
    nothing_is_answered(store, anns, message)


def test_events_of_another_store_of_the_same_key_do_not_fit(store, anns, tmp_path):
    other = Database(tmp_path / "other.db")
    with IdentityProtector(KEY, other.path, admin="mallory") as keeper:
        keeper.grant("mallet", "reveal", scope="*", per_day=9, by="mallory", **WHY)
    rows = other.rows("SELECT * FROM anonrisk_audit ORDER BY number")
    store.write(
        "DELETE FROM anonrisk_audit",
        *(("INSERT INTO anonrisk_audit VALUES (?, ?, ?, ?)", row) for row in rows),
    )
    nothing_is_answered(store, anns, "event 1 of the audit was changed, or put in")


def test_a_seal_of_another_row_or_store_reveals_nobody(store, anns, tmp_path):
    bobs = pseudonym_of("Bob", "insurer", KEY.reveal())
    other = Database(tmp_path / "other.db")
    shutil.copy(store.path, other.path)
    (sealed,) = store.rows("SELECT sealed FROM anonrisk_identity WHERE pseudonym = ?", bobs)[0]
    change = "UPDATE anonrisk_identity SET sealed = ? WHERE pseudonym = ?"
    store.write((change, (sealed, anns)))
    asked = {"scope": "insurer", "by": "doctor", **WHY}
    with opened(store) as keeper:
        with pytest.raises(StoreError, match="was changed, or belongs to another"):
            keeper.reveal(anns, **asked)
        assert [event.outcome for event in keeper.audit(by="officer")][-2] == "failed"
        assert keeper.reveal(bobs, **asked) == "Bob"
    flipped = bytes([*sealed[:-1], sealed[-1] ^ 1])
    store.write((change, (flipped, bobs)))
    with opened(store) as keeper, pytest.raises(StoreError, match="was changed"):
        keeper.reveal(bobs, **asked)


def test_an_identity_taken_out_or_put_in_is_missed_by_verify(store, anns):
    with opened(store) as keeper:
        assert keeper.verify(by="officer").pseudonyms == 4
    (row,) = store.rows("SELECT * FROM anonrisk_identity WHERE pseudonym = ?", anns)
    store.write(("DELETE FROM anonrisk_identity WHERE pseudonym = ?", (anns,)))
    with opened(store) as keeper:
        # Who asks for it learns nothing; that it is gone is seen by who reads everything.
        with pytest.raises(UnknownPseudonymError):
            keeper.reveal(anns, scope="insurer", by="doctor", **WHY)
        with pytest.raises(StoreError, match="event 5 of the audit issued is not in the store"):
            keeper.verify(by="officer")
    moved = (row[0], "feed" * 8, *row[2:])
    store.write(("INSERT INTO anonrisk_identity VALUES (?, ?, ?, ?)", row))
    store.write(("INSERT INTO anonrisk_identity VALUES (?, ?, ?, ?)", moved))
    with opened(store) as keeper, pytest.raises(StoreError, match="was changed, or belongs"):
        keeper.verify(by="officer")


def test_a_store_of_the_attackers_own_is_refused(store, tmp_path):
    other = Database(tmp_path / "other.db")
    with IdentityProtector(Key.generate(), other.path, admin="mallory"):
        pass
    with pytest.raises(WrongKeyError):
        opened(other)
    check = "UPDATE anonrisk_keeper SET value = ? WHERE name = 'key check'"
    other.write((check, (store.says("key check"),)))
    with pytest.raises(WrongKeyError):
        opened(other)


# ---- who takes files away, or puts them back -----------------------------------------------


def test_a_store_taken_away_is_not_made_anew_in_passing(store):
    store.path.unlink()
    with pytest.raises(StoreError, match="there is no store of identities"):
        opened(store)
    assert not store.path.exists()


def test_an_end_cut_off_is_seen_by_a_head_or_an_anchor_and_by_nothing_else(store, tmp_path):
    anchor = tmp_path / "elsewhere"
    anchor.mkdir(mode=0o700)
    with opened(store) as keeper:
        kept = keeper.head
    (anchor / "head").write_text(kept)
    (anchor / "head").chmod(0o600)
    with opened(store, anchor=anchor / "head") as keeper:
        assert keeper.verify(head=kept, by="officer").pseudonyms == 4
        later = keeper.head
    assert (anchor / "head").read_text().strip() == later
    store.cut(5)
    with pytest.raises(StoreError, match="ends at event 5: its end was cut off"):
        opened(store, anchor=anchor / "head")
    with opened(store) as keeper:
        assert keeper.verify(by="officer").pseudonyms == 3
        with pytest.raises(StoreError, match="another one than it was"):
            keeper.verify(head=kept, by="officer")


def test_a_file_put_back_brings_back_what_was_revoked_unless_there_is_an_anchor(
    store, anns, tmp_path
):
    backup = tmp_path / "backup.db"
    shutil.copy(store.path, backup)
    with opened(store) as keeper:
        keeper.revoke("doctor", "reveal", scope="*", by="officer", **WHY)
        with pytest.raises(NotAllowedError):
            keeper.reveal(anns, scope="insurer", by="doctor", **WHY)
        head = keeper.head
    (tmp_path / "head").write_text(head)
    (tmp_path / "head").chmod(0o600)
    shutil.copy(backup, store.path)
    with pytest.raises(StoreError, match="its end was cut off"):
        opened(store, anchor=tmp_path / "head")
    with opened(store) as keeper:
        assert keeper.reveal(anns, scope="insurer", by="doctor", **WHY) == "Ann Onymous"


# ---- who has the key, or the key and the database ------------------------------------------


def test_who_has_the_key_makes_the_pseudonym_of_any_name(store, anns):
    found = {pseudonym_of(name, "insurer", KEY.reveal()): name for name in NAMES}
    stored = store.rows("SELECT pseudonym FROM anonrisk_identity WHERE scope = 'insurer'")
    assert {found[one] for (one,) in stored} == set(NAMES[:3])
    assert found[anns] == "Ann Onymous"


def test_who_has_key_and_database_reads_everybody_without_a_trace(store):
    events, cipher = store.last(), cipher_of(KEY)
    found = set()
    for scope, pseudonym, epoch, sealed in store.rows("SELECT * FROM anonrisk_identity"):
        bound = store.bound(b"anonrisk sealed identity 2", epoch, scope, pseudonym)
        text = cipher.decrypt(sealed, [bound])
        assert len(text) == 256
        found.add(text[6 : 6 + int.from_bytes(text[4:6], "big")])
    assert found == {b"s" + name.encode() for name in NAMES[:3]}
    assert store.last() == events


def forge_with_the_key(store):
    """Put a right for mallory into the audit, as somebody can who has the key."""
    content = store.forged(**A_GRANT)
    message = sized(store.says("store").encode()) + sized(b"1") + content.encode()
    mac = hmac.digest(subkey(KEY.reveal(), b"identity audit"), message, "sha256").hex()
    store.append(content, mac)


def test_who_has_key_and_database_writes_events_that_no_head_excludes(store, anns):
    with opened(store) as keeper:
        head = keeper.head
    forge_with_the_key(store)
    with opened(store) as keeper:
        assert keeper.reveal(anns, scope="insurer", by="mallory", **WHY) == "Ann Onymous"
        # It stands in the audit, for who reads it; a head says only that nothing was taken away.
        assert keeper.verify(head=head, by="officer").events > 7
        assert any(event.person == "mallory" for event in keeper.audit(by="officer"))


# ---- the operator, and people with rights --------------------------------------------------


def test_the_program_is_believed_about_who_asks(store, anns):
    with opened(store) as keeper:
        assert keeper.reveal(anns, scope="insurer", by="doctor", **WHY) == "Ann Onymous"
        with pytest.raises(NotAllowedError):
            keeper.reveal(anns, scope="insurer", by="somebody", **WHY)


def test_who_may_issue_looks_up_the_names_that_they_know_and_that_is_on_record(store, anns):
    with opened(store) as keeper:
        made = keeper.issue_all(NAMES, scope="insurer", by="clerk", reason="curious")
        assert {one: name for name, one in made.items()}[anns] == "Ann Onymous"
        event = list(keeper.audit(by="officer"))[-2]
    assert (event.by, event.reason, set(event.pseudonyms)) == (
        "clerk",
        "curious",
        set(made.values()),
    )


def test_the_volume_of_a_day_ends_it(store, monkeypatch):
    start = hash_chain.now()
    with opened(store) as keeper:
        keeper.grant("temp", "issue", scope="insurer", per_day=3, by="officer", **WHY)
        asked = {"scope": "insurer", "by": "temp", **WHY}
        keeper.issue_all(["a", "b"], **asked)
        with pytest.raises(NotAllowedError, match="1 person more"):
            keeper.issue_all(["c", "d"], **asked)
        keeper.issue("c", **asked)
        # Asking again for the same person counts too: else one could compare without end.
        for again in ("a", "d"):
            with pytest.raises(NotAllowedError):
                keeper.issue(again, **asked)
        with pytest.raises(NotAllowedError):
            keeper.issue("a", scope="hospital", by="temp", **WHY)
        monkeypatch.setattr(hash_chain, "now", lambda: start + dt.timedelta(hours=23))
        with pytest.raises(NotAllowedError):
            keeper.issue("d", **asked)
        monkeypatch.setattr(hash_chain, "now", lambda: start + dt.timedelta(hours=25))
        keeper.issue("d", **asked)
        outcomes = [event.outcome for event in keeper.audit(by="officer") if event.by == "temp"]
    assert outcomes == ["done", "refused", "done", *["refused"] * 4, "done"]


def test_two_clerks_together_have_the_volume_of_both(store):
    with opened(store) as keeper:
        for clerk in ("one", "two"):
            keeper.grant(clerk, "issue", scope="insurer", per_day=2, by="officer", **WHY)
        parts = {"one": NAMES[:2], "two": NAMES[2:]}
        made = {
            name: one
            for clerk, names in parts.items()
            for name, one in keeper.issue_all(names, scope="insurer", by=clerk, **WHY).items()
        }
    assert len(made) == 4


def test_nobody_has_more_than_they_were_granted(store, anns):
    asked = {"scope": "insurer", **WHY}
    with opened(store) as keeper:
        for person, call in (
            ("clerk", lambda: keeper.reveal(anns, by="clerk", **asked)),
            ("clerk", lambda: keeper.convert(anns, to="hospital", by="clerk", **asked)),
            ("clerk", lambda: keeper.grant("clerk", "audit", by="clerk", **WHY)),
            ("doctor", lambda: keeper.issue("Dee", by="doctor", **asked)),
            ("doctor", lambda: keeper.audit(by="doctor")),
            ("officer", lambda: keeper.reveal(anns, by="officer", **asked)),
            (
                "officer",
                lambda: keeper.grant(
                    "officer", "reveal", scope="*", per_day=9, by="officer", **WHY
                ),
            ),
        ):
            with pytest.raises(NotAllowedError):
                call()
            last = store.event(store.last())
            assert (last["by"], last["outcome"]) == (person, "refused")


def test_two_who_may_grant_can_grant_each_other_everything(store, anns):
    with opened(store) as keeper:
        keeper.grant("deputy", "grant", by="officer", **WHY)
        keeper.grant("officer", "reveal", scope="*", per_day=9, by="deputy", **WHY)
        assert keeper.reveal(anns, scope="insurer", by="officer", **WHY) == "Ann Onymous"


def test_a_pseudonym_of_a_period_is_not_known_to_the_keeper(store):
    days = pd.to_datetime(["2026-01-01"] * 4)
    table = pd.DataFrame({"who": NAMES, "at": days})
    changing = table.anon.pseudonymize("who", key=KEY, scope="insurer", period="30D", time="at")
    with opened(store) as keeper, pytest.raises(UnknownPseudonymError):
        keeper.reveal(changing["who"][0], scope="insurer", by="doctor", **WHY)


# ---- who controls the clock ----------------------------------------------------------------


def test_a_clock_set_back_stops_everything_until_somebody_accepts_it(store, anns, monkeypatch):
    start = hash_chain.now()
    asked = {"scope": "insurer", "by": "doctor", **WHY}
    with opened(store) as keeper:
        monkeypatch.setattr(hash_chain, "now", lambda: start - dt.timedelta(minutes=4))
        keeper.reveal(anns, **asked)
        times = [event["at"] for event in map(store.event, range(1, store.last() + 1))]
        assert times == sorted(times)
        monkeypatch.setattr(hash_chain, "now", lambda: start - dt.timedelta(hours=2))
        before = store.last()
        with pytest.raises(StoreError, match="behind the last event"):
            keeper.reveal(anns, **asked)
        assert store.last() == before
        with pytest.raises(NotAllowedError):
            keeper.accept_clock(by="doctor", **WHY)
        keeper.accept_clock(by="officer", reason="the clock was wrong yesterday")
        assert keeper.reveal(anns, **asked) == "Ann Onymous"


def test_a_clock_set_forward_gives_a_new_volume_and_stands_in_the_audit(store, monkeypatch):
    start = hash_chain.now()
    asked = {"scope": "insurer", "by": "clerk", **WHY}
    with opened(store) as keeper:
        with pytest.raises(NotAllowedError):
            keeper.issue_all(list("abcdef"), **asked)
        monkeypatch.setattr(hash_chain, "now", lambda: start + dt.timedelta(days=2))
        keeper.issue_all(list("abcdef"), **asked)
        monkeypatch.setattr(hash_chain, "now", lambda: start)
        with pytest.raises(StoreError, match="behind the last event"):
            keeper.issue("d", **asked)
    ahead = dt.datetime.fromisoformat(store.event(store.last())["at"]) - start
    assert ahead >= dt.timedelta(days=1)


# ---- states, seals and approvals -----------------------------------------------------------


def hashes_of(state):
    return {f"{first:016x}{last:016x}" for first, last in state.counts.classes.tolist()}


def test_a_state_without_its_key_shows_sizes_and_what_two_files_share():
    first = pd.DataFrame({"zip": ["1011", "1011", "1012"]}).anon.state("zip", key=KEY)
    second = pd.DataFrame({"zip": ["1012", "1013"]}).anon.state("zip", key=KEY)
    other = pd.DataFrame({"zip": ["1012", "1013"]}).anon.state("zip", key=Key.generate())
    assert sorted(first.classes().sizes.tolist()) == [1, 2]
    assert len(hashes_of(first) & hashes_of(second)) == 1
    assert not hashes_of(first) & hashes_of(other)


def test_a_state_with_its_key_is_read_by_trying():
    state = pd.DataFrame({"zip": ["1011", "1011", "9876"]}).anon.state("zip", key=KEY)
    secret = subkey(KEY.reveal(), b"state class")
    found = {
        postal
        for postal in (f"{number:04}" for number in range(10_000))
        if hmac.digest(secret, sized(b"zip") + sized(b"s" + postal.encode()), "sha256").hex()[:32]
        in hashes_of(state)
    }
    assert found == {"1011", "9876"}


def test_who_can_check_a_keyed_seal_can_make_one(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"zip\n1011\n")
    envelope = json.loads(manifest_of(tmp_path, tmp_path).sealed(KEY).to_bytes())
    document = json.loads(base64.b64decode(envelope["payload"]))
    document["predicate"]["by"] = "somebody else"
    text = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    secret = subkey(KEY.reveal(), b"manifest")
    signed = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(text), text)
    envelope["payload"] = base64.b64encode(text).decode()
    seal = hmac.digest(secret, signed, "sha256")
    envelope["signatures"][0]["sig"] = base64.b64encode(seal).decode()
    whole = json.dumps(envelope, sort_keys=True, separators=(",", ":")) + "\n"
    forged = Manifest.from_bytes(whole.encode())
    assert "somebody else" in repr(forged.verify(tmp_path, key=KEY))


def test_whoever_writes_the_release_says_whose_keys_approve():
    people = {name: person(name).public for name in ("Ada", "Grace")}
    given = [Approval.made(b"{}", people, person(name)) for name in people]
    kept, _ = counted(given, statement=b"{}", approvers=people, by="Publisher")
    assert len(kept) == 2


# ---- keys ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "secret",
    [
        bytes(32),
        b"a" * 32,
        bytes(range(32)),
        b"\1\2\3\4" * 8,
        b"passwordpassword",
        b"short",
        b"to be or not to be, that is it..",
    ],
)
def test_keys_that_can_be_guessed_are_refused(secret):
    with pytest.raises(SecretKeyError) as raised:
        Key.from_bytes(secret)
    assert repr(secret)[2:-1] not in str(raised.value)
    # What is no text and has no pattern is taken all the same.
    assert Key.from_bytes(hashlib.sha256(b"to be or not to be").digest())


def test_executors_are_given_no_key_but_that_of_pseudonyms():
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    pseudonym = importlib.import_module("anonrisk.engines.spark.rewrite")
    asked = Pseudonymisation("who", KEY, Form.of("hex", None), "insurer")
    sent = cloudpickle.dumps(pseudonym._function(asked))
    assert KEY.derived("pseudonym") in sent
    others = [KEY.derived(purpose) for purpose in ("identity audit", "state class", "manifest")]
    for secret in (KEY.reveal(), KEY.derived("identity sealing", length=64), *others):
        assert secret not in sent


def test_no_error_of_the_store_names_anybody(store, anns):
    store.write("DROP TABLE anonrisk_identity")
    with pytest.raises(StoreError) as raised, opened(store) as keeper:
        keeper.issue("Dee Dee", scope="insurer", by="clerk", **WHY)
    assert "Dee Dee" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_an_anchor_that_is_put_back_with_the_file_notices_nothing(store, tmp_path):
    anchor, backup = tmp_path / "head", tmp_path / "backup.db"
    with opened(store) as keeper:
        anchor.write_text(keeper.head)
    anchor.chmod(0o600)
    kept = anchor.read_text()
    shutil.copy(store.path, backup)
    with opened(store, anchor=anchor) as keeper:
        keeper.revoke("doctor", "reveal", scope="*", by="officer", **WHY)
    shutil.copy(backup, store.path)
    anchor.write_text(kept)
    with opened(store, anchor=anchor) as keeper:
        assert any(right.person == "doctor" for right in keeper.rights(by="officer"))


def test_one_part_of_a_key_is_no_key(tmp_path):
    first, second = KEY.split("Ada", "Grace")
    for alone in ([first], [first, first], [second]):
        with pytest.raises(SecretKeyError):
            Key.from_parts(alone)
    again = KEY.split("Ada", "Grace")
    with pytest.raises(SecretKeyError):
        Key.from_parts([first, again[1]])
    files = [tmp_path / name for name in ("ada", "grace")]
    for part, path in zip((first, second), files, strict=True):
        part.save(path)
        assert KEY.reveal().hex() not in path.read_text()
    assert Key.from_parts([first, second]).reveal() == KEY.reveal()


def test_who_has_the_whole_key_can_split_it_again(tmp_path):
    path = tmp_path / "identities.db"
    whole = Key.from_parts(KEY.split("Ada", "Grace"))
    with IdentityProtector(whole, path, admin="officer", key_parts=2):
        pass
    with pytest.raises(SecretKeyError):
        IdentityProtector(KEY, path)
    mine = Key.from_parts(Key.from_bytes(whole.reveal()).split("Mallory", "Mallet"))
    with IdentityProtector(mine, path) as keeper:
        assert keeper.rights(by="officer")


def test_after_a_rotation_the_old_key_opens_only_what_is_older(store, anns, tmp_path):
    backup = Database(tmp_path / "backup.db")
    shutil.copy(store.path, backup.path)
    with opened(store) as keeper:
        keeper.grant("keys", "rotate", by="officer", **WHY)
        keeper.rotate(OTHER, by="keys", **WHY)
        asked = {"scope": "insurer", "by": "doctor", **WHY}
        assert keeper.reveal(anns, **asked) == "Ann Onymous"
    with pytest.raises(WrongKeyError):
        opened(store)
    with IdentityProtector(OTHER, store.path) as keeper:
        assert keeper.reveal(anns, **asked) == "Ann Onymous"
    with opened(backup) as keeper:
        assert keeper.reveal(anns, **asked) == "Ann Onymous"


def test_a_right_that_the_old_key_put_in_outlives_a_rotation(store, anns):
    forge_with_the_key(store)
    with opened(store) as keeper:
        keeper.grant("keys", "rotate", by="officer", **WHY)
        keeper.rotate(OTHER, by="keys", **WHY)
        asked = {"scope": "insurer", "by": "mallory", **WHY}
        assert keeper.reveal(anns, **asked) == "Ann Onymous"
        # It is there to be read, and to be revoked.
        (right,) = [right for right in keeper.rights(by="officer") if right.person == "mallory"]
        keeper.revoke("mallory", "reveal", scope=right.scope, by="officer", **WHY)
        with pytest.raises(NotAllowedError):
            keeper.reveal(anns, **asked)


@pytest.fixture
def erased(store, anns, tmp_path):
    """A store in which Ann was erased, and a backup from before."""
    backup = Database(tmp_path / "backup.db")
    shutil.copy(store.path, backup.path)
    with opened(store) as keeper:
        keeper.grant("desk", "erase", scope="*", per_day=9, by="officer", **WHY)
        keeper.erase(pseudonym=anns, scope="insurer", by="desk", reason="request 7")
    return backup


def test_erased_is_who_was_behind_a_pseudonym_and_not_the_pseudonym(store, erased, anns):
    event = store.event(store.last())
    assert event["action"] == "erase"
    assert anns not in json.dumps(event)
    with opened(store) as keeper:
        for scope in ("insurer", "hospital"):
            with pytest.raises(ErasedError):
                keeper.reveal(
                    pseudonym_of("Ann Onymous", scope, KEY.reveal()),
                    scope=scope,
                    by="doctor",
                    **WHY,
                )
        with pytest.raises(ErasedError):
            keeper.issue("Ann Onymous", scope="research", by="clerk", **WHY)
        keeper.verify(by="officer")
    lengths = "SELECT DISTINCT length(sealed) FROM anonrisk_identity"
    assert store.rows(lengths) == [(272,)]
    # The name is not forgotten by who thinks of it and has the key.
    assert anns in {pseudonym_of(name, "insurer", KEY.reveal()) for name in NAMES}


def test_an_erased_row_put_back_from_a_backup_reveals_nobody(store, erased, anns):
    (sealed,) = erased.rows("SELECT sealed FROM anonrisk_identity WHERE pseudonym = ?", anns)[0]
    change = "UPDATE anonrisk_identity SET sealed = ? WHERE pseudonym = ?"
    store.write((change, (sealed, anns)))
    with opened(store) as keeper:
        with pytest.raises(ErasedError):
            keeper.reveal(anns, scope="insurer", by="doctor", **WHY)
        with pytest.raises(StoreError, match="erased"):
            keeper.verify(by="officer")


def test_a_backup_knows_who_was_erased(erased, anns):
    with opened(erased) as keeper:
        assert keeper.reveal(anns, scope="insurer", by="doctor", **WHY) == "Ann Onymous"


def test_two_copies_around_an_erasure_show_whose_pseudonyms_they_were(store, erased):
    query = "SELECT scope, pseudonym, sealed FROM anonrisk_identity"
    changed = {row[:2] for row in set(store.rows(query)) ^ set(erased.rows(query))}
    assert changed == {
        (scope, pseudonym_of("Ann Onymous", scope, KEY.reveal()))
        for scope in ("insurer", "hospital")
    }


def test_an_expired_row_put_back_from_a_backup_is_as_old_as_it_was(store, anns, monkeypatch):
    start = hash_chain.now()
    with opened(store) as keeper:
        keeper.grant("desk", "erase", scope="*", per_day=9, by="officer", **WHY)
        keeper.set_retention(keep_identities=30, keep_audit=None, by="officer", **WHY)
    rows = store.rows("SELECT * FROM anonrisk_identity")
    monkeypatch.setattr(hash_chain, "now", lambda: start + dt.timedelta(days=40))
    asked = {"scope": "insurer", "by": "doctor", **WHY}
    with opened(store) as keeper:
        keeper.expire(by="desk", **WHY)
        with pytest.raises(AnonRiskError):
            keeper.reveal(anns, **asked)
    put_back = "INSERT OR REPLACE INTO anonrisk_identity VALUES (?, ?, ?, ?)"
    with opened(store) as keeper, pytest.raises(UnknownPseudonymError):
        keeper.erase(identity="Ann Onymous", by="desk", **WHY)
    store.write(*((put_back, row) for row in rows))
    with opened(store) as keeper:
        with pytest.raises(ErasedError, match="is over"):
            keeper.reveal(anns, **asked)
        keeper.set_retention(keep_identities=365, keep_audit=None, by="officer", **WHY)
        assert keeper.reveal(anns, **asked) == "Ann Onymous"


def test_a_clock_set_forward_lets_everybody_expire(store, anns, monkeypatch):
    start = hash_chain.now()
    with opened(store) as keeper:
        keeper.grant("desk", "erase", scope="*", per_day=9, by="officer", **WHY)
        keeper.set_retention(keep_identities=30, keep_audit=None, by="officer", **WHY)
        assert keeper.expire(by="desk", **WHY).identities == 0
        monkeypatch.setattr(hash_chain, "now", lambda: start + dt.timedelta(days=365))
        assert keeper.expire(by="desk", **WHY).identities > 0
        monkeypatch.setattr(hash_chain, "now", lambda: start)
        keeper.accept_clock(by="officer", **WHY)
        with pytest.raises(ErasedError):
            keeper.reveal(anns, scope="insurer", by="doctor", **WHY)


def test_who_has_key_and_database_tells_whether_a_name_was_erased(store, erased):
    bound = store.bound(b"anonrisk wrapped key 2", 1, "tag key")
    tag_key = cipher_of(KEY).decrypt(bytes.fromhex(store.says("tag key")), [bound])
    secret = subkey(tag_key, b"identity erased")
    tags = store.event(store.last())["details"]["tags"]
    found = [
        name for name in NAMES if hmac.digest(secret, b"s" + name.encode(), "sha256").hex() in tags
    ]
    assert found == ["Ann Onymous"]


def test_who_has_the_old_key_forges_rows_until_the_rotation_has_ended(store, anns, monkeypatch):
    with opened(store) as keeper:
        keeper.grant("keys", "rotate", by="officer", **WHY)
        with monkeypatch.context() as patched:
            patched.setattr("anonrisk.pseudonyms.upkeep._renewed", None)
            with pytest.raises(StoreError):
                keeper.rotate(OTHER, by="keys", **WHY)
    bound = store.bound(b"anonrisk sealed identity 2", 1, "insurer", anns)
    text = (bytes(4) + len(b"sMallory").to_bytes(2, "big") + b"sMallory").ljust(256, b"\0")
    forged = cipher_of(KEY).encrypt(text, [bound])
    change = "UPDATE anonrisk_identity SET epoch = ?, sealed = ? WHERE pseudonym = ?"
    store.write((change, (1, forged, anns)))
    asked = {"scope": "insurer", "by": "doctor", **WHY}
    with IdentityProtector(OTHER, store.path) as keeper:
        assert keeper.reveal(anns, **asked) == "Mallory"
        keeper.rotate(OTHER, by="keys", **WHY)
        store.write((change, (1, forged, anns)))
        with pytest.raises(StoreError):
            keeper.reveal(anns, **asked)
