"""Measure a table: its classes, and what is learned about a person in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anonrisk
from anonrisk.cli import options
from anonrisk.cli.documents import load_policy
from anonrisk.cli.output import Outcome
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


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Take the measures in one pass."""
    if args.policy is not None:
        return _of_policy(args, source)
    numbers = args.sensitive or () if args.distance == "ordered" else ()
    about = {"unit": args.unit, "numbers": numbers, "missing": args.missing}
    frame = source.read(args, wanted(args.qids, args.sensitive, **about))
    options.require_qids(frame, args.qids)
    measures = args.measures
    if measures is None:
        measures = measures_of(frame, args.sensitive)
    assessment = anonrisk.assess(
        frame,
        args.qids,
        args.sensitive,
        measures,
        c=args.c,
        distance=args.distance,
        unit=args.unit,
        missing=args.missing,
    )
    sample = options.sample_of(args)
    if not sample:
        return Outcome.of(assessment.sizes, assessment, **assessment.to_dict())
    risk = assessment.sizes.risk(**sample)
    return Outcome.of(
        assessment.sizes, assessment, risk, **assessment.to_dict(), risk=risk.to_dict()
    )


def _of_policy(args: argparse.Namespace, source: Source) -> Outcome:
    said = (args.qids, args.sensitive, args.unit, args.measures, args.c)
    said = (*said, *options.sample_of(args).values())
    if any(item is not None for item in said) or (args.missing, args.distance) != ("value", "auto"):
        raise ArgumentError("a policy says everything itself: give --policy without the others")
    from anonrisk.policy.terms import wanted_by

    policy = load_policy(args.policy)
    assessment = policy.assess(source.read(args, wanted_by(policy)))
    return Outcome.of(assessment.sizes, assessment, **assessment.to_dict())


def measures_of(frame: object, sensitive: object) -> tuple[str, ...] | None:
    """Return the measures that need no sensitive column, where there is none; otherwise all."""
    roles = None if sensitive else anonrisk.roles(frame)
    return None if sensitive or (roles and roles.sensitive) else _OF_SIZES
