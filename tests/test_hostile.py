"""Hostile tables, drawn by tests/hostile.py: the right answer on every engine, or our error."""

from __future__ import annotations

import warnings

import every_call
import hostile
import pandas as pd
import pytest
from tables import SQL_NUMBERS, columns_of, rows_of, to_rows

import anonrisk

# How many tables one test asks about; a job on Spark takes as long as a hundred calls in process.
BATCH, FEW, FEWER = 100, 50, 10
# By night: in each of the six in-process kinds of the lane of nightly tests, 21,000 in sum, and of
# all ten in the lane of all cases, 35,000; and where each is a job.
NIGHT, NIGHT_FAR = 3500, 300
IN_PROCESS = (
    *("pandas", "pandas_nullable", "pandas_arrow", "pandas_object", "polars", "duckdb"),
    *("polars_lazy", "pyarrow", "narwhals", "held"),
)
DATABASES = ("sqlite", "duckdb_sql", "datafusion", "postgresql")
FAR = ("spark", "connect", "pandas_on_spark", *DATABASES, "scan")


def asked(frame, first, wanted):
    """Draw tables from a number on until so many were made, and ask about each.

    A library that holds no such table gives none,
    and the next is drawn; SQLite holds one of three.
    """
    if frame.kind.startswith("pandas_on"):
        pytest.skip("counted by Spark, which is asked; its rows are not read back as they are")
    made = answered = 0

    def excused(error):
        listed = every_call.is_listed(frame.kind, error)
        return listed or isinstance(error, anonrisk.errors.MissingLibraryError)

    for number in range(first, first + 6 * wanted):
        if made == wanted:
            break
        case = hostile.drawn(number)
        try:
            table = frame(case.cells)
        except (Exception, pytest.skip.Exception):  # noqa: BLE001
            continue
        if {*columns_of(table)} != {*case.cells}:
            continue  # DuckDB gives one of two names another that differ by case alone
        made += 1
        # pandas has merged whole numbers beyond 2^53 beside missing ones before we see them.
        rows = to_rows(table) if frame.kind.startswith("pandas") else rows_of(case.cells)
        try:
            answered += hostile.agrees(case, table, rows, excused)
        except Exception as error:
            error.add_note(f"hostile.drawn({number}) = {case}")
            raise
    assert made == wanted, "draw more"
    assert answered > made / 3, "a refusal is right where it is one, not everywhere"


@pytest.mark.contract
@pytest.mark.parametrize("batch", range(5))
def test_hostile_tables_are_answered_right_or_refused(frame, batch):
    if frame.kind in FAR and batch:
        pytest.skip("fifty are asked by day where each is a job")
    # Connect sends the same plans as Spark, which has answered fifty, and takes twice as long.
    of_jobs = FEWER if frame.kind == "connect" else FEW
    asked(frame, batch * 1000, of_jobs if frame.kind in FAR else BATCH)


@pytest.mark.nightly
def test_thousands_of_hostile_tables(frame):
    """Each in-process kind is asked NIGHT tables that it holds, no two kinds about the same.

    The others are asked NIGHT_FAR each, all about the same ones as far as they hold them.
    """
    if frame.kind in FAR:
        asked(frame, 10_000, NIGHT_FAR)
    else:
        asked(frame, 100_000 * (1 + IN_PROCESS.index(frame.kind)), NIGHT)


def ask_odd(numbers):
    answered = 0
    for number in numbers:
        case, table, rows = hostile.odd_table(number)
        try:
            answered += hostile.agrees(case, table, rows, lambda _: True)
        except Exception as error:
            error.add_note(f"hostile.odd_table({number}): {case}, {dict(table.dtypes)}")
            raise
    assert answered > len(numbers) / 4


@pytest.mark.slow
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


# Of a pair of cells, one of them twice, and of a missing one.
PAIR = {1: 2, 2: 1}


def sizes_or_refusal(table, qid="x"):
    """Return how many classes there are of each size, or that our error says why not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return dict(hostile.histograms(anonrisk.classes(table, qid))[0])
        except anonrisk.AnonRiskError as error:
            return error


@pytest.mark.contract
@pytest.mark.kinds("pandas_arrow", "pyarrow", "polars", "duckdb", "scan")
def test_every_type_of_arrow(frame, tmp_path):
    pa = pytest.importorskip("pyarrow")
    answered = []
    for kind, cells in hostile.arrow_types(pa).items():
        if frame.kind == "polars" and kind == pa.decimal256(76, 0):
            continue  # it panics
        column = pa.array([cells[0], cells[-1], cells[-2], None], kind)
        try:
            if frame.kind == "pandas_arrow":
                table = pd.DataFrame({"x": pd.array(column, pd.ArrowDtype(kind))})
            else:
                table = frame({"x": column})
        except Exception:  # noqa: BLE001
            continue  # a library that does not hold such a column gives us none
        found = sizes_or_refusal(table)
        assert isinstance(found, anonrisk.AnonRiskError) or found == PAIR, kind
        answered += [kind] * (found == PAIR)
    assert len(answered) > 12


def typed(frame, kind, cells, request):
    """Make a table of a column of a database's own type, by texts."""
    values = [f"CAST('{cell}' AS {kind})" for cell in cells] + [f"CAST(NULL AS {kind})"]
    query = " UNION ALL ".join(f"SELECT {value} AS x" for value in values)
    if frame.kind in ("spark", "connect"):
        return request.getfixturevalue("spark").sql(query)
    name = f"t{next(SQL_NUMBERS)}"
    run = frame.connection.sql if frame.kind == "datafusion" else frame.connection.execute
    run(f"CREATE TABLE {name} AS {query}")
    return anonrisk.sql.table(frame.connection, name)


@pytest.mark.contract
@pytest.mark.kinds("spark", "connect", "sql")
def test_every_type_of_a_database(frame, request):
    answered = []
    types = hostile.SQL_COLUMNS["spark" if frame.kind == "connect" else frame.kind]
    for kind, cells in types.items():
        found = sizes_or_refusal(typed(frame, kind, cells, request))
        assert isinstance(found, anonrisk.AnonRiskError) or found == PAIR, kind
        answered += [kind] * (found == PAIR)
    assert len(answered) > len(types) / 3


@pytest.mark.contract
@pytest.mark.kinds("spark", "connect", "duckdb_sql", "datafusion", "postgresql")
def test_what_is_no_number_is_missing_in_every_type(frame, request):
    for kind in ("real", "double", "float8", "numeric", "FLOAT"):
        try:
            table = typed(frame, kind, ["NaN", "1"], request)
        except Exception:  # noqa: BLE001
            continue  # no such type, or none of its values is no number
        found = sizes_or_refusal(table)
        assert isinstance(found, anonrisk.AnonRiskError) or found == {2: 1, 1: 1}, kind
