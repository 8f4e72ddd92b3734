"""What all steps have in common: the types that they keep."""

from __future__ import annotations

import datetime as dt
import math
from contextlib import suppress
from decimal import Decimal

import pandas as pd
import pytest
from steps import cells_of

from anonrisk import errors


def test_days_of_arrow():
    pa = pytest.importorskip("pyarrow")
    days = [dt.date(2000, 1, 1 + i % 4 // 2 * 8 + i % 2) for i in range(20)]
    for type_ in (pa.date32(), pa.date64()):
        table = pd.DataFrame({"day": pd.Series([*days, None], dtype=pd.ArrowDtype(type_))})
        years = table.anon.generalize("day", part="month")["day"]
        assert years.tolist()[:20] == ["2000-01"] * 20
        assert years.isna().tolist()[20]
        assert table.anon.plan("day", 2, max_suppressed=0.1).after.k >= 2
        near = table.anon.microaggregate("day", 10)["day"]
        assert near.dtype == table["day"].dtype
        assert len(set(near.dropna())) == 2
        moved = table.anon.perturb("day", 3, seed=1)["day"]
        assert moved.dtype == table["day"].dtype
        assert moved.isna().sum() == 1


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
