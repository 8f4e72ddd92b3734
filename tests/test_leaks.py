"""No cell leaves unless it is asked for: a canary in every cell, and every public call.

Which calls there are is read from the package: a new word is asked by itself (tests/every_call.py
has what it is asked), a new public name fails until it is.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import logging
import pkgutil
import traceback
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import canaries
import every_call
import pandas as pd
import pytest
from canaries import NUMBERS, POLICY, TABLES, N, has_canary, said
from keys import KEY

import anonrisk
from anonrisk import AnonRiskError, Ledger, Policy, Release
from anonrisk.accessor import FUNCTIONS
from anonrisk.cli import main
from anonrisk.hipaa import safe_harbor
from anonrisk.policy import set_name_detector
from anonrisk.predict import Answer, Distribution, JointTable, population
from anonrisk.priors import Prior, Repository

WORDS = dict(every_call.calls())


@pytest.fixture
def heard():
    """Everything that is logged, printed and warned of, at any level."""
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


def leaks(texts):
    return [text[:300] for text in texts if has_canary(text)]


def told_by(word, table, folder):
    """What a word answers, unless it is asked for cells, or the error that it raises."""
    try:
        answer = WORDS[word](table)
    except AnonRiskError as error:
        return ["".join(traceback.format_exception(error))]
    if word in canaries.GIVES_CELLS:
        return []
    return list(said(answer, {"path": folder / "saved.html"}))


def held_by_files(folder, *but):
    """Which files below a folder hold a canary."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in but]
    return [path for path in files if has_canary(path.read_bytes().decode("latin-1"))]


def built(frame, cells, folder):
    """A table of a kind; Spark reads it from a file: cells that a user writes into a query are the
    query's, and the bridge to Java logs that."""
    if frame.kind not in {"spark", "connect", "pandas_on_spark"}:
        return frame(cells)
    path = folder / "t.parquet"
    pd.DataFrame(cells).to_parquet(path, index=False)
    any_table = frame({"a": [1]})
    if frame.kind == "pandas_on_spark":
        return any_table.to_spark().sparkSession.read.parquet(str(path)).pandas_api()
    return any_table.sparkSession.read.parquet(str(path))


@pytest.mark.parametrize("which", TABLES)
@pytest.mark.parametrize("word", WORDS)
def test_no_word_says_a_cell(frame, word, which, heard, tmp_path):
    table, folder = built(frame, TABLES[which], tmp_path), tmp_path / "saved"
    folder.mkdir()
    assert leaks(told_by(word, table, folder)) == []
    assert not has_canary(heard())
    assert held_by_files(folder) == []


# One of a kind each, for engines of which every word is a job: counts, values, records, searches,
# plans, gates. The night asks them all.
FEW_WORDS = ("k", "ldiv", "at_risk", "find_qids", "plan", "Policy.check")
DATABASES = ("sqlite", "duckdb_sql", "datafusion", "postgresql")
FAR = ("spark", "connect", "pandas_on_spark", *DATABASES, "scan")


@pytest.mark.contract
@pytest.mark.kinds(
    *("pandas_nullable", "pandas_arrow", "pandas_object", "arrow", "arrow_more", *FAR)
)
def test_no_word_says_a_cell_on_any_engine(frame, heard, tmp_path):
    """Beside plain pandas, which is asked above by day; here a lane draws few of those."""
    table, folder = built(frame, TABLES["alike"], tmp_path), tmp_path / "saved"
    folder.mkdir()
    words, answered = FEW_WORDS if frame.kind in FAR else WORDS, 0
    for word in words:
        told = told_by(word, table, folder)
        assert leaks(told) == [], word
        assert not has_canary(heard()), word
        answered += not any(text.startswith("Traceback") for text in told[:1])
    assert held_by_files(folder) == []
    assert answered > len(words) / 2, "a refusal says no cell, and nothing else"


FLAWS = {
    "lists": lambda cells: [[cell] for cell in cells],
    "mixed": lambda cells: [number if number % 2 else cell for number, cell in enumerate(cells)],
    "missing": lambda cells: [None if number % 3 else cell for number, cell in enumerate(cells)],
    "bytes": lambda cells: [f"{cell}\udc80" for cell in cells],
}


@pytest.mark.parametrize("flaw", FLAWS)
@pytest.mark.parametrize("word", WORDS)
def test_no_word_says_a_cell_in_an_error(word, flaw, heard, tmp_path):
    cells = TABLES["alone"]
    broken = {name: pd.Series(FLAWS[flaw](cells[name]), dtype=object) for name in cells}
    assert leaks(told_by(word, pd.DataFrame(broken), tmp_path)) == []
    assert not has_canary(heard())


