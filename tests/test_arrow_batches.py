"""Queries that are counted in batches: the answers of the table, whatever a batch holds."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk.errors import AnonRiskError

pl = pytest.importorskip("polars")
batches = pytest.importorskip("anonrisk.engines.arrow.polars_tables")
polars_tables = pytest.importorskip("anonrisk.engines.arrow.polars_tables")

pytestmark = pytest.mark.skipif(
    not hasattr(pl.LazyFrame, "collect_batches"), reason="this Polars has no batches"
)

CELLS = {
    pl.Int8: [-128, 127, 0, None],
    pl.Int64: [-(2**63), 2**63 - 1, 5, 6],
    pl.UInt64: [2**64 - 1, 2**64 - 2, 0, None],
    pl.Float64: [0.0, -0.0, float("nan"), None],
    pl.String: ["", "a", "é", None],
    pl.Categorical: ["b", "a", "c", None],
    pl.Enum(["high", "low", "mid"]): ["low", "high", "mid", None],
    pl.Boolean: [True, False, None, None],
    pl.Date: [dt.date(2024, 1, 1), dt.date(1970, 1, 1), None, dt.date(2024, 1, 2)],
    pl.Datetime("us", "UTC"): [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None, None, None],
    pl.Decimal(9, 2): [Decimal("1.00"), Decimal("1.50"), None, Decimal("-1.00")],
    pl.Binary: [b"", b"a", None, b"b"],
}


@pytest.fixture(params=[(2, 2), (3, 100)], ids=str)
def small(request, monkeypatch):
    """Batches of a few rows, and few cells that are looked up in the next."""
    rows, few = request.param
    monkeypatch.setattr(polars_tables, "_AT_ONCE", 1)
    monkeypatch.setattr(polars_tables, "_BATCH", rows)
    monkeypatch.setattr(batches, "_FEW", few)
    monkeypatch.setattr(batches, "_PART", rows)


@pytest.mark.parametrize("kind", CELLS, ids=str)
@settings(max_examples=8)
@given(data=st.data())
def test_every_type_is_counted_as_in_the_table(kind, data):
    places = data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=1, max_size=9))
    cells = CELLS[kind]
    table = pl.DataFrame(
        {
            "q": pl.Series([cells[i] for i, _ in places], dtype=kind),
            "s": pl.Series([cells[j] for _, j in places], dtype=kind),
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polars_tables, "_AT_ONCE", data.draw(st.integers(0, 3)))
        patch.setattr(polars_tables, "_BATCH", data.draw(st.integers(1, 4)))
        patch.setattr(batches, "_FEW", data.draw(st.integers(1, 5)))
        patch.setattr(batches, "_PART", 2)
        for ask in (
            lambda frame: anonrisk.classes(frame, "q").to_dict(),
            lambda frame: anonrisk.classes(frame, ["q", "s"], missing="drop").to_dict(),
            lambda frame: anonrisk.ldiv(frame, "q", "s", missing_sensitive="value"),
            lambda frame: anonrisk.tcloseness(frame, "q", "s", missing_sensitive="value"),
            lambda frame: anonrisk.classes(frame, "q", unit="s").to_dict(),
        ):
            assert answer(ask, table.lazy()) == answer(ask, table)


def answer(ask, frame):
    try:
        return ask(frame)
    except AnonRiskError as error:
        return type(error), str(error)


def test_an_order_of_categories_is_kept(small):
    # The distance between neighbours is smaller than between ends: by letters it would be another.
    kind = pl.Enum(["mid", "high", "low"])
    table = pl.DataFrame(
        {"q": list("aabbcc"), "s": ["mid", "high", "high", "low", "low", "mid"]},
        schema={"q": pl.String, "s": kind},
    )
    by_order = anonrisk.tcloseness(table, "q", "s", distance="ordered")
    assert anonrisk.tcloseness(table.lazy(), "q", "s", distance="ordered") == by_order


def test_a_query_without_rows_has_its_types(small):
    table = pl.DataFrame(schema={"q": pl.Categorical, "n": pl.Int64})
    ask = lambda frame: anonrisk.k(frame, ["q", "n"])  # noqa: E731
    assert answer(ask, table.lazy()) == answer(ask, table)


def test_a_query_is_run_once_and_never_held_whole(small):
    seen = []

    def look(batch):
        seen.append(batch.height)
        return batch

    query = pl.DataFrame({"q": [1, 2] * 6, "other": ["x"] * 12}).lazy()
    looked = query.map_batches(look, streamable=True)
    assert anonrisk.k(looked, "q") == 6
    assert sum(seen) == 12


def test_many_rows_of_few_bytes_are_counted_in_parts():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 300, 5_000_000).astype(np.int32)
    frame = pl.DataFrame({"q": keys})
    expected = np.bincount(keys)
    assert anonrisk.k(frame.lazy(), "q") == expected.min()
    assert anonrisk.classes(frame, "q").n_classes == 300
