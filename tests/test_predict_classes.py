"""Predicted sizes of classes, from a table on every engine and from its class sizes alone."""

from __future__ import annotations

import pytest

import anonrisk
from anonrisk import ClassSizes, errors

HEIGHTS = {"height": [1.51, 1.54, 1.6, 1.61, None, 1.7, 1.75, 1.75, 1.75, -0.2]}


def test_every_engine_predicts_the_same(frame):
    table = frame(HEIGHTS)
    # 1.51 1.54 | 1.6 1.61 | none | 1.7 | 1.75 three times | -0.2 in intervals of a twentieth.
    found = anonrisk.predict_classes(table, "height", 10, widths={"height": 0.05})
    assert found.classes[:3].tolist() == [3, 2, 1]
    with pytest.raises(errors.ArgumentError, match="group_size is not given"):
        table.anon.predict_classes("height")


def test_one_person_more_than_the_table():
    counted = ClassSizes([1, 2, 5], [400, 100, 20])
    more = counted.predict_classes(counted.n_records + 1, upto=2)
    assert more.classes[0] == pytest.approx(400, rel=0.01)


def test_it_prints_and_adds_up():
    found = ClassSizes([1, 2, 5, 40], [300, 200, 60, 20]).predict_classes(40)
    assert found._repr_html_().startswith("<table>")
    assert found.to_frame()["share"].sum() == pytest.approx(1, abs=1e-6)
