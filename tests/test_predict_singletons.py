"""Predictions from a table, on every engine, and from its class sizes alone."""

from __future__ import annotations

import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import anonrisk
from anonrisk import ClassSizes, errors
from anonrisk.predict import another_group, law
from anonrisk.predict.another_group import ClassEstimate

CELLS = {
    "age": [31, 32, 33, 34, 45, 46, 47, 62, 62, -3],
    "height": [1.51, 1.54, 1.6, 1.61, None, 1.7, 1.75, 1.75, 1.75, -0.2],
    "sex": list("mmffmmffff"),
    "who": list(range(10)),
}


def test_every_engine_predicts_the_same(frame):
    table = frame(CELLS)
    found = table.anon.predict_singletons(["age", "sex"], 4, widths={"age": 10})
    # Decades and sex: [31, 32], [33, 34], [45, 46], [47], [62, 62], [-3].
    expected = ClassSizes([1, 2], [2, 4]).predict_singletons(4)
    exact = table.anon.predict_singletons(["age", "sex"], 4, widths={"age": 10}, draw="subgroup")
    of_four = ClassSizes([1, 2], [2, 4]).predict_singletons(4, draw="subgroup")
    assert exact.pmf() == pytest.approx(of_four.pmf(), abs=1e-12)
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    assert found.pmf() == pytest.approx(expected.pmf(), abs=1e-12)
    broken = table.anon.classes("height").predict_singletons(3).mean
    assert anonrisk.predict_singletons(table, "height", 3).mean == pytest.approx(broken)
    by_person = table.anon.predict_singletons(["age", "sex"], 4, unit="who").mean
    assert by_person == pytest.approx(table.anon.predict_singletons(["age", "sex"], 4).mean)


def test_widths_that_cannot_be(frame):
    table = frame(CELLS)
    with pytest.raises(errors.UnsupportedColumnError, match="'sex' does not hold numbers"):
        table.anon.predict_singletons("sex", 4, widths={"sex": 5})
    with pytest.raises(errors.ArgumentError, match="not among the quasi-identifiers"):
        table.anon.predict_singletons("sex", 4, widths={"age": 5})
    with pytest.raises(errors.ColumnNotFoundError, match="did you mean 'age'"):
        table.anon.predict_singletons("age", 4, widths={"agee": 5})
    for width in (0, -1, "x", True):
        with pytest.raises(errors.ArgumentError, match="width of 'age'"):
            table.anon.predict_singletons("age", 4, widths={"age": width})


def test_declared_roles_are_kept_with_widths(frame):
    table = frame(CELLS).anon.declare(quasi=["age", "sex"])
    assert table.anon.predict_singletons(group_size=4, widths={"age": 100}).mean == pytest.approx(
        ClassSizes([1, 4, 5], [1, 1, 1]).predict_singletons(4).mean
    )


def test_which_way_of_drawing():
    counted = ClassSizes([1, 2, 5], [400, 100, 20])
    n = counted.n_records
    part = counted.predict_singletons(n, draw="subgroup")
    assert tuple(part.interval()) == (400, 400)
    assert "without replacement" in part.drawn
    assert part.p_none.method == "exact"
    other = counted.predict_singletons(n)
    assert "another group from the population of the table's 700 records" in other.drawn
    assert other.mean == 400
    assert other.interval().low < 370 < 430 < other.interval().high
    assert "law: approximate" in repr(other)
    assert other.p_none.method == other.p_all_unique.method == "approximate"
    with pytest.raises(errors.ArgumentError, match=r"cannot be drawn from 700.*draw='auto'"):
        counted.predict_singletons(n + 1, draw="subgroup")
    counted.predict_singletons(2 * n)
    with pytest.raises(errors.ArgumentError, match="predict_population"):
        counted.predict_singletons(2 * n + 1)
    with pytest.warns(errors.ApproximationWarning, match="understates"):
        plain = counted.predict_singletons(60, draw="replacement")
    assert plain.mean < counted.predict_singletons(60).mean
    counted.predict_singletons(7, draw="replacement")


def test_small_and_certain_groups():
    counted = ClassSizes([1, 2], [5, 3])
    with pytest.raises(errors.ArgumentError, match=r"group_size.* at least 1"):
        counted.predict_singletons(0)
    one = counted.predict_singletons(1)
    assert (one.mean, one.variance, one.p_any, tuple(one.interval())) == (1, 0, 1, (1, 1))
    # Two people: both alone, or neither.
    assert counted.predict_singletons(2).pmf()[1] == 0
    # A table of one record shows nothing about two people.
    assert tuple(ClassSizes([1], [1]).predict_singletons(2).interval()) == (0, 2)


