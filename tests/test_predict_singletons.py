"""Predictions from a table, on every engine, and from its class sizes alone."""

from __future__ import annotations

import pytest

import anonrisk
from anonrisk import ClassSizes, errors

CELLS = {
    "age": [31, 32, 33, 34, 45, 46, 47, 62, 62, -3],
    "height": [1.51, 1.54, 1.6, 1.61, None, 1.7, 1.75, 1.75, 1.75, -0.2],
    "sex": list("mmffmmffff"),
    "who": list(range(10)),
}


def test_every_engine_predicts_the_same(frame):
    table = frame(CELLS)
    found = table.anon.predict_singletons(["age", "sex"], 4, widths={"age": 10})
    # Decades and sex: [31, 32], [33, 34], [45, 46], [47], [62, 62], [-3].
    expected = ClassSizes([1, 2], [2, 4]).predict_singletons(4)
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    assert found.pmf() == pytest.approx(expected.pmf(), abs=1e-12)
    broken = table.anon.classes("height").predict_singletons(3).mean
    assert anonrisk.predict_singletons(table, "height", 3).mean == pytest.approx(broken)
    by_person = table.anon.predict_singletons(["age", "sex"], 4, unit="who").mean
    assert by_person == pytest.approx(table.anon.predict_singletons(["age", "sex"], 4).mean)


def test_widths_that_cannot_be(frame):
    table = frame(CELLS)
    with pytest.raises(errors.UnsupportedColumnError, match="'sex' does not hold numbers"):
        table.anon.predict_singletons("sex", 4, widths={"sex": 5})
    with pytest.raises(errors.ArgumentError, match="not among the quasi-identifiers"):
        table.anon.predict_singletons("sex", 4, widths={"age": 5})
    with pytest.raises(errors.ColumnNotFoundError, match="did you mean 'age'"):
        table.anon.predict_singletons("age", 4, widths={"agee": 5})
    for width in (0, -1, "x", True):
        with pytest.raises(errors.ArgumentError, match="width of 'age'"):
            table.anon.predict_singletons("age", 4, widths={"age": width})


def test_declared_roles_are_kept_with_widths(frame):
    table = frame(CELLS).anon.declare(quasi=["age", "sex"])
    assert table.anon.predict_singletons(group_size=4, widths={"age": 100}).mean == pytest.approx(
        ClassSizes([1, 4, 5], [1, 1, 1]).predict_singletons(4).mean
    )


def test_which_way_of_drawing():
    counted = ClassSizes([1, 2, 5], [400, 100, 20])
    n = counted.n_records
    assert "without replacement" in counted.predict_singletons(50).drawn
    assert tuple(counted.predict_singletons(n).interval()) == (400, 400)
    assert counted.predict_singletons(n).mean == 400
    larger = counted.predict_singletons(n + 100)
    assert "Good and Toulmin" in larger.drawn
    assert larger.interval().low < larger.mean < larger.interval().high
    assert "law: Normal" in repr(larger)
    with pytest.raises(errors.ApproximationError, match="larger than itself"):
        _ = larger.p_none
    with pytest.raises(errors.ArgumentError, match="predict_population"):
        counted.predict_singletons(2 * n + 1)
    with pytest.warns(errors.ApproximationWarning, match="understates"):
        plain = counted.predict_singletons(60, draw="replacement")
    assert plain.mean < counted.predict_singletons(60).mean
    counted.predict_singletons(7, draw="replacement")


def test_divergence_of_a_table():
    counted = ClassSizes([90, 100, 110], [10, 10, 10])
    found = counted.predict_singletons(20, method="kl")
    assert found.mean == pytest.approx(counted.predict_singletons(20).mean, rel=0.02)
    wider = counted.predict_singletons(20, method="kl", n_values=31)
    assert wider.mean != found.mean
    with pytest.raises(errors.ArgumentError, match="n_values is for"):
        counted.predict_singletons(20, n_values=31)
    with pytest.raises(errors.ArgumentError, match="draw= is for"):
        counted.predict_singletons(20, method="kl", draw="replacement")
    with pytest.raises(errors.ArgumentError, match="did you mean 'exact'"):
        counted.predict_singletons(20, method="exakt")
    with pytest.raises(errors.ArgumentError, match="30 different values occur"):
        counted.predict_singletons(20, method="kl", n_values=3)


def test_bad_questions(frame):
    table = frame(CELLS)
    with pytest.raises(errors.ArgumentError, match="group_size is not given"):
        table.anon.predict_singletons("age")
    with pytest.raises(errors.ArgumentError, match="in several classes"):
        frame({"x": ["a", "b", "a"], "who": [1, 1, 2]}).anon.predict_singletons("x", 2, unit="who")


def test_predictions_print_what_an_officer_reads():
    counted = ClassSizes([1, 2, 5, 40], [300, 200, 60, 20])
    first, *rest = repr(counted.predict_singletons(40)).splitlines()
    assert first.startswith(
        "Predicted singletons in a group of 40: 29.0 expected (72.4%), 22 to 36"
    )
    assert rest == [
        "chance that nobody is one: <0.1%; that everybody is one: 0.1%",
        "drawn without replacement from the table's 1,800 records; law: exact",
    ]
    assert counted.predict_singletons(40)._repr_html_().startswith("<table>")
    plain = counted.predict_singletons(40).to_dict()
    assert (plain["low"], plain["high"]) == (22, 36)
