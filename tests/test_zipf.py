"""Zipf's law for linked records: the paper's Table 2 with its errata, simulations, identities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anonrisk import errors
from anonrisk.predict import zipf
from anonrisk.predict.zipf import Zipf, power_sums, product

D, N = 2_497, 42_598_300
# Kikuchi & Takahashi print .092 for g; the first two rows of their Table 2 need these.
CARD = Zipf(D, 0.6325302, N, g=0.021881)


def test_ranks_of_table_2_with_the_corrected_constants(reference):
    for s in (1, 2, 3, 4, 5):
        rank, mean = reference[f"tab2_rank_s{s}"]["value"]
        # The constants are given to seven digits, and rank 1 is their 1.58th power.
        assert CARD.least_rank(s) == pytest.approx(rank, rel=1e-4)
        assert CARD.mean_rank(s) == pytest.approx(mean, rel=1e-4)


def test_ratios_of_table_2(reference):
    law = Zipf(D, CARD.c, N)
    assert law.suppressed_share(1) == reference["tab2_ratio_s1"]["value"] == 0
    assert law.share_beyond(CARD.least_rank(2), 2) == pytest.approx(
        reference["tab2_ratio_s2"]["value"], abs=5e-6
    )
    assert law.share_beyond(CARD.least_rank(3), 3, discrete=True) == pytest.approx(
        reference["tab2_ratio_s3"]["value"], abs=5e-5
    )
    assert law.share_beyond(CARD.least_rank(4), 4) == pytest.approx(
        reference["tab2_ratio_s4"]["value"], abs=1e-5
    )
    assert law.suppressed_share(5) == 1
    assert law.records_necessary == pytest.approx(reference["th31"]["value"], rel=1e-12)


def test_constants_the_paper_prints_do_not_give_its_table():
    assert Zipf(D, 0.632, N, g=0.092).least_rank(3) > 4e6
    found = [Zipf(D, 0.632, N).least_rank(s) for s in (1, 2, 3, 4)]
    assert found == pytest.approx([933_393_403, 2_211_157, 5_238, 12.4], rel=1e-3)


def closed_form(d, c, x):
    """Z4 for two records, with x at least d."""
    g, b = (1 - c) / (d ** (1 - c) - 1), 1 - c
    whole = g * g / b**2 * (d ** (2 * b) - x**b)
    return whole - g * g * x**b / b * math.log(d * d / x)


@pytest.mark.parametrize(("d", "c"), [(100, 0.5), (2_497, 0.632), (50, 1.7), (1_000, 0.99)])
def test_quadrature_is_the_closed_form_for_one_and_two_records(d, c):
    law = Zipf(d, c, 1_000)
    b = 1 - c
    for x in (1.5, d / 3, d * 0.99):
        one = law.constant / b * (d**b - x**b)
        assert law.share_beyond(x, 1) == pytest.approx(one, rel=1e-10)
    for x in (d, d * 2.0, d * d / 3):
        assert law.share_beyond(x, 2) == pytest.approx(closed_form(d, c, x), rel=1e-9)


@pytest.mark.parametrize("c", [0.0, 0.4, 1.0, 1.5])
def test_simulated(c):
    rng = np.random.default_rng(0)
    d, n, size = 60, 5_000, 400_000
    law = Zipf(d, c, n)
    # Ranks of the continuous law, by inverting its distribution function.
    u = rng.random((size, 3))
    x = d**u if c == 1 else (1 + u * (d ** (1 - c) - 1)) ** (1 / (1 - c))
    for s in (1, 2, 3):
        z = x[:, :s].prod(axis=1)
        p = law.constant**s * z**-c
        assert law.unique_share(s) == pytest.approx(np.exp(-n * p).mean(), abs=3e-3)
        if c:
            rank = law.least_rank(s)
            assert law.suppressed_share(s) == pytest.approx((z > rank).mean(), abs=3e-3)


@pytest.mark.parametrize("c", [0.0, 0.7, 1.3])
def test_the_discrete_law_is_what_a_sum_over_everything_gives(c):
    d, n, k = 12, 300, 2
    p = np.arange(1, d + 1) ** -c
    p /= p.sum()
    law = Zipf(d, c, n)
    for s in (1, 2, 3):
        every = p
        for _ in range(s - 1):
            every = np.multiply.outer(every, p).ravel()
        assert law.unique_share(s, discrete=True) == pytest.approx(
            (every * np.exp(-n * every)).sum(), abs=1e-6
        )
        if c:
            # Between two atoms, where a grid cannot be in doubt.
            exact = every[every * n < k].sum()
            assert law.suppressed_share(s, k, discrete=True) == pytest.approx(exact, abs=0.02)


def test_numbers_of_the_errata():
    uniform = Zipf(100, 0, 10_000)
    assert uniform.unique_share(2, discrete=True) == pytest.approx(math.exp(-1), abs=1e-9)
    assert uniform.records_necessary == 2
    card = Zipf(D, 0.632, N)
    assert card.unique_share(2) == pytest.approx(0.023, abs=5e-4)
    assert card.unique_share(3) == pytest.approx(0.933, abs=5e-4)
    assert card.unique_share(2, discrete=True) == pytest.approx(0.024, abs=5e-4)
    assert card.unique_share(3, discrete=True) == pytest.approx(0.922, abs=5e-4)
    assert Zipf(D, 0, N).records_for_all() == pytest.approx(4.40, abs=5e-3)
    assert card.records_for_all() > 4.40


def test_under_the_uniform_law_every_rank_is_alike():
    law = Zipf(100, 0, 10_000)
    assert law.least_rank(1) == math.inf
    assert law.least_rank(2) == 0
    assert (law.suppressed_share(1), law.suppressed_share(2)) == (0, 1)
    assert "all" in repr(law.table(2))


def test_more_records_single_out_more_people():
    law = Zipf(200, 0.8, 10_000)
    shares = [law.unique_share(s) for s in range(1, 12)]
    assert shares == sorted(shares)
    assert law.longest(shares[2]) == 3
    assert law.longest(0.0) == 0
    assert Zipf(2, 5, 10**9).longest(1.0, up_to=7) == 7


@pytest.mark.slow
def test_several_attributes_multiply():
    rng = np.random.default_rng(1)
    n = 20_000
    a, b = Zipf(40, 0.9, n), Zipf(15, 0.3, n)
    both = product(a, b)
    u, v = rng.random((2, 300_000, 2))
    x = (1 + u * (40**0.1 - 1)) ** 10
    y = (1 + v * (15**0.7 - 1)) ** (1 / 0.7)
    for s in (1, 2):
        p = (a.constant * x[:, :s] ** -0.9 * b.constant * y[:, :s] ** -0.3).prod(axis=1)
        assert both.unique_share(s) == pytest.approx(np.exp(-n * p).mean(), abs=3e-3)
        assert both.suppressed_share(s) == pytest.approx((n * p < 2).mean(), abs=3e-3)
    assert product(a).unique_share(2) == pytest.approx(a.unique_share(2), abs=1e-6)
    assert product(a).suppressed_share(2) == pytest.approx(a.suppressed_share(2), abs=1e-4)
    assert product(a, b).unique_share(2) == pytest.approx(product(b, a).unique_share(2), rel=1e-9)


def test_theorem_3_4_is_no_bound():
    """The paper's one law for two attributes is right at the corners and wrong between them."""
    a, b = Zipf(10, 1.0, 100), Zipf(100, 0.0, 100)
    c = product(a, b).exponent
    assert c == pytest.approx(math.log(10) / math.log(1_000))
    inside = [(x1, x2) for x1 in (1, 10) for x2 in (1, 100)]
    printed = {(x1, x2): (x1 * x2) ** -c for x1, x2 in inside}
    true = {(x1, x2): x1**-1.0 for x1, x2 in inside}
    assert true[1, 1] == printed[1, 1]
    assert true[10, 100] == pytest.approx(printed[10, 100])
    assert true[1, 100] > printed[1, 100]
    assert true[10, 1] < printed[10, 1]


