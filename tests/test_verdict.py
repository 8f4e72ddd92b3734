"""Checking tables against policies: a table that cannot be assessed never passes."""

from __future__ import annotations

import copy
import datetime as dt
import json
import math
import pickle
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import without_rows

import anonrisk
from anonrisk import Policy, Verdict, datasets, errors
from anonrisk.api.class_sizes import ClassSizes
from anonrisk.measures.counts.question import ByGroup, MarkedRows, Question, SumsOfWeights
from anonrisk.policy import judge
from anonrisk.policy.budgets import BUDGETS
from anonrisk.policy.budgets.base import within

CELLS = {
    "zip": ["a", "a", "a", "b", "b", "b", "b", None],
    "age": [1, 1, 1, 2, 2, 3, 3, 3],
    "ill": ["flu", "flu", "cold", "flu", "cold", "flu", "cold", None],
    "cost": [1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 2.0, 3.0],
    "who": [1, 2, 3, 4, 5, 6, 7, 8],
    "ward": ["x", "x", "x", "x", "x", "y", "y", "y"],
}
SECRET = "s3cr3t-cell"


def asking(**keys):
    """A policy about budgets: tests of other columns and missing diagnoses say so themselves."""
    return Policy(**{"unlisted": "ignore", "missing_sensitive": "value", **keys})


def only(verdict, budget):
    (found,) = [finding for finding in verdict.findings if finding.budget == budget]
    return found


def statuses(verdict):
    return {finding.budget: finding.status for finding in verdict.findings}


# ---- every budget, on every engine --------------------------------------------------------------


@pytest.mark.contract
def test_every_budget_of_sizes_and_values(frame):
    table = frame(CELLS)
    policy = asking(
        quasi=["zip", "age"],
        sensitive=["ill", "cost"],
        k=2,
        max_unique_fraction=0.2,
        max_unique_records=0,
        max_fraction_below_k={"k": 3, "at_most": 0.5},
        ldiv=[{"l": 2, "sensitive": "ill"}, {"l": 1.5, "variant": "entropy", "sensitive": "ill"},
              {"l": 1, "variant": "recursive", "c": 3, "sensitive": "ill"}],
        tcloseness=[{"t": 0.5, "distance": "equal", "sensitive": "ill"},
                    {"t": 0.9, "distance": "ordered", "sensitive": "cost"}],
        risk={"prosecutor": {"highest": 0.5, "average": 0.7,
                             "share_above": {"threshold": 0.4, "at_most": 0.6}},
              "marketer": {"average": 0.5}},
    )  # fmt: skip
    verdict = policy.check(table)
    q = ["zip", "age"]
    risk = table.anon.risk(q)
    expected = {
        "k": table.anon.k(q),
        "max_unique_fraction": table.anon.uniqueness(q),
        "max_unique_records": 1,
        "max_fraction_below_k": 5 / 8,
        "risk.prosecutor.highest": risk.prosecutor.highest,
        "risk.prosecutor.average": risk.prosecutor.average,
        "risk.prosecutor.share_above": risk.prosecutor.share_above(0.4),
        "risk.marketer.average": risk.marketer.average,
    }
    for budget, value in expected.items():
        assert only(verdict, budget).value == pytest.approx(value, rel=1e-12), budget
        assert only(verdict, budget).qid == ("zip", "age")
    by_kind = {f.parameters["variant"]: f for f in verdict.findings if f.budget == "ldiv"}
    assert by_kind["distinct"].value == table.anon.ldiv(q, "ill")
    assert by_kind["entropy"].value == pytest.approx(table.anon.ldiv(q, "ill", "entropy"))
    assert by_kind["recursive"].value == table.anon.ldiv(q, "ill", "recursive", c=3)
    by_distance = {
        f.parameters["distance"]: f for f in verdict.findings if f.budget == "tcloseness"
    }
    assert by_distance["equal"].value == pytest.approx(table.anon.tcloseness(q, "ill", "equal"))
    assert by_distance["ordered"].value == pytest.approx(
        table.anon.tcloseness(q, "cost", "ordered")
    )
    found = statuses(verdict)
    assert found["k"] == "fail"
    assert found["max_unique_fraction"] == "pass"
    assert found["max_unique_records"] == "fail"
    assert found["risk.prosecutor.average"] == "pass"
    assert verdict.status == "fail"
    assert only(verdict, "k").margin == -1
    assert only(verdict, "max_unique_fraction").margin == pytest.approx(0.075)
    assert verdict.n_records == verdict.n_rows == 8
    assert verdict.engine.startswith(("pandas", "spark", "pandas_on_spark", "arrow", "sql", "scan"))


@pytest.mark.contract
def test_a_table_that_keeps_every_budget_passes(frame):
    table = frame({name: column[:2] * 3 for name, column in CELLS.items() if name != "cost"})
    policy = asking(quasi=["zip", "age"], sensitive="ill", direct="name", k=6)
    verdict = policy.check(table)
    assert (verdict.status, bool(verdict), verdict.passed) == ("pass", True, True)
    assert set(statuses(verdict).values()) == {"pass"}
    verdict.raise_for_status()
    assert "pass" in repr(verdict)


