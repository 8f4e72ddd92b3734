"""What is offered for columns without a hierarchy: never a rare value, never without its reason."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import tables
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import Plan, errors
from anonrisk.engines.numpy.tally import tally
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.measures.recode.recoding import extent, of_others, of_rest, rest
from anonrisk.planning.lattice.offer import offer
from anonrisk.recode import Bins, DatePart, Keep, MergeRare, Prefix, Star, from_dict

WORDS = ["nurse", "clerk", "Other", "farmer", "other ", "smith", "", "all others", "x" * 300]


def offered(cells, k=3, **more):
    counted = tally(PandasTable(pd.DataFrame({"x": pd.Series(cells, dtype=object)})), {"x": "x"})
    domain, margin = counted.domains["x"], counted.margin("x")
    return offer(domain, margin, k=k, share=4, recodings=None, column="x", **more)


def relabelled(cells, recoding):
    """Recode cell by cell, the slow way."""
    return [None if cell is None else recoding.label(cell) for cell in cells]


@pytest.mark.slow
@settings(max_examples=150)
@given(
    cells=st.lists(st.sampled_from([*WORDS, None]), min_size=1, max_size=80),
    k=st.integers(1, 9),
    nested=st.booleans(),
)
def test_merged_texts_keep_what_k_share_and_hide_the_rest_among_k(cells, k, nested):
    counts = Counter(cell for cell in cells if cell is not None)
    ways = offered(cells, k, nested=nested)
    merges = [way for way in ways if isinstance(way, MergeRare)]
    assert (ways[0], ways[-1], len(ways) - 2) == (Keep(), Star(), len(merges))
    assert len(ways) <= (3 if nested else 8)
    for merge in merges:
        kept = {value: counts[value] for value in merge.kept}
        left = {value: n for value, n in counts.items() if value not in kept}
        assert min(kept.values()) >= max(left.values())
        assert min(kept.values()) >= k
        assert sum(left.values()) >= k
        assert len(left) > 1, "one value alone is not hidden by another name"
        assert merge.other.casefold() not in {value.strip().casefold() for value in counts}
        done = pd.DataFrame({"x": pd.Series(cells, dtype=object)}).anon.generalize({"x": merge})
        assert [None if pd.isna(x) else x for x in done["x"]] == relabelled(cells, merge)
        assert from_dict(merge.to_dict()) == merge
    sizes = [len(merge.kept) for merge in merges]
    assert sizes == sorted(set(sizes), reverse=True)
    for finer, coarser in itertools.pairwise(merges):
        assert finer.kept[: len(coarser.kept)] == coarser.kept, "the steps are of one way up"
    able = [
        n
        for n in range(1, len(counts) - 1)
        for values in [[c for _, c in counts.most_common(n)]]
        if min(values) >= k and counts.total() - sum(values) >= k
    ]
    if able:
        assert sizes[0] == (min(max(able), 8) if nested else max(able))
    else:
        assert not merges


def test_the_name_of_the_others_is_none_of_the_values():
    assert of_others([]) == "other"
    assert of_others([" OTHER"]) == "all others"
    assert of_others(["other", "All others", "other 2"]) == "other 3"
    for name in ("other", "all others", "other 3"):
        assert rest(name) == 0
    assert rest(of_rest(8)) == 8
    assert rest("others") is None
    with pytest.raises(errors.ArgumentError, match="must not be one of those that stay"):
        MergeRare(("other",))
    with pytest.raises(errors.ArgumentError, match="must be texts"):
        MergeRare((3,))
    with pytest.raises(errors.ArgumentError, match="goes with prefix="):
        MergeRare(("a",), width=3)


def prefixes(cells, k=5):
    return [way.length for way in offered(cells, k) if isinstance(way, Prefix)]


def digits(pattern, n=400, seed=1):
    """Fill each # with a digit, early ones with few."""
    random = np.random.default_rng(seed)

    def filled():
        place = itertools.count()
        return re.sub("#", lambda _: str(random.integers(0, min(2 + next(place) * 2, 10))), pattern)

    return [filled() for _ in range(n)]


JUNK = ["", "n/a", "unknown", "🦄", "1e9", "-", "x" * 5_000, "0" * 5_000 + "!", "\n12345"]


