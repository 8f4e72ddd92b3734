"""A session of DataFusion: what other databases cannot show, beside the contract."""

from __future__ import annotations

import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk import Policy, errors

datafusion = pytest.importorskip("datafusion")
pa = pytest.importorskip("pyarrow")


def session(cells, **settings):
    config = datafusion.SessionConfig()
    for name, value in settings.items():
        config = config.set(f"datafusion.{name.replace('__', '.')}", value)
    made = datafusion.SessionContext(config)
    made.register_record_batches("people", [pa.table(cells).to_batches()])
    return made


@pytest.mark.parametrize("dialect", ["databricks", "bigquery", "mysql"])
def test_a_session_for_which_a_quoted_name_is_a_text_is_refused(dialect):
    """Every cell would be the same text, and every gate pass."""
    made = session({"zip": ["1", "2", "3"]}, sql_parser__dialect=dialect)
    with pytest.raises(errors.AnonRiskError):
        anonrisk.sql.table(made, "people").anon.k("zip")


@pytest.mark.parametrize("dialect", ["generic", "postgresql"])
def test_sessions_that_read_as_postgresql_writes_are_asked(dialect):
    made = session({"zip": ["1", "2", "3"]}, sql_parser__dialect=dialect)
    table = anonrisk.sql.table(made, "people")
    assert table.anon.k("zip") == 1
    assert Policy(quasi="zip", k=2).check(table).status == "fail"


def test_a_statement_without_columns_is_no_table():
    made = session({"name": ["a"], "zip": ["b"]})
    with pytest.raises(errors.ArgumentError, match="has no columns: begin a query with SELECT"):
        anonrisk.sql.table(made, "from people")


def test_two_columns_of_one_name_are_refused():
    made = session({"zip": ["a", "b"]})
    with pytest.raises(errors.DuplicateColumnError, match="'zip' is the name of 2 columns"):
        anonrisk.sql.table(made, "select p.zip, q.zip from people p join people q on p.zip = q.zip")


def test_a_session_may_have_another_schema_by_default():
    made = datafusion.SessionContext(
        datafusion.SessionConfig().with_default_catalog_and_schema("cat", "sch")
    )
    made.from_pydict({"zip": ["a", "a"]}, name="people")
    assert anonrisk.sql.table(made, "people").anon.k("zip") == 2
    with pytest.raises(errors.TableNotFoundError, match="people"):
        anonrisk.sql.table(made, "peple")


def test_what_a_query_may_change_stays():
    made = session({"zip": ["a", "a"]})
    with pytest.raises(errors.AnonRiskError):
        anonrisk.sql.table(made, "with x as (select 1) insert into people select 'b' from x")
    assert anonrisk.sql.table(made, "people").anon.k("zip") == 2


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ns", "UTC")])
def test_instants_finer_than_a_microsecond_are_counted_and_not_planned(kind):
    table = anonrisk.sql.table(session({"at": pa.array([1, 2, 3, 4], kind)}), "people")
    assert table.anon.k("at") == 1
    with pytest.raises(errors.UnsupportedColumnError, match="finer than a microsecond"):
        table.anon.plan("at", k=2)
    with pytest.raises(errors.AnonRiskError):
        table.anon.state("at", key=KEY)
    whole = pa.array([1000, 1000, 3000, 3000], kind)
    rounded = anonrisk.sql.table(session({"at": whole}), "people")
    assert rounded.anon.plan("at", k=2).after.k == 2


def test_times_finer_than_a_microsecond_are_refused():
    table = anonrisk.sql.table(session({"at": pa.array([1, 2], pa.time64("ns"))}), "people")
    with pytest.raises(errors.UnsupportedColumnError, match="'at' holds values of type Time64"):
        table.anon.k("at")


def test_milliseconds_within_a_day_are_that_day():
    days = pa.Array.from_buffers(pa.date64(), 4, pa.array([0, 1, 86_400_000, 5]).buffers())
    table = anonrisk.sql.table(session({"day": days}), "people")
    assert [*table.anon.classes("day").sizes] == [1, 3]


def test_bytes_are_persons_and_values_as_others_are():
    cells = {
        "q": ["a", "a", "b", "a"],
        "u": [b"x", b"y", b"x", b"x"],
        "s": [b"1", b"2", None, b"1"],
    }
    table, frame = anonrisk.sql.table(session(cells), "people"), pd.DataFrame(cells)
    asked = {"sensitive": "s", "unit": "u"}
    assert table.anon.assess("q", **asked).to_dict() == frame.anon.assess("q", **asked).to_dict()
    assert table.anon.whole_person("s", unit="u").k == frame.anon.whole_person("s", unit="u").k
    sizes = table.anon.sizes("q", unit="u").to_pandas()["class_size"]
    assert sorted(sizes) == sorted(frame.anon.sizes("q", unit="u"))
