"""Policies as documents: what is read, what is refused, and that the published schema agrees."""

from __future__ import annotations

import copy
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import Policy
from anonrisk.errors import PolicyError

SCHEMA = Path(anonrisk.__file__).parent / "policy" / "schema.json"

EVERYTHING = """
version: 1
name: every key
description: nothing is left out
roles:
  quasi: [zip, born, sex]
  sensitive: [diagnosis, cost]
  direct: [name]
  insensitive: [note]
  unit: patient
  weight: w
reviewed: false
unlisted: quasi
missing: drop
missing_sensitive: error
max_dropped_fraction: 0.01
dropped_are_removed: true
by: hospital
suppressed: "*"
budgets:
  k: 5
  max_unique_fraction: {at_most: 0.001, severity: warn}
  max_unique_records: 10
  max_fraction_below_k: {k: 3, at_most: 0.01}
  ldiv:
    - {l: 2}
    - {l: 1.5, variant: entropy, sensitive: cost}
    - {l: 2, variant: recursive, c: 3, severity: warn}
  tcloseness:
    - {t: 0.3, distance: equal, sensitive: [diagnosis]}
    - {t: 0.3, distance: ordered, order: [low, high], sensitive: cost}
    - {t: 0.2, distance: hierarchical, hierarchies: {any: {a: [x, y], b: [z]}},
       sensitive: diagnosis}
  risk:
    prosecutor: {highest: 0.2, average: 0.1, share_above: {threshold: 0.1, at_most: 0.05}}
    journalist: {highest: {at_most: 0.1, severity: warn}}
    marketer: {average: 0.05}
  predicted_singletons:
    - {group_size: 40, at_most: 2}
    - {group_size: 40, at_most_fraction: 0.05}
  max_suppressed: 0.05
qids:
  - columns: [zip, born]
    budgets: {k: 11}
  - every_subset_of: 2
    budgets: {k: [{at_least: 20}, {at_least: 50, severity: warn}]}
"""


def document(**changes):
    return {"version": 1, "roles": {"quasi": ["zip", "age"]}, "budgets": {"k": 5}, **changes}


def refused(given, *words):
    with pytest.raises(PolicyError) as caught:
        Policy.from_dict(given)
    for word in words:
        assert word in str(caught.value)


# ---- reading ------------------------------------------------------------------------------------


def test_every_key_is_read_and_written_again():
    policy = Policy.from_yaml(EVERYTHING)
    assert policy.roles.whole == ("zip", "born", "sex", "w")
    assert policy.rules[2].every_subset_of == 2
    for again in (
        Policy.from_dict(policy.to_dict()),
        Policy.from_yaml(policy.to_yaml()),
        Policy.from_json(policy.to_json()),
    ):
        assert again == policy
        assert again.digest == policy.digest
        assert again.to_dict() == policy.to_dict()


def test_keywords_yaml_and_json_are_one_policy(tmp_path):
    by_keywords = Policy(quasi=["zip", "age"], k=5, ldiv={"l": 2}, sensitive="d")
    text = "{version: 1, roles: {quasi: [zip, age], sensitive: d}, budgets: {k: 5, ldiv: {l: 2}}}"
    by_yaml = Policy.from_yaml(text)
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "p.json").write_text(by_keywords.to_json())
    files = [
        Policy.load(tmp_path / "p.yaml"),
        Policy.load(str(tmp_path / "p.json")),
        Policy.from_yaml(tmp_path / "p.yaml"),
        Policy.from_yaml(str(tmp_path / "p.yaml")),
        Policy.from_json(tmp_path / "p.json"),
    ]
    assert {policy.digest for policy in (by_keywords, by_yaml, *files)} == {by_keywords.digest}


def test_the_digest_tells_policies_apart_and_ignores_how_they_are_written():
    five = Policy(quasi=["zip"], k=5)
    assert five.digest.startswith("sha256:")
    assert len(five.digest) == 7 + 64
    assert Policy(quasi="zip", k={"at_least": 5}).digest == five.digest
    assert Policy(quasi="zip", budgets={"k": 5.0}, missing="value").digest == five.digest
    others = [
        Policy(quasi="zip", k=6),
        Policy(quasi="zap", k=5),
        Policy(quasi="zip", k=5, missing="error"),
        Policy(quasi="zip", k={"at_least": 5, "severity": "warn"}),
        Policy(quasi="zip", k=5, unlisted="ignore"),
        Policy(quasi="zip", k=5, reviewed=False),
        Policy(quasi="zip", k=5, missing_sensitive="value"),
    ]
    assert len({policy.digest for policy in (five, *others)}) == len(others) + 1


