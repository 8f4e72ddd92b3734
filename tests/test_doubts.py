"""What columns hold against their roles: the same doubts on every engine, and no cell in any."""

from __future__ import annotations

import datetime as dt
import ipaddress
import random
import re
import sqlite3
import uuid
from collections import Counter

import pandas as pd
import pytest

from anonrisk import Policy, Verdict
from anonrisk.engines import engine_for
from anonrisk.engines.pandas import PandasEngine
from anonrisk.errors import ArgumentError, PolicyError
from anonrisk.measures.counts.contents import CellContents, folded, place
from anonrisk.measures.counts.shapes import CHECKED, FORMATS
from anonrisk.policy.doubts import _is_far
from anonrisk.policy.examine import set_name_detector
from anonrisk.policy.terms import DOUBTS

# ---- numbers with check digits, made slowly -----------------------------------------------------


def whole(digits):
    return "".join(map(str, digits))


def drawn(rng, n):
    return [rng.randrange(10) for _ in range(n)]


def first_that(makes, holds):
    """Try check digits until the rule holds, as a person with paper would."""
    return next(text for text in makes if holds(text))


def luhn(text):
    total = 0
    for i, digit in enumerate(reversed(text)):
        doubled = int(digit) * (2 if i % 2 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def weighted(text, weights, modulus):
    return sum(int(d) * w for d, w in zip(text, weights, strict=True)) % modulus == 0


def dutch(rng):
    while True:
        start = whole(drawn(rng, 8))
        for last in "0123456789":
            if weighted(start + last, (9, 8, 7, 6, 5, 4, 3, 2, -1), 11):
                return start + last


def british(rng):
    while True:
        start = whole(drawn(rng, 9))
        for last in "0123456789":
            if weighted(start + last, range(10, 0, -1), 11):
                return start + last


def iban(rng):
    letters = "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(4))
    account = letters + whole(drawn(rng, 10))
    spelt = "".join(str(int(sign, 36)) for sign in account + "NL00")
    return f"NL{98 - int(spelt) % 97:02}{account}"


def card(rng):
    start = "4" + whole(drawn(rng, 14))
    return first_that((start + last for last in "0123456789"), luhn)


def american(rng):
    start = "37" + whole(drawn(rng, 12))
    return first_that((start + last for last in "0123456789"), luhn)


def spanish(rng):
    number = rng.randrange(10**8)
    return f"{number:08}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def french(rng):
    start = f"{rng.choice('12')}{rng.randrange(100):02}{rng.randrange(1, 13):02}"
    start += whole(drawn(rng, 8))
    return f"{start}{97 - int(start) % 97:02}"


def belgian(rng):
    start = f"{rng.randrange(30, 99)}{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}"
    start += f"{rng.randrange(1, 998):03}"
    return f"{start}{97 - int(start) % 97:02}"


def brazilian(rng):
    digits = drawn(rng, 9)
    for n in (10, 11):
        left = sum(d * w for d, w in zip(digits, range(n, 1, -1), strict=True)) % 11
        digits.append(0 if left < 2 else 11 - left)
    return whole(digits)


def polish(rng):
    start = f"{rng.randrange(100):02}{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}"
    start += whole(drawn(rng, 4))
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    return first_that(
        (start + last for last in "0123456789"), lambda text: weighted(text, weights, 10)
    )


def german(rng):
    digits = [rng.randrange(1, 10), *drawn(rng, 9)]
    product = 10
    for digit in digits:
        total = (digit + product) % 10
        product = 2 * (total or 10) % 11
    return whole([*digits, (11 - product) % 10])


def swedish(rng):
    start = f"{rng.randrange(100):02}{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}"
    start += whole(drawn(rng, 3))
    text = first_that((start + last for last in "0123456789"), luhn)
    return f"{text[:6]}-{text[6:]}"


def finnish(rng):
    day = f"{rng.randrange(1, 29):02}{rng.randrange(1, 13):02}{rng.randrange(100):02}"
    number = f"{rng.randrange(2, 900):03}"
    return f"{day}-{number}{'0123456789ABCDEFHJKLMNPRSTUVWXY'[int(day + number) % 31]}"


def norwegian(rng):
    while True:
        day = f"{rng.randrange(1, 29):02}{rng.randrange(1, 13):02}{rng.randrange(100):02}"
        text = day + whole(drawn(rng, 3))
        one = -sum(int(d) * w for d, w in zip(text, (3, 7, 6, 1, 8, 9, 4, 5, 2), strict=True)) % 11
        text += str(one)
        if one == 10:
            continue
        two = (
            -sum(int(d) * w for d, w in zip(text, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), strict=True)) % 11
        )
        if two < 10:
            return text + str(two)


