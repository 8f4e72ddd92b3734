"""Links across a change of pseudonyms, against brute force, on every engine."""

from __future__ import annotations

import datetime as dt
import json
import random

import numpy as np
import oracle_traces as oracle
import pandas as pd
import pytest

from anonrisk import errors

DAY = dt.datetime(2026, 1, 1)
LATE = dt.datetime(9999, 12, 31, 23, 59, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
PARTS = ("n_both", "n_linked", "n_false", "n_changes", "expected", "chance")


def made(seed, n_users=15, n_qids=8, most=4, span=40):
    rng = random.Random(seed)
    records = []
    for user in range(n_users):
        own = rng.choices([*range(n_qids), None], k=2)
        number = rng.randint(1, most)
        records += [(user, rng.choice(own), rng.randrange(span)) for _ in range(number)]
    rng.shuffle(records)
    return records


def cells(records):
    users, qids, times = zip(*records, strict=True)
    return {
        "who": [f"p{u}" for u in users],
        "zip": [None if q is None else f"z{q}" for q in qids],
        "n": list(times),
        "at": [DAY + dt.timedelta(hours=t) for t in times],
    }


def same(found, expected):
    return {part: getattr(found, part) for part in PARTS} == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_links_are_those_of_brute_force(frame, seed):
    records = made(seed)
    table = frame(cells(records))
    one = table.anon.linkability("who", "zip", "n", at=20)
    assert same(one, oracle.links(records, lambda t: int(t >= 20)))
    assert one.linked == one.n_linked / one.n_both
    stamped = table.anon.linkability("who", "zip", "at", at=DAY + dt.timedelta(hours=20))
    assert stamped.to_dict() == one.to_dict()
    many = table.anon.linkability("who", "zip", "at", period="10h")
    # Periods start at multiples of ten hours since 1970.
    start = int((DAY - dt.datetime(1970, 1, 1)).total_seconds()) // 3600
    assert same(many, oracle.links(records, lambda t: (start + t) // 10))


@pytest.mark.slow
def test_many_random_tables_on_pandas():
    for seed in range(60):
        records = made(seed, n_users=9, n_qids=6)
        table = pd.DataFrame(cells(records))
        low, high = min(t for *_, t in records), max(t for *_, t in records)
        expected = oracle.links(records, lambda t, at=-(-(low + high) // 2): int(t >= at))
        if expected["n_both"]:
            assert same(table.anon.linkability("who", "zip", "n"), expected), seed
        expected = oracle.links(records, lambda t: t // 7)
        if expected["n_both"]:
            table["n"] = pd.to_datetime(table["n"], unit="s")
            assert same(table.anon.linkability("who", "zip", "n", period="7s"), expected), seed


def test_nothing_to_link_by_is_chance_and_a_name_is_certain(frame):
    cells = {
        "who": [1, 2, 3, 1, 2, 3],
        "name": list("abcabc"),
        "same": ["x"] * 6,
        "new": list("abcdef"),
        "day": [1, 1, 1, 9, 9, 9],
    }
    table = frame(cells)
    certain = table.anon.linkability("who", "name", "day")
    assert (certain.linked, certain.expected, certain.n_false) == (1.0, 1.0, 0)
    alike = table.anon.linkability("who", "same", "day")
    assert (alike.linked, alike.expected, alike.chance) == (0, pytest.approx(1 / 3), alike.expected)
    none = table.anon.linkability("who", "new", "day")
    assert (none.linked, none.expected) == (0, 0)


def test_a_persons_whole_set_of_values_links_too(frame):
    cells = {"u": [1, 1, 2, 2, 3, 3] * 2, "q": list("abbcac") * 2, "t": [1] * 6 + [9] * 6}
    found = frame(cells).anon.linkability("u", "q", "t")
    assert (found.linked, found.expected, found.n_false) == (1.0, 1.0, 0)


def test_persons_are_not_pairs_of_a_person_and_a_change():
    days = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"])
    table = pd.DataFrame({"who": [1] * 3, "zip": ["a"] * 3, "day": days})
    found = table.anon.linkability("who", "zip", "day", period="1D")
    assert (found.n_persons, found.n_both) == (1, 2)
    assert "2 pairs of a person and a change on both sides of 2 changes" in repr(found)


def test_whole_numbers_of_numpy_are_moments():
    table = pd.DataFrame(cells(made(3)))
    one = table.anon.linkability("who", "zip", "n", at=20)
    assert table.anon.linkability("who", "zip", "n", at=np.int64(20)) == one


def test_values_that_change_hands_link_wrongly(frame):
    table = frame({"who": [1, 2, 1, 2], "zip": ["a", "b", "b", "a"], "day": [1, 1, 9, 9]})
    found = table.anon.linkability("who", "zip", "day")
    assert (found.n_linked, found.n_false, found.expected) == (0, 2, 0.0)
    assert "2 values would link two different persons" in repr(found)


def test_missing_values(frame):
    table = frame({"who": [1, 2, 1, 2], "zip": [None, "b", None, "b"], "day": [1, 1, 9, 9]})
    assert table.anon.linkability("who", "zip", "day").n_linked == 2
    dropped = table.anon.linkability("who", "zip", "day", missing="drop")
    assert (dropped.n_linked, dropped.n_dropped, dropped.n_both) == (1, 2, 1)
    with pytest.raises(errors.MissingValuesError, match="in 2 r"):
        table.anon.linkability("who", "zip", "day", missing="error")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.anon.linkability("wo", "zip", "day"), errors.ColumnNotFoundError, "'who'"),
        (lambda t: t.anon.linkability("who", "zp", "day"), errors.ColumnNotFoundError, "'zip'"),
        (lambda t: t.anon.linkability("who", "zip", "dy"), errors.ColumnNotFoundError, "'day'"),
        (lambda t: t.anon.linkability("who", "who", "day"), errors.RoleConflictError, "both"),
        (lambda t: t.anon.linkability("who", "zip", "day", at="x"), errors.ArgumentError, "at="),
        (
            lambda t: t.anon.linkability("who", ["zip", "day"], "day"),
            errors.RoleConflictError,
            "both time and quasi-identifier",
        ),
        (
            lambda t: t.anon.linkability("who", "zip", "day", at=DAY),
            errors.ArgumentError,
            "at= is a date, but time 'day' holds numbers",
        ),
        (
            lambda t: t.anon.linkability("who", "zip", "day", at=pd.NaT),
            errors.ArgumentError,
            "at= is a date",
        ),
        (
            lambda t: t.anon.linkability("who", "zip", "day", at=LATE),
            errors.UnsupportedColumnError,
            "'at'.*years 1 to 9999",
        ),
        (
            lambda t: t.anon.linkability("who", "zip", "day", at=1, period="1D"),
            errors.ArgumentError,
            "not both",
        ),
        (
            lambda t: t.anon.linkability("who", "zip", "day", period="1M"),
            errors.ArgumentError,
            "months and years",
        ),
        (
            lambda t: t.anon.linkability("who", "zip", "day", period="1D"),
            errors.UnsupportedColumnError,
            "no days or hours",
        ),
        (
            lambda t: t.anon.linkability("who", "day", "zip"),
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
        table.anon.linkability("who", "zip", "day")


def test_it_prints_and_serialises():
    table = pd.DataFrame(cells(made(3)))
    found = table.anon.linkability("who", "zip", "n", at=20)
    json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(errors.ArgumentError, match="at= is a number, but time 'at' holds dates"):
        table.anon.linkability("who", "zip", "at", at=20)
    assert "linked for certain" in found._repr_html_()
    for error, wrong in (
        (errors.MissingUnitError, table.assign(who=None)),
        (errors.MissingTimeError, table.assign(n=pd.array([None] * len(table), dtype="Int64"))),
        (errors.EmptyTableError, table.iloc[:0]),
    ):
        with pytest.raises(error):
            wrong.anon.linkability("who", "zip", "n")
