"""What is measured is what is sealed, whatever is put in its place meanwhile, and put back."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
from pathlib import Path

import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk import Ledger, Policy, Release, ReleaseBlocked
from anonrisk.engines.reading import large
from anonrisk.engines.reading.raw_files import PREFIX
from anonrisk.errors import ManifestError, UnwritableTableError
from anonrisk.releases.release import check as check_module
from anonrisk.releases.release import contents as contents_module
from anonrisk.releases.release import published_files as files_module
from anonrisk.releases.release.contents import TableFiles

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")

POLICY = Policy(quasi="zip", unit="who", k=3, differencing={"k": 3})
# The one that lies there has somebody alone in it; the other one is taken for the measurement.
ALONE = pd.DataFrame({"who": list("abcdef"), "zip": ["1011"] * 5 + ["1012"]})
TOGETHER = ALONE.assign(zip="1011")


def as_csv(table):
    return table.to_csv(index=False).encode()


def as_parquet(table):
    pytest.importorskip("pyarrow")
    return table.to_parquet(index=False)


READERS = {
    "csv": ("t.csv", as_csv, False),
    "packed csv": ("t.csv.gz", lambda table: gzip.compress(as_csv(table), mtime=0), False),
    "json lines": ("t.jsonl", lambda t: t.to_json(orient="records", lines=True).encode(), False),
    "parquet": ("t.parquet", as_parquet, False),
    "scanned csv": ("t.csv", as_csv, True),
    "scanned parquet": ("t.parquet", as_parquet, True),
}
# Where something is read: before it the other file is put there, after it the first one again.
STEPS = {
    "find": (TableFiles, "parts"),
    "copy and digest": (contents_module, "_read"),
    "look": (large, "opened"),
    "read": (TableFiles, "in_memory"),
    "metadata": (TableFiles, "stored"),
    "measure": (check_module, "checked"),
    "judge": (check_module, "judged"),
    "state": (check_module, "state"),
}


@pytest.fixture
def ledger(tmp_path):
    tmp_path.chmod(0o700)
    return Ledger(tmp_path / "ledger.db", key=KEY, new=True)


def in_place(path, data):
    """Write over a file, and set its times back."""
    before = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def by_name(path, data):
    """Put another file there; the first one comes back with its times and its number."""
    kept = path.with_name("kept")
    if kept.exists():
        kept.replace(path)
    else:
        path.rename(kept)
        path.write_bytes(data)


def swapping(monkeypatch, step, path, swap, first, other):
    """Exchange the file around a step; return how often that happened."""
    owner, name = STEPS[step]
    plain = getattr(owner, name)
    times = []

    def swapped(*args, **kwargs):
        times.append(step)
        swap(path, other)
        try:
            return plain(*args, **kwargs)
        finally:
            swap(path, first)

    monkeypatch.setattr(owner, name, swapped)
    return times


def scanning(monkeypatch, *, scanned):
    if scanned:
        pytest.importorskip("duckdb")
        pytest.importorskip("sqlglot")
        monkeypatch.setattr(large, "LARGE", 1)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("reader", "swap"),
    [*((reader, in_place) for reader in READERS), ("csv", by_name), ("scanned parquet", by_name)],
)
def test_a_file_that_is_swapped_and_put_back_is_never_sealed(
    reader, swap, step, tmp_path, ledger, monkeypatch
):
    name, written, scanned = READERS[reader]
    scanning(monkeypatch, scanned=scanned)
    first, other = written(ALONE), written(TOGETHER)
    path = tmp_path / "out" / name
    path.parent.mkdir()
    path.write_bytes(first)
    times = swapping(monkeypatch, step, path, swap, first, other)
    release = Release({"t": path}, POLICY, name="1")
    try:
        manifest = release.publish(ledger, by="me")
    except ReleaseBlocked:
        manifest = None
    assert times or (scanned and step == "read")
    assert path.read_bytes() == first
    # The only step at which the other one is what was read, digested and measured.
    assert (manifest is not None) == (step == "copy and digest")
    if manifest is not None:
        assert manifest.files[0].sha256 == hashlib.sha256(other).hexdigest()
        with pytest.raises(ManifestError, match="was changed"):
            manifest.verify(path, key=KEY)
        path.write_bytes(other)
        manifest.verify(path, key=KEY)


@pytest.mark.parametrize("reader", READERS)
def test_the_verdict_is_that_of_the_file_and_names_it(reader, tmp_path, ledger, monkeypatch):
    name, written, scanned = READERS[reader]
    scanning(monkeypatch, scanned=scanned)
    path = tmp_path / "out" / name
    path.parent.mkdir()
    path.write_bytes(written(TOGETHER))
    manifest = Release({"t": path}, POLICY, name="1").publish(ledger, by="me")
    assert manifest.tables[0].verdict["files"] == [str(path)]
    manifest.verify(path, key=KEY)
    # Nothing is left: neither beside the files nor where the copies were.
    assert [item.name for item in path.parent.iterdir()] == [name]
    path.write_bytes(b"\0")
    verdict = Release({"t": path}, POLICY, name="2").check(ledger)
    assert verdict.status == "could_not_assess"
    # A long path is shortened in its middle.
    assert f"{name}'" in repr(verdict)


def test_copies_keep_their_folders_and_are_gone_afterwards(tmp_path, monkeypatch):
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(contents_module.tempfile, "gettempdir", lambda: str(private))
    for place in ("zip=1011", "zip=1012"):
        (tmp_path / "out" / place).mkdir(parents=True)
        (tmp_path / "out" / place / "a.csv").write_text("who\n" + "\n".join("abc") + "\n")
    seen = []
    opened = TableFiles.opened

    def looking(self, wanted):
        seen.extend(path.relative_to(private) for path in private.rglob("*.csv"))
        return opened(self, wanted)

    monkeypatch.setattr(TableFiles, "opened", looking)
    policy = Policy(quasi="zip", unit="who", k=3)
    monkeypatch.chdir(tmp_path / "out")
    assert Release({"t": "../out/."}, policy).check().tables["t"].findings[0].value == 3
    assert [Path(*path.parts[1:]).as_posix() for path in sorted(seen)] == [
        "zip=1011/a.csv",
        "zip=1012/a.csv",
    ]
    assert all(path.parts[0].startswith(PREFIX) for path in seen)
    assert list(private.iterdir()) == []


def test_a_disk_that_is_full_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(contents_module.tempfile, "gettempdir", lambda: str(private))
    path = tmp_path / "t.csv"
    path.write_bytes(as_csv(TOGETHER))
    plain = Path.open

    def full(self, mode="r", *args, **kwargs):
        if mode == "xb":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return plain(self, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(UnwritableTableError, match=r"No space left .*TMPDIR"):
        Release({"t": path}, POLICY).check()
    assert list(private.iterdir()) == []


def test_a_table_in_a_database_is_read_in_one_transaction(ledger, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("sqlglot")
    connection = duckdb.connect()
    connection.register("alone", ALONE)
    connection.register("together", TOGETHER)
    connection.execute("CREATE TABLE t AS SELECT * FROM alone")
    other = connection.cursor()
    plain = check_module.judged
    times = []

    def swapped(*args):
        times.append(1)
        other.execute("UPDATE t SET zip = '1011'")
        try:
            return plain(*args)
        finally:
            other.execute("UPDATE t SET zip = '1012' WHERE who = 'f'")

    monkeypatch.setattr(check_module, "judged", swapped)
    release = Release({"t": anonrisk.sql.table(connection, "t")}, POLICY, name="1")
    assert release.check(ledger).tables["t"].status == "fail"
    assert times


def test_what_is_copied_is_what_was_digested(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"zip\n1011\n")
    (found,) = files_module.published_files({"t": tmp_path / "a.csv"}, copies=tmp_path / "copies")
    copy = (tmp_path / "copies" / "a.csv").read_bytes()
    assert (found.size, found.sha256) == (len(copy), hashlib.sha256(copy).hexdigest())
