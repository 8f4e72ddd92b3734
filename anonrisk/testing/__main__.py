"""The command: `python -m anonrisk.testing`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from anonrisk.errors import ArgumentError
from anonrisk.testing import cases, engine, run
from anonrisk.testing.tables import KINDS, installed

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite: 0 where everybody agrees, 1 where somebody differs, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m anonrisk.testing", description=__doc__)
    parser.add_argument(
        "--engine",
        metavar="NAMES",
        help=f"kinds of table, by commas: {', '.join(KINDS)} (postgresql=URL); "
        "left out, all that are installed and need no server",
    )
    parser.add_argument(
        "--adapter",
        metavar="MODULE:ATTRIBUTE",
        action="append",
        default=[],
        help="another tool: a function of a case, such as anonrisk.testing:pycanon",
    )
    parser.add_argument("--case", metavar="TEXT", help="only cases whose id holds this text")
    parser.add_argument("--json", metavar="PATH", type=Path, help="write every answer here")
    parser.add_argument("--markdown", action="store_true", help="print as Markdown")
    asked = parser.parse_args(arguments)
    try:
        tools = _tools(asked.engine, asked.adapter)
    except Exception as error:  # noqa: BLE001 - an adapter may do anything when it is imported
        parser.error(str(error) or type(error).__name__)
    if asked.json and (asked.json.is_dir() or not asked.json.parent.is_dir()):
        parser.error(f"--json: {asked.json} is not the path of a file")
    some = [case for case in cases() if (asked.case or "") in case.id]
    if not some:
        parser.error(f"--case: no id holds {asked.case!r}")
    report = run(*tools, cases=some)
    if asked.json:
        asked.json.write_text(json.dumps(report.to_dict(), indent=1), encoding="utf-8")
    sys.stdout.write(f"{report.to_markdown() if asked.markdown else report}\n")
    return 0 if report.passed else 1


def _tools(engines: str | None, adapters: Sequence[str]) -> list[Any]:
    names = [] if adapters else installed()
    if engines is not None:
        names = list(dict.fromkeys(engines.split(",")))
    others = [resolve_name(each) for each in adapters]
    wrong = [name for name, each in zip(adapters, others, strict=True) if not callable(each)]
    if wrong:
        raise ArgumentError(f"an adapter is a function of a case, and {wrong[0]!r} is not")
    return [*map(engine, names), *others]


if __name__ == "__main__":
    sys.exit(main())