@pytest.mark.slow
def test_the_digest_is_the_same_in_every_process():
    code = "import anonrisk; print(anonrisk.Policy(quasi=['zip'], sensitive='d', k=5).digest)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == Policy(quasi=["zip"], sensitive="d", k=5).digest


def test_a_policy_is_frozen_and_prints():
    policy = Policy(quasi=["zip", "<b>"], k=5, name="release")
    with pytest.raises(AttributeError):
        policy.unlisted = "ignore"
    # It would change nothing, and whoever wrote it would take the gate for a stricter one.
    with pytest.raises(AttributeError):
        policy.k = 11
    assert "≥ 5" in repr(policy)
    assert "release" in repr(policy)
    assert "&lt;b&gt;" in policy._repr_html_()
    assert "as the table declares" in repr(Policy(k=5))


def test_a_policy_can_be_copied_and_pickled():
    policy = Policy.from_yaml(EVERYTHING)
    assert copy.deepcopy(policy) == policy
    assert pickle.loads(pickle.dumps(policy)).digest == policy.digest


def test_with_roles_fills_in_a_template():
    template = Policy(k=5)
    filled = template.with_roles(quasi=["zip"], direct="name")
    assert filled.roles.quasi == ("zip",)
    assert filled.roles.direct == ("name",)
    assert filled.rules == template.rules
    with pytest.raises(PolicyError, match="did you mean 'quasi'"):
        template.with_roles(quassi=["zip"])


def test_templates_may_leave_roles_empty():
    text = "{version: 1, roles: {quasi: , sensitive: , direct: []}, budgets: {k: 5}}"
    assert Policy.from_yaml(text).roles.whole == ()


def test_files_in_odd_encodings(tmp_path):
    text = "version: 1\nroles: {quasi: [straße, '名前']}\nbudgets: {k: 5}\n"
    path = tmp_path / "p.yaml"
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text(text, encoding=encoding)
        assert Policy.load(path).roles.quasi == ("straße", "名前")
    path.write_text(text, encoding="utf-16")
    with pytest.raises(PolicyError, match="UTF-8"):
        Policy.load(path)
    path.write_text("version: 1\nbudgets: {k: 5}\n# ß", encoding="latin-1")
    with pytest.raises(PolicyError, match="UTF-8"):
        Policy.load(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 1\nbudgets: {k: 5}\nbudgets: {k: 2}", ["'budgets'", "twice", "line 3"]),
        ("version: 1\nbudgets:\n  k: 5\n  k: 2", ["'k'", "twice"]),
        ("version: 1\nbudgets: !!python/object/apply:os.system ['true']", ["line 2"]),
        ("version: 1\nbudgets: !!python/name:os.system", ["line 2"]),
        ("base: &b {k: 5}\nversion: 1\nbudgets: {<<: *b}", ["merge"]),
        ("version: 1\nroles: {quasi: [no]}\nbudgets: {k: 5}", ["quotes"]),
        ("version: 1\nroles: {quasi: [2020-01-01]}\nbudgets: {k: 5}", ["quotes"]),
        ("version: 1\nroles: {quasi: [2020-13-45]}\nbudgets: {k: 5}", ["YAML"]),
        ("version: 1\non: 3\nbudgets: {k: 5}", ["line 2", "quotes"]),
        ("version: 1\nbudgets: {max_unique_fraction: 1e-3}", ["0.001"]),
        ("version: 1\nbudgets: {k: 5", ["line 2"]),
        ("version: 1\n---\nversion: 1\n", ["YAML"]),
        ("&a [*a]\n", ["nested too deeply"]),
        ("version: 1\nroles: {quasi: &a [*a]}\nbudgets: {k: 5}", ["nested too deeply"]),
        ("\n", ["empty"]),
        ("just words\n", ["mapping"]),
        ("version: 1\nbudgets: {? [a, b] : 1}", ["key"]),
        ("version: 1\nbudgets: {max_unique_fraction: .nan}", ["plain decimal number"]),
        ("version: 1\nbudgets: {max_unique_fraction: .inf}", ["plain decimal number"]),
    ],
)
def test_yaml_that_is_refused(text, words):
    with pytest.raises(PolicyError) as caught:
        Policy.from_yaml(text)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"version": 1, "budgets": {"k": 5}, "budgets": {"k": 1}}', ["'budgets'", "twice"]),
        ('{"version": 1, "budgets": {"max_unique_fraction": NaN}}', ["NaN"]),
        ('{"version": 1, "budgets": {"max_unique_fraction": Infinity}}', ["Infinity"]),
        ('{"version": 1, "budgets": ', ["line 1"]),
        ("[" * 100_000 + "]" * 100_000 + "{", ["deep"]),
        ("[1]\n", ["mapping"]),
        ("{}", ["version"]),
    ],
)
def test_json_that_is_refused(text, words):
    with pytest.raises(PolicyError) as caught:
        Policy.from_json(text)
    for word in words:
        assert word in str(caught.value)


