"""The verdict of a release: one answer for several tables, in every rendering."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk import Policy
from anonrisk.errors import ArgumentError, ReleaseBlocked
from anonrisk.policy.finding import unknown
from anonrisk.policy.verdict import Verdict
from anonrisk.releases.release.approvals import Approval, Waiver, finding, waive
from anonrisk.releases.release.verdict import ReleaseVerdict

GOOD = pd.DataFrame({"zip": list("aabb")})
BAD = pd.DataFrame({"zip": list("aab")})
POLICY = Policy(quasi="zip", k=2, name="two <alike>")
WAIVER = Waiver("k", "bad", "agreed | with @all", "A. Officer", "2999-12-31")
APPROVAL = Approval("Grace", "sha256:0", "SHA256:x", "AAAA")


def verdict(*names, waivers=(), **more):
    frames = {"good": GOOD, "bad": BAD, "worse": None}
    tables = {}
    for name in names:
        if frames[name] is None:
            tables[name] = Verdict((unknown("table", "no file"),), POLICY.digest, table=name)
        else:
            tables[name] = waive(POLICY.check(frames[name], name=name), waivers)
    return ReleaseVerdict(tables, name="autumn", audience="all", waivers=tuple(waivers), **more)


EVERYTHING = verdict(
    *("good", "bad"),
    waivers=(WAIVER,),
    findings=(finding((APPROVAL,), [], 1),),
    earlier=("spring", "summer"),
    separate=("insurers",),
    digest="sha256:0",
    head="f" * 64,
    approvals=(APPROVAL,),
    approvals_asked=1,
)


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["good"], "pass"),
        (["good", "bad"], "fail"),
        (["good", "worse"], "could_not_assess"),
        (["worse", "bad"], "fail"),
        ([], "could_not_assess"),
    ],
)
def test_the_worst_table_decides(names, status):
    found = verdict(*names)
    assert (found.status, found.passed, bool(found)) == (status, status == "pass", status == "pass")
    if status == "pass":
        found.raise_for_status()
    else:
        with pytest.raises(ReleaseBlocked, match=f"release 'autumn' does not pass .{status}"):
            found.raise_for_status()


def test_a_table_without_a_finding_was_not_checked():
    found = verdict("good")
    empty = replace(found, tables={**found.tables, "x": Verdict((), None, table="x")})
    assert empty.status == "could_not_assess"


def test_what_is_about_all_tables_decides_as_well():
    assert verdict("good", findings=(finding((), [], 1),)).status == "fail"
    doubt = (unknown("files", "they changed"),)
    assert verdict("good", findings=doubt).status == "could_not_assess"


def test_a_waiver_lets_it_pass_and_one_that_is_not_needed_is_told():
    assert EVERYTHING.status == "pass"
    assert [one.budget for one in EVERYTHING.waived] == ["k"]
    assert EVERYTHING.unused == ()
    spare = replace(WAIVER, table="good")
    assert "A waiver of k for good is not needed." in repr(verdict("good", waivers=(spare,)))


@given(st.lists(st.sampled_from(["good", "bad", "worse"]), min_size=1, unique=True), st.booleans())
def test_it_passes_as_one_verdict_with_all_findings_would(names, waived):
    found = verdict(*names, waivers=(WAIVER,) if waived else ())
    whole = Verdict(found.every_finding, None)
    assert found.status == whole.status
    assert found.failures == whole.failures


def test_it_comes_back_from_json():
    for found in (EVERYTHING, verdict("good", "bad", "worse")):
        assert ReleaseVerdict.from_json(found.to_json()) == found
        assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fail"},
        {"waivers": []},
        {"schema_version": 2},
        {"checked_at": "yesterday"},
        {"tables": {}},
        {"findings": None},
        {"approvals": [{"by": "x"}]},
    ],
)
def test_what_contradicts_itself_is_refused(change):
    stored = json.loads(EVERYTHING.to_json()) | change
    with pytest.raises(ArgumentError):
        ReleaseVerdict.from_json(json.dumps(stored))


def test_every_rendering_says_the_same():
    waived = "Waived until 2999-12-31 by A. Officer: agreed | with"
    texts = {
        "text": repr(EVERYTHING),
        "html": EVERYTHING._repr_html_(),
        "json": EVERYTHING.to_json(),
        "markdown": EVERYTHING.to_markdown().replace("\\|", "|"),
        "page": EVERYTHING.report().to_json(),
    }
    for name, text in texts.items():
        told = " ".join(text.split())
        assert waived in told, name
        for word in ("autumn", "Grace", "insurers"):
            assert word in told, (name, word)
    told = "pass, 1 broken limit waived in bad: release 'autumn', 2 tables"
    assert " ".join(texts["text"].split()).startswith(told)
    assert "<alike>" not in texts["html"]
    assert "@all" not in texts["markdown"]
    told = EVERYTHING.report().to_dict()["release"]
    assert [one["needed"] for one in told["waivers"]] == ["yes"]
    assert told["approvals"] == {"asked": 1, "given": [{"by": "Grace", "key": "SHA256:x"}]}
    assert told["chain"]["earlier"] == ["spring", "summer"]


@pytest.mark.parametrize("names", [["good"], ["bad", "good"], ["worse"]])
def test_the_page_says_what_decides(names):
    found = verdict(*names)
    told = found.report("Autumn release").to_dict()
    assert told["masthead"]["title"] == "Autumn release"
    assert told["verdict"]["status"] == found.status
    if not found.passed:
        assert found.failures[0].sentence in told["verdict"]["headline"]
        assert names[0] in told["verdict"]["headline"]
    page = pytest.importorskip("jinja2") and found.report().to_html()
    assert "<script" not in page
    assert all(f"<bdi>{name}</bdi>" in page for name in names)


def test_the_page_says_which_rows_and_files_by_which_policy_and_after_what():
    table = POLICY.check(GOOD).about("good", ["good.csv"])
    found = ReleaseVerdict({"good": table})
    told = found.report().to_dict()["release"]
    facts = {fact["label"]: fact["text"] for fact in told["tables"][0]["facts"]}
    assert facts == {
        "Policy": "two <alike>",
        "Policy digest": POLICY.digest,
        "Files": "good.csv",
        "Rows": "4",
        "Engine": "pandas",
    }
    page = pytest.importorskip("jinja2") and found.report().to_html()
    for text in (page, found.report().to_markdown().replace("\\", "")):
        assert POLICY.digest in text
        assert "No ledger was given" in text
    assert "No ledger" not in EVERYTHING.report().to_markdown()


def test_a_pass_that_waits_for_approvals_or_has_waivers_is_no_plain_one():
    plain = verdict("good").report().to_dict()["verdict"]
    assert (plain["word"], plain["tone"]) == ("Pass", "good")
    assert "Publish exactly these files" in plain["next"][0]
    waiting = verdict("good", approvals_asked=2, approvals=(APPROVAL,))
    told = waiting.report().to_dict()["verdict"]
    assert (told["word"], told["tone"]) == ("Pass, 1 of 2 approvals missing", "doubt")
    (step,) = told["next"]
    assert "approve" in step
    assert "Publish exactly these files" not in step
    assert repr(waiting).startswith("pass, 1 of 2 approvals missing: release 'autumn'")
    # What does not pass says that alone.
    assert verdict("bad", approvals_asked=1).caveats == ()
    told = EVERYTHING.report().to_dict()
    assert told["verdict"]["word"] == "Pass, 1 broken limit waived in bad"
    assert [table["tone"] for table in told["release"]["tables"]] == ["good", "doubt"]


def test_a_release_with_columns_that_nobody_looked_at_says_what_to_do_about_them():
    ignoring = Policy(quasi="zip", k=2, unlisted="ignore")
    table = ignoring.check(GOOD.assign(note=list("wxyz")), name="good")
    (step,) = ReleaseVerdict({"good": table}).report().to_dict()["verdict"]["next"]
    assert "not looked at" in step


def test_a_limit_that_only_warns_and_is_broken_is_told_above_the_tables():
    loose = Policy(quasi="zip", k={"at_least": 3, "severity": "warn"}, max_unique_fraction=0.1)
    found = ReleaseVerdict({"good": loose.check(GOOD, name="good")})
    assert found.passed
    notes = found.report().to_dict()["verdict"]["notes"]
    assert "1 limit that only warns is broken as well." in notes


def test_of_many_tables_those_that_do_not_pass_are_shown():
    good = POLICY.check(GOOD)
    found = ReleaseVerdict({**{f"t{i}": good for i in range(60)}, "last": POLICY.check(BAD)})
    told = found.report().to_dict()["release"]
    assert (told["tables"][0]["name"], told["more"]) == ("last", 21)
