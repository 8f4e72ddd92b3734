"""SQLFrame puts itself in the place of pyspark: sizes of classes are equal, the rest is refused."""

from __future__ import annotations

import subprocess

import pytest
from environments import python_of

# In a process of its own: what it puts in the place of pyspark stays there.
PROGRAM = """
import duckdb
from sqlframe import activate

connection = duckdb.connect()
activate("duckdb", conn=connection)
from pyspark.sql import SparkSession

import pandas as pd

import anonrisk
from anonrisk.errors import UnsupportedFrameError

nan = float("nan")
cells = pd.DataFrame({
    "q": ["a", "A", "a ", None, "b", "a", None],
    "f": [0.0, 1.5, nan, nan, -0.0, -0.0, nan],
    "u": [1, 1, 2, 2, 3, 3, 4],
})
connection.register("given", cells)
connection.execute("create table t as select * from given")
table = SparkSession.builder.getOrCreate().table("t")
for unit in (None, "u"):
    for missing in ("value", "drop"):
        about = {"unit": unit, "missing": missing}
        assert anonrisk.classes(table, ["q", "f"], **about) == anonrisk.classes(
            cells, ["q", "f"], **about
        )
loose = anonrisk.Policy(quasi=["q"], max_unique_records=99, insensitive=["f", "u"])
# What the columns hold cannot be looked at, so that no gate passes; one that is broken says so.
assert loose.check(table).status == "could_not_assess"
assert [one.status for one in loose.check(table).findings] == ["could_not_assess", "pass"]
assert anonrisk.Policy(quasi=["q"], k=2, insensitive=["f", "u"]).check(table).status == "fail"
for ask in (
    lambda: anonrisk.ldiv(table, "q", "f"),
    lambda: anonrisk.find_qids(table, qids=["q", "f"]),
    lambda: anonrisk.suppress(table, "q", k=2),
    lambda: anonrisk.plan(table, "q", k=2),
    lambda: anonrisk.declare(table, quasi="q"),
):
    try:
        ask()
    except UnsupportedFrameError as error:
        assert "SQLFrame" in str(error), error
    else:
        raise AssertionError("it was not refused")
strict = anonrisk.Policy(quasi=["q"], ldiv={"l": 2}, sensitive="f", insensitive="u")
assert strict.check(table).status == "could_not_assess"
"""


@pytest.mark.nightly
def test_sizes_of_classes_are_equal_and_the_rest_is_refused():
    done = subprocess.run(
        [python_of("sqlframe"), "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
