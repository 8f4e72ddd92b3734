"""`anonrisk.spark.foreach_batch`: a gate for every batch of a stream, whatever is killed when."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import keys
import pytest
from keys import KEY

import anonrisk
from anonrisk.errors import ArgumentError, EngineError
from anonrisk.spark import foreach_batch

ROOT = Path(__file__).parents[1]
SECRET = "Xavier-7741"
POLICY = anonrisk.Policy(quasi=["zip"], k=2, insensitive=["id"])
SAFE, ALONE = [("a", 1), ("a", 2), ("b", 3), ("b", 4)], [("a", 5), ("a", 6), (SECRET, 7)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("p.yaml", "r", "q"), "Policy.load"),
        ((POLICY, "r", ""), "quarantine is"),
        ((POLICY, None, "q"), "release is"),
        ((POLICY, " ", "q"), "release is"),
        ((POLICY, "lake", "lake/"), "inside one another"),
        ((POLICY, "lake", "lake/kept"), "inside one another"),
    ],
)
def test_wrong_uses_are_refused_before_the_stream_starts(given, told):
    with pytest.raises(ArgumentError, match=told):
        foreach_batch(*given)
    with pytest.raises(ArgumentError, match="fail_on"):
        foreach_batch(POLICY, "r", "q", fail_on="never")
    for half in ({"state": "s"}, {"key": KEY}):
        with pytest.raises(ArgumentError, match="state and key go together"):
            foreach_batch(POLICY, "r", "q", **half)


@pytest.fixture
def lake(spark, tmp_path):
    class Lake:
        def __init__(self):
            self.places = {name: str(tmp_path / name) for name in ("release", "quarantine")}

        def batch(self, rows, columns="zip string, id long"):
            return spark.createDataFrame(rows, columns)

        def gate(self, policy=POLICY, **more):
            return foreach_batch(policy, **{**self.places, **more})

        def ids(self, name):
            place = self.places[name]
            if not Path(place).exists():
                return []
            rows = spark.read.parquet(place).collect()
            return sorted((row["batch_id"], row["id"]) for row in rows)

    return Lake()


@pytest.mark.spark
def test_a_batch_goes_to_one_place_alone(lake, caplog):
    gate = lake.gate()
    with caplog.at_level(logging.INFO, "anonrisk.spark"):
        for number, rows in enumerate((SAFE, ALONE, [])):
            gate(lake.batch(rows), number)
    assert lake.ids("release") == [(0, i) for i in (1, 2, 3, 4)]
    assert lake.ids("quarantine") == [(1, i) for i in (5, 6, 7)]
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told[:2] == [
        ("INFO", "batch 0: pass, 4 rows released"),
        ("WARNING", "batch 1: fail, 3 rows held back: k of zip"),
    ]
    # A batch without rows cannot be assessed, and is no row less.
    assert told[2][1].startswith("batch 2: could_not_assess")
    assert SECRET not in caplog.text


def read_key():
    return KEY


def test_a_key_is_not_sent_to_a_server_and_may_be_read_there(tmp_path):
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    with pytest.raises(TypeError, match="Key holds a key and is not pickled"):
        cloudpickle.dumps(foreach_batch(POLICY, "r", "q", state=tmp_path, key=KEY))
    sent = cloudpickle.dumps(foreach_batch(POLICY, "r", "q", state=tmp_path, key=read_key))
    assert keys.SECRET not in sent


@pytest.mark.spark
def test_with_a_state_the_log_counts_what_was_kept_back(lake, tmp_path, caplog):
    gate = lake.gate(state=tmp_path / "union", key=KEY)
    with caplog.at_level(logging.INFO, "anonrisk.spark"):
        gate(lake.batch(SAFE), 0)
        gate(lake.batch(ALONE), 1)
    assert caplog.messages == [
        "batch 0: pass, 4 rows released",
        "batch 1: fail, 3 rows held back: k of zip",
    ]


@pytest.mark.spark
def test_a_batch_of_which_a_file_is_damaged_is_not_judged_in_part(lake, spark, tmp_path):
    from anonrisk.engines.spark import read

    ignoring = "spark.sql.files.ignoreCorruptFiles"
    spark.conf.set(ignoring, "true")
    try:
        staged = read.stored(lake.batch(SAFE), str(tmp_path / "b"))
        for path in (tmp_path / "b").glob("*.parquet"):
            path.write_bytes(b"PAR1 is not all that it takes")
            path.with_name(f".{path.name}.crc").unlink()
        with pytest.raises(EngineError):
            read.n_rows(staged)
    finally:
        spark.conf.unset(ignoring)


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("key", [KEY, read_key])
def test_with_a_state_the_union_is_judged(lake, tmp_path, key):
    gate = lake.gate(state=tmp_path / "union", key=key)
    # A single c is with the one before it; a single d is alone in all that was released.
    batches = [("a", 1), ("a", 2), ("c", 3), ("c", 4)], [("c", 5)], [("d", 6), ("a", 7)], [("a", 8)]
    for number, rows in enumerate(batches):
        gate(lake.batch(rows), number)
    assert [i for _, i in lake.ids("release")] == [1, 2, 3, 4, 5, 8]
    assert [i for _, i in lake.ids("quarantine")] == [6, 7]


@pytest.mark.nightly
@pytest.mark.spark
def test_a_batch_that_nobody_can_assess_is_kept(lake):
    lake.gate(anonrisk.Policy(quasi=["zip"], k=2))(lake.batch(SAFE), 0)
    assert lake.ids("release") == []
    assert len(lake.ids("quarantine")) == 4


@pytest.mark.nightly
@pytest.mark.spark
def test_groups_are_cells_and_are_not_logged(lake, caplog):
    policy = anonrisk.Policy(quasi=["id"], k=2, by="zip")
    with caplog.at_level(logging.INFO, "anonrisk.spark"):
        lake.gate(policy)(lake.batch(ALONE), 0)
    assert "held back: k of id" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.nightly
@pytest.mark.spark
def test_warnings_keep_a_batch_back_only_if_asked_to(lake):
    limits = [2, {"at_least": 3, "severity": "warn"}]
    warns = anonrisk.Policy(quasi=["zip"], k=limits, unlisted="ignore")
    lake.gate(warns, fail_on="warn")(lake.batch(SAFE), 0)
    assert lake.ids("release") == []
    lake.gate(warns)(lake.batch(SAFE), 1)
    assert [number for number, _ in lake.ids("release")] == [1] * 4


@pytest.mark.nightly
@pytest.mark.spark
def test_the_last_attempt_counts(lake):
    """Whatever an earlier one has written, and by whichever policy."""
    strict = anonrisk.Policy(quasi=["zip"], k=3, insensitive=["id"])
    whole = [(0, i) for i in (1, 2, 3, 4)]
    for policy, here, there in (
        (POLICY, "release", "quarantine"),
        (POLICY, "release", "quarantine"),
        (strict, "quarantine", "release"),
        (POLICY, "release", "quarantine"),
    ):
        lake.gate(policy)(lake.batch(SAFE), 0)
        assert (lake.ids(here), lake.ids(there)) == (whole, [])


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("step", ["stored", "emptied"])
@pytest.mark.parametrize("when", [0, 1])
def test_what_breaks_in_between_is_mended_by_the_next_attempt(lake, monkeypatch, step, when):
    from anonrisk.engines.spark import read

    real, calls = getattr(read, step), []

    def broken(*given):
        calls.append(given)
        if len(calls) == 1 + when:
            raise EngineError("a disk is full")
        return real(*given)

    monkeypatch.setattr(read, step, broken)
    for number, rows in enumerate((SAFE, ALONE)):
        try:
            lake.gate()(lake.batch(rows), number)
        except EngineError:
            lake.gate()(lake.batch(rows), number)
    assert len(calls) > 1 + when
    assert lake.ids("release") == [(0, i) for i in (1, 2, 3, 4)]
    assert lake.ids("quarantine") == [(1, i) for i in (5, 6, 7)]


@pytest.mark.nightly
@pytest.mark.spark
def test_a_function_gets_what_passed(lake):
    got = {}
    gate = lake.gate(release=lambda batch, number: got.update({number: batch.count()}))
    gate(lake.batch(SAFE), 0)
    gate(lake.batch(ALONE), 1)
    assert got == {0: 4}
    assert lake.ids("quarantine") == [(1, i) for i in (5, 6, 7)]


@pytest.mark.nightly
@pytest.mark.spark
def test_what_is_released_is_what_was_checked(lake):
    """A batch is a recipe, which may come out otherwise: what is stored is read instead."""
    read = []
    lake.gate(release=lambda batch, _: read.extend(batch.inputFiles()))(lake.batch(SAFE), 0)
    assert read
    assert all(f"{lake.places['quarantine']}/batch_id=0/" in path for path in read)


@pytest.mark.spark
def test_a_file_carries_no_notes_of_others(lake):
    from pyspark.sql import functions as f

    rows = lake.batch(SAFE)
    noted = f.col("zip").alias("zip", metadata={"ml_attr": {"vals": ["a", "b", SECRET]}})
    batch = rows.select(noted, "id", f.struct(noted).alias("s"))
    policy = anonrisk.Policy(quasi=["zip"], k=2, insensitive=["id", "s"])
    batch = anonrisk.declare(batch, quasi="zip", insensitive=["id", "s"])
    lake.gate(policy)(batch, 0)
    files = list(Path(lake.places["release"]).rglob("*.parquet"))
    assert files
    assert all(SECRET.encode() not in path.read_bytes() for path in files)
    assert all(b"anonrisk" in path.read_bytes() for path in files)


@pytest.mark.spark
def test_a_column_that_the_folders_would_hide_is_refused(lake):
    with pytest.raises(ArgumentError, match="'batch_id' would be lost"):
        lake.gate()(lake.batch(SAFE, "zip string, batch_id long"), 0)


# A query over files, one a batch, that kills itself in the middle of a step, and starts again.
QUERY = """
import hashlib, os, signal, sys
from pyspark.sql import SparkSession
import anonrisk
from anonrisk.engines.spark import read
from anonrisk.releases.state.stream import StreamState