def test_paths_that_lead_nowhere(tmp_path):
    for call in (Policy.load, Policy.from_yaml, Policy.from_json):
        with pytest.raises(PolicyError, match="cannot read"):
            call(str(tmp_path / "absent.yaml"))
        with pytest.raises(PolicyError, match="cannot read"):
            call(tmp_path)
    with pytest.raises(PolicyError, match="not from a list"):
        Policy.from_yaml([1])
    with pytest.raises(PolicyError, match="too long"):
        Policy.from_yaml("version: 1\n" + "#" * 5_000_000)


@pytest.mark.slow
def test_without_pyyaml_json_still_works():
    code = (
        "import sys; sys.modules['yaml'] = None\n"
        "import anonrisk\n"
        "text = anonrisk.Policy(k=5).to_json()\n"
        "assert anonrisk.Policy.from_json(text).digest\n"
        "try:\n    anonrisk.Policy.from_yaml('version: 1\\nbudgets: {k: 5}')\n"
        "except anonrisk.errors.PolicyError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "anonrisk[policy]" in run.stdout


# ---- refusing -----------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
BAD_BUDGETS = [
    ({}, ["no budget"]),
    ({"k": 0}, ["budgets.k", "at least 1"]),
    ({"k": -5}, ["at least 1"]),
    ({"k": True}, ["number"]),
    ({"k": "5"}, ["number", "quotes"]),
    ({"k": 5.5}, ["whole"]),
    ({"k": NAN}, ["finite"]),
    ({"k": None}, ["nothing"]),
    ({"k": []}, ["empty"]),
    ({"k": {}}, ["at_least"]),
    ({"k": {"at_most": 5}}, ["'at_most'", "did you mean 'at_least'"]),
    ({"k": {"at_least": 5, "severty": "warn"}}, ["did you mean 'severity'"]),
    ({"k": {"at_least": 5, "severity": "warning"}}, ["did you mean 'warn'"]),
    ({"k": {"at_least": 5, "severity": True}}, ["severity"]),
    ({"k": 10**400}, ["whole"]),
    ({"kk": 5}, ["'kk'", "did you mean 'k'"]),
    ({"k": {"min_k": 5}}, ["budgets.k has no key 'min_k'", "did you mean 'at_least'"]),
    ({"max_fraction_below_k": {"min_k": 5, "at_most": 0.1}}, ["'min_k'", "did you mean 'k'"]),
    ({"ldiv": {"l_diversity": 2}}, ["did you mean 'l'"]),
    ({"max_unique_fracton": 0.1}, ["did you mean 'max_unique_fraction'"]),
    ({"max_unique_fraction": 1.5}, ["share"]),
    ({"max_unique_fraction": -0.1}, ["share"]),
    ({"max_unique_fraction": NAN}, ["finite"]),
    ({"max_unique_fraction": True}, ["number"]),
    ({"max_unique_fraction": "0.1"}, ["quotes"]),
    ({"max_unique_records": -1}, ["at least 0"]),
    ({"max_unique_records": 0.5}, ["whole"]),
    ({"max_fraction_below_k": 0.1}, ["{k: …, at_most: 0.1}"]),
    ({"max_fraction_below_k": {"at_most": 0.1}}, ["needs k"]),
    ({"max_fraction_below_k": {"k": 5}}, ["needs at_most"]),
    ({"max_fraction_below_k": {"k": 1, "at_most": 0.1}}, ["at least 2"]),
    ({"ldiv": 2.5}, ["whole number"]),
    ({"ldiv": {"variant": "distinct"}}, ["needs l"]),
    ({"ldiv": {"l": 0}}, ["at least 1"]),
    ({"ldiv": {"l": 2.5}}, ["whole"]),
    ({"ldiv": {"l": 2, "variant": "recursive"}}, ["needs c", "c: 2}"]),
    ({"ldiv": {"l": 2, "c": 2}}, ["recursive is the one that has a c"]),
    ({"ldiv": {"l": 2, "variant": "recursive", "c": 0}}, ["above 0"]),
    ({"ldiv": {"l": 2, "variant": "recursive", "c": NAN}}, ["finite"]),
    ({"ldiv": {"l": 0.5, "variant": "entropy"}}, ["from 1"]),
    ({"ldiv": {"l": 2, "variant": "entropi"}}, ["did you mean 'entropy'"]),
    ({"ldiv": {"l": 2, "sensitive": []}}, ["empty"]),
    ({"tcloseness": {"t": 0.2}}, ["needs distance"]),
    ({"tcloseness": {"distance": "equal"}}, ["needs t"]),
    ({"tcloseness": {"t": 0.2, "distance": "auto"}}, ["must be named"]),
    ({"tcloseness": {"t": 2, "distance": "equal"}}, ["share"]),
    ({"tcloseness": {"t": 0.2, "distance": "equal", "order": ["a"]}}, ["no effect"]),
    ({"tcloseness": {"t": 0.2, "distance": "hierarchical"}}, ["belong together"]),
    ({"tcloseness": {"t": 0.2, "distance": "equal", "hierarchies": {"a": ["b"]}}}, ["belong"]),
    ({"tcloseness": {"t": 0.2, "distance": "ordered", "order": ["a", "a"]}}, ["twice"]),
    ({"tcloseness": {"t": 0.2, "distance": "ordered", "order": []}}, ["empty"]),
    ({"tcloseness": {"t": 0.2, "distance": "ordered", "order": [["a"]]}}, ["texts"]),
    ({"tcloseness": {"t": 0.2, "distance": "hierarchical", "hierarchies": {}}}, ["hierarchy"]),
    ({"tcloseness": {"t": 0.2, "distance": "hierarchical", "hierarchies": "x.csv"}}, ["out"]),
    ({"risk": 0.2}, ["whose risk"]),
    ({"risk": {}}, ["no budget"]),
    ({"risk": {"prosecutor": {}}}, ["no budget"]),
    ({"risk": {"procecutor": {"highest": 0.2}}}, ["did you mean 'prosecutor'"]),
    ({"risk": {"prosecutor": {"higest": 0.2}}}, ["did you mean 'highest'"]),
    ({"risk": {"marketer": {"highest": 0.2}}}, ["average"]),
    ({"risk": {"prosecutor": {"highest": 2}}}, ["share"]),
    ({"risk": {"prosecutor": {"share_above": 0.2}}}, ["{threshold: …, at_most: 0.2}"]),
    ({"risk": {"prosecutor": {"share_above": {"threshold": 0.2}}}}, ["needs at_most"]),
    ({"risk": {"prosecutor": {"share_above": {"at_most": 0.2}}}}, ["needs threshold"]),
    ({"predicted_singletons": {"at_most": 2}}, ["needs group_size"]),
    ({"predicted_singletons": {"group_size": 40}}, ["one"]),
    ({"predicted_singletons": {"group_size": 40, "at_most": 2, "at_most_fraction": 0.1}}, ["one"]),
    ({"predicted_singletons": {"group_size": 0, "at_most": 2}}, ["at least 1"]),
    ({"predicted_singletons": {"group_size": 40, "at_most": NAN}}, ["finite"]),
    ({"predicted_singletons": {"group_size": 40, "at_most": -1}}, ["from 0"]),
    ({"population_unique_fraction": {"at_most": 0.1}}, ["needs population_size"]),
    ({"population_unique_fraction": {"population_size": 9}}, ["needs at_most"]),
    ({"max_suppressed": 2}, ["share"]),
    ({"max_suppressed": "1e9999999"}, ["must be a number, not a text"]),
    ({"rr": 0.1}, ["lower bound", "risk"]),
    ({"tcloseness": 20}, ["20 alone", "write tcloseness: {t: 0.2, distance: equal} (distance: "]),
    ({"k": 5, "rr": 0.1}, ["lower bound"]),
]


@pytest.mark.parametrize(("budgets", "words"), BAD_BUDGETS, ids=lambda x: str(x)[:60])
def test_budgets_that_are_refused(budgets, words):
    refused(document(budgets=budgets), *words)
    refused(
        {"version": 1, "qids": [{"columns": ["zip"], "budgets": budgets}]},
        *(word.replace("budgets.k", "qids[0].budgets.k") for word in words),
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"versoin": 1}, ["did you mean 'version'"]),
        ({"version": 2}, ["version must be 1"]),
        ({"version": "1"}, ["version"]),
        ({"version": True}, ["version"]),
        ({"version": None}, ["needs version"]),
        ({"budget": {"k": 5}}, ["did you mean 'budgets'"]),
        ({"budgets": None}, ["no budget"]),
        ({"budgets": [5]}, ["mapping", "list"]),
        ({"roles": ["zip"]}, ["roles", "mapping"]),
        ({"roles": {"quasi": []}}, ["roles.quasi", "empty"]),
        ({"roles": {"quasi": ["zip", "zip"]}}, ["'zip'", "twice"]),
        ({"roles": {"quasi": ["zip", 1.5]}}, ["text"]),
        ({"roles": {"quasi": ["zip", True]}}, ["text"]),
        ({"roles": {"quasi": ["zip", None]}}, ["text"]),
        ({"roles": {"quasi": ["zip", ["age"]]}}, ["text"]),
        ({"roles": {"quasi": [""]}}, ["empty"]),
        ({"roles": {"quasi": {"zip": 1}}}, ["text"]),
        ({"roles": {"quasi_identifiers": ["zip"]}}, ["did you mean 'quasi'"]),
        ({"roles": {"quasi": ["zip"], "sensitive": ["zip"]}}, ["both quasi and sensitive"]),
        ({"roles": {"quasi": ["zip"], "unit": "zip"}}, ["both quasi and unit"]),
        ({"roles": {"quasi": ["zip"], "unit": ["who"]}}, ["text"]),
        ({"roles": {"quasi": ["zip"], "weight": "zip"}}, ["both quasi and weight"]),
        ({"roles": {"quasi": ["zip"], "direct": "id", "unit": "id"}}, ["pseudonym"]),
        ({"strict": True}, ["'strict'", "unlisted", "'refuse'", "'quasi'", "'ignore'"]),
        ({"strict": False}, ["'strict'", "unlisted"]),
        ({"unlisted": "refused"}, ["unlisted", "did you mean 'refuse'"]),
        ({"unlisted": True}, ["unlisted"]),
        ({"unlisted": None}, ["unlisted"]),
        ({"reviewed": "no"}, ["true or false"]),
        ({"reviewed": 0}, ["true or false"]),
        ({"missing_sensitive": "values"}, ["did you mean 'value'"]),
        ({"missing": "wild"}, ["missing", "value"]),
        ({"missing": "vlaue"}, ["did you mean 'value'"]),
        ({"missing": "drop"}, ["max_dropped_fraction"]),
        ({"missing": "drop", "max_dropped_fraction": 2}, ["share"]),
        ({"missing": "drop", "max_dropped_fraction": NAN}, ["finite"]),
        ({"max_dropped_fraction": 0.1}, ["missing: drop"]),
        ({"dropped_are_removed": True}, ["missing: drop"]),
        ({"by": ["a", "b"]}, ["text"]),
        ({"by": "who", "roles": {"quasi": ["zip"], "unit": "who"}}, ["unit"]),
        ({"suppressed": 0}, ["text"]),
        ({"suppressed": " "}, ["text"]),
        ({"sampling_fraction": 0}, ["above 0"]),
        ({"sampling_fraction": 1.5}, ["at most 1"]),
        ({"sampling_fraction": 0.1, "roles": {"quasi": "zip", "weight": "w"}}, ["not both"]),
        ({"qids": []}, ["empty"]),
        ({"qids": {"columns": ["zip"]}}, ["list"]),
        ({"qids": [{"columns": ["zip"]}]}, ["qids[0]", "no budget"]),
        ({"qids": [{"columns": ["zip"], "budgets": None}]}, ["no budget"]),
        ({"qids": [{"budgets": {"k": 5}}]}, ["columns"]),
        ({"qids": [{"columns": [], "budgets": {"k": 5}}]}, ["empty"]),
        ({"qids": [{"column": ["zip"], "budgets": {"k": 5}}]}, ["did you mean 'columns'"]),
        ({"qids": [{"columns": ["zp"], "budgets": {"k": 5}}]}, ["did you mean 'zip'"]),
        ({"qids": [{"every_subset_of": 3, "budgets": {"k": 5}}]}, ["only 2 columns"]),
        ({"qids": [{"every_subset_of": 0, "budgets": {"k": 5}}]}, ["at least 1"]),
        ({"qids": [{"every_subset_of": True, "budgets": {"k": 5}}]}, ["number"]),
        ({"qids": [{"every_subset_of": 1, "budgets": {"max_suppressed": 0.1}}]}, ["subset"]),
        ({"budgets": None, "qids": [{"columns": "zip", "budgets": {"k": 5}}]}, ["'age'", "budget"]),
        ({"roles": {"quasi": "zip", "sensitive": "d"},
          "budgets": {"ldiv": {"l": 2, "sensitive": "e"}}}, ["'e'"]),
        ({"by": "x", "budgets": {"population_unique_fraction":
          {"population_size": 9, "at_most": 0.1}}}, ["by"]),
    ],
    ids=lambda x: str(x)[:70],
)  # fmt: skip
def test_documents_that_are_refused(changes, words):
    refused(document(**changes), *words)


