"""Expectations about a sensitive column: what is learned about a person whose class is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from great_expectations.compatibility import pydantic

from anonrisk.gx.base import COMMON, PrivacyExpectation
from anonrisk.gx.fields import Column, Number, filled
from anonrisk.gx.metrics import SCORES, TOGETHER
from anonrisk.policy.budgets import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping


class _AboutValues(PrivacyExpectation):
    """An expectation about the values of a sensitive column in each class."""

    sensitive: Column
    missing_sensitive: Literal["value", "drop", "error"] = "value"
    metric: ClassVar[str] = SCORES

    def arguments(self) -> dict[str, Any]:
        """Give what the measure takes beside the columns."""
        return {"measures": list(TOGETHER), "distance": "equal"}

    def question(self) -> dict[str, Any]:
        """Say what the metric is asked."""
        about = {
            "sensitive": filled(self.sensitive),
            "missing_sensitive": self.missing_sensitive,
        }
        return {**super().question(), **about, **self.arguments()}


class ExpectLDiversityToBeAtLeast(_AboutValues):
    """Expect every class to hold enough different values of a sensitive column.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        sensitive (str): The column whose value must not be learned.
        l (int or float): The least diversity of a class; 1 or more.
        kind ("distinct", "entropy", "recursive"): Which diversity.
        c (float): The constant of the recursive kind, and only of that.

    Other Parameters
    ----------------
        missing_sensitive ("value", "drop", "error"): What a missing sensitive value means.
        unit, missing, max_dropped_fraction, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    l: Number = pydantic.Field(...)
    kind: Literal["distinct", "entropy", "recursive"] = pydantic.Field(...)
    c: Number | None = None
    own_keys: ClassVar[tuple[str, ...]] = ("sensitive", "missing_sensitive", "l", "kind", "c")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @pydantic.root_validator(skip_on_failure=True)
    def _constant_belongs_to_recursive(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        if (values.get("kind") == "recursive") != (values.get("c") is not None):
            raise ValueError("kind='recursive' and c belong together")
        return values

    @property
    def score(self) -> str:
        """Name the measure."""
        return "ldiv" if self.kind == "distinct" else f"{self.kind}_ldiv"

    def arguments(self) -> dict[str, Any]:
        """Give the constant of the recursive kind."""
        if self.kind != "recursive":
            return super().arguments()
        return {"measures": [self.score], "c": filled(self.c)}

    def budgets(self) -> list[Budget]:
        """Give the limit on diversity."""
        return [Budget("ldiv", filled(self.l), kind=self.kind, c=filled(self.c))]

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Say what is expected."""
        constant = " with c = $c" if asked.get("c") is not None else ""
        return (
            "Every combination of $qids leaves at least $l values of $sensitive in doubt "
            f"($kind l-diversity{constant})."
        )


class ExpectTClosenessToBeAtMost(_AboutValues):
    """Expect the sensitive values of every class to be close to those of the table.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        sensitive (str): The column whose value must not be learned.
        t (float): The largest distance of a class from the table, from 0 to 1.
        distance ("equal", "ordered", "hierarchical"): Which distance; never chosen by itself.
        order (list): Values of the sensitive column from the smallest to the largest, where they
            have no order of their own. They are stored in the suite.
        hierarchy (dict or list): A tree of the values; stored in the suite.

    Other Parameters
    ----------------
        missing_sensitive ("value", "drop", "error"): What a missing sensitive value means.
        unit, missing, max_dropped_fraction, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    t: Number = pydantic.Field(...)
    distance: Literal["equal", "ordered", "hierarchical"] = pydantic.Field(...)
    order: list[Any] | None = None
    hierarchy: dict[str, Any] | list[Any] | None = None
    own_keys: ClassVar[tuple[str, ...]] = (
        *("sensitive", "missing_sensitive", "t", "distance", "order", "hierarchy"),
    )
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @pydantic.root_validator(skip_on_failure=True)
    def _distance_has_what_it_needs(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        distance = values.get("distance")
        if values.get("order") is not None and distance != "ordered":
            raise ValueError("order belongs to distance='ordered'")
        if (values.get("hierarchy") is not None) != (distance == "hierarchical"):
            raise ValueError("distance='hierarchical' and hierarchy belong together")
        return values

    @property
    def score(self) -> str:
        """Name the measure."""
        return "tcloseness"

    def arguments(self) -> dict[str, Any]:
        """Give the distance."""
        if self.distance == "equal":
            return super().arguments()
        how = {"distance": self.distance, "order": self.order, "hierarchy": self.hierarchy}
        return {"measures": [self.score], **how}

    def budgets(self) -> list[Budget]:
        """Give the limit on distance."""
        return [Budget("tcloseness", filled(self.t), distance=self.distance)]

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Say what is expected."""
        return (
            "The values of $sensitive under every combination of $qids are at most $t away from "
            "those of the whole table ($distance t-closeness)."
        )
