"""Counts against the budgets of an expectation, by the same arithmetic as a policy's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anonrisk.engines.base import Group
from anonrisk.errors import MissingValuesError
from anonrisk.gx.fields import filled
from anonrisk.policy.judge import Judge, within, worst
from anonrisk.policy.measure import Measured
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, Finding
from anonrisk.render import count_of, percent

if TYPE_CHECKING:
    from anonrisk.counts import ClassSizes
    from anonrisk.gx.base import PrivacyExpectation


@dataclass(frozen=True)
class Judged:
    """What an expectation has to say: the finding that decides, and a few counts beside it."""

    status: str
    sentences: tuple[str, ...]
    observed: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def to_result(self) -> dict[str, Any]:
        """Give the result as Great Expectations takes it: numbers and column names, no cell."""
        unknown = self.status == COULD_NOT_ASSESS
        message = " ".join(self.sentences)
        return {
            "success": self.status == PASS,
            "result": {
                "observed_value": self.observed,
                "details": {"status": self.status, "sentence": message, **self.details},
            },
            # The one part that is kept at every result_format.
            "exception_info": {
                "raised_exception": unknown,
                "exception_message": f"could not be assessed: {message}" if unknown else None,
                "exception_traceback": None,
            },
        }


def could_not_assess(message: str) -> Judged:
    """Say why there is no answer."""
    return Judged(COULD_NOT_ASSESS, (message,))


def judge(
    expectation: PrivacyExpectation,
    sizes: ClassSizes,
    scores: dict[str, float],
    n_without_value: int = 0,
) -> Judged:
    """Compare class sizes and scores with the budgets of an expectation."""
    qid = tuple(filled(expectation.qids))
    sensitive = filled(getattr(expectation, "sensitive", None))
    findings = _dropped(expectation, sizes, n_without_value)
    for budget in expectation.budgets():
        about: dict[Any, Any] = {}
        if sensitive is not None:
            about[sensitive, id(budget)] = scores[expectation.score]
        group = Group(None, sizes, sizes.n_dropped)
        judge_ = Judge(
            qid,
            Measured(groups=[group], worst=about),
            () if sensitive is None else (sensitive,),
            sampling_fraction=filled(getattr(expectation, "sampling_fraction", None)),
        )
        findings += judge_.findings(budget)
    decisive = worst(findings)
    return Judged(
        decisive.status,
        tuple(finding.sentence for finding in findings),
        decisive.value,
        {
            "budgets": [_row(finding) for finding in findings],
            "records" if sizes.unit is None else "persons": sizes.n_records,
            "classes": sizes.n_classes,
            "k": sizes.k,
            "singletons": sizes.records_at_most(1),
            "rows": sizes.n_rows,
            "missing": sizes.missing,
            **({"dropped": sizes.n_dropped} if sizes.missing == "drop" else {}),
            "unit": sizes.unit,
        },
    )


def _row(finding: Finding) -> dict[str, Any]:
    """Give the numbers of a finding."""
    row = {
        "budget": finding.budget,
        "status": finding.status,
        "value": finding.value,
        "limit": finding.limit,
    }
    return row if finding.estimate is None else {**row, "estimate": finding.estimate}


def _dropped(
    expectation: PrivacyExpectation, sizes: ClassSizes, n_without_value: int
) -> list[Finding]:
    """Compare the share of rows that were left out with its limit."""
    limit = filled(expectation.max_dropped_fraction)
    n_dropped, n_rows = sizes.n_dropped + n_without_value, sizes.n_dropped + sizes.n_rows
    if limit is None:
        if n_dropped:
            raise MissingValuesError(
                f"{count_of(n_dropped, 'row')} without a sensitive value left out "
                "(missing_sensitive: drop); say with max_dropped_fraction how many may be"
            )
        return []
    share = n_dropped / n_rows
    kept = within(share, limit, at_least=False)
    rows = count_of(n_dropped, "row")
    return [
        Finding(
            budget="max_dropped_fraction",
            status=PASS if kept else FAIL,
            severity="fail",
            value=share,
            limit=limit,
            margin=limit - share,
            sentence=f"{rows} ({percent(share)}) with a missing value left out; at most "
            f"{percent(limit)} may be, and they must not be published.",
        )
    ]
