"""The budget `linked`: one table alone cannot tell, and says who can."""

from __future__ import annotations

import pandas as pd
import pytest

from anonrisk import Policy
from anonrisk.errors import PolicyError
from anonrisk.policy.budgets.base import Subject, Value
from anonrisk.policy.judge import status_of

TABLE = pd.DataFrame({"zip": ["a", "a"]})


@pytest.mark.contract
def test_one_table_alone_cannot_be_assessed(frame):
    verdict = Policy(quasi="zip", k=2, linked={"k": 5}).check(frame({"zip": ["a", "a"]}))
    told = {finding.budget: finding for finding in verdict.findings}
    assert verdict.status == told["linked"].status == "could_not_assess"
    assert "Release.check judges it" in told["linked"].sentence
    assert (told["linked"].limit, told["k"].status) == (5, "pass")


def test_it_is_told_by_who_joins_tables():
    ((budget,),) = (rule.budgets for rule in Policy(quasi="zip", linked=5).rules)
    assert [status_of(budget, Value(k)) for k in (4, 5)] == ["fail", "pass"]
    said = budget.sentence(Value(1), Subject("patients.zip + visits.day", "person"))
    assert said == (
        "The fewest persons with one combination of patients.zip + visits.day, where the tables "
        "are joined, are 1; at least 5 are required"
    )


def test_it_comes_back_as_it_was_written():
    policy = Policy(quasi="zip", linked=[{"k": 2}, {"k": 5, "severity": "warn"}])
    assert Policy.from_yaml(policy.to_yaml()).digest == policy.digest


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"linked": 0}, "at least 1"),
        ({"linked": {}}, "needs k"),
        ({"linked": 2, "by": "ward"}, "linked applies to a whole table and takes no by"),
        ({"qids": [{"every_subset_of": 1, "budgets": {"linked": 2}}]}, "not to every subset"),
    ],
)
def test_what_is_no_limit_is_refused(more, message):
    with pytest.raises(PolicyError, match=message):
        Policy(quasi=["zip", "age"], **more)


def test_no_suite_and_no_plan_pretend_to_know():
    policy = Policy(quasi="zip", k=2, linked=5)
    plan = TABLE.anon.plan(policy)
    assert "linked" in repr(plan)
    gx = pytest.importorskip("anonrisk.gx")
    with pytest.raises(PolicyError, match="a batch is one table"):
        gx.to_suite(policy)
