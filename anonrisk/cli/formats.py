"""Findings for other programs: JUnit XML, Markdown and SARIF.

SARIF: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from anonrisk._version import __version__
from anonrisk.cli.output import CODES
from anonrisk.core.render import escaped_json, markdown_table, markdown_text, shown
from anonrisk.core.results import plain
from anonrisk.engines.reading.files import STDIN, without_values
from anonrisk.policy import budgets
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, WAIVED, WAIVER, name_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from anonrisk.cli.output import Outcome
    from anonrisk.policy.finding import Finding


def junit_document(outcome: Outcome) -> str:
    """Write a test case for each finding: failed, in error if nobody can tell, skipped if it warns.

    Examples
    --------
    >>> from anonrisk.cli.output import Outcome
    >>> from anonrisk.policy import Finding
    >>> found = (Finding("k", "pass", "fail", "Fine.", qid=("zip",)),)
    >>> print(junit_document(Outcome("", {}, findings=found)))
    <testsuite name="anonrisk" tests="1" failures="0" errors="0" skipped="0">...
    """
    findings, said = outcome.findings, outcome.document
    suite = ET.Element("testsuite", name="anonrisk", tests=str(len(findings)))
    numbers = {"failures": 0, "errors": 0, "skipped": 0}
    for table, finding in outcome.of_tables:
        source = "anonrisk.check" if table is None else f"anonrisk.check.{shown(table)}"
        case = ET.SubElement(suite, "testcase", classname=source, name=name_of(finding))
        if finding.passed:
            continue
        kind = "failure" if finding.status == FAIL else "error"
        if not finding.blocks(said.get("fail_on", "fail")):
            kind = "skipped"
        numbers[kind if kind == "skipped" else f"{kind}s"] += 1
        summary = shown(finding.sentence)
        ET.SubElement(case, kind, message=summary).text = summary
    for name, number in numbers.items():
        suite.set(name, str(number))
    about = {key: said[key] for key in ("table", "checked_at") if said.get(key)}
    for key, lines in (("coverage", outcome.covers), ("joined", said.get("joined"))):
        if lines:
            about[key] = "; ".join(map(str, lines))
    if about:
        properties = ET.Element("properties")
        suite.insert(0, properties)
        for name, value in about.items():
            ET.SubElement(properties, "property", name=name, value=shown(value))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode") + "\n"


_WORDS = {
    PASS: "✅ pass",
    FAIL: "❌ fail",
    COULD_NOT_ASSESS: "❔ could not assess",
    "wrong_usage": "❔ wrong usage",
}
# A comment that nobody reads to its end helps nobody; the verdict's JSON has all.
_SHOWN = 20
_HEADER = ("status", "budget", "value", "limit")


def markdown_document(outcome: Outcome) -> str:
    """Write the verdict, why, what the change does, the budgets and the next step.

    Examples
    --------
    >>> from anonrisk.cli.output import Outcome
    >>> from anonrisk.policy import Finding
    >>> found = Finding("k", "fail", "fail", "Too few.", value=1, limit=5, margin=-4, qid=("zip",))
    >>> outcome = Outcome("", {"status": "fail", "table": "t.csv"}, findings=(found,))
    >>> print(markdown_document(outcome))
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


SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# Where paths begin, for whoever reads the file in another folder than it was written in.
_ROOT = "%SRCROOT%"
# What a policy checks or tells by itself; a budget says in its own file what it is.
_BESIDE = {
    "against": "A change is compared with the table before it.",
    "approvals": "Enough people, and not the one who publishes, have approved the release.",
    "contents": "What columns hold fits their roles, or somebody has acknowledged why not.",
    "coverage": "Every row that is published was judged.",
    "direct": "No column that names a person by itself may be published.",
    "files": "What is published is what was checked.",
    "find_qids": "A search has looked for columns that single people out.",
    "limits": "A table can break the limits of the policy.",
    "max_dropped_fraction": "At most a share of the rows may be left out for a missing value.",
    "missing_sensitive": "The policy says what a missing sensitive value means.",
    "reviewed": "A person has read the policy; a draft passes no table.",
    "storage": "A file holds no value beside those of its rows.",
    "table": "The table can be read and measured.",
    "unlisted": "Every column that is published has a role in the policy.",
}
_HELP = (
    "The policy sets the limit, and the message says what was measured. `anonrisk check --explain` "
    "measures which columns, dropped, would be enough; `anonrisk plan --policy` finds how coarse "
    "columns must become. What could not be assessed does not pass."
)


