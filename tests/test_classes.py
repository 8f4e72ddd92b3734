"""ClassSizes and the arithmetic on it, against the oracle and published values."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import oracle
import pytest
from histograms import histograms, rows_with
from hypothesis import given

from anonrisk import ClassSizes, errors


@given(histograms)
def test_counts_and_divergence_equal_the_oracle(histogram):
    sizes, rows = ClassSizes.from_histogram(histogram), rows_with(histogram)
    assert sizes.n_records == sizes.n_rows == sizes.n_memberships == len(rows)
    expanded = [size for size, classes in histogram.items() for _ in range(classes)]
    assert sizes.n_classes == len(expanded)
    assert sizes.mean == pytest.approx(np.mean(expanded), rel=1e-12)
    assert sizes.max == max(expanded)
    for q in (0, 0.25, 0.5, 0.9, 1):
        assert sizes.quantile(q) == pytest.approx(oracle.quantile(expanded, q), rel=1e-12)
        assert sizes.quantile(q) == pytest.approx(np.quantile(expanded, q), rel=1e-12)
    for limit in (1, 2, 5, 100):
        assert sizes.records_below(limit) == sum(size for size in expanded if size < limit)
        assert sizes.records_at_most(limit) == sum(size for size in expanded if size <= limit)
    nats = oracle.entropy(rows, ["x"]) * math.log(2)
    assert sizes.kl() == pytest.approx(math.log(len(expanded)) - nats, abs=1e-12)
    assert sizes.kl(1000) == pytest.approx(math.log(1000) - nats, rel=1e-12)


def test_extremes():
    alike, unique, one = ClassSizes([7], [1]), ClassSizes([1], [7]), ClassSizes([1], [1])
    assert (alike.degree, unique.degree, one.degree) == (1, 0, 0)
    assert (alike.entropy(), one.entropy()) == (0, 0)
    assert (alike.kl(), unique.kl()) == (0, 0)
    assert (alike.anvc, unique.rr) == (1, 1)


def test_kl_says_what_it_is_against():
    sizes = ClassSizes([1, 3], [1, 1])
    assert "2 classes that occur" in repr(sizes.kl())
    assert "8 values given" in repr(sizes.kl(8))
    assert sizes.kl(8) - sizes.kl() == pytest.approx(math.log(4))
    with pytest.raises(errors.ArgumentError, match="n_values is 1 but 2 different values occur"):
        sizes.kl(1)


def test_results_survive_a_pickle():
    sizes = ClassSizes([1, 3], [1, 1], qid=["x"])
    again = pickle.loads(pickle.dumps(sizes))
    assert again == sizes
    assert hash(again) == hash(sizes)
    rr, kl = pickle.loads(pickle.dumps((sizes.rr, sizes.kl(9))))
    assert (rr, rr.classes_per_record) == (sizes.rr, sizes.rr.classes_per_record)
    assert (kl, kl.n_values, kl.domain_given) == (sizes.kl(9), 9, True)


def test_it_is_frozen():
    sizes = ClassSizes([1, 3], [1, 1])
    with pytest.raises(AttributeError):
        sizes.sizes = np.array([2])
    with pytest.raises(AttributeError):
        sizes.size = np.array([2])
    with pytest.raises(ValueError, match="read-only"):
        sizes.sizes[0] = 2
    frame = sizes.to_frame()
    frame.loc[0, "size"] = 99
    assert sizes.k == 1


def test_it_does_not_merge():
    a, b = ClassSizes([1], [1]), ClassSizes([1], [1])
    with pytest.raises(TypeError):
        a + b
    assert not any(hasattr(a, name) for name in ("merge", "union", "add", "combine", "__add__"))


def test_equality_looks_at_everything():
    base = ClassSizes([1, 3], [1, 1], qid=["x"])
    assert base == ClassSizes([1, 3], [1, 1], qid=["x"])
    assert base != ClassSizes([1, 3], [1, 1], qid=["y"])
    assert base != ClassSizes([1, 3], [2, 1], qid=["x"])
    assert base != ClassSizes([1, 3], [1, 1], qid=["x"], missing="drop", n_dropped=1)
    assert base != "x"


def test_to_dict_is_json_and_to_frame_a_table():
    sizes = ClassSizes([1, 3], [2, 1], qid=["x"])
    assert json.loads(json.dumps(sizes.to_dict()))["sizes"] == [1, 3]
    assert sizes.to_frame().to_dict("list") == {
        "size": [1, 3],
        "classes": [2, 1],
        "records": [2, 3],
    }


def test_it_prints_units_and_dropped_rows():
    sizes = ClassSizes(
        [1, 3], [1, 1], [1, 2], qid=["zip"], unit="who", missing="drop", n_rows=9, n_dropped=2
    )
    text = repr(sizes)
    assert "3 persons in 2 classes, k = 1" in text
    assert "9 rows; a person (who) counts" in text
    assert "2 rows with a missing quasi-identifier left out" in text


def test_it_prints_in_bands_and_never_hides_small_risks():
    sizes = ClassSizes([1, 7, 123_456], [1, 2, 50], qid=["x"])
    assert "<0.1%" in repr(sizes)
    assert "100,000-123,456" in repr(sizes)
    assert len(repr(ClassSizes(range(1, 5000), [1] * 4999)).splitlines()) < 16


def test_html_is_escaped():
    html = ClassSizes([1], [1], qid=["<script>"])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<table>") == 1


@pytest.mark.parametrize(
    ("sizes", "classes"),
    [
        ([0], [1]),
        ([2, 1], [1, 1]),
        ([1, 1], [1, 1]),
        ([1], [0]),
        ([1], [-1]),
        ([1.5], [1]),
        ([1], [1, 2]),
        ("1", [1]),
        ([[1]], [[1]]),
        ([True], [1]),
    ],
)
def test_impossible_histograms_are_refused(sizes, classes):
    with pytest.raises(errors.ArgumentError):
        ClassSizes(sizes, classes)


def test_more_records_than_places_are_refused():
    with pytest.raises(errors.ArgumentError, match="more records than its classes hold"):
        ClassSizes([2], [1], [3])


def test_an_empty_histogram_is_an_empty_table():
    with pytest.raises(errors.EmptyTableError, match="no records"):
        ClassSizes([], [])


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan])
def test_quantiles_outside_are_refused(q):
    with pytest.raises(errors.ArgumentError):
        ClassSizes([1], [1]).quantile(q)
    with pytest.raises(errors.ArgumentError):
        ClassSizes([1], [1]).entropy(quantile=q)


@pytest.mark.parametrize("n_values", [math.nan, math.inf, 2.5, "a", True])
def test_domains_that_are_no_whole_numbers(n_values):
    with pytest.raises(errors.ArgumentError, match="whole number"):
        ClassSizes([1], [1]).kl(n_values)


def test_more_records_than_can_be_counted():
    with pytest.raises(errors.ArgumentError, match="that many records"):
        ClassSizes([2**40], [2**40])


def test_copies_are_frozen_too():
    import copy

    for again in (
        copy.deepcopy(ClassSizes([1], [1])),
        pickle.loads(pickle.dumps(ClassSizes([1], [1]))),
    ):
        with pytest.raises(ValueError, match="read-only"):
            again.sizes[0] = 2


def test_any_label_serialises():
    import pandas as pd

    sizes = ClassSizes([1], [1], qid=[pd.Timestamp("2020-01-01"), 3, "x"])
    assert json.loads(json.dumps(sizes.to_dict()))["qid"] == ["2020-01-01 00:00:00", 3, "x"]
