"""No cell leaves unless it is asked for: a canary in every cell, and every public call.

Which calls there are is read from the package: a new word is asked by itself (tests/every_call.py
has what it is asked), a new public name fails until it is.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import traceback
import warnings

import canaries
import every_call
import pandas as pd
import pytest
from canaries import POLICY, TABLES, has_canary, said
from keys import KEY

import anonrisk
from anonrisk import AnonRiskError, Ledger, Policy, Release
from anonrisk.accessor import FUNCTIONS
from anonrisk.cli import main

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


@pytest.mark.parametrize("which", TABLES)
@pytest.mark.parametrize("word", WORDS)
def test_no_word_says_a_cell(frame, word, which, heard, tmp_path):
    table, folder = frame(TABLES[which]), tmp_path / "saved"
    folder.mkdir()
    assert leaks(told_by(word, table, folder)) == []
    assert not has_canary(heard())
    assert held_by_files(folder) == []


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
    "Plan": lambda _: canaries.table().anon.plan(every_call.QID, k=3, max_suppression=1.0),
    "Policy": lambda _: Policy.draft(canaries.table()),
    "Release": lambda _: release(),
    "ReleaseVerdict": lambda ledger: release().check(ledger),
    "Roles": lambda _: canaries.table().anon.declare(quasi=every_call.QID).anon.roles(),
    "Sketch": lambda _: canaries.table().anon.sketch(every_call.QID, key=KEY),
    "State": lambda _: canaries.table().anon.state(every_call.QID, key=KEY),
    "Verdict": lambda _: POLICY.check(canaries.table()),
    "hipaa": lambda _: None,  # a module; its functions give tables back
}
# They hold nothing of a table, or give the table itself.
NOTHING_TO_SAY = {"AnonRiskError", "ReleaseBlocked", "__version__", "anon", "scan", "table"}


def test_every_public_name_is_asked():
    words = {function.__name__ for function in FUNCTIONS}
    assert words | {*THINGS} | NOTHING_TO_SAY == {*anonrisk.__all__}
    assert words | {"Policy.check"} == {*WORDS}
    assert words >= canaries.GIVES_CELLS


@pytest.mark.parametrize("name", THINGS)
def test_no_public_object_says_a_cell(name, ledger, heard, tmp_path):
    more = {"path": tmp_path / "saved.html", "ledger": ledger}
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
def test_they_do_not_whatever_is_asked(spark, written_by_spark, tmp_path):
    asked_on_spark(spark, WORDS, tmp_path)
