"""What was tried on a table that did not pass: a plan, applied, and judged by the gate itself."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.engines import engine_for
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.finding import PASS, Finding, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.plan import Plan
    from anonrisk.policy.evidence import Origin
    from anonrisk.policy.terms import Terms

# Limits that a sentence names; of a policy with groups, hundreds may be broken.
_MOST_LIMITS = 3
# What nobody has asked for must not cost much more than the check: in memory, up to so many rows,
# and a search that ends after so many seconds. Chosen.
_IN_MEMORY = ("pandas", "arrow")
_MOST_ROWS = 1_000_000
UNASKED_SECONDS = 10.0


def outcome_sentence(what: str, status: str | None, result: str, why_not: str = "") -> str:
    """Return whether something that was tried is enough, and what it comes to."""
    if status is None:
        return f"{what} could not be tried: {why_not}"
    if status != PASS:
        return f"{what} is not enough: the result does not pass ({status})."
    return f"{what} is enough, the result {passes(result)}."


def passes(result: str) -> str:
    """Write that something passes, and with which numbers; what is no limit has none."""
    return f"passes: {result}" if result else "passes"


def told_original(n_original: int | None) -> str:
    """Add to a sentence about a result that passes what its check has to be told."""
    if n_original is None:
        return ""
    return f" Check the result with n_original={n_original} (--n-original {n_original})."


@dataclass(frozen=True, repr=False)
class PlanTrial(render.PrintedLines):
    """A plan that was applied to the table, and what the gate says of the result.

    Attributes
    ----------
    plan : Plan or None
        The plan to save and to apply; None if there is none.
    status : str or None
        What the gate says of the result, by all that the policy asks for; None if it could not be
        tried.
    changes : tuple of (Finding, Finding)
        Each budget that did not pass, before and after.
    n_left_out : int
        Rows that are not in the result.
    why_not : str
        Why it could not be tried.
    n_original : int or None
        What a check of the result has to be told, where the policy asks for it.
    """

    plan: Plan | None
    status: str | None = None
    changes: tuple[tuple[Finding, Finding], ...] = ()
    n_left_out: int = 0
    why_not: str = ""
    n_original: int | None = None

    @property
    def passed(self) -> bool:
        """Whether the result may be published."""
        return self.status == PASS

    @property
    def left_out(self) -> Qid:
        """The columns of which nothing is left."""
        from anonrisk.measures.recode import Star

        if self.plan is None:
            return ()
        starred = (name for name, how in self.plan.recodings.items() if isinstance(how, Star))
        return (*self.plan.leave_out, *starred)

    @property
    def coarser(self) -> Qid:
        """The columns that tell less."""
        from anonrisk.measures.recode import Keep

        if self.plan is None:
            return ()
        coarser = {step.column for step in self.plan.steps if step.loss > 0}
        if not self.plan.steps:
            # A person put it together.
            coarser = {name for name, how in self.plan.recodings.items() if how != Keep()}
        return tuple(n for n in self.plan.qids if n in coarser - {*self.left_out})

    @property
    def result(self) -> str:
        """What each limit that was broken is before and after, and how many rows it costs."""
        # The quasi-identifier is named where there are several.
        several = len({before.qid for before, _ in self.changes}) > 1
        texts = [
            f"{name_of(before if several else replace(before, qid=()))} from {before.numbers[0]} "
            f"to {after.numbers[0]} (limit {before.numbers[1]})"
            for before, after in self.changes[:_MOST_LIMITS]
        ]
        more = len(self.changes) - _MOST_LIMITS
        texts += [f"and {more:,} more"] if more > 0 else []
        texts += [f"without {render.count_of(self.n_left_out, 'row')}"] if self.n_left_out else []
        return ", ".join(texts)

    @property
    def sentence(self) -> str:
        """Whether it is enough, and what becomes of the limits that were broken."""
        if self.plan is None:
            return f"No plan was found: {self.why_not.removeprefix('no plan helps: ')}"
        sentence = outcome_sentence(self.what, self.status, self.result, self.why_not)
        return sentence + (told_original(self.n_original) if self.passed else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; the plan, which may hold cells, is not."""
        return {
            "status": self.status,
            "left_out": list(self.left_out),
            "coarser": list(self.coarser),
            "n_rows_left_out": self.n_left_out,
            "changes": [
                {"before": before.to_dict(), "after": after.to_dict()}
                for before, after in self.changes
            ],
            "sentence": self.sentence,
        }

    @property
    def what(self) -> str:
        """What it does to which columns, in words."""
        parts = [
            f"{verb} {', '.join(map(render.named, names))}{how}"
            for verb, names, how in (
                ("making", self.coarser, " coarser"),
                ("leaving out", self.left_out, ""),
            )
            if names
        ]
        what = " and ".join(parts) or "a plan"
        return what[0].upper() + what[1:]

    def _lines(self) -> list[str]:
        return [self.sentence]