@pytest.mark.contract
def test_persons_missing_values_groups_and_suppressed_cells(frame):
    table = frame({**CELLS, "who": [1, 1, 1, 4, 4, 6, 7, 8]})
    unit = asking(quasi=["zip", "age"], sensitive="ill", unit="who", k=2, max_unique_records=3,
                  max_unique_fraction=1.0, ldiv={"l": 1}).check(table)  # fmt: skip
    assert only(unit, "k").value == 1
    assert only(unit, "max_unique_records").value == 3
    assert only(unit, "max_unique_fraction").value == 3 / 5
    assert "persons" in only(unit, "max_unique_fraction").sentence
    assert (unit.unit, unit.n_records, unit.n_rows) == ("who", 5, 8)

    dropping = {"missing": "drop", "max_dropped_fraction": 0.125}
    dropped = asking(quasi=["zip", "age"], k=2, **dropping).check(table)
    assert only(dropped, "k").status == "pass"
    assert only(dropped, "max_dropped_fraction").status == "could_not_assess"
    assert dropped.status == "could_not_assess"
    removed = asking(quasi=["zip", "age"], k=2, dropped_are_removed=True, **dropping).check(table)
    assert removed.status == "pass"
    assert (removed.n_dropped, removed.missing) == (1, "drop")
    strict = {**dropping, "max_dropped_fraction": 0.1}
    assert (
        asking(quasi="zip", k=2, dropped_are_removed=True, **strict).check(table).status == "fail"
    )

    by = asking(quasi="zip", sensitive="ill", by="ward", k=2, ldiv={"l": 2}).check(table)
    groups = {f.group: f for f in by.findings if f.budget == "k"}
    assert {group: f.value for group, f in groups.items()} == {"x": 2, "y": 1}
    assert groups["y"].sentence.startswith("In y: ")
    assert only(by, "ldiv").value == table.anon.ldiv(["zip", "ward"], "ill")

    marked = asking(quasi=["zip", "age"], suppressed="a", max_suppressed=0.4).check(table)
    assert only(marked, "max_suppressed").value == 3 / 8
    more = asking(quasi=["zip", "age"], suppressed="a", max_suppressed=0.4).check(
        table, n_original=10
    )
    assert (only(more, "max_suppressed").value, more.status) == (0.5, "fail")


@pytest.mark.contract
def test_what_goes_wrong_with_a_table_never_passes(frame):
    table = frame(CELLS)
    for policy, word in (
        (asking(quasi=["zip", "agee"], max_unique_records=99), "did you mean 'age'"),
        (asking(quasi=["zip"], unit="whoo", max_unique_records=99), "did you mean 'who'"),
        (asking(quasi=["zip"], by="wards", max_unique_records=99), "did you mean 'ward'"),
        (asking(quasi=["zip"], sensitive="il", ldiv={"l": 2}), "did you mean 'ill'"),
        (asking(quasi=["zip"], ldiv={"l": 2}), "no sensitive column"),
        (asking(max_unique_records=99), "no quasi-identifiers"),
        (asking(quasi=["zip"], max_unique_records=99, missing="error"), "missing"),
        (asking(quasi=["zip"], max_unique_records=99, sensitive="ill", ldiv={"l": 1},
                missing_sensitive="error"), "missing_sensitive"),
        (asking(quasi=["zip"], sensitive="ill", tcloseness={"t": 0.9, "distance": "ordered"}),
         "order"),
        (asking(quasi=["zip"], max_suppressed=0.9), "n_original"),
    ):  # fmt: skip
        verdict = policy.check(table)
        assert verdict.status == "could_not_assess", policy
        assert not verdict
        assert word in " ".join(f.sentence for f in verdict.findings), policy
        with pytest.raises(errors.ReleaseBlocked, match="could_not_assess"):
            verdict.raise_for_status()
    empty = without_rows(table)
    verdict = asking(quasi=["zip"], sensitive="ill", max_unique_records=99, ldiv={"l": 2}).check(
        empty
    )
    assert verdict.status == "could_not_assess"
    assert "no records" in verdict.findings[0].sentence


@pytest.mark.contract
def test_what_one_budget_cannot_measure_others_can(frame):
    policy = asking(
        quasi=["zip"],
        sensitive="ill",
        k=1,
        ldiv={"l": 1},
        tcloseness={"t": 0.9, "distance": "ordered"},
    )
    found = statuses(policy.check(frame(CELLS)))
    # Beside a limit that a table can break, those that none can are told.
    assert found.pop("limits") == "fail"
    assert found == {"k": "pass", "ldiv": "pass", "tcloseness": "could_not_assess"}


@pytest.mark.contract
def test_every_subset(frame):
    table = frame(CELLS)
    rule = {"every_subset_of": 2, "budgets": {"k": 2, "ldiv": {"l": 1}}}
    policy = asking(quasi=["zip", "age", "ward"], sensitive="ill", qids=[rule], k=1)
    verdict = policy.check(table)
    worst = min(combinations(["zip", "age", "ward"], 2), key=lambda qid: table.anon.k(list(qid)))
    found = [f for f in verdict.findings if f.budget == "k" and f.limit == 2]
    assert len(found) == 1
    assert found[0].value == table.anon.k(list(worst))
    # Of zip and age, and of zip and ward, the one without a zip is alone; of age and ward nobody.
    assert found[0].sentence.endswith("(The worst of 3 subsets; 2 of them do not pass.)")
    diverse = only(verdict, "ldiv").sentence
    assert diverse.endswith("(The worst of 3 subsets; 0 of them do not pass.)")


@pytest.mark.contract
def test_roles_that_a_table_declares(frame):
    table = frame(CELLS).anon.declare(quasi=["zip", "age"], sensitive="ill", direct="who")
    verdict = asking(k=1, ldiv={"l": 1}, max_unique_records=99).check(table)
    found = statuses(verdict)
    assert (found.pop("limits"), found.pop("max_unique_records")) == ("fail", "pass")
    assert found == {"direct": "fail", "k": "pass", "ldiv": "pass"}
    assert only(verdict, "k").qid == ("zip", "age")
    assert "'who'" in only(verdict, "direct").sentence
    assert verdict.status == "fail"
    narrower = asking(quasi="zip", k=1).check(table)
    assert only(narrower, "k").qid == ("zip",)
    rules = [{"columns": "ward", "budgets": {"k": 1}}]
    both = asking(k=1, qids=rules).check(table)
    assert [f.qid for f in both.findings if f.budget == "k"] == [("zip", "age"), ("ward",)]