# ---- other public names -------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    tmp_path.chmod(0o700)
    return Ledger(tmp_path / "ledger.db", key=KEY, new=True)


def fine():
    """A policy that lets the canaries pass, so that they can be published."""
    return Policy(quasi="zip", unit="person", k=1, unlisted="ignore", differencing={"k": 2})


def release(name="first"):
    return Release({"t": canaries.table()}, fine(), name=name)


# Public names that are not words: what gives one that has seen the canaries, from a ledger.
THINGS = {
    "ClassSizes": lambda _: canaries.table().anon.classes(every_call.QID),
    "Ledger": lambda ledger: (release().publish(ledger, by="me"), ledger)[1],
    "Manifest": lambda ledger: release().publish(ledger, by="me"),
    "Plan": lambda _: canaries.table().anon.plan(every_call.QID, k=3, max_suppressed=1.0),
    "Policy": lambda _: Policy.draft(canaries.table()),
    "Release": lambda _: release(),
    "ReleaseVerdict": lambda ledger: release().check(ledger),
    "Roles": lambda _: canaries.table().anon.declare(quasi=every_call.QID).anon.roles(),
    "Sketch": lambda _: anonrisk.sketch(canaries.table(), every_call.QID, key=KEY),
    "State": lambda _: canaries.table().anon.state(every_call.QID, key=KEY),
    "Verdict": lambda _: POLICY.check(canaries.table()),
    "hipaa": lambda _: safe_harbor(canaries.table(), zips="zip", zip_population={"100": 99_999}),
    "policy.Explanation": lambda _: canaries.table().anon.explain_risk(every_call.QID),
    "predict.Distribution": lambda _: distribution(),
    "predict.JointTable": lambda _: JointTable(("zip",), {(cell,): 1 for cell in cells("zip")}),
    "predict.population.Sample": lambda _: sample(),
    "priors.Prior": lambda _: prior(),
    "priors.Repository": lambda ledger: repository(Path(ledger.place.removeprefix("SQLite file "))),
}


def cells(name):
    return TABLES["alike"][name]


def counted():
    return canaries.table("alike").anon.classes("zip")


def distribution():
    return Distribution.from_class_sizes(counted())


def sample():
    return population.Sample.of(counted(), 1000)


def prior():
    return Prior.of(counted(), population="us", by="me")


def repository(beside):
    made = Repository(beside.with_name("priors.db"), floor=1)
    made.publish(canaries.table("alike"), "zip", population="us", by="me")
    return made


def named_there(module):
    """Every public name of a module, with what it stands for."""
    found = import_module(f"anonrisk.{module}")
    defined = [name for name, thing in vars(found).items() if is_from(thing, found)]
    names = getattr(found, "__all__", defined)
    return {f"{module}.{name}": getattr(found, name) for name in names}


def is_from(thing, module):
    name = getattr(thing, "__name__", "_")
    return getattr(thing, "__module__", "") == module.__name__ and not name.startswith("_")


MODULES = [
    *("predict.population", "predict.zipf"),
    *(("policy.dbt.model", "policy.dbt.tests") if find_spec("sqlalchemy") else ()),
    *(
        one.name
        for one in pkgutil.iter_modules(anonrisk.__path__)
        if one.name not in canaries.OTHER_MODULES
        and not one.name.startswith("_")
        and hasattr(import_module(f"anonrisk.{one.name}"), "__all__")
    ),
]
NAMES = {name: thing for module in MODULES for name, thing in named_there(module).items()}
ASKED_BY_NAME = [
    name
    for name, thing in NAMES.items()
    if inspect.isfunction(thing) and name not in canaries.NOTHING_TO_SAY
]
# What functions are asked, by the names of their parameters: cells wherever they take lists.
GIVEN = {
    "alpha": 0.5,
    "answers": [Answer("zip", largest=True)],
    "beta": 0.5,
    "cost_per_group": 0.5,
    "counts": cells("income"),
    "covariance": [cells("income")] * N,
    "density": cells("income"),
    "exponent": 1.0,
    "f": 0.1,
    "group_size": 20,
    "histogram": {NUMBERS["hour"]: NUMBERS["hour"]},
    "items": cells("zip"),
    "laws": [],
    "max_fraction": 0.5,
    "n": 10,
    "n_cells": 10,
    "name": "t",
    "p": 0.01,
    "per_value": 1.0,
    "phi": lambda x: cells("zip")[0],
    "population": 1000,
    "probabilities": cells("income"),
    "singletons": [20],
    "t": 0.5,
    "values": cells("income"),
    "weight": cells("income"),
    "width": 1.0,
    "widths": cells("income"),
    "zips": "zip",
    "zip_population": dict.fromkeys(cells("zip"), 99_999),
}


