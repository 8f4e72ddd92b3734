"""The facts of a manifest in the words of OpenLineage and of PROV, for catalogues of data."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from anonrisk.policy.finding import PASS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.releases.ledger.manifest import Manifest

_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = f"{_SPEC}/facets"
_VERSION = f"{_FACETS}/1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet"
_QUALITY = "DataQualityAssertionsDatasetFacet"
_ASSERTIONS = f"{_FACETS}/1-1-0/{_QUALITY}.json#/$defs/{_QUALITY}"
# Of a facet that no standard describes.
_OWN = "urn:anonrisk:release:v1"


def openlineage(manifest: Manifest) -> dict[str, Any]:
    """Return a complete run event: the tables that were checked go in, the files come out."""
    producer = f"urn:anonrisk:{manifest.library_version}"

    def facet(schema: str, **facts: Any) -> dict[str, Any]:
        return {"_producer": producer, "_schemaURL": schema, **facts}

    def assertion(finding: Mapping[str, Any]) -> dict[str, Any]:
        return {"assertion": finding["sentence"], "success": finding["status"] == PASS}

    return {
        "eventType": "COMPLETE",
        "eventTime": manifest.at,
        "producer": producer,
        "schemaURL": _EVENT,
        # The same each time, so that an event that is sent twice is one run.
        "run": {
            "runId": str(uuid.uuid5(uuid.NAMESPACE_OID, manifest.sha256)),
            "facets": {"anonrisk_release": facet(_OWN, **_facts(manifest))},
        },
        "job": {"namespace": "anonrisk", "name": f"release for {manifest.audience}"},
        "inputs": [
            {
                "namespace": "anonrisk",
                "name": table.name,
                "inputFacets": {
                    "dataQualityAssertions": facet(
                        _ASSERTIONS,
                        assertions=[assertion(item) for item in table.verdict.get("budgets", ())],
                    )
                },
            }
            for table in manifest.tables
        ],
        "outputs": [
            {
                "namespace": "file",
                "name": file.path,
                "facets": {"version": facet(_VERSION, datasetVersion=f"sha256:{file.sha256}")},
            }
            for file in manifest.files
        ],
    }


def prov(manifest: Manifest) -> dict[str, Any]:
    """Return the release as an activity of PROV, in PROV-JSON, with the files that it made."""
    release, person, library = "manifest:release", "manifest:publisher", "manifest:library"
    files = {
        f"manifest:file{i}": {"prov:label": file.path, "anonrisk:sha256": file.sha256}
        for i, file in enumerate(manifest.files)
    }
    facts = {f"anonrisk:{name}": value for name, value in _facts(manifest).items()}
    return {
        # Names of each manifest are its own, wherever documents are put together.
        "prefix": {
            "anonrisk": "urn:anonrisk:",
            "manifest": f"urn:anonrisk:manifest:{manifest.sha256}:",
        },
        "activity": {release: {"prov:endTime": manifest.at, **facts}},
        "entity": files,
        "agent": {
            person: {"prov:type": _named("prov:Person"), "prov:label": manifest.by},
            library: {
                "prov:type": _named("prov:SoftwareAgent"),
                "prov:label": f"anonrisk {manifest.library_version}",
            },
        },
        "wasGeneratedBy": {
            f"_:made{i}": {"prov:entity": file, "prov:activity": release}
            for i, file in enumerate(files)
        },
        "wasAssociatedWith": {
            f"_:with{i}": {"prov:activity": release, "prov:agent": agent}
            for i, agent in enumerate((person, library))
        },
    }


FORMS = {"openlineage": openlineage, "prov": prov}


def _facts(manifest: Manifest) -> dict[str, Any]:
    """Return what is said of the release as a whole; what is not known is left out."""
    facts = {
        "release": manifest.release,
        "audience": manifest.audience,
        "by": manifest.by,
        "status": manifest.status,
        "policyDigest": manifest.policy_digest,
        "manifestSha256": manifest.sha256,
        "previous": manifest.previous,
        "waivers": len(manifest.waivers),
        "approvals": len(manifest.approvals),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _named(kind: str) -> dict[str, str]:
    return {"$": kind, "type": "prov:QUALIFIED_NAME"}
