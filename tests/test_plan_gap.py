"""How far a plan by region is from the best: against all partitions and all regions."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import PlanOptions, errors
from anonrisk.planning.regions import least

BY_REGION = PlanOptions(method="multidimensional")
EIGHT = pd.DataFrame({"age": [31, 33, 35, 38, 41, 44, 46, 49], "sex": list("ffmmffmm")})


# ---- slow and obvious ------------------------------------------------------------------------


def partitions(items):
    """Every way to part a list."""
    if not items:
        yield []
        return
    first, *others = items
    for rest in partitions(others):
        yield [[first], *rest]
        for i, part in enumerate(rest):
            yield [*rest[:i], [first, *part], *rest[i + 1 :]]


def bits_lost(column, part):
    """What a record of a part loses of a column of texts: a value stays, several get a star."""
    counts = column.value_counts(dropna=False)
    shares = counts / len(column)
    bits = -(shares * np.log2(shares)).sum()
    values = {*part}
    held = counts[values.pop()] if len(values) == 1 else len(column)
    return 1 - np.log2(len(column) / held) / bits if bits else 0.0


def lost(table, rows):
    return np.mean([bits_lost(table[name], table[name].iloc[rows]) for name in ("q", "r")])


def best_by_trying(table, keeps):
    """The least loss over all partitions whose parts keep to something; equals stay together."""
    combinations = list(table.groupby(["q", "r"]).indices.values())

    @cache
    def cost(part):
        rows = np.concatenate([combinations[i] for i in part])
        return len(rows) * lost(table, rows) if keeps(table.iloc[rows]) else np.inf

    every = partitions([*range(len(combinations))])
    return min(sum(cost(tuple(part)) for part in parts) for parts in every) / len(table)


def texts(seed, n=9):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "q": rng.choice(list("abc"), n), "r": rng.choice(list("xyz"), n),
        "s": rng.choice(list("uvw"), n), "who": rng.integers(0, 6, n),
    })  # fmt: skip


def offered(table):
    """Columns that stay or are a star, so that labels are known by hand."""
    either = [anonrisk.recode.Keep(), anonrisk.recode.Star()]
    return {name: either for name in ("q", "r") if name in table}


def gap_of(table, k, **more):
    plan = table.anon.plan(
        ["q", "r"], k=k, hierarchies=offered(table), max_suppressed=0, options=BY_REGION, **more
    )
    return plan, plan.gap(table)


# ---- exact -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 3])
def test_the_best_is_that_of_trying_every_partition(seed, k):
    table = texts(seed)
    plan, gap = gap_of(table, k)
    assert gap.kind == "exact"
    assert gap.least == pytest.approx(best_by_trying(table, lambda part: len(part) >= k))
    assert gap.loss == plan.after.loss
    assert gap.loss >= gap.least - 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_best_keeps_to_goals(seed):
    table = texts(seed)
    _, gap = gap_of(table, 2, ldiv=2, sensitive="s")
    expected = best_by_trying(table, lambda part: len(part) >= 2 and part["s"].nunique() >= 2)
    assert gap.least == pytest.approx(expected)
    assert gap.loss >= gap.least - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_best_counts_persons(seed):
    table = texts(seed, n=12)
    _, gap = gap_of(table, 2, unit="who")
    expected = best_by_trying(table, lambda part: part["who"].nunique() >= 2)
    assert gap.least == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["entropy", "range"])
@given(data=st.data())
@settings(max_examples=10)
def test_no_plan_loses_less_than_the_best(loss, data):
    n = data.draw(st.integers(4, 14))
    cells = st.one_of(st.none(), st.integers(0, 30))
    table = pd.DataFrame({
        "age": pd.array(data.draw(st.lists(cells, min_size=n, max_size=n)), dtype="Int64"),
        "area": data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)),
    })  # fmt: skip
    weights = data.draw(st.sampled_from([None, {"age": 3.0}, {"age": 0.0}]))
    options = replace(BY_REGION, loss=loss, column_weights=weights)
    plan = table.anon.plan(["age", "area"], k=2, max_suppressed=0, options=options)
    gap = plan.gap(table)
    assert gap.kind == "exact"
    assert 0 <= gap.least <= gap.loss + 1e-9
    assert gap.ratio is None or gap.ratio >= 1 - 1e-9


def test_a_plan_that_begins_with_whole_columns_is_one_of_those_compared():
    # Its edges are those of a full-domain plan, which regions alone would not have.
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(18, 90, 200), "area": rng.choice(list("abcd"), 200)})
    plan = table.anon.plan(["age", "area"], k=5)
    assert plan.regions is not None
    gap = plan.gap(table)
    assert gap.kind == "bound"
    assert gap.least <= gap.loss


def ratios(seeds, k):
    """The forty tables of docs/planning.md, or some of them."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({
            "age": rng.integers(18, 90, 16), "sex": rng.choice(list("fm"), 16),
            "area": rng.choice(list("abcd"), 16),
        })  # fmt: skip
        plan = table.anon.plan(["age", "sex", "area"], k=k, options=BY_REGION)
        yield plan.gap(table).ratio


