"""Great Expectations: the expectations on pandas, Spark and SQL batches, and the gate."""

from __future__ import annotations

import json
import logging

import pandas as pd
import pytest

import anonrisk
from anonrisk.errors import ArgumentError, PolicyError, ReleaseBlocked

gxp = pytest.importorskip("great_expectations")

import databases  # noqa: E402
from tables import spark_table  # noqa: E402

from anonrisk import gx  # noqa: E402
from anonrisk.gx import metrics  # noqa: E402

NAN = float("nan")
ODD = 'zip "x". `code`'
CELLS = {
    ODD: ["1011", "1011", "1012", "1012", "1013", None, None, "1014"],
    "age": [30.0, 30.0, 40.0, 40.0, 50.0, None, NAN, -0.0],
    "who": [1, 2, 3, 4, 5, 6, 7, 8],
    "ill": ["flu", "cold", "flu", "flu", "cold", None, "flu", "cold"],
}
Q = [ODD, "age"]
FORMATS = ("BOOLEAN_ONLY", "BASIC", "SUMMARY", "COMPLETE")


def all_expectations(qids=None, sensitive="ill", **more):
    """One of each, some kept and some broken by CELLS."""
    qids = Q if qids is None else qids
    about = {"qids": qids, **more}
    values = {"sensitive": sensitive, "missing_sensitive": "value", **about}
    return [
        gx.ExpectKAnonymityToBeAtLeast(k=1, **about),
        gx.ExpectKAnonymityToBeAtLeast(k=2, **about),
        gx.ExpectQidUniquenessToBeAtMost(max_unique_fraction=0.2, **about),
        gx.ExpectQidUniquenessToBeAtMost(max_unique_records=2, **about),
        gx.ExpectRecordsInSmallClassesToBeAtMost(k=3, max_fraction_below_k=0.5, **about),
        gx.ExpectLDiversityToBeAtLeast(l=2, variant="distinct", **values),
        gx.ExpectLDiversityToBeAtLeast(l=1, variant="entropy", **values),
        gx.ExpectLDiversityToBeAtLeast(l=1, variant="recursive", c=2, **values),
        gx.ExpectTClosenessToBeAtMost(t=0.9, distance="equal", **values),
        gx.ExpectReidentificationRiskToBeAtMost(
            attacker="prosecutor", max_highest=0.5, max_share_above=1, threshold=0.2, **about
        ),
        gx.ExpectReidentificationRiskToBeAtMost(
            attacker="marketer", max_average=0.4, sampling_fraction=0.5, **about
        ),
        gx.ExpectReidentificationRiskToBeAtMost(
            attacker="journalist",
            max_average=0.9,
            sampling_fraction=0.5,
            population_size=16,
            unsuppressed=True,
            **about,
        ),
        gx.ExpectPredictedSingletonsToBeAtMost(group_size=4, max_singletons=4, **about),
        gx.ExpectPopulationUniquenessToBeAtMost(population_size=1000, max_fraction=1, **about),
    ]


KINDS = ("pandas", pytest.param("spark", marks=pytest.mark.spark("spark")), *databases.KINDS)


@pytest.fixture(scope="module")
def context():
    return gxp.get_context(mode="ephemeral")


@pytest.fixture(scope="module", params=KINDS)
def batch_of(request, context, tmp_path_factory):
    """A function that makes a batch of cells on one engine."""
    kind = request.param
    sources, numbers = context.data_sources, iter(range(1000))
    if kind in databases.KINDS:
        engine = databases.connect(kind, request, tmp_path_factory.mktemp(kind))
        url = engine.url.render_as_string(hide_password=False)
        add = {"sqlite": sources.add_sqlite, "postgresql": sources.add_postgres}
        source = add.get(kind, sources.add_sql)(kind, connection_string=url)
    elif kind == "spark":
        source = sources.add_spark(kind, persist=False)
    else:
        source = sources.add_pandas(kind)

    def make(cells):
        name = f"t{next(numbers)}"
        if kind in databases.KINDS:
            with engine.begin() as connection:
                databases.write(connection, name, cells)
            # A file of DuckDB has one owner at a time.
            engine.dispose()
            asset = source.add_table_asset(name, table_name=name)
            return asset.add_batch_definition_whole_table(name).get_batch()
        frame = (
            pd.DataFrame(cells)
            if kind == "pandas"
            else spark_table(request.getfixturevalue("spark"), cells)
        )
        asset = source.add_dataframe_asset(name)
        return asset.add_batch_definition_whole_dataframe(name).get_batch({"dataframe": frame})

    make.kind = kind
    return make


