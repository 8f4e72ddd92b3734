"""What all expectations share: their fields, the policy they are a part of, their result.

Great Expectations keeps pydantic's first interface, whose plain `int` takes True and "5". Which
numbers a limit takes is for the policy to say that an expectation is a part of.

An expectation about classes is a policy with one rule. Its fields become that policy, which checks
them; its metric counts a batch for it, by the code of `Policy.check`; and its result are the
findings of that check. So there is no rule here that a policy does not have.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import (
    BatchExpectation,
    render_suite_parameter_string,
)
from great_expectations.expectations.registry import get_metric_kwargs
from great_expectations.expectations.row_conditions import RowConditionType  # noqa: TC002
from great_expectations.render import (
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
    RenderedTableContent,
)
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererValueType
from great_expectations.render.util import parse_row_condition_string
from great_expectations.validator.metric_configuration import MetricConfiguration

from anonrisk.core import render
from anonrisk.core.columns import several_in_one
from anonrisk.core.frozen import dataclass
from anonrisk.core.types import (
    Missing,  # noqa: TC001
    MissingOrWildcard,  # noqa: TC001
)
from anonrisk.errors import AnonRiskError, ArgumentError, PolicyError
from anonrisk.gx.metrics import ASKED, COUNTS, MetricAnswer
from anonrisk.policy import Policy, release_rules
from anonrisk.policy.budgets import shared_scores
from anonrisk.policy.budgets.risk import OF_SAMPLE
from anonrisk.policy.check import of_counts, size_of
from anonrisk.policy.coverage import RowCoverage, person_of
from anonrisk.policy.evidence import as_given
from anonrisk.policy.finding import COULD_NOT_ASSESS, PASS, Finding, unknown
from anonrisk.policy.judge import worst
from anonrisk.policy.verdict import overall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from great_expectations.core import ExpectationValidationResult
    from great_expectations.execution_engine import ExecutionEngine
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
    from great_expectations.render.renderer_configuration import RendererConfiguration

    from anonrisk.policy.budgets.base import Budget, Expectation, Field
    from anonrisk.policy.measure import Counted

# A dict is a suite parameter, {"$PARAMETER": "name"}, to be filled in when the suite runs.
Column: TypeAlias = pydantic.StrictStr | dict  # type: ignore[type-arg]
Columns: TypeAlias = list[pydantic.StrictStr] | dict  # type: ignore[type-arg]
Number: TypeAlias = pydantic.StrictInt | pydantic.StrictFloat | dict  # type: ignore[type-arg]

_PARAMETER = "$PARAMETER"


def is_parameter(value: Any) -> bool:
    """Return whether a value is to be filled in when the suite runs."""
    return isinstance(value, dict)


def parameter(value: Any, field: str) -> Any:
    """Reject a dict that is no suite parameter; anything else stays as it is."""
    if is_parameter(value):
        name = value.get(_PARAMETER)
        if set(value) != {_PARAMETER} or not isinstance(name, str) or not name.strip():
            raise ValueError(f'a dict in {field} is a suite parameter: {{"{_PARAMETER}": "…"}}')
    return value


def filled(value: Any) -> Any:
    """Return the value of a field; a suite parameter that nobody filled in is none."""
    if is_parameter(value):
        raise ArgumentError(f"suite parameter {value.get(_PARAMETER)!r} has no value")
    return value


def names(value: Any) -> Any:
    """Read one name as a list of one; a list of names stays as it is."""
    wrong = several_in_one(value)
    if wrong:
        raise ValueError(wrong)
    return [value] if isinstance(value, str) else value


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


# Great Expectations calls these with any of their arguments missing.

# Where a person has several records, the sentence is about persons alone.
_RECORDS = re.compile(r"(?<![$\w])record(s?)\b")
# hiv, hiv, hiv and a missing cell are two values only if somebody says so.
_MISSING_SENSITIVE = {
    "value": " A missing $sensitive is a value like any other.",
    "drop": " Rows with a missing $sensitive are not judged, at most $max_dropped_fraction of all.",
    "error": " No $sensitive may be missing.",
}
_TABLE = {"body": {"classes": ["table", "table-sm", "table-bordered", "mb-0"]}}
_LABELS = {
    "records": "Records",
    "persons": "Persons",
    "classes": "Classes",
    "rows": "Rows",
    "judged": "Rows judged",
    "dropped": "Rows left out",
    "outside": "Rows of the table set aside by the row condition",
    "person": "Person",
    "columns": "Columns",
    "direct": "Direct identifiers",
    "unclassified": "Columns without a role",
    "searched": "Columns searched",
    "found": "Sets that single people out",
    "look_alikes": "Columns that look like direct identifiers",
}


class Rendered:
    """Renderers that build on one sentence per expectation.

    Of its fields those in `shares` read as percentages.
    """

    shares: ClassVar[tuple[str, ...]]

    @classmethod
    @abstractmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Return what is expected, with `$name` where the value of a field stands."""

    @classmethod
    def template(cls, asked: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        """Return the whole sentence and what stands for its `$names`."""
        qids = asked.get("qids") or []
        if isinstance(qids, dict):
            # A suite parameter stands for all of them.
            qids = [shown(qids)]
        params = {f"qid_{i}": render.visible(name) for i, name in enumerate(qids)}
        params |= {
            name: shown(value, share=name in cls.shares)
            for name, value in asked.items()
            if name != "qids"
        }
        names = listed([f"$qid_{i}" for i in range(len(qids))])
        if asked.get("every_subset_of"):
            names = f"any $every_subset_of of {names}"
        sentence = cls.says(asked)
        if asked.get("unit"):
            sentence = _RECORDS.sub(r"person\1", sentence)
        sentence = sentence.replace("$qids", names)
        if qids and asked.get("unlisted") == "quasi":
            sentence += " Columns without a role join them."
        if asked.get("unit"):
            sentence += " A person is a value of $unit."
        if asked.get("missing") == "drop":
            sentence += (
                " Rows with a missing quasi-identifier are left out, at most "
                "$max_dropped_fraction of them."
            )
        if asked.get("missing") == "error":
            sentence += " No quasi-identifier may be missing."
        if asked.get("missing") == "wildcard":
            sentence += " A missing quasi-identifier matches every value."
        sentence += _MISSING_SENSITIVE.get(str(asked.get("missing_sensitive")), "")
        if asked.get("row_condition"):
            condition = parse_row_condition_string(asked["row_condition"])
            params["row_condition"] = render.shown(condition)
            sentence = f"Where $row_condition: {sentence[0].lower()}{sentence[1:]}"
        return sentence, {name: value for name, value in params.items() if f"${name}" in sentence}

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    @render_suite_parameter_string
    def _prescriptive_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,
    ) -> list[RenderedStringTemplateContent]:
        if configuration is None and result is not None:
            configuration = result.expectation_config
        template, params = cls.template({} if configuration is None else configuration.kwargs)
        return [_text(template, (runtime_configuration or {}).get("styling"), **params)]

    @classmethod
    def _prescriptive_template(
        cls, renderer_configuration: RendererConfiguration[Any]
    ) -> RendererConfiguration[Any]:
        template, params = cls.template(renderer_configuration.kwargs)
        for name, value in params.items():
            renderer_configuration.add_param(name, RendererValueType.STRING, value)
        renderer_configuration.template_str = template
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,  # noqa: ARG003
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG003
    ) -> Any:
        details = _rendered_details(result)
        if details.get("status") in {None, COULD_NOT_ASSESS}:
            return "--"
        # In words too: Great Expectations takes its signs from the network.
        rows = [["Result", "kept" if details["status"] == PASS else "broken"]]
        rows += [_figures(row) for row in details.get("budgets") or () if row["value"] is not None]
        rows += [[label, number(details[key])] for key, label in _LABELS.items() if key in details]
        rows += [["Covers", render.shown(line)] for line in details.get("covers") or ()]
        return RenderedTableContent(
            content_block_type="table",
            header=_text("$sentence", sentence=details["sentence"]),
            table=rows,
            styling=_TABLE,
        )

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,
        result: ExpectationValidationResult | None = None,
        runtime_configuration: dict[str, Any] | None = None,
    ) -> list[Any]:
        info = (result.exception_info if result is not None else None) or {}
        message = info.get("exception_message")
        if not isinstance(message, str) or info.get("exception_traceback"):
            # Raised inside Great Expectations itself, which has words of its own for that.
            inherited: Any = super()
            rendered: list[Any] = inherited._diagnostic_unexpected_statement_renderer(  # noqa: SLF001
                configuration, result, runtime_configuration
            )
            return rendered
        styling = {"classes": ["text-danger"]}
        return [_text("\n\n$message", styling=styling, tag="strong", message=message)]


