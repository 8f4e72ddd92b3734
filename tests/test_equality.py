"""What equal means where kinds of table have types of their own: instants, clock times, levels."""

from __future__ import annotations

import datetime as dt
import time
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from people import size_column
from tables import SQL_NUMBERS, THROUGH_ARROW

import anonrisk

pytestmark = pytest.mark.contract

NEW_YORK, TOKYO = ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")
# Clocks there show half past one twice on that night, and never half past two on the other.
TWICE = dt.datetime(2020, 11, 1, 1, 30, tzinfo=NEW_YORK)
NEVER = dt.datetime(2020, 3, 8, 2, 30)
ON_SPARK = ("spark", "connect", "pandas_on_spark")


@pytest.fixture
def in_new_york(frame, monkeypatch, request):
    """Set the clocks of this process, and of the session that is asked, to those of New York."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    if frame.kind in ON_SPARK:
        session = request.getfixturevalue("spark")
        session.conf.set("spark.sql.session.timeZone", "America/New_York")
    elif frame.kind == "postgresql":
        frame.connection.execute("SET TIME ZONE 'America/New_York'")
    yield
    monkeypatch.undo()
    time.tzset()
    if frame.kind in ON_SPARK:
        session.conf.set("spark.sql.session.timeZone", "UTC")
    elif frame.kind == "postgresql":
        frame.connection.execute("SET TIME ZONE 'UTC'")


def clock_times(frame, cells):
    """A table with a column `t` of times without a zone, which Spark calls TIMESTAMP_NTZ."""
    if frame.kind not in ON_SPARK:
        return frame(cells)
    texts = [None if at is None else at.isoformat(" ") for at in cells["t"]]
    others = [name for name in cells if name != "t"]
    return frame({**cells, "t": texts}).selectExpr(*others, "cast(t as timestamp_ntz) as t")


def sizes(table, qid, **how):
    counted = table.anon.classes(qid, **how)
    return dict(zip(counted.sizes.tolist(), counted.classes.tolist(), strict=True))


@pytest.mark.usefixtures("in_new_york")
def test_an_hour_that_clocks_show_twice_is_two_hours(frame):
    later = TWICE.replace(fold=1)
    table = frame({"t": [TWICE, later, later.astimezone(dt.UTC).astimezone(NEW_YORK), None]})
    assert sizes(table, "t") == {1: 2, 2: 1}
    assert sizes(table, "t", missing="drop") == {1: 1, 2: 1}
    # The records themselves are not read: from DuckDB that takes a library more.
    assert sizes(table.anon.at_risk("t", k=2), "t") == {1: 2}


@pytest.mark.usefixtures("in_new_york")
def test_an_instant_is_the_same_in_every_zone(frame):
    instants = [TWICE, TWICE.replace(fold=1)]
    release = frame({"t": instants})
    population = frame({"t": [at.astimezone(TOKYO) for at in instants * 2]})
    assert release.anon.kmap("t", population=population) == 2
    with pytest.raises(anonrisk.errors.PopulationError, match="1 record of the release"):
        release.anon.kmap("t", population=frame({"t": [TWICE.astimezone(TOKYO)] * 3}))


# pandas-on-Spark itself has no times without a zone.
@pytest.mark.kinds("pandas", "arrow", "arrow_more", "sql", "scan", "spark", "connect")
@pytest.mark.usefixtures("in_new_york")
def test_clock_times_stay_apart_whatever_the_clocks_here_show(frame):
    times = [NEVER, NEVER + dt.timedelta(hours=1), NEVER, None]
    table = clock_times(frame, {"q": ["a", "b", "a", "b"], "t": times})
    assert sizes(table, "t") == {1: 2, 2: 1}
    assert sorted(size_column(table, "t")) == [1, 1, 2, 2]
    assert table.anon.tcloseness("q", "t", distance="ordered") == pytest.approx(0.375)


def with_levels(frame, values, levels):
    """A table of a column that knows all its levels, where a kind of table has such columns."""
    if frame.kind in (*THROUGH_ARROW, "scan"):
        import pyarrow as pa

        codes = pa.array([None if v is None else levels.index(v) for v in values])
        return frame({"x": pa.DictionaryArray.from_arrays(codes, pa.array(levels))})
    table = frame({"x": values})
    named = ", ".join(f"'{level}'" for level in levels)
    if frame.kind in ("duckdb_sql", "postgresql"):
        number = next(SQL_NUMBERS)
        frame.connection.execute(f"CREATE TYPE e{number} AS ENUM ({named})")
        frame.connection.execute(
            f"CREATE TABLE t{number} AS SELECT CAST(x AS e{number}) AS x FROM t{number - 1}"
        )
        return anonrisk.sql.table(frame.connection, f"t{number}")
    if frame.is_pandas or frame.kind == "pandas_on_spark":
        return table.astype({"x": pd.CategoricalDtype(levels)})
    return table


def test_levels_that_no_record_has_form_no_class(frame):
    table = with_levels(frame, ["b", "a", "b", None], ["z", "b", "a", "y"])
    assert sizes(table, "x") == {1: 2, 2: 1}
    assert sizes(table, "x", missing="drop") == {1: 1, 2: 1}
    assert sorted(size_column(table, "x")) == [1, 1, 2, 2]
    found = anonrisk.Policy(quasi="x", k=2).check(table)
    assert found.status == "fail"
