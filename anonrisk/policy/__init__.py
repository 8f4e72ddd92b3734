"""Gates: a `Policy` says what a table must satisfy, a `Verdict` whether it does."""

from __future__ import annotations

from anonrisk.policy.budgets import Budget
from anonrisk.policy.detector import set_name_detector
from anonrisk.policy.explain import Explanation
from anonrisk.policy.finding import Finding
from anonrisk.policy.lint import LintResult, Remark
from anonrisk.policy.policy import Policy
from anonrisk.policy.rules import PolicyRoles, Rule
from anonrisk.policy.verdict import Verdict

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
