"""Groups of whole homes: against every way to draw them, on every engine; how intervals hold."""

from __future__ import annotations

from itertools import combinations, islice, product
from math import exp, factorial, prod

import homes
import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import anonrisk
from anonrisk import errors
from anonrisk.predict import clusters
from anonrisk.predict.population import Sample, bounds
from anonrisk.predict.population.bounds import of_clusters

# Homes of one to six people in 40 homes, who share an area.
SIZES = [1, 2, 3, 4, 6] * 8
AREA = [i * i % 11 for i, size in enumerate(SIZES) for _ in range(size)]
CELLS = {
    "home": [f"h{i}" for i, size in enumerate(SIZES) for _ in range(size)],
    "area": AREA,
    "sex": ["f" if i % 3 else "m" for i in range(len(AREA))],
    "age": [float(i * 7 % 13) if i % 10 else None for i in range(len(AREA))],
}


def by_hand(code, home, t, j):
    """Mean and variance of the classes of j, over every choice of homes, put together as in P14."""
    names, own = sorted(set(home)), sorted(set(code))
    index = {name: place for place, name in enumerate(names)}
    having = np.zeros((2 ** len(names), len(own)))
    chance, kept = np.zeros(len(having)), np.array(list(product((0, 1), repeat=len(names))))
    for row, choice in enumerate(kept):
        chance[row] = t ** choice.sum() * (1 - t) ** (len(names) - choice.sum())
        drawn = [c for c, h in zip(code, home, strict=True) if choice[index[h]]]
        having[row] = [drawn.count(value) == j for value in own]
    w = chance @ having
    change = np.array(
        [
            (chance * kept[:, h]) @ having / t - (chance * (1 - kept[:, h])) @ having / (1 - t)
            for h in range(len(names))
        ]
    )
    people = np.array([home.count(name) for name in names])
    each = change.sum(axis=1)
    ratio = each.sum() / people.sum()
    together = ((each - ratio * people) ** 2).sum() - (change**2).sum()
    pairs = list(zip(code, home, strict=True))
    members = np.array([[pairs.count((value, name)) for value in own] for name in names])
    apart = ((change - ratio * members)[members > 0] ** 2).sum() - (change[members > 0] ** 2).sum()
    variance = w @ (1 - w) + t * (1 - t) * together
    return w.sum(), variance, max(together, apart), (w**2).sum()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=9),
    st.sampled_from([1, 2, 3]),
)
def test_every_choice_of_homes(records, j):
    code, home = (list(part) for part in zip(*records, strict=True))
    counted = homes.clustered(np.array(home), np.array(code))
    for k in range(1, len(code)):
        t = k / len(code)
        mean, variance, together, squares = by_hand(code, home, t, j)
        found = clusters.part_of_table(counted, k, j)
        assert found.mean == pytest.approx(mean)
        assert found.variance == pytest.approx(max(0, variance), abs=1e-9)
        other = clusters.another_group(counted, k, j)
        assert other.mean == pytest.approx(mean)
        least = squares + mean + t * (1 + t) * together
        if j > 1:
            assert other.variance == pytest.approx(max(0, least), abs=1e-9)
    whole = clusters.part_of_table(counted, len(code), j)
    assert (whole.mean, whole.variance) == (sum(code.count(c) == j for c in set(code)), 0)


@given(
    st.lists(st.floats(0.01, 20), min_size=3, max_size=3),
    st.sampled_from([(1, 1, 1), (2, 1), (3,), (1, 1), (2,), (2, 1, 1), (2, 2)]),
    st.floats(1.1, 2),
)
def test_no_class_stands_for_more(expected, made, t):
    def chance(parts, times, rates):
        own = (
            (times * rate) ** parts.count(m) / factorial(parts.count(m))
            for m, rate in enumerate(rates, start=1)
        )
        return prod(own) * exp(-times * sum(rates))

    for number in range(1, len(made) + 1):
        for some in combinations(made, number):
            most = clusters.stands_for(some, made, t)
            assert chance(made, t, expected) <= most * chance(some, 1, expected) * (1 + 1e-9)
            missing = [made.count(m) - some.count(m) for m in (1, 2, 3)]
            worst = [number / (t - 1) or 1e-9 for number in missing]
            assert chance(made, t, worst) / chance(some, 1, worst) == pytest.approx(most)