def test_a_qid_of_another_role_is_refused_without_quasi():
    refused(
        {
            "version": 1,
            "roles": {"sensitive": ["zip"]},
            "qids": [{"columns": ["zip"], "budgets": {"k": 5}}],
        },
        "another role",
    )


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"quassi": ["zip"], "k": 5}, "did you mean 'quasi'"),
        ({"quasi": ["zip"], "kk": 5}, "did you mean 'k'"),
        ({"quasi": ["zip"]}, "no budget"),
        ({}, "no budget"),
        ({"quasi": ["zip"], "rr": 0.1}, "lower bound"),
        ({"quasi": ["zip"], "roles": {"quasi": ["age"]}, "k": 5}, "twice"),
        ({"k": 5, "budgets": {"k": 6}}, "twice"),
        ({"k": 5, "budgets": [1]}, "mapping"),
        ({"k": 5, "strict": True}, "no key 'strict': say with unlisted"),
    ],
)
def test_keywords_that_are_refused(keywords, words):
    with pytest.raises(PolicyError, match=words):
        Policy(**keywords)


@pytest.mark.parametrize(("key", "part"), [("quasi", "roles"), ("unit", "roles"), ("k", "budgets")])
def test_what_is_inside_a_part_of_a_document_is_led_there(key, part):
    with pytest.raises(
        PolicyError, match=f"has no key '{key}': write {key} under {part}, as in {part}: "
    ):
        Policy.from_dict({"version": 1, key: 5})


