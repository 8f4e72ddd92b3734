"""A plan as a document: plain values that JSON and YAML have, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import whole_number
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.errors import PlanError
from anonrisk.planning import goal_document
from anonrisk.planning.budget import ValueBudget
from anonrisk.planning.outcome import PlanOutcome
from anonrisk.planning.plan_digest import digest_of
from anonrisk.planning.plan_steps import PlanStep
from anonrisk.recode.regions import Regions, read_recoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name
    from anonrisk.planning.plan_fields import PlanFields

# The first version had no digest.
_VERSION, _WITHOUT_DIGEST = 2, 1


def written(plan: PlanFields) -> dict[str, Any]:
    """Give a plan as plain values."""
    stored: dict[str, Any] = {
        "anonrisk_plan": _VERSION,
        "k": plan.k,
        "max_suppression": plan.max_suppression,
        "columns": [_plain(c) for c in plan.columns],
        "recodings": [{"column": _plain(c), **r.to_dict()} for c, r in plan.recodings.items()],
        "optimal": plan.optimal,
        "partial": plan.partial,
        "loss": plan.loss,
        "note": plan.note,
    }
    for name in ("before", "after", "budget"):
        part = getattr(plan, name)
        stored[name] = None if part is None else vars(part) | _lists(part)
    stored["steps"] = [{**vars(step), "column": _plain(step.column)} for step in plan.steps]
    if plan.regions is not None:
        stored["regions"] = plan.regions.to_dict()
    stored |= goal_document.written(plan, _plain)
    return {**stored, "digest": digest_of(stored)}


def read(stored: Mapping[str, Any], hierarchies: Mapping[Name, Any] | None) -> dict[str, Any]:
    """Read the fields of a plan back."""
    trees = {c: Hierarchy.of(given) for c, given in (hierarchies or {}).items()}
    try:
        if stored["anonrisk_plan"] not in (_VERSION, _WITHOUT_DIGEST):
            raise PlanError("the plan was written by another version of anonrisk")
        recodings = {
            _name(r["column"]): read_recoding(
                {key: value for key, value in r.items() if key not in ("column", "nodes")},
                trees.get(_name(r["column"])),
            )
            for r in stored["recodings"]
        }
        parts: dict[str, Any] = {
            name: None if stored[name] is None else kind(**_tuples(stored[name]))
            for name, kind in (
                ("before", PlanOutcome),
                ("after", PlanOutcome),
                ("budget", ValueBudget),
            )
        }
        parts["steps"] = tuple(
            PlanStep(**{**step, "column": _name(step["column"])})
            for step in stored.get("steps", ())
        )
        regions = stored.get("regions")
        if regions is not None:
            parts["regions"] = Regions.read(regions, recodings)
        parts |= goal_document.read(stored, _name)
        k, share = stored["k"], float(stored["max_suppression"])
        if k is not None and whole_number(k, "k", at_least=1) and not recodings:
            raise PlanError("this is not a stored plan: it recodes nothing")
        if not 0 <= share <= 1:
            raise PlanError("this is not a stored plan: max_suppression is no share")
        return dict(
            recodings=recodings,
            k=k,
            max_suppression=share,
            columns=tuple(_name(c) for c in stored["columns"]),
            optimal=bool(stored["optimal"]),
            loss=str(stored.get("loss", "range")),
            note=str(stored.get("note", "")),
            partial=bool(stored.get("partial", False)),
            **parts,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError("this is not a stored plan") from None


def without_digest(plan: PlanFields) -> dict[str, Any]:
    """Give a plan as plain values for a page that changes it, and cannot tell the digest then."""
    stored = {key: value for key, value in written(plan).items() if key != "digest"}
    return {**stored, "anonrisk_plan": _WITHOUT_DIGEST}


def check_digest(stored: Mapping[str, Any], digest: str) -> None:
    """Refuse a document that is not as it was written; one without a digest cannot say.

    Whether it should have one is told by its version: else leaving it out would be enough.
    """
    if stored["anonrisk_plan"] != _WITHOUT_DIGEST and stored.get("digest") != digest:
        raise PlanError(
            "the plan was changed after it was written: its digest does not fit. If that was you, "
            "read it with edited=True (anonrisk apply --edited)"
        )


def _lists(part: Any) -> dict[str, Any]:
    return {name: list(x) for name, x in vars(part).items() if isinstance(x, tuple)}


def _tuples(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(x) if isinstance(x, list) else x for name, x in stored.items()}


def _plain(name: Any) -> Any:
    """Give the name of a column as JSON and YAML have it."""
    if isinstance(name, tuple):
        return [_plain(part) for part in name]
    if isinstance(name, str):
        return str(name)
    if isinstance(name, np.generic):
        name = name.item()
    if name is None or isinstance(name, (bool, int, float)):
        return name
    raise PlanError(
        f"a plan cannot be stored with a column whose name is a {type(name).__name__}; "
        "name the columns by text first"
    )


def _name(stored: Any) -> Name:
    # JSON has no tuples, and a pandas label may be one.
    return tuple(stored) if isinstance(stored, list) else stored
