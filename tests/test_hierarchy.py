"""Hierarchies: trees only, whatever they come from."""

from __future__ import annotations

import pandas as pd
import pytest

from anonrisk import errors
from anonrisk.core.hierarchy import Hierarchy


def test_heights_follow_the_longest_way_down():
    tree = Hierarchy.of({"any": {"a": {"b": ["x"]}, "c": ["y", "z"]}})
    heights = {"/".join(node): height for node, height in tree.heights.items()}
    assert heights == {
        "any": 3,
        "any/a": 2,
        "any/a/b": 1,
        "any/a/b/x": 0,
        "any/c": 1,
        "any/c/y": 0,
        "any/c/z": 0,
    }
    assert tree.height == 3
    assert [len(set(level.values())) for level in tree.levels()] == [3, 2, 2]


def test_a_padded_table_is_the_tree_without_padding():
    rows = [["x", "b", "a", "any"], ["y", "c", "c", "any"], ["z", "c", "c", "any"]]
    tree = Hierarchy.of({"any": {"a": {"b": ["x"]}, "c": ["y", "z"]}})
    assert Hierarchy.of(rows) == tree
    assert Hierarchy.of(pd.DataFrame(rows)) == tree
    assert Hierarchy.of(tree) is tree


def test_one_value_has_no_level():
    assert Hierarchy.of({"x": None}).levels() == []


CYCLE = {}
CYCLE["a"] = CYCLE
DEEP = {"any": {"a": {}}}
DEEP["any"]["a"]["b"] = DEEP["any"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (CYCLE, "not a tree"),
        (DEEP, "not a tree"),
        (pd.DataFrame({0: ["x", "y"], 1: ["a", None], 2: ["any"] * 2}), "missing"),
        ([["x", float("nan"), "any"]], "missing"),
        ([["x", pd.NA, "any"]], "missing"),
        ({"any": {"a": ["x", None]}}, "missing"),
        ({"a": ["x"], "b": ["y"]}, "one value"),
        ([["x", "a"], ["y", "b"]], "one value"),
        ([["x", "a", "any"], ["x", "b", "any"]], "two parents"),
        ([["x", "a", "any"], ["y", "any"]], "same number of levels"),
        ([], "empty"),
        ({"any": {"a": ["x"], "b": ["x"]}}, "two places"),
        ({"any": {"a": "x"}}, "list of values"),
        ("no such file.csv", "cannot read"),
        (3, "nested dict"),
    ],
)
def test_what_is_not_a_tree_is_refused(given, text):
    with pytest.raises(errors.HierarchyError, match=text):
        Hierarchy.of(given)
