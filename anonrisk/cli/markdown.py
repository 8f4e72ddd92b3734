"""Findings as Markdown, for a comment on a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anonrisk.core.render import markdown_table, markdown_text, shown
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, WAIVED, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.cli.outcome import Outcome
    from anonrisk.policy.finding import Finding

_WORDS = {
    PASS: "✅ pass",
    FAIL: "❌ fail",
    COULD_NOT_ASSESS: "❔ could not assess",
    "wrong_usage": "❔ wrong usage",
}
# A comment that nobody reads to its end helps nobody; the verdict's JSON has all.
_SHOWN = 20
_HEADER = ("status", "budget", "value", "limit")


def document(outcome: Outcome) -> str:
    """Write the verdict, why, what the change does, the budgets and the next step.

    Examples
    --------
    >>> from anonrisk.cli.outcome import Outcome
    >>> from anonrisk.policy import Finding
    >>> found = Finding("k", "fail", "fail", "Too few.", value=1, limit=5, margin=-4, qid=("zip",))
    >>> print(document(Outcome("", {"status": "fail", "table": "t.csv"}, findings=(found,))))
    ### ❌ fail: t.csv
    <BLANKLINE>
    - Too few.
    <BLANKLINE>
    | status | budget | value | limit |
    | --- | --- | ---: | ---: |
    | ❌ fail | k of zip | 1 | 5 |
    <BLANKLINE>
    """
    return "\n".join(_blocks(outcome)).rstrip() + "\n"


def _blocks(outcome: Outcome) -> Iterator[str]:
    said = outcome.document
    source = said.get("table")
    words = ", ".join((_WORDS[said["status"]], *map(_escaped, outcome.caveats)))
    # A pass that leaves something out is no plain green.
    words = words.replace("✅", "☑️") if outcome.caveats else words
    yield f"### {words}{': ' + _escaped(source) if source else ''}\n"
    name = said.get("policy", {}).get("name")
    if name:
        yield f"Policy: {_escaped(name)}\n"
    first = sorted(outcome.findings, key=lambda finding: finding.passed)[:_SHOWN]
    yield from (f"- {_escaped(item.sentence)}" for item in first if not item.passed)
    against = said.get("against")
    if against:
        yield f"\n**Against {_escaped(against['table'])}**\n"
        yield from (f"- {_escaped(sentence)}" for sentence in against["sentences"])
    if any(item.value is not None for item in first):
        yield ""
        yield markdown_table(_HEADER, [_row(item, said.get("fail_on", "fail")) for item in first])
    hidden = len(outcome.findings) - _SHOWN
    if hidden > 0:
        yield f"\nAnd {hidden:,} more, not shown."
    if outcome.covers:
        yield "\nWhat this covers:\n"
        yield from (f"- {_escaped(line)}" for line in outcome.covers)
    yield from _next(said.get("next_steps") or [])


def _escaped(text: object) -> str:
    return markdown_text(shown(text))


def _row(finding: Finding, fail_on: str) -> tuple[str, ...]:
    loose = finding.status == FAIL and not finding.blocks(fail_on)
    value, limit, _ = finding.numbers
    status = _WORDS[finding.status]
    if loose:
        status = "⚠️ waived" if finding.severity == WAIVED else "⚠️ warns"
    return status, name_of(finding), value, limit


def _next(commands: list[str]) -> Iterator[str]:
    if not commands:
        return
    # A name may hold what ends a block of code.
    longest = max(
        (len(run) for command in commands for run in re.findall(r"`+", command)), default=0
    )
    fence = "`" * max(3, longest + 1)
    yield "\n".join(("\nWhat next:\n", f"{fence}sh", *commands, fence))
