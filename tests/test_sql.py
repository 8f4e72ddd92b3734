"""Tables in a database answer as pandas does, or refuse."""

from __future__ import annotations

import random

import pandas as pd
import pytest

import anonrisk
from anonrisk.errors import (
    ColumnNotFoundError,
    EmptyTableError,
    EngineError,
    UnsupportedColumnError,
    UnsupportedFrameError,
)

sa = pytest.importorskip("sqlalchemy")
databases = pytest.importorskip("databases")
ODD, answer, pandas_of = databases.ODD, databases.answer, databases.pandas_of

NAN = float("nan")


@pytest.fixture(scope="module", params=databases.KINDS)
def connection(request, tmp_path_factory):
    engine = databases.connect(request.param, request, tmp_path_factory.mktemp(request.param))
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def table_of(connection, name="t"):
    from anonrisk.engines.sql import SqlTable

    return SqlTable(connection, sa.table(name))


def random_cells(seed, n):
    rng = random.Random(seed)
    return {
        "q": [rng.choice(["a", "A", "a ", "b", None, "é"]) for _ in range(n)],
        ODD: [rng.choice([0.0, -0.0, 1.5, NAN, None]) for _ in range(n)],
        "i": [rng.choice([1, 2, None]) for _ in range(n)],
        "s": [rng.choice(["x", "y", "z", None]) for _ in range(n)],
        "u": [rng.randrange(max(n // 2, 1)) for _ in range(n)],
    }


def agree(found, expected):
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    return found == expected


MEASURES = [
    ("ldiv", {}),
    ("ldiv", {"variant": "entropy"}),
    ("ldiv", {"variant": "recursive", "c": 1.5}),
    ("tcloseness", {"distance": "equal"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("size", [6, 150])
def test_the_same_answers_as_pandas(connection, size):
    cells = random_cells(size, size)
    databases.write(connection, "t", cells)
    frame, table = pandas_of(cells), table_of(connection)
    checked = 0
    for missing in ("value", "drop", "error"):
        for unit in (None, "u"):
            for qids in (["q"], ["i", ODD, "q"]):
                about = {"unit": unit, "missing": missing}
                found = answer(anonrisk.classes, table, qids, **about)
                assert found == answer(anonrisk.classes, frame, qids, **about)
                for missing_sensitive in ("value", "drop", "error"):
                    for name, more in MEASURES if missing_sensitive == "value" else MEASURES[-2:]:
                        both = {**about, "missing_sensitive": missing_sensitive, **more}
                        measure = getattr(anonrisk, name)
                        found = answer(measure, table, qids, "s", **both)
                        expected = answer(measure, frame, qids, "s", **both)
                        assert agree(found, expected), (both, qids, found, expected)
                        checked += not isinstance(expected, tuple)
    assert checked >= 20


def test_a_query_counts_like_a_table(connection):
    from anonrisk.engines.sql import SqlTable

    databases.write(connection, "t", {"a": ["x", "x", "y"], "n": [1, 1, 2]})
    query = sa.select(sa.text("*")).select_from(sa.table("t")).where(sa.column("n") == 1)
    assert anonrisk.k(SqlTable(connection, query.subquery()), ["a", "n"]) == 2


def test_dates_and_booleans_are_values(connection):
    import datetime as dt

    day = [dt.date(2020, 1, 1), dt.date(2020, 1, 1), None]
    databases.write(connection, "t", {"day": day, "yes": [True, True, None]})
    sizes = anonrisk.classes(table_of(connection), ["day", "yes"])
    assert (sizes.k, sizes.n_classes) == (1, 2)


def test_wrong_names_are_refused_not_read_as_text(connection):
    databases.write(connection, "t", {"zip": ["x", "x"]})
    with pytest.raises(ColumnNotFoundError, match="did you mean 'zip'"):
        anonrisk.k(table_of(connection), "zp")
    # Some databases do not mind the case of a name; we do.
    with pytest.raises(ColumnNotFoundError):
        anonrisk.k(table_of(connection), "ZIP")


@pytest.mark.slow
def test_columns_that_came_and_went_are_noticed(connection):
    for _ in range(7):
        databases.write(connection, "t", {"zip": ["x", "x"]})
        assert anonrisk.k(table_of(connection), "zip") == 2
    databases.write(connection, "t", {"age": [1, 2]})
    with pytest.raises(ColumnNotFoundError):
        anonrisk.k(table_of(connection), "zip")
    assert anonrisk.k(table_of(connection), "age") == 1


def test_an_empty_table_is_an_error(connection):
    databases.write(connection, "t", {"zip": []})
    with pytest.raises(EmptyTableError):
        anonrisk.k(table_of(connection), "zip")


def test_rows_that_a_driver_loses_are_noticed(connection, monkeypatch):
    from anonrisk.engines.sql import table as module

    databases.write(connection, "t", {"zip": ["x", "x"]})
    real = module.SqlTable.fetch

    def nothing(self, query, doing):
        return [] if doing == "count the classes" else real(self, query, doing)

    monkeypatch.setattr(module.SqlTable, "fetch", nothing)
    with pytest.raises(EngineError, match="2 rows at first and 0"):
        anonrisk.k(table_of(connection), "zip")


def test_what_a_database_is_not_asked_for(connection):
    databases.write(connection, "t", {"zip": ["x"]})
    with pytest.raises(UnsupportedFrameError, match="read the table into pandas"):
        anonrisk.suppress(table_of(connection), "zip", k=2, cells=True)


# Columns by which a database holds different texts for the same, or whose cells are not one value.
REFUSED = {
    "sqlite": ["x TEXT COLLATE NOCASE", "x TEXT COLLATE RTRIM"],
    "duckdb": [
        *("x VARCHAR COLLATE NOCASE", "x VARCHAR COLLATE NOACCENT", "x VARCHAR[]"),
        *("x STRUCT(a INTEGER)", "x INTERVAL", "x DECIMAL(5,2)[]"),
    ],
    "postgresql": [
        *("x CHAR(5)", 'x TEXT COLLATE "nocase"', "x TEXT[]", "x JSONB", "x INTERVAL", "x TIMETZ"),
    ],
}


def test_columns_whose_equality_is_another_are_refused(connection):
    kind = connection.dialect.name
    if kind == "postgresql":
        connection.execute(
            sa.text(
                "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', "
                "deterministic = false)"
            )
        )
    for declared in REFUSED[kind]:
        connection.execute(sa.text("DROP TABLE IF EXISTS r"))
        connection.execute(sa.text(f"CREATE TABLE r ({declared}, y INTEGER)"))
        text = "'SECRET'" if "TEXT" in declared.split() or "VARCHAR" in declared.split() else "NULL"
        text = "'a'" if "CHAR(5)" in declared else text
        connection.execute(sa.text(f"INSERT INTO r VALUES ({text}, 1)"))
        with pytest.raises(UnsupportedColumnError, match="'x'") as caught:
            anonrisk.k(table_of(connection, "r"), ["x"])
        assert "SECRET" not in str(caught.value)
        # As a sensitive column too.
        with pytest.raises(UnsupportedColumnError, match="sensitive column 'x'"):
            anonrisk.ldiv(table_of(connection, "r"), ["y"], "x")


def test_sqlite_columns_of_mixed_types_are_refused(connection):
    if connection.dialect.name != "sqlite":
        pytest.skip("only SQLite gives every cell a type of its own")
    connection.execute(sa.text("DROP TABLE IF EXISTS m"))
    connection.execute(sa.text("CREATE TABLE m (x, y)"))
    connection.execute(sa.text("INSERT INTO m VALUES (1, 1), ('1', 1.5)"))
    with pytest.raises(UnsupportedColumnError, match="mixed types"):
        anonrisk.k(table_of(connection, "m"), "x")
    assert anonrisk.k(table_of(connection, "m"), "y") == 1


def test_enumerations_are_values(connection):
    kind = connection.dialect.name
    if kind == "sqlite":
        pytest.skip("SQLite has no enumerations")
    connection.execute(sa.text("DROP TABLE IF EXISTS e"))
    connection.execute(sa.text("CREATE TYPE mood AS ENUM ('SECRET', 'bad')"))
    connection.execute(sa.text("CREATE TABLE e (x mood)"))
    connection.execute(sa.text("INSERT INTO e VALUES ('bad'), ('bad')"))
    assert anonrisk.k(table_of(connection, "e"), "x") == 2


def test_other_databases_are_refused():
    from anonrisk.engines.sql import SqlTable

    elsewhere = sa.create_mock_engine("mysql://", None)
    connection = sa.Connection.__new__(sa.Connection)
    connection.dialect = elsewhere.dialect
    with pytest.raises(UnsupportedFrameError, match="mysql"):
        SqlTable(connection, None)
    with pytest.raises(UnsupportedFrameError, match="str is not a connection"):
        SqlTable("mysql://", None)


@pytest.mark.slow
def test_duckdb_is_asked_by_its_own_package_too():
    duckdb = pytest.importorskip("duckdb")
    from anonrisk.engines.sql import SqlTable

    frame = pandas_of(random_cells(3, 80))
    with duckdb.connect() as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        table = SqlTable(connection, sa.table("t"))
        for unit in (None, "u"):
            for qids in (["q"], ["i", ODD, "q"]):
                found = anonrisk.classes(table, qids, unit=unit)
                assert found == anonrisk.classes(frame, qids, unit=unit)
                for name, more in MEASURES:
                    measure = getattr(anonrisk, name)
                    expected = measure(frame, qids, "s", unit=unit, **more)
                    assert agree(measure(table, qids, "s", unit=unit, **more), expected)


def test_errors_of_the_database_are_withheld(connection):
    from anonrisk.engines.sql import SqlTable

    databases.write(connection, "t", {"zip": ["MARKER", "x"]})
    broken = sa.select(sa.cast(sa.column("zip"), sa.Integer).label("n")).select_from(sa.table("t"))
    if connection.dialect.name == "sqlite":
        broken = sa.select(sa.func.no_such_function(sa.column("zip")).label("n")).select_from(
            sa.table("t")
        )
    with pytest.raises(EngineError) as caught:
        anonrisk.k(SqlTable(connection, broken.subquery()), "n")
    assert "MARKER" not in str(caught.value)
    assert caught.value.__cause__ is None
    connection.rollback()


def test_fields_of_structs_are_published_too(connection):
    import sqlalchemy as sa

    from anonrisk.policy import release_rules
    from anonrisk.policy.measure import published_by

    if connection.dialect.name == "sqlite":
        databases.write(connection, "nested_people", {"person": ["Ann"], "ward": ["w"]})
        assert published_by(table_of(connection, "nested_people")).nested == ()
        return
    if connection.dialect.name == "duckdb":
        person = 'STRUCT("name" VARCHAR, home STRUCT(zip VARCHAR)[])'
        value, deep = "{'name': 'Ann', 'home': [{'zip': 'a'}]}", ("person.home.zip",)
    else:
        connection.execute(sa.text("DROP TYPE IF EXISTS a_home CASCADE"))
        connection.execute(sa.text("DROP TYPE IF EXISTS whole_person CASCADE"))
        connection.execute(sa.text("CREATE TYPE a_home AS (zip text)"))
        connection.execute(sa.text("CREATE DOMAIN some_home AS a_home"))
        connection.execute(sa.text("CREATE TYPE whole_person AS (name text, home some_home)"))
        person, value, deep = "whole_person", "ROW('Ann', ROW('a'))", ("person.home.zip",)
    connection.execute(sa.text("DROP TABLE IF EXISTS nested_people"))
    connection.execute(sa.text(f"CREATE TABLE nested_people (person {person}, ward VARCHAR)"))
    connection.execute(sa.text(f"INSERT INTO nested_people VALUES ({value}, 'w')"))
    published = published_by(table_of(connection, "nested_people"))
    assert published.nested == ("person.name", "person.home", *deep)
    policy = anonrisk.Policy(quasi="ward", direct="name", insensitive="person", k=1)
    (direct,) = release_rules.of_columns(policy, published)
    assert direct.status == "could_not_assess"


def test_what_a_database_is_not_asked_for_is_refused_by_its_verb_and_kind(connection):
    from anonrisk.engines import engine_for
    from anonrisk.measures.counts.change import CountUnseen, Recode
    from anonrisk.measures.counts.question import Question

    table, question = table_of(connection), Question((("q",),))
    engine = engine_for(table)
    with pytest.raises(
        UnsupportedFrameError, match="a table with other cells is not available from a database"
    ):
        engine.rewrite(table, Recode({}))
    # What no public word leads to is a fault of ours, and no refusal.
    for asked in (
        lambda: engine.count(table, CountUnseen(Recode({}))),
        lambda: engine.tally(table, question),
    ):
        with pytest.raises(NotImplementedError, match="does not answer"):
            asked()


def test_a_boolean_group_of_sqlite_is_true_or_false(tmp_path):
    sqlite3 = pytest.importorskip("sqlite3")
    cells = {
        "zip": ["a", "a", "a", "b", "b", "b"],
        "smoker": [True, True, False, False, None, True],
    }
    rows = list(zip(*cells.values(), strict=True))
    own = sqlite3.connect(tmp_path / "t.sqlite")
    own.execute("CREATE TABLE t (zip TEXT, smoker BOOLEAN, n INTEGER)")
    own.executemany("INSERT INTO t VALUES (?, ?, 1)", rows)
    own.execute("CREATE VIEW v AS SELECT smoker, zip FROM t")
    own.execute("CREATE TABLE codes (zip TEXT, smoker INTEGER)")
    own.executemany("INSERT INTO codes VALUES (?, ?)", rows)
    own.commit()
    policy = anonrisk.Policy(quasi=["zip"], k=2, by="smoker", unlisted="ignore")

    def told(table):
        groups = [group for _, group in anonrisk.summary(table, "zip", by="smoker").index]
        return [str(group) for group in groups], [f.group for f in policy.check(table).findings]

    by_pandas = told(pd.DataFrame(cells))
    for place in (own, f"sqlite:///{tmp_path}/t.sqlite"):
        for name in ("t", "v", "main.t"):
            assert told(anonrisk.sql.table(place, name)) == by_pandas
    # What is declared a number stays one, and so does what is not 0 or 1.
    assert told(anonrisk.sql.table(own, "codes"))[1] != by_pandas[1]
    own.execute("INSERT INTO t VALUES ('a', 2, 1)")
    labels = [
        group
        for _, group in anonrisk.summary(anonrisk.sql.table(own, "t"), "zip", by="smoker").index
    ]
    assert 2 in labels
    own.close()


def test_instants_of_duckdb_finer_than_a_microsecond_are_not_planned():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    instants = ", ".join(f"(make_timestamp_ns({n}))" for n in (1, 2, 3, 4))
    connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {instants}) AS x(moment)")
    table = anonrisk.sql.table(connection, "t")
    assert table.anon.k("moment") == 1
    with pytest.raises(anonrisk.errors.UnsupportedColumnError, match="finer than a microsecond"):
        table.anon.plan("moment", k=2)
