"""Models of a population and the bounds without one, against sums, likelihoods and simulations."""

from __future__ import annotations

import math
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from anonrisk import ClassSizes, errors
from anonrisk.predict.population import (
    Pitman,
    Sample,
    benedetti_franconi,
    bethlehem,
    bounds,
    dankar,
    dis,
    estimate,
    good_toulmin,
    most_uniques,
    pitman,
    poisson_gamma,
    rocher_match,
    rocher_unique,
    snb,
    snb_chances,
    thinned,
    zayatz,
)
from anonrisk.predict.population.bounds import Programme, certainties
from anonrisk.predict.population.models import _law
from anonrisk.predict.population.pitman import fit
from anonrisk.predict.stirling import digamma_rise, log_rising


def histogram(counts):
    sizes, classes = np.unique(counts[counts > 0], return_counts=True)
    return dict(zip(sizes.tolist(), classes.tolist(), strict=True))


def restaurant(theta, alpha, people, rng):
    """Seat people one by one as Pitman's model does; give the sizes of the tables."""
    table_of, sizes = np.empty(people, dtype=int), []
    for i in range(people):
        if rng.random() * (theta + i) < theta + alpha * len(sizes):
            table_of[i] = len(sizes)
            sizes.append(1)
            continue
        while True:
            table = table_of[rng.integers(i)]
            if rng.random() * sizes[table] < sizes[table] - alpha:
                break
        table_of[i] = table
        sizes[table] += 1
    return np.array(sizes)


def worlds():
    rng = np.random.default_rng(2)

    def cells(weights, people=12_000):
        drawn = rng.choice(len(weights), people, p=weights / weights.sum())
        return np.bincount(drawn, minlength=len(weights))

    return {
        "pitman": restaurant(300, 0.5, 12_000, rng),
        "lognormal": cells(rng.lognormal(0, 2, 4000)),
        "gamma": cells(rng.gamma(0.4, 1, 5000)),
        "even": cells(np.ones(3000)),
    }


WORLDS = worlds()


def drawn(counts, fraction, rng):
    """Draw a table from a population; give the sample, and the sizes f and F of every class."""
    counts = counts[counts > 0]
    people = np.repeat(np.arange(len(counts)), counts)
    taken = rng.choice(people, int(len(people) * fraction), replace=False)
    f = np.bincount(taken, minlength=len(counts))
    return Sample.of(histogram(f), len(people)), f, counts


# ---- published and derived values ---------------------------------------------------------


def test_reference_values(reference):
    def value(name):
        return reference[name]["value"], {"abs": reference[name]["abs_tol"]}

    found, tolerance = value("pitman_EC")
    model = Pitman(20, 0.4)
    for size in (1, 2, 3):
        expected = found[f"E_C{size}"]
        assert model.expected_classes(300, size) == pytest.approx(expected, **tolerance)
    found, tolerance = value("pitman_cond")
    all_, known = model.uniques(n=60, N=300, s1=25, u=35)
    assert all_ == pytest.approx(found["all_population_uniques"], **tolerance)
    assert known == pytest.approx(found["sample_uniques_that_stay_unique"], **tolerance)
    found, tolerance = value("snb_probs")
    assert snb_chances(0.7, 0.2, 0.3) == pytest.approx(found, **tolerance)
    found, tolerance = value("DIS")
    assert dis({1: 40, 2: 10}, 600).match_correct == pytest.approx(found, **tolerance)
    found, tolerance = value("zayatz")
    assert zayatz({1: 40, 2: 10, 3: 5}, 750).uniques == pytest.approx(found, **tolerance)
    found, tolerance = value("bethlehem")
    assert bethlehem(5000, 0.3, 20_000) == pytest.approx(found, **tolerance)
    found, tolerance = value("rocher")
    assert [rocher_unique(0.02, 50), rocher_match(0.02, 50)] == pytest.approx(found, **tolerance)
    rows, tolerance = value("BF_risk")
    for row in rows:
        risk = benedetti_franconi(row["f"], row["f"] / row["p"])
        assert risk == pytest.approx(row["risk"], **tolerance)


