"""The ledger: nothing lost, nothing twice, and whatever was done to it is noticed, with words."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from keys import KEY, OTHER
from released import append, manifest_of

from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    LedgerError,
    LedgerMovedError,
    ManifestError,
    StoreError,
    WrongKeyError,
)
from anonrisk.releases.ledger.ledger import Ledger

sqlalchemy = pytest.importorskip("sqlalchemy")
SERVER = pytest.param("postgresql", marks=pytest.mark.nightly)


@pytest.fixture(params=["sqlite", SERVER])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres")
    return str(tmp_path / "ledger.db")


@pytest.fixture
def ledger(url):
    return Ledger(url, key=KEY, new=True)


@pytest.fixture(scope="session")
def three_in_a_file(tmp_path_factory):
    """An SQLite file of three entries, to be copied: every entry waits for the disk."""
    path = tmp_path_factory.mktemp("three") / "ledger.db"
    publish_three(Ledger(path, key=KEY, new=True))
    return path


@pytest.fixture
def three(url, three_in_a_file):
    """A ledger of three entries."""
    if "://" in url:
        return publish_three(Ledger(url, key=KEY, new=True))
    shutil.copy(three_in_a_file, url)
    return Ledger(url, key=KEY)


def publish_three(ledger):
    for month in ("10", "11", "12"):
        append(ledger, f"2026-{month}")
    return ledger


def change(ledger, *statements, **values):
    with ledger._engine.begin() as connection:
        for statement in statements:
            connection.execute(sqlalchemy.text(statement), values)


# ---- what it keeps -------------------------------------------------------------------------


def test_it_remembers_what_was_published(url, ledger):
    first = append(
        ledger, "2026-10", at="2026-10-16T12:00:00+00:00", verdict={"status": "pass"}, tables=()
    )
    second = append(ledger, "2026-11", {"patients": b"new", "visits": b""}, audience="ministry")
    again = Ledger(url, key=KEY)
    entries = again.entries()
    assert list(entries) == [first, second]
    assert entries.head == again.head == second.head
    assert second.previous == first.seal
    assert (first.number, first.release, first.audience) == (1, "2026-10", "university")
    assert second.tables == ("patients", "visits")
    assert again.entry("2026-11") == second
    assert again.entry("2027-01") is None
    told = [(entry.release, state) for entry, state in again.state_bytes("patients")]
    assert told == [("2026-10", b"state of 2026-10"), ("2026-11", b"new")]
    assert [state for _, state in again.state_bytes("visits")] == [b""]
    assert again.manifest("2026-11").audience == "ministry"
    assert again.verify(head=first.head) == entries
    assert again.verify(head=entries.beginning) == entries
    assert "2026-11" in repr(entries)
    with pytest.raises(LedgerError, match="'2027-01' is not in the ledger"):
        again.manifest("2027-01")


def test_states_come_back(ledger):
    pytest.importorskip("pyarrow")
    df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    state = df.anon.state("zip", key=KEY)
    append(ledger, "2026-10", {"patients": state, "visits": state})
    append(ledger, "2026-11", {"patients": state.merge(state)})
    found = [(entry.number, kept.k, kept == state) for entry, kept in ledger.states("patients")]
    assert found == [(1, 1, True), (2, 2, False)]
    assert [kept == state for _, kept in ledger.states("visits")] == [True]
    with pytest.raises(WrongKeyError, match="state of table 'patients' has another key"):
        append(ledger, "2026-12", {"patients": df.anon.state("zip", key=OTHER)})
    # Who publishes again counts again, and comes to the same bytes.
    assert append(ledger, "2026-10", dict.fromkeys(("patients", "visits"), state)).number == 1


def test_what_did_not_pass_or_is_not_sealed_is_not_published(ledger):
    with pytest.raises(ArgumentError, match="sealed before"):
        ledger.append(manifest_of(previous=ledger.head))
    with pytest.raises(ArgumentError, match="names no head"):
        ledger.append(manifest_of().sealed(KEY))
    with pytest.raises(LedgerError, match=r"did not pass \(fail\)"):
        append(ledger, "2026-11", verdict={"status": "fail"})
    with pytest.raises(ManifestError, match="other tables"):
        append(ledger, "2026-11", verdict={"status": "pass", "tables": {}})
    assert len(ledger.entries()) == 0


def test_a_release_is_published_once(ledger):
    made = append(ledger, "2026-10")
    append(ledger, "2026-11")
    # Whoever asks again, later and for a newer head, gets the entry that is there.
    assert append(ledger, "2026-10", by="B. Officer") == made
    assert len(ledger.verify()) == 2
    for other in ({"states": {"patients": b"other"}}, {"audience": "ministry"}):
        with pytest.raises(LedgerError, match=r"entry 1 .* already, with something else"):
            append(ledger, "2026-10", **other)


def test_who_was_overtaken_must_check_again(ledger):
    before = ledger.head
    mine = manifest_of(release="mine", previous=before).sealed(KEY)
    append(ledger, "theirs", by="A. Officer\x1b[2J")
    with pytest.raises(LedgerMovedError, match=r"'theirs' by A\. Officer\\x1b\[2J\)"):
        ledger.append(mine)
    mine = manifest_of(release="mine", previous=ledger.head).sealed(KEY)
    with pytest.raises(LedgerMovedError, match="not at 0; check it again"):
        ledger.append(mine, expected_head=before)
    assert ledger.append(mine, expected_head=ledger.head).number == 2


def test_a_clock_that_went_backwards_is_noticed(ledger):
    append(ledger, "2026-10", at="2999-01-01T12:00:00+00:00")
    assert append(ledger, "2026-11", at="2999-01-01T11:56:00+00:00").number == 2
    with pytest.raises(LedgerError, match=r"before the last entry .*2999.*is wrong.*accept-clock"):
        append(ledger, "2026-12", at="2999-01-01T11:00:00+00:00")


def test_a_clock_that_was_wrong_is_accepted_by_somebody(ledger):
    with pytest.raises(ArgumentError, match="nothing is to accept"):
        ledger.accept_clock(by="Ada", reason="no reason")
    append(ledger, "2026-10", at="2036-10-01T12:00:00+00:00")
    with pytest.raises(LedgerError, match="clocks is wrong"):
        append(ledger, "2026-11")
    for wrong in ({"by": " ", "reason": "x"}, {"by": "Ada", "reason": ""}):
        with pytest.raises(ArgumentError, match="not blank"):
            ledger.accept_clock(**wrong)
    head = ledger.head
    entry = ledger.accept_clock(by="Ada", reason="the battery of the server was empty")
    assert (entry.number, entry.action, entry.by, entry.tables) == (2, "accept_clock", "Ada", ())
    assert entry.reason in repr(entry)
    # Who has checked before must check again.
    with pytest.raises(LedgerMovedError, match=r"entry 2 \(accept_clock by Ada\)"):
        ledger.append(manifest_of(previous=head).sealed(KEY))
    assert append(ledger, "2026-11").number == 3
    assert len(ledger.verify(head=entry.head)) == 3
    assert ledger.entry("") is None
    assert "accept_clock" in repr(ledger.entries())
    with pytest.raises(ArgumentError, match="nothing is to accept"):
        ledger.accept_clock(by="Ada", reason="once more")
    change(ledger, f"UPDATE {ENTRY} SET content = replace(content, 'Ada', 'Bob') WHERE number = 2")
    with pytest.raises(LedgerError, match=r"entry 2 .*changed"):
        ledger.entries()


# ---- what is done to it --------------------------------------------------------------------

ENTRY, PART = "anonrisk_ledger", "anonrisk_ledger_part"


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            [
                (
                    f"UPDATE {ENTRY} SET content = replace(content, 'university', 'everybody') "
                    "WHERE number = 2"
                )
            ],
            "entry 2 of the ledger was changed",
        ),
        (
            [
                (
                    f"UPDATE {ENTRY} SET seal = (SELECT seal FROM {ENTRY} WHERE number = 2) "
                    "WHERE number = 3"
                )
            ],
            "entry 3 .*changed",
        ),
        ([f"UPDATE {ENTRY} SET release = 'x' WHERE number = 1"], "entry 1 .*changed"),
        ([f"DELETE FROM {ENTRY} WHERE number = 1"], "entry 1 .*missing"),
        (
            [
                f"DELETE FROM {ENTRY} WHERE number = 2",
                f"UPDATE {ENTRY} SET number = 2 WHERE number = 3",
            ],
            r"entry 2 .*does not follow .*written as entry 3",
        ),
        (
            [
                f"UPDATE {ENTRY} SET number = 99 WHERE number = 2",
                f"UPDATE {ENTRY} SET number = 2 WHERE number = 3",
                f"UPDATE {ENTRY} SET number = 3 WHERE number = 99",
            ],
            "entry 2 .*does not follow",
        ),
        (
            [
                (
                    f"INSERT INTO {ENTRY} (number, release, content, seal) "
                    f"SELECT 4, 'again', content, seal FROM {ENTRY} WHERE number = 3"
                )
            ],
            "entry 4 .*put in",
        ),
        ([f"UPDATE {ENTRY} SET number = 7 WHERE number = 3"], "entry 3 .*missing"),
        (
            [f"DELETE FROM {PART} WHERE number = 2 AND kind = 'state'"],
            "state of table 'patients' in entry 2",
        ),
        ([f"DELETE FROM {PART} WHERE number = 2 AND kind = 'manifest'"], "manifest in entry 2"),
        (
            [f"UPDATE {PART} SET number = 3, name = 'x' WHERE number = 2 AND kind = 'state'"],
            "entry 2",
        ),
        (
            [
                (
                    f"INSERT INTO {PART} (number, kind, name, data) "
                    f"SELECT 1, kind, 'x', data FROM {PART} WHERE number = 2 AND kind = 'state'"
                )
            ],
            "entry 1",
        ),
        (
            [f"INSERT INTO {PART} (number, kind, name, data) VALUES (1, 'state', 'x', 'a text')"],
            "entry 1",
        ),
        ([f"DELETE FROM {ENTRY} WHERE number = 3"], "a state of no entry: its end was cut off"),
    ],
)
def test_whatever_is_done_to_a_row_is_noticed(three, statements, message):
    assert len(three.verify()) == 3
    change(three, *statements)
    with pytest.raises(LedgerError, match=message):
        three.verify()


def test_an_end_cut_off_is_noticed_by_a_head_kept_elsewhere(three):
    kept = three.head
    change(three, f"DELETE FROM {ENTRY} WHERE number > 1", f"DELETE FROM {PART} WHERE number > 1")
    assert len(three.verify()) == 1
    with pytest.raises(LedgerError, match="had entry 3 and now ends at entry 1: its end was cut"):
        three.verify(head=kept)
    for month in ("11", "12"):
        append(three, f"2026-{month}", by="B. Officer")
    with pytest.raises(LedgerError, match="entry 3 of the ledger is another one than it was"):
        three.verify(head=kept)
    with pytest.raises(ArgumentError, match="a number, a colon and a seal"):
        three.verify(head="head")


def test_who_keeps_the_error_of_a_broken_chain_keeps_no_lock(three_in_a_file, tmp_path):
    path = shutil.copy(three_in_a_file, tmp_path / "ledger.db")
    with closing(sqlite3.connect(path, timeout=0)) as other:
        other.execute(f"UPDATE {ENTRY} SET seal = upper(seal) WHERE number = 1")
        other.commit()
        with pytest.raises(LedgerError) as kept:
            Ledger(path, key=KEY).entries()
        other.execute(f"UPDATE {ENTRY} SET seal = lower(seal) WHERE number = 1")
        other.commit()
    assert "entry 1" in str(kept.value)
    assert len(Ledger(path, key=KEY).entries()) == 3


def test_entries_of_another_ledger_of_the_same_key_do_not_fit(three, tmp_path):
    other = Ledger(tmp_path / "other.db", key=KEY, new=True)
    append(other, "2026-10")
    with other._engine.connect() as connection:
        row = connection.execute(sqlalchemy.text(f"SELECT content, seal FROM {ENTRY}")).one()
    change(
        three,
        f"UPDATE {ENTRY} SET content = :content, seal = :seal WHERE number = 1",
        content=row.content,
        seal=row.seal,
    )
    with pytest.raises(LedgerError, match=r"entry 1 .*another ledger"):
        three.entries()


@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_byte_of_every_row_counts(tmp_path, step):
    """Whichever byte of a small ledger is another one, opening or verifying it notices."""
    path = tmp_path / "small.db"
    ledger = Ledger(path, key=KEY, new=True)
    append(ledger, "a", {"t": b"\x00\x01"}, tables=())
    tables = {
        "anonrisk_ledger_about": ("name", "value"),
        ENTRY: ("number", "release", "content", "seal"),
        PART: ("number", "kind", "name", "data"),
    }
    flipped = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for table, columns in tables.items():
            whole = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            put = f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"
            for row, column in itertools.product(whole, range(len(columns))):
                for other in changed(row[column])[::step]:
                    connection.execute(f"DELETE FROM {table}")
                    rows = [one for one in whole if one != row]
                    rows.append((*row[:column], other, *row[column + 1 :]))
                    connection.executemany(put, rows)
                    flipped += 1
                    with pytest.raises(AnonRiskError):
                        Ledger(path, key=KEY).verify()
            connection.execute(f"DELETE FROM {table}")
            connection.executemany(put, whole)
    assert flipped > 1_000 / step
    assert len(Ledger(path, key=KEY).verify()) == 1


def changed(value):
    """The same value with one bit of one byte turned over, for each byte."""
    if isinstance(value, int):
        return [value ^ 1, value + 8]
    data = value if isinstance(value, bytes) else value.encode()
    flipped = [data[:i] + bytes([byte ^ 1]) + data[i + 1 :] for i, byte in enumerate(data)]
    return flipped if isinstance(value, bytes) else [one.decode() for one in flipped]


def test_what_the_database_makes_of_an_entry_is_read_again(tmp_path):
    ledger = Ledger(tmp_path / "l.db", key=KEY, new=True)
    append(ledger, "2026-10")
    change(
        ledger,
        f"CREATE TRIGGER t BEFORE INSERT ON {ENTRY} BEGIN SELECT RAISE(IGNORE); END",
    )
    with pytest.raises(LedgerError, match="did not keep the entry"):
        append(ledger, "2026-11")


# ---- where it is ---------------------------------------------------------------------------


def test_a_ledger_that_is_not_there_is_not_made_in_passing(url, ledger, tmp_path):
    append(ledger, "2026-10")
    with pytest.raises(LedgerError, match="holds a ledger already: leave new=True out"):
        Ledger(url, key=KEY, new=True)
    with pytest.raises(LedgerError, match=r"there is no ledger in .*new=True makes one"):
        Ledger(tmp_path / "moved.db", key=KEY)
    assert not (tmp_path / "moved.db").exists()
    # What a killed maker leaves: a file without a table.
    (tmp_path / "empty.db").touch(mode=0o600)
    with pytest.raises(LedgerError, match="there is no ledger in"):
        Ledger(tmp_path / "empty.db", key=KEY)
    assert len(Ledger(tmp_path / "empty.db", key=KEY, new=True).entries()) == 0


def test_wrong_keys_and_other_versions_are_refused(url, ledger):
    with pytest.raises(WrongKeyError, match="of another key"):
        Ledger(url, key=OTHER)
    change(ledger, "UPDATE anonrisk_ledger_about SET value = '99' WHERE name = 'version'")
    with pytest.raises(LedgerError, match=r"holds version 99 of a ledger, .* reads version 2"):
        Ledger(url, key=KEY)
    change(ledger, "DROP TABLE anonrisk_ledger_part")
    with pytest.raises(LedgerError, match="only a part of a ledger"):
        Ledger(url, key=KEY)


def test_the_key_is_in_no_text(url, ledger):
    append(ledger, "2026-10")
    secret = KEY.reveal()
    for text in (
        repr(ledger),
        repr(ledger._chain),
        repr(ledger.entries()),
        repr(ledger.entries()[0]),
    ):
        assert secret.hex() not in text
        assert KEY.derived("ledger").hex() not in text
    if Path(url).exists():
        stored = Path(url).read_bytes()
        assert secret not in stored
        assert secret.hex().encode() not in stored


@pytest.mark.skipif(os.name != "posix", reason="no modes")
def test_files_and_folders_that_others_may_use_are_refused(tmp_path):
    path = tmp_path / "l.db"
    Ledger(path, key=KEY, new=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(LedgerError, match=r"\(mode 0644\): chmod 600"):
        Ledger(f"sqlite:///{path}", key=KEY)
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    with pytest.raises(LedgerError, match="everybody may write to its folder"):
        Ledger(path, key=KEY)
    tmp_path.chmod(0o700)
    with pytest.raises(LedgerError, match="the folder is not there"):
        Ledger(tmp_path / "none" / "l.db", key=KEY, new=True)
    with pytest.raises(ArgumentError, match="in memory forgets"):
        Ledger("sqlite://", key=KEY, new=True)


def test_a_link_into_a_folder_that_others_may_write_to_is_refused(tmp_path):
    tmp_path.chmod(0o700)
    shared = tmp_path / "shared"
    shared.mkdir()
    Ledger(shared / "ledger.db", key=KEY, new=True)
    link = tmp_path / "link.db"
    link.symlink_to(shared / "ledger.db")
    assert len(Ledger(link, key=KEY).entries()) == 0
    shared.chmod(0o777)
    with pytest.raises(LedgerError, match="everybody may write to its folder"):
        Ledger(link, key=KEY)


def test_what_is_no_ledger_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("private notes, long enough to be looked at as a database file\n" * 20)
    path.chmod(0o600)
    with pytest.raises(StoreError, match="the file is not a database") as caught:
        Ledger(path, key=KEY)
    assert "private" not in str(caught.value)
    path = tmp_path / "other.db"
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE patients (name TEXT)")
    path.chmod(0o600)
    for new in (False, True):
        with pytest.raises(LedgerError, match="holds something other than a ledger"):
            Ledger(path, key=KEY, new=new)


@contextmanager
def on_connect(ledger, statement):
    """Have every connection begin with a statement: SQLite then refuses as a bad disk would."""

    def begin(connection, _record):
        connection.execute(statement)

    sqlalchemy.event.listen(ledger._engine, "connect", begin)
    yield
    sqlalchemy.event.remove(ledger._engine, "connect", begin)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA query_only = ON", "it is read-only"),
        ("PRAGMA max_page_count = 1", "the disk is full"),
    ],
)
def test_a_disk_that_takes_nothing_loses_nothing(tmp_path, statement, message):
    ledger = Ledger(tmp_path / "l.db", key=KEY, new=True)
    append(ledger, "2026-10")
    with on_connect(ledger, statement):
        assert len(ledger.verify()) == 1
        with pytest.raises(StoreError, match=message):
            append(ledger, "2026-11", {"patients": b"x" * 1_000_000})
    assert len(ledger.verify()) == 1
    assert append(ledger, "2026-11").number == 2


def test_who_waits_too_long_is_told(tmp_path, monkeypatch):
    from anonrisk.core import database

    monkeypatch.setattr(database, "SECONDS_TO_WAIT", 0.1)
    ledger = Ledger(tmp_path / "l.db", key=KEY, new=True)
    with database.writing(ledger._engine, "ledger"), pytest.raises(StoreError, match="holds it"):
        append(ledger, "2026-10")


# ---- many at once --------------------------------------------------------------------------

PUBLISHER = """
import sys
sys.path.insert(0, sys.argv[1])
from keys import KEY
from released import append
from anonrisk.errors import LedgerMovedError
from anonrisk.releases.ledger.ledger import Ledger
url, number, count = sys.argv[2], sys.argv[3], int(sys.argv[4])
ledger = Ledger(url, key=KEY)
for i in range(count):
    # Every third is everybody's: who comes second gets the entry of the first.
    name = f"common {i}" if i % 3 == 0 else f"own {number} {i}"
    while True:
        try:
            append(ledger, name, {"patients": name.encode() * 200})
            break
        except LedgerMovedError:
            pass
    print(name, flush=True)