def test_smaller_classes_limit_larger_ones():
    home, code = homes.WORLDS["few classes"](np.random.default_rng(1))
    counted = homes.clustered(home[home < 350], code[home < 350])
    assert not (counted.sizes.sizes <= 3).any()
    told = homes.table.classes(counted, 2 * counted.n, 3, "auto", method="exact", n_values=None)
    assert told.interval(3).high < 10  # 24 by classes of three alone


@pytest.mark.parametrize("world", homes.WORLDS)
def test_limits_never_add_to_the_variance(world):
    home, code = homes.WORLDS[world](np.random.default_rng(2))
    counted = homes.clustered(home[home < 350], code[home < 350])
    for j in (1, 2, 3):
        parts, found = (
            clusters._Parts(counted, j),
            clusters.another_group(counted, counted.n * 2, j),
        )
        w = parts.chances(2)
        common = max(abs(parts.together(1)), abs(parts.apart(1)))
        assert found.variance <= parts.classes @ w**2 + found.mean + 6 * common


def test_homes_of_one_are_persons_drawn_singly():
    import pandas as pd

    rng = np.random.default_rng(3)
    df = pd.DataFrame({"q": rng.integers(0, 300, 1_000), "who": range(1_000)})
    for k in (50, 300, 700, 1_000, 1_400):
        found = df.anon.predict_singletons("q", k, cluster="who")
        singly = df.anon.predict_singletons("q", k)
        assert found.mean == pytest.approx(singly.mean, rel=0.01)
        # Beyond the table's size less is known of what n and k fix.
        assert found.sd == pytest.approx(singly.sd, rel=0.03 if k <= 1_000 else 0.15)


def test_every_engine_draws_homes(frame):
    table, qid = frame(CELLS), ["area", "sex"]
    code = np.unique(np.array([CELLS["area"], CELLS["sex"]]), axis=1, return_inverse=True)[1]
    home = np.unique(CELLS["home"], return_inverse=True)[1]
    counted = homes.clustered(home, code)
    for draw, estimate in (("auto", clusters.another_group), ("subgroup", clusters.part_of_table)):
        found = anonrisk.predict_singletons(table, qid, 60, cluster="home", draw=draw)
        wanted = estimate(counted, 60, 1)
        assert (found.mean, found.variance) == pytest.approx((wanted.mean, wanted.variance))
        assert "128 records in 40 clusters (home)" in found.to_dict()["drawn"]
        assert "whole clusters drawn" in " ".join(str(found).split())
    found = anonrisk.predict_classes(table, qid, 60, 4, cluster="home")
    assert found.classes.tolist() == pytest.approx(
        [clusters.another_group(counted, 60, j).mean for j in (1, 2, 3, 4)]
    )


def test_missing_values_of_homes(frame):
    table = frame(CELLS)
    known = [i for i in range(len(AREA)) if i % 10]
    rest = frame({name: [cells[i] for i in known] for name, cells in CELLS.items()})
    dropped = anonrisk.predict_singletons(table, "age", 40, cluster="home", missing="drop")
    assert dropped.mean == anonrisk.predict_singletons(rest, "age", 40, cluster="home").mean
    with pytest.raises(errors.MissingValuesError):
        anonrisk.predict_singletons(table, "age", 40, cluster="home", missing="error")
    lost = frame({**CELLS, "home": [None, *CELLS["home"][1:]]})
    with pytest.raises(errors.MissingUnitError, match="cluster 'home' is missing in 1 row"):
        anonrisk.predict_singletons(lost, "sex", 40, cluster="home")


