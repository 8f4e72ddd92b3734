"""Box plots of class sizes: the oracle's quartiles, whiskers as people draw them, no cells."""

from __future__ import annotations

import json

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import ClassSizes, errors
from anonrisk.measures.box_plot import box

CELLS = {
    "zip": ["a", "a", "a", "b", "c", "c", "d", "e", "e", "f", None, "g", "g", "g", "g", "g"],
    "sex": ["f", "m", "f", "f", "m", "m", "m", "f", "f", "m", "f", "m", "m", "m", "m", "m"],
    "town": ["x"] * 7 + ["y"] * 4 + ["z"] * 5,
    "who": [1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 9, 1, 1, 2, 3, 4],
}
ROWS = [dict(zip(CELLS, row, strict=True)) for row in zip(*CELLS.values(), strict=True)]
histograms = st.dictionaries(st.integers(1, 60), st.integers(1, 9), min_size=1, max_size=8)


def slow_box(sizes, whisker):
    """By the definition, from the list of all class sizes."""
    q1, median, q3 = (oracle.quantile(sizes, q) for q in (0.25, 0.5, 0.75))
    reach = float("inf") if whisker is None else whisker * (q3 - q1)
    inside = [size for size in sizes if q1 - reach <= size <= q3 + reach]
    beyond = sorted({size for size in sizes if size not in inside})
    return {
        "sets": len(sizes),
        "min": min(sizes),
        "q1": q1,
        "median": median,
        "q3": q3,
        "max": max(sizes),
        "low": min([q1, *inside]),
        "high": max([q3, *inside]),
        "outliers": tuple((size, sizes.count(size)) for size in beyond),
    }


@given(histograms, st.sampled_from([None, 0, 0.4, 1.5, 3]))
def test_a_box_equals_the_oracle(histogram, whisker):
    sizes = [size for size, classes in histogram.items() for _ in range(classes)]
    found = box(ClassSizes.from_histogram(histogram), whisker)
    assert vars(found) == slow_box(sizes, whisker)
    assert found.min <= found.low <= found.q1 <= found.median <= found.q3 <= found.high <= found.max


@given(histograms)
def test_boxes_are_those_that_are_drawn(histogram):
    cbook = pytest.importorskip("matplotlib.cbook")
    sizes = [size for size, classes in histogram.items() for _ in range(classes)]
    (drawn,) = cbook.boxplot_stats(sizes, whis=1.5)
    found = box(ClassSizes.from_histogram(histogram), 1.5)
    ours = [found.q1, found.median, found.q3, found.low, found.high]
    assert ours == pytest.approx([drawn[name] for name in ("q1", "med", "q3", "whislo", "whishi")])
    assert sum(n for _, n in found.outliers) == len(drawn["fliers"])


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_groups_equal_the_oracle(frame, unit, missing):
    found = anonrisk.box_plot(frame(CELLS), ["zip", "sex"], "town", unit=unit, missing=missing)
    rows = oracle.kept(ROWS, ["zip", "sex"], missing)
    every = oracle.members(rows, ["zip", "sex", "town"], unit)
    assert vars(found.overall) == slow_box([len(people) for people in every.values()], 1.5)
    assert [label for label, _ in found.groups] == ["x", "y", "z"]
    for town, each in found.groups:
        inside = oracle.members([row for row in rows if row["town"] == town], ["zip", "sex"], unit)
        assert vars(each) == slow_box([len(people) for people in inside.values()], 1.5)


def test_boxes_hold_the_numbers_of_summary(frame):
    table = frame(CELLS)
    boxes = anonrisk.box_plot(table, "zip", "town").to_frame().set_index("group")
    rows = table.anon.summary("zip", "town").droplevel("qid")
    names = {"q25": "q1", "q75": "q3"}
    for column in ("sets", "min", "q25", "median", "q75", "max"):
        assert boxes[names.get(column, column)][:-1].tolist() == rows[column].tolist()
    whole = anonrisk.box_plot(table, "zip", whisker=None)
    assert whole.groups == ()
    assert (whole.overall.low, whole.overall.high) == (whole.overall.min, whole.overall.max)


def test_it_prints_and_stores_without_a_cell_that_nobody_asked_for():
    import pandas as pd

    found = anonrisk.box_plot(pd.DataFrame(CELLS), "zip", "town")
    stored = json.dumps(found.to_dict())
    for text in (repr(found), found._repr_html_(), stored):
        assert not {'"a"', '"g"', " a ", " g ", ">a<", ">g<"} & set(text.split())
        assert "overall" in text
    assert json.loads(stored)["groups"][2]["outliers"] == []
    assert "whiskers to the ends" in repr(
        anonrisk.box_plot(pd.DataFrame(CELLS), "zip", whisker=None)
    )


def test_a_group_whose_records_were_all_dropped_has_no_box(frame):
    table = frame({"zip": ["a", "b", None], "town": ["x", "x", "y"]})
    found = anonrisk.box_plot(table, "zip", "town", missing="drop")
    assert [label for label, _ in found.groups] == ["x"]


def test_what_cannot_be_is_refused(frame):
    table = frame(CELLS)
    with pytest.raises(errors.ArgumentError, match="whisker"):
        anonrisk.box_plot(table, "zip", whisker=-1)
    with pytest.raises(errors.ColumnNotFoundError, match="grouping column"):
        anonrisk.box_plot(table, "zip", "towm")
    with pytest.raises(errors.RoleConflictError):
        anonrisk.box_plot(table, "zip", "who", unit="who")
