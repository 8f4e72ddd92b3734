"""A hair within a limit passes and more than a hair outside fails; the same of stored verdicts."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from anonrisk import errors
from anonrisk.policy import Policy, Verdict

ENTROPY = {"variant": "entropy"}


def of_two_values(one, other):
    return pd.DataFrame(
        {"zip": ["a"] * (one + other), "ill": ["flu"] * one + ["cold"] * other},
        columns=["zip", "ill"],
    )


def diversity(table, l=2):
    policy = Policy(quasi="zip", sensitive="ill", ldiv={"l": l, **ENTROPY})
    verdict = policy.check(table)
    (found,) = (finding for finding in verdict.findings if finding.budget == "ldiv")
    return verdict, found.value


def test_two_equal_values_are_two_diverse_though_a_float_says_less():
    verdict, value = diversity(of_two_values(3, 3))
    assert value == 1.9999999999999998
    assert verdict.passed


@pytest.mark.parametrize(
    ("more", "below", "status"), [(2, 8e-10, "pass"), (7, 9.8e-9, "fail"), (50, 5e-7, "fail")]
)
def test_a_table_that_is_nearly_diverse(more, below, status):
    # exp(H) of shares 1/2 + d and 1/2 - d is 2 (1 - 2 d^2), and more terms that do not show.
    verdict, value = diversity(of_two_values(50_000 + more, 50_000 - more))
    assert value == pytest.approx(2 * (1 - below), rel=1e-11)
    assert verdict.status == status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_alone", "status"), [(99_999, "pass"), (100_000, "pass"), (100_001, "fail")]
)
def test_a_share_one_record_beyond_its_limit(n_alone, status):
    n = 1_000_000
    table = pd.DataFrame({"zip": list(range(n_alone)) + [-1] * (n - n_alone)})
    assert Policy(quasi="zip", max_unique_fraction=0.1).check(table).status == status


def stored_pass(limit, beyond, *, at_least):
    """A stored pass whose value was moved beyond its limit, by a share of the limit."""
    if at_least:
        verdict, _ = diversity(of_two_values(3, 3), l=limit)
        name, value = "ldiv", limit * (1 - beyond)
    else:
        table = pd.DataFrame({"zip": ["a"] * 9})
        verdict = Policy(quasi="zip", max_unique_fraction=limit).check(table)
        name, value = "max_unique_fraction", limit * (1 + beyond)
    assert verdict.passed
    stored = json.loads(verdict.to_json())
    (one,) = (found for found in stored["budgets"] if found["budget"] == name)
    one["value"], one["margin"] = value, -abs(value - limit)
    return json.dumps(stored)


@pytest.mark.parametrize(
    ("limit", "at_least"), [(2, True), (1.5, True), (0.5, False), (0.05, False), (0.0005, False)]
)
def test_a_stored_pass_beyond_its_limit_is_refused_and_a_hair_is_not(limit, at_least):
    assert Verdict.from_json(stored_pass(limit, 1e-12, at_least=at_least)).passed
    for beyond in (1e-5, 1e-3, 0.5):
        with pytest.raises(errors.ArgumentError):
            Verdict.from_json(stored_pass(limit, beyond, at_least=at_least))