@pytest.fixture
def pandas_batch(context):
    source = context.data_sources.add_or_update_pandas("plain")
    numbers = iter(range(1000))

    def make(frame):
        asset = source.add_dataframe_asset(f"a{next(numbers)}")
        return asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": frame})

    return make


def not_about_spark(batch_of, *, when=True):
    """Spark takes seconds where the others take none: leave out what is the same for all."""
    if when and batch_of.kind == "spark":
        pytest.skip("the same for every engine, and tested on the others")


def validated(batch, expectations, *, result_format="SUMMARY", **parameters):
    suite = gxp.ExpectationSuite(name="s", expectations=expectations)
    result = batch.validate(suite, result_format=result_format, expectation_parameters=parameters)
    assert len(result.results) == len(expectations)
    return result


def found(batch, expectation, **more):
    return validated(batch, [expectation], **more).results[0]


def gated(suite, batch, **more):
    """Run a suite made by hand, which is about no other columns than those that it names."""
    return gx.run_gate(suite, batch, unlisted="ignore", **more)


# ---- the same verdicts everywhere ---------------------------------------------------------------


@pytest.mark.parametrize("about", [{}, {"unit": "who", "missing": "value"}])
def test_every_engine_says_what_the_library_says(batch_of, about):
    not_about_spark(batch_of, when=bool(about))
    expectations = all_expectations(**about)
    results = validated(batch_of(CELLS), expectations).results
    frame = pd.DataFrame(CELLS)
    sizes = anonrisk.classes(frame, Q, **about)
    values = {}
    for result in results:
        details = result.result["details"]
        assert details["records" if not about else "persons"] == sizes.n_records == 8
        assert details["classes"] == sizes.n_classes
        assert result.success is (details["status"] == "pass")
        assert result.exception_info["raised_exception"] is (
            details["status"] == "could_not_assess"
        )
        for row in details["budgets"]:
            kwargs = result.expectation_config.kwargs
            values[row["budget"], kwargs.get("variant"), row["limit"]] = row["value"]
    measure = {**about, "sensitive": "ill"}
    expected = {
        ("k", None, 2): 1,
        ("max_unique_fraction", None, 0.2): 2 / 8,
        ("max_unique_records", None, 2): 2,
        ("max_fraction_below_k", None, 0.5): 1.0,
        ("ldiv", "distinct", 2): anonrisk.ldiv(frame, Q, **measure),
        ("ldiv", "entropy", 1): anonrisk.ldiv(frame, Q, variant="entropy", **measure),
        ("ldiv", "recursive", 1): anonrisk.ldiv(frame, Q, variant="recursive", c=2, **measure),
        ("tcloseness", None, 0.9): anonrisk.tcloseness(frame, Q, distance="equal", **measure),
        ("risk.prosecutor.highest", None, 0.5): 1.0,
        ("risk.marketer.average", None, 0.4): sizes.risk().marketer.average,
        ("risk.journalist.average", None, 0.9): sizes.risk(
            sampling_fraction=0.5, population_size=16, unsuppressed=True
        ).journalist.average,
    }
    for key, value in expected.items():
        assert values[key] == pytest.approx(float(value), rel=1e-12), key
    passed = [result.success for result in results]
    assert True in passed
    assert False in passed


def test_a_condition_leaves_rows_out(batch_of):
    from great_expectations.expectations.row_conditions import Column

    batch = batch_of(CELLS)
    condition = (Column("who") < 5) & (Column("age").is_not_null())
    kept = gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=2, row_condition=condition)
    none = gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=2, row_condition=Column("who") > 99)
    first, second = sorted(
        validated(batch, [kept, none]).results, key=lambda result: not result.success
    )
    assert first.result["details"]["records"] == 4
    assert first.success
    assert not second.success
    assert "no records" in second.exception_info["exception_message"]


