"""Emitted code keeps a plan's promises by itself: new values, and batches that lose too much."""

from __future__ import annotations

import sqlite3

import pandas as pd
import pytest
import tables
import test_apply

from anonrisk import errors
from anonrisk.recode import Keep

KNOWN, NEW = test_apply.KNOWN, test_apply.NEW
BATCHES = {
    "known": KNOWN,
    "new": {name: [*KNOWN[name], *NEW[name]] for name in KNOWN},
    "alone": {"ill": [*KNOWN["ill"], "stroke"], "job": [*KNOWN["job"], "farmer"]},
    "other": {"ill": ["Xavier"] * 9, "job": ["Yvonne"] * 9},
}


def in_sqlite(text, cells):
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE records ("ill", "job")')
    base.executemany("INSERT INTO records VALUES (?, ?)", list(zip(*cells.values(), strict=True)))
    try:
        return base.execute(text).fetchall()
    finally:
        base.close()


def in_duckdb(text, cells):
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    base.execute('CREATE TABLE records ("ill" VARCHAR, "job" VARCHAR)')
    base.executemany("INSERT INTO records VALUES (?, ?)", list(zip(*cells.values(), strict=True)))
    try:
        return base.execute(text).fetchall()
    finally:
        base.close()


def agrees(plan, dialect, on_unseen, run):
    """Compare emitted code with `apply`, batch by batch: the same rows, or both refuse."""
    refused = 0
    for cells in BATCHES.values():
        try:
            done = pd.DataFrame(cells).anon.apply(plan, on_unseen=on_unseen)
        except errors.PlanError:
            refused += 1
            with pytest.raises(Exception, match="anonrisk: ") as raised:
                run(plan.to_sql(dialect, on_unseen=on_unseen), cells)
            assert not {"Xavier", "Yvonne"} & set(str(raised.value).split("anonrisk: ")[1].split())
        except errors.EmptyTableError:
            assert run(plan.to_sql(dialect, on_unseen=on_unseen), cells) == []
        else:
            found = run(plan.to_sql(dialect, on_unseen=on_unseen), cells)
            expected = [tuple(row.values()) for row in tables.to_rows(done)]
            assert sorted(map(tuple, found), key=str) == sorted(expected, key=str)
    return refused


PLANS = [(0.0, 3), (0.05, 3), (0.2, 3), (1.0, 3), (0.0, None), (0.2, None)]


@pytest.mark.parametrize("on_unseen", ["refuse", "suppress", "top"])
@pytest.mark.parametrize(
    ("dialect", "run"),
    [
        ("sqlite", in_sqlite),
        *((dialect, in_duckdb) for dialect in ("duckdb", "postgresql", "ansi")),
    ],
)
def test_databases_do_what_apply_does(dialect, run, on_unseen):
    counted = [agrees(test_apply.next_month(*one), dialect, on_unseen, run) for one in PLANS]
    assert sum(counted) >= {"refuse": 12, "suppress": 6, "top": 2}[on_unseen]


def test_postgresql_does_what_apply_does(postgres):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    base = sqlalchemy.create_engine(postgres)

    def run(text, cells):
        with base.begin() as connection:
            connection.exec_driver_sql("DROP TABLE IF EXISTS records")
            connection.exec_driver_sql('CREATE TABLE records ("ill" VARCHAR, "job" VARCHAR)')
            for row in zip(*cells.values(), strict=True):
                connection.exec_driver_sql("INSERT INTO records VALUES (%s, %s)", row)
            return connection.exec_driver_sql(text.replace("%", "%%")).fetchall()

    for on_unseen in ("refuse", "suppress", "top"):
        for dialect in ("postgresql", "ansi"):
            for one in PLANS:
                agrees(test_apply.next_month(*one), dialect, on_unseen, run)
    base.dispose()


@pytest.mark.spark("spark")
@pytest.mark.parametrize("on_unseen", ["refuse", "suppress", "top"])
def test_spark_does_what_apply_does(spark, on_unseen):
    def run(text, cells):
        tables.spark_table(spark, cells).createOrReplaceTempView("records")
        return spark.sql(text).collect()

    def by_function(_, cells):
        namespace = {}
        exec(plan.to_pyspark(on_unseen=on_unseen), namespace)
        return namespace["anonymise"](tables.spark_table(spark, cells)).collect()

    for one in (PLANS[1], PLANS[2], PLANS[5]):
        plan = test_apply.next_month(*one)
        agrees(plan, "spark", on_unseen, run)
        agrees(plan, "spark", on_unseen, by_function)
    spark.catalog.dropTempView("records")


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
