"""Findings as JUnit XML, which every build server shows."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from anonrisk.policy.finding import FAIL
from anonrisk.render import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.policy.finding import Finding


def document(findings: Sequence[Finding], *, warnings_fail: bool) -> str:
    """Write a test case for each finding: failed, in error if nobody can tell, skipped if it warns.

    Examples
    --------
    >>> from anonrisk.policy import Finding
    >>> print(document([Finding("k", "pass", "fail", "Fine.", qid=("zip",))], warnings_fail=False))
    <testsuite name="anonrisk" tests="1" failures="0" errors="0" skipped="0">...
    """
    suite = ET.Element("testsuite", name="anonrisk", tests=str(len(findings)))
    numbers = {"failures": 0, "errors": 0, "skipped": 0}
    for finding in findings:
        case = ET.SubElement(suite, "testcase", classname="anonrisk.check", name=_name(finding))
        if finding.passed:
            continue
        kind = "failure" if finding.status == FAIL else "error"
        if finding.severity == "warn" and not warnings_fail:
            kind = "skipped"
        numbers[kind if kind == "skipped" else f"{kind}s"] += 1
        told = clean(finding.sentence)
        ET.SubElement(case, kind, message=told).text = told
    for name, number in numbers.items():
        suite.set(name, str(number))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode") + "\n"


def _name(finding: Finding) -> str:
    of = " + ".join(map(str, finding.qid))
    parts = [finding.budget, f"of {of}" if of else ""]
    if finding.sensitive is not None:
        parts.append(f"in {finding.sensitive}")
    if finding.group is not None:
        parts.append(f"for {finding.group}")
    return clean(" ".join(filter(None, parts)))
