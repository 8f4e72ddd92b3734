"""Every row of docs/formulas.md: what the source prints is wrong, what the library does is right.

A row is a function that gives cases: the truth, by counting, enumerating or integrating; what
follows from the print; what follows from our form, by the library where it has it; and how near
that is.
"""

from __future__ import annotations

import itertools
import math
import re
from math import e, exp, log, log2, pi, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import oracle
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import beta, norm, poisson

from anonrisk import ClassSizes, predict
from anonrisk.datasets import figures
from anonrisk.errors import ApproximationError, ApproximationWarning
from anonrisk.measures.probabilistic import domain_size, max_singleton_share
from anonrisk.measures.recode.quantiles import optimal_groups
from anonrisk.planning.budget import exact_values, shares
from anonrisk.predict import (
    Distribution,
    density_limit,
    density_variance_limit,
    normal_expansion,
    sigma_from_singletons,
)
from anonrisk.predict.kl import KnownByKl
from anonrisk.predict.kl import mean as kl_mean
from anonrisk.predict.zipf import Zipf, product

DOCUMENT = Path(__file__).parents[1] / "docs" / "formulas.md"
ROWS = {}


class Case(NamedTuple):
    truth: Any
    printed: Any
    ours: Any
    rel: float = 1e-9


def row(name):
    """Say which row of the document a function is about."""

    def listed(function):
        assert name not in ROWS
        ROWS[name] = function
        return function

    return listed


@pytest.mark.parametrize("name", ROWS)
def test_the_print_is_wrong_and_ours_is_right(name):
    cases = ROWS[name]()
    assert cases
    for truth, printed, ours, rel in cases:
        assert ours == pytest.approx(truth, rel=rel)
        assert printed != pytest.approx(truth, rel=3 * rel)


def test_every_row_has_a_test_and_every_test_a_row():
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    listed = [re.match(r"\| `([^`]+)` \|", line)[1] for line in lines]
    assert sorted(listed) == sorted(ROWS)
    for line in lines:
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        assert len(cells) == 3, line
        assert all(cell.strip() for cell in cells), line


# ---- by counting and enumerating ----------------------------------------------------------


def groups(p, k):
    """Every group of k people: its chance, and how many have each value."""
    for people in itertools.product(range(len(p)), repeat=k):
        yield math.prod(p[i] for i in people), np.bincount(people, minlength=len(p))


def moments(p, k, count):
    """Mean and mean square of a count of a group, by enumeration."""
    each = [(chance, count(sizes)) for chance, sizes in groups(p, k)]
    return sum(c * x for c, x in each), sum(c * x * x for c, x in each)


def alone(sizes):
    return int((sizes == 1).sum())


def sloped(n, gamma=1.0):
    """A law near the uniform one, its probabilities on a straight line."""
    p = 1 + gamma * ((np.arange(n) + 0.5) / n - 0.5)
    return Distribution.from_probabilities(p / p.sum())


