"""The identity protector: right answers, wrong calls, wrong keys, nothing that quotes a person."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import os
import pickle
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from keys import KEY, OTHER

from anonrisk import errors
from anonrisk.pseudonyms.keys import Key
from anonrisk.pseudonyms.pseudonym import Form

pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from kept import WHY, WORK, change, do_not_wait, opened

from anonrisk.identity import IdentityProtector

LATE = dt.datetime(9999, 12, 31, 23, 59, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
SERVER = pytest.param("postgresql", marks=pytest.mark.nightly)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    do_not_wait(monkeypatch)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "identities.db"


@pytest.fixture(params=["sqlite", SERVER])
def url(request, path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres")
    return str(path)


@pytest.fixture
def keeper(url):
    with opened(url) as made:
        yield made


# ---- right answers -------------------------------------------------------------------------


def test_it_issues_reveals_and_converts(keeper):
    people = ["Ann", "Zoë", "", 7, -(10**20), dt.date(1912, 2, 29)]
    issued = keeper.issue_all(people, scope="hospital", **WORK)
    assert list(issued) == people
    assert len(set(issued.values())) == len(people)
    for person, pseudonym in issued.items():
        assert keeper.issue(person, scope="hospital", **WORK) == pseudonym
        assert keeper.reveal(pseudonym, scope="hospital", **WORK) == person
        other = keeper.convert(pseudonym, scope="hospital", to="insurer", **WORK)
        assert other != pseudonym
        assert keeper.reveal(other, scope="insurer", **WORK) == person
        assert keeper.convert(other, scope="insurer", to="hospital", **WORK) == pseudonym
    moment = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    pseudonym = keeper.issue(moment, scope="hospital", **WORK)
    assert keeper.reveal(pseudonym, scope="hospital", **WORK) == moment
    assert keeper.issue_all([], scope="hospital", **WORK) == {}
    verified = keeper.verify(by="officer")
    assert (verified.pseudonyms, verified.erased) == (13, 0)


def test_instants_that_python_confuses_are_kept_apart(keeper):
    first = dt.datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Amsterdam"))
    again = first.replace(fold=1)
    assert first == again
    with pytest.raises(errors.ArgumentError, match=r"a clock change repeats.*in UTC"):
        keeper.issue_all([first, again], scope="hospital", **WORK)
    utc = [moment.astimezone(dt.UTC) for moment in (first, again)]
    issued = keeper.issue_all(utc, scope="hospital", **WORK)
    assert len(set(issued.values())) == 2
    for moment, same in zip((first, again), utc, strict=True):
        assert keeper.issue(moment, scope="hospital", **WORK) == issued[same]
    # One without a zone is its twin in UTC; Python calls them different.
    twins = [utc[0].replace(tzinfo=None), utc[0], first, utc[0].replace(tzinfo=None)]
    issued = keeper.issue_all(twins, scope="hospital", **WORK)
    assert len({issued[twin] for twin in twins}) == 1
    assert keeper.audit(by="officer")[-2].persons == 1


def test_pseudonyms_are_those_of_pseudonymize(keeper):
    table = pd.DataFrame({"who": ["Ann", "Bob"]}).anon.pseudonymize("who", key=KEY, scope="insurer")
    issued = keeper.issue_all(["Ann", "Bob"], scope="insurer", **WORK)
    assert table["who"].tolist() == list(issued.values())
    assert keeper.reveal(table["who"][1], scope="insurer", **WORK) == "Bob"


def test_many_are_issued_in_parts(keeper, monkeypatch):
    monkeypatch.setattr("anonrisk.pseudonyms.issuing.PART", 10)
    people = [f"person {i}" for i in range(25)]
    issued = keeper.issue_all(people, scope="hospital", **WORK)
    assert list(issued) == people
    events = [event for event in keeper.audit(by="officer") if event.action == "issue"]
    assert [event.persons for event in events] == [10, 10, 5]
    # In the order of pseudonyms, not of persons: the lists of two recipients say nothing.
    named = [pseudonym for event in events for pseudonym in event.pseudonyms]
    assert named == sorted(issued.values()) != list(issued.values())
    some = people[:5]
    assert keeper.issue_all(some, scope="hospital", **WORK) == {one: issued[one] for one in some}
    assert keeper.verify(by="officer").pseudonyms == 25


def test_unknown_pseudonyms_and_other_scopes_are_clear_errors(keeper):
    pseudonym = keeper.issue("Ann", scope="hospital", **WORK)
    for asked, scope in (("feed" * 8, "hospital"), (pseudonym, "insurer")):
        with pytest.raises(errors.UnknownPseudonymError, match=f"for scope '{scope}'"):
            keeper.reveal(asked, scope=scope, **WORK)
    events = [event for event in keeper.audit(by="officer") if event.outcome == "unknown"]
    assert [event.pseudonyms for event in events] == [("feed" * 8,), (pseudonym,)]


# ---- stores --------------------------------------------------------------------------------


def test_a_store_knows_its_key_and_its_first_administrator(url, keeper):
    pseudonym = keeper.issue("Ann", scope="hospital", **WORK)
    keeper.revoke("officer", "audit", **WHY)
    with pytest.raises(errors.WrongKeyError, match="made with another one, its key was rotated"):
        IdentityProtector(OTHER, url)
    with pytest.raises(errors.NotAllowedError, match="has an administrator already"):
        IdentityProtector(KEY, url, admin="intruder")
    with IdentityProtector(KEY, url, admin="officer") as again:
        assert again.reveal(pseudonym, scope="hospital", **WORK) == "Ann"
        # What was taken back does not come back with the name.
        with pytest.raises(errors.NotAllowedError):
            again.audit(by="officer")


def test_a_store_that_is_not_there_is_not_made_by_mistake(path):
    with pytest.raises(errors.StoreError, match=r"no store of identities in .*address the right"):
        IdentityProtector(KEY, path)
    assert not path.exists()
    with closing(opened(path)):
        pass
    path.rename(path.with_name("moved.db"))
    with pytest.raises(errors.StoreError, match="there is no store"):
        IdentityProtector(KEY, path)
    with pytest.raises(errors.ArgumentError, match="keep_audit= of a new store"):
        IdentityProtector(KEY, path, keep_audit=3)


def test_other_files_and_older_stores_are_refused(path):
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE patients (name)")
        raw.commit()
    path.chmod(0o600)
    with pytest.raises(errors.StoreError, match="something other than a store of identities"):
        IdentityProtector(KEY, path, admin="officer")
    change(path, "DROP TABLE patients", "CREATE TABLE anonrisk_grant (person)")
    with pytest.raises(errors.StoreError, match="an earlier state of anonrisk"):
        IdentityProtector(KEY, path, admin="officer")
    change(path, "DROP TABLE anonrisk_grant", "CREATE TABLE anonrisk_audit (number)")
    with pytest.raises(errors.StoreError, match="only a part of a store of identities"):
        IdentityProtector(KEY, path, admin="officer")


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_the_file_is_its_owners_alone(path, tmp_path):
    with closing(opened(path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(
        errors.StoreError,
        match=r"accounts other than its owner may use it \(mode 0640\): chmod 600",
    ):
        IdentityProtector(KEY, path)
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    with pytest.raises(errors.StoreError, match="everybody may write to its folder"):
        IdentityProtector(KEY, path)
    tmp_path.chmod(0o700)


def test_the_database_alone_says_nothing(path):
    with opened(path) as keeper:
        keeper.issue("Ann Onymous", scope="hospital", **WORK)
        pseudonym = keeper.issue("Bob Onymous", scope="hospital", **WORK)
        keeper.reveal(pseudonym, scope="hospital", **WORK)
        keeper.convert(pseudonym, scope="hospital", to="insurer", **WORK)
    stored = path.read_bytes()
    assert b"hospital" in stored
    assert b"Onymous" not in stored
    assert KEY.reveal() not in stored
    assert KEY.reveal().hex().encode() not in stored


def test_a_key_of_too_few_holders_is_refused(path):
    asked = {"admin": "officer", "key_parts": 2}
    with pytest.raises(errors.SecretKeyError, match="parts of 2 holders at least"):
        IdentityProtector(KEY, path, **asked)
    assert not path.exists()
    parts = KEY.split("Ann", "Bob")
    IdentityProtector(Key.from_parts(parts), path, **asked).close()
    IdentityProtector(Key.from_parts(KEY.split("Ann", "Bob", "Cem")), path).close()
    with pytest.raises(errors.SecretKeyError, match="parts of 2 holders at least"):
        IdentityProtector(KEY, path)
    # It is in the audit, and cannot be unsaid by who makes the store "again".
    with pytest.raises(errors.SecretKeyError, match="parts of 2 holders at least"):
        IdentityProtector(KEY, path, admin="officer")


def test_what_a_store_was_made_with_is_not_changed_by_opening_it(path):
    settings = {"keep_identities": 90, "keep_audit": 365}
    with IdentityProtector(KEY, path, admin="officer", **settings) as keeper:
        kept = keeper._session.seen().keeping.settings
        assert (kept.keep_identities, kept.keep_audit, kept.key_parts) == (90, 365, 1)
    IdentityProtector(KEY, path, admin="officer", **settings).close()
    with pytest.raises(errors.ArgumentError, match="keep_audit=30 is not what this store has, 365"):
        IdentityProtector(KEY, path, admin="officer", keep_audit=30)


# ---- collisions ----------------------------------------------------------------------------


def test_two_persons_never_share_a_pseudonym(keeper):
    keeper._form = Form("hex", 1)
    with pytest.raises(errors.CollisionError, match="would share a pseudonym: nothing was stored"):
        keeper.issue_all([f"person {i}" for i in range(20)], scope="hospital", **WORK)
    assert keeper.verify(by="officer").pseudonyms == 0
    told = {}
    for i in range(20):
        try:
            told[f"person {i}"] = keeper.issue(f"person {i}", scope="hospital", **WORK)
        except errors.CollisionError as error:
            assert "person 1" not in str(error)  # noqa: PT017
    assert 1 < len(told) <= 16
    for person, pseudonym in told.items():
        assert keeper.reveal(pseudonym, scope="hospital", **WORK) == person
    (found,) = {event.outcome for event in keeper.audit(by="officer") if not event.pseudonyms} - {
        "done"
    }
    assert found == "failed"
    assert keeper.verify(by="officer").pseudonyms == len(told)


def test_a_conversion_never_meets_somebody_else(keeper):
    people = [f"person {i}" for i in range(18)]
    issued = keeper.issue_all(people, scope="hospital", **WORK)
    keeper._form = Form("hex", 1)
    told = []
    for pseudonym in issued.values():
        with contextlib.suppress(errors.CollisionError):
            told.append(keeper.convert(pseudonym, scope="hospital", to="insurer", **WORK))
    assert len(told) == len(set(told)) < 17
    outcomes = [event.outcome for event in keeper.audit(by="officer") if event.action == "convert"]
    assert outcomes.count("failed") == 18 - len(told)


# ---- nothing that quotes a person ----------------------------------------------------------


def test_errors_of_the_database_quote_nobody(url, keeper):
    keeper.issue("Ann", scope="hospital", **WORK)
    change(url, "DROP TABLE anonrisk_identity")
    with pytest.raises(errors.StoreError, match="withheld") as raised:
        keeper.issue("Onymous", scope="hospital", **WORK)
    assert "Onymous" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_it_shows_and_gives_away_neither_key_nor_password(keeper, url):
    secret = KEY.reveal()
    for shown in (repr(keeper), repr(vars(keeper)), repr(vars(keeper._session))):
        assert secret.hex() not in shown
        assert str(secret) not in shown
    if "://" in url:
        assert url.partition("@")[0].rpartition(":")[2] not in repr(keeper)
    else:
        assert "identities.db" in repr(keeper)
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="holds a key and is not pickled"):
            copying(keeper)


# ---- wrong calls ---------------------------------------------------------------------------

ASKED = {"scope": "a", "by": "worker", "reason": "r"}


@pytest.fixture(scope="module")
def any_keeper():
    with opened("sqlite://") as made:
        yield made


@pytest.mark.parametrize(
    ("person", "text"),
    [
        (1.5, "float"),
        (True, "bool"),
        (LATE, "9999"),
        (10**5000, "too many digits"),
        (b"Ann", "of type bytes; pseudonyms are of text, integers, dates and instants$"),
        *((missing, "a missing value; pseudonyms are of text") for missing in (None, pd.NaT)),
        (pd.NA, "a missing value; pseudonyms are of text, integers, dates and instants$"),
        ("\ud800", "no UTF-8 form"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_identity(any_keeper, person, text):
    with pytest.raises(errors.UnsupportedColumnError, match=text):
        any_keeper.issue(person, **ASKED)
    with pytest.raises(errors.UnsupportedColumnError, match=text):
        any_keeper.issue_all([1, person], **ASKED)


@pytest.mark.parametrize("person", ["é" * 121, "x" * 241, 10**240], ids=("é", "x", "integer"))
def test_an_identity_that_is_too_long_to_be_sealed(any_keeper, person):
    before = any_keeper.head
    with pytest.raises(errors.ArgumentError, match="at most 240 bytes") as raised:
        any_keeper.issue_all(["Ann", person], **ASKED)
    assert str(person)[:9] not in str(raised.value)
    assert any_keeper.head == before


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\t", "a\nb", "a\0b", "\x1b[31m", "\x85", "\u2028", "\ud800"),
        *("x" * 10**6, None, 5, b"x", ["x"]),
    ],
    ids=lambda text: repr(text)[:12],
)
@pytest.mark.parametrize("what", ["by", "reason", "scope", "to", "person", "admin"])
def test_names_and_reasons_are_texts_of_one_line(any_keeper, what, text):
    before = any_keeper.head
    calls = {
        "by": lambda: any_keeper.issue("Ann", **{**ASKED, "by": text}),
        "reason": lambda: any_keeper.issue("Ann", **{**ASKED, "reason": text}),
        "scope": lambda: any_keeper.issue("Ann", **{**ASKED, "scope": text}),
        "to": lambda: any_keeper.convert("f00d", to=text, **ASKED),
        "person": lambda: any_keeper.grant(text, "audit", **WHY),
        "admin": lambda: IdentityProtector(KEY, "sqlite://", admin=text or ""),
    }
    with pytest.raises(errors.ArgumentError, match=rf"^{what}="):
        calls[what]()
    assert any_keeper.head == before


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda k: k.issue_all("abc", **ASKED), "a list"),
        (lambda k: k.issue_all(7, **ASKED), "a list"),
        (lambda k: k.issue_all(["a"], erased="ignore", **ASKED), "'refuse', 'skip'"),
        (lambda k: k.issue("Ann", **{**ASKED, "scope": "*"}), "stands for every recipient"),
        (lambda k: k.convert("f00d", to="*", **ASKED), "stands for every recipient"),
        (lambda k: k.reveal(3, **ASKED), "a pseudonym is a text"),
        (lambda k: k.reveal("Ann Onymous", **ASKED), "a pseudonym is a text"),
        (lambda k: k.reveal("a" * 65, **ASKED), "a pseudonym is a text"),
        (lambda k: k.grant("a", "revel", scope="x", per_day=1, **WHY), "did you mean 'reveal'"),
        (lambda k: k.grant("a", "reveal", per_day=1, **WHY), "'reveal' is for a recipient"),
        (lambda k: k.grant("a", "reveal", scope="x", **WHY), "needs per_day="),
        (lambda k: k.grant("a", "reveal", scope="x", per_day=0, **WHY), "at least 1"),
        (lambda k: k.grant("a", "reveal", scope="x", per_day=1.5, **WHY), "whole number"),
        (lambda k: k.grant("a", "audit", scope="x", **WHY), "takes no scope="),
        (lambda k: k.grant("a", "audit", per_day=1, **WHY), "takes no per_day="),
        (lambda k: k.verify(head="7", by="officer"), "a number, a colon and a hash"),
        (lambda k: IdentityProtector(KEY, "nosuch://x"), "SQLite file or a PostgreSQL"),
        (lambda k: IdentityProtector(KEY, "oracle+oracledb://x"), "SQLite file or a PostgreSQL"),
        (lambda k: IdentityProtector(KEY, 5), "the url of a store of identities is a path"),
        (lambda k: IdentityProtector(KEY, "sqlite://", admin="a", key_parts=0), "key_parts must"),
        (lambda k: IdentityProtector(KEY, "sqlite://", admin="a", anchor=5), "anchor= is the path"),
    ],
)
def test_wrong_calls(any_keeper, call, text):
    with pytest.raises(errors.ArgumentError, match=text):
        call(any_keeper)


def test_a_key_that_is_too_short(path):
    with pytest.raises(errors.SecretKeyError, match="32 random bytes"):
        IdentityProtector(b"short", path)


@pytest.mark.parametrize("text", ["'; DROP TABLE anonrisk_audit; --", '" OR 1=1 --', "%s :x ?"])
def test_text_is_never_sql(keeper, text):
    names = {"scope": text, "by": text, "reason": text}
    keeper.grant(text, "issue", scope=text, per_day=9, **WHY)
    keeper.grant(text, "reveal", scope=text, per_day=9, **WHY)
    assert keeper.reveal(keeper.issue(text, **names), **names) == text
    with pytest.raises(errors.UnknownPseudonymError):
        keeper.reveal("f00d", **names)
    assert keeper.verify(by="officer").pseudonyms == 1
    assert keeper.audit(by="officer")[-3].by == text


# ---- writers that work side by side, and one that is killed ----------------------------------

WRITER = """
import sys
sys.path[:0] = sys.argv[4:]
from keys import KEY
from anonrisk.identity import IdentityProtector
url, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
keeper = IdentityProtector(KEY, url)
for i in range(count):
    # Half of the people are everybody's, half are this writer's own.
    person = f"common {i}" if i % 2 else f"own {number} {i}"
    told = keeper.issue(person, scope="hospital", by="worker", reason="test")
    print(person, told, sep="|", flush=True)
