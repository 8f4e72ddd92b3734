"""Plans by their digest and compared with each other: the same, finer, coarser, in words."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned import QIDS, people

import anonrisk
from anonrisk import Plan, errors
from anonrisk.hierarchy import Hierarchy
from anonrisk.measures.counts.tally import Domain
from anonrisk.measures.recode.kinds import PARTS, is_within
from anonrisk.planning.class_rules import ClassRule, SensitiveGoal
from anonrisk.recode import (
    Bins,
    DatePart,
    Keep,
    Level,
    MergeRare,
    Prefix,
    Star,
    TopBottom,
    ZipArea,
)

TREE = {"any": {"1": {"10": ["101", "102"], "11": ["111"]}, "2": {"20": ["201", "202"]}}}
LEVELS = [Level.of(Hierarchy.of(TREE), level) for level in range(4)]
EDGES = st.lists(st.sampled_from([10, 20, 30, 40]), min_size=1, unique=True).map(
    lambda edges: Bins(tuple(sorted(edges)), whole=True)
)
ENDS = st.tuples(st.sampled_from([None, 5, 15]), st.sampled_from([30, 44])).map(
    lambda ends: TopBottom(*ends)
)
NUMBERS = st.one_of(EDGES, ENDS, st.sampled_from([Keep(), Star()]))
TEXTS = st.one_of(
    st.sampled_from([Keep(), Star(), *LEVELS]),
    st.builds(Prefix, st.integers(1, 3), st.sampled_from([None, 3, 4])),
    st.sets(st.sampled_from(["101", "102", "201"])).map(lambda a: MergeRare(tuple(sorted(a)))),
    st.sets(st.sampled_from(["1**", "2**"])).map(
        lambda a: MergeRare(tuple(sorted(a)), prefix=1, width=3)
    ),
)
ZIPS = st.one_of(
    st.sampled_from([Keep(), Star()]),
    st.sets(st.sampled_from(["101", "102", "201"])).map(lambda a: ZipArea(tuple(sorted(a)))),
    st.sets(st.sampled_from(["10101", "10201"]), min_size=1).map(
        lambda a: MergeRare(tuple(sorted(a)))
    ),
    st.sets(st.sampled_from(["101**", "201**"]), min_size=1).map(
        lambda a: MergeRare(tuple(sorted(a)), prefix=3, width=5)
    ),
)
DATES = st.one_of(
    st.sampled_from([Keep(), Star()]),
    st.sampled_from(PARTS).map(DatePart),
    st.sampled_from([1985, 1990]).map(lambda year: DatePart("year", earliest=year)),
)
START = (dt.date(1979, 12, 1) - dt.date(1970, 1, 1)).days
DOMAINS = {
    "numbers": Domain("whole", np.arange(50)),
    "texts": Domain("text", np.array(["101", "102", "111", "201", "202"])),
    "zips": Domain("text", np.array(["10101", "10102", "10201", "20101", "30101", "x"])),
    "dates": Domain("date", np.arange(START, START + 8_000, 3)),
}


def puts_together(fine, coarse, domain):
    """Compare every value with every other."""
    mine, theirs = fine.groups(domain)[0], coarse.groups(domain)[0]
    alike = mine[:, None] == mine
    return bool((theirs[:, None] == theirs)[alike].all())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "kinds"),
    [("numbers", NUMBERS), ("texts", TEXTS), ("zips", ZIPS), ("dates", DATES)],
)
def test_within_is_what_every_pair_of_values_says(domain, kinds):
    @given(fine=kinds, coarse=kinds)
    def check(fine, coarse):
        if is_within(fine, coarse):
            assert puts_together(fine, coarse, DOMAINS[domain])
        elif type(fine) is type(coarse) and not isinstance(fine, (Prefix, MergeRare)):
            # Of one kind, these values are enough to tell.
            assert not puts_together(fine, coarse, DOMAINS[domain])

    check()


@given(first=NUMBERS, second=NUMBERS, ks=st.tuples(st.integers(1, 3), st.integers(1, 3)))
def test_no_difference_is_the_same_digest(first, second, ks):
    plans = [
        Plan({"age": recoding, "sex": Keep()}, k=k, max_suppressed=0.02, columns=("age", "sex"))
        for recoding, k in zip((first, second), ks, strict=True)
    ]
    found, back = plans[0].diff(plans[1]), plans[1].diff(plans[0])
    assert bool(found) == bool(back) == (plans[0].digest != plans[1].digest)
    opposite = {"finer": "coarser", "coarser": "finer", "stricter": "looser", "looser": "stricter"}
    assert [opposite.get(c.how, c.how) for c in found.changes] == [c.how for c in back.changes]
    assert all(len(line) <= 80 for line in repr(found).splitlines())
    assert json.loads(json.dumps(found.to_dict()))["same"] == (not found)


def test_every_term_is_told():
    first = Plan({"age": Bins((30, 40)), "zip": Prefix(2)}, k=5, columns=("age", "zip"))
    changes = {
        "age": ({"recodings": {**first.recodings, "age": Bins((40,))}}, "coarser"),
        "zip": ({"recodings": {"age": Bins((30, 40))}}, "dropped"),
        "born": ({"recodings": {**first.recodings, "born": DatePart("year")}}, "new"),
        "k": ({"k": 7}, "stricter"),
        "may be left out": ({"max_suppressed": 0.1}, "looser"),
        "columns of the table": ({"columns": ("zip", "age")}, "otherwise"),
        "goals": ({"goals": (SensitiveGoal("ill", "distinct", 2.0),)}, "otherwise"),
        "rules": ({"rules": (ClassRule(("age",), 5), ClassRule(("zip",), 3))}, "otherwise"),
        "persons": ({"unit": "who"}, "otherwise"),
        "columns left out": ({"leave_out": ("name",)}, "otherwise"),
    }
    for what, (fields, how) in changes.items():
        (change,) = first.diff(replace(first, **fields)).changes
        assert (change.what, change.how) == (what, how)
        assert first.digest != replace(first, **fields).digest
    with pytest.raises(errors.ArgumentError, match="not a dict"):
        first.diff({})
    assert repr(first.diff(first)) == "Two plans that do the same"


def test_a_digest_is_of_what_a_plan_does():
    table = pd.DataFrame(people())
    plan = table.anon.plan(
        QIDS, 4, max_suppressed=0.05, options=anonrisk.PlanOptions(method="full-domain")
    )
    later = replace(plan, before=None, after=None, budget=None, note="of May", optimal=False)
    assert later.digest == plan.digest == Plan.from_json(plan.to_json()).digest
    turned = replace(plan, recodings=dict(reversed(plan.recodings.items())))
    assert turned.digest == plan.digest
    assert plan.file_name == f"plan-{plan.digest[:12]}.json"
    # By hand, of a small one.
    small = Plan({"age": Bins((30.0, 40), whole=True)}, k=5, columns=("age",))
    text = (
        '{"columns":["age"],"k":5,"max_suppressed":0,"recodings":'
        '[{"column":"age","edges":[30,40],"recoding":"bins","whole":true}]}'
    )
    assert small.digest == hashlib.sha256(text.encode()).hexdigest()


def test_a_level_has_one_digest_with_and_without_its_hierarchy():
    plan = Plan({"code": LEVELS[2]}, k=2, columns=("code",))
    assert Plan.from_json(plan.to_json()).digest == plan.digest
    assert Plan.from_json(plan.to_json(), hierarchies={"code": TREE}).digest == plan.digest


@pytest.mark.parametrize("method", ["full-domain", "multidimensional"])
def test_a_plan_that_was_changed_by_hand(method):
    table = pd.DataFrame(people())
    plan = table.anon.plan(["age", "sex"], 4, options=anonrisk.PlanOptions(method=method))
    stored = plan.to_dict()
    assert stored["anonrisk_plan"] == 2
    assert Plan.from_yaml(plan.to_yaml()).digest == plan.digest
    for change in ({"k": 2}, {"max_suppressed": 0.5}, {"digest": "0" * 64}, {"digest": None}):
        changed = {**stored, **change}
        with pytest.raises(errors.PlanError, match=r"changed after .* edited=True"):
            Plan.from_dict(changed)
        read = Plan.from_json(json.dumps(changed), edited=True)
        assert read == replace(plan, **{k: v for k, v in change.items() if k != "digest"})
    with pytest.raises(errors.PlanError, match="changed after"):
        Plan.from_dict({key: value for key, value in stored.items() if key != "digest"})
    # The command writes more into the document.
    beside = {"note": "read by us", "library": "anonrisk", "written": "out.csv"}
    assert Plan.from_dict({**stored, **beside}).note == "read by us"
    with pytest.raises(
        errors.PlanError, match=r"a plan has no leave_outs; did you mean 'leave_out'"
    ):
        Plan.from_dict({**stored, "leave_outs": ["name"]}, edited=True)
    for version in (True, 1.0, 3, "2", None):
        with pytest.raises(errors.PlanError, match="another version"):
            Plan.from_dict({**stored, "anonrisk_plan": version}, edited=True)
    # What was written before there were digests.
    first = {key: value for key, value in stored.items() if key != "digest"}
    assert Plan.from_dict({**first, "anonrisk_plan": 1}) == plan