def _figures(row: dict[str, Any]) -> list[str]:
    """Return what an expectation is about: its own value beside its limit."""
    value, limit = row["value"], row["limit"]
    margin = None if limit is None else value - limit
    about = {"as_fraction": row.get("as_fraction")}
    finding = Finding(
        *(row["budget"], row["status"], "fail", "", value, limit, margin), parameters=about
    )
    return [row["budget"], f"{finding.numbers[0]} (limit {finding.numbers[1]})"]


def _rendered_details(result: ExpectationValidationResult | None) -> dict[str, Any]:
    return dict(((result.result if result is not None else None) or {}).get("details") or {})


def _text(
    template: str, styling: Any = None, tag: str | None = None, **params: str
) -> RenderedStringTemplateContent:
    """Return a sentence; what stands for its `$names` is escaped."""
    content: dict[str, Any] = {"template": template, "params": params}
    if styling:
        content["styling"] = styling
    if tag:
        content["tag"] = tag
    return RenderedStringTemplateContent(
        content_block_type="string_template", string_template=content
    )


def shown(value: Any, *, share: bool = False) -> str:
    """Write the value of a field; a suite parameter by its name."""
    if isinstance(value, dict):
        return f"(suite parameter {render.shown(value.get('$PARAMETER', '?'))})"
    if isinstance(value, list):
        return ", ".join(map(render.shown, value))
    return as_given(value) if share and isinstance(value, int | float) else number(value)


