"""The explorer: every combination against the changed table itself, floors, levels, the page."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
from html import unescape

import numpy as np
import pandas as pd
import planned
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import errors, reporting
from anonrisk.planning.lattice import explore as planning_explore
from anonrisk.recode import Bins, Keep, Star
from anonrisk.reporting import text
from anonrisk.reporting.explorer import plan_json

SECRET = "Xavier-7741"
TREE = {"any": {"north": ["n1", "n2", "n3"], "south": ["s1", "s2"]}}
QIDS = ["age", "zip", "sex", "born", "region"]
K, FLOOR = 5, 5


def people(n=300):
    random = np.random.default_rng(3)
    regions = random.choice(["n1", "n2", "n3", "s1", "s2"], n).tolist()
    return {
        **planned.people(n),
        "region": regions,
        "cost": random.normal(9, 2, n).round(1).tolist(),
    }


def up(number, floor=FLOOR):
    return math.ceil(number / floor) * floor


def nodes(made):
    return list(itertools.product(*(range(len(c["levels"])) for c in made["columns"])))


def expected(counted, held):
    """Floor what `classes` says of a changed table, as the explorer must."""
    k, floor = held["k"], held["floor"]
    return {
        "alone": up(counted.records_at_most(1), floor),
        "below": up(counted.records_below(k), floor),
        "smaller": [up(counted.records_below(size), floor) for size in held["sizes"]],
        "classes": up(counted.n_classes, floor),
        "smallest": counted.k if counted.k >= floor else 0,
    }


def at(held, node):
    return {
        key: [people[node] for people in found] if key == "smaller" else found[node]
        for key, found in held["counts"].items()
    }


@pytest.mark.slow
def test_fifty_plans_applied_give_the_numbers_of_the_page(frame):
    table = frame(people())
    trees = {"region": TREE}
    made = table.anon.explore(QIDS, K, sensitive=["illness", "cost"], hierarchies=trees)
    held = made.to_dict()
    every = nodes(held)
    assert len(every) == len(held["counts"]["below"])
    number = 50 if frame.kind == "pandas" else 1
    chosen = np.random.default_rng(5).choice(len(every), number, replace=False)
    step = np.mean([column["detail_step"] for column in held["columns"]])
    for turn, node in enumerate(chosen.tolist()):
        levels = every[node]
        changed = table.anon.apply(made.plan(levels, hierarchies=trees).resolve(table))
        assert at(held, node) == expected(changed.anon.classes(QIDS), held)
        if turn % 5:
            continue
        if frame.is_pandas:
            losses = [c["levels"][i]["loss"] for c, i in zip(held["columns"], levels, strict=True)]
            lost = anonrisk.utility(changed, QIDS, original=table, hierarchies=trees).loss
            assert abs(np.mean(losses) - lost) <= step / 2 + 1e-9
        plan = made.plan(levels, max_suppressed=1.0, hierarchies=trees)
        kept = table.anon.apply(plan.resolve(table))
        for one in held["sensitive"]:
            if one["tcloseness"][node] is None:
                assert at(held, node)["below"] == 300
                continue
            assert one["ldiv"][node] == kept.anon.ldiv(QIDS, one["name"])
            close = kept.anon.tcloseness(QIDS, one["name"])
            assert close.distance == one["distance"]
            assert close - 1e-9 <= one["tcloseness"][node] <= close + FLOOR / 300 + 1e-6


def test_every_engine_holds_the_same(frame):
    random = np.random.default_rng(8)
    table = {
        "zip": random.choice(["1011", "1012", "1021", None], 60).tolist(),
        "pay": random.choice([1.25, 2.5, 7.75, 31.5, None], 60).tolist(),
        "wed": random.choice([True, False, None], 60).tolist(),
        "ill": random.choice(["a", "b", None], 60).tolist(),
    }

    def held(made):
        told = made.to_dict()
        # Only a table in memory is tried unasked.
        for each in (told, *told["other_k"]):
            del each["next"]
        del told["masthead"]
        return told

    asked = {"qids": ["zip", "pay", "wed"], "sensitive": "ill"}
    assert held(frame(table).anon.explore(**asked)) == held(
        pd.DataFrame(table).anon.explore(**asked)
    )


@st.composite
def small_tables(draw):
    n = draw(st.integers(6, 40))
    return pd.DataFrame(
        {
            "age": draw(st.lists(st.integers(0, 60), min_size=n, max_size=n)),
            "code": draw(
                st.lists(st.sampled_from(["101", "102", "201", None]), min_size=n, max_size=n)
            ),
            "ill": draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)),
        }
    )


@pytest.mark.slow
@settings(max_examples=10, deadline=None, derandomize=True)
@given(small_tables(), st.integers(2, 6), st.integers(4, 6))
def test_every_combination_of_small_tables(table, k, floor):
    made = table.anon.explore(["age", "code"], k, sensitive="ill", floor=floor)
    held = made.to_dict()
    for node, levels in itertools.islice(enumerate(nodes(held)), 0, None, 3):
        changed = table.anon.apply(made.plan(levels))
        assert at(held, node) == expected(changed.anon.classes(["age", "code"]), held)
        # Whoever is left out for k, l and t are of classes that the floor allows to tell.
        large = changed[changed.anon.sizes(["age", "code"]) >= max(k, floor)]
        told = held["sensitive"][0]
        if large.empty:
            assert (told["ldiv"][node], told["tcloseness"][node]) == (0, None)
        else:
            assert told["ldiv"][node] == large.anon.ldiv(["age", "code"], "ill")
            assert told["tcloseness"][node] >= large.anon.tcloseness(["age", "code"], "ill") - 1e-9
    assert held["people"] == up(len(table), floor)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(small_tables(), st.sampled_from([2, 4, 5, 11]), st.integers(4, 6), st.booleans())
def test_another_k_has_the_numbers_of_a_page_that_was_asked_for_it(table, k, floor, by_person):
    table = table.assign(who=np.arange(len(table)) // (1 + by_person))
    asked = {"sensitive": "ill", "floor": floor, "bins": "width"}
    asked |= {"unit": "who"} if by_person else {}
    # The levels are those of a page that needs as many people for each.
    given = {"age": [Keep(), Bins((20, 40), whole=True), Star()], "code": [Keep(), Star()]}
    if k > table["who"].nunique():
        return
    held = table.anon.explore(["age", "code"], k, hierarchies=given, **asked).to_dict()
    offered = [other["k"] for other in held["other_k"]]
    assert offered == [
        n for n in (2, 5, 10, 11, 20)
        if n != k and (n == 2 or n >= floor) and n <= held["people"] - floor + 1
    ]  # fmt: skip
    for other in held["other_k"]:
        n = other["k"]
        if n > table["who"].nunique():
            continue
        own = table.anon.explore(["age", "code"], n, hierarchies=given, **asked).to_dict()
        assert held["counts"]["smaller"][held["sizes"].index(n)] == own["counts"]["below"]
        assert (other["best"], other["policy"], other["next"]) == (
            own["best"],
            own["policy"],
            own["next"],
        )
        least = max(n, floor)
        told, alike = held["sensitive"][0], own["sensitive"][0]
        if least != max(k, floor):
            told = told["of_classes_from"][str(least)]
        for word in ("ldiv", "tcloseness"):
            assert told[word] == alike[word]


@pytest.mark.slow
@settings(max_examples=15, deadline=None, derandomize=True)
@given(small_tables(), st.integers(2, 6), st.sampled_from([None, 2, 3]), st.integers(0, 2))
def test_what_is_advised_passes_the_gate(table, k, distinct, tens):
    about = {"insensitive": "ill"}
    if distinct:
        about = {"sensitive": "ill", "missing_sensitive": "error", "ldiv": {"l": distinct}}
    about |= {"quasi": ["age", "code"], "direct": "name", "k": k}
    policy = anonrisk.Policy(**about, max_suppressed=tens / 10)
    table = table.assign(name="x")
    made = table.anon.explore(policy=policy, max_suppressed=0.5)
    held, advice = made.summary, made.summary["next"]
    if advice["levels"] is None:
        assert "is enough, the result passes" not in advice["text"]
        return
    node = nodes(held).index(tuple(advice["levels"]))
    plan = anonrisk.Plan.from_json(
        plan_json(held, advice["levels"], held["max_suppressed"], parts="plan_without")
    )
    changed = table.anon.apply(plan.resolve(table))
    assert "name" not in changed
    assert policy.check(changed, n_original=len(table)).passed
    below = held["counts"]["below"][node]
    assert (f"without up to {below} records" in advice["text"]) == bool(below)
    assert len(changed) >= len(table) - below


@pytest.mark.slow
@settings(max_examples=20, deadline=None, derandomize=True)
@given(small_tables())
def test_nothing_below_the_floor_is_told(table):
    held = table.anon.explore(["age", "code"], bins="width").to_dict()
    numbers = held["counts"]
    flat = [*numbers["alone"], *numbers["below"], *numbers["classes"], held["people"]]
    flat += [count for people in numbers["smaller"] for count in people]
    assert all(number % FLOOR == 0 for number in flat)
    assert all(number == 0 or number >= FLOOR for number in numbers["smallest"])
    for column in held["columns"]:
        steps = [one["loss"] / column["detail_step"] for one in column["levels"]]
        ends = 1 / column["detail_step"]
        assert all(abs(s - round(s)) < 1e-6 or abs(s - ends) < 1e-6 for s in steps)
    # Edges have five people on either side.
    for level in held["columns"][0]["levels"]:
        for edge in json.loads(level["piece"]).get("edges", []):
            assert min((table["age"] < edge).sum(), (table["age"] >= edge).sum()) >= FLOOR


def told_of(sizes, k):
    """Return what a combination whose classes have these sizes says of itself."""
    table = pd.DataFrame({"who": np.repeat(np.arange(len(sizes)).astype(str), sizes)})
    held = table.anon.explore("who", k).to_dict()
    assert held["columns"][0]["levels"][0]["as_it_is"]
    return at(held, 0)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_the_sum_of_a_combination_does_not_tell_what_was_rounded(k):
    # Whoever knows that there are so many records sums up: two people and four are told alike.
    large = [2 * k] * 5 + [10 * k] * 5
    few_or_more = ((1, 1), (1, 1, 1, 1)) if k == 2 else ((2,), (2, 2))
    alike = [told_of([*few, *large[:-1], large[-1] + 4 - sum(few)], k) for few in few_or_more]
    assert alike[0] == alike[1]


def test_a_smallest_class_below_the_floor_may_be_of_more_than_one_size():
    # Nobody is alone and the smallest is not told: with a floor of 3 it would be two.
    assert told_of([2, 30, 30], 5) == told_of([3, 30, 29], 5)


def test_names_that_no_policy_holds_have_none():
    names = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    table = pd.DataFrame(np.random.default_rng(2).integers(0, 9, (60, 2)), columns=names)
    made = table.anon.explore([("a", "b")])
    assert made.to_dict()["policy"] is None
    assert "Save policy.json" not in made.to_html()
    assert made.plan([1]).qids == (("a", "b"),)


def test_no_cell_is_in_it():
    table = pd.DataFrame(
        {
            "name": [f"{SECRET}{i}" for i in range(40)],
            "income": [7741.25, *([20.5, 30.5, 41.5] * 13)],
            "born": pd.to_datetime(["1907-07-14", *(["1980-01-01"] * 39)]),
            "ill": [SECRET, *(["flu", "cold", "cough"] * 13)],
        }
    )
    made = table.anon.explore(["name", "income", "born"], sensitive="ill")
    income = [json.loads(level["piece"]) for level in made.to_dict()["columns"][1]["levels"]]
    assert [edge for piece in income for edge in piece.get("edges", [])], "there are bins"
    for written in (made.to_json(), made.to_html(), repr(made), made._repr_html_()):
        assert not any(word in written for word in (SECRET, "7741", "1907", "07-14"))


STEPS = (2, 5, 10, 20, 40)


def test_levels_beyond_the_limit_are_told_with_the_reason(monkeypatch):
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {"age": random.integers(0, 95, 600), "pay": random.lognormal(8, 1, 600).round(0)}
    )
    assert len(nodes(table.anon.explore(["age", "pay"]).to_dict())) > 40
    monkeypatch.setattr(planning_explore, "MAX_COMBINATIONS", 12)
    held = table.anon.explore(["age", "pay"]).to_dict()
    texts = [level["text"] for level in held["columns"][0]["levels"]]
    assert any("40-" in item for item in texts), "edges are round"
    monkeypatch.setattr(planning_explore, "MAX_LEVELS", 4)
    offered = {"age": [Keep(), *(Bins(tuple(range(n, 95, n)), whole=True) for n in STEPS), Star()]}
    held = table.anon.explore(["age", "pay"], hierarchies=offered).to_dict()
    labels = [[level["label"] for level in column["levels"]] for column in held["columns"]]
    assert math.prod(map(len, labels)) == 12
    assert {tuple(one[:: len(one) - 1]) for one in labels} == {("as it is", "left out")}
    whys = {one["why"] for one in held["left_out"]}
    assert "there are at most 12 combinations" in whys
    assert "a column has at most 4 levels" in whys
    twice = [Bins((40,), whole=True), Bins((50,), whole=True)]
    held = table.anon.explore("age", hierarchies={"age": [Keep(), *twice, Star()]}).to_dict()
    (gone,) = held["left_out"]
    assert gone["why"] == "another level has as many values and keeps more detail"
    # What stays is spread evenly: no level is kept beside one that is as coarse.
    values = [level["text"] for level in held["columns"][0]["levels"]]
    assert len(set(values)) == len(values)
    monkeypatch.setattr(planning_explore, "MAX_COMBINATIONS", 3)
    with pytest.raises(errors.ArgumentError, match="2 columns make 4 combinations with two levels"):
        table.anon.explore(["age", "pay"])


def test_the_level_that_leaves_the_smallest_gap_goes_first():
    sizes = [64, 40, 32, 8, 1]
    choices = [planning_explore.Choice(None, np.zeros(1), np.zeros(1), n) for n in sizes]
    # Without 40 the gap is 64/32, without 32 it is 40/8, without 8 it is 32.
    assert planning_explore._closest(choices) == (2.0, 1)


def test_recodings_and_edges_of_the_caller_are_taken_as_they_are():
    from anonrisk.recode import Bins, Keep

    table = pd.DataFrame({"age": [*range(20, 60), 99]})
    given = [Keep(), Bins((30, 98), whole=True)]
    held = table.anon.explore("age", hierarchies={"age": given}).to_dict()
    assert [one["label"] for one in held["columns"][0]["levels"]] == ["as it is", "3 bins"]


def test_the_best_are_those_that_no_other_beats():
    made = pd.DataFrame(people()).anon.explore(["age", "zip", "sex"])
    held = made.to_dict()
    detail = [
        1 - np.mean([c["levels"][i]["loss"] for c, i in zip(held["columns"], levels, strict=True)])
        for levels in nodes(held)
    ]
    below = held["counts"]["below"]
    assert 1 < len(held["best"]) <= 20
    for node in held["best"]:
        better = [i for i in range(len(below)) if below[i] <= below[node]]
        assert detail[node] == pytest.approx(max(detail[i] for i in better))
    assert [below[i] for i in held["best"]] == sorted({below[i] for i in held["best"]})


def test_what_is_refused():
    table = pd.DataFrame({"zip": ["a", "b"] * 10, "who": range(20), "ill": ["x"] * 20})
    for keywords, said in (
        ({"k": 1}, "k"),
        ({"k": 21}, "larger than the table"),
        ({"floor": 3}, "floor"),
        ({"max_suppressed": 2}, "max_suppressed"),
        ({"bins": "odd"}, "bins"),
        ({"hierarchies": {"zap": TREE}}, "zap"),
        ({"sensitive": "zip"}, "both sensitive and quasi-identifier"),
    ):
        with pytest.raises(errors.AnonRiskError, match=said):
            table.anon.explore("zip", **keywords)
    policy = anonrisk.Policy(quasi="zip", insensitive=["who", "ill"], k=5)
    with pytest.raises(errors.ArgumentError, match="a policy says what is explored"):
        table.anon.explore("zip", policy=policy)
    with pytest.raises(errors.NoPlanHelpsError, match=r"quasi: \[ill\]"):
        table.anon.explore(policy=anonrisk.Policy(quasi="zip", insensitive="who", k=5))
    with pytest.raises(errors.ArgumentError, match="policy is a Policy"):
        table.anon.explore(policy=5)
    with pytest.raises(errors.AnonRiskError, match="unit"):
        table.assign(who=None).anon.explore("zip", unit="who")
    with pytest.raises(errors.EmptyTableError):
        table.head(0).anon.explore("zip")
    made = table.anon.explore("zip")
    with pytest.raises(errors.ArgumentError, match=r"ends in \.html or \.json"):
        made.save("explore.pdf")
    with pytest.raises(errors.ArgumentError, match="1 columns, and levels= names 2"):
        made.plan([0, 0])
    with pytest.raises(errors.ArgumentError, match="levels 0 to 1, not 2"):
        made.plan([2])
    for levels in ([1.5], ["a"], [None], [True], [-1], 3, "0", None):
        with pytest.raises(
            errors.ArgumentError, match=r"levels 0 to 1, not|a list of whole numbers"
        ):
            made.plan(levels)
    assert made.plan(np.array([1])) == made.plan([1])
    for share in ("x", True, 2, math.nan):
        with pytest.raises(errors.ArgumentError, match="max_suppressed must be a share"):
            made.plan([0], max_suppressed=share)
    for absent in ("no/such/x.html", "a\0b.json"):
        with pytest.raises(errors.UnwritableTableError, match="cannot write"):
            made.save(absent)


def test_declared_roles_and_files(tmp_path):
    table = pd.DataFrame({"zip": ["a", "b"] * 10, "ill": ["x", "y", "z", "x"] * 5})
    made = table.anon.declare(quasi="zip", sensitive="ill").anon.explore()
    assert [one["name"] for one in made.to_dict()["sensitive"]] == ["ill"]
    assert made.to_dict() == made.summary
    for name in ("e.html", "e.json"):
        made.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1_000
    assert json.loads((tmp_path / "e.json").read_text()) == made.to_dict()
    assert made.to_dict()["floor"] == text.FLOOR
    policy = anonrisk.Policy.from_dict(json.loads(made.to_dict()["policy"]))
    assert (policy.roles.quasi, policy.roles.sensitive) == (("zip",), ("ill",))
    assert isinstance(made, reporting.Explorer)


HOSTILE = ['</script><img src=x onerror="alert(1)">', "\u202eevil", "x" * 200, "a'b\"c`${d}"]


def test_the_page_is_whole_and_loads_nothing():
    random = np.random.default_rng(1)
    table = pd.DataFrame({name: random.integers(0, 9, 60) for name in HOSTILE})
    made = table.anon.explore(HOSTILE[:3], sensitive=HOSTILE[3], title="<b>T</b>", name="t < u")
    page = made.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "<img" not in page
    assert "<b>T" not in page
    assert "\u202e" not in page
    assert not re.search(r"https?://|url\(|@import|src=", page.replace(r"src=x onerror", ""))
    policy = unescape(re.search(r'Policy" content="([^"]+)"', page)[1])
    for kind, tag in (("script", "script"), ("style", "style")):
        (inline,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert " style=" not in page
    assert "default-src 'none'" in policy
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    held = made.to_dict()
    below = data["counted"]["smaller"][held["sizes"].index(held["k"])]
    unpacked = np.frombuffer(base64.b64decode(below["data"]), f"<u{below['bits'] // 8}")
    assert (unpacked.astype(int) * held["floor"]).tolist() == held["counts"]["below"]
    assert [json.loads(c["levels"][0]["piece"])["column"] for c in data["columns"]] == HOSTILE[:3]
    stored = json.loads(plan_json(held, [0, 1, 0], 0.05))
    assert stored["k"] == 5
    assert stored["max_suppressed"] == 0.05
    assert stored["columns"] == HOSTILE
    assert held["internal"] in " ".join(page.split())


@pytest.mark.slow
def test_ten_thousand_combinations_stay_below_a_megabyte(monkeypatch):
    random = np.random.default_rng(4)
    table = pd.DataFrame({f"c{i}": random.integers(0, 90, 400) for i in range(5)})
    table["ill"] = random.integers(0, 9, 400)
    made = table.anon.explore([f"c{i}" for i in range(5)], sensitive="ill")
    counts = made.summary["counts"]
    assert 5_000 < len(counts["below"]) <= planning_explore.MAX_COMBINATIONS
    # However large the table, a count takes four bytes.
    counts["classes"] = [2**31 * 5] * len(counts["classes"])
    counts["smaller"] = [[2**31 * 5] * len(people) for people in counts["smaller"]]
    assert len(made.to_html().encode()) < 1_000_000


def visits():
    """People of several rows: one has nine, and an employer of her own; thirty are rare too."""
    rng = np.random.default_rng(5)
    rows = [
        (f"p{i}", f"Employer {rng.integers(8)}", rng.choice(["f", "m"]), int(rng.integers(20, 80)))
        for i in range(300)
        for _ in range(rng.integers(1, 4))
    ]
    rows += [(f"q{i}", f"Rare {i}", "f", 40) for i in range(30)]
    rows += [("ann", "Ann Smith and Daughters", "f", 44 + i % 2) for i in range(9)]
    table = pd.DataFrame(rows, columns=["who", "employer", "sex", "age"])
    return table.assign(ill=rng.choice(["flu", "gout", "ms"], len(table)))


def test_persons_are_counted_and_no_text_is_told():
    table, qid = visits(), ["employer", "sex", "age"]
    made = table.anon.explore(qid, unit="who", sensitive="ill")
    assert made.summary["who"] == "people"
    assert made.summary["people"] == 335  # 331 people
    written = made.to_html() + made.to_json() + repr(made) + made.plan([1, 0, 2]).to_json()
    for cell in ("Ann", "Rare", "Employer", "flu", "gout", "p17"):
        assert cell not in written
    shape = [len(column["levels"]) for column in made.summary["columns"]]
    rng = np.random.default_rng(7)
    for node in rng.choice(np.prod(shape), 8, replace=False):
        levels = [int(level) for level in np.unravel_index(node, shape)]
        plan = made.plan(levels).resolve(table)
        changed = table.anon.apply(plan)
        size = changed.groupby(qid)["who"].transform("nunique")
        smallest = size.groupby(changed["who"]).min()
        words = ("alone", "below", "classes", "smallest")
        least = int(size.min())
        assert {word: made.summary["counts"][word][node] for word in words} == {
            "alone": 5 * math.ceil((smallest == 1).sum() / 5),
            "below": 5 * math.ceil((smallest < 5).sum() / 5),
            "classes": 5 * math.ceil(changed.groupby(qid).ngroups / 5),
            "smallest": least if least >= 5 else 0,
        }
        left = changed[size >= 5]
        about = made.summary["sensitive"][0]
        if left.empty:
            assert (about["ldiv"][node], about["tcloseness"][node]) == (0, None)
            continue
        how = {"unit": "who", "missing_sensitive": "error"}
        assert about["ldiv"][node] == left.anon.ldiv(qid, "ill", **how)
        t = left.anon.tcloseness(qid, "ill", distance=about["distance"], **how)
        step = 5 / 335
        rounded = math.ceil(float(t) / step - 1e-9) * step
        assert about["tcloseness"][node] == pytest.approx(rounded, abs=1e-6)


def test_a_rule_is_resolved_once_and_then_kept():
    table = visits()
    made = table.anon.explore(["employer", "sex"], unit="who")
    labels = [level["label"] for level in made.summary["columns"][0]["levels"]]
    plan = made.plan([labels.index("those of 5 or more"), 0])
    assert plan.has_rules
    for call in (table.anon.apply, lambda _: plan.to_sql(), lambda _: plan.to_pyspark()):
        with pytest.raises(errors.PlanError, match=r"plan\.resolve\(table\)"):
            call(plan)
    with pytest.raises(errors.AnonRiskError, match="unit 'who' is missing"):
        plan.resolve(table.assign(who=None))
    kept = plan.resolve(table)
    assert kept.resolve(table) is kept
    # Nine rows of one person are one person.
    common = {f"Employer {i}" for i in range(8)}
    assert set(table.anon.apply(kept)["employer"]) == common | {"other"}
    # Next month somebody has many colleagues: by the first plan they are still others.
    later = pd.concat(
        [table, pd.DataFrame({"who": list("abcdefghi"), "employer": "Rare 1", "sex": "f"})]
    )
    assert "Rare 1" not in set(later.anon.apply(kept)["employer"])
    assert "Rare 1" in set(later.anon.apply(plan.resolve(later))["employer"])
    with pytest.raises(errors.EmptyTableError, match="no value of column 'employer' would stay"):
        plan.resolve(table.head(0))


def test_what_a_policy_says_is_explored():
    table = visits().assign(note="n")
    about = {
        "quasi": ["sex", "age"],
        "sensitive": "ill",
        "unit": "who",
        "direct": "employer",
        "missing_sensitive": "error",
        "unlisted": "ignore",
        "k": 7,
        "name": "p",
    }
    policy = anonrisk.Policy(
        **about,
        ldiv={"l": 2},
        tcloseness={"t": 0.3, "distance": "equal"},
        max_unique_fraction=0.01,
        differencing={"k": 5},
    )
    made = table.anon.explore(policy=policy)
    held = made.summary
    assert (held["k"], held["who"]) == (7, "people")
    assert [column["name"] for column in held["columns"]] == ["sex", "age"]
    assert held["sensitive"][0]["limits"] == {"l": 2, "t": 0.3}
    assert held["not_looked_at"] == ["note"]
    # Nobody is alone where seven are together; what was published before is not on the page.
    assert held["not_judged"] == ["differencing"]
    assert anonrisk.Policy.from_json(held["policy"]) == policy
    assert held["other_k"] == [], "the policy says k"
    # With a floor above k, l and t are not told of every class that is published.
    coarse = table.anon.explore(policy=policy, floor=8).summary
    assert coarse["not_judged"] == ["differencing", "ldiv", "tcloseness"]
    assert coarse["sensitive"][0]["limits"] == {}
    assert made.plan([0, 1]).leave_out == ("employer",)
    loose = json.loads(
        held["plan_without"][0]
        + "7"
        + held["plan_without"][1]
        + "0.1"
        + held["plan_without"][2]
        + held["plan_without"][3]
    )
    assert loose["leave_out"] == ["employer", "note"]


@pytest.mark.parametrize("how", [None, "error", "drop"])
@pytest.mark.parametrize("serve", [False, True])
def test_missing_cells_that_a_policy_does_not_count_are_refused(how, serve):
    if serve:
        pytest.importorskip("tornado")
    rows = [("a", "x", "m"), ("a", None, "m"), ("b", "x", "n"), ("b", "y", "n")] * 5
    table = pd.DataFrame(rows, columns=["zip", "ill", "job"])
    about = {"quasi": "zip", "insensitive": "job", "k": 5, "unlisted": "ignore"}
    share = {"max_dropped_fraction": 0.5} if how == "drop" else {}
    policy = anonrisk.Policy(**about, ldiv={"l": 2, "sensitive": "ill"}, missing_sensitive=how,
                             **share)  # fmt: skip
    assert not policy.check(table).passed
    with pytest.raises(errors.NoPlanHelpsError, match="column ill is missing in 5 rows"):
        table.anon.explore(policy=policy, serve=serve)
    if how is not None:
        policy = anonrisk.Policy(**about, missing=how, **share)
        gone = table.assign(zip=table["zip"].where(table["ill"] != "y"))
        with pytest.raises(errors.NoPlanHelpsError, match="column zip is missing in 5 rows"):
            gone.anon.explore(policy=policy, serve=serve)


def test_a_column_has_limits_of_one_distance():
    random = np.random.default_rng(4)
    table = pd.DataFrame(
        {"zip": random.choice([*"abcdef"], 400), "cost": random.integers(0, 40, 400)}
    )

    def close(t, distance):
        return {"tcloseness": {"t": t, "distance": distance, "sensitive": "cost"}}

    for one, other in (("equal", "ordered"), ("ordered", "equal")):
        policy = anonrisk.Policy.from_dict(
            {
                "version": 1,
                "roles": {"quasi": ["zip"], "sensitive": ["cost"]},
                "budgets": {"k": 5, **close(0.2, one)},
                "qids": [{"columns": ["zip"], "budgets": close(0.25, other)}],
            }
        )
        assert policy.check(table).status == "fail"
        held = table.anon.explore(policy=policy).summary
        assert (held["sensitive"][0]["distance"], held["sensitive"][0]["limits"]) == (
            one,
            {"t": 0.2},
        )
        assert held["not_judged"] == ["tcloseness"]


def test_a_distance_is_told_rounded_up_to_its_last_digit():
    table = pd.DataFrame({"zip": [*"aaaaaaaabbbbbbb"], "ill": [*"xxxxyyyyxxxyyyy"]})
    policy = anonrisk.Policy(
        quasi="zip", sensitive="ill", k=5, tcloseness={"t": 0.01, "distance": "equal"}
    )
    held = table.anon.explore(policy=policy, floor=5).summary
    # In steps of a third, the share of five records; nothing is far from itself.
    assert list(map(str, held["sensitive"][0]["tcloseness"])) == ["0.333334", "0.0"]
    assert "t of ill 0.0 " in held["next"]["text"]


def test_no_larger_share_is_offered_than_the_policy_lets_go():
    table = visits()
    asked = {"quasi": ["sex", "age"], "k": 7, "unlisted": "ignore", "max_suppressed": 0.015}
    held = table.anon.explore(policy=anonrisk.Policy(**asked)).summary
    assert (held["suppressions"], held["not_judged"]) == ([0.0, 0.01, 0.015], [])
    by_person = anonrisk.Policy(**asked, unit="who")
    assert table.anon.explore(policy=by_person).summary["not_judged"] == ["max_suppressed"]


def test_whether_what_looks_good_was_tried_in_vain():
    # Nothing that is done to a postcode makes an address of a column that is none of both.
    table = pd.DataFrame(
        {"zip": ["a", "b"] * 20, "mail": [f"p{i}@mail.example" for i in range(40)]}
    )
    refused = anonrisk.Policy(quasi="zip", insensitive="mail", k=30)
    assert table.anon.explore(policy=refused).summary["next"]["passes"] is False
    fine = table.anon.explore(policy=anonrisk.Policy(quasi="zip", direct="mail", k=30)).summary
    assert fine["next"]["passes"] is True


@pytest.mark.parametrize(
    "budget",
    [
        {"predicted_singletons": {"group_size": 40, "at_most": 5}},
        {"population_unique_fraction": {"population_size": 100_000, "at_most": 0.01}},
    ],
)
def test_what_is_about_people_outside_the_table_is_not_judged(budget):
    table = visits()[["age", "sex"]]
    policy = anonrisk.Policy(quasi=["age", "sex"], k=2, **budget)
    assert table.anon.explore(policy=policy).summary["not_judged"] == list(budget)


def test_what_is_tried_says_how_many_records_its_check_asks_for():
    table = visits()[["age", "sex"]]
    policy = anonrisk.Policy(quasi=["age", "sex"], k=5, max_suppressed=0.2)
    made = table.anon.explore(policy=policy, max_suppressed=0.2)
    held = made.summary
    assert held["n_original"] == len(table)
    said = f"Check the result with n_original={len(table)} (--n-original {len(table)})."
    assert held["next"]["text"].endswith(said)
    plan = made.plan(held["next"]["levels"], max_suppressed=0.2)
    changed = table.anon.apply(plan.resolve(table))
    assert policy.check(changed).status == "could_not_assess"
    assert policy.check(changed, n_original=len(table)).passed
    explained = policy.check(table).explain()
    assert all(said in step for step in explained.steps)
    assert policy.check(table.anon.apply(explained.plan), n_original=len(table)).passed
    plain = table.anon.explore(policy=anonrisk.Policy(quasi=["age", "sex"], k=5)).summary
    assert plain["n_original"] is None
    assert "n_original" not in plain["next"]["text"]


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"max_unique_fraction": 0.01}, "max_unique_fraction within its limit (1%)"),
        (
            {"risk": {"prosecutor": {"share_above": {"threshold": 0.2, "at_most": 0.01}}}},
            "risk.prosecutor.share_above within its limit (1%)",
        ),
    ],
)
def test_only_limits_of_the_policy_are_named(budget, said):
    columns = ["age", "sex", "employer"]
    policy = anonrisk.Policy(quasi=columns, **budget)
    text = visits()[columns].anon.explore(policy=policy).summary["next"]["text"]
    assert said in text
    assert text.count("limit") == 1


def test_advice_is_no_coarser_than_what_was_tried_in_vain():
    random = np.random.default_rng(5)
    columns = {"zip": random.choice(list("abcd"), 1500), "sex": random.choice(list("fm"), 1500)}
    table = pd.DataFrame({**columns, "age": random.integers(20, 60, 1500)})
    singletons = {"group_size": 40, "at_most": 5}
    policy = anonrisk.Policy(quasi=["zip", "sex", "age"], k=2, predicted_singletons=singletons)
    held = table.anon.explore(policy=policy).summary
    assert "Leaving out zip, sex, age" not in held["next"]["text"]
    assert "predicted_singletons within its limit (5)" in held["next"]["text"]
    below = [level for level in held["next"]["levels"] if level]
    assert 0 < len(below) < 3