"""


def publisher(url, number, count):
    return subprocess.Popen(
        [sys.executable, "-c", PUBLISHER, str(Path(__file__).parent), url, str(number), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def nothing_lost_and_nothing_twice(url, n_publishers, n_each, n_killed):
    """Whatever a publisher said is published is there, once, in a chain that holds."""
    Ledger(url, key=KEY, new=True)
    doomed = [publisher(url, 90 + i, 100_000) for i in range(n_killed)]
    writers = [publisher(url, number, n_each) for number in range(n_publishers)]
    told = []
    for i, one in enumerate(doomed):
        told.append(one.stdout.readline())
        time.sleep(0.05 * i)
        one.send_signal(signal.SIGKILL)
        # Not communicate(), which would lose what readline() has read ahead.
        with one:
            rest = one.stdout.read()
        # The last line may be cut off in the middle by the kill.
        told += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    for one in writers:
        out, err = one.communicate(timeout=500)
        assert one.returncode == 0, err[-2000:]
        assert len(out.splitlines()) == n_each
        told += out.splitlines()
    entries = Ledger(url, key=KEY).verify()
    names = [entry.release for entry in entries]
    assert len(names) == len(set(names))
    published = {line.strip() for line in told}
    assert published <= set(names)
    # A killed publisher may have published one more than it said.
    assert len(names) <= len(published) + n_killed


@pytest.mark.slow
def test_publishers_at_once_and_a_killed_one(tmp_path):
    nothing_lost_and_nothing_twice(str(tmp_path / "l.db"), 1, 3, 1)


@pytest.mark.nightly
@pytest.mark.slow
def test_eight_publishers_and_killed_ones(url):
    nothing_lost_and_nothing_twice(url, 8, 12, 4)


MAKER = """
import sys
sys.path.insert(0, sys.argv[1])
from keys import KEY
from anonrisk.errors import LedgerError
from anonrisk.releases.ledger.ledger import Ledger
try:
    Ledger(sys.argv[2], key=KEY, new=True)
    print("made")