def test_dropped_records_have_a_limit(batch_of):
    not_about_spark(batch_of)
    batch = batch_of(CELLS)
    dropping = {"qids": Q, "k": 1, "missing": "drop"}
    for limit, removed, status in (
        (0.25, True, "pass"),
        (0.25, False, "could_not_assess"),
        (0.1, True, "fail"),
    ):
        asked = {**dropping, "max_dropped_fraction": limit, "dropped_are_removed": removed}
        result = found(batch, gx.ExpectKAnonymityToBeAtLeast(**asked))
        assert result.result["details"]["status"] == status
        assert result.success is (status == "pass")
        assert result.result["details"]["dropped"] == 2
    refused = found(batch, gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=1, missing="error"))
    assert not refused.success
    assert "missing" in refused.exception_info["exception_message"]


@pytest.mark.parametrize("result_format", FORMATS)
def test_what_cannot_be_assessed_fails_with_its_message(batch_of, result_format):
    not_about_spark(batch_of, when=result_format != "SUMMARY")
    batch = batch_of({"zip": ["a", "a"], "n": [1.0, 2.0], "job": ["x", "y"]})
    tree = {"any": {"v": ["x"], "w": ["y"]}}
    in_tree = {"qids": "zip", "sensitive": "job", "t": 1, "distance": "hierarchical"}
    cases = {
        "hierarchy of 'jb' is not a column": gx.ExpectTClosenessToBeAtMost(
            **in_tree, hierarchies={"jb": tree}
        ),
        "did you mean 'zip'": gx.ExpectKAnonymityToBeAtLeast(qids="zp", k=1),
        "sensitive column 'ill'": gx.ExpectLDiversityToBeAtLeast(
            qids="zip", sensitive="ill", l=1, variant="distinct"
        ),
        "unit 'who'": gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=1, unit="who"),
    }
    ordered = gx.ExpectTClosenessToBeAtMost(qids="zip", sensitive="n", t=1, distance="ordered")
    assert found(batch, ordered).success
    assert found(batch, gx.ExpectTClosenessToBeAtMost(**in_tree, hierarchies={"job": tree})).success
    for message, expectation in cases.items():
        result = found(batch, expectation, result_format=result_format)
        assert result.success is False
        assert message in result.exception_info["exception_message"]
        assert result.exception_info["raised_exception"] is True


def test_an_empty_batch_fails(batch_of):
    not_about_spark(batch_of)
    batch = batch_of({ODD: [], "age": [], "ill": []})
    results = validated(batch, all_expectations()).results
    assert [result.success for result in results] == [False] * len(results)
    assert all("no records" in r.exception_info["exception_message"] for r in results)


# ---- errors inside, and what must not leave -----------------------------------------------------


def test_an_error_in_any_metric_fails_every_expectation_on_it(batch_of, monkeypatch):
    batch = batch_of(CELLS)

    def broken(*_, **__):
        raise RuntimeError("MARKER")

    monkeypatch.setattr(metrics, "count", broken)
    monkeypatch.setattr(metrics, "published_by", broken)
    publishable = gx.ExpectColumnsToBePublishable(direct=["name"])
    result = validated(batch, [*all_expectations(), publishable])
    for one in result.results:
        assert one.success is False
        assert "could not be measured (RuntimeError)" in one.exception_info["exception_message"]
    assert "MARKER" not in json.dumps(result.to_json_dict())


def test_an_error_around_any_metric_fails_too(batch_of, monkeypatch):
    from great_expectations.expectations import registry

    batch = batch_of(CELLS)

    def broken(*_, **__):
        raise RuntimeError("outside")

    for name in (metrics.COUNTS, metrics.COLUMNS):
        providers = registry._registered_metrics[name]["providers"]
        for engine, (provider, _) in list(providers.items()):
            monkeypatch.setitem(providers, engine, (provider, broken))
    publishable = gx.ExpectColumnsToBePublishable(direct=["name"])
    result = validated(batch, [*all_expectations(), publishable])
    assert not any(one.success for one in result.results)
    with pytest.raises(ReleaseBlocked, match="outside"):
        gx.run.judge([result], [], {}, "critical")


