"""Great Expectations: importing this module registers anonrisk's expectations and its gate.

They work on pandas, Spark and SQL batches. Great Expectations loses expectations that are not
registered and does not stop a job by itself, so that a release needs `run_gate`, or a checkpoint
with `AnonriskGateAction`.
"""

from __future__ import annotations

from typing import Any

from anonrisk.gx.expectations import EXPECTATIONS
from anonrisk.gx.run import AnonriskGateAction, load_suite, run_gate
from anonrisk.gx.suite import suite_to_json, to_suite

_BY_NAME = {expectation.__name__: expectation for expectation in EXPECTATIONS}

__all__ = [  # noqa: PLE0604
    "AnonriskGateAction",
    "load_suite",
    "run_gate",
    "suite_to_json",
    "to_suite",
    *_BY_NAME,
]


def __getattr__(name: str) -> Any:
    """Return an expectation by the name of its class."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the expectations too."""
    return sorted({*globals(), *_BY_NAME})