def test_declared_roles_of_a_table_that_changed():
    table = pd.DataFrame(CELLS).anon.declare(
        quasi=["zip", "age"], sensitive=["ill", "cost"], insensitive=["who", "ward"]
    )
    policy = Policy(max_unique_records=99, ldiv={"l": 1}, missing_sensitive="value")
    assert policy.check(table).passed
    assert policy.check(table.drop(columns=["cost", "age"])).passed
    assert policy.check(table.assign(new=1)).status == "could_not_assess"
    renamed = table.rename(columns={"cost": "costs"})
    lenient = asking(max_unique_records=99, ldiv={"l": 1})
    assert lenient.check(renamed).status == "could_not_assess"
    assert lenient.check(table.rename(columns={"age": "years"})).status == "could_not_assess"


def test_explanations(frame):
    table = frame({"zip": ["a", "a", "b", "b"], "id": [1, 2, 3, 4], "ill": ["x", "y", "x", "y"]})
    policy = asking(quasi=["zip", "id"], sensitive="ill", k=2, ldiv={"l": 2})
    explained = policy.check(table).explain()
    assert explained.best() == {"k": "id", "ldiv": "id"}
    first = explained.columns[0]
    assert (first.column, first.after.value, first.after.status) == ("id", 2, "pass")
    assert "would be" in repr(explained)
    pair = [{"l": 2, "sensitive": "ill"}, {"l": 2, "sensitive": "other"}]
    two = asking(quasi=["zip", "id"], sensitive=["ill", "other"], ldiv=pair)
    both = frame({"zip": ["a", "a"], "id": [1, 2], "ill": ["x", "y"], "other": ["x", "x"]})
    found = two.check(both).explain()
    assert {(w.before.sensitive, w.column) for w in found.columns} == {
        (sensitive, column) for sensitive in ("ill", "other") for column in ("zip", "id")
    }
    assert json.loads(json.dumps(explained.to_dict()))["without"][0]["column"] == "id"
    assert explained._repr_html_().count("<table>") == 1


def test_assess_takes_a_policy(frame):
    table = frame(CELLS)
    policy = asking(
        quasi=["zip", "age"],
        sensitive="ill",
        k=2,
        ldiv={"l": 2, "variant": "recursive", "c": 2},
        tcloseness={"t": 0.1, "distance": "equal"},
        risk={"prosecutor": {"highest": 0.1}},
    )
    found = table.anon.assess(policy)
    names = {"k", "uniqueness", "recursive_ldiv", "tcloseness", "highest_risk"}
    assert {name for name, _ in found.values} == names
    assert found["k"] == table.anon.k(["zip", "age"])
    assert found["tcloseness"].distance == "equal"


def test_assess_takes_a_policy_that_names_a_sensitive_column_and_asks_nothing_of_it(frame):
    table = frame(CELLS)
    policy = asking(quasi=["zip", "age"], sensitive="ill", missing_sensitive="error", k=2)
    found = table.anon.assess(policy)
    assert found.values.keys() == {("k", None), ("uniqueness", None)}
    with pytest.raises(errors.ArgumentError, match="give it alone"):
        table.anon.assess(policy, missing_sensitive="drop")


# ---- passes -------------------------------------------------------------------------------------

ALL_AT_ONCE = {
    "quasi": ["zip", "age"],
    "sensitive": "ill",
    "k": 1,
    "max_unique_fraction": 1,
    "ldiv": [{"l": 1}, {"l": 1, "variant": "entropy"}, {"l": 1, "variant": "recursive", "c": 9}],
    "tcloseness": {"t": 1, "distance": "equal"},
    "risk": {"prosecutor": {"average": 1}, "marketer": {"average": 1}},
}


@pytest.fixture
def calls(monkeypatch):
    from anonrisk.engines.pandas import PandasEngine

    seen = []
    for name in ("count", "score", "match", "profiles"):
        method = getattr(PandasEngine, name)

        def recorded(self, frame, asked, *more, _name=name, _method=method):
            plain = _name != "count" or isinstance(asked, Question)
            seen.append(_name if plain else type(asked).__name__)
            return _method(self, frame, asked, *more)

        monkeypatch.setattr(PandasEngine, name, recorded)
    return seen


def test_one_pass_per_quasi_identifier_and_sensitive_column(calls):
    table = pd.DataFrame(CELLS)
    asking(**ALL_AT_ONCE).check(table)
    assert calls == ["score", "CellContents"]
    calls.clear()
    asking(**{**ALL_AT_ONCE, "sensitive": ["ill", "cost"]}).check(table)
    assert calls == ["score", "score", "CellContents"]
    calls.clear()
    subsets = [{"every_subset_of": m, "budgets": {"k": 1}} for m in (1, 2)]
    asking(quasi=["zip", "age", "ward"], k=1, qids=subsets).check(table)
    assert calls == ["count", "CellContents"]
    calls.clear()
    # The same quasi-identifier in two rules is measured once.
    again = [{"columns": ["zip", "age"], "budgets": {"k": 3, "ldiv": {"l": 2}}}]
    asking(**ALL_AT_ONCE, qids=again).check(table)
    assert calls == ["score", "CellContents"]
    calls.clear()
    ordered = [{"t": 1, "distance": "ordered"}, {"t": 1, "distance": "equal"}]
    asking(quasi="zip", sensitive="cost", k=1, ldiv={"l": 1}, tcloseness=ordered).check(table)
    assert calls == ["score", "CellContents"]
    calls.clear()
    asking(quasi="zip", by="ward", k=1, max_unique_fraction=1).check(table)
    assert calls == ["ByGroup", "CellContents"]
    calls.clear()
    asking(**ALL_AT_ONCE, missing_sensitive="drop").check(table)
    assert calls == ["score", "count", "CellContents"]


