"""Look for what a policy says and can hardly mean, beside a table or another policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.cli import options
from anonrisk.cli.outcome import CODES, Outcome
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError, ManifestError
from anonrisk.policy import Policy, Verdict
from anonrisk.policy.finding import FAIL
from anonrisk.policy.wanted import wanted_by
from anonrisk.releases.ledger.manifest import Manifest

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    parser.add_argument("policy", metavar="POLICY", help=options.POLICY)
    source.arguments(parser)
    group = parser.add_argument_group("lint")
    group.add_argument(
        "--against",
        metavar="FILE",
        help="another policy, or the manifest of the last release: to ask for less is an error",
    )
    group.add_argument(
        "--fail-on",
        choices=("fail", "warn"),
        default="fail",
        help="warn: warnings decide as well",
    )
    options.of_output(parser)


def run(given: argparse.Namespace, source: Source) -> Outcome:
    """Read the policy, and the names of the table's columns; 1 if a remark is an error."""
    policy = Policy.load(given.policy)
    against = None if given.against is None else _baseline(policy, given.against)
    frame = source.read(given, wanted_by(policy)) if given.table else None
    found = policy.lint(frame, against)
    bad = found.remarks if given.fail_on == "warn" else found.errors
    code = CODES[FAIL] if bad else 0
    return Outcome.of(found, code=code, **found.to_dict())


def _baseline(policy: Policy, path: str) -> Policy | Verdict:
    """Read what it is compared with: a policy, or a manifest, which remembers its verdicts."""
    try:
        manifest = Manifest.load(path) if Path(path).suffix == ".json" else None
    except ManifestError:
        manifest = None
    if manifest is None:
        return Policy.load(path)
    verdicts = [Verdict.from_json(json.dumps(one.verdict)) for one in manifest.tables]
    named = [one for one in verdicts if one.policy_name == policy.name]
    for found in (named, verdicts):
        if len(found) == 1:
            return found[0]
    tables = ", ".join(shown(one.table) for one in verdicts)
    raise ArgumentError(
        f"--against: the release has several tables ({tables}), and no name of a policy says which "
        "of them is meant: give the policy itself"
    )
