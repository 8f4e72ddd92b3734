"""Drafts: every column with a role and a reason, no cell, and no table passes before review."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk import Policy, datasets, errors
from anonrisk.cli import main
from anonrisk.engines import engine_for
from anonrisk.measures.counts.change import LeaveOut
from anonrisk.measures.counts.question import ManySets, Question
from anonrisk.measures.counts.shapes import Numerals
from anonrisk.policy.drafting import hints

CELLS = {
    "patient": [f"who-{i // 3:03}" for i in range(60)],
    "mail": [f"p{i}@mail.example" for i in range(60)],
    "serial": [f"serial {i}" for i in range(60)],
    "zip": [f"zip-{i // 3 % 12}" for i in range(60)],
    "height": [150 + i / 7 for i in range(60)],
    "born": [dt.date(1950, 1, 1) + dt.timedelta(days=37 * (i // 3)) for i in range(60)],
    "Diagnose": ["zz-flu", "zz-flu", "zz-cold", "zz-flu"] * 15,
    "country": ["zz-nl"] * 60,
    "empty": [None] * 60,
}
ROLES = {
    "patient": "unit",
    "mail": "direct",
    "serial": "direct",
    "zip": "quasi",
    "height": "quasi",
    "born": "quasi",
    "Diagnose": "sensitive",
    "country": "insensitive",
    "empty": "insensitive",
}
ODD = [
    *(
        "yes",
        "no",
        "on",
        "null",
        "~",
        "1",
        "1.5",
        "011",
        "1:30",
        "2021-01-01",
        "a: b",
        "a #b",
        "- a",
    ),
    *(
        " lead",
        "trail ",
        "a\nb",
        "a\tb",
        "😀",
        "é",
        "ze\u200bro",
        "'",
        '"',
        "{a}",
        "[a]",
        "&a",
        "*a",
    ),
    *(
        "!a",
        "%a",
        "@a",
        "`a",
        "|",
        ">",
        "=",
        "<<",
        "a,b",
        "\x07",
        "\ufeffb",
        " ",
        "x" * 300,
        "?",
        "\ud800",
    ),
]


def roles_of(policy):
    return {column: proposal.role for column, proposal in policy.drafted.proposals.items()}


def why(policy, column):
    return policy.drafted.proposals[column].reason


def reviewed(policy):
    return Policy.from_dict({**policy.to_dict(), "reviewed": True})


def without(table, *columns):
    """Drop columns of a table of any kind."""
    return engine_for(table).rewrite(table, LeaveOut(columns))


# ---- what is proposed -----------------------------------------------------------------------


def test_every_column_has_a_role_and_a_reason_in_counts(frame):
    draft = Policy.draft(frame(CELLS))
    assert roles_of(draft) == ROLES
    assert all(why(draft, column) for column in CELLS)
    assert "20 values, 3.0 rows each" in why(draft, "patient")
    assert why(draft, "mail") == "looks like an e-mail address; 60 values"
    assert why(draft, "serial") == "every value is different: 60 values in 60 rows"
    assert "of 20 persons" in why(draft, "zip")
    assert "nearly all differ: make it coarser" in why(draft, "height")
    assert why(draft, "Diagnose").startswith("sensitive? by its name; 2 values")
    assert why(draft, "country") == "one value in all 60 rows"
    assert why(draft, "empty") == "every cell is missing"
    assert draft.roles.unit == "patient"
    assert draft.drafted.n_rows == 60


@pytest.mark.contract
def test_no_cell_is_in_it_and_no_table_passes_before_review(frame):
    few = ("patient", "mail", "serial", "zip", "Diagnose")
    table = frame({name: CELLS[name] for name in few})
    draft = Policy.draft(table)
    shown = draft.to_yaml() + repr(draft) + draft._repr_html_() + draft.to_json()
    assert not [
        cell for cell in ("who-0", "mail.example", "serial 1", "zip-", "zz-") if cell in shown
    ]
    kept = without(table, "mail", "serial")
    # What fails by roles that are guesses is no verdict, whatever is measured beside it.
    verdict = draft.check(kept)
    assert verdict.status == verdict.status_with_warnings == "could_not_assess"
    found = {finding.budget: finding for finding in verdict.findings}
    assert "reviewed: false" in found["reviewed"].sentence
    assert found["k"].status == "fail"
    judged = reviewed(draft).check(kept)
    assert judged.status == "fail"
    assert {finding.status for finding in judged.findings} <= {"pass", "fail", "warn"}


def test_no_cell_of_any_kind_is_in_a_draft_and_what_must_be_gone_fails(frame):
    table = frame(CELLS)
    draft = Policy.draft(table)
    shown = draft.to_yaml() + repr(draft) + draft._repr_html_() + draft.to_json()
    assert not [cell for cell in ("150.", "1950", "zz-nl") if cell in shown]
    verdict = draft.check(table)
    assert verdict.status == verdict.status_with_warnings == "could_not_assess"


def test_a_table_that_is_coarse_enough_passes_after_review(frame):
    cells = {"region": ["n", "s"] * 20, "ill": ["a", "a", "b", "b"] * 10, "id": list(range(40))}
    table = frame(cells)
    draft = Policy.draft(table, name="mine")
    assert roles_of(draft) == {"region": "quasi", "ill": "quasi", "id": "direct"}
    kept = without(table, "id")
    assert draft.name == "mine"
    assert draft.check(kept).status == "could_not_assess"
    assert reviewed(draft).check(kept).status == "pass"


def test_what_cannot_be_compared_must_be_gone():
    table = pd.DataFrame({"zip": list("ab") * 3, "tags": [[1]] * 6, "mixed": [1, "1", 2.5] * 2})
    draft = Policy.draft(table)
    assert roles_of(draft) == {"zip": "quasi", "tags": "direct", "mixed": "direct"}
    assert "cannot be compared" in why(draft, "tags")
    assert why(draft, "mixed").endswith("it must be gone")
    declared = Policy.draft(table.anon.declare(quasi="tags", insensitive="mixed"))
    assert roles_of(declared) == {"zip": "quasi", "tags": "quasi", "mixed": "insensitive"}
    only = Policy.draft(table[["tags"]])
    assert only.roles.direct == ("tags",)
    assert "nothing to measure" in only.drafted.notes[-1]


@pytest.mark.spark
def test_structs_and_maps_must_be_gone(spark):
    table = spark.sql(
        "SELECT id % 2 AS zip, named_struct('name', id) AS person, map('a', id) AS m, "
        "array(id) AS l FROM range(10)"
    )
    draft = Policy.draft(table)
    kinds = {"zip": "quasi", "person": "direct", "m": "direct", "l": "direct"}
    assert roles_of(draft) == kinds
    assert "struct" in why(draft, "person")


def test_declared_roles_win(frame):
    table = frame(CELLS).anon.declare(quasi=["Diagnose"], sensitive="zip", insensitive="mail")
    draft = Policy.draft(table)
    expected = {**ROLES, "Diagnose": "quasi", "zip": "sensitive", "mail": "insensitive"}
    assert roles_of(draft) == expected
    assert why(draft, "zip") == why(draft, "Diagnose") == "the table declares it so"


def test_a_declared_unit_is_the_unit_and_a_direct_one_is_gone():
    table = pd.DataFrame(CELLS)
    draft = Policy.draft(table.anon.declare(quasi="zip", unit="serial"))
    assert draft.roles.unit == "serial"
    assert draft.roles.direct == ("patient", "mail")
    draft = Policy.draft(table.anon.declare(quasi="zip", direct="patient", unit="patient"))
    assert "patient" in draft.roles.direct
    assert "pseudonym" in why(draft, "patient")


def test_of_two_keys_neither_is_the_unit():
    table = pd.DataFrame(CELLS).assign(user_id=CELLS["patient"][::-1])
    draft = Policy.draft(table)
    assert draft.roles.unit is None
    assert {"user_id", "patient"} <= {*draft.roles.direct}
    gaps = pd.DataFrame(CELLS).rename(columns={"patient": "user_id"})
    gaps.loc[0, "user_id"] = None
    assert roles_of(Policy.draft(gaps))["user_id"] == "direct"


def test_a_value_for_each_person_is_direct_though_it_repeats():
    table = pd.DataFrame(CELLS).assign(policy_no=[f"p{i // 3}" for i in range(60)])
    draft = Policy.draft(table)
    assert roles_of(draft)["policy_no"] == "direct"
    assert why(draft, "policy_no") == "100.0% of 20 persons have a value that nobody else has"
    # A date that everybody has another one of is measured, not a name.
    assert roles_of(draft)["born"] == "quasi"


def test_amounts_are_no_keys_and_keys_are():
    rng = np.random.default_rng(1)
    whole = rng.integers(10_000, 90_000, 3_000)
    table = pd.DataFrame(
        {
            "sales": np.append(whole, whole[:30]),
            "salary": range(3_030),
            "number": range(3_030),
            "notes": [f"text {i % 2_990}" for i in range(3_030)],
        }
    )
    for cells in (table, table.astype(str)):
        kinds = {"sales": "quasi", "salary": "sensitive", "number": "direct", "notes": "direct"}
        assert roles_of(Policy.draft(cells)) == kinds


# ---- budgets --------------------------------------------------------------------------------


def test_without_a_sensitive_column_its_budgets_are_left_out_and_shown():
    table = pd.DataFrame({"zip": list("ab") * 20, "answer": ["y"] * 38 + ["n", "?"]})
    draft = Policy.draft(table)
    assert [budget.name for budget in draft.rules[0].budgets] == ["k"]
    assert "or sensitive? Few values, the commonest in 95.0% of the rows" in why(draft, "answer")
    assert "ldiv and tcloseness can never pass" in draft.drafted.notes[0]
    text = draft.to_yaml()
    assert "  # ldiv: {l: 2, variant: distinct}" in text
    assert Policy.from_yaml(text).digest == draft.digest
    edited = text.replace("  sensitive:\n", "  sensitive: [answer]\n").replace("  # ldiv", "  ldiv")
    edited = "\n".join(line for line in edited.splitlines() if "- answer " not in line)
    assert [b.name for b in Policy.from_yaml(edited).rules[0].budgets] == ["k", "ldiv"]


def test_counts_only_ask_where_no_name_tells():
    table = pd.DataFrame({"answer": ["y"] * 38 + ["n", "?"], "income": [1, 2] * 20})
    assert "sensitive?" not in why(Policy.draft(table), "answer")
    assert "or sensitive?" in why(Policy.draft(table.rename(columns={"answer": "race"})), "race")


def test_the_ready_policy_gives_budgets_and_names():
    table = pd.DataFrame({"zip": list("abcd") * 10, "sex": list("ffmm") * 10, "cost": [1, 2] * 20})
    draft = Policy.draft(table, ready="hipaa_style")
    assert roles_of(draft) == {"zip": "direct", "sex": "quasi", "cost": "sensitive"}
    assert why(draft, "zip") == "the ready policy hipaa_style names it"
    assert set(Policy.ready("hipaa_style").roles.direct) == set(draft.roles.direct)
    ready = Policy.ready("hipaa_style").rules[0].budgets
    assert draft.rules[0].budgets == ready
    assert Policy.from_yaml(draft.to_yaml()).digest == draft.digest
    with pytest.raises(errors.PolicyError, match="did you mean 'open_data'"):
        Policy.draft(table, ready="opendata")


# ---- small, odd and large tables --------------------------------------------------------------


def test_one_column_is_measured_whatever_it_is():
    for cells in (["a", "b"] * 3, ["a"] * 6, [None] * 6):
        draft = Policy.draft(pd.DataFrame({"diagnosis": cells}))
        assert draft.roles.quasi == ("diagnosis",), cells
        assert reviewed(draft).check(pd.DataFrame({"diagnosis": ["a"] * 5})).status == "pass"
    assert "no other column is left" in why(draft, "diagnosis")


def test_one_row():
    draft = Policy.draft(pd.DataFrame({"a": [1], "b": ["x"]}))
    assert roles_of(draft) == {"a": "quasi", "b": "quasi"}


def test_what_no_policy_can_be_about_is_refused(frame):
    with pytest.raises(errors.EmptyTableError, match="no record to draft"):
        Policy.draft(frame({"zip": [], "age": []}))
    if not frame.is_pandas:
        return
    with pytest.raises(errors.NoColumnsError, match="no column"):
        Policy.draft(pd.DataFrame(index=[1, 2]))
    with pytest.raises(errors.DuplicateColumnError, match="column 'a' is the name of 2 columns"):
        Policy.draft(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    for name in (("a", "b"), "", None, True, 1.5, pd.Timestamp("2021-01-01")):
        with pytest.raises(errors.ArgumentError, match="cannot be named in a policy"):
            Policy.draft(pd.DataFrame([[1]], columns=pd.Index([name], tupleize_cols=False)))
    with pytest.raises(errors.UnsupportedFrameError):
        Policy.draft([1, 2])
    with pytest.raises(errors.ArgumentError, match="time_limit"):
        Policy.draft(pd.DataFrame({"a": [1]}), time_limit=0)


@pytest.mark.spark
def test_repeated_names_are_refused_on_spark(spark):
    table = spark.sql("SELECT 1 AS a, 2 AS a")
    with pytest.raises(errors.DuplicateColumnError, match="give each column a name of its own"):
        Policy.draft(table)


def test_the_index_is_listed_and_must_be_gone():
    table = pd.DataFrame({"zip": list("ab") * 20, "town": list("cd") * 20}).set_index("town")
    draft = Policy.draft(table)
    assert draft.roles.direct == ("town",)
    assert "reset_index()" in why(draft, "town")
    assert {f.budget for f in draft.check(table).findings} >= {"reviewed", "direct"}
    with pytest.raises(errors.DuplicateColumnError):
        Policy.draft(table.rename_axis("zip"))
    unnamed = table.set_axis([f"p{i}" for i in range(40)])
    assert "labels without a name" in Policy.draft(unnamed).drafted.notes[-1]


@pytest.mark.parametrize("numbered", [False, True])
def test_odd_names_are_quoted(numbered):
    names = [*ODD, *((1, 2, -3) if numbered else ())]
    table = pd.DataFrame([range(len(names))] * 3, columns=pd.Index(names, dtype=object))
    draft = Policy.draft(table)
    text = draft.to_yaml()
    assert Policy.from_yaml(text).roles == draft.roles
    assert Policy.from_yaml(text).digest == Policy.from_json(draft.to_json()).digest == draft.digest
    assert draft.listed == set(names)
    # Whoever edits it moves whole lines, and sees what is in a name.
    lines = [line for line in text.splitlines() if line.startswith("    - ")]
    assert len(lines) == len(names)
    assert all("  # " in line for line in lines)
    assert all(sign not in text + repr(draft) for sign in ("\u200b", "\x07", "\ufeff", "\t"))


def test_odd_names_in_reasons_stay_on_one_line():
    table = pd.DataFrame({"a\n- b": range(30), "c\x1b[31m": [i // 2 for i in range(30)]})
    table = table.assign(**{"d\n": [i % 15 for i in range(30)], "a\n- b": [0.5] * 29 + [1]})
    draft = Policy.draft(table)
    assert Policy.from_yaml(draft.to_yaml()).digest == draft.digest
    assert "\x1b" not in draft.to_yaml() + repr(draft)


def test_out_of_time_it_says_so():
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (200, 30))).add_prefix("q")
    draft = Policy.draft(table, time_limit=1e-9)
    assert "The search stopped after 1e-09 seconds" in draft.drafted.notes[0]
    assert "as far as the search came" in why(draft, "q0")
    assert "# The search stopped" in draft.to_yaml()
    assert len(draft.roles.quasi) == 30


@pytest.mark.nightly
def test_three_hundred_columns_are_drafted_in_bounded_time():
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 30, (5_000, 300))).add_prefix("q")
    draft = Policy.draft(table, time_limit=1)
    assert len(draft.roles.quasi) == 300
    assert Policy.from_yaml(draft.to_yaml()).digest == draft.digest


# ---- the object, and files ----------------------------------------------------------------------


def test_reasons_are_no_part_of_the_policy(tmp_path):
    draft = Policy.draft(pd.DataFrame(CELLS))
    plain = Policy.from_dict(draft.to_dict())
    assert plain == draft
    assert hash(plain) == hash(draft)
    assert plain.digest == draft.digest
    assert plain.drafted is None
    assert "reason" in repr(draft)
    assert "reason" not in repr(plain)
    assert "#" not in plain.to_yaml()
    assert draft.with_roles(quasi=["born"]).drafted is None
    assert not draft.with_roles(insensitive=["born"], quasi=["zip"]).reviewed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.yaml", "p.json", "p"])
def test_a_saved_draft_is_the_same_policy(tmp_path, name):
    draft = Policy.draft(pd.DataFrame(CELLS))
    draft.save(tmp_path / name)
    loaded = Policy.load(tmp_path / name)
    assert loaded == draft
    assert not loaded.reviewed
    written = (tmp_path / name).read_text(encoding="utf-8")
    assert ("# " in written) is (name != "p.json")
    with pytest.raises(errors.PolicyError, match="cannot write the policy"):
        draft.save(tmp_path / "no folder" / name)


def test_numbers_and_dates_are_counted_alike_on_every_engine(frame):
    cells = {
        "whole": [1, 2, None, 2],
        "float": [1.0, 2.5, None, 2.5],
        "date": [dt.date(2021, 1, 1), None, None, dt.date(2021, 1, 2)],
        "text": ["1", "2,5", "2021-01-02", "x"],
        "empty": [None] * 4,
    }
    table = frame(cells)
    engine = engine_for(table)
    counter = engine.count(table, ManySets(Question((tuple(cells),))))
    found = dict(zip(counter.columns, counter.numerals(), strict=True))
    # Without a type for missing whole numbers, pandas has floats; a fraction of nought is none.
    assert found == {
        "whole": Numerals(n_whole=3),
        "float": Numerals(n_whole=1, n_fractions=2),
        "date": Numerals(n_dates=2),
        "text": Numerals(1, 1, 1),
        "empty": Numerals(),
    }


@pytest.mark.parametrize("name", ["Naam", "E-mail", "achternaam", "IP address", "prénom", "SSN"])
def test_names_that_name_people(name):
    assert hints.names_a_person(name)
    assert not hints.is_sensitive(name)


@pytest.mark.parametrize(
    "name",
    ["Diagnose", "annual_income", "RELIGION", "gehalt", "revenu", "maladie", "icd10", "DEBTS"],
)
def test_names_that_are_sensitive(name):
    assert hints.is_sensitive(name)
    assert not hints.names_a_person(name)


@pytest.mark.parametrize("name", ["zip", "age", "drug_name_length", "😀", "", 3, "hospital_id"])
def test_names_that_name_nobody(name):
    assert not hints.names_a_person(name)
    assert not hints.is_key_of_person(name)


# ---- real tables --------------------------------------------------------------------------------


def test_the_hospital():
    draft = Policy.draft(datasets.hospital(2_000))
    assert draft.roles.unit == "patient"
    assert draft.roles.quasi == ("pc4", "date_of_birth", "gender", "admission_date")
    assert draft.roles.sensitive == ("diagnosis", "cost")


@pytest.mark.slow
def test_adult(shared):
    table = pd.read_csv(shared / "data" / "tables" / "adult.csv", dtype=str)
    draft = Policy.draft(table)
    assert draft.roles.sensitive == ("capital_gain", "capital_loss", "salary_class")
    assert draft.roles.direct == draft.roles.insensitive == ()
    assert "sampling weight" in why(draft, "fnlwgt")


# ---- the command line ---------------------------------------------------------------------------


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(CELLS).to_csv("t.csv", index=False)

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return call


def test_the_command_prints_a_policy(run):
    code, out, err = run("draft", "t.csv")
    assert (code, err) == (0, "")
    policy = Policy.from_yaml(out)
    assert not policy.reviewed
    assert policy.listed == set(CELLS)
    assert "looks like an e-mail address" in out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.yaml", "p.json"])
def test_the_command_writes_a_policy_that_check_reads(run, name):
    code, out, _ = run("draft", "t.csv", "-o", name, "--ready", "cms_k11", "--name", "mine")
    assert code == 0
    assert f"Wrote {name}" in out
    assert "looks like an e-mail address" in out
    policy = Policy.load(name)
    assert (policy.name, policy.rules[0].budgets[0].limit) == ("mine", 11)
    assert run("check", "t.csv", "--policy", name)[0] == 3
    table = pd.read_csv("t.csv", dtype=str)[["zip", "Diagnose", "country", "empty", "patient"]]
    table.assign(height="", born="").to_csv("kept.csv", index=False)
    code, out, _ = run("check", "kept.csv", "--policy", name, "--json")
    told = {finding["budget"]: finding["status"] for finding in json.loads(out)["budgets"]}
    assert told["reviewed"] == "could_not_assess"
    reviewed(policy).save(name)
    assert run("check", "kept.csv", "--policy", name)[0] == 1


def test_the_command_replaces_nothing_unasked(run):
    Path("p.yaml").write_text("mine")
    for arguments in (("-o", "p.yaml"), ("-o", "t.csv", "--force"), ("-o", "x.csv"), ("--force",)):
        code, _, err = run("draft", "t.csv", *arguments)
        assert code == 2, arguments
        assert "wrong usage" in err
    assert Path("p.yaml").read_text() == "mine"
    # A run that fails leaves what somebody has edited.
    assert run("draft", "gone.csv", "-o", "p.yaml", "--force")[0] == 3
    assert Path("p.yaml").read_text() == "mine"
    assert run("draft", "t.csv", "-o", "p.yaml", "--force")[0] == 0
    assert Policy.load("p.yaml").listed == set(CELLS)


def test_the_command_tells_machines_the_reasons(run):
    code, out, _ = run("draft", "t.csv", "--json")
    told = json.loads(out)
    assert code == 0
    assert Policy.from_dict(told["policy"]).listed == set(CELLS)
    assert [entry["column"] for entry in told["columns"]] == list(CELLS)
    assert {entry["role"] for entry in told["columns"]} <= set(ROLES.values())


def test_the_command_refuses_in_words(run):
    code, _, err = run("draft", "gone.csv", "--ready", "cms")
    assert code == 2
    assert "did you mean 'cms_k11'?" in err
    Path("header.csv").write_text("a,b\n")
    code, _, err = run("draft", "header.csv")
    assert code == 3
    assert "no record to draft" in err


@pytest.mark.slow
def test_without_yaml_the_command_writes_json(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    assert run("draft", "t.csv", "-o", "p.json")[0] == 0
    assert run("draft", "t.csv", "--json")[0] == 0
    code, _, err = run("draft", "t.csv", "-o", "p.yaml")
    assert code == 2
    assert "JSON works without" in err
    assert not Path("p.yaml").exists()
    assert anonrisk.Policy.ready("open_data").rules
