"""The identity protector: right answers, roles, audit, wrong keys, many writers, a killed one."""

from __future__ import annotations

import datetime as dt
import os
import signal
import sqlite3
import subprocess
import sys
import time
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from keys import KEY

from anonrisk import errors
from anonrisk.core.keys import Key

pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from anonrisk.pseudonyms import IdentityProtector

LATE = dt.datetime(9999, 12, 31, 23, 59, tzinfo=dt.timezone(dt.timedelta(hours=-5)))


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'identities.db'}"


@pytest.fixture
def keeper(url):
    with IdentityProtector(KEY, url, admin="officer") as made:
        yield made


def test_it_issues_reveals_and_converts(keeper):
    people = ["Ann", "Zoë", "", 7, -(10**20), dt.date(1912, 2, 29)]
    issued = keeper.issue_all(people, scope="hospital", by="officer")
    assert len(set(issued.values())) == len(people)
    asked = {"by": "officer", "reason": "test"}
    for person, pseudonym in issued.items():
        assert keeper.issue(person, scope="hospital", by="officer") == pseudonym
        assert keeper.reveal(pseudonym, scope="hospital", **asked) == person
        other = keeper.convert(pseudonym, scope="hospital", to="insurer", **asked)
        assert other != pseudonym
        assert keeper.reveal(other, scope="insurer", **asked) == person
        assert keeper.convert(other, scope="insurer", to="hospital", **asked) == pseudonym
    moment = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    pseudonym = keeper.issue(moment, scope="hospital", by="officer")
    assert keeper.reveal(pseudonym, scope="hospital", **asked) == moment


def test_instants_that_python_confuses_are_kept_apart(keeper):
    first = dt.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Amsterdam"))
    again = first.replace(fold=1)
    assert first == again
    with pytest.raises(errors.ArgumentError, match=r"a clock change repeats.*in UTC"):
        keeper.issue_all([first, again], scope="hospital", by="officer")
    utc = [moment.astimezone(dt.UTC) for moment in (first, again)]
    issued = keeper.issue_all(utc, scope="hospital", by="officer")
    assert len(set(issued.values())) == 2
    for moment, same in zip((first, again), utc, strict=True):
        assert keeper.issue(moment, scope="hospital", by="officer") == issued[same]
    # One without a zone is its twin in UTC; Python calls them different.
    twins = [utc[0].replace(tzinfo=None), utc[0], first, utc[0].replace(tzinfo=None)]
    issued = keeper.issue_all(twins, scope="hospital", by="officer")
    assert len({issued[twin] for twin in twins}) == 1
    assert keeper.audit(by="officer")[-2].subject == "1 person"


def test_pseudonyms_are_those_of_pseudonymize(keeper):
    table = pd.DataFrame({"who": ["Ann", "Bob"]}).anon.pseudonymize("who", key=KEY, scope="insurer")
    issued = keeper.issue_all(["Ann", "Bob"], scope="insurer", by="officer")
    assert table["who"].tolist() == list(issued.values())
    revealed = keeper.reveal(table["who"][1], scope="insurer", by="officer", reason="test")
    assert revealed == "Bob"


def test_unknown_pseudonyms_and_other_scopes_are_clear_errors(keeper):
    pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
    for asked, scope in (("feed" * 8, "hospital"), (pseudonym, "insurer")):
        with pytest.raises(errors.UnknownPseudonymError, match=f"for scope '{scope}'"):
            keeper.reveal(asked, scope=scope, by="officer", reason="test")
    assert [e.outcome for e in keeper.audit(by="officer")].count("unknown") == 2