def test_huge_policies():
    columns = [f"c{i}" for i in range(20_000)]
    policy = Policy(quasi=columns, k=5)
    assert Policy.from_json(policy.to_json()) == policy
    with pytest.raises(PolicyError, match="subsets are more than"):
        Policy(quasi=columns[:60], qids=[{"every_subset_of": 30, "budgets": {"k": 5}}])
    many = [{"columns": [f"c{i}"], "budgets": {"k": 5}} for i in range(2_000)]
    assert len(Policy(qids=many).rules) == 2_000


def test_a_bad_policy_is_refused_before_any_data_is_read():
    class Untouchable:
        def __getattribute__(self, name):
            raise AssertionError("the table was read")

    with pytest.raises(PolicyError):
        Policy(quasi=["zip"], k=0).check(Untouchable())


# ---- the published schema -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def valid():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid


def accepts(given):
    try:
        Policy.from_dict(given)
    except PolicyError:
        return False
    return True


def everything():
    from anonrisk.policy import fields as text

    return text.from_yaml(EVERYTHING)


def test_the_schema_takes_what_the_code_takes(valid):
    assert valid(everything())
    assert valid(Policy.from_yaml(EVERYTHING).to_dict())
    assert valid(document())
    assert not valid({"version": 1})


@pytest.mark.parametrize(
    "budgets",
    # JSON has no NaN, and numbers of any length.
    [b for b, _ in BAD_BUDGETS if "nan" not in str(b) and len(str(b)) < 400],
    ids=lambda x: str(x)[:60],
)
def test_the_schema_refuses_what_the_code_refuses(valid, budgets):
    assert not valid(document(budgets=budgets))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.sampled_from([0.0, 0.5, 1.0, 1.5, 5.0]),
    st.sampled_from(["", "zip", "zip, born", "5", "warn", "drop", "equal", "recursive"]),
    st.just([]),
    st.just({}),
    st.just(["zip"]),
    st.just({"at_most": 0.5}),
)
FREE = {
    "version": 1,
    "budgets": everything()["budgets"],
    "qids": [{"columns": ["zip", "born"], "every_subset_of": 1, "budgets": {"k": 3}}],
    "missing": "drop",
    "max_dropped_fraction": 0.1,
    "dropped_are_removed": True,
    "unlisted": "ignore",
    "reviewed": True,
    "missing_sensitive": "error",
    "suppressed": "*",
    "sampling_fraction": 0.5,
    "population_size": 900,
    "unsuppressed": True,
}


