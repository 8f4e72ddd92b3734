"""What a verdict covers: rows, columns with their budgets, persons; in every rendering."""

from __future__ import annotations

import itertools
import json

import pandas as pd
import pytest

import anonrisk
from anonrisk import Policy, Verdict
from anonrisk.cli import main as command_line
from anonrisk.errors import ArgumentError
from anonrisk.policy.coverage import RowCoverage, SetAside

NOT_JUDGED = "attribute disclosure not judged"
CELLS = {
    "zip": ["a", "a", "a", "a", None, None],
    "age": [30, 30, 41, 41, 41, 41],
    "ill": ["flu", "hiv", "flu", "hiv", "flu", None],
    "who": [1, 2, 3, 4, 5, 6],
    "note": ["x"] * 6,
}
ROLES = {"quasi": ["zip", "age"], "sensitive": ["ill"], "unit": "who", "insensitive": ["note"]}


def seen_by(verdict):
    return {
        column.name: (column.role, column.budgets or column.reason)
        for column in verdict.coverage.columns
    }


def test_every_column_has_its_budgets_or_a_reason(frame):
    verdict = Policy(**ROLES, k=2, ldiv={"l": 1}, missing_sensitive="value").check(frame(CELLS))
    assert seen_by(verdict) == {
        "zip": ("quasi", ("k", "ldiv")),
        "age": ("quasi", ("k", "ldiv")),
        "ill": ("sensitive", ("ldiv",)),
        "who": ("unit", "says which person a row belongs to"),
        "note": ("insensitive", "insensitive by decision of the policy"),
    }
    assert verdict.coverage.rows == RowCoverage(6, 6)
    assert (verdict.coverage.unit, verdict.unit) == ("who", "who")
    assert verdict.coverage.caveats == ()


def test_rows_set_aside_are_counted_with_why(frame):
    policy = Policy(
        **ROLES,
        k=2,
        ldiv={"l": 1},
        missing="drop",
        missing_sensitive="drop",
        max_dropped_fraction=1,
        dropped_are_removed=True,
    )
    cells = {**CELLS, "ill": ["flu", "hiv", None, "hiv", "flu", None]}
    rows = policy.check(frame(cells)).coverage.rows
    assert rows == RowCoverage(
        6,
        3,
        (
            SetAside(2, "a missing value of zip + age (missing: drop)"),
            SetAside(1, "a missing value of ill (missing_sensitive: drop)"),
        ),
    )


@pytest.mark.parametrize("k", [2, 3])
def test_a_sensitive_column_that_only_sizes_protect_is_no_plain_pass(frame, k):
    verdict = Policy(**ROLES, k=k).check(frame(CELLS))
    assert verdict.coverage.attributes_not_judged == ("ill",)
    if verdict.passed:
        assert verdict.word == f"pass, {NOT_JUDGED} for ill"
    assert NOT_JUDGED in repr(verdict)
    assert NOT_JUDGED in verdict._repr_html_()


def test_columns_that_are_ignored_are_counted_in_the_word(frame):
    verdict = Policy(quasi=["zip"], k=2, unlisted="ignore").check(frame(CELLS))
    assert verdict.status == "pass"
    assert verdict.word == "pass, 4 columns not looked at"
    assert verdict.coverage.caveats == ("4 columns not looked at",)


def test_budgets_of_parts_are_listed_by_column(frame):
    policy = Policy(
        quasi=["zip", "age"],
        qids=[
            {"columns": ["zip"], "budgets": {"k": 2}},
            {"every_subset_of": 2, "budgets": {"max_unique_fraction": 0.5}},
        ],
        unlisted="ignore",
    )
    named = seen_by(policy.check(frame({"zip": ["a", "a"], "age": [1, 1]})))
    assert named == {
        "zip": ("quasi", ("k", "max_unique_fraction")),
        "age": ("quasi", ("max_unique_fraction",)),
    }


def test_columns_that_join_are_covered(frame):
    verdict = Policy(quasi=["zip"], k=2, unlisted="quasi").check(
        frame({"zip": ["a", "a"], "age": [1, 1]})
    )
    assert seen_by(verdict) == {"zip": ("quasi", ("k",)), "age": ("quasi", ("k",))}


def test_a_stored_verdict_keeps_what_it_covers():
    verdict = Policy(**ROLES, k=2).check(pd.DataFrame(CELLS))
    stored = json.loads(verdict.to_json())
    assert Verdict.from_json(json.dumps(stored)).coverage == verdict.coverage
    for change in (
        {"rows": 7},
        {"rows_judged": 7},
        {"rows": None},
        {"set_aside": [{"rows": -1, "reason": "x"}]},
        {"columns": []},
    ):
        with pytest.raises(ArgumentError):
            Verdict.from_json(json.dumps({**stored, "coverage": {**stored["coverage"], **change}}))


# ---- every rendering ----------------------------------------------------------------------------


