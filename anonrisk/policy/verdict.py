"""What a check found: a finding per budget, and whether the table may be published."""

from __future__ import annotations

import json
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from anonrisk._version import __version__
from anonrisk.core import render
from anonrisk.core.documents import Reader
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import restore
from anonrisk.errors import ArgumentError, ReleaseBlocked
from anonrisk.policy.budgets import at_least
from anonrisk.policy.coverage import Coverage
from anonrisk.policy.finding import (
    COULD_NOT_ASSESS,
    FAIL,
    PASS,
    WAIVED,
    Finding,
    about_of,
    named_once,
    unknown,
)
from anonrisk.policy.release_rules import ROW_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.explain import Explanation

SCHEMA_VERSION = 4
# A printed verdict shows no more findings than somebody reads.
_SHOWN = 40
_READER = Reader("verdict", ArgumentError)
_COUNTS = ("n_records", "n_rows", "n_dropped")


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, repr=False)
class Verdict:
    """Whether a table keeps a policy's budgets.

    ``bool(verdict)`` is true if it passed and false otherwise, so that ``if policy.check(df):``
    never lets a table through that could not be assessed.

    Attributes
    ----------
    findings : tuple of Finding
        One per budget (and sensitive column, and group).
    policy_digest : str or None
        Which policy it was; see `Policy.digest`. None for a suite that was made by hand.
    policy_name : str or None
        What the policy calls itself.
    table : str or None
        What the table is called.
    files : tuple of str
        The files that it was read from; values of partitions are left out of their names.
    coverage : Coverage
        What was judged and what was not: rows, columns with their budgets, what is a person.
    engine : str or None
        The library that the table belongs to.
    missing : str
        What was done with missing values.
    n_records, n_rows, n_dropped : int or None
        Records (with a unit, persons), rows and rows left out, of the first quasi-identifier.
    checked_at : str
        When, in UTC; two verdicts that differ in nothing else are equal.
    library_version : str
        The version of anonrisk.
    fail_on : {"fail", "warn"}
        Whether budgets that only warn decide as well, as ``anonrisk check --fail-on warn`` has it.
    storage : tuple of Finding
        What the table's file, or the table in memory, holds besides its rows: values that no row
        has, metadata that nobody knows. It decides like the findings; two verdicts that differ in
        nothing else are equal, since the same rows can be stored in many ways.
    """

    findings: tuple[Finding, ...]
    policy_digest: str | None
    policy_name: str | None = None
    table: str | None = None
    files: tuple[str, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    engine: str | None = None
    missing: str = "value"
    n_records: int | None = None
    n_rows: int | None = None
    n_dropped: int | None = None
    library_version: str = __version__
    fail_on: str = "fail"
    checked_at: str = field(default_factory=now, compare=False)
    storage: tuple[Finding, ...] = field(default=(), compare=False)
    _source: Any = field(default=None, compare=False)

    # ---- the answer -------------------------------------------------------------------------

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """The findings about the rows, then those about how the table is stored."""
        return (*self.findings, *self.storage)

    @property
    def status(self) -> str:
        """``"pass"``, ``"fail"`` or ``"could_not_assess"``.

        A budget that only warns does not count if it is broken, unless `fail_on` says so; if it
        could not be assessed it does.
        """
        if not self.findings:
            return COULD_NOT_ASSESS
        return overall(f for f in self.all_findings if f.passed or f.blocks(self.fail_on))

    @property
    def status_with_warnings(self) -> str:
        """The same, with every warning taken for a failure."""
        return replace(self, fail_on="warn").status

    @property
    def passed(self) -> bool:
        """Whether the table may be published."""
        return self.status == PASS

    def __bool__(self) -> bool:
        """Mean passed, so that a careless `if` is safe."""
        return self.passed

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that block: those that failed and those that could not be assessed."""
        return tuple(f for f in self.all_findings if f.blocks(self.fail_on))

    @property
    def fails_as_stored(self) -> bool:
        """Whether nothing blocks but how the table is stored: its rows could be published."""
        failures = self.failures
        return bool(failures) and all(finding in self.storage for finding in failures)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that did not pass but only warn."""
        loose = (f for f in self.all_findings if not f.passed and not f.blocks(self.fail_on))
        return tuple(f for f in loose if f.severity != WAIVED)

    @property
    def columns(self) -> Mapping[Name, str | None]:
        """The columns that the table has, each with its role (as ``"quasi"``) or None."""
        return self.coverage.roles

    @property
    def not_looked_at(self) -> Qid:
        """What nobody looked at; see `Coverage.not_looked_at`."""
        return self.coverage.not_looked_at

    @property
    def unit(self) -> Name | None:
        """The column that says which person a row belongs to."""
        return self.coverage.unit

    @property
    def word(self) -> str:
        """The status in words for people; a pass that leaves something out says what.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"zip": ["a", "a"], "illness": ["flu", "flu"]})
        >>> anonrisk.Policy(quasi="zip", sensitive="illness", k=2).check(df).word
        'pass, attribute disclosure not judged for illness'
        """
        return ", ".join((_WORDS[self.status], *self.caveats))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What keeps a pass from being a plain one: `Coverage.caveats`, and what is waived."""
        if not self.passed:
            return ()
        n_waived = len(self.waived)
        waived = [f"{render.count_of(n_waived, 'broken limit')} waived"] if n_waived else []
        return (*waived, *self.coverage.caveats)

    @property
    def waived(self) -> tuple[Finding, ...]:
        """The findings that failed and that a waiver of a release keeps from blocking."""
        return tuple(f for f in self.findings if f.severity == WAIVED)

    def raise_for_status(self, *, fail_on: str = "fail") -> None:
        """Raise `ReleaseBlocked` unless the table passed.

        Parameters
        ----------
        fail_on : {"fail", "warn"}
            Whether a warning blocks too.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"zip": ["1011", "1012"]})
        >>> anonrisk.Policy(quasi="zip", k=2).check(df).raise_for_status()
        Traceback (most recent call last):
        ...
        anonrisk.errors.ReleaseBlocked: the table does not pass (fail): The smallest class of ...
        """
        _fail_on(fail_on)
        status = self.status if fail_on == "fail" else self.status_with_warnings
        if status != PASS:
            bad = self.failures if fail_on == "fail" else (*self.failures, *self.warnings)
            text = " ".join(render.shown(f.sentence) for f in bad[:5])
            more = f" And {len(bad) - 5:,} more." if len(bad) > 5 else ""
            why = text or "Nothing was checked."
            about = f"table {self.table!r}" if self.table else "the table"
            raise ReleaseBlocked(f"{about} does not pass ({status}): {why}{more}", self)

    def explain(self, frame: Any = None, *, time_limit: float | None = None) -> Explanation:
        """Try what would help: columns left out or made coarser, each judged by the gate itself.

        Parameters
        ----------
        frame : DataFrame, optional
            The table; left out, the one that was checked. A verdict that was stored has none.
        time_limit : float, optional
            Seconds after which columns are no longer left out in turn, and the same for the search
            of a plan, as in `anonrisk.PlanOptions`.

        Returns
        -------
        Explanation
            Per budget that did not pass, what it would be without each column, the best first. Of
            a table that failed also plans, applied and checked; `Explanation.plan` is the one to
            save.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"zip": ["1011", "1012", "1021", "1022"], "sex": list("ffmm")})
        >>> policy = anonrisk.Policy(quasi=["zip", "sex"], k=2)
        >>> explanation = policy.check(df).explain()
        >>> explanation.advice()[0]
        'Making zip coarser is enough, the result passes: k from 1 to 2 (limit 2).'
        >>> policy.check(df.anon.apply(explanation.plan)).status
        'pass'
        """
        from anonrisk.policy.explain import explain
        from anonrisk.policy.trial import Trials, rows_of

        if self._source is None:
            raise ArgumentError(
                "a stored verdict knows neither its table nor its policy: explain the one that "
                "policy.check(df) returns"
            )
        gate = self._source if frame is None else replace(self._source, frame=frame)
        open_ = [finding for finding in self.findings if not finding.passed]
        trials = None
        # No plan is for what a file holds besides its rows.
        if self.status == FAIL and not self.fails_as_stored:
            blocking = [finding for finding in open_ if finding.blocks(self.fail_on)]
            trials = Trials(gate, blocking, rows_of(self), self.fail_on, time_limit)
        explanation = explain(gate, open_, trials, time_limit)
        stored = self.failures if self.fails_as_stored else ()
        return replace(explanation, storage=stored)

    # ---- leaving and coming back ------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; the only cells are groups of `by`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "library": "anonrisk",
            "library_version": self.library_version,
            "status": self.status,
            "fail_on": self.fail_on,
            "checked_at": self.checked_at,
            "table": self.table,
            "files": list(self.files),
            "policy": {"name": self.policy_name, "digest": self.policy_digest},
            "engine": self.engine,
            "missing": self.missing,
            "n_records": self.n_records,
            "n_rows": self.n_rows,
            "n_dropped": self.n_dropped,
            "coverage": self.coverage.to_dict(),
            "budgets": [finding.to_dict() for finding in self.findings],
            "storage": [finding.to_dict() for finding in self.storage],
        }

    def to_json(self) -> str:
        """Write it as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; a verdict that contradicts itself is refused.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> verdict = anonrisk.Policy(quasi="zip", k=2).check(pd.DataFrame({"zip": ["a", "a"]}))
        >>> anonrisk.Verdict.from_json(verdict.to_json()).passed
        True
        """
        try:
            verdict = cls._read(_READER.json(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError("this is not a verdict written by to_json") from None
        return verdict

    @classmethod
    def _read(cls, stored: dict[str, Any]) -> Self:
        if stored["schema_version"] != SCHEMA_VERSION:
            raise ArgumentError("this verdict was written in another schema version")
        datetime.fromisoformat(stored["checked_at"])
        verdict = cls(
            findings=tuple(Finding.from_dict(result) for result in stored["budgets"]),
            policy_digest=restore(str | None, stored["policy"]["digest"]),
            policy_name=restore(str | None, stored["policy"]["name"]),
            fail_on=_fail_on(stored["fail_on"]),
            files=restore(tuple[str, ...], stored["files"]),
            coverage=Coverage.from_dict(stored["coverage"]),
            **{key: restore(str, stored[key]) for key in ("library_version", "checked_at")},
            missing=restore(str, stored["missing"]),
            **{key: restore(str | None, stored[key]) for key in ("table", "engine")},
            **{key: restore(int | None, stored[key]) for key in _COUNTS},
            storage=tuple(Finding.from_dict(result) for result in stored["storage"]),
        )
        if stored["status"] != verdict.status:
            raise ArgumentError("the status of this verdict is not that of its budgets")
        if verdict.passed and verdict._contradicted():
            raise ArgumentError("what this verdict says of its table contradicts that it passed")
        return verdict

    def _contradicted(self) -> bool:
        """Return whether the table that is described could not have passed like this."""
        seen = {*self.columns, ROW_LABELS}
        n_rows, n_dropped = self.n_rows or 0, self.n_dropped or 0
        most = max((f.value or 0 for f in self.findings if f.budget == "k"), default=0)
        unknown_names = [name for f in self.findings for name in f.qid if name not in seen]
        loose = [name for name, role in self.columns.items() if role is None]
        later = datetime.fromisoformat(self.checked_at) > datetime.now(UTC) + timedelta(days=1)
        return bool(
            not (self.columns and self.engine)
            or (any(f.qid for f in self.findings) and n_rows < max(1, most))
            or n_dropped < 0
            or self.coverage.rows.contradicts_itself
            or (any(f.qid for f in self.findings) and self.coverage.rows.n_rows is None)
            or (n_dropped and self.missing != "drop")
            or "direct" in self.columns.values()
            or any(name not in self.not_looked_at for name in loose)
            or any(not str(name).startswith(ROW_LABELS) for name in unknown_names)
            or any(f.limit is not None and f.limit < at_least(f.budget) for f in self.findings)
            or later
        )

    @classmethod
    def not_finished(cls, policy_digest: str | None = None, **about: Any) -> Self:
        """Return what stands where a verdict goes until there is one: killed runs leave no pass."""
        return cls((unknown("table", "the check has not finished"),), policy_digest, **about)

    def about(self, table: str | None, files: Iterable[str] = ()) -> Self:
        """Return the same verdict with the name of its table and the files it was read from."""
        return replace(self, table=table, files=tuple(files))

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the table behind when copied or pickled."""
        return type(self).from_json, (self.to_json(),)

    # ---- showing ----------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Print as text: the answer, one line per budget, a sentence for what a person should read.

        That is what did not pass, and doubts that somebody has answered.
        """
        lines = [
            f"- {render.shown(finding.sentence)}"
            for finding in self._first()
            if not finding.passed or "reason" in (finding.parameters or {})
        ]
        lines += [f"- {line}" for line in self._beside()]
        rest = [f"({self._more()})"] if self._more() else []
        source, header, rows = self._table()
        table = render.text_table(header, rows)
        return render.fitted(self._title(), *source, table, *rest, *lines)

    def _repr_html_(self) -> str:
        source, header, rows = self._table()
        rows = [[*row, item.sentence] for row, item in zip(rows, self._first(), strict=True)]
        rest = filter(None, (self._more(), *self._beside()))
        lines = render.html_lines([self._title(), *rest, *source])
        return lines + render.html_table((*header, "in words"), rows)

    def _beside(self) -> list[str]:
        """What is said beside the findings: what the verdict covers, and how files were read."""
        return [*self.coverage.lines(), *filter(None, (read_by(self.engine),))]

    def _table(self) -> tuple[list[str], tuple[str, ...], list[list[str]]]:
        first = self._first()
        return named_once(first, _HEADER, lambda said: [_row(item, said) for item in first])

    def _title(self) -> str:
        source = "" if self.policy_name is None else f" ({render.shown(self.policy_name)})"
        about = "" if self.table is None else f" for {render.shown(self.table)}"
        return f"{self.word}{about}{source}: {tally(self.all_findings)}"

    def _first(self) -> list[Finding]:
        """The findings to show: those that did not pass first, the order kept otherwise."""
        return sorted(self.all_findings, key=lambda finding: finding.passed)[:_SHOWN]

    def _more(self) -> str:
        hidden = len(self.all_findings) - _SHOWN
        return f"{hidden:,} more not shown" if hidden > 0 else ""


_WORDS = {PASS: "pass", FAIL: "FAIL", COULD_NOT_ASSESS: "COULD NOT ASSESS"}
_HEADER = ("status", "budget", "value", "limit", "margin", "of")


def _row(finding: Finding, said: Qid) -> list[str]:
    words = {PASS: "pass", FAIL: "FAIL", COULD_NOT_ASSESS: "?"}
    status = words[finding.status]
    if finding.severity in ("warn", WAIVED) and finding.status == FAIL:
        status = finding.severity
    return [status, finding.budget, *finding.numbers, about_of(finding, said)]


def tally(findings: Iterable[Finding]) -> str:
    """Return how many checks passed, and what became of the others."""
    statuses = [(f.status, f.severity) for f in findings]
    kept = sum(status == PASS for status, _ in statuses)
    unknown_ = sum(status == COULD_NOT_ASSESS for status, _ in statuses)
    counts = [f"{kept} of {render.count_of(len(statuses), 'check')} passed"]
    if (FAIL, "fail") in statuses:
        counts.append(f"{statuses.count((FAIL, 'fail'))} failed")
    if unknown_:
        counts.append(f"{unknown_} could not be assessed")
    if (FAIL, WAIVED) in statuses:
        counts.append(f"{statuses.count((FAIL, WAIVED))} waived")
    if (FAIL, "warn") in statuses:
        counts.append(render.count_of(statuses.count((FAIL, "warn")), "warning"))
    return ", ".join(counts)


def read_by(engine: str | None) -> str:
    """Return how files were read, where somebody may not expect it; nothing otherwise."""
    return f"Read by {render.shown(engine)}." if (engine or "").startswith("scan ") else ""


def overall(findings: Iterable[Finding]) -> str:
    """Return the status of all findings together: one that failed decides, then one in doubt.

    That it is a draft comes before all: what fails by roles that are guesses is no verdict.
    """
    lines = list(findings)
    statuses = {finding.status for finding in lines}
    if FAIL in statuses and not any(finding.budget == "reviewed" for finding in lines):
        return FAIL
    return PASS if statuses <= {PASS} else COULD_NOT_ASSESS


def _fail_on(value: Any) -> str:
    if value not in ("fail", "warn"):
        raise ArgumentError("fail_on is 'fail' or 'warn'")
    return str(value)
