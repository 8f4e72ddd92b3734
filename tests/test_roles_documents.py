"""Roles in the documents of other tools: as Frictionless, dbt and two catalogues write them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import Roles
from anonrisk.core.roles_documents import WORDS
from anonrisk.errors import RoleConflictError, RolesDocumentError, RolesNotGivenError

# Written by frictionless 5.21 and dbt-core 1.10, and as the two catalogues export.
DOCUMENTS = Path(__file__).parent / "data" / "catalogues"
COLUMNS = ("zip", "age", "diagnosis", "name", "patient", "note")
VISITS = Roles(
    quasi=("zip", "age"),
    sensitive=("diagnosis",),
    direct=("name",),
    unit="patient",
    columns=COLUMNS,
)
UNITY = {
    "privacy=indirect": "quasi",
    "privacy=sensitive": "sensitive",
    "privacy=none": None,
    "class.name": "direct",
}
SNOWFLAKE = {
    "PRIVACY_CATEGORY=QUASI_IDENTIFIER": "quasi",
    "PRIVACY_CATEGORY=SENSITIVE": "sensitive",
    "PRIVACY_CATEGORY=IDENTIFIER": "direct",
}


def field(**more):
    return {"fields": [{"name": "zip", "anonrisk:role": "quasi"}, {"name": "age", **more}]}


def model(*columns, name="visits", kind="models"):
    return {kind: [{"name": name, "columns": list(columns)}]}


def meta(role, name="zip"):
    return {"name": name, "meta": {"anonrisk": {"role": role}}}


# ---- real documents -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["frictionless_schema.json", "frictionless_schema.yaml"])
def test_a_table_schema_is_read(name):
    assert Roles.from_frictionless(DOCUMENTS / name) == VISITS
    assert Roles.from_frictionless(str(DOCUMENTS / name)) == VISITS


def test_a_schema_is_read_as_text_as_values_and_inside_a_package():
    text = (DOCUMENTS / "frictionless_schema.json").read_text()
    assert Roles.from_frictionless(text) == VISITS
    assert Roles.from_frictionless(json.loads(text)) == VISITS
    package = DOCUMENTS / "datapackage.json"
    assert Roles.from_frictionless(package) == VISITS
    assert Roles.from_frictionless(package, resource="visits") == VISITS
    with pytest.raises(RolesDocumentError, match="no table 'vists'; did you mean 'visits'"):
        Roles.from_frictionless(package, resource="vists")


@pytest.mark.parametrize("name", ["dbt_schema.yml", "dbt_manifest.json"])
def test_dbt_is_read(name):
    assert Roles.from_dbt(DOCUMENTS / name, model="visits") == VISITS
    # `meta` beside the name, as before dbt 1.10.
    old = Roles.from_dbt(DOCUMENTS / name, model="old_visits")
    assert old == Roles(quasi=("zip",), sensitive=("diagnosis",), columns=("zip", "diagnosis"))


def test_a_model_of_a_manifest_has_a_whole_name_too():
    manifest = DOCUMENTS / "dbt_manifest.json"
    assert Roles.from_dbt(manifest, model="model.hospital.visits") == VISITS
    with pytest.raises(RolesDocumentError, match="no table 'visit'; did you mean 'visits'"):
        Roles.from_dbt(manifest, model="visit")
    with pytest.raises(RolesDocumentError, match="3 tables, and none was named: give model="):
        Roles.from_dbt(manifest)
    twice = json.loads(manifest.read_text())
    other = {**twice["nodes"]["model.hospital.visits"], "package_name": "other"}
    twice["nodes"]["model.other.visits"] = other
    with pytest.raises(RolesDocumentError, match=r"2 tables 'visits': .*model\.hospital\.visits"):
        Roles.from_dbt(twice, model="visits")
    assert Roles.from_dbt(twice, model="model.other.visits") == VISITS


def test_tags_of_unity_catalog_are_read():
    found = Roles.from_tags(DOCUMENTS / "unity_column_tags.csv", UNITY, table="clinic.visits")
    assert found == Roles(
        quasi=("zip", "age"),
        sensitive=("diagnosis",),
        direct=("name",),
        columns=("zip", "age", "diagnosis", "name", "note"),
    )


def test_tags_of_snowflake_are_read():
    # Tags of a table itself, and of one that was dropped, are passed over.
    path = DOCUMENTS / "snowflake_tag_references.csv"
    expected = Roles(
        quasi=("ZIP", "AGE"),
        sensitive=("DIAGNOSIS",),
        direct=("NAME",),
        columns=("ZIP", "AGE", "DIAGNOSIS", "NAME"),
    )
    assert Roles.from_tags(path, SNOWFLAKE) == expected
    rows = pd.read_csv(path).to_dict("records")
    assert Roles.from_tags(rows, SNOWFLAKE, table="VISITS") == expected


# ---- there and back -----------------------------------------------------------------------------


def test_writing_into_a_document_keeps_the_rest():
    path = DOCUMENTS / "dbt_schema.yml"
    before = yaml.safe_load(path.read_text())
    assert VISITS.to_dbt(path, model="visits") == before
    changed = Roles(quasi=("zip",), direct=("extra",), columns=("zip", "extra"))
    after = changed.to_dbt(before, model="visits")
    assert before == yaml.safe_load(path.read_text())
    assert Roles.from_dbt(after, model="visits").quasi == ("zip",)
    assert after["models"][1] == before["models"][1]
    zip_, age, *_ = after["models"][0]["columns"]
    assert zip_ == before["models"][0]["columns"][0]
    assert age == {"name": "age"}
    assert after["models"][0]["columns"][-1]["name"] == "extra"
    package = json.loads((DOCUMENTS / "datapackage.json").read_text())
    assert VISITS.to_frictionless(package) == package
    with pytest.raises(RolesDocumentError, match="no field for column 'extra'"):
        changed.to_frictionless(package)


def test_where_meta_is_written():
    one = Roles(quasi=("zip",), columns=("zip",))
    old = one.to_dbt(model="visits", in_config=False)
    assert old["models"][0]["columns"] == [meta("quasi")]
    again = one.to_dbt(old, model="visits")["models"][0]["columns"]
    assert again == [{"name": "zip", "config": {"meta": {"anonrisk": {"role": "quasi"}}}}]
    added = one.to_dbt(old, model="others")
    assert [entry["name"] for entry in added["models"]] == ["visits", "others"]
    with pytest.raises(RolesDocumentError, match="written by dbt"):
        one.to_dbt(DOCUMENTS / "dbt_manifest.json", model="visits")


names = st.lists(st.text(min_size=1), min_size=1, max_size=6, unique=True)


@st.composite
def some_roles(draw):
    columns = draw(names)
    role = {name: draw(st.sampled_from([*WORDS[:4], None])) for name in columns}
    of = {word: tuple(c for c in columns if role[c] == word) for word in WORDS[:4]}
    free = [c for c in columns if role[c] in {None, "direct"}]
    unit = draw(st.sampled_from([None, *free])) if free else None
    return Roles(**of, unit=unit, columns=tuple(columns))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(some_roles())
def test_what_was_written_is_read(roles):
    if not roles:
        with pytest.raises(RolesNotGivenError, match="gives no column a role"):
            Roles.from_frictionless(roles.to_frictionless())
        return
    assert Roles.from_frictionless(json.dumps(roles.to_frictionless())) == roles
    assert Roles.from_dbt(roles.to_dbt(model="m")) == roles
    # Tags are of columns that have one.
    tagged = tuple(c for c in roles.columns if c in roles.classified)
    assert Roles.from_tags(roles.to_tags()) == Roles(**{**vars(roles), "columns": tagged})


def test_roles_of_a_document_gate_a_table():
    roles = Roles.from_dbt(DOCUMENTS / "dbt_manifest.json", model="visits")
    df = pd.DataFrame({"zip": ["1", "1"], "age": [3, 3], "name": ["Ann", "Bob"], "patient": [1, 2]})
    policy = anonrisk.Policy(k=2, unlisted="ignore").with_roles(
        quasi=roles.quasi, direct=roles.direct, unit=roles.unit
    )
    verdict = policy.check(df)
    assert verdict.status == "fail"
    assert [f.budget for f in verdict.findings if not f.passed] == ["direct"]


# ---- what is in doubt ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "document", "error"),
    [
        ("from_frictionless", field(**{"anonrisk:role": "qasi"}), "'age'.*did you mean 'quasi'"),
        ("from_frictionless", field(**{"anonrisk:role": 3}), "field 'age': an int is not a role"),
        ("from_frictionless", field(**{"anonrisk:role": []}), "'age'.*empty"),
        ("from_frictionless", field(anonrisk_role="direct"), "'age'.*goes under"),
        ("from_frictionless", field(**{"AnonRisk:Role": "direct"}), "'age'.*goes under"),
        ("from_frictionless", {"fields": [{"name": "a"}, {"name": "a"}]}, "two entries.*'a'"),
        ("from_frictionless", {"fields": [{"title": "a"}]}, "without a name"),
        ("from_frictionless", {"fields": "a"}, "not a list"),
        ("from_frictionless", {"schema": "schema.json"}, "kept elsewhere, in 'schema.json'"),
        ("from_frictionless", {"columns": []}, "has no fields"),
        ("from_frictionless", "{", "not JSON"),
        ("from_frictionless", "[]", "not a mapping"),
        ("from_frictionless", "nowhere.json", "cannot read the Frictionless schema"),
        ("from_frictionless", 3, "not an int"),
        ("from_dbt", model(meta("diret")), "model 'visits', column 'zip'.*mean 'direct'"),
        ("from_dbt", model({"name": "a", "meta": {"anonrsik": {}}}), "column 'a'.*meta.anonrisk"),
        ("from_dbt", model({"name": "a", "meta": {"anonrisk": "quasi"}}), "holds one key, role"),
        (
            "from_dbt",
            model({**meta("quasi"), "config": meta("direct")}),
            "'zip': meta and config.meta give it different roles",
        ),
        ("from_dbt", {"version": 2}, "describes no table"),
        (
            "from_dbt",
            {"models": [{"name": "m", "versions": [{"v": 1, "columns": []}]}]},
            "model 'm' has versions",
        ),
        ("from_tags", [{"column_name": "a", "tag_value": ""}], "row without tag_name"),
        ("from_tags", [3], "list of mappings"),
        ("from_tags", {"a": "b"}, "list of mappings"),
        ("from_tags", [], "no row about a column"),
        (
            "from_tags",
            [{"column_name": "a", "tag_name": "ANONRISK_ROLE", "tag_value": "Quasi"}],
            "column 'a'.*'Quasi'; did you mean 'quasi'",
        ),
    ],
)
def test_a_document_in_doubt_is_refused_by_name(read, document, error):
    with pytest.raises(RolesDocumentError, match=error):
        getattr(Roles, read)(document)


def test_two_roles_of_one_column_are_refused_by_name():
    rows = [
        {"column_name": "zip", "tag_name": "anonrisk_role", "tag_value": word}
        for word in ("quasi", "sensitive")
    ]
    with pytest.raises(RoleConflictError, match=r"list of tags: column 'zip' is declared both"):
        Roles.from_tags(rows)
    with pytest.raises(RoleConflictError, match=r"dbt document: column 'zip' is declared both"):
        Roles.from_dbt(model(meta(["quasi", "unit"])))
    with pytest.raises(RolesDocumentError, match="two units, 'a' and 'b'"):
        Roles.from_dbt(model(meta("unit", "a"), meta("unit", "b")))
    both = Roles.from_dbt(model(meta(["direct", "unit"])))
    assert (both.direct, both.unit) == (("zip",), "zip")


def test_a_table_of_tags_is_named():
    path = DOCUMENTS / "unity_column_tags.csv"
    with pytest.raises(RolesDocumentError, match="2 tables, and none was named: give table="):
        Roles.from_tags(path, UNITY)
    rows = [
        {"table_name": t, "schema_name": s, "column_name": "a", "tag_name": "x", "tag_value": ""}
        for s, t in (("one", "t"), ("two", "t"))
    ]
    with pytest.raises(RolesDocumentError, match=r"2 tables 't': say which, as in table='one\.t'"):
        Roles.from_tags(rows, {"x": "quasi"}, table="t")
    assert Roles.from_tags(rows, {"x": "quasi"}, table="two.t").quasi == ("a",)


def test_meanings_of_tags_are_checked():
    with pytest.raises(RolesDocumentError, match=r"meaning of tag 'x'.*did you mean 'quasi'"):
        Roles.from_tags([], {"x": "quas"})
    with pytest.raises(RolesDocumentError, match="column 'zip' is quasi, and no tag means that"):
        Roles(quasi=("zip",), columns=("zip",)).to_tags({"x": "direct"})
    with pytest.raises(anonrisk.errors.ArgumentError, match="column 3 is not named by a text"):
        Roles(quasi=(3,), columns=(3,)).to_tags()


def test_a_tag_means_one_role():
    rows = [{"column_name": "mail", "tag_name": "pii", "tag_value": "yes"}]
    rows += [{"column_name": "zip", "tag_name": "place", "tag_value": "yes"}]
    for roles in (["direct", "unit"], ("direct",)):
        meanings = {"pii": roles, "place": "quasi"}
        with pytest.raises(RolesDocumentError, match="'pii' means one role"):
            Roles.from_tags(rows, meanings)
        with pytest.raises(RolesDocumentError, match="'pii' means one role"):
            Roles(quasi=("zip",)).to_tags(meanings)


def test_sources_of_dbt_have_two_names():
    table = {"name": "visits", "columns": [meta("quasi")]}
    document = {"sources": [{"name": "raw", "tables": [table]}]}
    assert Roles.from_dbt(document, model="raw.visits").quasi == ("zip",)
    node = {"resource_type": "source", "source_name": "raw", **table}
    node["columns"] = {"zip": meta("quasi")}
    manifest = {"nodes": {}, "sources": {"source.p.raw.visits": node}}
    assert Roles.from_dbt(manifest, model="raw.visits").quasi == ("zip",)
