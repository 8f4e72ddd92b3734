"""Each of several tables against the policy beside it, for pre-commit; or each policy by itself.

``python -m anonrisk.cli.pre_commit data/admissions.csv`` looks for ``admissions.policy.yaml``, then
for ``policy.yaml``, in the table's folder (``.yml``, ``.json`` too), and runs ``anonrisk check``. A
table that has no policy beside it could not be assessed. With ``--lint`` the files are policies,
and each is given to ``anonrisk lint``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.cli import EPILOG, main
from anonrisk.cli.deliver import print_error
from anonrisk.cli.output import CODES
from anonrisk.cli.parser import Parser
from anonrisk.engines.reading.files import without_values
from anonrisk.errors import AnonRiskError
from anonrisk.policy import Policy
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENDINGS = (".yaml", ".yml", ".json")


def check_each(arguments: Sequence[str] | None = None) -> int:
    """Check every table by itself; give the exit code that says most."""
    parser = Parser(
        prog="pre_commit", description="Each table against the policy beside it.", epilog=EPILOG
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="files, a table each")
    parser.add_argument("--lint", action="store_true", help="the files are policies: lint them")
    parser.add_argument("--policy", metavar="FILE", help="one for all, in place of those beside")
    parser.add_argument("--fail-on", choices=("fail", "warn"), default="fail", help="as in check")
    try:
        args = parser.parse_args(arguments)
    except SystemExit as error:
        return int(error.code or 0)
    if args.lint:
        each = [f"--fail-on={args.fail_on}", "--"]
        codes = {main(["lint", *each, policy]) for policy in args.tables}
    else:
        beside = {table: args.policy or policy_beside(Path(table)) for table in args.tables}
        for policy in dict.fromkeys(filter(None, beside.values())):
            _remark(policy)
        codes = {_check(table, policy, args.fail_on) for table, policy in beside.items()}
    # What failed is known; beside it, doubt is only doubt.
    return CODES[FAIL] if CODES[FAIL] in codes else max(codes, default=0)


def _remark(policy: str | Path) -> None:
    """Print what lint warns of; what is wrong with a policy otherwise, its check says."""
    try:
        remarks = Policy.load(policy).lint().warnings
    except AnonRiskError:
        return
    for remark in remarks:
        print_error(f"{policy}: {remark.sentence}")


def _check(table: str, policy: str | Path | None, fail_on: str) -> int:
    if policy is None:
        name = Path(table).name.partition(".")[0]
        print_error(
            f"could not assess: no policy is beside {without_values(table)!r}: write "
            f"{name}.policy.yaml or policy.yaml there, name one with --policy, or exclude the "
            "file from the hook"
        )
        return CODES[COULD_NOT_ASSESS]
    return main(["check", f"--policy={policy}", f"--fail-on={fail_on}", "--", table])


def policy_beside(table: Path) -> Path | None:
    """Find the policy of a table in its folder: its own, else that of the folder."""
    name = table.name.partition(".")[0]
    places = [
        table.with_name(f"{stem}{ending}")
        for stem in (f"{name}.policy", "policy")
        for ending in _ENDINGS
    ]
    return next((place for place in places if place.is_file()), None)


if __name__ == "__main__":
    sys.exit(check_each())
