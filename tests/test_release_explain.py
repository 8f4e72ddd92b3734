"""`ReleaseVerdict.explain`: what would help, tried by the code that judges it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from keys import KEY

from anonrisk import Ledger, Policy, Release, ReleaseVerdict
from anonrisk.errors import ArgumentError

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")

ROLES = {"quasi": ["zip", "sex"], "sensitive": "illness", "unit": "who"}
POLICY = Policy(**ROLES, missing_sensitive="error", k=5, ldiv=2, differencing=5)


def people(n, first=0):
    rng = np.random.default_rng(first)
    return pd.DataFrame(
        {
            "who": np.arange(first, first + n),
            "zip": rng.integers(0, 5, n).astype(str),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["flu", "gout", "cold"], n),
        }
    )


MAY = people(300)
# Some left, some came, in groups too small.
JUNE = pd.concat([MAY[8:], people(9, 300)], ignore_index=True)


@pytest.fixture
def ledger(tmp_path):
    tmp_path.chmod(0o700)
    made = Ledger(tmp_path / "ledger.db", key=KEY, new=True)
    Release({"t": MAY}, POLICY, name="may").publish(made, by="A. Officer")
    return made


def june(frame=JUNE, policy=POLICY):
    return Release({"t": frame}, policy, name="june")


@pytest.mark.parametrize("previous", [None, MAY])
def test_what_is_said_of_mend_is_what_mend_measures(ledger, previous):
    explained = june().check(ledger).explain(previous=previous)
    leavers = "drop" if previous is None else "keep"
    mended = june().mend(ledger, leavers=leavers, previous=previous)
    assert explained.mended.leavers == leavers
    assert explained.mended.price == mended.price
    assert explained.mended.status == mended.verdict.status == "pass"
    assert "is enough, the result passes" in explained.advice()[0]
    assert f"{mended.price.waiting:,} not published yet" in explained.advice()[0]
    assert not explained.tables
    assert explained.to_dict()["mended"]["price"]["waiting"] == mended.price.waiting


def test_columns_are_offered_for_what_columns_decide_only(ledger):
    alone = pd.concat([JUNE, JUNE.tail(1).assign(who=999, zip="9")], ignore_index=True)
    verdict = june(alone).check(ledger)
    assert {f.budget for f in verdict.failures} == {"k", "ldiv", "differencing"}
    explained = verdict.explain()
    assert explained.tables["t"].advice() == POLICY.check(alone).explain().advice()
    assert all("differencing" not in line for line in explained.tables["t"].advice())
    assert "dropping zip is enough" in repr(explained)
    # The table's own verdict offered coarser columns.
    assert all("differencing" not in line for line in verdict.tables["t"].explain().advice())


def test_mend_that_does_not_help_is_said(ledger):
    few = MAY.head(20)
    explained = june(few, Policy(**ROLES, k=200, differencing=200)).check(ledger).explain()
    assert explained.mended.status != "pass"
    assert "is not enough" in repr(explained)


def test_mend_that_cannot_be_tried_says_why(ledger):
    two = Release({"t": JUNE, "u": people(50, 900)}, POLICY, name="june")
    explained = two.check(ledger).explain(previous=MAY)
    assert explained.mended.price is None
    assert "could not be tried: previous= names the table of each" in explained.mended.sentence


def test_what_cannot_be_assessed_is_not_mended(ledger):
    numbers = MAY["who"].where(np.arange(300) % 3 > 0, MAY["who"] + 5_000)
    verdict = june(MAY.assign(who=numbers)).check(ledger)
    assert verdict.status == "could_not_assess"
    assert verdict.explain().mended is None
    assert "Nothing was found that helps" in repr(verdict.explain())


def test_without_a_ledger_columns_are_tried():
    verdict = june(MAY.head(9)).check()
    assert verdict.explain().mended is None
    assert verdict.explain().tables


def test_a_stored_verdict_has_no_tables_to_try(ledger):
    verdict = june().check(ledger)
    for stored in (
        ReleaseVerdict.from_json(verdict.to_json()),
        pickle.loads(pickle.dumps(verdict)),
    ):
        assert stored == verdict
        with pytest.raises(ArgumentError, match="a stored verdict"):
            stored.explain()


def test_a_plan_leads_to_mend():
    plan = JUNE.anon.plan(policy=POLICY)
    assert "Release.mend" in repr(plan)
