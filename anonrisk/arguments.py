"""Checks of arguments that are not names of columns."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from anonrisk.errors import ArgumentError


def whole_number(given: Any, what: str, *, at_least: int) -> int:
    """Read a whole number; True is not one, nor is 2.5.

    Examples
    --------
    >>> whole_number(5, "k", at_least=1)
    5
    """
    if isinstance(given, bool) or not isinstance(given, Integral) or given < at_least:
        raise ArgumentError(f"{what} must be a whole number, at least {at_least}")
    return int(given)
