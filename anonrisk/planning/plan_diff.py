"""What tells one plan from another: a digest of what it does, and the difference in words."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedTable, count_of, joined, named, percent
from anonrisk.measures.recode.kinds import is_within
from anonrisk.measures.recode.regions import ByRegion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.measures.recode import Recoding

# What a document tells about a plan and its table, beside what the plan does.
_BESIDE = frozenset(
    {
        *("anonrisk_plan", "digest", "before", "after", "budget", "budgets"),
        *("optimal", "proven_gap", "partial", "loss", "note", "steps"),
    }
)


def plan_digest(stored: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of what a stored plan does."""
    doing = {key: _canonical(value) for key, value in stored.items() if key not in _BESIDE}
    if "regions" not in doing:
        # Cuts name columns by their place; else it does not matter which is recoded first.
        doing["recodings"] = sorted(doing["recodings"], key=json.dumps)
    text = json.dumps(doing, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """Write equal things alike: 30 and 30.0; a level, with or without the names of its nodes."""
    if isinstance(value, dict):
        nodes = {"nodes"} if value.get("recoding") == "level" else set()
        return {key: _canonical(item) for key, item in value.items() if key not in nodes}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@dataclass(frozen=True)
class PlanChange:
    """One thing that two plans do differently.

    Attributes
    ----------
    what : str
        A column, or a term of the plan.
    how : str
        ``"finer"``, ``"coarser"``, ``"otherwise"``, ``"new"`` or ``"dropped"``; of terms
        ``"stricter"``, ``"looser"`` or ``"otherwise"``.
    was, becomes : str
        Before and after, in words.
    """

    what: str
    how: str
    was: str
    becomes: str


@dataclass(frozen=True, repr=False)
class PlanDiff(PrintedTable):
    """What a second plan does otherwise than a first; false where they do the same.

    Attributes
    ----------
    changes : tuple of PlanChange
        One for each column that differs, then other terms.
    digests : tuple of str
        Of both plans.
    """

    changes: tuple[PlanChange, ...]
    digests: tuple[str, str]

    @classmethod
    def of(cls, first: Any, second: Any) -> PlanDiff:
        """Compare two plans."""
        changes = (*_columns(first, second), *_terms(first, second))
        return cls(changes, (first.digest, second.digest))

    def __bool__(self) -> bool:
        """Return whether they differ."""
        return bool(self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {
            "same": not self,
            "digests": list(self.digests),
            "changes": [vars(change) for change in self.changes],
        }

    def _lines(self) -> list[str]:
        if not self:
            return ["Two plans that do the same"]
        return [f"Two plans, {count_of(len(self.changes), 'difference')}"]

    def _header(self) -> tuple[str, ...]:
        return ("what", "how", "was", "becomes")

    def _rows(self) -> list[tuple[str, ...]]:
        return [(named(c.what), c.how, c.was, c.becomes) for c in self.changes]


def _columns(first: Any, second: Any) -> list[PlanChange]:
    results = []
    for name in dict.fromkeys((*first.recodings, *second.recodings)):
        was, becomes = first.recodings.get(name), second.recodings.get(name)
        how = _how(was, becomes)
        if how:
            lines = ["not in the plan" if item is None else str(item) for item in (was, becomes)]
            results.append(PlanChange(str(name), how, *lines))
    return results


def _how(was: Recoding | None, becomes: Recoding | None) -> str:
    """Return how a column changes; nothing where it does not."""
    if was is None or becomes is None:
        return "new" if was is None else "dropped"
    if was == becomes:
        return ""
    if isinstance(was, ByRegion) or isinstance(becomes, ByRegion):
        # How coarse a column is depends on the region, before or after.
        return "otherwise"
    coarser, finer = is_within(was, becomes), is_within(becomes, was)
    if coarser == finer:
        # Cut elsewhere; or both ways, where only the labels differ.
        return "otherwise"
    return "coarser" if coarser else "finer"


def _terms(first: Any, second: Any) -> list[PlanChange]:
    """Compare what is asked of the classes, how many may be left out, and the regions."""
    results = []
    if first.k != second.k:
        how = "stricter" if (second.k or 0) > (first.k or 0) else "looser"
        lines = ["none" if plan.k is None else f"at least {plan.k:,}" for plan in (first, second)]
        results.append(PlanChange("k", how, *lines))
    if first.max_suppressed != second.max_suppressed:
        how = "stricter" if second.max_suppressed < first.max_suppressed else "looser"
        lines = [f"up to {percent(plan.max_suppressed)}" for plan in (first, second)]
        results.append(PlanChange("may be left out", how, *lines))
    worded = _worded_terms(first), _worded_terms(second)
    for what, was in worded[0].items():
        becomes = worded[1][what]
        if was != becomes:
            results.append(PlanChange(what, "otherwise", was or "none", becomes or "none"))
    if first.regions != second.regions and first.method == second.method:
        lines = [count_of(len(plan.regions or ()), "region") for plan in (first, second)]
        results.append(PlanChange("regions", "otherwise", *lines))
    return results


def _worded_terms(plan: Any) -> dict[str, str]:
    """Return the terms of a plan that are not numbers."""
    return {
        "goals": ", ".join(map(str, plan.goals)),
        "rules": "; ".join(
            ", ".join((f"{joined(rule.qid)}: k = {rule.k}", *map(str, rule.goals)))
            for rule in plan.rules
        ),
        "persons": "" if plan.unit is None else f"by {named(plan.unit)}",
        "columns left out": ", ".join(map(named, plan.leave_out)),
        "columns of the table": ", ".join(map(named, plan.columns)),
        "method": plan.method,
    }
