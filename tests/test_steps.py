"""Single steps on every engine: what they promise, and the same cells wherever they are taken."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import tables
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import errors
from anonrisk.recode import Bins, DatePart, Keep, Level, Prefix, Star, TopBottom, ZipArea
from anonrisk.recode.optimal import optimal_groups

TREE = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}
CELLS = {
    "who": list(range(8)),
    "age": [23, 30, 39, 40, 91, -5, None, 64],
    "income": [0.5, 1.25, 2.0, 2.5, 99.75, -1.5, None, 3.0],
    "zip": ["1011", "1012", "9", "2500", "10119", "", None, "éa11"],
    "born": [dt.date(1981, 12, 31), dt.date(1969, 7, 1), *[dt.date(2000, 2, 29)] * 5, None],
    "seen": [dt.datetime(1999, 12, 31, 23, 59), *[dt.datetime(2020, 4, 1)] * 6, None],
    "illness": ["flu", "cough", "stroke", "angina", "flu", "flu", None, "stroke"],
}


def cells_of(table, *names):
    rows = sorted(tables.to_rows(table), key=lambda row: row["who"])
    return [tuple(row[name] for name in names) if len(names) > 1 else row[names[0]] for row in rows]


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
    tree = table.anon.generalize("illness", hierarchy=TREE, level=2)
    assert cells_of(tree, "illness") == ["any"] * 8
    assert cells_of(table.anon.generalize("born", part="year"), "born")[0] == "1981"
    assert cells_of(table.anon.generalize("age", top=60), "age")[3:5] == [40, 60]


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


def test_whole_edges_of_fractions_are_not_named_as_whole():
    labels = pd.DataFrame({"x": [1.0, 1.5, 2.5]}).anon.generalize("x", bins=[1, 2])["x"]
    assert labels.tolist() == ["[1, 2)", "[1, 2)", ">=2"]


def test_wrong_calls(frame):
    table = frame(CELLS)
    for call, error, text in WRONG:
        with pytest.raises(error, match=text) as caught:
            call(table)
        assert "1011" not in str(caught.value)


def test_suppress_records_and_cells(frame):
    cells = {
        "who": list(range(7)),
        "zip": ["a", "a", "a", "b", "b", "c", None],
        "age": [1, 1, 2, 3, 3, 4, 5],
    }
    table = frame(cells)
    left = table.anon.suppress(["zip", "age"], k=2)
    assert cells_of(left, "who") == [0, 1, 3, 4]
    marked = table.anon.suppress(["zip", "age"], k=2, cells=True)
    assert marked.anon.k(["zip", "age"]) == 2
    assert cells_of(marked, "zip", "age") == [
        *[("a", "1")] * 2,
        ("*", "*"),
        *[("b", "3")] * 2,
        *[("*", "*")] * 2,
    ]
    missing = table.anon.suppress(["zip", "age"], k=2, cells=True, suppressed=None)
    assert cells_of(missing, "zip", "age")[2] == (None, None)
    assert missing.anon.k(["zip", "age"]) == 2


def test_a_suppressed_category_is_forgotten():
    kinds = pd.Categorical(["a", "a", "rare", "b", "b"], categories=["z", "rare", "b", "a"])
    table = pd.DataFrame({"x": kinds, "other": kinds})
    left = table.anon.suppress("x", 2)
    assert left["x"].tolist() == ["a", "a", "b", "b"]
    assert left["x"].cat.categories.tolist() == ["b", "a"]
    assert list(left.index) == [0, 1, 3, 4]
    cells = table.anon.suppress("x", 2, cells=True, suppressed=None)["x"]
    assert "rare" not in getattr(cells.dtype, "categories", cells.unique())


def test_too_few_marked_cells_are_joined_by_the_smallest_class(frame):
    cells = {"who": list(range(6)), "zip": ["a", "a", "a", "b", "b", "c"]}
    found = frame(cells).anon.suppress("zip", k=2, cells=True)
    assert cells_of(found, "zip") == ["a", "a", "a", "*", "*", "*"]


def test_persons_are_counted_when_suppressing(frame):
    cells = {"who": [1, 1, 2, 3], "zip": ["a", "a", "b", "b"]}
    assert cells_of(frame(cells).anon.suppress("zip", 2, unit="who"), "who") == [2, 3]
    found = frame(cells).anon.suppress("zip", 2, unit="who", cells=True)
    assert set(cells_of(found, "zip")) == {"*"}


rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, 3, None]), st.sampled_from("xyz*")),
    min_size=1,
    max_size=25,
)


@given(rows=rows, k=st.integers(1, 5), marker=st.sampled_from(["*", None]))
def test_after_suppression_a_table_is_k_anonymous(rows, k, marker):
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    table["b"] = table["b"].astype("Int64")
    left = table.anon.suppress(["a", "b", "c"], k)
    assert not len(left) or left.anon.k(["a", "b", "c"]) >= k
    if k > len(table):
        with pytest.raises(errors.ArgumentError, match="larger than the table"):
            table.anon.suppress(["a", "b", "c"], k, cells=True, suppressed=marker)
        return
    marked = table.anon.suppress(["a", "b", "c"], k, cells=True, suppressed=marker)
    assert len(marked) == len(table)
    assert marked.anon.k(["a", "b", "c"]) >= k
    untouched = table[table.anon.sizes(["a", "b", "c"]) >= k]
    if len(marked.query("a != '*'" if marker else "a == a")) == len(marked):
        changed = marked.loc[untouched.index, "a"].tolist()
        assert changed == untouched["a"].tolist(), "large classes keep their cells"


def slow_cost(group, cost):
    if cost == "median":
        return sum(abs(x - sorted(group)[(len(group) - 1) // 2]) for x in group)
    return sum((x - sum(group) / len(group)) ** 2 for x in group)


def slow_best(values, k, cost):
    """The least cost over every way to cut, equal values together."""
    different = sorted(set(values))
    best = math.inf
    for cuts in range(2 ** (len(different) - 1)):
        groups, group = [], []
        for i, value in enumerate(different):
            group += [value] * values.count(value)
            if i == len(different) - 1 or cuts >> i & 1:
                groups.append(group)
                group = []
        if all(len(g) >= k for g in groups):
            costs = [slow_cost(g, cost) for g in groups]
            best = min(best, sum(costs))
    return best


@given(
    values=st.lists(st.integers(0, 30), min_size=1, max_size=10),
    k=st.integers(1, 4),
    cost=st.sampled_from(["median", "squared"]),
)
def test_groups_of_least_cost(values, k, cost):
    if k > len(values):
        return
    different, counts = np.unique(values, return_counts=True)
    starts = optimal_groups(different.astype(float), counts, k, cost)
    ends = [*starts[1:], len(different)]
    groups = [
        [v for v in sorted(values) if different[a] <= v <= different[b - 1]]
        for a, b in zip(starts, ends, strict=True)
    ]
    assert all(len(group) >= k for group in groups)
    costs = [slow_cost(group, cost) for group in groups]
    assert sum(costs) == pytest.approx(slow_best(values, k, cost), abs=1e-9)
    if len(different) == len(values):
        assert all(len(group) < 2 * k for group in groups)


def test_microaggregation_of_one_column_and_of_several(frame):
    cells = {
        "who": list(range(7)),
        "age": [10, 12, 30, 31, 33, 30, None],
        "income": [1.0, 2.0, 10.0, 11.5, 12.0, 10.5, 3.0],
        "born": [dt.date(2000, 1, d) for d in (1, 3, 20, 21, 22, 24, 5)],
        "x": [0, 0, 1, 10, 10, 11, 10],
        "y": [0, 1, 0, 10, 11, 10, 12],
    }
    table = frame(cells)
    assert cells_of(table.anon.microaggregate("age", 2), "age") == [11, 11, 30, 32, 32, 30, None]
    income = cells_of(table.anon.microaggregate("income", 3), "income")
    assert income == pytest.approx([2.0, 2.0, 11.0, 11.0, 11.0, 11.0, 2.0])
    born = cells_of(table.anon.microaggregate("born", 3), "born")
    days = [d.date() if isinstance(d, dt.datetime) else d for d in born]
    assert days == [dt.date(2000, 1, d) for d in (3, 3, 22, 22, 22, 22, 3)]
    joint = table.anon.microaggregate(["x", "y"], 3)
    assert joint.anon.k(["x", "y"]) >= 3
    assert len(set(cells_of(joint, "x", "y"))) == 2
    assert cells_of(joint, "x", "y")[0] == (0, 0)


def test_only_joint_microaggregation_is_jointly_anonymous():
    random = np.random.default_rng(1)
    table = pd.DataFrame({"x": random.normal(size=200), "y": random.normal(size=200)})
    apart = table.anon.microaggregate("x", 5).anon.microaggregate("y", 5)
    assert apart.anon.k("x") >= 5
    assert apart.anon.k(["x", "y"]) < 5
    assert table.anon.microaggregate(["x", "y"], 5).anon.k(["x", "y"]) >= 5


def test_mdav_is_bounded(frame, monkeypatch):
    from anonrisk.engines import microaggregate
    from anonrisk.engines.spark import steps

    monkeypatch.setattr(microaggregate, "MAX_MDAV", 3)
    monkeypatch.setattr(steps, "MAX_MDAV", 3)
    with pytest.raises(errors.TooManyRecordsError, match="more than 3 different records"):
        frame({"x": [1, 2, 3, 4], "y": [1, 1, 1, 1]}).anon.microaggregate(["x", "y"], 2)


def test_noise_keeps_types_and_leaves_a_mark(frame):
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
    assert noisy.anon.was_perturbed() == {"age": "perturb", "born": "perturb"}
    assert table.anon.was_perturbed() == {}
    laplace = cells_of(table.anon.perturb("income", 2, seed=1, law="laplace"), "income")
    assert np.std(laplace) == pytest.approx(2 * 2**0.5, rel=0.2)
    uniform = cells_of(table.anon.perturb("income", 2, seed=1, law="uniform"), "income")
    assert 998 <= min(uniform) < 998.2
    assert np.std(uniform) == pytest.approx(4 / 12**0.5, rel=0.1)


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


def test_permutation_keeps_margins_exactly_and_leaves_a_mark(frame):
    n = 60
    cells = {
        "who": list(range(n)),
        "ward": ["a", "b", None] * (n // 3),
        "x": list(range(n)),
        "y": [None if i % 7 == 0 else i for i in range(n)],
    }
    table = frame(cells).anon.declare(quasi="ward")
    moved = table.anon.permute(["x", "y"], by="ward", seed=3)
    found = cells_of(moved, "ward", "x", "y")
    before = list(zip(cells["ward"], cells["x"], cells["y"], strict=True))
    assert Counter(found) == Counter(before), "each ward has the pairs it had"
    assert all(new != old for new, old in zip(found, before, strict=True)), "nobody keeps theirs"
    assert moved.anon.was_perturbed() == {"x": "permute", "y": "permute"}
    assert moved.anon.roles().quasi == ("ward",)
    assert Counter(cells_of(table.anon.permute("x", seed=1), "x")) == Counter(cells["x"])
