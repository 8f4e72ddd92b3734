"""Measure a table: its classes, and what is learned about a person in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anonrisk
from anonrisk.cli import options
from anonrisk.cli.outcome import Outcome
from anonrisk.cli.policy_file import load_policy
from anonrisk.cli.source import wanted
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source

_OF_SIZES = ("k", "uniqueness", "highest_risk", "average_risk")


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    options.of_columns(parser, wildcard=True)
    options.of_sample(parser)
    group = parser.add_argument_group("measures")
    group.add_argument(
        "--measures", nargs="+", action="extend", metavar="NAME", help="as in assess"
    )
    group.add_argument("--distance", default="auto", help="of t-closeness (default: auto)")
    group.add_argument("--c", type=float, help="of recursive l-diversity")
    group.add_argument("--policy", metavar="FILE", help="take the measures that a policy names")
    options.of_output(parser)


def run(given: argparse.Namespace, source: Source) -> Outcome:
    """Take the measures in one pass."""
    if given.policy is not None:
        return _of_policy(given, source)
    numbers = given.sensitive or () if given.distance == "ordered" else ()
    about = {"unit": given.unit, "numbers": numbers, "missing": given.missing}
    frame = source.read(given, wanted(given.qids, given.sensitive, **about))
    options.require_qids(frame, given.qids)
    measures = given.measures
    if measures is None:
        measures = measures_of(frame, given.sensitive)
    found = anonrisk.assess(
        frame,
        given.qids,
        given.sensitive,
        measures,
        c=given.c,
        distance=given.distance,
        unit=given.unit,
        missing=given.missing,
    )
    sample = options.sample_of(given)
    if not sample:
        return Outcome.of(found.sizes, found, **found.to_dict())
    risk = found.sizes.risk(**sample)
    return Outcome.of(found.sizes, found, risk, **found.to_dict(), risk=risk.to_dict())


def _of_policy(given: argparse.Namespace, source: Source) -> Outcome:
    said = (given.qids, given.sensitive, given.unit, given.measures, given.c)
    said = (*said, *options.sample_of(given).values())
    if any(one is not None for one in said) or (given.missing, given.distance) != ("value", "auto"):
        raise ArgumentError("a policy says everything itself: give --policy without the others")
    from anonrisk.policy.wanted import wanted_by

    policy = load_policy(given.policy)
    found = policy.assess(source.read(given, wanted_by(policy)))
    return Outcome.of(found.sizes, found, **found.to_dict())


def measures_of(frame: object, sensitive: object) -> tuple[str, ...] | None:
    """Return the measures that need no sensitive column, where there is none; otherwise all."""
    roles = None if sensitive else anonrisk.roles(frame)
    return None if sensitive or (roles and roles.sensitive) else _OF_SIZES
