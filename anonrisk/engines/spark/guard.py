"""Errors of Spark, replaced by ours: theirs may quote the cell that upset them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from anonrisk.errors import AnonRiskError, EngineError, SessionStoppedError

if TYPE_CHECKING:
    import logging
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


# Loggers of pyspark 4 that write an error, with the cell it quotes, to standard error.
_TELLTALES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def _telltales() -> list[logging.Logger]:
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        # Spark 3.5 has no such loggers.
        return []
    # Made by pyspark's own class: a plain logger of that name would break pyspark's calls to it.
    return [PySparkLogger.getLogger(name) for name in _TELLTALES]


@contextmanager
def _in_silence() -> Iterator[None]:
    loggers = _telltales()
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def guarded(doing: str) -> Iterator[None]:
    """Run some Spark code; let our own errors through and replace all others."""
    try:
        with _in_silence():
            yield
    except AnonRiskError:
        raise
    except Exception as error:  # noqa: BLE001
        raise _ours(error, doing) from None


def _ours(error: Exception, doing: str) -> EngineError:
    text = str(error).casefold()
    # Classic Spark without a context fails in a bare assertion, or on what is None by then.
    bare = isinstance(error, AssertionError) and not text
    gone = isinstance(error, AttributeError) and text.startswith("'nonetype' object")
    if bare or gone or any(phrase in text for phrase in _STOPPED):
        return SessionStoppedError(f"cannot {doing}: the Spark session of this table has stopped")
    return EngineError(
        f"Spark could not {doing} ({_condition(error)}); its message is withheld because it may "
        "quote a cell. Look for it in Spark's log."
    )


def _condition(error: Exception) -> str:
    """Name the kind of error, without a word of its text."""
    # Spark 4 has the first one, and warns of the other.
    ask = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return str((ask and ask()) or type(error).__name__)