@pytest.mark.spark("spark")
def test_a_whole_gate_is_two_spark_jobs(spark):
    import uuid

    from tables import spark_table

    table = spark_table(spark, CELLS)
    tracker = spark.sparkContext.statusTracker()
    spark.conf.set("spark.sql.adaptive.enabled", "false")

    def jobs(policy):
        group = uuid.uuid4().hex
        spark.sparkContext.setJobGroup(group, "counted")
        policy.check(table)
        found = len(tracker.getJobIdsForGroup(group))
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        return found

    def assessed():
        return table.anon.assess(["zip", "age"], "ill", ["ldiv", "tcloseness"], distance="equal")

    try:
        sizes = {"quasi": ["zip", "age", "ward"], "k": 1, "max_unique_fraction": 1}
        # One counts, one looks at what the columns hold.
        assert jobs(asking(**sizes)) == 2
        subsets = [{"every_subset_of": 2, "budgets": {"k": 1}}]
        assert jobs(asking(**sizes, qids=subsets)) == 2
        group = uuid.uuid4().hex
        spark.sparkContext.setJobGroup(group, "counted")
        assessed()
        once = len(tracker.getJobIdsForGroup(group))
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        # Before values are counted, one looks whether nearly all of the first records differ.
        assert jobs(asking(**ALL_AT_ONCE)) == once + 1 <= 4
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "true")


# ---- what decides -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severities", "expected", "with_warnings"),
    [
        ([("pass", "fail"), ("fail", "fail")], "fail", "fail"),
        ([("pass", "fail"), ("could_not_assess", "fail")], "could_not_assess", "could_not_assess"),
        ([("fail", "fail"), ("could_not_assess", "fail")], "fail", "fail"),
        ([("pass", "fail"), ("fail", "warn")], "pass", "fail"),
        ([("pass", "fail"), ("could_not_assess", "warn")], "could_not_assess", "could_not_assess"),
        ([("could_not_assess", "fail"), ("fail", "warn")], "could_not_assess", "fail"),
        ([("pass", "fail")], "pass", "pass"),
        ([], "could_not_assess", "could_not_assess"),
    ],
)
def test_how_findings_add_up(severities, expected, with_warnings):
    from anonrisk.policy import Finding

    findings = tuple(Finding("k", status, severity, "Told.") for status, severity in severities)
    verdict = Verdict(findings, "sha256:0")
    assert verdict.status == expected
    assert verdict.status_with_warnings == with_warnings
    assert bool(verdict) is (expected == "pass")
    if expected != "pass":
        with pytest.raises(errors.ReleaseBlocked, match=expected):
            verdict.raise_for_status()
    if with_warnings != "pass":
        with pytest.raises(errors.ReleaseBlocked):
            verdict.raise_for_status(fail_on="warn")
    else:
        verdict.raise_for_status(fail_on="warn")
    with pytest.raises(errors.ArgumentError):
        verdict.raise_for_status(fail_on="never")


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "expected"),
    [
        (math.exp(math.log(2)) * (1 - 1e-15), 2, True, True),
        (1.9999999999999998, 2, True, True),
        (1.99999, 2, True, False),
        (0.1 + 0.2, 0.3, False, True),
        (0.3001, 0.3, False, False),
        (0.0, 0.0, False, True),
        (1e-300, 0.0, False, False),
        (4, 5, True, False),
        (10**15, 10**15 - 1, False, False),
        (10**15, 10**15, False, True),
        (math.inf, 1.0, False, False),
        (math.nan, 1.0, False, False),
        (math.nan, 1.0, True, False),
    ],
)
def test_comparison_with_limits(value, limit, at_least, expected):
    assert within(value, limit, at_least=at_least) is expected


def test_nan_and_infinity_never_pass():
    budget = BUDGETS["max_unique_fraction"](0.1)
    assert judge.status_of(budget, judge.Value(math.nan)) == "could_not_assess"
    assert judge.status_of(budget, judge.Value(0.0, estimate=math.nan)) == "could_not_assess"
    assert judge.status_of(budget, judge.Value(math.inf)) == "fail"


@pytest.mark.parametrize(
    ("estimate", "high", "status"),
    [(1.0, 1.9, "pass"), (1.0, 2.1, "could_not_assess"), (2.1, 3.0, "fail"), (2.0, 2.0, "pass")],
)
def test_predictions_are_judged_by_the_upper_end(monkeypatch, estimate, high, status):
    class Predicted:
        mean = estimate

        def interval(self, level):
            assert level == 0.95
            return 0.0, high

    monkeypatch.setattr(ClassSizes, "predict_singletons", lambda *_: Predicted(), raising=False)
    table = pd.DataFrame(CELLS)
    for limit in ({"at_most": 2}, {"at_most_fraction": 0.5}):
        policy = asking(quasi="zip", predicted_singletons={"group_size": 4, **limit})
        found = only(policy.check(table), "predicted_singletons")
        assert found.status == status
        unit = 4 if "at_most_fraction" in limit else 1
        assert (found.value, found.estimate) == (high / unit, estimate / unit)
    if status == "could_not_assess":
        assert "The interval contains the limit" in found.sentence


@pytest.mark.slow
def test_real_predictions_and_populations():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 12, 1_000), "b": rng.integers(0, 5, 1_000)})
    sizes = table.anon.classes(["a", "b"])
    asked = {"group_size": 40, "at_most": 30}
    found = only(asking(quasi=["a", "b"], predicted_singletons=asked).check(table),
                 "predicted_singletons")  # fmt: skip
    prediction = sizes.predict_singletons(40)
    assert found.estimate == pytest.approx(prediction.mean)
    assert found.value == prediction.interval(0.95).high
    # That this table has no singleton does not show that another one like it has none.
    assert (sizes.singletons, sizes.predict_singletons(1_000).interval().high) == (0, 3)
    for most, status in ((0, "could_not_assess"), (3, "pass")):
        whole = {"group_size": 1_000, "at_most": most}
        assert asking(quasi=["a", "b"], predicted_singletons=whole).check(table).status == status
    beyond = {"group_size": 10_000, "at_most": 10_000}
    verdict = asking(quasi=["a", "b"], predicted_singletons=beyond).check(table)
    assert verdict.status == "could_not_assess"
    for population_size, limit, status in (
        (1_000, 0.0, "pass"),
        (100_000, 0.0, "could_not_assess"),
        (100_000, 0.99, "pass"),
        (999, 0.99, "could_not_assess"),
    ):
        budget = {"population_size": population_size, "at_most": limit}
        verdict = asking(quasi=["a", "b"], population_unique_fraction=budget).check(table)
        assert verdict.status == status, verdict
    unique = {"population_size": 1_001, "at_most": 0.5}
    lone = pd.DataFrame({"a": range(1_000)})
    assert asking(quasi="a", population_unique_fraction=unique).check(lone).status == "fail"


