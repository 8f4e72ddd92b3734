"""Gates: a `Policy` says what a table must satisfy, a `Verdict` whether it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.policy.budgets import Budget
from anonrisk.policy.examine import set_name_detector
from anonrisk.policy.finding import Finding
from anonrisk.policy.policy import Policy
from anonrisk.policy.terms import PolicyRoles, Rule
from anonrisk.policy.verdict import Verdict

if TYPE_CHECKING:
    from anonrisk.policy.explain import Explanation
    from anonrisk.policy.lint import LintResult, Remark

__all__ = [
    "Budget",
    "Explanation",
    "Finding",
    "LintResult",
    "Policy",
    "PolicyRoles",
    "Remark",
    "Rule",
    "Verdict",
    "set_name_detector",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Load what a check does not need."""
        if name not in {"Explanation", "LintResult", "Remark"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from anonrisk.policy import explain, lint

        return getattr(explain if name == "Explanation" else lint, name)
