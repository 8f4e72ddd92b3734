"""A policy that cannot tell never passes, and what it stores says what it decided."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk import errors
from anonrisk.cli.output import Outcome
from anonrisk.errors import PolicyError, ReleaseBlocked
from anonrisk.policy import Policy, Verdict, release_rules
from anonrisk.policy.coverage import ColumnCoverage, Coverage

WARN = {"severity": "warn"}
# A limit that a table could break, and these do not.
LOOSE = {"max_unique_records": 99}
CELLS = {"zip": ["a"] * 6, "age": [30, 31, 32, 33, 34, 35], "ill": ["flu", "cold"] * 3}


def table(**more):
    return pd.DataFrame({**CELLS, **more})


def asking(**keys):
    """A policy about something other than columns that it does not name."""
    return Policy(**{"unlisted": "ignore", **keys})


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"sensitive": "il", "ldiv": {"l": 2, **WARN}}, "did you mean 'ill'"),
        ({"sensitive": "il", "direct": "name", "ldiv": {"l": 2, **WARN}}, "did you mean 'ill'"),
        ({"sensitive": "il", "k": 2, "ldiv": {"l": 2, **WARN}}, "did you mean 'ill'"),
        ({"ldiv": {"l": 2, **WARN}}, "no sensitive column"),
        ({"k": 2, "ldiv": {"l": 2, **WARN}}, "no sensitive column"),
        ({"predicted_singletons": {"group_size": 500, "at_most": 1, **WARN}}, "500"),
    ],
    ids=str,
)
def test_a_warning_that_could_not_be_assessed_blocks(asked, why):
    verdict = asking(quasi="zip", **LOOSE, **asked).check(table())
    assert verdict.status == "could_not_assess"
    (blocking,) = verdict.failures
    assert (blocking.severity, blocking.status) == ("warn", "could_not_assess")
    assert why in blocking.sentence
    assert not verdict.warnings
    with pytest.raises(ReleaseBlocked, match="could_not_assess"):
        verdict.raise_for_status()


def test_a_budget_that_warns_does_not_block_where_it_was_measured():
    policy = asking(quasi="zip", sensitive="ill", k=2, ldiv={"l": 9, **WARN})
    assert policy.check(table()).passed
    assert asking(quasi="zip", k={"at_least": 99, **WARN}, **LOOSE).check(table()).passed


def test_what_is_stored_agrees_with_the_exit_code():
    verdict = asking(quasi="zip", k={"at_least": 99, **WARN}, **LOOSE).check(table())
    for fail_on, code, status in (("fail", 0, "pass"), ("warn", 1, "fail")):
        outcome = Outcome.of_verdict(verdict, fail_on)
        stored = Verdict.from_json(json.dumps(outcome.document))
        assert (outcome.code, outcome.document["exit_code"]) == (code, code)
        assert (stored.status, stored.fail_on, outcome.document["status"]) == (
            status,
            fail_on,
            status,
        )
        assert Verdict.from_json(stored.to_json()) == stored
    with pytest.raises(anonrisk.ReleaseBlocked, match="at least 99"):
        stored.raise_for_status()
    assert stored.failures
    assert not stored.warnings
    with pytest.raises(anonrisk.AnonRiskError, match="fail_on"):
        Verdict.from_json(json.dumps({**verdict.to_dict(), "fail_on": "never"}))


def test_a_column_changed_at_random_is_known_under_another_name():
    marked = table().anon.permute("age", seed=1)
    policy = asking(quasi=["zip", "years"], **LOOSE)
    for renamed in (
        marked.rename(columns={"age": "years"}),
        pd.concat([part.rename(columns={"age": "years"}) for part in (marked, marked)]),
    ):
        verdict = policy.check(renamed)
        assert verdict.status == "could_not_assess"
        assert "permute of 'age', which is gone: renamed?" in verdict.failures[0].sentence
    # Dropped, it is no matter; and neither is a new column while it is still there.
    assert asking(quasi="zip", k=2).check(marked.drop(columns="age")).passed
    assert policy.check(marked.assign(years=1)).passed


@pytest.mark.parametrize("k", ["011", "1:30", "0x10", "1_0", "0b11", "1:30.5", ".nan", ".inf"])
def test_numbers_of_yaml_are_plain(k):
    with pytest.raises(PolicyError, match="is not a plain decimal number"):
        Policy.from_yaml(f"version: 1\nroles: {{quasi: [zip]}}\nbudgets: {{k: {k}}}\n")


@pytest.mark.parametrize("share", ["0.05", "5.0e-2", ".05", "0"])
def test_plain_numbers_of_yaml_are_read(share):
    text = f"version: 1\nroles: {{quasi: [zip]}}\nbudgets: {{max_unique_fraction: {share}}}\n"
    (rule,) = Policy.from_yaml(text).rules
    assert rule.budgets[0].limit == float(share)


def test_an_order_holds_no_nan():
    with pytest.raises(PolicyError, match="not a number"):
        Policy(
            quasi="zip",
            sensitive="age",
            tcloseness={"t": 0.1, "distance": "ordered", "order": [float("nan"), 1]},
        )


@pytest.mark.parametrize(
    "name", [np.int64(3), pd.Timestamp("2020-01-01"), ("a", np.int64(1)), 2.5, "zip"], ids=repr
)
def test_a_verdict_with_any_name_of_a_column_is_stored(name):
    verdict = asking(quasi="zip", k=2).check(table())
    (found,) = verdict.findings
    odd = replace(
        verdict,
        findings=(found, replace(found, qid=(name,), sensitive=name)),
        coverage=Coverage(
            verdict.coverage.rows,
            (ColumnCoverage("zip", "quasi"), ColumnCoverage(name, "quasi")),
            (name,),
            name,
        ),
    )
    again = Verdict.from_json(odd.to_json())
    assert again.passed
    assert again.to_json() == odd.to_json()
    assert len(release_rules.once(again.findings)) == 2


@pytest.mark.parametrize(
    ("index", "passes", "unseen"),
    [
        (pd.RangeIndex(6), True, ()),
        (pd.RangeIndex(1, 7), True, ("row labels",)),
        (list("uvwxyz"), False, ()),
        (pd.Index(list("uvwxyz"), name="who"), True, ()),
        (pd.MultiIndex.from_product([["u"], range(6)], names=["who", None]), False, ()),
    ],
)
def test_labels_of_rows_are_published_too(index, passes, unseen):
    named = {"quasi": "zip", "insensitive": ["age", "ill", "who"], "k": 2}
    frame = table()
    frame.index = index
    verdict = Policy(**named).check(frame)
    assert verdict.passed is passes
    assert verdict.not_looked_at == unseen
    assert Policy(**named, unlisted="ignore").check(frame).passed
    if not passes:
        assert "rows have labels without a name" in verdict.failures[0].sentence


@pytest.mark.parametrize("more", [{}, {"by": "zip"}])
def test_rows_left_out_for_a_missing_sensitive_value_have_a_limit(more):
    frame = table(ill=["flu", None, "cold", None, "flu", "cold"], sex=["f"] * 6)
    asked = {
        "quasi": "sex",
        "sensitive": "ill",
        "insensitive": "age",
        "unlisted": "ignore",
        "ldiv": {"l": 2},
        "missing_sensitive": "drop",
    }
    for limit, status in ((None, "could_not_assess"), (0.3, "fail"), (0.4, "pass")):
        policy = Policy(**asked, **more, max_dropped_fraction=limit)
        verdict = policy.check(frame)
        assert verdict.status == status
        (told,) = (f for f in verdict.findings if f.budget == "missing_sensitive")
        assert "2 rows (33.3%) left out" in told.sentence
        whole = policy.check(frame.dropna())
        assert whole.passed
        assert not any(f.budget == "missing_sensitive" for f in whole.findings)
        if not more:
            gated(policy, frame, passes=status == "pass")
    with pytest.raises(PolicyError, match="belongs to missing: drop or missing_sensitive: drop"):
        Policy(quasi="sex", k=2, max_dropped_fraction=0.1)


def gated(policy, frame, *, passes):
    """The suite of a policy decides as the policy does."""
    gx = pytest.importorskip("anonrisk.gx")
    if passes:
        assert gx.run_gate(gx.to_suite(policy), frame).success
        return
    with pytest.raises(ReleaseBlocked, match="2 rows"):
        gx.run_gate(gx.to_suite(policy), frame)


DECLARED = {
    "zip": ["a"] * 4,
    "born": [1971, 1972, 1973, 1974],
    "ill": ["flu"] * 4,
    "name": list("abcd"),
}


@pytest.mark.parametrize("label", ["year", None])
@pytest.mark.parametrize(
    ("role", "column", "policy"),
    [
        ("quasi", "born", Policy(k=2)),
        ("sensitive", "ill", Policy(quasi="zip", k=2, ldiv={"l": 1})),
        ("direct", "name", Policy(quasi="zip", k=2)),
    ],
)
def test_a_declared_column_does_not_hide_in_the_index(role, column, policy, label):
    declared = pd.DataFrame(DECLARED).anon.declare(**{"insensitive": "zip", role: column})
    moved = declared.set_index(column).rename_axis(label)
    verdict = policy.check(moved)
    assert verdict.status == "could_not_assess", verdict
    assert any(repr(column) in finding.sentence for finding in verdict.failures)


def test_a_sensitive_column_in_the_index_is_not_forgotten():
    two = {"zip": ["a"] * 4, "s1": ["x", "y"] * 2, "s2": ["p"] * 4}
    declared = pd.DataFrame(two).anon.declare(quasi="zip", sensitive=["s1", "s2"])
    policy = Policy(k=2, ldiv={"l": 2})
    assert policy.check(declared).status == "fail"
    assert policy.check(declared.set_index("s2")).status == "could_not_assess"
    assert policy.check(declared.drop(columns="s2")).status == "pass"


@pytest.mark.contract
@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_a_renamed_direct_identifier_is_noticed(frame):
    records = {"zip": ["a"] * 4, "name": list("abcd")}
    declared = anonrisk.declare(frame(records), quasi="zip", direct="name")
    policy = asking(k=2)
    assert policy.check(declared).status == "fail"
    renamed = anonrisk.declare(frame({**records, "nm": list("abcd")}), quasi="zip", direct="name")
    gone = (
        renamed.drop("name") if hasattr(renamed, "sparkSession") else renamed.drop(columns="name")
    )
    assert policy.check(gone).status == "pass"
    if hasattr(declared, "withColumnRenamed"):
        other = declared.withColumnRenamed("name", "nm")
    else:
        other = declared.rename(columns={"name": "nm"})
    verdict = policy.check(other)
    assert verdict.status == "could_not_assess"
    assert "renamed?" in verdict.failures[0].sentence
    # Somebody has looked at the new column and given it a role.
    assert Policy(quasi="zip", insensitive="nm", k=2).check(other).status == "pass"


def test_rows_without_a_group_are_not_dropped_unseen():
    records = pd.DataFrame(
        {"zip": ["a"] * 20, "h": ["u"] * 10 + [None] * 10, "s": ["x", "y"] * 5 + ["x"] * 10}
    )
    asked = {"quasi": "zip", "sensitive": "s", "by": "h", "k": 2, "ldiv": {"l": 2}}
    assert Policy(**asked).check(records).status == "fail"
    dropping = Policy(**asked, missing="drop", max_dropped_fraction=0.9)
    verdict = dropping.check(records)
    assert verdict.status == "could_not_assess"
    assert "grouping column 'h' is missing in 10 rows" in verdict.failures[0].sentence
    assert dropping.check(records.head(10)).status == "pass"


@pytest.mark.parametrize("change", [{"value": 1}, {"value": 1, "margin": -4}, {"limit": 9}])
def test_a_stored_finding_whose_numbers_contradict_it_is_refused(change):
    stored = json.loads(asking(quasi="zip", k=5).check(table()).to_json())
    assert Verdict.from_json(json.dumps(stored)).passed
    stored["budgets"][0] |= change
    with pytest.raises(errors.ArgumentError, match="'k' contradict"):
        Verdict.from_json(json.dumps(stored))
