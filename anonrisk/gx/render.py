"""How expectations read in Data Docs: a sentence for what is asked, one with a table for what is.

Great Expectations calls these with any of their arguments missing.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from great_expectations.expectations.expectation import render_suite_parameter_string
from great_expectations.render import (
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
    RenderedTableContent,
)
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererValueType
from great_expectations.render.util import parse_row_condition_string

from anonrisk.core import render
from anonrisk.policy.finding import COULD_NOT_ASSESS
from anonrisk.policy.messages import as_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from great_expectations.core import ExpectationValidationResult
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
    from great_expectations.render.renderer_configuration import RendererConfiguration

_TABLE = {"body": {"classes": ["table", "table-sm", "table-bordered", "mb-0"]}}
_LABELS = {
    "records": "Records",
    "persons": "Persons",
    "classes": "Classes",
    "k": "Smallest class",
    "singletons": "Singletons",
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
        """Say what is expected, with `$name` where the value of a field stands."""

    @classmethod
    def template(cls, asked: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        """Give the whole sentence and what stands for its `$names`."""
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
        sentence = cls.says(asked).replace("$qids", names)
        if qids and asked.get("unlisted") == "quasi":
            sentence += " Columns without a role join them."
        if asked.get("unit"):
            sentence += " Persons are counted, by $unit."
        if asked.get("missing") == "drop":
            sentence += (
                " Rows with a missing quasi-identifier are left out, at most "
                "$max_dropped_fraction of them."
            )
        if asked.get("missing") == "error":
            sentence += " No quasi-identifier may be missing."
        if asked.get("missing") == "wildcard":
            sentence += " A missing quasi-identifier matches every value."
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
        details = _details(result)
        if details.get("status") in {None, COULD_NOT_ASSESS}:
            return "--"
        rows = [[label, number(details[key])] for key, label in _LABELS.items() if key in details]
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


def _details(result: ExpectationValidationResult | None) -> dict[str, Any]:
    return dict(((result.result if result is not None else None) or {}).get("details") or {})


def _text(
    template: str, styling: Any = None, tag: str | None = None, **params: str
) -> RenderedStringTemplateContent:
    """Give a sentence; what stands for its `$names` is escaped."""
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
