"""`anonrisk.sql.table`: every way to name a table, one state a question, nothing written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
import traceback

import pytest
from keys import KEY

import anonrisk
from anonrisk.errors import (
    ArgumentError,
    ColumnNotFoundError,
    DuplicateColumnError,
    EngineError,
    MissingLibraryError,
    RolesLostError,
    TableNotFoundError,
    UnsupportedFrameError,
)

sa = pytest.importorskip("sqlalchemy")
databases = pytest.importorskip("databases")

CELLS = {"zip": ["1011", "1011", "1012"], "Age": [34, 34, 51], "illness": ["flu", "cold", "flu"]}


@pytest.fixture(params=databases.KINDS)
def engine(request, tmp_path):
    """An engine of SQLAlchemy, of a database that holds one table."""
    made = databases.connect(request.param, request, tmp_path)
    with made.begin() as connection:
        databases.write(connection, "people", CELLS)
    yield made
    made.dispose()


def insert(engine):
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO people VALUES ('1011', 34, 'flu')"))


def test_an_engine_a_connection_and_a_url_are_asked_alike(engine):
    named = anonrisk.sql.table(engine, "people", quasi=["zip", "Age"], sensitive="illness")
    assert named.anon.k() == 1
    assert anonrisk.classes(named).n_records == 3
    with engine.connect() as connection:
        assert anonrisk.sql.table(connection, "people").anon.k("zip") == 1
        # What was ours is over, and nothing else was begun.
        assert not connection.in_transaction()
    engine.dispose()
    url = engine.url.render_as_string(hide_password=False)
    for given in (url, engine.url):
        assert anonrisk.sql.table(given, "people").anon.k(["zip", "Age"]) == 1


def test_drivers_are_asked_without_sqlalchemy_between(engine):
    kind = engine.dialect.name
    if kind == "sqlite":
        opened = sqlite3.connect(engine.url.database)
    elif kind == "duckdb":
        engine.dispose()
        opened = pytest.importorskip("duckdb").connect(engine.url.database)
    else:
        parts = {"host": engine.url.host, "port": engine.url.port, "user": engine.url.username}
        opened = pytest.importorskip("psycopg").connect(
            **parts, password=engine.url.password, dbname=engine.url.database
        )
    if kind == "sqlite":
        # What a caller wants rows and texts to be is no matter.
        opened.row_factory, opened.text_factory = lambda _, row: {"row": row}, bytes
    elif kind == "postgresql":
        opened.row_factory = pytest.importorskip("psycopg.rows").dict_row
    table = anonrisk.sql.table(opened, "people")
    assert table.anon.k(["zip", "Age"]) == 1
    assert table.anon.ldiv("zip", "illness") == 1
    like = anonrisk.sql.table(opened, "SELECT * FROM people WHERE zip LIKE '%11' OR zip = ':x'")
    assert like.anon.k("zip") == 2
    if kind == "sqlite":
        assert opened.text_factory is bytes
    # A transaction of the caller's is used, and stays.
    opened.execute("BEGIN") if kind != "postgresql" else None
    opened.execute("INSERT INTO people VALUES ('1012', 51, 'flu')")
    assert table.anon.k(["zip", "Age"]) == 2
    opened.execute("ROLLBACK")
    assert table.anon.k(["zip", "Age"]) == 1
    opened.close()


def test_names_are_read_by_their_parts_and_compared_exactly(engine):
    odd = 'We"ird. name'
    with engine.begin() as connection:
        databases.write(connection, odd, CELLS)
    quoted = '"We""ird. name"'
    schema = {"sqlite": "main", "duckdb": "main", "postgresql": "public"}[engine.dialect.name]
    for name in (quoted, f"{schema}.{quoted}", f'"{schema}" . {quoted}', f"{schema}.people"):
        assert anonrisk.sql.table(engine, name).anon.k("Age") == 1
    with pytest.raises(TableNotFoundError, match="did you mean 'people'"):
        anonrisk.sql.table(engine, "peple")
    with pytest.raises(TableNotFoundError):
        anonrisk.sql.table(engine, "elsewhere.people")
    if engine.dialect.name != "sqlite":
        with pytest.raises(TableNotFoundError, match="did you mean 'people'"):
            anonrisk.sql.table(engine, "People")
    for wrong in ("", "a..b", '"a', "a.b.c.d", 3, None):
        with pytest.raises(ArgumentError):
            anonrisk.sql.table(engine, wrong)


def test_a_name_that_is_not_there_leaves_the_callers_transaction_alone(engine):
    with engine.connect() as connection:
        connection.execute(sa.text("INSERT INTO people VALUES ('9', 9, 'x')"))
        with pytest.raises(TableNotFoundError):
            anonrisk.sql.table(connection, "nobody")
        table = anonrisk.sql.table(connection, "people")
        assert table.anon.classes("zip").n_records == 4
        with pytest.raises(ColumnNotFoundError):
            table.anon.k("zp")
        connection.commit()
    assert anonrisk.sql.table(engine, "people").anon.classes("zip").n_records == 4


def test_queries_are_tables(engine):
    text = "-- all of them\nSELECT zip, \"Age\" FROM people WHERE zip <> ':zip' -- the end"
    with_ = "WITH x AS (SELECT zip FROM people) SELECT * FROM x;"
    selected = sa.select(sa.text("*")).select_from(sa.table("people")).where(sa.column("Age") > 40)
    assert anonrisk.sql.table(engine, text).anon.classes(["zip", "Age"]).n_records == 3
    assert anonrisk.sql.table(engine, with_).anon.classes("zip").n_records == 3
    assert anonrisk.sql.table(engine, selected).anon.classes("zip").n_records == 1
    assert anonrisk.sql.table(engine, "VALUES (1), (1)").anon.roles().columns
    # A query may quote cells.
    assert ":zip" not in repr(anonrisk.sql.table(engine, text))


@pytest.mark.parametrize(
    "end", [";", " ; ;\n", "; -- it ends; here)", "; /* ) */", " -- ;", "WHERE zip <> '; -- )';"]
)
def test_what_ends_a_query_is_left_out(engine, end):
    table = anonrisk.sql.table(engine, f"SELECT zip FROM people {end}")
    assert table.anon.classes("zip").n_records == 3


@pytest.mark.parametrize(
    "query",
    [
        "SELECT zip FROM people; DROP TABLE people",
        "SELECT zip FROM people) AS x; COMMIT; DROP TABLE people; SELECT * FROM (SELECT 1",
        "SELECT zip FROM people) AS x -- ",
        "SELECT zip FROM people WHERE zip = 's3cret",
    ],
)
def test_a_query_is_one_statement(engine, query):
    with pytest.raises(ArgumentError, match="a query is one statement") as caught:
        anonrisk.sql.table(engine, query)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
    assert anonrisk.sql.table(engine, "people").anon.classes("zip").n_records == 3


def test_two_columns_of_one_name_are_refused_also_in_a_query(engine):
    asked = ['SELECT zip, "Age" AS zip FROM people -- x']
    if engine.dialect.name != "postgresql":
        asked.append('SELECT zip, "Age" AS ZIP FROM people;')
    for query in asked:
        with pytest.raises(DuplicateColumnError, match="name of 2 columns"):
            anonrisk.sql.table(engine, query).anon.k("zip")


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    path = tmp_path / "of 100%?.sqlite"
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(TableNotFoundError, match="there is no file"):
            anonrisk.sql.table(sa.URL.create(kind, database=str(path)), "t")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (zip TEXT)")
        connection.execute("INSERT INTO t VALUES ('1')")
    table = anonrisk.sql.table(sa.URL.create("sqlite", database=str(path)), "t")
    assert table.anon.k("zip") == 1
    path.unlink()
    with pytest.raises(EngineError):
        table.anon.k("zip")
    assert not list(tmp_path.iterdir())


def test_a_name_with_a_dot_is_proposed_as_it_has_to_be_written(engine):
    with engine.begin() as connection:
        databases.write(connection, "visits.2024", CELLS)
    with pytest.raises(TableNotFoundError, match=r"did you mean '\"visits\.2024\"'"):
        anonrisk.sql.table(engine, "visits.2024")


@pytest.mark.parametrize("name", ["anonrisk_0", "anonrisk_one", "q0", "s", "u", "n", "d", "t0"])
def test_columns_may_have_the_names_of_ours(engine, name):
    with engine.begin() as connection:
        databases.write(connection, "ours", {name: CELLS["zip"], "x": CELLS["illness"]})
    table = anonrisk.sql.table(engine, "ours")
    assert (table.anon.k(name), table.anon.ldiv(name, "x"), table.anon.ldiv("x", name)) == (1, 1, 1)
    assert table.anon.classes(["x", name]).n_records == 3


def test_instants_with_a_zone_need_a_package_of_duckdbs(monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setitem(sys.modules, "pytz", None)
    monkeypatch.setattr("anonrisk.engines.sql.database.find_spec", lambda _: None)
    query = "SELECT 1 AS zip, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS seen"
    table = anonrisk.sql.table(duckdb.connect(), query)
    assert table.anon.k("seen") == 1
    with pytest.raises(MissingLibraryError, match="pip install pytz"):
        table.anon.summary("zip", by="seen")


def test_roles_stay_with_the_table_and_a_renamed_column_is_noticed(engine):
    table = anonrisk.sql.table(engine, "people").anon.declare(quasi=["zip", "Age"])
    assert table.anon.roles().quasi == ("zip", "Age")
    assert table.anon.k() == 1
    assert anonrisk.sql.table(engine, "people").anon.roles().quasi == ()
    with pytest.raises(ColumnNotFoundError, match="did you mean 'zip'"):
        anonrisk.sql.table(engine, "people", quasi="zp")
    with engine.begin() as connection:
        connection.execute(sa.text('ALTER TABLE people RENAME COLUMN "Age" TO years'))
    with pytest.raises(RolesLostError, match="renamed"):
        table.anon.k()


def test_it_prints_its_kind_name_columns_and_roles(engine):
    table = anonrisk.sql.table(engine, "people", quasi=["zip", "Age"], unit="illness")
    kind = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgresql": "PostgreSQL"}[engine.dialect.name]
    first, *_ = repr(table).splitlines()
    assert first == f"people in {kind}, 3 columns"
    assert "quasi-identifier" in repr(table)
    assert "unit" in repr(table)
    plain = anonrisk.sql.table(engine, "people")
    assert repr(plain).splitlines()[2].split() == ["zip", "-"]
    assert plain.columns == ("zip", "Age", "illness")
    told = repr(table) + table._repr_html_() + repr(table.anon)
    assert "1011" not in told
    if engine.url.password:
        assert engine.url.password not in told


def test_a_check_sees_one_state(engine, monkeypatch):
    """Another connection adds rows after every statement, and no question sees any of them."""
    from anonrisk.engines.sql.database import ThroughSqlAlchemy

    if engine.dialect.name == "sqlite":
        # Else a writer waits for readers.
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
    table = anonrisk.sql.table(engine, "people", quasi=["zip", "Age"], sensitive="illness")
    real, written = ThroughSqlAlchemy.rows, []

    def rows(self, query):
        found = real(self, query)
        written.append(1)
        insert(engine)
        return found

    monkeypatch.setattr(ThroughSqlAlchemy, "rows", rows)
    policy = anonrisk.Policy(
        qids=[
            {"columns": ["zip"], "budgets": {"k": 1, "ldiv": {"l": 1}, "max_unique_records": 3}},
            {
                "columns": ["zip", "Age"],
                "budgets": {"k": 1, "ldiv": {"l": 1, "variant": "entropy"}},
            },
            {"columns": ["Age"], "budgets": {"k": 1}},
        ],
        sensitive="illness",
        missing_sensitive="value",
        unlisted="ignore",
    )
    verdict = policy.check(table)
    assert verdict.passed
    assert verdict.n_rows == 3
    assert len(written) >= 3
    monkeypatch.undo()
    assert table.anon.classes().n_records == 3 + len(written)


def test_nothing_is_written(engine):
    """Whatever is asked, a user who may only read can ask it."""
    kind = engine.dialect.name
    if kind == "sqlite":
        url = f"sqlite:///file:{engine.url.database}?mode=ro&uri=true"
    elif kind == "duckdb":
        url = engine.url
        engine.dispose()
    else:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE ROLE reader LOGIN PASSWORD 'r'")
            connection.exec_driver_sql("GRANT SELECT ON people TO reader")
        url = engine.url.set(username="reader", password="r")
    table = anonrisk.sql.table(url, "people", quasi=["zip"], sensitive="illness", unit="Age")
    assert table.anon.assess(c=2.0).sizes.n_records == 2
    table.anon.declare(quasi="zip").anon.summary()


def test_databases_that_were_not_compared_are_refused_and_no_password_is_told():
    secret = "s3cret"
    for url, error in (
        (f"mysql://me:{secret}@host/x", UnsupportedFrameError),
        (f"nothing {secret}", ArgumentError),
        (f"postgresql+psycopg://me:{secret}@127.0.0.1:1/x", EngineError),
        (f"postgres://me:{secret}@127.0.0.1:1/x", EngineError),
        (f"postgresql://me@host:{secret}/x", ArgumentError),
        (f"postgresql+nodriver://me:{secret}@127.0.0.1:1/x", ArgumentError),
        ("duckdb:///:memory:", ArgumentError),
        ("sqlite://", ArgumentError),
        ("duckdb:////nowhere/at/all.duckdb", TableNotFoundError),
        (3, UnsupportedFrameError),
    ):
        with pytest.raises(error) as caught:
            anonrisk.sql.table(url, "people")
        assert secret not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_database_that_is_gone_is_a_finding(tmp_path):
    path = tmp_path / "t.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (zip TEXT)")
    table = anonrisk.sql.table(f"sqlite:///{path}", "t", quasi="zip")
    path.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    verdict = anonrisk.Policy(k=2).check(table)
    assert verdict.status == "could_not_assess"


def test_without_sqlalchemy_it_says_what_to_install():
    code = """
        import sys
        sys.modules["sqlalchemy"] = None
        import anonrisk
        try:
            anonrisk.sql.table("sqlite://", "t")
        except anonrisk.errors.MissingLibraryError as error:
            print(error)
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert "pip install 'anonrisk[sql]'" in told.stdout
    assert issubclass(MissingLibraryError, ImportError)


NEEDED = {
    "perturb": {"scale": 2, "seed": 1},
    "pseudonymize": {"key": KEY},
    "trajectory": {"unit": "Age", "length": 2, "seed": 1},
}


def test_words_that_change_a_table_are_refused_before_any_statement(engine, monkeypatch):
    from anonrisk.engines.sql import source

    table = anonrisk.sql.table(engine, "people", quasi=["zip", "Age"])
    monkeypatch.setattr(source, "guarded", lambda _: pytest.fail("a statement was sent"))
    for word in ("apply", "generalize", "perturb", "pseudonymize", "trajectory"):
        says = f"^'{word}' is not available for a table in a database"
        more = NEEDED.get(word, {})
        with pytest.raises(UnsupportedFrameError, match=says):
            getattr(table.anon, word)("zip", **more)
