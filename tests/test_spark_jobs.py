"""Jobs of ours on a cluster of many: named, tagged, and ended by Ctrl-C, they alone."""

from __future__ import annotations

import ast
import logging
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from pyspark import SparkContext

import anonrisk
from anonrisk.engines.spark import jobs

SPARK = Path(anonrisk.__file__).parent / "engines" / "spark"
ACTIONS = {
    *("collect", "toPandas", "toArrow", "toLocalIterator", "first", "head", "take", "tail", "show"),
    *("isEmpty", "write", "foreach", "foreachPartition", "checkpoint", "localCheckpoint", "count"),
}


def is_action(call):
    """Whether a call of a method is an action of a table, and no function of `functions`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ACTIONS:
        return False
    plain = not call.args and not call.keywords
    return plain or call.func.attr not in ("count", "first")


def test_every_action_passes_one_place():
    found = set()
    for file in SPARK.glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        # What is handed over, to be called there.
        handed = {
            id(node)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "run"
            for node in ast.walk(call)
        }
        for node in ast.walk(tree):
            action = isinstance(node, ast.Call) and is_action(node)
            written = isinstance(node, ast.Attribute) and node.attr == "write"
            if (action or written) and id(node) not in handed:
                found.add(f"{file.name}: {ast.unparse(node)}")
    # A function of this engine, which returns a table.
    assert {text for text in found if "schema.write_roles" not in text} == set()


# ---- Ctrl-C without Spark -----------------------------------------------------------------------


def press():
    os.kill(os.getpid(), signal.SIGINT)


posix = pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")


@pytest.fixture
def theirs():
    """The handler that pyspark leaves: it reaches for everybody's jobs."""
    reached = []

    def signal_handler(*_):
        reached.append(True)
        raise KeyboardInterrupt

    signal_handler.__module__ = "pyspark.core.context"
    was = signal.signal(signal.SIGINT, signal_handler)
    yield signal_handler, reached
    signal.signal(signal.SIGINT, was)


@posix
def test_ctrl_c_waits_until_spark_was_told_all(theirs):
    handler, reached = theirs
    done = []
    with pytest.raises(KeyboardInterrupt), jobs.guarded("plan"):  # noqa: PT012
        press()
        done.append("plan")
    assert (done, reached) == (["plan"], [])
    assert signal.getsignal(signal.SIGINT) is handler
    # Nothing is left for the next call.
    with jobs.guarded("plan"):
        pass
    # Who presses twice does not want to wait.
    with pytest.raises(KeyboardInterrupt), jobs.guarded("plan"):  # noqa: PT012
        press()
        press()
        done.append("never")
    assert done == ["plan"]
    with jobs.guarded("plan"):
        pass


@posix
def test_handlers_of_others_stay():
    pressed = []
    was = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        with jobs.guarded("plan"):
            press()
        assert pressed == [True]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        mine = lambda *_: None  # noqa: E731
        with jobs.guarded("begin a session"):
            signal.signal(signal.SIGINT, mine)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, was)


def test_what_others_write_into_the_log_is_theirs(caplog):
    with jobs.guarded("work"):
        logging.warning("mine")  # noqa: LOG015
        logging.getLogger("py4j").warning("a cell")
    assert [record.getMessage() for record in caplog.records] == ["mine"]


# ---- on Spark -----------------------------------------------------------------------------------

MINE = "of the user"


def endless(spark):
    """Far more than is counted within a test, in small parts: Spark may end one that has begun."""
    return spark.range(200_000_000_000, numPartitions=2_000).selectExpr("id % 7 as q")


class Theirs(threading.Thread):
    """A job of the user in another thread, which does not end by itself."""

    def __init__(self, spark):
        super().__init__(daemon=True)
        self.spark = spark

    def run(self):
        remote = type(self.spark).__module__.startswith("pyspark.sql.connect")
        (self.spark.addTag if remote else self.spark.sparkContext.addJobTag)(MINE)
        try:
            endless(self.spark).selectExpr("sum(q)").collect()
        except Exception as error:  # noqa: BLE001
            self.error = error


def until(true, seconds=60):
    begun = time.monotonic()
    while not true():
        assert time.monotonic() < begun + seconds
        time.sleep(0.02)


def pressing(when):
    """Press Ctrl-C once something is true, from another thread."""

    def watch():
        until(when)
        press()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def active():
    """The tags of every job that runs, with its description; the server is in this process."""
    store = SparkContext._active_spark_context._jsc.sc().statusStore()
    of_all = store.jobsList(None)
    found = {}
    for i in range(of_all.size()):
        job = of_all.apply(i)
        if str(job.status()) == "RUNNING":
            tags, text = job.jobTags().mkString(",").split(","), job.description()
            found[job.jobId()] = {*tags}, "" if text.isEmpty() else text.get()
    return found


