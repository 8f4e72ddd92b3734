"""A gate of Great Expectations holds the suite that its policy gives, against all of a table."""

from __future__ import annotations

import copy
import json

import pandas as pd
import pytest

from anonrisk import Policy, Verdict
from anonrisk.errors import ArgumentError, ReleaseBlocked

gxp = pytest.importorskip("great_expectations")

from great_expectations.expectations.row_conditions import Column  # noqa: E402

from anonrisk import gx  # noqa: E402

pytestmark = pytest.mark.slow

CELLS = {"zip": ["a"] * 4, "ill": ["flu", "cold"] * 2}
POLICY = Policy(
    name="release",
    quasi="zip",
    sensitive="ill",
    direct="name",
    missing_sensitive="error",
    k=2,
    ldiv={"l": 2},
)
COLUMNS, K, LDIV = range(3)


def stored(policy=POLICY):
    return json.loads(gx.suite_to_json(policy.to_suite("s")))


def kwargs(document, which):
    return document["expectations"][which]["kwargs"]


def with_condition(document):
    asked = kwargs(document, K)
    chosen = gx.ExpectKAnonymityToBeAtLeast(**asked, row_condition=Column("zip") == "a")
    asked["row_condition"] = chosen.configuration.to_json_dict()["kwargs"]["row_condition"]


def in_both_places(document):
    kwargs(document, K).update(k=1)
    document["meta"]["anonrisk"]["policy"]["budgets"].update(k=1)


WEAKENED = {
    "a limit": lambda document: kwargs(document, K).update(k=1),
    "a diversity": lambda document: kwargs(document, LDIV).update(l=1),
    "a severity": lambda document: document["expectations"][K].update(severity="warning"),
    "an expectation": lambda document: document["expectations"].pop(LDIV),
    "the expectation about columns": lambda document: document["expectations"].pop(COLUMNS),
    "a direct identifier": lambda document: kwargs(document, COLUMNS).update(direct=[]),
    "columns without a role": lambda document: kwargs(document, COLUMNS).update(unlisted="ignore"),
    "missing diagnoses": lambda document: kwargs(document, LDIV).update(missing_sensitive="value"),
    "some rows": with_condition,
    "its policy": lambda document: document["meta"]["anonrisk"]["policy"]["budgets"].update(k=1),
    "both": in_both_places,
    "what cannot be read": lambda document: document["meta"]["anonrisk"].update(policy={"k": 5}),
}


def weaker(name):
    document = stored()
    WEAKENED[name](document)
    return gx.load_suite(document)


def checkpoint_of(suite, *actions):
    context = gxp.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("p").add_dataframe_asset("a")
    return checkpoint_on(
        context, asset.add_batch_definition_whole_dataframe("b"), suite, list(actions)
    )


def checkpoint_on(context, data, suite, actions):
    validation = context.validation_definitions.add(
        gxp.ValidationDefinition(name="v", data=data, suite=context.suites.add(suite))
    )
    return context.checkpoints.add(
        gxp.Checkpoint(name="c", validation_definitions=[validation], actions=actions)
    )


# The kinds of table that Great Expectations has an engine for, without a database.
TAKEN = ("pandas", "pandas_nullable", "pandas_arrow", "pandas_object", "spark", "connect")


def test_the_suite_of_a_policy_passes_as_it_is(frame):
    table = frame(CELLS)
    if frame.kind not in TAKEN:
        with pytest.raises(ReleaseBlocked, match="takes tables of pandas and Spark"):
            gx.run_gate(gx.load_suite(stored()), table, policy_digest=POLICY.digest)
        return
    result = gx.run_gate(gx.load_suite(stored()), table, policy_digest=POLICY.digest)
    verdict = Verdict.from_json(json.dumps(result.meta["anonrisk"]))
    assert verdict == POLICY.check(table)
    assert stored()["meta"]["anonrisk"] == {"policy": POLICY.to_dict(), "digest": POLICY.digest}


