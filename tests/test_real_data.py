"""Published answers on real tables, where the folder with them is beside the project."""

from __future__ import annotations

import pandas as pd
import pytest
import worlds

A = dict(
    enumerate(
        (
            "age",
            "workclass",
            "education",
            "marital_status",
            "occupation",
            "relationship",
            "race",
            "sex",
            "hours_per_week",
            "native_country",
        ),
        start=1,
    )
)
# Lodha & Thomas, figure 3: singletons of these columns in the Adult table.
SINGLETONS = {
    (1,): 2,
    (1, 9): 986,
    (1, 7, 8): 65,
    (1, 2, 3, 5): 5056,
    (1, 2, 5, 10): 3105,
    (1, 5, 9, 10): 7581,
    (2, 3, 5, 10): 1384,
    (1, 2, 3, 5, 10): 7659,
    (1, 2, 4, 5, 6): 5215,
    (1, 2, 5, 6, 9): 12870,
    (1, 2, 5, 9, 10): 10402,
    tuple(range(1, 11)): 24802,
}


@pytest.fixture(scope="module")
def adult(shared):
    table = pd.read_csv(shared / "data" / "tables" / "adult.csv", skipinitialspace=True)
    table.columns = [name.strip().replace("-", "_").replace(".", "_") for name in table.columns]
    return table


def test_singletons_of_lodha_and_thomas(adult):
    qids = [[A[i] for i in columns] for columns in SINGLETONS]
    found = adult.anon.summary(qids, sizes=(1,))
    assert found["at_most_1"].tolist() == list(SINGLETONS.values())


def test_average_risk_on_which_other_tools_agree(adult):
    counted = adult.anon.classes(["age", "race", "sex"])
    assert counted.n_classes / counted.n_records == pytest.approx(0.01677, abs=5e-6)
    assert counted.rr.classes_per_record == counted.n_classes / counted.n_records


def test_missing_values_as_a_value_and_dropped(adult):
    qid = ["workclass", "occupation", "native_country"]
    unknown = adult.assign(**{name: adult[name].where(adult[name] != "?") for name in qid})
    assert adult.anon.classes(qid).singletons == 356
    assert unknown.anon.classes(qid).singletons == 356
    assert unknown.anon.classes(qid, missing="drop").singletons == 328


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_spark_finds_the_same(adult, spark):
    qids = [[A[i] for i in columns] for columns in SINGLETONS]
    found = spark.createDataFrame(adult).anon.summary(qids, sizes=(1,))
    assert found["at_most_1"].tolist() == list(SINGLETONS.values())


def test_ordered_closeness_on_which_other_tools_agree(adult):
    found = adult.anon.tcloseness(["race", "sex"], "hours_per_week", "ordered")
    assert found == pytest.approx(0.0496, abs=5e-5)


@pytest.mark.slow
def test_hierarchies_of_arx(shared):
    tables, trees = shared / "data" / "tables", shared / "data" / "hierarchies"
    arx = pd.read_csv(tables / "arx_adult.csv", sep=None, engine="python")
    for column in ("education", "marital-status", "occupation"):
        path = trees / f"adult_hierarchy_{column}.csv"
        name = column.replace("-", "_")
        found = arx.anon.tcloseness(["race", "sex"], name, hierarchies=path)
        assert found.distance == "hierarchical"
        equal = arx.anon.tcloseness(["race", "sex"], name)
        assert 0 < found <= equal, "moves within a branch cost less than moves across"


@pytest.mark.nightly
def test_predicted_intervals_hold_for_other_people(adult, shared):
    accidents = pd.read_csv(
        shared / "data" / "tables" / "fars_subset.csv", sep=None, engine="python"
    )
    tables = {
        "six columns": (adult, [A[i] for i in (1, 2, 3, 4, 7, 8)]),
        "three columns": (adult, [A[i] for i in (1, 7, 8)]),
        "work": (adult, [A[i] for i in (2, 5, 10)]),
        "accidents": (accidents, list(accidents.columns[:4])),
    }
    drawn = {
        name: worlds.people(worlds.codes_of(table, qid)) for name, (table, qid) in tables.items()
    }
    runs = 300
    of_singletons = lambda table, k, _: [table.predict_singletons(k).interval()]  # noqa: E731
    cells = list(worlds.coverage(drawn, worlds.GROUPS, runs, of_singletons))
    assert not worlds.too_low(cells, runs)
    assert not worlds.too_wide(cells, runs)
