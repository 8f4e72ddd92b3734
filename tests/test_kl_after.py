"""The distance from uniform as values are put together, against recoding the rows by hand."""

from __future__ import annotations

import json
import math

import oracle
import pytest

import anonrisk
from anonrisk import errors
from anonrisk.hierarchy import Hierarchy
from anonrisk.recode import Level, Prefix

AGES = [0, 1, 1, 2, 2, 2, 3, 5, 8, 8, 8, 8, 13, 21, 21, 34, 34, 34, 55, 89]
CELLS = {
    "age": AGES,
    "zip": ["10a", "10b", "11a", "20a", "20a"] * 4,
    "who": [number // 2 for number in range(20)],
}
TREE = {"any": {"city": ["10a", "10b", "11a"], "land": ["20a"]}}


def distance(values, n_values=None):
    """ln N − H, and the number of values that occur."""
    rows = [{"x": value} for value in values]
    occur = len(set(values))
    nats = oracle.entropy(rows, ["x"]) * math.log(2)
    return math.log(n_values or occur) - nats, occur


@pytest.mark.parametrize("domain", [None, [95, 48, 19]])
def test_ages_put_together_as_in_figure_4_4(frame, domain):
    found = anonrisk.kl_after(frame(CELLS), "age", [{"age": 2}, {"age": 5}], n_values=domain)
    for i, width in enumerate((1, 2, 5)):
        step = found.steps[i]
        kl, occur = distance([age // width for age in AGES], domain and domain[i])
        assert step.kl == pytest.approx(kl, abs=1e-12)
        assert (step.n_classes, step.n_values) == (occur, domain[i] if domain else occur)
        assert step.bias == (occur - 1) / 40
    assert [step.step for step in found.steps] == [
        *("as it is", "age: intervals of 2", "age: intervals of 5")
    ]


def test_codes_hierarchies_and_several_columns(frame):
    tree = Hierarchy.of(TREE)
    steps = [
        {"zip": Prefix(2)},
        {"zip": Level.of(tree, 1)},
        {"zip": Level.of(tree, 2)},
        {"zip": Prefix(1), "age": 10},
    ]
    found = anonrisk.kl_after(frame(CELLS), ["zip", "age"], steps)
    node = {"10a": "city", "10b": "city", "11a": "city", "20a": "land"}
    pairs = list(zip(CELLS["zip"], AGES, strict=True))
    by_hand = [
        pairs,
        [(code[:2], age) for code, age in pairs],
        [(node[code], age) for code, age in pairs],
        [("any", age) for code, age in pairs],
        [(code[:1], age // 10) for code, age in pairs],
    ]
    for step, values in zip(found.steps, by_hand, strict=True):
        kl, occur = distance(values)
        assert (step.kl, step.n_classes) == (pytest.approx(kl, abs=1e-12), occur)


def test_persons_count_once_in_a_class(frame):
    found = anonrisk.kl_after(frame(CELLS), "age", [{"age": 5}], unit="who")
    pairs = {(who, age // 5) for who, age in zip(CELLS["who"], AGES, strict=True)}
    assert found.steps[1].kl == pytest.approx(distance([age for _, age in pairs])[0], abs=1e-12)


def test_a_uniform_table_stays_uniform(frame):
    found = anonrisk.kl_after(frame({"age": list(range(60))}), "age", [{"age": 2}, {"age": 10}])
    assert [step.kl for step in found.steps] == pytest.approx([0, 0, 0], abs=1e-12)


def test_it_prints_and_stores():
    import pandas as pd

    found = anonrisk.kl_after(pd.DataFrame(CELLS), "age", [{"age": 5}])
    assert "age: intervals of 5" in repr(found)
    assert "intervals of 5" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["steps"][1]["n_classes"] == 7
    assert found.to_frame()["kl"].tolist() == [step.kl for step in found.steps]


def test_what_cannot_be_is_refused(frame):
    table = frame(CELLS)
    with pytest.raises(errors.ColumnNotFoundError, match="column of a step"):
        anonrisk.kl_after(table, "age", [{"agee": 5}])
    with pytest.raises(errors.ArgumentError, match="not in the quasi-identifier"):
        anonrisk.kl_after(table, "age", [{"zip": Prefix(2)}])
    with pytest.raises(errors.ArgumentError, match="needs 2 numbers"):
        anonrisk.kl_after(table, "age", [{"age": 5}], n_values=[95])
    with pytest.raises(errors.ArgumentError, match="n_values is 3"):
        anonrisk.kl_after(table, "age", n_values=[3])
    with pytest.raises(errors.ArgumentError, match="width of 'age'"):
        anonrisk.kl_after(table, "age", [{"age": -1}])
    for steps in ({"age": 5}, [5], "age"):
        with pytest.raises(errors.ArgumentError, match="steps must be a list"):
            anonrisk.kl_after(table, "age", steps)
