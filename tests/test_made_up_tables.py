"""What is tested on real tables, where there are any, on made-up ones of the same kind: everywhere.

The answers are counted by `oracle`, row by row.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import pytest

from anonrisk import datasets

EXAMPLE = Path(__file__).parents[1] / "anonrisk" / "datasets" / "examples" / "lodha_thomas.py"
QIDS = [["pc4"], ["pc4", "gender"], ["pc4", "year", "gender"], ["month", "gender", "year"]]
BRANCHES = {
    "young": ["tonsils and adenoids", "ear", "perinatal", "congenital", "pregnancy and childbirth"],
    "old": ["cancer", "heart disease", "stroke", "eye", "hip fracture", "joints and back"],
}


@pytest.fixture(scope="module")
def admissions():
    table = datasets.hospital(1_500, seed=4)
    born = table["date_of_birth"]
    table = table.assign(year=born.dt.year, month=born.dt.month)
    return table[["pc4", "year", "month", "gender", "diagnosis"]].astype({"pc4": object})


def test_singletons_on_every_engine(admissions, frame):
    cells = {name: admissions[name].tolist() for name in admissions}
    found = frame(cells).anon.summary(QIDS, sizes=(1,))
    rows = admissions.to_dict("records")
    assert found["at_most_1"].tolist() == [oracle.class_sizes(rows, qid)[1][1] for qid in QIDS]


def test_missing_values_as_a_value_and_dropped_on_every_engine(admissions, frame):
    cells = {name: admissions[name].tolist() for name in ("pc4", "gender")}
    for name, every in (("pc4", 7), ("gender", 11)):
        cells[name][::every] = [None] * len(cells[name][::every])
    table, rows = frame(cells), pd.DataFrame(cells).to_dict("records")
    for missing in ("value", "drop"):
        expected = oracle.class_sizes(rows, ["pc4", "gender"], missing=missing)[1][1]
        assert table.anon.classes(["pc4", "gender"], missing=missing).singletons == expected


def test_moves_within_a_branch_cost_less_than_moves_across(admissions):
    rest = set(admissions["diagnosis"]).difference(*BRANCHES.values())
    tree = {"any": {**BRANCHES, "other": sorted(rest)}}
    found = admissions.anon.tcloseness(["gender"], "diagnosis", hierarchies=tree)
    equal = admissions.anon.tcloseness(["gender"], "diagnosis")
    assert found.distance == "hierarchical"
    assert 0 < found < equal
    rows = admissions.to_dict("records")
    expected = oracle.tcloseness(rows, ["gender"], "diagnosis", oracle.equal_cost)
    assert equal == pytest.approx(expected, abs=1e-12)


def test_ordered_closeness(admissions):
    rows = admissions.to_dict("records")
    expected = oracle.tcloseness(rows, ["gender"], "month", oracle.ordered_cost(rows, "month"))
    found = admissions.anon.tcloseness(["gender"], "month", "ordered")
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_figure_of_lodha_and_thomas_counts_right(tmp_path):
    spec = importlib.util.spec_from_file_location("lodha_thomas", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    random = np.random.default_rng(3)
    # Written as in the file of the repository: dashes in names, a blank after each comma.
    made_up = {
        name.replace("_", "-"): random.geometric(2 / (size + 2), 600).clip(max=size)
        for name, size in example.DOMAIN_SIZES.items()
    }
    path = tmp_path / "adult.csv"
    lines = pd.DataFrame(made_up).to_csv(index=False).replace(",", ", ")
    path.write_text(lines)
    adult = example.read(path)
    table = example.figure_3(adult)
    rows, names = adult.to_dict("records"), list(example.DOMAIN_SIZES)
    expected = [
        oracle.class_sizes(rows, [names[i - 1] for i in columns])[1][1] for columns in example.ROWS
    ]
    assert table["S"].tolist() == expected
    assert table["F1"].tolist() == [singletons / 600 for singletons in expected]
    assert expected[-1] > expected[0]