def test_columns_changed_at_random_cannot_be_assessed(pandas_batch, monkeypatch):
    from anonrisk.engines.pandas.schema import PandasSchema

    monkeypatch.setattr(PandasSchema, "perturbed", {"age": "perturb"})
    result = found(pandas_batch(pd.DataFrame(CELLS)), gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=1))
    assert not result.success
    assert "changed at random" in result.exception_info["exception_message"]


def test_a_metric_that_answers_nonsense_fails(pandas_batch, monkeypatch):
    monkeypatch.setattr(metrics, "measured", lambda *_: None)
    result = found(pandas_batch(pd.DataFrame(CELLS)), gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=1))
    assert result.success is False
    assert "no answer" in result.exception_info["exception_message"]


@pytest.mark.parametrize("result_format", ["COMPLETE", "BOOLEAN_ONLY"])
def test_no_cell_leaves(batch_of, result_format, caplog):
    not_about_spark(batch_of, when=result_format != "COMPLETE")
    caplog.set_level(logging.DEBUG)
    cells = {**CELLS, ODD: ["MARKER"] * 7 + [None], "ill": ["MARKER"] * 8}
    batch = batch_of(cells)
    broken = [
        *all_expectations(qids=["nothing"]),
        gx.ExpectTClosenessToBeAtMost(qids=Q, sensitive="ill", t=0, distance="ordered"),
        gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=2, missing="error"),
    ]
    result = validated(batch, [*all_expectations(), *broken], result_format=result_format)
    assert "MARKER" not in json.dumps(result.to_json_dict())
    with pytest.raises(ReleaseBlocked) as blocked:
        gx.run.judge([result], [], {}, "critical")
    assert "MARKER" not in str(blocked.value)
    if batch_of.kind != "spark":
        # What a test writes into a database is not ours.
        assert not [
            record for record in caplog.records
            if "MARKER" in record.getMessage() and not record.name.startswith("sqlalchemy")
        ]  # fmt: skip


def test_expectations_on_the_same_columns_share_one_computation(batch_of, monkeypatch):
    batch = batch_of(CELLS)
    calls = []
    real = metrics.count

    def counted(policy, table):
        calls.append(policy)
        return real(policy, table)

    monkeypatch.setattr(metrics, "count", counted)
    together = [one for one in all_expectations() if getattr(one, "variant", "") != "recursive"]
    validated(batch, [*together, gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=3)])
    # Sizes, and all scores that need nothing else.
    assert len(calls) == 2
    if batch_of.kind != "spark":
        validated(batch, [gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=1, unit="who")])
        assert len(calls) == 3


def test_a_second_run_sees_the_second_table(context):
    source = context.data_sources.add_pandas("again")
    definition = source.add_dataframe_asset("a").add_batch_definition_whole_dataframe("b")
    suite = context.suites.add(anonrisk.Policy(quasi="zip", k=2).to_suite("again"))
    validation = context.validation_definitions.add(
        gxp.ValidationDefinition(name="again", data=definition, suite=suite)
    )
    checkpoint = context.checkpoints.add(
        gxp.Checkpoint(name="again", validation_definitions=[validation])
    )
    for zips, passes in ((["a", "a"], True), (["a", "b"], False), (["a", "a"], True)):
        frame = pd.DataFrame({"zip": zips})
        assert checkpoint.run({"dataframe": frame}).success is passes
        if passes:
            assert gx.run_gate(checkpoint, frame).success
        else:
            with pytest.raises(ReleaseBlocked, match="smallest class of zip"):
                gx.run_gate(checkpoint, frame)


# ---- fields -------------------------------------------------------------------------------------