folder, step, call = sys.argv[1], sys.argv[2], int(sys.argv[3])
secret = hashlib.sha256(b"anonrisk example, not a secret").digest()
holder = StreamState if step == "keep" else read
more = {"state": folder + "/union", "key": secret} if sys.argv[4:] else {}
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
session = session.config("spark.sql.shuffle.partitions", "1").getOrCreate()
real, calls = getattr(holder, step), []

def killed(*given):
    calls.append(1)
    if len(calls) == call:
        os.kill(os.getpid(), signal.SIGKILL)
    done = real(*given)
    if len(calls) == -call:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

setattr(holder, step, killed)
policy = anonrisk.Policy(quasi=["zip"], k=2, insensitive=["id"])
gate = anonrisk.spark.foreach_batch(policy, folder + "/release", folder + "/quarantine", **more)
rows = session.readStream.schema("zip string, id long").option("maxFilesPerTrigger", 1)
query = rows.json(folder + "/rows").writeStream.foreachBatch(gate)
query = query.option("checkpointLocation", folder + "/state").trigger(availableNow=True).start()
query.awaitTermination()
for name in ("release", "quarantine"):
    for row in session.read.parquet(folder + "/" + name).collect():
        print("ROW", name, row["id"], row["batch_id"])
for path in sorted(os.listdir(folder + "/union")) if more else ():
    held = anonrisk.State.load(folder + "/union/" + path, key=secret)
    print("STATE", path, held.counts.n_rows, held.k)