def portuguese(rng):
    digits = [rng.randrange(1, 4), *drawn(rng, 7)]
    left = sum(d * w for d, w in zip(digits, range(9, 1, -1), strict=True)) % 11
    return whole([*digits, 0 if left < 2 else 11 - left])


def swiss(rng):
    start = "756" + whole(drawn(rng, 9))
    return first_that(
        (start + last for last in "0123456789"), lambda text: weighted(text, [1, 3] * 6 + [1], 10)
    )


def chinese(rng):
    start = f"{rng.randrange(11, 65)}0105{rng.randrange(1930, 2010)}"
    start += f"{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}{rng.randrange(1000):03}"
    return start + "10X98765432"[sum(int(d) * 2 ** (17 - i) for i, d in enumerate(start)) % 11]


ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        map(ord, "BAFHJNPRTVBAFHJNPRTVCESULDGIMOQKWZYX"),
        strict=True,
    )
)


def italian(rng):
    letters = "".join(rng.choice("BCDFGLMNPRSTV") for _ in range(6))
    start = f"{letters}{rng.randrange(100):02}{rng.choice('ABCDEHLMPRST')}"
    start += f"{rng.randrange(1, 72):02}{rng.choice('ABCDEFGHI')}{rng.randrange(1000):03}"
    even = {sign: int(sign) if sign.isdigit() else ord(sign) - 65 for sign in ODD}
    total = sum(ODD[s] - 65 if i % 2 == 0 else even[s] for i, s in enumerate(start))
    return start + chr(65 + total % 26)


MADE = {
    "IBAN": iban,
    "credit card number": card,
    "Dutch citizen service number": dutch,
    "Portuguese tax number": portuguese,
    "British NHS number": british,
    "Swedish personal number": swedish,
    "Polish PESEL number": polish,
    "German tax number": german,
    "Belgian national number": belgian,
    "Brazilian CPF number": brazilian,
    "Norwegian birth number": norwegian,
    "Swiss social security number": swiss,
    "French social security number": french,
    "Chinese identity number": chinese,
    "Spanish identity number": spanish,
    "Italian tax code": italian,
    "Finnish identity code": finnish,
}
OTHERS = {
    "email_address": lambda rng: f"p{rng.randrange(10**6)}@example.org",
    "web_address": lambda rng: f"https://example.org/people/{rng.randrange(10**6)}",
    "ip_address": lambda rng: ".".join(str(rng.randrange(256)) for _ in range(4)),
    "mac_address": lambda rng: ":".join(f"{rng.randrange(256):02x}" for _ in range(6)),
    "hash": lambda rng: f"{rng.getrandbits(128):032x}",
    "telephone_number": lambda rng: f"+31 6 {rng.randrange(10**7, 10**8)}",
    "coordinates": lambda rng: f"{rng.uniform(50, 53):.5f}, {rng.uniform(3, 7):.5f}",
    "national_number": lambda rng: (
        f"{rng.randrange(100, 999)}-{rng.randrange(10, 99)}-{rng.randrange(1000, 9999)}"
    ),
}


def column_of(make, n=40, share=1.0, seed=1):
    """A column in which a share of the cells is made, and the others are words."""
    rng = random.Random(seed)
    made = [make(rng) for _ in range(round(n * share))]
    return made + [f"{rng.choice('abcde')} {i % 7}" for i in range(n - len(made))]


def doubts_of(verdict):
    found = [f for f in verdict.findings if f.budget == "contents"]
    return {(f.parameters["column"], f.parameters["doubt"]): f for f in found}


def checked(table, **roles):
    return Policy(**{"quasi": "q", "k": 2, **roles}).check(table)


