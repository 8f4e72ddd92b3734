"""Budgets: a file each, which says all that there is to say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import anonrisk
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
    assert (kind.expectation is None) == (name in {"max_suppressed", "differencing", "linked"})
    assert bool(kind.expectation_fields) == (kind.expectation is not None)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_there_is_not_is_refused_with_those_that_there_are(name):
    with pytest.raises(PolicyError, match=r"no key 'at_moost'"):
        anonrisk.Policy(quasi="zip", **{name: {"at_moost": 1}})


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
