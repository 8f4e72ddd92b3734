"""Publish numbers about a population, and predict from them without its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options
from anonrisk.cli.output import CODES, Outcome
from anonrisk.cli.source import wanted
from anonrisk.errors import StoreError

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the four things that one can do with a repository."""
    todo = parser.add_subparsers(metavar="ACTION", required=True)
    publish = todo.add_parser("publish", help="publish how a quasi-identifier is distributed")
    source.arguments(publish)
    options.of_columns(publish, sensitive=False)
    publish.add_argument("--population", required=True, help="whom the table is about")
    publish.add_argument("--by", required=True, help="who publishes")
    publish.add_argument("--when", metavar="DAY", help="as 2021-06-01 (default: today)")
    publish.add_argument("--n-values", type=int, metavar="N", help="how many values are possible")
    query = todo.add_parser("query", help="list what was published")
    _about(query)
    query.add_argument("--by", help="by whom")
    predict = todo.add_parser("predict", help="predict the singletons in a group")
    _about(predict, required=True)
    predict.add_argument("--group-size", type=int, required=True, metavar="N")
    predict.add_argument("--by", help="whose numbers to use")
    predict.add_argument("--method", default="auto", help="auto, pairs, kl or bounds")
    predict.add_argument(
        "--max-fraction", type=float, metavar="SHARE", help="decide: at most so many singletons"
    )
    disagreements = todo.add_parser("disagreements", help="list where holders differ")
    _about(disagreements)
    for parts, run in (
        (publish, _publish),
        (query, _query),
        (predict, _predict),
        (disagreements, _disagreements),
    ):
        parts.add_argument(
            "--repository",
            metavar="PATH",
            help="an SQLite file, or the URL of a database (default: anonrisk_priors.sqlite)",
        )
        options.of_output(parts)
        parts.set_defaults(run=run)


def _about(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    parser.add_argument("--qids", nargs="+", action="extend", metavar="COLUMN", required=required)
    parser.add_argument("--population", required=required, help="of whom")


def _open(args: argparse.Namespace, *, new: bool = False) -> Any:
    from anonrisk.priors import Repository
    from anonrisk.priors.repository import DEFAULT_PLACE

    place = args.repository or DEFAULT_PLACE
    if not new and "://" not in place and not Path(place).exists():
        raise StoreError(f"there is no repository {place!r}; publish makes one")
    return Repository(place)


def _publish(args: argparse.Namespace, source: Source) -> Outcome:
    frame = source.read(args, wanted(args.qids, unit=args.unit))
    options.require_qids(frame, args.qids)
    prior = _open(args, new=True).publish(
        frame,
        args.qids,
        population=args.population,
        by=args.by,
        when=args.when,
        n_values=args.n_values,
        unit=args.unit,
        missing=args.missing,
    )
    return Outcome.of(prior, published=prior.to_dict())


def _query(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    query = _open(args).query(args.qids, args.population, by=args.by)
    return Outcome.of(query, **query.to_dict())


def _predict(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    forecast = _open(args).predict(
        args.qids, args.population, args.group_size, by=args.by, method=args.method
    )
    if args.max_fraction is None:
        return Outcome.of(forecast, forecast=forecast.to_dict())
    status = forecast.verdict(args.max_fraction)
    made = Outcome.of(
        forecast,
        code=CODES[status],
        status=status,
        max_fraction=args.max_fraction,
        forecast=forecast.to_dict(),
    )
    return Outcome(f"{status.replace('_', ' ')}\n{made.text}", made.document, made.code)


def _disagreements(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    disagreements = _open(args).disagreements(args.qids, args.population)
    return Outcome.of(disagreements, **disagreements.to_dict())