# ---- the fit ------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, 0.5, 1.2])
def test_a_perfect_law_is_found(c):
    counts = 1e9 * np.arange(1, 500) ** -c
    for method in ("least squares", "maximum likelihood"):
        found = zipf.fit(counts, method=method)
        assert found.c == pytest.approx(c, abs=1e-6)
        assert found.r_squared == (None if c == 0 else pytest.approx(1, abs=1e-9))
        assert found.n_items == 499


def test_the_fit_is_numpys():
    rng = np.random.default_rng(2)
    counts = np.sort(rng.zipf(1.6, 300))[::-1]
    x, y = np.log(np.arange(1, 301)), np.log(counts)
    slope, intercept = np.polyfit(x, y, 1)
    found = zipf.fit(rng.permutation(counts))
    assert found.c == pytest.approx(-slope, rel=1e-9)
    left = ((y - intercept - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert found.r_squared == pytest.approx(1 - left, rel=1e-9)
    sizes, items = np.unique(counts, return_counts=True)
    assert zipf.fit(sizes, items).c == pytest.approx(found.c, rel=1e-12)


def test_likelihood_finds_the_law_of_a_sample():
    rng = np.random.default_rng(3)
    p = np.arange(1, 101) ** -0.8
    counts = np.bincount(rng.choice(100, 200_000, p=p / p.sum()))
    assert zipf.fit(counts, method="maximum likelihood").c == pytest.approx(0.8, abs=0.01)


def test_likelihood_finds_laws_as_steep_as_they_come():
    found = zipf.fit([10**30, 1], method="maximum likelihood")
    assert found.c == pytest.approx(30 * math.log2(10), rel=1e-9)


def test_likelihood_is_at_its_top():
    rng = np.random.default_rng(4)
    counts = np.sort(rng.zipf(1.8, 60))[::-1]
    x = np.arange(1, 61)

    def likelihood(c):
        return (counts * (-c * np.log(x) - np.log((x**-c).sum()))).sum()

    best = zipf.fit(counts, method="maximum likelihood").c
    around = [likelihood(best + step) for step in (-0.1, -1e-3, 1e-3, 0.1)]
    assert max(around) < likelihood(best)


def test_class_sizes_are_counts(frame):
    from anonrisk.predict import Distribution, ZipfFit, fit_zipf, singletons

    values = [x for x in range(1, 31) for _ in range(120 // x)]
    table = frame({"station": values})
    found = fit_zipf(table.anon.classes("station"))
    assert isinstance(found, ZipfFit)
    same = fit_zipf([120 // x for x in range(1, 31)])
    assert (found.n_items, found.method) == (same.n_items, same.method)
    assert (found.c, found.r_squared) == pytest.approx((same.c, same.r_squared), rel=1e-12)
    for method in ("least squares", "maximum likelihood"):
        assert fit_zipf(table.anon.classes("station"), method=method).c == pytest.approx(
            1, abs=0.05
        )
    law = Distribution.zipf(found.n_items, found.c)
    measured = singletons(Distribution.from_counts([120 // x for x in range(1, 31)]), 20).mean
    assert singletons(law, 20).mean == pytest.approx(measured, rel=0.05)
    with pytest.raises(errors.ArgumentError, match="items come with the class sizes"):
        fit_zipf(table.anon.classes("station"), [1])


def test_the_printed_fit_of_the_railway_is_no_law():
    # Kikuchi & Takahashi, 3.2, print p = 0.092/x^0.632; their Table 2 needs 0.021881/x^0.63253.
    x = np.arange(1.0, 2_498)
    assert (0.092 * x**-0.632).sum() > 4
    p = 0.021881 * x**-0.632530
    assert p.sum() == pytest.approx(1, abs=0.05)
    found = zipf.fit(p * 1e9)
    assert found.c == pytest.approx(0.63253, abs=1e-9)
    assert Zipf(found.n_items, found.c, 42_598_300, g=0.021881).least_rank(3) == pytest.approx(
        5_163.8, rel=1e-3
    )


def test_sums_over_many_ranks_are_exact():
    for c in (0.0, 0.5, 1.0, 2.0):
        x = np.arange(1, 1_000_001, dtype=float)
        plain, logged = power_sums(1_000_000, c)
        assert plain == pytest.approx((x**-c).sum(), rel=1e-10)
        assert logged == pytest.approx((x**-c * np.log(x)).sum(), rel=1e-10)


def test_stations(shared):
    import pandas as pd

    stations = pd.read_csv(shared / "data" / "stations" / "jrkyushu_2019.csv")
    found = zipf.fit(stations["boardings_per_day"])
    assert found.n_items == 300
    assert 0.8 < found.r_squared < 1
    assert 0.5 < found.c < 2.5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Zipf(1, 1, 10), "d, the number of items, must be a whole number, at least 2"),
        (lambda: Zipf(2.5, 1, 10), "d, the number"),
        (lambda: Zipf(10, -1, 10), "c, the exponent"),
        (lambda: Zipf(10, float("nan"), 10), "c, the exponent"),
        (lambda: Zipf(10, 1, 0), "n, the number of people"),
        (lambda: Zipf(10, 1, 10, g=-1), "g must"),
        (lambda: CARD.least_rank(0), "length must be a whole number"),
        (lambda: CARD.least_rank(101), "at most 100"),
        (lambda: CARD.least_rank(1, k=0), "k must"),
        (lambda: CARD.longest(2), "share is a part .* from 0 to 1"),
        (lambda: CARD.longest(-0.1), "share must"),
        (lambda: CARD.unique_share(1, discrete=True), "leave out g="),
        (lambda: CARD.table(0), "max_length"),
        (product, "at least one"),
        (lambda: product(Zipf(10, 1, 10), Zipf(10, 1, 11)), "same n"),
        (lambda: product(CARD), "leave out g="),
        (lambda: zipf.fit([5]), "at least two"),
        (lambda: zipf.fit([5, 0]), "above 0"),
        (lambda: zipf.fit(["secret"]), "^counts and items must be lists of numbers$"),
        (lambda: zipf.fit([5, 3], ["secret", 1]), "^counts and items must be lists of numbers$"),
        (lambda: zipf.fit([5, 3], [1]), "same length"),
        (lambda: zipf.fit([5, 3], [1, 2.5]), "items must be whole numbers"),
        (lambda: zipf.fit([5, 3], [1, math.nan]), "above 0"),
        (lambda: zipf.fit([5, 3], method="eye"), "method"),
    ],
)
def test_wrong_calls(call, text):
    with pytest.raises(errors.ArgumentError, match=text):
        call()


def test_it_prints():
    table = Zipf(D, 0.632, N).table(3)
    assert "98.6%" in repr(table)
    assert table._repr_html_().startswith("<p>Zipf model: 2,497 items")


@pytest.mark.slow
def test_fewer_than_k_people_and_exact_sums_against_every_sequence():
    from itertools import product as every

    from scipy.stats import poisson

    law, s = Zipf(6, 0.8, 40), 3
    p = np.arange(1, 7) ** -0.8
    p /= p.sum()
    each = np.array([np.prod(sequence) for sequence in every(p, repeat=s)])
    for k in (2, 3, 5):
        few = float((each * poisson.cdf(k - 2, 40 * each)).sum())
        assert law.unique_share(s, k, discrete=True) == pytest.approx(few, rel=1e-12)
        rare = float(each[40 * each < k].sum())
        assert law.suppressed_share(s, k, discrete=True) == pytest.approx(rare, abs=1e-12)
        step = law.step(s, k, discrete=True)
        assert (step.unique, step.suppressed) == pytest.approx((few, rare), abs=1e-12)
    assert law.unique_share(s, 1) == law.unique_share(s, 1, discrete=True) == 0
    # The grid and the continuous form, where there are too many sequences to list.
    many = Zipf(1_500, 0.8, 100_000)
    p = np.arange(1, 1_501) ** -0.8
    p /= p.sum()
    each = np.outer(p, p)
    for k in (2, 3, 5):
        few = float((each * poisson.cdf(k - 2, 100_000 * each)).sum())
        assert many.unique_share(2, k, discrete=True) == pytest.approx(few, abs=1e-4)
        assert many.unique_share(2, k) == pytest.approx(few, abs=0.05)
    assert "fewer than k" in repr(law.table(2, k=5))


def test_the_density_of_two_uniform_numbers_is_a_triangle():
    x = np.array([0.25, 1.0, 1.5])
    assert zipf._spline(x, 1) == pytest.approx([1, 0, 0])
    assert zipf._spline(x, 2) == pytest.approx([0.25, 1, 0.5])
    assert zipf._spline(x, 3) == pytest.approx([0.25**2 / 2, 0.5, 0.75])


def test_beyond_the_first_point_is_all_but_its_mass():
    grid, mass = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.3, 0.2])
    limits = (0.5, 1.0, 1.5, 2.5, 4.0)
    assert [zipf.tail(grid, mass, x) for x in limits] == pytest.approx([1, 0.5, 0.5, 0.2, 0])


def test_a_table_has_five_lengths_unless_asked_otherwise():
    assert [len(Zipf(10, 1, 100).table(*n).steps) for n in ((), (2,))] == [5, 2]
