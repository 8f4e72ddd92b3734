"""Gates of orchestrators: each stops unless the gate passes, also where it cannot tell.

By night they run in the orchestrators themselves, in environments of their own.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from environments import python_of

import anonrisk

NEEDS = {"airflow": "needs Airflow 3: pip install", "dagster": "needs Dagster: pip install"}


@pytest.mark.parametrize("name", NEEDS)
def test_what_is_missing_is_said(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"anonrisk.integrations.{name}", raising=False)
    with pytest.raises(ImportError, match=NEEDS[name]):
        importlib.import_module(f"anonrisk.integrations.{name}")


@pytest.fixture
def gate_operator(monkeypatch):
    """The operator, on a base that only takes what every operator does."""
    exceptions = ModuleType("airflow.exceptions")
    exceptions.AirflowException = type("AirflowException", (Exception,), {})
    exceptions.AirflowFailException = type("AirflowFailException", (Exception,), {})
    sdk = ModuleType("airflow.sdk")
    sdk.BaseOperator = type("BaseOperator", (), {"__init__": lambda self, task_id: None})
    for module in (ModuleType("airflow"), exceptions, sdk):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "anonrisk.integrations.airflow", raising=False)
    yield importlib.import_module("anonrisk.integrations.airflow").GateOperator
    sys.modules.pop("anonrisk.integrations.airflow")


@pytest.mark.slow
def test_nothing_that_a_template_gives_is_an_option(gate_operator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    anonrisk.Policy(quasi=["zip"], k=2).save("p.json")
    anonrisk.Policy(quasi=["zip"], max_unique_records=9).save("loose.json")
    Path("bad.csv").write_text("zip\na\nb\n")
    Path("--good.csv").write_text("zip\na\na\n")

    def run(table, *, more=()):
        gate_operator(task_id="check", table=table, policy="p.json", more=more).execute({})

    run("--good.csv")
    for table, more in (
        ("bad.csv", ()),
        ("--help", ()),
        (["bad.csv", "-h"], ()),
        (["bad.csv", "--policy=loose.json"], ()),
        ([], ()),
        ("bad.csv", ["--help"]),
        ("bad.csv", ["-hoverdict.json"]),
        ("bad.csv", ["--policy", "loose.json"]),
    ):
        with pytest.raises(Exception, match="the gate did not pass"):
            run(table, more=more)


def told(name, script, folder):
    """Run a script there; it prints JSON last."""
    env = {key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"}
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


# As it would stand in the folder of somebody's DAGs.
IN_AIRFLOW = """
from datetime import UTC, datetime
from pathlib import Path

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG

from anonrisk.integrations.airflow import GateOperator

HERE = Path(__file__).parents[1]
for name in ("good", "bad", "gone"):
    with DAG(dag_id=name, schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
        check = GateOperator(
            task_id="check",
            table=f"{HERE}/{name}.csv",
            policy=f"{HERE}/p.json",
            verdict=f"{HERE}/{name}.json",
        )
        published = HERE / f"{name}.published"
        check >> PythonOperator(task_id="publish", python_callable=published.touch)
    globals()[name] = dag
"""


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="paths of an environment")
def test_airflow_runs_nothing_behind_a_gate_that_does_not_pass(tmp_path):
    program = python_of("airflow").with_name("airflow")
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }

    def airflow(*words):
        done = subprocess.run(
            [program, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        return done.returncode

    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "gates.py").write_text(IN_AIRFLOW)
    (tmp_path / "p.json").write_text(anonrisk.Policy(quasi=["zip"], k=2).to_json())
    (tmp_path / "good.csv").write_text("zip\na\na\n")
    (tmp_path / "bad.csv").write_text("zip\na\nb\n")
    assert airflow("db", "migrate") == 0
    for name, status in (("good", "pass"), ("bad", "fail"), ("gone", "could_not_assess")):
        assert (airflow("dags", "test", name) == 0) == (status == "pass")
        assert (tmp_path / f"{name}.published").exists() == (status == "pass")
        assert json.loads((tmp_path / f"{name}.json").read_text())["status"] == status
