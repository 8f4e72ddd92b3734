"""Cells that are objects whose own methods raise, and say the cell: nothing of it gets out."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import traceback
import warnings

import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk import AnonRiskError, Policy, errors

CANARY = "c4n4ry"


def cell_that_raises_in(method):
    def raises(self, *_):
        raise ValueError(f"{method} of {self.cell}")

    def init(self, cell):
        self.cell = cell

    plain = {"__eq__": object.__eq__, "__hash__": object.__hash__, "__repr__": lambda _: "object"}
    names = ("__repr__", "__str__") if method == "__repr__" else (method,)
    return type("Hostile", (), {"__init__": init, **plain, **dict.fromkeys(names, raises)})


METHODS = ("__hash__", "__eq__", "__repr__", "__lt__")


def table(method):
    kind = cell_that_raises_in(method)
    return pd.DataFrame({"a": [kind(CANARY) for _ in range(4)], "b": ["x", "x", "y", "y"]})


CALLS = {
    "k": lambda t: t.anon.k("a"),
    "unit": lambda t: t.anon.k("b", unit="a"),
    "ldiv": lambda t: t.anon.ldiv("b", "a"),
    "ordered": lambda t: t.anon.tcloseness("b", "a", distance="ordered"),
    "order": lambda t: t.anon.tcloseness("b", "a", distance="ordered", order=["x"]),
    "tree": lambda t: t.anon.tcloseness(
        "b", "a", distance="hierarchical", hierarchies={"any": ["x"]}
    ),
    "find_qids": lambda t: t.anon.find_qids(),
    "explain": lambda t: t.anon.explain_risk(["a", "b"]),
    "plan": lambda t: t.anon.plan(["a", "b"], 2),
    "generalize": lambda t: t.anon.generalize("a", prefix=1),
    "bins": lambda t: t.anon.generalize("a", bins=[1]),
    "top": lambda t: t.anon.generalize("a", top=1),
    "suppress": lambda t: t.anon.suppress("a", 2, cells=True),
    "microaggregate": lambda t: t.anon.microaggregate("a", 2),
    "permute": lambda t: t.anon.permute("b", by="a", seed=1),
    "perturb": lambda t: t.anon.perturb("a", scale=1, seed=1),
    "pseudonymize": lambda t: t.anon.pseudonymize("a", key=KEY),
    "summary": lambda t: t.anon.summary("b", by="a"),
    "trajectory": lambda t: t.anon.trajectory("a", unit="b", length=1),
    "users": lambda t: t.anon.trajectory("b", unit="a", length=1),
    "population": lambda t: t.anon.risk("a", population=t),
    "suda": lambda t: t.anon.suda(["a", "b"]),
    "utility": lambda t: anonrisk.utility(t, ["a"], original=t),
    "policy": lambda t: Policy(quasi="a", k=2).check(t).raise_for_status(),
    "groups": lambda t: Policy(quasi="b", by="a", k=2).check(t).raise_for_status(),
}


def quoted(error):
    """Return whether an error, or one that it was raised beside, quotes the cell."""
    told = "".join(traceback.format_exception(error))
    while error is not None:
        told += f"{error!r} {error}"
        error = error.__cause__ or error.__context__
    return CANARY in told


def says_nothing(call, frame):
    """Return whether a call answers, or refuses in words of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(frame)
        except AnonRiskError as error:
            return not quoted(error)
    return True


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CALLS)
def test_no_call_quotes_such_a_cell(name, method):
    assert says_nothing(CALLS[name], table(method))


def raising(kind, method):
    def raises(self, *_):
        raise ValueError(f"{method} of {CANARY}")

    return type("Hostile", (kind,), {method: raises})


@pytest.mark.parametrize("name", ["find_qids", "explain", "plan"])
@pytest.mark.parametrize(
    ("kind", "method"), [(str, "__str__"), (int, "__float__"), (float, "__float__")]
)
def test_text_and_numbers_that_raise_when_they_are_looked_at_later(kind, method, name):
    # Classes are counted by codes: only what is made of them looks at such a cell.
    cell = raising(kind, method)
    cells = pd.Series([cell(i) for i in range(40)], dtype="object")
    assert says_nothing(CALLS[name], pd.DataFrame({"a": cells, "b": range(40)}))


