"""The one place from which this floor opens a door above it; the test of floors lists it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from anonrisk.core.protocols import StatesGoals


def load_policy(path: str | PathLike[str]) -> StatesGoals:
    """Read the policy of a file."""
    policy: StatesGoals = import_module("anonrisk.policy").Policy.load(path)
    return policy
