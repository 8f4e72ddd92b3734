"""All expectations. Importing this module registers them with Great Expectations.

Those about classes are made from the budgets of a policy, which say all that they hold. Limits have
no defaults: a stored suite leaves out what equals a default, so that a default that changed would
change every stored suite.
"""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from great_expectations.compatibility import pydantic

from anonrisk.core.render import count_of, joined, percent, visible
from anonrisk.errors import PolicyError
from anonrisk.gx.base import (
    COMMON,
    Column,
    Columns,
    GateExpectation,
    Judged,
    Number,
    PrivacyExpectation,
    SensitiveExpectation,
    could_not_assess,
    filled,
    is_parameter,
    names,
    parameter,
)
from anonrisk.gx.metrics import COLUMNS, SEARCH, MetricAnswer
from anonrisk.policy import Policy, coverage, judge, release_rules
from anonrisk.policy.budgets import BUDGETS
from anonrisk.policy.coverage import unseen
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, Finding, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.measures.find_qids import QidReport
    from anonrisk.policy.budgets.base import Budget, Expectation, Field


# A policy has a role for them; an expectation that was made by hand has this field.
_CLASSIFIED = "(In an expectation: classified=[…].)"


def _column_lines(covered: coverage.Coverage) -> list[str]:
    """Return what is known of columns without a policy: not what others look at.

    Those that are classified may be the quasi-identifier of another expectation.
    """
    columns = tuple(
        replace(column, role=None, reason="classified; other expectations say who looks at them")
        if column.role == "insensitive"
        else column
        for column in covered.columns
    )
    return replace(covered, columns=columns).column_lines()


