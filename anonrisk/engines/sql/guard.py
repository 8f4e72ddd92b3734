"""Errors of a database, replaced by ours: theirs may quote the cell that upset them."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from anonrisk.errors import AnonRiskError, EngineError, MissingLibraryError, raise_alone

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def guarded(doing: str) -> Iterator[None]:
    """Run some queries; let our own errors through and replace all others."""
    try:
        yield
    except AnonRiskError as error:
        raise_alone(error)
    except Exception as error:  # noqa: BLE001
        # What a cell holds cannot make this so: the package is there, or it is not.
        if "'pytz'" in str(error) and find_spec("pytz") is None:
            raise_alone(
                MissingLibraryError(
                    "DuckDB gives values with a time zone only where pytz is installed: "
                    "pip install pytz"
                )
            )
        raise_alone(
            EngineError(
                f"the database could not {doing} ({type(error).__name__}); its message is "
                "withheld because it may quote a cell. A server keeps it in its log; a database in "
                "this process keeps none: see whether a file is damaged, or the disk is full."
            )
        )
