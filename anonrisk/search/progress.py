"""How far a long search is: on a terminal only, and only to standard error."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import accumulate
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Report = Callable[[int, int], None]

# Often enough to be seen to move, and seldom enough to cost nothing.
_SECONDS = 0.1


@contextmanager
def show_progress(sets: Sequence[int], *, progress: bool | None) -> Iterator[Report]:
    """Give a function that is given the sets decided and found.

    Parameters
    ----------
    sets : list of int
        Number of sets of one column, of two, …, in which order they are decided. Each size is shown
        by itself: of all sets together the first ones are too small a part to be seen.
    progress : bool or None
        Whether to show anything; None means only where standard error is a terminal.
    """
    stream = sys.stderr
    if not (stream.isatty() if progress is None else progress):
        yield lambda _done, _found: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _reporter(sets, lambda text, _done, _total: _write(f"\r\033[K{text}"))
        _write("\n")
        return
    with Progress(console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("sets of 1 column", total=sets[0])
        yield _reporter(
            sets,
            lambda text, done, total: bar.update(
                task, completed=done, total=total, description=text
            ),
        )


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _reporter(sets: Sequence[int], show: Callable[[str, int, int], object]) -> Report:
    """Show the size that is being decided, now and then, and the end."""
    upto = list(accumulate(sets))
    last = -_SECONDS

    def report(done: int, found: int) -> None:
        nonlocal last
        if done < upto[-1] and monotonic() - last < _SECONDS:
            return
        last = monotonic()
        size = next((size for size, end in enumerate(upto) if done < end), len(sets) - 1)
        decided, total = done - (upto[size] - sets[size]), sets[size]
        columns = "column" if size == 0 else "columns"
        text = f"sets of {size + 1} {columns}: {decided:,} of {total:,} decided, {found:,} found"
        show(text, decided, total)

    return report
