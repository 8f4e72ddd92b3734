"""What a command has to say, in words and for machines, and where it writes that."""

from __future__ import annotations

import fnmatch
import math
import os
from dataclasses import field, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading.files import STDIN, refuse_blank, without_values
from anonrisk.errors import ArgumentError
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, Finding
from anonrisk.policy.verdict import Verdict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from anonrisk.releases.release.verdict import ReleaseVerdict
    from anonrisk.reporting import Report

CODES = {PASS: 0, FAIL: 1, "wrong_usage": 2, COULD_NOT_ASSESS: 3}
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Outcome:
    """The end of a command.

    Attributes
    ----------
    text : str
        For people, on standard output.
    document : dict
        The same as plain values, for ``--json`` and ``--output``.
    code : int
        The exit code.
    findings : tuple of Finding
        Of a gate: what it found, for ``--junit``.
    message : str
        What went wrong, on standard error.
    tables : tuple of str or None
        Of a release: the table of each finding; None for what is about all of them.
    page : Report or None
        Of a release: what ``--markdown`` writes.
    covers, caveats : tuple of str
        Of a gate: what the verdict covers, and what keeps a pass from being a plain one.
    """

    text: str
    document: dict[str, Any]
    code: int = 0
    findings: tuple[Finding, ...] = field(default=())
    message: str = ""
    tables: tuple[str | None, ...] = ()
    page: Report | None = None
    covers: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def of_tables(self) -> list[tuple[str | None, Finding]]:
        """Every finding, with its table where there are several."""
        return list(zip_longest(self.tables[: len(self.findings)], self.findings))

    @classmethod
    def of(cls, *results: Any, code: int = 0, **parts: Any) -> Outcome:
        """Show results one after the other; `parts` is the document."""
        return cls(
            text="\n\n".join(map(repr, results)),
            document={
                "schema_version": SCHEMA_VERSION,
                "library": "anonrisk",
                "library_version": __version__,
                **plain(parts),
            },
            code=code,
        )

    @classmethod
    def of_verdict(cls, verdict: Verdict, fail_on: str) -> Outcome:
        """Return the exit code of a gate; only a pass is 0."""
        decided = replace(verdict, fail_on=fail_on)
        code = CODES[decided.status]
        summary = decided.status == verdict.status
        message = "" if summary else "a warning decides (--fail-on warn)"
        document = {**decided.to_dict(), "exit_code": code}
        covered = verdict.coverage
        return cls(
            text=repr(decided),
            document=document,
            code=code,
            findings=verdict.all_findings,
            message=message,
            covers=tuple(covered.lines()),
            caveats=decided.caveats,
        )

    @classmethod
    def of_release(cls, verdict: ReleaseVerdict, **more: Any) -> Outcome:
        """Return the exit code of a release, by the same rule."""
        code = CODES[verdict.status]
        document = {**verdict.to_dict(), "exit_code": code, **plain(more)}
        tables = [name for name, item in verdict.tables.items() for _ in item.all_findings]
        return cls(
            text=repr(verdict),
            document=document,
            code=code,
            findings=verdict.every_finding,
            tables=(*tables, *(None for _ in verdict.findings)),
            page=verdict.report(),
            caveats=verdict.caveats,
            covers=tuple(
                f"{name}: {line}"
                for name, table in verdict.tables.items()
                for line in table.coverage.lines()
            ),
        )

    @classmethod
    def not_finished(cls, fail_on: str | None) -> Outcome:
        """Return what stands where a result goes until there is one; a gate's is a verdict."""
        if fail_on is not None:
            return cls.of_verdict(Verdict.not_finished(), fail_on)
        return cls.refused(COULD_NOT_ASSESS, "it has not finished")

    @classmethod
    def failed(cls, message: str) -> Outcome:
        """Return the outcome of a gate that failed where nothing was measured, and why."""
        said = cls.of(code=CODES[FAIL], status=FAIL, message=message)
        finding = Finding("files", FAIL, "fail", message)
        return replace(said, text="", findings=(finding,), message=message)

    @classmethod
    def refused(cls, status: str, message: str) -> Outcome:
        """Return the outcome without a result, and why, for every reader."""
        finding = Finding("table", COULD_NOT_ASSESS, "fail", message)
        said = cls.of(status=status, message=message)
        shown = f"{status.replace('_', ' ')}: {message}"
        return cls("", said.document, CODES[status], (finding,), shown)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: infinity has no digits."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if value is None or isinstance(value, (str, int)):
        return value
    # Numbers of NumPy know their Python kind; a day is written as such.
    return plain(value.item()) if hasattr(value, "item") else str(value)


