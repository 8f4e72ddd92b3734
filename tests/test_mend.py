"""What to hold back, so that a release can go out month after month."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keys import KEY

import anonrisk
from anonrisk import Ledger, Policy, Release
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    PolicyError,
    StateError,
)
from anonrisk.pseudonyms.encoding import encoded, person_hashes
from anonrisk.releases.compare.compare import compare_all
from anonrisk.releases.compare.hold_back import TableHistory, hold_back

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")

POLICY = Policy(
    quasi="zip",
    sensitive="illness",
    unit="who",
    missing_sensitive="error",
    k=5,
    ldiv={"l": 2},
    differencing={"k": 5},
)
MISSING_IS_NONE = {
    "missing_sensitive": "drop",
    "max_dropped_fraction": 0.5,
    "k": 5,
    "ldiv": {"l": 2},
    "differencing": {"k": 5},
}
NOBODY = np.empty((0, 2), dtype=np.uint64)


@pytest.fixture
def ledger(tmp_path):
    tmp_path.chmod(0o700)
    return Ledger(tmp_path / "ledger.db", key=KEY, new=True)


def people(n, first=0, classes=6, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(first, first + n),
            "zip": rng.integers(0, classes, n).astype(str),
            "illness": rng.choice(["flu", "gout", "cold"], n),
        }
    )


def release(frame, name="now", policy=POLICY, **more):
    return Release({"people": frame}, policy, name=name, **more)


def published(ledger, frame=None, name="first"):
    """Publish a table whose every class is large enough."""
    frame = people(120) if frame is None else frame
    release(frame, name).publish(ledger, by="A. Officer")
    return frame


def next_month(frame, rng, n, *, moves=0.0):
    """Some leave, as many come, and some move to another class."""
    gone = rng.random(len(frame)) < n
    new = people(int(gone.sum()), int(frame["who"].max()) + 1, seed=int(rng.integers(1e6)))
    frame = pd.concat([frame[~gone], new], ignore_index=True)
    moved = rng.random(len(frame)) < moves
    frame.loc[moved, "zip"] = rng.integers(0, 6, int(moved.sum())).astype(str)
    return frame, gone


# ---- a year ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("leavers", ["keep", "drop"])
@pytest.mark.parametrize(("churn", "moves"), [(0.02, 0.0), (0.1, 0.02)])
def test_every_month_of_a_year_goes_out(ledger, leavers, churn, moves):
    rng = np.random.default_rng(7)
    living, before, plain_failures = people(300), None, 0
    for month in range(8):
        if month:
            living, _ = next_month(living, rng, churn, moves=moves)
            plain_failures += not release(living).check(ledger)
        mended = release(living, f"month {month}").mend(ledger, leavers=leavers, previous=before)
        assert mended.verdict.passed, mended
        before = mended.tables["people"]
        mended.release.publish(ledger, by="A. Officer")
        gone = {*before["who"]} - {*living["who"]}
        assert len(gone) == mended.price.left
        assert not gone or leavers == "keep"
    # The gate would have stopped nearly all of them.
    assert plain_failures == 7


def test_who_must_go_is_never_kept(ledger):
    first = published(ledger)
    left = first["who"].iloc[:3].tolist()
    now = first.iloc[3:]
    mended = release(now).mend(ledger, leavers="keep", previous=first, erased=left[:1])
    assert mended.verdict.passed
    there = {*mended.tables["people"]["who"]}
    assert left[0] not in there
    # Others go along with them, among whom they hide.
    assert mended.price.taken_along + len({*left} - there) >= 5
    assert mended.price.withheld == mended.price.taken_along


def test_newcomers_come_together(ledger):
    first = published(ledger)
    new = pd.DataFrame(
        {"who": range(900, 905), "zip": "0", "illness": ["flu", "gout", "flu", "flu", "flu"]}
    )
    few = release(pd.concat([first, new.head(4)])).mend(ledger, leavers="drop")
    assert (few.price.waiting, len(few.tables["people"])) == (4, len(first))
    enough = release(pd.concat([first, new])).mend(ledger, leavers="drop")
    assert (enough.price.waiting, len(enough.tables["people"])) == (0, len(first) + 5)
    # All of one value would be known by it.
    alike = release(pd.concat([first, new.assign(illness="flu")])).mend(ledger, leavers="drop")
    assert alike.price.waiting == 5


def test_who_goes_along_is_drawn_by_the_key(ledger, tmp_path):
    first = published(ledger)
    now = first.iloc[1:]

    def kept(ledger, frame=now):
        table = release(frame).mend(ledger, leavers="drop").tables["people"]
        return {*table["who"]}

    other = Ledger(tmp_path / "other.db", key=anonrisk.keys.Key.generate(), new=True)
    published(other, first)
    assert kept(ledger) == kept(ledger, now.sample(frac=1, random_state=1))
    assert len(kept(ledger)) == len(kept(other))
    assert kept(ledger) != kept(other)


def test_a_first_release_holds_small_classes_back(ledger):
    frame = pd.concat([people(100), people(3, 500).assign(zip="rare")])
    mended = release(frame).mend(ledger, leavers="drop")
    assert mended.verdict.passed
    assert mended.price.waiting == 3
    assert "rare" not in {*mended.tables["people"]["zip"]}


def test_releases_that_exposed_somebody_already_are_mended_too(ledger):
    """Somebody came alone, under a waiver; afterwards nobody may."""
    waiver = {
        "budget": "differencing",
        "table": "people",
        "reason": "agreed",
        "owner": "A. Officer",
        "expires": "2999-12-31",
    }
    first = published(ledger)
    second = pd.concat([first, people(1, 700).assign(zip="1")], ignore_index=True)
    release(second, "second", waivers=[waiver]).publish(ledger, by="A. Officer")
    assert not release(second, "third").check(ledger)
    mended = release(second, "third").mend(ledger, leavers="keep", previous=second)
    assert mended.verdict.passed
    assert 700 not in {*mended.tables["people"]["who"]}


def test_tables_of_the_same_people_are_mended_together(ledger):
    patients = people(120)
    visits = pd.DataFrame(
        {"who": np.repeat(patients["who"].to_numpy(), 2), "clinic": np.tile(["a", "b"], 120)}
    )
    policies = {
        "people": Policy(
            quasi="zip",
            sensitive="illness",
            unit="who",
            missing_sensitive="error",
            k=5,
            differencing=5,
            linked=5,
        ),
        "visits": Policy(quasi="clinic", unit="who", k=5, differencing=5, linked=5),
    }
    links = [{"tables": ["people", "visits"], "on": "who"}]

    def both(patients, visits, name):
        tables = {"people": patients, "visits": visits}
        return Release(tables, policies, links=links, name=name)

    both(patients, visits, "first").publish(ledger, by="A. Officer")
    new = people(1, 800)
    now = pd.concat([patients.iloc[1:], new], ignore_index=True)
    seen = pd.concat(
        [visits[visits["who"] > 0], pd.DataFrame({"who": [800], "clinic": ["a"]})],
        ignore_index=True,
    )
    assert not both(now, seen, "second").check(ledger)
    previous = {"people": patients, "visits": visits}
    mended = both(now, seen, "second").mend(ledger, leavers="keep", previous=previous)
    assert mended.verdict.passed
    for table in mended.tables.values():
        assert {*table["who"]} == {*patients["who"]}


def test_where_rows_are_does_not_tell_who_left(ledger):
    first = published(ledger)
    mended = release(first.iloc[10:].reset_index(drop=True)).mend(
        ledger, leavers="keep", previous=first
    )
    there = mended.tables["people"]["who"].tolist()
    assert mended.price.left == 10
    # In a row at the end they would be known.
    assert set(there[-10:]) != set(range(10))
    assert there != sorted(there)
    assert mended.tables["people"].index.equals(pd.RangeIndex(len(there)))


def test_what_passes_goes_out_as_it_is(ledger):
    first = published(ledger)
    new = pd.DataFrame({"who": range(900, 906), "zip": "0", "illness": ["flu", "gout"] * 3})
    now = pd.concat([first, new], ignore_index=True)
    mended = release(now).mend(ledger, leavers="drop")
    assert mended.tables["people"] is now
    assert mended.price.waiting == mended.price.withheld == 0


def test_the_release_before_can_always_go_out_again(ledger):
    """Where numbers of rows changed, what groups of histories allow may not pass the gate."""
    policy = Policy(quasi="zip", unit="who", k=5, differencing={"k": 5})
    one = pd.DataFrame({"who": range(20), "zip": "a"})
    Release({"t": one}, policy, name="1").publish(ledger, by="me")
    two = pd.concat([one, one.head(5)], ignore_index=True)
    Release({"t": two}, policy, name="2").publish(ledger, by="me")
    three = two[~two["who"].isin([0, 1, 2, 10, 11])].reset_index(drop=True)
    mended = Release({"t": three}, policy, name="3").mend(ledger, leavers="keep", previous=two)
    assert mended.verdict.passed
    assert sorted(mended.tables["t"]["who"]) == sorted(two["who"])


def test_rows_that_miss_a_quasi_identifier_do_not_bring_back_who_must_go(ledger):
    policy = Policy(
        quasi="zip",
        unit="who",
        k=5,
        differencing={"k": 5},
        missing="drop",
        max_dropped_fraction=0.2,
        dropped_are_removed=True,
    )
    first = people(60, classes=3)[["who", "zip"]]
    Release({"t": first}, policy, name="1").publish(ledger, by="me")
    now = first.copy()
    now.loc[now["who"] == 7, "zip"] = None
    again = Release({"t": now}, policy, name="2")
    kept = again.mend(ledger, leavers="keep", previous=first).tables["t"]
    assert (kept["who"] == 7).sum() == 1
    gone = again.mend(ledger, leavers="keep", previous=first, erased=[7]).tables["t"]
    assert 7 not in {*gone["who"]}


def test_tables_of_other_people_are_not_mended_together(ledger):
    staff = pd.DataFrame({"staff": range(40), "zip": "a"})
    policies = {
        "people": POLICY,
        "staff": Policy(quasi="zip", unit="staff", k=5, differencing={"k": 5}),
    }
    both = Release({"people": people(60), "staff": staff}, policies, name="now")
    with pytest.raises(PolicyError, match="tables of the same persons"):
        both.mend(ledger, leavers="drop")


# ---- against enumeration, and by chance -------------------------------------------------------


@functools.cache
def _state(rows):
    frame = pd.DataFrame(rows, columns=["who", "zip", "illness"])
    return frame.anon.state("zip", unit="who", sensitive="illness", key=KEY)


def state_of(rows):
    return _state(tuple(sorted(rows)))


def hashes_of(persons):
    return person_hashes(KEY, encoded(list(persons), "who")) if persons else NOBODY


def decided(earlier, now, k, *, keep, erased=()):
    """The rows that are published, by the decision alone."""
    history = TableHistory(tuple(state_of(rows).counts for rows in earlier), state_of(now).counts)
    held = hold_back([history], k=k, keep_leavers=keep, erased=hashes_of(erased))
    gone, kept = ({*map(tuple, part.tolist())} for part in (held.held, held.kept))

    def of(rows, inside, there):
        marked = [tuple(h) in there for h in hashes_of([row[0] for row in rows]).tolist()]
        return [row for row, mark in zip(rows, marked, strict=True) if mark == inside]

    return of(now, False, gone) + (of(earlier[-1], True, kept) if earlier else []), held


def at_risk(earlier, now, k):
    states = [state_of(rows) for rows in earlier]
    return max((item.at_risk(k) for item in compare_all(states, state_of(now))), default=0)


ROWS = st.dictionaries(
    st.integers(0, 11), st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    months=st.lists(ROWS, min_size=2, max_size=5),
    k=st.integers(2, 3),
    keep=st.booleans(),
    n_erased=st.integers(0, 2),
)
def test_whatever_happens_what_goes_out_exposes_nobody(months, k, keep, n_erased):
    earlier = []
    for month in months:
        now = [(who, *cells) for who, cells in month.items()]
        erased = [row[0] for row in (earlier[-1] if earlier else []) if row[0] not in month]
        erased = erased[:n_erased]
        rows, held = decided(earlier, now, k, keep=keep, erased=erased)
        assert not {row[0] for row in rows} & {*erased}
        assert keep or {*rows} <= {*now}
        assert held.waiting + held.outdated + held.withheld == len({*now} - {*rows})
        there = {row[0] for row in rows}
        if not rows or any(not there & {row[0] for row in before} for before in earlier):
            # Nothing can go out: of nobody, or of nobody who is known, a gate cannot tell.
            continue
        assert at_risk(earlier, rows, k) == 0
        earlier.append(rows)


def cheapest(earlier, now, k):
    """The fewest persons who are missing or outdated, over everything that could be published."""
    last = {row[0]: row for row in earlier[-1]}
    living = {row[0]: row for row in now}
    choices = []
    for who in sorted({*last, *living}):
        rows = {None, last.get(who), living.get(who)}
        choices.append([(row, row != living.get(who)) for row in rows])
    best = None
    for chosen in itertools.product(*choices):
        rows = [row for row, _ in chosen if row is not None]
        price = sum(wrong for _, wrong in chosen)
        if rows and (best is None or price < best) and at_risk(earlier, rows, k) == 0:
            best = price
    return best


@pytest.mark.slow
def test_the_price_is_near_the_least_that_enumeration_finds():
    rng = np.random.default_rng(3)
    ours = least = 0
    for _ in range(6):
        first = [(i, "a" if i < 4 else "b", "xy"[i % 2]) for i in range(6)]
        leaving = {*rng.choice(6, 2, replace=False).tolist()}
        now = [row for row in first if row[0] not in leaving]
        now += [(20 + i, str(rng.choice(["a", "b"])), "xy"[i % 2]) for i in range(2)]
        rows, held = decided([first], now, 2, keep=True)
        assert at_risk([first], rows, 2) == 0
        price = held.waiting + held.outdated + held.withheld + held.left
        best = cheapest([first], now, 2)
        assert price >= best
        ours, least = ours + price, least + best
    assert ours <= 1.5 * least


# ---- kinds of table --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_other_kinds_give_back_their_own(ledger, kind):
    library = pytest.importorskip(kind)
    convert = library.from_pandas if kind == "polars" else library.Table.from_pandas
    first = published(ledger)
    now = pd.concat([first.iloc[2:], people(1, 600)], ignore_index=True)
    expected = release(now).mend(ledger, leavers="keep", previous=first)
    mended = release(convert(now)).mend(ledger, leavers="keep", previous=convert(first))
    table = mended.tables["people"]
    assert type(table) is type(convert(first))
    assert mended.price == expected.price
    assert sorted(table["who"].to_numpy()) == sorted(expected.tables["people"]["who"])
    with pytest.raises(ArgumentError, match="from a table of the same kind"):
        release(convert(now)).mend(ledger, leavers="keep", previous=first)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_whole_numbers_of_either_width_are_the_same_persons(ledger, kind):
    library = pytest.importorskip(kind)
    convert = library.from_pandas if kind == "polars" else library.Table.from_pandas
    first = published(ledger)
    now = pd.concat([first.iloc[2:], people(1, 600)], ignore_index=True)
    narrow = convert(now.astype({"who": "int32"}))
    mended = release(narrow).mend(ledger, leavers="keep", previous=convert(first))
    assert mended.verdict.passed
    assert mended.price.left == 2
    assert sorted(mended.tables["people"]["who"].to_numpy()) == sorted(first["who"])


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (lambda n: dt.date(2026, 1, 1) + dt.timedelta(days=n), ["2026-01-08", " 2026-01-09 "]),
        (lambda n: dt.datetime(2026, 1, 1, n % 24, n // 24), ["2026-01-01 07:00", "2026-01-01T08"]),
        (lambda n: Decimal(n) / 4, ["1.75", "2"]),
        (lambda n: n - 7, ["0", "1"]),
    ],
)
def test_erased_persons_are_read_from_texts_of_a_file(ledger, kind, texts):
    frame = people(120)
    first = published(ledger, frame.assign(who=[kind(n) for n in frame["who"]]))
    now = release(first.iloc[10:].reset_index(drop=True))
    mended = now.mend(ledger, leavers="keep", previous=first, erased=texts)
    gone = {kind(7), kind(8)}
    assert not gone & set(mended.tables["people"]["who"])
    assert mended.verdict.passed
    same = now.mend(ledger, leavers="keep", previous=first, erased=[kind(7), kind(8)])
    assert same.price == mended.price
    with pytest.raises(ArgumentError, match="erased= holds values of another type than unit 'who'"):
        now.mend(ledger, leavers="keep", previous=first, erased=["Ann"])


@pytest.mark.spark
def test_spark_gives_back_its_own(ledger, spark):
    first = published(ledger)
    now = pd.concat([first.iloc[2:], people(1, 600)], ignore_index=True)
    expected = release(now).mend(ledger, leavers="keep", previous=first)
    here, before = (
        spark.createDataFrame(frame.to_numpy(dtype=object).tolist(), list(frame.columns))
        for frame in (now, first)
    )
    mended = release(here).mend(ledger, leavers="keep", previous=before)
    assert mended.price == expected.price
    assert mended.verdict.passed
    table = mended.tables["people"]
    assert table.columns == here.columns
    assert sorted(row["who"] for row in table.collect()) == sorted(expected.tables["people"]["who"])


# ---- refusals --------------------------------------------------------------------------------


def test_what_is_missing_is_named(ledger):
    first = published(ledger)
    now = release(first.iloc[1:])
    with pytest.raises(TypeError, match="leavers"):
        now.mend(ledger)
    with pytest.raises(ArgumentError, match="leavers"):
        now.mend(ledger, leavers="perhaps")
    with pytest.raises(ArgumentError, match="give its tables or files as previous="):
        now.mend(ledger, leavers="keep")
    with pytest.raises(ArgumentError, match=r"'poeple'.*did you mean 'people'"):
        now.mend(ledger, leavers="keep", previous={"poeple": first})
    with pytest.raises(StateError, match="is not the one that was published last"):
        now.mend(ledger, leavers="keep", previous=first.iloc[:-1])
    with pytest.raises(StateError, match="other columns"):
        now.mend(ledger, leavers="keep", previous=first.assign(more=1))
    with pytest.raises(ArgumentError, match="erased= holds"):
        now.mend(ledger, leavers="keep", previous=first, erased=["Ann"])
    with pytest.raises(ArgumentError, match="1 of 2 values of erased= are nobody's"):
        now.mend(ledger, leavers="keep", previous=first, erased=[0, 999_999])
    for wrong in (None, 5, "Ann"):
        with pytest.raises(ArgumentError, match="erased= is a list of values"):
            now.mend(ledger, leavers="keep", previous=first, erased=wrong)
    with pytest.raises(AnonRiskError):
        now.mend(ledger, leavers="keep", previous=5)
    with pytest.raises(PolicyError, match="add the budget differencing"):
        release(first, policy=Policy(quasi="zip", unit="who", k=5)).mend(ledger, leavers="drop")
    alone = Policy(quasi="zip", k=5, differencing={"k": 5, "net": True}, unlisted="ignore")
    with pytest.raises(StateError, match="it was 'who' and is None now"):
        release(first, policy=alone).mend(ledger, leavers="drop")
    policy = Policy(quasi="area", k=5, differencing={"k": 5, "net": True}, unlisted="ignore")
    never = Release({"others": first.head(3).rename(columns={"zip": "area"})}, policy)
    with pytest.raises(StateError, match="without a unit"):
        never.mend(ledger, leavers="drop")


@pytest.mark.parametrize("leavers", ["keep", "drop"])
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sensitive": ["illness", "ward"], "insensitive": None}, "the same sensitive columns"),
        ({"unit": "ward", "insensitive": "who"}, "the same unit"),
    ],
)
def test_a_policy_by_which_nothing_can_be_compared_is_refused(ledger, leavers, changed, said):
    roles = {"quasi": "zip", "unit": "who", "sensitive": "illness", "insensitive": "ward"}
    asked = {**roles, "missing_sensitive": "error", "k": 5, "differencing": {"k": 5}}
    first = people(120).assign(ward=["A", "B"] * 60)
    release(first, "first", Policy(**asked)).publish(ledger, by="A. Officer")
    now = release(first.iloc[1:], policy=Policy(**{**asked, **changed}))
    for call in (
        lambda: now.compare(ledger),
        lambda: now.mend(ledger, leavers=leavers, previous=first),
    ):
        with pytest.raises(StateError, match=f"'people' and release 'first': .*{said}"):
            call()


def test_a_policy_that_changed_is_not_said_of_the_file_before(ledger):
    first = published(ledger).assign(ward=["A", "B"] * 60)
    roles = {"quasi": ["zip", "ward"], "sensitive": "illness", "unit": "who"}
    policy = Policy(**roles, missing_sensitive="error", k=2, differencing={"k": 2})
    with pytest.raises(StateError, match=r"policy .* was \['zip'\] and is \['ward', 'zip'\] now"):
        release(first.iloc[1:], policy=policy).mend(ledger, leavers="keep", previous=first)


def test_kinds_of_tables_are_told_with_their_library(ledger):
    pl = pytest.importorskip("polars")
    first = published(ledger)
    said = "as a pandas DataFrame, and the one to be released is a polars DataFrame"
    with pytest.raises(ArgumentError, match=said):
        release(pl.DataFrame(first.iloc[1:])).mend(ledger, leavers="keep", previous=first)


def test_who_all_left_stay_listed_although_the_table_is_empty(ledger):
    first = published(ledger)
    mended = release(first.iloc[:0]).mend(ledger, leavers="keep", previous=first)
    assert mended.verdict.passed
    assert mended.price.left == 120


def test_nothing_can_go_out_is_said_and_no_pass(ledger):
    published(ledger)
    mended = release(people(3, 900)).mend(ledger, leavers="drop")
    assert not mended.verdict.passed
    assert "Nothing can go out" in mended.explain()
    assert mended.to_dict()["price"]["waiting"] == 3


@pytest.mark.parametrize(("values", "waiting"), [(["flu"], 5), (["flu", "gout"], 0), ([], 0)])
def test_a_missing_value_that_counts_as_none_is_no_company(ledger, values, waiting):
    policy = Policy(**POLICY.to_dict()["roles"], **MISSING_IS_NONE)
    table = people(60)
    release(table, "1", policy).publish(ledger, by="Bob")
    new = pd.DataFrame({"who": range(60, 65), "zip": "0"}).assign(
        illness=[*values, *[None] * (5 - len(values))]
    )
    both = pd.concat([table, new], ignore_index=True)
    mended = release(both, "2", policy).mend(ledger, leavers="drop")
    assert mended.verdict.passed
    assert mended.price.waiting == waiting
