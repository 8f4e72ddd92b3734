"""Processes that are killed, or overtaken by others, while they change a store: nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
pytest.importorskip("cryptography", reason="needs the extra 'store'")

from kept import WHY, WORK, opened, rows_of
from keys import OTHER

from anonrisk.identity import IdentityProtector

HERE = Path(__file__).parent
KILLED = HERE / "killed_store.py"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def folder(tmp_path):
    """A folder in memory where there is one: thousands of commits need not wait for a disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as made:
        yield Path(made)


def program(*arguments):
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
    )


def told_by(process):
    # Not communicate(), which would lose what readline() has read ahead.
    with process:
        out, err = process.stdout.read(), process.stderr.read()
    assert process.returncode == 0, err[-3000:]
    return out


@pytest.mark.slow
def test_a_rotation_that_is_killed_now_and_then(folder):
    assert int(told_by(program(KILLED, folder, "Rotating", "each", 17))) >= 5


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("what", ["Rotating", "Erasing", "Expiring", "Issuing"])
def test_whatever_is_killed_at_each_step_is_done_as_a_whole_or_goes_on(folder, what):
    assert int(told_by(program(KILLED, folder, what, "each", 1))) >= 20


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_rotation_that_is_killed_again_and_again_comes_to_its_end(folder, seed):
    assert int(told_by(program(KILLED, folder, "Rotating", "seed", seed))) >= 3


# ---- side by side ---------------------------------------------------------------------------

ROTATOR = """
import sys, time
from pathlib import Path
from kept import WORK
from keys import KEY, OTHER
from anonrisk.errors import ArgumentError, WrongKeyError
from anonrisk.identity import IdentityProtector
from anonrisk.pseudonyms import upkeep
upkeep.PART = 3
path, go = sys.argv[1], Path(sys.argv[2])
keeper = IdentityProtector(KEY, path)
print("open", flush=True)
while not go.exists():
    time.sleep(0.01)
try:
    print(keeper.rotate(OTHER, **WORK).sealed)
except WrongKeyError:
    # The other one was quicker: go on with what it has begun.
    try:
        print(IdentityProtector(OTHER, path).rotate(OTHER, **WORK).sealed)
    except ArgumentError:
        print(0)
"""
ISSUER = """
import sys
from kept import WORK
from keys import KEY
from anonrisk.errors import WrongKeyError
from anonrisk.identity import IdentityProtector
keeper = IdentityProtector(KEY, sys.argv[1])
print("open", flush=True)
for i in range(100_000):
    try:
        print(f"late {i}", keeper.issue(f"late {i}", scope="hospital", **WORK), sep="|", flush=True)
    except WrongKeyError as error:
        print(error)
        break
"""


def rotated_side_by_side(folder, n_rotators, n_people):
    """Several rotate at once while one goes on with the old key: all that was told is there."""
    path, go = folder / "store.db", folder / "go"
    people = [f"person {i}" for i in range(n_people)]
    with opened(path) as keeper:
        keeper.grant("worker", "rotate", **WHY)
        issued = keeper.issue_all(people, scope="hospital", **WORK)
    rotators = [program("-c", ROTATOR, path, go) for _ in range(n_rotators)]
    issuer = program("-c", ISSUER, path)
    for one in (*rotators, issuer):
        assert one.stdout.readline() == "open\n"
    go.touch()
    *late, end = told_by(issuer).splitlines()
    assert "the key of this store was rotated" in end
    issued |= dict(line.split("|") for line in late)
    # Each row was sealed anew by one of them, once.
    assert sum(int(told_by(one)) for one in rotators) == len(issued)
    with IdentityProtector(OTHER, path) as keeper:
        found = {p: keeper.reveal(one, scope="hospital", **WORK) for p, one in issued.items()}
        assert found == {person: person for person in issued}
        assert keeper.verify(by="officer").pseudonyms == len(issued)
        told = [(e.action, e.outcome) for e in keeper.audit(by="officer")]
    assert told.count(("rotate", "done")) == told.count(("rotated", "done")) == 1
    assert {row.epoch for row in rows_of(path, "SELECT epoch FROM anonrisk_identity")} == {2}


@pytest.mark.slow
def test_a_rotation_while_another_process_goes_on(folder):
    rotated_side_by_side(folder, 1, 10)


@pytest.mark.nightly
@pytest.mark.slow
def test_rotations_at_once_while_another_process_goes_on(folder):
    rotated_side_by_side(folder, 4, 300)
