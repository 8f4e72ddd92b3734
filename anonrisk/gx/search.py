"""The expectation about columns that nobody thought of: do they single people out together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from great_expectations.compatibility import pydantic

from anonrisk.core.render import count_of, joined, percent, visible
from anonrisk.gx.base import GateExpectation
from anonrisk.gx.fields import Column, Columns, Number, filled, is_parameter, names, parameter
from anonrisk.gx.metrics import SEARCH, MetricAnswer
from anonrisk.gx.result import Judged, could_not_assess
from anonrisk.policy.finding import FAIL, PASS, Finding, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.measures.qid_report import QidReport

_SHOWN = 10


class ExpectColumnsNotToBeQuasiIdentifiers(GateExpectation):
    """Expect no set of undeclared columns to single out more than a share of the records.

    A column that looks like a direct identifier fails, too. Columns that cannot be searched, and
    batches in a database, could not be assessed.

    Args:
        columns (list of str): The columns to search; left out, all.
        declared (list of str): Columns whose risk is known and dealt with, left out of the search.
        max_size (int): The most columns that a set may have.
        max_fraction (float): The largest share of the records, below 1, that a set may single out.
        unit (str): The column that says whose a row is; singletons are then persons.

    See Also
    --------
    anonrisk.find_qids : the search
    anonrisk.gx.run_gate : runs it, and stops a release

    Examples
    --------
    >>> from anonrisk import gx
    >>> gx.ExpectColumnsNotToBeQuasiIdentifiers(max_size=2, max_fraction=0.2).max_size
    2
    """

    columns: Columns | None = None
    declared: Columns | None = None
    max_size: Number
    max_fraction: Number
    unit: Column | None = None
    own_keys: ClassVar[tuple[str, ...]] = (
        "columns",
        "declared",
        "max_size",
        "max_fraction",
        "unit",
    )
    success_keys: ClassVar[tuple[str, ...]] = own_keys
    shares: ClassVar[tuple[str, ...]] = ("max_fraction",)
    metric: ClassVar[str] = SEARCH

    @pydantic.validator("columns", "declared", pre=True)
    def _one_name_is_a_list(cls, value: Any) -> Any:  # noqa: N805
        return names(value)

    @pydantic.validator("columns", "declared", "unit")
    def _is_a_parameter(cls, value: Any, field: Any) -> Any:  # noqa: N805
        if field.name == "columns" and isinstance(value, list):
            if not value:
                raise ValueError("columns is empty: name at least one column")
            if len(set(value)) < len(value):
                raise ValueError("columns names a column twice")
        return parameter(value, field.name)

    @pydantic.validator("max_size")
    def _size_is_in_range(cls, value: Any, field: Any) -> Any:  # noqa: N805
        if is_parameter(value):
            return parameter(value, field.name)
        if value != int(value) or value < 1:
            raise ValueError("max_size must be a whole number, at least 1")
        return int(value)

    @pydantic.validator("max_fraction")
    def _fraction_is_in_range(cls, value: Any, field: Any) -> Any:  # noqa: N805
        if not is_parameter(value) and not 0 <= value < 1:
            raise ValueError("max_fraction must be from 0 to below 1: no set could exceed 1")
        return parameter(value, field.name)

    def question(self) -> dict[str, Any]:
        """Return what the metric is asked; the order of declared columns makes no difference."""
        return {
            "columns": filled(self.columns),
            "declared": sorted(filled(self.declared) or ()),
            "max_size": filled(self.max_size),
            "alpha": filled(self.max_fraction),
            "unit": filled(self.unit),
        }

    def judged(self, metric_answer: MetricAnswer) -> Judged:
        """Look at all that the search has to say, also at what it could not."""
        if metric_answer.columns is None:
            return could_not_assess("nothing was searched")
        if metric_answer.search is None:
            text = "Every column is declared: there is none to search."
            nothing = self._finding(PASS, text, 0)
            details = {"searched": 0, "found": 0}
            return Judged([nothing], observed=0, details=details, about=metric_answer.about)
        report = metric_answer.search
        limit = percent(filled(self.max_fraction))
        bad = [*_of_sets(report, limit), *_of_look_alikes(report)]
        doubts = [*report.unsupported.values()]
        if report.partial:
            doubts.append("the search is not complete")
        size = count_of(report.max_size, "column")
        kept = f"No set of at most {size} singles out more than {limit} of the {_people(report)}."
        n = len(report.sets) + len(report.direct)
        findings = [self._finding(FAIL, " ".join(bad), n)] if bad else []
        if doubts:
            text = f"not searched: {'; '.join(doubts)}"
            findings.append(unknown("find_qids", text, severity=self.finding_severity))
        return Judged(
            findings or [self._finding(PASS, kept, 0)],
            "",
            len(report.sets) + len(report.direct),
            {
                "records" if report.unit is None else "persons": report.n_records,
                "searched": len(metric_answer.columns) - len(report.unsupported),
                "found": len(report.sets),
                "look_alikes": len(report.direct),
                "unit": report.unit,
                "sets": [
                    {
                        "columns": [str(name) for name in item.columns],
                        "share": item.share,
                        "singletons": item.singletons,
                    }
                    for item in report.sets[:_SHOWN]
                ],
            },
            about=metric_answer.about,
        )

    def _finding(self, status: str, text: str, n: int) -> Finding:
        severity = self.finding_severity
        return Finding("find_qids", status, severity, text, value=n, limit=0, margin=-n)

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Return what is expected."""
        among = " of $columns" if asked.get("columns") else ""
        beside = " that are not declared ($declared)" if asked.get("declared") else ""
        return (
            f"No set of at most $max_size columns{among}{beside} singles out more than "
            "$max_fraction of the records."
        )


def _people(report: QidReport) -> str:
    if report.unit is None:
        return count_of(report.n_records, "record")
    return count_of(report.n_records, "person")


def _of_sets(report: QidReport, limit: str) -> list[str]:
    if not report.sets:
        return []
    worst = max(report.sets, key=lambda item: item.share)
    sets = count_of(len(report.sets), "set of columns", "sets of columns")
    single = "singles" if len(report.sets) == 1 else "single"
    most = joined(worst.columns)
    share = percent(worst.share)
    people = _people(report)
    return [f"{sets} {single} out more than {limit} of the {people}; {most} most, with {share}."]


def _of_look_alikes(report: QidReport) -> list[str]:
    return [
        f"Column {visible(item.column)} seems to be a direct identifier: {item.reason} "
        f"({percent(item.share)} singletons)."
        for item in report.direct
    ]
