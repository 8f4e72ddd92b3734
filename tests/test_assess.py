"""Many measures together: the same as one at a time, in fewer passes."""

from __future__ import annotations

import json

import pytest
import tables
from sensitive import CELLS, TREE

from anonrisk import errors


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("how", [{}, {"missing": "drop", "missing_sensitive": "drop"}])
def test_assess_equals_one_at_a_time(frame, unit, how):
    table = frame(CELLS)
    found = table.anon.assess("zip", ["ill", "cost"], c=2, unit=unit, **how)
    # Each measure is tested on every engine in its own file: here pandas says what to expect.
    if not frame.is_pandas:
        table = tables.pandas_table("pandas", CELLS)
    how = {"unit": unit, **how}
    plain = {key: value for key, value in how.items() if key != "missing_sensitive"}
    assert found["k"] == table.anon.k("zip", **plain)
    assert found["uniqueness"] == table.anon.uniqueness("zip", **plain)
    assert found["average_risk"] == table.anon.risk("zip", **plain).prosecutor.average
    for column in ("ill", "cost"):
        for name, expected in {
            "ldiv": table.anon.ldiv("zip", column, **how),
            "entropy_ldiv": table.anon.ldiv("zip", column, "entropy", **how),
            "recursive_ldiv": table.anon.ldiv("zip", column, "recursive", c=2, **how),
            "tcloseness": table.anon.tcloseness("zip", column, **how),
            "alpha": table.anon.alpha("zip", column, **how),
            "beta_likeness": table.anon.beta_likeness("zip", column, **how),
            "enhanced_beta_likeness": table.anon.beta_likeness("zip", column, "enhanced", **how),
            "delta_disclosure": table.anon.delta_disclosure("zip", column, **how),
        }.items():
            assert found.of(name, column) == pytest.approx(expected, rel=1e-11), name
    assert found["tcloseness"] == max(found.of("tcloseness", c) for c in ("ill", "cost"))
    assert found["ldiv"] == min(found.of("ldiv", c) for c in ("ill", "cost"))


def test_a_hierarchical_distance_beside_others(frame):
    table = frame(CELLS)
    found = table.anon.assess(
        "zip", "ill", ["ldiv", "tcloseness"], hierarchies=TREE, missing_sensitive="drop"
    )
    assert found["tcloseness"].distance == "hierarchical"
    assert found["ldiv"] == table.anon.ldiv("zip", "ill", missing_sensitive="drop")


def test_sizes_alone_need_no_sensitive_column(frame):
    found = frame(CELLS).anon.assess("zip", measures=["k", "uniqueness"])
    assert found["k"] == found.sizes.k == 2
    assert set(found.values) == {("k", None), ("uniqueness", None)}


def test_an_assessment_prints_and_serialises(frame):
    found = frame(CELLS).anon.assess("zip", "ill")
    assert "tcloseness" in repr(found)
    assert found._repr_html_().count("<table>") == 1
    stored = json.loads(json.dumps(found.to_dict()))
    assert {"measure": "k", "sensitive": None, "value": 2} in stored["measures"]
    assert found.to_frame()["measure"].tolist() == [m["measure"] for m in stored["measures"]]
    assert not any(word in json.dumps(stored) for word in ("flu", "hiv", "cold"))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"measures": ["ldv"]}, "mean 'ldiv'"),
        ({"measures": []}, "empty"),
        ({"measures": ["recursive_ldiv"]}, "c must be"),
        ({"measures": ["k"], "c": 2}, "c= belongs"),
        ({"measures": ["k"]}, "sensitive= and missing_sensitive= have no effect without"),
        ({"measures": ["ldiv"], "distance": "equal"}, "distance= has no effect without"),
        ({"measures": ["ldiv"], "order": ["flu"]}, "order= has no effect without"),
        ({"measures": ["alpha"], "hierarchies": TREE}, "hierarchies= has no effect without"),
        ({"measures": ["ldiv"], "distance": "equl"}, "mean 'equal'"),
    ],
)
def test_wrong_calls(frame, given, text):
    with pytest.raises(errors.ArgumentError, match=text):
        frame(CELLS).anon.assess("zip", "ill", **given)


def test_what_was_not_measured_is_an_error(frame):
    found = frame(CELLS).anon.assess("zip", "ill", ["ldiv"])
    with pytest.raises(errors.ArgumentError, match="'tcloseness' was not measured"):
        found["tcloseness"]
    with pytest.raises(errors.ArgumentError, match="of 'cost' was not measured"):
        found.of("ldiv", "cost")
