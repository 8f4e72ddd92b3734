"""States on disk: whole or refused, readable by their owner alone, and never half written."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys

import pandas as pd
import pytest
from keys import KEY, SECRET

import anonrisk
from anonrisk import Policy, Release, Sketch, State
from anonrisk.errors import (
    AnonRiskError,
    MissingLibraryError,
    StateError,
    UnwritableTableError,
    WrongKeyError,
)
from anonrisk.pseudonyms.keys import Key
from anonrisk.releases.ledger.manifest import Manifest
from anonrisk.releases.state.keyed_file import STATE_FILE

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
CELLS = {"zip": ["a", "a", "b", None], "ill": ["flu", "cold", "flu", None], "who": [1, 2, 3, 3]}


def made(**about):
    return pd.DataFrame(CELLS).anon.state("zip", key=KEY, **about)


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("sensitive", [None, "ill"])
def test_what_is_saved_is_loaded(tmp_path, unit, sensitive):
    state, path = made(unit=unit, sensitive=sensitive), tmp_path / "state.parquet"
    state.save(path)
    assert State.load(path, key=KEY) == State.load(str(path), key=SECRET) == state
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    none = pd.DataFrame(CELLS)[:0].anon.state("zip", unit=unit, sensitive=sensitive, key=KEY)
    none.save(path)
    assert State.load(path, key=KEY) == none
    assert [one.name for one in tmp_path.iterdir()] == ["state.parquet"]


def test_the_file_says_what_it_is_and_reveals(tmp_path):
    path = tmp_path / "state.parquet"
    made(sensitive="ill").save(path)
    metadata = parquet.read_schema(path).metadata
    header = json.loads(metadata[STATE_FILE.header_name])
    assert header["version"] == 1
    assert "not anonymous" in header["reveals"]
    assert header["key_id"] == made().key_id
    assert b"flu" not in path.read_bytes()


def test_another_key_is_told(tmp_path):
    path = tmp_path / "state.parquet"
    made().save(path)
    with pytest.raises(WrongKeyError, match=f"another key: '{made().key_id}', not '"):
        State.load(path, key=Key.generate())


def test_files_that_are_no_states_are_told(tmp_path):
    with pytest.raises(StateError, match=r"cannot read the state .*: No such file"):
        State.load(tmp_path / "none", key=KEY)
    for name, content in (("empty", b""), ("text", b"zip,age\n"), ("start", b"PAR1")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StateError, match="not a state of anonrisk"):
            State.load(tmp_path / name, key=KEY)
    parquet.write_table(pa.table({"zip": ["Ann"]}), tmp_path / "foreign")
    with pytest.raises(StateError, match="not a state of anonrisk") as refused:
        State.load(tmp_path / "foreign", key=KEY)
    assert "Ann" not in str(refused.value)


def changed(data, change):
    """The file with another table, or other metadata, written by somebody without the key."""
    table = parquet.read_table(pa.BufferReader(data))
    sink = pa.BufferOutputStream()
    parquet.write_table(change(table), sink)
    return bytes(sink.getvalue())


def with_header(**other):
    def change(table):
        metadata = dict(table.schema.metadata)
        header = {**json.loads(metadata[STATE_FILE.header_name]), **other}
        return table.replace_schema_metadata(
            {**metadata, STATE_FILE.header_name: json.dumps(header).encode()}
        )

    return change


def test_a_newer_version_is_told():
    with pytest.raises(StateError, match="version 2, and this anonrisk reads version 1"):
        State.from_bytes(changed(made().to_bytes(), with_header(version=2)), key=KEY)


@pytest.mark.parametrize(
    "change",
    [
        with_header(n_rows=5),
        with_header(reveals="nothing"),
        with_header(unit="who"),
        with_header(sensitive=[]),
        with_header(sensitive=["ill", "more"]),
        with_header(qid=None),
        lambda table: table.slice(1),
        lambda table: pa.concat_tables([table, table.slice(0, 1)]),
        lambda table: table.take(list(range(len(table)))[::-1]),
        lambda table: table.set_column(4, "rows", [[9] * len(table)]),
        lambda table: table.set_column(1, "class", pa.nulls(len(table), pa.binary(16))),
        lambda table: table.drop_columns(["value"]),
        # The same bits, which are other numbers.
        lambda table: table.set_column(4, "rows", table["rows"].combine_chunks().view("float64")),
        lambda table: table.set_column(4, "rows", table["rows"].combine_chunks().view("uint64")),
    ],
)
def test_a_changed_state_is_refused(change):
    data = made(sensitive="ill").to_bytes()
    assert State.from_bytes(changed(data, lambda table: table), key=KEY) == made(sensitive="ill")
    with pytest.raises(StateError, match="damaged, or was changed by somebody without the key"):
        State.from_bytes(changed(data, change), key=KEY)


@pytest.mark.parametrize(
    "state",
    [made(sensitive="ill", unit="who"), anonrisk.sketch(pd.DataFrame(CELLS), "zip", key=KEY)],
    ids=["state", "sketch"],
)
def test_damage_is_noticed(state):
    data, draw = state.to_bytes(), random.Random(18)
    noticed = 0
    for place in draw.sample(range(len(data)), 200):
        damaged = bytearray(data)
        damaged[place] ^= 1 << draw.randrange(8)
        try:
            # Not every byte of Parquet matters: then the state is what it was.
            assert type(state).from_bytes(bytes(damaged), key=KEY) == state
        except AnonRiskError:
            noticed += 1
    assert noticed > 100
    for length in range(0, len(data), 97):
        with pytest.raises(StateError):
            type(state).from_bytes(data[:length], key=KEY)


def test_where_nothing_can_be_written_nothing_is_left(tmp_path):
    with pytest.raises(UnwritableTableError, match=r"cannot write the state .*: No such file"):
        made().save(tmp_path / "none" / "state.parquet")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnwritableTableError, match="Is a directory"):
        made().save(tmp_path / "folder")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes among files here")
def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UnwritableTableError, match="it is a device or a pipe, not a file"):
        STATE_FILE.write(pipe, b"counts")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_is_no_path_is_told_by_all_that_take_one():
    sketch = anonrisk.sketch(pd.DataFrame(CELLS), "zip", key=KEY)
    for given in (None, 7, b"state"):
        for what, takes in (
            ("a state", made().save),
            ("a state", lambda path: State.load(path, key=KEY)),
            ("a sketch", sketch.save),
            ("a sketch", lambda path: Sketch.load(path, key=KEY)),
            ("a manifest", Manifest.load),
            ("a release", Release.load),
            ("a policy", Policy.load),
            ("a policy", Policy(quasi="zip", k=2).save),
            ("a key file", Key.from_file),
            ("a page", pd.DataFrame(CELLS).anon.report("zip").save),
        ):
            with pytest.raises(AnonRiskError, match=f"the path of {what} is a text or a path, not"):
                takes(given)


def test_a_state_is_no_sketch():
    sketch = anonrisk.sketch(pd.DataFrame(CELLS), "zip", key=KEY)
    with pytest.raises(StateError, match="this is not a sketch of anonrisk"):
        Sketch.from_bytes(made().to_bytes(), key=KEY)
    with pytest.raises(StateError, match="this is not a state of anonrisk"):
        State.from_bytes(sketch.to_bytes(), key=KEY)
    assert sketch != made()


@pytest.mark.parametrize("path", ["a\0b", ""])
def test_what_is_no_name_of_a_file_is_told(path):
    with pytest.raises(
        UnwritableTableError, match=r"cannot write the state .* not the name of a file"
    ):
        STATE_FILE.write(path, b"counts")
    with pytest.raises(StateError, match="cannot read the state"):
        STATE_FILE.read(path)


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    state = made()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingLibraryError, match=r"anonrisk\[arrow\]"):
        state.to_bytes()


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from anonrisk.releases.ledger.manifest import Manifest
from anonrisk.releases.state.keyed_file import STATE_FILE

path, old, new = Path(sys.argv[1]), b"old" * int(sys.argv[2]), b"new" * int(sys.argv[2])

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def killed(data, prepare=None, after=None):
    child = os.fork()
    if not child:
        if prepare is not None:
            setattr(*prepare, die)
        STATE_FILE.write(path, data)
        signal.pause()
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, end = os.waitpid(child, 0)
    assert os.WTERMSIG(end) == signal.SIGKILL
    assert path.read_bytes() in (old, new)
    return path.read_bytes()

draw = random.Random(18)
start = time.perf_counter()
STATE_FILE.write(path, old)
took = 2 * (time.perf_counter() - start)
if sys.argv[3] == "at each step":
    for step in ((os, "fdopen"), (os, "fsync"), (Path, "replace")):
        assert killed(new, step) == old
    assert killed(new, (Path, "unlink")) == new
else:
    data = [draw.choice((old, new)) for _ in range(int(sys.argv[3]))]
    assert {killed(one, after=draw.random() * took) for one in data} == {old, new}
"""


def run_killed(tmp_path, *how):
    code = [sys.executable, "-c", KILLED, str(tmp_path / "state"), *how]
    done = subprocess.run(code, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes of POSIX")
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path):
    run_killed(tmp_path, "1000", "at each step")


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes of POSIX")
def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path):
    run_killed(tmp_path, str(1_000_000), "100")