# ---- bounds without a model ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_bounds_cover_the_truth(world):
    rng = np.random.default_rng(3)
    for fraction in (0.02, 0.1, 0.11, 0.5, 0.95):
        sample, f, F = drawn(WORLDS[world], fraction, rng)
        found = bounds(sample)
        single = f == 1
        assert found.widened == 1
        assert (F == 1).sum() in found.uniques
        assert (F[single] == 1).mean() in found.singletons_unique
        assert (1 / F[single]).sum() in found.matches
        if fraction == 0.5:
            assert found.uniques.high < 0.35 * sample.N, "a bound that says nothing is none"
        if fraction == 0.95:
            assert found.uniques.high < 1.35 * (F == 1).sum()


def whole_programme(sample, gain, sign):
    """Solve the programme with every size there is, with planes around the ball as they miss."""
    N, n = sample.N, sample.n
    F = np.arange(1, N + 1)
    law = stats.hypergeom(N, F, n) if sample.f > 0.1 else stats.binom(F, sample.f)
    rows = np.vstack([*(law.pmf(j) for j in range(1, 9)), law.sf(8)])
    programme = Programme(sample)
    z, deviations = programme._deviations(0.05)
    above, below = np.split(deviations, 2)
    counts = programme.counts
    nearest = programme._missed
    radius = math.hypot(z, np.hypot.reduce(np.where(nearest > 0, nearest / above, 0) - np.where(
        nearest < 0, nearest / np.where(below > 0, below, 1), 0)))  # fmt: skip
    planes = np.vstack([np.eye(9), -np.eye(9)])
    ends = np.concatenate([counts + radius * above, radius * below - counts])
    for _ in range(120):
        found = optimize.linprog(
            -sign * gain(F, rows[0]), planes @ rows, ends, F[None, :].astype(float), [float(N)]
        )
        assert found.success
        missed = rows @ found.x - counts
        side = np.where(missed > 0, above, np.where(below > 0, below, 1))
        distance = np.linalg.norm(missed / side)
        if distance <= radius * (1 + 1e-3):
            break
        slope = missed / side**2 / distance
        planes = np.vstack([planes, slope])
        ends = np.append(ends, radius - distance + slope @ (missed + counts))
    # Nobody and everybody are reached in many ways, and planes need not close around one.
    trivial = abs(found.fun) <= 1e-9 * N or abs(found.fun) >= (1 - 1e-9) * N
    assert trivial or distance <= radius * (1 + 1e-3)
    return -sign * found.fun


@pytest.mark.slow
@pytest.mark.parametrize("people", [60, 200])
@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.6])
def test_few_sizes_at_a_time_come_to_the_bounds_of_all(people, fraction):
    rng = np.random.default_rng(people)
    counts = np.bincount(rng.zipf(1.6, people) % 400)
    if int(counts.sum() * fraction) < 1:
        return
    sample = drawn(counts, fraction, rng)[0]
    programme = Programme(sample)
    programme.used = programme.used[[0, 5, -1]]
    for own, gain in (
        (programme.uniques, lambda F, one: (F == 1).astype(float)),
        (programme.matches, lambda F, one: one / F),
        (programme.classes, lambda F, one: np.ones(len(F))),
        (programme.above(0.2), lambda F, one: np.where(F < 5, F, 0.0)),
        (programme.above(0.021), lambda F, one: np.where(F <= 47, F, 0.0)),
    ):
        found = programme.between(own, 0.05)
        low, high = (whole_programme(sample, gain, sign) for sign in (-1, 1))
        slack = 1e-3 * sample.N
        assert found.low <= low + slack
        assert found.high >= high - slack
        assert found.low == pytest.approx(low, abs=6e-3 * sample.N)
        assert found.high == pytest.approx(high, abs=6e-3 * sample.N)
    assert len(programme.used) > 3 or sample.n < 10


def test_chances_are_those_of_an_urn_and_of_a_coin():
    sizes = np.array([1, 2, 5, 60, 300])
    urn = Programme(Sample.of({1: 60, 2: 20}, 400))._chances(sizes)
    coin = Programme(Sample.of({1: 60, 2: 20}, 4000))._chances(sizes)
    for j in range(1, 9):
        assert urn[j - 1] == pytest.approx(stats.hypergeom(400, sizes, 100).pmf(j), abs=1e-12)
        assert coin[j - 1] == pytest.approx(stats.binom(sizes, 0.025).pmf(j), abs=1e-12)
    assert urn[-1] == pytest.approx(stats.hypergeom(400, sizes, 100).sf(8), abs=1e-12)