def test_bounds_that_do_not_hold_are_not_relied_on(monkeypatch):
    class Widened:
        widened = 2.0

    monkeypatch.setattr(ClassSizes, "predict_population", lambda *_: Widened())
    budget = {"population_size": 1_000, "at_most": 0.9}
    verdict = asking(quasi="zip", population_unique_fraction=budget).check(pd.DataFrame(CELLS))
    assert verdict.status == "could_not_assess"
    assert "simple random sample" in verdict.findings[0].sentence


def test_warnings_do_not_block_and_do_not_hide_a_table_that_cannot_be_read():
    warn = asking(quasi="zip", max_unique_records=99, k={"at_least": 99, "severity": "warn"})
    verdict = warn.check(pd.DataFrame(CELLS))
    assert verdict.passed
    assert [f.budget for f in verdict.warnings] == ["k"]
    assert "warn" in repr(verdict)
    assert warn.check(pd.DataFrame(CELLS).head(0)).status == "could_not_assess"
    assert warn.check(pd.DataFrame({"zap": [1]})).status == "could_not_assess"
    assert warn.check([1, 2]).status == "could_not_assess"


# ---- what is still in the table -----------------------------------------------------------------


def test_direct_identifiers_in_the_index_are_published_too():
    policy = asking(quasi="zip", direct=["name"], k=2)
    table = pd.DataFrame({"zip": ["a", "a"], "name": ["x", "y"]})
    assert policy.check(table).status == "fail"
    assert policy.check(table.set_index("name")).status == "fail"
    assert policy.check(table.drop(columns="name")).status == "pass"


def test_rows_that_belong_to_nobody_cannot_be_assessed():
    table = pd.DataFrame({"zip": ["a", "a"], "who": [1, None], "ill": ["x", "y"]})
    for more in ({}, {"sensitive": "ill", "ldiv": {"l": 1}}):
        verdict = asking(quasi="zip", unit="who", k=2, **more).check(table)
        assert verdict.status == "could_not_assess"
        assert "missing in 1 row" in verdict.findings[0].sentence


def test_a_quasi_identifier_in_the_index_is_not_overlooked():
    table = pd.DataFrame({"zip": ["a", "a"], "age": [1, 2]}).set_index("age")
    verdict = asking(quasi=["zip", "age"], k=2).check(table)
    assert verdict.status == "could_not_assess"
    assert "reset_index" in verdict.findings[0].sentence


def test_every_column_wants_a_role():
    table = pd.DataFrame({"zip": ["a", "a"], "note": ["x", "y"]})
    asked = {"quasi": "zip", "max_unique_records": 99}
    verdict = Policy(**asked).check(table)
    assert verdict.status == only(verdict, "unlisted").status == "could_not_assess"
    assert "1 column has no role" in only(verdict, "unlisted").sentence
    assert "quasi: [note]" in only(verdict, "unlisted").sentence
    assert Policy(**asked, insensitive="note").check(table).passed
    assert Policy(**asked, by="note").check(table).passed
    renamed = Policy(**asked, insensitive="notes").check(table)
    assert "did you mean 'notes'" in only(renamed, "unlisted").sentence
    assert Policy(**asked).check(table.set_index("note")).status == "could_not_assess"


def test_a_published_weight_is_a_quasi_identifier():
    table = pd.DataFrame({"zip": ["a"] * 4, "w": [2.0, 2.0, 2.0, 5.0]})
    risk = {"journalist": {"highest": 0.1}}
    verdict = asking(quasi="zip", weight="w", k=2, risk=risk).check(table)
    assert only(verdict, "k").value == 1
    assert only(verdict, "k").qid == ("zip", "w")
    assert only(verdict, "risk.journalist.highest").value == 1, "by the weight too"
    assert only(verdict, "risk.journalist.highest").status == "could_not_assess"
    below = table.assign(w=0.5)
    assert asking(quasi="zip", weight="w", risk=risk).check(below).status == "could_not_assess"


def test_risks_against_a_population_or_a_sampling_fraction():
    table = pd.DataFrame({"zip": ["a", "a", "b"]})
    people = pd.DataFrame({"zip": ["a"] * 8 + ["b"] * 4})
    risk = {
        "journalist": {"highest": 0.25},
        "prosecutor": {"highest": 1},
        "marketer": {"average": 1},
    }
    verdict = asking(quasi="zip", risk=risk).check(table, population=people)
    assert only(verdict, "risk.journalist.highest").value == 0.25
    assert only(verdict, "risk.prosecutor.highest").value == 1
    assert verdict.passed
    short = asking(quasi="zip", risk=risk).check(table, population=people.head(8))
    assert only(short, "risk.journalist.highest").status == "could_not_assess"
    tenth = asking(quasi="zip", risk=risk, sampling_fraction=0.1).check(table)
    assert only(tenth, "risk.journalist.highest").value == 1
    assert only(tenth, "risk.journalist.highest").estimate == 0
    assert tenth.status == "could_not_assess"
    grouped = asking(quasi="zip", by="zip", risk=risk).check(table, population=people)
    assert only_statuses(grouped, "risk.journalist.highest") == {"could_not_assess"}


