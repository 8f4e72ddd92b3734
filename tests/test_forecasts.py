"""Predictions from a repository: inside their bounds, covering what happens, refused in doubt."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from anonrisk import ClassSizes
from anonrisk.errors import (
    ApproximationError,
    ApproximationWarning,
    ArgumentError,
    DisagreementError,
    InvalidPriorError,
    PriorNotFoundError,
)
from anonrisk.predict import Distribution, singletons, uniqueness
from anonrisk.priors import Prior, Repository, forecast
from anonrisk.priors.forecast import of_singletons

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")

LAWS = {
    "even": lambda rng, n: np.full(n, 1 / n),
    "gentle": lambda rng, n: rng.dirichlet(np.full(n, 20.0)),
    "rough": lambda rng, n: rng.dirichlet(np.full(n, 2.0)),
    "spiky": lambda rng, n: rng.dirichlet(np.full(n, 0.3)),
    "zipf": lambda rng, n: 1 / np.arange(1, n + 1) / np.sum(1 / np.arange(1, n + 1)),
    "two": lambda rng, n: np.where(np.arange(n) < n // 5, 8, 1) / (n + 7 * (n // 5)),
}


def published(p, n, rng, **changes):
    """What a holder publishes who has counted n people of a law."""
    counts = rng.multinomial(n, p)
    sizes, classes = np.unique(counts[counts > 0], return_counts=True)
    about = {"population": "P", "by": "B", "n_values": len(p)} | changes
    return Prior.of(ClassSizes(sizes, classes, qid=["x"]), **about)


def truth(p, k):
    return k * float(np.sum(p * (1 - p) ** (k - 1)))


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("values", "records", "domain"),
    [
        (30, 3_000, "observed"),
        (200, 10_000, "declared"),
        pytest.param(95, 1_000_000, "declared", marks=pytest.mark.nightly),
        pytest.param(200, 10_000, "observed", marks=pytest.mark.nightly),
    ],
)
def test_the_true_mean_lies_within_the_bounds(law, values, records, domain):
    rng = np.random.default_rng(values + records)
    p = LAWS[law](rng, values)
    prior = published(p, records, rng, n_values=values if domain == "declared" else None)
    assert prior.domain == domain
    for share in (0.05, 0.7, 3):
        k = max(2, round(share * values))
        found = of_singletons(prior, k)
        low, high = found.mean
        assert low - 1e-6 * k <= truth(p, k) <= high + 1e-6 * k
        assert 0 <= low <= high <= k
        exact = singletons(Distribution.from_probabilities(p), k)
        assert exact.variance <= found.variance * (1 + 1e-6)
        # The widest interval, of bounds alone, encloses that of the true law.
        near, far = forecast(prior, k, method="bounds").interval(0.95)
        low, high = exact.interval(0.95)
        assert near <= low
        assert high <= far


def test_bounds_are_narrow_where_the_numbers_say_much():
    rng = np.random.default_rng(2)
    p = LAWS["gentle"](rng, 95)
    prior = published(p, 10_000_000, rng)
    for k, width in ((10, 0.005), (50, 0.01), (95, 0.03)):
        low, high = of_singletons(prior, k).mean
        assert high - low < width * truth(p, k)
    assert tuple(of_singletons(prior, 1).mean) == (1, 1)


def test_numbers_that_contradict_each_other_are_found_out():
    # Each pair is possible; together they are not: s3 says two-level, kl says nearly even.
    prior = Prior(["x"], "P", kl=0.08, s2=0.0119, s3=3.5e-4, n_values=100, n_records=10**9, by="B")
    with pytest.raises(InvalidPriorError, match="no distribution"):
        of_singletons(prior, 50)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["even", "rough", "spiky"])
def test_pairs_are_used_where_triples_are_rare(law):
    rng = np.random.default_rng(4)
    p = LAWS[law](rng, 40_000)
    prior = published(p, 2_000_000, rng)
    made = forecast(prior, 40)
    assert made.method == "pairs"
    exact = singletons(Distribution.from_probabilities(p), 40)
    assert made.mean == pytest.approx(exact.mean, rel=1e-3)
    assert made.prediction.p_all_unique == pytest.approx(
        float(uniqueness(Distribution.from_probabilities(p), 40)), rel=0.01
    )
    with pytest.raises(ApproximationError, match="from 20 people up"):
        forecast(prior, 19, method="pairs")
    with pytest.raises(ApproximationError, match="triples"):
        forecast(prior, 4_000, method="pairs")


@pytest.mark.slow
def test_the_divergence_is_used_within_its_limits():
    rng = np.random.default_rng(5)
    p = LAWS["gentle"](rng, 95)
    prior = published(p, 1_000_000, rng)
    assert prior.kl_corrected <= 0.05
    for k in (10, 95, 180):
        made = forecast(prior, k)
        assert made.method == "kl"
        assert made.mean == pytest.approx(truth(p, k), rel=0.07)
    with pytest.raises(ApproximationError):
        forecast(prior, 400, method="kl")


@pytest.mark.slow
def test_the_rule_warns_refuses_and_names_the_bounds():
    rng = np.random.default_rng(6)
    p = LAWS["rough"](rng, 95)
    prior = published(p, 1_000_000, rng)
    assert 0.2 < prior.kl_corrected <= 0.3
    with pytest.warns(ApproximationWarning, match="may be off by 10%"):
        forecast(prior, 45, method="kl")
    with pytest.raises(ApproximationError, match=r"only bounds: [\d.]+ to [\d.]+ singletons"):
        forecast(prior, 190)
    made = forecast(prior, 95, method="bounds")
    assert made.mean is None
    assert made.fraction is None
    assert made.bounds.low <= truth(p, 95) <= made.bounds.high


def test_a_divergence_counted_on_few_records_is_not_used():
    rng = np.random.default_rng(7)
    prior = published(LAWS["even"](rng, 1_000), 4_000, rng)
    with pytest.raises(ApproximationError, match="fewer than five records per value"):
        forecast(prior, 300, method="kl")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "values", "k", "method"),
    [("rough", 20_000, 60, "pairs"), ("gentle", 95, 60, "kl"), ("spiky", 95, 60, "bounds")],
)
def test_intervals_cover_what_happens(law, values, k, method):
    rng = np.random.default_rng(8)
    p = LAWS[law](rng, values)
    made = forecast(published(p, 1_000_000, rng), k, method=method)
    low, high = made.interval(0.95)
    draws = [np.unique(rng.choice(values, k, p=p), return_counts=True)[1] for _ in range(600)]
    alone = np.array([np.sum(counts == 1) for counts in draws])
    assert np.mean((alone >= low) & (alone <= high)) >= 0.93
    with pytest.raises(ArgumentError, match="level"):
        made.interval(1.5)


def test_a_verdict_never_passes_in_doubt():
    rng = np.random.default_rng(9)
    p = LAWS["gentle"](rng, 95)
    made = forecast(published(p, 1_000_000, rng), 95)
    upper, expected = made.interval(0.95).high / 95, made.fraction
    assert made.verdict(upper) == "pass"
    assert made.verdict((upper + expected) / 2) == "could_not_assess"
    assert made.verdict(expected * 0.99) == "fail"
    only = forecast(published(p, 1_000_000, rng), 95, method="bounds")
    assert only.verdict(1.0) == "pass"
    assert only.verdict(only.bounds.high / 95) == "could_not_assess"
    assert only.verdict(only.bounds.low / 95 * 0.99) == "fail"
    with pytest.raises(ArgumentError, match="max_fraction"):
        made.verdict(-1)


def test_the_result_prints_and_serialises():
    rng = np.random.default_rng(10)
    prior = published(LAWS["gentle"](rng, 95), 1_000_000, rng)
    for made in (forecast(prior, 50), forecast(prior, 50, method="bounds")):
        text = repr(made)
        assert "whatever the distribution" in text
        assert "by B" in text
        assert "whatever the distribution" in made._repr_html_()
        assert json.loads(json.dumps(made.to_dict()))["method"] == made.method
        with pytest.raises(AttributeError):
            made.method = "x"
    with pytest.raises(ArgumentError, match="group_size"):
        forecast(prior, 0)
    with pytest.raises(ArgumentError, match="not one of"):
        forecast(prior, 10, method="best")


# ---- through a repository ------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "priors.sqlite")


def test_a_policy_maker_predicts_without_data(repository):
    rng = np.random.default_rng(11)
    prior = published(LAWS["gentle"](rng, 95), 1_000_000, rng)
    repository.publish(prior)
    made = repository.predict("x", "P", 60)
    assert made.mean == forecast(prior, 60).mean
    assert made.prior.number == 1


def test_an_unknown_prior_is_an_error_that_helps(repository):
    rng = np.random.default_rng(12)
    repository.publish(published(LAWS["even"](rng, 95), 10_000, rng, population="Amsterdam 2021"))
    with pytest.raises(PriorNotFoundError, match="did you mean 'Amsterdam 2021'"):
        repository.predict("x", "amsterdam 2021", 10)
    with pytest.raises(PriorNotFoundError, match="published about it: x"):
        repository.predict(["x", "y"], "Amsterdam 2021", 10)
    with pytest.raises(PriorNotFoundError, match="Zoe has not published"):
        repository.predict("x", "Amsterdam 2021", 10, by="Zoe")


def test_holders_who_disagree_stop_a_prediction(repository):
    rng = np.random.default_rng(13)
    gentle, rough = (LAWS[law](rng, 95) for law in ("gentle", "rough"))
    repository.publish(published(gentle, 50_000, rng, by="Small"))
    repository.publish(published(gentle, 900_000, rng, by="Big"))
    assert repository.predict("x", "P", 30).prior.by == "Big"
    repository.publish(published(rough, 800_000, rng, by="Odd"))
    with pytest.raises(DisagreementError, match=r"(?s)say by= .*Odd"):
        repository.predict("x", "P", 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repository.predict("x", "P", 30, by="Small").prior.by == "Small"