def given(which):
    """The rest of it, once there is a table to count."""
    joint = pd.DataFrame({"zip": cells("zip"), "sex": cells("sex"), "count": 1})
    policy = Policy(quasi="zip", k=2)
    return {
        **GIVEN,
        "frame": canaries.table(which),
        "joint": joint,
        "known": distribution(),
        "policy": policy,
        "prior": prior(),
        "sample": sample(),
    }


def returned(function):
    """The name of the class that a function says it returns."""
    said_to_be = inspect.signature(function).return_annotation
    return said_to_be if isinstance(said_to_be, str) else getattr(said_to_be, "__name__", "")


def test_every_public_name_is_asked():
    words = {function.__name__ for function in FUNCTIONS}
    nothing = {*canaries.NOTHING_TO_SAY}
    outside = {name for name in {*THINGS} | nothing if "." not in name}
    assert words | outside == {*anonrisk.__all__}
    assert words | {"Policy.check"} == {*WORDS}
    assert words >= {*canaries.GIVES_CELLS}
    answers = {returned(NAMES[name]) for name in ASKED_BY_NAME} | {*map(returned, FUNCTIONS)}
    unasked = {
        name
        for name, thing in NAMES.items()
        if name not in {*ASKED_BY_NAME, *THINGS} | nothing
        and getattr(thing, "__name__", name) not in answers | {*anonrisk.__all__}
    }
    assert unasked == set(), "say in THINGS what gives one, or why it has nothing to say"


@pytest.mark.parametrize("name", ASKED_BY_NAME)
def test_no_function_of_another_module_says_a_cell(name, heard, tmp_path):
    function, more = NAMES[name], {"path": tmp_path / "saved.html"}
    try:
        answer = function(**canaries.arguments(name, None, function, given("alike")))
    except AnonRiskError as error:
        told = ["".join(traceback.format_exception(error))]
    else:
        told = said(answer, given("alike") | more)
    assert leaks(told) == []
    assert not has_canary(heard())
    assert held_by_files(tmp_path) == []


def raising(texts):
    raise ValueError(texts)


DETECTORS = {
    "fails": raising,
    "says the texts": lambda texts: texts,
    "says too little": lambda texts: texts[:1],
    "says yes": lambda texts: [True for _ in texts],
    "says nothing": print,
}


@pytest.mark.parametrize("which", DETECTORS)
def test_what_a_detector_of_names_is_shown_is_not_said(which, heard):
    """It is shown cells, and it may print them: what we say of it has none."""
    policy, seen = Policy(quasi="zip", sensitive="value", k=1, unlisted="ignore"), []
    set_name_detector(lambda texts: (seen.extend(texts), DETECTORS[which](texts))[1])
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            verdict = policy.check(canaries.table())
    finally:
        set_name_detector(None)
    assert has_canary(seen)
    assert verdict.status == "could_not_assess"
    assert leaks(said(verdict, {})) == []
    assert not has_canary(heard())


# ---- groups -------------------------------------------------------------------------------------

BY = {
    "Policy.check": lambda table: Policy(
        quasi="zip", k=5, by="sex", unlisted="ignore", max_unique_fraction=0.1
    ).check(table)
} | {
    function.__name__: lambda table, ask=function: ask(table, "zip", by="sex")
    for function in FUNCTIONS
    if "by" in inspect.signature(function).parameters
    and function.__name__ not in canaries.GIVES_CELLS
}


@pytest.mark.contract
@pytest.mark.parametrize("word", BY)
def test_a_group_is_told_and_nothing_else_is(frame, word, heard, tmp_path):
    table = built(frame, canaries.GROUPED, tmp_path)
    told = list(said(BY[word](table), {"path": tmp_path / "saved.html"}))
    assert any(canaries.GROUP in text for text in told)
    assert leaks(told) == []
    assert not has_canary(heard())


# ---- objects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THINGS)
def test_no_public_object_says_a_cell(name, ledger, heard, tmp_path):
    more = {"path": tmp_path / "saved.html", "ledger": ledger, "data": canaries.table("alike")}
    more |= {"population": "us", "number": 1}
    assert leaks(said(THINGS[name](ledger), more)) == []
    assert not has_canary(heard())
    assert (tmp_path / "ledger.db").stat().st_size
    assert held_by_files(tmp_path) == []


def test_a_blocked_release_says_no_cell():
    with pytest.raises(anonrisk.ReleaseBlocked) as raised:
        POLICY.check(canaries.table()).raise_for_status()
    told = "".join(traceback.format_exception(raised.value))
    assert leaks([told, *said(raised.value.verdict, {})]) == []


