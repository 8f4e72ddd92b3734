"""Findings as the result of an expectation: what is kept of them, and what a gate reads."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core import render
from anonrisk.policy.finding import COULD_NOT_ASSESS, PASS, unknown
from anonrisk.policy.verdict import overall

if TYPE_CHECKING:
    from anonrisk.policy.finding import Finding

# Under which key the meta of results, suites and validations holds what is ours.
OURS = "anonrisk"


@dataclass(frozen=True)
class Judged:
    """What an expectation has to say: its findings, a number and a few counts beside it.

    Attributes
    ----------
    findings : list of Finding
        What was found; the worst decides.
    sentence : str
        What to say where there is no finding, because nothing is wrong.
    observed : number or None
        The value that Great Expectations shows.
    details : dict
        Counts for Data Docs.
    note : str
        What is said in any case.
    about : dict
        What a verdict says of the table: what it publishes, how large it is.
    """

    findings: list[Finding]
    sentence: str = ""
    observed: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """Whether the expectation is met, whatever its severity."""
        return overall(self.findings)

    def to_result(self) -> dict[str, Any]:
        """Return the result as Great Expectations takes it: numbers and column names, no cell."""
        sentences = [finding.sentence for finding in self.findings] or [self.sentence]
        message = render.shown(" ".join(filter(None, (*sentences, self.note))))
        doubt = [f.sentence for f in self.findings if f.status == COULD_NOT_ASSESS]
        return {
            "success": self.status == PASS,
            "result": {
                "observed_value": self.observed,
                "details": {"status": self.status, "sentence": message, **self.details},
            },
            "meta": {OURS: {"findings": [f.to_dict() for f in self.findings], **self.about}},
            # Kept at every result_format, as the meta is; this one is shown to people.
            "exception_info": {
                "raised_exception": bool(doubt),
                "exception_message": render.shown(" ".join(doubt)) or None,
                "exception_traceback": None,
            },
        }


def could_not_assess(message: str) -> Judged:
    """Return why there is no answer."""
    return Judged([unknown("table", message)])
