"""Budgets: a file each, which says all that there is to say of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import anonrisk
from anonrisk.core.frozen import dataclass
from anonrisk.errors import PolicyError
from anonrisk.policy import budgets
from anonrisk.policy.budgets import BUDGETS, Budget
from anonrisk.policy.evidence import Context, Evidence
from anonrisk.policy.judge import Judge

FOLDER = Path(budgets.__file__).parent
NAMES = [path.stem for path in sorted(FOLDER.glob("*.py")) if path.stem not in ("__init__", "base")]


def test_every_file_is_the_budget_that_it_is_named_after():
    assert list(BUDGETS) == NAMES
    for name, kind in BUDGETS.items():
        assert kind.key == name
        assert kind.__module__ == f"anonrisk.policy.budgets.{name}"


@pytest.mark.parametrize("name", NAMES)
def test_all_is_said(name):
    kind = BUDGETS[name]
    assert eval(kind.annotation, {"Any": Any, "Sequence": Sequence})
    schema = kind.schema("#")
    assert schema.get("oneOf") or schema["properties"]
    assert kind.what or name == "risk"
    # What no expectation can ask says why.
    beyond = {"max_suppressed", "differencing", "linked", "credibility"}
    assert (kind.expectation is None) == (name in beyond)
    assert bool(kind.expectation_fields) == (kind.expectation is not None)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_there_is_not_is_refused_with_those_that_there_are(name):
    with pytest.raises(PolicyError, match=r"no key 'at_moost'"):
        anonrisk.Policy(quasi="zip", **{name: {"at_moost": 1}})


ALONE = {
    "k": (5, {"at_least": 5}),
    "ldiv": (2, {"l": 2, "variant": "distinct"}),
    "whole_person": (5, {"k": 5}),
    "linked": (5, {"k": 5}),
    "differencing": (5, {"k": 5}),
    "max_unique_records": (5, {"at_most": 5}),
    "max_unique_fraction": (0.1, {"at_most": 0.1}),
    "max_suppressed": (0.1, {"at_most": 0.1}),
    "credibility": (0.5, {"at_most": 0.5}),
}
# What else has to be said, and how that is offered.
NOT_ALONE = {
    "tcloseness": r"0\.2 alone .*tcloseness: {t: 0\.2, distance: equal} \(distance: equal, ordered",
    "max_fraction_below_k": r"max_fraction_below_k: {k: …, at_most: 0\.2}",
    "max_records_below_k": r"max_records_below_k: {k: …, at_most: …}",
    "predicted_singletons": r"predicted_singletons: {group_size: …, at_most: 0\.2}",
    "population_unique_fraction": r"{population_size: …, at_most: 0\.2}",
    "risk": r"whose risk it is: risk: {prosecutor: {highest: 0\.2}}",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_number_alone_is_the_limit_that_everybody_means(name):
    if name in NOT_ALONE:
        with pytest.raises(PolicyError, match=NOT_ALONE[name]):
            anonrisk.Policy(quasi="zip", **{name: 0.2})
        return
    number, written = ALONE[name]
    alone = anonrisk.Policy(quasi="zip", **{name: number})
    policy = anonrisk.Policy(quasi="zip", **{name: written})
    assert alone == policy
    assert alone.digest == policy.digest
    jsonschema = pytest.importorskip("jsonschema")
    document = {"version": 1, "roles": {"quasi": ["zip"]}, "budgets": {name: number}}
    schema = json.loads((FOLDER.parent / "schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(document)
    assert anonrisk.Policy.from_dict(document).digest == policy.digest
    wrong = {**document, "budgets": {name: 2.5}}
    assert not validator.is_valid(wrong)
    with pytest.raises(PolicyError):
        anonrisk.Policy.from_dict(wrong)


def test_a_risk_needs_to_be_named():
    with pytest.raises(PolicyError, match=r"which risk: risk: {marketer: {average: 0\.2}}"):
        anonrisk.Policy(quasi="zip", risk={"marketer": 0.2})
    with pytest.raises(PolicyError, match=r"share_above: {threshold: …, at_most: 0\.2}"):
        anonrisk.Policy(quasi="zip", risk={"prosecutor": {"share_above": 0.2}})
    with pytest.raises(PolicyError, match=r"it is a mapping; write tcloseness: {t: 0\.2, "):
        anonrisk.Policy(quasi="zip", tcloseness="equal")


def test_names_of_verdicts_lead_to_their_budget():
    assert budgets.named("k") is BUDGETS["k"]
    assert budgets.named("risk.journalist.average") is BUDGETS["risk"]
    assert budgets.named("risk") is budgets.named("table") is budgets.named("K") is None
    assert [name for name in NAMES if budgets.at_least(name)] == [
        *("k", "ldiv", "linked", "whole_person")
    ]


def test_scores_of_one_pass_are_shared():
    assert {*budgets.shared_scores()} == {"ldiv", "tcloseness"}
    policy = anonrisk.Policy(quasi="zip", sensitive="ill", **budgets.shared_scores())
    assert len(policy.rules[0].budgets) == 3


def test_a_budget_that_nobody_measures_cannot_be_assessed():
    @dataclass(frozen=True)
    class Unmeasured(Budget):
        key = "unmeasured"
        keys: ClassVar = {}

        def sentence(self, found, of):
            raise AssertionError

    (finding,) = Judge(("zip",), Evidence([]), Context()).findings(Unmeasured(1))
    assert finding.status == "could_not_assess"