def two_level(n, alphas=(0.5, 1.5)):
    """Half the values have each of two probabilities, in parts of 1/n."""
    return Distribution([alpha / n for alpha in alphas], [n // 2, n // 2])


def summed(values):
    return float(np.sum(values))


# ---- Koot ---------------------------------------------------------------------------------


@row("koot-2.1")
def the_size_of_a_set_is_not_one_over_it():
    ten = pd.DataFrame({"x": [0] * 10})
    return [
        Case(10, 1 / 10, ten.anon.k("x")),
        Case(1 / 10, 10, ten.anon.risk("x").prosecutor.highest),
    ]


@row("koot-2.2.1")
def nine_times_as_likely():
    p = [0.5] + [0.5 / 9] * 9
    degree = -sum(x * log2(x) for x in p) / log2(10)
    known = Distribution.from_probabilities(p)
    return [
        Case(p[0] / p[1], 10, float(known.p.max() / known.p.min())),
        Case(degree, 0.77, predict.degree(p).degree, 2e-3),
    ]


@row("koot-2.2.2")
def ends_of_the_renyi_family():
    counted, p = ClassSizes([2, 3, 5], [1, 1, 1]), [0.2, 0.3, 0.5]

    def renyi(order):
        return log2(sum(x**order for x in p)) / (1 - order)

    # Certainty has no entropy left; and with equal chances that of order 1 would be the same.
    return [
        Case(renyi(900), 0.0, counted.entropy(math.inf), 2e-3),
        Case(renyi(1e-6), counted.entropy(1), counted.entropy(0), 1e-5),
    ]


def printed_and_right(name, column):
    return figures.published(corrected=False).loc[name, column], figures.published().loc[
        name, column
    ]


@row("koot-table-3.3")
def citizens_in_sets_of_at_most_five():
    name = "gender + year_of_birth + month_of_birth + pc4"
    upto_four = 137_035 + 212_536 + 260_244 + 282_644
    printed, right = printed_and_right(name, "at_most_5")
    assert printed < upto_four
    assert printed % 5 == 0
    return [Case(upto_four + 279_100, printed, right)]


@row("koot-3.3.2")
def share_that_is_alone():
    table = figures.published().loc["gender + year_of_birth + month_of_birth + pc4"]
    return [Case(137_035 / 2_774_476, 0.048, table["at_most_1"] / table["records"], 1e-3)]


@row("koot-table-3.2")
def number_of_postal_codes():
    found = []
    for name, mean in (("pc4", 7_188), ("pc4 + gender", 3_594)):
        printed, right = printed_and_right(name, "sets")
        found.append(Case(round(2_774_476 / mean), printed, right))
    return found


@row("koot-4.2")
def exponent_of_stirling():
    n, a = 10**6, 0.8
    k = round(a * sqrt(n))
    truth = exp(summed(np.log1p(-np.arange(k) / n)))
    printed = exp(-k + (n - k) * math.log1p(-k / n))
    right = exp(-k - (n - k) * math.log1p(-k / n))
    uniform = float(predict.uniqueness(Distribution.uniform(n), k))
    return [Case(truth, printed, right, 1e-3), Case(truth, printed, uniform, 1e-9)]


@row("koot-4.3.2-sum")
def one_is_taken_away_once():
    n, alphas = 100_000, (0.5, 1.5)
    known, k = two_level(n, alphas), 1_500
    gap = predict.uniqueness(Distribution.uniform(n), k).log - predict.uniqueness(known, k).log
    printed = sum(alpha**2 / 2 - 1 for alpha in alphas)
    return [Case(gap * 2 * n / k**2, printed, n * known.s2 - 1, 0.02)]


@row("koot-4.3.2-power")
def which_power_of_the_uniform_chance():
    n, k = 95, 29
    known = sloped(n)
    truth = math.exp(summed_log_elementary(known, k))
    uniform, kappa = float(predict.uniqueness(Distribution.uniform(n), k)), known.kl
    with pytest.warns(ApproximationWarning, match="may be off by 13%"):
        by_kl = float(predict.uniqueness(Distribution.from_kl(n, kappa), k))
    return [
        Case(truth, uniform**kappa, uniform ** (1 + 2 * kappa), 0.1),
        Case(truth, uniform * exp(-kappa), by_kl, 0.1),
    ]


def summed_log_elementary(known, k):
    """Log of k! times the k-th elementary symmetric polynomial of the probabilities."""
    chance = np.zeros(k + 1)
    chance[0] = 1.0
    for p in np.repeat(known.p, known.values):
        chance[1:] += np.arange(1, k + 1) * p * chance[:-1]
    return log(chance[k])


@row("koot-4.4.1")
def successes_and_not_experiments():
    t, r, p = 1.96, 0.1, 0.01
    experiments = brentq(lambda m: t * sqrt(p * (1 - p) / m) / p - r, 10, 10**7)
    return [Case(experiments, 400, t**2 / r**2 / p, 0.02)]


@row("koot-lemma-4.1")
def limit_of_a_covariance():
    n, a, (x, y) = 4_000, 0.8, (0.5, 1.5)
    k, half = round(a * n), n // 2
    pairs = k * (k - 1) * (1 - (x + y) / n) ** (k - 2)
    apart = k**2 * ((1 - x / n) * (1 - y / n)) ** (k - 1)
    truth = half**2 * x * y / n**2 * (pairs - apart) / n
    both = 0.25 * exp(-a * (x + y))
    printed = -(a**3) * x**2 * y**2 * both
    right = -a * x * y * (1 - a * x) * (1 - a * y) * both
    # The variance is that of the two halves and twice this.
    whole = density_variance_limit(lambda at: x if at < 0.5 else y, a)
    own = sum(
        a * z * exp(-a * z) / 2
        - (a * z * exp(-a * z)) ** 2 / 2
        - a * (z * (1 - a * z) * exp(-a * z) / 2) ** 2
        for z in (x, y)
    )
    return [Case(truth, printed, right, 2e-3), Case(truth, printed, (whole - own) / 2, 2e-3)]


@row("koot-5.1")
def how_heterogeneity_moves_the_mean():
    n, k = 2_000, 1_000
    known, a = sloped(n, 0.8), 0.5
    truth, uniform = (
        predict.singletons(known, k).mean,
        predict.singletons(Distribution.uniform(n), k).mean,
    )
    ours = kl_mean(KnownByKl(n, known.kl), k)
    printed = uniform * (1 + a / 2 * (a - 2) * known.kl)
    dense = 3 * n
    more = (
        predict.singletons(known, dense).mean
        > predict.singletons(Distribution.uniform(n), dense).mean
    )
    # Printed: with few people per value it rises with the distance, with many it falls.
    return [
        Case(truth, printed, ours, 1e-3),
        Case([False, True], [True, False], [ours > uniform, more]),
    ]


@row("koot-remark-5.3")
def shares_of_values_begin_at_none():
    n, k, kappa = 100, 110, 0.02
    a = k / n
    counted = [
        exp(-a) * a**j / math.factorial(j) * (1 + ((a - j) ** 2 - j) * kappa) for j in range(60)
    ]
    others = k / (n - 1)  # the library's form is binomial, of which Koot's is the limit
    none = (1 - 1 / n) ** k * (1 + kappa * (others**2 - others / (n - 1)))
    found = predict.classes(Distribution.from_kl(n, kappa), k, upto=40)
    ours = none + summed(found.classes) / n
    return [Case(1.0, summed(counted[1:]), ours, 1e-9)]


@row("koot-remark-5.4")
def where_the_mean_is_largest():
    def scaled(a, kappa):
        return a * exp(-a) * (1 + kappa * a * (a - 2))

    def is_top(kappa):
        return scaled(1, kappa) > max(scaled(0.99, kappa), scaled(1.01, kappa))

    n, kappa = 10**6, 0.05
    best = minimize_scalar(lambda a: -scaled(a, kappa), bounds=(0.5, 1.5), method="bounded")
    return [
        Case(-best.fun, 1 / e, (1 - kappa) / e, 1e-3),
        Case(-best.fun, 1 / e, kl_mean(KnownByKl(n, kappa), n) / n, 1e-3),
        Case([is_top(0.3), is_top(0.5)], [0.3 < 2 / 3, 0.5 < 2 / 3], [0.3 < 1 / 3, 0.5 < 1 / 3]),
    ]


@row("koot-remark-5.5")
def the_uniform_law_is_not_always_the_worst():
    n, k = 100, 150

    def mean(each):
        p = np.array([each] * (n - 1) + [1 - (n - 1) * each])
        return k * summed(p * (1 - p) ** (k - 1))

    best = -minimize_scalar(lambda x: -mean(x), bounds=(1e-6, 1 / (n - 1)), method="bounded").fun
    return [Case(best, mean(1 / n), max_singleton_share(k, n) * k, 0.02)]


@row("koot-example-5.8")
def a_density_on_a_straight_line():
    a, gamma = 0.8, 2.0
    kappa = quad(lambda x: 2 * x * log(2 * x) if x else 0.0, 0, 1)[0]
    printed = ((1 + gamma / 2) ** 2 * log(1 + gamma / 2) - 1) / (2 * gamma)
    p = np.diff(np.linspace(0, 1, 20_001) ** 2)
    upto_one = quad(lambda x: a * 2 * x * exp(-2 * x * a), 0, 1)[0]
    to_infinity = quad(lambda x: a * 2 * x * exp(-2 * x * a), 0, math.inf)[0]
    return [
        Case(kappa, printed, Distribution.from_probabilities(p / p.sum()).kl, 1e-6),
        Case(upto_one, to_infinity, density_limit(lambda x: 2 * x, a)),
    ]


@row("koot-5.3.1-variance")
def exponent_of_a_square():
    n, k = 4, 5
    mean, square = moments([1 / n] * n, k, alone)
    same = k * (1 - 1 / n) ** (k - 1) + k * (k - 1) * (n - 1) / n * (1 - 2 / n) ** (k - 2)
    printed = same - k**2 * (1 - 1 / n) ** (2 * k - 4)
    ours = predict.singletons(Distribution.uniform(n), k).variance
    return [Case(square - mean**2, printed, ours)]


@row("koot-5.3.1-limit")
def limit_of_the_variance():
    n, a = 1_000, 0.5
    truth = predict.singletons(Distribution.uniform(n), round(a * n)).variance / n
    printed = a * exp(-a) * (1 - a**2 * exp(-a))
    return [Case(truth, printed, density_variance_limit(lambda x: 1.0, a), 2e-3)]


@row("koot-5.7")
def pairs_of_different_values():
    p, k, size = [0.1, 0.1, 0.4, 0.4], 4, 2
    _, truth = moments(p, k, lambda sizes: alone(sizes[:size]))

    def square(pairs):
        once = k * size * p[0] * (1 - p[0]) ** (k - 1)
        return once + k * (k - 1) * pairs * p[0] ** 2 * (1 - 2 * p[0]) ** (k - 2)

    return [Case(truth, square(size**2), square(size * (size - 1)))]


@row("koot-proposition-5.10")
def limit_of_the_variance_of_several_kinds():
    n, a, alphas = 4_000, 0.8, (0.5, 1.5)
    truth = predict.singletons(two_level(n, alphas), round(a * n)).variance / n
    m1, m2 = (sum(x**j * exp(-a * x) / 2 for x in alphas) for j in (1, 2))
    ours = density_variance_limit(lambda x: alphas[int(x >= 0.5)], a)
    return [Case(truth, a * m1 - a**3 * m2**2, ours, 2e-3)]


@row("koot-5.3.2")
def variance_from_the_divergence():
    n, k = 1_000, 500
    known, a = sloped(n), 0.5
    truth, kappa = predict.singletons(known, k).variance, known.kl
    printed = k * exp(-a) * (1 - a * (a - 2) * kappa) - k * a**2 * exp(-2 * a) * (
        1 + (4 - 6 * a) * kappa
    )
    ours = predict.singletons(Distribution.from_kl(n, kappa), k).variance
    # The square by itself, to first order in the distance.
    tiny = sloped(100_000, 0.05)
    alphas = np.repeat(tiny.p, tiny.values) * tiny.n_values
    square = (np.mean(alphas**2 * np.exp(-a * alphas)) / exp(-a)) ** 2
    slope = (square - 1) / (2 * tiny.kl)
    return [Case(truth, printed, ours, 0.01), Case(slope, 2 - 3 * a, 2 - 4 * a + a**2, 0.01)]


@row("koot-proposition-5.11")
def limit_of_the_variance_of_a_density():
    n, a = 2_000, 0.8
    p = np.diff(np.linspace(0, 1, n + 1) ** 2)
    truth = (
        predict.singletons(Distribution.from_probabilities(p / p.sum()), round(a * n)).variance / n
    )
    printed = quad(lambda x: a * 2 * x * (1 - a**2 * 2 * x) * exp(-2 * x * a), 0, 1)[0]
    return [Case(truth, printed, density_variance_limit(lambda x: 2 * x, a), 2e-3)]


@row("koot-5.3.3")
def what_a_standard_deviation_is():
    n, found = 50, predict.singletons(Distribution.uniform(50), 40)
    away = (np.arange(41) - found.mean) ** 2 @ found.pmf()
    return [Case(1.0, away / (found.variance / n), away / found.variance, 1e-9)]


@row("koot-5.4.3")
def chance_that_nobody_is_alone():
    p, k = [0.1, 0.2, 0.3, 0.4], 6
    truth = sum(chance for chance, sizes in groups(p, k) if not alone(sizes))
    printed = math.prod(1 - k * x * exp(-k * x) for x in p)
    return [
        Case(
            truth, printed, float(predict.singletons(Distribution.from_probabilities(p), k).p_none)
        )
    ]


@row("koot-6.3.1-exponential")
def expansion_of_the_exponential():
    k, step = 10, 0.01
    share = np.exp(-step * np.arange(8_000)) * -math.expm1(-step)
    truth = k * summed(share * (1 - share) ** (k - 1))
    printed = k * (1 - k * step / 2 + k**2 * step**2 / 6)
    right = k * (1 - (k - 1) * step / 2 + (k - 1) * (k - 2) * step**2 / 6)
    exact = predict.singletons(Distribution.exponential(1.0, step), k).mean
    return [Case(truth, printed, right, 1e-4), Case(truth, printed, exact, 1e-9)]


@row("koot-6.3.1-ends")
def slopes_at_the_ends_cancel():
    k, step = 10, 1e-4
    exact = predict.singletons(Distribution.exponential(1.0, step), k).mean
    integral = quad(lambda x: exp(-2 * x), 0, math.inf)[0]
    # The density falls from 1 to 0: the integral of its slope is −1.
    printed = k * (k - 1) * integral - k * -1.0 / 2
    return [Case((k - exact) / step, printed, k * (k - 1) * integral, 2e-3)]


@row("koot-remark-6.2")
def variance_of_narrow_intervals():
    k, width = 3, 0.001
    p = np.diff(norm.cdf(np.arange(-9_000, 9_001) * width))
    s2, s3 = summed(p**2), summed(p**3)
    chances = {0: s3, 1: 3 * (s2 - s3), 3: 1 - 3 * s2 + 2 * s3}
    mean = sum(s * chance for s, chance in chances.items())
    truth = sum((s - mean) ** 2 * chance for s, chance in chances.items())
    square = 1 / (2 * sqrt(pi))
    exact = predict.singletons(Distribution.normal(1.0, width), k).variance
    return [
        Case(truth, width * (2 * k**2 - 3 * k) * square, 2 * k * (k - 1) * width * square, 2e-3),
        Case(truth, width * (2 * k**2 - 3 * k) * square, exact, 1e-6),
    ]


@row("koot-6.4.1")
def each_width_must_be_narrow():
    def off(wide):
        """What two people, rounded in two columns, differ by from the expansion."""
        exact = [
            summed(np.diff(norm.cdf(np.arange(-400, 401) * step)) ** 2) for step in (wide, 1.5)
        ]
        return wide * 1.5 / (4 * pi) - math.prod(exact)

    with pytest.raises(ApproximationError):
        normal_expansion(2, [0.1, 1.5], [[1, 0], [0, 1]])
    # Half of one width: a quarter of an error in the square of the product, half of a linear one.
    return [Case(off(0.1) / off(0.05), 4.0, 2.0, 0.02)]


@row("koot-6.5")
def spread_of_weights():
    def mean(sigma):
        p = np.diff(norm.cdf(np.arange(-400, 401) * 0.5, scale=sigma))
        return 10 * summed(p * (1 - p) ** 9)

    truth = brentq(lambda sigma: mean(sigma) - 8, 1, 20)
    return [Case(truth, 6.6, sigma_from_singletons(8, 10, 0.5).sigma, 2e-3)]


@row("koot-appendix-b")
def what_a_questionnaire_leaves():
    factors = [3.33, 1.26, 3, 2.7, 2.3]
    steps = predict.questionnaire(
        16_000_000, [(str(i), 1 / factor) for i, factor in enumerate(factors)]
    ).steps
    truth = 16_000_000 / math.prod(factors)
    return [Case(truth, printed, steps[-1].size, 1e-6) for printed in (204_347, 94_000)]


# ---- Lodha & Thomas -----------------------------------------------------------------------


@row("lodha-theorem-2")
def sign_of_the_exponent():
    n, d = 50, 200
    truth = n * (1 - 1 / d) ** (n - 1)
    return [Case(truth, n * exp(n / d), n * max_singleton_share(n, d))]


@row("lodha-theorems-1-2")
def bounds_of_small_tables():
    mean, _ = moments([0.5, 0.5], 2, alone)
    assert mean > 2 / e
    return [Case(mean, 2 / e, 2 * max_singleton_share(2, 2))]


@row("lodha-theorem-4")
def the_constant_is_not_small():
    n, k, often = 10**6, 2, 0.1
    people = brentq(lambda m: poisson.cdf(k - 1, m) - often, k, 50)
    # Example 6 takes a fifth for it.
    return [Case(1 - k / people, 0.2, 1 - k * exact_values(n, k, often) / n, 1e-3)]


@row("lodha-3.1")
def least_loss_and_its_size():
    splits = [(d, 36 // d) for d in range(1, 37) if 36 % d == 0]
    loss = {split: sum(1 / d for d in split) for split in splits}
    n, d = 120, 4
    shift = d * sum(abs(i - (n // d - 1) // 2) for i in range(n // d))
    return [
        Case(
            min(splits, key=loss.get),
            max(splits, key=loss.get),
            tuple(shares(36, [1, 1], [99, 99])),
        ),
        Case(shift, n**2 / d, n**2 / (4 * d)),
    ]


@row("lodha-definition-7")
def ranks_count_from_the_smallest():
    values = [1, 12, 4, 7, 3]
    printed = [sorted(values, reverse=True).index(value) + 1 for value in (7, 3)]
    ours = pd.Series(values).rank()[[3, 4]].tolist()
    return [Case([4, 2], printed, ours)]


@row("lodha-theorem-5")
def equal_values_stay_together():
    records, k = [1, 1, 1, 2], 2
    cuts = [cut for r in range(4) for cut in itertools.combinations((1, 2, 3), r)]
    allowed = []
    for cut in cuts:
        parts = [records[a:b] for a, b in itertools.pairwise((0, *cut, 4))]
        together = sum(len(set(part)) for part in parts) == len(set(records))
        if together and min(map(len, parts)) >= k:
            allowed.append(len(parts))
    ours = optimal_groups(np.array([1.0, 2.0]), np.array([3, 1]), k, "median")
    return [Case(max(allowed), len(records) // k, len(ours))]


@row("lodha-4.1")
def size_of_a_sample_of_ranks():
    off, often = 0.01, 0.05

    def kept(s):
        """Whether the middle of so many has its rank within the error as often as promised."""
        middle = beta((s + 1) / 2, (s + 1) / 2)
        return middle.cdf(0.5 - off) + middle.sf(0.5 + off) <= often

    printed, ours = log(1 / often) / off, log(2 / often) / (2 * off**2)
    return [Case([True], [kept(printed)], [kept(ours)])]


@row("lodha-5.2")
def error_of_buckets():
    b = 10
    cut = norm.ppf(np.linspace(0, 1, b + 1))
    means, medians = -b * np.diff(norm.pdf(cut)), norm.ppf((np.arange(b) + 0.5) / b)
    # All of a bucket become its median.
    truth = 1 - summed(means**2 - (means - medians) ** 2) / b
    x = (np.arange(10**5) + 0.5) / 10**5
    even = x.reshape(b, -1)
    uniform = even.var(axis=1).mean() / x.var()
    return [Case(truth, 1 / b**2, 4.3 / b**2, 0.02), Case(uniform, truth, 1 / b**2, 1e-3)]


@row("lodha-figure-3")
def cells_of_a_figure():
    sizes = [60, 8, 15, 7, 14, 6, 5, 2, 20, 40]
    n, found = 3 * 10**8, [Case(math.prod(sizes), 33e9, domain_size(sizes))]
    for columns, printed in (((0, 1, 2, 4, 9), 75), ((0, 1, 4, 5, 8), 380), ((0, 1, 4, 8, 9), 55)):
        chosen = [sizes[i] for i in columns]
        found.append(Case(n / math.prod(chosen), printed, n / domain_size(chosen)))
    return found


# ---- Mahiou & Nagle -----------------------------------------------------------------------


@row("mahiou-3.2-entropy")
def entropy_has_a_minus():
    df = pd.DataFrame({"q": [0, 0, 0, 1, 1, 1], "s": list("aabbcc")})
    rows = df.to_dict("records")
    printed = exp(2 / 3 * log(2 / 3) + 1 / 3 * log(1 / 3))
    joint = exp(-(2 / 6 * log(2 / 6) + 1 / 6 * log(1 / 6)))
    ours, truth = df.anon.ldiv("q", "s", "entropy"), oracle.ldiv(rows, ["q"], "s", "entropy")
    return [Case(truth, printed, ours), Case(truth, joint, ours)]


@row("mahiou-3.2-recursive")
def the_commonest_value_stays():
    def by_print(r, c):
        """The largest l: the commonest is rarer than c times the rest, and so on without it."""
        l = 1
        while len(r) > 1 and r[0] < c * sum(r[1:]):
            r, l = r[1:], l + 1
        return l

    df = pd.DataFrame({"q": 0, "s": list("aaaabbcc")})
    truth = oracle.ldiv(df.to_dict("records"), ["q"], "s", "recursive", c=1.5)
    return [Case(truth, by_print([4, 2, 2], 1.5), df.anon.ldiv("q", "s", "recursive", c=1.5))]


@row("mahiou-3.3")
def half_the_differences():
    df = pd.DataFrame({"q": [0, 0, 1, 1], "s": list("aabb")})
    truth = oracle.tcloseness(df.to_dict("records"), ["q"], "s", oracle.equal_cost)
    printed = sum(abs(p - 0.5) for p in (1.0, 0.0))
    return [Case(truth, printed, float(df.anon.tcloseness("q", "s", "equal")))]


@row("mahiou-4.1")
def suppressed_records_are_misclassified():
    df = pd.DataFrame({"q": list("aaabbc"), "s": list("xxyyyz")})
    left = df[df["q"] != "c"]
    # One y among x, and one record that is gone.
    return [Case(2 / 6, 1 / 5, left.anon.utility("q", "s", original=df).classification_metric)]


@row("mahiou-4.2")
def spread_of_the_quasi_identifier():
    df = pd.DataFrame({"age": [30, 30, 50, 50], "s": [1, 9, 2, 8]})
    least, largest, found = -math.inf, math.inf, []
    for value in df["s"]:
        least, largest = min(least, value), max(largest, value)
    spread = summed(np.ptp(df["s"].to_numpy().reshape(2, 2), axis=1)) * 2 / 4 / 8
    found.append(Case(0.0, spread, df.anon.utility("age", original=df).loss_metric))
    found.append(Case(8, largest - least, float(np.ptp(df["s"].to_numpy()))))
    return found


@row("mahiou-4.3")
def entropy_grows_with_the_set():
    share = {"a": 0.05, "b": 0.05, "c": 0.9}
    tree = {"*": {"ab": ["a", "b"], "cc": ["c"]}}
    df = pd.DataFrame({"x": ["a"] * 5 + ["b"] * 5 + ["c"] * 90})

    def loss(members, weight):
        """Of the ten records of a and b, if each stands for these."""
        whole = sum(share[m] for m in members)
        bits = -sum(share[m] / whole * log2(share[m] / whole) for m in members)
        return sum(weight(value, whole) * bits for value in ["a"] * 5 + ["b"] * 5)

    printed, truth, ours = [], [], []
    for members, label in (("ab", "ab"), ("abc", "*")):
        printed.append(loss(members, lambda value, whole: share[value]))
        truth.append(loss(members, lambda value, whole: whole))
        coarse = df.replace({"a": label, "b": label})
        found = coarse.anon.utility("x", original=df, hierarchies={"x": tree})
        ours.append(found.monotone_entropy)
    assert printed == sorted(printed, reverse=True)
    assert ours == sorted(ours)
    return [Case(truth, printed, ours)]


@row("mahiou-4.5")
def loss_about_the_private_value():
    df = pd.DataFrame({"x": list("aabbccdd"), "y": [0, 0, 0, 1, 1, 1, 1, 1]})
    coarse = df.replace({"x": {"a": "ab", "b": "ab"}})
    tree = {"*": {"ab": ["a", "b"], "cc": ["c"], "dd": ["d"]}}

    def loss(column):
        """Minus the mean log of the chance of a cell, given the label of its record."""
        both = pd.DataFrame({"value": df[column], "label": coarse["x"]})
        own = both.groupby("label")["value"].transform(
            lambda v: v.map(v.value_counts(normalize=True))
        )
        return -float(np.log2(own.astype(float)).mean())

    found = coarse.anon.utility("x", "y", original=df, hierarchies={"x": tree})
    whole = df.anon.entropy("y") - found.private_mutual_information
    return [Case(loss("y"), loss("x"), whole), Case(loss("x"), loss("y"), found.information_loss)]


# ---- Fischer-Hübner -----------------------------------------------------------------------


def bits(*p):
    return -sum(x * log2(x) for x in p)


@row("fischer-huebner-numbers")
def numbers_of_the_slides():
    sex, nationality = ClassSizes([469, 531], [1, 1]), ClassSizes([1, 9], [1, 1])
    return [
        Case(bits(0.469, 0.531), 0.957, sex.entropy(), 1e-3),
        Case(bits(0.1, 0.9), 0.465, nationality.entropy(), 1e-3),
        Case(log2(6.105), 2.6, 2.61, 1e-3),
        Case(6.105 / 100, 0.0615, 0.06105, 1e-3),
    ]


@row("fischer-huebner-rr")
def an_average_that_is_a_lower_bound():
    df = pd.DataFrame({"x": [0] * 7 + [1, 2, 3]})
    each = df.groupby("x")["x"].transform("size")
    found = df.anon.classes("x").rr
    assert found < found.classes_per_record
    printed = 2 ** bits(0.7, 0.1, 0.1, 0.1) / 10
    assert float(found) == pytest.approx(printed)
    return [Case(float((1 / each).mean()), printed, found.classes_per_record)]


# ---- Kikuchi & Takahashi ------------------------------------------------------------------

STATIONS, PEOPLE = 2_497, 42_598_300
CARD = Zipf(STATIONS, 0.632530, PEOPLE, g=0.021881)


@row("kikuchi-3.2")
def constants_of_the_law():
    c = 0.632
    truth = 1 / quad(lambda x: x**-c, 1, STATIONS, limit=200)[0]
    by_print = (0.092**3 * PEOPLE / 2) ** (1 / c)
    return [
        Case(truth, 0.092, Zipf(STATIONS, c, PEOPLE).constant, 1e-6),
        Case(5_164, by_print, CARD.least_rank(3), 1e-3),
    ]


@row("kikuchi-theorem-3.1")
def as_many_combinations_as_people():
    n = 100**2
    truth = (1 - 1 / n) ** (n - 1)
    return [Case(truth, 1.0, Zipf(100, 0, n).unique_share(2, discrete=True), 1e-3)]


@row("kikuchi-3.4")
def mean_rank_of_linked_records():
    g, c = CARD.constant, CARD.c
    return [
        Case(rank, g * (PEOPLE / 2) ** (1 / (c * s)), CARD.mean_rank(s), 0.02)
        for s, rank in ((2, 1_474), (3, 17))
    ]


@row("kikuchi-3")
def a_share_is_not_negative():
    law = Zipf(100, 0.6, 1_000)
    g, c, rank = law.constant, law.c, 40.0
    truth = quad(lambda x: g * x**-c, rank, 100)[0]
    return [
        Case(
            truth, g / (1 - c) * (rank ** (1 - c) - 100 ** (1 - c)), law.share_beyond(rank, 1), 1e-6
        )
    ]


def beyond_two(law, rank):
    """Share of pairs whose ranks multiply to more than this, by integration."""
    g, c, d = law.constant, law.c, law.d
    inner = lambda x: (d ** (1 - c) - (rank / x) ** (1 - c)) / (1 - c)  # noqa: E731
    return quad(lambda x: g**2 * x**-c * inner(x), rank / d, d, limit=200)[0]


@row("kikuchi-theorem-3.3")
def no_lower_bound():
    law = Zipf(STATIONS, 0.632, PEOPLE)
    g, c, d, rank = law.constant, law.c, law.d, law.least_rank(2)
    truth = beyond_two(law, rank)
    printed = g**2 / (1 - c) * (d ** (2 * (1 - c)) - rank)
    mended = g**2 / (1 - c) * (d ** (2 * (1 - c)) - rank ** (1 - c))
    assert mended > truth
    ours = law.suppressed_share(2)
    return [Case(truth, printed, ours, 1e-6), Case(truth, mended, ours, 1e-6)]


@row("kikuchi-two-records")
def closed_form_of_two_records():
    law = Zipf(STATIONS, 0.632, PEOPLE)
    g, c, d, rank = law.constant, law.c, law.d, law.least_rank(2)
    first = g**2 / (1 - c) ** 2 * (d ** (2 * (1 - c)) - rank ** (1 - c))
    second = g**2 * rank ** (1 - c) / (1 - c)
    printed, right = first - second * log(rank / d**2), first - second * log(d**2 / rank)
    truth = beyond_two(law, rank)
    return [
        Case(truth, printed, right, 1e-6),
        Case(truth, printed, law.share_beyond(rank, 2), 1e-6),
    ]


@row("kikuchi-theorem-3.4")
def two_attributes_are_no_zipf_law():
    a, b = Zipf(10, 1.0, 500), Zipf(100, 0.0, 500)
    p = np.outer(1 / np.arange(1, 11) / summed(1 / np.arange(1, 11)), np.full(100, 0.01)).ravel()
    truth = summed(p * np.exp(-500 * p))
    both = product(a, b)
    single = np.outer(np.arange(1, 11), np.arange(1, 101)).ravel() ** -both.exponent
    single /= single.sum()
    # At ranks 1 and 100 the product exceeds what is to bound it.
    assert 100**-both.exponent < 1.0
    return [
        Case(
            truth, summed(single * np.exp(-500 * single)), both.unique_share(1, discrete=True), 5e-3
        )
    ]