def ours():
    """Count the jobs of ours that run: Connect puts words of its own before a tag."""
    return sum("anonrisk" in str(tags) for tags, _ in active().values())


def mine():
    return sum(MINE in str(tags) for tags, _ in active().values())


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_jobs_say_what_they_count_and_keep_what_the_user_set(spark):
    context = spark.sparkContext
    table = spark.range(3).selectExpr("'secret' as zip")
    context.setJobDescription("nightly")
    context.addJobTag("team")
    context.setLocalProperty("spark.scheduler.pool", "small")
    try:
        store = context._jsc.sc().statusStore()
        before = store.jobsList(None).size()
        assert table.anon.k("zip") == 3
        assert table.anon.uniqueness("zip") == 0
        context._jsc.sc().listenerBus().waitUntilEmpty()
        found = [store.jobsList(None).apply(i) for i in range(store.jobsList(None).size() - before)]
        texts = {job.description().get() for job in found}
        assert "anonrisk k: count the classes" in texts
        assert "anonrisk uniqueness: count the classes" in texts
        for job in found:
            # Spark adds tags of its own.
            tags = job.jobTags().mkString(",").split(",")
            assert "team" in tags
            assert [tag for tag in tags if tag.startswith(job.description().get())]
            assert "secret" not in str(tags)
        assert context.getLocalProperty("spark.job.description") == "nightly"
        assert {*context.getJobTags()} == {"team"}
        assert context.getLocalProperty("spark.scheduler.pool") == "small"
    finally:
        context.setLocalProperty("spark.job.description", None)
        context.setLocalProperty("spark.scheduler.pool", None)
        context.removeJobTag("team")


@posix
@pytest.mark.slow
@pytest.mark.spark("spark")
def test_ctrl_c_ends_our_jobs_and_only_ours(spark, theirs):
    handler, reached = theirs
    other = Theirs(spark)
    other.start()
    try:
        until(mine)
        watcher = pressing(ours)
        with pytest.raises(KeyboardInterrupt):
            endless(spark).anon.k("q")
        watcher.join()
        until(lambda: not ours(), 10)
        assert mine()
        assert other.is_alive()
        assert not reached
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        spark.sparkContext.cancelJobsWithTag(MINE)
        other.join(60)
    assert "cancelled" in str(other.error).casefold()
    # The session goes on.
    assert spark.range(14).selectExpr("id % 7 as q").anon.k("q") == 2


@posix
@pytest.mark.slow
@pytest.mark.spark("spark")
def test_ctrl_c_ends_a_job_that_is_still_planned(spark):
    begun = threading.Event()

    def slow_plan():
        begun.set()
        time.sleep(1.5)
        return endless(spark).selectExpr("sum(q)").collect()

    pressing(begun.is_set)
    with pytest.raises(KeyboardInterrupt), jobs.guarded("plan for long"):
        jobs.run(spark, slow_plan)
    until(lambda: not ours(), 10)


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_a_cluster_that_forbids_names_still_counts(spark, monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(type(spark.sparkContext), "addJobTag", refused)
    table = spark.range(14).selectExpr("id % 7 as q")
    assert table.anon.k("q") == 2
    monkeypatch.setattr(jobs, "_named", refused)
    assert table.anon.k("q") == 2


@posix
@pytest.mark.slow
@pytest.mark.spark("connect")
def test_ctrl_c_on_connect_ends_our_operations_and_only_ours(spark):
    spark.addTag("team")
    asked = []

    def tagged():
        asked.append(spark.getTags())

    jobs.run(spark, tagged)
    assert "team" in asked[0]
    assert any(tag.startswith("anonrisk: read the table") for tag in asked[0])
    assert {*spark.getTags()} == {"team"}
    spark.removeTag("team")
    other = Theirs(spark)
    other.start()
    try:
        until(mine)
        watcher = pressing(ours)
        with pytest.raises(KeyboardInterrupt):
            endless(spark).anon.k("q")
        watcher.join()
        until(lambda: not ours(), 10)
        assert mine()
        assert other.is_alive()
    finally:
        spark.interruptTag(MINE)
        other.join(60)
    assert not other.is_alive()
    assert spark.range(14).selectExpr("id % 7 as q").anon.k("q") == 2
