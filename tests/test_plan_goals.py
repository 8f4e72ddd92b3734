"""Plans for goals: a policy's budgets, sensitive values, persons, several sets of columns."""

from __future__ import annotations

import math

import numpy as np
import oracle
import oracle_goals
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import Policy, errors
from anonrisk.recode import Keep, Prefix, Star

COLUMNS = ("x", "y", "z")
OFFERED = {name: [Keep(), Prefix(1, width=2), Star()] for name in COLUMNS}
CODES = ["a1", "a2", "b1", "b2"]
DIVERSITIES = [
    None,
    {"l": 2, "kind": "distinct"},
    {"l": 1.8, "kind": "entropy"},
    {"l": 2, "kind": "recursive", "c": 3},
]
DISTANCES = [None, {"t": 0.45, "distance": "equal"}, {"t": 0.3, "distance": "ordered"}]
READY = ["cms_k11", "hipaa_style", "open_data", "research_k5"]


@st.composite
def tables(draw):
    """A small table of codes, an illness, a stage of it, and persons of several records."""
    n = draw(st.integers(6, 26))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    skew = np.array([5.0, 2.0, 1.0, 1.0]) / 9
    return pd.DataFrame(
        {
            **{name: random.choice(CODES, n, p=skew) for name in COLUMNS},
            "ill": random.choice(["flu", "cold", "hiv"], n),
            "stage": random.integers(1, 4, n),
            "who": random.integers(0, n, n),
        }
    )


@st.composite
def policies(draw):
    """A policy of one set of columns, or of several that overlap."""
    sets = draw(st.sampled_from([[COLUMNS], [("x", "y"), ("y", "z")], [("x",), COLUMNS]]))
    entries = []
    for columns in sets:
        budgets = {"k": draw(st.integers(1, 3))}
        ldiv, t = draw(st.sampled_from(DIVERSITIES)), draw(st.sampled_from(DISTANCES))
        if ldiv is not None:
            budgets["ldiv"] = {**ldiv, "sensitive": "ill"}
        if t is not None:
            budgets["tcloseness"] = {**t, "sensitive": "stage"}
        entries.append({"columns": list(columns), "budgets": budgets})
    if draw(st.booleans()):
        entries[0]["budgets"]["max_unique_fraction"] = 0.15
    unit = draw(st.sampled_from([None, "who"]))
    roles = {"quasi": list(COLUMNS), "sensitive": ["ill", "stage"], "unit": unit}
    return Policy(qids=entries, unlisted="ignore", missing_sensitive="value", **roles)


def rules_of(policy, *, strict):
    """The rules as the oracle has them."""
    rules = []
    for rule in policy.rules:
        k, goals = 1, []
        for budget in rule.budgets:
            if budget.name == "k":
                k = max(k, budget.limit)
            elif budget.name == "ldiv":
                goals.append(("ill", budget.kind, budget.limit, budget.c))
            elif budget.name == "tcloseness":
                goals.append(("stage", budget.distance, budget.limit, None))
            elif strict:
                k = max(k, 2)
        rules.append((rule.columns, k, goals))
    # Whatever order the rules are in, those of more columns are gone about first.
    return sorted(rules, key=lambda rule: -len(rule[0]))


@settings(max_examples=60)
@given(table=tables(), policy=policies(), share=st.sampled_from([0.0, 0.1, 0.35]))
def test_no_recoding_that_keeps_to_a_policy_is_better(table, policy, share):
    rows = table.to_dict("records")
    unit = policy.roles.unit
    limited = [
        rule.columns for rule in policy.rules for b in rule.budgets if b.name.startswith("max_")
    ]
    wholes = [
        lambda kept, qid=qid: oracle.uniqueness(kept, qid, unit) <= 0.15 * (1 + 1e-9)
        for qid in limited
    ]
    variants = [rules_of(policy, strict=False), rules_of(policy, strict=True)]
    allowed = math.floor(share * len(rows) + 1e-9)
    least = oracle_goals.best(rows, COLUMNS, variants, wholes, allowed, unit)
    call = {"hierarchies": OFFERED, "max_suppression": share, "loss": "range"}
    if least == math.inf:
        with pytest.raises(errors.AnonRiskError):
            table.anon.plan(policy, **call)
        return
    plan = table.anon.plan(policy, **call)
    assert plan.optimal
    assert plan.after.loss == pytest.approx(least, abs=1e-9)
    published = table.anon.apply(plan)
    assert len(published) == plan.after.n_records
    verdict = policy.check(published, n_original=len(table))
    assert verdict.passed, verdict
    assert {one.status for one in plan.budgets} == {"met"}
    assert plan == anonrisk.Plan.from_json(plan.to_json())
