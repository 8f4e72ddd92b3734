"""Disks that are full, read-only or gone, and clocks that go back: nothing lost, clear errors."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
pytest.importorskip("cryptography", reason="needs the extra 'store'")

import sqlalchemy
from kept import WHY, WORK, Clock, opened, rows_of
from keys import KEY, OTHER
from released import append

from anonrisk.errors import StoreError
from anonrisk.identity import IdentityProtector
from anonrisk.pseudonyms import upkeep
from anonrisk.releases.ledger.ledger import Ledger

ASKED = {"scope": "insurer", **WORK}
PEOPLE = [f"person {i}" for i in range(8)]
# What takes a few pages of a file.
LONG = {"scope": "insurer", "by": "worker", "reason": "why " * 450}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def keeper(folder):
    with opened(folder / "store.db", keep_identities=30) as made:
        made.grant("worker", "rotate", **WHY)
        yield made


def everybody_is_there(keeper, issued):
    found = {person: keeper.reveal(one, **ASKED) for person, one in issued.items()}
    assert found == {person: person for person in issued}
    keeper.verify(by="officer")
    events = [event.number for event in keeper.audit(by="officer")]
    assert events == list(range(1, len(events) + 1))


def refused(attempts):
    """Do one after the other until one is refused, and give the error's text."""
    for attempt in attempts:
        try:
            attempt()
        except StoreError as error:
            return str(error)
    return "all were done"


@contextmanager
def bad_disk(keeper, statement):
    """Have every connection begin with a statement: SQLite then refuses as a bad disk would."""

    def begin(connection, _record):
        connection.execute(statement)

    engine = keeper._session.store.engine
    sqlalchemy.event.listen(engine, "connect", begin)
    yield
    sqlalchemy.event.remove(engine, "connect", begin)


def calls(pseudonym):
    """Whatever writes, which is everything: nobody is revealed whose event cannot be stored."""
    return (
        lambda k: k.issue_all([f"more {i}" for i in range(200)], **LONG),
        lambda k: k.reveal(pseudonym, **LONG),
        lambda k: k.erase(pseudonym, **LONG),
        lambda k: k.rotate(OTHER, by="worker", reason=LONG["reason"]),
        lambda k: k.grant("a", "audit", by="officer", reason=LONG["reason"]),
        lambda k: k.expire(by="worker", reason=LONG["reason"]),
    )


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA query_only = ON", "it is read-only"),
        # It takes no page more than there are.
        ("PRAGMA max_page_count = 1", "the disk is full"),
    ],
)
def test_a_disk_that_takes_nothing_loses_nothing(folder, keeper, statement, message):
    issued = keeper.issue_all(PEOPLE[:3], **ASKED)
    with bad_disk(keeper, statement):
        # The last page has room for some small events.
        again = (lambda: keeper.reveal(issued["person 0"], **ASKED) for _ in range(100))
        assert message in refused(again)
        head = keeper.head
        for call in calls(issued["person 0"]):
            with pytest.raises(StoreError, match=message) as raised:
                call(keeper)
            assert "person 0" not in str(raised.value)
            assert raised.value.__cause__ is None
        assert keeper.head == head
    with IdentityProtector(KEY, folder / "store.db") as again:
        assert again.head == head
        everybody_is_there(again, issued)
    # The disk has come back, for who was open all the time too.
    everybody_is_there(keeper, issued)
    assert keeper.rotate(OTHER, **WORK).sealed == 3


def test_a_disk_that_fills_up_in_the_middle_of_a_rotation(folder, keeper, monkeypatch):
    issued = keeper.issue_all(PEOPLE, **ASKED)
    monkeypatch.setattr(upkeep, "PART", 2)
    with bad_disk_after(monkeypatch, parts=2), pytest.raises(StoreError, match="the disk is full"):
        keeper.rotate(OTHER, **WORK)
    rows = rows_of(folder / "store.db", "SELECT epoch FROM anonrisk_identity")
    assert sorted(row.epoch for row in rows) == [1] * 4 + [2] * 4
    everybody_is_there(keeper, issued)
    assert keeper.rotate(OTHER, **WORK).sealed == 4
    everybody_is_there(keeper, issued)


@contextmanager
def bad_disk_after(monkeypatch, parts):
    """Let the disk be full when so many parts of a rotation are done."""
    from anonrisk.pseudonyms.store import StoreTransaction

    real, left = StoreTransaction.replace, [parts]

    def replace(tables, rows):
        real(tables, rows)
        if left[0] == 0:
            tables.connection.exec_driver_sql("PRAGMA max_page_count = 1")
            tables.connection.exec_driver_sql("CREATE TABLE more (than TEXT)")
        left[0] -= 1

    with monkeypatch.context() as patched:
        patched.setattr(StoreTransaction, "replace", replace)
        yield


def test_a_folder_that_is_gone_and_comes_back(folder, keeper):
    issued = keeper.issue_all(PEOPLE[:3], **ASKED)
    away = folder.with_name("away")
    folder.rename(away)
    for call in calls(issued["person 0"]):
        with pytest.raises(StoreError, match="the file cannot be opened"):
            call(keeper)
    for admin in (None, "officer"):
        with pytest.raises(StoreError, match="the folder is not there"):
            IdentityProtector(KEY, folder / "store.db", admin=admin)
    assert not folder.exists()
    away.rename(folder)
    everybody_is_there(keeper, issued)
    # A folder without the file in it is no new store either.
    (folder / "store.db").rename(away)
    for call in calls(issued["person 0"]):
        with pytest.raises(StoreError):
            call(keeper)
    away.replace(folder / "store.db")
    everybody_is_there(keeper, issued)


