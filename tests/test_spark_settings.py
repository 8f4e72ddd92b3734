"""Spark's clocks, calendars and settings, and numbers of many digits: the answers of pandas."""

from __future__ import annotations

import datetime as dt
import os
import time
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk.engines import engine_for
from anonrisk.errors import MissingUnitError, UnsupportedColumnError
from anonrisk.measures.counts.contents import CellContents
from anonrisk.measures.counts.question import ManySets, Question

pytest.importorskip("pyspark")
pytestmark = pytest.mark.spark("spark")
POLICY = "spark.sql.legacy.timeParserPolicy"
ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def under(spark):
    """A function under which settings of the session hold."""

    @contextmanager
    def held(settings):
        before = {name: spark.conf.get(name, None) for name in settings}
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                spark.conf.unset(name) if value is None else spark.conf.set(name, value)

    return held


@contextmanager
def python_in(zone):
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


def rows_of(frame, name):
    return sorted(str(row[name]) for row in frame.collect())


# ---- clocks and calendars -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["timestamp_ntz", "timestamp"])
@pytest.mark.parametrize("first", ["2020-10-25 02:30:00", "0001-01-01 00:00:00"])
def test_a_class_is_joined_whatever_clock_python_and_the_session_have(spark, under, kind, first):
    texts = [(first,)] * 2 + [("2020-11-01 12:00:00",)]
    with python_in("Europe/Amsterdam"), under({ZONE: "America/New_York"}):
        table = spark.createDataFrame(texts, "t string").selectExpr(f"cast(t as {kind}) as t")
        assert table.anon.suppress("t", 2, cells=True, suppressed=None).anon.k("t") == 3


def test_parts_of_the_last_and_the_longest_years(spark):
    last = spark.sql("select timestamp'9999-12-31 23:59:59.999999Z' as t")
    years = spark.sql(
        "select explode(array(make_date(10000, 1, 1), make_date(10009, 1, 1), make_date(1000, 1, 1)"
        ", make_date(-44, 3, 15), null)) as t"
    )
    for part, of_last, of_years in (
        ("day", "9999-12-31", ["-044-03-15", "1000-01-01", "10000-01-01", "10009-01-01", "None"]),
        ("year", "9999", ["-044", "1000", "10000", "10009", "None"]),
        ("decade", "9990s", ["-050s", "10000s", "10000s", "1000s", "None"]),
    ):
        assert rows_of(last.anon.generalize("t", part=part), "t") == [of_last]
        assert rows_of(years.anon.generalize("t", part=part), "t") == of_years


def test_each_day_has_a_pseudonym_of_its_own_in_every_zone(spark, under):
    days = [dt.date(2011, 12, day) for day in (29, 30, 31)]
    expected = pd.DataFrame({"d": days}).anon.pseudonymize("d", key=KEY)["d"]
    with under({ZONE: "Pacific/Apia"}):
        table = spark.createDataFrame([(day,) for day in days], "d date")
        assert rows_of(table.anon.pseudonymize("d", key=KEY), "d") == sorted(expected)


def test_instants_and_clocks_are_no_population_of_each_other(spark, under):
    clocks = spark.sql("select timestamp_ntz'2020-01-01 12:00:00' as t")
    for zone in ("UTC", "America/New_York"):
        with under({ZONE: zone}):
            instants = spark.sql("select timestamp'2020-01-01 12:00:00Z' as t")
            with pytest.raises(UnsupportedColumnError, match="timestamp in the release, timest"):
                instants.anon.kmap("t", clocks)
            assert clocks.anon.kmap("t", clocks) == 1


def test_two_hours_that_a_clock_shows_alike_are_two_groups(spark):
    texts = ["2020-10-25T00:30:00Z", "2020-10-25T01:30:00Z", "2020-10-25T01:30:00Z"]
    plain = pd.DataFrame({"q": [1, 2, 3], "t": pd.to_datetime(texts)})
    rows = list(zip([1, 2, 3], texts, strict=True))
    made = spark.createDataFrame(rows, "q int, t string")
    table = made.selectExpr("q", "cast(t as timestamp) as t")
    expected = plain.anon.summary("q", by="t")
    with python_in("Europe/Amsterdam"):
        result = table.anon.summary("q", by="t")
    assert result["records"].tolist() == expected["records"].tolist() == [1, 2]
    assert list(result.index) == list(expected.index)


def test_an_order_may_list_instants_of_any_calendar(spark):
    order = [dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (1500, 2020)]
    rows = [(0, "1500-01-01 00:00:00Z"), (1, "2020-01-01 00:00:00Z")]
    made = spark.createDataFrame(rows, "q int, s string")
    table = made.selectExpr("q", "cast(s as timestamp) as s")
    assert table.anon.tcloseness("q", "s", order=order) == 0.5


def test_clocks_are_put_in_bins_as_instants_are(spark):
    times = pd.date_range("2020-01-01", periods=40, freq="D")
    plain = pd.DataFrame({"t": times, "a": range(40)})
    rows = [(str(day), i) for i, day in enumerate(times)]
    table = spark.createDataFrame(rows, "t string, a int")
    table = table.selectExpr("cast(t as timestamp_ntz) as t", "a")
    assert str(table.anon.explain_risk(["t", "a"])) == str(plain.anon.explain_risk(["t", "a"]))


