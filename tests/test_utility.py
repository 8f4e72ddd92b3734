"""Utility against slow definitions over aligned records, and the identities of the formulas."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk import errors
from anonrisk.measures.recode.recoding import of_remainder
from anonrisk.recode import Bins, Level, Prefix, Star

TREE = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}
CELLS = {
    "who": list(range(8)),
    "age": [21, 25, 33, 38, 38, 52, 57, None],
    "zip": ["101", "101", "102", "111", "111", "201", "201", "202"],
    "ill": ["flu", "flu", "cough", "stroke", "angina", "flu", "stroke", "stroke"],
    "rich": ["y", "n", "n", "y", "y", "y", "n", "n"],
}
QIDS = ["age", "zip", "ill"]


def entropy(counts):
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts if c)


def slow(original, changed, qids, sensitive):
    """T9 to T12 record by record; a record that is gone stands for everything."""
    n, r = len(original), len(qids)
    found = defaultdict(float)
    for name in qids:
        old = original[name].astype(object).fillna("missing").tolist()
        new = changed[name].astype(object).fillna("missing")
        rows = {label: set() for label in new}
        for i, label in new.items():
            rows[label].add(old[i])
        counts = Counter(old)
        labels = sorted(original[sensitive])
        for i, x in enumerate(old):
            kept = i in changed.index
            label = new.get(i)
            values = rows[label] if kept and label not in ("*", "any") else set(old)
            inside = [counts[v] for v in values]
            share = sum(inside) / n
            found["monotone_entropy"] += share * entropy(inside)
            given = counts[x] / n / share
            found["mutual_information"] += math.log2(given / (counts[x] / n)) / (n * r)
            found["information_loss"] -= math.log2(given) / (n * r)
            if kept:
                y = original[sensitive][i]
                same = [s for v, s in zip(old, original[sensitive], strict=True) if v in values]
                ratio = same.count(y) / len(same) / (labels.count(y) / n)
                found["private_mutual_information"] += math.log2(ratio) / (n * r)
    return dict(found)


def test_measures_against_their_definitions(frame):
    table = frame(CELLS)
    recodings = {"age": Bins((30, 40), whole=True), "zip": Prefix(1), "ill": Star("any")}
    coarse = table.anon.generalize(recodings)
    found = coarse.anon.utility(QIDS, "rich", original=table, hierarchies={"ill": TREE})
    original = pd.DataFrame(CELLS)
    expected = slow(original, original.anon.generalize(recodings), QIDS, "rich")
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-12), name
    # age: <30 covers 21-29, 30-39, >=40 covers 40-57; the missing value stays itself.
    ages = (2 * 8 + 3 * 9 + 2 * 17) / 36 / 8
    zips = (5 * 2 + 3 * 1) / 4 / 8
    assert found.loss_metric == pytest.approx((ages + zips + 1) / 3)
    classes = Counter(zip(*(coarse_cells(recodings, name) for name in QIDS), strict=True))
    assert found.discernibility == sum(n * n for n in classes.values())
    assert found.average_class_size == 8 / len(classes)
    right = Counter(
        zip(*(coarse_cells(recodings, name) for name in QIDS), CELLS["rich"], strict=True)
    )
    best = defaultdict(int)
    for (*key, _), n in right.items():
        best[tuple(key)] = max(best[tuple(key)], n)
    assert found.classification_metric == pytest.approx(1 - sum(best.values()) / 8)
    assert found.moved[0].values_after == 4
    assert found.moved[2].suppressed == 1
    unchanged = table.anon.utility(QIDS, "rich", original=table)
    assert unchanged.loss_metric == 0
    assert unchanged.information_loss == pytest.approx(0, abs=1e-12)
    assert [m.total_variation for m in unchanged.moved] == [0, 0, 0]


def coarse_cells(recodings, name):
    return pd.DataFrame(CELLS).anon.generalize(recodings)[name].fillna("-").tolist()


@pytest.mark.slow
@given(
    ages=st.lists(st.integers(0, 50), min_size=2, max_size=20),
    cuts=st.sets(st.integers(1, 50), min_size=1, max_size=4),
    lost=st.integers(0, 3),
)
def test_identities(ages, cuts, lost):
    table = pd.DataFrame({"age": ages})
    coarse = table.anon.generalize("age", bins=sorted(map(float, cuts)))
    kept = coarse.iloc[: max(len(ages) - lost, 0)]
    found = kept.anon.utility("age", original=table)
    whole = entropy(Counter(ages).values())
    assert found.mutual_information + found.information_loss == pytest.approx(whole)
    assert found.n_suppressed == len(ages) - len(kept)
    # Under a partition the information kept is the entropy of the coarse column.
    full = coarse.anon.utility("age", original=table)
    assert full.mutual_information == pytest.approx(
        entropy(coarse["age"].value_counts().tolist()), abs=1e-9
    )
    coarser = table.anon.generalize("age", bins=[float(max(cuts))]).anon.utility(
        "age", original=table
    )
    assert coarser.monotone_entropy >= full.monotone_entropy - 1e-9
    assert coarser.loss_metric >= full.loss_metric - 1e-9
    assert coarser.mutual_information <= full.mutual_information + 1e-9
    starred = table.anon.generalize({"age": Star()}).anon.utility("age", original=table)
    assert starred.loss_metric == 1
    assert starred.mutual_information == 0


def test_suppressed_cells_and_records_cost_one(frame):
    cells = {
        "who": list(range(6)),
        "zip": ["a", "a", "b", "b", "c", "d"],
        "age": [1, 1, 2, 2, 3, 4],
    }
    table = frame(cells)
    marked = table.anon.suppress(["zip", "age"], 2, cells=True)
    assert marked.anon.utility(["zip", "age"], original=table).loss_metric == pytest.approx(2 / 6)
    gone = table.anon.suppress(["zip", "age"], 2)
    found = gone.anon.utility(["zip", "age"], original=table)
    assert found.loss_metric == pytest.approx(2 / 6)
    assert found.n_suppressed == 2
    assert found.discernibility == 4 + 4 + 2 * 6
    with pytest.raises(errors.ArgumentError, match="was not made from it"):
        table.anon.utility(["zip", "age"], original=gone)


def test_a_level_of_a_hierarchy_costs_its_leaves():
    from anonrisk.core.hierarchy import Hierarchy

    table = pd.DataFrame(CELLS)
    coarse = table.anon.generalize({"ill": Level.of(Hierarchy.of(TREE), 1)})
    found = coarse.anon.utility("ill", original=table, hierarchies={"ill": TREE})
    assert found.loss_metric == pytest.approx(1 / 3)
    untold = coarse.anon.utility("ill", original=table)
    assert untold.loss_metric is None
    assert untold.untold == ("ill",)
    assert "not counted: 'ill'" in repr(untold)


LONG = "disorders of the heart and of the vessels around it, " * 2


@pytest.mark.parametrize(
    ("label", "part", "tree"),
    [
        ("rest of *", "*", None), ("rest of *", "*", TREE), ("rest of cold", "cold", TREE),
        ("rest of st**", "st**", None),
        ("rest of other than top 1", "other than top 1", None),
        (of_remainder(LONG), LONG, {"any": {"cold": ["flu", "cough"], LONG: ["stroke", "angina"]}}),
    ],
)  # fmt: skip
def test_the_rest_of_a_part_is_read_as_the_part(label, part, tree):
    table = pd.DataFrame(CELLS)
    trees = None if tree is None else {"ill": tree}
    whole, rest = (
        table.assign(ill=[told, *table["ill"][1:]]).anon.utility(
            "ill", original=table, hierarchies=trees
        )
        for told in (part, label)
    )
    assert whole.loss_metric is not None
    assert rest == whole


def test_a_node_that_is_called_the_rest_is_what_it_says():
    table = pd.DataFrame({"place": ["Delft", "Paris", "Lima", "Lima"]})
    tree = {"any": {"home": ["Delft"], "rest of home": ["Paris", "Lima"]}}
    coarse = table.assign(place=["home", *["rest of home"] * 3])
    used = coarse.anon.utility("place", original=table, hierarchies={"place": tree})
    assert used.loss_metric == pytest.approx(3 / 4 * 1 / 2)


def test_numbers_that_name_no_values_are_told_apart():
    random = np.random.default_rng(1)
    table = pd.DataFrame({"income": random.normal(100, 10, 50)})
    found = table.anon.microaggregate("income", 5).anon.utility("income", original=table)
    assert found.loss_metric is None
    assert found.moved[0].mean_after == pytest.approx(found.moved[0].mean_before)
    assert "<table>" in found._repr_html_()
    assert found.to_frame().index[0] == "loss_metric"
    assert found.to_dict()["n_records"] == 50