def test_no_singletons_seen_does_not_mean_none():
    dense = ClassSizes([100], [100])
    found = dense.predict_singletons(5_000)
    assert found.mean < 1e-20
    # A rate that half a record stands for: P(0) = (1 + t)^(-1/2).
    assert float(found.p_none) == pytest.approx(1.5**-0.5, rel=1e-6)
    assert found.p_any == pytest.approx(1 - 1.5**-0.5, rel=1e-6)
    assert found.interval().high == 2
    assert dense.predict_singletons(100).interval().high > 30
    different = ClassSizes([1], [1_000]).predict_singletons(500)
    # And nobody who shares a value does not mean that nobody will.
    assert (different.mean, different.interval().high) == (500, 500)
    assert different.interval().low == 496


def test_nobody_is_printed_as_nothing():
    # The alternating terms of Good and Toulmin end in -0.0 here.
    found = ClassSizes([500], [2]).predict_singletons(2000)
    assert str(found).startswith("Predicted singletons in a group of 2,000: 0.0 expected (0.0%)")


def test_divergence_of_a_table():
    counted = ClassSizes([90, 100, 110], [10, 10, 10])
    found = counted.predict_singletons(20, method="kl")
    assert found.mean == pytest.approx(counted.predict_singletons(20).mean, rel=0.02)
    wider = counted.predict_singletons(20, method="kl", n_values=31)
    assert wider.mean != found.mean
    with pytest.raises(errors.ArgumentError, match="n_values is for"):
        counted.predict_singletons(20, n_values=31)
    with pytest.raises(errors.ArgumentError, match="draw= is for"):
        counted.predict_singletons(20, method="kl", draw="replacement")
    with pytest.raises(errors.ArgumentError, match="did you mean 'exact'"):
        counted.predict_singletons(20, method="exakt")
    with pytest.raises(errors.ArgumentError, match="30 different values occur"):
        counted.predict_singletons(20, method="kl", n_values=3)


def test_divergence_of_a_table_of_few_records_is_that_of_its_chance():
    """All of 100 differ: so will others, but the divergence knows no other values than these."""
    few = ClassSizes([1], [100])
    with pytest.raises(errors.ApproximationError, match="100 records are few for 100 values"):
        few.predict_singletons(50, method="kl")
    many = ClassSizes([10], [100]).predict_singletons(50, method="kl")
    assert "both as in this table, whose own chance is left out" in " ".join(str(many).split())


def test_bad_questions(frame):
    table = frame(CELLS)
    with pytest.raises(errors.ArgumentError, match="group_size is not given"):
        table.anon.predict_singletons("age")
    with pytest.raises(errors.ArgumentError, match="in several classes"):
        frame({"x": ["a", "b", "a"], "who": [1, 1, 2]}).anon.predict_singletons("x", 2, unit="who")


def test_predictions_print_what_an_officer_reads():
    counted = ClassSizes([1, 2, 5, 40], [300, 200, 60, 20])
    first, *rest = repr(counted.predict_singletons(40)).replace("\n  ", " ").splitlines()
    assert first.startswith(
        "Predicted singletons in a group of 40: 29.0 expected (72.4%), 22 to 36"
    )
    assert rest == [
        "chance that nobody is one: <0.1%; that everybody is one: 0.1%",
        (
            "another group from the population of the table's 1,800 records, persons drawn singly; "
            "law: approximate"
        ),
    ]
    assert counted.predict_singletons(40)._repr_html_().startswith("<p>")
    plain = counted.predict_singletons(40).to_dict()
    assert (plain["low"], plain["high"]) == (22, 36)


def test_whatever_assumes_that_persons_are_drawn_singly_says_so():
    counted = ClassSizes([1, 40], [300, 20])
    said = "persons drawn singly"
    for draw in ("auto", "subgroup"):
        for result in (
            counted.predict_singletons(40, draw=draw),
            counted.predict_classes(40, draw=draw),
        ):
            assert said in " ".join(str(result).split())
            assert said in result.to_dict()["drawn"]
    population = counted.predict_population(4_000)
    assert said in " ".join(str(population).split())
    assert said in population.to_dict()["assumes"]
    risk = counted.risk(sampling_fraction=0.25, population_size=4_400)
    assert "drawn singly" in " ".join(str(risk).split())
    assert "drawn singly" in risk.to_dict()["assumes"]


# ---- another group: how often the interval holds -------------------------------------------


def of_singletons(table, k, _):
    return [table.predict_singletons(k).interval()]


@pytest.mark.slow
def test_intervals_hold_in_some_worlds():
    some, runs = worlds.some("independent", "few classes", "nearly all differ"), 60
    cells = list(worlds.coverage(some, (100, 1_000, 2_000), runs, of_singletons))
    assert not worlds.too_low(cells, runs)


@pytest.mark.nightly
def test_intervals_hold_in_every_world():
    runs = 300
    cells = list(worlds.coverage(worlds.worlds(), worlds.GROUPS, runs, of_singletons))
    assert len(cells) == 99
    assert not worlds.too_low(cells, runs)
    assert not worlds.too_wide(cells, runs)


