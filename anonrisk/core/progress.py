"""How far long work is, and how Ctrl-C or a time limit ends it.

What is known so far is then returned, marked as partial.

Long work is begun under `shown`, and whatever it does on any floor says so by `tell`. A thread of
its own looks at what was told last: the work itself never waits, and a step that takes minutes, as
a job of Spark, is seen to be under way.

No signal handler is installed, so that KeyboardInterrupt comes where Python raises it: between any
two steps of Python's, after a call of NumPy has come back, in the main thread alone. What is given
afterwards must therefore rest on what one assignment or one `append` has put down.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from anonrisk.core.arguments import positive, true_or_false
from anonrisk.errors import warn_of_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Who waits for less than this needs no company.
PATIENCE = 2.0
# Seconds between two looks: often enough to be seen to move, seldom enough to cost nothing. What is
# no terminal keeps every line.
_ON_A_TERMINAL = 0.2
_IN_A_FILE = 10.0


class Told(NamedTuple):
    """What is being done, and how much of it is done where that is known."""

    doing: str
    done: int = 0
    total: int = 0

    def line(self, seconds: float) -> str:
        """Write it in one line.

        Examples
        --------
        >>> Told("sets of 2 columns", 1_200, 4_950).line(12.3)
        'sets of 2 columns: 1,200 of 4,950 (12 s)'
        >>> Told("counting the items").line(2.0)
        'counting the items (2 s)'
        """
        part = f": {self.done:,} of {self.total:,}" if self.total else ""
        return f"{self.doing}{part} ({seconds:.0f} s)"


class _Followed:
    """The work that is under way, by what was told of it last, and how to stop showing it."""

    progress = Told("working")
    hide: Callable[[], None] = staticmethod(lambda: None)


_current: ContextVar[_Followed | None] = ContextVar("anonrisk_progress", default=None)


def tell(doing: str, done: int = 0, total: int = 0) -> None:
    """Report what is being done, and how much of it is done; costs nothing where nobody looks.

    Parameters
    ----------
    doing : str
        In words; no name of a column and no cell.
    done, total : int
        How much is done, of how much; left out where nobody can tell.
    """
    followed = _current.get()
    if followed is not None:
        followed.progress = Told(doing, done, total)


def hide() -> None:
    """Wipe what is shown, for good: something is about to be written that stays."""
    followed = _current.get()
    if followed is not None:
        followed.hide()


@contextmanager
def shown(*, progress: bool | None = None) -> Iterator[None]:
    """Show what is told inside; work within work is shown with what it is part of.

    Parameters
    ----------
    progress : bool or None
        None: by itself, after two seconds, on a terminal or in a notebook, and not in tests or on a
        build server. True: at once and anywhere, to standard error. False: never.

    Examples
    --------
    >>> with shown():
    ...     for done in range(3):
    ...         tell("adding up", done, 3)
    """
    screen = _screen(progress=progress)
    if screen is None or _current.get() is not None:
        yield
        return
    followed = _Followed()
    follower = _Follower(followed, screen, 0.0 if progress else PATIENCE)
    token = _current.set(followed)
    # In the same context: a notebook knows by it which cell an output belongs to.
    thread = threading.Thread(target=copy_context().run, args=(follower.run,), daemon=True)
    thread.start()

    def end() -> None:
        follower.over.set()
        thread.join()

    followed.hide = end
    try:
        yield
    finally:
        _current.reset(token)
        end()


def _screen(*, progress: bool | None) -> Callable[[], Screen] | None:
    """Find out where to show it; None where nobody looks, or others may write at the same time."""
    if progress is not None:
        true_or_false(progress, "progress")
    if progress is False or threading.current_thread() is not threading.main_thread():
        return None
    if progress is None and ({"CI", "PYTEST_CURRENT_TEST"} & os.environ.keys()):
        return None
    if _in_a_notebook():
        return _Cell
    terminal = bool(sys.stderr and sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    if terminal:
        return _bar_or_line
    return _Lines if progress and sys.stderr else None


def _in_a_notebook() -> bool:
    # Who is in a notebook has imported IPython; nobody else should.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Follower:
    """Looks now and then at what was told, and shows it until the work is over."""

    def __init__(self, followed: _Followed, screen: Callable[[], Screen], patience: float) -> None:
        self.followed, self.screen, self.patience = followed, screen, patience
        self.over = threading.Event()
        self.begin = monotonic()

    def run(self) -> None:
        if self.over.wait(self.patience):
            return
        # A screen that is closed or broken must not disturb the work.
        with suppress(Exception):
            screen = self.screen()
            try:
                while True:
                    screen.show(self.followed.progress, monotonic() - self.begin)
                    if self.over.wait(screen.interval):
                        break
            finally:
                screen.wipe()


class Screen(Protocol):
    """Somewhere to show how far work is."""

    interval: float

    def show(self, summary: Told, seconds: float) -> None:
        """Show this instead of what was shown before."""

    def wipe(self) -> None:
        """Leave nothing behind."""


def _bar_or_line() -> Screen:
    try:
        return _Bar()
    except ImportError:
        return _Line()


def _width() -> int:
    """Return the letters that a line may have: one that is folded could not be wiped.

    A terminal writes ``^C`` behind it.
    """
    columns = 0
    # The other one looks at standard output, which may be a file.
    with suppress(OSError, ValueError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    return max((columns or shutil.get_terminal_size().columns) - 3, 1)


class _Line:
    """A line of a terminal that is written again and again."""

    interval = _ON_A_TERMINAL

    def show(self, summary: Told, seconds: float) -> None:
        self._write(summary.line(seconds)[: _width()])

    def wipe(self) -> None:
        self._write("")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


class _Lines:
    """Lines of a file, which stay; only for who asked."""

    interval = _IN_A_FILE

    def show(self, summary: Told, seconds: float) -> None:
        sys.stderr.write(f"{summary.line(seconds)}\n")
        sys.stderr.flush()

    def wipe(self) -> None:
        """What is in a file stays there."""


class _Bar:
    """A bar of rich."""

    interval = _ON_A_TERMINAL

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        # What others print goes where it went, also while this is shown.
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            console=Console(file=sys.stderr, width=_width()),
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def show(self, summary: Told, seconds: float) -> None:
        self._bar.console.width = _width()
        self._bar.update(
            self._task,
            description=summary.line(seconds),
            completed=summary.done,
            total=summary.total or None,
            refresh=True,
        )

    def wipe(self) -> None:
        self._bar.stop()


class _Cell:
    """An output of a notebook's cell that updates itself; no widgets needed."""

    interval = 0.5

    def __init__(self) -> None:
        from IPython import display

        show: Any = display.display
        self._output: Any = show(self._bundle("", ""), raw=True, display_id=True)

    def show(self, summary: Told, seconds: float) -> None:
        line = summary.line(seconds)
        part = f' value="{summary.done}" max="{summary.total}"' if summary.total else ""
        self._update(line, f"<progress{part}></progress> {line}")

    def wipe(self) -> None:
        self._update("", "")

    def _update(self, text: str, html: str) -> None:
        self._output.update(self._bundle(text, html), raw=True)

    @staticmethod
    def _bundle(text: str, html: str) -> dict[str, str]:
        return {"text/plain": text, "text/html": html}


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
            hide()
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
