"""Findings as JUnit XML, which every build server shows."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from anonrisk.core.render import shown
from anonrisk.policy.finding import FAIL, name_of

if TYPE_CHECKING:
    from anonrisk.cli.outcome import Outcome


def document(outcome: Outcome) -> str:
    """Write a test case for each finding: failed, in error if nobody can tell, skipped if it warns.

    Examples
    --------
    >>> from anonrisk.cli.outcome import Outcome
    >>> from anonrisk.policy import Finding
    >>> found = (Finding("k", "pass", "fail", "Fine.", qid=("zip",)),)
    >>> print(document(Outcome("", {}, findings=found)))
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
