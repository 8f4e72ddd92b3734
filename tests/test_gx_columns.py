"""Great Expectations: columns that nobody declared, searched for what singles people out."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import pandas as pd
import pytest

import anonrisk

gxp = pytest.importorskip("great_expectations")

import databases  # noqa: E402
from tables import spark_table  # noqa: E402

from anonrisk import gx  # noqa: E402
from anonrisk.errors import ReleaseBlocked, StoppedWarning  # noqa: E402
from anonrisk.gx import metrics  # noqa: E402

SECRET = "Xavier-7741"
ODD = 'zip "x". `code`'
# Alone with one column is who lacks a code; with two, at most a third are, and more with three.
CELLS = {
    ODD: [SECRET, SECRET, "b", "b", "b", None],
    "age": [30, 30, 40, 40, 50, 50],
    "sex": ["f", "f", "f", "m", "m", "m"],
    "who": [1, 2, 3, 4, 5, 5],
}
E = gx.ExpectColumnsNotToBeQuasiIdentifiers


@pytest.fixture(scope="module")
def context():
    return gxp.get_context(mode="ephemeral")


@pytest.fixture(scope="module")
def batch_of(context):
    source, numbers = context.data_sources.add_pandas("pandas"), iter(range(1000))

    def make(frame):
        asset = source.add_dataframe_asset(f"a{next(numbers)}")
        return asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": frame})

    return make


def result_of(batch, expectation, **parameters):
    suite = gxp.ExpectationSuite(name="s", expectations=[expectation])
    found = batch.validate(suite, result_format="SUMMARY", expectation_parameters=parameters)
    (result,) = found.results
    assert SECRET not in json.dumps(found.to_json_dict())
    return result


def gated(suite, frame, **more):
    return gx.run_gate(suite, frame, unlisted="ignore", **more)


def details(result):
    return result.result["details"]


def message(result):
    assert result.success is False
    assert result.exception_info["raised_exception"]
    return result.exception_info["exception_message"]


# ---- the same as the library ----------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.1, 0.4, 0.5, 0.99])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_it_fails_exactly_where_the_library_finds_a_set(batch_of, share, size):
    frame = pd.DataFrame(CELLS)
    columns = [ODD, "age", "sex"]
    # An oracle: every set, counted by pandas; those without a smaller one in them are minimal.
    minimal = {}
    for n in range(1, size + 1):
        for chosen in combinations(columns, n):
            alone = frame.groupby(list(chosen), dropna=False).size().eq(1).sum() / len(frame)
            if alone > share and not any(set(one) < set(chosen) for one in minimal):
                minimal[chosen] = alone
    result = result_of(batch_of(frame), E(declared=["who"], max_size=size, max_fraction=share))
    assert result.success is (not minimal)
    assert details(result)["searched"] == 3
    assert details(result)["records"] == 6
    found = {tuple(one["columns"]): one["share"] for one in details(result)["sets"]}
    assert found == pytest.approx(minimal)
    assert result.result["observed_value"] == len(minimal)


@pytest.mark.spark("spark")
def test_spark_says_the_same(context, batch_of, spark):
    asset = context.data_sources.add_spark("spark", persist=False).add_dataframe_asset("a")
    batch = asset.add_batch_definition_whole_dataframe("b").get_batch(
        {"dataframe": spark_table(spark, CELLS)}
    )
    asked = E(declared="who", max_size=2, max_fraction=0.3)
    expected = result_of(batch_of(pd.DataFrame(CELLS)), asked)
    assert expected.success is False
    assert details(result_of(batch, asked)) == details(expected)


def test_persons_and_named_columns(batch_of):
    batch = batch_of(pd.DataFrame(CELLS))
    # Persons 1 to 4 are told apart by nothing; 5 is alone at the age of 50.
    asked = {"columns": ["age"], "max_size": 1, "unit": "who"}
    result = result_of(batch, E(max_fraction=0.1, **asked))
    assert result.success is False
    assert "1 set of columns singles out more than 10.0% of the 5 persons" in str(result)
    assert result_of(batch, E(max_fraction=0.2, **asked)).success
    assert details(result_of(batch, E(columns="sex", max_size=1, max_fraction=0)))["found"] == 0


def test_a_condition_leaves_rows_out(batch_of):
    from great_expectations.expectations.row_conditions import Column

    batch = batch_of(pd.DataFrame(CELLS))
    asked = {"columns": ["sex"], "max_size": 1, "max_fraction": 0.1}
    assert result_of(batch, E(**asked)).success
    result = result_of(batch, E(row_condition=Column("age") == 40, **asked))
    assert result.success is False
    assert details(result)["records"] == 2


def test_look_alikes_fail_whatever_the_share(batch_of):
    emails = pd.DataFrame({"mail": [f"p{i}@example.org" for i in range(100)] * 2})
    result = result_of(batch_of(emails), E(max_size=1, max_fraction=0.5))
    assert result.success is False
    assert "Column mail seems to be a direct identifier: looks like an e-mail" in str(result)
    assert (details(result)["found"], details(result)["look_alikes"]) == (0, 1)
    ids = pd.DataFrame({"id": range(100), "sex": ["f", "m"] * 50})
    result = result_of(batch_of(ids), E(max_size=1, max_fraction=0.5))
    assert result.success is False
    assert "nearly every value is different (100.0% singletons)" in str(result)
    result = result_of(batch_of(ids), E(declared=["id"], max_size=1, max_fraction=0))
    assert result.success


# ---- what cannot be assessed ----------------------------------------------------------------


def test_what_cannot_be_searched_does_not_pass(batch_of, monkeypatch):
    asked = {"max_size": 2, "max_fraction": 0.9}
    nested = pd.DataFrame({"sex": ["f", "f"], "tags": [[1], [1]]})
    assert "'tags'" in message(result_of(batch_of(nested), E(**asked)))
    # Declared, it is nobody's business here.
    assert result_of(batch_of(nested), E(declared="tags", **asked)).success
    # Found is found, and what could not be searched is told beside it.
    alone = nested.assign(sex=["f", "m"])
    result = result_of(batch_of(alone), E(**asked))
    assert details(result)["status"] == "fail"
    assert "1 set of columns singles out" in details(result)["sentence"]
    assert "not searched: " in details(result)["sentence"]
    assert "'tags'" in message(result)
    twice = pd.DataFrame([["f", "x"], ["f", "x"]], columns=["sex", "sex"])
    assert "2 columns" in message(result_of(batch_of(twice), E(**asked)))
    indexed = pd.DataFrame({"sex": ["f", "f"]}, index=pd.Index(["a", "b"], name="name"))
    assert "in the index" in message(result_of(batch_of(indexed), E(**asked)))
    assert result_of(batch_of(indexed), E(declared="name", **asked)).success
    plain = batch_of(pd.DataFrame(CELLS))
    told = message(result_of(plain, E(columns=["aged"], **asked)))
    assert "did you mean 'age'?" in told
    assert "'whom'" in message(result_of(plain, E(unit="whom", **asked)))
    assert message(result_of(batch_of(pd.DataFrame({"a": []})), E(**asked)))
    assert message(result_of(batch_of(pd.DataFrame(index=[0, 1])), E(**asked)))

    found = anonrisk.find_qids

    def out_of_time(*given, **more):
        return replace(found(*given, **more), n_settled=0)

    monkeypatch.setattr(anonrisk, "find_qids", out_of_time)
    same = pd.DataFrame({"sex": ["f", "f"]})
    assert "not complete" in message(result_of(batch_of(same), E(**asked)))


def test_what_was_found_before_ctrl_c_does_not_pass(batch_of, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("anonrisk.measures.find_qids._Search._grow", stop)
    # Nobody is alone with one column, and somebody with both.
    table = pd.DataFrame({"age": [1, 1, 2, 2, 2], "sex": list("fmffm")})
    with pytest.warns(StoppedWarning, match="stopped: 2 of 3 sets decided"):
        result = result_of(batch_of(table), E(max_size=2, max_fraction=0))
    assert not result.success
    assert "not complete" in message(result)


def test_an_error_that_quotes_a_cell_is_withheld(batch_of, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(metrics.anonrisk, "find_qids", broken)
    result = result_of(batch_of(pd.DataFrame(CELLS)), E(max_size=1, max_fraction=0))
    assert "withheld" in message(result)


def test_every_column_is_declared(batch_of):
    result = result_of(
        batch_of(pd.DataFrame(CELLS)), E(declared=list(CELLS), max_size=4, max_fraction=0)
    )
    assert result.success
    assert "Every column is declared" in details(result)["sentence"]


def test_a_database_is_searched(context, batch_of, request, tmp_path):
    engine = databases.connect("sqlite", request, tmp_path)
    with engine.begin() as connection:
        databases.write(connection, "t", CELLS)
    url = engine.url.render_as_string(hide_password=False)
    source = context.data_sources.add_sqlite("sqlite", connection_string=url)
    batch = source.add_table_asset("t", table_name="t").add_batch_definition_whole_table("t")
    for most in (0, 0.99):
        asked = {"max_size": 2, "max_fraction": most}
        found = result_of(batch.get_batch(), E(**asked))
        expected = result_of(batch_of(pd.DataFrame(CELLS)), E(**asked))
        assert (found.success, details(found)) == (expected.success, details(expected))


# ---- suites, gates, pages -------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_size": 0},
        {"max_size": 1.5},
        {"max_size": True},
        {"max_fraction": 1},
        {"max_fraction": -0.1},
        {"max_fraction": float("nan")},
        {"max_fraction": "0.1"},
        {"columns": []},
        {"columns": ["a", "a"]},
        {"columns": [1]},
        {"columns": {"PARAMETER": "x"}},
        {"declared": {"PARAMETER": "x"}},
        {"unit": {"PARAMETER": "x"}},
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        E(**{"max_size": 1, "max_fraction": 0.1, **wrong})


def test_limits_have_no_defaults():
    for missing in ({"max_size": 1}, {"max_fraction": 0.1}):
        with pytest.raises(ValueError, match="required"):
            E(**missing)


def test_suites_come_back_and_parameters_are_filled_in():
    suite = gxp.ExpectationSuite(
        name="s",
        expectations=[
            E(columns=["a"], declared=["b"], max_size=2, max_fraction=0.5, severity="warning"),
            E(declared={"$PARAMETER": "known"}, max_size=3, max_fraction={"$PARAMETER": "most"}),
        ],
    )
    text = gx.suite_to_json(suite)
    again = gx.load_suite(json.loads(text))
    assert again.expectations == suite.expectations
    asked = gxp.ExpectationSuite(name="t", expectations=suite.expectations[1:])
    frame = pd.DataFrame(CELLS)
    known = {"known": [ODD, "who"]}
    assert gated(asked, frame, expectation_parameters={**known, "most": 0.5}).success
    for wrong in ({**known, "most": 0.3}, {**known, "most": 2}, {**known, "most": "0.5"}, known):
        with pytest.raises(ReleaseBlocked):
            gated(asked, frame, expectation_parameters=wrong)


def test_the_gate_knows_it():
    suite = gxp.ExpectationSuite(name="g", expectations=[E(max_size=2, max_fraction=0.2)])
    assert gated(suite, pd.DataFrame({"sex": ["f", "f"], "age": [1, 1]})).success
    with pytest.raises(ReleaseBlocked, match=r"sex most, with 100\.0%"):
        gated(suite, pd.DataFrame({"sex": ["f", "m"]}))


def test_sentences():
    asked = E(columns=["a", "b", "c"], declared="c", max_size=2, max_fraction=0.05)
    (content,) = asked._prescriptive_renderer(configuration=asked.configuration)
    shown = content.string_template
    sentence = shown["template"]
    for name in sorted(shown["params"], key=len, reverse=True):
        sentence = sentence.replace(f"${name}", shown["params"][name])
    assert sentence == (
        "No set of at most 2 columns of a, b, c that are not declared (c) singles out more than "
        "5% of the records."
    )