def test_only_who_was_granted_it_may_reveal(keeper):
    pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
    asked = {"scope": "hospital", "by": "judge", "reason": "case 7"}
    with pytest.raises(errors.NotAllowedError, match="'judge' may not reveal"):
        keeper.reveal(pseudonym, **asked)
    with pytest.raises(PermissionError):
        keeper.grant("judge", "reveal", by="judge")
    keeper.grant("judge", "reveal", by="officer")
    assert keeper.reveal(pseudonym, **asked) == "Ann"
    for call in (
        lambda: keeper.convert(pseudonym, to="insurer", **asked),
        lambda: keeper.issue("Bob", scope="hospital", by="judge"),
        lambda: keeper.audit(by="judge"),
        lambda: keeper.revoke("officer", "audit", by="judge"),
    ):
        with pytest.raises(errors.NotAllowedError):
            call()
    keeper.revoke("judge", "reveal", by="officer")
    with pytest.raises(errors.NotAllowedError):
        keeper.reveal(pseudonym, **asked)
    events = [e for e in keeper.audit(by="officer") if e.action == "reveal"]
    assert [e.outcome for e in events] == ["refused", "done", "refused"]
    assert {(e.by, e.scope, e.subject, e.reason) for e in events} == {
        ("judge", "hospital", pseudonym, "case 7")
    }
    assert all(dt.datetime.fromisoformat(e.at).tzinfo is not None for e in events)
    assert [e.number for e in events] == sorted({e.number for e in events})


def test_a_store_knows_its_key_and_its_first_administrator(url):
    with IdentityProtector(KEY, url, admin="officer") as keeper:
        pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
        keeper.revoke("officer", "issue", by="officer")
    with pytest.raises(errors.WrongKeyError, match="made with another key"):
        IdentityProtector(Key.generate(), url)
    with pytest.raises(errors.NotAllowedError, match="has an administrator already"):
        IdentityProtector(KEY, url, admin="intruder")
    with IdentityProtector(KEY, url, admin="officer") as again:
        assert again.reveal(pseudonym, scope="hospital", by="officer", reason="test") == "Ann"
        # What was taken back does not come back with the name.
        with pytest.raises(errors.NotAllowedError):
            again.issue("Bob", scope="hospital", by="officer")


def test_a_store_that_was_moved_away_says_that_it_is_new(url, tmp_path):
    with IdentityProtector(KEY, url, admin="officer") as keeper:
        pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
    (tmp_path / "identities.db").rename(tmp_path / "moved.db")
    asked = {"scope": "hospital", "by": "officer", "reason": "test"}
    with (
        IdentityProtector(KEY, url) as keeper,
        pytest.raises(errors.NotAllowedError, match=r"nobody may reveal: this store is new.*addr"),
    ):
        keeper.reveal(pseudonym, **asked)
    with IdentityProtector(KEY, url, admin="officer") as keeper:
        assert [e.outcome for e in keeper.audit(by="officer")] == ["refused", "done"]
        with pytest.raises(errors.NotAllowedError, match="'clerk' may not issue; somebody who"):
            keeper.issue("Ann", scope="hospital", by="clerk")


def test_the_database_alone_says_nothing(url, tmp_path):
    with IdentityProtector(KEY, url, admin="officer") as keeper:
        keeper.issue("Ann Onymous", scope="hospital", by="officer")
    stored = (tmp_path / "identities.db").read_bytes()
    assert b"hospital" in stored
    assert b"Onymous" not in stored
    assert KEY.reveal() not in stored
    assert KEY.reveal().hex().encode() not in stored


def test_a_changed_row_is_noticed(keeper, tmp_path):
    pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
    other = keeper.issue("Bob", scope="insurer", by="officer")
    with sqlite3.connect(tmp_path / "identities.db") as raw:
        (sealed,) = raw.execute(
            "SELECT sealed FROM anonrisk_identity WHERE pseudonym = ?", (other,)
        ).fetchone()
        raw.execute("UPDATE anonrisk_identity SET sealed = ?", (sealed,))
    raw.close()
    with pytest.raises(errors.StoreError, match="was changed"):
        keeper.reveal(pseudonym, scope="hospital", by="officer", reason="test")


@pytest.mark.parametrize("tampered", [b"", b"x" * 40, "a text", 7])
def test_who_asks_for_a_changed_row_is_on_record(keeper, tmp_path, tampered):
    pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
    with sqlite3.connect(tmp_path / "identities.db") as raw:
        raw.execute("UPDATE anonrisk_identity SET sealed = ?", (tampered,))
    raw.close()
    asked = {"scope": "hospital", "by": "officer", "reason": "test"}
    with pytest.raises(errors.StoreError):
        keeper.reveal(pseudonym, **asked)
    with pytest.raises(errors.StoreError):
        keeper.convert(pseudonym, to="insurer", **asked)
    events = [e for e in keeper.audit(by="officer") if e.subject == pseudonym]
    assert [(e.action, e.outcome) for e in events] == [("reveal", "failed"), ("convert", "failed")]


