"""States: the same on every engine, added up in any order, and what they answer is the table's."""

from __future__ import annotations

import datetime as dt
import pickle
from fractions import Fraction

import numpy as np
import oracle
import pandas as pd
import pytest
import state_by_hand as by_hand
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, OTHER, SECRET
from tables import rows_of, without_rows

import anonrisk
from anonrisk import State
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    ColumnNotFoundError,
    EmptyTableError,
    MissingUnitError,
    MissingValuesError,
    SecretKeyError,
    StateError,
    UnsupportedColumnError,
    WrongKeyError,
)
from anonrisk.measures.counts.keyed import KeyedTally, KeyedValues
from anonrisk.measures.counts.question import Question
from anonrisk.pseudonyms.keys import Key

QID = ["zip", "age"]
CELLS = {
    "zip": ["a", "a", "b", None, "a", "b", "b", "a"],
    "age": [1, 1, 2, 3, 1, 2, 1, 1],
    "ill": ["flu", "cold", "flu", None, "flu", "cold", "cold", "gout"],
    "who": [1, 2, 3, 3, 1, 4, 1, 5],
}


def written(hashes):
    return [f"{first:016x}{last:016x}" for first, last in hashes.tolist()]


def as_vectors(found):
    """A state's counts, or those of a sensitive column, as the vectors have them."""
    columns = [found.classes, found.persons]
    columns += [found.values] if isinstance(found, KeyedValues) else []
    hashes = zip(*(written(one) for one in columns if one is not None), strict=True)
    return dict(zip(map(" ".join, hashes), found.rows.tolist(), strict=True))


@pytest.mark.parametrize("asked", by_hand.vectors()["states"], ids=lambda one: "+".join(one["qid"]))
def test_every_engine_makes_the_state_of_the_vectors(frame, asked):
    cells = by_hand.cells(by_hand.COLUMNS)
    unit, sensitive = asked.get("unit"), asked.get("sensitive")
    named = [*asked["qid"], *filter(None, [unit]), *(sensitive or [])]
    table = frame({name: cells[name] for name in named})
    made = table.anon.state(asked["qid"], unit=unit, sensitive=sensitive, key=KEY)
    assert as_vectors(made.counts) == asked["classes"]
    assert [*as_vectors(made.counts)] == sorted(asked["classes"]), "sorted"
    assert {name: as_vectors(one) for name, one in made.counts.values.items()} == asked["values"]
    assert made.counts.kinds == {name: by_hand.COLUMNS[name][0] for name in named}


@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_a_state_answers_what_its_table_does(frame, unit, missing):
    table = frame(CELLS)
    made = table.anon.state(QID, unit=unit, sensitive="ill", key=KEY, missing=missing)
    about = {"unit": unit, "missing": missing}
    expected = table.anon.classes(sorted(QID), **about)
    assert made.classes() == expected
    rows = oracle.kept(rows_of(CELLS), QID, missing)
    assert made.k == expected.k == oracle.k(rows, QID, unit)
    assert made.uniqueness == pytest.approx(oracle.uniqueness(rows, QID, unit))
    assert repr(made.classes().risk()) == repr(expected.risk())
    assert made.summary(sizes=(1, 2)).equals(table.anon.summary(sorted(QID), sizes=(1, 2), **about))
    for kind, c in (("distinct", None), ("entropy", None), ("recursive", 1.5)):
        found = made.ldiv("ill", kind, c=c)
        assert found == pytest.approx(oracle.ldiv(rows, QID, "ill", kind, c, unit))
        assert found == pytest.approx(table.anon.ldiv(QID, "ill", kind, c=c, **about))
    far = oracle.tcloseness(rows, QID, "ill", oracle.equal_cost, unit)
    assert made.tcloseness("ill") == pytest.approx(far)


@pytest.mark.contract
def test_index_and_order_of_rows_and_columns_change_nothing(frame):
    made = frame(CELLS).anon.state(QID, unit="who", sensitive=["ill"], key=KEY)
    turned = {name: CELLS[name][::-1] for name in reversed(CELLS)}
    assert frame(turned).anon.state(QID[::-1], unit="who", sensitive="ill", key=KEY) == made
    other = frame(CELLS).anon.state(QID, unit="who", sensitive=["ill"], key=Key.generate())
    assert other.key_id != made.key_id
    assert not {*as_vectors(other.counts)} & {*as_vectors(made.counts)}


def test_parts_of_a_table_add_up_to_the_whole(frame):
    whole = frame(CELLS).anon.state(QID, unit="who", sensitive="ill", key=KEY)
    # One part is counted elsewhere.
    first, second, third = (
        build({name: column[here] for name, column in CELLS.items()}).anon.state(
            QID, unit="who", sensitive="ill", key=KEY
        )
        for build, here in ((frame, slice(3)), (pd.DataFrame, slice(3, 4)), (frame, slice(4, 8)))
    )
    assert first.merge(second).merge(third) == third.merge(first.merge(second)) == whole


TEXT = st.sampled_from(["a", "b", "é", "", None])
ROW = st.tuples(TEXT, st.sampled_from([0.0, -0.0, 1.5, None]), st.integers(0, 3), TEXT)
SPLITS = st.lists(st.tuples(ROW, st.integers(0, 2)), min_size=1, max_size=14)