session.stop()
"""


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("kept", [False, True], ids=["alone", "union"])
def test_a_query_that_is_killed_loses_nothing_and_doubles_nothing(tmp_path, kept):
    """Needs Java, but a session of its own, which dies."""
    (tmp_path / "rows").mkdir()
    number, where = 0, {}
    for i in range(6):
        lines = []
        for zip_code in ("a", "a", "b", "b" if i % 2 else "c"):
            number += 1
            where[number] = "release" if i % 2 else "quarantine"
            lines.append(json.dumps({"zip": zip_code, "id": number}))
        path = tmp_path / "rows" / f"{i}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    ends = []
    for step, call in (
        ("stored", 1),
        ("stored", -3),
        ("emptied", 2),
        ("keep", 1) if kept else ("emptied", -2),
        *([("keep", -2)] if kept else []),
        ("stored", 0),
    ):
        done = subprocess.run(
            [sys.executable, "-c", QUERY, str(tmp_path), step, str(call), *(["union"] * kept)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
        ends.append(done.returncode)
    assert ends == [-signal.SIGKILL] * (4 + kept) + [0], done.stderr[-2000:]
    rows = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("ROW ")]
    assert {int(row): name for name, row, _ in rows} == where
    assert set(Counter(row for _, row, _ in rows).values()) == {1}
    states = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("STATE ")]
    # Batches of four rows, of which every second is released.
    newest = [["batch_id=3.state", "8", "4"], ["batch_id=5.state", "12", "6"]]
    assert states == (newest if kept else [])
