"""What docs/versions.md, CITATION.cff and the pins say of versions is what the code says."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import anonrisk

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Which part of the code writes a document of the page.
DOCUMENTS = {
    "[policy](policy.md)": "policy.terms.VERSION",
    "verdict of a table (`to_json`, `check --json`)": "policy.verdict.SCHEMA_VERSION",
    "[release](releases.md)": "releases.release.parts.VERSION",
    "verdict of a release": "releases.release.verdict.SCHEMA_VERSION",
    "[manifest](ledger.md#the-manifest)": "releases.ledger.manifest.VERSION",
    "[plan](planning.md)": "planning.plan._VERSION",
    "[state](ledger.md#states), [sketch](ledger.md#sketches)": "releases.state.keyed_file.VERSION",
    "[ledger](ledger.md)": "releases.ledger.ledger.VERSION",
    "[identity store](pseudonyms.md)": "pseudonyms.store.VERSION",
    "[priors](predicting.md#priors)": "priors.repository.VERSION",
    "what else the command line writes": "cli.output.SCHEMA_VERSION",
    "report and [explorer](explorer.md), as JSON": "reporting.explored.SCHEMA_VERSION",
}


def rows(heading):
    """The rows of the table below a heading of the page."""
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    found = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in found[2:]]


def lower_bounds():
    """The lowest version of each library that pyproject.toml asks for, by its name."""
    extras = [one for part in PROJECT["optional-dependencies"].values() for one in part]
    asked = [*PROJECT["dependencies"], *extras]
    found = (re.match(r"([\w-]+)[^>]*>=([\d.]+)", one) for one in asked)
    bounds = {}
    for match in filter(None, found):
        bounds.setdefault(match[1], match[2])
    return bounds


def test_every_stored_document_is_listed_with_its_version():
    table = {row[0]: row[2:] for row in rows("Stored documents")}
    assert {*table} == {*DOCUMENTS}
    pytest.importorskip("sqlalchemy")
    for name, place in DOCUMENTS.items():
        module, _, constant = place.rpartition(".")
        version = str(getattr(import_module(f"anonrisk.{module}"), constant))
        written, read = table[name]
        assert written == version, name
        assert read == "for others" or version in read.split(", "), name
    # No module that writes one is forgotten.
    named = {place.rpartition(".")[0] for place in DOCUMENTS.values()} | {"reporting.summary"}
    sources = (ROOT / "anonrisk").rglob("*.py")
    states = re.compile(r"(?m)^(?:SCHEMA_VERSION|_?VERSION)\b[\w, ]*= \"?\d")
    found = {path for path in sources if states.search(path.read_text(encoding="utf-8"))}
    shown = {".".join(path.relative_to(ROOT / "anonrisk").with_suffix("").parts) for path in found}
    assert shown == named


def test_lower_bounds_are_those_that_are_installed_and_tested():
    bounds = lower_bounds()
    table = {row[0]: row[1] for row in rows("What it runs with")}
    assert table.pop("Python") == PROJECT["requires-python"].removeprefix(">=")
    assert table == {name: bounds[name] for name in table}
    pins = (ROOT / "tests" / "pins" / "oldest.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"(?m)^([\w.-]+)==([\d.]+)$", pins))
    for name in ("numpy", "pandas", "scipy", "pyspark", "pyarrow", "SQLAlchemy", "sqlglot"):
        wanted = bounds[name].split(".")
        assert pinned[name].split(".")[: len(wanted)] == wanted, name


def test_a_pyarrow_that_runs_code_of_files_is_not_asked_for():
    assert tuple(map(int, lower_bounds()["pyarrow"].split("."))) >= (14, 0, 1)


def test_the_citation_is_of_this_version():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= {*citation}
    assert citation["version"] == anonrisk.__version__
    assert citation["license"] == PROJECT["license"]
    assert {*citation["keywords"]} <= {*PROJECT["keywords"]}


def test_security_and_citation_are_in_the_source_distribution():
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    assert "SECURITY.md" in manifest
    assert "CITATION.cff" in manifest