class ExpectColumnsToBePublishable(GateExpectation):
    """Expect no direct identifier in the table, and no column that nobody has classified.

    Args:
        direct (list of str): Columns that name a person, and must be gone; so must those that a
            pandas or Spark table itself declares so.
        classified (list of str): All other columns that may be there.
        unlisted ("refuse", "quasi", "ignore"): What becomes of other columns: the batch cannot be
            assessed; they join the quasi-identifier of every other expectation, which says so
            too; or the result says that nobody has looked at them.
        reviewed (bool): Whether somebody has read the policy that this is a part of.
        policy (dict): The policy that this is a part of, by whose roles the contents of the columns
            are examined; without one, whatever no role is needed for. One that no table can fail,
            or that is advisory, is not met.

    See Also
    --------
    anonrisk.declare : roles kept with a table, which are looked at too
    anonrisk.gx.to_suite : makes it from a policy

    Examples
    --------
    >>> from anonrisk import gx
    >>> gx.ExpectColumnsToBePublishable(direct="name", classified=["zip"]).direct
    ['name']
    """

    direct: list[pydantic.StrictStr] = pydantic.Field(default_factory=list)
    classified: Columns | None = None
    unlisted: Literal["refuse", "quasi", "ignore"] = "refuse"
    reviewed: bool = True
    policy: dict[str, Any] | None = None
    own_keys: ClassVar[tuple[str, ...]] = (
        *("direct", "classified", "unlisted", "reviewed"),
        "policy",
    )
    success_keys: ClassVar[tuple[str, ...]] = own_keys
    metric: ClassVar[str] = COLUMNS

    @pydantic.validator("direct", "classified", pre=True)
    def _one_name_is_a_list(cls, value: Any) -> Any:  # noqa: N805
        return names(value)

    @pydantic.validator("classified")
    def _is_a_list(cls, value: Any, field: Any) -> Any:  # noqa: N805
        return parameter(value, field.name)

    @pydantic.root_validator(skip_on_failure=True)
    def _asks_for_something(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        if not values.get("direct") and values.get("classified") is None:
            raise ValueError("name direct identifiers, or the columns that are classified")
        if not is_parameter(values.get("classified")):
            try:
                cls.policy_of(values)
                if values.get("policy") is not None:
                    Policy.from_dict(values["policy"])
            except PolicyError as error:
                raise ValueError(str(error)) from None
        return values

    @classmethod
    def policy_of(cls, fields: Mapping[str, Any]) -> Policy:
        """Make the policy that the fields stand for."""
        classified = [name for name in fields["classified"] or () if name not in fields["direct"]]
        return Policy(
            direct=list(fields["direct"]),
            insensitive=classified,
            unlisted=fields["unlisted"],
            reviewed=fields["reviewed"],
            k=1,
        )

    def _field_values(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.own_keys}
        return {**fields, "classified": filled(self.classified)}

    def question(self) -> dict[str, Any]:
        """Ask for the names of the columns, and for what they hold."""
        if is_parameter(self.classified):
            return {"policy": None, "classified": []}
        value = self._field_values()
        policy = self.policy or self.policy_of(value).to_dict()
        return {"policy": policy, "classified": list(value["classified"] or ())}

    def judged(self, metric_answer: MetricAnswer) -> Judged:
        """Look for columns that must not be there."""
        published = metric_answer.published
        if published is None:
            return could_not_assess("the batch has no column")
        value = self._field_values()
        policy = self.policy_of(value)
        whole = None if self.policy is None else Policy.from_dict(self.policy)
        known = [*value["classified"]] if value["classified"] else []
        findings = release_rules.of_columns(
            policy, published, metric_answer.examined, whole=whole, classified=known
        )
        if metric_answer.empty:
            findings.append(release_rules.no_records())
        if whole is not None:
            # The only expectation that knows all limits: no other turns Data Docs red where the
            # gate passes no table.
            findings += [f for f in judge.unbroken_limits(whole) if f.status == COULD_NOT_ASSESS]
        covered = coverage.of_table(whole or policy, published)
        n_columns = len(published.names)
        direct = sum(int(f.value or 0) for f in findings if f.budget == "direct")
        loose = [f for f in findings if f.budget == "unlisted" and f.status == COULD_NOT_ASSESS]
        n_unlisted = len(release_rules.unlisted(policy, published))
        return Judged(
            findings,
            f"None of the {count_of(n_columns, 'column')} must be removed.",
            direct + (n_unlisted if loose else 0),
            {
                "columns": n_columns,
                "direct": direct,
                "unclassified": n_unlisted,
                "covers": covered.column_lines() if whole else _column_lines(covered),
            },
            _CLASSIFIED if loose else unseen(covered.not_looked_at),
            metric_answer.about,
        )

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Return what is expected."""
        loose = {
            "quasi": " Columns without a role count as quasi-identifiers.",
            "ignore": " Columns without a role are not looked at.",
        }
        every = loose.get(str(asked.get("unlisted")), " Every column has a role.")
        return f"No direct identifier is left in the table.{every}"


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


_KINDS: dict[Any, Any] = {
    "number": Number,
    "share": Number,
    "flag": pydantic.StrictBool,
    "list": list[Any],
    "tree": dict[str, Any] | list[Any],
}
_COMMON = """\
    every_subset_of (int): Check every so many of the columns; the worst subset decides.
    unit (str): The column that says which person a row belongs to.
    missing ("value", "drop", "error", "wildcard"): What a missing quasi-identifier means.
    max_dropped_fraction (float): With missing="drop", the most rows that may be left out.
    dropped_are_removed (bool): Whether those rows are removed before publication.
    unlisted ("quasi"), classified (list of str): Columns of the batch that are not classified
        join the quasi-identifier.
    row_condition: Which rows to look at.
"""
_QIDS = "qids (str or list of str): The columns that together may single somebody out."
_SENSITIVE = "sensitive (str): The column whose value must not be learned."
_MISSING = """\
    missing_sensitive ("value", "drop", "error"): What a missing sensitive value means; left
        out, a batch that misses one cannot be assessed.
"""
_BESIDE = """\
See Also
--------
anonrisk.{function} : what is measured
anonrisk.gx.to_suite : makes it from a policy
anonrisk.gx.run_gate : runs it, and stops a release

Examples
--------
>>> from anonrisk import gx
>>> asked = gx.{name}({example})
>>> asked.qids
['zip']
"""


def _made() -> Iterator[type[PrivacyExpectation]]:
    """Make an expectation for all budgets that share one."""
    shared: dict[Expectation, list[type[Budget]]] = {}
    for budget in BUDGETS.values():
        if budget.expectation is not None:
            shared.setdefault(budget.expectation, []).append(budget)
    for source, budgets in shared.items():
        yield _class(source, tuple(budgets))


def _class(source: Expectation, budgets: tuple[type[Budget], ...]) -> type[PrivacyExpectation]:
    """Make the class; Great Expectations registers it by its name as it is made."""
    own = {name: how for budget in budgets for name, how in budget.expectation_fields.items()}
    sensitive = any(budget.about_values for budget in budgets)
    base = SensitiveExpectation if sensitive else PrivacyExpectation
    keys = (*(("sensitive", "missing_sensitive") if sensitive else ()), *own)
    members = {
        "__module__": __name__,
        "__qualname__": source.name,
        "__doc__": _doc(source, own, sensitive=sensitive),
        "__annotations__": {name: _type(how) for name, how in own.items()},
        **{name: pydantic.Field(... if how.required else None) for name, how in own.items()},
        "source": source,
        "budgets": budgets,
        "own_fields": own,
        "own_keys": keys,
        "shares": (*base.shares, *(name for name, how in own.items() if how.kind == "share")),
        "success_keys": (*COMMON, *keys),
    }
    metaclass: Any = type(base)
    made: type[PrivacyExpectation] = metaclass(source.name, (base,), members)
    return made


def _type(how: Field) -> Any:
    taken = Literal[how.kind] if isinstance(how.kind, tuple) else _KINDS[how.kind]
    return taken if how.required else taken | None


def _doc(source: Expectation, own: dict[str, Field], *, sensitive: bool) -> str:
    said = [f"{name} {how.about}" for name, how in own.items()]
    args = [_QIDS, *([_SENSITIVE] if sensitive else ()), *said]
    wrapped = [fill(arg, 96, initial_indent="    ", subsequent_indent="        ") for arg in args]
    more = f"{_MISSING if sensitive else ''}{_COMMON}"
    other = ("Other Parameters", "----------------", more)
    beside = _BESIDE.format(name=source.name, function=source.function, example=source.example)
    return "\n".join((source.about, "", "Args:", *wrapped, "", *other, beside))


_OF_CLASSES = tuple(_made())
# By the key of a budget, the expectation that asks for it.
OF_BUDGET = {
    budget.key: expectation for expectation in _OF_CLASSES for budget in expectation.budgets
}
EXPECTATIONS: tuple[type[GateExpectation], ...] = (
    *_OF_CLASSES,
    ExpectColumnsToBePublishable,
    ExpectColumnsNotToBeQuasiIdentifiers,
)
# Where whatever copies an expectation looks for its class.
globals().update({expectation.__name__: expectation for expectation in _OF_CLASSES})