def only_statuses(verdict, budget):
    return {f.status for f in verdict.findings if f.budget == budget}


def test_suppression_counts_removed_and_marked_records():
    table = pd.DataFrame({"zip": ["*", "a", "a", "*"], "age": [1, 2, 2, 3]})
    policy = asking(quasi=["zip", "age"], max_suppressed=0.5)
    assert only(policy.check(table, n_original=8), "max_suppressed").value == 0.5
    assert policy.check(table, n_original=8).passed
    assert policy.check(table, n_original=3).status == "could_not_assess"
    assert policy.check(table).status == "could_not_assess"
    marked = asking(quasi=["zip", "age"], max_suppressed=0.5, suppressed="*")
    assert only(marked.check(table), "max_suppressed").value == 0.5
    assert only(marked.check(table, n_original=8), "max_suppressed").value == 0.75
    category = table.astype({"zip": "category"})
    assert only(marked.check(category), "max_suppressed").value == 0.5
    with pytest.raises(errors.ArgumentError):
        policy.check(table, n_original=0)


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_groups_with_missing_labels_and_all_dropped(dtype):
    table = pd.DataFrame({"zip": ["a", "a", None, "b", "b"], "g": ["x", "x", "y", None, None]})
    table = table.astype({"g": dtype})
    found = asking(quasi="zip", by="g", k=2).check(table)
    assert {f.group: f.value for f in found.findings} == {"x": 2, "y": 1, "(missing)": 2}
    dropped = asking(
        quasi="zip", by="g", k=2, missing="drop", max_dropped_fraction=1, dropped_are_removed=True
    ).check(table)
    by_group = {f.group: f.status for f in dropped.findings if f.budget == "k"}
    assert by_group == {"x": "pass", "y": "could_not_assess", "(missing)": "pass"}


def test_duplicated_and_nested_columns_cannot_be_assessed():
    twice = pd.DataFrame([["a", "b"]], columns=["zip", "zip"])
    assert asking(quasi="zip", k=2).check(twice).status == "could_not_assess"
    nested = pd.DataFrame({"zip": [["a"], ["b"]]})
    assert asking(quasi="zip", k=2).check(nested).status == "could_not_assess"
    mixed = pd.DataFrame({"zip": [1, "1"], "age": [1, 1]}, dtype=object)
    rules = [{"columns": [c], "budgets": {"k": 2}} for c in ("zip", "age")]
    verdict = asking(qids=rules).check(mixed)
    assert [f.status for f in verdict.findings] == ["could_not_assess", "pass"]


def test_columns_changed_at_random_are_not_measured_by_equality(monkeypatch):
    from anonrisk.engines.pandas.schema import PandasSchema

    changed = {"age": "perturb", "ill": "permute"}
    monkeypatch.setattr(PandasSchema, "perturbed", changed)
    loose = {"max_unique_records": 99}
    rules = [{"columns": c, "budgets": loose} for c in ("zip", "age")]
    values = {"sensitive": ["ill", "cost"], "ldiv": {"l": 1}}
    verdict = asking(qids=rules).check(pd.DataFrame(CELLS))
    assert [f.status for f in verdict.findings] == ["pass", "could_not_assess"]
    assert "changed at random (perturb)" in verdict.findings[1].sentence
    found = asking(quasi="zip", **values).check(pd.DataFrame(CELLS))
    assert {f.sensitive: f.status for f in found.findings if f.budget == "ldiv"} == {
        "ill": "could_not_assess",
        "cost": "pass",
    }


# ---- nothing unexpected passes, nothing secret leaves -------------------------------------------


@pytest.mark.parametrize("method", ["columns", "index", "check", "roles", "count", "score"])
@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyError, RecursionError])
def test_any_engine_error_is_could_not_assess_and_quotes_no_cell(monkeypatch, method, error):
    from anonrisk.engines.pandas import PandasEngine, PandasSchema

    def broken(*_):
        raise error(SECRET)

    where = PandasEngine if hasattr(PandasEngine, method) else PandasSchema
    is_property = isinstance(getattr(where, method), property)
    monkeypatch.setattr(where, method, property(broken) if is_property else broken)
    table = pd.DataFrame({"zip": [SECRET, "b"], "ill": ["x", SECRET]})
    policy = asking(quasi="zip", sensitive="ill", ldiv={"l": 1}, qids=[
        {"columns": "zip", "budgets": {"k": 1}}], missing_sensitive="drop")  # fmt: skip
    verdict = policy.check(table)
    assert verdict.status == "could_not_assess"
    assert SECRET not in verdict.to_json() + repr(verdict) + verdict._repr_html_()


