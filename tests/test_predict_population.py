"""From a table to its population, on every engine."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter

import numpy as np
import oracle
import pytest

import anonrisk
from anonrisk import ClassSizes, errors
from anonrisk.predict.population import benedetti_franconi


def cells(n=300, seed=0):
    rng = np.random.default_rng(seed)
    zip_ = [None if x == 0 else f"z{x}" for x in rng.integers(0, 9, n)]
    age = np.minimum(rng.geometric(0.08, n), 40)
    return {
        "zip": zip_,
        "age": [int(x) for x in age],
        "w.1": [float(x) for x in rng.integers(4, 40, n) / 2],
        "same": [5.0] * n,
        "who": list(range(n)),
    }


CELLS = cells()
ROWS = [dict(zip(CELLS, row, strict=True)) for row in zip(*CELLS.values(), strict=True)]
QID = ["zip", "age"]


def classes(rows, qid):
    return Counter(oracle.key(row, qid) for row in rows)


@pytest.mark.slow
def test_a_table_is_asked_through_its_class_sizes(frame):
    table = frame(CELLS)
    found = table.anon.predict_population(QID, 2000)
    same = table.anon.classes(QID).predict_population(2000)
    assert found.to_dict() == same.to_dict()
    assert found.n_records == 300
    assert found.singletons == sum(n == 1 for n in classes(ROWS, QID).values())
    by_share = anonrisk.predict_population(table, QID, sampling_fraction=0.15)
    assert by_share.to_dict() == found.to_dict()
    complete = [row for row in ROWS if row["zip"] is not None]
    dropped = table.anon.predict_population(QID, 2000, missing="drop", model="dis")
    assert dropped.n_records == len(complete)
    assert dropped.n_dropped == 300 - len(complete)
    assert "left out" in repr(dropped)


def weighted_oracle(rows, qid, weight):
    sizes, sums = classes(rows, qid), Counter()
    for row in rows:
        sums[oracle.key(row, qid)] += row[weight]
    risks = {key: float(benedetti_franconi(sizes[key], sums[key])) for key in sizes}
    return sizes, sums, risks


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_weights(frame, missing):
    rows = [row for row in ROWS if missing == "value" or row["zip"] is not None]
    sizes, sums, risks = weighted_oracle(rows, QID, "w.1")
    # A column of few values has large classes, whose risks come by the series.
    few, _, few_risks = weighted_oracle(rows, ["zip"], "w.1")
    table = frame(CELLS)
    found = table.anon.predict_population(QID, weight="w.1", missing=missing)
    one = found["benedetti_franconi"]
    close = {"rel": 1e-12}
    assert one.reidentifications == pytest.approx(sum(sizes[g] * risks[g] for g in sizes), **close)
    assert one.highest_risk == pytest.approx(max(risks.values()), **close)
    singles = [g for g in sizes if sizes[g] == 1]
    assert one.matches == pytest.approx(sum(risks[g] for g in singles), **close)
    others = sum(sums[g] for g in sizes if sizes[g] == 2) - 2 * sum(n == 2 for n in sizes.values())
    assert found["dis"].match_correct == pytest.approx(len(singles) / (len(singles) + others))
    assert found.population_size == round(sum(sums.values()))
    assert found.n_dropped == len(ROWS) - len(rows)
    assert found.basis == "certain"
    assert found.singletons_unique.high == 1
    assert not found["pitman"].converged
    assert "weights differ" in found["pitman"].note
    few_found = table.anon.predict_population(
        "zip", weight="w.1", model="benedetti_franconi", missing=missing
    ).estimates[0]
    assert few_found.highest_risk == pytest.approx(max(few_risks.values()), **close)
    assert few_found.reidentifications == pytest.approx(
        sum(few[g] * few_risks[g] for g in few), **close
    )


@pytest.mark.slow
def test_equal_weights_are_a_sampling_fraction(frame):
    table = frame(CELLS)
    found = table.anon.predict_population(QID, weight="same")
    assert found.to_dict() == table.anon.predict_population(QID, 1500).to_dict()
    assert found.basis == "sample"
    assert found["pitman"].converged


def independence_oracle(rows, qid, fraction):
    """Sums over cells, seen or not, of what a Poisson table of independent columns has."""
    n, sizes = len(rows), classes(rows, qid)
    margins = [Counter(oracle.key(row, [name]) for row in rows) for name in qid]
    c = (1 - fraction) / fraction
    unique = match = bias = spread = 0.0
    keys = {tuple(oracle.key(row, [name]) for name in qid): oracle.key(row, qid) for row in rows}
    for a in margins[0]:
        for b in margins[1]:
            f = sizes[keys[a, b]] if (a, b) in keys else 0
            mu = margins[0][a] * margins[1][b] / n
            if f == 1:
                unique += math.exp(-c * mu)
                match += (1 - math.exp(-c * mu)) / (c * mu)
            slope, bend = -c * math.exp(-c * mu), c * c * math.exp(-c * mu)
            first = -mu * math.exp(-mu) * slope
            second = -math.exp(-mu) * ((1 - mu) * slope + mu * bend / 2)
            bias += first * (f - mu) + second * ((f - mu) ** 2 - f)
            spread += first**2 * mu + 2 * second**2 * mu**2
    return unique, match, bias, bias / math.sqrt(spread)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:loglinear. columns taken:anonrisk.errors.ApproximationWarning")
def test_independent_columns(frame):
    table = frame(CELLS)
    found = table.anon.predict_population(QID, 2000, model="loglinear")
    one = found["loglinear"]
    unique, match, bias, z = independence_oracle(ROWS, QID, 0.15)
    assert one.singletons_unique * found.singletons == pytest.approx(unique, rel=1e-11)
    assert one.uniques == pytest.approx(unique / 0.15, rel=1e-11)
    assert one.matches == pytest.approx(match, rel=1e-11)
    assert one.parameters["bias"] == pytest.approx(bias, rel=1e-8)
    assert one.parameters["z"] == pytest.approx(z, rel=1e-8)
    assert "fits badly" not in one.note
    dropped = table.anon.predict_population(QID, 2000, model="loglinear", missing="drop")
    complete = [row for row in ROWS if row["zip"] is not None]
    unique = independence_oracle(complete, QID, len(complete) / 2000)[0]
    assert dropped["loglinear"].uniques == pytest.approx(unique / len(complete) * 2000, rel=1e-11)


@pytest.mark.slow
def test_columns_that_are_not_independent_are_noticed(frame):
    values = [int(x) for x in np.minimum(np.random.default_rng(6).geometric(0.01, 400), 400)]
    twice = {"a": values, "b": [x // 2 for x in values]}
    table = frame(twice)
    # pandas-on-Spark has warnings of its own, which pytest.warns would raise again.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = table.anon.predict_population(["a", "b"], 900, model="loglinear")
    told = [str(w.message) for w in caught if w.category is errors.ApproximationWarning]
    assert any("fits badly" in message for message in told)
    assert found["loglinear"].doubtful


@pytest.mark.filterwarnings("ignore:loglinear. columns taken:anonrisk.errors.ApproximationWarning")
def test_independent_people_are_estimated_well():
    import pandas as pd

    rng = np.random.default_rng(5)
    people = pd.DataFrame({name: rng.integers(0, 25, 12_000) for name in "abc"})
    sizes = people.groupby(list("abc"))["a"].transform("size")
    table = people.sample(1200, random_state=1)
    found = table.anon.predict_population(list("abc"), 12_000, model="loglinear")
    assert found["loglinear"].uniques == pytest.approx((sizes == 1).sum(), rel=0.1)
    assert "fits badly" not in found["loglinear"].note
    assert (sizes == 1).sum() in found.uniques


def test_persons(frame):
    table = frame({"q": ["a", "a", "b", "c"], "who": [1, 1, 2, 3]})
    assert table.anon.predict_population("q", 9, unit="who").n_records == 3
    with pytest.raises(errors.ArgumentError, match="one row per person"):
        frame({"q": ["a", "b", "c"], "who": [1, 1, 2]}).anon.predict_population("q", 9, unit="who")


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({}, errors.ArgumentError, "population_size= is needed"),
        ({"population_size": 299}, errors.PopulationError, "299 cannot have given"),
        ({"population_size": 2.5}, errors.ArgumentError, "whole number"),
        ({"population_size": -1}, errors.ArgumentError, "whole number"),
        ({"sampling_fraction": 0}, errors.ArgumentError, "above 0, at most 1"),
        ({"sampling_fraction": 1.2}, errors.ArgumentError, "above 0, at most 1"),
        ({"sampling_fraction": 0.1, "population_size": 5}, errors.ArgumentError, "give one of"),
        ({"sampling_fraction": 0.1, "weight": "same"}, errors.ArgumentError, "give one of"),
        ({"weight": "sam"}, errors.ColumnNotFoundError, "did you mean 'same'"),
        ({"weight": "age"}, errors.RoleConflictError, "and weight"),
        ({"weight": "same", "population_size": 2000}, errors.ArgumentError, "sum to 1,500, not"),
        ({"weight": "same", "unit": "who"}, errors.ArgumentError, "unit= does not go"),
        ({"weight": "w.1", "model": "pitman"}, errors.ModelError, "weights differ"),
        ({"weight": "w.1", "model": "loglinear"}, errors.ArgumentError, "takes no weights"),
        (
            {"population_size": 999, "model": "loglinear", "unit": "who"},
            errors.ArgumentError,
            "unit= does not go",
        ),
        ({"population_size": 9000, "model": "snb"}, errors.ModelError, "at least a tenth"),
        ({"population_size": 900, "model": "best"}, errors.ArgumentError, "is not one of"),
        (
            {"weight": "same", "missing": "error"},
            errors.MissingValuesError,
            rf"'zip' in {CELLS['zip'].count(None)} rows",
        ),
    ],
)
def test_wrong_calls(frame, given, error, text):
    with pytest.raises(error, match=text):
        frame(CELLS).anon.predict_population(QID, **given)


def test_a_declared_unit_is_as_binding(frame):
    table = frame(CELLS)
    declared = table.anon.declare(quasi=QID, unit="who")
    with pytest.raises(errors.ArgumentError, match="unit= does not go"):
        declared.anon.predict_population(weight="same")


def test_bad_weights_are_refused(frame):
    table = frame({"q": ["a", "b", "c"], "w": [0.5, None, 2.5]})
    with pytest.raises(errors.WeightError, match="missing or infinite in 1 row and below 1 in 1"):
        table.anon.predict_population("q", weight="w")
    with pytest.raises(errors.WeightError, match="not a column of numbers"):
        frame({"q": [1, 2], "w": ["a", "b"]}).anon.predict_population("q", weight="w")


def test_printed_and_stored():
    sizes = ClassSizes([1, 2, 3, 4], [400, 150, 60, 30], qid=["zip", "age"])
    found = sizes.predict_population(2000)
    text = repr(found).replace("\n  ", " ")
    assert text.startswith("Of 2,000 people, ")
    assert "are unique by zip + age: 95%, without a model" in text
    for word in ("bounds", "zayatz", "attacker of dis", "correct matches"):
        assert word in text
    html = found._repr_html_()
    assert html.count("<table>") == 1
    assert ">population uniques</th>" in html
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["unique_fraction"]["high"] == found.unique_fraction.high
    assert stored["estimates"][1]["model"] == "pitman"
    table = found.to_frame()
    assert table["model"].tolist()[0] == "bounds"
    assert table["uniques_high"][0] == found.uniques.high
    assert table.set_index("model")["uniques"]["zayatz"] == found["zayatz"].uniques
    assert found.match_fraction.high == found.matches.high / sizes.n_records
    with pytest.raises(AttributeError):
        found.widened = 3


def test_names_are_escaped_in_html():
    html = ClassSizes([1, 2], [40, 15], qid=["<b>"]).predict_population(100)._repr_html_()
    assert "<b>" not in html
