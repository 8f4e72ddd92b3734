"""The degree of anonymity: of a table's classes, and against an attacker's own suspicion."""

from __future__ import annotations

import json
import math

import oracle
import pandas as pd
import pytest
from histograms import histograms, rows_with
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import ClassSizes, errors, predict

WEIGHTS = st.lists(st.integers(0, 50), min_size=2, max_size=30).filter(any)


@given(histograms)
def test_degree_equals_the_oracle(histogram):
    expected = oracle.degree(rows_with(histogram), ["x"])
    found = ClassSizes.from_histogram(histogram).degree
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


# Koot 2012, 2.2.1, and Fischer-Hübner's slides, as recomputed: the printed 0.77 is cut off, the
# printed 0.465 and 0.0615 are slips.
def test_published_degree_of_anonymity():
    sizes = ClassSizes([1, 9], [9, 1])  # nine of 1/18, one of 9/18
    assert sizes.entropy() == pytest.approx(2.584962500721156, abs=1e-12)
    assert sizes.entropy() / math.log2(10) == pytest.approx(0.7781512503836436, abs=1e-12)


def test_degree_of_persons_is_relative_to_their_number():
    # Two persons, each in a class of both and one also in a class of their own.
    sizes = ClassSizes([1, 2], [1, 1], [1, 1], unit="who", n_rows=3)
    assert sizes.degree == pytest.approx((2 / 3) * 1 / 1)


def suspicion(weights):
    return [weight / sum(weights) for weight in weights]


def by_definition(p):
    """Bits that are unknown, and those of a single guess, over those there are to know."""
    bits = sum(-one * math.log2(one) for one in p if one)
    return bits / math.log2(len(p)), -math.log2(max(p)) / math.log2(len(p))


@given(WEIGHTS)
def test_degree_by_definition(weights):
    p = suspicion(weights)
    found = predict.degree(p)
    assert (found.degree, found.least) == pytest.approx(by_definition(p), rel=1e-12, abs=1e-12)
    assert found.equally_likely == pytest.approx(2**found.bits)
    assert (found.n_people, found.n_possible) == (len(p), sum(one > 0 for one in p))
    assert found.best_guess == max(p)


@given(WEIGHTS, st.randoms(use_true_random=False))
def test_degree_knows_no_order_and_keeps_its_bounds(weights, random):
    p = suspicion(weights)
    found = predict.degree(p)
    random.shuffle(p)
    again = predict.degree(p)
    assert (again.degree, again.least) == pytest.approx((found.degree, found.least), abs=1e-12)
    assert 0 <= found.least <= found.degree + 1e-12
    assert found.degree <= 1
    # Nobody is more anonymous than among those who are left, and ruling out hides nobody.
    assert found.bits <= math.log2(found.n_possible) + 1e-12
    assert predict.degree([*p, 0.0]).degree <= found.degree + 1e-12


@given(WEIGHTS, st.floats(0, 1))
def test_to_know_less_is_to_be_more_anonymous(weights, part):
    p = suspicion(weights)
    mixed = [(1 - part) * one + part / len(p) for one in p]
    assert predict.degree(mixed).degree >= predict.degree(p).degree - 1e-9


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_degree_of_a_table_is_the_mean_of_those_who_know_the_class(sizes):
    n = sum(sizes)
    table = pd.DataFrame({"q": [i for i, size in enumerate(sizes) for _ in range(size)]})
    found = [
        predict.degree([1 / size] * size + [0.0] * (n - size)).degree
        for size in sizes
        for _ in range(size)
    ]
    assert anonrisk.classes(table, "q").degree == pytest.approx(sum(found) / n, abs=1e-12)


def test_published_suspicion(reference):
    found = predict.degree([1 / 2] + [1 / 18] * 9)
    assert found.bits == pytest.approx(reference["degree_entropy"]["value"], rel=1e-12)
    assert found.degree == pytest.approx(reference["degree"]["value"], rel=1e-12)


def test_slips_of_the_source():
    # 2.2.1: "10 times more likely" are other probabilities than those it goes on with.
    ten_times = predict.degree([10 / 19] + [1 / 19] * 9)
    assert (round(ten_times.bits, 2), round(ten_times.degree, 3)) == (2.5, 0.752)
    # 2.2.2: an attacker who is not certain has a min-entropy, and possible is not equally likely.
    unsure = predict.degree([0.9, 0.1, 0.0])
    assert 0 < unsure.least < 1
    assert unsure.n_possible == 2
    assert unsure.bits < 1


def test_the_ends():
    certain, alone = predict.degree([0, 1.0, 0]), predict.degree([1.0])
    for found in (certain, alone):
        assert [math.copysign(1, x) for x in (found.degree, found.least, found.bits)] == [1, 1, 1]
        assert (found.degree, found.least, found.bits, found.best_guess) == (0, 0, 0, 1)
    alike = predict.degree([1 / 7] * 7)
    assert (alike.degree, alike.least) == pytest.approx((1, 1), abs=1e-12)


def test_a_degree_prints_and_serialises():
    found = predict.degree([0.5, 0.25, 0.25, 0])
    assert str(found).splitlines() == [
        "Degree of anonymity 0.750 among 4 people",
        "1.500 bits are unknown, as among 2.83 who are equally likely",
        "The best guess is right with a probability of 50.0%: by that the degree is 0.500",
    ]
    assert json.loads(json.dumps(found.to_dict()))["n_possible"] == 3


@pytest.mark.parametrize(
    ("p", "text"),
    [
        ([], "at least one person"),
        ([0.5, 0.4], "must sum to 1, not to 0.9"),
        ([1.5, -0.5], "none missing or below 0"),
        ([float("nan"), 1.0], "none missing"),
        ("likely", "list of numbers"),
    ],
)
def test_what_is_no_suspicion(p, text):
    with pytest.raises(errors.ArgumentError, match=text):
        predict.degree(p)
