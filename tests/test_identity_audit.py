"""What somebody can do who can write to the database and has no key: each of it is noticed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from keys import KEY, OTHER

from anonrisk.errors import NotAllowedError, StoreError, WrongKeyError

pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

import sqlalchemy
from kept import WHY, WORK, Clock, change, do_not_wait, grant, opened, rows_of

from anonrisk.identity import IdentityProtector
from anonrisk.pseudonyms import upkeep
from anonrisk.pseudonyms.session import Doing

SERVER = pytest.param("postgresql", marks=pytest.mark.nightly)
AUDIT, IDENTITY, ABOUT = "anonrisk_audit", "anonrisk_identity", "anonrisk_keeper"
COLUMNS = "number, epoch, content, mac"
JUDGE = {"scope": "hospital", "by": "judge", "reason": "case 7"}
# Events 1 to 5 make the store and its worker.
GRANTED, REVOKED, ISSUED, ELSEWHERE, REVEALED = 6, 7, 8, 9, 10


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    do_not_wait(monkeypatch)


def fill(url):
    """A store in which a judge could reveal and cannot any more."""
    with opened(url) as keeper:
        grant(keeper, "judge", "reveal", scope="hospital", per_day=5)
        keeper.revoke("judge", "reveal", scope="hospital", **WHY)
        issued = keeper.issue_all(["Ann", "Bob"], scope="hospital", **WORK)
        keeper.issue("Cem", scope="insurer", **WORK)
        keeper.reveal(issued["Ann"], scope="hospital", **WORK)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "identities.db"
    fill(path)
    return path


@pytest.fixture(params=["sqlite", SERVER])
def url(request, tmp_path, filled):
    """A filled store, of which nobody has opened anything."""
    if request.param == "postgresql":
        made = request.getfixturevalue("postgres")
        fill(made)
        return made
    return str(shutil.copy(filled, tmp_path / "identities.db"))


def pseudonym_of(keeper, person, scope="hospital"):
    return keeper.issue(person, scope=scope, **WORK)


def every_call(keeper):
    """Whatever can be asked of a keeper."""
    asked = {"scope": "hospital", **WORK}
    return {
        "issue": lambda: keeper.issue("Dan", **asked),
        "reveal": lambda: keeper.reveal("f00d", **asked),
        "convert": lambda: keeper.convert("f00d", to="insurer", **asked),
        "grant": lambda: keeper.grant("mallory", "audit", **WHY),
        "revoke": lambda: keeper.revoke("worker", "issue", scope="*", **WHY),
        "rights": lambda: keeper.rights(by="officer"),
        "audit": lambda: keeper.audit(by="officer"),
        "verify": lambda: keeper.verify(by="officer"),
        "head": lambda: keeper.head,
    }


# ---- the audit -----------------------------------------------------------------------------

BROKEN = {
    "taken out": (f"DELETE FROM {AUDIT} WHERE number = 3", "event 3 of the audit is missing"),
    "all taken out": (f"DELETE FROM {AUDIT}", "no event at all"),
    "first taken out": (f"DELETE FROM {AUDIT} WHERE number = 1", "event 1 of the audit is missing"),
    "another volume": (
        f"UPDATE {AUDIT} SET content = replace(content, '\"per_day\":5', '\"per_day\":6')",
        f"event {GRANTED} of the audit was changed",
    ),
    "another name": (
        f"UPDATE {AUDIT} SET content = replace(content, 'judge', 'mallory')",
        f"event {GRANTED} of the audit was changed",
    ),
    "another mac": (
        f"UPDATE {AUDIT} SET mac = '{'0' * 64}' WHERE number = {ISSUED}",
        f"event {ISSUED} of the audit was changed",
    ),
    "an earlier key": (
        f"UPDATE {AUDIT} SET epoch = 0 WHERE number = {REVOKED}",
        f"event {REVOKED} of the audit was changed",
    ),
    "a later key": (
        f"UPDATE {AUDIT} SET epoch = 2 WHERE number = {REVEALED}",
        f"event {REVEALED} of the audit was changed",
    ),
    "no key at all": (f"UPDATE {AUDIT} SET epoch = 0", "event 1 of the audit was changed"),
    "put in before the first": (
        f"INSERT INTO {AUDIT} ({COLUMNS}) SELECT 0, epoch, content, mac FROM {AUDIT} LIMIT 1",
        "event 1 of the audit is missing",
    ),
    "moved": (
        f"""UPDATE {AUDIT} SET number = 99 WHERE number = {GRANTED};
        UPDATE {AUDIT} SET number = {GRANTED} WHERE number = {REVOKED};
        UPDATE {AUDIT} SET number = {REVOKED} WHERE number = 99""",
        f"event {GRANTED} .*does not follow .*written as event {REVOKED}",
    ),
    "a right replayed": (
        f"""INSERT INTO {AUDIT} ({COLUMNS})
        SELECT {REVEALED + 1}, epoch, content, mac FROM {AUDIT} WHERE number = {GRANTED}""",
        f"event {REVEALED + 1} .*does not follow .*written as event {GRANTED}",
    ),
    "a revocation taken out and the rest moved": (
        f"""DELETE FROM {AUDIT} WHERE number = {REVOKED};
        UPDATE {AUDIT} SET number = number - 1 WHERE number > {REVOKED}""",
        f"event {REVOKED} .*does not follow",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_audit_is_not_opened(url, how):
    statements, text = BROKEN[how]
    change(url, *statements.split(";"))
    with pytest.raises(StoreError, match=text):
        IdentityProtector(KEY, url)


# Only events of earlier keys have no MAC that can be checked, and before the first there was none.
@pytest.mark.parametrize("epoch", [1, 0, -1])
def test_a_right_that_somebody_wrote_is_none(url, epoch):
    """The right MAC needs the key; all the rest can be made to fit."""
    (last,) = rows_of(url, f"SELECT content, mac FROM {AUDIT} WHERE number = {REVEALED}")
    (model,) = rows_of(url, f"SELECT content FROM {AUDIT} WHERE number = {GRANTED}")
    forged = json.loads(model.content)
    forged |= {
        "person": "mallory",
        "number": REVEALED + 1,
        "previous": hashlib.sha256(last.content.encode()).hexdigest(),
    }
    row = {"content": json.dumps(forged, sort_keys=True, separators=(",", ":")), "mac": last.mac}
    with IdentityProtector(KEY, url) as keeper:
        change(
            url,
            f"INSERT INTO {AUDIT} ({COLUMNS}) VALUES ({REVEALED + 1}, {epoch}, :content, :mac)",
            **row,
        )
        for call in every_call(keeper).values():
            with pytest.raises(StoreError, match=f"event {REVEALED + 1} of the audit was changed"):
                call()
    with pytest.raises(StoreError, match=f"event {REVEALED + 1} of the audit was changed"):
        IdentityProtector(KEY, url)
    # Who takes it out again has the store as it was.
    change(url, f"DELETE FROM {AUDIT} WHERE number = {REVEALED + 1}")
    with IdentityProtector(KEY, url) as keeper:
        assert keeper.verify(by="officer").pseudonyms == 3


def test_who_is_open_notices_that_the_end_is_gone(url):
    with IdentityProtector(KEY, url) as keeper:
        change(url, f"DELETE FROM {AUDIT} WHERE number = {REVEALED}")
        for call in every_call(keeper).values():
            with pytest.raises(StoreError, match=r"had event 10 .*its end was cut off|another one"):
                call()


def test_who_is_open_notices_an_older_change_when_the_audit_is_read(url):
    with IdentityProtector(KEY, url) as keeper:
        change(url, f"UPDATE {AUDIT} SET mac = '{'0' * 64}' WHERE number = 3")
        for name in ("audit", "verify"):
            with pytest.raises(StoreError, match="event 3 of the audit was changed"):
                every_call(keeper)[name]()


def test_events_of_another_store_of_the_same_key_do_not_fit(url, tmp_path):
    other = tmp_path / "other.db"
    fill(other)
    for number in (1, GRANTED, REVEALED):
        (row,) = rows_of(other, f"SELECT content, mac FROM {AUDIT} WHERE number = {number}")
        before = rows_of(url, f"SELECT content, mac FROM {AUDIT} WHERE number = {number}")[0]
        put = f"UPDATE {AUDIT} SET content = :content, mac = :mac WHERE number = {number}"
        change(url, put, **row._asdict())
        with pytest.raises(StoreError, match=f"event {number} of the audit was changed"):
            IdentityProtector(KEY, url)
        change(url, put, **before._asdict())
    IdentityProtector(KEY, url).close()


@pytest.mark.parametrize(
    "value", ["x'00'", "7", "'é'", "''", "'[]'", "'{}'", "'null'", "'[' || 'x'"]
)
@pytest.mark.parametrize("column", ["content", "mac"])
def test_whatever_sqlite_lets_into_a_column(filled, tmp_path, column, value):
    path = shutil.copy(filled, tmp_path / "identities.db")
    change(path, f"UPDATE {AUDIT} SET {column} = {value} WHERE number = 4")
    with pytest.raises(StoreError, match="event 4 of the audit was changed"):
        IdentityProtector(KEY, path)


# ---- what the store says of itself, and identities -----------------------------------------


@pytest.mark.parametrize(
    ("statement", "error", "text"),
    [
        ("UPDATE {0} SET value = 'x' WHERE name = 'key check'", WrongKeyError, "another key"),
        ("UPDATE {0} SET value = 'x' WHERE name = 'store'", WrongKeyError, "another key"),
        ("UPDATE {0} SET value = '2' WHERE name = 'epoch'", WrongKeyError, "another key"),
        ("UPDATE {0} SET value = 'é' WHERE name = 'epoch'", WrongKeyError, "another key"),
        ("UPDATE {0} SET value = '3' WHERE name = 'version'", StoreError, "holds version 3"),
        ("DELETE FROM {0} WHERE name = 'store'", WrongKeyError, "another key"),
        ("DELETE FROM {0}", StoreError, "holds version None"),
        ("INSERT INTO {0} (name, value) VALUES ('pruned', '3')", StoreError, "is not there"),
        ("INSERT INTO {0} (name, value) VALUES ('pruned', '77')", StoreError, "is not there"),
        ("INSERT INTO {0} (name, value) VALUES ('pruned', 'x')", StoreError, "is not there"),
    ],
)
def test_what_the_store_says_of_itself(url, statement, error, text):
    change(url, statement.format(ABOUT))
    with pytest.raises(error, match=text):
        IdentityProtector(KEY, url)


def test_a_changed_key_of_tags_is_noticed(url):
    change(url, f"UPDATE {ABOUT} SET value = '00' || value WHERE name = 'tag key'")
    with IdentityProtector(KEY, url) as keeper:
        pseudonym = pseudonym_of(keeper, "Ann")
        with pytest.raises(StoreError, match="tag key that is kept in the store was changed"):
            keeper.convert(pseudonym, scope="hospital", to="insurer", **WORK)


WRONG_ROWS = {
    "a seal of somebody else": (
        f"""UPDATE {IDENTITY} SET sealed = (SELECT sealed FROM {IDENTITY} WHERE pseudonym = :bob)
        WHERE pseudonym = :ann""",
        "an identity in the store was changed",
    ),
    "a row of somebody else": (
        f"""UPDATE {IDENTITY} SET pseudonym = 'x' WHERE pseudonym = :ann;
        UPDATE {IDENTITY} SET pseudonym = :ann WHERE pseudonym = :bob""",
        "an identity in the store was changed",
    ),
    "a row of another recipient": (
        f"""DELETE FROM {IDENTITY} WHERE pseudonym = :ann;
        UPDATE {IDENTITY} SET scope = 'hospital', pseudonym = :ann WHERE scope = 'insurer'""",
        "an identity in the store was changed",
    ),
    "another epoch": (
        f"UPDATE {IDENTITY} SET epoch = 0 WHERE pseudonym = :ann",
        "an identity in the store was",
    ),
}


@pytest.mark.parametrize("how", WRONG_ROWS)
def test_an_identity_that_was_changed_reveals_nobody_and_who_asked_is_on_record(url, how):
    statements, text = WRONG_ROWS[how]
    with IdentityProtector(KEY, url) as keeper:
        ann, bob = (pseudonym_of(keeper, person) for person in ("Ann", "Bob"))
        for statement in statements.split(";"):
            named = {"ann": ann, "bob": bob}
            change(url, statement, **{k: v for k, v in named.items() if f":{k}" in statement})
        with pytest.raises(StoreError, match=text):
            keeper.reveal(ann, scope="hospital", **WORK)
        with pytest.raises(StoreError, match=text):
            keeper.convert(ann, scope="hospital", to="third", **WORK)
        with pytest.raises(StoreError, match=text):
            keeper.issue("Ann", scope="hospital", **WORK)
        with pytest.raises(StoreError, match=text):
            keeper.verify(by="officer")
        failed = [event for event in keeper.audit(by="officer") if event.outcome == "failed"]
    assert [event.action for event in failed] == ["reveal", "convert", "issue", "verify"]
    assert [event.pseudonyms for event in failed[:2]] == [(ann,), (ann,)]


@pytest.mark.parametrize("sealed", ["x''", f"x'{'00' * 272}'", "'a text'", "7"])
def test_whatever_sqlite_lets_into_a_seal(filled, tmp_path, sealed):
    path = shutil.copy(filled, tmp_path / "identities.db")
    change(path, f"UPDATE {IDENTITY} SET sealed = {sealed}")
    with IdentityProtector(KEY, path) as keeper:
        for row in rows_of(path, f"SELECT * FROM {IDENTITY}"):
            with pytest.raises(StoreError, match="an identity in the store was changed"):
                keeper.reveal(row.pseudonym, scope=row.scope, **WORK)


def test_verify_misses_rows_and_finds_others(url):
    with IdentityProtector(KEY, url) as keeper:
        ann = pseudonym_of(keeper, "Ann")
        converted = keeper.convert(ann, scope="hospital", to="third", **WORK)
        assert keeper.verify(by="officer").pseudonyms == 4
        for name, text in ((ann, f"event {ISSUED} of the audit issued"), (converted, "event 12 ")):
            where = f"FROM {IDENTITY} WHERE pseudonym = '{name}'"
            (row,) = rows_of(url, f"SELECT * {where}")
            change(url, f"DELETE {where}")
            with pytest.raises(StoreError, match=text):
                keeper.verify(by="officer")
            put = f"INSERT INTO {IDENTITY} (scope, pseudonym, epoch, sealed)"
            change(url, f"{put} VALUES (:scope, :pseudonym, :epoch, :sealed)", **row._asdict())
        # The end is cut off, and what it was about is still there.
        head = keeper.head
    change(url, f"DELETE FROM {AUDIT} WHERE number > {ELSEWHERE - 1}")
    with IdentityProtector(KEY, url) as keeper:
        with pytest.raises(StoreError, match="2 pseudonyms that nobody issued"):
            keeper.verify(by="officer")
        with pytest.raises(StoreError, match=r"its end was cut off|another one than it was"):
            keeper.verify(head=head, by="officer")


def test_the_audit_names_pseudonyms_and_links_no_recipients(url):
    with IdentityProtector(KEY, url) as keeper:
        ann = pseudonym_of(keeper, "Ann")
        made = keeper.convert(ann, scope="hospital", to="third", **WORK)
        event = keeper.audit(by="officer")[-2]
    assert (event.action, event.pseudonyms, event.target) == ("convert", (ann,), "third")
    told = rows_of(url, f"SELECT content FROM {AUDIT}")
    assert any(ann in row.content for row in told)
    assert not any(made in row.content for row in told)


@pytest.mark.parametrize("when", ["INSERT", "UPDATE"])
def test_identities_that_the_database_does_not_keep(filled, tmp_path, when):
    """Else a pseudonym would be given that nobody can reveal, and an erasure or a rotation that
    changes nothing would be told as done."""
    path = shutil.copy(filled, tmp_path / "identities.db")
    change(
        path,
        f"CREATE TRIGGER ignoring BEFORE {when} ON {IDENTITY} BEGIN SELECT RAISE(IGNORE); END",
    )
    with IdentityProtector(KEY, path) as keeper:
        keeper.grant("worker", "rotate", **WHY)
        calls = {
            "INSERT": [
                lambda: pseudonym_of(keeper, "Dan"),
                lambda: keeper.convert(
                    pseudonym_of(keeper, "Ann"), scope="hospital", to="research", **WORK
                ),
            ],
            "UPDATE": [
                lambda: keeper.erase(identity="Ann", **WORK),
                lambda: keeper.rotate(OTHER, **WORK),
            ],
        }
        for call in calls[when]:
            with pytest.raises(StoreError, match="the database did not keep an identity"):
                call()


# ---- heads and anchors ---------------------------------------------------------------------


def test_heads_that_the_audit_once_had(url):
    with IdentityProtector(KEY, url) as keeper:
        head = keeper.head
        assert head.startswith(f"{REVEALED}:")
        assert keeper.head == head, "asking for it is no event"
        verified = keeper.verify(head=head, by="officer")
        assert verified.head == keeper.head
        assert verified.head.startswith(f"{REVEALED + 1}:")
        assert keeper.audit(by="officer").head == keeper.head
        keeper.verify(head=head, by="officer")
        with pytest.raises(StoreError, match="had event 99 and now ends at event 13"):
            keeper.verify(head=f"99:{'0' * 64}", by="officer")
        with pytest.raises(StoreError, match="event 3 of the audit is another one than it was"):
            keeper.verify(head=f"3:{'0' * 64}", by="officer")
        with pytest.raises(NotAllowedError):
            keeper.verify(head=head, by="worker")


def test_an_anchor_shows_that_the_end_was_cut_off(filled, tmp_path):
    path = shutil.copy(filled, tmp_path / "identities.db")
    anchor = tmp_path / "elsewhere"
    with pytest.raises(StoreError, match="is not there: it was taken away, or there never"):
        IdentityProtector(KEY, path, anchor=anchor)
    with IdentityProtector(KEY, path) as keeper:
        anchor.write_text(keeper.head)
    anchor.chmod(0o600)
    backup = shutil.copy(path, tmp_path / "backup.db")
    with IdentityProtector(KEY, path, anchor=anchor) as keeper:
        pseudonym_of(keeper, "Ann")
        assert anchor.read_text().strip() == keeper.head
        with pytest.raises(NotAllowedError):
            keeper.reveal("f00d", **JUDGE)
        # Somebody who was refused wants to have asked nothing.
        assert anchor.read_text().strip() == keeper.head
    assert anchor.stat().st_mode & 0o777 == 0o600
    whole = shutil.copy(path, tmp_path / "whole.db")
    change(path, f"DELETE FROM {AUDIT} WHERE number = 12")
    with pytest.raises(StoreError, match="had event 12 and now ends at event 11: its end was cut"):
        IdentityProtector(KEY, path, anchor=anchor)
    # Without an anchor nobody can tell.
    IdentityProtector(KEY, path).close()
    shutil.copy(backup, path)
    with pytest.raises(StoreError, match="its end was cut off"):
        IdentityProtector(KEY, path, anchor=anchor)
    path.unlink()
    with pytest.raises(StoreError, match="says that there was a store already"):
        IdentityProtector(KEY, path, anchor=anchor, admin="officer")
    shutil.copy(whole, path)
    with IdentityProtector(KEY, path, anchor=anchor) as keeper:
        assert keeper.verify(by="officer").pseudonyms == 3


def anchored(path, anchor):
    """A keeper whose anchor was written by hand."""
    with IdentityProtector(KEY, path) as keeper:
        anchor.write_text(keeper.head)
    anchor.chmod(0o600)
    return IdentityProtector(KEY, path, anchor=anchor)


def test_an_anchor_shows_that_a_copy_goes_on_elsewhere(filled, tmp_path):
    """Of two keepers with one anchor, one is led to a copy of the file after both were opened."""
    path, copied = (shutil.copy(filled, tmp_path / name) for name in ("identities.db", "copy.db"))
    anchor = tmp_path / "anchor"
    with anchored(path, anchor) as keeper, IdentityProtector(KEY, copied, anchor=anchor) as other:
        pseudonym_of(keeper, "Ann")
        for call in (lambda: pseudonym_of(other, "Ann"), lambda: other.audit(by="officer")):
            with pytest.raises(StoreError, match="the audit had event 11 and now ends at event 10"):
                call()
        anchor.unlink()
        with pytest.raises(StoreError, match=r"the anchor .* is not there"):
            pseudonym_of(keeper, "Bob")


def test_an_anchor_behind_a_link_is_renewed_where_it_is(filled, tmp_path):
    path, anchor = shutil.copy(filled, tmp_path / "identities.db"), tmp_path / "elsewhere"
    link = tmp_path / "anchor"
    link.symlink_to(anchor)
    anchored(path, anchor).close()
    with IdentityProtector(KEY, path, anchor=link) as keeper:
        pseudonym_of(keeper, "Ann")
        assert link.is_symlink()
        assert anchor.read_text().strip() == keeper.head


@pytest.mark.skipif(os.name != "posix" or os.geteuid(), reason="only root gives files away")
def test_a_store_or_an_anchor_of_another_account_is_not_taken(filled, tmp_path):
    path, anchor = shutil.copy(filled, tmp_path / "identities.db"), tmp_path / "anchor"
    anchored(path, anchor).close()
    for file in (anchor, path):
        os.chown(file, 65_534, -1)
        with pytest.raises(StoreError, match="belongs to another account"):
            IdentityProtector(KEY, path, anchor=anchor)


@pytest.mark.parametrize("text", ["", "x", "12", "12:", "-1:00", "1" * 500, "²:00", "\xff"])
def test_an_anchor_that_holds_no_head(filled, tmp_path, text):
    path, anchor = shutil.copy(filled, tmp_path / "identities.db"), tmp_path / "anchor"
    anchor.write_bytes(text.encode("latin-1"))
    anchor.chmod(0o600)
    with pytest.raises(StoreError, match="anchor"):
        IdentityProtector(KEY, path, anchor=anchor)


def test_an_anchor_that_others_may_write_is_no_anchor(filled, tmp_path):
    path, anchor = shutil.copy(filled, tmp_path / "identities.db"), tmp_path / "anchor"
    with IdentityProtector(KEY, path) as keeper:
        anchor.write_text(keeper.head)
    anchor.chmod(0o666)
    with pytest.raises(
        StoreError, match=r"anchor .* is not used: accounts other than its owner may use it"
    ):
        IdentityProtector(KEY, path, anchor=anchor)


def test_an_anchor_that_cannot_be_written_is_told_after_the_event(filled, tmp_path, monkeypatch):
    path, anchor = shutil.copy(filled, tmp_path / "identities.db"), tmp_path / "anchor"
    with IdentityProtector(KEY, path) as keeper:
        anchor.write_text(keeper.head)
    anchor.chmod(0o600)

    def full(*_):
        raise OSError(28, "No space left on device")

    with IdentityProtector(KEY, path, anchor=anchor) as keeper:
        monkeypatch.setattr("anonrisk.pseudonyms.audit.replace_file", full)
        with pytest.raises(StoreError, match=r"on record, but the anchor .* No space left"):
            keeper.grant("ann", "audit", **WHY)
        assert keeper.head.startswith(f"{REVEALED + 1}:")


# ---- the clock -----------------------------------------------------------------------------


def test_time_never_goes_back(monkeypatch):
    time = Clock(monkeypatch)
    with opened("sqlite://") as keeper:
        time.forward(minutes=-4)
        pseudonym = pseudonym_of(keeper, "Ann")
        first, second = keeper.audit(by="officer")[-2:]
        assert first.at == second.at == keeper.audit(by="officer")[0].at
        time.forward(minutes=-2)
        before = keeper._session.seen().head
        for name, call in every_call(keeper).items():
            if name != "head":
                with pytest.raises(StoreError, match="clock of this machine is 0:06:00 behind"):
                    call()
        assert keeper.head == before
        with pytest.raises(NotAllowedError):
            keeper.accept_clock(**WORK)
        keeper.accept_clock(by="officer", reason="the battery was empty")
        assert keeper.reveal(pseudonym, scope="hospital", **WORK) == "Ann"
        with pytest.raises(StoreError, match="the clock is not behind the last event"):
            keeper.accept_clock(**WHY)
        trail = keeper.audit(by="officer")
        assert [event.outcome for event in trail if event.action == "accept_clock"] == [
            "refused",
            "done",
        ]


# ---- pruning -------------------------------------------------------------------------------


def prune(keeper, **older):
    with keeper._session.turn() as turn:
        before = turn.at - timedelta(**older) // timedelta(microseconds=1)
        return upkeep.prune(turn, Doing(action="expire", **WHY), before)


@pytest.fixture
def two_years(tmp_path, monkeypatch):
    """A store of events of last year and of today, and what was last year's head."""
    time, path = Clock(monkeypatch), tmp_path / "identities.db"
    time.forward(days=-400)
    fill(path)
    with IdentityProtector(KEY, path) as keeper:
        ann = pseudonym_of(keeper, "Ann")
        converted = keeper.convert(ann, scope="hospital", to="third", **WORK)
        heads = [keeper.head]
        time.forward(days=400)
        grant(keeper, "clerk", "reveal", scope="hospital", per_day=2)
        keeper.issue_all(["Ann", "Dan"], scope="hospital", **WORK)
        dan = pseudonym_of(keeper, "Dan")
        keeper.convert(dan, scope="hospital", to="third", **WORK)
        heads.append(keeper.head)
        before = keeper.rights(by="officer")
        assert prune(keeper, days=365) == 12
        assert prune(keeper, days=365) == 0
    return path, ann, converted, heads, before


