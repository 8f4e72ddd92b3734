"""What is known of a population gives the same in a database as on pandas."""

from __future__ import annotations

import random

import pandas as pd
import pytest

import anonrisk
from anonrisk.engines import engine_for
from anonrisk.errors import AnonRiskError, UnsupportedColumnError, UnsupportedFrameError
from anonrisk.measures.counts.question import IfIndependent, Question

sa = pytest.importorskip("sqlalchemy")
databases = pytest.importorskip("databases")


@pytest.fixture(scope="module", params=databases.PLACES)
def place(request, tmp_path_factory):
    with databases.opened(request.param, request, tmp_path_factory.mktemp("db")) as found:
        yield found


def people(seed, n):
    rng = random.Random(seed)
    return {
        "q": [rng.choice(["a", "A", "b", None, "o'h\"a"]) for _ in range(n)],
        "x": [rng.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in range(n)],
        "i": [rng.choice([1, 2, 3, None]) for _ in range(n)],
        "w": [rng.choice([1.0, 2.5, 7.25]) for _ in range(n)],
        "home": [rng.randrange(max(n // 3, 1)) for _ in range(n)],
    }


def pandas_of(cells):
    made = {name: pd.Series(column, dtype=object) for name, column in cells.items()}
    numbers = {name: cells[name] for name in ("x", "w") if name in cells}
    return pd.DataFrame({**made, **numbers, "i": pd.array(cells["i"], dtype="Int64")})


def part(cells, step):
    return {name: column[::step] for name, column in cells.items()}


def answer(measure, *args, **kwargs):
    try:
        return measure(*args, **kwargs)
    except AnonRiskError as error:
        return type(error).__name__, str(error)


def numbers_of(risk):
    """Everything that a risk says."""
    if isinstance(risk, tuple):
        return risk
    found = []
    for name in ("prosecutor", "journalist", "marketer", "household"):
        one = getattr(risk, name)
        if one is not None:
            found += [one.average, one.highest or 0]
            if one.highest is not None:
                found += [one.share_above(x) for x in (0.01, 0.05, 0.2, 0.5)]
    return pytest.approx(found, rel=1e-12, abs=1e-12)


QIDS = ["q", "x", "i"]


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["value", "drop", "error"])
def test_a_population_tells_the_same_as_on_pandas(place, missing):
    everyone = people(1, 900)
    release = part(everyone, 3)
    tables = place.table(release, "release"), place.table(everyone, "everyone")
    frames = pandas_of(release), pandas_of(everyone)

    def told(mine, population):
        options = {"population": population, "missing": missing}
        risk = answer(anonrisk.risk, mine, QIDS, household="home", **options)
        kmap = answer(anonrisk.kmap, mine, QIDS, **options)
        return numbers_of(risk), kmap, answer(anonrisk.delta_presence, mine, QIDS, **options)

    found, expected = told(*tables), told(*frames)
    assert str(found[1:]) == str(expected[1:])
    assert found[0] == (expected[0] if missing == "error" else expected[0].expected)


@pytest.mark.slow
def test_a_population_that_does_not_fit_is_refused_as_on_pandas(place):
    everyone = people(2, 60)
    release = people(3, 40)
    found = answer(
        anonrisk.kmap,
        place.table(release, "release"),
        QIDS,
        population=place.table(everyone, "everyone"),
    )
    expected = answer(anonrisk.kmap, pandas_of(release), QIDS, population=pandas_of(everyone))
    assert expected[0] == "PopulationError"
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_weights_and_models_tell_the_same_as_on_pandas(place, missing):
    cells = people(4, 300)
    table, frame = place.table(cells), pandas_of(cells)

    def told(mine):
        weighted = anonrisk.risk(mine, QIDS, weight="w", missing=missing)
        model = anonrisk.predict_population(mine, QIDS, weight="w", missing=missing)
        return numbers_of(weighted), str(model)

    found, expected = told(table), told(frame)
    assert found[0] == expected[0].expected
    assert found[1] == expected[1]


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.1, 0.9, 1e-4])
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_independent_columns_tell_the_same_as_on_pandas(place, missing, fraction):
    cells = people(8, 120)
    asked = IfIndependent(Question((("q", "x", "i", "w", "home"),), None, missing), fraction)
    found, expected = (
        engine_for(table).tally(table, asked) for table in (place.table(cells), pandas_of(cells))
    )
    for name in ("unique", "match", "observed"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-12)
    for one, other in zip(found.margins, expected.margins, strict=True):
        assert [part.tolist() for part in one] == [part.tolist() for part in other]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [None, 0.5, float("inf"), float("nan")])
def test_weights_that_are_none_are_refused_as_on_pandas(place, wrong):
    cells = people(5, 20)
    cells["w"][3] = wrong
    found = answer(anonrisk.risk, place.table(cells), "i", weight="w")
    assert found == answer(anonrisk.risk, pandas_of(cells), "i", weight="w")
    assert found[0] == "WeightError"


@pytest.mark.slow
def test_what_cannot_be_matched_is_refused_in_words(place):
    cells = people(6, 12)
    table = place.table(cells)
    assert answer(anonrisk.risk, table, "i", weight="q")[0] == "WeightError"
    cells["home"][2] = None
    lost = place.table(cells, "lost")
    expected = answer(anonrisk.risk, pandas_of(cells), "i", household="home")
    assert answer(anonrisk.risk, lost, "i", household="home") == expected
    assert expected[0] == "MissingUnitError"
    with pytest.raises(UnsupportedFrameError, match="same library"):
        anonrisk.kmap(table, "i", population=pandas_of(cells))
    texts = place.query("SELECT 'x' AS i")
    with pytest.raises(UnsupportedColumnError, match="mixes types: whole numbers in the release"):
        anonrisk.kmap(table, "i", population=texts)


def test_a_population_elsewhere_is_refused(tmp_path):
    release, people = (f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("release", "people"))
    for url in (release, people):
        with sa.create_engine(url).begin() as connection:
            databases.write(connection, "t", {"i": [1, 1, 2]})
    tables = [anonrisk.sql.table(url, "t") for url in (release, release, people)]
    assert anonrisk.kmap(tables[0], "i", population=tables[1]) == 1
    with pytest.raises(UnsupportedFrameError, match="same connection, engine or URL"):
        anonrisk.kmap(tables[0], "i", population=tables[2])
    memory = [sa.create_engine("sqlite://") for _ in range(2)]
    given = [anonrisk.sql.table(engine, "SELECT 1 AS i") for engine in memory]
    with pytest.raises(UnsupportedFrameError, match="same connection, engine or URL"):
        anonrisk.kmap(given[0], "i", population=given[1])


@pytest.mark.slow
def test_only_sums_leave_the_database(place):
    everyone = people(7, 3000)
    mine, all_ = place.table(part(everyone, 3), "release"), place.table(everyone, "everyone")
    with place.watched() as seen:
        anonrisk.kmap(mine, QIDS, population=all_)
    assert seen.kinds() == {"match the classes": 1}
    assert seen.rows < 150
    with place.watched() as seen:
        engine_for(mine).tally(mine, IfIndependent(Question((tuple(QIDS),)), 0.1))
    assert seen.kinds()["compare the columns"] == 2
    assert seen.rows < 150