def number(value: Any) -> str:
    """Write a number as people do; anything else in one line."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else render.shown(value)


def listed(words: Sequence[str]) -> str:
    """Write words one after the other.

    Examples
    --------
    >>> listed(["zip"]), listed(["zip", "born", "sex"])
    ('zip', 'zip, born and sex')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# Under which name an expectation with a condition gets what it asks of all rows.
ALL_ROWS = "all rows"
# The fields that every expectation about classes passes on to its metric and result.
COMMON = (
    *("qids", "every_subset_of", "unit", "missing", "max_dropped_fraction"),
    *("dropped_are_removed", "unlisted", "classified"),
)


class GateExpectation(Rendered, BatchExpectation):
    """An expectation that never raises: what could not be assessed fails, and says why."""

    row_condition: RowConditionType = None

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition")
    own_keys: ClassVar[tuple[str, ...]] = ()
    shares: ClassVar[tuple[str, ...]] = ("max_dropped_fraction",)
    metric: ClassVar[str] = COUNTS

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether this is a base class; only others are registered."""
        return not cls.own_keys

    @abstractmethod
    def question(self) -> dict[str, Any]:
        """Return what the metric is asked."""

    @abstractmethod
    def judged(self, metric_answer: MetricAnswer) -> Judged:
        """Compare what was measured with what is asked for."""

    @property
    def finding_severity(self) -> str:
        """Return what a broken limit means: only what is critical blocks by itself."""
        level = getattr(self.severity, "value", self.severity)
        return "fail" if level == "critical" else "warn"

    def get_validation_dependencies(
        self,
        execution_engine: ExecutionEngine[Any] | None = None,
        runtime_configuration: dict[str, Any] | None = None,
    ) -> Any:
        """Ask for the metric, once for all expectations with the same question."""
        needed = super().get_validation_dependencies(execution_engine, runtime_configuration)
        kwargs = get_metric_kwargs(self.metric, self.configuration, runtime_configuration)
        asked = MetricConfiguration(
            self.metric,
            kwargs["metric_domain_kwargs"],
            {ASKED: json.dumps(self.question(), sort_keys=True)},
        )
        needed.set_metric_configuration(self.metric, asked)
        if self.row_condition is not None:
            # Of all rows, those that the condition does not keep are judged by nobody here.
            domain = {**kwargs["metric_domain_kwargs"], "row_condition": None}
            whole = MetricConfiguration(self.metric, domain, asked.metric_value_kwargs)
            needed.set_metric_configuration(ALL_ROWS, whole)
        return needed

    def _asked_for(self) -> list[str]:
        """List the fields that were given: as run, None is given by a suite parameter alone.

        What is run is made from a configuration, from which Great Expectations leaves defaults
        out. A limit or a unit that a parameter was to give must not vanish with its value.
        """
        known = {*self.success_keys, "row_condition"}
        return sorted(name for name in self.__fields_set__ if name in known)

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,  # noqa: ARG002
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        judged = self._judged(metrics)
        counted = getattr(metrics.get(ALL_ROWS), "counted", None)
        if counted is not None:
            n_rows = RowCoverage.of(counted.measured).n_rows
            judged = replace(judged, about={**judged.about, "batch_rows": n_rows})
            seen = judged.details.get("rows")
            if n_rows is not None and seen is not None:
                summary = {**judged.details, "outside": n_rows - seen}
                judged = replace(judged, details=summary)
        return judged.to_result()

    def _judged(self, metrics: dict[str, Any]) -> Judged:
        empty = [name for name in self._asked_for() if getattr(self, name) is None]
        if empty:
            return could_not_assess(
                f"the suite parameter of {', '.join(empty)} has no value (None)"
            )
        result = metrics[self.metric]
        if not isinstance(result, MetricAnswer):
            return could_not_assess("the metric gave no answer")
        if result.problem is not None:
            return could_not_assess(result.problem)
        try:
            return self.judged(result)
        except AnonRiskError as error:
            return could_not_assess(str(error))


class PrivacyExpectation(GateExpectation):
    """An expectation about the classes of a quasi-identifier."""

    qids: Columns
    every_subset_of: Number | None = None
    unit: Column | None = None
    missing: MissingOrWildcard = "value"
    max_dropped_fraction: Number | None = None
    dropped_are_removed: bool = False
    unlisted: Literal["quasi"] | None = None
    classified: Columns | None = None

    source: ClassVar[Expectation]
    budgets: ClassVar[tuple[type[Budget], ...]] = ()
    own_fields: ClassVar[Mapping[str, Field]] = {}

    @pydantic.validator("qids", pre=True)
    def _one_name_is_a_list(cls, value: Any) -> Any:  # noqa: N805
        return names(value)

    @pydantic.validator("*")
    def _dict_is_a_parameter(cls, value: Any, field: Any) -> Any:  # noqa: N805
        own = field.name in (*COMMON, *cls.own_keys) and field.name not in ("hierarchies", "meta")
        return parameter(value, field.name) if own else value

    @pydantic.root_validator(skip_on_failure=True)
    def _is_a_policy(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        """Let the policy check what is given; parameters are checked when they are filled in."""
        value = {name: cls._or_sample(name, values.get(name)) for name in (*COMMON, *cls.own_keys)}
        if (value["unlisted"] is None) != (value["classified"] is None):
            raise ValueError("unlisted='quasi' and classified belong together")
        try:
            cls.policy_of(value, "fail")
        except PolicyError as error:
            raise ValueError(str(error)) from None
        return values

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Return what is expected."""
        return cls.source.says(asked)

    @classmethod
    def limits(cls, value: dict[str, Any], severity: str) -> dict[str, Any]:
        """Return the budgets of the policy that the fields stand for."""
        results: dict[str, Any] = {}
        for budget in cls.budgets:
            results |= budget.limits(value, severity)
        if not results:
            names = [name for name in cls.own_fields if name.startswith("max_")]
            raise ValueError(f"give a limit: {' or '.join(names)}")
        return results

    @classmethod
    def _or_sample(cls, name: str, value: Any) -> Any:
        """Return the value of a field, or something that it takes where a parameter stands in."""
        if name == "hierarchies" or not is_parameter(value):
            return value
        if name in ("qids", "classified"):
            return [f"({name})"]
        if name in ("unit", "sensitive"):
            return f"({name})"
        key = cls.own_fields[name].key if name in cls.own_fields else ""
        keys = [budget.keys[key] for budget in cls.budgets if key in budget.keys]
        return max([1, *(how.schema.get("minimum", 1) for how in keys)])

    @classmethod
    def document(cls, value: dict[str, Any], budgets: dict[str, Any]) -> dict[str, Any]:
        """Write the policy that the fields stand for, with these budgets."""
        sensitive = value.get("sensitive")
        roles = {
            "quasi": value["qids"],
            "sensitive": None if sensitive is None else [sensitive],
            "unit": value["unit"],
        }
        own = {*value["qids"], sensitive, value["unit"]}
        rest = [name for name in value["classified"] or () if name not in own]
        # Another expectation has a population of its own.
        sampled = "sampling_fraction" in value
        subsets = value["every_subset_of"]
        rules = (
            {"budgets": budgets}
            if subsets is None
            else {"qids": [{"every_subset_of": subsets, "budgets": budgets}]}
        )
        return {
            "version": 1,
            "roles": {**roles, "insensitive": rest},
            "unlisted": value["unlisted"] or "ignore",
            "missing": value["missing"],
            "missing_sensitive": value.get("missing_sensitive"),
            "max_dropped_fraction": value["max_dropped_fraction"],
            "dropped_are_removed": value["dropped_are_removed"],
            **{key: value.get(key) if sampled else None for key in OF_SAMPLE},
            "unsuppressed": bool(sampled and value["unsuppressed"]),
            **rules,
        }

    @classmethod
    def policy_of(cls, value: dict[str, Any], severity: str) -> Policy:
        """Make the policy that the fields stand for."""
        return Policy.from_dict(cls.document(value, cls.limits(value, severity)))

    def field_values(self) -> dict[str, Any]:
        """Return the fields; a suite parameter that nobody filled in is an error."""
        names = (*COMMON, *self.own_keys)
        return {
            name: getattr(self, name) if name == "hierarchies" else filled(getattr(self, name))
            for name in names
        }

    def question(self) -> dict[str, Any]:
        """Ask for the counts that the limits are about, but not for the limits."""
        value = self.field_values()
        drops = "drop" in (value["missing"], value.get("missing_sensitive"))
        value |= {"max_dropped_fraction": 1.0 if drops else None, "dropped_are_removed": False}
        counts = self.budgets[0].counts(value, shared_scores())
        return self.document({**value, **dict.fromkeys(OF_SAMPLE)}, counts)

    def judged(self, metric_answer: MetricAnswer) -> Judged:
        """Return the findings of the policy that the fields stand for."""
        counted = metric_answer.counted
        if counted is None:
            return could_not_assess("nothing was counted")
        policy = self.policy_of(self.field_values(), self.finding_severity)
        findings = of_counts(policy, counted)
        if metric_answer.empty:
            findings.append(release_rules.no_records())
        decisive = worst(findings)
        about = {
            "published": counted.published.to_dict(),
            "engine": counted.engine,
            "missing": self.missing,
            "unit": counted.roles.unit,
            "size": size_of(counted),
            "rows": RowCoverage.of(counted.measured).to_dict(),
        }
        details = _details(findings, decisive, counted)
        return Judged(findings, observed=decisive.value, details=details, about=about)


