"""Ctrl-C in the middle of long work: what is known so far is given, marked, or the work ends.

No signal handler is installed, so that KeyboardInterrupt comes where Python raises it: between any
two steps of Python's, after a call of NumPy has come back, in the main thread alone. What is given
afterwards must therefore rest on what one assignment or one `append` has put down.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from anonrisk.core import progress
from anonrisk.errors import warn_of_stop

if TYPE_CHECKING:
    from collections.abc import Iterator


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
