"""Six tables whose answers were found by hand, decided from the text of their reports alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from anonrisk import Policy

TWO_CLASSES = {"zip": ["1011"] * 3 + ["1012"] * 3, "sex": list("MMMFFF"), "ill": list("abcabc")}
ROLES = {"quasi": ["zip", "sex"], "sensitive": ["ill"]}
WORDS = {"Pass": "publish", "Fail": "do not publish", "Could not assess": "nobody can tell"}
CLASS = r"The smallest class of (.+) has (\d+) (?:record|person)s?; at least (\d+) are required"
DIVERSITY = (
    r"The least diverse class of .+ has a distinct l-diversity of (\d+) in (.+); at least (\d+)"
)
AMONG = r"((?:\d+|Fewer than 5|Some) of \d+ (?:records|persons)).* hide among fewer than (\d+)"

# The decision, k and its limit, l and its limit, who is at risk, what nobody looked at.
CASES = {
    "every class of three, three illnesses each": (
        TWO_CLASSES, {**ROLES, "k": 3, "ldiv": 3},
        ("publish", (3, 3), (3, 3), None, ()),
    ),
    "everybody alone": (
        {"zip": list("11223"), "sex": list("MFMFM"), "ill": list("abcab")},
        {**ROLES, "k": 2},
        ("do not publish", (1, 2), None, "5 of 5 records", ()),
    ),
    "one of three persons alone, who has three rows": (
        {"who": [1, 1, 1, 2, 3, 3], "zip": list("aaabbb")},
        {"quasi": ["zip"], "unit": "who", "k": 2},
        ("do not publish", (1, 2), None, "Some of 3 persons", ()),
    ),
    "a class that has one illness": (
        {**TWO_CLASSES, "ill": list("aaaabc")}, {**ROLES, "k": 3, "ldiv": 2},
        ("do not publish", (3, 3), (1, 2), None, ()),
    ),
    "a column without a role": (
        {**TWO_CLASSES, "job": list("uvwxyz")}, {**ROLES, "k": 3},
        ("nobody can tell", (3, 3), None, None, ("job",)),
    ),
    "no records": (
        {name: [] for name in TWO_CLASSES}, {**ROLES, "k": 3},
        ("nobody can tell", None, None, None, ()),
    ),
}  # fmt: skip


class Text(HTMLParser):
    """The pieces of text that a reader sees, one per line."""

    def __init__(self, page):
        super().__init__()
        self.lines, self.hidden = [], 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if data.strip() and not self.hidden:
            self.lines.append(" ".join(data.split()))


def decided(lines):
    """What a reader of the page decides, and why."""
    word = next(line for line in lines[lines.index("Made by") :] if line in WORDS)
    text = "\n".join(lines)
    size, diversity, among = (re.search(asked, text) for asked in (CLASS, DIVERSITY, AMONG))
    unseen = ()
    if "Not looked at (1)" in lines:
        unseen = (lines[lines.index("has no role in the policy") + 1],)
    return (
        WORDS[word],
        size and (int(size[2]), int(size[3])),
        diversity and (int(diversity[1]), int(diversity[3])),
        among and among[1],
        unseen,
    )


@pytest.mark.parametrize("case", CASES)
def test_the_page_says_all_that_is_needed(case):
    cells, terms, answer = CASES[case]
    report = pd.DataFrame(cells).anon.report(policy=Policy(**terms))
    lines = Text(report.to_html()).lines
    assert decided(lines) == answer
    assert decided(lines)[0] == WORDS[{
        "pass": "Pass", "fail": "Fail", "could_not_assess": "Could not assess"
    }[report.verdict.status]]  # fmt: skip


@pytest.mark.parametrize("case", [name for name in CASES if CASES[name][2][0] == "do not publish"])
def test_whoever_does_what_the_page_advises_passes(case):
    cells, terms, _ = CASES[case]
    table, policy = pd.DataFrame(cells), Policy(**terms)
    text = "\n".join(Text(table.anon.report(policy=policy).to_html()).lines)
    advised = re.search(r"Leaving out (.+) is enough, the result passes", text)[1].split(", ")
    done = table.assign(**dict.fromkeys(advised, "*"))
    assert policy.check(done).status == "pass"


@pytest.mark.parametrize("case", [name for name in CASES if CASES[name][2][0] == "nobody can tell"])
def test_the_page_leads_with_the_cause(case):
    cells, terms, (*_, unseen) = CASES[case]
    text = "\n".join(Text(pd.DataFrame(cells).anon.report(policy=Policy(**terms)).to_html()).lines)
    cause = "1 column has no role" if unseen else "the table has no records"
    assert f"It could not be assessed. This is not a pass: {cause}" in text
