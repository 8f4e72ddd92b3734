"""Approvals: who has agreed to exactly what, and who does not count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, OTHER

from anonrisk.core.columns import skeleton
from anonrisk.errors import PolicyError
from anonrisk.policy.finding import Finding
from anonrisk.releases.release.approvals import (
    Approval,
    counted,
    finding,
    read_approvals,
    write_approvals,
)

DIGEST = "sha256:" + "0" * 64


def approval(by="Ada", digest=DIGEST, key=KEY):
    return Approval.given(by, digest, key)


def those(*approvals, by="Publisher"):
    kept, why = counted(approvals, digest=DIGEST, by=by, key=KEY)
    return [one.by for one in kept], why


def test_two_people_are_two():
    assert those(approval("Ada"), approval("Grace")) == (["Ada", "Grace"], [])


@pytest.mark.parametrize("again", ["ada", " ADA ", "A\u200bda", "\uff21da", "A\u034fda", "A-da."])
def test_nobody_approves_twice_or_their_own(again):
    kept, why = those(approval("Ada"), approval(again))
    assert kept == ["Ada"]
    assert "has approved it already" in why[0]
    kept, why = those(approval("Ada"), by=again)
    assert kept == []
    assert "publishes it" in why[0]


def test_what_changed_since_does_not_count():
    kept, why = those(approval(digest="sha256:" + "1" * 64))
    assert kept == []
    assert why == ["Ada: the release has changed since"]


@pytest.mark.parametrize("change", [{"by": "Bob"}, {"at": "2020-01-01"}, {"digest": DIGEST + "0"}])
def test_a_changed_approval_does_not_count(change):
    kept, why = those(replace(approval(), **change))
    assert kept == []
    assert "the text was changed" in why[0]


def test_another_key_does_not_count():
    kept, why = those(approval(key=OTHER))
    assert kept == []
    assert "not of this ledger's key" in why[0]


def test_too_few_is_a_failure_that_says_why():
    one = finding((approval("Ada"),), ["Bob: the release has changed since"], 2)
    assert (one.status, one.value, one.limit) == ("fail", 1, 0)
    assert "2 approvals asked for, 1 given by Ada. Does not count: Bob" in one.sentence
    assert not one.waivable
    enough = finding((approval("Ada"), approval("Grace")), [], 2)
    assert enough.passed
    for stored in (one, enough):
        assert Finding.from_dict(stored.to_dict()) == stored


def test_a_file_of_them_comes_back_and_another_one_is_refused():
    both = (approval("Ada"), approval("Gräce"))
    assert read_approvals(write_approvals(both)) == both
    for text in ("{}", "[]", '[{"by": "Ada"}]', '[{"by": "", "at": "", "digest": "", "seal": ""}]'):
        with pytest.raises(PolicyError):
            read_approvals(text)


@given(st.lists(st.sampled_from(["Ada", "ada ", "Grace", "Linus", "LINUS"]), max_size=6))
def test_as_many_count_as_there_are_other_people(names):
    kept, why = those(*map(approval, names), by="grace")
    assert len(kept) == len({skeleton(name) for name in names} - {"grace"})
    assert len(kept) + len(why) == len(names)
