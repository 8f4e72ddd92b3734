"""`max_records_below_k`: how many records, or persons, may be in small classes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import Policy, Verdict
from anonrisk.cli import main
from anonrisk.errors import PolicyError, ReleaseBlocked

SCHEMA = Path(anonrisk.__file__).parent / "policy" / "schema.json"
CELLS = {
    "zip": ["a", "a", "a", "b", "b", "c", None],
    "who": [1, 1, 2, 3, 4, 5, 6],
    "ward": ["x", "x", "y", "x", "y", "y", "y"],
}


def asking(k, at_most, **more):
    budget = {"k": k, "at_most": at_most}
    return Policy(quasi="zip", unlisted="ignore", max_records_below_k=budget, **more)


def found(policy, table):
    (finding,) = (f for f in policy.check(table).findings if f.budget == "max_records_below_k")
    return finding


@pytest.mark.parametrize(("k", "expected"), [(2, 2), (3, 4), (4, 7)])
def test_records_are_counted(frame, k, expected):
    table = frame(CELLS)
    kept, broken = found(asking(k, expected), table), found(asking(k, expected - 1), table)
    assert (kept.status, kept.value, kept.margin) == ("pass", expected, 0)
    assert (broken.status, broken.value, broken.margin) == ("fail", expected, -1)
    assert isinstance(kept.value, int)


def test_persons_are_counted_with_a_unit(frame):
    finding = found(asking(3, 5, unit="who"), frame(CELLS))
    # Two of them in a, two in b, one in c, one without a zip.
    assert (finding.value, finding.status) == (6, "fail")
    assert finding.sentence == "6 persons are in classes of zip smaller than 3; at most 5 may be."


def test_groups_have_a_number_each(frame):
    verdict = asking(2, 1, by="ward").check(frame(CELLS))
    told = {f.group: (f.value, f.status) for f in verdict.findings}
    assert told == {"x": (1, "pass"), "y": (4, "fail")}
    one = next(f for f in verdict.findings if f.group == "x")
    assert one.sentence == "In x: 1 record is in classes of zip smaller than 2; at most 1 may be."


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40), st.integers(2, 9))
def test_it_is_what_counting_by_hand_gives(cells, k):
    expected = sum(n for n in Counter(cells).values() if n < k)
    assert found(asking(k, 0), pd.DataFrame({"zip": cells})).value == expected


@pytest.mark.contract
@pytest.mark.parametrize("cells", [{"zip": []}, {"age": [1, 2]}, {"zip": [None, None]}])
def test_a_table_that_cannot_be_assessed_does_not_pass(frame, cells):
    more = {"missing": "error"} if cells == {"zip": [None, None]} else {}
    assert asking(2, 100, **more).check(frame(cells)).status == "could_not_assess"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "alone does not say all of it"),
        ({"k": 5}, "needs at_most"),
        ({"at_most": 5}, "needs k"),
        ({"k": 1, "at_most": 5}, "at least 2"),
        ({"k": 5, "at_most": 0.5}, "whole number"),
        ({"k": 5, "at_most": -1}, "at least 0"),
        ({"k": 5, "at_most": True}, "must be a number"),
        ({"k": 5, "share": 0.1}, "no key 'share'"),
    ],
)
def test_what_is_no_limit_is_refused(given, message):
    with pytest.raises(PolicyError, match=message):
        Policy(quasi="zip", max_records_below_k=given)
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    document = {"version": 1, "budgets": {"max_records_below_k": given}}
    assert not jsonschema.Draft202012Validator(schema).is_valid(document)


def test_it_comes_back_as_it_was_written():
    limits = [{"k": 5, "at_most": 10}, {"k": 11, "at_most": 3, "severity": "warn"}]
    policy = Policy(quasi="zip", max_records_below_k=limits)
    written = [{"at_most": 10, "k": 5}, {"at_most": 3, "k": 11, "severity": "warn"}]
    assert policy.to_dict()["budgets"] == {"max_records_below_k": written}
    assert Policy.from_yaml(policy.to_yaml()).digest == policy.digest


def test_subsets_and_explanations(frame):
    policy = Policy(
        quasi=["zip", "who"],
        unlisted="ignore",
        qids=[{"every_subset_of": 1, "budgets": {"max_records_below_k": {"k": 2, "at_most": 2}}}],
        max_records_below_k={"k": 2, "at_most": 2},
    )
    verdict = policy.check(frame(CELLS))
    whole, worst = verdict.findings
    assert (whole.value, worst.value, worst.qid) == (5, 5, ("who",))
    assert verdict.explain().best() == {"max_records_below_k": "who"}
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_the_command_line_offers_a_plan(tmp_path, capsys):
    pd.DataFrame({"zip": list("aab")}).to_csv(tmp_path / "t.csv", index=False)
    asking(2, 0).save(tmp_path / "p.json")
    assert main(["check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json")]) == 1
    assert "anonrisk plan " in capsys.readouterr().out


def test_it_is_an_expectation_of_its_own():
    gx = pytest.importorskip("anonrisk.gx")
    table = pd.DataFrame(CELLS)
    suite = gx.load_suite(json.loads(gx.suite_to_json(asking(3, 4).to_suite())))
    assert isinstance(suite.expectations[1], gx.ExpectNumberOfRecordsInSmallClassesToBeAtMost)
    assert gx.run_gate(suite, table).success
    with pytest.raises(ReleaseBlocked, match="4 records are in classes of zip smaller than 3"):
        gx.run_gate(asking(3, 3).to_suite(), table)
    by_parameter = {"k": {"$PARAMETER": "k"}, "max_records_below_k": {"$PARAMETER": "n"}}
    assert gx.ExpectNumberOfRecordsInSmallClassesToBeAtMost(qids="zip", **by_parameter)
    for wrong in (
        {"k": 1, "max_records_below_k": 1},
        {"k": 2},
        {"k": 2, "max_records_below_k": 0.5},
    ):
        with pytest.raises(ValueError, match=r"max_records_below_k|at least 2"):
            gx.ExpectNumberOfRecordsInSmallClassesToBeAtMost(qids="zip", **wrong)


@pytest.mark.slow
@pytest.mark.spark("spark")
@pytest.mark.parametrize("unit", [None, "who"])
def test_every_door_comes_to_the_same_on_spark(spark, tmp_path, unit):
    pytest.importorskip("anonrisk.gx")
    from tables import spark_table
    from test_doors import by_command, by_suite, judgement

    from anonrisk.cli.job import main as job

    policy, table = asking(3, 4, unit=unit), spark_table(spark, CELLS)
    expected = policy.check(pd.DataFrame(CELLS))
    assert expected.findings[0].value == (4 if unit is None else 6)
    assert judgement(policy.check(table)) == judgement(expected)
    assert judgement(by_suite(policy, table)) == judgement(expected)
    place = tmp_path / "t.parquet"
    table.coalesce(1).write.parquet(str(place))
    found = by_command(lambda o: job("check", o), tmp_path, policy.to_dict(), str(place))
    assert judgement(found) == judgement(expected)


def test_it_is_counted_in_a_database():
    sa = pytest.importorskip("sqlalchemy")
    from anonrisk.engines.sql import SqlTable

    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        pd.DataFrame(CELLS).to_sql("t", connection, index=False)
        table = SqlTable(connection, sa.Table("t", sa.MetaData(), autoload_with=connection))
        for unit, expected in ((None, 4), ("who", 6)):
            assert found(asking(3, 4, unit=unit), table).value == expected
