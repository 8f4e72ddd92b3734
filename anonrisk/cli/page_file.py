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


def write_page(kind: type[PageT], path: str, title: str | None, make: Callable[[], PageT]) -> PageT:
    """Make a page and write it; where that fails, one that says so."""
    if _has_ending(path):
        # Before anything is written: it may be a file of somebody who mistook the name.
        kind.ending_of(path)
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
    text = made.written(path) if _has_ending(path) else made.to_html()
    try:
        write(path, text)
    except OSError as error:
        raise UnwritableTableError(f"cannot write {path!r}: {error.strerror}") from None


def _has_ending(path: str) -> bool:
    """Return whether a name says what is written; a pipe or a device gets the page."""
    return bool(Path(path).suffix)