def test_a_checkpoint_passes_with_the_suite_as_it_is():
    action = gx.AnonriskGateAction.requiring(POLICY.to_suite("s"))
    assert action.policy_digests == {"s": POLICY.digest}
    checkpoint = checkpoint_of(POLICY.to_suite("s"), action)
    table = pd.DataFrame(CELLS)
    assert checkpoint.run({"dataframe": table}).success
    assert gx.run_gate(checkpoint, table, policy_digest=POLICY.digest).success


@pytest.mark.parametrize("name", WEAKENED)
def test_a_suite_that_was_weakened_does_not_pass(name):
    table = pd.DataFrame(CELLS)
    with pytest.raises(ReleaseBlocked, match="suite 's'") as blocked:
        gx.run_gate(weaker(name), table)
    assert blocked.value.verdict.status == "could_not_assess"
    action = gx.AnonriskGateAction.requiring(POLICY.to_suite("s"))
    with pytest.raises(ReleaseBlocked, match="suite 's'") as blocked:
        checkpoint_of(weaker(name), action).run({"dataframe": table})
    assert blocked.value.verdict.status == "could_not_assess"
    with pytest.raises(ReleaseBlocked, match="suite 's'"):
        gx.run_gate(checkpoint_of(weaker(name)), table)


def test_a_suite_that_was_made_stricter_passes():
    document = stored()
    more = {"type": "expect_k_anonymity_to_be_at_least", "kwargs": {"qids": ["zip"], "k": 3}}
    document["expectations"].append(more)
    assert gx.run_gate(gx.load_suite(document), pd.DataFrame(CELLS)).success
    more["kwargs"]["k"] = 5
    with pytest.raises(ReleaseBlocked, match="at least 5 are required"):
        gx.run_gate(gx.load_suite(document), pd.DataFrame(CELLS))


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"advisory": True}, "it reports, and passes no table"), ({}, "k: 2 only warns")],
)
def test_what_data_docs_are_made_of_fails_where_no_table_can_pass(changed, told):
    policy = Policy(quasi=["zip", "ill"], k={"at_least": 2, "severity": "warn"}, **changed)
    checkpoint = checkpoint_of(policy.to_suite("s"))
    # Great Expectations alone, without a gate: the limit is kept, and no table passes it.
    result = checkpoint.run({"dataframe": pd.DataFrame(CELLS)})
    assert not result.success
    about, k = next(iter(result.run_results.values())).results
    assert (about.success, k.success) == (False, True)
    assert told in about.result["details"]["sentence"]
    with pytest.raises(ReleaseBlocked) as blocked:
        gx.run_gate(checkpoint, pd.DataFrame(CELLS))
    assert str(blocked.value).count(told) == 1
    assert not policy.check(pd.DataFrame(CELLS))


def without_meta():
    document = stored()
    kwargs(document, K).update(k=1)
    del document["meta"]
    return gx.load_suite(document)


def of_another_policy():
    asked = POLICY.to_dict()
    return Policy.from_dict({**asked, "budgets": {**asked["budgets"], "k": 1}}).to_suite("s")


@pytest.mark.parametrize("make", [without_meta, of_another_policy])
def test_a_policy_that_is_pinned_is_the_one_that_is_held(make):
    table = pd.DataFrame({"zip": ["a", "a", "b"], "ill": ["flu", "cold", "flu"]})
    told = f"suite 's' was not made from the policy {POLICY.digest}"
    with pytest.raises(ReleaseBlocked, match=told):
        gx.run_gate(make(), table, policy_digest=POLICY.digest)
    action = gx.AnonriskGateAction.requiring(POLICY.to_suite("s"))
    with pytest.raises(ReleaseBlocked, match=told):
        checkpoint_of(make(), action).run({"dataframe": table})


