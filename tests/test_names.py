"""Several names in one text are refused where a list may stand: as one they find nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk import errors
from anonrisk.cli import main
from anonrisk.core.columns import as_names
from anonrisk.priors.prior import as_qid

CELLS = {"zip": ["a", "a"], "age": [1, 1], "zip, age": [2, 3]}


@pytest.mark.parametrize(
    "call",
    [
        lambda t: anonrisk.k(t, "zip,sex"),
        lambda t: anonrisk.summary(t, "zip,sex"),
        lambda t: anonrisk.summary(t, [["age"], "zip,sex"]),
        lambda t: anonrisk.ldiv(t, "age", "zip,sex"),
        lambda t: anonrisk.find_qids(t, qids="zip,sex"),
        lambda t: anonrisk.generalize(t, "zip,sex", prefix=1),
        lambda t: anonrisk.declare(t, quasi="zip,sex"),
        lambda t: anonrisk.declare(t, direct="zip,sex"),
        lambda t: anonrisk.hipaa.safe_harbor(t, dates="zip,sex"),
    ],
)
def test_a_call_that_takes_a_list_refuses_several_names_in_one_text(frame, call):
    with pytest.raises(errors.ArgumentError, match=r"one name; write a list: \['zip', 'sex'\]"):
        call(frame(CELLS))


def test_a_column_of_that_name_is_given_in_a_list(frame):
    table = frame(CELLS)
    with pytest.raises(errors.ArgumentError, match=r"write a list: \['zip, age'\]$"):
        anonrisk.k(table, "zip, age")
    assert anonrisk.k(table, ["zip, age"]) == 1


@pytest.mark.parametrize("between", [",", ", ", "\n", "\r\n", "\x85", "\u2028", "\x0b"])
def test_commas_and_line_ends_stand_between_names(between):
    with pytest.raises(errors.ArgumentError) as raised:
        as_names(f"zip{between}age", "quasi-identifier")
    assert str(raised.value).endswith("write a list: ['zip', 'age']")


@pytest.mark.parametrize("given", [",", "\n"])
def test_a_text_without_a_name_is_shown_as_it_is(given):
    with pytest.raises(errors.ArgumentError) as raised:
        as_names(given, "quasi-identifier")
    assert str(raised.value).endswith(f"write a list: [{given!r}]")


@pytest.mark.parametrize("role", ["direct", "quasi", "sensitive", "insensitive"])
def test_a_role_of_a_policy_refuses_several_names_in_one_text(role):
    pytest.importorskip("yaml")
    text = f"version: 1\nroles:\n  {role}: name, ssn\nbudgets: {{k: 2}}"
    with pytest.raises(errors.PolicyError) as raised:
        anonrisk.Policy.from_yaml(text)
    assert str(raised.value) == f"roles.{role}: 'name, ssn' is one name; write a list: [name, ssn]"


def test_other_lists_of_a_policy_refuse_it_too():
    sensitive = {"l": 2, "variant": "distinct", "sensitive": "a\nb"}
    with pytest.raises(errors.PolicyError, match=r"ldiv\.sensitive: 'a\\nb' .*: \[a, b\]"):
        anonrisk.Policy(quasi=["zip"], ldiv=sensitive)
    with pytest.raises(errors.PolicyError, match=r"qids\[0\]\.columns: 'a,b' .*: \[a, b\]"):
        anonrisk.Policy(qids=[{"columns": "a,b", "budgets": {"k": 2}}])


@pytest.mark.parametrize("given", ["a, b", "a\nb", "a\u2028b"])
def test_the_schema_of_policies_refuses_it_too(given):
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(anonrisk.__file__).parent / "policy" / "schema.json"
    validator = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
    for direct, good in ((given, False), ([given], True), (3, True)):
        policy = {"version": 1, "roles": {"direct": direct}, "budgets": {"k": 2}}
        assert validator.is_valid(policy) == good


def test_names_that_yaml_would_read_otherwise_are_quoted():
    with pytest.raises(errors.PolicyError, match=r"write a list: \['#a', '\*b'\]"):
        anonrisk.Policy(quasi="#a, *b", k=2)


def test_a_direct_identifier_with_a_comma_is_found_when_listed():
    policy = anonrisk.Policy(quasi=["zip"], direct=["zip, age"], k=2)
    assert policy.check(pd.DataFrame(CELLS)).status == "fail"


def test_a_prior_refuses_several_names_in_one_text():
    with pytest.raises(errors.ArgumentError, match=r"qid: .*: \['zip', 'age'\]"):
        as_qid("zip, age")
    assert as_qid(["zip, age"]) == ("zip, age",)


@pytest.mark.slow
def test_expectations_refuse_several_names_in_one_text():
    pytest.importorskip("great_expectations")
    from anonrisk import gx

    hint = r"write a list: \['a', 'b'\]"
    with pytest.raises(ValueError, match=hint):
        gx.ExpectKAnonymityToBeAtLeast(qids="a, b", k=2)
    with pytest.raises(ValueError, match=hint):
        gx.ExpectColumnsToBePublishable(direct="a, b")
    with pytest.raises(ValueError, match=hint):
        gx.ExpectColumnsNotToBeQuasiIdentifiers(declared="a, b", max_size=2, max_fraction=0.1)
    assert gx.ExpectColumnsToBePublishable(direct="a").direct == ["a"]
    assert gx.ExpectKAnonymityToBeAtLeast(qids=["a, b"], k=2).qids == ["a, b"]


# ---- numbers ------------------------------------------------------------------------------------


YEARS = {"2020": ["a", "a", "b", "b"], "zip": ["1", "1", "2", "2"], "id": ["p", "q", "r", "s"]}
NUMBERED = {
    "direct": ({"direct": [2020], "quasi": ["zip"], "k": 2}, "fail"),
    "quasi": ({"quasi": [2020], "insensitive": ["zip"], "k": 2}, "pass"),
    "quasi, too few": ({"quasi": [2020], "insensitive": ["zip"], "k": 3}, "fail"),
    "a set": (
        {"quasi": [2020, "zip"], "k": 2, "qids": [{"columns": [2020], "budgets": {"k": 3}}]},
        "fail",
    ),
    "sensitive": (
        {"quasi": ["zip"], "sensitive": [2020], "ldiv": {"l": 2, "sensitive": [2020]}},
        "fail",
    ),
    "unit": ({"quasi": ["zip"], "unit": 2020, "k": 2}, "fail"),
    "by": ({"quasi": ["zip"], "by": 2020, "k": 3, "unlisted": "ignore"}, "fail"),
    "insensitive": ({"quasi": ["zip"], "insensitive": [2020], "k": 2}, "pass"),
}


@pytest.mark.parametrize("case", NUMBERED)
def test_a_number_names_the_column_that_is_written_so(frame, case):
    keys, status = NUMBERED[case]
    policy = anonrisk.Policy(**{"unlisted": "ignore", **keys})
    verdict = policy.check(frame(YEARS))
    assert verdict.status == status
    assert verdict.policy_digest == policy.digest


@pytest.mark.slow
@pytest.mark.parametrize("case", NUMBERED)
def test_numbers_and_texts_name_one_column_by_every_label(case):
    keys, status = NUMBERED[case]
    keys = {"unlisted": "ignore", **keys}
    texts = json.loads(json.dumps(keys).replace("2020", '"2020"'))
    table = pd.DataFrame(YEARS)
    for stated in (keys, texts):
        policy = anonrisk.Policy(**stated)
        for one in (table, table.rename(columns={"2020": 2020})):
            verdict = policy.check(one)
            assert verdict.status == status
            assert one.anon.report(policy=policy).verdict.status == status
            verdict.explain()


def test_a_number_that_names_two_columns_cannot_be_assessed():
    table = pd.DataFrame([["a", "b", "1"]] * 2, columns=[2020, "2020", "zip"])
    verdict = anonrisk.Policy(quasi=["zip"], direct=[2020], k=2).check(table)
    assert verdict.status == "could_not_assess"
    assert "once as a number and once as a text" in verdict.findings[0].sentence
    # A text is the text.
    roles = {"quasi": ["zip"], "direct": ["2020"], "k": 2, "unlisted": "ignore"}
    assert anonrisk.Policy(**roles).check(table).status == "fail"


def test_a_number_in_yaml_forbids_a_column_of_a_file(tmp_path, capsys):
    pytest.importorskip("yaml")
    (tmp_path / "t.csv").write_text("2020,zip\na,1\nb,1\n")
    (tmp_path / "p.yaml").write_text(
        "version: 1\nroles: {quasi: [zip], direct: [2020]}\nunlisted: ignore\nbudgets: {k: 2}\n"
    )
    command = ["check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.yaml")]
    assert main(command) == 1
    assert "direct identifiers: '2020'" in capsys.readouterr().out


@pytest.mark.parametrize("case", NUMBERED)
def test_a_suite_takes_no_number_for_a_name(case):
    pytest.importorskip("great_expectations")
    keys, _ = NUMBERED[case]
    with pytest.raises(errors.PolicyError, match=r"without a text for a name \(2020\)"):
        anonrisk.Policy(**{"unlisted": "ignore", **keys}).to_suite()
