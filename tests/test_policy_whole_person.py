"""The budget `whole_person`: persons who are alike as a whole, by every door."""

from __future__ import annotations

import json

import oracle
import pandas as pd
import pytest
from test_whole_person import HIDDEN, drawn, rows_of

from anonrisk import Policy, Verdict
from anonrisk.cli import main
from anonrisk.errors import PolicyError, ReleaseBlocked


def asking(limit, **more):
    return Policy(
        **{"quasi": "zip", "unit": "who", "unlisted": "ignore", **more}, whole_person=limit
    )


def found(policy, table):
    (finding,) = (f for f in policy.check(table).findings if f.budget == "whole_person")
    return finding


def test_a_table_that_hides_everybody_row_by_row_fails(frame):
    verdict = asking({"k": 2}, k=5).check(frame(HIDDEN))
    told = {finding.budget: (finding.status, finding.value) for finding in verdict.findings}
    assert told == {"k": ("pass", 5), "whole_person": ("fail", 1)}
    sentence = "The fewest persons who have the same rows of zip, all of them together, are 1; "
    assert found(asking(2), frame(HIDDEN)).sentence == f"{sentence}at least 2 are required."


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_it_is_what_the_oracle_says(frame, missing):
    cells = {**drawn(7, 40, 12), "sex": ["f"] * 40}
    more = {"max_dropped_fraction": 1.0, "dropped_are_removed": True} if missing == "drop" else {}
    expected = min(oracle.whole_persons(rows_of(cells), ["zip"], "who", missing))
    policy = asking(expected, missing=missing, max_unique_records=99, **more)
    assert (found(policy, frame(cells)).value, policy.check(frame(cells)).status) == (
        expected,
        "pass",
    )


@pytest.mark.contract
def test_without_a_unit_nobody_can_tell(frame):
    finding = found(asking(2, unit=None), frame(HIDDEN))
    assert finding.status == "could_not_assess"
    assert "no unit says which person a row belongs to" in finding.sentence
    declared = pd.DataFrame(HIDDEN).anon.declare(unit="who")
    assert found(asking(2, unit=None), declared).status == "fail"


@pytest.mark.contract
def test_what_stops_the_count_is_told(frame):
    gaps = frame({"who": [1, None], "zip": ["a", "a"]})
    assert found(asking(2), gaps).status == "could_not_assess"
    assert found(asking(2), frame({"who": [], "zip": []})).status == "could_not_assess"
    wild = asking(2, missing="wildcard").check(frame(HIDDEN))
    assert wild.status == "could_not_assess"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "at least 1"),
        ({}, "needs k"),
        ({"k": 2.5}, "whole number"),
        ({"at_least": 2}, "no key 'at_least'"),
    ],
)
def test_what_is_no_limit_is_refused(given, message):
    with pytest.raises(PolicyError, match=message):
        asking(given)


def test_it_is_of_a_whole_table():
    with pytest.raises(PolicyError, match="whole_person applies to a whole table and takes no by"):
        asking(2, by="ward")


def test_it_comes_back_as_it_was_written():
    policy = asking([{"k": 2}, {"k": 5, "severity": "warn"}])
    assert policy.to_dict()["budgets"] == {
        "whole_person": [{"k": 2}, {"k": 5, "severity": "warn"}],
    }
    assert Policy.from_yaml(policy.to_yaml()).digest == policy.digest


def test_subsets_and_explanations(frame):
    cells = {"who": [1, 1, 2, 2], "zip": ["a", "b", "b", "a"], "age": [1, 2, 3, 4]}
    subsets = [{"every_subset_of": 1, "budgets": {"whole_person": 2}}]
    policy = asking(2, quasi=["zip", "age"], qids=subsets)
    verdict = policy.check(frame(cells))
    whole, worst = verdict.findings
    assert (whole.value, worst.value, worst.qid) == (1, 1, ("age",))
    assert verdict.explain().best() == {"whole_person": "age"}
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_a_plan_says_that_it_cannot_reach_it():
    cells = pd.DataFrame({**HIDDEN, "age": range(50)})
    plan = cells.anon.plan(asking(2, quasi=["zip"], k=2))
    assert "whole_person" in repr(plan)


def test_the_command_line_has_it(tmp_path, capsys):
    pd.DataFrame(HIDDEN).to_csv(tmp_path / "t.csv", index=False)
    asking(2).save(tmp_path / "p.json")
    assert main(["check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json")]) == 1
    assert "whole_person" in capsys.readouterr().out


def test_it_is_an_expectation_of_its_own():
    gx = pytest.importorskip("anonrisk.gx")
    table = pd.DataFrame(HIDDEN)
    loose = asking(1, max_unique_records=99)
    suite = gx.load_suite(json.loads(gx.suite_to_json(loose.to_suite())))
    assert isinstance(suite.expectations[-1], gx.ExpectWholePersonKToBeAtLeast)
    assert gx.run_gate(suite, table).success
    with pytest.raises(ReleaseBlocked, match="the same rows of zip, all of them together, are 1"):
        gx.run_gate(asking(2).to_suite(), table)
    assert gx.ExpectWholePersonKToBeAtLeast(qids="zip", unit="who", k={"$PARAMETER": "k"})


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_every_door_comes_to_the_same_on_spark(spark, tmp_path):
    pytest.importorskip("anonrisk.gx")
    from tables import spark_table
    from test_doors import by_command, by_suite, judgement

    from anonrisk.cli.job import main as job

    policy, table = asking(2, k=5), spark_table(spark, HIDDEN)
    expected = policy.check(pd.DataFrame(HIDDEN))
    assert judgement(policy.check(table)) == judgement(expected)
    assert judgement(by_suite(policy, table)) == judgement(expected)
    place = tmp_path / "t.parquet"
    table.coalesce(1).write.parquet(str(place))
    found_there = by_command(lambda o: job("check", o), tmp_path, policy.to_dict(), str(place))
    assert judgement(found_there) == judgement(expected)
