"""What calls cost on Spark: scans, shuffles and rows to the driver, as docs/engines.md has them."""

from __future__ import annotations

import math
import re

import pytest
import spark_costs

import anonrisk

pytestmark = [pytest.mark.spark("spark"), pytest.mark.slow]


@pytest.fixture
def table(spark):
    return spark_costs.visits(spark)


def cost(spark, table, name):
    return spark_costs.cost(spark, spark_costs.calls(table)[name])


@pytest.mark.parametrize(
    ("name", "scans", "rows"),
    [
        ("classes(unit=)", 1, 50),
        ("whole_person", 1, 50),
        # The population is the table twice, end to end.
        ("risk(population)", 3, 50),
        # Which brings the classes of the changed table.
        ("utility", 3, 2_000),
        ("linkability", 2, 5),
        ("trajectory", 3, 50),
    ],
)
def test_tables_are_scanned_once_where_they_can_be(spark, table, name, scans, rows):
    found = cost(spark, table, name)
    assert found.scans <= scans
    assert found.rows <= rows


@pytest.mark.nightly
@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.anon.trajectory("station", unit="card", seed=1),
        lambda t: t.anon.trajectory("station", unit="card", seed=1, sample=20, length=3),
        lambda t: anonrisk.linkability(t, "station", unit="card", time="day", at=180),
    ],
)
def test_rows_to_the_driver_do_not_grow_with_the_table(spark, call):
    def rows(n):
        return spark_costs.cost(spark, lambda: call(spark_costs.visits(spark, n))).rows

    small, large = rows(500), rows(2_000)
    assert large <= small + math.isqrt(2 * 2_000)
    assert large < 200


@pytest.mark.nightly
def test_an_order_of_visits_is_looked_at_without_the_driver(spark):
    table = spark_costs.visits(spark, 300).selectExpr("*", "cost * 1000 + day as at")
    unique = table.dropDuplicates(["card", "at"])
    found = spark_costs.cost(
        spark,
        lambda: unique.anon.trajectory(
            "station", unit="card", length=2, time="at", ordered=True, seed=1
        ),
    )
    assert found.rows < 100


def test_every_call_is_on_the_page(table):
    rows = re.findall(r"^\| `(.*?)` \|", spark_costs.on_page(), re.MULTILINE)
    assert rows == list(spark_costs.calls(table))


@pytest.mark.nightly
def test_the_page_says_what_calls_cost(spark):
    assert spark_costs.written(spark_costs.costs(spark)) == spark_costs.on_page()