def sarif_document(outcome: Outcome, args: argparse.Namespace) -> str:
    """Write a rule for each budget, and a result for each finding that does not pass.

    What passes has no result: a code forge would take it for something to mend.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from anonrisk.policy import Finding
    >>> from anonrisk.cli.output import Outcome
    >>> found = Finding("k", "fail", "fail", "Too few.", qid=("zip",))
    >>> outcome = Outcome("", {"status": "fail"}, 1, (found,))
    >>> written = sarif_document(outcome, SimpleNamespace(policy="p.yaml", table=["t.csv"]))
    >>> json.loads(written)["runs"][0]["results"][0]["level"]
    'error'
    """
    findings, said = outcome.findings, outcome.document
    rules = list(dict.fromkeys(finding.budget for finding in findings))
    against = said.get("against")
    if against and "against" not in rules:
        rules.append("against")
    place = _Place(args)
    fail_on = said.get("fail_on", "fail")
    results = [
        place.result(rules, item.budget, _level(item, fail_on), _sentence(table, item), about)
        | _suppressed(item)
        for table, item in outcome.of_tables
        for about in ([*_about(item), *([] if table is None else [table])],)
        if not item.passed
    ]
    results += [
        place.result(rules, "against", "note", item["sentence"], [item["qid"], item["group"]])
        for item in (against or {}).get("unique", ())
        if item["more"] > 0
    ]
    about = {key: said[key] for key in ("status", "checked_at") if said.get(key)}
    if against:
        about["against"] = against["sentences"]
    if outcome.covers:
        about["coverage"] = list(outcome.covers)
    run = {
        "tool": {
            "driver": {
                "name": "anonrisk",
                "version": __version__,
                "rules": [_rule(name) for name in rules],
            }
        },
        "automationDetails": {"id": f"anonrisk/{_uri(' '.join(place.tables))}/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "where the check was run"}}},
        "invocations": [
            {
                "executionSuccessful": outcome.code in (CODES[PASS], CODES[FAIL]),
                "exitCode": outcome.code,
            }
        ],
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": about,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return escaped_json(json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


class _Place:
    """Where a result belongs: in the policy, beside the table that was measured."""

    def __init__(self, args: argparse.Namespace) -> None:
        named = (*getattr(args, "table", ()), *(getattr(args, "input", None) or ()))
        self.tables = [without_values(name) for name in named if name != STDIN]
        self._policy = str(getattr(args, "release", None) or args.policy)
        self._lines = _lines_of(self._policy)

    def result(
        self, rules: list[str], rule: str, level: str, text: str, about: Iterable[Any]
    ) -> dict[str, Any]:
        """Return one result; it is known again by what it is about, whatever was measured."""
        same = json.dumps([self.tables, rule, *about], sort_keys=True)
        result = {
            "ruleId": rule,
            "ruleIndex": rules.index(rule),
            "level": level,
            "message": {"text": _message(text)},
            "locations": [self._at(self._policy, self._line(rule))],
            "partialFingerprints": {"anonrisk/v1": sha256(same.encode()).hexdigest()},
        }
        beside = [
            {"id": i, "message": {"text": "the table"}, **self._at(name)}
            for i, name in enumerate(self.tables, 1)
        ]
        return {**result, "relatedLocations": beside} if beside else result

    def _at(self, path: str, line: int | None = None) -> dict[str, Any]:
        place: dict[str, Any] = {"artifactLocation": _location(path)}
        if line is not None:
            place["region"] = {"startLine": line}
        return {"physicalLocation": place}

    def _line(self, rule: str) -> int:
        """Find the line of a policy that has the key; the first where none has."""
        key = re.compile(rf"""[\s{{,"'-]*{re.escape(rule.partition(".")[0])}["']?\s*:""")
        return next((i for i, line in enumerate(self._lines, 1) if key.match(line)), 1)


def _lines_of(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        # The message of the result says that the policy cannot be read.
        return []


def _location(path: str) -> dict[str, str]:
    """Name a file by its path from the folder of the check; one outside it by its whole path.

    Examples
    --------
    >>> _location("data/a table.csv")
    {'uri': 'data/a%20table.csv', 'uriBaseId': '%SRCROOT%'}
    >>> _location("s3://bucket/t")
    {'uri': 's3://bucket/t'}
    """
    if "://" in path:
        return {"uri": quote(path, safe="/:")}
    place, here = Path(path).absolute(), Path.cwd()
    if place.is_relative_to(here):
        return {"uri": _uri(place.relative_to(here).as_posix()), "uriBaseId": _ROOT}
    return {"uri": f"file://{_uri(place.as_posix())}"}


def _uri(path: str) -> str:
    return quote(path, safe="/", errors="backslashreplace")


def _level(finding: Finding, fail_on: str) -> str:
    if finding.status == COULD_NOT_ASSESS:
        return "error"
    return "error" if finding.blocks(fail_on) else "warning"


def _sentence(table: str | None, finding: Finding) -> str:
    return finding.sentence if table is None else f"{table}: {finding.sentence}"


def _suppressed(finding: Finding) -> dict[str, Any]:
    """Return SARIF's own words for a waived finding; a code forge counts it as settled."""
    if finding.severity != WAIVED:
        return {}
    said = "; ".join(f"{key}: {finding.parameters[WAIVED][key]}" for key in WAIVER)
    accepted = {"kind": "external", "status": "accepted", "justification": shown(said)}
    return {"suppressions": [accepted]}


def _about(finding: Finding) -> list[Any]:
    names = [plain(name) for name in (*finding.qid, finding.sensitive)]
    return [names, finding.group, finding.severity]


def _rule(name: str) -> dict[str, Any]:
    kind = budgets.named(name)
    text = _BESIDE.get(name, "") if kind is None else str(kind.__doc__).partition("\n")[0]
    return {
        "id": name,
        "shortDescription": {"text": _message(text or name)},
        "help": {"text": _message(_HELP), "markdown": _HELP},
        "defaultConfiguration": {"level": "note" if name == "against" else "error"},
    }


def _message(text: str) -> str:
    r"""Escape what SARIF takes for a link or a place to fill in.

    Examples
    --------
    >>> print(_message("[zip](http://x) {0}"))
    \[zip\](http://x) {{0}}
    """
    summary = re.sub(r"([\[\]\\])", r"\\\1", shown(text))
    return re.sub(r"\{(\d+)\}", r"{{\1}}", summary)
