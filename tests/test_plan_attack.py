"""What someone learns who knows how a plan was made: against trying every other table."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections import Counter
from itertools import permutations, product
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import PlanOptions, errors, recode
from anonrisk.engines import engine_for
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.counts.tally import Tally
from anonrisk.measures.recode.recoding import extent
from anonrisk.measures.recode.regions import Parts
from anonrisk.planning import attack, knows_method

HIV = pd.DataFrame({"q": list("aabbbbb"), "s": ["HIV", "HIV", "d1", "d2", "d3", "d4", "d5"]})
BY_REGION, WHOLE = PlanOptions(method="multidimensional"), PlanOptions(method="full-domain")


# ---- minimality -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "multidimensional", "full-domain"])
def test_the_release_that_is_one_class_names_who_has_hiv(method):
    # Of the 21 ways to give two of the values to both a, only HIV twice keeps a and b together.
    plan = HIV.anon.plan("q", k=2, ldiv=2, sensitive="s", options=PlanOptions(method=method))
    assert plan.after.n_classes == 1
    attack = plan.attack(HIV)
    (known,) = attack.credibility
    assert known.exact
    assert known.by_release == pytest.approx(2 / 7)
    assert (known.highest, known.limit) == (1, 0.5)
    assert (known.n_certain, known.n_above, known.n_raised) == (2, 2, 2)
    assert attack.n_persons == 7
    people = attack.by_person("s")
    assert dict(zip(people["q"], people["credibility"], strict=True)) == {"a": 1, "b": 0.2}
    assert not {"HIV", "d1"} & {*repr(attack).split()}


def release(table, plan):
    """The rows of a release, in any order."""
    made = table.anon.apply(plan)
    return Counter(map(tuple, made.astype(object).where(made.notna(), None).to_numpy().tolist()))


def by_trying(table, make):
    """Each person's highest credibility: every way to give everybody's values to everybody."""
    true = release(table, make(table))
    votes = [Counter() for _ in range(len(table))]
    n_worlds = 0
    for values in {*permutations(table["s"])}:
        world = table.assign(s=list(values))
        try:
            same = release(world, make(world)) == true
        except errors.PlanError:
            same = False
        n_worlds += same
        for votes_of, value in zip(votes, values, strict=True):
            votes_of[value] += same
    return [max(votes_of.values()) / n_worlds for votes_of in votes]


SMALL = {
    "one column": {"q": list("aabbb"), "s": list("xxyyz")},
    "a class that parts": {"q": list("aabbcc"), "s": list("xyxyxx")},
    "numbers": {"q": [1, 1, 2, 3, 4, 4], "s": list("xxxyxy")},
    "two columns": {"q": list("aaabbb"), "r": list("uvvuuv"), "s": list("xyxxyx")},
    "missing": {"q": ["a", "a", None, "b", "b"], "s": ["x", "x", None, "y", "x"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["multidimensional", "full-domain"])
@pytest.mark.parametrize("cells", SMALL)
def test_credibility_is_that_of_trying_every_table(cells, method):
    table = pd.DataFrame(SMALL[cells])
    compare_with_trying(table, method, max_suppressed=0.0)


def test_whom_a_release_leaves_out_is_counted_too():
    table = pd.DataFrame({"q": list("aabbb"), "s": list("xxyyx")})
    attack = compare_with_trying(table, "full-domain", max_suppressed=0.4)
    assert attack.n_left_out == 2
    assert "left out: 2 persons" in repr(attack)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_credibility_of_random_tables_is_that_of_trying(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "q": rng.choice(list("abc"), 6), "r": rng.integers(0, 3, 6), "s": rng.choice(list("xxy"), 6)
    })  # fmt: skip
    table.loc[0, "s"], table.loc[1, "s"] = "x", "y"
    method = ["auto", "multidimensional", "full-domain"][seed % 3]
    compare_with_trying(table, method, max_suppressed=0.4 * (seed % 2))


def compare_with_trying(table, method, **more):
    qids = [name for name in table if name != "s"]

    def make(frame):
        options = PlanOptions(method=method)
        return frame.anon.plan(qids, k=2, ldiv=2, sensitive="s", options=options, **more)

    expected = by_trying(table, make)
    attack = make(table).attack(table)
    (known,) = attack.credibility
    assert known.exact
    assert known.highest == pytest.approx(max(expected))
    assert known.n_certain == sum(chance > 1 - 1e-9 for chance in expected)
    assert known.n_above == sum(chance > 0.5 + 1e-9 for chance in expected)
    people = attack.by_person("s")
    assert people["persons"].sum() == len(table)
    found = {
        tuple(None if pd.isna(cell) else cell for cell in row[: len(qids)]): row[-1]
        for row in people.to_numpy().tolist()
    }
    for row, chance in zip(table[qids].to_numpy().tolist(), expected, strict=True):
        person = tuple(None if pd.isna(cell) else cell for cell in row)
        assert found[person] == pytest.approx(chance)
    return attack


@pytest.mark.slow
def test_an_order_of_values_is_looked_at():
    # 1 and 9 are further apart than 1 and 2, so that values are more than their counts.
    table = pd.DataFrame({"q": list("aabbcc"), "s": [1, 9, 1, 2, 9, 8]})
    options = PlanOptions(method="multidimensional", distance="ordered")

    def make(frame):
        return frame.anon.plan("q", k=2, tcloseness=0.3, sensitive="s", options=options)

    expected = by_trying(table, make)
    (known,) = make(table).attack(table).credibility
    assert known.highest == pytest.approx(max(expected))
    assert known.limit is known.n_above is None


def test_a_method_that_does_not_look_tells_nothing():
    table = pd.DataFrame({"q": [1, 1, 2, 2, 3, 3, 3], "s": list("xyxxyyx")})
    plan = table.anon.plan("q", k=3, options=BY_REGION)
    (known,) = plan.attack(table, sensitive="s").credibility
    released = table.anon.apply(plan)
    assert known.exact
    assert known.highest == known.by_release == released.anon.alpha("q", "s")
    assert known.n_raised == 0
    assert plan.attack(table).credibility == ()


def test_another_column_that_goes_with_the_one_the_method_looks_at():
    # Whoever has HIV takes the drug: who learns the one learns the other.
    table = HIV.assign(drug=["yes", "yes", *["no"] * 5])
    plan = table.anon.plan("q", k=2, ldiv=2, sensitive="s", options=BY_REGION)
    (known,) = plan.attack(table, sensitive="drug").credibility
    assert known.n_certain == 7
    assert known.by_release == pytest.approx(5 / 7)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_tables_of_counts_are_all_arrangements(rows, random):
    values = [random.choice("xyz") for _ in range(sum(rows))]
    names = sorted({*values})
    columns = [values.count(name) for name in names]
    expected = Counter()
    ends = np.cumsum(rows)
    for order in {*permutations(values)}:
        people = [order[end - n : end] for end, n in zip(ends, rows, strict=True)]
        expected[tuple(tuple(p.count(name) for name in names) for p in people)] += 1
    found = {table: attack.arrangements(table) for table in attack.tables_with(rows, columns)}
    assert found == expected
    assert sum(found.values()) * np.prod([factorial(n) for n in columns]) == factorial(sum(rows))


@pytest.mark.parametrize("cells", ["one column", "numbers", "two columns"])
def test_a_bound_is_never_below(cells, monkeypatch):
    table = pd.DataFrame(SMALL[cells])
    qids = [name for name in table if name != "s"]
    plan = table.anon.plan(qids, k=2, ldiv=2, sensitive="s", options=BY_REGION)
    exact = plan.attack(table).by_person("s")
    for module, name in ((attack, "_MOST"), (attack, "_MOST_RUNS"), (knows_method, "_MOST_CELLS")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, 1 if module is attack else 0)
            bounded = plan.attack(table)
        (known,) = bounded.credibility
        if known.exact:
            assert name == "_MOST_RUNS"
            continue
        people = bounded.by_person("s")
        assert (people["credibility"] >= exact["credibility"] - 1e-12).all()
        assert known.n_certain is known.n_raised is None
        assert known.n_unbounded == people["persons"][people["credibility"] == 1].sum()
        assert ("not bounded" in repr(bounded)) is (known.n_unbounded > 0)


@pytest.mark.parametrize("shape", [(1_200, 2), (2, 1_200)])
def test_a_class_of_many_is_not_gone_through(shape):
    one = attack.Worlds(np.ones(shape, dtype=np.int64), np.zeros(shape[0], dtype=np.int64), True)
    assert one.credibilities(lambda _: True) is None


def test_tables_that_are_held_at_once_are_few():
    # One class of two combinations, of which 4,560 tables have 96 values; a thousand others.
    counts = np.zeros((1_002, 96), dtype=np.int64)
    counts[0, :2] = counts[1, 2:] = counts[2:, 0] = 1
    classes = np.append(0, np.arange(1_001))
    assert attack.Worlds(counts, classes, True)._choices() is None


def test_persons_are_told_by_the_cells_of_the_table():
    table = pd.DataFrame({"q": [True, True, False, False, None, None], "s": list("xyxyxy")})
    people = table.anon.plan("q", k=2).attack(table, sensitive="s").by_person("s")
    assert people["q"].tolist() == [False, True, None]


@pytest.mark.slow
def test_a_bound_of_many_persons():
    # 40 of each age, and 12 of them all have x.
    others = list("abcdefghijklmnopq" * 4)
    table = pd.DataFrame({"q": np.repeat([1, 2], 40), "s": ["x"] * 12 + others})
    plan = table.anon.plan("q", k=60, ldiv=3, sensitive="s", options=BY_REGION)
    (known,) = plan.attack(table).credibility
    assert not known.exact
    assert known.by_release == pytest.approx(12 / 80)
    assert known.highest == pytest.approx(12 / 40)
    assert (known.n_above, known.n_unbounded) == (0, 0)
    assert "at most 30.0%" in repr(plan.attack(table))


def test_of_too_many_tables_none_is_counted(monkeypatch):
    # A number of arrangements of thousands of persons has thousands of digits.
    monkeypatch.setattr(attack, "arrangements", None)
    table = pd.DataFrame({"q": ["a", "b"] * 2_000, "s": list("xyyy") * 1_000})
    plan = table.anon.plan("q", k=2, ldiv=2, sensitive="s", options=BY_REGION)
    assert not plan.attack(table).credibility[0].exact


@pytest.mark.parametrize("name", ["persons", "by_release", "credibility"])
def test_a_column_of_persons_is_never_there_twice(name):
    table = HIV.rename(columns={"q": name})
    attack = table.anon.plan(name, k=2).attack(table, sensitive="s")
    with pytest.raises(errors.ArgumentError, match=f"already has a column '{name}'; rename it"):
        attack.by_person("s")


@pytest.mark.parametrize("stored", [False, True])
def test_a_plan_that_follows_one_that_looked_is_not_measured(stored):
    before = HIV.anon.plan("q", k=2, ldiv=2, sensitive="s", options=WHOLE)
    if stored:
        before = anonrisk.Plan.from_json(before.to_json())
    plan = HIV.anon.plan("q", k=2, previous=before, options=WHOLE)
    with pytest.raises(errors.PlanError, match=r"follows another one .* plan without previous="):
        plan.attack(HIV, sensitive="s")
    policy = anonrisk.Policy(quasi="q", sensitive="s", k=2, credibility=0.5)
    with pytest.raises(errors.ReleaseBlocked, match="could_not_assess"):
        HIV.anon.apply(plan, policy=policy)


# ---- labels ---------------------------------------------------------------------------------


def test_the_rest_under_a_star_is_known_not_to_be_its_siblings():
    table = pd.DataFrame({"q": ["a1"] * 5 + ["a2"] * 4 + list("bcdefgh")})
    hierarchy = [recode.Keep(), recode.Star()]
    plan = table.anon.plan("q", k=4, hierarchies={"q": hierarchy}, options=BY_REGION)
    released = table.anon.apply(plan)
    assert Counter(released["q"]) == {"a1": 5, "a2": 4, "rest of *": 7}
    cells = plan.attack(table).excluded_cells
    assert (cells.n_cells, cells.n_rest) == (7, 7)


def test_whole_columns_leave_nothing_out():
    table = pd.DataFrame({"q": [1, 2, 3, 4, 5, 6, 7, 8, 9, 30], "r": list("aabbccddee")})
    plan = table.anon.plan(["q", "r"], k=2, max_suppressed=0.2, options=WHOLE)
    attack = plan.attack(table)
    cells = attack.excluded_cells
    assert cells.n_rest == 0
    # By the release: labels that stand for more than one value.
    released = table.anon.apply(plan)
    assert attack.n_left_out == len(table) - len(released)
    wide = 0
    for name in ("q", "r"):
        kept = table[name][released.index]
        labels = table[[name]].assign(label=lambda t, n=name: labels_of(plan, t, n))
        n_values = labels.groupby("label")[name].nunique()
        wide += int((n_values[labels["label"][kept.index]] > 1).sum())
    assert cells.n_cells == wide


def labels_of(plan, table, name):
    only = anonrisk.Plan({name: plan.recodings[name]})
    return table.anon.apply(only)[name].astype(str)


def random_table(seed):
    rng = np.random.default_rng(seed)
    n = 60
    ages = rng.integers(0, 12, n).astype(float)
    ages[rng.random(n) < 0.1 * (seed % 3)] = np.nan
    return pd.DataFrame({
        "a": np.minimum(rng.zipf(1.4, n), 9).astype(str), "b": rng.choice(list("uvwxyz"), n),
        "c": pd.array(ages, dtype="Int64"),
    })  # fmt: skip


def labels_by_region(plan, tally):
    """The label of each combination in each column."""
    places = []
    for name, recoding in plan.regions.columns.items():
        groups = np.append(recoding.groups(tally.domains[name])[0], recoding.missing)
        places.append(groups[tally.codes[name]])
    regions, written = plan.regions.find(places), plan.regions.labels()
    columns = []
    for name in plan.qids:
        if name in written:
            number, names = written[name]
            columns.append([[*names, None][number[r]] if r >= 0 else "?" for r in regions])
        else:
            texts = [*tally.domains[name].texts(), None]
            columns.append([texts[code] for code in tally.codes[name]])
    return list(zip(*columns, strict=True))


def included(recoding, label, domain):
    """The codes of the values that a label includes, read from its text."""
    codes = range(len(domain))
    if label is None:
        return {len(domain)}
    label = label.removeprefix("rest of ")
    if label == "*":
        return {*codes, len(domain)}
    if not isinstance(recoding, Parts):
        low, high = extent(label, dates=False, whole=True)
        return {code for code in codes if low <= domain.values[code] <= high}
    for level in recoding.levels:
        groups, labels = level.groups(domain)
        names = domain.texts() if labels is None else labels
        if label in names:
            return {code for code in codes if names[groups[code]] == label}
    raise AssertionError(label)


TREE = {"*": {"early": ["u", "v", "w"], "late": ["x", "y", "z"]}}


@pytest.mark.parametrize("seed", range(8))
def test_only_rests_exclude_values_of_their_label(seed):
    table = random_table(seed)
    trees = {"b": TREE} if seed % 2 else None
    plan = table.anon.plan(list(table), k=4, hierarchies=trees, options=BY_REGION)
    tally = engine_for(table).tally(table, ClassesWithValues(tuple(table), tuple(table), True))
    has = {name: {*np.flatnonzero(tally.margin(name))} for name in table}
    every = np.array([*product(*has.values())]).T
    codes = dict(zip(table, every, strict=True))
    could_be = Tally(tally.domains, codes, np.ones(len(every[0]), dtype=np.int64))
    possible = {}
    for labels, person in zip(labels_by_region(plan, could_be), every.T.tolist(), strict=True):
        for name, code in zip(table, person, strict=True):
            possible.setdefault((labels, name), set()).add(code)
    wide = rests = 0
    for labels, n in zip(labels_by_region(plan, tally), tally.counts.tolist(), strict=True):
        for name, label in zip(table, labels, strict=True):
            recoding = plan.regions.columns[name]
            said = has[name] & included(recoding, label, tally.domains[name])
            if len(said) > 1:
                wide += n
                rests += n * label.startswith("rest of ")
                assert label.startswith("rest of ") == bool(said - possible[labels, name])
    cells = plan.attack(table).excluded_cells
    assert (cells.n_cells, cells.n_rest) == (wide, rests)


# ---- wrong calls ----------------------------------------------------------------------------


def test_a_result_holds_no_cell_when_it_is_stored():
    attack = HIV.anon.plan("q", k=2, ldiv=2, sensitive="s", options=BY_REGION).attack(HIV)
    document = json.dumps(attack.to_dict())
    assert json.loads(document)["credibility"][0]["n_certain"] == 2
    copy = pickle.loads(pickle.dumps(attack))
    assert copy == attack
    with pytest.raises(errors.ArgumentError, match="holds no cells"):
        copy.by_person("s")
    with pytest.raises(errors.ArgumentError, match="'t' is not a sensitive column"):
        attack.by_person("t")


def test_wrong_calls():
    plan = HIV.anon.plan("q", k=2, ldiv=2, sensitive="s", options=BY_REGION)
    with pytest.raises(errors.PlanError, match="then ask for who learns what"):
        anonrisk.Plan.from_json(plan.to_json()).attack(HIV)
    with pytest.raises(errors.ArgumentError, match="'q' is a quasi-identifier"):
        plan.attack(HIV, sensitive="q")
    with pytest.raises(errors.ColumnNotFoundError, match="'t' is not a column"):
        plan.attack(HIV, sensitive=["s", "t"])
    with pytest.raises(errors.PlanError, match="other records"):
        plan.attack(HIV.iloc[1:])
    with pytest.raises(errors.PlanError, match="made for another table"):
        plan.attack(HIV.assign(s=["HIV", "d1", "HIV", "d2", "d3", "d4", "d5"]))
    people = HIV.assign(who=range(7)).anon.plan("q", k=2, unit="who", options=BY_REGION)
    with pytest.raises(errors.PlanError, match="one row per person"):
        people.attack(HIV.assign(who=range(7)))
    stopped = dataclasses.replace(plan, partial=True)
    with pytest.raises(errors.PlanError, match="stopped"):
        stopped.attack(HIV)


def test_the_rest_of_two_long_names_has_two_labels():
    # Alike up to the last character.
    names = ["x" * 55 + end for end in "12"]
    tree = {
        name: [f"{side}{i}" for i in range(1, 5)] for name, side in zip(names, "ab", strict=True)
    }
    values = [f"{side}1" for side in "ab" for _ in range(5)]
    values += [f"{side}{i}" for side in "ab" for i in (2, 2, 3, 3, 3, 4, 4)]
    table = pd.DataFrame({"q": values})
    trees = {"q": {"*": tree}}
    plan = table.anon.plan("q", k=5, hierarchies=trees, options=BY_REGION)
    made = table.anon.apply(plan)
    rests = made["q"][made["q"].str.startswith("rest of ")].value_counts()
    assert rests.tolist() == [7, 7]
    assert all(len(label) == 60 for label in rests.index)
    again = anonrisk.Plan.from_json(plan.to_json(), hierarchies=trees)
    assert table.anon.apply(again).equals(made)
