"""What both kinds of gate in dbt have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anonrisk.errors import PolicyError
from anonrisk.policy import limits

if TYPE_CHECKING:
    from anonrisk.policy.terms import Terms

# What files of ours begin with.
MARK = "Made by anonrisk"


def slug_of(name: str) -> str:
    """Return the letters of a name that may stand in one of dbt.

    Examples
    --------
    >>> slug_of("Research release, k = 5")
    'research_release_k_5'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")[:60] or "policy"


def refuse_no_gate(policy: Terms) -> None:
    """Reject a policy under which nothing would ever be published."""
    for finding in limits.of_policy(policy):
        if finding.blocks():
            raise PolicyError(finding.sentence)
    if not policy.reviewed:
        raise PolicyError(
            "this policy is a draft that nobody has reviewed (reviewed: false), and passes no table"
        )
