"""Waivers: a broken budget stays broken, and somebody answers for it in every rendering."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

from anonrisk import Policy, Verdict
from anonrisk.cli import formats
from anonrisk.cli.output import CODES, Outcome
from anonrisk.errors import ArgumentError, PolicyError
from anonrisk.policy.finding import Finding, unknown
from anonrisk.releases.release.approvals import (
    WAIVER_KEYS,
    Waiver,
    refuse_expired,
    refuse_wrong,
    waive,
)
from anonrisk.reporting.meanings import limit_row

WAIVER = {
    "budget": "k",
    "table": "people",
    "reason": "agreed with <the board>",
    "owner": "A. Officer",
    "expires": "2999-12-31",
}
POLICY = Policy(quasi="zip", k=2, max_unique_fraction=0.9)
PEOPLE = pd.DataFrame({"zip": list("aab")})


def verdict(policy=POLICY, frame=PEOPLE):
    return policy.check(frame, name="people")


def waived(**change):
    return waive(verdict(), [Waiver(**(WAIVER | change))])


def test_a_waived_budget_stays_broken_and_does_not_block():
    before, after = verdict(), waived()
    assert (before.status, after.status) == ("fail", "pass")
    (found,) = after.waived
    assert (found.status, found.severity, found.passed) == ("fail", "waived", False)
    assert (found.value, found.limit, found.margin) == (1, 2, -1)
    assert found.parameters["waived"] == {key: WAIVER[key] for key in WAIVER_KEYS[2:]}
    assert after.failures == after.warnings == ()
    # Who lets warnings decide has not taken the waiver back.
    assert after.status_with_warnings == "pass"
    after.raise_for_status(fail_on="warn")


def test_nothing_but_its_own_budget_and_table_is_waived():
    assert waived(budget="max_unique_fraction").status == "fail"
    assert waived(table="others").status == "fail"


def test_a_table_is_named_as_the_release_names_it():
    odd = "two  blanks\nand a line"
    (found,) = waive(POLICY.check(PEOPLE, name=odd), [Waiver(**WAIVER | {"table": odd})]).waived
    assert found.severity == "waived"
    refuse_wrong([Waiver(**WAIVER | {"table": odd})], {odd: POLICY})


def test_what_is_said_stands_in_every_rendering_to_its_end():
    last = "but only until the audit"
    reason = f"{'r' * (999 - len(last))} {last}"
    owner = "o" * 300
    (found,) = waived(reason=reason, owner=owner).waived
    assert limit_row(found)["sentence"].endswith(f"by {owner}: {reason}.")
    for change in ({"reason": reason + "x"}, {"owner": owner + "x"}, {"owner": "half \ud800"}):
        with pytest.raises(
            PolicyError, match=r"at most 1,000 are|at most 300 are|half a character"
        ):
            waived(**change)


def test_what_nobody_can_tell_is_never_waived():
    doubt = replace(verdict(), findings=(unknown("k", "it failed"), unknown("table", "it failed")))
    assert waive(doubt, [Waiver(**WAIVER)]) == doubt
    named = verdict(
        Policy(quasi="zip", direct="name", max_unique_records=9), PEOPLE.assign(name=list("xyz"))
    )
    assert waive(named, [Waiver(**WAIVER)]) == named
    direct = next(one for one in named.findings if one.budget == "direct")
    assert direct.status == "fail"
    assert not direct.waivable


def test_a_budget_that_warns_needs_no_waiver():
    warned = verdict(Policy(quasi="zip", k={"at_least": 2, "severity": "warn"}))
    assert waive(warned, [Waiver(**WAIVER)]) == warned


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budget": "direct"}, "a direct identifier cannot be waived"),
        ({"budget": "ldvi"}, "'ldvi', which does not exist; did you mean 'ldiv'"),
        ({"budget": "table"}, "only budgets can be waived"),
        ({"reason": " "}, "reason of a waiver must be a non-empty text"),
        ({"reason": "."}, "reason of a waiver must be a text with letters or digits"),
        ({"owner": "\u200b"}, "owner of a waiver must be a text with letters or digits"),
        ({"owner": ""}, "owner of a waiver must be a non-empty text"),
        ({"owner": None}, "has no owner"),
        ({"expires": "31-12-2026"}, "a date, such as 2026-12-31"),
        ({"expires": 2026}, "a date, such as 2026-12-31"),
        ({"expires": "20261231"}, "a date, such as 2026-12-31"),
        ({"expires": "2026-W53-4"}, "a date, such as 2026-12-31"),
        ({"until": "2999-12-31"}, "has no key 'until'; did you mean 'expires'"),
    ],
)
def test_waivers_that_are_none_are_refused(change, said):
    with pytest.raises(PolicyError, match=said):
        Waiver.of(WAIVER | change)


def test_unknown_expired_and_repeated_waivers_are_refused():
    policies = {"people": POLICY}
    one = Waiver(**WAIVER)
    refuse_wrong([one], policies)
    with pytest.raises(PolicyError, match="table 'peolpe', which is not in the release; did you"):
        refuse_wrong([replace(one, table="peolpe")], policies)
    with pytest.raises(PolicyError, match="budget 'ldiv', which the policy of 'people' does not"):
        refuse_wrong([replace(one, budget="ldiv")], policies)
    with pytest.raises(PolicyError, match="waived twice"):
        refuse_wrong([one, replace(one, reason="another")], policies)
    last = replace(one, expires=date(2026, 3, 1))
    refuse_expired([last], today=date(2026, 3, 1))
    with pytest.raises(PolicyError, match="expired on 2026-03-01"):
        refuse_expired([last], today=date(2026, 3, 2))


def test_the_text_stands_in_every_rendering():
    found = waived()
    outcome = Outcome.of_verdict(found, "fail")
    assert outcome.code == CODES["pass"]
    texts = {
        "text": repr(found),
        "html": found._repr_html_(),
        "json": found.to_json(),
        "junit": formats.junit_document(outcome),
        "markdown": formats.markdown_document(outcome),
        "sarif": formats.sarif_document(outcome, SimpleNamespace(policy="p.yaml", table=["t.csv"])),
        "report": limit_row(found.waived[0])["sentence"],
    }
    for name, text in texts.items():
        said = " ".join(text.replace("&lt;", "<").replace("&gt;", ">").split())
        assert "Waived until 2999-12-31 by A. Officer: agreed with <the board>." in said, name
    assert "1 waived" in texts["text"]
    assert "⚠️ waived" in texts["markdown"]
    assert limit_row(found.waived[0])["word"] == "broken, waived"
    (case,) = ET.fromstring(texts["junit"]).findall(".//skipped")
    assert "A. Officer" in case.get("message")
    (result,) = json.loads(texts["sarif"])["runs"][0]["results"]
    assert result["level"] == "warning"
    assert result["suppressions"][0]["status"] == "accepted"
    assert "A. Officer" in result["suppressions"][0]["justification"]


def test_a_stored_verdict_cannot_claim_a_waiver_that_it_does_not_have():
    found = waived()
    assert Verdict.from_json(found.to_json()) == found
    stored = found.waived[0].to_dict()
    for change in (
        {"parameters": {}},
        {"sentence": "The smallest class is small."},
        {"severity": "fail"},
        {"budget": "direct"},
        {"status": "could_not_assess"},
        {"parameters": {"waived": {**stored["parameters"]["waived"], "owner": "Somebody else"}}},
    ):
        with pytest.raises(ArgumentError):
            Finding.from_dict(stored | change)