def alike(n=40):
    return ["a", "b"] * (n // 2)


# ---- shapes of direct identifiers ---------------------------------------------------------------


def test_every_rule_is_tried_here():
    assert {number.kind for number in CHECKED} == set(MADE)
    assert {number.candidates for number in CHECKED} == set(FORMATS)


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("share", [1.0, 0.25])
def test_numbers_with_check_digits_are_seen(kind, share):
    table = pd.DataFrame({"q": alike(80), "x": column_of(MADE[kind], 80, share)})
    verdict = checked(table, insensitive="x")
    assert verdict.status == "could_not_assess"
    (finding,) = (f for f in doubts_of(verdict).values() if f.status == "could_not_assess")
    assert kind in finding.sentence


@pytest.mark.parametrize("kind", MADE)
def test_one_wrong_digit_is_not_a_number_of_that_kind(kind):
    rng = random.Random(3)
    made = [MADE[kind](rng) for _ in range(300)]
    agree = _agreeing(made, kind)
    assert agree == len(made)
    wrong = []
    for text in made:
        at = max(i for i, sign in enumerate(text[:-1]) if sign.isdigit())
        wrong.append(f"{text[:at]}{(int(text[at]) + rng.randrange(1, 10)) % 10}{text[at + 1 :]}")
    assert _agreeing(wrong, kind) < 0.2 * len(wrong)


def _agreeing(texts, kind):
    table = pd.DataFrame({"x": texts})
    found = engine_for(table).count(table, CellContents(("x",)))["x"]
    return sum(
        found.rows(f"checked {i}") for i, number in enumerate(CHECKED) if number.kind == kind
    )


@pytest.mark.parametrize("word", OTHERS)
@pytest.mark.parametrize("share", [1.0, 0.25])
def test_shapes_without_check_digits_are_seen(word, share):
    table = pd.DataFrame({"q": alike(120), "x": column_of(OTHERS[word], 120, share)})
    assert ("x", word) in doubts_of(checked(table, insensitive="x"))


@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive", "unit"])
def test_addresses_block_whatever_the_role(frame, role):
    addresses = column_of(OTHERS["email_address"])
    roles = {"insensitive": "q", "quasi": "x"} if role == "quasi" else {"quasi": "q", role: "x"}
    verdict = Policy(**roles, k=1).check(frame({"q": alike(), "x": addresses}))
    finding = doubts_of(verdict)["x", "email_address"]
    assert (verdict.status, finding.status) == ("could_not_assess", "could_not_assess")
    assert f"column 'x' ({role}) looks like an e-mail address in 40 of 40 rows" in finding.sentence


def test_twenty_addresses_of_a_sensitive_column_block(frame):
    table = frame({"zip": ["a"] * 20, "email": [f"p{i}@x" for i in range(20)]})
    verdict = Policy(quasi=["zip"], sensitive=["email"], k=2).check(table)
    assert verdict.status == "could_not_assess"
    few = frame({"zip": ["a"] * 19, "email": [f"p{i}@x" for i in range(19)]})
    assert Policy(quasi=["zip"], sensitive=["email"], k=2).check(few).passed


def test_a_pseudonym_as_the_unit_is_no_doubt(frame):
    table = frame({"q": alike(), "x": column_of(OTHERS["hash"])})
    assert checked(table, unit="x").passed
    assert ("x", "hash") in doubts_of(checked(table, insensitive="x"))


def test_one_address_for_everybody_is_nobodys(frame):
    table = frame({"q": alike(), "x": ["info@example.org"] * 40})
    assert checked(table, insensitive="x").passed


def test_coordinates_are_known_by_their_name(frame):
    degrees = [50 + i / 7 for i in range(40)]
    table = frame({"q": alike(), "latitude": degrees, "score": degrees})
    found = doubts_of(checked(table, insensitive=["latitude", "score"]))
    assert set(found) == {("latitude", "coordinates")}
    rounded = frame({"q": alike(), "latitude": [round(d, 2) for d in degrees]})
    assert checked(rounded, insensitive="latitude").passed


def test_random_numbers_of_nine_digits_are_no_national_numbers(frame):
    for seed in range(3):
        rng = random.Random(seed)
        numbers = [rng.randrange(10**8, 10**9) for _ in range(60)] * 2
        assert not doubts_of(checked(frame({"q": alike(120), "x": numbers}), sensitive="x"))


# ---- nearly unique columns, and the others that warn --------------------------------------------


def test_nearly_unique_texts_and_keys_block_from_a_hundred_persons(frame):
    def table(n):
        return frame(
            {
                "q": alike(n),
                "text": [f"code {i:x}" for i in range(n)],
                "key": [1000 + 3 * i for i in range(n)],
                "amount": [i % (n - 1) * 17 for i in range(n)],
                "measure": [i / 7 for i in range(n)],
            }
        )

    names = ["text", "key", "amount", "measure"]
    found = doubts_of(checked(table(100), insensitive=names))
    assert dict(found.keys()) == {
        "text": "nearly_unique",
        "key": "nearly_unique",
        "amount": "many_values",
        "measure": "many_values",
    }
    assert found["text", "nearly_unique"].status == "could_not_assess"
    assert (found["amount", "many_values"].status, found["amount", "many_values"].severity) == (
        "fail",
        "warn",
    )
    assert not doubts_of(checked(table(98), insensitive=names))
    assert not doubts_of(checked(table(100), quasi=["q", *names], k=1))


def test_persons_are_those_of_the_unit(frame):
    table = frame({"q": alike(200), "p": list(range(50)) * 4, "x": [f"k{i}" for i in range(200)]})
    assert not doubts_of(checked(table, unit="p", insensitive="x"))


def test_spellings_warn_and_block_where_a_budget_hangs_on_them(frame):
    table = frame({"q": alike(), "s": ["flu", "flu", "Flu ", "Flu "] * 10})
    size = checked(table, sensitive="s")
    assert size.status == "pass"
    assert doubts_of(size)["s", "spellings"].severity == "warn"
    diverse = checked(table, sensitive="s", ldiv={"l": 2})
    assert diverse.status == "could_not_assess"
    assert doubts_of(diverse)["s", "spellings"].status == "could_not_assess"
    values = ["flu", "flu", "Flú", "Flú", "cold", "cold", "hiv", "hiv"]
    still = frame({"q": alike(), "s": values * 5})
    kept = checked(still, sensitive="s", ldiv={"l": 2})
    assert (kept.status, doubts_of(kept)["s", "spellings"].value) == ("pass", 1)


def test_spellings_of_many_columns_are_judged_together(monkeypatch):
    """Each sensitive column is scored for the check, and before and after its texts are folded."""
    names = [f"s{i}" for i in range(6)]
    texts = ["flu", "flu", "Flu ", "Flu "] * 10
    table = pd.DataFrame({"q": alike(), **dict.fromkeys(names, texts), "s5": ["a", "b"] * 20})
    scored, score = Counter(), PandasEngine.score

    def counted(self, frame, question, sensitive, scores):
        scored[sensitive.column] += 1
        return score(self, frame, question, sensitive, scores)

    monkeypatch.setattr(PandasEngine, "score", counted)
    verdict = checked(table, sensitive=names, ldiv={"l": 2})
    assert scored == dict.fromkeys(names, 3)
    assert {column for column, _ in doubts_of(verdict)} == {*names[:-1]}


@pytest.mark.parametrize("declared", [False, True])
def test_a_column_of_classes_is_folded_by_itself(declared):
    """With s and g folded at once, the classes would merge, and s would seem diverse again."""
    g, s = ["a", "a", "A ", "A "] * 10, ["flu", "Flu", "cold", "Cold"] * 10
    table = pd.DataFrame({"q": "x", "g": g, "s": s})
    asked = {"sensitive": ["g", "s"], "ldiv": {"l": 2, "sensitive": ["s"]}}
    if declared:
        verdict = Policy(**asked).check(table.anon.declare(quasi="g"))
    else:
        verdict = Policy(quasi="q", by="g", **asked).check(table)
    assert doubts_of(verdict)["s", "spellings"].status == "could_not_assess"


def test_placeholders_warn(frame):
    words = frame({"q": ["a", "b", "a", "N/A"] * 10})
    assert doubts_of(checked(words))["q", "placeholder"].value == 10
    ages = [30 + i % 20 for i in range(39)]
    far = frame({"q": alike(), "age": [*ages, 999]})
    assert doubts_of(checked(far, insensitive="age"))["age", "placeholder"].value == 1
    near = frame({"q": alike(), "pay": [*(20 * i for i in range(39)), 999]})
    assert ("pay", "placeholder") not in doubts_of(checked(near, insensitive="pay"))


def test_a_number_that_singles_out_its_owner_warns(frame):
    rng = random.Random(2)
    pay = [round(rng.gauss(40, 5), 2) for _ in range(199)]
    table = frame({"q": alike(200), "pay": [*pay, 9998.5]})
    verdict = checked(table, sensitive="pay")
    assert verdict.status == "pass"
    assert doubts_of(verdict)["pay", "outlier"].severity == "warn"
    assert not doubts_of(checked(frame({"q": alike(200), "pay": [*pay, 61.5]}), sensitive="pay"))


def test_dates_of_birth_and_free_text_warn(frame):
    first = dt.date(1950, 1, 1)
    days = [first + dt.timedelta(days=400 * (i % 20)) for i in range(40)]
    notes = [f"the patient {i % 9} came in with her husband and was sent home" for i in range(40)]
    table = frame({"q": alike(), "d": [str(day) for day in days], "note": notes})
    found = doubts_of(checked(table, insensitive=["d", "note"]))
    assert set(found) == {("d", "birth_date"), ("note", "free_text")}
    assert all(finding.severity == "warn" for finding in found.values())


def test_a_table_of_counts_warns(frame):
    pairs = [(sex, age) for sex in "fm" for age in range(12)]
    counts = [3 * i + 5 for i in range(len(pairs))]
    table = frame({"sex": [s for s, _ in pairs], "age": [a for _, a in pairs], "count": counts})
    verdict = Policy(quasi=["sex", "age"], insensitive="count", k=1).check(table)
    assert doubts_of(verdict)["count", "counts"].severity == "warn"
    twice = frame({"sex": ["f", "m"] * 20, "age": [30, 40] * 20, "count": [1, 2, 3, 4] * 10})
    assert not doubts_of(Policy(quasi=["sex", "age"], insensitive="count", k=1).check(twice))
    # A number of its own for every row is nothing that a table of counts is broken down by.
    table = frame({"sex": ["f", "m"] * 20, "case": [*range(40)], "count": [1, 2, 3, 4] * 10})
    assert not doubts_of(Policy(quasi="sex", insensitive=["case", "count"], k=1).check(table))


def test_keys_inside_cells_warn(frame):
    table = frame({"q": alike(), "x": ['{"E-Mail": 1, "a": 2}', '{"b": "email"}'] * 20})
    assert doubts_of(checked(table, insensitive="x"))["x", "keys"].value == 20


# ---- acknowledgements ---------------------------------------------------------------------------


def said(doubt="email_address", reason="addresses of shops"):
    return [{"column": "x", "doubt": doubt, "reason": reason}]


def test_an_acknowledged_doubt_passes_with_its_reason(frame):
    table = frame({"q": alike(), "x": column_of(OTHERS["email_address"])})
    verdict = checked(table, insensitive="x", acknowledged=said())
    assert verdict.status == "pass"
    finding = doubts_of(verdict)["x", "email_address"]
    assert finding.passed
    assert finding.sentence.endswith("Acknowledged: addresses of shops")
    assert Verdict.from_json(verdict.to_json()) == verdict
    # It is of this doubt alone, survives more rows, and is no matter where it no longer applies.
    assert not checked(table, insensitive="x", acknowledged=said("hash")).passed
    more = frame({"q": alike(60), "x": column_of(OTHERS["email_address"], 60)})
    assert checked(more, insensitive="x", acknowledged=said()).passed
    other = frame({"q": alike(), "x": ["u", "v"] * 20})
    assert not doubts_of(checked(other, insensitive="x", acknowledged=said()))


def test_an_acknowledged_doubt_is_said_with_its_reason_and_its_column_is_looked_up():
    table = pd.DataFrame({"q": alike(), "x": column_of(OTHERS["email_address"])})
    policy = Policy(quasi="q", sensitive="x", k=2, acknowledged=said())
    assert "Acknowledged: addresses of shops" in repr(policy.check(table))
    wrong = Policy(quasi="q", sensitive="x", k=2, acknowledged=[{**said()[0], "column": "X"}])
    (remark,) = [one for one in wrong.lint(table).remarks if one.where == "acknowledged"]
    assert "'X' is not in the table; did you mean 'x'?" in remark.sentence


def test_acknowledgements_are_part_of_the_policy():
    policy = Policy(quasi="q", k=2, acknowledged=said())
    assert Policy.from_dict(policy.to_dict()) == policy
    assert Policy.from_yaml(policy.to_yaml()) == policy
    assert policy.digest != Policy(quasi="q", k=2).digest
    assert Policy(quasi="q", k=2, acknowledged=[]) == Policy(quasi="q", k=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (said("e_mail_address"), "did you mean 'email_address'"),
        (said(reason=" "), "acknowledged\\[0\\].reason must be a non-empty text"),
        (said(reason="..."), "a text with letters or digits"),
        ([{"column": "x", "doubt": "hash"}], "acknowledged\\[0\\] has no reason"),
        ([*said(), *said()], "acknowledges email_address of 'x' twice"),
        ([{**said()[0], "colum": "x"}], "has no key 'colum'; did you mean 'column'"),
        ({"column": "x"}, "acknowledged must be a list, not a mapping"),
        ("x", "acknowledged must be a list, not a text"),
        ([{**said()[0], "column": True}], "names a column by a text"),
    ],
)
def test_wrong_acknowledgements_are_refused(given, message):
    with pytest.raises(PolicyError, match=message):
        Policy(quasi="q", k=2, acknowledged=given)


