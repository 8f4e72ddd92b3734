"""Every word that a user types sees one state of the table."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from anonrisk.core.arguments import refuse_renamed
from anonrisk.engines.one_state import one_state

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Gives = TypeVar("Gives")

# What arguments were called before version 0.9, and what is written now.
RENAMED = {
    "assess": {"hierarchy": "hierarchies="},
    "at_risk": {"hierarchy": "hierarchies=", "kind": "variant="},
    "beta_likeness": {"kind": "variant="},
    "entropy": {"order": "alpha="},
    "explore": {"max_suppression": "max_suppressed="},
    "find_qids": {"columns": "qids=", "time_budget": "time_limit="},
    "generalize": {"hierarchy": "hierarchies="},
    "ldiv": {"kind": "variant="},
    "is_quasi_identifier": {"columns": "qids="},
    "linkability": {"user": "unit="},
    "profiles": {"hierarchy": "hierarchies="},
    "report": {"policy_or_qids": "policy= or qids="},
    "summary": {"at": "sizes=", "qid_sets": "qids="},
    "suppress": {"weights": "column_weights="},
    "tcloseness": {"hierarchy": "hierarchies="},
    "trajectory": {"user": "unit="},
}


def in_one_state(word: Callable[Given, Gives]) -> Callable[Given, Gives]:
    """Let all that a function asks of its table see one state of it."""
    renamed = RENAMED.get(word.__name__, {})

    @wraps(word)
    def asking(*args: Given.args, **kwargs: Given.kwargs) -> Gives:
        refuse_renamed(kwargs, renamed)
        with one_state(args[0] if args else kwargs.get("frame"), word.__name__):
            return word(*args, **kwargs)

    return asking