@pytest.mark.slow
def test_what_the_intervals_are_held_to():
    """Intervals of a part of the table, or ten times as wide, are found out."""

    def part(table, k, _):
        return [table.predict_singletons(k, draw="subgroup").interval()]

    def wide(table, k, _):
        low, high = table.predict_singletons(k).interval()
        return [(low - 5 * (high - low), high + 5 * (high - low))]

    asked = worlds.some("independent"), (500, 1_000), 60
    assert len(worlds.too_low(list(worlds.coverage(*asked, part)), 60)) == 2
    assert worlds.too_wide(list(worlds.coverage(*asked, wide)), 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["independent", "zipf", "half dense"])
def test_the_variance_is_that_of_the_estimate_about_the_group(name):
    rng, runs = np.random.default_rng(3), 400
    codes = worlds.worlds()[name](rng, runs, 2_500)
    tables = [ClassSizes(np.flatnonzero(h), h[h > 0]) for h in worlds.histograms(codes[:, :1_000])]
    for k in (100, 400, 1_000, 1_400):
        truth = worlds.histograms(codes[:, 1_000 : 1_000 + k])
        for j in (1, 2):
            found = [another_group.estimate(table, k, j) for table in tables]
            missed = np.array([each.mean for each in found]) - truth[:, j]
            stated = np.mean([each.variance for each in found])
            # A mean of 400 squares is off by a tenth often, by a quarter never.
            assert 0.75 < np.mean(missed**2) / stated < 1.25, (k, j)
            assert abs(missed.mean()) < 4 * np.sqrt(stated / runs), (k, j)


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=40),
    st.floats(0.01, 2),
    st.integers(1, 3),
)
def test_estimates_and_their_laws_are_possible(counts, t, j):
    sizes, classes = np.unique(counts, return_counts=True)
    counted = ClassSizes(sizes, classes)
    k = max(2, int(t * counted.n_records)) if counted.n_records > 1 else 2
    found = another_group.estimate(counted, k, j)
    assert 0 <= found.mean <= k // j
    assert found.variance >= 0
    prediction = counted.predict_singletons(k)
    low, high = prediction.interval()
    assert 0 <= low <= prediction.mean + 1e-9
    assert prediction.mean - 1e-9 <= high <= k
    assert prediction.pmf().sum() == pytest.approx(1)
    assert 0 <= prediction.p_any <= 1


@pytest.mark.slow
def test_the_interval_does_not_jump_where_the_group_outgrows_the_table():
    rng = np.random.default_rng(5)
    for name in worlds.worlds():
        (row,) = worlds.histograms(worlds.worlds()[name](rng, 1, 1_000))
        counted = ClassSizes(np.flatnonzero(row), row[row > 0])
        ends = np.array(
            [tuple(counted.predict_singletons(k).interval()) for k in range(998, 1_004)]
        )
        assert np.abs(np.diff(ends, axis=0)).max() <= 4, name


def test_the_law_of_an_estimate_has_its_mean_and_variance():
    for mean, variance, weight in (
        (5, 7, 0.5),
        (5, 3, 0.5),
        (5, 5.3, 0.3),
        (300, 9_000, 2),
        (3, 0, 1),
    ):
        found = law.estimated_classes(ClassEstimate(mean, variance, weight), 10_000)
        x = found.first + np.arange(len(found.chance))
        at = found.chance @ x
        # Half a class more than was seen.
        moved = variance > mean * (1 + weight)
        assert at == pytest.approx(mean + weight / 2, abs=0.5 if moved else 1e-9)
        spread = variance + weight * (1 + weight) / 2
        # A binomial law has a whole number of trials.
        assert found.chance @ (x - at) ** 2 == pytest.approx(spread, rel=0.06)
    over = law.estimated_classes(ClassEstimate(5, 7, 0.5), 100)
    m, v = 5.25, 7.375
    negative_binomial = stats.nbinom.pmf(np.arange(30), m * m / (v - m), m / v)
    assert over.dense(100)[:30] == pytest.approx(negative_binomial, abs=1e-12)
    many = law.estimated_classes(ClassEstimate(1e6, 4e6, 1), 10**7)
    assert many.quantiles(0.95) == pytest.approx((1e6 - 1.96 * 2e3, 1e6 + 1.96 * 2e3), abs=3)


def test_noise_beyond_the_table_is_not_told_as_knowledge():
    # Ten records in each of a hundred classes: the series of Good and Toulmin has terms of both
    # signs there and says nothing, and there are no singletons to multiply.
    found = ClassSizes([7, 8, 9, 10, 11, 12, 13], [8, 14, 18, 20, 18, 14, 8]).predict_singletons(
        2_000
    )
    assert found.mean == 0
    assert tuple(found.interval()) == (0, 6)