def test_a_pruned_audit_is_checked_from_where_it_begins(two_years):
    path, ann, converted, heads, before = two_years
    with IdentityProtector(KEY, path) as keeper:
        assert keeper.rights(by="officer") == before
        trail = keeper.audit(by="officer")
        assert trail[0].number == 13
        event = next(event for event in trail if event.action == "prune")
        assert (event.by, event.details["through"], event.details["count"]) == ("officer", 12, 4)
        assert "hospital" not in json.dumps(event.details["digest"])
        assert keeper.reveal(ann, scope="hospital", **WORK) == "Ann"
        assert keeper.reveal(converted, scope="third", **WORK) == "Ann"
        verified = keeper.verify(head=heads[1], by="officer")
        assert (verified.pseudonyms, verified.events) == (6, len(trail) + 3)
        # The last event that went is known by its hash.
        keeper.verify(head=heads[0], by="officer")
        with pytest.raises(StoreError, match=r"event 3 .* was pruned.*begins with event 13"):
            keeper.verify(head=f"3:{'0' * 64}", by="officer")


def test_an_open_keeper_goes_on_after_somebody_else_pruned(two_years, monkeypatch):
    path = two_years[0]
    time = Clock(monkeypatch)
    with IdentityProtector(KEY, path) as idle, IdentityProtector(KEY, path) as other:
        time.forward(days=900)
        pseudonym = pseudonym_of(other, "Eve")
        assert prune(other, days=365) > 0
        assert idle.reveal(pseudonym, scope="hospital", **WORK) == "Eve"
        # It saw an event that is still there, and one that went.
        assert prune(idle, days=365) == 0
        time.forward(days=900)
        pseudonym_of(idle, "Eve")
        assert prune(idle, days=365) > 0
        assert other.verify(by="officer").pseudonyms == 7


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (f"DELETE FROM {AUDIT} WHERE number = 13", "does not begin where it was pruned"),
        (f"DELETE FROM {ABOUT} WHERE name = 'pruned'", "event 1 of the audit is missing"),
        (
            f"UPDATE {AUDIT} SET content = replace(content, '\"erased\":[]', '\"erased\":[1]')",
            "does not begin as the event|was changed",
        ),
        (
            f"""INSERT INTO {AUDIT} ({COLUMNS}) SELECT 12, epoch, content, mac FROM {AUDIT}
            WHERE number = 13""",
            "does not begin where it was pruned: events were put in",
        ),
        (f"UPDATE {ABOUT} SET value = '13' WHERE name = 'pruned'", "is not there"),
    ],
)
def test_a_pruned_audit_that_was_changed(two_years, statement, text):
    path = two_years[0]
    change(path, statement)
    with pytest.raises(StoreError, match=text):
        IdentityProtector(KEY, path)


