"""Plans that keep what columns tell about a sensitive value: private information as a loss."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import Plan, errors
from anonrisk.recode import Bins, Keep, Prefix, Star


def slow_loss(labels_by_column, sensitive):
    """Π_PMI as it is printed in 4.5: a mean over records and columns of −log2 Pr(y | label)."""
    n, total = len(sensitive), 0.0
    for labels in labels_by_column:
        both, alone = Counter(zip(labels, sensitive, strict=True)), Counter(labels)
        for label, y in zip(labels, sensitive, strict=True):
            total -= math.log2(both[label, y] / alone[label])
    return total / (n * len(labels_by_column))


def people(n=240):
    rng = np.random.default_rng(7)
    age = rng.integers(20, 80, n)
    ill = np.where(age + rng.integers(0, 12, n) > 55, "stroke", "flu").astype(object)
    return {
        "age": [int(x) for x in age],
        "zip": [f"{10 + x}{y}" for x, y in rng.integers(0, 8, (n, 2))],
        "ill": [None if i % 50 == 0 else str(x) for i, x in enumerate(ill)],
    }


CELLS = people()
QID = ["age", "zip"]
OFFERED = {
    "age": [Keep(), Bins((30, 40, 50, 60, 70), whole=True), Bins((50,), whole=True), Star()],
    "zip": [Keep(), Prefix(2), Prefix(1), Star()],
}


def labels_of(recodings):
    changed = pd.DataFrame(CELLS).anon.generalize(recodings)
    return [changed[name].astype(object).where(changed[name].notna(), "-").tolist() for name in QID]


def test_the_plan_is_the_best_of_all(frame):
    table = frame(CELLS)
    plan = table.anon.plan(
        QID,
        4,
        sensitive="ill",
        hierarchies=OFFERED,
        max_suppressed=0,
        options=anonrisk.PlanOptions(loss="private"),
    )
    ill = [x or "missing" for x in CELLS["ill"]]
    losses = {}
    for pair in product(*OFFERED.values()):
        labels = labels_of(dict(zip(QID, pair, strict=True)))
        if min(Counter(zip(*labels, strict=True)).values()) >= 4:
            losses[pair] = slow_loss(labels, ill)
    assert tuple(plan.recodings.values()) == min(losses, key=losses.get)
    assert plan.after.loss * math.log2(3) == pytest.approx(min(losses.values()), rel=1e-12)
    before = slow_loss([CELLS[name] for name in QID], ill)
    assert plan.before.loss * math.log2(3) == pytest.approx(before, rel=1e-12)
    assert plan.before.n_classes == len(set(zip(CELLS["age"], CELLS["zip"], strict=True)))
    assert plan.optimal
    found = table.anon.apply(plan).anon.utility(QID, "ill", original=table)
    assert found.private_information_loss == pytest.approx(min(losses.values()), rel=1e-12)


@pytest.mark.slow
def test_the_column_that_tells_keeps_its_detail(frame):
    table = frame(CELLS).anon.declare(quasi=QID, sensitive="ill")
    private = table.anon.plan(k=4, max_suppressed=0, options=anonrisk.PlanOptions(loss="private"))
    told = table.anon.apply(private).anon.utility(QID, "ill", original=table)
    plain = table.anon.plan(k=4, max_suppressed=0)
    other = table.anon.apply(plain).anon.utility(QID, "ill", original=table)
    assert told.private_information_loss <= other.private_information_loss
    assert (private.loss, plain.loss) == ("private", "entropy")
    assert "private loss" in repr(private)
    assert Plan.from_json(private.to_json()) == private


@pytest.mark.slow
@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from("xyz")), min_size=4, max_size=30),
    st.integers(1, 3),
)
def test_a_suppressed_record_loses_everything(cells, k):
    ages, ill = zip(*cells, strict=True)
    if len(set(ill)) == 1:
        return
    table = pd.DataFrame({"age": ages, "ill": ill})
    plan = anonrisk.plan(
        table,
        "age",
        k,
        sensitive="ill",
        max_suppressed=1,
        options=anonrisk.PlanOptions(loss="private"),
    )
    labels = table.anon.generalize(plan.recodings)["age"].tolist()
    held, both = Counter(labels), Counter(zip(labels, ill, strict=True))
    lost = sum(
        1.0 if held[x] < k else -math.log2(both[x, y] / held[x]) / math.log2(len(set(ill)))
        for x, y in zip(labels, ill, strict=True)
    )
    assert plan.after.loss == pytest.approx(lost / len(cells), abs=1e-12)
    assert 0 <= plan.before.loss <= plan.after.loss + 1e-12 <= 1 + 1e-9


def test_the_name_of_the_print_is_that_of_another_loss():
    # 4.5 calls it Π_MI; the Π_MI of 4.4 is the same whatever the sensitive values are.
    table = pd.DataFrame({"age": [1, 2, 3, 4], "same": list("aabb"), "mixed": list("abab")})
    coarse = table.anon.generalize("age", bins=[3])
    same, mixed = (coarse.anon.utility("age", name, original=table) for name in ("same", "mixed"))
    assert same.information_loss == mixed.information_loss == 1
    assert (same.private_information_loss, mixed.private_information_loss) == (0, 1)


def test_wrong_calls(frame):
    table = frame({**CELLS, "one": ["x"] * len(CELLS["age"])})
    with pytest.raises(errors.ArgumentError, match="no effect without loss='private'"):
        table.anon.plan(QID, sensitive="ill")
    with pytest.raises(errors.RolesNotGivenError, match="no sensitive column"):
        table.anon.plan(QID, options=anonrisk.PlanOptions(loss="private"))
    with pytest.raises(errors.RoleConflictError, match="cannot be both"):
        table.anon.plan(QID, sensitive="age", options=anonrisk.PlanOptions(loss="private"))
    with pytest.raises(errors.ArgumentError, match="'one' has one value only"):
        table.anon.plan(QID, sensitive="one", options=anonrisk.PlanOptions(loss="private"))
    with pytest.raises(errors.ArgumentError, match="name one of them"):
        table.anon.declare(quasi=QID, sensitive=["ill", "one"]).anon.plan(
            options=anonrisk.PlanOptions(loss="private")
        )
    with pytest.raises(errors.ArgumentError, match="did you mean 'private'"):
        table.anon.plan(QID, options=anonrisk.PlanOptions(loss="privat"))