# ---- the line to paste --------------------------------------------------------------------------


def offered(verdict):
    (finding,) = (f for f in verdict.findings if f.budget == "unlisted")
    return finding.sentence


def test_the_line_to_paste_is_what_a_draft_would_say(frame):
    cells = {
        "q": alike(),
        "ssn": column_of(OTHERS["national_number"]),
        "diagnosis": ["flu", "cold", "hiv", "flu"] * 10,
        "rate": ["1", "2", "3", "4", "5"] * 8,
        "same": ["x"] * 40,
    }
    sentence = offered(checked(frame(cells)))
    assert "direct: [ssn], sensitive: [diagnosis], quasi: [rate, same]" in sentence
    assert "insensitive" not in sentence


@pytest.mark.slow
def test_a_line_to_paste_is_short_however_wide_the_table():
    table = pd.DataFrame({"q": ["a", "a"], **{f"c{i}": [1, 2] for i in range(400)}})
    sentence = offered(checked(table))
    assert "the first 50; 350 more are left" in sentence
    assert sentence.count("c1") < 20


# ---- every engine alike, and no cell ------------------------------------------------------------


def test_what_is_counted_is_the_same_everywhere(frame):
    rng = random.Random(5)
    makes = [*MADE.values(), *OTHERS.values(), lambda r: r.choice(["São Paulo", "sao paulo", "-"])]
    texts = [rng.choice(makes)(rng) for _ in range(300)]
    texts += ["", " padded\n", "N/A", "0.12345678", "2020-01-31", "31/12/1985", "1,5", "007", None]
    numbers = [float(dutch(rng)) for _ in range(200)] + [9999.0, -1.0, 0.0, 52.12345, -3.5]
    numbers += [None] * (len(texts) - len(numbers))
    counts = [rng.choice([1, 2, 3, 10**9, -9]) for _ in texts]
    cells = {"t": texts, "f": numbers, "i": counts}
    table = frame(cells)
    found = engine_for(table).count(table, CellContents(("t", "f", "i"), ("email",)))
    here = pd.DataFrame({"t": texts, "f": numbers, "i": counts})
    expected = engine_for(here).count(here, CellContents(("t", "f", "i"), ("email",)))
    for name in cells:
        assert dict(found[name].looks) == dict(expected[name].looks), name
        assert found[name].numbers.total == pytest.approx(expected[name].numbers.total)
        assert found[name].numbers.squares == pytest.approx(expected[name].numbers.squares)
        for end in ("n", "low", "high", "low_alone", "high_alone"):
            assert getattr(found[name].numbers, end) == getattr(expected[name].numbers, end)
        for count in ("kind", "n_rows", "n_known", "n_values", "n_folded", "plain_ends"):
            assert getattr(found[name], count) == getattr(expected[name], count), (name, count)


