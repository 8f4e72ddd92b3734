"""Predicted sizes of classes, on every engine; their intervals, and how often these hold."""

from __future__ import annotations

import json

import pytest
import worlds

import anonrisk
from anonrisk import ClassSizes, errors

HEIGHTS = {"height": [1.51, 1.54, 1.6, 1.61, None, 1.7, 1.75, 1.75, 1.75, -0.2]}
COUNTED = ClassSizes([1, 2, 5, 40], [300, 200, 60, 20])


def test_every_engine_predicts_the_same(frame):
    table = frame(HEIGHTS)
    # 1.51 1.54 | 1.6 1.61 | none | 1.7 | 1.75 three times | -0.2 in intervals of a twentieth.
    found = anonrisk.predict_classes(table, "height", 10, widths={"height": 0.05})
    assert found.classes[:3].tolist() == [3, 2, 1]
    with pytest.raises(errors.ArgumentError, match="group_size is not given"):
        table.anon.predict_classes("height")


def of_classes(table, k, sizes):
    found = table.predict_classes(k, upto=max(sizes))
    return [found.interval(j) for j in sizes]


@pytest.mark.slow
def test_intervals_hold_in_some_worlds():
    some, groups, runs = worlds.some("geography", "patients"), (250, 1_500), 60
    cells = list(worlds.coverage(some, groups, runs, of_classes, (2, 3)))
    assert not worlds.too_low(cells, runs)


@pytest.mark.nightly
def test_intervals_hold_in_every_world():
    runs = 300
    cells = list(worlds.coverage(worlds.worlds(), worlds.GROUPS, runs, of_classes, (2, 3)))
    assert not worlds.too_low(cells, runs)
    assert not worlds.too_wide(cells, runs)


@pytest.mark.nightly
def test_intervals_of_larger_classes_hold_up_to_the_size_of_the_table():
    runs, groups = 300, [k for k in worlds.GROUPS if k <= worlds.N]
    cells = list(worlds.coverage(worlds.worlds(), groups, runs, of_classes, (5, 10)))
    assert not worlds.too_low(cells, runs)


def test_what_is_told_of_another_group():
    found = COUNTED.predict_classes(40, upto=3)
    assert found.interval(1) == COUNTED.predict_singletons(40).interval()
    low, high = found.interval(2)
    assert low < found.classes[1] < high
    assert found.interval(2, 0.5).high < high
    told = found.to_frame()
    assert (told["low"] <= told["share"]).all()
    assert told["high"][1] == 2 * high / 40
    assert json.loads(json.dumps(found.to_dict()))["share_interval"][1] == [
        2 * low / 40,
        2 * high / 40,
    ]
    assert "95% interval" in repr(found)
    assert found._repr_html_().count("<table>") == 1
    assert COUNTED.predict_classes(40).share.sum() == pytest.approx(1, abs=1e-6)
    with pytest.raises(errors.ArgumentError, match="1 to 3"):
        found.interval(4)
    with pytest.raises(errors.ArgumentError, match="level"):
        found.interval(1, 2)


def test_one_person_and_two():
    one = ClassSizes([1, 2], [5, 3]).predict_classes(1, upto=2)
    assert one.share.tolist() == [1, 0]
    assert [tuple(one.interval(j)) for j in (1, 2)] == [(1, 1), (0, 0)]


def test_beyond_the_table_large_classes_are_told_together():
    found = COUNTED.predict_classes(COUNTED.n_records + 1)
    assert found.sizes.tolist() == [1, 2, 3]
    assert "classes of more than 3" in found.drawn
    assert found.classes[0] == pytest.approx(300, rel=0.01)
    assert COUNTED.predict_classes(COUNTED.n_records).sizes[-1] == 10


@pytest.mark.parametrize("draw", ["subgroup", "replacement"])
def test_other_draws_tell_no_interval(draw):
    found = COUNTED.predict_classes(10, upto=2, draw=draw)
    assert "interval" not in repr(found)
    assert found.to_frame()["low"].isna().all()
    assert found.to_dict()["share_interval"] == [None, None]
    with pytest.raises(errors.ApproximationError, match="draw='auto'"):
        found.interval(1)