@pytest.mark.slow
def test_the_first_of_the_forty_tables():
    assert [*ratios(range(3), k=3)] == pytest.approx([1.103, 1.132, 1.071], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "mean", "most", "n_best"), [(2, 1.107, 1.384, 7), (3, 1.148, 1.447, 5)]
)
def test_the_forty_tables_are_as_far_as_the_page_says(k, mean, most, n_best):
    measured = np.array([*ratios(range(40), k)])
    assert (measured.mean(), measured.max()) == pytest.approx((mean, most), abs=1e-3)
    assert (measured < 1 + 1e-9).sum() == n_best


# ---- the bound -------------------------------------------------------------------------------


def cheapest_by_trying(table, k):
    """Of each record the cheapest of all regions of k records that hold it, averaged."""
    total = 0.0
    for i in range(len(table)):
        costs = []
        for stars in product([False, True], repeat=2):
            same = np.ones(len(table), dtype=bool)
            for name, star in zip(("q", "r"), stars, strict=True):
                same &= star | (table[name] == table[name].iloc[i]).to_numpy()
            if same.sum() >= k:
                costs.append(
                    np.mean(
                        [
                            bits_lost(table[name], table[name] if star else table[name].iloc[[i]])
                            for name, star in zip(("q", "r"), stars, strict=True)
                        ]
                    )
                )
        total += min(costs)
    return total / len(table)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_each_records_cheapest_region(seed, monkeypatch):
    table = texts(seed, n=14)
    _, exact = gap_of(table, 3)
    monkeypatch.setattr(least, "MOST_EXACT", 0)
    _, gap = gap_of(table, 3)
    assert gap.kind == "bound"
    assert gap.least == pytest.approx(cheapest_by_trying(table, 3))
    assert gap.least <= exact.least + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["entropy", "range"])
