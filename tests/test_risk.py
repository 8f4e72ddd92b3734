"""Attackers and populations, against sums over records."""

from __future__ import annotations

from collections import Counter

import numpy as np
import oracle
import pandas as pd
import pytest
from attackers import PEOPLE, POPULATION, RELEASE, ROWS

from anonrisk import ClassSizes, errors
from anonrisk.measures.risk import _one_in
from anonrisk.predict.population import benedetti_franconi


def check(attacker, risks):
    """Compare one attacker with the risks of all records."""
    assert attacker.highest == pytest.approx(max(risks), rel=1e-12)
    assert attacker.average == pytest.approx(sum(risks) / len(risks), rel=1e-12)
    for threshold in (0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.99, 1):
        above = sum(risk > threshold * (1 + 1e-9) for risk in risks) / len(risks)
        assert attacker.share_above(threshold) == pytest.approx(above, abs=1e-12)


@pytest.mark.parametrize("qid", [["zip"], ["zip", "age"]])
def test_without_a_population(frame, qid):
    risk = frame(RELEASE).anon.risk(qid)
    risks = [1 / size for size in oracle.sizes(ROWS, qid)]
    check(risk.prosecutor, risks)
    check(risk.journalist, risks)
    assert risk.marketer.average == pytest.approx(sum(risks) / len(risks))
    assert risk.basis == "release"
    assert "no population given" in repr(risk)


@pytest.mark.parametrize("qid", [["zip"], ["zip", "age"]])
def test_with_a_population(frame, qid):
    risk = frame(RELEASE).anon.risk(qid, frame(PEOPLE))
    sizes = oracle.population_sizes(ROWS, POPULATION, qid)
    check(risk.prosecutor, [1 / f for f, _ in sizes])
    journalist = [1 / F for _, F in sizes]
    assert risk.journalist.highest == pytest.approx(max(journalist))
    marketer = sum(journalist) / len(ROWS)
    assert risk.marketer.average == pytest.approx(marketer, rel=1e-12)
    classes = {oracle.key(row, qid): F for row, (_, F) in zip(ROWS, sizes, strict=True)}
    spread = len(classes) / sum(classes.values())
    assert risk.journalist.average == pytest.approx(max(spread, marketer), rel=1e-12)
    assert risk.journalist.share_above(0.2) == pytest.approx(
        sum(r > 0.2 + 1e-9 for r in journalist) / len(ROWS)
    )
    assert risk.basis == "population"


def test_a_marketer_has_an_average_only(frame):
    risk = frame(RELEASE).anon.risk("zip")
    assert risk.marketer.highest is None
    with pytest.raises(errors.ArgumentError, match="only an average"):
        risk.marketer.share_above(0.1)


@pytest.mark.contract
def test_weights(frame):
    risk = frame(RELEASE).anon.risk("zip", weight="w")
    check(risk.journalist, [1 / f for f in oracle.sizes(ROWS, ["zip"])])
    assert risk.marketer.average == risk.prosecutor.average
    assert [*risk.journalist.average_interval] == [0, risk.prosecutor.average]
    assert [*risk.journalist.share_interval(0.3)] == [0, risk.prosecutor.share_above(0.3)]
    sums = Counter()
    for row in ROWS:
        sums[oracle.key(row, ["zip"])] += row["w"]
    model = [
        float(benedetti_franconi(f, sums[oracle.key(row, ["zip"])]))
        for f, row in zip(oracle.sizes(ROWS, ["zip"]), ROWS, strict=True)
    ]
    assert risk.model.highest_risk == pytest.approx(max(model), rel=1e-12)
    assert risk.model.reidentifications == pytest.approx(sum(model), rel=1e-12)
    assert risk.basis == "weights"
    for words in ("unequal chances", "only this is certain", "a model", "understates"):
        assert words in repr(risk)
    assert risk.to_dict()["model"]["model"] == "benedetti_franconi"


