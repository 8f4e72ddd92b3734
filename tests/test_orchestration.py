"""The examples of pipelines: each stops unless the gate passes."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import anonrisk
from anonrisk import datasets

EXAMPLES = Path(__file__).parents[1] / "examples"
FOLDER = EXAMPLES / "orchestration"


def load(path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_script_is_python():
    scripts = sorted(FOLDER.rglob("*.py"))
    assert len(scripts) == 3
    for script in scripts:
        ast.parse(script.read_text())


def test_airflow_publishes_after_the_gate():
    # As text too, because Airflow does not go into every environment.
    text = (FOLDER / "airflow_dag.py").read_text()
    assert "[check, check_on_spark] >> publish" in text
    pytest.importorskip("airflow.sdk", reason="Airflow is not installed")
    dag = load(FOLDER / "airflow_dag.py").dag
    assert dag.get_task("publish").upstream_task_ids == {"check", "check_on_spark"}


def test_dagster_does_not_publish_what_fails(tmp_path, monkeypatch):
    assert "blocking=True" in (FOLDER / "dagster_checks.py").read_text()
    dagster = pytest.importorskip("dagster", reason="Dagster is not installed")
    module = load(FOLDER / "dagster_checks.py")
    monkeypatch.setattr(module, "PUBLIC", tmp_path / "public.parquet")
    made = dagster.materialize(
        [module.admissions, module.nobody_is_exposed, module.published], raise_on_error=False
    )
    (found,) = made.get_asset_check_evaluations()
    assert not found.passed
    assert "at least 5 are required" in found.description
    assert not (tmp_path / "public.parquet").exists()


def test_a_dbt_model_fails_with_its_table():
    module = load(FOLDER / "dbt" / "models" / "admissions_published.py")
    table = datasets.hospital(50)
    table = table.assign(year_of_birth=table.pop("date_of_birth").dt.year)

    class Dbt:
        def config(self, **settings):
            self.settings = settings

        def ref(self, name):
            assert name == "admissions_to_release"
            return table

    with pytest.raises(anonrisk.errors.ReleaseBlocked, match="smallest class"):
        module.model(Dbt(), None)
    table = table.assign(pc4="1", year_of_birth=2, gender="f", admission_date="2010")
    dbt = Dbt()
    assert module.model(dbt, None) is table
    assert dbt.settings["materialized"] == "table"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_cron_moves_only_what_passes(tmp_path):
    shim = tmp_path / "bin" / "anonrisk"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m anonrisk "$@"\n')
    shim.chmod(0o755)
    env = {**os.environ, "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "public").mkdir()
    (tmp_path / "p.json").write_text(anonrisk.Policy(quasi=["zip"], k=2).to_json())

    def night(text):
        (tmp_path / "t.csv").write_text(text)
        command = [FOLDER / "nightly.sh", "t.csv", "p.json", "public"]
        return subprocess.run(
            list(map(str, command)),
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    done = night("zip\n1\n2\n")
    assert done.returncode == 1
    assert "not published (exit code 1)" in done.stderr
    assert json.loads((tmp_path / "t.csv.verdict.json").read_text())["status"] == "fail"
    assert not list((tmp_path / "public").iterdir())
    assert night("zap\n1\n1\n").returncode == 3
    assert night("zip\n1\n1\n").returncode == 0
    assert [path.name for path in (tmp_path / "public").iterdir()] == ["t.csv"]


SHELL = {**os.environ, "PYTHONSTARTUP": str(EXAMPLES / "startup.py")}


@pytest.mark.slow
def test_a_shell_has_anon():
    typed = "import pandas as pd\nprint('k is', pd.DataFrame({'x': [1, 1]}).anon.k('x'))\n"
    done = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=typed,
        env=SHELL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "k is 2" in done.stdout


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.spark("spark")
def test_a_pyspark_shell_has_anon():
    import pyspark

    shell = Path(pyspark.__file__).parent / "bin" / "pyspark"
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    # As if somebody typed: Python starts up only for those.
    env = {**SHELL, **python, "PYSPARK_DRIVER_PYTHON_OPTS": "-i"}
    done = subprocess.run(
        [str(shell), "--master", "local[1]", "--conf", "spark.ui.enabled=false"],
        input="print('k is', spark.range(3).anon.k('id'))\n",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "k is 1" in done.stdout, done.stderr[-1000:]