BAD = [
    ("ExpectKAnonymityToBeAtLeast", {"qids": ["a"]}),
    *(("ExpectKAnonymityToBeAtLeast", {"qids": ["a"], "k": k}) for k in (True, "5", 2.5, 0, {})),
    *(
        ("ExpectKAnonymityToBeAtLeast", {"qids": ["a"], "k": k})
        for k in ({"$PARAMETER": ""}, {"$PARAMETER": "k", "x": 1}, {"k": 5}, None)
    ),
    *(("ExpectKAnonymityToBeAtLeast", {"qids": q, "k": 2}) for q in ([], ["a", "a"], [1], None)),
    ("ExpectKAnonymityToBeAtLeast", {"qids": ["a"], "k": 2, "missing": "wild"}),
    ("ExpectKAnonymityToBeAtLeast", {"qids": ["a"], "k": 2, "missing": "drop"}),
    ("ExpectKAnonymityToBeAtLeast", {"qids": ["a"], "k": 2, "max_dropped_fraction": 0.1}),
    ("ExpectKAnonymityToBeAtLeast", {"qids": ["a"], "k": 2, "mostly": 0.9}),
    ("ExpectQidUniquenessToBeAtMost", {"qids": ["a"]}),
    *(
        ("ExpectQidUniquenessToBeAtMost", {"qids": ["a"], "max_unique_fraction": x})
        for x in (True, "0.1", -0.1, 1.1, NAN, float("inf"))
    ),
    ("ExpectQidUniquenessToBeAtMost", {"qids": ["a"], "max_unique_records": 1.5}),
    ("ExpectRecordsInSmallClassesToBeAtMost", {"qids": ["a"], "k": 5}),
    ("ExpectLDiversityToBeAtLeast", {"qids": ["a"], "sensitive": "s", "l": 2}),
    (
        "ExpectLDiversityToBeAtLeast",
        {"qids": ["a"], "sensitive": "s", "l": 2, "variant": "recursive"},
    ),
    (
        "ExpectLDiversityToBeAtLeast",
        {"qids": ["a"], "sensitive": "s", "l": 2, "variant": "distinct", "c": 2},
    ),
    ("ExpectTClosenessToBeAtMost", {"qids": ["a"], "sensitive": "s", "t": 0.2}),
    *(
        ("ExpectTClosenessToBeAtMost", {"qids": ["a"], "sensitive": "s", "t": 0.2, **more})
        for more in (
            {"distance": "auto"},
            {"distance": "equal", "order": [1, 2]},
            {"distance": "hierarchical"},
            {"distance": "equal", "hierarchies": {"any": ["x"]}},
        )
    ),
    *(
        ("ExpectReidentificationRiskToBeAtMost", {"qids": ["a"], **more})
        for more in (
            {"attacker": "prosecutor"},
            {"attacker": "nobody", "max_average": 0.1},
            {"attacker": "marketer", "max_highest": 0.1},
            {"attacker": "prosecutor", "max_share_above": 0.1},
            {"attacker": "prosecutor", "max_average": 0.1, "sampling_fraction": 0.5},
            {"attacker": "journalist", "max_average": 0.1, "sampling_fraction": 0},
            {"attacker": "journalist", "max_average": 0.1, "population_size": 9},
            {"attacker": "journalist", "max_average": 0.1, "unsuppressed": True},
            {"attacker": "prosecutor", "max_average": 0.1, "unsuppressed": True},
        )
    ),
    ("ExpectPredictedSingletonsToBeAtMost", {"qids": ["a"], "group_size": 5}),
    ("ExpectPopulationUniquenessToBeAtMost", {"qids": ["a"], "max_fraction": 0.1}),
    ("ExpectColumnsToBePublishable", {"direct": []}),
    ("ExpectColumnsToBePublishable", {}),
]


@pytest.mark.parametrize(("name", "kwargs"), BAD, ids=str)
def test_fields_are_strict(name, kwargs):
    from great_expectations.compatibility.pydantic import ValidationError

    with pytest.raises(ValidationError):
        getattr(gx, name)(**kwargs)


def test_one_name_is_a_list_of_one():
    assert gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=2).qids == ["zip"]


