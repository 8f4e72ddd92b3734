"""A plan for the next release: as before where that will do, coarser where it must, never finer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import QIDS, people, with_options

import anonrisk
from anonrisk import Plan, Policy, errors
from anonrisk.hierarchy import Hierarchy
from anonrisk.measures.recode.kinds import is_within
from anonrisk.recode import Bins, DatePart, Keep, Level, MergeRare, Prefix, Star

TREE = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}


@pytest.mark.slow
def test_the_same_recodings_where_they_will_do(frame):
    table = frame(people(300))
    plan = table.anon.plan(
        QIDS, 4, max_suppressed=0.05, options=anonrisk.PlanOptions(method="full-domain")
    )
    later = frame(people(400, seed=5))
    fresh = later.anon.plan(
        QIDS, 4, max_suppressed=0.05, options=anonrisk.PlanOptions(method="full-domain")
    )
    kept = later.anon.plan(QIDS, 4, max_suppressed=0.05, previous=plan)
    assert kept.digest == plan.digest != fresh.digest
    assert not plan.diff(kept)
    assert kept.note == "the same recodings as before"
    assert kept.before.n_records == 400
    assert later.anon.apply(kept).anon.k(QIDS) >= 4


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 99), k=st.integers(2, 9), n=st.integers(40, 150))
def test_coarser_only_as_far_as_needed_and_never_finer(seed, k, n):
    before = {
        "age": Bins((30, 40, 50, 60, 70), whole=True),
        "zip": Prefix(3, width=4),
        "born": DatePart("year"),
        "sex": Keep(),
    }
    previous = Plan(before, k=k, max_suppressed=0.05, columns=tuple(people(1)))
    table = pd.DataFrame(people(n, seed))
    made = table.anon.plan(QIDS, k, max_suppressed=0.05, previous=previous)
    assert all(is_within(was, made.recodings[name]) for name, was in before.items())
    assert table.anon.apply(made).anon.k(QIDS) >= k
    # No column could have stayed as it was.
    changed = [name for name, was in before.items() if made.recodings[name] != was]
    for name in changed:
        finer = Plan({**made.recodings, name: before[name]}, k=k, max_suppressed=0.05)
        left = table.anon.generalize(finer.recodings).anon.classes(QIDS)
        loss = made.after.n_below
        assert left.records_below(k) > 0.05 * n or left.records_below(k) > loss
    told = {c.what: c.how for c in previous.diff(made).changes}
    assert told == dict.fromkeys(changed, "coarser")
    assert made.note == f"coarser than before: {', '.join(changed)}"


def test_neighbours_with_the_fewest_records_are_joined():
    ages = [15] * 50 + [25] * 3 + [35] * 4 + [45] * 50
    table = pd.DataFrame({"age": ages})
    previous = Plan({"age": Bins((20, 30, 40), whole=True)}, k=5, columns=("age",))
    made = table.anon.plan("age", 5, max_suppressed=0, previous=previous)
    assert made.recodings["age"] == Bins((20, 40), whole=True)
    made = table.anon.plan("age", 9, max_suppressed=0, previous=previous)
    assert made.recodings["age"] == Bins((40,), whole=True)
    assert (
        table.anon.plan("age", 60, max_suppressed=0, previous=previous).recodings["age"] == Star()
    )


def test_kept_values_join_the_others_the_rarest_first():
    jobs = ["clerk"] * 9 + ["nurse"] * 2 + ["smith"] * 5 + ["Xavier"] * 3
    table = pd.DataFrame({"job": jobs})
    merge = MergeRare(("clerk", "nurse", "smith"))
    previous = Plan({"job": merge}, k=2, columns=("job",))
    assert table.anon.plan("job", 2, max_suppressed=0, previous=previous).digest == previous.digest
    for k, kept in ((3, ("clerk", "smith")), (6, ("clerk",))):
        made = table.anon.plan("job", k, max_suppressed=0, previous=previous)
        assert made.recodings["job"] == MergeRare(kept)


def test_levels_of_a_hierarchy():
    table = pd.DataFrame({"ill": ["flu"] * 9 + ["cough", "stroke", "angina"]})
    low = Plan({"ill": Level.of(Hierarchy.of(TREE), 1)}, k=2, columns=("ill",))
    kept = table.anon.plan("ill", 2, max_suppressed=0, previous=low)
    assert kept.digest == low.digest
    stored = Plan.from_json(low.to_json())
    with pytest.raises(errors.PlanError, match="does not hold the values of its hierarchies"):
        table.anon.plan("ill", 2, previous=stored)
    again = {"hierarchies": {"ill": TREE}, "previous": stored, "max_suppressed": 0}
    assert table.anon.plan("ill", 2, **with_options(**again)).digest == low.digest
    assert table.anon.plan("ill", 3, **with_options(**again)).recodings["ill"] == Star("any")
    other = {"any": {"cold": ["flu"], "heart": ["stroke", "angina", "cough"]}}
    with pytest.raises(errors.PlanError, match="not the one of the previous plan"):
        table.anon.plan("ill", 2, **with_options(**{**again, "hierarchies": {"ill": other}}))
    more = pd.concat([table, pd.DataFrame({"ill": ["Xavier"]})])
    with pytest.raises(errors.HierarchyError, match="lacks 1 of the values of column 'ill'"):
        more.anon.plan("ill", 2, previous=low)


def test_what_cannot_be_followed():
    table = pd.DataFrame(people(120))
    plan = table.anon.plan(["age", "sex"], 3, options=anonrisk.PlanOptions(method="full-domain"))
    with pytest.raises(
        errors.ArgumentError, match="recodes age, which would then be published in full"
    ):
        table.anon.plan("sex", 3, previous=plan)
    by_region = table.anon.plan(
        ["age", "sex"], 3, options=anonrisk.PlanOptions(method="multidimensional")
    )
    with pytest.raises(errors.ArgumentError, match="kept by applying it again"):
        table.anon.plan(["age", "sex"], 3, previous=by_region)
    with pytest.raises(errors.PlanError, match=r"max_loss=0.1 stops every plan"):
        table.anon.plan(
            ["age", "sex"],
            120,
            max_suppressed=0,
            previous=plan,
            options=anonrisk.PlanOptions(max_loss=0.1),
        )


def test_a_policy_and_a_plan_before():
    table = pd.DataFrame(people(200)).drop(columns=["who", "born", "zip"])
    policy = Policy(quasi=["age", "sex"], insensitive=["illness"], k=4)
    plan = table.anon.plan(policy, options=anonrisk.PlanOptions(method="full-domain"))
    later = pd.DataFrame(people(260, seed=3)).drop(columns=["who", "born", "zip"])
    kept = later.anon.plan(policy, previous=plan)
    assert policy.check(later.anon.apply(kept)).passed
    assert all(is_within(was, kept.recodings[name]) for name, was in plan.recodings.items())


def test_cut_as_before_two_releases_tell_no_more_than_one():
    random = np.random.default_rng(3)
    table = pd.DataFrame({"age": random.integers(20, 80, 200), "sex": random.choice([*"fm"], 200)})
    plan = table.anon.plan(
        ["age", "sex"], 10, max_suppressed=0, options=anonrisk.PlanOptions(method="full-domain")
    )
    later = pd.concat([table, table.sample(50, random_state=1)], ignore_index=True)
    kept = later.anon.plan(["age", "sex"], 10, max_suppressed=0, previous=plan)
    second = later.anon.apply(kept).add_suffix("_later")
    both = table.anon.apply(plan).join(second)
    assert both.anon.k(list(both)) >= 10
