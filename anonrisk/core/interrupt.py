"""Ctrl-C, or a time limit, in the middle of long work: what is known so far is given, marked.

No signal handler is installed, so that KeyboardInterrupt comes where Python raises it: between any
two steps of Python's, after a call of NumPy has come back, in the main thread alone. What is given
afterwards must therefore rest on what one assignment or one `append` has put down.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING

from anonrisk.core import progress
from anonrisk.core.arguments import positive
from anonrisk.errors import warn_of_stop

if TYPE_CHECKING:
    from collections.abc import Iterator


class TimeLimit:
    """When work must end, and which parts of it ended early for that."""

    def __init__(self, deadline: float = math.inf) -> None:
        """Begin with nothing cut short."""
        self.deadline = deadline
        self.cut_short: dict[str, None] = {}


_clock: ContextVar[TimeLimit | None] = ContextVar("anonrisk_clock", default=None)


def seconds_of(time_limit: float | None) -> float:
    """Read a time limit; None is for ever."""
    return math.inf if time_limit is None else positive(time_limit, "time_limit")


@contextmanager
def limited(time_limit: float | None) -> Iterator[TimeLimit]:
    """Limit the work inside to so many seconds, or those left of an outer limit; None: no limit.

    Nothing is cut short by itself: work that can end early asks `time_is_up`.

    Examples
    --------
    >>> with limited(1e-9) as clock:
    ...     time_is_up("adding up")
    True
    >>> list(clock.cut_short)
    ['adding up']
    >>> with limited(None):
    ...     time_is_up("adding up")
    False
    """
    outer = _clock.get() or TimeLimit()
    clock = TimeLimit(min(outer.deadline, monotonic() + seconds_of(time_limit)))
    token = _clock.set(clock)
    try:
        yield clock
    finally:
        _clock.reset(token)


def time_is_up(doing: str | None = None) -> bool:
    """Return whether the time limit is over; then what is being done, if told, was cut short."""
    clock = _clock.get()
    if clock is None or monotonic() <= clock.deadline:
        return False
    if doing is not None:
        clock.cut_short[doing] = None
    return True


class Interruption:
    """Whether work was stopped by Ctrl-C."""

    stopped = False

    def keep(self, done: int, total: int, what: str) -> bool:
        """Go on with what is done, and warn that it is not all; without any of it, stop for good.

        Parameters
        ----------
        done, total : int
            How much is done, of how much.
        what : str
            What is counted, as ``"sets decided"``.

        Returns
        -------
        bool
            Whether the work was stopped.
        """
        if self.stopped:
            if not done:
                raise KeyboardInterrupt
            progress.hide()
            warn_of_stop(stopped_after(done, total, what))
        return self.stopped


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Let Ctrl-C end the block, and nothing else.

    Examples
    --------
    >>> squares = []
    >>> with interruptible() as interruption:
    ...     for i in range(3):
    ...         squares.append(i * i)
    >>> interruption.keep(len(squares), 3, "squares")
    False
    """
    interruption = Interruption()
    try:
        yield interruption
    except KeyboardInterrupt:
        interruption.stopped = True


def stopped_after(done: int, total: int, what: str) -> str:
    """Return how far work came that was stopped.

    Examples
    --------
    >>> stopped_after(1_200, 4_950, "sets decided")
    'stopped: 1,200 of 4,950 sets decided'
    """
    return f"stopped: {done:,} of {total:,} {what}"