@given(data=st.data())
@settings(max_examples=10)
def test_a_bound_is_no_more_than_the_best_and_a_hasty_one_no_more_than_it(loss, data):
    n = data.draw(st.integers(5, 12))
    ages = st.lists(st.integers(0, 30), min_size=n, max_size=n)
    table = pd.DataFrame({"age": data.draw(ages), "height": data.draw(ages)})
    plan = table.anon.plan(
        ["age", "height"], k=3, max_suppressed=0, options=replace(BY_REGION, loss=loss)
    )
    exact, bounds = plan.gap(table).least, []
    for most_regions in (10**6, 3, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(least, "MOST_EXACT", 0)
            patch.setattr(least, "_MOST_REGIONS", most_regions)
            bounds.append(plan.gap(table).least)
    assert 0 <= bounds[2] <= bounds[1] + 1e-12
    assert bounds[1] <= bounds[0] + 1e-12
    assert bounds[0] <= exact + 1e-12


def many():
    rng = np.random.default_rng(5)
    return pd.DataFrame({"age": rng.integers(0, 80, 400), "area": rng.choice(list("abcdef"), 400)})


@pytest.mark.slow
def test_a_sample_estimates_the_bound_with_an_interval():
    table = many()
    plan = table.anon.plan(["age", "area"], k=5, options=BY_REGION)
    whole = plan.gap(table, sample=None)
    assert (whole.kind, whole.n_looked_at, whole.interval) == ("bound", 400, None)
    held = 0
    for seed in range(20):
        gap = plan.gap(table, sample=100, seed=seed)
        assert (gap.kind, gap.n_looked_at) == ("estimate", 100)
        assert gap.interval.low <= gap.least <= gap.interval.high
        held += whole.least in gap.interval
    assert held >= 17
    assert plan.gap(table, sample=100) == plan.gap(table, sample=100, seed=0)
    assert gap != plan.gap(table, sample=100)


# ---- what it says, and what it does not ------------------------------------------------------


def test_what_is_printed_and_stored():
    plan = EIGHT.anon.plan(["age", "sex"], k=2, options=BY_REGION)
    gap = plan.gap(EIGHT)
    assert "exact" in repr(gap)
    assert json.loads(json.dumps(gap.to_dict()))["ratio"] == gap.ratio
    assert "interval" not in gap.to_dict()
    with pytest.raises(FrozenInstanceError):
        gap.loss = 0
    worse = replace(gap, loss=2 * gap.least)
    assert "2.000 times the best" in repr(worse).replace("\n  ", " ")
    assert replace(gap, least=0.0).ratio is None
    assert "times" not in repr(replace(gap, least=0.0))
    assert replace(gap, least=0.0, loss=0.0).ratio == 1
    bound = replace(worse, kind="bound")
    assert "or less" in repr(bound)
    assert "proven for all 8 records" in repr(bound).replace("\n  ", " ")


def test_a_plan_of_classes_that_stay_is_the_best():
    table = pd.DataFrame({"q": list("aabb")})
    gap = table.anon.plan("q", k=2, options=BY_REGION).gap(table)
    assert (gap.loss, gap.least, gap.ratio) == (0, 0, 1)
    assert "no recoding by region loses less" in repr(gap)


def test_what_cannot_be_asked():
    plan = EIGHT.anon.plan(["age", "sex"], k=2, options=BY_REGION)
    with pytest.raises(errors.PlanError, match="other records"):
        plan.gap(EIGHT.iloc[1:])
    with pytest.raises(errors.PlanError, match="other records"):
        plan.gap(EIGHT.assign(age=[1, 1, 1, 1, 2, 2, 2, 2]))
    for ask in (plan.gap, plan.attack):
        with pytest.raises(errors.ColumnNotFoundError, match="the plan's 'sex' is not a column"):
            ask(EIGHT[["age"]])
    for wrong in (0, 99, 1.5, "all", True):
        with pytest.raises(errors.ArgumentError, match="sample"):
            plan.gap(EIGHT, sample=wrong)
    with pytest.raises(errors.ArgumentError, match="seed"):
        plan.gap(EIGHT, seed=-1)
    with pytest.raises(errors.PlanError, match="read, or put together by hand"):
        anonrisk.Plan.from_json(plan.to_json()).gap(EIGHT)
    whole = EIGHT.anon.plan(["age", "sex"], k=2, options=PlanOptions(method="full-domain"))
    with pytest.raises(errors.PlanError, match="proven_gap"):
        whole.gap(EIGHT)
    squares = replace(BY_REGION, loss="discernibility")
    with pytest.raises(errors.PlanError, match="entropy or range, not by the loss"):
        EIGHT.anon.plan(["age", "sex"], k=2, options=squares).gap(EIGHT)


def test_weights_go_with_their_columns():
    # Steps stand in order of whom they help: here the second column first.
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.choice(list("xy"), 60), "b": rng.choice(list("pqrstuvw"), 60)})
    options = replace(BY_REGION, column_weights={"b": 3.0})
    plan = table.anon.plan(["a", "b"], k=6, options=options)
    lost_by = {step.column: step.loss for step in plan.steps}
    assert [step.column for step in plan.steps] == ["b", "a"]
    assert lost_by["a"] != lost_by["b"]
    assert plan.gap(table).loss == pytest.approx((lost_by["a"] + 3 * lost_by["b"]) / 4)
