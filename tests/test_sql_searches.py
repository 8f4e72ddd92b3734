"""Searches of many sets of columns give the same in a database as on pandas."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import sqlite3
from collections import Counter

import pandas as pd
import pytest

import anonrisk
from anonrisk.errors import EmptyTableError, UnsupportedColumnError

sa = pytest.importorskip("sqlalchemy")
databases = pytest.importorskip("databases")
ODD, answer, pandas_of = databases.ODD, databases.answer, databases.pandas_of

MAILS = ["a@b.de", "o'h\"a@b.de", "a\n@b.de", "0170 1234567", "2020-01-02 x", "123-45-6789", None]


@pytest.fixture(scope="module", params=databases.PLACES)
def place(request, tmp_path_factory):
    with databases.opened(request.param, request, tmp_path_factory.mktemp("db")) as found:
        yield found


def random_cells(seed, n):
    rng = random.Random(seed)
    return {
        "q": [rng.choice(["a", "A", "a ", "b", None, "é", "o'h\"a", "%s"]) for _ in range(n)],
        ODD: [rng.choice([0.0, -0.0, 1.5, 2.25, 7.0, float("nan"), None]) for _ in range(n)],
        "i": [rng.choice([1, 2, 123_456_789, None]) for _ in range(n)],
        "zip": [rng.choice(["1010", "1020", "20 30", None]) for _ in range(n)],
        "mail": [rng.choice(MAILS) for _ in range(n)],
        "b": [rng.choice([True, False, None]) for _ in range(n)],
        "u": [rng.randrange(max(n // 2, 1)) for _ in range(n)],
    }


COLUMNS = ["q", ODD, "i", "zip", "mail"]


def found_by(table, columns=COLUMNS, **options):
    """What is found; how many sets were counted for it is the engine's business."""
    report = answer(anonrisk.find_qids, table, columns=columns, max_size=3, **options)
    if isinstance(report, tuple):
        return report
    rest = (report.n_records, report.n_dropped, report.n_sets, report.direct)
    return [(found.columns, found.sizes.to_dict()) for found in report.sets], rest


def explained(table, **options):
    found = answer(anonrisk.explain_risk, table, ["q", ODD, "i", "zip"], **options)
    return found if isinstance(found, tuple) else str(found)


OPTIONS = [{}, {"unit": "u"}, {"missing": "drop"}, {"missing": "error"}, {"unit": "q"}]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_search_finds_what_it_finds_on_pandas(place, options):
    cells = random_cells(7, 50)
    frame, table = pandas_of(cells), place.table(cells)
    columns = [name for name in COLUMNS if name not in options.values()]
    assert found_by(table, columns, **options) == found_by(frame, columns, **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS[:-1], ids=str)
def test_a_risk_has_the_same_reasons_as_on_pandas(place, options):
    cells = random_cells(8, 40)
    assert explained(place.table(cells), **options) == explained(pandas_of(cells), **options)


@pytest.mark.slow
def test_days_that_are_text_become_months_in_a_database_too(place):
    cells = {"day": ["2024-05-01", "2024-05-31", None, "2023-12-09"], "n": [1, 1, 2, 2]}
    said = [str(anonrisk.explain_risk(t, "day")) for t in (place.table(cells), pd.DataFrame(cells))]
    assert said[0] == said[1]
    assert "year and month" in said[0]


@pytest.mark.slow
def test_columns_look_the_same_as_on_pandas(place):
    from anonrisk.engines import engine_for
    from anonrisk.measures.counts.question import ManySets, Question

    cells = random_cells(9, 60)
    cells["text"] = [str(x) for x in ([1, "1.50", "-3", "1e5", ".5", "x", "2020-01-01"] * 9)[:60]]
    asked = ManySets(Question(((*COLUMNS, "text"),)))
    looked = []
    for table in (place.table(cells), pandas_of(cells)):
        counter = engine_for(table).count(table, asked)
        looked.append((counter.shapes(), counter.numerals()))
    assert looked[0] == looked[1]


@pytest.mark.slow
def test_dates_and_instants_become_bins_of_equal_width(place):
    if place.kind == "sqlite":
        pytest.skip("SQLite has no dates: it keeps texts")
    days = [dt.date(1969, 12, 28) + dt.timedelta(days=(i * i) % 40) for i in range(30)]
    cells = {"d": [*days, None], "n": list(range(31))}
    table = place.table(cells)
    stamps = place.query(
        "SELECT *, CAST(d AS TIMESTAMP) + INTERVAL '1500 MICROSECOND' AS t FROM \"t\""
    )
    frame = pd.DataFrame(cells)
    frame["t"] = pd.to_datetime(frame["d"]) + pd.Timedelta(microseconds=1500)
    for found, name in ((table, "d"), (stamps, "t")):
        expected = str(anonrisk.explain_risk(frame, [name]))
        assert "bins of equal width" in expected
        assert str(anonrisk.explain_risk(found, [name])) == expected


@pytest.mark.slow
def test_the_statements_of_a_search_are_few_and_only_histograms_leave(place):
    cells = random_cells(3, 2000)
    table = place.table(cells)
    with place.watched() as seen:
        report = anonrisk.find_qids(table, qids=COLUMNS, max_size=2, alpha=0.001)
    # Types and gaps once, a statement for five columns and all of them, one for pairs, one look;
    # nothing is found, and one statement more finds what is nearest.
    assert report.n_sets == 15
    assert seen.kinds() == Counter(
        {"count the classes": 3, "look at the columns": 1, "count the rows": 1}
    )
    # A set of n records has less than the root of 2n sizes.
    assert seen.rows <= 16 * 63 < 2000


def test_columns_that_cannot_be_compared_are_set_apart(tmp_path):
    with databases.opened("duckdb itself", None, tmp_path) as place:
        table = place.query("SELECT 1 AS a, [1, 2] AS l, 'x' AS b UNION ALL SELECT 2, [3], 'x'")
        report = anonrisk.find_qids(table)
        assert list(report.unsupported) == ["l"]
        assert [found.columns for found in report.sets] == [("a",)]
        with pytest.raises(UnsupportedColumnError, match="'l'"):
            anonrisk.explain_risk(table, ["a", "l"])
        with pytest.raises(EmptyTableError):
            anonrisk.find_qids(place.query("SELECT 1 AS a WHERE 1 = 0"))


def test_a_connection_of_sqlite_itself_matches_expressions():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (m TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [(f"a{i}@b.de",) for i in range(30)])
        table = anonrisk.sql.table(connection, "t")
        (found,) = table.anon.find_qids().direct
        assert (found.column, found.reason.partition(" ")[0]) == ("m", "looks")