def test_of_a_sampling_fraction_alone_nothing_but_the_prosecutor_follows(frame):
    risk = frame(RELEASE).anon.risk("zip", sampling_fraction=0.1)
    assert risk.journalist.highest == risk.prosecutor.highest == 1
    assert risk.marketer.average == risk.journalist.average == risk.prosecutor.average
    assert [*risk.journalist.highest_interval] == [0, 1]
    assert risk.journalist.average_interval.level is None
    assert risk.basis == "sampling_fraction"
    assert "population_size or unsuppressed would narrow it down" in " ".join(repr(risk).split())
    whole = frame(RELEASE).anon.risk("zip", sampling_fraction=1)
    assert [*whole.journalist.average_interval] == [whole.prosecutor.average] * 2


@pytest.mark.parametrize("how", ["release", "weights", "fraction", "population"])
def test_households(frame, how):
    table = frame(RELEASE)
    given = {
        "release": {},
        "weights": {"weight": "w"},
        "fraction": {"sampling_fraction": 0.5},
        "population": {"population": frame(PEOPLE)},
    }[how]
    risk = table.anon.risk("zip", household="home", **given)
    own = [1 / f for f in oracle.sizes(ROWS, ["zip"])]
    if how == "population":
        own = [1 / F for _, F in oracle.population_sizes(ROWS, POPULATION, ["zip"])]
    check(risk.household, oracle.household_risks(ROWS, own, "home"))
    low = 0 if how in ("weights", "fraction") else risk.household.average
    assert risk.household.average_interval.low == low


def test_persons(frame):
    risk = frame(RELEASE).anon.risk("age", unit="who")
    assert risk.prosecutor.highest == 1
    assert risk.prosecutor.average == pytest.approx((1 / 3 * 3 + 1 / 2 * 2 + 1) / 6)


@pytest.mark.contract
@pytest.mark.parametrize(
    ("people", "text"),
    [
        ({"zip": ["a"] * 9 + ["c"] * 9 + [None] * 2}, r"1 record .* lacks \(1\)"),
        ({"zip": ["a", "b"] + ["c"] * 9 + [None] * 2}, r"2 records .* than the release \(2\)"),
        ({"zip": ["a"] * 2 + ["b"]}, r"4 records .* lacks \(4\)"),
    ],
)
def test_a_population_that_does_not_fit(frame, people, text):
    for call in ("risk", "kmap", "delta_presence"):
        with pytest.raises(errors.PopulationError, match=text):
            getattr(frame(RELEASE).anon, call)("zip", frame(people))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t, p: t.anon.risk("zip", p, weight="w"), errors.ArgumentError, "not several"),
        (lambda t, p: t.anon.risk("zip", weight="ww"), errors.ColumnNotFoundError, "mean 'w'"),
        (lambda t, p: t.anon.risk("zip", weight="zip"), errors.RoleConflictError, "and weight"),
        (lambda t, p: t.anon.risk("age", weight="zip"), errors.WeightError, "not a column of num"),
        (lambda t, p: t.anon.risk("zip", household="hom"), errors.ColumnNotFoundError, "'home'"),
        (lambda t, p: t.anon.risk("zip", sampling_fraction=0), errors.ArgumentError, "above 0"),
        (lambda t, p: t.anon.risk("zip", sampling_fraction=2), errors.ArgumentError, "at most 1"),
        (
            lambda t, p: t.anon.risk("zip", population_size=70),
            errors.ArgumentError,
            "needs a sampling_fraction",
        ),
        (
            lambda t, p: t.anon.risk("zip", population_size=0, unsuppressed=True),
            errors.ArgumentError,
            "at least 1",
        ),
        (
            lambda t, p: t.anon.risk("zip", unsuppressed=True),
            errors.ArgumentError,
            "or a population_size",
        ),
        (
            lambda t, p: t.anon.risk("zip", unsuppressed=1),
            errors.ArgumentError,
            "True or False",
        ),
        (
            lambda t, p: t.anon.risk("zip", weight="w", population_size=9, unsuppressed=True),
            errors.ArgumentError,
            "not several",
        ),
        (
            lambda t, p: t.anon.risk("zip", sampling_fraction=0.1, population_size=5),
            errors.PopulationError,
            "about 0, and the table has 7 records",
        ),
        (
            lambda t, p: t.anon.risk("zip", missing="drop", population_size=70, unsuppressed=True),
            errors.ArgumentError,
            "give the sampling_fraction",
        ),
        (
            lambda t, p: t.anon.risk("age", unit="home", population_size=70, unsuppressed=True),
            errors.ArgumentError,
            "in several classes",
        ),
        (lambda t, p: t.anon.risk("zip", [1]), errors.UnsupportedFrameError, "not a supported"),
        (
            lambda t, p: t.anon.risk("zip", p, unit="who"),
            errors.ArgumentError,
            "one row per person",
        ),
        (lambda t, p: t.anon.risk("who", p), errors.ColumnNotFoundError, "of the population"),
        (lambda t, p: t.anon.kmap("zip"), errors.ArgumentError, "population= is needed"),
        (
            lambda t, p: t.anon.risk("zip", p, missing="error"),
            errors.MissingValuesError,
            "'zip' in",
        ),
        (lambda t, p: t.anon.risk("age", household="zip"), errors.MissingUnitError, "in 1 row"),
    ],
)
def test_wrong_calls(frame, call, error, text):
    with pytest.raises(error, match=text):
        call(frame(RELEASE), frame(PEOPLE))