@pytest.mark.parametrize("policy", ["EXCEPTION", "CORRECTED", "LEGACY"])
def test_a_text_that_goes_on_after_a_date_is_no_date(spark, under, policy):
    from anonrisk.engines.reading.files import TextFormat, Wanted
    from anonrisk.engines.spark import read

    for text in ("2020-01-05 Jan", "2020-1-5", "2020-01-05\n"):
        table = spark.createDataFrame([(text,), ("2020-01-05",)], "d string")
        with under({POLICY: policy}), pytest.raises(anonrisk.AnonRiskError, match="'d'"):
            read.typed(table, Wanted(), TextFormat(dtypes={"d": "date"}), 1, csv=True)


@pytest.mark.parametrize("end", ["\r", "\u0085", "\u2028"])
def test_only_a_line_feed_ends_a_line(spark, end):
    cells = [(f"2020-01-0{i} 10:00{end}",) for i in range(1, 9)]
    asked = ManySets(Question((("x",),)))
    table, plain = spark.createDataFrame(cells, "x string"), pd.DataFrame(cells, columns=["x"])
    expected, result = (engine_for(one).count(one, asked).numerals() for one in (plain, table))
    assert result == expected
    assert expected[0].n_dates == 8


# ---- numbers --------------------------------------------------------------------------------


def test_decimals_of_many_digits_stay_apart(spark):
    numbers = [110101199001011234 + i for i in range(4)]
    plain = pd.DataFrame({"x": list(map(Decimal, numbers)), "y": ["a"] * 4})
    made = spark.createDataFrame([(str(number), "a") for number in numbers], "x string, y string")
    table = made.selectExpr("cast(x as decimal(18, 0)) as x", "y")
    expected, plan = plain.anon.plan(["x", "y"], 2), table.anon.plan(["x", "y"], 2)
    assert plan.before.k == expected.before.k == 1
    assert table.anon.apply(plan).anon.k(["x", "y"]) == plan.after.k == expected.after.k
    with pytest.raises(UnsupportedColumnError, match="more digits than"):
        table.anon.microaggregate("x", 2)


def test_decimals_that_no_type_holds_together_are_no_population_of_each_other(spark):
    small = spark.sql("select cast('1.4' as decimal(38, 18)) as x")
    large = spark.sql("select cast('1' as decimal(38, 0)) as x")
    with pytest.raises(UnsupportedColumnError, match=r"decimal\(38,18\) in the release"):
        small.anon.kmap("x", large)
    same = spark.sql("select cast('1.4' as decimal(20, 1)) as x")
    assert small.selectExpr("cast(x as decimal(20, 18)) as x").anon.kmap("x", same) == 1


@pytest.mark.parametrize(
    ("ends", "cells"),
    [
        ({"top": 2.25}, ["2.2", "2.2", "2.2"]),
        ({"bottom": 2.25}, ["2.3", "2.3", "2.4"]),
        ({"top": 2.34, "bottom": 2.31}, ["2.4", "2.4", "2.4"]),
    ],
)
def test_no_decimal_lies_beyond_an_end(spark, ends, cells):
    numbers = [Decimal(text) for text in ("2.2", "2.3", "2.4")]
    table = spark.createDataFrame([(number,) for number in numbers], "x decimal(5, 1)")
    plain = pd.DataFrame({"x": numbers}).anon.generalize("x", **ends)
    assert sorted(map(str, plain["x"])) == rows_of(table.anon.generalize("x", **ends), "x") == cells


def test_means_of_decimals_are_rounded_alike(spark):
    numbers = [Decimal("1.2"), Decimal("1.3")] * 2
    table = spark.createDataFrame([(number,) for number in numbers], "x decimal(5, 1)")
    plain = pd.DataFrame({"x": numbers}).anon.microaggregate("x", 4)
    assert rows_of(table.anon.microaggregate("x", 4), "x") == sorted(map(str, plain["x"]))


def test_short_floats_have_the_digits_that_they_are_written_with(spark):
    numbers = np.array([52.001 + i / 1000 for i in range(200)], dtype="float32")
    plain = pd.DataFrame({"lat": numbers})
    made = spark.createDataFrame([(float(x),) for x in numbers], "lat double")
    table = made.selectExpr("cast(lat as float) as lat")
    asked = CellContents(("lat",))
    expected, result = (engine_for(one).count(one, asked)["lat"] for one in (plain, table))
    assert result.looks == expected.looks
    assert "degrees" not in result.looks


# ---- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    ["spark.sql.legacy.exponentLiteralAsDecimal.enabled", "spark.sql.ansi.enforceReservedKeywords"],
)
def test_words_and_numbers_are_read_alike_under_settings_of_the_parser(spark, under, setting):
    policy = anonrisk.Policy(quasi="zip", k=1, unlisted="ignore")
    table = spark.createDataFrame([("a", 1.5), ("A", 2.5)], "zip string, x double")
    expected = policy.check(table)
    collated = not spark.version.startswith("3.")
    folded = table.selectExpr("collate(zip, 'UTF8_LCASE') as zip") if collated else table
    with under({setting: "true"}):
        assert policy.check(table) == expected
        assert folded.anon.classes("zip").n_classes == 2


def test_a_missing_person_is_refused_in_a_record_that_is_left_out_too(spark):
    rows = [("a", 1), ("a", 2), (None, None)]
    plain = pd.DataFrame(rows, columns=["q", "u"])
    about = {"unit": "u", "missing": "drop"}
    with pytest.raises(MissingUnitError):
        plain.anon.sizes("q", **about)
    table = spark.createDataFrame(rows, "q string, u int")
    with pytest.raises(Exception, match="unit 'u' is missing"):
        table.anon.sizes("q", **about).collect()
