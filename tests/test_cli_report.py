"""`anonrisk report` and `anonrisk.report`: one page of HTML, whole, escaped, and without a cell."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
import test_cli

import anonrisk
from anonrisk import report

run = test_cli.run
write = test_cli.write
ODD = "<b>zip</b> & \x01"
VOID = {"meta", "rect"}


class Page(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.links = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def page(path="r.html"):
    text = Path(path).read_text(encoding="utf-8")
    assert test_cli.SECRET not in text
    assert text.startswith("<!DOCTYPE html>")
    read = Page(text)
    # Nothing comes from elsewhere.
    assert not {"script", "link", "img", "iframe", "object"} & set(read.tags)
    assert read.links == []
    assert not re.search(r"https?://|url\(|@import", text)
    return read


def people(n=60):
    return pd.DataFrame(
        {
            ODD: [f"{test_cli.SECRET}{i % 9}" for i in range(n)],
            "age": [20 + i % 7 for i in range(n)],
            "illness": ["flu" if i % 3 else test_cli.SECRET for i in range(n)],
        }
    )


def test_a_page_about_a_table(run):
    people().to_csv("t.csv", index=False)
    asked = ("--qids", ODD, "age", "--sensitive", "illness", "--group-size", 20)
    code, out, err = run("report", "t.csv", *asked, "--html", "r.html", "--title", "A < B")
    assert (code, out, err) == (0, "Wrote r.html\n", "")
    text = page().text
    frame = people().astype(str)
    found = anonrisk.assess(frame, [ODD, "age"], "illness")
    assert "A < B" in text
    assert r"<b>zip</b> & \x01 + age" in text
    for name, _ in found.values:
        assert name in text
    assert f"{found['tcloseness']:.4g}" in text
    assert "journalist" in text
    mean = found.sizes.predict_singletons(20)
    assert repr(mean).partition(",")[0] in text
    out = run("report", "t.csv", *asked, "--html", "r.html", "--json")[1]
    told = json.loads(out)
    assert told["sizes"] == found.sizes.to_dict()
    assert told["group"]["mean"] == mean.mean


def test_the_picture_has_a_bar_for_each_band(run):
    sizes = anonrisk.ClassSizes([1, 3, 200], [10, 2, 1])
    read = Page(report.html(anonrisk.api.assessment.Assessment(sizes, {})))
    assert read.tags.count("rect") == len(sizes.bands()) == 3
    assert "alone" in read.words
    assert "4.6%, 10 records" in read.words
    assert "in a class of 100-200" in read.words


def test_a_verdict_decides_the_exit_code(run):
    write("t.csv", test_cli.PEOPLE)
    asked = ("report", "t.csv", "--html", "r.html", "--policy")
    assert run(*asked, test_cli.policy(sensitive=["illness"], ldiv={"l": 2}))[0] == 0
    assert "Pass: " in page().text
    code, out, _ = run(*asked, test_cli.policy(k=3))
    assert (code, out) == (1, "fail\nWrote r.html\n")
    assert "must not be published" in page().text
    assert "at least 3 are asked for" in page().text
    journalist = test_cli.policy(max_suppressed=0.5)
    code, out, _ = run(*asked, journalist, "--json")
    assert (code, json.loads(out)["verdict"]["status"]) == (3, "could_not_assess")
    assert "this is no pass" in page().text
    assert "No cell of the table is on this page" in page().text
    assert run(*asked, test_cli.policy(by="illness"))[0] == 1
    assert "but the groups that the policy asks for" in page().text
    # The command line replaces the roles of the policy.
    assert run(*asked, test_cli.policy(k=3), "--qids", "age")[0] == 0
    assert "Classes of age" in page().text


def test_persons_are_counted(run):
    write("t.csv", "zip,who\na,1\na,1\nb,2\n")
    run("report", "t.csv", "--qids", "zip", "--unit", "who", "--html", "r.html")
    assert "100.0%, 2 persons" in page().words


def test_no_older_page_is_mistaken_for_this_one(run):
    write("t.csv", test_cli.PEOPLE)
    asked = ("--qids", "zip", "--html", "r.html")
    assert run("report", "t.csv", *asked)[0] == 0
    assert run("report", "no.csv", *asked)[0] == 3
    assert "Could not assess" in page().text
    assert "no.csv" in page().text
    assert run("report", "t.csv", *asked)[0] == 0
    assert run("report", "t.csv", "--policy", "no.json", *asked)[0] == 2
    assert "Could not assess" in page().text
    assert run("report", "t.csv", "--html", "r.html")[0] == 2
    assert "Could not assess" in page().text


def test_what_nobody_foresaw_is_not_quoted(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(test_cli.SECRET)

    write("t.csv", test_cli.PEOPLE)
    monkeypatch.setattr(anonrisk, "assess", broken)
    assert run("report", "t.csv", "--qids", "zip", "--html", "r.html")[0] == 3
    assert "failed unexpectedly" in page().text


@pytest.mark.parametrize("wrong", [("--html", "t.csv"), ("--html", "."), ("--group-size", -1)])
def test_wrong_usage(run, wrong):
    write("t.csv", test_cli.PEOPLE)
    assert run("report", "t.csv", "--qids", "zip", "--html", "r.html", *wrong)[0] == 2
    assert run("report", "t.csv", "--qids", "zip")[0] == 2
    assert Path("t.csv").read_text() == test_cli.PEOPLE
    code, _, err = run("report", "t.csv", "--qids", "zip", "--html", "no/r.html")
    assert code == 3
    assert "cannot write" in err
