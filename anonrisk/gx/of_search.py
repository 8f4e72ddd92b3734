"""The expectation about columns that nobody thought of: do they single people out together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from great_expectations.compatibility import pydantic

from anonrisk.gx import fields
from anonrisk.gx.base import GateExpectation
from anonrisk.gx.fields import Column, Columns, Number, Whole, filled
from anonrisk.gx.judging import Judged, could_not_assess
from anonrisk.gx.metrics import SEARCH, Measured
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS
from anonrisk.render import count_of, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.search.report import QidReport

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
    """

    columns: Columns | None = None
    declared: Columns | None = None
    max_size: Whole
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
    metric: ClassVar[str] = SEARCH

    @pydantic.validator("columns", "declared", pre=True)
    def _one_name_is_a_list(cls, given: Any) -> Any:  # noqa: N805
        return fields.names(given)

    @pydantic.validator("columns")
    def _names_differ(cls, given: Any, field: Any) -> Any:  # noqa: N805
        return given if given is None else fields.different(given, field.name)

    @pydantic.validator("declared", "unit")
    def _is_a_parameter(cls, given: Any, field: Any) -> Any:  # noqa: N805
        return fields.parameter(given, field.name)

    @pydantic.validator("max_size", "max_fraction")
    def _number_is_in_range(cls, given: Any, field: Any) -> Any:  # noqa: N805
        if field.name == "max_fraction" and given == 1:
            raise ValueError("max_fraction must be below 1: no set could exceed it")
        return fields.checked(given, field.name)

    def question(self) -> dict[str, Any]:
        """Say what the metric is asked; the order of declared columns makes no difference."""
        return {
            "columns": filled(self.columns),
            "declared": sorted(filled(self.declared) or ()),
            "max_size": filled(self.max_size),
            "alpha": filled(self.max_fraction),
            "unit": filled(self.unit),
        }

    def judged(self, found: Measured) -> Judged:
        """Look at all that the search has to say, also at what it could not."""
        if found.columns is None:
            return could_not_assess("nothing was searched")
        if found.search is None:
            told = "Every column is declared: there is none to search."
            return Judged(PASS, (told,), 0, {"searched": 0, "found": 0})
        report = found.search
        limit = percent(filled(self.max_fraction))
        bad = [*_of_sets(report, limit), *_of_look_alikes(report)]
        unknown = [*report.unsupported.values()]
        if report.partial:
            unknown.append("the search is not complete")
        status = FAIL if bad else COULD_NOT_ASSESS if unknown else PASS
        size = count_of(report.max_size, "column")
        kept = f"No set of at most {size} singles out more than {limit} of the {_people(report)}."
        doubts = [f"Not searched: {'; '.join(unknown)}."] if unknown else []
        return Judged(
            status,
            tuple([*bad, *doubts] or [kept]),
            len(report.sets) + len(report.direct),
            {
                "records" if report.unit is None else "persons": report.n_records,
                "searched": len(found.columns) - len(report.unsupported),
                "found": len(report.sets),
                "look_alikes": len(report.direct),
                "unit": report.unit,
                "sets": [
                    {
                        "columns": [str(name) for name in one.columns],
                        "share": one.share,
                        "singletons": one.singletons,
                    }
                    for one in report.sets[:_SHOWN]
                ],
            },
        )

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Say what is expected."""
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
    worst = max(report.sets, key=lambda one: one.share)
    sets = count_of(len(report.sets), "set of columns", "sets of columns")
    single = "singles" if len(report.sets) == 1 else "single"
    most = " + ".join(map(str, worst.columns))
    share = percent(worst.share)
    people = _people(report)
    return [f"{sets} {single} out more than {limit} of the {people}; {most} most, with {share}."]


def _of_look_alikes(report: QidReport) -> list[str]:
    return [
        f"Column {one.column} seems to be a direct identifier: {one.reason} "
        f"({percent(one.share)} singletons)."
        for one in report.direct
    ]
