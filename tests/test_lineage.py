"""Manifests in the words of OpenLineage and PROV: the same facts, none more."""

from __future__ import annotations

import json
import uuid

import pytest
from keys import KEY
from released import manifest_of

from anonrisk.cli import main
from anonrisk.policy import Policy
from anonrisk.releases.ledger.manifest import openlineage, prov
from anonrisk.releases.release.published_files import PublishedTable

pd = pytest.importorskip("pandas")


@pytest.fixture
def manifest(tmp_path):
    file = tmp_path / "patients.csv"
    file.write_text("zip,s\n1011,a\n1011,a\n")
    policy = Policy(
        quasi="zip", sensitive="s", k=2, ldiv={"l": 2, "severity": "warn"}, unlisted="ignore"
    )
    verdict = policy.check(pd.read_csv(file), name="patients").to_dict()
    return manifest_of(file, tables=(PublishedTable("patients", verdict),), previous="0" * 64)


def test_an_event_of_openlineage_says_what_was_checked_and_what_went_out(manifest):
    event = openlineage(manifest)
    assert uuid.UUID(event["run"]["runId"]).version == 5
    assert event == openlineage(manifest)
    assert (event["eventType"], event["eventTime"]) == ("COMPLETE", manifest.at)
    (table,), (file,) = event["inputs"], event["outputs"]
    assertions = table["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [item["success"] for item in assertions] == [True, False]
    assert (table["name"], file["name"]) == ("patients", "patients.csv")
    assert file["facets"]["version"]["datasetVersion"] == f"sha256:{manifest.files[0].sha256}"
    facts = event["run"]["facets"]["anonrisk_release"]
    assert (facts["status"], facts["manifestSha256"]) == ("pass", manifest.sha256)
    assert facts["previous"] == "0" * 64


def test_another_manifest_is_another_run(manifest):
    assert openlineage(manifest)["run"] != openlineage(manifest.sealed(KEY))["run"]


def test_prov_names_who_made_which_files(manifest):
    document = prov(manifest)
    (made,), ((name, file),) = document["wasGeneratedBy"].values(), document["entity"].items()
    (activity,) = document["activity"]
    assert made == {"prov:entity": name, "prov:activity": activity}
    assert file == {"prov:label": "patients.csv", "anonrisk:sha256": manifest.files[0].sha256}
    agents = {item["prov:agent"] for item in document["wasAssociatedWith"].values()}
    assert agents == set(document["agent"])
    assert document["agent"]["manifest:publisher"]["prov:label"] == "A. Officer"


def test_what_is_not_known_is_left_out():
    manifest = manifest_of(policy_digest=None)
    facts = openlineage(manifest)["run"]["facets"]["anonrisk_release"]
    assert not {"policyDigest", "previous"} & set(facts)
    assert None not in prov(manifest)["activity"]["manifest:release"].values()


@pytest.mark.parametrize("form", ["openlineage", "prov"])
def test_the_command_prints_it_and_writes_it(manifest, form, tmp_path, capsys):
    manifest.sealed(KEY).save(tmp_path / "manifest.json")
    place = tmp_path / "event.json"
    line = ["release", "show", str(tmp_path / "manifest.json"), "--lineage", form]
    assert main([*line, "-o", str(place)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(place.read_text())
    assert manifest.sealed(KEY).sha256 in json.dumps(printed)


def test_a_lineage_is_of_a_manifest(tmp_path, capsys):
    assert main(["release", "show", "--lineage", "prov"]) == 2
    assert "name its file" in capsys.readouterr().err
    (tmp_path / "other.json").write_text("{}")
    assert main(["release", "show", str(tmp_path / "other.json"), "--lineage", "prov"]) == 3
