"""Check, approve, publish and verify releases: several tables, after all that came before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options, output_paths
from anonrisk.cli.deliver import write
from anonrisk.cli.outcome import Outcome
from anonrisk.cli.page_file import write_page
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError, ReleaseBlocked, UnwritableTableError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from anonrisk.cli.source import Source
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.release.approvals import Approval
    from anonrisk.releases.release.verdict import ReleaseVerdict
    from anonrisk.reporting import Report

_RELEASE = "release.yaml, or JSON (.json): docs/releases.md shows every key"
_APPROVALS = "where approvals are kept (default: beside the release, as release.approvals.json)"


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:  # noqa: ARG001
    """Add what one can do with a release."""
    todo = parser.add_subparsers(metavar="ACTION", required=True)
    check = todo.add_parser("check", help="judge the tables, joined, and after earlier releases")
    check.add_argument("release", metavar="RELEASE", help=_RELEASE)
    _of_ledger(check)
    check.add_argument("--approvals", metavar="PATH", help=_APPROVALS)
    group = check.add_argument_group("gate")
    group.add_argument("--junit", metavar="PATH", help="write the findings as JUnit XML")
    group.add_argument("--sarif", metavar="PATH", help="write them as SARIF, for code scanning")
    group.add_argument("--markdown", metavar="PATH", help="write them for a pull request")
    group.add_argument("--html", metavar="PATH", help="write a page for people who decide")
    approve = todo.add_parser("approve", help="agree to exactly what is there now")
    approve.add_argument("release", metavar="RELEASE", help=_RELEASE)
    approve.add_argument("--by", required=True, help="who approves; not the one who publishes")
    approve.add_argument("--approvals", metavar="PATH", help=_APPROVALS)
    options.of_key(approve, "the ledger's key, which seals the approval")
    publish = todo.add_parser("publish", help="check, and write into the ledger what passes")
    publish.add_argument("release", metavar="RELEASE", help=_RELEASE)
    publish.add_argument("--by", required=True, help="who publishes")
    publish.add_argument("--approvals", metavar="PATH", help=_APPROVALS)
    publish.add_argument(
        *("-o", "--manifest"),
        dest="sealed",
        required=True,
        metavar="PATH",
        help="where the sealed manifest is written",
    )
    publish.add_argument("--new", action="store_true", help="make the ledger, which is not there")
    publish.add_argument(
        "--seal",
        metavar="PATH",
        help="a private Ed25519 key in PEM that seals the manifest (default: the ledger's key)",
    )
    _of_ledger(publish, required=True)
    verify = todo.add_parser("verify", help="hold the files that go out to their manifest")
    verify.add_argument("manifest", metavar="MANIFEST")
    verify.add_argument("files", nargs="+", help="the folder that is published, or all its files")
    verify.add_argument("--public-key", metavar="PATH", help="of a seal by Ed25519")
    _of_ledger(verify)
    show = todo.add_parser("show", help="print a release, a manifest, or what a ledger holds")
    show.add_argument("what", nargs="?", metavar="FILE", help="release.yaml, or a manifest")
    _of_ledger(show)
    diff = todo.add_parser("diff", help="compare the tables with earlier releases of them")
    diff.add_argument("release", metavar="RELEASE", help=_RELEASE)
    _of_ledger(diff, required=True)
    actions: tuple[tuple[Any, Callable[..., Outcome]], ...] = (
        (check, _check),
        (approve, _approve),
        (publish, _publish),
        (verify, _verify),
        (show, _show),
        (diff, _diff),
    )
    for parts, run in actions:
        options.of_output(parts)
        parts.set_defaults(run=run)


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


def _check(given: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.releases.release.release import Release

    release = Release.load(given.release)
    found: list[ReleaseVerdict] = []

    def page() -> Report:
        found.append(release.check(_ledger(given), approvals=_approvals(given)))
        return found[0].report()

    if given.html is None:
        page()
    else:
        output_paths.outside_table("--html", given.html, output_paths.of_release(given))
        write_page(given.html, release.name, page)
    return Outcome.of_release(found[0])


def _approve(given: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.releases.release.approvals import write_approvals
    from anonrisk.releases.release.release import Release

    release = Release.load(given.release)
    one = release.approve(by=given.by, key=options.key_of(given))
    path = _place(given)
    _written(path, write_approvals([*_approvals(given, first=True), one]))
    told = Outcome.of(one, approval=one.to_dict(), written=path)
    return Outcome(f"{told.text}\nWrote {shown(path)}", told.document)


def _publish(given: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.pseudonyms.seal import SigningKey
    from anonrisk.releases.release.release import Release
    from anonrisk.releases.release.verdict import ReleaseVerdict

    release = Release.load(given.release)
    seal = None if given.seal is None else SigningKey.from_file(given.seal, shared=given.key_shared)
    try:
        manifest = release.publish(
            _opened(given, new=given.new), by=given.by, approvals=_approvals(given), seal=seal
        )
    except ReleaseBlocked as error:
        if not isinstance(error.verdict, ReleaseVerdict):
            raise
        return Outcome.of_release(error.verdict)
    manifest.save(given.sealed)
    told = Outcome.of(manifest, status=manifest.status, manifest=manifest.to_dict())
    return Outcome(f"{told.text}\nWrote {shown(given.sealed)}", told.document)


def _verify(given: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.errors import ManifestError
    from anonrisk.pseudonyms.seal import PublicKey
    from anonrisk.releases.ledger.manifest import Manifest

    keys: dict[str, Any] = {"key": None if given.public_key else options.key_of(given)}
    if given.public_key:
        keys = {"public_key": PublicKey.from_file(given.public_key)}
    try:
        manifest = Manifest.load(given.manifest)
        found = manifest.verify(given.files, ledger=_ledger(given), **keys)
    except ManifestError as error:
        return Outcome.failed(str(error))
    return Outcome.of(found, status="pass", release=found.release)


def _show(given: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    named = None if given.what is None else _named(given.what)
    ledger = _ledger(given)
    entries = None if ledger is None else ledger.entries()
    found = [one for one in (named, entries) if one is not None]
    if not found:
        raise ArgumentError("show what: a release, a manifest, or a --ledger with its key")
    parts: dict[str, Any] = {} if named is None else {"shown": named.to_dict()}
    if entries is not None:
        parts |= {"entries": [vars(one) for one in entries], "head": entries.head}
    return Outcome.of(*found, **parts)


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


def _diff(given: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    from anonrisk.releases.release.release import Release

    compared = Release.load(given.release).compare(_opened(given))
    return Outcome.of(compared, *compared, **compared.to_dict())


def _ledger(given: argparse.Namespace) -> Ledger | None:
    if given.ledger is None and given.head is not None:
        raise ArgumentError("--head is that of a ledger: say --ledger as well")
    return None if given.ledger is None else _opened(given)


def _opened(given: argparse.Namespace, *, new: bool = False) -> Ledger:
    from anonrisk.releases.ledger.ledger import Ledger

    ledger = Ledger(given.ledger, key=options.key_of(given), new=new)
    if given.head is not None:
        ledger.verify(head=given.head)
    return ledger


def _place(given: argparse.Namespace) -> str:
    return str(given.approvals or Path(given.release).with_suffix(".approvals.json"))


def _approvals(given: argparse.Namespace, *, first: bool = False) -> tuple[Approval, ...]:
    from anonrisk.releases.release.approvals import read_approvals

    path = Path(_place(given))
    if (first or given.approvals is None) and not path.exists():
        return ()
    try:
        return read_approvals(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise ArgumentError(f"cannot read the approvals {str(path)!r}: {why}") from None


def _written(path: str, text: str) -> None:
    try:
        write(path, text)
    except OSError as error:
        raise UnwritableTableError(f"cannot write {path!r}: {error.strerror}") from None
