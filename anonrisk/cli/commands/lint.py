"""Look for what a policy says and can hardly mean, beside a table or another policy."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.cli import options
from anonrisk.cli.next_steps import as_text, to_check
from anonrisk.cli.output import CODES, Outcome
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError, ManifestError
from anonrisk.policy import Policy, Verdict
from anonrisk.policy.finding import FAIL
from anonrisk.policy.terms import wanted_by
from anonrisk.releases.ledger.manifest import Manifest

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    parser.add_argument("policy", metavar="POLICY", help=options.POLICY)
    parser.add_argument("--policy", help="the same, in place of the first argument")
    parser.set_defaults(first_option="--policy")
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


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Read the policy, and the names of the table's columns; 1 if a remark is an error."""
    policy = Policy.load(args.policy)
    against = None if args.against is None else _baseline(policy, args.against)
    frame = source.read(args, wanted_by(policy)) if args.table else None
    result = policy.lint(frame, against)
    bad = result.remarks if args.fail_on == "warn" else result.errors
    code = CODES[FAIL] if bad else 0
    outcome = Outcome.of(result, code=code, **result.to_dict())
    steps = to_check(args, args.policy) if args.table else []
    return replace(outcome, text=outcome.text + as_text(steps))


def _baseline(policy: Policy, path: str) -> Policy | Verdict:
    """Read what it is compared with: a policy, or a manifest, which remembers its verdicts."""
    try:
        manifest = Manifest.load(path) if Path(path).suffix == ".json" else None
    except ManifestError:
        manifest = None
    if manifest is None:
        return Policy.load(path)
    verdicts = [Verdict.from_json(json.dumps(table.verdict)) for table in manifest.tables]
    named = [verdict for verdict in verdicts if verdict.policy_name == policy.name]
    for result in (named, verdicts):
        if len(result) == 1:
            return result[0]
    tables = ", ".join(shown(verdict.table) for verdict in verdicts)
    raise ArgumentError(
        f"--against: the release has several tables ({tables}), and no name of a policy says which "
        "of them is meant: give the policy itself"
    )
