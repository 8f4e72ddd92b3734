"""Linked records: measured against brute force, on every engine; sampled ones by their law."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import oracle_traces as oracle
import pandas as pd
import pytest

import anonrisk
from anonrisk import errors
from anonrisk.predict import trajectory

DAY = dt.datetime(2026, 1, 1)


def made(seed, n_users=12, n_items=6, most=7, *, missing=False):
    """Records (user, item, time) in no order, with repeated items and different times."""
    rng = random.Random(seed)
    records = []
    for user in range(n_users):
        for time in rng.sample(range(200), rng.randint(1, most)):
            item = f"s{min(rng.randrange(n_items), rng.randrange(n_items))}"
            records.append((user, None if missing and rng.random() < 0.15 else item, time))
    rng.shuffle(records)
    return records


def cells(records, *, stamps=False):
    users, items, times = zip(*records, strict=True)
    when = [DAY + dt.timedelta(hours=t) for t in times] if stamps else list(times)
    return {"user": list(users), "item": list(items), "time": when}


def close(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


# ---- counted ------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "ordered", "k"), [(1, True, 2), (2, False, 2), (3, True, 3)])
def test_consecutive_records_are_counted_as_by_hand(frame, seed, ordered, k):
    if seed == 1 and not frame.is_pandas:
        pytest.skip("two tables are enough on Spark, where each takes seconds")
    records = made(seed, missing=seed == 3)
    table = frame(cells(records, stamps=seed == 2))
    found = table.anon.trajectory(
        "item",
        unit="user",
        length=3,
        time="time",
        points="consecutive",
        ordered=ordered,
        k=k,
        max_length=3,
    )
    for s in (1, 2, 3):
        mean, share, users = oracle.windows(records, s, k, ordered=ordered)
        step = found.at(s)
        assert (step.n_users, step.n_short) == (users, 12 - users)
        assert step.singled_out == close(mean)
        assert step.suppressed == close(share)
        assert step.interval is None
    span, n_gaps = oracle.gaps(records)
    if seed == 2:
        assert found.mean_gap.total_seconds() == pytest.approx(3600 * span / n_gaps, abs=1e-5)
    else:
        assert found.mean_gap == close(span / n_gaps)
    assert found.lifetime(3) == 2 * found.mean_gap
    assert found.n_items == len({item for _, item, _ in records})
    assert found.seed is None


def test_what_is_counted_is_the_same_in_every_order_and_partition(frame):
    records = made(5)
    asked = {"time": "time", "points": "consecutive", "ordered": True}
    one = frame(cells(records), 1).anon.trajectory("item", unit="user", length=2, **asked)
    other = frame(cells(records[::-1]), 5).anon.trajectory("item", unit="user", length=2, **asked)
    assert one.to_dict() == other.to_dict()


# ---- drawn --------------------------------------------------------------------------------


def forced(n_users=14, length=3, seed=0):
    """Users with exactly `length` different items, so that there is nothing to draw."""
    rng = random.Random(seed)
    records = []
    for user in range(n_users):
        trace = rng.sample("abcd", length)
        trace += rng.choices(trace, k=2)
        rng.shuffle(trace)
        records += [(user, item, time) for time, item in enumerate(trace)]
    rng.shuffle(records)
    return records


@pytest.mark.parametrize("ordered", [False, True])
def test_sets_that_are_all_there_is_are_judged_as_by_hand(frame, ordered):
    records = [*forced(), (99, "a", 0), (98, "z", 0), (98, "a", 1)]
    table = frame(cells(records))
    for k in (2, 3) if frame.is_pandas else (2,):
        found = table.anon.trajectory(
            "item", unit="user", length=3, time="time", ordered=ordered, k=k, seed=4
        )
        shares = oracle.expected_unicity(records, 3, k, ordered=ordered)
        step = found.at(3)
        assert (step.n_users, step.n_short) == (14, 2)
        assert step.singled_out == close(sum(shares.values()) / 14)
        assert 0 < step.singled_out < 1
        assert step.interval == trajectory.wilson(sum(shares.values()), 14)
        # Everybody here has five records, so that records and users weigh alike.
        assert step.suppressed == close(step.singled_out)
        assert found.at(1).n_users == 16


def test_draws_have_the_right_mean_on_every_engine(frame):
    records = made(11, n_users=10, most=7)
    table = frame(cells(records))
    draws = 150 if frame.is_pandas else 40
    found = table.anon.trajectory("item", unit="user", length=2, draws=draws, seed=7, max_length=3)
    for s in (1, 2, 3):
        shares = oracle.expected_unicity(records, s)
        truth = sum(shares.values()) / len(shares)
        sd = (sum(p * (1 - p) for p in shares.values()) / draws) ** 0.5 / len(shares)
        assert found.at(s).n_users == len(shares)
        assert abs(found.at(s).singled_out - truth) <= 4 * sd + 1e-12, s


def test_a_sample_of_users_is_repeatable_and_as_large_as_asked(frame):
    table = frame(cells(forced(n_users=30)))
    found = table.anon.trajectory("item", unit="user", length=3, sample=11, seed=3)
    assert found.at(3).n_users == 11
    assert found == table.anon.trajectory("item", unit="user", length=3, sample=11, seed=3)


def test_a_seed_is_drawn_and_told():
    table = pd.DataFrame(cells(made(3, n_users=40)))
    found = table.anon.trajectory("item", unit="user", length=2)
    assert table.anon.trajectory("item", unit="user", length=2, seed=found.seed) == found
    assert (
        len(
            {
                table.anon.trajectory("item", unit="user", length=2, seed=s).singled_out
                for s in range(9)
            }
        )
        > 1
    )


@pytest.mark.nightly
@pytest.mark.parametrize("ordered", [False, True])
def test_many_random_tables_on_pandas(ordered):
    for seed in range(25):
        records = made(seed, n_users=9, n_items=5)
        table = pd.DataFrame(cells(records))
        found = table.anon.trajectory(
            "item", unit="user", length=2, time="time", ordered=ordered, draws=400, seed=seed
        )
        shares = oracle.expected_unicity(records, 2, ordered=ordered)
        if shares:
            truth = sum(shares.values()) / len(shares)
            assert found.singled_out == pytest.approx(truth, abs=0.05), seed


@pytest.mark.slow
def test_large_lists_of_candidates_and_the_lookup_without_a_bitmap(monkeypatch):
    from anonrisk.engines.numpy import traces as counting
    from anonrisk.engines.numpy import traces as visiting

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"u": rng.integers(0, 400, 6_000), "i": rng.zipf(1.5, 6_000) % 40})
    usual = table.anon.trajectory("i", unit="u", length=4, seed=1)
    monkeypatch.setattr(visiting, "_MOST_BITS", 0)
    monkeypatch.setattr(counting, "_AT_ONCE", 100)
    monkeypatch.setattr(counting, "_FIRST_LOOK", 1)
    assert table.anon.trajectory("i", unit="u", length=4, seed=1) == usual
    assert 0 < usual.singled_out < 1


@pytest.mark.parametrize("worth", [0, 1, 100], ids=["look up", "mixed", "ask"])
@pytest.mark.parametrize("ordered", [False, True])
def test_the_tree_of_sets_finds_who_has_them_all(monkeypatch, worth, ordered):
    from anonrisk.engines.numpy import traces as counting
    from anonrisk.engines.numpy.traces import Index, Visits

    monkeypatch.setattr(counting, "_WORTH", worth)
    monkeypatch.setattr(counting, "_AT_ONCE", 17)
    rng = np.random.default_rng(7)
    for s in (1, 2, 3, 4):
        user, item = np.repeat(np.arange(30), 9), rng.zipf(1.4, 270) % 11
        index = Index.of(user, item, 30, 11)
        visits = Visits.of(index, user, item) if ordered else None
        traces = [item[user == u].tolist() for u in range(30)]
        sets = [list(dict.fromkeys(trace))[:s] for trace in traces if len(set(trace)) >= s]
        points = np.array(sets)
        rarity = np.argsort(index.popularity[points], axis=1, kind="stable")
        by_rarity = np.take_along_axis(points, rarity, axis=1)
        found = counting.count_holders(index, by_rarity, points, visits)
        assert found.tolist() == [
            sum(holds(trace, wanted, ordered=ordered) for trace in traces) for wanted in sets
        ]


def holds(trace, wanted, *, ordered):
    if not ordered:
        return set(wanted) <= set(trace)
    rest = iter(trace)
    return all(point in rest for point in wanted)


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_short_traces_and_long_ones_are_counted_alike_on_spark(spark, monkeypatch):
    from tables import spark_table

    from anonrisk.engines.spark import traces

    records = made(5, n_users=15, n_items=7, missing=True)
    table = spark_table(spark, cells(records))
    found = []
    for short in (True, False):
        monkeypatch.setattr(traces, "_are_short", lambda *_, short=short: short)
        asked = table.anon.trajectory(
            "item", unit="user", length=5, seed=3, draws=2, sample=12, k=3
        )
        found.append([(step.n_users, step.singled_out, step.suppressed) for step in asked.measured])
    assert found[0][1][1] not in (0, 1)
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other)


def test_several_item_columns_are_one_item(frame):
    records = {"user": [1, 1, 2, 2], "place": ["a", "b", "a", "b"], "hour": [1, 2, 1, 3]}
    found = frame(records).anon.trajectory(["place", "hour"], unit="user", length=2, seed=0)
    assert found.n_items == 3
    assert found.singled_out == 1
    assert frame(records).anon.trajectory("place", unit="user", length=2, seed=0).singled_out == 0


# ---- missing, ties, wrong calls -----------------------------------------------------------


def test_missing_items_are_a_value_dropped_or_refused(frame):
    records = {"user": [1, 1, 2, 2, 3], "item": ["a", None, "a", None, "b"]}
    table = frame(records)
    value = table.anon.trajectory("item", unit="user", length=2, seed=0)
    assert (value.n_items, value.singled_out, value.n_dropped) == (3, 0.0, 0)
    dropped = table.anon.trajectory("item", unit="user", length=1, seed=0, missing="drop")
    assert (dropped.n_records, dropped.n_dropped, dropped.n_items) == (3, 2, 2)
    assert dropped.singled_out == close(1 / 3)
    assert "2 records with a missing item left out" in repr(dropped)
    with pytest.raises(errors.MissingValuesError, match=r"item is missing \('item' in 2 records\)"):
        table.anon.trajectory("item", unit="user", length=1, missing="error")
    with pytest.raises(errors.EmptyTableError, match="1 record dropped"):
        frame({"user": [1], "item": [None]}).anon.trajectory(
            "item", unit="user", length=1, missing="drop"
        )


def test_missing_users_and_times_are_counted_and_refused(frame):
    with pytest.raises(errors.MissingUnitError, match=r"user 'user' is missing in 2 records"):
        frame({"user": ["x", None, None], "item": ["a", "b", "c"]}).anon.trajectory(
            "item", unit="user"
        )
    stamps = [DAY, None, DAY]
    with pytest.raises(errors.MissingTimeError, match=r"time 'at' is missing in 1 record"):
        frame({"user": [1, 1, 2], "item": ["a", "b", "c"], "at": stamps}).anon.trajectory(
            "item", unit="user", time="at"
        )


def test_tied_times_are_refused_where_order_matters(frame):
    tied = {"user": [1, 1, 1, 2], "item": ["a", "b", "b", "a"], "at": [5, 5, 9, 5]}
    table = frame(tied)
    for asked in ({"ordered": True}, {"points": "consecutive"}):
        with pytest.raises(errors.NoOrderError, match=r"2 records of one user .* same time 'at'"):
            table.anon.trajectory("item", unit="user", length=2, time="at", **asked)
    assert (
        table.anon.trajectory("item", unit="user", length=2, time="at", seed=0).at(2).n_users == 1
    )
    # The same item twice at one time is one record.
    again = {"user": [1, 1, 1], "item": ["a", "a", "b"], "at": [5, 5, 9]}
    found = frame(again).anon.trajectory(
        "item", unit="user", length=2, time="at", points="consecutive"
    )
    assert (found.at(2).n_users, found.singled_out) == (1, 1.0)


def test_ties_are_counted_where_they_are():
    cells = {"u": [1, 1] + [2] * 6, "i": ["a", "b"] + ["c"] * 6, "w": [1, 1] + [5] * 6}
    with pytest.raises(errors.NoOrderError, match=r"^2 records of one user"):
        pd.DataFrame(cells).anon.trajectory("i", unit="u", length=2, time="w", ordered=True)


def test_a_record_that_is_there_twice_is_one_wherever_there_are_times(frame):
    cells = {"u": [1, 1, 1, 1, 2], "i": ["a", "a", "a", "b", "b"], "t": [1, 1, 1, 5, 5]}
    table = frame(cells)
    found = table.anon.trajectory("i", unit="u", length=1, time="t", seed=0)
    assert (found.n_records, found.n_users, found.mean_gap) == (3, 2, 4.0)
    assert found.fit == anonrisk.predict.zipf.fit([2, 1])
    # User 1 weighs two records of three: both are singled out, or none.
    assert found.suppressed in (0.0, close(2 / 3))
    # The time as part of the item.
    both = table.anon.trajectory(["i", "t"], unit="u", length=2, time="t", seed=0)
    assert (both.n_items, both.at(2).n_users, both.singled_out) == (2, 1, 1.0)
    if frame.is_pandas:
        assert table.anon.trajectory("i", unit="u", length=1, seed=0).n_records == 5


@pytest.mark.parametrize("values", [str, int, lambda v: pd.Timestamp(v, unit="D")])
def test_a_seed_draws_the_same_in_every_order_of_the_rows(values):
    table = pd.DataFrame(cells(made(3, n_users=60, n_items=20)))
    table["user"] = table["user"].map(values)
    table["other"] = table["time"] % 3
    asked = {"seed": 5, "sample": 30}
    one = table.anon.trajectory(["item", "other"], unit="user", length=2, **asked)
    for seed in range(4):
        mixed = table.sample(frac=1, random_state=seed)
        assert mixed.anon.trajectory(["item", "other"], unit="user", length=2, **asked) == one


def _instant(value, way):
    return dt.datetime.fromtimestamp(value * 3600, ZONES[way])


ZONES = [dt.UTC, dt.timezone(dt.timedelta(hours=5)), ZoneInfo("Europe/Amsterdam")]
SIGNED = [0.0, -0.0, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "dtype"),
    [
        (_instant, object),
        (lambda value, way: pd.Timestamp(_instant(value, way)), object),
        (_instant, "category"),
        (lambda value, way: Decimal(f"{value}.{'0' * way}"), object),
        (lambda value, way: float(value) or SIGNED[way], object),
        (lambda value, way: float(value) or SIGNED[way], float),
        (lambda value, way: str(value) if value else [None, math.nan, pd.NA][way], object),
        (lambda value, way: [dt.timedelta(value), pd.Timedelta(days=value)][way % 2], object),
    ],
)
def test_a_seed_draws_the_same_whichever_of_equal_cells_comes_first(written, dtype):
    table = pd.DataFrame(cells(made(3, n_users=60, n_items=20)))
    value, ways = table["item"].str[1:].astype(int), np.arange(len(table)) % 3
    assert 0 in set(value)
    column = [written(v, way) for v, way in zip(value.tolist(), ways.tolist(), strict=True)]
    table["item"] = pd.Series(column, dtype=object).astype(dtype)
    one = table.anon.trajectory("item", unit="user", length=2, seed=5, sample=30)
    assert one.n_items == value.nunique()
    for seed in range(4):
        mixed = table.sample(frac=1, random_state=seed)
        assert mixed.anon.trajectory("item", unit="user", length=2, seed=5, sample=30) == one


def test_times_at_the_ends_of_64_bits_do_not_overflow():
    ends = [-(2**63), 2**63 - 1]
    table = pd.DataFrame({"u": [1, 1, 2, 2], "i": list("abab"), "t": ends * 2})
    assert table.anon.trajectory("i", unit="u", length=1, time="t").mean_gap == 2.0**64


def test_users_with_too_few_points_are_counted_apart(frame):
    table = frame({"user": [1, 1, 1, 2, 3], "item": ["a", "a", "b", "a", "b"]})
    found = table.anon.trajectory("item", unit="user", length=3, seed=0)
    assert [(s.n_users, s.n_short) for s in found.measured] == [(3, 0), (1, 2), (0, 3)]
    assert found.at(3).singled_out is None
    assert found.change_after(0.5) is None or found.change_after(0.5) < 3
    with pytest.raises(errors.ArgumentError, match="no user has 3 points"):
        _ = found.singled_out
    json.dumps(found.to_dict(), allow_nan=False)
    assert "-" in repr(found)


CALLS = [
    (
        lambda t: t.anon.trajectory("item", unit="usr"),
        errors.ColumnNotFoundError,
        "unit 'usr' .* 'user'",
    ),
    (
        lambda t: t.anon.trajectory("itm", unit="user"),
        errors.ColumnNotFoundError,
        "item 'itm' .* 'item'",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", time="tim"),
        errors.ColumnNotFoundError,
        "'time'",
    ),
    (lambda t: t.anon.trajectory([], unit="user"), errors.NoColumnsError, "no item given"),
    (
        lambda t: t.anon.trajectory(["item", "item"], unit="user"),
        errors.RepeatedColumnError,
        "twice",
    ),
    (
        lambda t: t.anon.trajectory("user", unit="user"),
        errors.RoleConflictError,
        "'user' cannot be both",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", length=0),
        errors.ArgumentError,
        "length must be a whole",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", length=2.5),
        errors.ArgumentError,
        "length must be a whole",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", length=51),
        errors.ArgumentError,
        "at most 50",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", length=3, max_length=2),
        errors.ArgumentError,
        "less than",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", k=1),
        errors.ArgumentError,
        "k must be .* at least 2",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", sample=0),
        errors.ArgumentError,
        "sample must",
    ),
    (lambda t: t.anon.trajectory("item", unit="user", draws=0), errors.ArgumentError, "draws must"),
    (lambda t: t.anon.trajectory("item", unit="user", seed=-1), errors.ArgumentError, "seed must"),
    (lambda t: t.anon.trajectory("item", unit="user", seed=2**63), errors.ArgumentError, "63 bits"),
    (
        lambda t: t.anon.trajectory("item", unit="user", ordered=1),
        errors.ArgumentError,
        "True or False",
    ),
    (lambda t: t.anon.trajectory("item", unit="user", points="al"), errors.ArgumentError, "'any'"),
    (
        lambda t: t.anon.trajectory("item", unit="user", missing="x"),
        errors.ArgumentError,
        "missing=",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", ordered=True),
        errors.MissingTimeError,
        "needs time=",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", points="consecutive"),
        errors.MissingTimeError,
        "'consecutive' needs time=",
    ),
    (
        lambda t: t.anon.trajectory(
            "item", unit="user", time="time", points="consecutive", sample=5
        ),
        errors.ArgumentError,
        "counted, not drawn",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", time="text", ordered=True),
        errors.UnsupportedColumnError,
        r"time 'text' holds values of type \w+; .* read the text as dates",
    ),
    (
        lambda t: t.anon.trajectory("item", unit="user", time="real", ordered=True),
        errors.UnsupportedColumnError,
        "time 'real' holds values of type",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), CALLS)
def test_wrong_calls(frame, call, error, text, capsys):
    table = {
        "user": ["secret1", "secret2"],
        "item": ["secret3", "secret4"],
        "time": [1, 2],
        "text": ["secret5", "secret6"],
        "real": [0.5, 1.5],
    }
    with pytest.raises(error, match=text) as raised:
        call(frame(table))
    assert "secret" not in str(raised.value)
    assert capsys.readouterr() == ("", "")


def test_an_empty_table_is_an_error():
    table = pd.DataFrame({"user": [], "item": []})
    with pytest.raises(errors.EmptyTableError, match="no records"):
        table.anon.trajectory("item", unit="user")


def test_one_item_only_has_no_law(frame):
    found = frame({"user": [1, 2], "item": ["a", "a"]}).anon.trajectory(
        "item", unit="user", length=1, seed=0
    )
    assert found.fit is None
    assert found.modelled is None
    assert found.records_needed is None
    assert found.singled_out == 0
    assert found._repr_html_().count("<table>") == 1


# ---- the result ---------------------------------------------------------------------------


def test_measured_and_modelled_side_by_side():
    rng = np.random.default_rng(1)
    p = 1 / np.arange(1, 301)
    n, s = 20_000, 2
    items = rng.choice(300, (n, s), p=p / p.sum())
    table = pd.DataFrame(
        {"u": np.repeat(np.arange(n), s), "i": items.ravel(), "t": np.tile([0, 1], n)}
    )
    found = table.anon.trajectory(
        "i", unit="u", length=s, time="t", points="consecutive", ordered=True
    )
    shown = found.to_frame()
    assert found.fit_ml.c == pytest.approx(1, abs=0.02)
    # A table that is what the model supposes.
    assert shown.loc[2, "singled_out"] == pytest.approx(shown.loc[2, "model_unique"], abs=0.04)
    # The paper's ratio goes by expected numbers; sharp at k, where the counts scatter around it.
    assert shown.loc[2, "suppressed"] == pytest.approx(shown.loc[2, "model_suppressed"], abs=0.2)
    assert found.fit.r_squared > 0.8
    assert found.records_needed == found.model.records_for_all()


def test_the_model_says_which_question_it_answers_and_for_which_k():
    table = pd.DataFrame(cells(made(2, n_users=60)))
    said = "model: users with exactly that many records, in order; measured: points of whole traces"
    asked = {"length": 2, "seed": 0}
    two = table.anon.trajectory("item", unit="user", **asked)
    for text in (repr(two).replace("\n  ", " "), two._repr_html_()):
        assert said in text
    five = table.anon.trajectory("item", unit="user", k=5, **asked)
    for one, other in zip(two.modelled, five.modelled, strict=True):
        assert other.unique > one.unique
        assert one.unique == two.model.unique_share(one.length, discrete=True)
        assert other.unique == two.model.unique_share(one.length, k=5, discrete=True)


def test_when_to_change_the_pseudonym():
    table = pd.DataFrame(cells(made(2, n_users=60, n_items=9)))
    found = table.anon.trajectory("item", unit="user", length=4, time="time", seed=0)
    highs = [step.interval[1] for step in found.measured]
    for share in (0.0, 0.3, 0.6, 1.0):
        after = found.change_after(share)
        first = next((s for s, high in enumerate(highs, 1) if high > share), None)
        assert after == (None if first is None else first - 1)
    for share in (2, 5.0, -1):
        with pytest.raises(errors.ArgumentError, match=r"^share"):
            found.change_after(share)
    assert found.lifetime() == 3 * found.mean_gap
    assert (
        pd.DataFrame({"u": [1], "i": ["a"]}).anon.trajectory("i", unit="u", length=1).lifetime()
        is None
    )


def test_the_picture_shows_both():
    pytest.importorskip("matplotlib")
    table = pd.DataFrame(cells(made(2, n_users=60)))
    axes = table.anon.trajectory("item", unit="user", length=3, seed=0).plot()
    assert [line.get_label() for line in axes.get_lines()] == [
        "measured: points of whole traces, in any order",
        "Zipf model: exactly that many records each, in order",
    ]
    import matplotlib.pyplot as plt

    plt.close(axes.figure)


def test_accessor_and_function_agree():
    table = pd.DataFrame(cells(made(9)))
    assert table.anon.trajectory("item", unit="user", length=2, seed=1) == anonrisk.trajectory(
        table, "item", unit="user", length=2, seed=1
    )


def test_intervals_cover():
    """Wilson's interval over 1,000 simulated tables of 60 users covers about 95%."""
    rng = np.random.default_rng(0)
    hits = rng.binomial(60, 0.1, 1_000)
    covered = [low <= 0.1 <= high for low, high in (trajectory.wilson(h, 60) for h in hits)]
    assert 0.92 < np.mean(covered) < 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 20, 60])
