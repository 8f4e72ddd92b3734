"""What Spark's libraries log on behalf of our calls is withheld; the rest is logged as ever."""

from __future__ import annotations

import logging
import threading

import pytest

from anonrisk import errors
from anonrisk.engines.spark import jobs

pytest.importorskip("pyspark")


@pytest.fixture
def heard():
    """Everything that is logged, by whomever."""
    records = []

    class Ear(logging.Handler):
        def emit(self, record):
            records.append(f"{record.name} {record.getMessage()} {record.exc_info} {vars(record)}")

    ear, root = Ear(level=1), logging.getLogger()
    named = [root, *(logging.getLogger(name) for name in ("py4j", "pyspark"))]
    before = [logger.level for logger in named]
    # Some other library may have cut a logger off from those above it.
    listened = [root, *(logger for logger in set(jobs._loggers()) if not logger.propagate)]
    for logger in listened:
        logger.addHandler(ear)
    for logger in named:
        logger.setLevel(1)
    yield records
    for logger in listened:
        logger.removeHandler(ear)
    for logger, level in zip(named, before, strict=True):
        logger.setLevel(level)


def telltale():
    """A logger by which pyspark tells of errors."""
    logger = pytest.importorskip("pyspark.logger", reason="this Spark has no such logger")
    return logger.PySparkLogger.getLogger("SQLQueryContextLogger")


def test_contexts_that_overlap_leave_nothing_behind(heard):
    first, second = jobs._in_silence(), jobs._in_silence()
    first.__enter__()
    second.__enter__()
    telltale().error("both")
    second.__exit__(None, None, None)
    telltale().error("one")
    first.__exit__(None, None, None)
    assert heard == []
    telltale().error("after")
    assert len(heard) == 1
    assert not telltale().disabled


def test_threads_that_overlap_do_not_disturb_each_other(heard):
    """One enters, another enters, the first leaves: the other is still silent, the first is not."""
    entered, left = threading.Barrier(3, timeout=10), threading.Barrier(3, timeout=10)

    def early():
        with jobs._in_silence():
            entered.wait()
        telltale().error("first, outside")
        left.wait()

    def late():
        with jobs._in_silence():
            entered.wait()
            left.wait()
            telltale().error("second, inside")
        telltale().error("second, outside")

    threads = [threading.Thread(target=call) for call in (early, late)]
    for thread in threads:
        thread.start()
    entered.wait()
    telltale().error("third, never inside")
    left.wait()
    for thread in threads:
        thread.join()
    said = sorted(one for record in heard for one in ("first", "second", "third") if one in record)
    assert said == ["first", "second", "third"]
    assert not any("second, inside" in record for record in heard)


def test_the_filter_is_added_once():
    for _ in range(3):
        with jobs._in_silence():
            pass
    assert telltale().filters.count(jobs._WITHHOLD) == 1


def test_an_error_ends_the_silence(heard):
    with pytest.raises(errors.EngineError), jobs.guarded("work"):
        raise ValueError
    telltale().error("after")
    assert len(heard) == 1


@pytest.mark.parametrize(
    "said",
    [
        "sun.misc.Unsafe or java.nio.DirectByteBuffer.<init>(long, int) not available",
        "java.lang.UnsupportedOperationException: getSubject is not supported",
        "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
    ],
)
def test_of_a_java_that_spark_does_not_know_it_is_said_which_go_with_it(said):
    with pytest.raises(errors.EngineError) as raised, jobs.guarded("count"):
        raise RuntimeError(said)
    assert str(raised.value).startswith("Spark could not count with this Java, or without one: ")
    assert "Spark 3.5 goes with Java 8, 11 or 17, Spark 4 with Java 17 or 21" in str(raised.value)


@pytest.fixture
def broken(spark):
    """Tables of the user's own making that fail when they are computed, and quote a cell."""
    from pyspark.sql import functions as f

    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    # In two halves, so that the plan does not hold the word.
    cells = spark.range(3).select(f.concat(f.lit("cana"), f.lit("ry")).alias("a"), "id")

    @f.udf("string")
    def refuse(cell):
        raise ValueError(f"cannot take {cell}")

    yield {
        "cast": cells.select(f.col("a").cast("int").alias("a"), "id"),
        "udf": cells.select(refuse("a").alias("a"), "id"),
    }
    spark.conf.set("spark.sql.ansi.enabled", before)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.spark("spark")
@pytest.mark.spark("connect")
@pytest.mark.parametrize("how", ["cast", "udf"])
def test_a_failed_job_of_ours_is_not_logged_with_its_cells(broken, how, heard):
    for call in (
        lambda table: table.anon.k("a"),
        lambda table: table.anon.ldiv("id", "a"),
        lambda table: table.anon.find_qids(),
        lambda table: table.anon.plan(["a", "id"], 2),
    ):
        with pytest.raises(errors.EngineError) as raised:
            call(broken[how])
        assert "canary" not in str(raised.value)
    assert [record for record in heard if "canary" in record] == []


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_a_failed_job_of_the_user_is_logged_as_ever(broken, heard):
    with pytest.raises(errors.EngineError):
        broken["cast"].anon.k("a")
    with pytest.raises(Exception, match="canary"):
        broken["cast"].collect()
    assert any("canary" in record for record in heard)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.spark("connect")
def test_the_client_of_connect_is_withheld_when_it_is_told_to_talk(broken, heard):
    client = logging.getLogger("pyspark.sql.connect.logging")
    before = client.disabled, client.level
    client.disabled, client.propagate = False, True
    client.setLevel("DEBUG")
    try:
        with pytest.raises(errors.EngineError):
            broken["cast"].anon.k("a")
        assert [record for record in heard if "canary" in record] == []
        with pytest.raises(Exception, match="canary"):
            broken["cast"].collect()
        assert any("canary" in record for record in heard)
    finally:
        client.disabled = before[0]
        client.setLevel(before[1])
