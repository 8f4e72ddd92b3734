"""Six tables whose answers were found by hand, decided from the text of their explorers alone."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from anonrisk import Plan, Policy

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SIX_EACH = {"zip": ["1011"] * 6 + ["1012"] * 6, "sex": list("MMMMMMFFFFFF"), "ill": list("abc") * 4}
ROLES = {"quasi": ["zip", "sex"], "sensitive": ["ill"], "missing_sensitive": "error"}
SIGNS = {"✓": "publish", "✗": "do not publish", "?": "nobody can tell"}
FEW = "fewer than 5"

# As it is: the decision, k, who is among too few, what nobody looked at, which limits are not kept
# or not judged. Then what is to be left out, and what k is after that.
CASES = {
    "every class of six, three illnesses each": (
        SIX_EACH, {**ROLES, "k": 5, "ldiv": 3},
        ("publish", "6", "", [], []),
        ("", "6"),
    ),
    "everybody alone, with two sexes of six": (
        {**SIX_EACH, "zip": list("abcdefghijkl")}, {**ROLES, "k": 5, "ldiv": 3},
        ("do not publish", FEW, "Up to 15 records (100.0%)", [], ["ill: the limit of l is 3."]),
        ("zip", "6"),
    ),
    "one of eleven persons alone, who has three rows": (
        {"who": [1, 1, 1, *range(2, 12)], "zip": list("aaa" + "b" * 10)},
        {"quasi": ["zip"], "unit": "who", "k": 5},
        ("do not publish", FEW, "Up to 5 people (33.3%)", [], []),
        ("zip", "11"),
    ),
    "a class that has one illness": (
        {**SIX_EACH, "ill": list("aaaaaaaaaabc")}, {**ROLES, "k": 5, "ldiv": 2},
        ("do not publish", "6", "", [], ["ill: the limit of l is 2."]),
        ("zip, sex", "12"),
    ),
    "a class of three that has one illness": (
        {**SIX_EACH, "zip": list("aaabbb") * 2, "ill": list("aaaabcabcabc")},
        {**ROLES, "k": 3, "ldiv": 2},
        ("nobody can tell", FEW, "", [], ["ldiv of the policy is not judged here"]),
        ("sex", "6"),
    ),
    "a column without a role": (
        {**SIX_EACH, "job": list("uvwxyzuvwxyz")},
        {**ROLES, "k": 5, "ldiv": 3, "unlisted": "ignore"},
        ("nobody can tell", "6", "", ["job"], []),
        ("", "6"),
    ),
    "a sensitive column without a limit of its own": (
        SIX_EACH, {**ROLES, "k": 5},
        ("nobody can tell", "6", "", [], ["ill: attribute disclosure not judged"]),
        ("", "6"),
    ),
}  # fmt: skip

READ = """({
  lines: document.body.innerText.split('\\n').map(line => line.trim()).filter(line => line),
  plan: document.getElementById('plan').textContent,
  policy: document.getElementById('policy').textContent,
})"""


def decided(lines):
    """What a reader of the page decides, and why."""
    start = next(i for i, line in enumerate(lines) if line[0] in SIGNS)
    card = lines[start : lines.index("Choose a level for each column")]
    headline, k = card[0], card[card.index("smallest class (k)") + 1]
    few = re.match(r". (Up to .+\(.+\)) hide among fewer than", headline)
    after = next(i for i, line in enumerate(card) if line.startswith("Next: "))
    notes = card[card.index("detail kept") + 2 : after]
    unseen = []
    if (said := "Nobody has looked at these columns, which are published with it:") in notes:
        unseen = notes[notes.index(said) + 1 :]
        notes = notes[: notes.index(said)]
    return SIGNS[headline[0]], k, few[1] if few else "", unseen, notes


def next_of(lines):
    (text,) = (line.removeprefix("Next: ") for line in lines if line.startswith("Next: "))
    return text


@pytest.mark.parametrize("case", CASES)
def test_the_page_says_all_that_is_needed_and_its_advice_passes(browser, tmp_path, case):
    cells, terms, answer, (left_out, k_after) = CASES[case]
    table, policy = pd.DataFrame(cells), Policy(**terms)
    table.anon.explore(policy=policy).save(tmp_path / "explore.html")
    with browser.page(tmp_path / "explore.html") as page:
        if answer[3]:
            # They are left out unless somebody says otherwise.
            assert decided(page.run(READ)["lines"])[0] == "publish"
            page.run("document.getElementById('rest').click()")
        before = page.run(READ)
        decision, k, few, unseen, notes = decided(before["lines"])
        assert (decision, k, few, unseen) == answer[:4]
        assert [note for note, said in zip(notes, answer[4], strict=True) if said not in note] == []
        advice = next_of(before["lines"])
        if not left_out:
            assert advice.startswith("The policy passes for the table as it is.")
            assert ("not looked at, or leave them out" in advice) == bool(unseen)
            assert ("Attribute disclosure not judged for ill" in advice) == bool(answer[4])
            assert policy.check(table).status == "pass"
            return
        assert policy.check(table).status == "fail"
        assert f"Leaving out {left_out} is enough, the result passes: k from " in advice
        page.run("document.getElementById('advised').click()")
        after = page.run(READ)
    assert decided(after["lines"])[:2] == ("publish", k_after)
    assert next_of(after["lines"]).startswith("This was tried on the table.")
    assert json.loads(after["policy"]) == policy.to_dict()
    done = table.anon.apply(Plan.from_json(after["plan"]).resolve(table))
    assert policy.check(done, n_original=len(table)).status == "pass"
    assert f" to {policy.check(done).findings[0].value} (limit" in advice


def test_what_the_page_calls_good_and_the_gate_does_not_is_no_advice(browser, tmp_path):
    # Each of two classes has one illness, and so has the whole table: l is not judged below k = 5.
    table = pd.DataFrame({**SIX_EACH, "ill": "a"})
    policy = Policy(**ROLES, k=3, ldiv=2)
    table.anon.explore(policy=policy).save(tmp_path / "explore.html")
    with browser.page(tmp_path / "explore.html") as page:
        lines = page.run(READ)["lines"]
        assert decided(lines)[0] == "nobody can tell"
        assert next_of(lines).startswith("Nothing that was tried lets this table pass.")
        assert "passes" not in next_of(lines)
        assert page.run("getComputedStyle(document.getElementById('advised')).display") == "none"
