"""Rows outside a row condition: a gate passes only if somebody has looked at every row."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from anonrisk.errors import ReleaseBlocked

agx = pytest.importorskip("anonrisk.gx")
gx = pytest.importorskip("great_expectations")

from great_expectations.expectations.row_conditions import Column  # noqa: E402

TABLE = pd.DataFrame({"zip": [f"z{i}" for i in range(20)] + ["a"] * 20})
K = agx.ExpectKAnonymityToBeAtLeast
UNIQUE = agx.ExpectQidUniquenessToBeAtMost
ONLY_A, REST = Column("zip") == "a", Column("zip") != "a"


def suite(*expectations):
    columns = agx.ExpectColumnsToBePublishable(direct=[], classified=["zip"])
    return gx.ExpectationSuite(name="h", expectations=[*expectations, columns])


def blocked(made, table=TABLE):
    with pytest.raises(ReleaseBlocked) as error:
        agx.run_gate(made, table)
    verdict = error.value.verdict
    assert verdict.status == "could_not_assess"
    return [one for one in verdict.findings if one.budget == "coverage"], verdict


def test_rows_that_no_condition_keeps_block():
    findings, verdict = blocked(suite(K(qids=["zip"], k=2, row_condition=ONLY_A)))
    assert "20 of 40 rows are outside the row_condition" in findings[0].sentence
    rows = verdict.coverage.rows
    assert (rows.n_rows, rows.n_judged) == (40, 20)
    assert [part.n_rows for part in rows.set_aside] == [20]


def test_from_stored_json_too():
    made = agx.load_suite(
        json.loads(agx.suite_to_json(suite(K(qids=["zip"], k=2, row_condition=ONLY_A))))
    )
    assert blocked(made)[0]


def test_in_a_checkpoint_too():
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("p").add_dataframe_asset("t")
    whole = asset.add_batch_definition_whole_dataframe("w")
    made = context.suites.add(suite(K(qids=["zip"], k=2, row_condition=ONLY_A)))
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name="v", data=whole, suite=made)
    )
    action = agx.AnonriskGateAction.requiring(made)
    checkpoint = context.checkpoints.add(
        gx.Checkpoint(name="c", validation_definitions=[definition], actions=[action])
    )
    with pytest.raises(ReleaseBlocked, match="20 of 40 rows are outside the row_condition"):
        checkpoint.run(batch_parameters={"dataframe": TABLE})
    with pytest.raises(ReleaseBlocked, match="20 of 40 rows are outside the row_condition"):
        agx.run_gate(checkpoint, TABLE)


PAIRS = TABLE.assign(zip=[f"z{i // 2}" for i in range(20)] + ["a"] * 20)


@pytest.mark.parametrize(
    "others",
    [
        [K(qids=["zip"], k=2)],
        [K(qids=["zip"], k=2, row_condition=REST)],
        [K(qids=["zip"], k=2, row_condition=Column("zip").is_not_in(["a"]))],
    ],
)
def test_rows_that_others_of_the_budget_see_do_not(others):
    result = agx.run_gate(suite(K(qids=["zip"], k=3, row_condition=ONLY_A), *others), PAIRS)
    assert result.success
    covered = result.meta["anonrisk"]["coverage"]
    assert (covered["rows"], covered["rows_judged"], covered["set_aside"]) == (40, 40, [])


@pytest.mark.parametrize(
    "others",
    [
        # Another budget, other columns, a lower severity, conditions that may overlap or miss some.
        [UNIQUE(qids=["zip"], max_unique_fraction=0.5)],
        [K(qids=["zip"], k=2, severity="warning")],
        [K(qids=["zip"], k=1)],
        [K(qids=["zip"], k=1, row_condition=Column("zip") != "a")],
        [K(qids=["zip"], k=2, row_condition=Column("zip").is_in(["z0", "z1"]))],
        [K(qids=["zip"], k=2, row_condition=Column("zip") > "b")],
    ],
)
def test_rows_that_others_do_not_surely_see_block(others):
    assert blocked(suite(K(qids=["zip"], k=2, row_condition=ONLY_A), *others), PAIRS)[0]


def test_columns_are_looked_at_in_all_rows():
    columns = agx.ExpectColumnsToBePublishable(direct=[], classified=["zip"], row_condition=ONLY_A)
    made = gx.ExpectationSuite(name="h", expectations=[K(qids=["zip"], k=2), columns])
    findings, _ = blocked(made, PAIRS)
    assert "expect_columns_to_be_publishable" in findings[0].sentence


def test_missing_cells_are_outside_a_comparison():
    table = pd.DataFrame({"zip": ["a", "a", "b", "b", None, None]})
    made = suite(
        K(qids=["zip"], k=2, row_condition=Column("zip") == "a"),
        K(qids=["zip"], k=2, row_condition=Column("zip") == "b"),
    )
    findings, _ = blocked(made, table)
    assert "2 of 6 rows" in findings[0].sentence


@pytest.mark.spark("spark")
def test_on_spark_too(spark):
    table = spark.createDataFrame(TABLE)
    assert blocked(suite(K(qids=["zip"], k=2, row_condition=ONLY_A)), table)[0]
    pairs = spark.createDataFrame(PAIRS)
    both = suite(
        K(qids=["zip"], k=2, row_condition=ONLY_A), K(qids=["zip"], k=2, row_condition=REST)
    )
    assert agx.run_gate(both, pairs).success


def test_data_docs_and_results_say_what_is_covered():
    from anonrisk import Policy

    table = pd.DataFrame({"zip": ["a"] * 4, "ill": ["flu", "hiv"] * 2})
    result = agx.run_gate(Policy(quasi="zip", sensitive="ill", k=2).to_suite(), table)
    assert result.meta["anonrisk"]["coverage"]["attributes_not_judged"] == ["ill"]
    columns = result.results[0]
    assert "ill (sensitive): attribute disclosure not judged" in str(
        columns.result["details"]["covers"]
    )
    rendered = agx.ExpectColumnsToBePublishable._diagnostic_observed_value_renderer(result=columns)
    assert "attribute disclosure not judged" in str(rendered.to_json_dict())


def test_data_docs_of_a_suite_made_by_hand_claim_no_more_than_they_know():
    table = pd.DataFrame({"zip": ["a"] * 20 + ["b"] * 20, "who": range(40)})
    persons = (
        ({}, "each row is taken for a person"),
        ({"unit": "who"}, "a person is a value of who"),
    )
    for unit, person in persons:
        halves = [K(qids=["zip"], k=2, row_condition=half, **unit) for half in (ONLY_A, REST)]
        by_hand = suite(*halves)
        by_hand.expectations[-1].classified = ["zip", "who"]
        first, _, columns = agx.run_gate(by_hand, table).results
        assert columns.result["details"]["covers"] == [
            "zip, who: classified; other expectations say who looks at them."
        ]
        rendered = str(K._diagnostic_observed_value_renderer(result=first).to_json_dict())
        assert "['Rows of the table set aside by the row condition', '20']" in rendered
        assert f"['Person', '{person}']" in rendered
