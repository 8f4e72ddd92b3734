"""A formula stands twice, as NumPy and as SQL: on generated tables the two give the same."""

from __future__ import annotations

import datetime as dt
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk.errors import (
    AnonRiskError,
    EngineError,
    UnsupportedColumnError,
    UnsupportedFrameError,
)
from anonrisk.measures.scores import FORMULAS, MEASURES
from anonrisk.policy import Policy

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("sqlglot")
databases = pytest.importorskip("databases")

TREE = {"any": {"low": ["1", "2"], "high": {"some": ["3", "4"], "most": ["5"]}}}
# Each in one question: an ordered distance goes with all the others, a hierarchical one alone.
DISTANCES = ({"distance": "ordered"}, {"order": [3, 1, 5, 2, 4]}, {"hierarchies": TREE})
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.sampled_from([1, 1, 1, 2, 3, 4, 5, None]),
        st.integers(1, 6),
    ),
    min_size=1,
    max_size=40,
    # A column of nothing has no type, and so no order, in SQLite.
).filter(lambda rows: any(value is not None for _, value, _ in rows))
ABOUT = st.fixed_dictionaries(
    {
        "unit": st.sampled_from([None, "u"]),
        "missing": st.sampled_from(["value", "drop", "error"]),
        "missing_sensitive": st.sampled_from(["value", "drop", "error"]),
    }
)


@pytest.fixture(scope="module", params=databases.KINDS)
def connection(request, tmp_path_factory):
    engine = databases.connect(request.param, request, tmp_path_factory.mktemp(request.param))
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def in_database(connection, cells, name="t"):
    from anonrisk.engines.sql import SqlTable

    databases.write(connection, name, cells)
    return SqlTable(connection, sa.table(name))


def in_pandas(cells):
    whole = {name: pd.array(cells[name], dtype="Int64") for name in cells if name != "q"}
    return pd.DataFrame({"q": pd.Series(cells["q"], dtype=object), **whole})


def cells_of(rows):
    return dict(zip(("q", "s", "u"), map(list, zip(*rows, strict=True)), strict=True))


def answer(measure, *args, **kwargs):
    try:
        return measure(*args, **kwargs)
    except AnonRiskError as error:
        return type(error).__name__, str(error)


def every_measure(table, c, about, distance):
    """All that is asked about the sensitive values of a table, or why not."""
    found = answer(anonrisk.assess, table, "q", "s", c=c, **about, **distance)
    strict = answer(anonrisk.delta_disclosure, table, "q", "s", strict=True, **about)
    if isinstance(found, tuple):
        return found, strict
    return {**found.values, "strict": strict}


def test_every_score_is_among_what_is_compared():
    # `every_measure` asks for what `assess` has, and for one more.
    assert {name for name, formula in FORMULAS.items() if not formula.measure} == {"strict_delta"}
    assert all(formula.meaning for formula in MEASURES.values())


def test_the_worst_class_is_the_one_that_tells_most():
    # A class much as the table, and a smaller one of a single value: by each score that is worse.
    table = pd.DataFrame({"q": list("aaaaaaaabb"), "s": list("xxxxxyyyyy")})
    profiles = anonrisk.profiles(table, "q", "s")
    for name, formula in FORMULAS.items():
        if name not in {"ordered", "hierarchical"}:
            scores = formula.of(profiles, 2.0 if formula.takes_c else None)
            assert len(set(scores)) == 2, name
            assert formula.worst_of(scores) == scores[np.argmin(profiles.totals)], name


def agree(found, expected):
    if isinstance(expected, dict):
        return found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    return found == expected


