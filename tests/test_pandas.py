"""What only pandas has: indexes, categories, extension types, object cells, duplicate labels."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk import Policy, errors

AMSTERDAM, TOKYO = ZoneInfo("Europe/Amsterdam"), ZoneInfo("Asia/Tokyo")
pa = pytest.importorskip("pyarrow")


def n_classes(values, **how):
    return pd.DataFrame({"x": values}).anon.classes("x", **how).n_classes


@pytest.mark.parametrize(
    "index", [[10, 11, 12], [2, 0, 1], ["a", "a", "a"], pd.MultiIndex.from_tuples([(1, 2)] * 3)]
)
def test_any_index(index):
    df = pd.DataFrame({"x": ["a", "b", "a"]}, index=index)
    sizes = df.anon.sizes("x")
    assert df.anon.k("x") == 1
    assert sizes.tolist() == [2, 1, 2]
    assert sizes.index.equals(df.index)
    assert df.anon.at_risk("x", k=2)["x"].tolist() == ["b"]


def test_unused_categories_form_no_class():
    values = pd.Categorical(["a", "b", "a", None], categories=["z", "b", "a", "y"])
    assert n_classes(values) == 3
    assert n_classes(values, missing="drop") == 2


def test_many_categories_with_missing_ones():
    values = pd.Categorical.from_codes([-1, 126, 0], categories=range(127))
    assert n_classes(values) == 3


def test_categories_of_mixed_types_are_refused_only_if_used():
    mixed = pd.Categorical(["a", "b"], categories=["a", "b", 1])
    assert n_classes(mixed) == 2
    with pytest.raises(errors.UnsupportedColumnError, match="mixes types"):
        n_classes(pd.Categorical(["a", 1], categories=["a", 1]))


def test_intervals_and_periods():
    assert n_classes(pd.cut([1, 2, 30], [0, 5, 50])) == 2
    assert n_classes(pd.arrays.IntervalArray.from_tuples([(0, 1), (0, 1), (1, 2)])) == 2
    assert n_classes(pd.PeriodIndex(["2020-01", "2020-01", None], freq="M")) == 2


def test_nullable_float_keeps_nan_and_na_together():
    zero = pd.array([0.0, None, 0.0], dtype="Float64")
    divided = zero / zero  # NaN, NA, NaN
    assert n_classes(divided) == 1
    assert n_classes(divided, missing="value") == 1
    with pytest.raises(errors.EmptyTableError):
        n_classes(divided, missing="drop")


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.array([0.0, -0.0, float("nan"), None]), 2),
        (pa.array([0.0, -0.0, float("nan"), None], pa.float32()), 2),
        (pa.DictionaryArray.from_arrays([0, 1, 2, None], ["a", "a", None]), 2),
        (pa.array([b"a", b"b", None], pa.binary()), 3),
        (pa.array([decimal.Decimal("1.0"), decimal.Decimal("1.00"), None]), 2),
        (pa.array([dt.timedelta(1), dt.timedelta(1), None]), 2),
        (pa.array([dt.time(1), dt.time(2), None]), 3),
        (pa.array([True, False, None]), 3),
        (pa.array([None, None], pa.null()), 1),
        (pa.chunked_array([[None], [None]], pa.null()), 1),
        (pa.chunked_array([["a", "b"], ["b", None], []], pa.large_string()), 3),
        (pa.array([dt.datetime(2020, 1, 1)] * 2, pa.timestamp("us", "Asia/Tokyo")), 1),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_arrow_columns(arrow, expected):
    assert n_classes(pd.Series(pd.arrays.ArrowExtensionArray(arrow))) == expected


@pytest.mark.parametrize(
    "arrow",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())),
    ],
    ids=["list", "struct", "map"],
)
def test_nested_arrow_columns_are_refused_by_name(arrow):
    with pytest.raises(errors.UnsupportedColumnError, match="quasi-identifier 'x' holds"):
        n_classes(pd.Series(pd.arrays.ArrowExtensionArray(arrow)))


def test_instants_are_compared_as_instants():
    noon = dt.datetime(2020, 6, 1, 12, tzinfo=AMSTERDAM)
    assert n_classes(pd.Series([noon, noon.astimezone(TOKYO)], dtype=object)) == 1


def test_instants_in_the_repeated_hour_of_a_clock_change():
    later = dt.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=AMSTERDAM)
    elsewhere = later.astimezone(TOKYO)
    assert later != elsewhere, "Python calls them unequal; they are the same instant"
    assert n_classes(pd.Series([later, elsewhere], dtype=object)) == 1


@pytest.mark.parametrize(
    "cells",
    [
        [1, 1.0, 1],
        [1, True, 1],
        [1.0, True],
        [1, decimal.Decimal(1)],
        ["a", 1],
        ["a", b"a"],
        [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)],
        [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
        [np.int64(1), np.float64(1)],
        [np.bool_(True), 1],
    ],
    ids=repr,
)
def test_mixed_object_cells_are_refused(cells):
    with pytest.raises(errors.UnsupportedColumnError, match="'x' mixes types") as raised:
        n_classes(pd.Series(cells, dtype=object))
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.parametrize(
    "cells",
    [
        [1, np.int64(1), None],
        ["a", np.str_("a"), None],
        [1.0, np.float32(1), float("nan")],
        [True, np.bool_(True), pd.NA],
        [dt.datetime(2020, 1, 1), pd.Timestamp("2020-01-01"), pd.NaT],
        [decimal.Decimal(1), decimal.Decimal("1.0"), decimal.Decimal("NaN")],
    ],
    ids=repr,
)
def test_one_kind_under_two_names_is_not_mixed(cells):
    assert n_classes(pd.Series(cells, dtype=object)) == 2


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def test_objects_with_an_equality_are_values():
    assert n_classes([Colour.RED, Colour.BLUE, Colour.RED]) == 2
    assert n_classes([uuid.UUID(int=1), uuid.UUID(int=1)]) == 1


class Secret:
    def __repr__(self):
        return "the secret"

    def __hash__(self):
        raise ValueError("the secret")


@pytest.mark.parametrize(
    "cells",
    [
        [["secret"]],
        [{"secret": 1}],
        [("secret",)],
        [{"secret"}],
        [frozenset(["secret"])],
        [np.array([1])],
        [object()],
        [Secret()],
        [[1], None],
        ["secret", ["secret"]],
    ],
    ids=["list", "dict", "tuple", "set", "frozenset", "array", "object", "hash", "null", "late"],
)
def test_nested_and_unhashable_cells_are_refused_by_name_only(cells):
    with pytest.raises(errors.UnsupportedColumnError, match="quasi-identifier 'x' holds") as raised:
        n_classes(pd.Series(cells, dtype=object))
    assert "secret" not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.parametrize(
    "values",
    [
        np.array([-128, 127, -128], dtype=np.int8),
        np.array([0, 2**64 - 1, 0], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1, -(2**63)]),
        np.array([2**40, 2**40 + 5, 2**40]),
        np.array([1.5, 2.5, 1.5], dtype=np.float32),
        np.array([1 + 2j, 3j, 1 + 2j]),
        np.array(["2020-01-01", "NaT", "2020-01-01"], dtype="datetime64[s]"),
        np.array([1, "NaT", 1], dtype="timedelta64[ns]"),
        pd.array([1, 2, 1], dtype=pd.SparseDtype("int")),
        pd.array([1, None, 1], dtype="UInt8"),
        pd.array(["a", None, "a"], dtype="string[python]"),
    ],
    ids=lambda values: str(values.dtype),
)
def test_every_width_and_storage(values):
    counted = pd.DataFrame({"x": values}).anon.classes("x")
    assert (counted.sizes.tolist(), counted.classes.tolist()) == ([1, 2], [1, 1])


def test_keys_longer_than_64_bits():
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.integers(0, 2**31, 50) for i in range(5)}
    df = pd.DataFrame(columns)
    df = pd.concat([df, df.iloc[:20]], ignore_index=True)
    qid = list(columns)
    counted = df.anon.classes(qid)
    assert (counted.sizes.tolist(), counted.classes.tolist()) == ([1, 2], [30, 20])
    assert sorted(df.anon.sizes(qid)) == [1] * 30 + [2] * 40
    who = df.assign(who=[*range(50), *range(20)]).anon.classes(qid, unit="who")
    assert (who.sizes.tolist(), who.classes.tolist()) == ([1], [50])


def test_large_tables_are_encoded_side_by_side():
    rng = np.random.default_rng(0)
    n = 250_000
    df = pd.DataFrame({"a": rng.integers(0, 90, n), "b": rng.integers(0, 40, n).astype(str)})
    expected = df.groupby(["a", "b"]).size()
    counted = df.anon.classes(["a", "b"])
    assert (counted.k, counted.max, counted.n_classes) == (
        expected.min(),
        expected.max(),
        len(expected),
    )


def test_classes_larger_than_usual():
    df = pd.DataFrame({"x": ["a"] * 70_000 + ["b"] * 70_000 + ["c"]})
    counted = df.anon.classes("x")
    assert (counted.sizes.tolist(), counted.classes.tolist()) == ([1, 70_000], [1, 2])


def test_labels_need_not_be_strings():
    df = pd.DataFrame({0: ["a", "a"], ("b", 1): [1, 2]})
    assert df.anon.k(0) == 2
    assert df.anon.k(("b", 1)) == 1
    assert df.anon.k([0, ("b", 1)]) == 1
    wide = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    assert wide.anon.k([("a", "x"), ("a", "y")]) == 1


def test_duplicate_labels_are_refused_only_if_asked_about():
    df = pd.DataFrame([["a", "b", 1], ["a", "c", 1]], columns=["x", "x", "y"])
    assert df.anon.k("y") == 2
    with pytest.raises(errors.DuplicateColumnError, match="'x' is the name of 2 columns"):
        df.anon.k("x")


def test_subclasses_of_dataframe_are_tables():
    class Own(pd.DataFrame):
        @property
        def _constructor(self):
            return Own

    own = Own({"x": ["a", "b", "a"]})
    assert own.anon.k("x") == 1
    assert isinstance(own.anon.at_risk("x"), Own)


def test_a_column_called_anon_does_not_matter():
    df = pd.DataFrame({"anon": ["a", "a"]})
    assert anonrisk.k(df, "anon") == 2


def test_persons_with_long_numbers_take_no_room():
    df = pd.DataFrame({"zip": ["a", "a", "b"], "bsn": [100_000_001, 2_147_000_000, 555_555_555]})
    import tracemalloc

    tracemalloc.start()
    assert df.anon.classes("zip", unit="bsn").records.tolist() == [1, 2]
    assert df.anon.summary("zip", by="zip", unit="bsn")["records"].tolist() == [2, 1]
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_different_instants_in_the_repeated_hour_stay_apart():
    earlier = dt.datetime(2020, 10, 25, 2, 30, tzinfo=AMSTERDAM)
    later = earlier.replace(fold=1)
    assert earlier == later, "Python calls them equal; they are an hour apart"
    assert n_classes(pd.Series([earlier, later, None], dtype=object)) == 3


def test_keys_are_closed_up_before_they_overflow():
    top = 2**31 - 1
    df = pd.DataFrame({"a": [0, 4, top], "b": [0, 0, top], "c": [0, 0, top]})
    assert df.anon.classes(["a", "b", "c"]).n_classes == 3


def test_a_quasi_identifier_in_the_index_is_noticed():
    df = pd.DataFrame({"zip": ["a", "b"], "age": [1, 1]}).anon.declare(quasi=["zip", "age"])
    for moved in (df.set_index("zip"), df.groupby("zip")[["age"]].sum()):
        if moved.attrs:
            with pytest.raises(errors.RolesLostError, match="'zip' is in the index now"):
                moved.anon.k()
        else:
            with pytest.raises(errors.RolesNotGivenError):
                moved.anon.k()
    assert df.set_index("zip").reset_index().anon.k() == 1


def test_explicit_names_do_not_depend_on_stale_roles():
    df = pd.DataFrame({"zip": ["a", "b"], "age": [1, 1]}).anon.declare(quasi=["zip", "age"])
    assert df.rename(columns={"zip": "pc"}).anon.k(["pc", "age"]) == 1


def test_roles_that_cannot_be_read_are_an_error_of_ours():
    df = pd.DataFrame({"zip": ["a"]})
    names = [{"quasi": 5}, {"quasi": "zip"}, {"quasi": [{}]}, {"quasi": ["zip"], "columns": None}]
    for broken in ({"newer": 1}, "text", 3, *names, {"quasi": ["zip"], "unit": {}}):
        df.attrs["anonrisk"] = broken
        for call in (df.anon.k, df.anon.roles, df.anon.ldiv):
            with pytest.raises(errors.RolesLostError, match="cannot be read"):
                call()
        verdict = Policy(k=2).check(df)
        assert verdict.status == "could_not_assess"
        assert "cannot be read" in verdict.failures[0].sentence


@pytest.mark.parametrize(
    "call",
    [
        lambda df, cells: df.anon.k(cells),
        lambda df, cells: df.anon.k("age", unit=cells),
        lambda df, cells: df.anon.summary("age", by=cells),
        lambda df, cells: df.anon.declare(quasi=cells),
    ],
)
def test_cells_given_by_mistake_are_not_repeated(call):
    df = pd.DataFrame({"zip": ["secret", "secret"], "age": [1, 2]})
    for cells in (df["zip"], df[["zip"]], df):
        with pytest.raises(errors.ArgumentError, match="given by the name of a column") as raised:
            call(df, cells)
        assert "secret" not in str(raised.value)


def test_lists_of_names_come_in_many_kinds():
    df = pd.DataFrame({"zip": ["a", "b"], "age": [1, 1]})
    names = ["zip", "age"]
    for given in (
        names,
        tuple(names),
        set(names),
        dict.fromkeys(names).keys(),
        pd.Index(names),
        np.array(names),
        df.columns,
    ):
        assert df.anon.k(given) == 1


def test_numbers_of_another_byte_order():
    assert n_classes(np.array([1.5, 2.5, 1.5], dtype=">f8")) == 2
    assert n_classes(np.array([1, 2, 1], dtype=">i8")) == 2


def test_times_with_and_without_zone_are_mixed():
    with pytest.raises(errors.UnsupportedColumnError, match="time with zone"):
        n_classes([dt.time(1), dt.time(1, tzinfo=dt.UTC)])


def test_durations_of_two_libraries_are_one_kind():
    assert n_classes(pd.Series([np.timedelta64(1, "D"), np.timedelta64(1, "D")], dtype=object)) == 1


@pytest.mark.parametrize("name", [None, 3, "", ["x"]])
def test_the_new_column_needs_a_name(name):
    with pytest.raises(errors.ArgumentError, match="name="):
        pd.DataFrame({"x": [1]}).anon.sizes("x", name=name)
