"""How a plan cuts numbers when it is told how."""

from __future__ import annotations

import numpy as np
import pytest

import anonrisk
from anonrisk import errors
from anonrisk.planning.lattice.offer import CUTS
from anonrisk.recode import Bins


def people(n=400):
    rng = np.random.default_rng(8)
    return {
        "age": [int(x) for x in rng.integers(18, 90, n)],
        "income": [int(x) for x in rng.lognormal(9, 1, n)],
        "sex": [str(x) for x in rng.choice(["f", "m"], n)],
    }


CELLS = people()
QID = ["age", "income", "sex"]


@pytest.mark.parametrize("bins", CUTS)
def test_every_way_reaches_k_and_names_its_edges(frame, bins):
    table = frame(CELLS)
    plan = table.anon.plan(QID, 5, options=anonrisk.PlanOptions(bins=bins))
    assert table.anon.apply(plan).anon.k(QID) >= 5
    for name in ("age", "income"):
        recoding = plan.recodings[name]
        if isinstance(recoding, Bins):
            low, high = min(CELLS[name]), max(CELLS[name])
            assert all(low < edge <= high for edge in recoding.edges)


@pytest.mark.slow
def test_ways_differ_and_auto_is_the_way_it_was(frame):
    table = frame(CELLS)
    edges = {}
    for bins in CUTS:
        plan = table.anon.plan(
            "income", 40, max_suppressed=0, options=anonrisk.PlanOptions(bins=bins)
        )
        edges[bins] = plan.recodings["income"].edges
    assert (
        edges["auto"] == table.anon.plan("income", 40, max_suppressed=0).recodings["income"].edges
    )
    # Below twenty thousand records the sample is all of them.
    assert edges["sampled"] == edges["quantile"]
    assert len({edges[bins] for bins in ("width", "quantile", "median", "centre")}) > 2


def test_offers_of_the_caller_come_first(frame):
    table = frame(CELLS)
    plan = table.anon.plan(
        "age",
        5,
        hierarchies={"age": [Bins((40.0,), whole=True)]},
        options=anonrisk.PlanOptions(bins="centre"),
    )
    assert plan.recodings["age"].edges == (40.0,)


def test_an_unknown_way_is_refused(frame):
    with pytest.raises(errors.ArgumentError, match="did you mean 'centre'"):
        frame(CELLS).anon.plan(QID, options=anonrisk.PlanOptions(bins="center"))
