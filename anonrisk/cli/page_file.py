"""A page as a file: never that of an earlier run in place of one that failed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from anonrisk.cli.deliver import write
from anonrisk.errors import AnonRiskError, UnwritableTableError
from anonrisk.reporting import Explorer, Report, refused

if TYPE_CHECKING:
    from collections.abc import Callable

PageT = TypeVar("PageT", Report, Explorer)


def write_page(path: str, title: str | None, make: Callable[[], PageT]) -> PageT:
    """Make a page and write it; where that fails, one that says so."""
    # Whatever kills this run, no page of an earlier one is taken for its own.
    _write(path, refused("It has not finished.", title))
    try:
        made = make()
    except Exception as error:
        known = isinstance(error, AnonRiskError)
        why = str(error) if known else "It failed unexpectedly."
        _write(path, refused(why, title))
        raise
    _write(path, made)
    return made


def _write(path: str, made: Report | Explorer) -> None:
    # A pipe or a device has no ending, and gets the page.
    text = made.written(path) if Path(path).suffix else made.to_html()
    try:
        write(path, text)
    except OSError as error:
        raise UnwritableTableError(f"cannot write {path!r}: {error.strerror}") from None
