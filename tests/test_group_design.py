"""The best group size: Koot's example, and against trying every size."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from anonrisk.errors import ApproximationError, ApproximationWarning, ArgumentError
from anonrisk.predict import Distribution, best_group_size
from anonrisk.predict.group import best_whole


def test_the_postal_codes_of_example_5_6(reference):
    for cost, exact in ((1, 10), (10, 37)):
        design = best_group_size((95, 0.0), cost)
        assert design.group_size == reference[f"postal_opt_C{cost}"]["value"]
        assert design.method == "kl"
        assert best_group_size(Distribution.uniform(95), cost).group_size == exact
    by_kl = best_group_size(Distribution.uniform(95), 10, method="kl")
    assert (by_kl.group_size, by_kl.method) == (38, "kl")


def every_size(p, cost, upto):
    k = np.arange(1, upto + 1)
    share = (p * (1 - p) ** (k[:, None] - 1)).sum(axis=1)
    return share - cost / k


@pytest.mark.parametrize("seed", range(25))
def test_the_exact_optimum_is_that_of_trying_every_size(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(rng.integers(2, 80), rng.choice([0.3, 1, 5]))) + 1e-3
    p /= p.sum()
    cost = float(rng.uniform(0, 0.3) * len(p))
    worth = every_size(p, cost, math.ceil(1 / p.min()) + 50)
    if worth.max() <= 0:
        with pytest.raises(ArgumentError, match="more than a group of any size is worth"):
            best_group_size(Distribution.from_probabilities(p), cost)
        return
    design = best_group_size(Distribution.from_probabilities(p), cost)
    assert design.worth == pytest.approx(worth.max(), rel=1e-12)
    assert design.group_size == worth.argmax() + 1
    assert design.fraction == pytest.approx(design.worth + cost / design.group_size)


@pytest.mark.parametrize("kl", [0.0, 0.02, 0.1, 0.19])
@pytest.mark.parametrize("cost", [0.5, 4.0, 20.0])
def test_the_kl_optimum_is_that_of_trying_every_size(kl, cost):
    k = np.arange(1, 601)
    a = k / 200
    worth = np.exp(-a) * (1 + kl * a * (a - 2)) - cost / k
    design = best_group_size((200, kl), cost)
    assert design.group_size == worth.argmax() + 1
    assert design.worth == pytest.approx(worth.max())


def test_two_hills_do_not_mislead():
    # A share that is nearly 1 up to 3 and about .5 up to 4,000: the second hill is higher.
    def share(k):
        return 1.0 if k <= 3 else 0.5 if k <= 4_000 else 0.0

    assert best_whole(share, 2.0, 10_000)[0] == 4_000
    assert best_whole(share, 1.0, 10_000)[0] == 3


def test_the_limits_of_the_divergence_are_kept():
    with pytest.warns(ApproximationWarning, match="may be off by 11%"):
        best_group_size((1_000, 0.12), 300)
    with pytest.raises(ApproximationError, match="says too little"):
        best_group_size((1_000, 0.5), 180)


@pytest.mark.parametrize("kl", [0.0, 0.1])
def test_a_cost_that_nothing_is_worth_is_refused(kl):
    most = (1 - kl) * 95 / math.e
    assert best_group_size((95, kl), 0.999 * most).worth > 0
    for cost in (most, 2 * most):
        with pytest.raises(ArgumentError, match="more than a group of any size is worth"):
            best_group_size((95, kl), cost)


@pytest.mark.parametrize(
    ("known", "cost", "options", "message"),
    [
        ((95, 0.0), -1, {}, "cost_per_group"),
        ((95, 0.0), math.nan, {}, "cost_per_group"),
        ((95, -0.1), 1, {}, "kl"),
        ((95, 9.0), 1, {}, "kl cannot exceed"),
        ((0, 0.1), 1, {}, "n_values"),
        (95, 1, {}, "not an int"),
        ((95, 0.0), 1, {"method": "exact"}, "needs the distribution itself"),
        ((95, 0.0), 1, {"method": "best"}, "is not one of"),
    ],
)
def test_bad_input_is_refused(known, cost, options, message):
    with pytest.raises(ArgumentError, match=message):
        best_group_size(known, cost, **options)


def test_the_result_prints_and_is_frozen():
    design = best_group_size((95, 0.0), 1)
    assert "10 people" in repr(design)
    assert "10 people" in design._repr_html_()
    assert json.loads(json.dumps(design.to_dict()))["group_size"] == 10
    with pytest.raises(AttributeError):
        design.group_size = 3
    assert best_group_size(Distribution.uniform(95), 0).group_size == 1
