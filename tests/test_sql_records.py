"""Calls that give a table give a query in a database, with the records that pandas gives."""

from __future__ import annotations

import random

import pandas as pd
import pytest

import anonrisk
from anonrisk.errors import ArgumentError, UnsupportedFrameError

sa = pytest.importorskip("sqlalchemy")
databases = pytest.importorskip("databases")
ODD, answer, pandas_of = databases.ODD, databases.answer, databases.pandas_of


@pytest.fixture(scope="module", params=databases.PLACES)
def place(request, tmp_path_factory):
    with databases.opened(request.param, request, tmp_path_factory.mktemp("db")) as found:
        yield found


def random_cells(seed, n):
    rng = random.Random(seed)
    return {
        "q": [rng.choice(["a", "A", "b", None, "o'h\"a", "%s"]) for _ in range(n)],
        ODD: [rng.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in range(n)],
        "i": [rng.choice([1, 2, 3, None]) for _ in range(n)],
        "u": [rng.randrange(max(n // 2, 1)) for _ in range(n)],
        "id": list(range(n)),
    }


def read(table, *names):
    """Read columns in the order of `id`, nothing as None."""
    query = sa.select(*map(table.raw, names)).select_from(table.source)
    rows = table.fetch(query.order_by(table.raw("id")), "read the records")
    return [tuple(None if x is None else float(x) for x in row) for row in rows]


def plain(values):
    return [(None if pd.isna(x) else float(x),) for x in values]


QIDS = ["q", ODD, "i"]
OPTIONS = [{}, {"unit": "u"}, {"missing": "drop"}, {"missing": "drop", "unit": "u"}]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_records_carry_the_size_of_their_class(place, options):
    cells = random_cells(1, 60)
    table, frame = place.table(cells), pandas_of(cells)
    found = anonrisk.sizes(table, QIDS, **options)
    assert found.names == [*cells, "class_size"]
    assert read(found, "class_size") == plain(anonrisk.sizes(frame, QIDS, **options))
    # It can be asked again, as any table.
    assert anonrisk.k(found, "class_size") == anonrisk.k(pd.DataFrame(read(found, "class_size")), 0)
    with pytest.raises(ArgumentError, match="already has a column 'ID'"):
        anonrisk.sizes(table, QIDS, name="ID")


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_records_at_risk_are_those_of_pandas(place, options):
    cells = random_cells(2, 60)
    table, frame = place.table(cells), pandas_of(cells)
    for k in (1, 2, 3, 50):
        found = anonrisk.at_risk(table, QIDS, k=k, **options)
        assert found.names == list(cells)
        expected = anonrisk.at_risk(frame, QIDS, k=k, **options)["id"]
        assert read(found, "id") == plain(expected)


@pytest.mark.slow
def test_small_classes_are_left_out_and_the_rest_can_be_read(place):
    cells = random_cells(5, 60)
    table, frame = place.table(cells), pandas_of(cells)
    found = anonrisk.suppress(table, QIDS, k=3)
    assert anonrisk.k(found, QIDS) >= 3
    expected = anonrisk.suppress(frame, QIDS, k=3)
    assert sorted(found.to_pandas()["id"]) == sorted(expected["id"])
    assert list(found.to_pandas().columns) == list(expected.columns)
    with pytest.raises(UnsupportedFrameError, match="a table with other cells"):
        anonrisk.suppress(table, QIDS, k=3, cells=True)


@pytest.mark.slow
def test_what_a_question_refuses_is_refused_before_a_query_is_made(place):
    cells = random_cells(3, 30)
    table, frame = place.table(cells), pandas_of(cells)
    for options in ({"missing": "error"}, {"unit": "i", "qids": "q"}):
        given = {"qids": QIDS, **options}
        found = answer(anonrisk.sizes, table, **given)
        assert found == answer(anonrisk.sizes, frame, **given)
        assert isinstance(found, tuple)
    with pytest.raises(UnsupportedFrameError, match="break a limit"):
        anonrisk.at_risk(table, "q", sensitive="i", l=2)
    empty = place.query("SELECT * FROM t WHERE 1 = 0")
    assert read(anonrisk.sizes(empty, "q"), "class_size") == []
    assert read(anonrisk.at_risk(empty, "q"), "id") == []


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("fraction", [None, 0.1])
def test_minimal_uniques_are_those_of_pandas(place, missing, fraction):
    cells = random_cells(4, 40)
    table, frame = place.table(cells), pandas_of(cells)
    options = {"max_size": 3, "missing": missing, "sampling_fraction": fraction}
    found = anonrisk.suda(table, [*QIDS, "u"], **options)
    expected = anonrisk.suda(frame, [*QIDS, "u"], **options)
    assert str(found) == str(expected)
    names = list(expected.records.columns)
    assert found.records.names == [*cells, *names]
    assert found.scores.names == [*cells, "suda_score"]
    for name in names:
        of_pandas = plain(expected.records[name])
        for one, other in zip(read(found.records, name), of_pandas, strict=True):
            assert (one == (None,)) == (other == (None,))
            assert (one[0] or 0) == pytest.approx(other[0] or 0, rel=1e-12, abs=1e-12)
    assert read(found.scores, "suda_score") == plain(expected.scores)


def test_more_sets_than_a_database_bears_are_refused(tmp_path):
    with databases.opened("duckdb itself", None, tmp_path) as place:
        columns = [f"c{i}" for i in range(16)]
        table = place.query(f"SELECT {', '.join(f'{i} AS {c}' for i, c in enumerate(columns))}")
        with pytest.raises(ArgumentError, match="696 sets of columns"):
            anonrisk.suda(table, columns, max_size=3)