@dataclass(frozen=True)
class Gate:
    """A policy, the table that it judged, and the check itself, which judges what is tried too."""

    policy: Terms
    frame: Any
    population: Any
    n_original: int | None
    check: Callable[..., Any]
    origin: Origin | None = None


@dataclass(frozen=True)
class Trials:
    """Plans to try on a table that did not pass.

    `findings` are those that a plan is to help, `n_rows` those of the table where it is known; a
    search ends after `seconds`, and `known` is the plan for the policy if it was tried already.
    """

    gate: Gate
    findings: Sequence[Finding]
    n_rows: int | None
    fail_on: str = "fail"
    seconds: float | None = None
    known: PlanTrial | None = None

    def of_policy(self) -> PlanTrial:
        """Try the plan that is made for the policy."""
        return self.known or self._planned(policy=self.gate.policy)

    def of_k(self, qid: Qid, k: int, unit: Name | None) -> PlanTrial:
        """Try the plan for classes of k, and judge it by the policy."""
        return self._planned(qids=list(qid), k=k, unit=unit)

    def _planned(self, **goals: Any) -> PlanTrial:
        from anonrisk.api.plan import plan
        from anonrisk.planning.options import PlanOptions

        options = PlanOptions(time_limit=self.seconds)
        return self.of(lambda: plan(self.gate.frame, options=options, **goals))

    def without(self, dropped: Iterable[Name], direct: Qid) -> PlanTrial:
        """Try the table with stars for some columns, and without those that name a person."""
        from anonrisk.measures.recode import Star
        from anonrisk.planning.plan import Plan

        frame = self.gate.frame
        columns = tuple(engine_for(frame).schema(frame).columns)
        stars: dict[Name, Recoding] = {name: Star() for name in dropped}
        return self.of(lambda: Plan(stars, columns=columns, leave_out=direct))

    def of(self, made: Callable[[], Plan]) -> PlanTrial:
        """Make a plan, apply it, and judge the result."""
        from anonrisk.api.apply import apply

        gate = self.gate
        with warnings.catch_warnings():
            # What would be warned of, the gate judges.
            warnings.simplefilter("ignore")
            plan = attempt(made)
            if isinstance(plan, Problem):
                return PlanTrial(None, why_not=plan.message)
            changed = attempt(lambda: apply(gate.frame, plan))
            if isinstance(changed, Problem):
                return PlanTrial(plan, why_not=changed.message)
            n_original = gate.n_original or self.n_rows
            about: dict[str, Any] = {"population": gate.population, "n_original": n_original}
            if gate.origin is None:
                about |= {"plan": plan, "original": gate.frame}
            verdict = gate.check(gate.policy, changed, **about)
        after = {_key(finding): finding for finding in verdict.all_findings}
        changes = tuple(
            (finding, after[_key(finding)])
            for finding in self.findings
            if finding.value is not None and _key(finding) in after
        )
        return PlanTrial(
            plan,
            verdict.status if self.fail_on == "fail" else verdict.status_with_warnings,
            changes,
            max(0, (self.n_rows or 0) - (rows_of(verdict) or 0)),
            n_original=n_original if gate.policy.about_removed else None,
        )


def seconds_unasked(verdict: Any, frame: Any) -> float | None:
    """Return how long plans may be tried unasked of a table that failed; None: not at all."""
    n_rows = rows_of(verdict)
    small = n_rows is not None and n_rows <= _MOST_ROWS
    return UNASKED_SECONDS if small and in_memory(frame) else None


def in_memory(frame: Any) -> bool:
    """Return whether a table can be changed and checked without asking anybody for it."""
    return engine_for(frame).name in _IN_MEMORY


def rows_of(verdict: Any) -> int | None:
    """Return how many rows a verdict is of, those that were left out among them."""
    return None if verdict.n_rows is None else verdict.n_rows + (verdict.n_dropped or 0)


def _key(finding: Finding) -> tuple[Any, ...]:
    about = (finding.budget, finding.qid, finding.sensitive, finding.group, finding.limit)
    return (*about, finding.severity, repr(finding.parameters))
