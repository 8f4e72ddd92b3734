"""What a session, a connection or a driver was told by its owner changes no answer."""

from __future__ import annotations

import re
import sqlite3

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk import Policy
from anonrisk.engines import engine_for
from anonrisk.errors import UnsupportedColumnError, UnsupportedFrameError
from anonrisk.measures.counts.contents import CellContents

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("sqlglot")
table = anonrisk.sql.table


def filled(connection, columns, rows):
    connection.execute(f"CREATE TABLE t ({columns})")
    marks = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    connection.commit()
    return connection


# ---- SQLite ---------------------------------------------------------------------------------


def test_a_driver_that_changes_the_names_of_columns_is_refused():
    # The changed name would be a text, the same in every row.
    detecting = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_COLNAMES)
    filled(detecting, '"income [EUR]" INT, city TEXT', [(1000 + i, "A") for i in range(10)])
    full = filled(sqlite3.connect(":memory:"), "income INT, city TEXT", [(1, "A"), (2, "A")])
    full.execute("PRAGMA short_column_names = 0")
    full.execute("PRAGMA full_column_names = 1")
    engine = sa.create_engine("sqlite://", creator=lambda: detecting, poolclass=sa.pool.StaticPool)
    for connection in (detecting, engine, full):
        for rows in ("t", "SELECT * FROM t"):
            with pytest.raises(UnsupportedFrameError, match=r"PARSE_COLNAMES.*full_column_names"):
                table(connection, rows).anon.k("city")


@pytest.mark.parametrize(
    "name", ["a`b", 'a"b', "a[b]", "a:b", "a%b", "a?b", "a.b", "select", "a\nb", "''", "q0"]
)
def test_every_name_is_read_as_a_name(name):
    quoted = '"' + name.replace('"', '""') + '"'
    connection = filled(sqlite3.connect(":memory:"), f"{quoted} TEXT", [("u",), ("u",), ("v",)])
    assert table(connection, "t").anon.classes([name]).n_classes == 2
    assert table(connection, "SELECT * FROM t").anon.classes([name]).n_classes == 2


def test_texts_are_compared_exactly_whatever_a_collation_of_the_caller_says():
    connection = sqlite3.connect(":memory:")

    def digits(a, b):
        a, b = a.replace("-", ""), b.replace("-", "")
        return (a > b) - (a < b)

    connection.create_collation("digits", digits)
    rows = [("12-3", "x"), ("1-23", "X"), ("123", "x"), ("123", "x")]
    filled(connection, "a TEXT COLLATE digits, b TEXT COLLATE nocase", rows)
    people = table(connection, "t")
    assert people.anon.classes("a").n_classes == 3
    assert people.anon.plan("a", 2).before.k == 1
    assert people.anon.kmap("a", population=people) == 1
    assert Policy(quasi="a", unlisted="ignore", k=2).check(people).status == "fail"
    with pytest.raises(UnsupportedColumnError, match="collation"):
        people.anon.k("b")


@pytest.mark.parametrize(
    "search",
    [
        lambda pattern, text: text is not None and re.match(pattern, text) is not None,
        lambda pattern, text: text is not None and re.fullmatch(pattern, text) is not None,
        lambda text, pattern: text is not None and re.search(pattern, text) is not None,
    ],
    ids=["match", "fullmatch", "the other way round"],
)
def test_cells_are_looked_at_with_our_own_expressions(search):
    connection = sqlite3.connect(":memory:")
    rows = [("z", f"a{i}@mail.example.com") for i in range(40)]
    filled(connection, "zip TEXT, note TEXT", rows)
    policy = Policy(quasi="zip", sensitive="note", k=2)
    expected = policy.check(table(connection, "t"))
    connection.create_function("regexp", 2, search)
    assert policy.check(table(connection, "t")) == expected
    assert expected.status == "could_not_assess"


def test_a_statement_of_the_caller_may_be_under_way():
    rows = [("1", f"a{i}") for i in range(4)]
    connection = filled(sqlite3.connect(":memory:"), "zip TEXT, note TEXT", rows)
    people = table(connection, "t")
    before = people.anon.find_qids()
    cursor = connection.execute("SELECT * FROM t")
    cursor.fetchone()
    assert people.anon.find_qids() == before
    assert len(cursor.fetchall()) == 3


def test_texts_that_come_as_bytes_are_texts():
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    sa.event.listen(engine, "connect", lambda driver, _: setattr(driver, "text_factory", bytes))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a TEXT COLLATE nocase, b TEXT)")
        for text in "aAbB":
            connection.exec_driver_sql("INSERT INTO t VALUES (?, ?)", (text, text))
    for rows in ("t", "SELECT * FROM t"):
        assert table(engine, rows).anon.k("b") == 1
        with pytest.raises(UnsupportedColumnError, match="collation"):
            table(engine, rows).anon.k("a")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT a FROM t").scalar() == b"a"


def test_converters_of_the_caller_change_no_cell_that_is_counted():
    sqlite3.register_converter("FIRST", lambda cell: cell[:1].decode())
    connection = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
    filled(connection, "a FIRST", [(f"a{i}",) for i in range(10)])
    people = table(connection, "t")
    assert people.anon.k("a") == 1
    assert people.anon.plan("a", 2).before.k == 1
    assert len(people.anon.summary("a", by="a")) == 10


# ---- DuckDB ---------------------------------------------------------------------------------


