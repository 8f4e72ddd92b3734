"""How often a database is asked: one scan a quasi-identifier and value; few rows leave."""

from __future__ import annotations

import random
import re
import sqlite3
from collections import Counter

import pytest

import anonrisk

pytest.importorskip("sqlalchemy")
pytest.importorskip("sqlglot")

N = 3000
# Statements that tell names and types look at no row.
NO_ROWS = ("read the types", "read the collation", "take a logarithm", "look for a row")


def people():
    """A table in SQLite, which explains how often a statement goes through it."""
    rng = random.Random(5)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE people (zip TEXT, age INTEGER, sex TEXT, who INTEGER, s, t)")
    rows = [
        (f"10{rng.randrange(40)}", rng.randrange(80), rng.choice("fm"), rng.randrange(N), *values)
        for values in ((rng.choice("xyz"), rng.choice("ab")) for _ in range(N))
    ]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    return connection, anonrisk.sql.table(connection, "people")


@pytest.fixture
def watched(monkeypatch):
    """A table, and every statement that was sent: what for, how many scans, how many rows."""
    from anonrisk.engines.sql.database import ThroughDriver
    from anonrisk.engines.sql.source import SqlSource

    connection, table = people()
    seen, doing = [], []
    fetch, run = SqlSource.fetch, ThroughDriver._run

    def fetched(self, query, what):
        doing.append(what)
        rows = fetch(self, query, what)
        seen[-1]["rows"] = len(rows)
        return rows

    def ran(self, query):
        written = query.compile(dialect=_dialect(), compile_kwargs={"render_postcompile": True})
        values = [written.params[name] for name in written.positiontup or ()]
        plan = connection.execute(f"EXPLAIN QUERY PLAN {written}", values).fetchall()
        scans = sum(bool(re.match(r"SCAN (TABLE )?people", line[3])) for line in plan)
        seen.append({"doing": doing[-1] if doing else "names", "scans": scans, "rows": 0})
        return run(self, query)

    monkeypatch.setattr(SqlSource, "fetch", fetched)
    monkeypatch.setattr(ThroughDriver, "_run", ran)
    return table, seen


def _dialect():
    from sqlalchemy.dialects import sqlite

    return sqlite.dialect(paramstyle="qmark")


def passes(seen):
    """What was asked of rows, with how often each; no statement scans more than once."""
    asked = [one for one in seen if one["doing"] not in (*NO_ROWS, "names")]
    assert all(one["scans"] == 1 for one in asked), asked
    assert all(one["rows"] <= 2 * (2 * N) ** 0.5 for one in seen), seen
    return Counter(one["doing"] for one in asked)


COUNT, SCORE, LOOK = "count the classes", "score the classes", "look at the columns"


@pytest.mark.parametrize("missing", ["value", "drop", "error"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_classes_are_one_scan(watched, unit, missing):
    table, seen = watched
    table.anon.classes(["zip", "age"], unit=unit, missing=missing)
    assert passes(seen) == {COUNT: 1}


def test_groups_are_one_scan(watched):
    table, seen = watched
    table.anon.summary(["zip", "age"], by="sex")
    assert passes(seen) == {COUNT: 1}


@pytest.mark.parametrize("missing", ["value", "drop", "error"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_every_score_of_a_pair_is_one_scan(watched, unit, missing):
    table, seen = watched
    how = {"missing": missing, "missing_sensitive": "error", "unit": unit}
    table.anon.assess(["zip", "age"], ["s", "t"], c=1.5, distance="equal", **how)
    assert passes(seen) == {SCORE: 2}


def test_an_order_and_a_hierarchy_take_one_scan_once_the_types_are_known(watched):
    table, seen = watched
    with table.reading():
        # Of SQLite alone: any cell may be of any type, and constants are written by it.
        table.kinds({"s": "sensitive column"})
        seen.clear()
        table.anon.tcloseness(["zip"], "s", order=["x", "y", "z"])
        table.anon.tcloseness(["zip"], "s", hierarchies={"any": {"v": ["x", "y"], "w": ["z"]}})
    assert passes(seen) == {SCORE: 2}


def test_a_check_is_one_scan_for_each_pair(watched):
    table, seen = watched
    budgets = {"k": 1, "ldiv": {"l": 1}, "max_unique_fraction": 1.0, "max_unique_records": 10**6}
    policy = anonrisk.Policy(
        qids=[
            {"columns": ["zip", "age"], "budgets": budgets},
            {"columns": ["zip", "sex"], "budgets": budgets},
            {"columns": ["age"], "budgets": {"k": 1}},
        ],
        sensitive=["s", "t"],
        missing_sensitive="value",
        unlisted="ignore",
    )
    assert policy.check(table).passed
    # Beside these, one statement looks at what the columns hold, each by its distinct values.
    looks = [one for one in seen if one["doing"] == LOOK]
    assert [one["scans"] for one in looks] == [len(table.columns)]
    assert passes([one for one in seen if one["doing"] != LOOK]) == {SCORE: 4, COUNT: 1}


def test_names_and_types_are_asked_once_a_check(watched):
    table, seen = watched
    anonrisk.Policy(
        quasi=["zip", "age"],
        sensitive="s",
        k=1,
        ldiv={"l": 1},
        unlisted="ignore",
        missing_sensitive="value",
    ).check(table)
    assert Counter(one["doing"] for one in seen)["names"] == 1
    # One more than elsewhere: that SQLite takes no name for a text.
    assert len(seen) <= 5


def test_coarser_columns_are_looked_at_together(watched):
    table, seen = watched
    table.anon.explain_risk(["zip", "age", "sex", "s"])
    # One statement for all columns, and one for the words of each that has few.
    looks = [asked for asked in seen if asked["doing"] == LOOK]
    assert [asked["scans"] for asked in looks] == [1, 1, 1]
