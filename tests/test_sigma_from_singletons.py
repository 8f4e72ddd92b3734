"""The spread of a column from how many were alone: its example, its inverse, its coverage."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from anonrisk.errors import ArgumentError
from anonrisk.predict import sigma_from_singletons
from anonrisk.predict.sigma_from_singletons import _cut


def chances(sigma, width, offset=0.0):
    """The probability of each interval, by the definition."""
    edges = offset + width * np.arange(-math.ceil(9 * sigma / width) - 2, 9 * sigma / width + 3)
    return np.diff(norm.cdf(edges, scale=sigma))


def expected(sigma, k, width, offset=0.0):
    p = chances(sigma, width, offset)
    return k * (p * (1 - p) ** (k - 1)).sum()


@pytest.mark.slow
def test_the_example_of_the_thesis():
    found = sigma_from_singletons(8, 10, 0.5)
    assert found.sigma == pytest.approx(5.67, abs=5e-3)
    assert expected(found.sigma, 10, 0.5) == pytest.approx(8, abs=1e-3)
    # Twice and half the width, where the thesis says 6 and 9.
    assert expected(found.sigma, 10, 1) == pytest.approx(6.42, abs=5e-3)
    assert expected(found.sigma, 10, 0.25) == pytest.approx(8.94, abs=5e-3)
    first_order = 0.5 * 10 * 9 / (2 * math.sqrt(math.pi) * (10 - 8))
    assert first_order == pytest.approx(6.35, abs=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("seen", "k"), [([2, 4], 4), (5, 20), ([4, 6, 3], 8)])
def test_the_mean_at_the_estimate_is_what_was_seen(seen, k):
    found = sigma_from_singletons(seen, k, 2.0)
    assert expected(found.sigma, k, 2.0) == pytest.approx(np.mean(seen), rel=1e-3)
    assert found.sigma in found.interval


@pytest.mark.slow
def test_the_ends_of_the_interval_are_just_rare_by_enumeration():
    k, seen = 4, 2
    found = sigma_from_singletons(seen, k, 1.0)

    def tail(sigma, keep):
        p = chances(sigma, 1.0)
        p = p[p > 1e-9]
        return sum(
            math.prod(p[list(people)])
            for people in itertools.product(range(len(p)), repeat=k)
            if keep((np.bincount(people) == 1).sum())
        )

    # The upper end is beyond what can be enumerated; the lower one is below one width, where
    # the intervals that suit best decide, so that it lies at or below that of any others.
    at = brentq(lambda s: tail(s, lambda alone: alone >= seen) - 0.025, 0.05, 0.5, xtol=1e-4)
    assert 0 <= found.interval.low <= at * (1 + 1e-3)
    pairs = k * (k - 1) / 2 / (2 * math.sqrt(math.pi) * found.interval.high)
    assert pairs == pytest.approx(0.025, rel=0.05)


@pytest.mark.slow
def test_a_wider_interval_of_values_scales_everything():
    one, ten = sigma_from_singletons(6, 12, 1.0), sigma_from_singletons(6, 12, 10.0)
    assert ten.sigma == pytest.approx(10 * one.sigma, rel=1e-9)
    assert tuple(ten.interval) == pytest.approx(tuple(10 * end for end in one.interval), rel=1e-9)


@pytest.mark.slow
def test_more_people_alone_mean_a_wider_spread():
    found = [sigma_from_singletons(seen, 12, 1.0) for seen in (0, 4, 8, 12)]
    for name in ("sigma", "low", "high"):
        ends = [getattr(each.interval, name, each.sigma) for each in found]
        assert ends == sorted(ends)
    assert (found[0].sigma, found[0].interval.low) == (0, 0)
    assert (found[-1].sigma, found[-1].interval.high) == (math.inf, math.inf)


@pytest.mark.slow
def test_more_groups_narrow_the_interval():
    few, many = (sigma_from_singletons([6] * n, 10, 1.0) for n in (2, 40))
    assert few.sigma == pytest.approx(many.sigma, rel=1e-3)
    assert few.interval.low < many.interval.low < many.interval.high < few.interval.high


@pytest.mark.parametrize("ratio", [0.3, 3.0, 45.0, 700.0])
def test_intervals_taken_together_change_next_to_nothing(ratio):
    known = _cut(ratio, 0.0)
    whole = chances(ratio, 1.0)
    for power in (2, 3):
        together = float(np.dot(known.values, known.p**power))
        assert together == pytest.approx((whole**power).sum(), rel=4e-4)


WORLDS = [(0.3, 100, 1), (0.4, 6, 1), (0.8, 20, 1), (3.0, 10, 5), (25.0, 30, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "k", "groups"),
    [
        (3.0, 10, 1),
        *(pytest.param(*world, marks=pytest.mark.nightly) for world in WORLDS),
    ],
)
def test_the_interval_covers(ratio, k, groups):
    rng = np.random.default_rng(11)
    runs, hits = 400, 0
    by_total = {}
    for _ in range(runs):
        # Nobody knows where an interval begins.
        middle = rng.uniform(0, 1)
        seen = []
        for _ in range(groups):
            cells = np.floor(rng.normal(middle, ratio, k)).astype(int)
            seen.append(int((np.bincount(cells - cells.min()) == 1).sum()))
        total = sum(seen)
        if total not in by_total:
            by_total[total] = sigma_from_singletons(seen, k, 1.0).interval
        hits += ratio in by_total[total]
    # Two standard errors of 400 runs below 95%.
    assert hits / runs >= 0.928


@pytest.mark.slow
def test_it_prints_and_stores():
    found = sigma_from_singletons([10, 8], 10, 0.5)
    assert "18 alone of 10 people in each of 2 groups" in repr(found)
    assert "95.0% confidence" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["singletons"] == [10, 8]
    alone = sigma_from_singletons(4, 4, 1.0)
    assert "no finite one" in repr(alone)
    assert alone.to_dict()["high"] is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((9, 10, 0.5), "the last one would be alone"),
        ((11, 10, 0.5), "cannot have 11"),
        ((-1, 10, 0.5), "singletons"),
        (([], 10, 0.5), "empty"),
        ((1, 1, 0.5), "group_size"),
        ((8, 10, 0), "width"),
        (([0] * 2, 10**7, 1.0), "too many"),
    ],
)
def test_what_cannot_be_is_refused(given, says):
    with pytest.raises(ArgumentError, match=says):
        sigma_from_singletons(*given)
    with pytest.raises(ArgumentError, match="level"):
        sigma_from_singletons(8, 10, 0.5, level=1.0)
