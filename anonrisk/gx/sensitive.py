"""Expectations about a sensitive column: what is learned about a person whose class is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from great_expectations.compatibility import pydantic

from anonrisk.gx.base import COMMON, PrivacyExpectation
from anonrisk.gx.fields import Column, Number  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Mapping


# Scores that need no argument of their own are taken together, so that they share one pass.
_TOGETHER = {
    "ldiv": [{"l": 1, "kind": "distinct"}, {"l": 1, "kind": "entropy"}],
    "tcloseness": {"t": 1, "distance": "equal"},
}


class _AboutValues(PrivacyExpectation):
    """An expectation about the values of a sensitive column in each class."""

    sensitive: Column
    missing_sensitive: Literal["value", "drop", "error"] | None = None


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
        missing_sensitive ("value", "drop", "error"): What a missing sensitive value means; left
            out, a batch that misses one cannot be assessed.
        every_subset_of, unit, missing, max_dropped_fraction, dropped_are_removed, unlisted,
        classified, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    l: Number = pydantic.Field(...)
    kind: Literal["distinct", "entropy", "recursive"] = pydantic.Field(...)
    c: Number | None = None
    own_keys: ClassVar[tuple[str, ...]] = ("sensitive", "missing_sensitive", "l", "kind", "c")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limit on diversity."""
        more = {} if given["c"] is None else {"c": given["c"]}
        limit = {"l": given["l"], "kind": given["kind"], **more, "severity": severity}
        return {"ldiv": limit}

    @classmethod
    def counts(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Ask for the diversity, together with all that shares its pass."""
        if given["kind"] != "recursive":
            return _TOGETHER
        return {"ldiv": {"l": 1, "kind": "recursive", "c": given["c"]}}

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
        missing_sensitive ("value", "drop", "error"): What a missing sensitive value means; left
            out, a batch that misses one cannot be assessed.
        every_subset_of, unit, missing, max_dropped_fraction, dropped_are_removed, unlisted,
        classified, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    t: Number = pydantic.Field(...)
    distance: Literal["equal", "ordered", "hierarchical"] = pydantic.Field(...)
    order: list[Any] | None = None
    hierarchy: dict[str, Any] | list[Any] | None = None
    own_keys: ClassVar[tuple[str, ...]] = (
        *("sensitive", "missing_sensitive", "t", "distance", "order", "hierarchy"),
    )
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limit on distance."""
        return {"tcloseness": {"t": given["t"], **_how(given), "severity": severity}}

    @classmethod
    def counts(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Ask for the distance, together with all that shares its pass."""
        if given["distance"] == "equal":
            return _TOGETHER
        return {"tcloseness": {"t": 1, **_how(given)}}

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Say what is expected."""
        return (
            "The values of $sensitive under every combination of $qids are at most $t away from "
            "those of the whole table ($distance t-closeness)."
        )


def _how(given: dict[str, Any]) -> dict[str, Any]:
    """Say which distance, with all that it needs."""
    how = {name: given[name] for name in ("distance", "order", "hierarchy")}
    return {name: value for name, value in how.items() if value is not None}