def test_a_count_that_fails_does_not_pass(monkeypatch):
    from anonrisk.engines.pandas import PandasEngine

    def failing(verb, kind):
        method = getattr(PandasEngine, verb)
        return lambda *args: 1 / 0 if isinstance(args[2], kind) else method(*args)

    journalist = {"journalist": {"highest": 1}}
    for method, kind, policy in (
        ("count", Question, asking(quasi="zip", k=1)),
        ("count", ByGroup, asking(quasi="zip", by="ill", k=1)),
        ("count", MarkedRows, asking(quasi="zip", suppressed="*", max_suppressed=1)),
        ("tally", SumsOfWeights, asking(quasi="zip", weight="w", risk=journalist)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(PandasEngine, method, failing(method, kind))
            table = pd.DataFrame({"zip": [1, 1], "ill": [1, 1], "w": [1.0, 1.0]})
            verdict = policy.check(table)
            assert verdict.status == "could_not_assess", kind
            assert "ZeroDivisionError" in verdict.to_json()


def test_interrupts_are_not_swallowed(monkeypatch):
    from anonrisk.engines.pandas import PandasEngine

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PandasEngine, "count", stopped)
    with pytest.raises(KeyboardInterrupt):
        asking(quasi="zip", k=1).check(pd.DataFrame(CELLS))


@pytest.mark.contract
def test_no_cell_is_in_a_verdict_except_groups(frame):
    cells = {
        "zip": [f"{SECRET}{i}" for i in range(4)],
        "ill": [SECRET, "x", None, "x"],
        "g": ["left", "left", "right", "right"],
    }
    policy = asking(
        quasi="zip",
        sensitive="ill",
        by="g",
        k=2,
        ldiv={"l": 9},
        tcloseness={"t": 0.1, "distance": "ordered", "order": [SECRET]},
    )
    table = frame(cells)
    verdict = policy.check(table)
    told = verdict.to_json() + repr(verdict) + verdict._repr_html_() + repr(verdict.explain())
    assert SECRET not in told
    assert "left" in told
    with pytest.raises(errors.ReleaseBlocked) as caught:
        verdict.raise_for_status()
    assert SECRET not in str(caught.value)


# ---- verdicts as documents ----------------------------------------------------------------------


def test_a_verdict_as_json_and_back():
    policy = asking(quasi=["zip", "age"], sensitive="ill", k=5, ldiv={"l": 2}, name="release")
    verdict = policy.check(pd.DataFrame(CELLS), name="patients")
    stored = json.loads(verdict.to_json())
    assert stored["schema_version"] == 4
    assert stored["library_version"] == anonrisk.__version__
    assert stored["policy"] == {"name": "release", "digest": policy.digest}
    assert (stored["engine"], stored["missing"], stored["status"]) == ("pandas", "value", "fail")
    assert (stored["table"], stored["files"], stored["coverage"]["not_looked_at"]) == (
        "patients",
        [],
        ["cost", "who", "ward"],
    )
    roles = [{key: one[key] for key in ("name", "role")} for one in stored["coverage"]["columns"]]
    assert roles[:4] == [
        {"name": "zip", "role": "quasi"},
        {"name": "age", "role": "quasi"},
        {"name": "ill", "role": "sensitive"},
        {"name": "cost", "role": None},
    ]
    assert dt.datetime.fromisoformat(stored["checked_at"]).utcoffset() == dt.timedelta(0)
    assert {"value", "limit", "margin", "severity", "sentence"} <= stored["budgets"][0].keys()
    again = Verdict.from_json(verdict.to_json())
    assert again == verdict
    assert again.to_json() == verdict.to_json()
    with pytest.raises(errors.ArgumentError, match="stored verdict"):
        again.explain()
    for copied in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict)):
        assert copied == verdict
        assert copied._source is None


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored.update(status="pass"),
        lambda stored: stored.update(schema_version=1),
        lambda stored: stored.update(checked_at="yesterday"),
        lambda stored: stored.pop("coverage"),
        lambda stored: stored.pop("budgets"),
        lambda stored: stored.update(budgets=[]),
        lambda stored: stored["budgets"][0].update(status="passed"),
        lambda stored: stored["budgets"][0].update(severity="none"),
        lambda stored: stored["budgets"][0].pop("sentence"),
        lambda stored: stored.update(budgets=3),
    ],
)
def test_a_verdict_that_was_tampered_with_is_refused(change):
    verdict = asking(quasi="zip", k=5).check(pd.DataFrame(CELLS))
    stored = json.loads(verdict.to_json())
    change(stored)
    with pytest.raises(errors.ArgumentError):
        Verdict.from_json(json.dumps(stored))
    for text in ("", "[]", "3", "{"):
        with pytest.raises(errors.ArgumentError):
            Verdict.from_json(text)


def test_verdicts_print_at_any_length():
    table = pd.DataFrame({"zip": range(300), "g": [f"<i>{i}" for i in range(300)]})
    verdict = asking(quasi="zip", by="g", k=2).check(table)
    assert len(verdict.findings) == 300
    assert "260 more not shown" in repr(verdict)
    assert "<i>" not in verdict._repr_html_()
    with pytest.raises(errors.ReleaseBlocked, match="And 295 more"):
        verdict.raise_for_status()


@pytest.mark.parametrize("missing_sensitive", ["value", None])
def test_every_sentence_is_one(missing_sensitive):
    verdict = Policy(
        quasi=["zip", "age"],
        sensitive="ill",
        direct="name",
        k=1,
        max_unique_fraction=1,
        max_unique_records=9,
        max_fraction_below_k={"k": 2, "at_most": 1},
        ldiv={"l": 1},
        tcloseness={"t": 1, "distance": "equal"},
        risk={"prosecutor": {"highest": 1, "share_above": {"threshold": 0.5, "at_most": 1}}},
        max_suppressed=1,
        missing_sensitive=missing_sensitive,
    ).check(pd.DataFrame(CELLS), n_original=8)
    for finding in verdict.findings:
        assert re.fullmatch(r"[A-Z0-9lkt].*\.", finding.sentence), finding.sentence


def test_assess_refuses_what_it_cannot_answer():
    table = pd.DataFrame(CELLS)
    two = asking(quasi=["zip", "age"], k=1, qids=[{"columns": "zip", "budgets": {"k": 1}}])
    with pytest.raises(errors.PolicyError, match="one quasi-identifier"):
        anonrisk.assess(table, two)
    with pytest.raises(errors.ArgumentError, match="give it alone"):
        anonrisk.assess(table, asking(quasi="zip", k=1), "ill")
    with pytest.raises(errors.ColumnNotFoundError):
        anonrisk.assess(table, asking(quasi="zp", k=1))


def test_explanations_of_single_columns_and_groups():
    table = pd.DataFrame({"zip": ["a", "b"], "age": [1, 1], "g": ["x", "y"]})
    single = asking(quasi="zip", k=2).check(table).explain()
    assert single.columns == ()
    assert repr(single).startswith("Leaving out zip is enough")
    grouped = asking(quasi=["zip", "age"], by="g", k=2).check(table).explain()
    assert {(w.before.group, w.column) for w in grouped.columns} == {
        (group, column) for group in "xy" for column in ("zip", "age")
    }