def test_a_seal_copied_from_another_persons_row_is_noticed(keeper, tmp_path):
    ann, bob = keeper.issue_all(["Ann", "Bob"], scope="hospital", by="officer").values()
    with sqlite3.connect(tmp_path / "identities.db") as raw:
        raw.execute(
            "UPDATE anonrisk_identity SET sealed = (SELECT sealed FROM anonrisk_identity "
            "WHERE pseudonym = ?) WHERE pseudonym = ?",
            (bob, ann),
        )
    raw.close()
    with pytest.raises(errors.StoreError, match="another scope, pseudonym"):
        keeper.reveal(ann, scope="hospital", by="officer", reason="test")
    assert keeper.reveal(bob, scope="hospital", by="officer", reason="test") == "Bob"


def test_the_audit_keeps_everything_in_its_own_column(keeper):
    pseudonym = keeper.issue("Ann", scope="hospital", by="officer")
    other, why = "i" * 255, "because " * 100
    keeper.convert(pseudonym, scope="hospital", to=other, by="officer", reason=why)
    keeper.grant("judge", "reveal", by="officer")
    keeper.revoke("judge", "reveal", by="officer")
    events = {event.action: event for event in keeper.audit(by="officer")}
    convert = events["convert"]
    assert (convert.subject, convert.target, convert.reason) == (pseudonym, other, why)
    for action in ("grant", "revoke"):
        event = events[action]
        assert (event.subject, event.target, event.outcome) == ("judge", "reveal", "done")


def test_only_what_was_granted_is_revoked_and_never_the_last_right_to_grant(keeper):
    for person in (None, 5, ""):
        with pytest.raises(errors.ArgumentError, match="person="):
            keeper.revoke(person, "reveal", by="officer")
    with pytest.raises(errors.ArgumentError, match="'judge' was never granted 'reveal'"):
        keeper.revoke("judge", "reveal", by="officer")
    with pytest.raises(errors.NotAllowedError, match="the last one who may grant"):
        keeper.revoke("officer", "grant", by="officer")
    keeper.grant("deputy", "grant", by="officer")
    keeper.revoke("officer", "grant", by="deputy")
    with pytest.raises(errors.NotAllowedError, match="'officer' may not revoke"):
        keeper.revoke("deputy", "grant", by="officer")
    revoked = [e.outcome for e in keeper.audit(by="officer") if e.action == "revoke"]
    assert revoked == ["unknown", "refused", "done", "refused"]


