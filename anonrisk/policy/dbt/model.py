"""A policy as a model of dbt in Python, which fails unless the gate passes."""

from __future__ import annotations

import re
from pprint import pformat
from typing import TYPE_CHECKING

from anonrisk._version import __version__
from anonrisk.errors import PolicyError
from anonrisk.policy import judge

if TYPE_CHECKING:
    from anonrisk.policy.policy import Policy
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
    for finding in judge.unbroken_limits(policy):
        if finding.blocks():
            raise PolicyError(finding.sentence)
    if not policy.reviewed:
        raise PolicyError(
            "this policy is a draft that nobody has reviewed (reviewed: false), and passes no table"
        )


_MODEL = '''# {mark} {version} from the policy {digest}.
"""What is published builds on this model, and on {model} nothing that is."""

from anonrisk import Policy

POLICY = Policy.from_dict(
{policy}
)


def model(dbt, session):
    dbt.config(materialized="table")
    table = dbt.ref({model!r})
    verdict = POLICY.check(table, name={model!r})
    # The log says what a pass covers.
    print(verdict)
    verdict.raise_for_status()
    return table
'''


def python_model(policy: Policy, model: str) -> dict[str, str]:
    """Return the file that a dbt project needs to publish a model under a policy, by its path."""
    refuse_no_gate(policy)
    literal = pformat(policy.to_dict(), indent=1, width=96, sort_dicts=False)
    text = _MODEL.format(
        mark=MARK,
        version=__version__,
        digest=policy.digest,
        model=model,
        policy="\n".join(f"    {line}" for line in literal.splitlines()),
    )
    return {f"models/{model}_published.py": text}
