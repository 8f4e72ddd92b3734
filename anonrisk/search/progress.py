"""How far a long search is: on a terminal only, and only to standard error."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[int, int], None]


@contextmanager
def shown(total: int, *, progress: bool | None) -> Iterator[Tell]:
    """Give a function that is told the sets decided and found.

    Parameters
    ----------
    total : int
        Number of sets.
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
        yield _line(total)
        stream.write("\n")
        return
    with Progress(console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("sets of columns", total=total)

        def tell(done: int, found: int) -> None:
            bar.update(task, completed=done, description=f"{found:,} sets found")

        yield tell


def _line(total: int) -> Tell:
    """Write over one line, and only when the percentage has changed."""
    last = -1

    def tell(done: int, found: int) -> None:
        nonlocal last
        if 100 * done // total != last:
            last = 100 * done // total
            sys.stderr.write(f"\r{done:,} of {total:,} sets decided, {found:,} found")
            sys.stderr.flush()

    return tell
