"""A release as a page: its tables, what was found, who answers for it, and the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.render import count_of
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS
from anonrisk.policy.trial import rows_of
from anonrisk.reporting import Report
from anonrisk.reporting.meanings import MOST_LIMITS, limit_row, limit_sentence
from anonrisk.reporting.summary import (
    NEXT_UNSEEN,
    NOBODY_CAN_TELL,
    SCHEMA_VERSION,
    warned,
    words_of,
)
from anonrisk.reporting.text import and_more, cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.policy.finding import Finding
    from anonrisk.policy.verdict import Verdict
    from anonrisk.releases.release.answer import ReleaseAnswer
    from anonrisk.releases.release.approvals import Waiver

_TITLE = "May this be published"
_MOST_TABLES = 40
_MOST_NAMES = 20
_NO_CHAIN = "No ledger was given: nothing was compared with what was published before."
_APPROVE = (
    "Have exactly these files approved (anonrisk release approve), and publish them then: until "
    "every approval is there, anonrisk release publish refuses them."
)
_NEXT = {
    PASS: "Publish exactly these files: anonrisk release publish writes the manifest, and "
    "anonrisk release verify holds the files to it where they are published.",
    FAIL: "explain() of this verdict tries what would help, and says whether the release passes "
    "then; on the command line anonrisk check --explain does for a table and its policy, and "
    "anonrisk release mend for differencing. Or somebody answers for a limit by name, for a time, "
    "under waivers in release.yaml.",
    COULD_NOT_ASSESS: "Fix what is listed above and check again; until then, do not publish.",
}


def report_of(verdict: ReleaseAnswer, title: str | None = None) -> Report:
    """Return the page of a release; see `ReleaseVerdict.report`."""
    word, sign, tone = words_of(verdict.status, verdict.caveats)
    summary = {
        "schema_version": SCHEMA_VERSION,
        "library": "anonrisk",
        "library_version": verdict.library_version,
        "masthead": {"title": cut(title or verdict.name or _TITLE), "facts": _facts(verdict)},
        "verdict": {
            "status": verdict.status,
            "word": word,
            "sign": sign,
            "tone": tone,
            "headline": _headline(verdict),
            "notes": _notes(verdict),
            "next": _next_steps(verdict),
        },
        "release": {
            "findings": [limit_row(finding) for finding in verdict.findings],
            "tables": [
                _table(n, table) for n, table in _worst_first(verdict.tables)[:_MOST_TABLES]
            ],
            "more": max(0, len(verdict.tables) - _MOST_TABLES),
            "waivers": [_waiver(verdict, waiver) for waiver in verdict.waivers],
            "approvals": _approvals(verdict),
            "chain": _chain(verdict),
            "no_chain": _NO_CHAIN,
        },
    }
    return Report(summary)


def _facts(verdict: ReleaseAnswer) -> list[dict[str, str]]:
    facts = [
        ("Audience", verdict.audience),
        ("Tables", and_more(list(map(cut, verdict.tables)), _MOST_NAMES)),
        ("Checked", f"{verdict.checked_at.replace('T', ' ').removesuffix('+00:00')} UTC"),
        ("Release digest", verdict.digest),
        ("Made by", f"anonrisk {verdict.library_version}"),
    ]
    return [{"label": label, "text": cut(text)} for label, text in facts if text]


def _headline(verdict: ReleaseAnswer) -> str:
    deciding = [failure for failure in verdict.failures if failure.status == verdict.status]
    why = _sentence(verdict, deciding[0]) if deciding else "nothing was checked."
    if verdict.status == COULD_NOT_ASSESS:
        return NOBODY_CAN_TELL.format(why)
    if verdict.status == FAIL:
        return f"Do not publish this release as it is. {why}"
    kept = "Every table keeps every limit"
    return f"{kept} but those that are waived." if verdict.waived else f"{kept} that decides."


def _next_steps(verdict: ReleaseAnswer) -> list[str]:
    """Return what to do: nothing is published that waits for a person."""
    unseen = [NEXT_UNSEEN] if any(table.not_looked_at for table in verdict.tables.values()) else []
    steps = [*unseen, *([_APPROVE] if verdict.approvals_missing else ())]
    return steps if verdict.passed and steps else [_NEXT[verdict.status]]


def _worst_first(tables: Mapping[str, Verdict]) -> list[tuple[str, Verdict]]:
    """Put tables that do not pass first: of many, those that decide are shown."""
    return sorted(tables.items(), key=lambda item: item[1].passed)


def _sentence(verdict: ReleaseAnswer, finding: Finding) -> str:
    source = next(
        (name for name, table in verdict.tables.items() if finding in table.all_findings), None
    )
    return (
        limit_sentence(finding) if source is None else f"{cut(source)}: {limit_sentence(finding)}"
    )


def _notes(verdict: ReleaseAnswer) -> list[str]:
    others = len(verdict.failures) - 1
    notes = [f"{count_of(others, 'other limit')} not kept, see below."] if others > 0 else []
    notes += warned(sum(len(table.warnings) for table in verdict.tables.values()))
    return [*notes, *map(cut, verdict.about)]


def _table(name: str, verdict: Verdict) -> dict[str, Any]:
    word, sign, tone = words_of(verdict.status, verdict.caveats)
    ordered = sorted(verdict.all_findings, key=lambda item: item.passed)
    return {
        "name": cut(name),
        "word": word,
        "sign": sign,
        "tone": tone,
        "facts": _table_facts(verdict),
        "rows": [limit_row(item) for item in ordered[:MOST_LIMITS]],
        "more": max(0, len(ordered) - MOST_LIMITS),
        "covers": [cut(line) for line in verdict.coverage.lines()],
    }


def _table_facts(verdict: Verdict) -> list[dict[str, str]]:
    """Return by what, and of what, a table was judged."""
    rows, unit = rows_of(verdict), verdict.unit
    persons = verdict.n_records if unit is not None else None
    facts = [
        ("Policy", verdict.policy_name or "without a name"),
        ("Policy digest", verdict.policy_digest),
        ("Files", and_more(list(map(cut, verdict.files)), _MOST_NAMES) if verdict.files else None),
        ("Rows", None if rows is None else f"{rows:,}"),
        ("Persons", None if persons is None else f"{persons:,}"),
        ("Engine", verdict.engine),
    ]
    return [{"label": label, "text": cut(text)} for label, text in facts if text]


def _waiver(verdict: ReleaseAnswer, waiver: Waiver) -> dict[str, Any]:
    fields = {key: cut(value) for key, value in waiver.to_dict().items()}
    return {**fields, "needed": "no" if waiver in verdict.unused else "yes"}


def _approvals(verdict: ReleaseAnswer) -> dict[str, Any]:
    values = [{"by": cut(item.by), "key": cut(item.keyid)} for item in verdict.approvals]
    return {"asked": verdict.approvals_asked, "given": values}


def _chain(verdict: ReleaseAnswer) -> dict[str, Any] | None:
    if verdict.head is None:
        return None
    return {
        "head": verdict.head,
        "earlier": [cut(item) for item in verdict.earlier[-_MOST_NAMES:]],
        "n_earlier": len(verdict.earlier),
        "separate": [cut(item) for item in verdict.separate],
    }