@pytest.mark.parametrize(("share", "alike"), [(0.05, 1), (0.1, 1), (0.1, 10), (0.5, 1)])
def test_intervals_of_several_draws_cover_small_shares_of_few_users(n, share, alike):
    """Users differ in how easily they are singled out; `alike` makes them differ less."""
    rng = np.random.default_rng(0)
    draws = 20
    own = rng.beta(share * alike, (1 - share) * alike, (1_000, n))
    found = rng.binomial(draws, own) / draws
    bounds = [trajectory.clustered(row.sum(), (row**2).sum(), n, draws) for row in found]
    assert np.mean([low <= share <= high for low, high in bounds]) > 0.94
    wide = np.mean([high - low for low, high in bounds])
    # Several draws tell more than one, unless users are few.
    assert n < 20 or wide <= np.mean([np.diff(trajectory.wilson(r.sum(), n)) for r in found]) * 1.05


def test_intervals_of_two_users_are_as_wide_as_student_has_them():
    # 12.706 is Student's quantile for one degree of freedom; both users differ as much as can be.
    effective = (1.959964 / 12.706205) ** 2
    expected = trajectory.wilson(effective / 2, effective)
    assert trajectory.clustered(1, 1, 2, 100) == pytest.approx(expected, abs=1e-6)