@pytest.mark.parametrize(
    ("cells", "lengths"),
    [
        (digits("#####"), [4, 3, 2, 1]),
        (digits("#####") + digits("#####-####", 100), [4, 3, 2, 1]),
        (digits("1### AB") + digits("1###CD"), [4, 3, 2]),
        (digits("+31 #0 #######") + digits("+49 ### ##########"), [6, 4]),
        (digits("(0##) ###-####") + digits("0##-#######"), [6, 4, 3]),
        ([f"201{a}-1{b}-1{c}" for a, b, c in digits("###")] * 2, [7, 4]),
        (digits("SW# #AA") + digits("N1# #BB") + digits("EC1# #CC"), [4, 3, 2]),
        (digits("A##.#"), [3, 2]),
    ],
    ids=["zip", "zip+4", "nl", "phone", "area", "day", "uk", "code"],
)
def test_codes_are_known_by_their_shape(cells, lengths):
    assert prefixes(cells) == lengths
    # A few that look different, however long, change nothing.
    found = prefixes([*cells, *JUNK])
    assert found
    assert {*found} <= {*lengths}
    widths = {way.width for way in offered([*cells, *JUNK], 5) if isinstance(way, Prefix)}
    assert max(widths) < 20, "no label is as long as the longest cell"


@pytest.mark.parametrize(
    "cells",
    [
        ["nurse", "clerk", "smith"] * 20,
        # Numbers of several lengths have no beginning in common but by chance.
        [str(x) for x in range(1, 2_000, 7)],
        # The commonest say more than beginnings do.
        [f"job{i:02}" for i in range(60) for _ in range(2 ** (10 - i // 6))],
        JUNK * 5,
        [],
        [None] * 9,
    ],
    ids=["words", "numbers", "common", "junk", "none", "missing"],
)
def test_what_is_no_code_or_better_merged_has_no_beginning(cells):
    assert prefixes(cells) == []


def test_rare_beginnings_are_put_together():
    cells = [f"1{i:03}" for i in range(200)] + [f"{i}000" for i in range(2, 6)] * 2
    ways = offered(cells, 5)
    (merged,) = [way for way in ways if isinstance(way, MergeRare) and way.prefix is not None]
    assert merged.prefix == 3
    assert merged.kept == tuple(f"{i}*" for i in range(100, 120))
    assert relabelled(["1012", "2000"], merged) == ["101*", "other"]
    assert len(ways) <= 8


def people(n=240):
    random = np.random.default_rng(5)
    jobs = [f"job {chr(97 + min(int(x), 20))}" for x in random.exponential(4, n)]
    days = (dt.date(2024, 1, 1) + dt.timedelta(int(d)) for d in random.integers(0, 200, n))
    return {
        "who": list(range(n)),
        "job": [None if i % 17 == 0 else job for i, job in enumerate(jobs)],
        "code": [None if i % 13 == 0 else x for i, x in enumerate(digits("1####", n))],
        "day": [None if i % 11 == 0 else day for i, day in enumerate(days)],
        "age": [None if i % 19 == 0 else int(x) for i, x in enumerate(random.integers(0, 90, n))],
        "sex": random.choice(["f", "m"], n).tolist(),
    }


CELLS = people()


def test_missing_values_keep_their_place_whatever_is_offered(frame):
    table, plain = frame(CELLS), pd.DataFrame(CELLS)
    counted = tally(PandasTable(plain), dict.fromkeys(CELLS, "x"))
    for name in ("job", "code", "day", "age"):
        ways = offer(
            counted.domains[name], counted.margin(name), k=5, share=4, recodings=None, column=name
        )
        assert len(ways) > 4
        done = tables.to_rows(table.anon.generalize({name: ways[len(ways) // 2]}))
        for row in done:
            missing = CELLS[name][row["who"]] is None
            assert (row[name] is None) == missing, name
        for way in ways:
            assert (way.for_missing is None) != isinstance(way, Star)
            groups, labels = way.groups(counted.domains[name])
            assert len(groups) == len(counted.domains[name])
            assert labels is None or len(labels) == groups.max() + 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full-domain", "multidimensional"])
def test_every_engine_merges_alike_and_names_nothing_rare(frame, method):
    names = ["job", "code", "sex"]
    table, plain = frame(CELLS), pd.DataFrame(CELLS)
    plan = table.anon.plan(
        names, 5, max_suppressed=0.05, options=anonrisk.PlanOptions(method=method)
    )
    expected = plain.anon.plan(
        names, 5, max_suppressed=0.05, options=anonrisk.PlanOptions(method=method)
    )
    assert plan.to_json() == expected.to_json()
    done = table.anon.apply(plan)
    assert done.anon.k(names) >= 5
    rows = sorted(tables.to_rows(done), key=lambda row: row["who"])
    assert rows == sorted(tables.to_rows(plain.anon.apply(expected)), key=lambda row: row["who"])
    for row in rows:
        starred = row["job"] in ("*", "rest of *")
        assert starred or (row["job"] is None) == (CELLS["job"][row["who"]] is None)
    text = plan.to_json()
    rare = {job for job, n in Counter(CELLS["job"]).items() if job is not None and n < 5}
    assert rare
    assert not any(f'"{job}"' in text for job in rare)
    assert not any(f'"{code}"' in text for code in CELLS["code"])
    assert Plan.from_json(text) == plan


@pytest.mark.parametrize("method", ["full-domain", "multidimensional"])
def test_utility_reads_what_the_others_stand_for(method):
    table = pd.DataFrame(CELLS)
    names = ["job"] if method == "full-domain" else ["job", "sex"]
    plan = table.anon.plan(names, 5, max_suppressed=0, options=anonrisk.PlanOptions(method=method))
    assert any(f'"{name}' in plan.to_json() for name in ("other", "all others"))
    found = table.anon.apply(plan).anon.utility(names, original=table)
    assert found.loss_metric == pytest.approx(plan.after.range_loss, abs=1e-12)
    # Where nothing is left for a name to stand for, nobody can tell.
    common = table["job"].mode()[0]
    odd = table.copy()
    odd.loc[(table["job"] == common).idxmax(), "job"] = "other"
    assert odd.anon.utility(names, original=table).untold == ("job",)


NUMBERS = st.lists(
    st.integers(-300, 300).map(lambda x: x / 4) | st.integers(-5, 5), min_size=4, max_size=60
)


@pytest.mark.slow
@settings(max_examples=80)
@given(numbers=NUMBERS, k=st.integers(2, 6), far=st.integers(10, 10**9))
def test_no_edge_rests_on_fewer_than_k(numbers, k, far):
    numbers = sorted(map(float, numbers))
    ways = [way for way in offered(numbers, k) if isinstance(way, Bins)]
    for edge in {edge for way in ways for edge in way.edges}:
        below = sum(x < edge for x in numbers)
        assert k <= below <= len(numbers) - k
    # Who has the least and the largest changes no edge, as long as they are fewer than k.
    ends = k - 1
    if 2 * ends < len(numbers):
        inner = numbers[ends : len(numbers) - ends]
        other = [inner[0] - far] * ends + inner + [inner[-1] + far] * ends
        whole = all(x == int(x) for x in numbers) == all(x == int(x) for x in other)
        if whole:
            assert [way for way in offered(other, k) if isinstance(way, Bins)] == ways


def test_edges_are_printed_in_full():
    many = Bins(tuple(range(10, 90, 5)), whole=True)
    assert "…" not in str(many)
    assert all(label in str(many) for label in many.labels)
    printed = repr(Plan({"age": many}, columns=("age",)))
    assert all(label in printed for label in many.labels)
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.slow
@settings(max_examples=60)
@given(days=st.lists(st.dates(), min_size=1, max_size=12), part=st.sampled_from(["day", "week"]))
def test_days_and_weeks_are_those_of_the_calendar(days, part):
    cells = pd.DataFrame({"x": pd.Series([*days, None], dtype=object)})
    labels = cells.anon.generalize("x", part=part)["x"].tolist()
    assert pd.isna(labels[-1])
    for day, label in zip(days, labels[:-1], strict=True):
        year, week, _ = day.isocalendar()
        assert label == (day.isoformat() if part == "day" else f"{year:04}-W{week:02}")
        low, high = extent(label, dates=True, whole=False)
        assert low <= (day - dt.date(1970, 1, 1)).days <= high == low + 6 * (part == "week")
    assert extent("2023-W53", dates=True, whole=False) is None


def test_dates_are_offered_from_the_finest_period_that_is_coarser():
    days = [dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(40)]
    parts = [way.part for way in offered(days) if isinstance(way, DatePart)]
    assert parts == ["week", "month", "quarter", "half", "year", "decade"]
    times = [dt.datetime(2024, 1, 1, 5) + dt.timedelta(hours=i) for i in range(40)]
    assert [way.part for way in offered(times) if isinstance(way, DatePart)][:2] == ["day", "week"]
    # Weeks are in no month, and the search does not need them to be.
    table = pd.DataFrame({"day": days * 3, "sex": ["f", "m", "f"] * 40})
    plan = table.anon.plan(
        ["day", "sex"], 5, max_suppressed=0, options=anonrisk.PlanOptions(method="full-domain")
    )
    assert plan.recodings["day"] == DatePart("week")
    assert plan.optimal


def test_the_explorer_has_what_is_offered_and_nothing_rare():
    made = pd.DataFrame(CELLS).anon.explore(["job", "code", "sex"])
    held = made.to_dict()
    assert math.prod(len(column["levels"]) for column in held["columns"]) <= 10_000
    labels = [level["label"] for level in held["columns"][0]["levels"]]
    assert any(label.startswith("those of") for label in labels)
    assert not any("job" in label for label in labels), "labels say what is done, not to whom"
    rare = {job for job, n in Counter(CELLS["job"]).items() if job is not None and n < 5}
    page = made.to_json() + made.to_html()
    assert not any(re.search(rf"{job}\b", page) for job in rare)
