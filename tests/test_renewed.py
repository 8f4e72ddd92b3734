"""Identifiers that were renewed: who left hides among people who did not."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keys import KEY

import anonrisk
from anonrisk import Ledger, Policy, Release
from anonrisk.errors import PolicyError
from anonrisk.releases.compare.comparison import CHANCE, chance_by_churn

POLICY = {
    "quasi": "zip",
    "sensitive": "illness",
    "unit": "who",
    "missing_sensitive": "error",
    "differencing": {"k": 5},
}


def people(rng, n, *, first=0, classes=20, values=4):
    return pd.DataFrame(
        {
            "who": np.arange(first, first + n),
            "zip": rng.integers(0, classes, n),
            "illness": rng.integers(0, values, n),
        }
    )


def churned(frame, rng, rate, months=1, **kinds):
    """Each month everybody leaves by that chance, and as many come."""
    for _ in range(months):
        gone = rng.random(len(frame)) < rate
        new = people(rng, int(gone.sum()), first=int(frame["who"].max()) + 1, **kinds)
        frame = pd.concat([frame[~gone], new], ignore_index=True)
    return frame


def renewed(frame, rng, share):
    """Give that share of the persons another number, and let one of them go."""
    chosen = rng.permutation(len(frame))[: math.ceil(share * len(frame))]
    frame = frame.copy()
    frame.loc[chosen, "who"] += 10_000_000
    return frame.drop(index=chosen[0])


def compared(before, now, sensitive="illness"):
    return now.anon.compare("zip", previous=before, unit="who", sensitive=sensitive)


# ---- the bound -------------------------------------------------------------------------------

few = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any), min_size=1, max_size=4)


def exact(left, came, shares):
    """The chance of differences as small as these, by every outcome of all coins."""
    totals = [a + b for a, b in zip(left, came, strict=True)]
    least = sum((a - b) ** 2 / (a + b) for a, b in zip(left, came, strict=True))
    chance = 0.0
    for heads in itertools.product(*(range(total + 1) for total in totals)):
        pairs = list(zip(heads, totals, shares, strict=True))
        if sum((2 * n - total) ** 2 / total for n, total, _ in pairs) <= least + 1e-9:
            chance += math.prod(
                math.comb(total, n) * share**n * (1 - share) ** (total - n)
                for n, total, share in pairs
            )
    return chance


@pytest.mark.slow
@settings(max_examples=60)
@given(counts=few, data=st.data())
def test_the_bound_is_no_less_than_the_chance_by_any_coins(counts, data):
    left, came = (np.array(item) for item in zip(*counts, strict=True))
    bound = chance_by_churn(left, came, np.full(len(left), 10**9))
    fair = exact(left.tolist(), came.tolist(), [0.5] * len(left))
    any_coins = [data.draw(st.floats(0.01, 0.99)) for _ in counts]
    assert fair <= bound + 1e-9
    assert exact(left.tolist(), came.tolist(), any_coins) <= fair + 1e-9


def test_the_bound_is_not_far_above_the_chance():
    # Ten coins each, five of either side: 252 of 1,024, seven times.
    five = np.full(7, 5)
    chance = (252 / 1024) ** 7
    assert chance <= chance_by_churn(five, five, np.full(7, 10**9)) <= 1.01 * chance
    assert chance_by_churn(five, np.zeros(7, dtype=int), five * 9) == 1.0


def test_the_chance_of_profiles_of_several_sizes_is_counted():
    left = np.array([1, 2, 1, 2, 3, 2, 1, 2, 3, 4, 1, 1] * 2)
    came = np.array([2, 1, 2, 1, 1, 2, 1, 1, 3, 2, 3, 1] * 2)
    least = sum(
        Fraction(int(d) ** 2, int(t)) for d, t in zip(left - came, left + came, strict=True)
    )
    chances = {Fraction(0): Fraction(1)}
    for total in (left + came).tolist():
        longer = defaultdict(Fraction)
        for x, chance in chances.items():
            for heads in range(total + 1):
                more = Fraction((2 * heads - total) ** 2, total)
                longer[x + more] += chance * Fraction(math.comb(total, heads), 2**total)
        chances = longer
    chance = float(sum(chance for x, chance in chances.items() if x <= least))
    assert CHANCE / 100 < chance < 10 * CHANCE
    assert chance <= chance_by_churn(left, came, np.full(24, 10**9)) <= 1.01 * chance


def test_of_profiles_that_are_always_as_large_more_is_asked():
    # Half of ten leave: their number varies half as much as that of many.
    left, came = np.full(60, 5), np.tile([3, 7], 30)
    many, ten = (chance_by_churn(left, came, np.full(60, n)) for n in (10**9, 10))
    assert many < CHANCE < ten


# ---- simulated -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("sensitive", ["illness", None])
def test_renewed_identifiers_are_seen_in_95_of_100(share, sensitive):
    seen = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, int(share * 10)])
        before = people(rng, 500)
        seen += compared(before, renewed(before, rng, share), sensitive).renewed
    assert seen >= 19


@pytest.mark.slow
def test_renewed_identifiers_are_seen_beside_ordinary_churn():
    seen = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        before = people(rng, 4_000, classes=200)
        now = churned(before, rng, 0.05, classes=200)
        seen += compared(before, renewed(now, rng, 0.1)).renewed
    assert seen >= 19


def test_values_that_change_every_month_hide_nothing():
    rng = np.random.default_rng(3)
    before = people(rng, 1_000)
    now = renewed(before, rng, 0.3)
    assert compared(before, now.assign(illness=rng.integers(0, 4, len(now)))).renewed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "classes", "rate", "months"),
    [(500, 20, 0.01, 1), (500, 20, 0.05, 1), (2_000, 4, 0.05, 1), (2_000, 100, 0.05, 12)],
)
def test_ordinary_churn_is_not_taken_for_it(n, classes, rate, months):
    seen = 0
    for seed in range(25):
        rng = np.random.default_rng([seed, n])
        before = people(rng, n, classes=classes)
        now = churned(before, rng, rate, months, classes=classes)
        seen += compared(before, now).renewed
    assert seen == 0


@pytest.mark.slow
@pytest.mark.parametrize(("n_alone", "rate"), [(1_000, 0.5), (1_000, 0.3), (300, 0.8)])
def test_persons_who_are_alone_may_leave_more_often_than_others(n_alone, rate):
    before = np.r_[np.ones(n_alone, dtype=int), np.full(20, 1_000)]
    rates = np.r_[np.full(n_alone, rate), np.full(20, 0.02)]
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        left, came = rng.binomial(before, rates), rng.poisson(before * rates)
        alarms += chance_by_churn(left, came, before) < CHANCE
    assert alarms <= 1


@pytest.mark.slow
def test_classes_that_differ_in_who_comes_and_goes_are_ordinary():
    # Only some classes change, and all of them have the same size.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        before = people(rng, 3_000).assign(zip=np.arange(3_000) % 150)
        gone = (rng.random(3_000) < 0.8) & (before["zip"] % 3 == 0)
        new = people(rng, int(gone.sum()), first=3_000, classes=50)
        now = pd.concat([before[~gone], new.assign(zip=new["zip"] * 3)], ignore_index=True)
        assert not compared(before, now).renewed


def test_other_columns_and_nobody_in_both_are_not_judged():
    rng = np.random.default_rng(0)
    before = people(rng, 300)
    after = before.assign(who=before["who"] + 1_000)
    assert compared(before, after).net
    assert compared(before, after).by_churn == 1.0
    key = anonrisk.keys.Key.generate()
    states = [
        frame.anon.state(column, unit="who", key=key)
        for frame, column in ((before, "zip"), (renewed(before, rng, 0.5), "illness"))
    ]
    assert not states[1].compare(states[0]).renewed


# ---- a gate ----------------------------------------------------------------------------------


def verdict_after(tmp_path, n_earlier, **more):
    """Check a release with renewed identifiers after one or two others."""
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    tmp_path.chmod(0o700)
    ledger = Ledger(tmp_path / "ledger.db", key=KEY, new=True)
    rng = np.random.default_rng(5)
    before = people(rng, 400, classes=4)
    earlier = [before, churned(before, rng, 0.3, classes=4)]
    for name, frame in enumerate(earlier[:n_earlier]):
        Release({"t": frame}, Policy(**POLICY), name=str(name + 1)).publish(ledger, by="A. Officer")
    frame = renewed(before, rng, 0.3)
    return Release({"t": frame}, Policy(**POLICY, **more), name="3").check(ledger)


@pytest.mark.parametrize("n_earlier", [1, 2])
def test_a_release_with_renewed_identifiers_cannot_be_assessed(tmp_path, n_earlier):
    verdict = verdict_after(tmp_path, n_earlier)
    assert verdict.status == "could_not_assess"
    (finding,) = verdict.failures
    assert "renewed" in finding.sentence
    assert "Compared with 1." in finding.sentence
    assert "stable_unit" in finding.sentence


def test_stable_unit_acknowledges_it_and_is_said(tmp_path):
    reason = "posts are filled again at once"
    verdict = verdict_after(tmp_path, 1, stable_unit=reason)
    (finding,) = [f for f in verdict.every_finding if f.budget == "differencing"]
    assert finding.passed
    assert f"stable_unit: {reason}" in finding.sentence
    # The release before was judged without: that somebody says so needs an approval.
    (weaker,) = [f for f in verdict.every_finding if not f.passed]
    assert "said to be stable now" in weaker.sentence


def test_the_reason_stands_in_the_policy():
    policy = Policy(**POLICY, stable_unit=" numbers are \n never given again ")
    assert policy.stable_unit == "numbers are never given again"
    assert Policy.from_dict(policy.to_dict()) == policy
    assert Policy.from_dict({**Policy(**POLICY).to_dict(), "stable_unit": None}) == Policy(**POLICY)
    for wrong in ("", " ", True, 3, "x" * 301):
        with pytest.raises(PolicyError, match="stable_unit"):
            Policy(**POLICY, stable_unit=wrong)
    with pytest.raises(PolicyError, match="belongs to the budget differencing"):
        Policy(quasi="zip", k=5, stable_unit="it does")


def test_a_comparison_says_it():
    rng = np.random.default_rng(1)
    before = people(rng, 300)
    found = compared(before, renewed(before, rng, 0.3))
    assert "alike beyond chance" in repr(found)
    assert found.to_dict()["by_churn"] < CHANCE
    assert "alike" not in repr(compared(before, before[1:]))