class SensitiveExpectation(PrivacyExpectation):
    """An expectation about the values of a sensitive column in each class."""

    sensitive: Column
    missing_sensitive: Missing | None = None


def _details(findings: list[Finding], decisive: Finding, counted: Counted) -> dict[str, Any]:
    """Return the numbers that Data Docs show, of the quasi-identifier that decides."""
    rows = {"budgets": [_row(finding) for finding in findings]}
    result = counted.measured.get(decisive.qid)
    groups = result.groups if result is not None and isinstance(result.groups, list) else []
    sizes = groups[0].sizes if groups else None
    if sizes is None:
        return rows
    return {
        **rows,
        "records" if sizes.unit is None else "persons": sizes.n_records,
        "classes": sizes.n_classes,
        "k": sizes.k,
        "singletons": sizes.records_at_most(1),
        "rows": sizes.n_rows + sizes.n_dropped,
        "judged": RowCoverage.of({decisive.qid: counted.measured[decisive.qid]}).n_judged,
        "missing": sizes.missing,
        **({"dropped": sizes.n_dropped} if sizes.missing == "drop" else {}),
        "unit": sizes.unit,
        "person": person_of(sizes.unit),
    }


def _row(finding: Finding) -> dict[str, Any]:
    """Return the numbers of a finding."""
    row = {
        "budget": finding.budget,
        "status": finding.status,
        "value": finding.value,
        "limit": finding.limit,
    }
    if finding.parameters.get("as_fraction"):
        row["as_fraction"] = True
    return row if finding.estimate is None else {**row, "estimate": finding.estimate}
