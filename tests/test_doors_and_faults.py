"""Every door against every fault: none lets a table through that nobody has judged.

A cell of the table is a run of the door, or the reason in `NOT_ASKED` why there is none.
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pandas as pd
import pytest

from anonrisk import Policy, Release
from anonrisk.cli import main as command_line
from anonrisk.errors import PolicyError, ReleaseBlocked

SAME = {"zip": ["a"] * 120}
EMAILS = [f"p{i}@example.org" for i in range(120)]
QUASI = {"quasi": ["zip"]}
FAIL, DOUBT = "fail", "could_not_assess"
# Of each fault: what the policy says beside its version, the table, and what a gate must answer.
FAULTS = {
    "every budget only warns": (
        {"roles": QUASI, "budgets": {"k": {"at_least": 5, "severity": "warn"}}},
        SAME,
        DOUBT,
    ),
    "a limit that nothing breaks": (
        {"roles": QUASI, "budgets": {"max_unique_fraction": 1}},
        SAME,
        DOUBT,
    ),
    "an advisory policy": (
        {"roles": QUASI, "advisory": True, "budgets": {"k": 1}},
        SAME,
        DOUBT,
    ),
    "a draft": ({"roles": QUASI, "reviewed": False, "budgets": {"k": 5}}, SAME, DOUBT),
    "a column without a role": (
        {"roles": QUASI, "budgets": {"k": 5}},
        {**SAME, "note": ["x"] * 120},
        DOUBT,
    ),
    "addresses that are called sensitive": (
        {"roles": {**QUASI, "sensitive": ["contact"]}, "budgets": {"k": 5}},
        {**SAME, "contact": EMAILS},
        DOUBT,
    ),
    "names that are called insensitive": (
        {"roles": {**QUASI, "insensitive": ["note"]}, "budgets": {"k": 5}},
        {**SAME, "note": [f"text {i:03}" for i in range(120)]},
        DOUBT,
    ),
    "a direct identifier in another alphabet": (
        {"roles": {**QUASI, "direct": ["name"]}, "unlisted": "ignore", "budgets": {"k": 5}},
        {**SAME, "n\u0430me": ["x"] * 120},
        DOUBT,
    ),
    "a direct identifier that is a number": (
        {"roles": {**QUASI, "direct": [2020]}, "unlisted": "ignore", "budgets": {"k": 5}},
        {**SAME, "2020": ["x"] * 120},
        FAIL,
    ),
}


def by_policy(document, table, _):
    return Policy.from_dict(document).check(table).status


def by_suite(document, table, _):
    gx = pytest.importorskip("anonrisk.gx")
    try:
        gx.run_gate(Policy.from_dict(document).to_suite(), table)
    except ReleaseBlocked as blocked:
        return blocked.verdict.status
    return "pass"


def by_checkpoint(document, table, _):
    agx = pytest.importorskip("anonrisk.gx")
    gx = pytest.importorskip("great_expectations")
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("p").add_dataframe_asset("t")
    suite = context.suites.add(Policy.from_dict(document).to_suite("s"))
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(
            name="v", data=asset.add_batch_definition_whole_dataframe("w"), suite=suite
        )
    )
    checkpoint = gx.Checkpoint(
        name="c",
        validation_definitions=[definition],
        actions=[agx.AnonriskGateAction.requiring(suite)],
    )
    try:
        context.checkpoints.add(checkpoint).run(batch_parameters={"dataframe": table})
    except ReleaseBlocked as blocked:
        return blocked.verdict.status
    return "pass"


def by_command(document, table, folder, run=None):
    table.to_csv(folder / "t.csv", index=False)
    (folder / "p.json").write_text(json.dumps(document))
    words = [str(folder / "t.csv"), "--policy", str(folder / "p.json")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = command_line(["check", *words]) if run is None else run(words)
    return {0: "pass", 1: FAIL, 3: DOUBT}[code]


def by_release(document, table, folder):
    table.to_csv(folder / "t.csv", index=False)
    return Release({"t": str(folder / "t.csv")}, Policy.from_dict(document)).check().status


def by_dbt(document, table, _):
    from anonrisk.policy.dbt.model import python_model

    try:
        (text,) = python_model(Policy.from_dict(document), "t").values()
    except PolicyError:
        # No model is written that would never be built.
        return DOUBT
    program: dict = {}
    exec(text, program)

    class Dbt:
        config = staticmethod(lambda **_: None)
        ref = staticmethod(lambda _: table)

    try:
        program["model"](Dbt, None)
    except ReleaseBlocked as blocked:
        return blocked.verdict.status
    return "pass"


DOORS = {
    "Policy": by_policy,
    "suite": by_suite,
    "checkpoint": by_checkpoint,
    "command line": by_command,
    "dbt": by_dbt,
    "release": by_release,
}
ON_SPARK = ("Spark job", "stream")
NOT_ASKED = {
    **dict.fromkeys(
        [(door, "a direct identifier that is a number") for door in ("suite", "checkpoint")],
        "to_suite refuses names that are no text, by name",
    )
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", DOORS)
def test_no_door_lets_a_fault_through(door, fault, tmp_path):
    document, cells, answer = FAULTS[fault]
    document = {"version": 1, **document}
    if (door, fault) in NOT_ASKED:
        with pytest.raises(PolicyError, match="without a text for a name"):
            DOORS[door](document, pd.DataFrame(cells), tmp_path)
        return
    assert DOORS[door](document, pd.DataFrame(cells), tmp_path) == answer


@pytest.mark.spark("spark")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", ON_SPARK)
def test_no_door_of_spark_does(spark, door, fault, tmp_path):
    from anonrisk.cli.job import main
    from anonrisk.spark import foreach_batch

    document, cells, answer = FAULTS[fault]
    document = {"version": 1, **document}
    if door == "Spark job":
        found = by_command(
            document,
            pd.DataFrame(cells),
            tmp_path,
            lambda words: main("check", [*words, "--format=csv"]),
        )
        assert found == answer
        return
    released = []
    gate = foreach_batch(
        Policy.from_dict(document), lambda *batch: released.append(batch), str(tmp_path / "q")
    )
    gate(spark.createDataFrame(pd.DataFrame(cells)), 1)
    assert not released
    assert list(Path(tmp_path, "q", "batch_id=1").glob("*.parquet"))


def test_rows_outside_a_condition_are_of_suites_and_checkpoints():
    """Only expectations have row conditions; `test_gx_coverage` asks both doors."""
    names = Path(__file__).with_name("test_gx_coverage.py").read_text(encoding="utf-8")
    assert "def test_rows_that_no_condition_keeps_block" in names
    assert "def test_in_a_checkpoint_too" in names


def test_what_files_hold_besides_rows_is_of_doors_that_read_them():
    """The command line and releases read files; `test_storage` asks both."""
    text = Path(__file__).with_name("test_storage.py").read_text(encoding="utf-8")
    assert "Release(" in text
    assert "main(" in text or "command_line(" in text
