"""The policies that the project ships: each loads, says where it comes from, and judges a table."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from anonrisk import Policy, datasets
from anonrisk.cli import main
from anonrisk.errors import PolicyError
from anonrisk.policy.ready import names

FOLDER = Path(__file__).parents[1] / "expectations"
READY = sorted(FOLDER.glob("*.yaml"))
SAFE = {"research_k5": 5, "cms_k11": 11, "hipaa_style": 11, "open_data": 20}


@pytest.fixture(scope="module")
def admissions():
    table = datasets.hospital()
    year = table["date_of_birth"].dt.year
    return table.assign(decade=year // 10 * 10, region=table["pc4"].astype(str).str[:1])


@pytest.fixture(params=READY, ids=lambda path: path.stem)
def ready(request):
    return request.param


def test_there_are_four():
    assert {path.stem for path in READY} == set(SAFE)


def test_each_names_its_k_and_its_sources(ready):
    policy = Policy.load(ready)
    limits = {budget.name: budget.limit for budget in policy.rules[0].budgets}
    assert limits["k"] == SAFE[ready.stem]
    assert policy.name
    assert Policy.from_dict(policy.to_dict()).digest == policy.digest
    text = ready.read_text(encoding="utf-8")
    assert "Where the" in text
    assert any(word in text for word in ("El Emam", "CMS Cell Size", "45 CFR"))


def test_each_refuses_the_raw_admissions(ready, admissions):
    policy = Policy.load(ready).with_roles(
        quasi=["pc4", "gender", "decade"], sensitive="diagnosis", unit="patient"
    )
    verdict = policy.check(admissions)
    assert verdict.status == "fail"
    assert "k" in {finding.budget for finding in verdict.failures}


def test_each_passes_a_table_that_is_coarse_enough(ready, admissions):
    table = admissions[["gender", "region", "diagnosis", "patient"]]
    table = table.anon.declare(quasi="gender", sensitive="diagnosis", unit="patient")
    policy = Policy.load(ready)
    assert policy.check(table).status == "could_not_assess"
    verdict = policy.with_roles(insensitive="region").check(table)
    assert verdict.status == "pass", verdict


def test_each_asks_what_a_missing_diagnosis_means(ready, admissions):
    table = admissions[["gender", "diagnosis", "patient"]].copy()
    table.loc[0, "diagnosis"] = None
    table = table.anon.declare(quasi="gender", sensitive="diagnosis", unit="patient")
    policy = Policy.load(ready)
    assert policy.missing_sensitive == "error"
    about_values = any(budget.about_values for budget in policy.rules[0].budgets)
    assert policy.check(table).status == ("could_not_assess" if about_values else "pass")


def test_hipaa_style_sees_identifiers_that_are_left(admissions):
    policy = Policy.load(FOLDER / "hipaa_style.yaml")
    table = admissions[["gender", "date_of_birth"]].anon.declare(quasi="gender")
    found = {finding.budget: finding for finding in policy.check(table).findings}
    assert found["direct"].status == "fail"
    assert "date_of_birth" in found["direct"].sentence


def test_without_roles_nothing_passes(ready, admissions):
    assert Policy.load(ready).check(admissions).status != "pass"


# ---- in the package -----------------------------------------------------------------------------


def test_the_package_has_the_same(ready):
    """If this fails, run python3 dev.py ready: what is in the package follows from the YAML."""
    packaged = Policy.ready(ready.stem)
    assert packaged.digest == Policy.load(ready).digest
    assert packaged == Policy.load(ready)


def test_the_package_has_no_other():
    assert set(names()) == set(SAFE)


def test_what_is_written_anew_is_what_is_there():
    spec = importlib.util.spec_from_file_location("regenerate", FOLDER / "regenerate.py")
    regenerate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(regenerate)
    written = regenerate.packaged() | regenerate.schema()
    assert len(written) == len(READY) + 1
    assert all(path.read_text(encoding="utf-8") == text for path, text in written.items())


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(PolicyError, match="did you mean 'hipaa_style'") as refused:
        Policy.ready("hipaa")
    assert all(name in str(refused.value) for name in SAFE)
    for wrong in ("../schema", "", None, 5, "zzz"):
        with pytest.raises(PolicyError, match="There are cms_k11, hipaa_style"):
            Policy.ready(wrong)


def test_it_needs_no_yaml(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert Policy.ready("cms_k11").rules[0].budgets[0].limit == 11


def test_a_name_is_enough_where_a_file_is_asked_for(admissions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Policy.load("cms_k11").digest == Policy.ready("cms_k11").digest
    table = admissions[["gender", "region"]]
    table.to_csv("t.csv", index=False)
    check = ["check", "t.csv", "--policy", "cms_k11", "--qids", "gender", "region"]
    assert main(check) == 0
    assert main([*check[:4], *check[-3:-1]]) == 3, "a column that nobody has looked at"
    # A file of that name is what was meant, and a path is never a name.
    Path("cms_k11").write_text("k: 5")
    with pytest.raises(PolicyError):
        Policy.load("cms_k11")
    with pytest.raises(PolicyError):
        Policy.load(Path("open_data"))


def test_a_misspelt_name_gets_the_nearest_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("zip\na\n")
    assert main(["check", "t.csv", "--policy", "reserch_k5"]) == 2
    said = capsys.readouterr().err
    assert "there is no file 'reserch_k5'" in said
    assert "did you mean 'research_k5'?" in said
    with pytest.raises(PolicyError, match=r"cannot read the policy 'nowhere\.yaml'"):
        Policy.load("nowhere.yaml")