def test_numbers_are_those_that_a_policy_takes(pandas_batch):
    batch = pandas_batch(pd.DataFrame({"zip": ["a"] * 5}))
    assert found(batch, gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=5.0)).success
    assert not found(batch, gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=6.0)).success


def test_every_field_reaches_the_metric_or_the_result():
    from great_expectations.expectations.expectation import BatchExpectation

    for kind in gx.expectations.EXPECTATIONS:
        own = set(kind.__fields__) - set(BatchExpectation.__fields__)
        assert own == {*kind.success_keys, "row_condition"}, kind.__name__
        assert "row_condition" in kind.domain_keys


def test_suites_come_back_as_they_were():
    from great_expectations.expectations.row_conditions import Column

    made = all_expectations(
        row_condition=Column("age") > 3, severity="warning", meta={"why": "law"}, notes="a note"
    )
    suite = gxp.ExpectationSuite(name="s", expectations=made)
    text = gx.suite_to_json(suite)
    again = gx.load_suite(json.loads(text))
    assert again.expectations == suite.expectations
    assert gx.suite_to_json(again) == text
    assert {str(one.severity.value) for one in again.expectations} == {"warning"}


def test_a_suite_is_loaded_whole_or_not_at_all(tmp_path):
    unknown = {"name": "s", "expectations": [{"type": "expect_the_unknown", "kwargs": {}}]}
    with pytest.raises(ArgumentError, match="expect_the_unknown"):
        gx.load_suite(unknown)
    for nonsense in ({}, {"expectations": 1}, {"expectations": [1]}, []):
        with pytest.raises(ArgumentError):
            gx.load_suite(nonsense)
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"name": "s", "expectations": []}))
    with pytest.raises(ReleaseBlocked, match="no expectation of anonrisk"):
        gx.run_gate(path, pd.DataFrame({"a": [1]}))


def test_suite_parameters_are_filled_in():
    parameters = {"qids": ["zip"], "k": 2, "percent": 50, "sensitive": "ill"}
    suite = gxp.ExpectationSuite(
        name="s",
        expectations=[
            gx.ExpectKAnonymityToBeAtLeast(qids={"$PARAMETER": "qids"}, k={"$PARAMETER": "k"}),
            gx.ExpectQidUniquenessToBeAtMost(
                qids="zip", max_unique_fraction={"$PARAMETER": "percent / 100"}
            ),
            gx.ExpectLDiversityToBeAtLeast(
                qids={"$PARAMETER": "qids"},
                sensitive={"$PARAMETER": "sensitive"},
                l={"$PARAMETER": "k"},
                variant="distinct",
            ),
        ],
    )
    good = pd.DataFrame({"zip": ["a", "a"], "ill": ["flu", "cold"]})
    assert gated(suite, good, expectation_parameters=parameters).success
    for wrong in ({}, {**parameters, "k": "2"}, {**parameters, "k": 0}, {**parameters, "qids": []}):
        with pytest.raises(ReleaseBlocked, match="suite parameter"):
            gated(suite, good, expectation_parameters=wrong)


# ---- the gate -----------------------------------------------------------------------------------


def test_severity_decides_what_blocks():
    suite = gxp.ExpectationSuite(
        name="s",
        expectations=[
            gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=2),
            gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=9, severity="warning"),
            gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=8, severity="info"),
        ],
    )
    frame = pd.DataFrame({"zip": ["a", "a"]})
    assert gated(suite, frame).success is False
    with pytest.raises(ReleaseBlocked, match="at least 9"):
        gated(suite, frame, block_on="warning")
    with pytest.raises(ReleaseBlocked, match="at least 8"):
        gated(suite, frame, block_on="info")
    with pytest.raises(ArgumentError, match="block_on"):
        gated(suite, frame, block_on="warn")


def test_other_expectations_block_too_without_their_words():
    suite = gxp.ExpectationSuite(
        name="s",
        expectations=[
            gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=1),
            gxp.expectations.ExpectColumnValuesToBeInSet(column="zip", value_set=["x"]),
        ],
    )
    with pytest.raises(ReleaseBlocked, match="expect_column_values_to_be_in_set failed") as caught:
        gated(suite, pd.DataFrame({"zip": ["MARKER"]}))
    assert "MARKER" not in str(caught.value)


