"""`differencing`: no release may expose anybody together with an earlier one."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk import Policy
from anonrisk.errors import PolicyError
from anonrisk.policy.budgets.base import Value
from anonrisk.policy.evidence import Problem
from anonrisk.releases.compare.compare import compare_all, compare_states

MARCH = pd.DataFrame(
    {
        "zip": ["1011"] * 6 + ["1012"] * 5,
        "who": range(11),
        "ill": ["flu", "cold"] * 5 + ["flu"],
    }
)
FEBRUARY = MARCH[MARCH["who"] != 4]


def budget(**given):
    policy = Policy(quasi="zip", differencing=given)
    (rule,) = policy.rules
    (found,) = rule.budgets
    return found


def compared(before=FEBRUARY, now=MARCH, unit="who", sensitive="ill"):
    return now.anon.compare("zip", previous=before, unit=unit, sensitive=sensitive)


def test_the_example_of_one_person_more_fails():
    asked = budget(k=5)
    alone = Policy(quasi="zip", sensitive="ill", unit="who", k=5, ldiv={"l": 2})
    assert alone.check(FEBRUARY).passed
    assert alone.check(MARCH).passed
    assert asked.of(compared()) == Value(1)
    assert asked.limit == 0
    assert asked.of(compared(before=MARCH)) == Value(0)


def test_a_larger_group_of_one_value_fails_too():
    more = pd.DataFrame({"zip": "1011", "who": range(20, 30), "ill": "gout"})
    found = compared(now=pd.concat([FEBRUARY, more]))
    assert (found.exposed(5), found.learned_values(among=5)) == (0, 10)
    assert budget(k=5).of(found) == Value(10)
    assert budget(k=5).of(compared(now=pd.concat([FEBRUARY, more]), sensitive=None)) == Value(0)


def test_net_changes_pass_only_where_they_are_accepted():
    swapped = MARCH.assign(who=[*range(10), 99])
    assert budget(k=2).of(compared(before=MARCH, now=swapped)) != Value(0)
    net = compared(before=MARCH, now=swapped, unit=None)
    told = budget(k=2).of(net)
    assert isinstance(told, Problem)
    assert "differencing: {k: 2, net: true}" in told.message
    assert budget(k=2, net=True).of(net) == Value(0)
    assert budget(k=2, net=True).of(compared(unit=None)) == Value(1)


def test_pseudonyms_that_changed_are_net_changes():
    found = compared(before=MARCH.assign(who=range(50, 61)))
    told = budget(k=5).of(found)
    assert isinstance(told, Problem)
    assert "nobody of unit 'who' is in both releases" in told.message
    assert budget(k=5, net=True).of(found) == Value(0)


def test_recoded_classes_without_a_unit_are_in_doubt():
    told = budget(k=5, net=True).of(
        compared(before=FEBRUARY.assign(zip="101*"), unit=None, sensitive=None)
    )
    assert isinstance(told, Problem)
    assert "no class in common" in told.message


@pytest.mark.contract
def test_one_table_alone_could_not_be_assessed(frame):
    policy = Policy(quasi="zip", unit="who", insensitive="ill", differencing={"k": 5})
    (finding,) = policy.check(frame(MARCH.to_dict("list"))).findings
    assert (finding.status, finding.limit) == ("could_not_assess", 0)
    assert finding.parameters == {"k": 5, "net": False}
    assert finding.sentence == (
        "What earlier releases reveal together with this one could not be assessed: it needs a "
        "release and a ledger: Release.check judges it."
    )
    assert finding.enough_k is None


def test_a_policy_reads_and_writes_it():
    given = {"quasi": "zip", "differencing": {"k": 5, "at_most": 3, "net": True}}
    policy = Policy(**given)
    assert Policy.from_json(policy.to_json()) == policy
    assert policy.to_dict()["budgets"]["differencing"] == {"k": 5, "at_most": 3, "net": True}
    assert Policy(quasi="zip", differencing={"k": 5}).digest != policy.digest
    schema = json.loads((Path(anonrisk.__file__).parent / "policy" / "schema.json").read_text())
    assert '"differencing"' in json.dumps(schema)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "needs k"),
        ({"k": 1}, "at least 2"),
        ({"k": 5, "nett": True}, "did you mean"),
        ({"k": 5, "net": "yes"}, "net"),
        (1, "at least 2"),
        ("5", "differencing"),
    ],
)
def test_what_is_no_budget_is_refused(given, words):
    with pytest.raises(PolicyError, match=words):
        Policy(quasi="zip", differencing=given)


def states(*tables, qids="zip"):
    return [one.anon.state(qids, unit="who", sensitive="ill", key=KEY) for one in tables]


def test_every_earlier_release_is_compared_and_all_together():
    parts = states(MARCH[:2], MARCH[2:4], MARCH[:5])
    found = list(compare_all(parts[:2], parts[2]))
    assert [one.at_risk(2) for one in found] == [0, 0, 1]
    assert found[:2] == [compare_states(part, parts[2]) for part in parts[:2]]
    assert list(compare_all([], parts[2])) == []


def test_earlier_releases_of_other_columns_are_not_put_together():
    by_zip, by_job = (
        states(MARCH)[0],
        MARCH.assign(job="x").anon.state("job", unit="who", sensitive="ill", key=KEY),
    )
    assert len(list(compare_all([by_zip, by_job, by_zip], by_job))) == 4
    # Without a unit there is no union: rows would count twice.
    net = [one.anon.state("zip", key=KEY) for one in (MARCH[:5], MARCH, MARCH)]
    assert len(list(compare_all(net[:2], net[2]))) == 2
