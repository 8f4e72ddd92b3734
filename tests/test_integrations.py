"""Gates of orchestrators: each stops unless the gate passes, also where it cannot tell.

By night they run in the orchestrators themselves, in environments of their own.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEEDS = {"airflow": "needs Airflow 3: pip install", "dagster": "needs Dagster: pip install"}


@pytest.mark.parametrize("name", NEEDS)
def test_what_is_missing_is_said(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"anonrisk.integrations.{name}", raising=False)
    with pytest.raises(ImportError, match=NEEDS[name]):
        importlib.import_module(f"anonrisk.integrations.{name}")


def python_of(name):
    """Make the environment of an orchestrator, once; give its Python."""
    folder, pins = ROOT / f".venv-{name}", ROOT / "tests" / "pins" / f"{name}.txt"
    done = folder / "done.txt"
    if not done.exists() or done.read_text() != pins.read_text():
        venv.create(folder, clear=True, with_pip=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-r", pins], check=True)
        subprocess.run([*pip, "--no-deps", "-e", ROOT], check=True)
        done.write_text(pins.read_text())
    return folder / "bin" / "python"


def told(name, script, folder):
    """Run a script there; it prints JSON last."""
    env = {**os.environ, "DAGSTER_HOME": "", "AIRFLOW_HOME": str(folder)}
    env = {key: value for key, value in env.items() if value}
    done = subprocess.run(
        [python_of(name), "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


IN_DAGSTER = """
import json
import pandas as pd
from dagster import asset, materialize
from anonrisk import Policy
from anonrisk.integrations.dagster import gate

def run(value):
    made = []

    @asset
    def admissions():
        return value

    @asset
    def published(admissions):
        made.append(1)

    check = gate(admissions, Policy(quasi=["zip"], k=2))
    done = materialize([admissions, published, check], raise_on_error=False)
    passed = [found.passed for found in done.get_asset_check_evaluations()]
    return done.success, passed, bool(made)

tables = [{"zip": ["a", "a"]}, {"zip": ["a", "b"]}, {"zip": ["a", "a"], "more": [1, 2]}]
print(json.dumps([run(pd.DataFrame(cells)) for cells in tables] + [run("no table")]))
"""


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="paths of an environment")
def test_dagster_makes_nothing_behind_a_gate_that_does_not_pass(tmp_path):
    good, *bad = told("dagster", IN_DAGSTER, tmp_path)
    assert good == [True, [True], True]
    assert [(success, made) for success, _, made in bad] == [(False, False)] * 3