def test_limits_are_exact_for_a_poisson_mean():
    programme = Programme(Sample.of({1: 60, 2: 20, 9: 3}, 4000))
    z, deviations = programme._deviations(0.1)
    assert z == pytest.approx(stats.norm.isf(0.05))
    counts = np.array([60, 20, 0, 0, 0, 0, 0, 0, 3])
    high, low = counts + z * deviations[:9], counts - z * deviations[9:]
    assert high == pytest.approx(stats.chi2.isf(0.05, 2 * counts + 2) / 2)
    assert low[counts > 0] == pytest.approx(stats.chi2.ppf(0.05, 2 * counts[counts > 0]) / 2)
    assert not low[counts == 0].any()


@pytest.mark.slow
def test_a_population_of_millions_is_bounded_too():
    model, N = Pitman(2e6, 0.4), 60_000_000
    classes = {size: round(model.expected_classes(10**6, size)) for size in range(1, 40)}
    found = bounds(Sample.of({size: n for size, n in classes.items() if n}, N))
    assert found.widened == 1
    assert model.expected_classes(N, 1) in found.uniques
    assert found.uniques.high < 0.9 * N


def test_a_table_without_its_small_classes_is_no_sample():
    with pytest.warns(
        errors.ApproximationWarning, match="not those of a simple random sample"
    ) as warned:
        found = ClassSizes([5], [4000]).predict_population(40_000)
    assert {one.filename for one in warned} == {__file__}
    assert found.widened > 1
    assert found.basis == "certain"
    assert found.unique_fraction.high == 0.5
    assert "Do not rely on this" in repr(found)
    assert bounds(Sample.of({5: 1}, 10)).widened == 1


def test_a_table_that_is_nearly_a_sample_gets_wider_bounds():
    model = Pitman(400, 0.4)
    sizes = {size: round(model.expected_classes(3000, size)) for size in range(1, 30)}
    fair = {size: n for size, n in sizes.items() if n}
    plain = bounds(Sample.of(fair, 6000))
    # Somebody dropped most of the pairs.
    found = bounds(Sample.of({**fair, 2: round(0.1 * fair[2])}, 6000))
    assert plain.widened == 1
    assert 1 < found.widened < 2
    assert found.basis == "sample"
    assert found.uniques.high - found.uniques.low > plain.uniques.high - plain.uniques.low


def test_sizes_far_apart_are_bounded_too():
    # At these numbers rows differ by millions.
    sizes = {5: 685579, 6: 45, 7: 8318, 160: 42259, 203: 1197, 1599: 15378, 2003: 695751}
    found = bounds(Sample.of(sizes, 1_428_675_842))
    assert 0 <= found.uniques.low <= found.uniques.high <= 1_428_675_842


def test_the_whole_population_is_counted():
    for model in ("auto", "zayatz", "dis"):
        found = ClassSizes([1, 3], [4, 2]).predict_population(10, model=model)
        assert found.uniques.low == found.uniques.high == 4
        assert found.estimates[0].uniques == 4
        assert found.singletons_unique.low == 1
        assert found.basis == "population"
    assert ClassSizes([3], [2]).predict_population(6).singletons_unique is None


