"""Safe Harbor: a ZIP code is told by its area only if it is written in full."""

from __future__ import annotations

import sqlite3

import pandas as pd
import pytest
import tables

import anonrisk
from anonrisk import Plan, errors
from anonrisk.recode import ZipArea

PEOPLE = {"10011": 50_000, "100": 1, "01002": 30_000}
# Text as it may stand in a table, and what may be told of it.
ZIPS = {
    "10011": "100",
    "10011-2345": "100",
    "01002": "010",
    # Without its leading zero this is a code of area 010, not of area 100.
    "1002": "000",
    "1002-2345": "000",
    "100": "000",
    "100112345": "000",
    "10011-": "000",
    "10011-234": "000",
    "10011-23456": "000",
    "10011 2345": "000",
    "10011\n": "000",
    " 10011": "000",
    "10011 ": "000",
    "1001x": "000",
    "100\uff11\uff11": "000",
    "1001²": "000",
    "": "000",
    "03601": "000",
}
CELLS = {
    "who": list(range(len(ZIPS) + 1)),
    "zip": [*ZIPS, None],
    "code": [1002] * (len(ZIPS) + 1),
}
TOLD = [*ZIPS.values(), None]


def told(table):
    rows = sorted(tables.to_rows(table), key=lambda row: row["who"])
    return [row["zip"] for row in rows]


def plan_for(table):
    return anonrisk.hipaa.safe_harbor(table, zips="zip", zip_population=PEOPLE)


def test_only_codes_in_full_are_told(frame):
    table = frame(CELLS)
    plan = plan_for(table)
    assert told(table.anon.apply(plan)) == TOLD
    assert told(table.anon.apply(Plan.from_json(plan.to_json()))) == TOLD
    assert told(table.anon.generalize({"zip": ZipArea(("100", "010"))})) == TOLD


def test_columns_of_numbers_are_refused(frame):
    table = frame(CELLS)
    with pytest.raises(errors.UnsupportedColumnError, match=r"column 'code' .* leading zeros"):
        anonrisk.hipaa.safe_harbor(table, zips="code", zip_population=PEOPLE)
    with pytest.raises(errors.UnsupportedColumnError, match="column 'code'"):
        # A plan that was stored for a column of text.
        table.anon.apply(Plan({"code": ZipArea(("100",))}, columns=tuple(CELLS)))


def test_emitted_sql_does_the_same():
    table = pd.DataFrame(CELLS)
    plan = plan_for(table)
    rows = list(zip(*CELLS.values(), strict=True))
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE records (who INT, zip TEXT, code INT)")
    lite.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)
    assert [row[1] for row in sorted(lite.execute(plan.to_sql("sqlite")))] == TOLD
    lite.close()
    duckdb = pytest.importorskip("duckdb")
    duck = duckdb.connect()
    duck.execute("CREATE TABLE records (who INT, zip VARCHAR, code INT)")
    duck.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)
    for dialect in ("duckdb", "postgresql", "ansi"):
        found = duck.execute(plan.to_sql(dialect)).fetchall()
        assert [row[1] for row in sorted(found)] == TOLD
    duck.close()


@pytest.mark.spark("spark")
def test_emitted_code_of_spark_does_the_same(spark):
    frame = tables.spark_table(spark, CELLS)
    plan = plan_for(frame)
    namespace = {}
    exec(plan.to_pyspark(), namespace)
    assert told(namespace["anonymise"](frame)) == TOLD
    frame.createOrReplaceTempView("records")
    assert told(spark.sql(plan.to_sql("spark"))) == TOLD


@pytest.mark.parametrize(
    "code", ["1002", "10", "", "10011-23", "1001x", "100\uff11\uff11", 10011, "10011\n"]
)
def test_people_are_counted_by_codes_in_full(code):
    with pytest.raises(errors.ArgumentError, match="as text of three or five digits") as raised:
        anonrisk.hipaa.safe_harbor(
            pd.DataFrame(CELLS), zips="zip", zip_population={**PEOPLE, code: 50_000}
        )
    assert str(code) not in str(raised.value) or not code


def test_a_plan_of_prefixes_that_may_be_told_is_not_read():
    stored = plan_for(pd.DataFrame(CELLS)).to_dict()
    stored["recodings"][0] |= {"recoding": "prefix", "length": 3, "other": "000"}
    with pytest.raises(errors.PlanError, match="not a stored recoding"):
        Plan.from_dict(stored)


def test_areas_are_three_digits():
    with pytest.raises(errors.ArgumentError, match="three digits"):
        ZipArea(("1002",))


def test_safe_harbor():
    table = pd.DataFrame(
        {
            "zip": ["10011", "03601", "99999", None],
            "age": [34, 90, 101, 89],
            "admitted": pd.to_datetime(["2020-05-01", "2021-01-31", "1999-12-31", None]),
            "born": pd.to_datetime(["1986-01-01", "1930-02-01", "1935-12-31", "1936-01-01"]),
            "note": ["a", "b", "c", "d"],
        }
    )
    people_by_zip = {"10011": 15_000, "10012": 5_001, "036": 20_000}
    plan = anonrisk.hipaa.safe_harbor(
        table,
        dates="admitted",
        births="born",
        ages="age",
        zips="zip",
        zip_population=people_by_zip,
        year=2025,
    )
    done = table.anon.apply(plan)
    assert done["zip"].fillna("-").tolist() == ["100", "000", "000", "-"]
    assert done["age"].tolist() == [34, 90, 90, 89]
    assert done["admitted"].tolist()[:3] == ["2020", "2021", "1999"]
    assert done["born"].tolist() == ["1986", "<1936", "<1936", "1936"]
    assert done["note"].tolist() == list("abcd")
    assert Plan.from_json(plan.to_json()).to_json() == plan.to_json()
    assert "Safe Harbor" in repr(plan)
    for wrong, text in (
        ({"zips": "zip"}, "zip_population"),
        ({"births": "born"}, "needs year="),
        ({}, "at least one of"),
        ({"ages": "aeg"}, "'age'"),
        ({"ages": "age", "dates": "age"}, "named twice"),
        ({"zips": "zip", "zip_population": {1: 2}}, "as text"),
        ({"zips": "age", "zip_population": people_by_zip}, "column 'age' .* zeros"),
    ):
        with pytest.raises(anonrisk.AnonRiskError, match=text):
            anonrisk.hipaa.safe_harbor(table, **wrong)