def test_the_gate_leaves_the_callers_context_alone(context):
    from great_expectations.data_context.data_context.context_factory import project_manager

    project_manager.set_project(context)
    suite = gxp.ExpectationSuite(
        name="s", expectations=[gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=2)]
    )
    gated(suite, pd.DataFrame({"zip": ["a", "a"]}))
    assert project_manager.get_current_project() is context


def test_the_gate_takes_batches_and_definitions(batch_of):
    not_about_spark(batch_of)
    batch = batch_of(CELLS)
    asked = gx.ExpectQidUniquenessToBeAtMost(qids=Q, max_unique_records=8)
    good = gxp.ExpectationSuite(name="s", expectations=[asked])
    name = "expect_qid_uniqueness_to_be_at_most"
    assert gated(good, batch).success
    with pytest.raises(ReleaseBlocked, match="was evaluated 1 of 2 times"):
        gated(good, batch, required={"s": {name: 2}})
    with pytest.raises(ReleaseBlocked, match="suite 'other' was not run"):
        gated(good, batch, required={"other": {name: 1}})


@pytest.mark.spark("spark")
def test_the_gate_takes_a_spark_table(spark):
    suite = gxp.ExpectationSuite(
        name="s", expectations=[gx.ExpectKAnonymityToBeAtLeast(qids=Q, k=2)]
    )
    with pytest.raises(ReleaseBlocked, match="has 1 record"):
        gated(suite, spark_table(spark, CELLS))


@pytest.mark.parametrize(
    "required",
    [
        {},
        {"s": {}},
        {"s": {"expect_the_unknown": 1}},
        {"s": {"expect_k_anonymity_to_be_at_least": 0}},
        {"s": 1},
    ],
    ids=str,
)
def test_a_gate_must_require_something_that_exists(required):
    from great_expectations.compatibility.pydantic import ValidationError

    with pytest.raises(ValidationError):
        gx.AnonriskGateAction(required=required)


def test_a_run_that_breaks_down_blocks(pandas_batch):
    suite = gxp.ExpectationSuite(
        name="s", expectations=[gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=1)]
    )
    with pytest.raises(ReleaseBlocked):
        gx.run_gate(suite, gxp.core.batch_definition.BatchDefinition(name="x"))
    with pytest.raises(anonrisk.AnonRiskError):
        gx.run_gate(suite, "not a table")
    with pytest.raises(ArgumentError, match="not a dict"):
        gx.run_gate({}, pd.DataFrame())


def test_columns_that_must_be_gone(batch_of):
    batch = batch_of(CELLS)
    named = {"direct": ["name"], "classified": list(CELLS)}
    assert found(batch, gx.ExpectColumnsToBePublishable(**named)).success
    failed = found(batch, gx.ExpectColumnsToBePublishable(direct=["who"], classified=[*Q, "who"]))
    assert not failed.success
    sentence = failed.result["details"]["sentence"]
    assert "direct identifiers: 'who'" in sentence
    assert "1 column has no role" in sentence
    assert "[ill]" in sentence
    assert failed.result["details"]["direct"] == failed.result["details"]["unclassified"] == 1


@pytest.mark.parametrize("unlisted", ["ignore", "quasi"])
def test_columns_without_a_role_are_counted_whatever_becomes_of_them(batch_of, unlisted):
    asked = gx.ExpectColumnsToBePublishable(direct=["name"], classified=Q, unlisted=unlisted)
    passed = found(batch_of(CELLS), asked)
    assert passed.success
    assert passed.result["details"]["unclassified"] == len(CELLS) - len(Q)
    assert passed.result["observed_value"] == 0


# ---- policies -----------------------------------------------------------------------------------

