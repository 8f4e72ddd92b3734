"""What a gate says of columns: direct identifiers by any spelling, columns that nobody named."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest
from tables import THROUGH_ARROW

import anonrisk
from anonrisk import Policy, Verdict
from anonrisk.cli import main as command_line
from anonrisk.errors import ArgumentError, PolicyError, ReleaseBlocked

FULL_WIDTH = "\uff4e\uff41\uff4d\uff45"
SPELT_OTHERWISE = {
    "upper case": "NAME",
    "a capital": "Name",
    "a space": " name",
    "a no-break space": "name\u00a0",
    "a zero-width space": "na\u200bme",
    "a byte order mark": "\ufeffname",
    "a soft hyphen": "na\u00admE",
    "a nul": "name\x00",
    "full width": FULL_WIDTH,
    "joints": "n.a-m_e",
    "a Cyrillic letter": "n\u0430me",
    "a Greek letter": "n\u03b1me",
    "an accent": "nam\u00e9",
    "brackets": "(name)",
    "a slash": "na/me",
    "a sign": "name#",
    "the left of a join": "name_x",
    "the second of its name": "name.1",
}
ZIP = {"zip": ["a"] * 4}
MORE = {**ZIP, "note": ["x", "y", "z", "u"]}


def findings(verdict):
    return {finding.budget: finding for finding in verdict.findings}


def status(verdict, budget):
    found = findings(verdict).get(budget)
    return None if found is None else found.status


# ---- direct identifiers, however they are spelt -------------------------------------------------


@pytest.mark.contract
@pytest.mark.parametrize("spelt", SPELT_OTHERWISE.values(), ids=SPELT_OTHERWISE)
def test_a_direct_identifier_spelt_otherwise_is_in_doubt(frame, spelt):
    table = frame({**ZIP, spelt: ["x", "x", "y", "y"]})
    verdict = Policy(quasi="zip", direct="name", k=2, unlisted="ignore").check(table)
    assert status(verdict, "direct") == verdict.status == "could_not_assess"
    told = findings(verdict)["direct"].sentence
    assert repr(spelt) in told
    assert "is, which may be the same" in told
    # Letters that look like others are written out.
    assert ("\\u0" in told) == (spelt in ("n\u0430me", "n\u03b1me"))


@pytest.mark.parametrize("spelt", SPELT_OTHERWISE.values(), ids=SPELT_OTHERWISE)
def test_one_spelt_otherwise_is_in_doubt_until_somebody_has_looked_at_it(frame, spelt):
    table = frame({**ZIP, spelt: ["x", "x", "y", "y"]})
    asked = {"quasi": "zip", "direct": "name", "k": 2}
    for unlisted in ("refuse", "quasi"):
        verdict = Policy(**asked, unlisted=unlisted).check(table)
        assert status(verdict, "direct") == verdict.status == "could_not_assess", unlisted
    named = Policy(**asked, insensitive=spelt).check(table)
    assert (named.status, status(named, "direct")) == ("pass", "pass")


@pytest.mark.contract
# Spark, DuckDB and SQLite cannot tell the two apart.
@pytest.mark.kinds("pandas", "polars", "arrow_more", "postgresql")
def test_the_direct_identifier_itself_fails_beside_one_that_is_spelt_otherwise(frame):
    table = frame({**ZIP, "name": list("abcd"), "NAME": list("abcd")})
    verdict = Policy(quasi="zip", direct="name", k=2, unlisted="ignore").check(table)
    assert (verdict.status, status(verdict, "direct")) == ("fail", "fail")


@pytest.mark.contract
@pytest.mark.parametrize("other", ["names", "surname", "nam", "name2", "name_x_2"])
def test_another_name_is_another_column(frame, other):
    table = frame({**ZIP, other: list("abcd")})
    verdict = Policy(quasi="zip", direct="name", k=2, unlisted="ignore").check(table)
    assert (verdict.status, status(verdict, "direct")) == ("pass", "pass")


@pytest.mark.contract
def test_names_of_which_nothing_is_left_are_compared_exactly(frame):
    table = frame({**ZIP, "__": list("abcd")})
    policy = Policy(quasi="zip", direct="_", k=2, unlisted="ignore")
    assert policy.check(table).passed
    assert status(Policy(quasi="zip", direct="__", k=2).check(table), "direct") == "fail"


def test_numbers_are_compared_as_their_texts():
    table = pd.DataFrame({"zip": ["a"] * 4, 0: list("abcd")})
    asked = {"quasi": "zip", "k": 2, "unlisted": "ignore"}
    assert status(Policy(**asked, direct=[0]).check(table), "direct") == "fail"
    assert status(Policy(**asked, direct=["0"]).check(table), "direct") == "fail"
    assert status(Policy(**asked, direct=["00"]).check(table), "direct") == "pass"
    assert status(Policy(**asked, direct=[1]).check(table), "direct") == "pass"


def with_struct(frame):
    """A table with a person, of whom the name is a part."""
    people = [{"name": name, "age": 1} for name in "abcd"]
    if frame.kind in (*THROUGH_ARROW, "scan"):
        return frame({**ZIP, "person": people})
    table = frame({**ZIP, "name": list("abcd")})
    if frame.kind == "duckdb_sql":
        query = f"SELECT zip, {{'name': name, 'age': 1}} AS person FROM {table.name}"
        return anonrisk.sql.table(frame.connection, query)
    if frame.kind == "pandas_on_spark":
        person = "struct(name, 1 as age) as person"
        return table.to_spark().selectExpr("zip", person).pandas_api()
    if not frame.is_pandas:
        return table.selectExpr("zip", "struct(name, 1 as age) as person")
    pa = pytest.importorskip("pyarrow")
    kind = pd.ArrowDtype(pa.struct([("name", pa.string()), ("age", pa.int64())]))
    return table[["zip"]].assign(person=pd.Series(people, dtype=kind))


@pytest.mark.contract
@pytest.mark.kinds(
    *("pandas", "arrow", "arrow_more", "scan", "duckdb_sql", "spark", "connect", "pandas_on_spark")
)
def test_a_name_inside_a_struct_is_found(frame):
    table = with_struct(frame)
    for direct, expected in (
        ("person.name", "fail"),
        ("name", "could_not_assess"),
        ("Person.NAME", "could_not_assess"),
        ("person_name", "could_not_assess"),
        ("phone", "pass"),
    ):
        # That somebody has looked at the person does not say that he has looked inside.
        for named in ({"unlisted": "ignore"}, {"insensitive": "person"}):
            verdict = Policy(quasi="zip", direct=direct, k=2, **named).check(table)
            assert status(verdict, "direct") == expected, (direct, named)
            assert verdict.status == expected
    looked = Policy(quasi="zip", direct="name", insensitive=["person", "person.name"], k=2)
    assert looked.check(table).passed


def test_an_index_is_published_by_its_name():
    table = pd.DataFrame({**ZIP, "name": list("abcd")})
    asked = {"quasi": "zip", "direct": "name", "k": 2, "unlisted": "ignore"}
    assert Policy(**asked).check(table.set_index("name")).status == "fail"
    for spelt in SPELT_OTHERWISE.values():
        moved = table.rename(columns={"name": spelt}).set_index(spelt)
        assert Policy(**asked).check(moved).status == "could_not_assess", spelt
        named = {**asked, "unlisted": "refuse", "insensitive": spelt}
        assert Policy(**named).check(moved).passed, spelt


def test_labels_of_several_levels_are_found_by_their_last():
    labels = pd.MultiIndex.from_tuples([("zip", ""), ("person", "Name")])
    table = pd.DataFrame([["a", "x"], ["a", "y"]], columns=labels)
    for direct, expected in (
        ("name", "could_not_assess"),
        ("person.name", "could_not_assess"),
        ("phone", "pass"),
    ):
        declared = table.anon.declare(quasi=[("zip", "")])
        verdict = Policy(direct=direct, k=2, unlisted="ignore").check(declared)
        assert verdict.status == expected, direct


# ---- columns that nobody has named --------------------------------------------------------------


@pytest.mark.contract
def test_a_column_without_a_role_is_refused_by_default(frame):
    verdict = Policy(quasi="zip", k=2).check(frame(MORE))
    assert verdict.status == status(verdict, "unlisted") == "could_not_assess"
    assert "quasi: [note]" in findings(verdict)["unlisted"].sentence
    assert verdict.not_looked_at == ()
    assert verdict.columns == {"zip": "quasi", "note": None}
    # The line can be pasted.
    named = Policy.from_dict(
        {
            "version": 1,
            "roles": {"quasi": ["zip"], "insensitive": ["note"]},
            "budgets": {"k": 2},
        }
    )
    assert named.check(frame(MORE)).passed


@pytest.mark.contract
def test_what_a_table_declares_is_listed(frame):
    declared = frame(MORE).anon.declare(quasi="zip", insensitive="note")
    verdict = Policy(k=2).check(declared)
    assert verdict.passed
    assert verdict.columns == {"zip": "quasi", "note": "insensitive"}


@pytest.mark.contract
def test_a_column_that_is_ignored_is_told(frame):
    verdict = Policy(quasi="zip", k=2, unlisted="ignore").check(frame(MORE))
    assert verdict.passed
    assert verdict.not_looked_at == ("note",)
    for told in (repr(verdict), verdict._repr_html_()):
        assert "note: not looked at" in told
    assert json.loads(verdict.to_json())["coverage"]["not_looked_at"] == ["note"]


@pytest.mark.contract
def test_a_column_that_joins_is_measured_everywhere(frame):
    asked = {"quasi": ["zip", "age"], "unit": "who", "unlisted": "quasi"}
    rules = [
        {"columns": ["zip"], "budgets": {"k": 2}},
        {"every_subset_of": 1, "budgets": {"k": 3}},
    ]
    cells = {**MORE, "age": [1] * 4, "who": [1, 2, 3, 4]}
    verdict = Policy(**asked, k=5, qids=rules).check(frame(cells))
    qids = {finding.limit: finding.qid for finding in verdict.findings}
    assert qids == {5: ("zip", "age", "note"), 2: ("zip", "note"), 3: ("note",)}
    assert {finding.value for finding in verdict.findings} == {1}
    assert verdict.columns == {"zip": "quasi", "note": "quasi", "age": "quasi", "who": "unit"}
    assert verdict.not_looked_at == ()
    alone = Policy(**asked, k=4, qids=rules).check(frame({**cells, "note": ["x"] * 4}))
    assert alone.passed


def test_a_named_index_is_a_column_without_a_role():
    table = pd.DataFrame(MORE).set_index("note")
    asked = {"quasi": "zip", "k": 2}
    refused = Policy(**asked).check(table)
    assert status(refused, "unlisted") == "could_not_assess"
    assert "quasi: [note]" in findings(refused)["unlisted"].sentence
    assert Policy(**asked, unlisted="ignore").check(table).not_looked_at == ("note",)
    joined = Policy(**asked, unlisted="quasi").check(table)
    assert (joined.status, findings(joined)["k"].qid) == ("fail", ("zip", "note"))
    assert Policy(**asked, insensitive="note").check(table).passed


NUMBERED = {
    "made by pandas": (pd.RangeIndex(4), ()),
    "from one": (pd.RangeIndex(1, 5), ("row labels",)),
    "what a filter leaves": (pd.Index([0, 3, 17, 399]), ("row labels",)),
}
LABELLED = {
    "beyond a hundred times the rows": pd.Index([0, 3, 17, 400]),
    "repeated": pd.Index([0, 1, 1, 2]),
    "shuffled": pd.Index([0, 2, 1, 3]),
    "below zero": pd.Index([-1, 0, 1, 2]),
    "no whole numbers": pd.Index([0.0, 1.0, 2.0, 3.0]),
    "texts": pd.Index(list("uvwx")),
    "two levels": pd.MultiIndex.from_product([[0], range(4)]),
}


@pytest.mark.parametrize(("index", "told"), NUMBERED.values(), ids=NUMBERED)
@pytest.mark.parametrize("unlisted", ["refuse", "quasi", "ignore"])
def test_row_numbers_are_told_and_never_join(index, told, unlisted):
    verdict = Policy(quasi="zip", k=4, unlisted=unlisted).check(pd.DataFrame(ZIP, index=index))
    assert verdict.passed
    assert verdict.not_looked_at == told
    assert findings(verdict)["k"].qid == ("zip",)
    assert ("write the table with index=False" in repr(verdict)) is bool(told)


@pytest.mark.parametrize("index", LABELLED.values(), ids=LABELLED)
def test_other_labels_of_rows_are_columns_like_any_other(index):
    table = pd.DataFrame(ZIP, index=index)
    refused = Policy(quasi="zip", k=4).check(table)
    assert status(refused, "unlisted") == "could_not_assess"
    assert "reset_index(drop=True)" in findings(refused)["unlisted"].sentence
    joined = Policy(quasi="zip", k=4, unlisted="quasi").check(table)
    assert joined.status == "fail"
    assert findings(joined)["k"].qid[:2] == ("zip", "row labels")
    ignored = Policy(quasi="zip", k=4, unlisted="ignore").check(table)
    assert (ignored.status, ignored.not_looked_at) == ("pass", ("row labels",))
    assert Policy(quasi="zip", k=4).check(table.reset_index(drop=True)).passed


def test_a_column_may_have_the_name_that_labels_get():
    table = pd.DataFrame({**ZIP, "row labels": [1] * 4}, index=list("uvwx"))
    verdict = Policy(quasi="zip", k=4, unlisted="quasi").check(table)
    assert verdict.status == "could_not_assess"
    assert "'row labels' is the name of 2 columns" in findings(verdict)["k"].sentence


@pytest.mark.parametrize("unlisted", ["refuse", "quasi", "ignore"])
def test_an_index_does_not_hide_behind_the_name_of_a_column(unlisted):
    cells = {**ZIP, "ill": ["flu", "cold"] * 2, "who": [1, 2, 3, 4]}
    roles = {"quasi": "zip", "sensitive": "ill", "unit": "who"}
    policy = Policy(**roles, k=2, ldiv={"l": 2}, unlisted=unlisted)
    assert policy.check(pd.DataFrame(cells)).passed
    for name in roles.values():
        table = pd.DataFrame(cells, index=pd.Index(list("uvwx"), name=name))
        verdict = policy.check(table)
        assert verdict.status == "could_not_assess", name
        assert "reset_index(drop=True)" in " ".join(f.sentence for f in verdict.failures)


# ---- diagnoses that are missing, drafts ---------------------------------------------------------


@pytest.mark.contract
def test_a_missing_diagnosis_is_no_second_one(frame):
    table = frame({**ZIP, "ill": ["hiv", "hiv", "hiv", None]})
    asked = {"quasi": "zip", "sensitive": "ill", "k": 2, "ldiv": {"l": 2}}
    verdict = Policy(**asked).check(table)
    assert verdict.status == status(verdict, "ldiv") == "could_not_assess"
    assert status(verdict, "k") == "pass"
    told = findings(verdict)["ldiv"].sentence
    assert "is missing in 1 row" in told
    assert "missing_sensitive" in told
    for means, expected in (("value", "pass"), ("error", "could_not_assess")):
        assert Policy(**asked, missing_sensitive=means).check(table).status == expected
    dropped = Policy(**asked, missing_sensitive="drop", max_dropped_fraction=0.5).check(table)
    assert (dropped.status, findings(dropped)["ldiv"].value) == ("fail", 1)
    # Nothing is asked of the values, so that none is needed.
    assert Policy(quasi="zip", sensitive="ill", k=2).check(table).passed


@pytest.mark.contract
def test_a_draft_passes_no_table(frame, tmp_path, capsys):
    table = frame(ZIP)
    draft = Policy(quasi="zip", k=2, reviewed=False)
    verdict = draft.check(table)
    assert verdict.status == status(verdict, "reviewed") == "could_not_assess"
    assert "draft that nobody has reviewed" in findings(verdict)["reviewed"].sentence
    assert Policy(quasi="zip", k=2).check(table).passed
    assert Policy.from_json(draft.to_json()).reviewed is False
    pd.DataFrame(ZIP).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "p.json").write_text(draft.to_json())
    asked = ["check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json")]
    assert command_line(asked) == 3
    assert "nobody has reviewed" in " ".join(capsys.readouterr().out.split())
    gx = pytest.importorskip("anonrisk.gx")
    # Great Expectations takes tables of pandas and Spark.
    if not frame.is_pandas and frame.kind not in ("spark", "connect"):
        return
    with pytest.raises(ReleaseBlocked, match="nobody has reviewed") as blocked:
        gx.run_gate(draft.to_suite(), table)
    assert blocked.value.verdict.status == "could_not_assess"


# ---- verdicts that contradict themselves --------------------------------------------------------


@pytest.fixture(scope="module")
def passed():
    return Policy(quasi="zip", k=2).check(pd.DataFrame(ZIP), name="t").to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"value": None, "margin": None},
        {"limit": None},
        {"value": 1},
        {"value": 1, "margin": -1},
        {"limit": 9},
        {"margin": 1},
        {"status": "fail"},
        {"value": "nan"},
        {"value": True},
        {"value": "4"},
        {"severity": "waived"},
        {"status": "waived"},
    ],
    ids=str,
)
def test_a_finding_that_contradicts_itself_is_refused(passed, change):
    assert Verdict.from_json(json.dumps(passed)).passed
    worse = {**passed, "budgets": [{**passed["budgets"][0], **change}]}
    for told in ("pass", "fail"):
        with pytest.raises(ArgumentError):
            Verdict.from_json(json.dumps({**worse, "status": told}))


@pytest.mark.parametrize(
    "change",
    [
        {"n_rows": None},
        {"n_rows": 0},
        {"n_rows": True},
        {"n_rows": "4"},
        {"coverage": {}},
        {"engine": None},
        {"engine": ""},
        {"budgets": []},
        {"status": "fail"},
        {"status": "could_not_assess"},
        {"schema_version": 1},
        {"schema_version": None},
        {"checked_at": "soon"},
        {"fail_on": "never"},
        {"files": None},
        {"policy": None},
    ],
    ids=str,
)
def test_a_verdict_that_contradicts_itself_is_refused(passed, change):
    with pytest.raises(ArgumentError):
        Verdict.from_json(json.dumps({**passed, **change}))


def test_the_time_is_no_part_of_a_verdict(passed):
    first = Verdict.from_json(json.dumps(passed))
    later = replace(first, checked_at="2020-01-01T00:00:00+00:00")
    assert later == first
    assert Verdict.from_json(later.to_json()).checked_at == "2020-01-01T00:00:00+00:00"


def test_strict_is_gone_and_says_what_took_its_place():
    for given in ({"strict": True}, {"strict": False}):
        with pytest.raises(PolicyError, match=r"'refuse' .*'quasi' or 'ignore'"):
            Policy(quasi="zip", k=2, **given)
