"""What helps against singletons: each column dropped or coarser, on every engine."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from singled_out import PEOPLE, QID


@pytest.mark.contract
def test_every_engine_explains_alike(frame):
    table, plain = frame(PEOPLE), pd.DataFrame(PEOPLE)
    found = table.anon.explain_risk(QID)
    dropped = {change.column: change.singletons for change in found.changes if change.dropped}
    for name in QID:
        rest = [other for other in QID if other != name]
        assert dropped[name] == plain.anon.classes(rest).singletons
    coarser = {c.column: (c.change, c.singletons) for c in found.changes if not c.dropped}
    short = plain.assign(zip=plain["zip"].str[:1]).anon.classes(QID).singletons
    days = np.array([0, 0, 1, 1, 2, 9, 3, 0])
    bins = np.minimum(np.floor(days * (3 / 9)), 2)
    binned = plain.assign(born=bins).anon.classes(QID).singletons
    assert coarser == {
        "zip": ("first 1 character", short),
        "born": ("3 bins of equal width", binned),
    }
    order = [change.singletons for change in found.changes]
    assert order == sorted(order)
    assert found.best == found.changes[0]
    assert found.to_frame()["fewer"].tolist() == [found.singletons - n for n in order]


def test_days_that_are_text_become_months_on_every_engine(frame):
    days = ["2024-05-01", "2024-05-31", "2023-12-01", "2023-12-09", None, "2024-06-01"]
    found = frame({"day": days, "also": [*days[:5], "2024-06-01T"]}).anon.explain_risk(
        ["day", "also"]
    )
    coarser = {c.column: (c.change, c.singletons) for c in found.changes if not c.dropped}
    # The other column still tells them apart; one longer text, and it is a code like any other.
    assert coarser == {"day": ("year and month", 6), "also": ("first 10 characters", 6)}
    months = frame({"day": days}).anon.explain_risk("day")
    assert [c.singletons for c in months.changes if not c.dropped] == [2]


@pytest.mark.parametrize(
    ("cells", "change"),
    [
        (["2020-01-01", "2020-01-02", None, "2020-02-01"], "year and month"),
        (["2020-01-01", "2020-01-02", "20200201-1"], "first 9 characters"),
        (["2020-01-01", "2020-01-02", "2020-1-2"], "first 9 characters"),
        ([1, 2, 3, 4, 5], "3 bins of equal width"),
        ([1.5, 2.5, float("nan"), 4.5, 4.6], "2 bins of equal width"),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-02-01"]), "2 bins of equal width"),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-02-01"], utc=True), "2 bins of equal"),
        (pd.Categorical(["a1", "a2", "b3"]), "first 1 character"),
        (pd.Categorical(["aa", "ab", "b"]), "commonest value, others merged"),
        (["a", "b", "c", "d", None, "e1"], "2 commonest, others merged"),
        ([f"w{'x' * i}" for i in range(1_001)], None),
        ([1.0, 2.0, float("inf")], None),
        ([True, False, True], None),
        ([1, 2, 2], None),
        (["a", "b", "b"], None),
        ([None, None, None], None),
        (pd.to_timedelta([1, 2, 3]), None),
    ],
)
def test_coarser_columns(cells, change):
    found = pd.DataFrame({"x": cells}).anon.explain_risk("x")
    coarser = [c.change for c in found.changes if not c.dropped]
    assert len(coarser) == (change is not None)
    assert change is None or coarser[0].startswith(change)
    (dropped,) = (c for c in found.changes if c.dropped)
    assert (dropped.singletons, dropped.sizes) == (0, None)


def test_what_helps_nobody_takes_no_row(frame):
    # Which job it is tells nothing beside the number, nor does what all have in common.
    jobs = ["baker", "baker", "smith", "smith", "tailor", "tailor"]
    cells = {"job": jobs, "n": [1, 2, 3, 4, 5, 6], "red": [True] * 6}
    found = frame(cells).anon.explain_risk(["job", "n", "red"])
    useless = [c.column for c in found.changes if not c.dropped and c.singletons == 6]
    assert useless == ["job"]
    printed = repr(found)
    assert "commonest" not in printed
    assert printed.splitlines()[-1] == "one step coarser by itself, each of these helps nobody: job"
    assert "helps nobody: job" in found._repr_html_()
    # A column that may go without helping is news; all of it is in the table.
    assert re.search(r"red +dropped +6 +100.0% +0", printed)
    assert "commonest value, others merged" in found.to_frame()["change"].tolist()


@pytest.mark.contract
def test_rare_words_are_merged(frame):
    # Two are as common as each other: the first in the alphabet stays. A missing one stays missing.
    jobs = ["smith", "baker", "", "other", None, "smith", "baker", "nurse", None, "cook"]
    cells = {"job": jobs, "n": [1, 1, 2, 2, 2, 3, 3, 2, 3, 1]}
    found = frame(cells).anon.explain_risk(["job", "n"])
    (merged,) = (c for c in found.changes if c.column == "job" and not c.dropped)
    assert merged.change == "2 commonest, others merged"
    kept = {"smith", "baker", None}
    told = [(job if job in kept else 7, n) for job, n in zip(jobs, cells["n"], strict=True)]
    assert merged.singletons == sum(told.count(one) == 1 for one in told)
    assert merged.singletons < found.singletons


def test_persons_are_explained():
    table = pd.DataFrame({**PEOPLE, "who": [1, 1, 2, 2, 3, 4, 5, 5]})
    found = table.anon.explain_risk(["zip", "age"], unit="who")
    assert found.sizes == table.anon.classes(["zip", "age"], unit="who")
    alone = table.anon.classes("zip", unit="who").records_at_most(1)
    assert alone in {c.singletons for c in found.changes if c.dropped and c.column == "age"}
    assert "persons" in repr(found)
    assert ">dropped</td>" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["changes"][0]["fewer"] >= 0
