"""Write a page about a table, for people who decide: one file of HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anonrisk
from anonrisk.cli import options, output_paths
from anonrisk.cli.commands import check
from anonrisk.cli.commands.measure import measures_of
from anonrisk.cli.deliver import write
from anonrisk.cli.outcome import CODES, Outcome
from anonrisk.cli.source import wanted
from anonrisk.core.render import shown
from anonrisk.errors import AnonRiskError, UnwritableTableError
from anonrisk.reporting.page import html, refused

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source
    from anonrisk.core.literals import Missing


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    group = parser.add_argument_group("page")
    group.add_argument("--html", required=True, metavar="PATH", help="where the page goes")
    group.add_argument("--title", default="Who can be singled out", help="its heading")
    group.add_argument(
        "--policy", metavar="FILE", help="show its verdict; the exit code is that of check"
    )
    group.add_argument(
        "--group-size", type=int, metavar="N", help="predict the singletons of such a group"
    )
    options.of_columns(parser, missing=None)
    options.of_output(parser)


def run(given: argparse.Namespace, source: Source) -> Outcome:
    """Measure once and write the page; where that fails, a page that says so."""
    path = output_paths.outside_table("--html", given.html, given.table)
    # Whatever kills this run, no page of an earlier one is taken for its own.
    _write(str(path), refused("It has not finished.", given.title))
    try:
        page, outcome = _page(given, source)
    except Exception as error:
        known = isinstance(error, AnonRiskError)
        why = str(error) if known else "It failed unexpectedly."
        _write(str(path), refused(why, given.title))
        raise
    _write(str(path), page)
    return outcome


def _page(given: argparse.Namespace, source: Source) -> tuple[str, Outcome]:
    policy = None if given.policy is None else check.policy_of(given)
    qids, sensitive, unit = given.qids, given.sensitive, given.unit
    missing: Missing = given.missing or "value"
    if policy is None:
        frame = source.read(given, wanted(qids, sensitive, unit=unit))
        options.require_qids(frame, qids)
    else:
        frame = source.read(given, check.wanted_by(policy))
        roles = policy.roles
        qids, sensitive, unit = list(roles.quasi) or None, list(roles.sensitive) or None, roles.unit
        missing = policy.missing
    found = anonrisk.assess(
        frame,
        qids,
        sensitive or None,
        measures_of(frame, sensitive),
        unit=unit,
        missing=missing,
    )
    more: dict[str, Any] = {}
    if given.group_size is not None:
        more["group"] = found.sizes.predict_singletons(given.group_size)
    verdict = None
    if policy is not None:
        verdict = policy.check(frame).about(check.table_of(given), source.files(given))
    page = html(found, *more.values(), verdict=verdict, title=given.title)
    documents = {name: result.to_dict() for name, result in more.items()}
    code = 0
    if verdict is not None:
        code, documents["verdict"] = CODES[verdict.status], verdict.to_dict()
    made = Outcome.of(code=code, html=given.html, **found.to_dict(), **documents)
    status = "" if verdict is None else f"{verdict.status.replace('_', ' ')}\n"
    return page, Outcome(f"{status}Wrote {shown(given.html)}", made.document, code)


def _write(path: str, page: str) -> None:
    try:
        write(path, page)
    except OSError as error:
        raise UnwritableTableError(f"cannot write {path!r}: {error.strerror}") from None