POLICIES = [
    {"k": 2, "max_unique_fraction": 0.2, "max_unique_records": 5},
    {"k": 1, "ldiv": {"l": 1, "variant": "entropy"}, "tcloseness": {"t": 0.9, "distance": "equal"}},
    {
        "max_fraction_below_k": {"k": 2, "at_most": 0.3},
        "risk": {
            "prosecutor": {"highest": 0.5, "share_above": {"threshold": 0.5, "at_most": 0.3}},
            "journalist": {"average": 0.9},
        },
        "sampling_fraction": 0.5,
    },
    {
        "risk": {"journalist": {"highest": 0.9}, "marketer": {"average": 0.1}},
        "sampling_fraction": 0.5,
        "population_size": 16,
        "unsuppressed": True,
    },
    {"predicted_singletons": {"group_size": 3, "at_most_fraction": 1}, "unit": "who"},
    {"population_unique_fraction": {"population_size": 100, "at_most": 0.5}},
    {"k": 1, "missing": "drop", "max_dropped_fraction": 0.5, "dropped_are_removed": True},
    {"k": 1, "missing": "drop", "max_dropped_fraction": 0.5},
    {"k": 1, "direct": ["who"]},
    {"k": 1},
    {"k": 1, "unlisted": "ignore"},
    {"k": 2, "unlisted": "quasi", "qids": [{"columns": [ODD], "budgets": {"k": 2}}]},
    {"k": 1, "insensitive": ["who"], "reviewed": False},
    {"qids": [{"every_subset_of": 1, "budgets": {"k": 2}}]},
    {"ldiv": [{"l": 2}, {"l": 1, "variant": "recursive", "c": 9}], "missing_sensitive": None},
    {"ldiv": {"l": 2}, "missing_sensitive": "drop", "max_dropped_fraction": 0.5},
    {"tcloseness": {"t": 0.1, "distance": "ordered", "severity": "warn"}},
    {"k": {"at_least": 9, "severity": "warn"}},
]


@pytest.mark.parametrize("budgets", POLICIES, ids=str)
@pytest.mark.parametrize("named", [{}, {"insensitive": ["who"]}], ids=["loose", "named"])
def test_a_suite_decides_as_its_policy(budgets, named):
    if "who" in str(budgets):
        named = {}
    keys = {"missing_sensitive": "value", **named, **budgets}
    policy = anonrisk.Policy(quasi=Q, sensitive=["ill"], **keys)
    frame = pd.DataFrame(CELLS)
    verdict = policy.check(frame)
    suite = policy.to_suite()
    assert len(suite.expectations) > len(policy.rules[0].budgets)
    loaded = gx.load_suite(json.loads(gx.suite_to_json(suite)))
    try:
        stored = gx.run_gate(loaded, frame).meta["anonrisk"]
        by_suite = anonrisk.Verdict.from_json(json.dumps(stored))
    except ReleaseBlocked as blocked:
        by_suite = blocked.verdict
    assert by_suite.status == verdict.status
    assert {one.key for one in by_suite.findings} == {one.key for one in verdict.findings}
    assert (by_suite.columns, by_suite.not_looked_at) == (verdict.columns, verdict.not_looked_at)
    assert (by_suite.n_rows, by_suite.unit) == (verdict.n_rows, verdict.unit)
    assert by_suite.policy_digest == policy.digest


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ({"k": 2, "by": "who"}, "by"),
        ({"max_suppressed": 0.1}, "max_suppressed"),
        ({"risk": {"journalist": {"highest": 0.1}}, "weight": "who"}, "risk.journalist.highest"),
        (
            {
                "risk": {"marketer": {"average": 0.1}},
                "sampling_fraction": 0.1,
                "unsuppressed": True,
                "suppressed": "*",
            },
            "suppressed cells are marked",
        ),
    ],
)
def test_what_cannot_become_an_expectation_is_an_error(budgets, message):
    with pytest.raises(PolicyError, match=message):
        anonrisk.Policy(quasi=Q, **budgets).to_suite()


def test_no_budget_is_forgotten():
    from anonrisk.gx.expectations import OF_BUDGET
    from anonrisk.policy.budgets import BUDGETS

    # The others are about several tables, or what one was made of: a batch is one table.
    beyond = {"max_suppressed", "differencing", "linked", "credibility"}
    assert {*OF_BUDGET, *beyond} == {*BUDGETS}
