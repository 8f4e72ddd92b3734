"""What stores have in common: an engine of SQLAlchemy, and errors that quote nobody."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from anonrisk.errors import AnonRiskError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Engine

# So long a writer waits for the one before it.
SECONDS_TO_WAIT = 60


def check_installed(who: str) -> None:
    """Say what to install where SQLAlchemy is missing."""
    if find_spec("sqlalchemy") is None:
        raise StoreError(f"{who} needs SQLAlchemy: pip install 'anonrisk[store]'")


def make_engine(url: str | URL, **options: Any) -> Engine:
    """Make an engine whose writers wait for each other."""
    from sqlalchemy import create_engine, make_url

    if make_url(url).get_backend_name() == "sqlite":
        options["connect_args"] = {"timeout": SECONDS_TO_WAIT}
    try:
        return create_engine(url, **options)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"this kind of database needs the driver {error.name!r}; install it"
        ) from None


@contextmanager
def withheld(failing: str) -> Iterator[None]:
    """Replace errors of the database by what could not be done."""
    try:
        yield
    except AnonRiskError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote a cell
        raise StoreError(
            f"{failing} ({type(error).__name__}); the message of the database is withheld because "
            "it may quote a person"
        ) from None