def test_errors_do_not_keep_what_they_replace():
    with pytest.raises(errors.UnsupportedColumnError) as raised:
        table("__hash__").anon.k("a")
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_memory_that_is_not_there_is_said(monkeypatch):
    from anonrisk.engines.numpy import count

    def full(*_):
        raise MemoryError

    monkeypatch.setattr(count, "class_sizes", full)
    with pytest.raises(MemoryError):
        table("__lt__").anon.k("b")


# ---- Great Expectations ------------------------------------------------------------------------


def expectations(gx):
    about_a = {"qids": ["a"]}
    return [
        gx.ExpectKAnonymityToBeAtLeast(**about_a, k=2),
        gx.ExpectKAnonymityToBeAtLeast(qids=["b"], unit="a", k=2),
        gx.ExpectKAnonymityToBeAtLeast(qids=["b"], k=2),
        gx.ExpectQidUniquenessToBeAtMost(**about_a, max_unique_fraction=0.1),
        gx.ExpectRecordsInSmallClassesToBeAtMost(**about_a, k=2, max_fraction_below_k=0.1),
        gx.ExpectReidentificationRiskToBeAtMost(**about_a, attacker="prosecutor", max_highest=0.5),
        gx.ExpectPredictedSingletonsToBeAtMost(**about_a, group_size=2, max_singletons=1),
        gx.ExpectPopulationUniquenessToBeAtMost(**about_a, population_size=100, max_fraction=0.1),
        gx.ExpectLDiversityToBeAtLeast(qids=["b"], sensitive="a", l=2, variant="distinct"),
        gx.ExpectTClosenessToBeAtMost(qids=["b"], sensitive="a", t=0.1, distance="equal"),
        gx.ExpectTClosenessToBeAtMost(qids=["b"], sensitive="a", t=0.1, distance="ordered"),
        gx.ExpectColumnsToBePublishable(direct=["x"]),
        gx.ExpectColumnsNotToBeQuasiIdentifiers(max_size=1, max_fraction=0.1),
    ]


@pytest.fixture
def heard():
    """What is logged, printed and warned of."""
    stream, root = io.StringIO(), logging.getLogger()
    handler, before = logging.StreamHandler(stream), root.level
    root.addHandler(handler)
    root.setLevel(1)
    with (
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        yield lambda: stream.getvalue() + str([str(one.message) for one in caught])
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_checkpoint_of_ours_says_nothing_of_such_a_cell(method, heard, monkeypatch):
    """Great Expectations hashes a pandas batch before it asks us; without that, nothing is said."""
    ge = pytest.importorskip("great_expectations")
    from great_expectations.execution_engine import pandas_execution_engine

    from anonrisk import gx

    monkeypatch.setattr(pandas_execution_engine, "HASH_THRESHOLD", 0)
    context = ge.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("s").add_dataframe_asset("t")
    batch = asset.add_batch_definition_whole_dataframe("b")
    suite = context.suites.add(ge.ExpectationSuite("s", expectations=expectations(gx)))
    validation = ge.ValidationDefinition(name="v", data=batch, suite=suite)
    context.validation_definitions.add(validation)
    checkpoint = context.checkpoints.add(
        ge.Checkpoint(name="c", validation_definitions=[validation], result_format="COMPLETE")
    )
    result = checkpoint.run({"dataframe": table(method)})
    assert not result.success
    assert CANARY not in json.dumps(result.describe_dict(), default=str) + str(result)
    assert CANARY not in heard()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_gate_says_nothing_of_such_a_cell(method, heard):
    ge = pytest.importorskip("great_expectations")
    from anonrisk import gx

    suite = ge.ExpectationSuite("s", expectations=expectations(gx))
    with pytest.raises(anonrisk.ReleaseBlocked) as raised:
        gx.run_gate(suite, table(method), result_format="COMPLETE")
    assert not quoted(raised.value)
    assert CANARY not in heard()
