"""What a check found: a finding per budget, and whether the table may be published."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from anonrisk import render
from anonrisk._version import __version__
from anonrisk.errors import ArgumentError, ReleaseBlocked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.columns import Name, Qid
    from anonrisk.policy.explain import Explanation

PASS, FAIL, COULD_NOT_ASSESS = "pass", "fail", "could_not_assess"
STATUSES = (PASS, FAIL, COULD_NOT_ASSESS)
SCHEMA_VERSION = 1
# A printed verdict shows no more findings than somebody reads.
_SHOWN = 40


@dataclass(frozen=True)
class Finding:
    """One budget, measured.

    Attributes
    ----------
    budget : str
        The key of the policy, as ``"k"`` or ``"risk.prosecutor.highest"``; also ``"direct"``,
        ``"strict"``, ``"max_dropped_fraction"``, ``"missing_sensitive"`` and ``"table"`` for what a
        policy checks or tells by itself.
    status : {"pass", "fail", "could_not_assess"}
        Whether the budget is kept; the last where that cannot be told.
    severity : {"fail", "warn"}
        Whether it blocks a release.
    sentence : str
        What was found, in plain words.
    value, limit : number or None
        What was measured, and the limit; of a prediction, the upper end of its interval.
    margin : float or None
        How much room is left; below zero, by how much the limit is missed.
    estimate : float or None
        Of a prediction: what to expect, of which `value` is the upper end.
    qid : tuple of names
        The quasi-identifier; of every subset, the worst.
    sensitive : name or None
        The sensitive column.
    group : str or None
        The group of the column that `by` names.
    parameters : dict
        What else the budget says, as the kind of diversity.
    """

    budget: str
    status: str
    severity: str
    sentence: str
    value: float | None = None
    limit: float | None = None
    margin: float | None = None
    estimate: float | None = None
    qid: Qid = ()
    sensitive: Name | None = None
    group: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the budget is kept."""
        return self.status == PASS

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON."""
        return {
            "budget": self.budget,
            "status": self.status,
            "severity": self.severity,
            "value": _plain(self.value),
            "limit": _plain(self.limit),
            "margin": _plain(self.margin),
            "estimate": _plain(self.estimate),
            "qid": [_name(name) for name in self.qid],
            "sensitive": _name(self.sensitive),
            "group": self.group,
            "parameters": dict(self.parameters),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, repr=False)
class Verdict:
    """Whether a table keeps a policy's budgets.

    ``bool(verdict)`` is true if it passed and false otherwise, so that ``if policy.check(df):``
    never lets a table through that could not be assessed.

    Attributes
    ----------
    findings : tuple of Finding
        One per budget (and sensitive column, and group).
    policy_digest : str
        Which policy it was; see `Policy.digest`.
    policy_name : str or None
        What the policy calls itself.
    engine : str or None
        The library that the table belongs to.
    missing : str
        What was done with missing values.
    unit : name or None
        The column that says which person a row belongs to.
    n_records, n_rows, n_dropped : int or None
        Records (with a unit, persons), rows and rows left out, of the first quasi-identifier.
    library_version : str
        The version of anonrisk.
    fail_on : {"fail", "warn"}
        Whether budgets that only warn decide as well, as ``anonrisk check --fail-on warn`` has it.
    """

    findings: tuple[Finding, ...]
    policy_digest: str
    policy_name: str | None = None
    engine: str | None = None
    missing: str = "value"
    unit: Name | None = None
    n_records: int | None = None
    n_rows: int | None = None
    n_dropped: int | None = None
    library_version: str = __version__
    fail_on: str = "fail"
    _source: Any = field(default=None, compare=False)

    # ---- the answer -------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """``"pass"``, ``"fail"`` or ``"could_not_assess"``.

        Budgets that only warn do not count, unless `fail_on` says so.
        """
        if not self.findings:
            return COULD_NOT_ASSESS
        return _overall(f for f in self.findings if self._blocks(f))

    @property
    def status_with_warnings(self) -> str:
        """The same, with every warning taken for a failure."""
        return _overall(self.findings) if self.findings else COULD_NOT_ASSESS

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
        return tuple(f for f in self.findings if not f.passed and self._blocks(f))

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that did not pass but only warn."""
        return tuple(f for f in self.findings if not f.passed and not self._blocks(f))

    def _blocks(self, finding: Finding) -> bool:
        return finding.severity == "fail" or self.fail_on == "warn"

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
            told = " ".join(f.sentence for f in bad[:5])
            more = f" And {len(bad) - 5:,} more." if len(bad) > 5 else ""
            why = told or "Nothing was checked."
            raise ReleaseBlocked(f"the table does not pass ({status}): {why}{more}")

    def explain(self, frame: Any = None) -> Explanation:
        """Measure which column, dropped, would lower the risk furthest.

        Parameters
        ----------
        frame : DataFrame, optional
            The table; left out, the one that was checked. A verdict that was stored has none.

        Returns
        -------
        Explanation
            Per budget that did not pass, what it would be without each column, the best first.
        """
        from anonrisk.policy.explain import explain

        if self._source is None:
            raise ArgumentError(
                "a stored verdict knows neither its table nor its policy: explain the one that "
                "policy.check(df) gives"
            )
        policy, checked, population = self._source
        return explain(policy, self, checked if frame is None else frame, population)

    # ---- leaving and coming back ------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON; the only cells are groups of `by`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "library": "anonrisk",
            "library_version": self.library_version,
            "status": self.status,
            "fail_on": self.fail_on,
            "policy": {"name": self.policy_name, "digest": self.policy_digest},
            "engine": self.engine,
            "missing": self.missing,
            "unit": _name(self.unit),
            "n_records": self.n_records,
            "n_rows": self.n_rows,
            "n_dropped": self.n_dropped,
            "budgets": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self) -> str:
        """Write it as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; a status that its own findings contradict is refused.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> verdict = anonrisk.Policy(quasi="zip", k=2).check(pd.DataFrame({"zip": ["a", "a"]}))
        >>> anonrisk.Verdict.from_json(verdict.to_json()).passed
        True
        """
        try:
            stored = json.loads(text)
            if stored["schema_version"] != SCHEMA_VERSION:
                raise ArgumentError("this verdict was written in another schema version")
            verdict = cls(
                findings=tuple(_finding(found) for found in stored["budgets"]),
                policy_digest=stored["policy"]["digest"],
                policy_name=stored["policy"]["name"],
                library_version=stored["library_version"],
                # Verdicts of earlier versions do not say: budgets that warn did not count.
                fail_on=_fail_on(stored.get("fail_on", "fail")),
                **{key: stored[key] for key in ("engine", "missing", "unit")},
                **{key: stored[key] for key in ("n_records", "n_rows", "n_dropped")},
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError("this is not a verdict that to_json wrote") from None
        if stored.get("status") != verdict.status:
            raise ArgumentError("the status of this verdict is not that of its budgets")
        return verdict

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the table behind when copied or pickled."""
        return type(self).from_json, (self.to_json(),)

    # ---- showing ----------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Print as text: the answer, a line a budget, a sentence for each that did not pass."""
        told = [f"- {finding.sentence}" for finding in self._first() if not finding.passed]
        rest = [f"({self._more()})"] if self._more() else []
        table = render.text_table(_HEADER, [_row(finding) for finding in self._first()])
        return "\n".join((self._title(), table, *rest, *told))

    def _repr_html_(self) -> str:
        rows = [[*_row(finding), finding.sentence] for finding in self._first()]
        caption = ". ".join(filter(None, (self._title(), self._more())))
        return render.html_table(caption, (*_HEADER, "in words"), rows)

    def _title(self) -> str:
        words = {PASS: "pass", FAIL: "FAIL", COULD_NOT_ASSESS: "COULD NOT ASSESS"}
        of = "" if self.policy_name is None else f" ({self.policy_name})"
        return f"{words[self.status]}{of}: {_tally(self.findings)}"

    def _first(self) -> list[Finding]:
        """The findings to show: those that did not pass first, the order kept otherwise."""
        return sorted(self.findings, key=lambda finding: finding.passed)[:_SHOWN]

    def _more(self) -> str:
        hidden = len(self.findings) - _SHOWN
        return f"{hidden:,} more not shown" if hidden > 0 else ""


_HEADER = ("status", "budget", "value", "limit", "margin", "of")


def _row(finding: Finding) -> list[str]:
    of = " + ".join(map(str, finding.qid))
    if finding.sensitive is not None:
        of += f" : {finding.sensitive}"
    if finding.group is not None:
        of += f" in {finding.group}"
    words = {PASS: "pass", FAIL: "FAIL", COULD_NOT_ASSESS: "?"}
    status = words[finding.status]
    if finding.severity == "warn" and not finding.passed:
        status = "warn"
    numbers = (finding.value, finding.limit, finding.margin)
    return [status, finding.budget, *map(_shown, numbers), of]


def _shown(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


def _tally(findings: Iterable[Finding]) -> str:
    statuses = [(f.status, f.severity) for f in findings]
    kept = sum(status == PASS for status, _ in statuses)
    counts = [f"{kept} of {render.count_of(len(statuses), 'check')} passed"]
    for status, word in ((FAIL, "failed"), (COULD_NOT_ASSESS, "could not be assessed")):
        n = statuses.count((status, "fail"))
        if n:
            counts.append(f"{n} {word}")
    warned = sum(severity == "warn" and status != PASS for status, severity in statuses)
    if warned:
        counts.append(render.count_of(warned, "warning"))
    return ", ".join(counts)


def _overall(findings: Iterable[Finding]) -> str:
    statuses = {finding.status for finding in findings}
    if FAIL in statuses:
        return FAIL
    return PASS if statuses <= {PASS} else COULD_NOT_ASSESS


def _fail_on(given: Any) -> str:
    if given not in ("fail", "warn"):
        raise ArgumentError("fail_on is 'fail' or 'warn'")
    return str(given)


def _finding(stored: dict[str, Any]) -> Finding:
    if stored["status"] not in STATUSES or stored["severity"] not in ("fail", "warn"):
        raise ArgumentError("this is not a verdict that to_json wrote")
    numbers = {key: _number(stored[key]) for key in ("value", "limit", "margin", "estimate")}
    if stored["status"] == PASS and _contradicted(**numbers):
        raise ArgumentError(f"the numbers of budget {stored['budget']!r} contradict its status")
    plain = ("budget", "status", "severity", "sentence", "sensitive", "group", "parameters")
    return Finding(**{key: stored[key] for key in plain}, **numbers, qid=tuple(stored["qid"]))


def _contradicted(value: Any, limit: Any, margin: Any, **_: Any) -> bool:
    """Tell whether a finding that passed is beyond its limit, or its numbers do not add up."""
    if value is None or limit is None or margin is None:
        return False
    hair = 1e-6 * max(abs(limit), abs(value))
    if not math.isfinite(hair):
        return bool(margin < 0)
    return bool(margin < -hair or abs(abs(value - limit) - abs(margin)) > hair)


def _plain(number: float | None) -> Any:
    """Give a number as JSON can hold it: infinity has no digits."""
    if isinstance(number, float) and not math.isfinite(number):
        return str(number)
    return number


def _name(name: Any) -> Any:
    """Give the name of a column as JSON can hold it: a day, as pandas may have, as text."""
    if isinstance(name, tuple):
        return [_name(part) for part in name]
    if name is None or isinstance(name, (str, int)):
        return name
    # Numbers of NumPy know their Python kind.
    item = name.item() if hasattr(name, "item") else name
    return item if isinstance(item, int) else str(name)


def _number(stored: Any) -> Any:
    return float(stored) if isinstance(stored, str) else stored
