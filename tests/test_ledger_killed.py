"""Processes that are killed while they change a ledger: all of it was done, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
pytest.importorskip("cryptography", reason="needs the extra 'store'")

from killed_ledger import ACTIONS

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]


def kills(url, what, step):
    asked = [sys.executable, str(HERE / "killed_ledger.py"), str(url), what, str(step)]
    path = os.pathsep.join([str(HERE), *sys.path])
    done = subprocess.run(
        asked, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout)


@pytest.fixture
def path(tmp_path):
    """A file in memory where there is one: hundreds of commits need not wait for a disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path / "ledger.db"
        return
    with tempfile.TemporaryDirectory(dir=memory) as made:
        yield Path(made) / "ledger.db"


@pytest.mark.parametrize("what", ACTIONS)
def test_whoever_is_killed_now_and_then_has_done_all_or_nothing(path, what):
    assert kills(path, what, 6) >= 1


@pytest.mark.nightly
@pytest.mark.parametrize("what", ACTIONS)
@pytest.mark.parametrize("place", ["path", "postgres"])
def test_whoever_is_killed_at_any_step_has_done_all_or_nothing(request, place, what):
    assert kills(request.getfixturevalue(place), what, 1) >= 6