def test_counts_are_those_of_an_obvious_loop(frame):
    texts = ["a@b.nl", "a@b.nl", "A@B.nl", "x", " x", "é", "E", "unknown", "", None] * 2
    found = engine_for(table := frame({"t": texts})).count(table, CellContents(("t",)))["t"]
    known = [text for text in texts if text is not None]
    assert (found.n_rows, found.n_known, found.n_values) == (20, len(known), len(set(known)))
    assert found.n_folded == len({folded(text) for text in known})
    mails = [text for text in known if re.fullmatch("[^@ ]+@[^@ ]+", text)]
    assert found.looks["e-mail address"] == (len(mails), len(set(mails)))
    assert found.looks["placeholder"] == (4, 2)


def test_no_cell_is_in_what_is_said(frame):
    rng = random.Random(7)
    canaries = {
        "mail": [f"canary{i}@secret.example" for i in range(120)],
        "text": [f"canary text {i:x}" for i in range(120)],
        "spelt": ["Canary", "canary", "CANARY ", "bird"] * 30,
        "pay": [round(rng.gauss(40, 5), 2) for _ in range(119)] + [77777.25],
        "loose": [f"canary-{i}" for i in range(120)],
    }
    table = frame({"q": alike(120), **canaries})
    roles = {"insensitive": ["mail", "text"], "sensitive": ["spelt", "pay"]}
    verdict = checked(table, **roles, ldiv={"l": 1, "sensitive": "spelt"})
    assert {doubt for _, doubt in doubts_of(verdict)} >= {"email_address", "spellings", "outlier"}
    told = verdict.to_json() + repr(verdict) + verdict._repr_html_()
    assert "anary" not in told
    assert "secret.example" not in told
    assert "77777" not in told
    assert "77,777" not in told