def test_one_person_more_than_the_table():
    found = ClassSizes([1, 3], [4, 2]).predict_population(11)
    assert (found.uniques.low, found.uniques.high) == (3, 5)


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.dictionaries(st.integers(1, 30), st.integers(1, 50), min_size=1, max_size=6),
    st.integers(0, 5000),
)
def test_any_table_has_bounds_in_order(sizes, more):
    n = sum(size * classes for size, classes in sizes.items())
    sample = Sample.of(sizes, n + more)
    found, sure = bounds(sample), certainties(sample)
    for interval, certain in ((found.uniques, sure.uniques), (found.matches, sure.matches)):
        assert interval.low <= interval.high
        assert certain.low <= interval.low
        if sample.s(1):
            assert interval.high <= certain.high
    if sample.s(1):
        assert 0 <= found.singletons_unique.low <= found.singletons_unique.high <= 1


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.dictionaries(st.integers(1, 400), st.integers(1, 900), min_size=1, max_size=6),
    st.floats(1e-4, 0.999),
)
def test_any_table_has_estimates_or_reasons(sizes, fraction):
    n = sum(size * classes for size, classes in sizes.items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ApproximationWarning)
        found = ClassSizes.from_histogram(sizes).predict_population(int(n / fraction) + 1)
    for one in found.estimates:
        figures = (one.uniques, one.singletons_unique, one.matches, one.match_correct)
        known = [figure for figure in figures if figure is not None]
        assert one.note
        assert all(math.isfinite(figure) and figure >= 0 for figure in known)
        if one.model in ("dankar", "pitman", "zayatz", "snb", "poisson_gamma"):
            assert one.converged == bool(known)
            assert not one.converged or one.matches <= found.singletons * (1 + 1e-9)
            assert one.converged == (one.uniques is not None and one.uniques > 0)
    assert repr(found)


# ---- Pitman -------------------------------------------------------------------------------


def test_pitman_finds_its_own_parameters_and_uniques():
    sample, f, F = drawn(WORLDS["pitman"], 0.3, np.random.default_rng(4))
    model = fit(sample)
    assert model.alpha == pytest.approx(0.5, abs=0.06)
    assert pitman(sample).uniques == pytest.approx((F == 1).sum(), rel=0.1)
    assert pitman(sample).matches == pytest.approx((1 / F[f == 1]).sum(), rel=0.05)


@pytest.mark.parametrize(
    "sizes", [{1: 30, 2: 9, 3: 2, 7: 1}, {1: 3, 2: 1, 50: 1}, {1: 200, 2: 3}, {1: 1, 4: 30}]
)
def test_pitman_is_at_the_top_of_its_likelihood(sizes):
    sample = Sample.of(sizes, 10**6)

    def loss(theta, alpha):
        """The likelihood as it is printed, term by term."""
        n, u = sample.n, sample.u
        new = sum(math.log(theta + i * alpha) for i in range(1, u))
        old = sum(
            classes * sum(math.log(i - alpha) for i in range(1, size))
            for size, classes in sizes.items()
        )
        return sum(math.log(theta + i) for i in range(1, n)) - new - old

    best = fit(sample)
    least = loss(best.theta, best.alpha)
    for step, alpha in product((-0.2, 0.01, 0.02, 0.3), (-0.05, -1e-3, 0.0, 1e-3, 0.05)):
        theta, shifted = best.theta + step * (best.theta + best.alpha), best.alpha + alpha
        if 0 <= shifted < 1 and theta > -shifted:
            assert loss(theta, shifted) >= least - 1e-9


def test_pitman_sums_and_matches():
    model = Pitman(3.0, 0.3)
    assert sum(j * model.expected_classes(40, j) for j in range(1, 41)) == pytest.approx(40)
    assert model.expected_classes(40, 41) == 0
    for alpha in (0.0, 1e-9, 0.4):
        one = Pitman(3.0, alpha)
        law = stats.betabinom(70, 1 - alpha, 3.0 + alpha + 29)
        mean = sum(law.pmf(x) / (1 + x) for x in range(71))
        assert one.match(30, 100) == pytest.approx(mean, rel=1e-6 if alpha == 1e-9 else 1e-10)
    assert Pitman(3.0, 0.4).uniques(50, 50, 9, 20) == pytest.approx((9, 9))


@pytest.mark.parametrize(
    ("sizes", "text"),
    [({1: 50}, "every record is a singleton"), ({40: 1}, "needs singletons")],
)
def test_pitman_says_when_it_cannot(sizes, text):
    with pytest.raises(errors.ModelError, match=text):
        pitman(sizes, 1000)
    with pytest.raises(errors.ModelError, match="single class"):
        fit(Sample.of({40: 1}, 1000))
    with pytest.raises(errors.ArgumentError, match="alpha from 0"):
        Pitman(1.0, 1.0)


def test_rising_factorials_keep_their_digits():
    from fractions import Fraction

    for z, m in ((0.3, 7), (60.5, 3), (1e12, 2), (49.9, 400)):
        exact = math.fsum(math.log(z + i) for i in range(m))
        assert log_rising(z, m) == pytest.approx(exact, rel=1e-13)
        slopes = float(sum(1 / (Fraction(z) + i) for i in range(m)))
        assert digamma_rise(z, m) == pytest.approx(slopes, rel=1e-11)