@pytest.fixture
def by_command(tmp_path, monkeypatch, capsys):
    """What the command line prints and writes about one table."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"zip": ["a"] * 4, "ill": ["flu", "hiv"] * 2, "x": [1] * 4}).to_csv(
        "t.csv", index=False
    )
    policy = {
        "version": 1,
        "roles": {"quasi": ["zip"], "sensitive": ["ill"]},
        "unlisted": "ignore",
        "budgets": {"k": 2},
    }
    (tmp_path / "p.json").write_text(json.dumps(policy))
    outputs = ["--junit=j.xml", "--sarif=s.json", "--markdown=m.md", "--output=v.json"]
    assert command_line(["check", "t.csv", "--policy=p.json", *outputs]) == 0
    texts = {name: (tmp_path / name).read_text() for name in ("j.xml", "s.json", "m.md", "v.json")}
    pytest.importorskip("jinja2")
    assert command_line(["report", "t.csv", "--policy=p.json", "-o", "r.html"]) == 0
    assert command_line(["report", "t.csv", "--policy=p.json", "-o", "r.md"]) == 0
    texts |= {name: (tmp_path / name).read_text() for name in ("r.html", "r.md")}
    return {**texts, "text": capsys.readouterr().out}


@pytest.mark.parametrize("name", ["text", "j.xml", "s.json", "m.md", "v.json", "r.html", "r.md"])
def test_every_rendering_says_what_is_covered(by_command, name):
    text = " ".join(by_command[name].split())
    assert NOT_JUDGED in text
    if name == "v.json":
        covered = json.loads(text)["coverage"]
        assert (covered["rows"], covered["rows_judged"], covered["person"]) == (4, 4, None)
        assert covered["not_looked_at"] == ["x"]
        assert covered["attributes_not_judged"] == ["ill"]
        return
    assert "4 of 4 rows" in text
    assert "each row is taken for a person" in text
    assert "not looked at" in text


def test_a_pass_with_a_caveat_is_not_plain_green(by_command):
    assert by_command["m.md"].startswith("### ☑️ pass, 1 column not looked at, ")
    assert 'class="verdict doubt"' in by_command["r.html"]
    assert "<title>Pass, 1 column not looked at, attribute" in by_command["r.html"]
    plain = Policy(quasi="zip", k=2).check(pd.DataFrame({"zip": ["a", "a"]}))
    assert plain.word == "pass"


def test_a_release_says_it_of_every_table(tmp_path):
    pytest.importorskip("jinja2")
    release = anonrisk.Release(
        {"visits": pd.DataFrame({"zip": ["a"] * 4, "ill": ["flu", "hiv"] * 2})},
        Policy(quasi="zip", sensitive="ill", k=2),
        name="1",
    )
    verdict = release.check()
    page = verdict.report()
    page.save(tmp_path / "r.html")
    for text in (repr(verdict), verdict.to_markdown(), (tmp_path / "r.html").read_text()):
        assert NOT_JUDGED in text
        assert "4 of 4 rows" in text
    table = json.loads(verdict.to_json())["tables"]["visits"]
    assert table["coverage"]["attributes_not_judged"] == ["ill"]


# ---- conditions of Great Expectations -----------------------------------------------------------


def conditions():
    """Conditions on one column, each with the cells of a small domain that it keeps."""
    gx = pytest.importorskip("great_expectations.expectations.row_conditions")
    column, domain = gx.Column("x"), [None, 1, 2, 3, 4]

    def kept(test, missing=False):
        return {cell for cell in domain if (missing if cell is None else test(cell))}

    simple = [
        (column == 2, kept(lambda cell: cell == 2)),
        (column == 3, kept(lambda cell: cell == 3)),
        (column != 2, kept(lambda cell: cell != 2, missing=True)),
        (column < 3, kept(lambda cell: cell < 3)),
        (column <= 3, kept(lambda cell: cell <= 3)),
        (column > 3, kept(lambda cell: cell > 3)),
        (column >= 3, kept(lambda cell: cell >= 3)),
        (column.is_in([1, 2]), kept(lambda cell: cell in (1, 2))),
        (column.is_not_in([1, 2]), kept(lambda cell: cell not in (1, 2), missing=True)),
        (column.is_null(), {None}),
        (column.is_not_null(), kept(lambda cell: True)),
    ]
    both = [(a & b, x & y) for (a, x), (b, y) in itertools.combinations(simple, 2)]
    either = [(a | b, x | y) for (a, x), (b, y) in itertools.combinations(simple, 2)]
    return [*simple, *both, *either]


@pytest.mark.slow
def test_conditions_that_exclude_each_other_really_do():
    pytest.importorskip("anonrisk.gx")
    from anonrisk.gx.verdict import disjoint

    known = conditions()
    certain = 0
    for (one, kept), (other, left) in itertools.product(known, known):
        if disjoint(one, other):
            assert not kept & left
            certain += 1
        # What is written down says the same.
        assert disjoint(one.dict(), json.loads(other.json())) == disjoint(one, other)
    simple = known[:11]
    missed = [
        (one, other)
        for (one, kept), (other, left) in itertools.product(simple, simple)
        if not kept & left and not disjoint(one, other)
    ]
    assert certain > 100
    # 2 and 3 are all that lies between: that takes whole numbers, which nobody has promised.
    assert len(missed) <= 4


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "A"), ("a", "a "), (1, "1"), (True, 1), ("x == 1", "x == 2")],
)
def test_texts_that_some_engines_take_for_one_do_not_exclude_each_other(one, other):
    gx = pytest.importorskip("great_expectations.expectations.row_conditions")
    pytest.importorskip("anonrisk.gx")
    from anonrisk.gx.verdict import disjoint

    column = gx.Column("x")
    if str(one).startswith("x"):
        assert not disjoint(one, other)
    else:
        assert not disjoint(column == one, column == other)


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        (RowCoverage(), False),
        (RowCoverage(3, None), True),
        (RowCoverage(None, 3), True),
        (RowCoverage(None, None, (SetAside(1, "no zip"),)), True),
        (RowCoverage(3, 3), False),
        (RowCoverage(3, 2), True),
        (RowCoverage(3, 2, (SetAside(1, "no zip"),)), False),
        (RowCoverage(3, 4), True),
        (RowCoverage(3, -1, (SetAside(4, "no zip"),)), True),
    ],
)
def test_rows_that_cannot_be_of_one_table_contradict_themselves(rows, wrong):
    assert rows.contradicts_itself is wrong
