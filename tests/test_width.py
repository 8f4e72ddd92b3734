"""Widths of intervals: the rules of thumb, the expansions, and the suggested ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from distributions import ages

from anonrisk import errors, predict
from anonrisk.predict import Distribution
from anonrisk.predict.width import normal_expansion


def test_koots_rule_of_thumb_for_widths(reference):
    # Ten weights rounded to half a kilogram of which eight are alone: how spread are they?
    from scipy.optimize import brentq
    from scipy.stats import norm

    alone = lambda sigma, width: predict.singletons(Distribution.normal(sigma, width), 10).mean  # noqa: E731
    linear = lambda sigma, width: 10 - width * 90 / (2 * sigma * math.sqrt(math.pi))  # noqa: E731
    by_formula = brentq(lambda sigma: linear(sigma, 0.5) - 8, 1, 20)
    assert by_formula == pytest.approx(reference["rule_of_thumb_sigma"]["value"], rel=1e-9)
    doubled = reference["rule_of_thumb_double"]["value"]
    assert [linear(by_formula, 1), linear(by_formula, 0.25)] == pytest.approx(doubled)
    exact = brentq(lambda sigma: alone(sigma, 0.5) - 8, 3, 9)
    assert exact == pytest.approx(5.665, abs=5e-4)
    assert [alone(exact, 1), alone(exact, 0.25)] == pytest.approx([6.419, 8.942], abs=5e-4)
    assert predict.expansion(norm(0, 40), 4, 1, order="first") == pytest.approx(
        4 - 12 / (2 * 40 * math.sqrt(math.pi)), rel=1e-9
    )


@pytest.mark.slow
def test_expansions_against_exact_bins():
    from scipy.stats import norm

    for k, width in ((10, 0.04), (10, 0.1), (5, 0.2)):
        exact = predict.singletons(Distribution.normal(1, width), k).mean
        assert predict.expansion(norm(0, 1), k, width, order="first") == pytest.approx(
            exact, rel=0.04
        )
        assert predict.expansion(norm(0, 1), k, width, order="second") == pytest.approx(
            exact, rel=0.01
        )
    for k, width in ((10, 0.5), (300, 0.3), (1_000, 0.1)):
        exact = predict.singletons(Distribution.normal(1, width), k).mean
        assert predict.expansion(norm(0, 1), k, width) == pytest.approx(exact, rel=0.015)
    exact = predict.singletons(Distribution.bivariate_normal((4, 5), 0.4, (1, 1)), 10).mean
    near = normal_expansion(10, [1, 1], [[16, 8], [8, 25]])
    assert near == pytest.approx(exact, rel=0.06)
    for order, k in (("first", 100), ("second", 100)):
        with pytest.raises(errors.ApproximationError, match="exact"):
            predict.expansion(norm(0, 1), k, 0.1, order=order)
    with pytest.raises(errors.ApproximationError, match="bivariate_normal"):
        normal_expansion(10, [1, 20], [[23.3, 12.8], [12.8, 28]])


def test_suggested_widths_meet_the_budget_at_every_offset():
    p = np.repeat(ages(79).p, ages(79).values)
    random = np.random.default_rng(0)
    random.shuffle(p)
    found = predict.suggest_width(p, 200, 0.05)
    assert [t.width for t in found.tried] == sorted(t.width for t in found.tried)
    for tried in found.tried:
        uppers = []
        for offset in range(int(tried.width)):
            cell = (np.arange(len(p)) + offset) // int(tried.width)
            joint = Distribution.from_probabilities(np.bincount(cell, weights=p))
            uppers.append(predict.singletons(joint, 200).law.upper(0.95) / 200)
        assert (max(uppers) <= 0.05) == (tried.width == found.width)
    assert "with 95% probability" in " ".join(repr(found).split())
    with pytest.raises(errors.ArgumentError, match="no width"):
        predict.suggest_width(p, 1, 0.05)


def test_every_offset_of_whole_numbers_is_tried():
    k = 200
    p = np.zeros(40)
    p[36] = 1 / k
    p[:36] = (1 - 1 / k) / 36
    with pytest.raises(errors.ArgumentError, match="no width"):
        predict.suggest_width(p, k, 0.5 / k, widths=[20])
    for tried in predict.suggest_width([0.01] * 100, 50, 0.1).tried:
        assert tried.upper >= tried.mean
