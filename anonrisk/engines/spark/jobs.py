"""Jobs of ours on a cluster that others use too: named, and ended by Ctrl-C, they alone.

Every action of the engine passes here; a test reads the sources for others.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from anonrisk.engines.one_state import asked_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from pyspark.sql import DataFrame, Row, SparkSession

Gives = TypeVar("Gives")

# What is being done, in words without a cell; `guard.guarded` sets it.
doing: ContextVar[str] = ContextVar("anonrisk_doing_on_spark", default="read the table")
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
    name = f"anonrisk{word and ' '}{word}: {doing.get()}"
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
