"""The marks of columns that were changed at random."""

from __future__ import annotations

import pandas as pd
import pytest
from steps import CELLS

import anonrisk
from anonrisk.errors import RolesLostError


def test_random_steps_leave_a_mark(frame):
    table = frame(CELLS)
    noisy = table.anon.perturb(["age", "born"], 3, seed=5)
    assert anonrisk.was_perturbed(noisy) == {"age": "perturb", "born": "perturb"}
    both = noisy.anon.permute("income", seed=3)
    expected = {"age": "perturb", "born": "perturb", "income": "permute"}
    assert anonrisk.was_perturbed(both) == expected
    assert anonrisk.was_perturbed(table) == {}


@pytest.mark.parametrize(
    "mark",
    [
        {"anonrisk_perturbed": [[{}, "perturb"]]},
        {"anonrisk_perturbed": [["age"]]},
        {"anonrisk_perturbed": [["age", 3]]},
        {"anonrisk_perturbed": 5},
        {"anonrisk_perturbed": None},
        {"anonrisk_perturbed": [["gone", "perturb"]], "anonrisk_perturbed_among": "age"},
    ],
)
def test_a_damaged_mark_never_passes(mark):
    table = pd.DataFrame({"age": [1] * 10, "born": [2] * 10})
    table.attrs = mark
    policy = anonrisk.Policy(quasi=["age"], k=5, unlisted="ignore")
    (finding,) = policy.check(table).failures
    assert finding.status == "could_not_assess"
    assert "mark is damaged" in finding.sentence
    with pytest.raises(RolesLostError, match="damaged"):
        anonrisk.was_perturbed(table)


@pytest.mark.spark("spark")
def test_a_mark_of_spark_counts_whatever_it_says(spark):
    table = spark.createDataFrame([(1, 2)] * 10, "age int, born int")
    marked = table.withMetadata("age", {"anonrisk_perturbed": ""})
    assert set(anonrisk.was_perturbed(marked)) == {"age"}
    policy = anonrisk.Policy(quasi=["age"], k=5, unlisted="ignore")
    assert policy.check(marked).status == "could_not_assess"
