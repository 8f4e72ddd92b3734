"""Edges of bins: inside the range, easy to name, about where they were meant to be."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk.measures.recode import recoding
from anonrisk.measures.recode.edges import (
    nice_step,
    optimal_bins,
    quantile_bins,
    width_bins,
    widths,
)

numbers = st.lists(st.integers(-500, 5_000), min_size=2, max_size=60).filter(
    lambda x: len(set(x)) > 1
)


@given(numbers=numbers, n_bins=st.integers(2, 12), tenths=st.booleans())
def test_edges_are_inside_and_the_pandas_engine_finds_the_same(numbers, n_bins, tenths):
    column = np.array(numbers) / (10 if tenths else 1)
    values, counts = np.unique(column, return_counts=True)
    whole = bool(np.all(values == np.floor(values)))
    bins = quantile_bins(values, counts, n_bins, whole=whole)
    assert len(bins.edges) < n_bins
    assert all(values[0] < edge <= values[-1] for edge in bins.edges)
    frame = pd.DataFrame({"x": column if tenths else np.array(numbers)})
    cut = frame.anon.generalize("x", bins=n_bins)["x"]
    assert set(cut) <= set(bins.labels)
    assert cut.tolist() == [bins.labels[i] for i in bins.places(column)]
    best = optimal_bins(values, counts, n_bins, whole=whole)
    assert all(values[0] < edge <= values[-1] for edge in best.edges)
    inside = np.bincount(best.places(column), minlength=len(best.edges) + 1)
    assert len(best.edges) < n_bins or min(inside) >= len(column) // n_bins


@given(numbers=numbers, k=st.integers(1, 5))
def test_outer_bins_hold_k_records(numbers, k):
    values, counts = np.unique(numbers, return_counts=True)
    for width in widths(values, whole=True, most=40):
        bins = width_bins(values, counts, width, k, whole=True)
        if bins is not None:
            inside = np.bincount(bins.places(np.array(numbers)), minlength=len(bins.edges) + 1)
            assert inside[0] >= k
            assert inside[-1] >= k
            assert all(edge % width == 0 for edge in bins.edges)


@given(numbers=numbers, edges=st.sets(st.integers(-500, 5_000), min_size=1, max_size=6))
def test_labels_can_be_read_back(numbers, edges):
    names = recoding.of_bins(sorted(edges), whole=True)
    places = np.searchsorted(sorted(edges), numbers, side="right")
    for number, place in zip(numbers, places, strict=True):
        low, high = recoding.extent(names[place], dates=False, whole=True)
        assert low <= number <= high


def test_even_bins_hold_about_as_many():
    column = np.random.default_rng(1).lognormal(10, 1, 20_000)
    cut = pd.DataFrame({"x": column}).anon.generalize("x", bins=25)["x"].value_counts()
    assert len(cut) == 25
    assert cut.max() < 2 * 20_000 / 25
    assert cut.min() > 20_000 / 25 / 2


@pytest.mark.parametrize(("most", "step"), [(1, 1), (0.99, 0.5), (4.9, 2), (5, 5), (0.2, 0.2)])
def test_steps_that_people_use(most, step):
    assert nice_step(most) == step


def test_labels_at_the_ends_of_the_calendar():
    first, last = (recoding.extent(name, dates=True, whole=False) for name in ("0000s", "9990s"))
    assert first[0] == (dt.date(1, 1, 1) - dt.date(1970, 1, 1)).days
    assert last[1] == (dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days
    assert recoding.extent("2020-13", dates=True, whole=False) is None
    days = [dt.date(1, 1, 1), dt.date(1981, 7, 1), dt.date(1985, 8, 1)] * 4
    made = pd.DataFrame({"born": days}).anon.explore("born")
    assert "decade" in [level["label"] for level in made.to_dict()["columns"][0]["levels"]]