"""


def start(url, number, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, url, str(number), str(count), *sys.path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_eight_writers_and_a_killed_one_lose_nothing(url, keeper):
    """Whatever was told to be issued is there, and on record; what was not is not by halves."""
    doomed = start(url, 99, 100_000)
    writers = [start(url, number, 25) for number in range(8)]
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
        told += out.splitlines()
    issued = dict(line.strip().split("|") for line in told)
    assert len(issued) >= 8 * 13 + 12
    for person, pseudonym in list(issued.items())[::10]:
        assert keeper.reveal(pseudonym, scope="hospital", **WORK) == person
    # The killed writer may have stored one person more than it told.
    assert len(issued) <= keeper.verify(by="officer").pseudonyms <= len(issued) + 1
    trail = keeper.audit(by="officer")
    named = {pseudonym for event in trail for pseudonym in event.pseudonyms}
    assert set(issued.values()) <= named
    assert len(told) <= sum(event.action == "issue" for event in trail) <= len(told) + 1


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "no/such/folder", "x" * 5_000])
def test_a_path_that_none_can_be_is_told_in_our_words_and_nothing_is_made(path, name):
    for place in (path.parent / name, str(path.parent / name)):
        with pytest.raises(errors.StoreError, match="is not taken"):
            IdentityProtector(KEY, place, admin="officer")
        with pytest.raises(errors.StoreError, match="is not used"):
            IdentityProtector(KEY, path, admin="officer", anchor=place)
    # Else a store would be there whose anchor is missed from the first day.
    with pytest.raises(errors.StoreError, match="no store"):
        IdentityProtector(KEY, path)


@pytest.mark.parametrize("number", [10**400, 10**5_000], ids=["large", "unwritten"])
def test_numbers_beyond_all_counting_are_refused(number):
    keeper = opened("sqlite://")
    for call in (
        lambda: keeper.grant("a", "issue", scope="b", per_day=number, by="officer", reason=WHY),
        lambda: IdentityProtector(KEY, "sqlite://", admin="officer", keep_audit=number),
        lambda: IdentityProtector(KEY, "sqlite://", admin="officer", key_parts=number),
        lambda: IdentityProtector(KEY, "sqlite://", admin="officer", people=number),
        lambda: IdentityProtector(KEY, "sqlite://", admin="officer", length=number),
    ):
        with pytest.raises(errors.ArgumentError, match="at most 300 digits"):
            call()


@pytest.mark.parametrize("scope", [pd.NA, pd.Series(["a", "b"]), b"insurer", 7])
def test_a_scope_that_is_no_text_is_told_in_our_words(scope):
    keeper = opened("sqlite://")
    with pytest.raises(errors.ArgumentError, match="scope= names a recipient"):
        keeper.grant("a", "issue", scope=scope, per_day=1, by="officer", reason=WHY)
    with pytest.raises(errors.ArgumentError, match="scope= names a recipient"):
        keeper.revoke("a", "issue", scope=scope, by="officer", reason=WHY)
