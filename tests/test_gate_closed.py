"""A gate that cannot tell never passes: ways in which one could have been left open."""

from __future__ import annotations

import pandas as pd
import pytest

from anonrisk import Policy
from anonrisk.errors import ArgumentError, ReleaseBlocked

gxp = pytest.importorskip("great_expectations")

import databases  # noqa: E402

from anonrisk import gx  # noqa: E402

CELLS = {"zip": ["a"] * 6, "who": [1] * 6, "ill": ["flu", "cold"] * 3}


def table(**more):
    return pd.DataFrame({**CELLS, **more})


def gate(*expectations, frame=None, unlisted="ignore", **more):
    """Run a suite made by hand, which is about the columns that it names."""
    suite = gxp.ExpectationSuite(name="s", expectations=list(expectations))
    frame = table() if frame is None else frame
    return gx.run_gate(suite, frame, unlisted=unlisted, **more)


def p(name):
    return {"$PARAMETER": name}


K = gx.ExpectKAnonymityToBeAtLeast
RISK = gx.ExpectReidentificationRiskToBeAtMost


@pytest.mark.parametrize(
    "expectation",
    [
        K(qids="zip", k=5, unit=p("u")),
        RISK(qids="zip", attacker="prosecutor", max_average=1, max_highest=p("u")),
        gx.ExpectQidUniquenessToBeAtMost(
            qids="zip", max_unique_fraction=1, max_unique_records=p("u")
        ),
        gx.ExpectColumnsToBePublishable(direct=["name"], classified=p("u")),
        gx.ExpectColumnsNotToBeQuasiIdentifiers(
            max_size=1, max_fraction=0.5, declared=["who"], unit=p("u")
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_suite_parameter_that_is_none_takes_nothing_away(expectation):
    with pytest.raises(ReleaseBlocked, match=r"suite parameter of \w+ has no value"):
        gate(expectation, expectation_parameters={"u": None})


def test_none_that_nobody_asked_for_is_left_out():
    assert gate(K(qids="zip", k=5, unit=None, max_dropped_fraction=None)).success


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_what_could_not_be_assessed_blocks_at_any_severity(severity):
    with pytest.raises(ReleaseBlocked, match="'zap' is not a column"):
        gate(K(qids="zap", k=5, severity=severity))
    with pytest.raises(ReleaseBlocked, match="no records"):
        gate(K(qids="zip", k=5, severity=severity), frame=table().iloc[:0])
    # What was measured and failed is told, and does not block.
    told = K(qids="zip", k=99, severity=severity)
    assert gate(told, K(qids="zip", k=2)).success is False
    with pytest.raises(ReleaseBlocked, match=r"no table can fail what is asked: k: 99 only warns"):
        gate(told)
    # Where warnings decide, it is a gate.
    with pytest.raises(ReleaseBlocked, match="at least 99 are required") as no:
        gate(told, block_on=severity)
    assert no.value.verdict.status == "fail"


def test_a_unit_changed_at_random_cannot_be_assessed():
    frame = table(who=list(range(6))).anon.permute("who", seed=1)
    with pytest.raises(ReleaseBlocked, match="unit 'who' was changed at random"):
        gate(K(qids="zip", k=5, unit="who"), frame=frame)


FOREIGN = "expect_column_to_exist"


@pytest.mark.parametrize(
    "required",
    [
        {},
        {"s": {}},
        {"s": {"expect_k_anonymity_to_be_at_least": 0}},
        {"s": {"expect_k_anonymity_to_be_at_least": True}},
        {"s": {"expect_the_unknown": 1}},
        {"s": {FOREIGN: 1}},
        {"s": 1},
        [],
    ],
    ids=str,
)
def test_a_gate_that_requires_nothing_is_refused(required):
    with pytest.raises(ArgumentError, match="required"):
        gate(K(qids="zip", k=1), required=required)


def test_a_gate_may_require_others_beside_ours():
    other = gxp.expectations.ExpectColumnToExist(column="zip")
    required = {"s": {"expect_k_anonymity_to_be_at_least": 1, FOREIGN: 1}}
    assert gate(K(qids="zip", k=2), other, required=required).success


PUBLISHABLE = gx.ExpectColumnsToBePublishable(direct=["name"], classified=list(CELLS))


@pytest.mark.parametrize(
    "nothing", [table().iloc[:0], pd.DataFrame(), pd.DataFrame(index=range(3))]
)
def test_nothing_is_not_publishable(nothing):
    with pytest.raises(ReleaseBlocked, match=r"no column|no records"):
        gate(PUBLISHABLE, frame=nothing)


def test_an_empty_table_in_a_database_is_not_publishable(request, tmp_path):
    engine = databases.connect("sqlite", request, tmp_path)
    context = gxp.get_context(mode="ephemeral")
    source = context.data_sources.add_sqlite("s", connection_string=str(engine.url))
    for name, cells in (("full", CELLS), ("empty", {key: [] for key in CELLS})):
        with engine.begin() as connection:
            databases.write(connection, name, cells)
        asset = source.add_table_asset(name, table_name=name)
        batch = asset.add_batch_definition_whole_table(name).get_batch()
        if name == "full":
            assert gate(PUBLISHABLE, frame=batch).success
            continue
        with pytest.raises(ReleaseBlocked, match="no records"):
            gate(PUBLISHABLE, frame=batch)


def test_what_a_table_declares_direct_blocks():
    frame = table().anon.declare(quasi="zip", direct="who")
    with pytest.raises(ReleaseBlocked, match="direct identifiers: 'who'"):
        gate(K(qids="zip", k=2), frame=frame)
    assert gate(K(qids="zip", k=2), frame=frame.drop(columns="who")).success
    context = gxp.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("s").add_dataframe_asset("a")
    batch = asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": frame})
    with pytest.raises(ReleaseBlocked, match="direct identifiers: 'who'"):
        gate(PUBLISHABLE, frame=batch)


def test_a_suite_that_cannot_be_read_is_an_error_of_ours(tmp_path):
    with pytest.raises(ArgumentError, match=r"cannot read the suite .*No such file"):
        gx.run_gate(tmp_path / "none.json", table())
    for written in (b"{", b"\xff\xfe"):
        (tmp_path / "s.json").write_bytes(written)
        with pytest.raises(ArgumentError, match="is not JSON"):
            gx.load_suite(tmp_path / "s.json")
    kind = "expect_k_anonymity_to_be_at_least"
    for wrong, told in (
        ({"kwargs": {"qids": ["zip"], "k": "5"}}, "k: "),
        ({"kwargs": {"qids": ["zip"]}}, "k: field required"),
        ({"kwargs": {"qids": ["zip"], "k": 5, "unti": "who"}}, "unti: extra"),
        ({"kwargs": 5}, "not those of an expectation"),
        ({"kwargs": {}, "colour": 1}, "not those of an expectation"),
        ({"kwargs": {"qids": ["zip"], "k": 5}, "severity": "dire"}, "severity|not those"),
    ):
        with pytest.raises(ArgumentError, match=rf"expectation 0 of the suite .*({told})"):
            gx.load_suite({"name": "s", "expectations": [{"type": kind, **wrong}]})


@pytest.mark.parametrize("wrong", ["5", 0, 2.5, [5]])
def test_a_parameter_of_a_wrong_kind_is_named(wrong):
    with pytest.raises(ReleaseBlocked, match=r"suite parameter is missing or wrong: .*\bk\b"):
        gate(K(qids="zip", k=p("limit")), expectation_parameters={"limit": wrong})


def test_labels_without_a_name_are_not_classified():
    assert gate(PUBLISHABLE).success
    with pytest.raises(ReleaseBlocked, match="rows have labels without a name"):
        gate(PUBLISHABLE, frame=table().set_axis(list("uvwxyz")))


def test_a_gate_that_measures_nothing_says_so():
    ignoring = gx.ExpectColumnsToBePublishable(classified=list(CELLS), unlisted="ignore")
    with pytest.raises(ReleaseBlocked, match="no table can fail what the suite asks") as no:
        gate(ignoring)
    assert no.value.verdict.status == "could_not_assess"
    with pytest.raises(ReleaseBlocked, match="k: 1 is somebody alone"):
        gate(ignoring, K(qids="zip", k=1))
    assert gate(ignoring, K(qids="zip", k=2)).success
    # Columns without a role are enough to fail.
    classified = gx.ExpectColumnsToBePublishable(classified=list(CELLS))
    assert gate(classified).meta["anonrisk"]["status"] == "pass"
    with pytest.raises(ReleaseBlocked, match="has no role"):
        gate(classified, frame=table(more=list("uvwxyz")))


def test_the_last_of_several_batches_does_not_speak_for_all(tmp_path):
    (tmp_path / "t_2020-01.csv").write_text("zip\nu1\nu2\n", encoding="utf-8")
    (tmp_path / "t_2020-02.csv").write_text("zip\na\na\n", encoding="utf-8")
    context = gxp.get_context(mode="ephemeral")
    files = context.data_sources.add_pandas_filesystem("f", base_directory=tmp_path)
    monthly = files.add_csv_asset("c").add_batch_definition_monthly(
        "m", regex=r"t_(?P<year>\d{4})-(?P<month>\d{2})\.csv"
    )
    suite = context.suites.add(Policy(quasi="zip", k=2).to_suite("s"))
    with pytest.raises(ReleaseBlocked, match="'m' stands for 2 batches"):
        gx.run_gate(suite, monthly)
    checkpoint = context.checkpoints.add(
        gxp.Checkpoint(
            name="c",
            validation_definitions=[
                context.validation_definitions.add(
                    gxp.ValidationDefinition(name="v", data=monthly, suite=suite)
                )
            ],
            actions=[gx.AnonriskGateAction.requiring(suite)],
        )
    )
    with pytest.raises(ReleaseBlocked, match="'m' stands for 2 batches"):
        checkpoint.run()
    with pytest.raises(ReleaseBlocked, match="'m' stands for 2 batches"):
        gx.run_gate(checkpoint)
    assert gx.run_gate(checkpoint, {"year": 2020, "month": 2}).success
    with pytest.raises(ReleaseBlocked, match="has 1 record"):
        gx.run_gate(checkpoint, {"year": 2020, "month": 1})


def test_a_renamed_direct_identifier_blocks():
    declared = pd.DataFrame({"zip": ["a"] * 4, "name": list("abcd")}).anon.declare(
        quasi="zip", direct="name"
    )
    renamed = declared.rename(columns={"name": "nm"})
    with pytest.raises(ReleaseBlocked, match="'name' is gone and column 'nm' is new"):
        gate(K(qids="zip", k=2), frame=renamed)
    publishable = gx.ExpectColumnsToBePublishable
    assert gate(K(qids="zip", k=2), frame=declared.drop(columns="name")).success
    known = publishable(direct=["name"], classified=["zip", "nm"])
    assert gate(K(qids="zip", k=2), known, frame=renamed, unlisted=None).success


def test_nothing_to_search_does_not_pass():
    searched = gx.ExpectColumnsNotToBeQuasiIdentifiers
    asked = {"max_size": 1, "max_fraction": 0.0}
    with pytest.raises(ReleaseBlocked, match="no records"):
        gate(searched(declared=list(CELLS), **asked), frame=table().head(0))
    with pytest.raises(ReleaseBlocked, match="'zzz' is not a column"):
        gate(searched(columns=["zzz"], declared=["zzz"], **asked))


# What Great Expectations makes of a table that it does not know is not for it to tell.
@pytest.mark.parametrize(("module", "kind"), [("pyarrow", "table"), ("polars", "DataFrame")])
def test_a_table_of_arrow_is_not_validated(module, kind):
    build = getattr(pytest.importorskip(module), kind)
    with pytest.raises(ReleaseBlocked, match="takes tables of pandas and Spark: convert this one"):
        gate(K(qids="zip", k=5), frame=build(CELLS))
