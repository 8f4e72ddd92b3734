"""Predictions against full enumeration, the reference values, and what their docstrings state."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from distributions import ages, families
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multinomial

from anonrisk import ClassSizes, errors, predict
from anonrisk.predict import (
    Distribution,
    another_group,
    density_limit,
    independent,
    law,
    moments,
    stirling,
)
from anonrisk.predict.independent import Binomial, Poisson
from anonrisk.predict.moments import covariance, expected_below, variance_below

SMALL = [[0.1, 0.2, 0.3, 0.4], [0.25] * 4, [0.7, 0.2, 0.1], [0.5, 0.5], [0.05, 0.05, 0.3, 0.3, 0.3]]


def groups(p, k):
    """Every group of k people, person by person: its chance and its class sizes."""
    for people in itertools.product(range(len(p)), repeat=k):
        chance = math.prod(p[i] for i in people)
        yield chance, np.bincount(people, minlength=len(p))


@pytest.mark.parametrize("p", SMALL, ids=str)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6])
def test_exact_forms_agree_with_enumeration(p, k):
    whole = list(groups(p, k))
    law_of_s = np.zeros(k + 1)
    for chance, sizes in whole:
        law_of_s[(sizes == 1).sum()] += chance
    mean = law_of_s @ np.arange(k + 1)
    found = predict.singletons(Distribution.from_probabilities(p), k)
    assert found.mean == pytest.approx(mean, abs=1e-12)
    assert found.variance == pytest.approx(law_of_s @ np.arange(k + 1) ** 2 - mean**2, abs=1e-12)
    assert found.pmf() == pytest.approx(law_of_s, abs=1e-12)
    assert float(found.p_none) == pytest.approx(law_of_s[0], rel=1e-12, abs=1e-300)
    assert found.p_any == pytest.approx(1 - law_of_s[0], abs=1e-12)
    assert float(found.p_all_unique) == pytest.approx(law_of_s[k], rel=1e-12, abs=1e-300)


@pytest.mark.slow
@pytest.mark.parametrize("p", SMALL[:3], ids=str)
def test_classes_of_any_size_agree_with_enumeration(p):
    k, known = 5, Distribution.from_probabilities(p)
    whole = list(groups(p, k))
    found = predict.classes(known, k, upto=k)
    for j in range(1, k + 1):
        expected = sum(chance * (sizes == j).sum() for chance, sizes in whole)
        assert found.classes[j - 1] == pytest.approx(expected, abs=1e-12)
        for i in range(1, k + 1):
            product = sum(c * (s == i).sum() * (s == j).sum() for c, s in whole)
            other = sum(c * (s == i).sum() for c, s in whole)
            exact = covariance(known.p, known.values, k, i, j)
            assert exact == pytest.approx(product - expected * other, abs=1e-12)
    assert found.share.sum() == pytest.approx(1)
    assert found.larger == pytest.approx(0, abs=1e-12)
    for K in (1, 2, 3, 5, 9):
        below = [(chance, sizes[sizes < K].sum()) for chance, sizes in whole]
        mean = sum(c * n for c, n in below)
        assert expected_below(known.p, known.values, k, K) == pytest.approx(mean, abs=1e-12)
        if k >= K:
            variance = sum(c * n * n for c, n in below) - mean**2
            assert variance_below(known.p, known.values, k, K) == pytest.approx(variance, abs=1e-11)
        allowed = sum(c for c, s in whole if ((s == 0) | (s >= K)).all())
        assert float(predict.k_anonymous(known, k, K)) == pytest.approx(allowed, abs=1e-12)


def test_people_below_a_large_k_vary_as_all_groups_of_three_values_do():
    """A window of two deviations about the mean would leave out 15% of the variance at K = 100."""
    p, k = np.array([0.5, 0.3, 0.2]), 400
    first, second = np.indices((k + 1, k + 1))
    possible = first + second <= k
    numbers = np.stack([first[possible], second[possible], k - (first + second)[possible]])
    chance = multinomial.pmf(numbers.T, k, p)
    for K in (13, 60, 80, 100, 120, 140, 180, 200, 210):
        below = np.where(numbers < K, numbers, 0).sum(axis=0)
        variance = chance @ (below - chance @ below) ** 2
        found = variance_below(p, np.ones(3, dtype=np.int64), k, K)
        assert found == pytest.approx(variance, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[1, 1, 2, 3], [2, 2, 2], [1, 1, 1, 1], [5, 1], [4, 3]], ids=str)
def test_a_subgroup_agrees_with_every_choice_of_records(sizes):
    records = [i for i, size in enumerate(sizes) for _ in range(size)]
    counted = ClassSizes.from_histogram({s: sizes.count(s) for s in set(sizes)})
    for k in range(1, len(records) + 1):
        chosen = [np.bincount(c, minlength=1) for c in itertools.combinations(records, k)]
        alone = np.array([(c == 1).sum() for c in chosen])
        found = counted.predict_singletons(k, draw="subgroup")
        assert found.mean == pytest.approx(alone.mean(), abs=1e-12)
        # Another group is expected to have as many; only its chance is another.
        assert counted.predict_singletons(k).mean == pytest.approx(alone.mean(), abs=1e-12)
        assert found.variance == pytest.approx(alone.var(), abs=1e-12)
        expected = np.bincount(alone, minlength=k + 1) / len(alone)
        assert found.pmf() == pytest.approx(expected, abs=1e-12)
        assert float(found.p_none) == pytest.approx(expected[0], abs=1e-12)
        assert float(found.p_all_unique) == pytest.approx(expected[k], abs=1e-12)
        if k:
            twos = np.mean([(c == 2).sum() for c in chosen])
            assert counted.predict_classes(k, 2, draw="subgroup").classes[1] == pytest.approx(
                twos, abs=1e-12
            )
        for K in (2, 3):
            fine = np.mean([(c[c > 0] >= K).all() for c in chosen])
            assert float(predict.k_anonymous(counted, k, K)) == pytest.approx(fine, abs=1e-12)


# ---- reference values ---------------------------------------------------------------------


def test_reference_vectors_of_singletons(reference):
    for name, row in reference.items():
        inputs = row.get("inputs", {})
        if name.startswith("S_dist"):
            found = predict.singletons(Distribution.from_probabilities(inputs["p"]), inputs["k"])
            assert found.pmf() == pytest.approx(np.array(row["value"]), abs=1e-12)
        elif name.startswith("S_mean_var"):
            found = predict.singletons(Distribution.from_probabilities(inputs["p"]), inputs["k"])
            assert [found.mean, found.variance] == pytest.approx(row["value"], abs=1e-12)
        elif name.startswith("uniq_p4"):
            known = Distribution.from_probabilities(inputs["p"])
            assert float(predict.uniqueness(known, inputs["k"])) == pytest.approx(
                row["value"], abs=1e-14
            )
        elif name == "kanon_p4_k7":
            known = Distribution.from_probabilities(inputs["p"])
            found = [float(predict.k_anonymous(known, 7, K)) for K in inputs["K"]]
            assert found == pytest.approx(row["value"], abs=1e-12)


@pytest.mark.parametrize("oldest", [79, 94])
def test_reference_vectors_of_ages(reference, oldest):
    known = ages(oldest)
    kl, chi = reference[f"age{oldest}_kappa_chi2"]["value"]
    assert known.kl == pytest.approx(kl, abs=1e-12)
    assert known.n_values * known.s2 - 1 == pytest.approx(chi, abs=1e-12)
    for k in (29, 60, 120, 300):
        row = reference[f"age{oldest}_k{k}"]["value"]
        found = predict.singletons(known, k)
        shares = predict.classes(known, k, upto=3).share
        assert found.mean == pytest.approx(row["ES"], rel=1e-10)
        assert found.variance == pytest.approx(row["VarS"], rel=1e-10)
        assert shares[1] == pytest.approx(row["phi2"], rel=1e-10)
        assert shares[2] == pytest.approx(row["phi3"], rel=1e-10)
        assert found.p_none.log == pytest.approx(row["log_P_S0"], rel=1e-10)
        assert predict.records_below(known, k, 5).mean == pytest.approx(row["viol5"], rel=1e-10)
        if row["log_uniq"] is None:
            assert float(found.p_all_unique) == 0
        else:
            assert found.p_all_unique.log == pytest.approx(row["log_uniq"], rel=1e-10)
            by_recursion = predict.uniqueness(known, k, method="recursion")
            assert by_recursion.log == pytest.approx(row["log_uniq"], rel=1e-10)


def test_reference_chance_of_k_anonymity(reference):
    expected = reference["kanon_age79"]["value"]
    assert float(predict.k_anonymous(ages(79), 2_000, 5)) == pytest.approx(expected, abs=1e-9)


def test_published_uniqueness_of_uniform_values(reference):
    for name, k, n in (("pi_u_29_95", 29, 95), ("pi_u_41_190", 41, 190)):
        found = predict.uniqueness(Distribution.uniform(n), k)
        assert float(found) == pytest.approx(reference[name]["value"], rel=1e-12)
        assert float(found) == pytest.approx(reference[name]["published"], abs=5e-5)


def test_published_chances_of_no_singleton(reference):
    for name, row in reference.items():
        if name.startswith("zeta_poly"):
            k = int(name.rpartition("_")[2])
            expected = {int(n): float(Fraction(v)) for n, v in row["value"].items()}
        elif name.startswith("zeta_") and name[5].isdigit():
            k, n = map(int, name[5:].split("_"))
            expected = {n: row["value"]}
        else:
            continue
        for n, chance in expected.items():
            found = predict.singletons(Distribution.uniform(n), k).p_none
            assert float(found) == pytest.approx(chance, rel=1e-12), name


def test_published_birthdays_and_the_best_density(reference):
    means = {k: predict.singletons(Distribution.uniform(365), k).mean for k in range(360, 370)}
    assert max(means.values()) == pytest.approx(reference["birthday_max"]["value"], rel=1e-12)
    assert means[364] == pytest.approx(means[365], rel=1e-12)
    a = np.linspace(0.85, 0.95, 2_001)
    best = a[np.argmax([density_limit(lambda x: 2 * x, each) for each in a[::10]]) * 10]
    assert best == pytest.approx(reference["linear_density_argmax"]["value"], abs=5e-4)


def test_reference_intervals_of_a_normal(reference):
    for k, width, expected in reference["interval_normal"]["value"]:
        found = predict.singletons(Distribution.normal(1, width), k)
        assert found.mean == pytest.approx(expected, abs=5e-5)
    for k, width, expected in reference["varS_small_delta"]["value"]:
        found = predict.singletons(Distribution.normal(1, width), k)
        assert found.variance == pytest.approx(expected, abs=2e-9)


def test_published_entropies_and_factors(reference):
    value = lambda name: reference[name]["value"]  # noqa: E731
    entropy = lambda *p: Distribution.from_probabilities(p).entropy  # noqa: E731
    assert entropy(0.469, 0.531) == pytest.approx(value("H_sex"), rel=1e-9)
    assert 2 ** entropy(0.469, 0.531) == pytest.approx(value("ANVC_sex"), rel=1e-9)
    assert entropy(0.1, 0.9) == pytest.approx(value("H_nat"), rel=1e-9)
    assert 2 ** entropy(0.1, 0.9) == pytest.approx(value("ANVC_nat"), rel=1e-9)
    assert pytest.approx(value("ANVC_261")) == 2**2.61
    assert pytest.approx(value("RR_261")) == 2**2.61 / 100
    one_of_ten = entropy(0.5, *[0.5 / 9] * 9)
    assert one_of_ten == pytest.approx(value("degree_entropy"), rel=1e-9)
    assert one_of_ten / math.log2(10) == pytest.approx(value("degree"), rel=1e-9)
    unique = float(predict.uniqueness(Distribution.uniform(95), 29))
    assert unique / math.exp(-5.8) == pytest.approx(value("naive_factor_3"), rel=1e-3)


# ---- where naive forms break --------------------------------------------------------------


def test_uniqueness_of_a_large_group(reference):
    known = Distribution.uniform(10**6)
    exact = math.exp(np.log1p(-np.arange(2_500) / 1e6).sum())
    assert exact == pytest.approx(reference["uniq_uniform_N1e6_k2500"]["value"], abs=1e-4)
    assert float(predict.uniqueness(known, 2_500)) == pytest.approx(exact, rel=1e-10)
    near = predict.uniqueness(known, 2_500, method="saddlepoint")
    assert float(near) == pytest.approx(exact, rel=1e-6)
    assert near.method == "saddlepoint"
    uneven = Distribution.from_counts(np.arange(1, 3_000))
    by_recursion = predict.uniqueness(uneven, 400, method="recursion")
    assert predict.uniqueness(uneven, 400).log == pytest.approx(by_recursion.log, rel=1e-11)


@pytest.mark.slow
def test_two_people_among_many_values():
    known = Distribution.uniform(100_000)
    for method in ("auto", "recursion", "saddlepoint"):
        found = predict.uniqueness(known, 2, method=method)
        assert found.complement == pytest.approx(1e-5, abs=1e-11), method


def test_the_law_of_600_people_among_95_ages():
    known = ages(94)
    found = predict.singletons(known, 600)
    chances = found.pmf()
    assert chances.sum() == pytest.approx(1, abs=1e-11)
    assert chances @ np.arange(601) == pytest.approx(found.mean, rel=1e-10)
    for k, expected in ((150, 2.5555e-14), (300, 8.6787e-7), (600, 2.8408e-3)):
        none = predict.singletons(known, k).p_none
        assert float(none) == pytest.approx(expected, rel=2e-5)


def test_a_tiny_chance_of_any_singleton_keeps_its_digits():
    # Two values; a singleton needs all but one of 40 people on one of them.
    k = 40
    found = predict.singletons(Distribution.uniform(2), k)
    assert found.p_any == pytest.approx(2 * k / 2**k, rel=1e-9)
    sure = predict.singletons(Distribution.uniform(3), 90)
    either = 3 * 90 * (1 / 3) * (2 / 3) ** 89
    both = 3 * 90 * 89 / 9 * (1 / 3) ** 88
    assert sure.p_any == pytest.approx(either - both, rel=1e-9)


def exact_p_any(p, k):
    """Inclusion and exclusion of the values with one person, in fractions: no digit is lost."""
    # Sets of j values, put together by what their shares add up to.
    sets = {(0, Fraction(0)): Fraction(1)}
    for share in map(Fraction, p):
        longer = {}
        for (j, total), weight in sets.items():
            for key, more in (((j, total), 1), ((j + 1, total + share), share)):
                longer[key] = longer.get(key, 0) + weight * more
        sets = longer
    return sum(
        (-1) ** (j + 1) * math.perm(k, j) * weight * (1 - total) ** (k - j)
        for (j, total), weight in sets.items()
        if 0 < j <= k
    )


@pytest.mark.parametrize(
    ("p", "k", "size"),
    [
        ([0.5, 0.5], 60, 1e-16),
        ([0.5, 0.5], 120, 1e-34),
        ([0.25] * 4, 90, 1e-10),
        ([0.75, 0.25], 90, 1e-10),
        # Rare for want of people, not for having many.
        ([1 - 2**-40, 2**-40], 5, 1e-12),
        ([1 - 2**-40, 2**-40], 90, 1e-11),
        ([1 - 2**-20, 2**-20], 40, 1e-5),
        # Two singletons at once are no longer nothing ...
        ([0.125] * 8, 115, 1e-5),
        # ... and above one in ten thousand three are not either: another formula takes over.
        ([2**-5] * 32, 420, 1e-4),
        ([2**-5] * 32, 350, 1e-3),
    ],
)
def test_any_singleton_to_nine_digits_however_rare(p, k, size):
    found, exact = predict.singletons(Distribution.from_probabilities(p), k), exact_p_any(p, k)
    assert size < exact < 10 * size
    assert abs(Fraction(found.p_any) / exact - 1) < 1e-9


def test_any_singleton_of_a_subgroup_to_nine_digits():
    # Two classes of 60; somebody alone has all 39 others in the other class.
    found = predict.singletons(ClassSizes.from_histogram({60: 2}), 40)
    exact = Fraction(2 * 60 * math.comb(60, 39), math.comb(120, 40))
    assert exact < 1e-13
    assert abs(Fraction(found.p_any) / exact - 1) < 1e-9


def test_means_and_variances_of_huge_groups():
    n = 10**12
    uniform = Distribution.uniform(n)
    assert predict.singletons(uniform, n).mean == pytest.approx(n * math.exp(-1), rel=1e-11)
    k = 10**7
    found = predict.singletons(Distribution.uniform(10**7), k)
    limit = 10**7 * (math.exp(-1) - math.exp(-2))
    assert found.variance == pytest.approx(limit, rel=1e-6)
    assert found.interval().high > found.mean > found.interval().low


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 50, 3_000, 40_000, 200_000])
def test_sums_over_pairs_gathered_at_few_points(k, monkeypatch):
    counts = np.random.default_rng(3).zipf(1.6, 30_000).clip(max=5_000)
    known = Distribution.from_counts(counts)
    sizes, classes = np.unique(counts, return_counts=True)
    n = int(counts.sum())
    k = min(k, n - 5)
    monkeypatch.setattr(moments, "_FEW", 0)
    found = (
        moments.variance(known.p, known.values, k),
        another_group.drawn_variance(sizes, classes, n, k),
    )
    monkeypatch.setattr(moments, "_FEW", 10**12)
    exact = (
        moments.variance(known.p, known.values, k),
        another_group.drawn_variance(sizes, classes, n, k),
    )
    assert found == pytest.approx(exact, rel=1e-9)


def test_logarithms_of_factorials_keep_their_digits():
    for m in (1, 2, 7, 15, 16, 17, 64, 1_000):
        for a in {0, 1, m // 2, m - 1, m}:
            exact = sum(math.log(1 - j / m) for j in range(a))
            assert float(stirling.log_falling(m, a)) == pytest.approx(exact, abs=1e-12)
            for b in {0, 1, m // 3, m - a}:
                pair = sum(math.log((m - a - j) / (m - j)) for j in range(b) if m - a - j > 0)
                expected = pair if a + b <= m else -math.inf
                assert float(stirling.log_apart(m, a, b)) == pytest.approx(expected, abs=1e-11)
    assert float(stirling.log_apart(10**9, 1, 1)) == pytest.approx(-1e-9, rel=1e-8)
    assert stirling.log_poisson(10**8, 1e8) == pytest.approx(
        -0.5 * math.log(2e8 * math.pi), abs=1e-8
    )
    assert stirling.log_binomial(3, 10, 1.0) == pytest.approx(math.log(120 / 1024), rel=1e-12)


# ---- laws ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_simulated_groups_follow_the_law():
    random = np.random.default_rng(11)
    known = ages(79)
    p = np.repeat(known.p, known.values)
    drawn = (random.multinomial(60, p, 40_000) == 1).sum(axis=1)
    expected = predict.singletons(known, 60).pmf()
    seen = np.bincount(drawn, minlength=61) / len(drawn)
    assert np.abs(seen - expected).sum() / 2 < 0.012
    table = random.integers(1, 6, 50)
    records = np.repeat(np.arange(50), table)
    picked = [np.bincount(random.permutation(records)[:40], minlength=50) for _ in range(20_000)]
    alone = (np.array(picked) == 1).sum(axis=1)
    sizes, classes = np.unique(table, return_counts=True)
    expected = ClassSizes(sizes, classes).predict_singletons(40, draw="subgroup").pmf()
    assert np.abs(np.bincount(alone, minlength=41) / 20_000 - expected).sum() / 2 < 0.015


@pytest.mark.slow
def test_cheap_laws_are_as_near_as_they_say():
    seen = set()
    tables = itertools.chain(families(5, 175, largest=900), families(9, 35, largest=110))
    for known, random in tables:
        k = int(known.n_values * random.choice([0.03, 0.06, 0.3, 1, 2, 8])) + 2
        source = predict.sources.FromDistribution(known, k)
        if law.cost(source.numbers, k, math.sqrt(source.variance())) > 3e6:
            continue
        near = law.approximate(
            k, source.mean(), source.variance(), source.shared_by(2), source.shared_by(3)
        )
        if near is None or not source.variance() > 0:
            continue
        exact = law.exact(source.numbers, k, source.mean(), math.sqrt(source.variance()))
        distance = np.abs(near.dense(k) - exact.dense(k)).sum() / 2
        assert distance <= 0.03, (near.how, k, known, distance, source.mean(), source.variance())
        seen.add(near.how)
    assert seen == {"Poisson number of pairs", "Poisson", "Normal"}


@pytest.mark.slow
def test_the_saddlepoint_is_as_near_as_it_says():
    tried = 0
    for known, random in families(6, 140):
        k = int(known.n_values * random.uniform(0.05, 0.5)) + 2
        exact = predict.uniqueness(known, k)
        if 1e-4 < float(exact) < 0.5:
            near = predict.uniqueness(known, k, method="saddlepoint")
            assert float(near) == pytest.approx(float(exact), rel=5e-4)
            tried += 1
    assert tried > 20


def test_nobody_is_left_over_alone():
    # If all but one are singletons, so is the last: k − 1 singletons cannot be.
    for known, random in families(7, 14):
        k = int(random.integers(2, 30))
        assert predict.singletons(known, k).pmf()[k - 1] < 1e-13


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=12),
    st.integers(1, 60),
    st.sampled_from(["auto", "subgroup"]),
)
def test_intervals_hold_what_they_promise(counts, k, draw):
    sizes, classes = np.unique(counts, return_counts=True)
    counted = ClassSizes(sizes, classes)
    found = counted.predict_singletons(min(k, counted.n_records), draw=draw)
    chances = found.pmf()
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    low, high = found.interval(0.9)
    assert chances[int(low) : int(high) + 1].sum() >= 0.9 - 1e-9
    assert chances[: int(low)].sum() <= 0.05 + 1e-9
    assert chances[int(high) + 1 :].sum() <= 0.05 + 1e-9
    if found.group_size > 1:
        assert low <= math.ceil(found.mean)
        assert high >= math.floor(found.mean - found.sd)


# ---- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [-1, 2.5, True, "3", None, float("nan")])
def test_group_sizes_that_are_none(k):
    with pytest.raises(errors.ArgumentError, match="group_size"):
        predict.singletons(Distribution.uniform(4), k)


def test_other_bad_input():
    for counts in ([-1, 2], [0, 0], [1.5], [[1]], []):
        with pytest.raises(errors.ArgumentError, match=r"count|record"):
            Distribution.from_counts(np.array(counts) if counts else np.array([], dtype=int))
    for kl in (-0.1, math.log(10) + 0.01, float("nan"), "x"):
        with pytest.raises(errors.ArgumentError, match="kl"):
            Distribution.from_kl(10, kl)
    for level in (0, 1, -1, 2, True, "x"):
        with pytest.raises(errors.ArgumentError, match="level"):
            predict.singletons(Distribution.uniform(4), 2).interval(level)
    with pytest.raises(errors.ArgumentError, match="give a Distribution"):
        predict.singletons([0.5, 0.5], 3)
    with pytest.raises(errors.ArgumentError, match="cannot be drawn from 3 records"):
        predict.k_anonymous(ClassSizes([1], [3]), 4, 2)
    with pytest.raises(errors.ArgumentError, match="intervals"):
        Distribution.normal(1, 1e-9)
    with pytest.raises(errors.ArgumentError, match="rho"):
        Distribution.bivariate_normal((1, 1), 1.0, (1, 1))
    with pytest.raises(errors.ArgumentError, match="frozen"):
        Distribution.from_density("norm", 1)
    with pytest.raises(errors.ArgumentError, match="distribution of each column"):
        Distribution.product()
    with pytest.raises(errors.ArgumentError, match="at least 1"):
        predict.classes(Distribution.uniform(4), 0)


def test_edges():
    one = Distribution.uniform(1)
    assert predict.singletons(one, 1).mean == 1
    assert predict.singletons(one, 2).mean == 0
    assert predict.singletons(one, 2).pmf().tolist() == [1, 0, 0]
    with pytest.raises(errors.ArgumentError, match=r"group_size.* at least 1"):
        predict.singletons(one, 0)
    full = Distribution.from_probabilities([0.1, 0.2, 0.3, 0.4])
    assert float(predict.uniqueness(full, 4)) == pytest.approx(24 * 0.1 * 0.2 * 0.3 * 0.4)
    assert float(predict.uniqueness(full, 5)) == 0
    for method in ("recursion", "saddlepoint", "contour"):
        assert float(predict.uniqueness(full, 4, method=method)) == pytest.approx(0.0576, rel=0.2)
    certain = independent.log_probability(
        Poisson(full.p, full.values), 2, independent.EmptyOrAtLeast(2)
    )
    assert math.exp(certain[0]) == pytest.approx(0.3)
    whole = Binomial(np.array([2]), np.array([1]))
    assert whole.tail(3).tolist() == [0]


# ---- what a stranger found ----------------------------------------------------------------


def test_very_large_groups_in_small_classes():
    half = predict.records_below(Distribution.uniform(10**10), 10**10, 3)
    assert half.mean == pytest.approx(10**10 * 2 / math.e, rel=1e-8)
    for k in (2**31 + 1, 3 * 10**9):
        found = predict.records_below(Distribution.uniform(k), k, 2)
        assert found.mean == pytest.approx(k / math.e, rel=1e-8)


@pytest.mark.slow
def test_what_cannot_happen_is_told_at_once():
    import time

    start = time.process_time()
    pairs_only = ClassSizes([2], [50]).predict_singletons(7)
    assert float(pairs_only.p_none) == 0
    assert "expected" in repr(pairs_only)
    assert float(predict.k_anonymous(ClassSizes([4], [3]), 6, 4)) == 0
    both = predict.k_anonymous(Distribution.uniform(2), 50, 30)
    assert float(both) == pytest.approx(2 / 2**50, rel=1e-9)
    assert predict.singletons(Distribution.uniform(365), 10**10).interval().high == 0
    assert predict.singletons(Distribution.uniform(10**12), 10**12).interval().low > 3e11
    assert time.process_time() - start < 20


def test_numbers_too_large_to_be_meant():
    for make in (
        lambda: Distribution.uniform(2**63),
        lambda: Distribution.zipf(2**63, 1),
        lambda: Distribution.from_counts(np.array([2**63], dtype=np.uint64)),
        lambda: predict.singletons(Distribution.uniform(5), 10**30),
        lambda: predict.singletons(Distribution.uniform(365), 10**12).pmf(),
        lambda: Distribution.normal(1, 1, mean=1e300),
        lambda: Distribution.bivariate_normal((1, 1), 0.999999999999, (0.1, 0.1)),
    ):
        with pytest.raises(errors.ArgumentError):
            make()
    wide = Distribution.bivariate_normal((1, 1), 0.5, (1e6, 1e6))
    assert wide.n_values == 4


def test_more_bad_input():
    from scipy import stats

    for make in (
        lambda: Distribution.from_counts([[1, 2], [3]]),
        lambda: Distribution.from_probabilities(np.ma.array([0.5, 0.5], mask=[0, 1])),
        lambda: Distribution.from_density(stats.norm([0, 1], 1), 1),
        lambda: Distribution.from_density(stats.poisson(5), 1),
        lambda: Distribution.from_density(stats.norm(0, 1), 1, offset="x"),
        lambda: Distribution.from_class_sizes([1, 2]),
        lambda: Distribution.bivariate_normal((1, 1), "a", (1, 1)),
        lambda: Distribution.bivariate_normal(1, 0.5, (1, 1)),
        lambda: Distribution([0.5], [2], low=[0.1, 0.2], high=[3]),
        lambda: Distribution([0.5], [2], n_records=-5),
        lambda: predict.suggest_width(Distribution.uniform(4), 10, 0.1),
        lambda: predict.suggest_width([0.5, 0.5], 10, 0.1, widths=5),
        lambda: predict.expansion(None, 10, 1),
        lambda: predict.normal_expansion(10, 1, [[1]]),
        lambda: predict.normal_expansion(10, ["a"], [[1]]),
        lambda: predict.density_limit(lambda x: -1.0, 1),
        lambda: predict.density_limit(None, 1),
    ):
        with pytest.raises(errors.ArgumentError):
            make()
    assert predict.singletons(Distribution.normal(np.float32(1), np.float32(0.5)), 3).mean > 0
    assert float(predict.uniqueness(ClassSizes([1], [3]), 2)) == pytest.approx(1)
    assert Distribution.from_counts([1]).s2 is None
    assert Distribution.from_counts([1, 1]).s3 is None


def test_copies_are_frozen_and_results_are_plain():
    import pickle

    known = pickle.loads(pickle.dumps(Distribution.from_counts([1, 2, 3])))
    with pytest.raises(ValueError, match="read-only"):
        known.p[0] = 1
    for result in (
        known,
        predict.singletons(known, 3),
        predict.classes(known, 3),
        predict.records_below(known, 3, 2),
        predict.suggest_width([0.01] * 100, 50, 0.1),
    ):
        assert json.loads(json.dumps(result.to_dict()))
        assert result._repr_html_().startswith("<p>")


@pytest.mark.slow
@pytest.mark.parametrize("c", [0.8, 1.5, 3.0])
def test_rare_values_gathered_at_a_few_leave_the_law_as_it_is(c):
    known, k = Distribution.zipf(2_000, c), 40
    numbers, asked = Poisson(known.p, known.values), predict.singletons(known, k)
    fewer = numbers.gathered(k)
    assert len(fewer.p) < len(numbers.p) / 2
    exact = law.exact(numbers, k, asked.mean, asked.sd).dense(k)
    assert law.exact(fewer, k, asked.mean, asked.sd).dense(k) == pytest.approx(exact, abs=1e-14)
