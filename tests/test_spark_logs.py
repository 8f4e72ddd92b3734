"""What Spark's libraries log on behalf of our calls is withheld; the rest is logged as ever."""

from __future__ import annotations

import logging
import threading

import pytest

from anonrisk import errors
from anonrisk.engines.spark import guard

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
    root.addHandler(ear)
    for logger in named:
        logger.setLevel(1)
    yield records
    root.removeHandler(ear)
    for logger, level in zip(named, before, strict=True):
        logger.setLevel(level)


def telltale():
    """A logger by which pyspark tells of errors."""
    logger = pytest.importorskip("pyspark.logger", reason="this Spark has no such logger")
    return logger.PySparkLogger.getLogger("SQLQueryContextLogger")


def test_contexts_that_overlap_leave_nothing_behind(heard):
    first, second = guard._in_silence(), guard._in_silence()
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
        with guard._in_silence():
            entered.wait()
        telltale().error("first, outside")
        left.wait()

    def late():
        with guard._in_silence():
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
        with guard._in_silence():
            pass
    assert telltale().filters.count(guard._WITHHOLD) == 1


def test_an_error_ends_the_silence(heard):
    with pytest.raises(errors.EngineError), guard.guarded("work"):
        raise ValueError
    telltale().error("after")
    assert len(heard) == 1
