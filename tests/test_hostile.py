"""Hostile tables, drawn by tests/hostile.py: the right answer on every engine, or our error."""

from __future__ import annotations

import hostile
import pandas as pd
import pytest
from tables import rows_of, to_rows

import anonrisk

# How many tables one test asks about; a job on Spark takes as long as a hundred calls in process.
BATCH, FEW = 100, 50
FAR = ("spark", "connect", "pandas_on_spark", "sqlite", "duckdb_sql", "postgresql", "scan")


def asked(frame, numbers):
    """Ask about each table; tell which could be made, and which were answered."""
    made, answered = [], []
    for number in numbers:
        case = hostile.drawn(number)
        try:
            table = frame(case.cells)
        except (Exception, pytest.skip.Exception):  # noqa: BLE001
            continue  # a library that does not hold such a table gives us none
        made.append(number)
        # pandas has merged whole numbers beyond 2^53 beside missing ones before we see them.
        rows = to_rows(table) if frame.kind.startswith("pandas") else rows_of(case.cells)
        try:
            answered += [number] * hostile.agrees(case, table, rows)
        except Exception as error:
            error.add_note(f"hostile.drawn({number}) = {case}")
            raise
    return made, answered


@pytest.mark.parametrize("batch", range(5))
def test_hostile_tables_are_answered_right_or_refused(frame, batch):
    if frame.kind in FAR and batch:
        pytest.skip("fifty are asked by day where each is a job")
    numbers = range(FEW) if frame.kind in FAR else range(batch * BATCH, (batch + 1) * BATCH)
    made, answered = asked(frame, numbers)
    assert len(made) > len(numbers) / 3
    assert len(answered) > len(made) / 3, "a refusal is right where it is one, not everywhere"


@pytest.mark.nightly
def test_thousands_of_hostile_tables(frame):
    numbers = range(1000, 1300 if frame.kind in FAR else 4000)
    made, answered = asked(frame, numbers)
    assert len(answered) > len(made) / 3


def ask_odd(numbers):
    answered = 0
    for number in numbers:
        case, table, rows = hostile.odd_table(number)
        try:
            answered += hostile.agrees(case, table, rows)
        except Exception as error:
            error.add_note(f"hostile.odd_table({number}): {case}, {dict(table.dtypes)}")
            raise
    assert answered > len(numbers) / 4


@pytest.mark.parametrize("batch", range(2))
def test_types_names_and_labels_that_only_pandas_has(batch):
    ask_odd(range(batch * BATCH, (batch + 1) * BATCH))


@pytest.mark.nightly
def test_thousands_of_types_names_and_labels():
    ask_odd(range(1000, 4000))


@pytest.mark.parametrize("order", [{}, {"distance": "ordered"}])
def test_integers_that_lie_far_apart_take_no_room(frame, order):
    """Each of 2^31 places, one for every number between them, would take 16 GiB."""
    cells = {"q": ["a", "a", "b", "b"], "s": [0, 2**31 - 1, 0, 0]}
    table = frame(cells)
    assert anonrisk.ldiv(table, "q", "s") == 1
    assert anonrisk.tcloseness(table, "q", "s", **order) == pytest.approx(0.25)


def test_households_whose_numbers_lie_far_apart_take_no_room():
    table = pd.DataFrame({"q": ["a", "a", "b", "b"], "home": [0, 2**31 - 1, 0, 0]})
    near = table.assign(home=[0, 1, 0, 0])
    told = [anonrisk.risk(one, "q", household="home").household.highest for one in (table, near)]
    assert told[0] == told[1]
