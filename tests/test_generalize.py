"""Coarser cells: the same labels on every engine."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
from steps import CELLS, TREE, cells_of, refused

import anonrisk
from anonrisk import errors
from anonrisk.recode import (
    Bins,
    DatePart,
    Keep,
    Level,
    MergeRare,
    Prefix,
    Star,
    TopBottom,
    ZipArea,
)


def test_every_recoding_gives_the_same_labels(frame):
    table = frame(CELLS)
    found = table.anon.generalize(
        {
            "age": Bins((0, 30, 40, 90), whole=True),
            "income": Bins((0, 1.25, 2.5)),
            "zip": Prefix(2),
            "born": DatePart("half"),
            "seen": DatePart("month"),
            "illness": Level.of(anonrisk.hierarchy.Hierarchy.of(TREE), 1),
        }
    )
    expected = {
        "age": ["0-29", "30-39", "30-39", "40-89", ">=90", "<0", None, "40-89"],
        "income": ["[0, 1.25)", *["[1.25, 2.5)"] * 2, ">=2.5", ">=2.5", "<0", None, ">=2.5"],
        "zip": ["10**", "10**", "9", "25**", "10***", "", None, "éa**"],
        "born": ["1981-H2", "1969-H2", *["2000-H1"] * 5, None],
        "seen": ["1999-12", *["2020-04"] * 6, None],
        "illness": ["cold", "cold", "heart", "heart", "cold", "cold", None, "heart"],
    }
    for name, labels in expected.items():
        assert cells_of(found, name) == labels, name
    more = table.anon.generalize(
        {
            "zip": ZipArea(("101",)),
            "born": DatePart("year", earliest=1970),
            "seen": DatePart("decade"),
            "age": TopBottom(0, 90),
            "illness": Star(),
            "income": Keep(),
        }
    )
    assert cells_of(more, "zip") == [*["000"] * 4, "101", "000", None, "000"]
    assert cells_of(more, "born") == ["1981", "<1970", *["2000"] * 5, None]
    assert cells_of(more, "seen") == ["1990s", *["2020s"] * 6, None]
    assert cells_of(more, "age") == [23, 30, 39, 40, 90, 0, None, 64]
    assert cells_of(more, "illness") == ["*"] * 8
    assert cells_of(more, "income") == CELLS["income"]
    assert cells_of(table, "age") == CELLS["age"], "the table itself stays as it is"
    width = table.anon.generalize({"zip": Prefix(1, width=4), "born": DatePart("quarter")})
    assert cells_of(width, "zip") == ["1***", "1***", "9***", "2***", "1***", "****", None, "é***"]
    assert cells_of(width, "born") == ["1981-Q4", "1969-Q3", *["2000-Q1"] * 5, None]
    rare = table.anon.generalize(
        {
            "zip": MergeRare(("10***",), "else", prefix=2, width=5),
            "illness": MergeRare(("flu",)),
            "seen": DatePart("day"),
            "born": DatePart("week"),
        }
    )
    codes = [*["10***"] * 2, *["else"] * 2, "10***", "else", None, "else"]
    assert cells_of(rare, "zip") == codes, "a missing value is not among the others"
    ill = [None if x is None else x if x == "flu" else "other" for x in CELLS["illness"]]
    assert cells_of(rare, "illness") == ill
    assert cells_of(rare, "seen") == ["1999-12-31", *["2020-04-01"] * 6, None]
    weeks = [day and "{}-W{:02}".format(*day.isocalendar()[:2]) for day in CELLS["born"]]
    assert cells_of(rare, "born") == weeks


def test_generalize_by_keywords(frame):
    table = frame(CELLS)
    assert cells_of(table.anon.generalize("age", bins=[30, 40]), "age")[:3] == [
        "<30",
        "30-39",
        "30-39",
    ]
    cut = cells_of(table.anon.generalize("age", bins=2), "age")
    assert Counter(cut) in (
        Counter({"<39": 3, ">=39": 4, None: 1}),
        Counter({"<40": 4, ">=40": 3, None: 1}),
    )
    array = table.anon.generalize("age", bins=np.array([30, 40]))
    assert cells_of(array, "age")[:2] == ["<30", "30-39"]
    tree = table.anon.generalize("illness", hierarchies=TREE, level=2)
    assert cells_of(tree, "illness") == ["any"] * 8
    mapped = table.anon.generalize("illness", hierarchies={"illness": TREE}, level=2)
    assert cells_of(mapped, "illness") == ["any"] * 8
    assert cells_of(table.anon.generalize("born", part="year"), "born")[0] == "1981"
    assert cells_of(table.anon.generalize("age", top=60), "age")[3:5] == [40, 60]


def test_whole_edges_of_fractions_are_not_named_as_whole():
    labels = pd.DataFrame({"x": [1.0, 1.5, 2.5]}).anon.generalize("x", bins=[1, 2])["x"]
    assert labels.tolist() == ["[1, 2)", "[1, 2)", ">=2"]


WRONG = [
    (lambda t: t.anon.generalize("age"), errors.ArgumentError, "one way to generalize"),
    (lambda t: t.anon.generalize("age", bins=2, prefix=1), errors.ArgumentError, "one way"),
    (lambda t: t.anon.generalize("aeg", bins=2), errors.ColumnNotFoundError, "'age'"),
    (lambda t: t.anon.generalize("illness", bins=2), errors.UnsupportedColumnError, "text"),
    (lambda t: t.anon.generalize("age", bins=[3, 1]), errors.ArgumentError, "ascending"),
    (lambda t: t.anon.generalize("age", bins=10**30), errors.ArgumentError, "at most 1,000,000"),
    (lambda t: t.anon.generalize("age", bins=["a"]), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("born", part="fortnight"), errors.ArgumentError, "'month'"),
    (lambda t: t.anon.generalize("age", part="year"), errors.UnsupportedColumnError, "whole"),
    (lambda t: t.anon.generalize("zip", prefix=0), errors.ArgumentError, "at least 1"),
    (
        lambda t: t.anon.generalize("illness", hierarchies=TREE),
        errors.ArgumentError,
        "go together",
    ),
    (
        lambda t: t.anon.generalize("illness", hierarchies=TREE, level=3),
        errors.HierarchyError,
        "levels 0 to 2",
    ),
    (lambda t: t.anon.generalize({"age": 3}), errors.ArgumentError, "maps columns"),
    (lambda t: t.anon.generalize("age", top=True), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("age", top="9"), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("age", bottom=math.nan), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("age", bins=[True, 2]), errors.ArgumentError, "finite number"),
]


def test_wrong_calls(frame):
    refused(frame(CELLS), WRONG)