# ---- files --------------------------------------------------------------------------------------

COMMANDS = {
    "check": ["--policy", "p.json", "--json"],
    "measure": ["--qids", "zip", "sex"],
    "find-qids": [],
    "report": ["--policy", "p.json", "--output", "r.html"],
    "explore": ["--qids", "zip", "sex", "--output", "e.html"],
    "plan": ["--qids", "zip", "sex", "--k", "3", "--output", "plan.json"],
    "draft": ["--output", "draft.yaml"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_or_writes_a_cell(command, tmp_path, monkeypatch, heard):
    monkeypatch.chdir(tmp_path)
    canaries.table().to_csv("t.csv", index=False)
    (tmp_path / "p.json").write_text(POLICY.to_json(), encoding="utf-8")
    with contextlib.suppress(SystemExit):
        main([command, "t.csv", *COMMANDS[command]])
    assert heard()
    assert not has_canary(heard())
    assert held_by_files(tmp_path, "t.csv") == []


@pytest.mark.slow
def test_data_docs_and_stored_results_hold_no_cell(tmp_path, heard):
    ge = pytest.importorskip("great_expectations")
    context = ge.get_context(mode="file", project_root_dir=tmp_path)
    asset = context.data_sources.add_pandas("s").add_dataframe_asset("t")
    batch = asset.add_batch_definition_whole_dataframe("b")
    suite = context.suites.add(POLICY.to_suite())
    validation = ge.ValidationDefinition(name="v", data=batch, suite=suite)
    context.validation_definitions.add(validation)
    docs = ge.checkpoint.UpdateDataDocsAction(name="docs")
    checkpoint = ge.Checkpoint(
        name="c", validation_definitions=[validation], actions=[docs], result_format="COMPLETE"
    )
    context.checkpoints.add(checkpoint)
    result = checkpoint.run({"dataframe": canaries.table()})
    assert not result.success
    assert not has_canary(json.dumps(result.describe_dict(), default=str) + str(result))
    assert list(tmp_path.rglob("*.html"))
    assert held_by_files(tmp_path) == []
    assert not has_canary(heard())


# ---- what Spark writes --------------------------------------------------------------------------


@pytest.fixture
def written_by_spark(spark, tmp_path):
    """The events of this session, and what Java logs of our calls, as files of a folder."""
    context, jvm = spark.sparkContext, spark.sparkContext._jvm
    scala, log4j = context._jsc.sc(), jvm.org.apache.logging.log4j
    folder = tmp_path / "spark"
    folder.mkdir()
    conf = scala.conf().clone().set("spark.eventLog.compress", "false")
    where = jvm.java.net.URI(folder.as_uri())
    none = getattr(getattr(jvm.scala, "Option$"), "MODULE$").empty()
    events = jvm.org.apache.spark.scheduler.EventLoggingListener("events", none, where, conf)
    events.start()
    scala.addSparkListener(events)
    appender = log4j.core.appender.FileAppender.newBuilder()
    appender = appender.setName("leaks").withFileName(str(folder / "log")).build()
    appender.start()
    loggers = log4j.LogManager.getContext(False)
    root = loggers.getConfiguration().getRootLogger()
    before = root.getLevel()
    root.addAppender(appender, log4j.Level.DEBUG, None)
    root.setLevel(log4j.Level.DEBUG)
    loggers.updateLoggers()
    yield folder
    root.removeAppender("leaks")
    root.setLevel(before)
    loggers.updateLoggers()
    scala.listenerBus().waitUntilEmpty()
    scala.removeSparkListener(events)
    events.stop()
    appender.stop()
    (kept,) = folder.rglob("events_1_*")
    assert "SparkListenerJobEnd" in kept.read_text(encoding="utf-8")
    assert (folder / "log").stat().st_size
    assert held_by_files(folder) == []


def asked_on_spark(spark, words, folder):
    # Read from a file: cells that are written into a query would be the query's.
    canaries.table("alike").to_parquet(folder / "t.parquet", index=False)
    table = spark.read.parquet(str(folder / "t.parquet"))
    for word in words:
        with contextlib.suppress(AnonRiskError):
            WORDS[word](table)


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_neither_events_nor_logs_of_spark_hold_a_cell(spark, written_by_spark, tmp_path):
    asked_on_spark(spark, ["k", "ldiv", "Policy.check"], tmp_path)


@pytest.mark.nightly
@pytest.mark.spark("spark")
@pytest.mark.filterwarnings("ignore::anonrisk.errors.ApproximationWarning")
def test_they_do_not_whatever_is_asked(spark, written_by_spark, tmp_path):
    asked_on_spark(spark, WORDS, tmp_path)
