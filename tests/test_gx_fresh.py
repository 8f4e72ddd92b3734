"""The gate in processes of their own, where nothing of anonrisk is loaded yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("great_expectations")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here"),
]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    run = subprocess.run(
        [sys.executable, HERE / "gx_fresh.py", tmp_path_factory.mktemp("project")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GX_ANALYTICS_ENABLED": "false"},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    found = {line["case"]: line for line in lines}
    assert "raised" not in found["prepare"], found["prepare"]
    assert not any(line["known"] for line in lines), "a process was not fresh"
    return {**found, "log": run.stderr + run.stdout}


def test_a_stored_suite_loads_and_passes_elsewhere(outcomes):
    assert outcomes["stored_suite_passes"].get("returned") == "passed", outcomes
    assert outcomes["plugin_registers_too"].get("returned") == "passed", outcomes


def test_great_expectations_alone_fails_open(outcomes):
    assert outcomes["without_the_module_gx_itself_passes"].get("returned") == "1 result"


@pytest.mark.parametrize(
    ("case", "error", "message"),
    [
        ("without_the_module", "ValidationActionRegistryRetrievalError", "anonrisk_gate"),
        ("missing_column", "ReleaseBlocked", "'zip' is not a column"),
        ("empty_table", "ReleaseBlocked", "no records"),
        ("empty_suite", "ReleaseBlocked", "evaluated nothing"),
        ("empty_suite_in_one_call", "ReleaseBlocked", "nothing would be checked"),
        ("zero_rows_fetched", "ReleaseBlocked", "could not be assessed"),
        ("metric_raising", "ReleaseBlocked", "could not be measured (RuntimeError)"),
        ("class_of_the_same_name", "ReleaseBlocked", "not by anonrisk"),
        ("parameter_missing", "SuiteParameterError", "$PARAMETER k"),
        ("parameter_missing_in_one_call", "ReleaseBlocked", "$PARAMETER k"),
        ("saved_without_the_module", "ReleaseBlocked", "evaluated 0 of 1 times"),
    ],
)
def test_it_must_not_pass(outcomes, case, error, message):
    outcome = outcomes[case]
    assert outcome.get("raised") == error, outcome
    assert message in outcome["message"]
    assert "MARKER" not in outcome["message"]
