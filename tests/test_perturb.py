"""Noise: within its type, as wide as asked, and marked."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from steps import CELLS, cells_of, refused

from anonrisk import errors


def test_noise_keeps_types_and_is_as_wide_as_asked(frame):
    n = 400
    cells = {
        "who": list(range(n)),
        "age": [40] * (n - 1) + [None],
        "income": [1000.0] * n,
        "born": [dt.date(1980, 6, 15)] * n,
    }
    table = frame(cells)
    noisy = table.anon.perturb(["age", "born"], 3, seed=5)
    again = table.anon.perturb(["age", "born"], 3, seed=5)
    found = cells_of(noisy, "age", "born")
    assert found == cells_of(again, "age", "born"), "the same seed gives the same noise"
    ages = [age for age, _ in found if age is not None]
    assert len(ages) == n - 1
    # Beside a missing value plain pandas makes whole numbers floats, and the type decides.
    floats = isinstance(table, pd.DataFrame) and table["age"].dtype == "float64"
    assert floats or all(age == int(age) for age in ages)
    assert np.mean(ages) == pytest.approx(40, abs=0.6)
    assert np.std(ages) == pytest.approx(3, abs=0.5)
    days = [(pd.Timestamp(born) - pd.Timestamp("1980-06-15")).days for _, born in found]
    assert np.std(days) == pytest.approx(3, abs=0.5)
    laplace = cells_of(table.anon.perturb("income", 2, seed=1, law="laplace"), "income")
    assert np.std(laplace) == pytest.approx(2 * 2**0.5, rel=0.2)
    uniform = cells_of(table.anon.perturb("income", 2, seed=1, law="uniform"), "income")
    assert 998 <= min(uniform) < 998.2
    assert np.std(uniform) == pytest.approx(4 / 12**0.5, rel=0.1)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int64", "uint64", "Int8", "Int64", "UInt64", "int8[pyarrow]"]
)
def test_noise_stays_within_the_type(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    plain = np.iinfo(dtype.removesuffix("[pyarrow]").lower())
    low, high = int(plain.min), int(plain.max)
    table = pd.DataFrame({"x": pd.Series([low, high, 5] * 30, dtype=dtype)})
    for scale in (3, 1e30):
        noisy = table.anon.perturb("x", scale, seed=1)["x"]
        assert noisy.dtype == table["x"].dtype
        assert {low, high} <= set(noisy.tolist())
    near = table.anon.perturb("x", 3, seed=1)["x"].tolist()
    assert all(abs(a - b) < 20 for a, b in zip(near, table["x"].tolist(), strict=True))
    for end, other in (("bottom", "top"), ("top", "bottom")):
        beyond = high * 2 if end == "bottom" else low - 1
        with pytest.raises(errors.ArgumentError, match=f"{end}=.* cannot be stored"):
            table.anon.generalize("x", **{end: beyond})
        same = table.anon.generalize("x", **{other: beyond})["x"]
        assert same.tolist() == table["x"].tolist()
    if high > 2**53:
        with pytest.raises(errors.UnsupportedColumnError, match=r"beyond 2\*\*53"):
            table.anon.microaggregate("x", 2)


def test_missing_whole_numbers_and_categories_keep_their_noise():
    table = pd.DataFrame({"x": pd.array([1, None, 2**60 + 1], dtype="Int64")})
    noisy = table.anon.perturb("x", 3, seed=1)["x"]
    assert noisy.isna().tolist() == [False, True, False]
    assert abs(int(noisy[2]) - 2**60 - 1) < 20
    grouped = pd.DataFrame({"x": pd.Categorical([1.5, 2.5, 9.5, 8.5])})
    assert grouped.anon.perturb("x", 1, seed=1)["x"].notna().all()
    assert grouped.anon.microaggregate("x", 2)["x"].tolist() == [2.0, 2.0, 9.0, 9.0]


WRONG = [
    (lambda t: t.anon.perturb("zip", 1, seed=1), errors.UnsupportedColumnError, "noise is for"),
    (lambda t: t.anon.perturb("who", 0.1, seed=1), errors.ArgumentError, "would leave 100.0%"),
    (lambda t: t.anon.perturb("born", 0.1, seed=1), errors.ArgumentError, "too small"),
    (lambda t: t.anon.perturb("age", 0, seed=1), errors.ArgumentError, "above 0"),
    (lambda t: t.anon.perturb("age", 1, seed=1, law="nrmal"), errors.ArgumentError, "normal"),
]


def test_wrong_calls(frame):
    refused(frame(CELLS), WRONG)