def test_what_is_not_known_of_homes(frame):
    table = frame(CELLS)
    wrong = [
        ({"cluster": "sex"}, errors.RoleConflictError, "both quasi-identifier and cluster"),
        ({"cluster": "hom"}, errors.ColumnNotFoundError, "did you mean 'home'"),
        ({"cluster": "home", "unit": "age"}, errors.ArgumentError, "one row per person"),
        ({"cluster": "home", "draw": "replacement"}, errors.ArgumentError, "draw='subgroup' only"),
        ({"cluster": "home", "method": "kl"}, errors.ArgumentError, "persons are drawn singly"),
        ({"cluster": "area"}, errors.ArgumentError, "has 6 values, .* fewer than 30"),
    ]
    for arguments, error, words in wrong:
        with pytest.raises(error, match=words):
            anonrisk.predict_singletons(table, "sex", 20, **arguments)
    most = frame({**CELLS, "home": [*range(60), *[60] * (len(AREA) - 60)]})
    with pytest.raises(errors.ArgumentError, match="61 values, which tell as much as 3 of equal"):
        anonrisk.predict_singletons(most, "sex", 20, cluster="home")
    with pytest.raises(errors.ArgumentError, match="upto with cluster="):
        anonrisk.predict_classes(table, "sex", 20, 11, cluster="home")
    with pytest.raises(errors.ArgumentError, match="more than twice"):
        anonrisk.predict_singletons(table, "sex", 300, cluster="home")
    with pytest.raises(errors.ArgumentError, match="cannot be drawn"):
        anonrisk.predict_singletons(table, "sex", 200, cluster="home", draw="subgroup")


def test_intervals_hold_where_homes_are_drawn():
    runs = 40
    world = {"areas": homes.WORLDS["areas"]}
    for _, ratio, _, held, singly, *_ in homes.coverage(world, (0.1, 0.5), runs):
        assert held >= 0.85 * runs
        assert singly <= 0.7 * runs, ratio


def test_intervals_hold_where_some_homes_are_ten_times_as_large():
    runs, world = 40, {"large families": homes.WORLDS["large families"]}
    for _, ratio, _, held, _, width, ideal in homes.coverage(world, (0.1, 0.5), runs):
        assert held >= 0.9 * runs, ratio
        assert width < 1.6 * ideal


@pytest.mark.nightly
def test_intervals_hold_in_every_world_of_homes():
    runs = 300
    rows = list(homes.coverage(homes.WORLDS, homes.RATIOS, runs, (1, 2, 3)))
    assert not worlds.too_low([(*row[:3], 0, row[3]) for row in rows], runs)
    for _, _, j, *_, width, ideal in rows:
        assert ideal < 3 or width < (1.6 if j == 1 else 1.7) * ideal


@pytest.mark.nightly
def test_intervals_hold_in_a_real_table_of_homes(shared):
    import pandas as pd

    table = pd.read_csv(shared / "data" / "tables" / "testdata.csv")
    runs, qids = 300, ["urbrur", "water", "sex", "age"]
    world = {"survey": homes.real(table, "ori_hid", qids)}
    rows = list(homes.coverage(world, homes.RATIOS, runs, (1, 2, 3), n_homes=300))
    assert not worlds.too_low([(*row[:3], 0, row[3]) for row in rows], runs)
    assert all(width < 1.6 * ideal for *_, width, ideal in rows if ideal >= 3)


def test_a_sample_of_homes_bounds_the_risk(frame):
    table = frame(CELLS)
    drawn = {"sampling_fraction": 0.1, "population_size": 1_280}
    found = anonrisk.risk(table, "sex", cluster="home", **drawn)
    wanted = {}
    for value in ("f", "m"):
        rows = [i for i, sex in enumerate(CELLS["sex"]) if sex == value]
        parts = len({CELLS["home"][i] for i in rows})
        likely = [F for F in range(parts, 1_281) if binom.sf(parts - 1, F, 0.1) > 0.05 * F / 1_280]
        wanted[1 / (likely[0] - parts + len(rows))] = len(rows)
    told = dict(zip(found.journalist.risks, found.journalist.records, strict=True))
    assert told == wanted
    assert found.journalist.highest == max(wanted)
    assert found.marketer.average == pytest.approx(sum(r * n for r, n in wanted.items()) / 128)
    assert "drawn as whole clusters with equal chances" in found.to_dict()["assumes"]
    assert found.journalist.highest > anonrisk.risk(table, "sex", **drawn).journalist.highest


