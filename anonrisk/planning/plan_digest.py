"""What tells one plan from another: a digest of what it does."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

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