# ---- a detector of names, which is somebody else's ---------------------------------------------


@pytest.fixture
def detector(monkeypatch):
    monkeypatch.setattr("anonrisk.policy.examine._chosen", None)
    return lambda *answers: monkeypatch.setattr("anonrisk.policy.examine._chosen", *answers)


def test_a_detector_of_names_is_shown_some_texts(frame, detector):
    seen = []

    def has_name(texts):
        seen.append(texts)
        return [text.startswith("Jansen") for text in texts]

    detector(has_name)
    texts = ["Jansen", "Jansen B", "baker", "smith", "cook", None] * 200
    table = frame({"q": ["a"] * 1200, "x": texts, "y": ["dull", "grey"] * 600})
    verdict = checked(table, sensitive="x", insensitive="y")
    assert [each for each in doubts_of(verdict) if each[1] == "names"] == [("x", "names")]
    assert verdict.status == "could_not_assess"
    assert "2 of the 5 values" in doubts_of(verdict)["x", "names"].sentence
    assert "Jansen" not in verdict.to_json() + repr(verdict)
    each = sorted({"Jansen", "Jansen B", "baker", "smith", "cook"}, key=place)
    assert seen[-2:] == [each, sorted(["dull", "grey"], key=place)]
    why = [{"column": "x", "doubt": "names", "reason": "names of bakeries"}]
    assert checked(table, sensitive="x", insensitive="y", acknowledged=why).passed