def test_the_risk_from_a_sample_of_homes_stays_below_its_bound():
    rng, held, singly = np.random.default_rng(5), 0, 0
    for _ in range(60):
        home = np.repeat(np.arange(2_000), rng.integers(1, 7, 2_000))
        code = rng.integers(0, 30, 2_000)[home]
        chosen = np.isin(home, rng.choice(2_000, 200, replace=False))
        bounded, unlike = homes.bounded(home, code, chosen)
        held, singly = held + bounded, singly + unlike
    assert held >= 57
    assert singly < 50


def test_what_is_not_known_of_the_risk_from_homes(frame):
    table = frame(CELLS)
    wrong = [
        ({}, "holds however people were drawn"),
        ({"sampling_fraction": 0.1}, "needs sampling_fraction= and population_size="),
        ({"weight": "age"}, "cluster= goes with sampling_fraction= and population_size= only"),
        ({"population_size": 1_280, "unsuppressed": True}, "no unsuppressed="),
    ]
    for arguments, words in wrong:
        with pytest.raises(errors.ArgumentError, match=words):
            anonrisk.risk(table, "sex", cluster="home", **arguments)
    whole = anonrisk.risk(table, "sex", cluster="home", sampling_fraction=1.0, population_size=128)
    assert whole.basis == "population"


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=4, max_size=12),
    st.sampled_from([1, 2, 8]),
)
def test_the_rows_of_a_sample_of_homes_are_right_on_average(records, most):
    code, home = (np.array(part) for part in zip(*records, strict=True))
    names, f = np.unique(home), 0.4
    # What is expected: a part of one member stays in a class of s of its r parts.
    wanted = np.zeros(most + 1)
    for value in set(code):
        parts = [(home[code == value] == name).sum() for name in set(home[code == value])]
        for s in range(1, len(parts) + 1):
            kept = parts.count(1) / len(parts) * binom.pmf(s, len(parts), f)
            wanted[min(s, most + 1) - 1] += kept
    mean = np.zeros(most + 1)
    for choice in product((False, True), repeat=len(names)):
        chosen = np.isin(home, names[list(choice)])
        if chosen.any():
            counted = homes.clustered(home[chosen], code[chosen])
            persons = Sample.of(counted.sizes, len(home))
            chance = f ** sum(choice) * (1 - f) ** (len(names) - sum(choice))
            mean += chance * of_clusters(counted, persons, most)[1]
    assert mean == pytest.approx(wanted)


def test_the_population_of_homes_of_one_is_that_of_persons():
    import pandas as pd

    rng = np.random.default_rng(3)
    df = pd.DataFrame({"q": rng.integers(0, 900, 1_000), "who": range(1_000)})
    for size in (2_000, 5_000, 20_000):
        found = df.anon.predict_population("q", size, cluster="who")
        singly = df.anon.predict_population("q", size)
        assert (found.basis, found.estimates) == ("clusters", ())
        for name in ("uniques", "likely_uniques", "singletons_unique", "matches"):
            low, high = getattr(found, name)
            least = getattr(singly, name).low
            assert high == pytest.approx(getattr(singly, name).high, rel=0.02, abs=0.01), name
            if name == "matches":  # of people who are not unique, bounded from above alone
                assert low <= least
            else:
                assert low == pytest.approx(least, rel=0.02), name


