"""Write a policy as parts of a dbt project: tests in SQL, or a model in Python that gates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options
from anonrisk.cli.deliver import write
from anonrisk.cli.output import Outcome
from anonrisk.core.column_roles import Roles
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError, RolesDocumentError
from anonrisk.policy import Policy
from anonrisk.policy.dbt.model import MARK, python_model

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:  # noqa: ARG001
    """Add the options."""
    parser.add_argument("policy", metavar="POLICY", help="YAML, or JSON (.json)")
    group = parser.add_argument_group("dbt")
    # No result that a failed run takes away: it is a folder of somebody's project.
    group.add_argument(
        "-o", "--output", dest="project", required=True, metavar="DIR", help="the dbt project"
    )
    group.add_argument(
        "--model", required=True, metavar="NAME", help="the model that is to be published"
    )
    group.add_argument(
        "--manifest",
        metavar="PATH",
        help="target/manifest.json: roles from the meta of the model's columns, where the policy "
        "names none",
    )
    group.add_argument(
        "--python",
        action="store_true",
        help="a model in Python, which can tell whatever a policy asks (default: tests in SQL)",
    )
    group.add_argument("--name", help="of the tests (default: that of the policy, or of its file)")
    group.add_argument("--force", action="store_true", help="replace files that are not ours")
    options.of_output(parser, to_file=False)


def run(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    """Compile the policy, then write; nothing is written where one part is refused."""
    if not re.fullmatch(r"\w+", args.model):
        raise ArgumentError(f"--model {args.model!r} is no name of a model: letters, digits and _")
    policy = with_manifest(Policy.load(args.policy), args)
    name = args.name or policy.name or Path(args.policy).stem
    files = python_model(policy, args.model) if args.python else _tests(policy, args, name)
    project = Path(args.project)
    if not project.is_dir():
        raise ArgumentError(f"--output {args.project!r} is no folder")
    _refuse_others(project, files, force=args.force)
    for path, text in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        write(str(project / path), text)
    made = Outcome.of(written=sorted(files), policy_digest=policy.digest)
    listed = "".join(f"\n  {shown(str(project / path))}" for path in files)
    return Outcome(f"Wrote{listed}\n{_then(args)}", made.document)


def _tests(policy: Policy, args: argparse.Namespace, name: str) -> dict[str, str]:
    try:
        from anonrisk.policy.dbt.tests import sql_tests
    except ImportError:
        raise ArgumentError(
            "tests in SQL are written by SQLAlchemy and SQLGlot: pip install 'anonrisk[sql]'; "
            "--python needs neither"
        ) from None
    return sql_tests(policy, args.model, name)


def with_manifest(policy: Policy, args: argparse.Namespace) -> Policy:
    """Add the roles that dbt knows of columns; where the policy names some, both must agree."""
    if args.manifest is None:
        return policy
    result = Roles.from_dbt(Path(args.manifest), model=args.model)
    roles: dict[str, Any] = {}
    for role in ("quasi", "sensitive", "direct", "insensitive", "unit"):
        of_dbt, own = getattr(result, role), getattr(policy.roles, role)
        if own and of_dbt and (own != of_dbt if role == "unit" else {*own} != {*of_dbt}):
            raise RolesDocumentError(
                f"the policy and the manifest name other columns as {role}: take them out of one"
            )
        if of_dbt and not own:
            roles[role] = of_dbt if role == "unit" else list(of_dbt)
    return policy.with_roles(**roles)


def _refuse_others(project: Path, files: dict[str, str], *, force: bool) -> None:
    for path in files:
        there = project / path
        if there.exists() and not force and MARK not in there.read_text("utf-8", "replace")[:80]:
            raise ArgumentError(f"{str(there)!r} is there and not ours: --force replaces it")


def _then(args: argparse.Namespace) -> str:
    if args.python:
        return f"Let what is published build on {args.model}_published, and run dbt build."
    return (
        f"Run dbt build: what builds on {args.model} is skipped unless its tests pass. Where "
        f"another file of properties describes {args.model}, move data_tests there."
    )