def places(node, path=()):
    yield path
    below = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in below:
        yield from places(value, (*path, key))


@given(st.sampled_from([p for p in places(FREE) if p]), VALUES, st.sampled_from("srd"))
def test_schema_and_code_agree_on_documents_that_are_slightly_wrong(valid, path, value, how):
    changed = copy.deepcopy(FREE)
    place = changed
    for step in path[:-1]:
        place = place[step]
    if how == "s":
        place[path[-1]] = value
    elif how == "d":
        del place[path[-1]]
    elif isinstance(place, dict):
        place[f"{path[-1]}x"] = place.pop(path[-1])
    # What is inside a tree, or how large a subset may be, is beyond a schema.
    if "hierarchies" in path[:-1] or "every_subset_of" in path:
        return
    assert accepts(changed) == valid(changed), changed


@pytest.mark.parametrize("key", ["k", "max_unique_fraction", "tcloseness", "predicted_singletons"])
def test_a_number_that_no_float_holds_is_refused_by_its_key(key):
    with pytest.raises(PolicyError, match=key):
        Policy(quasi="zip", sensitive="ill", **{key: 10**5000})


@pytest.mark.parametrize(
    "budgets",
    [
        *({"tcloseness": t} for t in (0.2, 20, "20%", "x", -1, NAN, None, True)),
        *({"tcloseness": {"t": t}} for t in (0.2, 20, "20%", -1)),
        {"tcloseness": {"distance": "ordered"}},
        {"tcloseness": {"t": 5, "sensitive": ["ill", "my: pay"], "severity": "warn"}},
        {"tcloseness": 20, "severity": "warn"},
        {"tcloseness": {"tt": 1}, "severity": "warn"},
        {"k": 11, "severity": "warn"},
        {"max_unique_fraction": 5, "severity": "warn"},
        {"risk": 20},
        {"risk": {"marketer": -1}},
    ],
    ids=str,
)
def test_the_corrected_line_of_a_message_can_be_pasted(budgets):
    yaml = pytest.importorskip("yaml", reason="needs the extra 'policy'")
    with pytest.raises(PolicyError) as refused:
        Policy(quasi="zip", sensitive=["ill", "my: pay"], budgets=budgets)
    (line,) = re.findall(r"\w+: \{.*\}", str(refused.value))
    Policy(quasi="zip", sensitive=["ill", "my: pay"], budgets=yaml.safe_load(line))