def test_every_engine_bounds_the_population_of_homes(frame):
    table, qid = frame(CELLS), ["area", "sex"]
    code = np.unique(np.array([CELLS["area"], CELLS["sex"]]), axis=1, return_inverse=True)[1]
    home = np.unique(CELLS["home"], return_inverse=True)[1]
    counted = homes.clustered(home, code)
    wanted = bounds(Sample.of(counted.sizes, 512), counted)
    found = anonrisk.predict_population(table, qid, 512, cluster="home")
    assert [*found.uniques, *found.matches] == pytest.approx([*wanted.uniques, *wanted.matches])
    assert "sample of whole clusters" in " ".join(str(found).split())
    share = anonrisk.predict_population(table, qid, sampling_fraction=0.25, cluster="home")
    assert share.to_dict() == found.to_dict()
    whole = anonrisk.predict_population(table, qid, 128, cluster="home")
    assert whole.basis == "population"


def test_what_is_not_known_of_the_population_of_homes(frame):
    table = frame(CELLS)
    wrong = [
        ({"model": "pitman"}, "takes persons to be drawn singly"),
        ({"weight": "age"}, "does not go with weight="),
        ({"unit": "age"}, "one row per person"),
        ({"cluster": "area"}, "fewer than 30"),
    ]
    for arguments, words in wrong:
        size = {} if "weight" in arguments else {"population_size": 512}
        with pytest.raises(errors.ArgumentError, match=words):
            anonrisk.predict_population(table, "sex", **size, **{"cluster": "home"} | arguments)


def held_of(world, f, runs, seed, n_ways=2):
    """How often bounds on uniques, singletons and matches held, with homes and without; widths."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(runs):
        home, code = homes.WORLDS[world](rng)
        n = home[-1] + 1
        chosen = np.isin(home, rng.choice(n, round(n * f), replace=False))
        rows.append(list(islice(homes.population(home, code, chosen), n_ways)))
    return np.mean(np.array(rows, dtype=float), axis=0)


@pytest.mark.slow
def test_bounds_hold_where_homes_are_drawn():
    told, singly = held_of("siblings", 0.5, 15, 1)
    assert (told[:3] >= 0.93).all()
    assert singly[0] < 0.93
    assert told[3] < 1.6 * singly[3]


@pytest.mark.parametrize("seen", [0, 1])
def test_bounds_hold_where_few_homes_have_all_who_are_unique(seen):
    """Of 2,000 homes seven have six people, all unique; a fifth is drawn, often none of these."""
    size = np.where(np.arange(2_000) < 7, 6, np.arange(2_000) % 3 + 1)
    home = np.repeat(np.arange(2_000), size)
    rng = np.random.default_rng(0)
    code = np.where(home < 7, 1_000 + np.arange(len(home)), rng.integers(0, 40, len(home)))
    chosen = np.isin(home, [*range(seen), *rng.permutation(np.arange(7, 2_000))[: 400 - seen]])
    counted = homes.clustered(home[chosen], code[chosen])
    bounded = bounds(Sample.of(counted.sizes, len(home)), counted)
    assert 42 in bounded.uniques
    assert bounded.uniques.high < 250


@pytest.mark.nightly
@pytest.mark.parametrize("f", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("world", homes.WORLDS)
def test_bounds_hold_in_every_world_of_homes(world, f):
    runs = 60
    (told,) = held_of(world, f, runs, 7, n_ways=1)
    cells = [(world, f, figure, 0, held * runs) for figure, held in enumerate(told[:3])]
    assert not worlds.too_low(cells, runs)


@pytest.mark.parametrize(
    "limit",
    [
        {"predicted_singletons": {"group_size": 40, "at_most": 40}},
        {"population_unique_fraction": {"population_size": 512, "at_most": 1}},
    ],
)
def test_a_gate_says_that_it_takes_persons_to_be_drawn_singly(limit):
    import pandas as pd

    verdict = anonrisk.Policy(quasi=["area", "sex"], unlisted="ignore", **limit).check(
        pd.DataFrame(CELLS)
    )
    assert "persons were drawn singly" in str(verdict.findings[0].sentence)
