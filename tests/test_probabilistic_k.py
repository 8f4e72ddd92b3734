"""What the number of possible values says: formulas, the paper's figures, wrong calls."""

from __future__ import annotations

import json
from math import comb, exp, log, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import errors
from anonrisk.measures import probabilistic as p


def binomial_below(k, n, share):
    return sum(comb(n, j) * share**j * (1 - share) ** (n - j) for j in range(k))


@given(st.integers(1, 60), st.integers(1, 40))
def test_no_distribution_has_more_singletons_than_the_bound(n, n_values):
    random = np.random.default_rng(n * 100 + n_values)
    bound = p.max_singleton_share(n, n_values)
    for weights in (np.ones(n_values), random.random(n_values), random.random(n_values) ** 4):
        shares = weights / weights.sum()
        expected = (shares * (1 - shares) ** (n - 1)).sum()
        assert expected <= bound * (1 + 1e-9) + 1e-12
    if n_values >= n > 1:
        assert bound == pytest.approx((1 - 1 / n_values) ** (n - 1))


@given(st.integers(2, 10**6), st.floats(0.01, 0.99))
def test_the_least_domain_is_where_the_bound_meets_the_share(n, alpha):
    domain = p.least_domain(n, alpha)
    if domain > 1:
        assert p.max_singleton_share(n, domain) == pytest.approx(alpha, rel=1e-6)
        assert p.max_singleton_share(n, domain * 1.01) > alpha
    if alpha > 0.5 and n > 10**4:
        assert domain == pytest.approx(n / log(1 / alpha), rel=1e-3)


@given(st.integers(1, 60), st.floats(0.001, 1), st.floats(0.001, 0.5))
def test_k_is_the_largest_that_holds(n, share, beta):
    k = p.guaranteed_k(n, share, beta)
    assert p.probability_below(k, n, share) <= beta
    assert k == n or p.probability_below(k + 1, n, share) > beta
    assert p.probability_below(k, n, share) == pytest.approx(
        binomial_below(k, n, share), rel=1e-8, abs=1e-12
    )


@given(st.integers(10, 10**9), st.floats(1, 10**6), st.floats(1e-6, 0.5))
def test_chernoff_never_promises_more(n, n_values, beta):
    promised = p.chernoff_k(n, n_values, beta)
    assert promised <= p.guaranteed_k(n, 1 / n_values, beta)
    if promised >= 2:
        x = log(1 / beta) / (promised - 1)
        limit = n / (promised - 1) * (1 + x - sqrt(x * x + 2 * x))
        assert n_values <= limit * (1 + 1e-9)


def test_the_poisson_limit_joins_smoothly():
    for n, rate in ((10**10, 5), (10**12, 40)):
        below, above = (rate * (1 - 1e-6)) / n, (rate * (1 + 1e-6)) / n
        assert p.probability_below(7, n, below) == pytest.approx(
            p.probability_below(7, n, above), rel=1e-4
        )


def test_published_numbers():
    assert p.max_singleton_share(3 * 10**8, 4 * 10**9) == pytest.approx(0.93, abs=0.005)
    assert p.max_singleton_share(6 * 10**9, 4 * 10**8) == pytest.approx(0.025, abs=5e-4)
    assert p.least_domain(10**6, 0.5) == pytest.approx(10**6 / log(2), rel=1e-5)
    # Example 6: n/125 cells are enough for (0.9, 100).
    assert p.chernoff_k(3 * 10**8, 3 * 10**8 / 125, 0.1) >= 100
    assert p.guaranteed_k(3 * 10**8, 113.02 / (3 * 10**8), 0.1) == 100
    assert p.guaranteed_k(3 * 10**8, 113.0 / (3 * 10**8), 0.1) == 99


# Lodha & Thomas, figure 3: the columns of each row with the printed D, F2 and k-Anon.
DOMAINS = [60, 8, 15, 7, 14, 6, 5, 2, 20, 40]
FIGURE_3 = {
    (1,): (60, 7.4e-08, 5e6),
    (1, 9): (1200, 1.48e-06, 2.5e5),
    (1, 7, 8): (600, 7.4e-07, 5e5),
    (1, 2, 3, 5): (1e5, 1.2e-4, 3e3),
    (1, 2, 5, 10): (2.7e5, 3.3e-4, 1.1e3),
    (1, 5, 9, 10): (6.7e5, 8.3e-4, 450),
    (2, 3, 5, 10): (6.7e4, 8.3e-5, 4.5e3),
    (1, 2, 3, 5, 10): (4e6, 4.9e-3, 75),
    (1, 2, 4, 5, 6): (2.8e5, 3.4e-4, 1e3),
    (1, 2, 5, 6, 9): (8e5, 9.9e-4, 380),
    (1, 2, 5, 9, 10): (5.4e6, 6.7e-3, 55),
    tuple(range(1, 11)): (33e9, 0.99, 1),
}


@pytest.mark.parametrize("columns", FIGURE_3)
def test_figure_3(columns):
    n = 3 * 10**8
    printed_d, printed_f2, printed_k = FIGURE_3[columns]
    domain = p.domain_size(DOMAINS[i - 1] for i in columns)
    # Printed with one or two digits, and with 2.7 for e.
    assert domain == pytest.approx(printed_d, rel=0.03)
    assert p.max_singleton_share(n, domain) == pytest.approx(printed_f2, rel=0.04)
    assert max(n / domain, 1) == pytest.approx(printed_k, rel=0.07)