# ---- the other models ---------------------------------------------------------------------


def test_snb_and_poisson_gamma_find_their_own_worlds():
    rng = np.random.default_rng(6)
    shifted = 1 + rng.negative_binomial(0.7, 0.2, 6000)
    for fraction in (0.3, 0.5):
        sample, f, F = drawn(shifted, fraction, rng)
        found = snb(sample)
        assert found.uniques == pytest.approx((F == 1).sum(), rel=0.1)
        assert found.matches == pytest.approx((1 / F[f == 1]).sum(), rel=0.1)
        sample, f, F = drawn(WORLDS["gamma"], fraction, rng)
        found = poisson_gamma(sample)
        assert found.uniques == pytest.approx((F == 1).sum(), rel=0.15)
        assert found.matches == pytest.approx((1 / F[f == 1]).sum(), rel=0.1)
        assert found.singletons_unique == pytest.approx((F[f == 1] == 1).mean(), rel=0.15)


def test_poisson_gamma_given_the_sample_is_the_closed_form_on_average():
    sample = drawn(WORLDS["gamma"], 0.4, np.random.default_rng(7))[0]
    found = poisson_gamma(sample)
    alpha, cells = found.parameters["alpha"], found.parameters["cells"]
    assert found.parameters["beta"] * alpha * cells == pytest.approx(1, rel=1e-6)
    assert found.uniques == pytest.approx(bethlehem(round(cells), alpha, sample.N), rel=0.05)


def test_zayatz_is_exact_at_the_end():
    sample, _, F = drawn(WORLDS["lognormal"], 0.95, np.random.default_rng(8))
    assert zayatz(sample).uniques == pytest.approx((F == 1).sum(), rel=0.03)
    assert zayatz({1: 5, 2: 1, 3000: 1}, 3100).uniques > 0


@pytest.mark.parametrize("model", [zayatz, snb])
def test_small_samples_are_refused(model):
    with pytest.raises(errors.ModelError, match="at least a tenth of the population, not 5"):
        model({1: 400, 2: 50}, 10_000)


def test_fits_without_an_answer_are_errors():
    with pytest.raises(errors.ModelError, match="every record is a singleton"):
        poisson_gamma({1: 50}, 1000)
    with pytest.raises(errors.ModelError, match="more unequal"):
        poisson_gamma({1: 500, 2: 20, 100: 5, 1000: 2}, 100_000)
    with pytest.raises(errors.ModelError, match="more even"):
        poisson_gamma({1: 1, 4: 100, 5: 100}, 100_000)
    with pytest.raises(errors.ModelError, match="classes of one and of two"):
        snb({1: 50}, 100)
    with pytest.raises(errors.ModelError, match="SNB cannot be fitted"):
        snb({1: 1, 2: 400}, 1200)


@pytest.mark.slow
def test_dankar_follows_its_rule():
    high = Sample.of({1: 400, 2: 150, 3: 60, 4: 30, 5: 10}, 1500)
    assert dankar(high).uniques == min(zayatz(high).uniques, snb(high).uniques)
    alone = Sample.of({1: 400, 4: 30}, 700)
    assert dankar(alone).uniques == zayatz(alone).uniques
    assert "zayatz" in dankar(alone).note


@pytest.mark.slow
def test_dankar_takes_no_doubtful_model():
    low = Sample.of({1: 400, 2: 60, 3: 12, 9: 3}, 50_000)
    assert estimate(low)["pitman"].doubtful
    assert not estimate(low)["dankar"].converged
    for of_two in ({1: 400, 2: 150, 3: 60, 4: 30, 5: 10}, {1: 40, 4: 30}):
        sample = Sample.of(of_two, 3 * sum(size * n for size, n in of_two.items()))
        with pytest.raises(errors.ModelError, match="zayatz is doubtful"):
            dankar(sample)
    # SNB is the lower one, and would have a tenth fewer people or more than there are.
    tail = Sample.of({1: 10_000, 2: 1200, 3: 200, 50: 20, 300: 3}, 25_000)
    assert snb(tail).uniques < zayatz(tail).uniques
    people = snb(tail).parameters
    implied = people["classes"] * (1 + people["alpha"] * (1 / people["beta"] - 1))
    assert abs(implied - 25_000) > 2_500
    assert f"would hold {implied:,.0f} people, not 25,000" in snb(tail).note
    assert "by zayatz" in dankar(tail).note


