"""The expectation about the columns themselves: what must not be published at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from great_expectations.compatibility import pydantic

from anonrisk.gx.base import GateExpectation
from anonrisk.gx.fields import Columns, filled, parameter
from anonrisk.gx.judging import Judged, could_not_assess
from anonrisk.gx.metrics import COLUMNS, Measured
from anonrisk.policy.check import UNNAMED
from anonrisk.policy.finding import FAIL, PASS
from anonrisk.render import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExpectColumnsToBePublishable(GateExpectation):
    """Expect no direct identifier in the table, and no column that nobody has classified.

    Args:
        direct (list of str): Columns that name a person, and must be gone; so must those that a
            pandas or Spark table itself declares so.
        classified (list of str): All columns that may be there; left out, any other may.
    """

    direct: list[pydantic.StrictStr] = pydantic.Field(...)
    classified: Columns | None = None
    own_keys: ClassVar[tuple[str, ...]] = ("direct", "classified")
    success_keys: ClassVar[tuple[str, ...]] = own_keys
    metric: ClassVar[str] = COLUMNS

    @pydantic.validator("classified")
    def _is_a_list(cls, given: Any, field: Any) -> Any:  # noqa: N805
        return parameter(given, field.name)

    @pydantic.root_validator(skip_on_failure=True)
    def _asks_for_something(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        if not values.get("direct") and values.get("classified") is None:
            raise ValueError("name direct identifiers, or the columns that are classified")
        return values

    def question(self) -> dict[str, Any]:
        """Ask for nothing but the names of the columns."""
        return {}

    def judged(self, found: Measured) -> Judged:
        """Look for columns that must not be there."""
        columns = found.columns or ()
        if not columns:
            return could_not_assess("the batch has no column")
        direct = dict.fromkeys((*self.direct, *found.direct))
        there = [name for name in direct if name in columns]
        classified = filled(self.classified)
        known = None if classified is None else {*classified, *direct}
        without = [] if known is None else [name for name in columns if name not in known]
        labels = known is not None and found.unnamed_labels
        if found.renamed and not there and (known is None or without or labels):
            return could_not_assess(found.renamed)
        sentences = [
            *([f"The table still has direct identifiers: {_quoted(there)}."] if there else []),
            *([f"Columns without a role: {_quoted(without)}."] if without else []),
            *([UNNAMED] if labels else []),
        ]
        kept = f"None of the {count_of(len(columns), 'column')} must be removed."
        return Judged(
            FAIL if sentences else PASS,
            tuple(sentences) or (kept,),
            len(there) + len(without) + labels,
            {"columns": len(columns), "direct": len(there), "unclassified": len(without)},
        )

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Say what is expected."""
        strict = " Every column has a role." if asked.get("classified") is not None else ""
        return f"No direct identifier is left in the table.{strict}"


def _quoted(names: list[str]) -> str:
    return ", ".join(map(repr, names))
