"""Links across a change of pseudonyms, against all pairs of persons, on every engine."""

from __future__ import annotations

import datetime as dt
import json
import random

import numpy as np
import oracle_links as oracle
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tables import rows_of, spark_table

import anonrisk
from anonrisk import errors

EPOCH = dt.datetime(1970, 1, 1)
LATE = dt.datetime(9999, 12, 31, 23, 59, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
PARTS = (
    *("n_records", "n_persons", "n_changes", "n_both"),
    *("n_linked", "n_false", "expected", "chance"),
)
# Times are hours since 1970, before and after it, or their numbers.
ASKED = st.sampled_from(
    [
        {},
        {"at": -1},
        {"at": 0},
        {"at": 3},
        {"period": 1},
        {"period": 2},
        {"period": 7},
    ]
)


@st.composite
def visits(draw):
    """A few persons, values and times, so that ties, gaps and people on one side are common.

    Everybody has their few values at each of their times, or not: whole sets link only who has.
    """
    values = st.tuples(st.sampled_from(["1011", "1012", "", None]), st.sampled_from([30.5, None]))
    rows = []
    for who in draw(st.lists(st.sampled_from("pqrsé"), min_size=1, max_size=5, unique=True)):
        own = draw(st.lists(values, min_size=1, max_size=3, unique=True))
        times = draw(st.lists(st.integers(-4, 4), min_size=1, max_size=3, unique=True))
        rows += [(who, *value, time) for time in times for value in own]
    strays = st.tuples(st.sampled_from("pqrsé"), values, st.integers(-4, 4))
    for who, value, time in draw(st.lists(strays, max_size=3)):
        rows.append((who, *value, time))
    columns = zip(*draw(st.permutations(rows)), strict=True)
    return dict(zip(("who", "zip", "age", "n"), map(list, columns), strict=True))


def made(seed, n_users=15, n_qids=8, most=4, span=40):
    """People with two postal codes each, or none, and one of four ages."""
    rng = random.Random(seed)
    rows = []
    for user in range(n_users):
        own, age = rng.choices([*range(n_qids), None], k=2), rng.choice([30.5, 40.5, 50.5, None])
        for _ in range(rng.randint(1, most)):
            number = rng.choice(own)
            postal = None if number is None else f"z{number}"
            rows.append((f"p{user}", postal, age, rng.randrange(span) - span // 2))
    rng.shuffle(rows)
    return dict(zip(("who", "zip", "age", "n"), zip(*rows, strict=True), strict=True))


def stamped(cells):
    return {**cells, "at": [EPOCH + dt.timedelta(hours=n) for n in cells["n"]]}


def same(found, expected):
    return {part: getattr(found, part) for part in PARTS} == pytest.approx(expected, rel=1e-12)


def check_against_all_pairs(table, cells, qids, asked, missing):
    """Ask with whole numbers where they can be, and with timestamps."""
    expected = oracle.links(rows_of(cells), "who", qids, "n", missing=missing, **asked)
    on_calendar = dict(asked)
    if "at" in asked:
        on_calendar["at"] = EPOCH + dt.timedelta(hours=asked["at"])
    if "period" in asked:
        on_calendar["period"] = f"{asked['period']}h"
    calls = [("at", on_calendar)] if "period" in asked else [("n", asked), ("at", on_calendar)]
    for time, words in calls:
        if expected["n_both"]:
            found = anonrisk.linkability(
                table, qids, unit="who", time=time, missing=missing, **words
            )
            assert same(found, expected)
            assert found.linked == found.n_linked / found.n_both
            assert found.n_records + found.n_dropped == len(cells["n"])
        else:
            with pytest.raises(errors.EmptyTableError, match=r"nobody to link|nothing to measure"):
                anonrisk.linkability(table, qids, unit="who", time=time, missing=missing, **words)


# Every value is two persons' and every set of values is one's.
RING = {
    "who": ["p", "p", "q", "q", "r", "r"] * 2,
    "zip": ["1011", "1012", "1012", "", "", "1011"] * 2,
    "age": [30.5] * 12,
    "n": [-1] * 6 + [0] * 6,
}


@pytest.mark.slow
@settings(
    max_examples=settings.default.max_examples * 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(cells=RING, qids=["zip", "age"], asked={"at": 0}, missing="value")
@given(
    cells=visits(),
    qids=st.sampled_from([["zip"], ["zip", "age"]]),
    asked=ASKED,
    missing=st.sampled_from(["value", "drop"]),
)
def test_links_are_those_of_all_pairs(frame, cells, qids, asked, missing):
    if frame.kind in ("spark", "connect", "pandas_on_spark"):
        pytest.skip("a nightly test tries some on Spark, where each takes seconds")
    cells = stamped(cells)
    check_against_all_pairs(frame(cells), cells, qids, asked, missing)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_links_of_a_larger_table_are_those_of_all_pairs(frame, seed):
    cells = stamped(made(seed))
    table = frame(cells)
    check_against_all_pairs(table, cells, ["zip", "age"], {"at": 0}, "value")
    check_against_all_pairs(table, cells, ["zip"], {"period": 10}, "drop")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.spark("spark")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=visits(), asked=ASKED, missing=st.sampled_from(["value", "drop"]))
def test_links_on_spark_are_those_of_all_pairs(spark, cells, asked, missing):
    cells = stamped(cells)
    check_against_all_pairs(spark_table(spark, cells), cells, ["zip", "age"], asked, missing)


@given(cells=visits(), asked=ASKED)
def test_shares_are_in_the_order_that_the_page_says(cells, asked):
    """Nobody is linked for certain who is not guessed, and what everybody has is a chance."""
    table = pd.DataFrame(stamped(cells)).assign(same="x")
    asked = {"period": f"{asked['period']}h"} if "period" in asked else {}
    try:
        found = anonrisk.linkability(table, "zip", unit="who", time="at", **asked)
    except errors.EmptyTableError:
        return
    assert 0 <= found.linked <= found.expected <= 1
    alike = anonrisk.linkability(table, "same", unit="who", time="at", **asked)
    assert alike.expected == pytest.approx(alike.chance)
    assert alike.chance == pytest.approx(found.chance)
    named = anonrisk.linkability(
        table.assign(name=table["who"]), "name", unit="who", time="at", **asked
    )
    assert (named.linked, named.expected, named.n_false) == (1, 1, 0)


def test_nothing_to_link_by_is_chance_and_a_name_is_certain(frame):
    cells = {
        "who": [1, 2, 3, 1, 2, 3],
        "name": list("abcabc"),
        "same": ["x"] * 6,
        "new": list("abcdef"),
        "day": [1, 1, 1, 9, 9, 9],
    }
    table = frame(cells)
    certain = anonrisk.linkability(table, "name", unit="who", time="day")
    assert (certain.linked, certain.expected, certain.n_false) == (1.0, 1.0, 0)
    alike = anonrisk.linkability(table, "same", unit="who", time="day")
    assert (alike.linked, alike.expected, alike.chance) == (0, pytest.approx(1 / 3), alike.expected)
    none = anonrisk.linkability(table, "new", unit="who", time="day")
    assert (none.linked, none.expected) == (0, 0)


def test_a_persons_whole_set_of_values_links_too(frame):
    cells = {"u": [1, 1, 2, 2, 3, 3] * 2, "q": list("abbcac") * 2, "t": [1] * 6 + [9] * 6}
    found = anonrisk.linkability(frame(cells), "q", unit="u", time="t")
    assert (found.linked, found.expected, found.n_false) == (1.0, 1.0, 0)


def test_persons_are_not_pairs_of_a_person_and_a_change():
    days = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"])
    table = pd.DataFrame({"who": [1] * 3, "zip": ["a"] * 3, "day": days})
    found = anonrisk.linkability(table, "zip", unit="who", time="day", period="1D")
    assert (found.n_persons, found.n_both) == (1, 2)
    assert "2 pairs of a person and a change on both sides of 2 changes" in repr(found)


def test_whole_numbers_of_numpy_are_moments():
    table = pd.DataFrame(stamped(made(3)))
    one = anonrisk.linkability(table, "zip", unit="who", time="n", at=0)
    assert anonrisk.linkability(table, "zip", unit="who", time="n", at=np.int64(0)) == one


def test_values_that_change_hands_link_wrongly(frame):
    table = frame({"who": [1, 2, 1, 2], "zip": ["a", "b", "b", "a"], "day": [1, 1, 9, 9]})
    found = anonrisk.linkability(table, "zip", unit="who", time="day")
    assert (found.n_linked, found.n_false, found.expected) == (0, 2, 0.0)
    assert "2 values would link two different persons" in repr(found)


def test_missing_values(frame):
    table = frame({"who": [1, 2, 1, 2], "zip": [None, "b", None, "b"], "day": [1, 1, 9, 9]})
    assert anonrisk.linkability(table, "zip", unit="who", time="day").n_linked == 2
    dropped = anonrisk.linkability(table, "zip", unit="who", time="day", missing="drop")
    assert (dropped.n_linked, dropped.n_dropped, dropped.n_both) == (1, 2, 1)
    with pytest.raises(errors.MissingValuesError, match="in 2 r"):
        anonrisk.linkability(table, "zip", unit="who", time="day", missing="error")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda t: anonrisk.linkability(t, "zip", unit="wo", time="day"),
            errors.ColumnNotFoundError,
            "'who'",
        ),
        (
            lambda t: anonrisk.linkability(t, "zp", unit="who", time="day"),
            errors.ColumnNotFoundError,
            "'zip'",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="dy"),
            errors.ColumnNotFoundError,
            "'day'",
        ),
        (
            lambda t: anonrisk.linkability(t, "who", unit="who", time="day"),
            errors.RoleConflictError,
            "both",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="day", at="x"),
            errors.ArgumentError,
            "at=",
        ),
        (
            lambda t: anonrisk.linkability(t, ["zip", "day"], unit="who", time="day"),
            errors.RoleConflictError,
            "both time and quasi-identifier",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="day", at=EPOCH),
            errors.ArgumentError,
            "at= is a date, but time 'day' holds numbers",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="day", at=pd.NaT),
            errors.ArgumentError,
            "at= is a date",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="day", at=LATE),
            errors.UnsupportedColumnError,
            "'at'.*years 1 to 9999",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="day", at=1, period="1D"),
            errors.ArgumentError,
            "not both",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="day", period="1M"),
            errors.ArgumentError,
            "months and years",
        ),
        (
            lambda t: anonrisk.linkability(t, "zip", unit="who", time="day", period="1D"),
            errors.UnsupportedColumnError,
            "no days or hours",
        ),
        (
            lambda t: anonrisk.linkability(t, "day", unit="who", time="zip"),
            errors.UnsupportedColumnError,
            "read the text as dates",
        ),
    ],
)
def test_wrong_calls(frame, call, error, text):
    table = frame({"who": ["secret1", "secret2"], "zip": ["secret3", "secret4"], "day": [1, 9]})
    with pytest.raises(error, match=text) as raised:
        call(table)
    assert "secret" not in str(raised.value)


def test_nobody_on_both_sides_is_an_error(frame):
    table = frame({"who": [1, 2], "zip": ["a", "b"], "day": [1, 9]})
    with pytest.raises(errors.EmptyTableError, match="nobody to link"):
        anonrisk.linkability(table, "zip", unit="who", time="day")


def test_it_prints_and_serialises():
    table = pd.DataFrame(stamped(made(3)))
    found = anonrisk.linkability(table, "zip", unit="who", time="n", at=0)
    json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(errors.ArgumentError, match="at= is a number, but time 'at' holds dates"):
        anonrisk.linkability(table, "zip", unit="who", time="at", at=0)
    assert "linked for certain" in found._repr_html_()
    for error, wrong in (
        (errors.MissingUnitError, table.assign(who=None)),
        (errors.MissingTimeError, table.assign(n=pd.array([None] * len(table), dtype="Int64"))),
        (errors.EmptyTableError, table.iloc[:0]),
    ):
        with pytest.raises(error):
            anonrisk.linkability(wrong, "zip", unit="who", time="n")
