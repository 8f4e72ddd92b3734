"""Emitted code keeps a plan's promises by itself: new values, and batches that lose too much."""

from __future__ import annotations

import importlib
import sqlite3

import pandas as pd
import pytest
import tables
import test_apply

from anonrisk import Plan, Policy, errors
from anonrisk.recode import Bins, Keep

KNOWN, NEW = test_apply.KNOWN, test_apply.NEW
BATCHES = {
    "same": KNOWN,
    "more": {name: [*KNOWN[name], *NEW[name]] for name in KNOWN},
    "alone": {"ill": [*KNOWN["ill"], "stroke"], "job": [*KNOWN["job"], "farmer"]},
    "other": {"ill": ["Xavier"] * 9, "job": ["Yvonne"] * 9},
}


def filled(execute, sign="?"):
    """Put every batch into a table of its name."""
    for name, cells in BATCHES.items():
        execute(f'CREATE TABLE {name} ("ill" VARCHAR(20), "job" VARCHAR(20))')
        rows = list(zip(*cells.values(), strict=True))
        row = f"({sign}, {sign})"
        values = tuple(cell for row in rows for cell in row)
        execute(f"INSERT INTO {name} VALUES {', '.join([row] * len(rows))}", values)


@pytest.fixture
def sqlite():
    base = sqlite3.connect(":memory:")
    filled(base.execute)
    yield lambda text, _: base.execute(text).fetchall()
    base.close()


@pytest.fixture
def duckdb():
    base = pytest.importorskip("duckdb").connect()
    filled(base.execute)
    yield lambda text, _: base.execute(text).fetchall()
    base.close()


@pytest.fixture
def postgresql(postgres):
    base = pytest.importorskip("sqlalchemy").create_engine(postgres)

    def run(text, values=()):
        with base.begin() as connection:
            said = text if values else text.replace("%", "%%")
            done = connection.exec_driver_sql(said, values)
            return done.fetchall() if done.returns_rows else []

    filled(run, "%s")
    yield lambda text, _: run(text)
    base.dispose()


def agrees(plan, dialect, on_unseen, run):
    """Compare emitted code with `apply`, batch by batch: the same rows, or both refuse."""
    refused = 0
    for name, cells in BATCHES.items():
        text = plan.to_sql(dialect, table=name, on_unseen=on_unseen)
        try:
            done = pd.DataFrame(cells).anon.apply(plan, on_unseen=on_unseen)
        except errors.PlanError:
            refused += 1
            with pytest.raises(Exception, match="anonrisk: ") as raised:
                run(text, name)
            assert not {"Xavier", "Yvonne"} & set(str(raised.value).split("anonrisk: ")[1].split())
        except errors.EmptyTableError:
            assert run(text, name) == []
        else:
            expected = [tuple(row.values()) for row in tables.to_rows(done)]
            assert sorted(map(tuple, run(text, name)), key=str) == sorted(expected, key=str)
    return refused


PLANS = [(0.05, 3), (0.2, 3), (1.0, 3), (0.2, None)]


@pytest.mark.slow
@pytest.mark.parametrize("on_unseen", ["refuse", "suppress", "top"])
@pytest.mark.parametrize(
    ("dialect", "base"),
    [
        ("sqlite", "sqlite"),
        ("duckdb", "duckdb"),
        ("ansi", "duckdb"),
        ("postgresql", "postgresql"),
        ("ansi", "postgresql"),
    ],
)
def test_databases_do_what_apply_does(request, dialect, base, on_unseen):
    run = request.getfixturevalue(base)
    counted = [agrees(test_apply.next_month(*one), dialect, on_unseen, run) for one in PLANS]
    assert sum(counted) == {"refuse": 8, "suppress": 4, "top": 1}[on_unseen]


def test_nan_of_parquet_is_missing_to_duckdb(tmp_path):
    """The least and largest number that a file says it has leave NaN out."""
    pa = pytest.importorskip("pyarrow")
    base, path = pytest.importorskip("duckdb").connect(), tmp_path / "t.parquet"
    importlib.import_module("pyarrow.parquet").write_table(
        pa.table({"x": [0.5, float("nan"), 2.5]}), path
    )
    base.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
    text = Plan({"x": Bins((1.0,))}).to_sql("duckdb", table="t")
    assert base.execute(text).fetchall() == [("<1",), (None,), (">=1",)]


@pytest.mark.spark("spark")
@pytest.mark.parametrize("on_unseen", ["refuse", "suppress", "top"])
def test_spark_does_what_apply_does(spark, on_unseen):
    for name, cells in BATCHES.items():
        tables.spark_table(spark, cells).createOrReplaceTempView(name)

    def by_function(_, name):
        namespace = {}
        exec(plan.to_pyspark(on_unseen=on_unseen), namespace)
        return namespace["anonymise"](spark.table(name)).collect()

    for one in (PLANS[1], PLANS[3]):
        plan = test_apply.next_month(*one)
        agrees(plan, "spark", on_unseen, lambda text, _: spark.sql(text).collect())
        agrees(plan, "spark", on_unseen, by_function)
    for name in BATCHES:
        spark.catalog.dropTempView(name)


def test_words_and_names():
    plan = test_apply.next_month(0.02)
    for write in (plan.to_sql, plan.to_pyspark):
        with pytest.raises(errors.ArgumentError, match="'refuse', 'suppress', 'top'"):
            write(on_unseen="drop")
    # A table may be called as what the code calls its steps in plain words.
    for name in ("recoded", "sized", "totals"):
        text = plan.to_sql("sqlite", table=name)
        base = sqlite3.connect(":memory:")
        base.execute(f'CREATE TABLE {name} ("ill", "job")')
        assert base.execute(text).fetchall() == []
        base.close()
    kept = type(plan)({"ill": Keep()}, columns=("ill",))
    assert kept.to_sql(on_unseen="suppress") == kept.to_sql()


def test_direct_identifiers_are_left_out_of_emitted_code():
    cells = {**KNOWN, "name": [f"n{i}" for i in range(24)]}
    policy = Policy(direct="name", quasi=["ill", "job"], k=3)
    plan = pd.DataFrame(cells).anon.plan(policy, hierarchies=test_apply.TREES)
    assert plan.leave_out == ("name",)
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE records ("ill", "job", "name")')
    base.executemany("INSERT INTO records VALUES (?, ?, ?)", zip(*cells.values(), strict=True))
    found = base.execute(plan.to_sql("sqlite"))
    assert [column[0] for column in found.description] == ["ill", "job"]
    assert len(found.fetchall()) == 24
    base.close()
    assert "df = df.drop(*['name'])" in plan.to_pyspark()
