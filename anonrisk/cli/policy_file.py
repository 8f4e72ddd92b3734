"""A policy as a file, for commands that give no verdict about a table."""

from __future__ import annotations

from anonrisk.cli.deliver import print_error
from anonrisk.policy import Policy, limits


def load_policy(path: str) -> Policy:
    """Read a policy, and say what no table can break in it."""
    policy = Policy.load(path)
    for finding in limits.of_policy(policy):
        print_error(finding.sentence)
    return policy