def table_of(rows):
    return pd.DataFrame(
        {
            "zip": pd.Series([row[0] for row in rows], dtype=object),
            "size": pd.Series([row[1] for row in rows], dtype=float),
            "who": pd.Series([row[2] for row in rows], dtype="int64"),
            "ill": pd.Series([row[3] for row in rows], dtype=object),
        }
    )


@pytest.mark.slow
@given(
    SPLITS,
    st.sampled_from([None, "who"]),
    st.sampled_from(["value", "drop"]),
    st.permutations(range(3)),
)
def test_any_split_adds_up_in_any_order(placed, unit, missing, order):
    def made(rows):
        about = {"unit": unit, "sensitive": "ill", "key": KEY, "missing": missing}
        return table_of(rows).anon.state(["zip", "size"], **about)

    whole = made([row for row, _ in placed])
    parts = [made([row for row, part in placed if part == number]) for number in range(3)]
    left, middle, right = (parts[number] for number in order)
    assert left.merge(middle).merge(right) == left.merge(middle.merge(right)) == whole
    df = table_of([row for row, _ in placed])
    try:
        expected = df.anon.classes(["size", "zip"], unit=unit, missing=missing)
    except EmptyTableError:
        with pytest.raises(EmptyTableError):
            whole.classes()
        return
    assert whole.classes() == expected
    about = {"unit": unit, "missing": missing}
    assert whole.ldiv() == df.anon.ldiv(["zip", "size"], "ill", **about)
    entropy = df.anon.ldiv(["zip", "size"], "ill", "entropy", **about)
    assert whole.ldiv(variant="entropy") == pytest.approx(entropy, rel=1e-12)
    close = df.anon.tcloseness(["zip", "size"], "ill", "equal", **about)
    assert whole.tcloseness() == pytest.approx(float(close), rel=1e-12, abs=1e-12)


def test_an_empty_table_has_a_state_that_adds_nothing(frame):
    table = frame(CELLS)
    about = {"unit": "who", "sensitive": "ill", "key": KEY}
    whole, none = table.anon.state(QID, **about), without_rows(table).anon.state(QID, **about)
    assert none.merge(whole) == whole.merge(none) == whole
    assert {*none.counts.kinds.values()} == {"n"}
    for asked in (lambda: none.k, none.classes, none.ldiv, none.tcloseness):
        with pytest.raises(EmptyTableError):
            asked()
    assert "0 rows" in repr(none)


def test_a_column_without_a_value_fits_every_type():
    known = pd.DataFrame({"x": [1, 2]}).anon.state("x", key=KEY)
    unknown = pd.DataFrame({"x": [None, None]}).anon.state("x", key=KEY)
    merged = unknown.merge(known)
    assert merged.counts.kinds == {"x": "i"}
    assert merged == pd.DataFrame({"x": pd.array([1, None, None, 2], "Int64")}).anon.state(
        "x", key=KEY
    )


def test_what_does_not_fit_is_not_added_up():
    df = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [1, 2]})
    made = df.anon.state("a", key=KEY)
    with pytest.raises(StateError, match="quasi-identifier a here, a \\+ b there"):
        made.merge(df.anon.state(["b", "a"], key=KEY))
    with pytest.raises(StateError, match="sensitive columns none here, b there"):
        made.merge(df.anon.state("a", sensitive="b", key=KEY))
    with pytest.raises(StateError, match="unit none here, c there"):
        made.merge(df.anon.state("a", unit="c", key=KEY))
    with pytest.raises(StateError, match="missing='value' here, missing='drop' there"):
        made.merge(df.anon.state("a", key=KEY, missing="drop"))
    with pytest.raises(StateError, match=r"column 'a' was of type integer.*Int64"):
        made.merge(df.astype({"a": float}).anon.state("a", key=KEY))
    with pytest.raises(WrongKeyError, match=f"{made.key_id} here"):
        made.merge(df.anon.state("a", key=OTHER))
    with pytest.raises(StateError, match="not with a KeyedCounts"):
        made.merge(made.counts)
    assert made != df.anon.state("a", key=OTHER)


def test_a_person_has_one_hash_in_columns_of_two_names():
    df = pd.DataFrame({"x": [1, 2], "who": ["Ann", "Bob"], "patient": ["Bob", "Ann"]})
    one, other = (df.anon.state("x", unit=unit, key=KEY).counts for unit in ("who", "patient"))
    assert {*written(one.persons)} == {*written(other.persons)}
    assert as_vectors(one) != as_vectors(other)


def test_declared_columns_need_not_be_named():
    df = pd.DataFrame(CELLS).anon.declare(quasi=QID, sensitive="ill", unit="who")
    made = pd.DataFrame(CELLS).anon.state(QID, sensitive="ill", unit="who", key=KEY)
    assert df.anon.state(key=KEY) == made


