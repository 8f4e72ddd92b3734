"""What a command has to say: an exit code, a text for people, a document for machines."""

from __future__ import annotations

import math
from dataclasses import field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.core.frozen import dataclass
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, Finding
from anonrisk.policy.verdict import Verdict

if TYPE_CHECKING:
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