def test_a_suite_made_by_hand_looks_at_every_column_or_says_so():
    alone = gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=2)
    named = gx.ExpectColumnsToBePublishable(classified=["zip", "ill"])
    table = pd.DataFrame(CELLS)

    def suite(*expectations):
        return gxp.ExpectationSuite(name="s", expectations=list(map(copy.copy, expectations)))

    with pytest.raises(ReleaseBlocked, match="does not look at columns that it does not name"):
        gx.run_gate(suite(alone), table)
    assert gx.run_gate(suite(alone, named), table).success
    with pytest.raises(ReleaseBlocked, match="1 column has no role"):
        gx.run_gate(suite(alone, named), table.assign(note=1))
    result = gx.run_gate(suite(alone), table, unlisted="ignore")
    assert result.meta["anonrisk"]["coverage"]["not_looked_at"] == ["ill"]
    with pytest.raises(ArgumentError, match="'ignore', or left out"):
        gx.run_gate(suite(alone), table, unlisted="refuse")
    for unlisted, passes in ((None, False), ("ignore", True)):
        action = gx.AnonriskGateAction.requiring(suite(alone), unlisted=unlisted)
        checkpoint = checkpoint_of(suite(alone), action)
        if passes:
            assert checkpoint.run({"dataframe": table}).success
            continue
        with pytest.raises(ReleaseBlocked, match="does not look at columns"):
            checkpoint.run({"dataframe": table})


def test_columns_join_in_every_expectation_or_in_none():
    about = gx.ExpectColumnsToBePublishable(classified=["zip"], unlisted="quasi")
    k = gx.ExpectKAnonymityToBeAtLeast
    joining = k(qids="zip", k=2, unlisted="quasi", classified=["zip"])
    for one, told in ((k(qids="zip", k=2), "say unlisted='quasi' in all"), (joining, "has 1 rec")):
        suite = gxp.ExpectationSuite(name="s", expectations=[about, one])
        with pytest.raises(ReleaseBlocked, match=told):
            gx.run_gate(suite, pd.DataFrame({"zip": ["a"] * 2, "note": ["x", "y"]}))


# ---- several batches ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """Two files: in the first everybody is alone, in the last nobody."""
    (tmp_path / "t_2020-01.csv").write_text("zip\nu1\nu2\n", encoding="utf-8")
    (tmp_path / "t_2020-02.csv").write_text("zip\na\na\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def files(folder):
    context = gxp.get_context(mode="ephemeral")
    source = context.data_sources.add_pandas_filesystem("f", base_directory=folder)
    return context, source.add_csv_asset("c")


SUITE = Policy(quasi="zip", k=2).to_suite("s")


def test_the_last_of_two_files_does_not_speak_for_both(files):
    context, asset = files
    both = asset.add_batch_definition("x")
    with pytest.raises(ReleaseBlocked, match="'x' stands for 2 batches") as blocked:
        gx.run_gate(SUITE, both)
    assert blocked.value.verdict.status == "could_not_assess"
    with pytest.raises(ReleaseBlocked, match="one of 2, and does not say whether it was chosen"):
        gx.run_gate(SUITE, both.get_batch())
    action = gx.AnonriskGateAction.requiring(SUITE)
    checkpoint = checkpoint_on(context, both, Policy(quasi="zip", k=2).to_suite("s"), [action])
    with pytest.raises(ReleaseBlocked, match="'x' stands for 2 batches"):
        checkpoint.run()
    with pytest.raises(ReleaseBlocked, match="'x' stands for 2 batches"):
        gx.run_gate(checkpoint)


def test_one_file_is_one_batch(files):
    _, asset = files
    for path, passes in (("t_2020-01.csv", False), ("t_2020-02.csv", True)):
        one = asset.add_batch_definition_path(path, path=path)
        for batch in (one, one.get_batch()):
            if passes:
                assert gx.run_gate(SUITE, batch).success
                continue
            with pytest.raises(ReleaseBlocked, match="has 1 record"):
                gx.run_gate(SUITE, batch)


def test_batches_that_cannot_be_counted_do_not_pass(files, monkeypatch):
    context, asset = files
    one = asset.add_batch_definition_path("one", path="t_2020-02.csv")
    batch = one.get_batch()
    checkpoint = checkpoint_on(context, one, Policy(quasi="zip", k=2).to_suite("s"), [])
    assert gx.run_gate(checkpoint).success

    def broken(*_, **__):
        raise RuntimeError("MARKER")

    monkeypatch.setattr(type(asset), "get_batch_identifiers_list", broken)
    for run in ((SUITE, one), (SUITE, batch), (checkpoint,)):
        with pytest.raises(ReleaseBlocked, match=r"cannot be counted \(RuntimeError\)") as blocked:
            gx.run_gate(*run)
        assert "MARKER" not in str(blocked.value)
