"""Every word that a user types sees one state of the table."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from anonrisk.engines.one_state import one_state

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Gives = TypeVar("Gives")


def in_one_state(word: Callable[Given, Gives]) -> Callable[Given, Gives]:
    """Let all that a function asks of its table see one state of it."""

    @wraps(word)
    def asking(*args: Given.args, **kwargs: Given.kwargs) -> Gives:
        with one_state(args[0] if args else kwargs.get("frame"), word.__name__):
            return word(*args, **kwargs)

    return asking
