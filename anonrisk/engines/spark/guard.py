"""Errors of Spark, replaced by ours: theirs may quote the cell that upset them."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from anonrisk.engines.spark import jobs
from anonrisk.errors import AnonRiskError, EngineError, SessionStoppedError, raise_alone

if TYPE_CHECKING:
    from collections.abc import Iterator

# What Spark says, in one version or another, when the session of a table is gone.
_STOPPED = (
    "stopped sparkcontext",
    "sparksession should be created first",
    "sparkcontext was shut down",
    "session_or_context_not_exists",
    "no_active_session",
    "session_closed",
    "session_not_found",
)
# What it says on a Java that it does not know: too new for its Arrow, or for all of it; too old, or
# none at all.
_OTHER_JAVA = (
    "sun.misc.unsafe or java.nio.directbytebuffer",
    "getsubject is not supported",
    "java_gateway_exited",
)


# Loggers of pyspark 4 that write an error, with the cell it quotes, to standard error.
_TELLTALES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
# Whose loggers write down, most of them at level DEBUG, what Spark answers, and with it the error.
_TALKATIVE = ("py4j", "pyspark", "grpc")
_inside: ContextVar[int] = ContextVar("anonrisk_inside_spark", default=0)


class _Withhold(logging.Filter):
    """Drops what Spark's libraries log on behalf of a call of ours, in whichever thread that is.

    Other threads, and the user's own calls before and after, are logged as ever.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if not _inside.get():
            return True
        return record.name == "root" and "py4j" not in record.pathname


_WITHHOLD = _Withhold()


def _loggers() -> Iterator[logging.Logger]:
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        # Spark 3.5 has no such loggers.
        pass
    else:
        # Made by pyspark's own class: a plain logger of that name would break its calls to it.
        yield from (PySparkLogger.getLogger(name) for name in _TELLTALES)
    # A filter is asked by its own logger alone, not by those below it.
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and name.partition(".")[0] in _TALKATIVE:
            yield logger
    # py4j writes some of its errors there.
    yield logging.getLogger()


@contextmanager
def _in_silence() -> Iterator[None]:
    for logger in _loggers():
        # Does nothing where it was done before.
        logger.addFilter(_WITHHOLD)
    # Counted, because contexts need not end in the order in which they began.
    _inside.set(_inside.get() + 1)
    try:
        yield
    finally:
        _inside.set(max(_inside.get() - 1, 0))


@contextmanager
def _saying(doing: str) -> Iterator[None]:
    token = jobs.doing.set(doing)
    try:
        yield
    finally:
        jobs.doing.reset(token)


@contextmanager
def guarded(doing: str) -> Iterator[None]:
    """Run some Spark code; let our own errors and Ctrl-C through and replace all others."""
    try:
        with _in_silence(), jobs.interruptible(), _saying(doing):
            yield
    except AnonRiskError as error:
        raise_alone(error)
    except Exception as error:  # noqa: BLE001
        # Asking an error for its text is a call to Spark too, whose answer would be logged.
        with _in_silence():
            ours = _ours(error, doing)
        raise_alone(ours)


def _ours(error: Exception, doing: str) -> EngineError:
    text = str(error).casefold()
    # Classic Spark without a context fails in a bare assertion, or on what is None by then.
    bare = isinstance(error, AssertionError) and not text
    gone = isinstance(error, AttributeError) and text.startswith("'nonetype' object")
    if bare or gone or any(phrase in text for phrase in _STOPPED):
        return SessionStoppedError(f"cannot {doing}: the Spark session of this table has stopped")
    if any(phrase in text for phrase in _OTHER_JAVA):
        return EngineError(
            f"Spark could not {doing} with this Java, or without one: Spark 3.5 goes with Java 8, "
            "11 or 17, Spark 4 with Java 17 or 21; JAVA_HOME says which one Spark is started with"
        )
    return EngineError(
        f"Spark could not {doing} ({_condition(error)}); its message is withheld because it may "
        "quote a cell. Look for it in Spark's log."
    )


def _condition(error: Exception) -> str:
    """Name the kind of error, without a word of its text."""
    # Before Spark 4 it has the other name, which Spark 4 warns of.
    named = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return str((named and named()) or type(error).__name__)
