"""What all expectations share: their fields, their metric, their result."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.registry import get_metric_kwargs
from great_expectations.expectations.row_conditions import RowConditionType  # noqa: TC002
from great_expectations.validator.metric_configuration import MetricConfiguration

from anonrisk.errors import AnonRiskError
from anonrisk.gx import fields, judging
from anonrisk.gx.fields import Column, Columns, Number  # noqa: TC001
from anonrisk.gx.metrics import ASKED, SIZES, Measured
from anonrisk.gx.render import Rendered

if TYPE_CHECKING:
    from great_expectations.execution_engine import ExecutionEngine

    from anonrisk.policy.budgets import Budget


# The fields that every expectation about classes passes on to its metric and result.
COMMON = ("qids", "unit", "missing", "max_dropped_fraction")


class GateExpectation(Rendered, BatchExpectation):
    """An expectation that never raises: what could not be assessed fails, and says why."""

    row_condition: RowConditionType = None

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition")
    own_keys: ClassVar[tuple[str, ...]] = ()
    metric: ClassVar[str] = SIZES

    @classmethod
    def is_abstract(cls) -> bool:
        """Tell whether this is a base class; only others are registered."""
        return not cls.own_keys

    @abstractmethod
    def question(self) -> dict[str, Any]:
        """Say what the metric is asked."""

    @abstractmethod
    def judged(self, found: Measured) -> judging.Judged:
        """Compare what was measured with the budgets."""

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
        empty = [name for name in self._asked_for() if getattr(self, name) is None]
        if empty:
            told = f"the suite parameter of {', '.join(empty)} has no value (None)"
            return judging.could_not_assess(told).to_result()
        found = metrics[self.metric]
        if not isinstance(found, Measured):
            return judging.could_not_assess("the metric gave no answer").to_result()
        if found.problem is not None:
            return judging.could_not_assess(found.problem).to_result()
        try:
            return self.judged(found).to_result()
        except AnonRiskError as error:
            return judging.could_not_assess(str(error)).to_result()


class PrivacyExpectation(GateExpectation):
    """An expectation about the classes of a quasi-identifier."""

    qids: Columns
    unit: Column | None = None
    missing: Literal["value", "drop", "error"] = "value"
    max_dropped_fraction: Number | None = None

    @pydantic.validator("qids", pre=True)
    def _one_name_is_a_list(cls, given: Any) -> Any:  # noqa: N805
        return fields.names(given)

    @pydantic.validator("qids")
    def _names_differ(cls, given: Any) -> Any:  # noqa: N805
        return fields.different(given)

    @pydantic.validator("unit", "sensitive", check_fields=False)
    def _is_a_name(cls, given: Any, field: Any) -> Any:  # noqa: N805
        return fields.parameter(given, field.name)

    @pydantic.validator(*fields.NUMBERS, check_fields=False)
    def _number_is_in_range(cls, given: Any, field: Any) -> Any:  # noqa: N805
        return fields.checked(given, field.name)

    @pydantic.root_validator(skip_on_failure=True)
    def _dropping_has_a_limit(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        limited = values.get("max_dropped_fraction") is not None
        drops = values.get("missing") == "drop"
        needless = not drops and values.get("missing_sensitive") != "drop"
        if (drops and not limited) or (limited and needless):
            raise ValueError(
                "missing='drop' needs max_dropped_fraction, which says how many records may be "
                "left out; it is taken with missing='drop' or missing_sensitive='drop' only"
            )
        return values

    @property
    def score(self) -> str:
        """Name the measure of a sensitive column, as `anonrisk.assess` does."""
        raise NotImplementedError

    @abstractmethod
    def budgets(self) -> list[Budget]:
        """Give what must be satisfied."""

    def question(self) -> dict[str, Any]:
        """Say what the metric is asked; the order of the columns makes no difference."""
        qids, unit = fields.filled(self.qids), fields.filled(self.unit)
        return {"qids": sorted(qids), "unit": unit, "missing": self.missing}

    def judged(self, found: Measured) -> judging.Judged:
        """Compare what was counted with the budgets."""
        if found.sizes is None:
            return judging.could_not_assess("nothing was counted")
        return judging.judge(self, found.sizes, found.scores or {}, found.n_without_value)