def test_the_order_that_a_session_of_duckdb_has_by_default_does_not_matter():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (zip TEXT, income DOUBLE, word TEXT)")
    rows = [(str(i % 2), float(i + 90 * (i % 2)), "abcdefgh"[i % 8]) for i in range(40)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)

    def answers():
        people = table(connection, "t")
        return [
            people.anon.tcloseness("zip", "income", distance="ordered"),
            people.anon.tcloseness("zip", "word", order=list("hgfedcba")),
            str(people.anon.assess("zip", "income")),
            people.anon.explain_risk(["word", "income"]),
            people.anon.plan(["zip", "income"], 4).to_yaml(),
        ]

    expected = answers()
    connection.execute("SET default_order = 'DESC'")
    assert answers() == expected


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "datafusion"])
def test_decimals_of_many_digits_stay_apart_in_a_plan(kind, request):
    numbers = [10**19 + i for i in range(8)]
    if kind == "duckdb":
        connection = pytest.importorskip("duckdb").connect()
    elif kind == "postgresql":
        connection = sa.create_engine(request.getfixturevalue("postgres"))
    else:
        connection = pytest.importorskip("datafusion").SessionContext()
    values = ", ".join(f"(CAST('{number}' AS DECIMAL(38, 2)))" for number in numbers)
    people = table(connection, f"SELECT n FROM (VALUES {values}) AS v (n)")
    assert people.anon.k("n") == 1
    plan = people.anon.plan("n", 2)
    assert (plan.before.k, plan.after.k) == (1, 8)
    assert people.anon.utility("n", original=people).mutual_information == pytest.approx(3)


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "datafusion"])
def test_instants_and_clocks_are_no_population_of_each_other(kind, request):
    clock = "CAST('2020-01-01 12:00:00' AS TIMESTAMP)"
    instant = f"{clock} AT TIME ZONE 'UTC'"
    if kind == "duckdb":
        connection = pytest.importorskip("duckdb").connect()
    elif kind == "postgresql":
        connection = sa.create_engine(request.getfixturevalue("postgres"))
    else:
        connection = pytest.importorskip("datafusion").SessionContext()
        instant = f"""arrow_cast({clock}, 'Timestamp(Nanosecond, Some("UTC"))')"""
    clocks, instants = (table(connection, f"SELECT {x} AS t") for x in (clock, instant))
    assert clocks.anon.kmap("t", clocks) == instants.anon.kmap("t", instants) == 1
    with pytest.raises(UnsupportedColumnError, match="mixes types"):
        instants.anon.kmap("t", clocks)


def test_short_floats_have_the_digits_that_they_are_written_with():
    duckdb = pytest.importorskip("duckdb")
    numbers = np.array([52.001 + i / 1000 for i in range(200)], dtype="float32")
    plain = pd.DataFrame({"lat": numbers})
    connection = duckdb.connect()
    connection.register("t", plain)
    policy = Policy(quasi="lat", k=1)
    expected = {finding.budget: finding.status for finding in policy.check(plain).findings}
    result = policy.check(table(connection, "t"))
    assert {finding.budget: finding.status for finding in result.findings} == expected
    asked = CellContents(("lat",))
    looks = [engine_for(x).count(x, asked)["lat"].looks for x in (plain, table(connection, "t"))]
    assert looks[0] == looks[1]
    assert "degrees" not in looks[0]


# ---- PostgreSQL -----------------------------------------------------------------------------


def test_floats_come_with_all_their_digits(postgres):
    connection = postgres_connection(postgres)
    connection.execute("SET extra_float_digits = 0")
    connection.commit()
    query = "SELECT 1 + i * 1e-15 AS x FROM generate_series(0, 7) AS g (i)"
    for autocommit in (False, True):
        connection.rollback()
        connection.autocommit = autocommit
        assert table(connection, query).anon.plan("x", 2).before.k == 1
    assert table(sa.create_engine(postgres), query).anon.plan("x", 2).before.k == 1
    assert connection.execute("SHOW extra_float_digits").fetchone() == ("0",)


def test_no_statement_of_ours_stays_prepared(postgres):
    connection = postgres_connection(postgres)
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.commit()
    for _ in range(8):
        assert table(connection, "t").anon.k("a") == 1
    left = connection.execute("SELECT statement FROM pg_prepared_statements").fetchall()
    assert left == []
    assert connection.prepare_threshold == 5


def test_a_table_of_many_texts_is_looked_at_in_several_statements(postgres):
    connection = postgres_connection(postgres)
    columns = [f"c{i}" for i in range(200)]
    cells = ", ".join(f"'{i}@example.com' || g AS {name}" for i, name in enumerate(columns))
    people = table(connection, f"SELECT {cells} FROM generate_series(1, 4) AS g")
    found = people.anon.find_qids(columns, max_size=1)
    assert len(found.sets) == 200


def postgres_connection(url):
    import psycopg

    return psycopg.connect(url.replace("+psycopg", ""))


# ---- DataFusion -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t WHERE random() < 0.5",
        "SELECT a, uuid() AS u FROM t",
        "SELECT * FROM t LIMIT 3",
        "SELECT * FROM (SELECT * FROM t FETCH FIRST 3 ROWS ONLY) AS x",
    ],
)
def test_a_query_that_is_another_each_time_is_refused_where_it_runs_several_times(query):
    session = pytest.importorskip("datafusion").SessionContext()
    session.from_pydict({"a": [1, 2, 3, 4]}, name="t")
    with pytest.raises(UnsupportedFrameError, match="DataFusion runs a query several times"):
        table(session, query)


def test_names_and_texts_that_look_like_that_are_none_of_it():
    session = pytest.importorskip("datafusion").SessionContext()
    session.from_pydict({"limit": [1, 1], "random": ["limit 3", "uuid()"]}, name="t")
    people = table(session, "SELECT \"limit\", random FROM t WHERE random <> 'random()'")
    assert people.anon.k(["limit", "random"]) == 1
