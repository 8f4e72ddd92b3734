"""The limits of a policy in a report: each said in a sentence, and how much of it is used."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonrisk.core.results import plain
from anonrisk.policy import budgets as kinds
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, WAIVED
from anonrisk.reporting.text import cut, name_of, number

if TYPE_CHECKING:
    from anonrisk.policy.finding import Finding
    from anonrisk.reporting.measured import Measured

MOST_LIMITS = 40
_WORDS = {
    PASS: ("kept", "✓", "good"),
    FAIL: ("broken", "✗", "bad"),
    COULD_NOT_ASSESS: ("could not be assessed", "?", "doubt"),
}


def budgets(measured: Measured) -> dict[str, Any] | None:
    """Return each limit, those that are not kept first, and how much of it is used."""
    if not measured.judged:
        return None
    ordered = sorted(measured.verdict.all_findings, key=lambda item: item.passed)
    kept = sum(item.passed for item in ordered)
    return {
        "title": f"{kept:,} of {len(ordered):,} limits kept",
        "note": None
        if measured.by is None
        else f"Checked in each group of {name_of(measured.by)}.",
        "rows": [limit_row(item) for item in ordered[:MOST_LIMITS]],
        "more": max(0, len(ordered) - MOST_LIMITS),
    }


def limit_row(finding: Finding) -> dict[str, Any]:
    """Return one limit as plain values."""
    word, sign, tone = _WORDS[finding.status]
    if finding.severity == "warn" and finding.status == FAIL:
        word, sign = "broken, a warning", "!"
    if finding.severity == WAIVED:
        word, sign = "broken, waived", "!"
    used = _used(finding)
    return {
        "budget": finding.budget,
        "status": finding.status,
        "word": word,
        "sign": sign,
        "tone": tone,
        "sentence": sentence_of(finding),
        "value": plain(finding.value),
        "limit": plain(finding.limit),
        "used": plain(used),
        "used_text": None if used is None else _used_text(finding, used),
    }


def _used(finding: Finding) -> float | None:
    """Return how much of a limit is used: 1 is all that is allowed."""
    value, limit = finding.value, finding.limit
    if value is None or limit is None or math.isnan(value):
        return None
    part, whole = (limit, value) if kinds.at_least(finding.budget) else (value, limit)
    if whole == 0:
        return None if part == 0 else math.inf
    return part / whole


def _used_text(finding: Finding, used: float) -> str:
    """Return it as people do: a limit is used up, what is asked for is there or not."""
    broken = finding.status == FAIL
    if kinds.at_least(finding.budget):
        return _reached(used, broken=broken)
    if used == math.inf:
        return "nothing is allowed"
    if 0 < used < 0.01:
        return "less than 1% of the limit"
    if broken and f"{used:.0%}" == "100%":
        return "just over the limit"
    return f"{used:,.0f} times the limit" if used >= 10 else f"{used:.0%} of the limit"


def _reached(used: float, *, broken: bool) -> str:
    if used in (0, math.inf):
        return "none of what is required" if used else "more than required"
    times = max(used, 1 / used)
    text = f"{times:,.0f}" if times >= 10 else f"{times:.3g}"
    if text == "1":
        return "just too little" if broken else "just what is required"
    return f"{text} times {'too little' if broken else 'what is required'}"


def sentence_of(finding: Finding) -> str:
    """Return a finding's sentence with a score of values as the rest of the page writes it.

    All six digits stay where fewer would make a limit that is just missed look kept.
    """
    summary, value, limit = finding.sentence, finding.value, finding.limit
    if limit is None or value is None or finding.sensitive is None:
        return cut(summary)
    if number(value) == number(limit) and value != limit:
        return cut(summary)
    return cut(summary.replace(f" {value:.6g} ", f" {number(value)} "))