@pytest.mark.slow
def test_no_singletons_are_an_upper_bound():
    sample = Sample.of({3: 6, 4: 8, 5: 9, 6: 7, 7: 3}, 3000)
    most = most_uniques(sample)
    chances = stats.hypergeom(3000, np.array([most, most + 1]), sample.n).pmf(0)
    assert chances[0] >= 0.05 > chances[1]
    for model in ("pitman", "zayatz", "snb", "dankar", "poisson_gamma", "loglinear"):
        found = estimate(sample, model)[model]
        assert found.uniques is None
        assert found.interval.high == most
        assert "no singletons" in found.note
    found = estimate(sample)
    assert found.uniques.high >= most
    assert found.singletons_unique is None
    assert found.matches.high > 0
    assert found["dis"].match_correct is None
    assert "at most" in repr(found)


def test_dis_intervals_cover():
    rng = np.random.default_rng(9)
    covered = []
    for world, fraction in product(WORLDS.values(), (0.05, 0.2, 0.5)):
        for _ in range(8):
            sample, f, F = drawn(world, fraction, rng)
            truth = (f == 1).sum() / F[f == 1].sum()
            covered.append(truth in dis(sample).interval)
    assert len(covered) == 96
    assert np.mean(covered) >= 0.88


def test_dis_with_few_pairs():
    found = dis({1: 40}, 400)
    assert found.match_correct == 1
    assert found.interval.low < 0.5
    assert found.doubtful
    with pytest.warns(errors.ApproximationWarning, match="only 0 classes of two"):
        ClassSizes([1], [40]).predict_population(400, model="dis")
    with pytest.raises(errors.ModelError, match="needs singletons"):
        dis({2: 4}, 400)
    weighted = dis({1: 40, 2: 10}, 600, weight_of_pairs=200.0)
    assert weighted.match_correct == pytest.approx(40 / 220)
    assert weighted.interval is None


def test_benedetti_franconi_is_its_integral():
    for f, p in product((1, 2, 3, 10, 40, 41, 500), (1e-6, 1e-3, 0.2, 0.5, 0.51, 0.99, 1.0)):
        rho = (1 - p) / p

        def integrand(s, f=f, rho=rho):
            # In the logarithm of 1 + ρv the integrand has no pole near 0.
            L = math.log1p(rho)
            return L / rho * (math.expm1(L * s) / rho) ** (f - 1)

        expected = 1 / f
        if rho:
            edge = max(0.0, 1 - 50 / (f * max(math.log1p(rho), 1e-3)))
            pieces = ((0, edge), (edge, 1))
            expected = sum(integrate.quad(integrand, *ends, epsabs=0)[0] for ends in pieces)
        assert benedetti_franconi(f, f / p) == pytest.approx(expected, rel=1e-9), (f, p)
    assert benedetti_franconi([1, 1], [1, 1]).tolist() == [1, 1]
    with pytest.raises(errors.ArgumentError, match="at least 1"):
        benedetti_franconi(0, 1)
    with pytest.raises(errors.ArgumentError, match="sum to at least"):
        benedetti_franconi(3, 2)


# ---- smaller and larger tables ------------------------------------------------------------


