"""What all steps have in common: the types they keep, and wrong calls."""

from __future__ import annotations

import datetime as dt
import math
from contextlib import suppress
from decimal import Decimal

import pandas as pd
import pytest
from steps import CELLS, TREE, cells_of

from anonrisk import errors

WRONG = [
    (lambda t: t.anon.generalize("age"), errors.ArgumentError, "one way to generalize"),
    (lambda t: t.anon.generalize("age", bins=2, prefix=1), errors.ArgumentError, "one way"),
    (lambda t: t.anon.generalize("aeg", bins=2), errors.ColumnNotFoundError, "'age'"),
    (lambda t: t.anon.generalize("illness", bins=2), errors.UnsupportedColumnError, "text"),
    (lambda t: t.anon.generalize("age", bins=[3, 1]), errors.ArgumentError, "ascending"),
    (lambda t: t.anon.generalize("age", bins=["a"]), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("born", part="week"), errors.ArgumentError, "'month'"),
    (lambda t: t.anon.generalize("age", part="year"), errors.UnsupportedColumnError, "whole"),
    (lambda t: t.anon.generalize("zip", prefix=0), errors.ArgumentError, "at least 1"),
    (
        lambda t: t.anon.generalize("illness", hierarchy=TREE),
        errors.ArgumentError,
        "go together",
    ),
    (
        lambda t: t.anon.generalize("illness", hierarchy=TREE, level=3),
        errors.HierarchyError,
        "levels 0 to 2",
    ),
    (lambda t: t.anon.generalize({"age": 3}), errors.ArgumentError, "maps columns"),
    (lambda t: t.anon.suppress("age", 0), errors.ArgumentError, "at least 1"),
    (lambda t: t.anon.suppress("income", 2, cells=True), errors.ArgumentError, "fraction"),
    (lambda t: t.anon.suppress("zip", cells=True, suppressed=1), errors.ArgumentError, "text"),
    (lambda t: t.anon.suppress("age", cells=True, suppressed=[]), errors.ArgumentError, "text"),
    (lambda t: t.anon.suppress("age", 9, cells=True), errors.ArgumentError, "larger than"),
    (lambda t: t.anon.microaggregate("zip", 2), errors.UnsupportedColumnError, "numbers"),
    (lambda t: t.anon.microaggregate("who", 9), errors.ArgumentError, "larger than"),
    (lambda t: t.anon.microaggregate(["who", "age"], 2), errors.MissingValuesError, "1 rows"),
    (lambda t: t.anon.perturb("zip", 1, seed=1), errors.UnsupportedColumnError, "noise is for"),
    (lambda t: t.anon.perturb("who", 0.1, seed=1), errors.ArgumentError, "would leave 100.0%"),
    (lambda t: t.anon.perturb("born", 0.1, seed=1), errors.ArgumentError, "too small"),
    (lambda t: t.anon.generalize("age", top=True), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("age", top="9"), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("age", bottom=math.nan), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.generalize("age", bins=[True, 2]), errors.ArgumentError, "finite number"),
    (lambda t: t.anon.perturb("age", 0, seed=1), errors.ArgumentError, "above 0"),
    (lambda t: t.anon.perturb("age", 1, seed=1, law="nrmal"), errors.ArgumentError, "normal"),
    (lambda t: t.anon.permute("age", by="age", seed=1), errors.RoleConflictError, "its own"),
]


def test_days_of_arrow():
    pa = pytest.importorskip("pyarrow")
    days = [dt.date(2000, 1, 1 + i % 4 // 2 * 8 + i % 2) for i in range(20)]
    for type_ in (pa.date32(), pa.date64()):
        table = pd.DataFrame({"day": pd.Series([*days, None], dtype=pd.ArrowDtype(type_))})
        years = table.anon.generalize("day", part="month")["day"]
        assert years.tolist()[:20] == ["2000-01"] * 20
        assert years.isna().tolist()[20]
        assert table.anon.plan("day", 2, max_suppression=0.1).after.k >= 2
        near = table.anon.microaggregate("day", 10)["day"]
        assert near.dtype == table["day"].dtype
        assert len(set(near.dropna())) == 2
        moved = table.anon.perturb("day", 3, seed=1)["day"]
        assert moved.dtype == table["day"].dtype
        assert moved.isna().sum() == 1


def test_wrong_calls(frame):
    table = frame(CELLS)
    for call, error, text in WRONG:
        with pytest.raises(error, match=text) as caught:
            call(table)
        assert "1011" not in str(caught.value)


# Older pandas looks whether infinite numbers are whole when it chooses a type.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_the_type_says_what_is_rounded(frame):
    large = 2**62
    table = frame(
        {
            "who": [0, 1, 2, 3],
            "x": [1.0, 2.0, 10.0, 13.0],
            "y": [1.0, 1.0, 2.0, 2.0],
            "id": [large, large + 1, -large, None],
            "far": [1.0, 2.0, math.inf, -math.inf],
        }
    )
    if isinstance(table, pd.DataFrame):
        # Some types of pandas are chosen by what the cells are.
        table = table.astype({"x": "float64", "y": "float64"})
    assert cells_of(table.anon.microaggregate("x", 2), "x") == [1.5, 1.5, 11.5, 11.5]
    joint = table.anon.microaggregate(["x", "y"], 2)
    assert cells_of(joint, "x", "y") == [(1.5, 1.0)] * 2 + [(11.5, 2.0)] * 2
    noisy = cells_of(table.anon.perturb("x", 0.1, seed=1), "x")
    assert all(x != round(x) and abs(x - y) < 1 for x, y in zip(noisy, [1, 2, 10, 13], strict=True))
    with pytest.raises(errors.UnsupportedColumnError, match=r"'far' is infinite in 2 rows"):
        table.anon.microaggregate("far", 2)
    with pytest.raises(errors.UnsupportedColumnError, match=r"'far' is infinite in 2 rows"):
        table.anon.plan("far", 2)
    with pytest.raises(errors.UnsupportedColumnError, match=r"'far' is infinite in 2 rows"):
        table.anon.generalize("far", bins=2)


def test_decimals_stay_decimals():
    cells = [Decimal("1.25"), Decimal("2.75"), None, Decimal("99.5"), Decimal("99.50")]
    types = [object]
    with suppress(ImportError):
        import pyarrow as pa

        types.append(pd.ArrowDtype(pa.decimal128(4, 2)))
    for dtype in types:
        table = pd.DataFrame({"x": pd.Series(cells, dtype=dtype)})
        for step in (
            lambda t: t.anon.perturb("x", 5, seed=1),
            lambda t: t.anon.microaggregate("x", 2),
            lambda t: t.anon.generalize("x", top=90, bottom=1.5),
        ):
            made = step(table)["x"]
            assert made.dtype == table["x"].dtype
            assert made.isna().tolist() == [False, False, True, False, False]
            known = made[made.notna()].tolist()
            assert all(isinstance(cell, Decimal) for cell in known)
            assert all(cell == round(cell, 2) for cell in known)
        assert known == [Decimal("1.5"), Decimal("2.75"), Decimal(90), Decimal(90)]
        near = table.anon.microaggregate("x", 2)["x"]
        assert near[near.notna()].tolist() == [Decimal(2), Decimal(2), *[Decimal("99.5")] * 2]