def test_a_detector_is_shown_no_more_than_it_can_read(frame, detector):
    lengths = []
    detector(lambda texts: [lengths.append(len(texts)), *[False] * (len(texts) - 1)])
    texts = [f"word {i % 1100}" for i in range(2200)]
    checked(frame({"q": ["a"] * 2200, "x": texts}), sensitive="x")
    assert lengths[-1] == 1000


@pytest.mark.parametrize(
    "answers",
    [lambda texts: 1 / 0, lambda texts: [True], lambda texts: None, lambda texts: texts[0]],
)
def test_a_detector_that_fails_never_passes(frame, detector, answers):
    detector(answers)
    verdict = checked(frame({"q": alike(), "x": ["canary one", "canary two"] * 20}), sensitive="x")
    assert verdict.status == "could_not_assess"
    assert "canary" not in verdict.to_json()


def test_an_environment_may_name_the_detector(monkeypatch, detector):
    table = pd.DataFrame({"q": alike(), "x": ["one", "two"] * 20})
    monkeypatch.setenv("ANONRISK_NAME_DETECTOR", "test_doubts:_always")
    assert ("x", "names") in doubts_of(checked(table, sensitive="x"))
    for wrong in ("no_such_module:f", "test_doubts:nothing", "test_doubts", "test_doubts:CHECKED"):
        monkeypatch.setenv("ANONRISK_NAME_DETECTOR", wrong)
        verdict = checked(table, sensitive="x")
        assert verdict.status == "could_not_assess"
        assert "ANONRISK_NAME_DETECTOR" in repr(verdict)
    with pytest.raises(ArgumentError, match="a function of texts"):
        set_name_detector("presidio")


def _always(texts):
    return [True] * len(texts)


def test_a_detector_that_ends_the_program_or_empties_its_list_never_passes(monkeypatch, detector):
    table = pd.DataFrame({"q": alike(), "x": ["one", "two"] * 20})

    def leaves(texts):
        raise SystemExit(0)

    def empties(texts):
        texts.clear()
        return []

    for answers in (leaves, empties):
        detector(answers)
        assert checked(table, sensitive="x").status == "could_not_assess"
    detector(None)
    monkeypatch.setenv("ANONRISK_NAME_DETECTOR", "test_doubts:_leaving")
    assert checked(table, sensitive="x").status == "could_not_assess"


def __getattr__(name):
    if name == "_leaving":
        raise SystemExit(0)
    raise AttributeError(name)