def test_what_a_state_does_not_hold_is_refused_by_name():
    df = pd.DataFrame(CELLS)
    made = df.anon.state(QID, sensitive="ill", key=KEY)
    with pytest.raises(ColumnNotFoundError, match="'il'; did you mean 'ill'"):
        made.ldiv("il")
    with pytest.raises(StateError, match="holds no sensitive column"):
        df.anon.state(QID, key=KEY).tcloseness()
    with pytest.raises(ArgumentError, match="distance='ordered' is not one of 'equal'"):
        made.tcloseness("ill", "ordered")
    with pytest.raises(ArgumentError, match="c="):
        made.ldiv("ill", c=2)


@pytest.mark.parametrize("name", ["ill, or not", "ill\nor not"])
def test_names_with_a_comma_or_a_line_break_are_names(name):
    df = pd.DataFrame({**CELLS, name: CELLS["ill"]})
    made = df.anon.state(QID, sensitive=[name], key=KEY)
    assert made.ldiv() == made.ldiv([name]) == df.anon.ldiv(QID, "ill")
    assert made.tcloseness() == df.anon.tcloseness(QID, "ill")


def test_of_several_sensitive_columns_the_worst_counts():
    df = pd.DataFrame({"x": list("aabb"), "s": list("ppqr"), "t": list("pqpq")})
    made = df.anon.state("x", sensitive=["s", "t"], key=KEY)
    assert (made.ldiv("t"), made.ldiv("s"), made.ldiv()) == (2, 1, 1)
    assert made.tcloseness() == made.tcloseness("s") > made.tcloseness("t") == 0


@pytest.mark.parametrize(
    ("column", "refusal"),
    [
        ([dt.timedelta(1), dt.timedelta(2)], UnsupportedColumnError),
        ([1, 1.0], UnsupportedColumnError),
        ([Fraction(1, 3), Fraction(2, 3)], UnsupportedColumnError),
        (pd.cut(pd.Series([1, 5]), [0, 2, 9]), UnsupportedColumnError),
        ([[1], [2]], UnsupportedColumnError),
    ],
)
def test_cells_without_an_encoding_are_refused(column, refusal):
    df = pd.DataFrame({"x": pd.Series(list(column), dtype=object)})
    with pytest.raises(refusal, match="'x'"):
        df.anon.state("x", key=KEY)


def test_categories_are_their_values():
    plain = pd.DataFrame({"x": ["b", "a", None], "n": [3, 1, 3]})
    coded = plain.astype({"x": pd.CategoricalDtype(["z", "b", "a"]), "n": "category"})
    assert coded.anon.state(["x", "n"], key=KEY) == plain.anon.state(["x", "n"], key=KEY)


@pytest.mark.contract
def test_missing_values_follow_the_usual_rules(frame):
    table = frame(CELLS)
    with pytest.raises(MissingValuesError):
        table.anon.state(QID, key=KEY, missing="error")
    with pytest.raises(AnonRiskError, match="wildcard"):
        table.anon.state(QID, key=KEY, missing="wildcard")
    with pytest.raises(MissingUnitError):
        table.anon.state("age", unit="zip", key=KEY)


@pytest.mark.parametrize("name", [0, ("a", "b")])
def test_a_state_knows_columns_by_text(name):
    df = pd.DataFrame({"x": [1]})
    df.columns = pd.Index([name], tupleize_cols=False)
    with pytest.raises(ArgumentError, match="rename"):
        df.anon.state([name], key=KEY)


def test_the_key_is_nowhere():
    df = pd.DataFrame(CELLS)
    made = df.anon.state(QID, sensitive="ill", key=SECRET)
    asked = KeyedTally(Question((("b", "a"),)), ("z", "c"), KEY)
    assert (asked.question.qid, asked.sensitive) == (("a", "b"), ("c", "z"))
    data = made.to_bytes()
    for secret in (SECRET, KEY.derived("state class"), KEY.derived("state file")):
        assert secret not in data
        for shown in (repr(made), repr(made.counts), repr(asked), made._repr_html_()):
            assert secret.hex() not in shown
            assert repr(secret)[2:-1] not in shown
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(made)
    with pytest.raises(SecretKeyError):
        df.anon.state(QID, key=None)
    with pytest.raises(SecretKeyError) as refused:
        df.anon.state(QID, key="not a key but a text")
    assert "not a key but" not in str(refused.value)


def test_arrays_of_a_state_do_not_change():
    made = pd.DataFrame(CELLS).anon.state(QID, sensitive="ill", unit="who", key=KEY)
    for array in (made.counts.rows, made.counts.classes, made.counts.values["ill"].persons):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.slow
def test_a_large_state_is_that_of_its_parts():
    rng = np.random.default_rng(18)
    df = pd.DataFrame({"a": rng.integers(0, 300, 60_000), "b": rng.integers(0, 90, 60_000)})
    df["ill"] = rng.integers(0, 9, len(df))
    whole = df.anon.state(["a", "b"], sensitive="ill", key=KEY)
    halves = [half.anon.state(["a", "b"], sensitive="ill", key=KEY) for half in (df[::2], df[1::2])]
    assert halves[0].merge(halves[1]) == whole
    assert whole.classes() == anonrisk.classes(df, ["a", "b"])
    assert State.from_bytes(whole.to_bytes(), key=KEY) == whole