def test_thinning_is_a_draw_without_replacement_but_for_one_over_n():
    sizes = {1: 300, 2: 120, 3: 40, 8: 5}
    n = sum(size * classes for size, classes in sizes.items())
    for size in (1, 2):
        exact = sum(s * stats.hypergeom(n, i, n // 3).pmf(size) for i, s in sizes.items())
        assert thinned(sizes, (n // 3) / n, size=size) == pytest.approx(exact, rel=3 / n)
    assert thinned(sizes, 1) == 300
    assert thinned(sizes, 1, size=8) == 5


@pytest.mark.slow
def test_good_toulmin_is_unbiased_and_its_spread_is_right():
    rng = np.random.default_rng(10)
    rates = rng.gamma(0.5, 2.0, 3000)
    t, n_runs = 1.6, 300
    gaps, apart, found = [], [], []
    for _ in range(n_runs):
        table = rng.poisson(rates)
        one = good_toulmin(histogram(table), t)
        enlarged = ((table + rng.poisson(rates * (t - 1))) == 1).sum()
        separate = (rng.poisson(rates * t) == 1).sum()
        gaps.append(one.mean - enlarged)
        apart.append(one.mean - separate)
        found.append(one)
    truth = (t * rates * np.exp(-t * rates)).sum()
    means = np.array([one.mean for one in found])
    assert abs(means.mean() - truth) < 4 * means.std() / math.sqrt(n_runs)
    assert np.std(means) == pytest.approx(np.mean([one.sd for one in found]), rel=0.15)
    assert np.std(gaps) == pytest.approx(np.mean([one.sd_enlarged for one in found]), rel=0.15)
    assert np.std(apart) <= 1.1 * np.mean([one.sd_separate for one in found])


def test_good_toulmin_at_its_ends():
    sizes = {1: 300, 2: 120, 3: 40}
    same = good_toulmin(sizes, 1)
    assert (same.mean, same.sd_enlarged) == (300, 0)
    assert good_toulmin(sizes, 1.5, variance=0.0).sd_separate == good_toulmin(sizes, 1.5).sd
    with pytest.raises(errors.ArgumentError, match="1 to 2 times"):
        good_toulmin(sizes, 2.01)
    with pytest.raises(errors.ArgumentError, match="1 to 2 times"):
        good_toulmin(sizes, 0.9)
    with pytest.raises(errors.ArgumentError, match="good_toulmin"):
        thinned(sizes, 1.1)
    with pytest.raises(errors.ModelError, match="standard deviation"):
        good_toulmin({1: 300, 900: 3}, 2)
    with pytest.raises(errors.ModelError, match="standard deviation"):
        good_toulmin(sizes, 1.9, max_relative_sd=0.01)


# ---- log-linear ---------------------------------------------------------------------------


def test_cell_means_on_a_grid_are_those_one_by_one(monkeypatch):
    rng = np.random.default_rng(11)
    n, margins = 5000, []
    for _ in range(3):
        counts = np.bincount(rng.integers(0, 60, n))
        margins.append(tuple(x.astype(float) for x in np.unique(counts, return_counts=True)))
    mu, shares = _law(n, margins)
    assert shares.sum() == pytest.approx(1)
    monkeypatch.setattr("anonrisk.predict.population.models._PRODUCTS", 0)
    grid, on_grid = _law(n, margins)
    for function in (lambda x: np.exp(-x), lambda x: x * np.exp(-20 * x)):
        one_by_one = (shares * function(mu)).sum()
        assert (on_grid * function(grid)).sum() == pytest.approx(one_by_one, rel=1e-5)


# ---- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, -3, 2.5, 1e6, True, "many", None])
def test_a_population_is_a_whole_number_of_people(size):
    with pytest.raises(errors.ArgumentError, match="population_size"):
        ClassSizes([1], [3]).predict_population(size)


def test_wrong_calls():
    sizes = ClassSizes([1, 2], [30, 3])
    with pytest.raises(errors.PopulationError, match="35 cannot have given a table of 36 records"):
        sizes.predict_population(35)
    with pytest.raises(errors.ArgumentError, match="did you mean 'pitman'"):
        sizes.predict_population(100, model="pitmann")
    with pytest.raises(errors.ArgumentError, match="needs the columns"):
        sizes.predict_population(100, model="loglinear")
    with pytest.raises(errors.ArgumentError, match="one row per person"):
        ClassSizes([1, 2], [30, 3], [30, 3], unit="who").predict_population(100)
    with pytest.raises(errors.ModelError, match="at least a tenth"):
        sizes.predict_population(1000, model="zayatz")
    with pytest.raises(errors.ArgumentError, match="there is 'dankar'"):
        sizes.predict_population(1000)["pitmann"]
    with pytest.raises(errors.ArgumentError, match="probability"):
        rocher_unique(0.0, 5)
    with pytest.raises(errors.ArgumentError, match="alpha"):
        bethlehem(5, 0, 5)
