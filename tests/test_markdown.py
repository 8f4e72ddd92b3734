"""`anonrisk check --markdown`: what a comment on a pull request shows."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import anonrisk
from anonrisk.cli import main

PEOPLE = "zip,age,illness\n01234,30,Xavier-7741\n01234,30,cold\n1234,30,flu\n1234,30,cold\n"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(PEOPLE)

    def run(*arguments, table="t.csv", policy="p.json", **rules):
        if rules:
            anonrisk.Policy(**{"quasi": ["zip", "age"], "unlisted": "ignore", **rules}).save(policy)
        code = main(["check", table, "--policy", policy, "--markdown", "m.md", *arguments])
        capsys.readouterr()
        told = Path("m.md").read_text(encoding="utf-8")
        assert "Xavier" not in told
        return code, told

    return run


def test_it_has_the_verdict_the_reasons_the_budgets_and_the_next_step(check):
    warns = {"at_most": 0.1, "severity": "warn"}
    code, told = check(k=3, max_fraction_below_k={"k": 3, **warns}, max_unique_fraction=0.5)
    assert code == 1
    lines = told.splitlines()
    assert lines[0] == "### ❌ fail: t.csv"
    assert r"- The smallest class of zip \+ age has 2 records; at least 3 are required." in lines
    assert any(line.startswith("- illness: not looked at") for line in lines)
    assert r"| ❌ fail | k of zip \+ age | 2 | 3 |" in lines
    assert r"| ⚠️ warns | max\_fraction\_below\_k of zip \+ age | 100.0% | 10% |" in lines
    assert r"| ✅ pass | max\_unique\_fraction of zip \+ age | 0.0% | 50% |" in lines
    plan = "anonrisk plan t.csv --policy p.json -o plan.json  # passes: k from 2 to 4 (limit 3)"
    assert plan in lines


def test_a_pass_is_short(check):
    code, told = check(k=2)
    assert code == 0
    assert told.splitlines()[0] == "### ☑️ pass, 1 column not looked at: t.csv"
    assert "What next" not in told
    code, told = check(k=2, insensitive=["illness"])
    assert code == 0
    assert told.splitlines()[0] == "### ✅ pass: t.csv"


def test_doubt_is_no_pass(check):
    assert check(k=2)[0] == 0
    code, told = check(table="no.csv", k=2)
    assert code == 3
    assert told.startswith("### ❔ could not assess: no.csv")
    code, told = check(policy="no.json")
    assert code == 2
    assert told.startswith("### ❔ wrong usage")
    assert "✅" not in told


@pytest.mark.slow
def test_many_findings_are_cut(check):
    Path("w.csv").write_text(",".join(f"c{i}" for i in range(30)) + "\n" + ",".join("1" * 30))
    rules = [{"columns": [f"c{i}"], "budgets": {"k": 2}} for i in range(30)]
    anonrisk.Policy(qids=rules).save("p.json")
    code, told = check(table="w.csv")
    assert code == 1
    assert "And 10 more, not shown." in told
    assert told.count("❌") == 21


TAGS = {"p", "h3", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "pre", "code"}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "name",
    [
        "a|b",
        "<img src=x onerror=alert(1)>",
        "![x](http://y/z.png)",
        "[x](http://y)",
        "@everyone",
        "```\nrm -rf /",
        "<!-- anonrisk -->",
        "**bold** _and_ `code`",
        "x\n\n# heading",
    ],
)
def test_a_name_cannot_leave_its_place(check, name):
    rendered = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    Path("t.jsonl").write_text(json.dumps({name: 1}) + "\n")
    code, told = check(table="t.jsonl", quasi=[name], k=2, name=name)
    assert code == 1
    page = Tags()
    page.feed(rendered.render(told))
    assert set(page.tags) <= TAGS
    assert page.tags.count("h3") == 1
    assert page.tags.count("td") == 4
    assert page.tags.count("pre") == 1
    # Nobody is called to a pull request by the name of a column.
    assert "@everyone" not in page.text.partition("What next")[0]
    assert "<!--" not in told.partition("What next")[0]


def test_a_comment_marker_in_a_command_stays_in_its_block(check):
    pytest.importorskip("markdown_it")
    name = "a`````b"
    Path("t.jsonl").write_text(json.dumps({name: 1}) + "\n")
    code, told = check("--qids", name, table="t.jsonl", quasi=[name], k=2)
    assert code == 1
    assert "\n``````sh\n" in told
