"""The gate on a union: as the gate on all rows at once, or it could not be assessed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keys import KEY

import anonrisk
from anonrisk import Policy
from anonrisk.engines import engine_for
from anonrisk.measures.counts.keyed import SketchTally
from anonrisk.measures.counts.question import Question
from anonrisk.releases.state.sketch import Sketch
from anonrisk.releases.state.state import check_union

ROWS = st.lists(st.tuples(*[st.sampled_from("ab")] * 3, st.integers(0, 4)), min_size=1, max_size=20)
BUDGETS = {
    "k": 2,
    "ldiv": {"l": 2},
    "tcloseness": {"t": 0.4, "distance": "equal"},
    "max_unique_fraction": 0.1,
    "max_fraction_below_k": {"k": 3, "at_most": 0.5},
}


def table(rows):
    return pd.DataFrame(rows, columns=["zip", "sex", "ill", "who"]).astype({"who": "int64"})


def told(verdict):
    names = ("budget", "status", "value", "limit", "qid", "sensitive")
    return [tuple(getattr(one, name) for name in names) for one in verdict.findings]


@pytest.mark.slow
@settings(max_examples=20)
@given(ROWS, ROWS, st.booleans())
def test_a_union_is_judged_as_all_rows_at_once(first, second, persons):
    unit = {"unit": "who"} if persons else {"insensitive": ["who"]}
    policy = Policy(quasi=["sex", "zip"], sensitive="ill", **unit, **BUDGETS)
    parts = [table(first), table(second)]
    states = [
        part.anon.state(["zip", "sex"], unit="who" if persons else None, sensitive="ill", key=KEY)
        for part in parts
    ]
    union = check_union(policy, parts[1], states[0].merge(states[1]), name="both")
    whole = policy.check(pd.concat(parts, ignore_index=True))
    assert told(union) == told(whole)
    assert (union.status, union.n_rows) == (whole.status, len(first) + len(second))
    assert union.engine == f"state of {union.n_rows:,} row{'s' * (union.n_rows != 1)}"


def sampled(df, most):
    secret = anonrisk.sketch(df, "a", key=KEY).key
    return Sketch(engine_for(df).tally(df, SketchTally(Question((("a",),)), secret, most)), secret)


def test_a_sample_judges_shares_by_both_ends_and_never_k():
    df = pd.DataFrame(
        {"a": np.concatenate([np.arange(2_000), np.repeat(np.arange(2_000, 4_000), 2)])}
    )
    sketch = sampled(df, 500)
    low, high = sketch.uniqueness.interval
    assert low < 1 / 3 < high
    found = {}
    for limit in (low / 2, (low + high) / 2, min(high * 1.1, 1.0)):
        policy = Policy(quasi="a", k=2, max_unique_fraction=limit)
        verdict = check_union(policy, df, sketch)
        found[limit] = {one.budget: one.status for one in verdict.findings}
    assert [one["max_unique_fraction"] for one in found.values()] == [
        "fail",
        "could_not_assess",
        "pass",
    ]
    assert {one["k"] for one in found.values()} == {"could_not_assess"}
    exact = check_union(
        Policy(quasi="a", k=1, max_unique_records=4_000), df, anonrisk.sketch(df, "a", key=KEY)
    )
    assert exact.passed
    for budgets in (
        {"max_unique_records": 4_000},
        {"max_records_below_k": {"k": 3, "at_most": 6_000}},
    ):
        assert check_union(Policy(quasi="a", **budgets), df, sketch).passed
    other = check_union(Policy(quasi="a", risk={"prosecutor": {"highest": 0.9}}), df, sketch)
    assert other.status == "could_not_assess"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"quasi": ["zip", "sex"]}, "columns"),
        ({"unit": "who"}, "unit"),
        ({"missing": "error"}, "missing"),
        ({"by": "sex"}, "by"),
    ],
)
def test_counts_of_something_else_could_not_be_assessed(changed, words):
    df = table([("a", "b", "a", 1)] * 4)
    state = df.anon.state("zip", key=KEY)
    roles = {"quasi": "zip", "unlisted": "ignore", **changed}
    verdict = check_union(Policy(k=2, **roles), df, state)
    assert verdict.status == "could_not_assess"
    assert f"asks about {words}" in verdict.findings[0].sentence


def test_columns_are_those_of_the_newest_part():
    df = table([("a", "b", "a", 1)] * 4)
    state = df[["zip"]].anon.state("zip", key=KEY)
    verdict = check_union(Policy(quasi="zip", k=1, direct="who", unlisted="ignore"), df, state)
    assert verdict.status == "fail"
    assert check_union(Policy(quasi="zip", k=2), df, state).status == "could_not_assess"


def test_missing_values_are_refused_until_somebody_says_what_they_mean():
    df = pd.DataFrame({"zip": ["a"] * 4, "ill": ["flu", "hiv", None, "flu"]})
    state = df.anon.state("zip", sensitive="ill", key=KEY)
    for told_, status in (
        (None, "could_not_assess"),
        ("value", "pass"),
        ("error", "could_not_assess"),
    ):
        policy = Policy(quasi="zip", sensitive="ill", ldiv={"l": 2}, missing_sensitive=told_)
        assert check_union(policy, df, state).status == status
    ordered = Policy(
        quasi="zip",
        sensitive="ill",
        missing_sensitive="value",
        tcloseness={"t": 1, "distance": "ordered", "order": ["flu", "hiv"]},
    )
    assert check_union(ordered, df, state).status == "could_not_assess"
    lacking = Policy(quasi="zip", sensitive="ill", ldiv={"l": 2}, missing_sensitive="value")
    assert check_union(lacking, df, df.anon.state("zip", key=KEY)).status == "could_not_assess"