def test_small_and_missing_weights(frame):
    table = frame({"q": ["a", "b", "c"], "w": [0.5, None, 2.5]})
    with pytest.raises(
        errors.WeightError, match="missing or infinite in 1 row and below 1 in 1 row"
    ):
        table.anon.risk("q", weight="w")


def test_thresholds_do_not_turn_on_the_last_bit():
    risk = ClassSizes([5, 10], [1, 1]).risk()
    assert risk.prosecutor.share_above(0.2) == 0
    assert risk.prosecutor.share_above(0.1) == pytest.approx(5 / 15)
    assert risk.to_dict()["prosecutor"] == {"highest": 0.2, "average": pytest.approx(2 / 15)}
    assert risk._repr_html_().count("<table>") == 1


def test_large_integers_stay_apart_beside_a_population():
    big = 2**53
    release = pd.DataFrame({"q": [big, big + 1]})
    for people in (
        np.array([big, big + 1], dtype="uint64"),
        pd.array([big, big + 1], dtype="Int64"),
    ):
        assert release.anon.risk("q", pd.DataFrame({"q": people})).prosecutor.highest == 1
        assert release.anon.kmap("q", pd.DataFrame({"q": people})) == 1
    with pytest.raises(errors.UnsupportedColumnError, match="mixes types"):
        release.anon.kmap("q", pd.DataFrame({"q": [big, big + 1, None]}))


@pytest.mark.parametrize(
    "weights",
    [
        ["1", "2"],
        [True, True],
        [1 + 0j, 2],
        [b"1", b"2"],
        pd.to_datetime(["2020-01-01"] * 2),
        pd.to_timedelta([1, 2], unit="D"),
        [10**400, 1],
    ],
)
def test_weights_that_are_no_numbers(weights):
    with pytest.raises(errors.WeightError):
        pd.DataFrame({"q": [1, 1], "w": weights}).anon.risk("q", weight="w")


# pandas 2 warns of infinities when it looks for a nullable type.
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinite_weights_are_refused(frame):
    with pytest.raises(errors.WeightError, match="infinite in 1 row"):
        frame({"q": ["a", "b"], "w": [1.5, float("inf")]}).anon.risk("q", weight="w")
    with pytest.raises(errors.WeightError, match="below 1 in 1 row"):
        frame({"q": ["a", "b"], "w": [1.5, 0.0]}).anon.risk("q", weight="w")


def test_dropped_records_need_no_class_in_the_population(frame):
    table, people = frame({"q": ["a", "a", None]}), frame({"q": ["a"] * 4 + ["b"]})
    assert table.anon.kmap("q", people, missing="drop") == 4
    assert table.anon.delta_presence("q", people, missing="drop").highest == 0.5
    assert table.anon.risk("q", people, missing="drop").journalist.highest == 0.25


def test_dropped_records_need_no_household(frame):
    table = frame({"q": ["a", "a", None], "home": [1, 1, None]})
    assert table.anon.risk("q", household="home", missing="drop").household.average == 0.75


def test_a_risk_is_written_as_one_in_so_many():
    assert [_one_in(risk) for risk in (0.0, 0.08, 0.3)] == ["none", "1 in 12", "1 in 3.33"]
