"""Predict how many of a group, or of the population, will be alone in their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anonrisk
from anonrisk.cli import options
from anonrisk.cli.output import Outcome
from anonrisk.cli.source import wanted
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    options.of_columns(parser, sensitive=False)
    group = parser.add_argument_group(
        "a group",
        "Other people from the table's population; with --draw subgroup some of the table.",
    )
    group.add_argument("--group-size", type=int, metavar="N", help="number of people")
    group.add_argument(
        "--draw", default="auto", help="auto, subgroup (some of the table) or replacement"
    )
    group.add_argument("--method", default="exact", help="exact or kl")
    group.add_argument("--n-values", type=int, metavar="N", help="with kl: how many are possible")
    group.add_argument(
        "--widths",
        nargs="+",
        action="extend",
        type=options.number("width"),
        default=[],
        metavar="COLUMN=WIDTH",
        help="round these columns to intervals first",
    )
    group.add_argument(
        "--cluster", metavar="COLUMN", help="who came into the table together, as a household"
    )
    group = parser.add_argument_group("the population", "The table is a sample of it.")
    group.add_argument("--population-size", type=int, metavar="N", help="number of people")
    group.add_argument("--model", default="auto", help="as in predict_population")
    options.of_output(parser)


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Predict for a group, the population, or both."""
    if args.group_size is None and args.population_size is None:
        raise ArgumentError("say --group-size, --population-size or both")
    widths = dict(args.widths)
    if widths and args.group_size is None:
        raise ArgumentError("--widths goes with --group-size")
    clusters = [] if args.cluster is None else [args.cluster]
    frame = source.read(args, wanted(args.qids, clusters, unit=args.unit, numbers=widths))
    options.require_qids(frame, args.qids)
    about: dict[str, Any] = {"unit": args.unit, "missing": args.missing}
    results: dict[str, Any] = {}
    if args.group_size is not None:
        results["group"] = anonrisk.predict_singletons(
            frame,
            args.qids,
            args.group_size,
            draw=args.draw,
            method=args.method,
            n_values=args.n_values,
            widths=widths or None,
            cluster=args.cluster,
            **about,
        )
    if args.population_size is not None:
        results["population"] = anonrisk.predict_population(
            frame,
            args.qids,
            args.population_size,
            model=args.model,
            cluster=args.cluster,
            **about,
        )
    qid = args.qids or list(anonrisk.roles(frame).quasi)
    documents = {name: result.to_dict() for name, result in results.items()}
    return Outcome.of(*results.values(), qid=qid, missing=args.missing, **documents)
