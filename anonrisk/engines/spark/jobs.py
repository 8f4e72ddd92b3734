"""Jobs of ours on a cluster that others use too: named, ended by Ctrl-C, they alone.

Errors of Spark are replaced by ours: theirs may quote the cell that upset them.

Every action of the engine passes here; a test reads the sources for others.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from anonrisk.engines.one_state import asked_word
from anonrisk.errors import AnonRiskError, EngineError, SessionStoppedError, raise_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from pyspark.sql import DataFrame, Row, SparkSession

Gives = TypeVar("Gives")

# What is being done, in words without a cell; `guarded` sets it.
current_step: ContextVar[str] = ContextVar("anonrisk_doing_on_spark", default="read the table")
# Seconds in which Spark may plan a job that Ctrl-C came before: it is cancelled when it has begun.
_PATIENCE, _PAUSE = 30.0, 0.1


def collect(table: DataFrame) -> list[Row]:
    """Bring the rows of a small table to the driver."""
    return list(run(table.sparkSession, table.collect))


def count(table: DataFrame) -> int:
    """Count rows."""
    return int(run(table.sparkSession, table.count))


def run(session: SparkSession, action: Callable[[], Gives]) -> Gives:
    """Run an action under a name; when this thread is interrupted, cancel its jobs and no others.

    The action has a thread of its own, with all that the user has set for jobs of this one, which
    keeps it. An interrupt inside of py4j would close the connections of all threads.
    """
    word = asked_word.get()
    name = f"anonrisk{word and ' '}{word}: {current_step.get()}"
    # One of several calls of the same words, also by another process of the user.
    tag = f"{name} {uuid4().hex}"
    is_remote = type(session).__module__.startswith("pyspark.sql.connect.")
    begin: Callable[[], None] | None = None
    # A cluster may forbid names and tags; it still counts.
    with suppress(Exception):
        begin = _tagged(session, tag) if is_remote else _named(session, name, tag)
    work = _Work(begin, action)
    try:
        work.wait()
    except BaseException:
        until = time.monotonic() + _PATIENCE
        while not work.done.is_set() and time.monotonic() < until:
            with suppress(Exception):
                if is_remote:
                    session.interruptTag(tag)
                else:
                    session.sparkContext.cancelJobsWithTag(tag)
            work.done.wait(_PAUSE)
        raise
    return cast("Gives", work.result())


class _Work:
    """An action in a thread of its own."""

    def __init__(self, begin: Callable[[], None] | None, action: Callable[[], Any]) -> None:
        self.begin, self.action = begin, action
        self.done = threading.Event()
        self.error: BaseException | None = None
        # What is logged there is withheld as it is here.
        threading.Thread(target=copy_context().run, args=(self._run,), daemon=True).start()

    def _run(self) -> None:
        try:
            if self.begin is not None:
                with suppress(Exception):
                    self.begin()
            self.value = self.action()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self.error = error
        finally:
            self.done.set()

    def wait(self) -> None:
        with _ctrl_c.waiting():
            # Without a timeout Windows would not look for Ctrl-C.
            while not self.done.wait(1.0):
                pass

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def _named(session: SparkSession, name: str, tag: str) -> Callable[[], None]:
    """Return what gives a thread the properties of this one, and a name."""
    context: Any = session.sparkContext
    properties = context._jsc.sc().getLocalProperties().clone()  # noqa: SLF001
    # Since Spark 4 a session has tags beside.
    tags = session.getTags() if hasattr(session, "getTags") else ()

    def begin() -> None:
        context._jsc.sc().setLocalProperties(properties)  # noqa: SLF001
        for each in tags:
            session.addTag(each)
        context.setJobDescription(name)
        context.addJobTag(tag)

    return begin


def _tagged(session: SparkSession, tag: str) -> Callable[[], None]:
    """Return what gives a thread the tags of this one, and one more."""
    tags = session.getTags()

    def begin() -> None:
        for each in (*tags, tag):
            session.addTag(each)

    return begin


class _CtrlC:
    """A handler of Ctrl-C that raises KeyboardInterrupt where nothing but waiting is broken off.

    pyspark's own cancels all jobs of the context, whosever they are; Python's may raise inside of
    py4j. Pressed again, this one raises anywhere.
    """

    def __init__(self) -> None:
        self.is_waiting = self.is_pressed = False

    def __call__(self, _: int, __: FrameType | None) -> None:
        if self.is_waiting or self.is_pressed:
            self.is_pressed = False
            raise KeyboardInterrupt
        self.is_pressed = True

    def look(self) -> None:
        """Raise what was put off."""
        if self.is_pressed and threading.current_thread() is threading.main_thread():
            self.is_pressed = False
            raise KeyboardInterrupt

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Raise at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self.look()
        self.is_waiting = True
        try:
            yield
        finally:
            self.is_waiting = False


_ctrl_c = _CtrlC()


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt while waiting for Spark, or at the end; other handlers stay."""
    theirs = signal.getsignal(signal.SIGINT)
    known = theirs is signal.default_int_handler or (
        getattr(theirs, "__module__", "").startswith("pyspark.")
    )
    if not known or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _ctrl_c)
    try:
        yield
    finally:
        # A session that began inside has brought its own.
        if signal.getsignal(signal.SIGINT) is _ctrl_c:
            signal.signal(signal.SIGINT, theirs)
        _ctrl_c.look()


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
    token = current_step.set(doing)
    try:
        yield
    finally:
        current_step.reset(token)


@contextmanager
def guarded(doing: str) -> Iterator[None]:
    """Run some Spark code; let our own errors and Ctrl-C through and replace all others."""
    try:
        with _in_silence(), interruptible(), _saying(doing):
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