@pytest.mark.parametrize("odd", [1, 1.5, True, b"x", [1], (1, 2), dt.date(2020, 1, 1)], ids=repr)
def test_cells_of_several_types_are_looked_at_whatever_their_order(odd, detector):
    mails = column_of(OTHERS["email_address"])
    detector(lambda texts: [False] * len(texts))
    for cells in ([odd, *mails], [*mails, odd]):
        mixed = pd.Series(cells, dtype=object)
        for column in (
            [mixed] if isinstance(odd, (list, tuple)) else [mixed, mixed.astype("category")]
        ):
            table = pd.DataFrame({"q": ["a"] * 41, "x": column})
            verdict = checked(table, sensitive="x", missing_sensitive="value")
            assert ("x", "email_address") in doubts_of(verdict)


def test_cells_of_several_types_in_sqlite_are_looked_at(detector):
    sql = pytest.importorskip("anonrisk.sql")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (q, x)")
    cells = [*column_of(OTHERS["email_address"]), 1]
    connection.executemany("INSERT INTO t VALUES ('a', ?)", [(cell,) for cell in cells])
    detector(lambda texts: [False] * len(texts))
    verdict = checked(sql.table(connection, "t"), sensitive="x")
    assert ("x", "email_address") in doubts_of(verdict)


@pytest.mark.parametrize("kind", [uuid.UUID, ipaddress.IPv4Address])
def test_objects_that_are_written_as_texts_are_looked_at(kind):
    cells = [kind(int=i) if kind is uuid.UUID else kind(i * 999) for i in range(1, 41)]
    verdict = checked(pd.DataFrame({"q": alike(), "x": cells}), sensitive="x")
    assert verdict.status == "could_not_assess"


@pytest.mark.contract
def test_every_rule_of_digits_can_be_sent(frame):
    """Spark Connect sends an expression as a message, which nests no deeper than so much."""
    if frame.kind != "connect":
        pytest.skip("of Spark Connect alone")
    from pyspark.sql.connect import functions as f

    from anonrisk.engines.spark.contents import _agrees

    client = frame({"x": ["a"]}).sparkSession.client
    for number in CHECKED:
        # As deep inside of others as it is when the columns are looked at.
        rule = _agrees(f, number)
        for _ in range(10):
            rule = f.coalesce(rule, f.lit(False))
        sent = rule.to_plan(client)
        type(sent).FromString(sent.SerializeToString())


def test_spaces_of_every_kind_and_small_letters_hide_no_number(frame):
    rng = random.Random(4)
    spaces = ["\u00a0", "\u2003", "\u202f", "\u3000", "\u200b", "\ufeff", "\u2028", "\t", "\x0b"]
    accounts = [iban(rng).lower() for _ in range(40)]
    cells = [
        f"{spaces[i % 9]}{text[:4]}{spaces[i % 7]}{text[4:]}{spaces[i % 5]}"
        for i, text in enumerate(accounts)
    ]
    verdict = checked(frame({"q": alike(), "x": cells}), sensitive="x")
    assert "in 40 of 40 rows" in doubts_of(verdict)["x", "iban"].sentence


def test_an_outlier_among_few_values_warns(frame):
    pay = [38.5, 39.5, 40.5, 41.5, 42.5] * 7 + [9998.0]
    verdict = checked(frame({"q": ["a"] * 36, "x": pay}), sensitive="x")
    assert ("x", "outlier") in doubts_of(verdict)


def test_numbers_of_one_kind_count_together_whatever_their_length(frame):
    rng = random.Random(3)
    cells = [card(rng) for _ in range(15)] + [american(rng) for _ in range(15)]
    cells += [f"word {i}" for i in range(70)]
    verdict = checked(frame({"q": alike(100), "x": cells}), sensitive="x")
    assert ("x", "card_number") in doubts_of(verdict)


def test_every_word_has_a_meaning():
    assert all(meaning for _, meaning in DOUBTS.values())


def test_a_finding_about_what_columns_hold_has_a_limit_of_none():
    cells = {"q": ["a"] * 36, "x": [38.5, 39.5, 40.5, 41.5, 42.5] * 7 + [9998.0]}
    (found,) = (
        f for f in checked(pd.DataFrame(cells), sensitive="x").findings if f.status == "fail"
    )
    assert (found.value, found.limit, found.margin) == (1, 0, -1)


@pytest.mark.parametrize(("end", "far"), [(21.0, True), (20.0, False)])
def test_a_number_is_far_beyond_ten_deviations_of_the_others(end, far):
    # The others are -2 and 2, of mean 0 and deviation 2.
    assert _is_far(end, 3, end, 8 + end * end) is far


def test_one_number_may_be_far_from_a_single_other():
    assert _is_far(10.0, 2, 10.0, 100.0)
