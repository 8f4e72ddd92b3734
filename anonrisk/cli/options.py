"""Options that commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, get_args

from anonrisk.api.roles import roles
from anonrisk.core.columns import MISSING, MISSING_OR_WILDCARD
from anonrisk.core.types import Cuts
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.pseudonyms.keys import Key

_NAMES: dict[str, Any] = {"nargs": "+", "action": "extend", "metavar": "COLUMN"}
# How many columns of a table a message names.
_LISTED = 10
# What may stand behind --policy.
POLICY = "YAML, or JSON (.json), or the name of a ready policy"


def of_columns(
    parser: argparse.ArgumentParser,
    *,
    qids: str = "the quasi-identifier",
    sensitive: bool = True,
    missing: str | None = "value",
    wildcard: bool = False,
) -> None:
    """Add the options about columns."""
    group = of_names(parser, qids)
    if sensitive:
        group.add_argument("--sensitive", **_NAMES, help="columns that must not be learned")
    group.add_argument("--unit", metavar="COLUMN", help="whose row it is: count persons, not rows")
    means = ["a value like any other", "a row to drop", "an error", "any value"]
    words = MISSING_OR_WILDCARD if wildcard else MISSING
    group.add_argument(
        "--missing",
        choices=words,
        default=missing,
        help="what a missing quasi-identifier means: "
        f"{', '.join(means[: len(words) - 1])} or {means[len(words) - 1]}"
        f"{'' if missing is None else ' (default: value)'}",
    )


def of_names(
    parser: argparse.ArgumentParser, qids: str = "the quasi-identifier"
) -> argparse._ArgumentGroup:
    """Add the option that names the columns, and nothing else about them."""
    group = parser.add_argument_group(
        "columns",
        "Names are separated by spaces; --qids=--name for one that begins with a dash.",
    )
    group.add_argument("--qids", **_NAMES, help=qids)
    return group


def require_qids(frame: Any, qids: list[str] | None) -> None:
    """Reject a table of which neither the command line nor its file says the quasi-identifier."""
    if qids or roles(frame).quasi:
        return
    columns = engine_for(frame).schema(frame).columns
    listed = ", ".join(map(repr, columns[:_LISTED]))
    more = f" and {len(columns) - _LISTED:,} more" if len(columns) > _LISTED else ""
    raise ArgumentError(
        "no quasi-identifiers: say --qids zip age, with names of columns, or declare them in the "
        f"file, where Parquet keeps them; the table has {listed}{more}"
    )


def of_sample(parser: argparse.ArgumentParser) -> None:
    """Add the options about the population that the table is a sample of."""
    group = parser.add_argument_group(
        "sample", "Of a table that is a sample: what journalist and marketer reach outside it."
    )
    group.add_argument("--sampling-fraction", type=float, help="share of the population drawn")
    group.add_argument("--population-size", type=int, metavar="N", help="people in the population")
    group.add_argument(
        "--unsuppressed",
        action="store_true",
        default=None,
        help="no record was removed after the draw",
    )


def sample_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the command line says of the sample, as keywords."""
    names = ("sampling_fraction", "population_size", "unsuppressed")
    said = {name: getattr(args, name, None) for name in names}
    return {name: value for name, value in said.items() if value is not None}


def of_hierarchies(group: argparse._ArgumentGroup) -> None:
    """Add the option that names files of hierarchies."""
    group.add_argument(
        "--hierarchies",
        nargs="+",
        action="extend",
        type=pair("FILE"),
        default=[],
        metavar="COLUMN=FILE",
        help="a row for each value, from the value up to one common one, separated by ;",
    )


def of_bins(group: argparse._ArgumentGroup) -> None:
    """Add the option that says how numbers are cut."""
    group.add_argument(
        "--bins",
        choices=get_args(Cuts),
        default="auto",
        help="how numbers are cut (default: by even widths, quantiles and medians)",
    )


def of_time(group: argparse._ArgumentGroup, what: str, default: float | None = None) -> None:
    """Add the option that ends a search early."""
    group.add_argument("--time-limit", type=float, default=default, metavar="SECONDS", help=what)


def of_output(parser: argparse.ArgumentParser, *, to_file: bool = True) -> None:
    """Add the options for where the result goes; -o is the command's own without `to_file`."""
    group = parser.add_argument_group("result")
    group.add_argument("--json", action="store_true", help="print JSON instead of text")
    if to_file:
        group.add_argument(
            *("-o", "--output"), metavar="PATH", help="write the JSON to a file as well"
        )
    group.add_argument(
        "--traceback",
        action="store_true",
        help="show the traceback of an unexpected error, which may quote cells",
    )


def of_key(parser: argparse.ArgumentParser, what: str, *, required: bool = False) -> None:
    """Add the options for where a secret key is: never on the command line, which others see."""
    group = parser.add_argument_group(
        "key", f"Where {what} is, as `anonrisk key` writes one: in hexadecimal digits or base64."
    )
    item = group.add_mutually_exclusive_group(required=required)
    item.add_argument("--key-env", metavar="NAME", help="an environment variable")
    item.add_argument("--key-file", metavar="PATH", help="a file")
    item.add_argument(
        "--key-part",
        metavar="PATH",
        action="append",
        help="a file of a part of the key; once for each part",
    )
    group.add_argument(
        "--key-shared",
        action="store_true",
        help="take files of keys that others may read, as containers mount them",
    )


def key_of(args: argparse.Namespace) -> Key:
    """Read the key that the command line names."""
    from anonrisk.pseudonyms.keys import Key, KeyPart

    if args.key_env is not None:
        return Key.from_env(args.key_env)
    if args.key_file is not None:
        return Key.from_file(args.key_file, shared=args.key_shared)
    if args.key_part:
        parts = [KeyPart.from_file(path, shared=args.key_shared) for path in args.key_part]
        return Key.from_parts(parts)
    raise ArgumentError("no key: say --key-env NAME, --key-file PATH, or --key-part for each part")


def pair(what: str, words: tuple[str, ...] = ()) -> Callable[[str], tuple[str, str]]:
    """Read NAME=VALUE; the name may hold an = of its own."""

    def read(text: str) -> tuple[str, str]:
        name, sign, value = text.rpartition("=")
        if not sign or not name or (words and value not in words):
            choices = f", one of {', '.join(words)}" if words else ""
            right = f"{name or text}={words[1]}" if words else f"zip={text}"
            raise argparse.ArgumentTypeError(
                f"{text!r} is not COLUMN={what}{choices}: write for example {right}"
            )
        return name, value

    return read


def number(what: str) -> Callable[[str], tuple[str, float]]:
    """Read NAME=NUMBER."""

    def read(text: str) -> tuple[str, float]:
        name, value = pair(what.upper())(text)
        try:
            return name, float(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r}: the {what} is not a number") from None

    return read