def test_a_clock_that_goes_back_in_the_middle_of_a_rotation(keeper, monkeypatch):
    clock = Clock(monkeypatch)
    issued = keeper.issue_all(PEOPLE[:4], **ASKED)
    monkeypatch.setattr(upkeep, "PART", 1)
    real = upkeep._renewed

    def renewed(turn, row):
        clock.forward(minutes=-2)
        return real(turn, row)

    with monkeypatch.context() as patched:
        patched.setattr(upkeep, "_renewed", renewed)
        # Two and four minutes are what clocks differ by; after the third part it is six.
        with pytest.raises(StoreError, match=r"is 0:06:00 behind the last event"):
            keeper.rotate(OTHER, **WORK)
    for call in calls(issued["person 0"]):
        with pytest.raises(StoreError, match="behind the last event"):
            call(keeper)
    keeper.accept_clock(**WHY)
    assert keeper.rotate(OTHER, **WORK).sealed == 1
    everybody_is_there(keeper, issued)
    told = [event.at for event in keeper.audit(by="officer") if event.action == "rotated"]
    assert told == [clock.now.isoformat(timespec="microseconds")]


def test_a_clock_that_runs_ahead_lets_nothing_expire_twice(keeper, monkeypatch):
    """Who sets the clock ahead lets identities expire early: that is on record, with the time."""
    clock = Clock(monkeypatch)
    keeper.issue("Ann", **ASKED)
    clock.now += timedelta(days=31)
    assert keeper.expire(**WORK).identities == 1
    clock.now -= timedelta(days=31)
    with pytest.raises(StoreError, match="31 days"):
        keeper.issue("Ann", **ASKED)
    keeper.accept_clock(**WHY)
    assert keeper.reveal(keeper.issue("Ann", **ASKED), **ASKED) == "Ann"
    keeper.verify(by="officer")


# ---- real disks ----------------------------------------------------------------------------


def mount(*arguments):
    try:
        subprocess.run(["mount", *arguments], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nobody may mount here")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own, of 400 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount("-t", "tmpfs", "-o", "size=400k,mode=0700", "tmpfs", str(disk))
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=False)


def fill(disk, *, but):
    """Take the rest of a disk, but for so many bytes."""
    rest = shutil.disk_usage(disk).free
    (disk / "rest").write_bytes(bytes(max(0, rest - but)))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("free", [0, 4096, 12288, 20480, 40960])
def test_a_store_on_a_disk_that_is_really_full(small_disk, free):
    path = small_disk / "store.db"
    with opened(path) as keeper:
        keeper.grant("worker", "rotate", **WHY)
        issued = keeper.issue_all(PEOPLE, **ASKED)
        fill(small_disk, but=free)
        more = ([f"more {i} {j}" for j in range(50)] for i in range(100))
        assert "the disk" in refused(partial(keeper.issue_all, one, **LONG) for one in more)
        # The journal of a rotation needs room too.
        long = {"by": "worker", "reason": LONG["reason"]}
        assert "the disk" in refused(partial(keeper.rotate, k, **long) for k in (OTHER, KEY) * 50)
        (small_disk / "rest").unlink()
        key = keeper._session.keys.key
        everybody_is_there(keeper, issued)
        keeper.rotate(key if keeper._session.seen().keeping.rotating else OTHER, **WORK)
        everybody_is_there(keeper, issued)


@pytest.mark.nightly
def test_a_store_on_a_disk_that_is_really_read_only(small_disk):
    path = small_disk / "store.db"
    with opened(path) as keeper:
        keeper.grant("worker", "rotate", **WHY)
        issued = keeper.issue_all(PEOPLE, **ASKED)
        head = keeper.head
        mount("-o", "remount,ro", str(small_disk))
        for call in calls(issued["person 0"]):
            with pytest.raises(StoreError, match=r"it is read-only|cannot be opened"):
                call(keeper)
        with IdentityProtector(KEY, path) as again:
            assert again.head == head
        mount("-o", "remount,rw", str(small_disk))
        everybody_is_there(keeper, issued)


@pytest.mark.nightly
@pytest.mark.parametrize("free", [0, 4096, 12288, 20480])
def test_a_ledger_on_a_disk_that_is_really_full_or_read_only(small_disk, free):
    ledger = Ledger(small_disk / "ledger.db", key=KEY, new=True)
    append(ledger, "2026-10")
    fill(small_disk, but=free)
    with pytest.raises(StoreError, match="the disk"):
        append(ledger, "2026-11", {"patients": bytes(100_000)})
    assert len(ledger.verify()) == 1
    (small_disk / "rest").unlink()
    append(ledger, "2026-11")
    mount("-o", "remount,ro", str(small_disk))
    with pytest.raises(StoreError, match=r"it is read-only|cannot be opened"):
        append(ledger, "2026-12")
    assert len(ledger.verify()) == 2
    mount("-o", "remount,rw", str(small_disk))
    assert append(ledger, "2026-12").number == 3
