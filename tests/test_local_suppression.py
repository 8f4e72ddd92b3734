"""Cells that are chosen: every record matches k, and none loses a cell that nobody needs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk.engines.numpy.table import Codes
from anonrisk.errors import ArgumentError
from anonrisk.planning import left_out
from anonrisk.planning.left_out import choose_cells, sets_by_cost


def match(one, other):
    return all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))


def fits(row, rows):
    """Count the rows that match one; the slow and obvious way."""
    return sum(match(row, other) for other in rows)


def without(row, columns):
    return tuple(None if j in columns else cell for j, cell in enumerate(row))


def all_sets(n_columns):
    return [s for n in range(n_columns + 1) for s in combinations(range(n_columns), n)]


def price(columns, weights):
    return sum(weights[j] for j in columns), len(columns)


def minimal_sets(row, rows, k):
    """Sets without which a row fits k rows, and no smaller one in them does."""
    known = [s for s in all_sets(len(row)) if fits(without(row, s), rows) >= k]
    return [s for s in known if not any(set(t) < set(s) for t in known)]


def chosen(rows, k, weights, **how):
    """Return what becomes of each row, and what was said of the choice."""
    keys = Counter(rows)
    columns = []
    for cells in zip(*keys, strict=True):
        values = sorted({cell for cell in cells if cell is not None})
        codes = [len(values) if cell is None else values.index(cell) for cell in cells]
        n_missing = sum(cell is None for cell in cells)
        columns.append(Codes(np.array(codes), len(values) + 1, n_missing))
    found = choose_cells(columns, np.array(list(keys.values())), k, weights, **how)
    lost = {
        key: tuple(np.flatnonzero(row).tolist()) for key, row in zip(keys, found.cells, strict=True)
    }
    assert found.n_cells == sum(len(lost[row]) for row in rows)
    assert found.cost == pytest.approx(sum(price(lost[row], weights)[0] for row in rows))
    assert all(row[j] is not None for row in rows for j in lost[row]), "it was missing before"
    return lost, found


cell = st.sampled_from(["a", "b", "c", None])
complete = st.sampled_from(["a", "b", "c"])
tables = st.integers(1, 4).flatmap(
    lambda m: st.lists(
        st.tuples(*[st.one_of(complete, complete, cell)] * m), min_size=1, max_size=14
    )
)
weights_of = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=4, max_size=4)


@pytest.mark.slow
@given(tables, st.integers(1, 4), weights_of, st.booleans())
def test_every_record_matches_k_and_nobody_gets_worse(rows, k, weights, shared):
    weights = weights[: len(rows[0])]
    if k > len(rows):
        with pytest.raises(ArgumentError, match="larger than the table"):
            chosen(rows, k, weights, shared=shared)
        return
    lost, _ = chosen(rows, k, weights, shared=shared)
    after = [without(row, lost[row]) for row in rows]
    for row, new in zip(rows, after, strict=True):
        assert fits(new, after) >= max(k, fits(row, rows))
        if fits(row, rows) >= k:
            assert new == row
        # Never more than it would need if it were the only one.
        assert any(set(lost[row]) <= set(s) for s in minimal_sets(row, rows, k))


@given(tables, st.integers(1, 4), weights_of)
def test_alone_each_loses_the_least_that_it_needs(rows, k, weights):
    k, weights = min(k, len(rows)), weights[: len(rows[0])]
    lost, found = chosen(rows, k, weights)
    assert found.optimal
    for row in rows:
        best = min(price(s, weights) for s in minimal_sets(row, rows, k))
        assert price(lost[row], weights) == pytest.approx(best)


@pytest.mark.slow
@given(tables, st.integers(1, 4), weights_of)
def test_shared_cells_are_needed_one_by_one(rows, k, weights):
    k, weights = min(k, len(rows)), weights[: len(rows[0])]
    lost, found = chosen(rows, k, weights, shared=True)
    assert found.cost <= chosen(rows, k, weights)[1].cost + 1e-9
    for key, columns in lost.items():
        for back in columns:
            fewer = {**lost, key: tuple(j for j in columns if j != back)}
            after = [without(row, fewer[row]) for row in rows]
            assert min(fits(row, after) for row in after) < k


@pytest.mark.slow
@given(
    st.lists(st.tuples(complete, complete, complete), min_size=2, max_size=5),
    st.integers(2, 3),
    weights_of,
)
def test_what_is_called_optimal_is(rows, k, weights):
    k, weights = min(k, len(rows)), weights[:3]
    _, found = chosen(rows, k, weights, shared=True)
    assert found.optimal
    keys = list(Counter(rows))
    allowed = [
        {s for s in all_sets(3) for most in minimal_sets(key, rows, k) if set(s) <= set(most)}
        for key in keys
    ]
    costs = []
    for choice in product(*allowed):
        lost = dict(zip(keys, choice, strict=True))
        after = [without(row, lost[row]) for row in rows]
        if min(fits(row, after) for row in after) >= k:
            costs.append(sum(price(lost[row], weights)[0] for row in rows))
    assert found.cost == pytest.approx(min(costs))


@pytest.mark.slow
def test_greedy_choices_hold_without_the_search(monkeypatch):
    monkeypatch.setattr(left_out, "_MAX_SEARCHED", -1)
    random = np.random.default_rng(7)
    for _ in range(20):
        rows = list(map(tuple, random.choice(list("abc"), (30, 3)).tolist()))
        lost, found = chosen(rows, 3, [1.0, 2.0, 1.0], shared=True)
        after = [without(row, lost[row]) for row in rows]
        assert min(fits(row, after) for row in after) >= 3
        assert not found.optimal or not found.n_cells


def test_a_search_that_is_cut_short_does_not_call_itself_optimal(monkeypatch):
    rows = [tuple(row) for row in ("aax", "abx", "bax", "bbx", "cay", "cby")]
    full = chosen(rows, 2, [1.0] * 3, shared=True)[1]
    monkeypatch.setattr(left_out, "MAX_STEPS", 1)
    short = chosen(rows, 2, [1.0] * 3, shared=True)[1]
    monkeypatch.setattr(left_out, "MAX_KEYS", 1)
    none = chosen(rows, 2, [1.0] * 3, shared=True)[1]
    assert full.optimal
    assert not short.optimal
    assert not none.optimal
    assert full.cost <= short.cost <= none.cost


def test_sets_come_by_cost_then_size_then_from_the_last():
    sets, complete = sets_by_cost([2.0, 1.0, 0.0])
    assert complete
    assert sets == [[(2,)], [(1,)], [(2, 1)], [(0,)], [(2, 0)], [(1, 0)], [(2, 1, 0)]]
    assert sets_by_cost([float("inf"), 1.0]) == ([[(1,)]], True)
    assert sets_by_cost([float("inf")]) == ([], True)


def test_many_columns_are_cut_short_and_still_enough(monkeypatch):
    monkeypatch.setattr(left_out, "MAX_SETS", 40)
    sets, complete = sets_by_cost([1.0] * 8)
    assert not complete
    assert [len(alike[0]) for alike in sets] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert sum(map(len, sets)) == 8 + 28 + 6
    rows = [tuple("ab"[row >> j & 1] for j in range(8)) for row in (0, 255, 15)]
    for shared in (False, True):
        lost, found = chosen(rows, 2, [1.0] * 8, shared=shared)
        after = [without(row, lost[row]) for row in rows]
        assert min(fits(row, after) for row in after) >= 2
        assert not found.optimal


def test_a_column_that_may_not_be_touched_can_stop_it():
    rows = [("a", "x"), ("a", "y"), ("b", "x")]
    lost, _ = chosen([*rows[:2], ("a", "x")], 2, [float("inf"), 1.0])
    assert lost == {("a", "x"): (), ("a", "y"): (1,)}
    with pytest.raises(ArgumentError, match="1 record would match too few") as caught:
        chosen(rows, 2, [float("inf"), 1.0])
    assert "'b'" not in str(caught.value)


# sdcMicro 5.7.9, its own examples of localSuppression and print.localSuppression: suppressed cells.
PUBLISHED = [
    ("francdat", ["Key2", "Key3", "Key4"], 2, 4),
    ("francdat", ["Key1", "Key2", "Key3", "Key4"], 2, 4),
    ("testdata2", ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"], 2, 97),
]
OURS = {False: [4, 6, 109], True: [2, 3, 58]}


@pytest.mark.slow
@pytest.mark.parametrize("shared_cells", OURS)
def test_beside_what_sdcmicro_publishes(shared, shared_cells):
    found = []
    for name, qid, k, theirs in PUBLISHED:
        table = pd.read_csv(shared / "data" / "tables" / f"{name}.csv")[qid]
        rows = list(table.itertuples(index=False, name=None))
        lost, what = chosen(rows, k, [1.0] * len(qid), shared=shared_cells)
        after = [without(row, lost[row]) for row in rows]
        assert min(fits(row, after) for row in after) >= k
        assert what.n_cells <= theirs or not shared_cells
        found.append(what.n_cells)
    assert found == OURS[shared_cells]