def test_intervals_of_several_draws_at_the_ends():
    assert trajectory.clustered(0, 0, 10, 5)[0] == 0
    assert trajectory.clustered(10, 10, 10, 5)[1] == 1
    assert trajectory.clustered(1, 1, 1, 5) == trajectory.wilson(1, 1)
    low, high = trajectory.clustered(30, 15, 60, 5)
    assert 0 < low < 0.5 < high < 1


def test_consecutive_records_say_which_mean_it_is(frame):
    # One user of ten runs that are theirs alone, and three of one run that they share.
    cells = {
        "user": [0] * 11 + [1, 1, 2, 2, 3, 3],
        "item": [f"s{i}" for i in range(11)] + ["a", "b"] * 3,
        "time": [*range(11), 0, 1, 0, 1, 0, 1],
    }
    found = frame(cells).anon.trajectory(
        "item", unit="user", length=2, time="time", points="consecutive"
    )
    assert found.singled_out == close(1 / 4), "a mean over users"
    assert found.suppressed == close(10 / 13), "a share of all runs"
    for shown in (repr(found), found._repr_html_()):
        assert "singled out: mean over users of the share of their runs" in shown
        assert "suppressed: such runs of all runs" in shown
    drawn = frame(cells).anon.trajectory("item", unit="user", length=2, seed=1)
    assert "mean over users" not in repr(drawn)


def test_a_picture_says_which_mean_it_is():
    pytest.importorskip("matplotlib")
    cells = pd.DataFrame({"user": [1, 1, 2, 2], "item": list("abab"), "time": [1, 2, 1, 2]})
    runs = cells.anon.trajectory("item", unit="user", length=2, time="time", points="consecutive")
    drawn = cells.anon.trajectory("item", unit="user", length=2, seed=1)
    assert "mean over users" in runs.plot().get_ylabel()
    assert drawn.plot().get_ylabel() == "share of users singled out (k = 2)"


def test_all_hits_reach_up_to_one():
    """Exactly: by rounding the sum of centre and half may be a hair less."""
    assert {trajectory.wilson(n, n)[1] for n in range(1, 400)} == {1.0}
    assert {trajectory.wilson(0, n)[0] for n in range(1, 400)} == {0.0}
