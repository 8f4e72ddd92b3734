"""Check, approve, publish and verify releases: several tables, after all that came before."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options, output
from anonrisk.cli.deliver import write_or_refuse
from anonrisk.cli.next_steps import after_release, as_text
from anonrisk.cli.output import Outcome
from anonrisk.cli.page_file import write_page
from anonrisk.core.arguments import day_of
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError, ReleaseBlocked
from anonrisk.reporting import Report

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from anonrisk.cli.source import Source
    from anonrisk.releases.ledger.chain import LedgerEntry
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.release.approvals import Approval
    from anonrisk.releases.release.verdict import ReleaseVerdict

_RELEASE = "release.yaml, or JSON (.json): docs/releases.md shows every key"
_APPROVALS = "where approvals are kept (default: beside the release, as release.approvals.json)"


class _PageOrJson(argparse.Action):
    """Take a path for a page or for JSON, by its ending; said twice, both are written."""

    def __call__(self, _parser: Any, namespace: Any, values: Any, _option: Any = None) -> None:
        """Store the path."""
        is_page = Path(values).suffix.casefold() in (".html", ".htm")
        setattr(namespace, "page" if is_page else "output", values)


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:  # noqa: ARG001
    """Add what one can do with a release."""
    todo = parser.add_subparsers(metavar="ACTION", required=True)
    check = todo.add_parser("check", help="judge the tables, joined, and after earlier releases")
    check.add_argument("release", metavar="RELEASE", help=_RELEASE)
    _of_ledger(check)
    check.add_argument(
        "--new", action="store_true", help="there is no ledger yet: this is the first release"
    )
    check.add_argument("--approvals", metavar="PATH", help=_APPROVALS)
    group = check.add_argument_group("gate")
    group.add_argument("--junit", metavar="PATH", help="write the findings as JUnit XML")
    group.add_argument("--sarif", metavar="PATH", help="write them as SARIF, for code scanning")
    group.add_argument("--markdown", metavar="PATH", help="write them for a pull request")
    group.add_argument(
        *("-o", "--output"),
        action=_PageOrJson,
        metavar="PATH",
        help="write a page for people who decide (.html), or JSON",
    )
    check.set_defaults(page=None)
    approve = todo.add_parser("approve", help="agree to exactly what is there now")
    approve.add_argument("release", metavar="RELEASE", help=_RELEASE)
    approve.add_argument(
        "--signing-key",
        required=True,
        metavar="PATH",
        help="your own Ed25519 key, of OpenSSH or in PEM, whose public key is among the approvers; "
        "its public key (.pub) to let the SSH agent sign",
    )
    approve.add_argument("--approvals", metavar="PATH", help=_APPROVALS)
    publish = todo.add_parser("publish", help="check, and write into the ledger what passes")
    publish.add_argument("release", metavar="RELEASE", help=_RELEASE)
    publish.add_argument("--by", required=True, help="who publishes")
    publish.add_argument("--approvals", metavar="PATH", help=_APPROVALS)
    publish.add_argument(
        *("-o", "--output"),
        dest="sealed",
        required=True,
        metavar="PATH",
        help="where the sealed manifest is written",
    )
    publish.add_argument("--new", action="store_true", help="make the ledger, which is not there")
    publish.add_argument(
        "--seal",
        metavar="PATH",
        help="a private Ed25519 key that seals the manifest as well, beside the ledger's key",
    )
    _of_ledger(publish, required=True)
    mend = todo.add_parser("mend", help="hold persons back, so that the rest can go out")
    mend.add_argument("release", metavar="RELEASE", help=_RELEASE)
    mend.add_argument(
        "--leavers",
        required=True,
        choices=("keep", "drop"),
        help="whether rows of people who left are published until enough of them can go, or are "
        "left out at once together with others who did not leave",
    )
    mend.add_argument(
        "--previous",
        metavar="RELEASE",
        help="the release before, whose files are there still: rows are kept from them",
    )
    mend.add_argument(
        "--erased",
        metavar="PATH",
        help="a text file with one value of the unit per line: their rows are not kept",
    )
    mend.add_argument(
        *("-o", "--output"),
        dest="folder",
        required=True,
        metavar="FOLDER",
        help="a new folder for the tables and the release.yaml to publish",
    )
    _of_ledger(mend, required=True)
    verify = todo.add_parser("verify", help="hold the files that go out to their manifest")
    verify.add_argument("manifest", metavar="MANIFEST")
    verify.add_argument("files", nargs="+", help="the folder that is published, or all its files")
    verify.add_argument("--public-key", metavar="PATH", help="of a seal by Ed25519")
    verify.add_argument(
        "--at",
        type=_day,
        metavar="DATE",
        help="the day on which it must hold, as 2026-12-31 (default: the day of publication)",
    )
    _of_ledger(verify)
    show = todo.add_parser("show", help="print a release, a manifest, or what a ledger holds")
    show.add_argument("what", nargs="?", metavar="FILE", help="release.yaml, or a manifest")
    show.add_argument(
        "--lineage",
        choices=("openlineage", "prov"),
        help="print the facts of a manifest as an event of OpenLineage, or as PROV-JSON",
    )
    _of_ledger(show)
    diff = todo.add_parser("diff", help="compare the tables with earlier releases of them")
    diff.add_argument("release", metavar="RELEASE", help=_RELEASE)
    _of_ledger(diff, required=True)
    actions: tuple[tuple[Any, Callable[..., Outcome]], ...] = (
        (check, _check),
        (approve, _approve),
        (publish, _publish),
        (mend, _mend),
        (verify, _verify),
        (show, _show),
        (diff, _diff),
        *_lives(todo),
    )
    for parts, run in actions:
        options.of_output(parts, to_file=parts not in (check, publish, mend))
        parts.set_defaults(run=run)


def _lives(todo: Any) -> tuple[tuple[Any, Callable[..., Outcome]], ...]:
    """Add what is done to a ledger after publishing."""
    withdraw = _of_life(todo, "withdraw", "take a release back; its next revision may follow")
    withdraw.add_argument("name", metavar="NAME", help="of the release, as `show` lists it")
    withdraw.add_argument(
        "--nobody-received",
        action="store_true",
        help="nobody got it: later releases are not compared with it (default: they are)",
    )
    withdraw.add_argument(
        "--revision",
        type=int,
        metavar="N",
        help="which of the releases of that name (default: the last, if no other can be meant)",
    )
    rotate = _of_life(todo, "rotate", "give the ledger another key")
    rotate.add_argument("--new-key-file", required=True, metavar="PATH", help="the key it gets")
    expire = _of_life(todo, "expire", "delete states of old releases, but the last of each table")
    expire.add_argument("--before", required=True, type=_day, metavar="DATE", help="as 2026-11-18")
    erase = _of_life(todo, "erase", "take a person out of every state of the ledger")
    erase.add_argument(
        "--person",
        required=True,
        metavar="PATH",
        help="a text file whose only line is the value of the unit that is theirs",
    )
    erase.add_argument(
        "--ended",
        action="append",
        metavar="TABLE",
        help="a table that is published no more, with no release without them; may be repeated",
    )
    clock = _of_life(todo, "accept-clock", "go on although the last entry lies ahead of this clock")
    return (
        (withdraw, _withdraw),
        (rotate, _rotate),
        (expire, _expire),
        (erase, _erase),
        (clock, _accept_clock),
    )


def _of_life(todo: Any, name: str, said: str) -> argparse.ArgumentParser:
    """Add an action that writes into a ledger and publishes nothing."""
    parser: argparse.ArgumentParser = todo.add_parser(name, help=said)
    parser.add_argument("--by", required=True, help="who decides it")
    parser.add_argument("--reason", required=True, help="why; it is kept in the ledger as it is")
    _of_ledger(parser, required=True)
    return parser


def _of_ledger(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    parser.add_argument(
        "--ledger",
        metavar="PATH",
        required=required,
        help="an SQLite file, or the URL of a database: what was published before",
    )
    parser.add_argument(
        "--head",
        help="a head that the ledger once had, kept elsewhere: without one nobody misses what is "
        "cut off at its end",
    )
    options.of_key(parser, "the ledger's key", required=required)


def _check(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.releases.release.release import Release

    release = Release.load(args.release)
    results: list[ReleaseVerdict] = []

    def page() -> Report:
        results.append(release.check(_ledger(args, new=args.new), approvals=_approvals(args)))
        return results[0].report()

    if args.page is None:
        page()
    else:
        output.outside_table("--output", args.page, output.of_release(args))
        write_page(Report, args.page, release.name, page)
    outcome = _judged(args, results[0])
    if args.page is None:
        return outcome
    return replace(outcome, text=f"{outcome.text}\nWrote {shown(args.page)}")


def _judged(args: argparse.Namespace, verdict: ReleaseVerdict) -> Outcome:
    """Show a verdict, and what to do next about one that failed."""
    steps = after_release(args, verdict)
    outcome = Outcome.of_release(verdict, **({"next_steps": steps} if steps else {}))
    return replace(outcome, text=outcome.text + as_text(steps))


def _approve(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.pseudonyms.seal import SigningKey
    from anonrisk.releases.release.approvals import Approval, write_approvals
    from anonrisk.releases.release.release import Release

    release = Release.load(args.release)
    statement = release.statement()
    key = SigningKey.from_file(args.signing_key)
    item = Approval.made(statement, release.approvers, key)
    path = _place(args)
    write_or_refuse(path, write_approvals(statement, [*_approvals(args, first=True), item]))
    summary = Outcome.of(item, approval=item.to_dict(), written=path)
    return Outcome(f"{summary.text}\nWrote {shown(path)}", summary.document)


def _publish(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.pseudonyms.seal import SigningKey
    from anonrisk.releases.release.release import Release
    from anonrisk.releases.release.verdict import ReleaseVerdict

    release = Release.load(args.release)
    seal = None if args.seal is None else SigningKey.from_file(args.seal, shared=args.key_shared)
    try:
        manifest = release.publish(
            _opened(args, new=args.new), by=args.by, approvals=_approvals(args), seal=seal
        )
    except ReleaseBlocked as error:
        if not isinstance(error.verdict, ReleaseVerdict):
            raise
        return _judged(args, error.verdict)
    manifest.save(args.sealed)
    summary = Outcome.of(manifest, status=manifest.status, manifest=manifest.to_dict())
    return Outcome(f"{summary.text}\nWrote {shown(args.sealed)}", summary.document)


def _mend(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.cli.mended_files import refuse_existing, write_mended
    from anonrisk.releases.release.release import Release

    refuse_existing(Path(args.folder))
    release, ledger = Release.load(args.release), _opened(args)
    previous = None if args.previous is None else Release.load(args.previous).tables
    mended = release.mend(
        ledger,
        leavers=args.leavers,
        previous=previous,
        erased=() if args.erased is None else _lines_of(args.erased),
    )
    if not mended.verdict.passed:
        outcome = Outcome.of_release(mended.verdict, price=mended.price.to_dict())
        return replace(outcome, text=f"{mended!r}\n\n{outcome.text}")
    written = write_mended(mended, Path(args.release), Path(args.folder), ledger)
    summary = Outcome.of(mended, status="pass", price=mended.price.to_dict(), written=str(written))
    return Outcome(f"{summary.text}\nWrote {shown(written)}", summary.document)


def _lines_of(path: str, option: str = "--erased") -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise ArgumentError(f"cannot read {option} {path!r}: {why}") from None


def _verify(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.errors import ManifestError
    from anonrisk.pseudonyms.seal import PublicKey
    from anonrisk.releases.ledger.manifest import Manifest

    keys: dict[str, Any] = {"key": None if args.public_key else options.key_of(args)}
    if args.public_key:
        keys = {"public_key": PublicKey.from_file(args.public_key)}
    try:
        manifest = Manifest.load(args.manifest)
        result = manifest.verify(args.files, ledger=_ledger(args), at=args.at, **keys)
    except ManifestError as error:
        return Outcome.failed(str(error))
    newer = result.replaced_by
    return Outcome.of(result, status="pass", release=result.release, replaced_by=newer)


def _show(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    if args.lineage is not None:
        return _lineage(args)
    named = None if args.what is None else _named(args.what)
    ledger = _ledger(args)
    entries = None if ledger is None else ledger.entries()
    results = [item for item in (named, entries) if item is not None]
    if not results:
        raise ArgumentError("show what: a release, a manifest, or a --ledger with its key")
    parts: dict[str, Any] = {} if named is None else {"shown": named.to_dict()}
    if entries is not None:
        parts |= {"entries": [vars(entry) for entry in entries], "head": entries.head}
    return Outcome.of(*results, **parts)


def _lineage(args: argparse.Namespace) -> Outcome:
    from anonrisk.releases.ledger.manifest import FORMS, Manifest

    if args.what is None or args.ledger is not None:
        raise ArgumentError("--lineage is of one manifest: name its file, and no --ledger")
    document = FORMS[args.lineage](Manifest.load(args.what))
    return Outcome(json.dumps(document, indent=2), document)


def _named(path: str) -> Any:
    """Read a release or a manifest, whichever it is."""
    from anonrisk.errors import ManifestError
    from anonrisk.releases.ledger.manifest import Manifest
    from anonrisk.releases.release.release import Release

    if Path(path).suffix.casefold() != ".json":
        return Release.load(path)
    try:
        return Manifest.load(path)
    except ManifestError:
        return Release.load(path)


def _diff(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.releases.release.release import Release

    compared = Release.load(args.release).compare(_opened(args))
    return Outcome.of(compared, *compared, **compared.to_dict())


def _withdraw(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    entry = _opened(args).withdraw(
        args.name,
        by=args.by,
        reason=args.reason,
        received=not args.nobody_received,
        revision=args.revision,
    )
    return _added(entry)


def _rotate(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.pseudonyms.keys import Key

    key = Key.from_file(args.new_key_file, shared=args.key_shared)
    return _added(_opened(args).rotate(key, by=args.by, reason=args.reason))


def _day(text: str) -> dt.date:
    try:
        return day_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day, as 2026-11-18") from None


def _expire(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    entry = _opened(args).expire(args.before, by=args.by, reason=args.reason)
    return Outcome("Nothing is so old.", Outcome.of().document) if entry is None else _added(entry)


def _erase(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    persons = _lines_of(args.person, "--person")
    if len(persons) != 1:
        raise ArgumentError(
            f"--person holds {len(persons):,} lines: one person is erased at a time"
        )
    why = {"by": args.by, "reason": args.reason}
    return _added(_opened(args).erase(persons[0], **why, ended=args.ended))


def _accept_clock(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    return _added(_opened(args).accept_clock(by=args.by, reason=args.reason))


def _added(entry: LedgerEntry) -> Outcome:
    return Outcome.of(entry, entry=vars(entry), head=entry.head)


def _ledger(args: argparse.Namespace, *, new: bool = False) -> Ledger | None:
    if args.ledger is None and args.head is not None:
        raise ArgumentError("--head is that of a ledger: say --ledger as well")
    if args.ledger is None and new:
        raise ArgumentError("--new is about a ledger: say --ledger as well")
    return None if args.ledger is None else _opened(args, new=new)


def _opened(args: argparse.Namespace, *, new: bool = False) -> Ledger:
    from anonrisk.releases.ledger.ledger import Ledger

    ledger = Ledger(args.ledger, key=options.key_of(args), new="when published" if new else False)
    if args.head is not None:
        ledger.verify(head=args.head)
    return ledger


def _place(args: argparse.Namespace) -> str:
    return str(args.approvals or Path(args.release).with_suffix(".approvals.json"))


def _approvals(args: argparse.Namespace, *, first: bool = False) -> tuple[Approval, ...]:
    from anonrisk.releases.release.approvals import read_approvals

    path = Path(_place(args))
    if (first or args.approvals is None) and not path.exists():
        return ()
    try:
        return read_approvals(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise ArgumentError(f"cannot read the approvals {str(path)!r}: {why}") from None