# ---- against the obvious ------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from("xyz")), min_size=1,
             max_size=30),
    st.integers(1, 4),
    st.floats(0, 1),
    st.integers(1, 3),
)  # fmt: skip
def test_a_verdict_says_what_counting_by_hand_says(rows, k, share, l):
    table = pd.DataFrame(rows, columns=["a", "b", "s"])
    sizes = table.groupby(["a", "b"])["s"].transform("size")
    values = table.groupby(["a", "b"])["s"].nunique()
    verdict = asking(
        quasi=["a", "b"],
        sensitive="s",
        k=k,
        max_unique_fraction=share,
        max_fraction_below_k={"k": 3, "at_most": share},
        ldiv={"l": l},
    ).check(table)
    expected = {
        "k": sizes.min() >= k,
        "max_unique_fraction": np.mean(sizes == 1) <= share * (1 + 1e-9),
        "max_fraction_below_k": np.mean(sizes < 3) <= share * (1 + 1e-9),
        "ldiv": values.min() >= l,
    }
    found = statuses(verdict)
    # l is one of three limits that no table breaks, where it is 1; k and share are others.
    loose = [k == 1, share >= 1, l == 1]
    told = {"could_not_assess" if all(loose) else "fail"} if any(loose) else set()
    assert {found.pop("limits")} == told if told else "limits" not in found
    assert found == {b: "pass" if ok else "fail" for b, ok in expected.items()}
    assert verdict.passed == (all(expected.values()) and not all(loose))


def test_the_bundled_hospital_is_checked_by_person():
    table, quasi = datasets.hospital(), ["gender", "pc4"]
    verdict = asking(quasi=quasi, unit="patient", k=2).check(table)
    assert only(verdict, "k").value == table.anon.k(quasi, unit="patient")
    assert verdict.n_records == table["patient"].nunique() < verdict.n_rows


NAMED = {"quasi": ["zip", "age"], "sensitive": ["ill", "cost"], "unit": "who", "by": "ward"}


@pytest.mark.slow
@given(
    st.sets(st.sampled_from(sorted(NAMED)), min_size=1),
    st.sets(st.sampled_from(sorted(CELLS)), min_size=1, max_size=3),
)
def test_no_table_passes_that_lacks_a_column_of_the_policy(roles, gone):
    named = {role: NAMED[role] for role in roles}
    about_values = {"ldiv": {"l": 1}} if "sensitive" in named else {}
    policy = asking(**{"quasi": ["zip"], **named}, k=1, max_unique_records=99, **about_values)
    table = pd.DataFrame(CELLS)
    assert policy.check(table).passed
    asked = {"zip"} | {
        name for names in named.values() for name in (names if isinstance(names, list) else [names])
    }
    verdict = policy.check(table.drop(columns=list(gone)))
    assert verdict.status == ("could_not_assess" if asked & gone else "pass")


@pytest.mark.spark("spark")
def test_a_spark_job_that_fails_is_could_not_assess(spark):
    from pyspark.sql import functions as f
    from tables import spark_table

    table = spark_table(spark, CELLS)
    broken = table.withColumn("zip", f.raise_error(f.lit(SECRET)).cast("string"))
    policy = asking(quasi=["zip", "age"], sensitive="ill", k=1, ldiv={"l": 1}, suppressed="*",
                    max_suppressed=1)  # fmt: skip
    verdict = policy.check(broken)
    assert set(statuses(verdict).values()) == {"could_not_assess"}
    assert SECRET not in verdict.to_json()
    assert verdict.engine == "spark"


def test_a_long_quasi_identifier_folds_no_row_of_a_terminal():
    names = ["postcode_of_residence", "date_of_birth_of_the_mother", "municipality_of_birth"]
    table = pd.DataFrame({**{name: ["a", "b"] for name in names}, "illness": ["x", "y"]})
    policy = anonrisk.Policy(quasi=names, sensitive="illness", k=2, ldiv={"l": 2})
    title, of, header, *rows = repr(policy.check(table)).splitlines()
    assert of == f"of {' + '.join(names)}"
    assert [row.split()[-1] for row in (header, *rows[:2])] == ["of", "-1", "illness"]
    assert max(map(len, (title, header, *rows[:2]))) <= 80
    # Where there are several, each row says its own.
    several = anonrisk.Policy(
        sensitive="illness", qids=[{"columns": [name], "budgets": {"k": 2}} for name in names[:2]],
        unlisted="ignore",
    )  # fmt: skip
    assert names[1] in repr(several.check(table)).splitlines()[3]


def test_each_finding_is_printed_with_its_own_status():
    table = pd.DataFrame({"q": ["a", "a", "b"]})
    strict = Policy(quasi="q", k=2, max_unique_records=1).check(table)
    mild = Policy(quasi="q", k={"at_least": 2, "severity": "warn"}).check(table)
    assert re.findall(r"^(pass|FAIL|warn) +(\w+)", repr(strict), re.MULTILINE) == [
        ("FAIL", "k"),
        ("pass", "max_unique_records"),
    ]
    assert re.findall(r"^(pass|FAIL|warn) +(\w+)", repr(mild), re.MULTILINE) == [("warn", "k")]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        *((("engine",), value) for value in (True, 1.5, [1], {})),
        (("coverage", "rows_judged"), None),
        *((("budgets", 0, key), 10**400) for key in ("value", "limit", "margin")),
    ],
)
def test_a_stored_verdict_has_the_types_of_its_fields(where, value):
    table = pd.DataFrame({"zip": ["a", "a"]})
    stored = json.loads(Policy(quasi="zip", k=2).check(table).to_json())
    part = stored
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = value
    with pytest.raises(anonrisk.errors.ArgumentError, match="not a verdict written by to_json"):
        Verdict.from_json(json.dumps(stored))
