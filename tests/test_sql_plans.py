"""Plans, offers and reports of tables in a database are those of the same table on pandas."""

from __future__ import annotations

import datetime as dt
import random

import numpy as np
import pandas as pd
import pytest
from planned import with_options

import anonrisk
from anonrisk.engines import engine_for
from anonrisk.errors import TooManyClassesError, UnsupportedColumnError
from anonrisk.measures.counts import question
from anonrisk.measures.counts.question import ClassesOfSets, ClassesWithValues

sa = pytest.importorskip("sqlalchemy")
databases = pytest.importorskip("databases")


@pytest.fixture(scope="module", params=databases.PLACES)
def place(request, tmp_path_factory):
    with databases.opened(request.param, request, tmp_path_factory.mktemp("db")) as found:
        yield found


def people(seed, n):
    rng = random.Random(seed)
    return {
        "q": [rng.choice(["a", "A", "b", None, "o'h\"a", "%s"]) for _ in range(n)],
        "zip": [rng.choice(["1010", "1020", "1131", "2030"]) for _ in range(n)],
        "age": [rng.randrange(20, 80) for _ in range(n)],
        "x": [rng.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in range(n)],
        "day": [dt.date(1969, 12, 1) + dt.timedelta(rng.randrange(90)) for _ in range(n)],
        "b": [rng.choice([True, False]) for _ in range(n)],
        "s": [rng.choice("xyz") for _ in range(n)],
    }


def counted(table, columns, free=()):
    """The classes of a table, by their values, which must be of the same kind and in order."""
    found = engine_for(table).tally(table, ClassesWithValues(columns, free))
    domains = {
        name: (domain.kind, domain.collapsed, domain.values.tolist())
        for name, domain in found.domains.items()
    }
    codes = np.column_stack([found.codes[name] for name in columns])
    return domains, dict(zip(map(tuple, codes.tolist()), found.counts.tolist(), strict=True))


COLUMNS = ("q", "zip", "age", "x")


@pytest.mark.slow
def test_classes_have_the_same_values_as_on_pandas(place):
    cells = people(1, 80)
    # SQLite has neither dates nor booleans: it keeps texts and numbers.
    columns = COLUMNS if place.kind == "sqlite" else (*COLUMNS, "day", "b")
    assert counted(place.table(cells), columns) == counted(pd.DataFrame(cells), columns)


@pytest.mark.slow
def test_plans_are_those_of_pandas(place):
    cells = people(2, 150)
    table, frame = place.table(cells), pd.DataFrame(cells)
    for asked in ({"k": 3}, {"k": 2, "ldiv": 2, "sensitive": "s"}):
        plan = anonrisk.plan(frame, ["zip", "age"], **with_options(**asked))
        assert (
            anonrisk.plan(table, ["zip", "age"], **with_options(**asked)).to_json()
            == plan.to_json()
        )


@pytest.mark.slow
def test_too_many_classes_are_put_together_where_they_may_be_or_refused(place, monkeypatch):
    cells = people(3, 600)
    cells["x"] = [i * 1.37 for i in range(600)]
    table = place.table(cells)
    monkeypatch.setattr(question, "MAX_CLASSES", 200)
    domains, classes = counted(table, ("x",), ("x",))
    assert domains["x"][:2] == ("number", True)
    assert 60 <= len(classes) <= 129
    assert sum(classes.values()) == 600
    low, *_, high = domains["x"][2]
    assert (low, high) == (0.0, 599 * 1.37)
    with pytest.raises(TooManyClassesError, match="out of the database"):
        counted(table, ("x",))
    if place.kind != "sqlite":
        months, classes = counted(table, ("age", "day"), ("day",))
        assert months["day"][:2] == ("date", True)
        assert len(months["day"][2]) == 3
        expected = pd.to_datetime(pd.Series(cells["day"])).dt.to_period("M")
        both = pd.crosstab(pd.Series(cells["age"]), expected).to_numpy()
        assert sorted(classes.values()) == sorted(both[both > 0].tolist())
    cells["x"][5] = float("inf")
    with pytest.raises(UnsupportedColumnError, match="infinite in 1 row"):
        counted(place.table(cells), ("x",), ("x",))


@pytest.mark.slow
@pytest.mark.nightly
def test_offers_reports_and_losses_are_made_in_a_database(place):
    cells = people(4, 120)
    table, frame = place.table(cells), pd.DataFrame(cells)
    qids = ["zip", "age"]
    mine, theirs = (str(anonrisk.explore(one, qids)) for one in (table, frame))
    # What would help is tried on tables in memory alone.
    counted, untried, _ = mine.partition("Nothing was tried on this table")
    assert untried
    assert theirs.replace("pandas", "sql").startswith(counted)
    assert "zip" in anonrisk.report(table, qids).to_html()
    assert str(anonrisk.utility(table, qids, original=table)) == str(
        anonrisk.utility(frame, qids, original=frame)
    )


def test_a_set_of_columns_that_is_asked_twice_is_counted_once(place):
    """Of one column, utility asks for the column and for all columns, which are the same set."""
    cells = people(5, 60)
    table, frame = place.table(cells), pd.DataFrame(cells)
    mine, theirs = (str(anonrisk.utility(one, ["zip"], original=one)) for one in (table, frame))
    assert mine == theirs
    asked = ClassesOfSets((("zip", "b"), ("b", "zip"), ("zip",), ("zip",)))
    mine, theirs = (
        [sorted(classes.counts) for classes in engine_for(one).tally(one, asked)]
        for one in (table, frame)
    )
    assert mine == theirs