@pytest.mark.slow
@pytest.mark.engine
@given(rows=ROWS, about=ABOUT, distance=st.sampled_from(DISTANCES), c=st.floats(1e-3, 1e3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_databases_score_as_pandas_does(connection, rows, about, distance, c):
    cells = cells_of(rows)
    found = every_measure(in_database(connection, cells), c, about, distance)
    expected = every_measure(in_pandas(cells), c, about, distance)
    assert agree(found, expected)


@pytest.mark.slow
@pytest.mark.engine
def test_two_columns_of_one_table_have_answers_of_their_own(connection):
    cells = {"q": list("aabb"), "one": [1, 1, 2, 2], "other": [1, 2, 1, 2]}
    table = in_database(connection, cells)
    assert [anonrisk.ldiv(table, "q", name) for name in ("one", "other")] == [1, 2]
    assert [anonrisk.tcloseness(table, "q", name) for name in ("one", "other")] == [0.5, 0]


@pytest.mark.spark
@pytest.mark.parametrize("distance", DISTANCES, ids=lambda given: next(iter(given)))
@pytest.mark.parametrize("unit", [pytest.param(None, marks=pytest.mark.nightly), "u"])
def test_spark_scores_as_pandas_does(spark, distance, unit):
    rows = [("abc"[i * i % 3], [1, 1, 2, 3, 4, 5, 1][i * 5 % 7], i % 11) for i in range(60)]
    about = {"unit": unit}
    table = spark.createDataFrame(rows, "q string, s bigint, u bigint")
    found = every_measure(table, 1.5, about, distance)
    assert agree(found, every_measure(in_pandas(cells_of(rows)), 1.5, about, distance))


@pytest.mark.slow
def test_one_value_leaves_nothing_in_doubt_and_nothing_to_move(connection):
    table = in_database(connection, {"q": ["a", "a", "b"], "s": [7, 7, 7]})
    found = anonrisk.assess(table, "q", "s", c=2, distance="ordered")
    assert (found["ldiv"], found["entropy_ldiv"], found["recursive_ldiv"]) == (1, 1, 1)
    assert (found["tcloseness"], found["beta_likeness"], found["delta_disclosure"]) == (0, 0, 0)
    assert anonrisk.tcloseness(table, "q", "s", hierarchies={"any": ["7"]}) == 0


@pytest.mark.slow
def test_a_tie_is_on_the_same_side_in_a_database(connection):
    # Strictly less than 1.5 times the tail: 3 < 1.5 · 2 is not.
    tie = in_database(connection, {"q": ["a"] * 5, "s": ["x"] * 3 + ["y"] * 2})
    assert anonrisk.ldiv(tie, "q", "s", "recursive", c=1.5) == 1
    assert anonrisk.ldiv(tie, "q", "s", "recursive", c=1.5 + 1e-15) == 2
    halves = in_database(connection, {"q": ["a"] * 6, "s": list("xxxyyy")})
    entropy = {"l": 2, "variant": "entropy"}
    assert Policy(quasi="q", sensitive="s", ldiv=entropy).check(halves).passed


@pytest.mark.slow
def test_infinite_is_infinite(connection):
    apart = in_database(connection, {"q": list("aabb"), "s": list("xxyy")})
    assert anonrisk.beta_likeness(apart, "q", "s", "enhanced") == float("inf")
    assert anonrisk.delta_disclosure(apart, "q", "s", strict=True) == float("inf")


@pytest.mark.slow
def test_a_policy_gives_the_verdict_that_it_gives_of_pandas(connection):
    rows = [("ab"[i > 15], 1 + i % 5 * i % 5, i) for i in range(40)]
    cells = cells_of(rows)
    for t in (0.01, 0.9):
        budgets = {
            "k": 2,
            "ldiv": {"l": 3, "variant": "distinct"},
            "tcloseness": {"t": t, "distance": "ordered"},
        }
        policy = Policy(quasi="q", sensitive="s", insensitive="u", **budgets)
        in_sql, here = policy.check(in_database(connection, cells)), policy.check(in_pandas(cells))
        assert in_sql.status == here.status == ("pass" if t > 0.5 else "fail")
        values = [[finding.value for finding in verdict.findings] for verdict in (in_sql, here)]
        assert values[0] == pytest.approx(values[1], rel=1e-12)


@pytest.mark.slow
def test_scales_are_ordered_by_themselves(connection):
    floats = in_database(connection, {"q": list("aabb"), "s": [1.5, 2.0, 3.0, 4.0]})
    assert anonrisk.tcloseness(floats, "q", "s").distance == "ordered"
    whole = in_database(connection, {"q": list("aabb"), "s": [1, 2, 3, 4]})
    assert anonrisk.tcloseness(whole, "q", "s").distance == "equal"
    days = [dt.date(2020, 1, day) for day in (1, 2, 3, 4)]
    dates = in_database(connection, {"q": list("aabb"), "s": days})
    # SQLite has no dates: what it stores is text.
    expected = "equal" if connection.dialect.name == "sqlite" else "ordered"
    assert anonrisk.tcloseness(dates, "q", "s").distance == expected


@pytest.mark.slow
def test_dates_and_booleans_in_an_order_or_a_hierarchy(connection):
    if connection.dialect.name == "sqlite":
        pytest.skip("SQLite has neither")
    days = [dt.date(2020, 1, day) for day in (1, 2, 3, 4)]
    dates = in_database(connection, {"q": list("aabb"), "s": days})
    frame = pd.DataFrame({"q": list("aabb"), "s": days})
    for order in (days, days[::-2] + days[::2]):
        found = anonrisk.tcloseness(dates, "q", "s", order=order)
        assert found == pytest.approx(anonrisk.tcloseness(frame, "q", "s", order=order))
    with pytest.raises(UnsupportedColumnError, match="sensitive column 's' holds dates"):
        anonrisk.tcloseness(dates, "q", "s", hierarchies={"any": list(map(str, days))})
    truths = {"q": list("aabb"), "s": [True, False, True, True]}
    for how in ({"order": [True, False]}, {"hierarchies": {"any": [True, False]}}):
        found = anonrisk.tcloseness(in_database(connection, truths), "q", "s", **how)
        assert found == anonrisk.tcloseness(pd.DataFrame(truths), "q", "s", **how)


@pytest.mark.slow
def test_text_without_an_order_and_values_outside_one_are_refused(connection):
    table = in_database(connection, {"q": ["a", "a"], "s": ["SECRET", "y"]})
    frame = pd.DataFrame({"q": ["a", "a"], "s": ["SECRET", "y"]})
    for how in (
        {"distance": "ordered"},
        {"order": ["y", "z"]},
        {"order": [1, 2]},
        {"hierarchies": {"any": ["y", "z"]}},
    ):
        found = answer(anonrisk.tcloseness, table, "q", "s", **how)
        assert found == answer(anonrisk.tcloseness, frame, "q", "s", **how)
        assert "SECRET" not in found[1]


@pytest.mark.slow
def test_a_table_of_the_name_of_one_of_ours_is_another(connection):
    for name in ("counted", "classes", "moved"):
        table = in_database(connection, {"q": list("aabb"), "s": [1, 2, 3, 4]}, name)
        assert anonrisk.tcloseness(table, "q", "s", "ordered") == pytest.approx(1 / 3)
        connection.execute(sa.text(f"DROP TABLE {name}"))


def test_classes_without_a_score_are_noticed(connection, monkeypatch):
    from anonrisk.engines.sql import rows

    table = in_database(connection, {"q": list("aabb"), "s": list("xyxx")})
    real = rows.written

    def some(query, dialect):
        return real(query.replace("max(c) / sum(c)", "max(nullif(c, 2))"), dialect)

    monkeypatch.setattr(rows, "written", some)
    with pytest.raises(EngineError, match="no 'alpha' score of some classes"):
        anonrisk.alpha(table, "q", "s")


def test_an_sqlite_without_logarithms_is_refused_by_name(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/t.sqlite")
    with engine.connect() as connection:
        table = in_database(connection, {"q": list("aabb"), "s": list("xyxx")})
        # Gone from this connection, as from a build without them.
        connection.connection.driver_connection.create_function("ln", 1, None)
        with pytest.raises(UnsupportedFrameError, match="built without ln and exp"):
            anonrisk.ldiv(table, "q", "s", "entropy")
        assert anonrisk.ldiv(table, "q", "s") == 1
    engine.dispose()


class OldSqlglot:
    __version__ = "24.1.0"


@pytest.mark.parametrize("installed", [None, OldSqlglot])
def test_without_sqlglot_a_database_is_refused_in_words(tmp_path, monkeypatch, installed):
    from anonrisk.engines.sql import text

    text.written.cache_clear()
    monkeypatch.setitem(sys.modules, "sqlglot", installed)
    engine = sa.create_engine(f"sqlite:///{tmp_path}/t.sqlite")
    with engine.connect() as connection:
        table = in_database(connection, {"q": ["a", "a"], "s": ["x", "y"]})
        for ask in (lambda: anonrisk.ldiv(table, "q", "s"), lambda: anonrisk.k(table, "q")):
            with pytest.raises(UnsupportedFrameError, match=r"SQLGlot 25 .*anonrisk\[sql\]"):
                ask()
    engine.dispose()
