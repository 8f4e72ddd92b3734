"""What stands behind each limit and number of a report: sentence, meaning, formula, source."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from anonrisk.api.assess import MEANINGS
from anonrisk.core.frozen import dataclass
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


def limits_of(measured: Measured) -> dict[str, Any] | None:
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
        "sentence": limit_sentence(finding),
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


def limit_sentence(finding: Finding) -> str:
    """Return a finding's sentence with a score of values as the rest of the page writes it.

    All six digits stay where fewer would make a limit that is just missed look kept.
    """
    summary, value, limit = finding.sentence, finding.value, finding.limit
    if limit is None or value is None or finding.sensitive is None:
        return cut(summary)
    if number(value) == number(limit) and value != limit:
        return cut(summary)
    return cut(summary.replace(f" {value:.6g} ", f" {number(value)} "))


@dataclass(frozen=True)
class Behind:
    """One number, explained to somebody who signs and to somebody who must trust it.

    `word` is the function that gives the number; its docstring says `misleads` too, and a test
    compares the two.
    """

    word: str
    number: str
    meaning: str
    misleads: str
    formula: str
    source: str


_CLASS = "f is the number of people who share a combination: the size of its class"
BEHIND = (
    Behind(
        "k",
        "smallest class (k)",
        MEANINGS["k"],
        "it is about the worst class alone, and says nothing of what a class gives away: ten "
        "people who share a combination may share a diagnosis too",
        f"k = min f; {_CLASS}",
        "Samarati & Sweeney 1998",
    ),
    Behind(
        "uniqueness",
        "share alone",
        MEANINGS["uniqueness"],
        "alone in the table is not alone in the population; and columns that nobody named as "
        "quasi-identifiers may single out more",
        "people in classes with f = 1, divided by all people",
        "Koot 2012, chapter 3",
    ),
    Behind(
        "risk",
        "prosecutor",
        "chance of finding a person who is known to be in the table, by one guess in their class",
        "a guess needs no name: where a whole class shares a sensitive value, nobody need be found",
        "highest 1 / min f; average (1/n) Σ 1/f over the n people",
        "El Emam & Dankar 2008",
    ),
    Behind(
        "risk",
        "journalist and marketer",
        "chance of finding somebody, and the share found of everybody, among the whole population",
        "without a population, weights or its size nobody knows them; they lie at or below the "
        "prosecutor's, since a class of the population is at least as large",
        "journalist 1/F, marketer (1/n) Σ f/F over classes; F the size of the class in the "
        "population, from f to f plus all who are not in the table",
        "El Emam & Dankar 2008; Dankar & El Emam 2010",
    ),
    Behind(
        "ldiv",
        "l-diversity",
        MEANINGS["ldiv"],
        "different values may mean the same (two kinds of cancer), and one of them may be nearly "
        "certain",
        "l = min over classes of the number of different sensitive values",
        "Machanavajjhala et al. 2007",
    ),
    Behind(
        "tcloseness",
        "t-closeness",
        MEANINGS["tcloseness"],
        "small classes are far from the table by chance; and it depends on how far apart two "
        "values are said to be",
        "largest earth mover's distance between a class and the table: equal ½ Σ |p - q|; ordered "
        "Σ |P - Q| / (m - 1) over m values",
        "Li et al. 2007",
    ),
    Behind(
        "predict_population",
        "population",
        "how many people can be unique in the population that the table is a sample of",
        "only where everybody had the same chance to be in the table; models assume more, and "
        "disagree where they are wrong",
        "the least and the largest number over all populations that agree with the class sizes, "
        "with 95% confidence",
        "bounds of this library; the models each name their source in its documentation",
    ),
    Behind(
        "predict_singletons",
        "group size",
        "expected share of a group drawn from the table who are alone within it",
        "for a group drawn by chance; people who were chosen for what they have in common are "
        "more alike",
        "Σ f C(n - f, g - 1) / C(n, g) over classes: people alone in a group of g out of n",
        "Koot 2012, chapter 5; exact for a table",
    ),
)


def behind() -> list[dict[str, str]]:
    """Return the explanations as plain values."""
    return [asdict(item) for item in BEHIND]