@pytest.mark.slow
def test_figure_3_on_the_table(shared):
    import importlib.util

    path = Path(__file__).parents[1] / "anonrisk" / "datasets" / "examples" / "lodha_thomas.py"
    spec = importlib.util.spec_from_file_location("lodha_thomas", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    table = example.figure_3(example.read(shared / "data" / "tables" / "adult.csv"))
    assert table["S"].tolist() == [
        *(2, 986, 65, 5056, 3105, 7581, 1384, 7659, 5215, 12870, 10402, 24802)
    ]
    assert table["F1"].tolist() == [s / 32561 for s in table["S"]]
    assert table["answer"].tolist().count("measured") == 5
    assert table["answer"].iloc[0] == "excluded in expectation"


@pytest.mark.slow
def test_the_example_tells_what_it_needs():
    import subprocess
    import sys

    path = Path(__file__).parents[1] / "anonrisk" / "datasets" / "examples" / "lodha_thomas.py"
    run = subprocess.run(
        [sys.executable, str(path), "no_such_file.csv"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "UCI" in run.stderr


PEOPLE = {"zip": ["1", "1", "2", None], "sex": ["f", "f", "m", "m"]}


def test_every_engine_promises_alike(frame):
    table = frame(PEOPLE)
    found = table.anon.probabilistic_k(["zip", "sex"], 1000, 0.05, domain_sizes={"zip": 10})
    assert (found.domain, found.domain_given) == (20, False)
    assert found.even_k == p.guaranteed_k(1000, 1 / 20, 0.05)
    assert found.even_failing == pytest.approx(20 * binomial_below(found.even_k, 1000, 1 / 20))
    # A value of 20 has a twentieth at most, though the table's rarest has a quarter.
    assert found.k == found.even_k
    # Of zip alone: 2, 1 and 1 of 4 records, and three values.
    shares = table.anon.probabilistic_k("zip", 1000, 0.05)
    assert shares.k == p.guaranteed_k(1000, 1 / 4, 0.05) < shares.even_k
    expected = 2 * binomial_below(shares.k, 1000, 1 / 4) + binomial_below(shares.k, 1000, 1 / 2)
    assert shares.failing == pytest.approx(expected)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.floats(0.01, 0.4))
def test_no_value_of_the_table_fails_more_often_than_promised(sizes, beta):
    table = pd.DataFrame({"q": np.repeat(np.arange(len(sizes)), sizes)})
    n = 4 * sum(sizes)
    found = table.anon.probabilistic_k("q", n, beta)
    chances = [binomial_below(found.k, n, size / sum(sizes)) for size in sizes]
    assert max(chances) <= beta * (1 + 1e-9)
    assert found.failing == pytest.approx(sum(chances), abs=1e-9)
    assert found.k <= found.even_k
    one_more = [binomial_below(found.k + 1, n, size / sum(sizes)) for size in sizes]
    assert max(one_more) > beta * (1 - 1e-9)


def test_most_values_of_a_zipf_table_are_below_the_even_case():
    sizes = np.maximum(20_000 / np.arange(1, 201), 1).astype(int)
    table = pd.DataFrame({"q": np.repeat(np.arange(200), sizes)})
    found = table.anon.probabilistic_k("q", 10 * sizes.sum(), 0.1)
    assert found.values_below(found.even_k) > 0.7 * 200
    assert found.failing < 0.1 * 200


def test_a_promise_prints_and_serialises():
    found = pd.DataFrame(PEOPLE).anon.probabilistic_k("zip", 10**6, 0.1)
    assert "shares as those of the table" in repr(found)
    assert "<table>" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["k"] == found.k
    assert found.values_below(1) == pytest.approx(2 * exp(-(10**6) / 4), abs=1e-12)
    assert found.chernoff <= found.even_k


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.anon.probabilistic_k("zip"), errors.ArgumentError, "population_size is need"),
        (lambda t: t.anon.probabilistic_k("zip", 3), errors.ArgumentError, "which has 4 records"),
        (lambda t: t.anon.probabilistic_k("zip", 10, 0), errors.ArgumentError, "beta"),
        (
            lambda t: t.anon.probabilistic_k("zip", 10, 1),
            errors.ArgumentError,
            "beta must be a share",
        ),
        (lambda t: t.anon.probabilistic_k("zp", 10), errors.ColumnNotFoundError, "mean 'zip'"),
        (
            lambda t: t.anon.probabilistic_k("zip", 10, domain_sizes={"zp": 4}),
            errors.ArgumentError,
            "'zp', which is not a quasi-identifier; did you mean 'zip'",
        ),
        (
            lambda t: t.anon.probabilistic_k("zip", 10, domain_sizes={"zip": 2}),
            errors.ArgumentError,
            "'zip' has more different values in the table than its domain size allows",
        ),
        (
            lambda t: t.anon.probabilistic_k("zip", 10, domain_sizes={"zip": 2.5}),
            errors.ArgumentError,
            "domain size of 'zip' must be a whole number",
        ),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(pd.DataFrame(PEOPLE))


def test_numbers_without_a_table_are_checked():
    for wrong in (
        lambda: p.max_singleton_share(0, 10),
        lambda: p.max_singleton_share(10, 0),
        lambda: p.least_domain(10, 1),
        lambda: p.domain_size([0]),
    ):
        with pytest.raises(anonrisk.AnonRiskError):
            wrong()
    assert p.least_domain(1, 0.5) == 0
    assert p.probability_below(0, 5, 0.5) == 0
    assert p.probability_below(6, 5, 0.5) == 1
    assert p.probability_below(2, 5, 1.0) == 0
