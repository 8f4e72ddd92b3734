"""Microaggregation: the cheapest groups, of one column and of several."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from steps import CELLS, cells_of, refused

from anonrisk import errors
from anonrisk.measures.recode.quantiles import optimal_groups


def slow_cost(group, cost):
    if cost == "median":
        return sum(abs(x - sorted(group)[(len(group) - 1) // 2]) for x in group)
    return sum((x - sum(group) / len(group)) ** 2 for x in group)


def slow_best(values, k, cost):
    """The least cost over every way to cut, equal values together."""
    different = sorted(set(values))
    best = math.inf
    for cuts in range(2 ** (len(different) - 1)):
        groups, group = [], []
        for i, value in enumerate(different):
            group += [value] * values.count(value)
            if i == len(different) - 1 or cuts >> i & 1:
                groups.append(group)
                group = []
        if all(len(g) >= k for g in groups):
            costs = [slow_cost(g, cost) for g in groups]
            best = min(best, sum(costs))
    return best


@given(
    values=st.lists(st.integers(0, 30), min_size=1, max_size=10),
    k=st.integers(1, 4),
    cost=st.sampled_from(["median", "squared"]),
)
def test_groups_of_least_cost(values, k, cost):
    if k > len(values):
        return
    different, counts = np.unique(values, return_counts=True)
    starts = optimal_groups(different.astype(float), counts, k, cost)
    ends = [*starts[1:], len(different)]
    groups = [
        [v for v in sorted(values) if different[a] <= v <= different[b - 1]]
        for a, b in zip(starts, ends, strict=True)
    ]
    assert all(len(group) >= k for group in groups)
    costs = [slow_cost(group, cost) for group in groups]
    assert sum(costs) == pytest.approx(slow_best(values, k, cost), abs=1e-9)
    if len(different) == len(values):
        assert all(len(group) < 2 * k for group in groups)


def test_microaggregation_of_one_column_and_of_several(frame):
    cells = {
        "who": list(range(7)),
        "age": [10, 12, 30, 31, 33, 30, None],
        "income": [1.0, 2.0, 10.0, 11.5, 12.0, 10.5, 3.0],
        "born": [dt.date(2000, 1, d) for d in (1, 3, 20, 21, 22, 24, 5)],
        "x": [0, 0, 1, 10, 10, 11, 10],
        "y": [0, 1, 0, 10, 11, 10, 12],
    }
    table = frame(cells)
    assert cells_of(table.anon.microaggregate("age", 2), "age") == [11, 11, 30, 32, 32, 30, None]
    income = cells_of(table.anon.microaggregate("income", 3), "income")
    assert income == pytest.approx([2.0, 2.0, 11.0, 11.0, 11.0, 11.0, 2.0])
    born = cells_of(table.anon.microaggregate("born", 3), "born")
    days = [d.date() if isinstance(d, dt.datetime) else d for d in born]
    assert days == [dt.date(2000, 1, d) for d in (3, 3, 22, 22, 22, 22, 3)]
    joint = table.anon.microaggregate(["x", "y"], 3)
    assert joint.anon.k(["x", "y"]) >= 3
    assert len(set(cells_of(joint, "x", "y"))) == 2
    assert cells_of(joint, "x", "y")[0] == (0, 0)


def test_only_joint_microaggregation_is_jointly_anonymous():
    random = np.random.default_rng(1)
    table = pd.DataFrame({"x": random.normal(size=200), "y": random.normal(size=200)})
    apart = table.anon.microaggregate("x", 5).anon.microaggregate("y", 5)
    assert apart.anon.k("x") >= 5
    assert apart.anon.k(["x", "y"]) < 5
    assert table.anon.microaggregate(["x", "y"], 5).anon.k(["x", "y"]) >= 5


def test_mdav_is_bounded(frame, monkeypatch):
    from anonrisk.engines import microaggregate
    from anonrisk.engines.spark import steps

    monkeypatch.setattr(microaggregate, "MAX_MDAV", 3)
    monkeypatch.setattr(steps, "MAX_MDAV", 3)
    with pytest.raises(errors.TooManyRecordsError, match="more than 3 different records"):
        frame({"x": [1, 2, 3, 4], "y": [1, 1, 1, 1]}).anon.microaggregate(["x", "y"], 2)


WRONG = [
    (lambda t: t.anon.microaggregate("zip", 2), errors.UnsupportedColumnError, "numbers"),
    (lambda t: t.anon.microaggregate("who", 9), errors.ArgumentError, "larger than"),
    (lambda t: t.anon.microaggregate(["who", "age"], 2), errors.MissingValuesError, "1 rows"),
]


def test_wrong_calls(frame):
    refused(frame(CELLS), WRONG)