# Options that name a file for a result.
RESULTS = ("junit", "sarif", "markdown", "output")
# How options are called whose values have another name, because another command has that one.
_OPTIONS = dict.fromkeys(("changed", "draft", "page", "sealed"), "output")
_OPTIONS["save_plan"] = "save-plan"
_TABLES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def refuse_overwriting(args: argparse.Namespace) -> None:
    """Reject to write over anything that is read or kept, or over what is written as well.

    Results are written even where a command fails, so that this comes before everything.
    """
    tables = _tables(args)
    taken = [*_single(args)]
    taken += [(name, f"part of {what} that is read") for what, names in tables for name in names]
    for option in (
        "apply",
        "changed",
        "page",
        *RESULTS,
        "draft",
        "sealed",
        "resolved",
        "save_plan",
    ):
        path = getattr(args, option, None)
        if path is None:
            continue
        name = _OPTIONS.get(option, option)
        for other, what in taken:
            if _same_file(Path(path), Path(other)):
                shown = without_values(path)
                raise ArgumentError(f"--{name} {shown!r} is {what}: write it somewhere else")
        taken.append((path, f"what --{name} writes"))
        if option in RESULTS and "://" not in path:
            # An empty path is refused where it is read: no earlier result is left standing then.
            for what, names in tables:
                outside_table(f"--{option}", path, [name for name in names if name.strip()], what)


def _tables(args: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """List the paths of each table that a command reads: files, folders or patterns."""
    results = []
    options = {"table": ("table", "input"), "population": ("population",), "base": ("against",)}
    options["release"] = ("files",)
    for what, names in options.items():
        paths = [getattr(args, name, None) or () for name in names]
        # What a repository calls a population is a text, and no path.
        listed = [path for item in paths if not isinstance(item, str) for path in item]
        results.append((f"the {what}", [path for path in listed if path != STDIN]))
    return [*results, ("a table", of_release(args))]


def of_release(args: argparse.Namespace) -> list[str]:
    """List the paths of the tables that a release names."""
    if getattr(args, "release", None) is None:
        return []
    from anonrisk.releases.release.parts import table_paths

    return table_paths(args.release)


def _single(args: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """List the other files that a command reads, or keeps things in."""
    known = {"policy": "the policy", "plan": "the plan", "previous": "the plan before"}
    known |= {"release": "the release", "approvals": "where approvals are", "key_file": "the key"}
    known |= {
        "seal": "the key",
        "signing_key": "the key",
        "public_key": "the key",
        "manifest": "the manifest",
    }
    for option, what in known.items():
        if getattr(args, option, None) is not None:
            yield getattr(args, option), what
    for part in getattr(args, "key_part", None) or ():
        yield part, "a part of the key"
    for _, name in getattr(args, "hierarchies", None) or ():
        yield name, "a hierarchy that is read"
    if getattr(args, "ledger", None) is not None:
        yield args.ledger.rpartition(":///")[2], "the ledger"
    if getattr(args, "release", None) is not None:
        from anonrisk.releases.release.parts import policy_paths

        yield from ((path, "a policy of the release") for path in policy_paths(args.release))
    if hasattr(args, "repository"):
        from anonrisk.priors.repository import DEFAULT_PLACE

        yield (args.repository or DEFAULT_PLACE).removeprefix("sqlite:///"), "the repository"


def outside_table(option: str, text: str, tables: Sequence[str], what: str = "the table") -> Path:
    """Reject a file that would be part of the table when that is read again."""
    refuse_blank(tables)
    path = Path(text)
    if path.is_dir():
        raise ArgumentError(f"{option} {text!r} is a folder: name a file")
    where = path.resolve()
    for table in tables:
        read = Path(table).resolve()
        if read in where.parents or fnmatch.fnmatch(str(where), str(read)):
            raise ArgumentError(
                f"{option} {without_values(text)!r} would be part of {what} that is read: write "
                "it somewhere else"
            )
    return path


def _same_file(item: Path, other: Path) -> bool:
    """Return whether two paths are one file, also where it has two names."""
    return item.resolve() == other.resolve() or (
        item.exists() and other.exists() and item.samefile(other)
    )


def table_path(option: str, text: str, tables: Sequence[str], *, force: bool) -> tuple[Path, str]:
    """Find where a table goes, and in which format; nothing is lost that nobody gave up."""
    path = outside_table(option, text, tables)
    kind = _TABLES.get(path.suffix.casefold())
    if kind is None:
        raise ArgumentError(f"{option} {text!r}: the name must end in {', '.join(_TABLES)}")
    _refuse_existing(option, path, text, force=force)
    return path, kind


def rewritten_path(text: str, tables: Sequence[str], *, force: bool) -> Path:
    """Find where a file goes that is written anew; its format is that of the one that is read."""
    if any(_same_file(Path(text), Path(table)) for table in tables):
        raise ArgumentError(f"OUT {text!r} is the file that is read: write it somewhere else")
    path = outside_table("OUT", text, tables)
    _refuse_existing("OUT", path, text, force=force)
    return path


def policy_path(option: str, text: str, tables: Sequence[str], *, force: bool) -> Path:
    """Find where a policy goes; one that somebody has edited is not lost unless they say so."""
    path = outside_table(option, text, tables)
    if path.suffix.casefold() in _TABLES:
        raise ArgumentError(f"{option} {text!r}: a policy is YAML, or JSON if it ends in .json")
    _refuse_existing(option, path, text, force=force)
    return path


def _refuse_existing(option: str, path: Path, text: str, *, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise ArgumentError(f"{option} {text!r} is there already; --force replaces it")