def test_pseudonyms_of_pruned_events_are_known(two_years):
    path, ann, *_ = two_years
    where = f"FROM {IDENTITY} WHERE pseudonym = '{ann}'"
    with IdentityProtector(KEY, path) as keeper:
        (row,) = rows_of(path, f"SELECT * {where}")
        change(path, f"DELETE {where}")
        with pytest.raises(StoreError, match="before the audit was pruned, 4, there are now 3"):
            keeper.verify(by="officer")
        # Pruning again must not make it right.
        with pytest.raises(StoreError, match="there are now 3"):
            prune(keeper, days=-1)
        put = f"INSERT INTO {IDENTITY} (scope, pseudonym, epoch, sealed)"
        change(path, f"{put} VALUES (:scope, :pseudonym, :epoch, :sealed)", **row._asdict())
        keeper.verify(by="officer")


def test_the_disk_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.undo()
    with opened(tmp_path / "identities.db") as keeper, keeper._session.store.reading() as tables:
        assert tables.connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3


# ---- accounts of PostgreSQL ----------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.slow
def test_a_service_needs_the_grants_of_the_docs_and_no_more(postgres, monkeypatch):
    page = (Path(__file__).parents[1] / "docs" / "pseudonyms.md").read_text()
    (block,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    statements = block.strip().split("\n")
    service = f"s{secrets.token_hex(6)}"
    fill(postgres)
    change(postgres, f"CREATE ROLE {service} LOGIN PASSWORD 'p'")
    address = sqlalchemy.make_url(postgres).set(username=service, password="p")
    url = address.render_as_string(hide_password=False)
    with pytest.raises(StoreError, match="the account lacks the right to it"):
        IdentityProtector(KEY, url)
    change(postgres, *(one.replace("service", service) for one in statements))
    with IdentityProtector(KEY, url) as keeper:
        ann = pseudonym_of(keeper, "Ann")
        pseudonym_of(keeper, "Eve")
        made = keeper.convert(ann, scope="hospital", to="third", **WORK)
        assert keeper.reveal(made, scope="third", **WORK) == "Ann"
        keeper.grant("clerk", "audit", **WHY)
        keeper.revoke("clerk", "audit", **WHY)
        assert keeper.verify(head=keeper.audit(by="officer").head, by="officer").pseudonyms == 5
        for statement in (
            f"DELETE FROM {AUDIT} WHERE number > 3",
            f"UPDATE {AUDIT} SET content = ''",
            f"DELETE FROM {IDENTITY}",
            f"UPDATE {ABOUT} SET value = ''",
            f"INSERT INTO {ABOUT} (name, value) VALUES ('pruned', '3')",
        ):
            with pytest.raises(sqlalchemy.exc.ProgrammingError, match="permission denied"):
                change(url, statement)
        with pytest.raises(StoreError, match="the account lacks the right to it"):
            prune(keeper, days=-1)
        # Each of them is needed; a row is changed when its person is issued again on another day.
        Clock(monkeypatch).forward(days=1)
        for one in statements:
            right = one.replace("service", service)
            *_, last = right.partition(" ON ")[0].split(", ")
            last = last.removeprefix("GRANT ")
            table = right.partition(" ON ")[2].partition(" TO ")[0]
            change(postgres, f"REVOKE {last} ON {table} FROM {service}")
            with pytest.raises(StoreError, match="the account lacks the right to it"):
                keeper.issue_all(["Ann", last + table], scope="hospital", **WORK)
            change(postgres, right)
    change(postgres, f"DROP OWNED BY {service}", f"DROP ROLE {service}")