def test_errors_of_the_database_quote_nobody(keeper, tmp_path):
    keeper.issue("Ann", scope="hospital", by="officer")
    with sqlite3.connect(tmp_path / "identities.db") as raw:
        raw.execute("DROP TABLE anonrisk_identity")
    raw.close()
    with pytest.raises(errors.StoreError, match="withheld") as raised:
        keeper.issue("Onymous", scope="hospital", by="officer")
    assert "Onymous" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda k: k.issue("Ann", scope="", by="officer"), errors.ArgumentError, "scope="),
        (lambda k: k.issue("Ann", scope="x" * 256, by="officer"), errors.ArgumentError, "255"),
        (lambda k: k.issue("Ann", scope="a", by=""), errors.ArgumentError, "by="),
        (lambda k: k.issue(1.5, scope="a", by="officer"), errors.UnsupportedColumnError, "float"),
        (
            lambda k: k.issue_all([1, True], scope="a", by="officer"),
            errors.UnsupportedColumnError,
            "bool",
        ),
        (
            lambda k: k.issue_all([1, 1.0], scope="a", by="officer"),
            errors.UnsupportedColumnError,
            "float",
        ),
        (lambda k: k.issue(LATE, scope="a", by="officer"), errors.UnsupportedColumnError, "9999"),
        (
            lambda k: k.issue(10**5000, scope="a", by="officer"),
            errors.UnsupportedColumnError,
            "too many digits",
        ),
        *(
            (
                lambda k, missing=missing: k.issue(missing, scope="a", by="officer"),
                errors.UnsupportedColumnError,
                "a missing value; pseudonyms are of text, integers, dates and instants$",
            )
            for missing in (None, pd.NaT, pd.NA)
        ),
        (
            lambda k: k.issue(b"Ann", scope="a", by="officer"),
            errors.UnsupportedColumnError,
            "of type bytes; pseudonyms are of text, integers, dates and instants$",
        ),
        (lambda k: k.issue_all("abc", scope="a", by="officer"), errors.ArgumentError, "a list"),
        (lambda k: k.issue_all(7, scope="a", by="officer"), errors.ArgumentError, "a list"),
        (lambda k: k.issue(True, scope="a", by="officer"), errors.UnsupportedColumnError, "bool"),
        (
            lambda k: k.reveal("x", scope="a", by="officer", reason=" "),
            errors.ArgumentError,
            "reason= says why",
        ),
        (
            lambda k: k.reveal(3, scope="a", by="officer", reason="r"),
            errors.ArgumentError,
            "a text",
        ),
        (
            lambda k: k.grant("a", "revel", by="officer"),
            errors.ArgumentError,
            "did you mean 'reveal'",
        ),
        (lambda k: IdentityProtector(b"short"), errors.SecretKeyError, "16 bytes"),
        (lambda k: IdentityProtector(KEY, "identities.db"), errors.ArgumentError, "url="),
        (lambda k: IdentityProtector(KEY, "nosuch://x"), errors.StoreError, "cannot open"),
        (
            lambda k: IdentityProtector(KEY, "oracle+oracledb://x"),
            errors.StoreError,
            "needs the driver 'oracledb'",
        ),
    ],
)
def test_wrong_calls(keeper, call, error, text):
    with pytest.raises(error, match=text):
        call(keeper)


def test_it_shows_neither_key_nor_password(keeper):
    assert KEY.reveal().hex() not in repr(keeper)
    assert "identities.db" in repr(keeper)


WRITER = """
import hashlib, sys, time
from anonrisk.pseudonyms import IdentityProtector
url, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
secret = hashlib.sha256(b"anonrisk example, not a secret").digest()
keeper = IdentityProtector(secret, url, admin="officer")
for i in range(count):
    # Half of the people are everybody's, half are this writer's own.
    person = f"common {i}" if i % 2 else f"own {number} {i}"
    print(person, keeper.issue(person, scope="hospital", by="officer"), sep="|", flush=True)
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_eight_writers_and_a_killed_one_lose_nothing(url):
    """All start on a store that does not exist yet; whatever was told to be issued is there."""

    def start(number, count):
        return subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(number), str(count)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    doomed = start(99, 100_000)
    writers = [start(number, 25) for number in range(8)]
    told = [doomed.stdout.readline() for _ in range(10)]
    time.sleep(0.5)
    doomed.send_signal(signal.SIGKILL)
    # Not communicate(), which would lose what readline() has read ahead.
    with doomed:
        out = doomed.stdout.read()
    # The last line may be cut off in the middle by the kill.
    told += [line for line in out.splitlines(keepends=True) if line.endswith("\n")]
    for writer in writers:
        out, err = writer.communicate(timeout=300)
        assert writer.returncode == 0, err[-2000:]
        lines = out.splitlines()
        assert len(lines) == 25
        told += lines
    with IdentityProtector(KEY, url) as keeper:
        issued = dict(line.strip().split("|") for line in told)
        assert len(issued) >= 8 * 13 + 12
        for person, pseudonym in list(issued.items())[::10]:
            found = keeper.reveal(pseudonym, scope="hospital", by="officer", reason="test")
            assert found == person
        table = keeper._store.tables["identity"]
        with keeper._store.read("count") as connection:
            stored = {row.pseudonym for row in connection.execute(table.select())}
        assert set(issued.values()) <= stored
        # The killed writer may have stored one person more than it told.
        assert len(stored) <= len(issued) + 1
        done = [e for e in keeper.audit(by="officer") if e.action == "issue"]
        assert len(done) >= len(told)
