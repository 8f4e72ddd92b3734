"""Plans by region: against Mondrian by the book, measured after, the same on every engine."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import tables
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_regions import Ruler, Tree, by_the_book
from planned import QIDS, people, with_options

import anonrisk
from anonrisk import Plan, errors
from anonrisk.measures.counts.tally import Domain
from anonrisk.measures.recode.edges import fine_dates, fine_edges
from anonrisk.measures.recode.recoding import extent, of_days
from anonrisk.measures.recode.regions import NumberRanges, Regions
from anonrisk.recode import Bins, Keep, Star

TREE = {"any": {"cold": ["cough", "flu"], "heart": ["angina", "stroke"], "other": ["gout"]}}
PATHS = {leaf: ("any", node, leaf) for node, below in TREE["any"].items() for leaf in below}
BY_REGION = {"method": "multidimensional"}


def columns_of(table, k, kind="entropy"):
    values, counts = np.unique(table["age"].dropna(), return_counts=True)
    edges = fine_edges(Domain("whole", values.astype(int)), counts, k) if len(values) > 1 else []
    cells = [None if c != c else int(c) for c in table["age"]]
    ills = [None if ill != ill else ill for ill in table["ill"]]
    return {"age": Ruler(cells, edges, kind), "ill": Tree(PATHS, ills, kind)}


def records_of(table):
    return [
        {"row": i, "age": None if a != a else int(a), "ill": None if ill != ill else ill, "sex": s}
        for i, (a, ill, s) in enumerate(zip(table["age"], table["ill"], table["sex"], strict=True))
    ]


def classes_of(table, names):
    """Count the classes by their parts: the book has no word for the rest of one."""
    plain = table[names].astype(object)
    rows = plain.where(plain.notna(), None).to_numpy().tolist()
    parts = ([cell and str(cell).removeprefix("rest of ") for cell in row] for row in rows)
    return Counter(map(tuple, parts))


@st.composite
def small_tables(draw):
    n = draw(st.integers(6, 60))

    def cells(*values):
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    ages = cells(None, 18, 19, 20, 25, 31, 31, 40, 52, 67, 90)
    if not any(ages):
        ages[0] = 18
    return pd.DataFrame(
        {
            "age": pd.array(ages, dtype="Int64").to_numpy(dtype=float, na_value=np.nan),
            "ill": pd.Series(cells(*PATHS, None), dtype=object),
            "sex": pd.Series(cells("f", "m"), dtype=object),
        }
    )


def planned(table, names, k, **more):
    return table.astype({"age": "Int64"}).anon.plan(
        names, k, **with_options(hierarchies={"ill": TREE}, **BY_REGION, **more)
    )


@pytest.mark.slow
@given(table=small_tables(), k=st.integers(2, 5), loss=st.sampled_from(["entropy", "range"]))
def test_the_regions_are_those_of_the_book(table, k, loss):
    names = ["age", "ill"]
    plan = planned(table, names, k, loss=loss)
    done = table.astype({"age": "Int64"}).anon.apply(plan)
    expected = Counter()
    for label, n in by_the_book(records_of(table), columns_of(table, k, loss), k):
        expected[label] += n
    if not plan.recodings["age"].kept:
        found = classes_of(done, names)
        assert found == expected
    assert sorted(classes_of(done, names).values()) == sorted(expected.values())
    assert plan.after.n_classes == len(done[names].drop_duplicates())


def squared(records):
    return len(records) ** 2


def mixed(records):
    """Records that differ from one drawn from them, both drawn at random, times their number."""
    pairs = [a["sex"] != b["sex"] for a in records for b in records]
    return sum(pairs) / len(records)


@pytest.mark.nightly
@settings(max_examples=40)
@given(table=small_tables(), k=st.integers(2, 5), loss=st.sampled_from([squared, mixed]))
def test_the_regions_of_a_loss_of_classes_are_those_of_the_book(table, k, loss):
    names = ["age", "ill"]
    if table["sex"].nunique() < 2:
        return
    word = {"loss": "target", "target": "sex"} if loss is mixed else {"loss": "discernibility"}
    plan = planned(table, names, k, **word)
    books = []
    for guide in (loss, None):
        columns = columns_of(table, k)
        for column in columns.values():
            column.of_classes = guide
        books.append(Counter())
        for label, n in by_the_book(records_of(table), columns, k):
            books[-1][label] += n
    found = classes_of(table.astype({"age": "Int64"}).anon.apply(plan), names)
    if loss is squared:
        books = [min(books, key=lambda book: sum(n * n for n in book.values()))]
    assert sorted(found.values()) in [sorted(book.values()) for book in books]
    if not plan.recodings["age"].kept:
        assert found in books


@pytest.mark.nightly
@given(table=small_tables(), k=st.integers(2, 4))
def test_the_regions_of_a_limit_are_those_of_the_book(table, k):
    def diverse(part):
        return len({r["sex"] for r in part}) >= 2

    if table["sex"].nunique() < 2:
        with pytest.raises(errors.PlanError, match="no plan reaches distinct ldiv of sex"):
            planned(table, ["age", "ill"], k, sensitive="sex", ldiv=2)
        return
    plan = planned(table, ["age", "ill"], k, sensitive="sex", ldiv=2)
    done = table.astype({"age": "Int64"}).anon.apply(plan)
    expected = by_the_book(records_of(table), columns_of(table, k), k, diverse)
    sizes = Counter()
    for label, n in expected:
        sizes[label] += n
    assert sorted(classes_of(done, ["age", "ill"]).values()) == sorted(sizes.values())
    assert done.anon.ldiv(["age", "ill"], "sex") >= 2


GOALS = [
    ({"ldiv": 2}, lambda t, q: t.anon.ldiv(q, "ill") >= 2),
    ({"ldiv": 1.9, "variant": "entropy"}, lambda t, q: t.anon.ldiv(q, "ill", "entropy") >= 1.9),
    (
        {"ldiv": 2, "variant": "recursive", "c": 1.5},
        lambda t, q: t.anon.ldiv(q, "ill", "recursive", c=1.5) >= 2,
    ),
    ({"tcloseness": 0.5}, lambda t, q: t.anon.tcloseness(q, "ill") <= 0.5 + 1e-9),
    (
        {"tcloseness": 0.3, "distance": "ordered", "order": sorted(PATHS)},
        lambda t, q: t.anon.tcloseness(q, "ill", order=sorted(PATHS)) <= 0.3 + 1e-9,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("split", ["gain", "median"])
@pytest.mark.parametrize("goal", range(len(GOALS)))
def test_no_class_breaks_a_goal(split, goal):
    asked, holds = GOALS[goal]
    names = ["age", "born"]
    for seed in range(3):
        table = pd.DataFrame(people(250, seed=seed))
        plan = table.anon.plan(names, 3, **with_options(sensitive="illness", **BY_REGION, **{
            key: sorted(set(table["illness"])) if key == "order" else value
            for key, value in asked.items()
        }, split=split))  # fmt: skip
        done = table.anon.apply(plan).rename(columns={"illness": "ill"})
        if "order" in asked:
            order = sorted(set(done["ill"]))
            assert done.anon.tcloseness(names, "ill", order=order) <= 0.3 + 1e-9
        else:
            assert holds(done, names)
        assert done.anon.k(names) >= 3
        assert plan.after.n_classes == done.anon.classes(names).n_classes > 1
        assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.slow
@settings(max_examples=20)
@given(
    table=small_tables(),
    seed=st.integers(0, 99),
    split=st.sampled_from(["gain", "median"]),
    loss=st.sampled_from(["entropy", "range"]),
)
def test_the_order_of_rows_and_their_labels_change_nothing(table, seed, split, loss):
    plan = planned(table, ["age", "ill", "sex"], 3, split=split, loss=loss)
    other = table.sample(frac=1, random_state=seed)
    other.index = range(100, 100 + len(other))
    again = planned(other, ["age", "ill", "sex"], 3, split=split, loss=loss)
    assert again.to_json() == plan.to_json()
    done = table.astype({"age": "Int64"}).anon.apply(plan)
    counted = done.anon.classes(["age", "ill", "sex"])
    assert counted.k == plan.after.k >= 3
    assert counted.n_records == len(table)
    assert counted.n_classes == plan.after.n_classes
    found = done.anon.utility(
        ["age", "ill", "sex"], original=table, hierarchies={"ill": TREE}, loss=loss
    )
    if found.loss is not None:
        assert found.loss == pytest.approx(plan.after.loss, abs=1e-12)
        assert found.loss_metric == pytest.approx(plan.after.range_loss, abs=1e-12)
        assert found.mutual_information == pytest.approx(plan.after.bits, abs=1e-12)
    assert found.discernibility == plan.after.discernibility


def test_same_plan_and_same_table_on_every_engine(frame):
    cells = people(200)
    table, plain = frame(cells), pd.DataFrame(cells)
    asked = {"hierarchies": {"illness": PEOPLES}, **BY_REGION}
    names = [*QIDS, "illness"]
    plan = table.anon.plan(names, 4, **with_options(**asked))
    expected = plain.anon.plan(names, 4, **with_options(**asked))
    assert plan.to_json() == expected.to_json()
    done = sorted(tables.to_rows(table.anon.apply(plan)), key=lambda row: row["who"])
    assert done == sorted(tables.to_rows(plain.anon.apply(expected)), key=lambda r: r["who"])
    assert len(done) == 200
    counted = table.anon.apply(plan).anon.classes(names)
    assert (counted.k, counted.n_classes) == (plan.after.k, plan.after.n_classes)
    # Next month: known values in combinations that are new, and new ones.
    later = people(60, seed=9)
    later["born"][0] = dt.date(1930, 1, 1)
    later["zip"][0] = "9999"
    loose = Plan(**{**vars(plan), "k": 1, "max_suppressed": 1.0})
    told = []
    for table in (frame(later), pd.DataFrame(later)):
        with pytest.raises(errors.UnseenValuesError, match=r"no region for \d+ record") as raised:
            table.anon.apply(loose)
        told.append(str(raised.value))
    assert told[0] == told[1]
    for on_unseen in ("top", "suppress"):
        made = frame(later).anon.apply(loose, on_unseen=on_unseen)
        done = sorted(tables.to_rows(made), key=lambda r: r["who"])
        plain = pd.DataFrame(later).anon.apply(loose, on_unseen=on_unseen)
        assert done == sorted(tables.to_rows(plain), key=lambda row: row["who"])
        assert (len(plain) == 60) == (on_unseen == "top")
        assert len(plain) > 9


PEOPLES = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}


def test_goals_on_every_engine(frame):
    cells = people(120)
    plan = frame(cells).anon.plan(
        ["age", "sex"], 3, **with_options(sensitive="illness", ldiv=2, **BY_REGION)
    )
    done = frame(cells).anon.apply(plan)
    assert done.anon.ldiv(["age", "sex"], "illness") >= 2
    alike = {**cells, "illness": ["flu"] * 120}
    with pytest.raises(errors.PlanError, match="break distinct ldiv of illness at least 2"):
        frame(alike).anon.apply(plan)


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_too_many_combinations_are_put_together_before_they_are_cut(spark, monkeypatch):
    from anonrisk.measures.counts import question

    random = np.random.default_rng(4)
    days = [dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in random.integers(0, 9_000, 400)]
    cells = {
        "income": [None] * 6 + np.exp(random.normal(10, 1, 394)).tolist(),
        "born": days,
        "sex": random.choice(["f", "m"], 400).tolist(),
    }
    table = tables.spark_table(spark, cells)
    monkeypatch.setattr(question, "MAX_CLASSES", 390)
    names = ["income", "born", "sex"]
    plan = table.anon.plan(names[::2], 5, **with_options(**BY_REGION))
    done = table.anon.apply(plan)
    counted = done.anon.classes(names[::2])
    assert (counted.k, counted.n_classes) == (plan.after.k, plan.after.n_classes)
    assert counted.n_records == 400, "what was planned is what is true"
    assert plan.after.n_classes > 20
    monkeypatch.setattr(question, "MAX_CLASSES", 320)
    plan = table.anon.plan(names, 5, **with_options(**BY_REGION))
    counted = table.anon.apply(plan).anon.classes(names)
    assert (counted.k, counted.n_classes) == (plan.after.k, plan.after.n_classes), "in stages"
    with pytest.raises(errors.TooManyClassesError, match="more than 320 different combinations"):
        table.anon.plan(names, 5, options=anonrisk.PlanOptions(method="full-domain"))


def test_a_stored_plan_holds_what_k_records_share():
    random = np.random.default_rng(3)
    rare = [f"rare{i}" for i in range(40)]
    table = pd.DataFrame(
        {
            "salary": np.exp(random.normal(10, 1, 600)).round(3),
            "street": [*random.choice(["much", "more"], 560), *rare],
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(random.integers(0, 9e3, 600), "D"),
        }
    )
    plan = table.anon.plan(list(table), 10, **with_options(**BY_REGION))
    text = plan.to_json()
    words = set(text.replace('"', " ").replace(",", " ").split())
    assert not words & set(rare)
    assert not words & {str(cell) for cell in table["salary"]}
    assert "much" in words
    read = Plan.from_json(text)
    assert read == plan
    pd.testing.assert_frame_equal(table.anon.apply(read), table.anon.apply(plan))
    assert Plan.from_yaml(plan.to_yaml()) == plan
    edges = plan.recodings["salary"].edges
    below = np.searchsorted(np.sort(table["salary"]), edges)
    assert below.min() >= 10
    assert len(table) - below.max() >= 10
    stored = json.loads(text)
    stored["regions"]["cuts"][0][2] = 0
    with pytest.raises(errors.PlanError, match="lead nowhere"):
        Plan.from_json(json.dumps(stored))
    del stored["regions"]["boxes"]
    with pytest.raises(errors.PlanError, match="not a stored plan"):
        Plan.from_json(json.dumps(stored))


def test_a_record_finds_the_one_region_that_holds_it():
    table = pd.DataFrame(people(400))
    plan = table.anon.plan(["age", "sex"], 4, **with_options(**BY_REGION))
    regions = plan.regions
    sizes = [recoding.n_places for recoding in regions.columns.values()]
    places = np.stack([p.ravel() for p in np.meshgrid(*map(np.arange, sizes))])
    found = regions.find(list(places))
    inside = (places.T[:, None] >= regions.boxes[..., 0]) & (
        places.T[:, None] <= regions.boxes[..., 1]
    )
    holds = inside.all(axis=2)
    for i, region in enumerate(found.tolist()):
        assert region == -1 or holds[i, region]
        # Of a hierarchy the rest is inside of its parent too: some region holds the record.
        assert (region >= 0) <= holds[i].any()
    assert regions == Regions.read(regions.to_dict(), plan.recodings)
    assert regions != Regions.read(
        {**regions.to_dict(), "boxes": regions.boxes[:, ::-1].tolist()}, plan.recodings
    )


@pytest.mark.slow
def test_the_bars_on_adult(shared):
    table = pd.read_csv(
        shared / "data" / "tables" / "arx_adult.csv", dtype=str, keep_default_na=False
    )
    names = [name for name in table if name != "salary_class"]
    trees = {
        name: shared / "data" / "hierarchies" / f"adult_hierarchy_{name.replace('_', '-')}.csv"
        for name in names
    }
    # The bars are shares of ranges and leaves.
    asked = {**BY_REGION, "loss": "range"}
    plan = table.anon.plan(names, 5, **with_options(hierarchies=trees, **asked))
    done = table.anon.apply(plan)
    assert len(done) == len(table)
    assert done.anon.k(names) == plan.after.k == 5
    found = done.anon.utility(names, original=table, hierarchies=trees)
    assert found.loss_metric == pytest.approx(plan.after.loss, abs=1e-12)
    assert plan.after.loss <= 0.09
    seven = [name for name in names if name != "occupation"]
    some = {name: trees[name] for name in seven}
    alone = table.anon.plan(seven, 5, **with_options(hierarchies=some, **asked))
    diverse = table.anon.plan(
        seven, 5, **with_options(hierarchies=some, sensitive="occupation", ldiv=2, **asked)
    )
    assert table.anon.apply(diverse).anon.ldiv(seven, "occupation") >= 2
    assert diverse.after.loss <= alone.after.loss + 0.02


@pytest.mark.slow
def test_the_better_method_is_taken_and_named():
    table = pd.DataFrame(people(300))
    names = ["age", "zip", "born"]
    plan = table.anon.plan(names, 5, options=anonrisk.PlanOptions(method="auto"))
    full = table.anon.plan(names, 5, options=anonrisk.PlanOptions(method="full-domain"))
    assert plan.method == "multidimensional"
    told = re.fullmatch(r"multidimensional: it loses (.*); full-domain (.*) or less.*", plan.note)
    assert told[1] == f"{plan.after.loss:.3f}"
    assert float(told[2]) >= round(full.after.loss, 3) > plan.after.loss
    assert plan.note in " ".join(repr(plan).split())
    one = table.anon.plan("sex", 5, options=anonrisk.PlanOptions(method="auto"))
    assert (one.method, one.after.loss) == ("full-domain", 0)
    assert one.note.startswith("full-domain: it loses 0.000")
    never = table.anon.plan(names, 5, max_suppressed=0, hierarchies={
        "age": [Keep(), Bins((50,), whole=True), Star()], "zip": [Keep(), Star()],
    }, options=anonrisk.PlanOptions(method="auto"))  # fmt: skip
    assert never.method == "multidimensional"
    private = table.anon.plan(
        "age", 5, sensitive="illness", options=anonrisk.PlanOptions(method="auto", loss="private")
    )
    assert private.method == "full-domain"
    diverse = table.anon.plan(
        "age", 5, sensitive="illness", ldiv=2, options=anonrisk.PlanOptions(method="auto")
    )
    assert diverse.goals[0].limit == 2
    assert f"it loses {diverse.after.loss:.3f}; " in diverse.note


def test_it_prints_within_a_screen_and_draws():
    table = pd.DataFrame(people(300))
    plan = table.anon.plan(
        QIDS, 5, **with_options(hierarchies={"sex": {"any": ["f", "m"]}}, **BY_REGION)
    )
    lines = repr(plan).splitlines()
    assert lines[0] == f"Plan for age + zip + sex + born: k = 5 in {len(plan.regions)} regions"
    assert max(map(len, lines)) <= 80
    assert "ranges by region:" in repr(plan)
    assert "<table>" in plan._repr_html_()
    pytest.importorskip("matplotlib")
    labels = " ".join(label.get_text() for label in plan.plot().get_yticklabels())
    assert "ranges by region" in labels
    assert "<" not in labels


def test_where_nothing_can_be_parted_everything_is_one_region():
    table = pd.DataFrame({"age": [1, 2, 3, None], "ill": ["flu", None, "gout", "flu"]})
    plan = table.anon.plan(["age", "ill"], 3, **with_options(**BY_REGION))
    assert len(plan.regions) == plan.after.n_classes == 1
    assert plan.after.loss == 1
    assert table.anon.apply(plan).to_numpy().tolist() == [["*", "*"]] * 4
    assert Plan.from_json(plan.to_json()) == plan


def test_what_is_fine_already_stays_as_it_is():
    table = pd.DataFrame(
        {"age": [1, 1, 2, 2, None, None] * 2, "ill": ["flu", "flu", "gout", "gout", None, None] * 2}
    )
    plan = table.anon.plan(["age", "ill"], 4, **with_options(**BY_REGION))
    assert plan.after.loss == 0
    pd.testing.assert_frame_equal(table.anon.apply(plan), table)


def test_names_that_are_the_same_are_one_class():
    # A value that is written like the label of another part.
    tree = {"any": {"x": ["a", "b"], "y": ["c", "d"]}}
    table = pd.DataFrame({"v": list("aabbccdd") * 2, "w": ["x*", "x1"] * 8})
    plan = table.anon.plan(["v", "w"], 3, **with_options(hierarchies={"v": tree}, **BY_REGION))
    counted = table.anon.apply(plan).anon.classes(["v", "w"])
    assert (counted.k, counted.n_classes) == (plan.after.k, plan.after.n_classes)


@pytest.mark.parametrize(
    ("more", "error", "text"),
    [
        ({"method": "mondrian"}, errors.ArgumentError, "'multidimensional'"),
        ({**BY_REGION, "split": "best"}, errors.ArgumentError, "'gain', 'median'"),
        ({**BY_REGION, "budget": 3}, errors.ArgumentError, "budget= has no effect"),
        ({**BY_REGION, "bins": "width"}, errors.ArgumentError, "bins= has no effect"),
        ({**BY_REGION, "population_size": 900}, errors.ArgumentError, "population_size= has no"),
        (
            {**BY_REGION, "loss": "private", "sensitive": "illness"},
            errors.ArgumentError,
            "loss='private' has no effect",
        ),
        ({**BY_REGION, "ldiv": 2}, errors.RolesNotGivenError, "no sensitive column"),
        ({**BY_REGION, "variant": "entropy"}, errors.ArgumentError, "no effect without ldiv="),
        ({**BY_REGION, "distance": "equal"}, errors.ArgumentError, "without tcloseness="),
        (
            {**BY_REGION, "tcloseness": 0.1, "distance": "hierarchical", "sensitive": "illness"},
            errors.ArgumentError,
            "'equal' and 'ordered'",
        ),
        (
            {**BY_REGION, "tcloseness": 0.1, "distance": "ordered", "sensitive": "illness"},
            errors.ArgumentError,
            "no order of their own",
        ),
        (
            {**BY_REGION, "tcloseness": 0.1, "order": ["flu"], "sensitive": "illness"},
            errors.ArgumentError,
            "the order lacks 3 values of sensitive column 'illness'",
        ),
        (
            {**BY_REGION, "ldiv": 9, "sensitive": "illness"},
            errors.PlanError,
            "no plan reaches distinct ldiv of illness at least 9: the table as a whole does not",
        ),
        ({**BY_REGION, "max_loss": 0.0001}, errors.PlanError, "max_loss=0.0001 stops every plan"),
        (
            {**BY_REGION, "hierarchies": {"zip": [Keep()]}},
            errors.PlanError,
            "must put all of its values together",
        ),
        (
            {
                **BY_REGION,
                "hierarchies": {
                    "age": [Bins((50,), whole=True), Bins((40, 60), whole=True), Star()]
                },
            },
            errors.PlanError,
            "do not build on each other",
        ),
        (
            {**BY_REGION, "hierarchies": {"height": [Keep(), Star()]}},
            errors.PlanError,
            "no single written form by which",
        ),
    ],
)
def test_what_cannot_be_planned_by_region(more, error, text):
    table = pd.DataFrame(people()).assign(height=[i + 0.5 for i in range(300)])
    with pytest.raises(error, match=text):
        table.anon.plan(["age", "zip", "height"], 5, **with_options(**more))


def test_a_part_is_told_where_the_table_is_another_one():
    table = pd.DataFrame({"age": list(range(20, 60))})
    plan = table.anon.plan("age", 5, **with_options(**BY_REGION))
    assert isinstance(plan.recodings["age"], NumberRanges)
    with pytest.raises(errors.PlanError, match="made for another table"):
        table.head(7).anon.apply(plan)
    with pytest.raises(errors.UnsupportedColumnError, match="column 'age' holds values of kind"):
        pd.DataFrame({"age": ["x"] * 9}).anon.apply(plan)


DAYS = [dt.date(1970, 1, 1) + dt.timedelta(days) for days in (-9000, -1, 0, 1, 30, 31, 364, 365)]


@pytest.mark.parametrize("first", DAYS)
@pytest.mark.parametrize("after", [*DAYS, dt.date(2000, 2, 29), dt.date(2001, 1, 1)])
def test_ranges_of_days_are_read_as_they_were_written(first, after):
    epoch = dt.date(1970, 1, 1).toordinal()
    low, high = first.toordinal() - epoch, after.toordinal() - epoch
    reads = {"dates": True, "whole": False}
    assert extent(of_days(None, high), **reads) == (-math.inf, high - 1)
    assert extent(of_days(low, None), **reads) == (low, math.inf)
    if low < high:
        assert extent(of_days(low, high), **reads) == (low, high - 1)


@pytest.mark.parametrize("days", [40, 900, 20_000])
def test_dates_are_cut_where_periods_begin(days):
    random = np.random.default_rng(1)
    values, counts = np.unique(random.integers(0, days, 500), return_counts=True)
    edges = fine_dates(Domain("date", values), counts, 7)
    written = [str(np.datetime64(int(edge), "D")) for edge in edges]
    ending = {40: "", 900: "-01", 20_000: "-01-01"}[days]
    assert len(edges) > 10
    assert all(day.endswith(ending) for day in written)
    below = [int(counts[values < edge].sum()) for edge in edges]
    assert min(below) >= 7
    assert max(below) <= 500 - 7


@pytest.mark.parametrize("cells", [[1.1, 2.2], [dt.date(850, 2, 3), dt.date(1950, 2, 3)], [0, 999]])
def test_cells_that_stay_lose_nothing_however_far_apart(cells):
    table = pd.DataFrame({"x": cells * 6, "sex": list("ffm") * 4})
    for loss in ("range", "entropy"):
        plan = table.anon.plan(["x", "sex"], 2, **with_options(**BY_REGION, loss=loss))
        assert plan.recodings["x"].kept
        assert (plan.after.loss, plan.after.range_loss) == (0, 0)
        assert table.anon.apply(plan).equals(table)


@pytest.mark.parametrize("method", ["auto", "full-domain", "multidimensional"])
def test_extreme_numbers_and_days_are_cut_or_refused_in_words(method):
    def planned(cells):
        table = pd.DataFrame({"x": cells})
        plan = table.anon.plan("x", 4, options=anonrisk.PlanOptions(method=method))
        assert table.anon.apply(plan).anon.k("x") >= 4
        return plan

    for close in ([0, 5e-324, 1e-310, 2e-310], [0, 5e-324, 1.0, 2.0]):
        assert "x" in repr(planned(np.repeat(close, 3)))
    before_christ = ["-0044-03-15", "-0003-01-01", "0800-12-25", "9999-12-31"]
    assert "x" in repr(planned(np.repeat(np.array(before_christ, dtype="datetime64[s]"), 3)))
    with pytest.raises(
        errors.UnsupportedColumnError, match="distance overflows to infinity"
    ) as raised:
        planned(np.repeat([-1.7e308, 1.0, 1.7e308], 5))
    assert "1.7" not in str(raised.value)


@pytest.mark.parametrize("asked", [{"k": 1}, {"tcloseness": 0.9, "sensitive": "ill"}])
def test_no_region_is_of_one_record(asked):
    jobs = ["hangman", "oracle", *["clerk"] * 4, *["nurse"] * 4]
    table = pd.DataFrame({"age": range(20, 80, 6), "job": jobs, "ill": ["flu", "cold"] * 5})
    plan = table.anon.plan(["age", "job"], **with_options(**asked, method="multidimensional"))
    assert plan.after.k >= 2
    assert not {"hangman", "oracle"} & {*re.findall("[a-z]+", plan.to_json())}


def test_no_column_is_called_recoded_that_is_unchanged_and_overlapping_ranges_are_said():
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "age": random.choice([17, 22, 27, 32, 37, 42], 300),
            "kids": random.integers(0, 5, 300),
            "occupation": random.integers(1, 3, 300),
        }
    )
    for method in ("multidimensional", "full-domain"):
        plan = table.anon.plan(list(table), 5, **with_options(method=method, max_suppressed=0))
        changed = table.anon.apply(plan)
        rows = {line.split()[0]: line for line in repr(plan).splitlines() if line}
        for name in table:
            same = (changed[name].astype(str) == table[name].astype(str)).all()
            assert ("as it is" in rows[name]) == same, plan
            assert (str(plan.recodings[name]) == "as it is") == same
        # By hand: every number from 0 to 60 that two labels hold.
        held = dict.fromkeys(range(61), 0)
        for label in changed["age"].astype(str).unique():
            low, high = extent(label, dates=False, whole=True)
            for number in held:
                held[number] += low <= number <= high
        said = "ranges of age overlap" in " ".join(repr(plan).split())
        assert said == (max(held.values()) > 1) == (method == "multidimensional")


@pytest.mark.parametrize(("low", "step"), [(2**53, 1), (2**62, 1), (2**62, 2000), (-(2**63), 1)])
def test_whole_numbers_that_a_float_cannot_tell_apart(low, step):
    table = pd.DataFrame({"q": [low] * 2 + [low + step] * 5})
    for method in ("multidimensional", "auto"):
        options = anonrisk.PlanOptions(method=method)
        plan = table.anon.plan("q", k=2, options=options)
        released = table.anon.apply(plan)
        assert len(released) == 7
        assert released.anon.k("q") >= 2