except LedgerError as error:
    print(error)
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_of_eight_makers_one_makes_it(url):
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", MAKER, str(Path(__file__).parent), url],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for _ in range(8)
    ]
    told = [maker.communicate(timeout=300)[0] for maker in makers]
    assert sorted("made" in text for text in told) == [False] * 7 + [True]
    assert sum("holds a ledger already" in text for text in told) == 7
    assert len(Ledger(url, key=KEY).entries()) == 0


@pytest.mark.nightly
def test_an_account_that_may_only_insert_is_enough(postgres):
    """What docs/ledger.md says to grant: the server itself then refuses to change or delete."""
    ledger = Ledger(postgres, key=KEY, new=True)
    append(ledger, "2026-10")
    change(
        ledger,
        "CREATE ROLE publisher LOGIN PASSWORD 'publisher'",
        "GRANT SELECT, INSERT ON anonrisk_ledger, anonrisk_ledger_part TO publisher",
        "GRANT SELECT ON anonrisk_ledger_about TO publisher",
    )
    try:
        url = sqlalchemy.make_url(postgres).set(username="publisher", password="publisher")
        limited = Ledger(url.render_as_string(hide_password=False), key=KEY)
        assert append(limited, "2026-11").number == 2
        for statement in (f"DELETE FROM {ENTRY}", f"UPDATE {PART} SET kind = ''"):
            with pytest.raises(sqlalchemy.exc.ProgrammingError, match="permission denied"):
                change(limited, statement)
        assert len(ledger.verify()) == 2
        change(ledger, "REVOKE INSERT ON anonrisk_ledger FROM publisher")
        with pytest.raises(StoreError, match="the account lacks the right"):
            append(limited, "2026-12")
    finally:
        change(ledger, "DROP OWNED BY publisher", "DROP ROLE publisher")


def test_no_second_entry_comes_of_a_manifest_that_was_sealed_again(ledger):
    made = manifest_of(release="2026-11", previous=ledger.head).sealed(KEY)
    entry = ledger.append(made, {"patients": b"x"})
    assert ledger.append(replace(made, signatures=()).sealed(OTHER), {"patients": b"x"}) == entry
    assert len(ledger.entries()) == 1
