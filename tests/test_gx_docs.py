"""What people read: Data Docs in a browser, the ready suites, the guide."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import anonrisk
from anonrisk.errors import ReleaseBlocked

gxp = pytest.importorskip("great_expectations")

from anonrisk import gx  # noqa: E402

FOLDER = Path(__file__).parents[1] / "expectations"
READY = sorted(FOLDER.glob("*.yaml"))
ODD = "born <b>&$k"
CELLS = {
    "zip": ["MARKER1", "MARKER1", "MARKER2", "MARKER2", "MARKER2"],
    ODD: [1, 1, 2, 2, 3],
    "pay": [1.0, 2.0, 3.0, 4.0, 5.0],
    "ill": ["MARKER3", "flu", "MARKER3", "flu", "flu"],
}


def suite():
    from great_expectations.expectations.row_conditions import Column

    about = {"qids": ["zip", ODD]}
    return gxp.ExpectationSuite(
        name="release",
        expectations=[
            gx.ExpectKAnonymityToBeAtLeast(k=2, **about),
            gx.ExpectKAnonymityToBeAtLeast(
                qids="zip", k=2, row_condition=Column("pay") > 2, severity="warning", notes="why"
            ),
            gx.ExpectQidUniquenessToBeAtMost(
                max_unique_fraction={"$PARAMETER": "budget"}, max_unique_records=3, **about
            ),
            gx.ExpectRecordsInSmallClassesToBeAtMost(k=3, max_fraction_below_k=0.5, **about),
            gx.ExpectLDiversityToBeAtLeast(
                sensitive="ill", l=1, variant="recursive", c=3, unit="pay", **about
            ),
            gx.ExpectTClosenessToBeAtMost(sensitive="pay", t=0.5, distance="ordered", **about),
            gx.ExpectReidentificationRiskToBeAtMost(
                attacker="prosecutor", max_highest=0.5, max_share_above=1, threshold=0.2, **about
            ),
            gx.ExpectPredictedSingletonsToBeAtMost(
                group_size=3, max_singletons=3, max_fraction=1, missing="error", **about
            ),
            gx.ExpectPopulationUniquenessToBeAtMost(
                population_size=100,
                max_fraction=1,
                missing="drop",
                max_dropped_fraction=0.5,
                **about,
            ),
            gx.ExpectColumnsToBePublishable(direct=["ill"], classified=["zip", ODD]),
            gx.ExpectKAnonymityToBeAtLeast(qids=["<i>zp"], k=2),
        ],
    )


@pytest.fixture(scope="module", params=["SUMMARY", "BOOLEAN_ONLY"])
def site(request, tmp_path_factory):
    """The folder of the Data Docs of a checkpoint that was blocked."""
    root = tmp_path_factory.mktemp("project")
    context = gxp.get_context(mode="file", project_root_dir=str(root))
    stored = context.suites.add(suite())
    source = context.data_sources.add_pandas("p")
    data = source.add_dataframe_asset("a").add_batch_definition_whole_dataframe("b")
    validation = context.validation_definitions.add(
        gxp.ValidationDefinition(name="v", data=data, suite=stored)
    )
    gate = gx.AnonriskGateAction.requiring(stored)
    docs = gxp.checkpoint.UpdateDataDocsAction(name="docs")
    checkpoint = context.checkpoints.add(
        gxp.Checkpoint(
            name="c",
            validation_definitions=[validation],
            actions=[gate, docs],
            result_format=request.param,
        )
    )
    with pytest.raises(ReleaseBlocked):
        checkpoint.run({"dataframe": pd.DataFrame(CELLS)}, {"budget": 0.1})
    found = root / "gx" / "uncommitted" / "data_docs" / "local_site"
    return found, request.param


def pages(site, kind):
    found = list((site[0] / kind).rglob("*.html"))
    assert found
    return found


PRESCRIBED = [
    f"At least 2 records share every combination of zip and {ODD} (k-anonymity).",
    "Where pay > 2: at least 2 records share every combination of zip (k-anonymity).",
    "of the records and 3 records are alone with their zip",
    "with fewer than 3 records, themselves included.",
    "(recursive l-diversity with c = 3). A person is a value of pay.",
    "are at most 0.5 away from those of the whole table (ordered t-closeness).",
    "is at most 50% for any record, and above 20% for at most 100% of the records.",
    "In a group of 3 people like these, at most 3 people and 100% of them are alone",
    "No quasi-identifier may be missing.",
    "At most 100% of a population of 100 are alone",
    "Rows with a missing quasi-identifier are left out, at most 50% of them.",
    "No direct identifier is left in the table. Every column has a role.",
]
OBSERVED = [
    f"The smallest class of zip + {ODD} has 1 record; at least 2 are required.",
    "The table still has direct identifiers: 'ill'. Remove them.",
]
UNKNOWN = [
    "could not be assessed: quasi-identifier '<i>zp' is not a column",
    "The table could not be assessed: 1 column has no role",
]


def words(page):
    """The text of a page: markup gone, white space closed up."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]*>", "", body))
    return re.sub(r"\s+", " ", text)


def test_pages_read_like_sentences(site):
    (expected,) = pages(site, "expectations")
    (validation,) = pages(site, "validations")
    for page in (expected, validation):
        text = words(page.read_text(encoding="utf-8"))
        for sentence in PRESCRIBED:
            assert sentence in text, sentence
        assert "(**" not in text
    assert "suite parameter budget" in words(expected.read_text(encoding="utf-8"))
    text = words(validation.read_text(encoding="utf-8"))
    for sentence in UNKNOWN:
        assert sentence in text
    for sentence in OBSERVED:
        assert (sentence in text) is (site[1] == "SUMMARY")


def test_no_cell_is_in_any_file_of_the_project(site):
    root = site[0].parents[3]
    files = [path for path in root.rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        assert b"MARKER" not in path.read_bytes(), path


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no chromium on the PATH")
    return found


@pytest.mark.slow
def test_a_browser_shows_the_pages(site, tmp_path):
    (page,) = pages(site, "validations")
    picture = tmp_path / "page.png"
    common = [
        *(browser(), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,2400"),
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    address = page.as_uri()
    subprocess.run(
        [*common, f"--screenshot={picture}", address], check=True, capture_output=True, timeout=120
    )
    assert picture.stat().st_size > 20_000
    shown = subprocess.run(
        [*common, "--dump-dom", address], check=True, capture_output=True, text=True, timeout=120
    ).stdout
    text = words(shown)
    for sentence in (*PRESCRIBED, *UNKNOWN):
        assert sentence in text, sentence
    # Names of columns are text to the browser, not markup.
    assert "<i>zp" not in shown
    if site[1] == "SUMMARY":
        for row in ("1 (limit 2)", "Rows judged", "Columns without a role"):
            assert re.search(rf"<td[^>]*>\s*<div[^>]*>\s*(<span>)?{re.escape(row)}", shown), row


def test_renderers_take_nothing_at_all():
    for kind in gx.expectations.EXPECTATIONS:
        assert kind._prescriptive_renderer()
        assert kind._diagnostic_observed_value_renderer() == "--"


def test_subsets_and_columns_that_join_are_told():
    expectation = gx.ExpectKAnonymityToBeAtLeast(
        qids=["zip", "sex"], every_subset_of=1, k=5, unlisted="quasi", classified=["zip", "sex"]
    )
    template, params = expectation.template(expectation.configuration.kwargs)
    assert template == (
        "At least $k records share every combination of any $every_subset_of of $qid_0 and $qid_1 "
        "(k-anonymity). Columns without a role join them."
    )
    assert params == {"k": "5", "every_subset_of": "1", "qid_0": "zip", "qid_1": "sex"}


def test_shares_read_as_percentages():
    """In every expectation, and only shares: of the rest a percentage would say something else."""
    told = {
        (kind.__name__, name)
        for kind in gx.expectations.EXPECTATIONS
        for name in re.findall(r"\$(\w+)", kind.says(dict.fromkeys(kind.own_keys, 0.025)))
        if kind.template(dict.fromkeys(kind.own_keys, 0.025) | {"qids": []})[1].get(name) == "2.5%"
    }
    assert told == {
        ("ExpectQidUniquenessToBeAtMost", "max_unique_fraction"),
        ("ExpectRecordsInSmallClassesToBeAtMost", "max_fraction_below_k"),
        ("ExpectReidentificationRiskToBeAtMost", "max_highest"),
        ("ExpectReidentificationRiskToBeAtMost", "max_average"),
        ("ExpectReidentificationRiskToBeAtMost", "max_share_above"),
        ("ExpectReidentificationRiskToBeAtMost", "threshold"),
        ("ExpectPredictedSingletonsToBeAtMost", "max_fraction"),
        ("ExpectPopulationUniquenessToBeAtMost", "max_fraction"),
        ("ExpectColumnsNotToBeQuasiIdentifiers", "max_fraction"),
    }


def test_the_atomic_sentence_is_the_same():
    expectation = gx.ExpectKAnonymityToBeAtLeast(qids=["zip", ODD], k=5)
    expectation.render()
    (content,) = [one for one in expectation.rendered_content if "summary" in str(one.name)]
    value = content.value
    assert value.template.startswith("At least $k records share every combination of $qid_0")
    assert value.params["qid_1"]["value"] == ODD


# ---- what is shipped ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_ready_suites_are_current(path):
    """If this fails, write the file anew: it is suite_to_json(Policy.load(path).to_suite(stem))."""
    made = gx.suite_to_json(anonrisk.Policy.load(path).to_suite(path.stem))
    assert path.with_suffix(".json").read_text(encoding="utf-8") == made
    assert gx.suite_to_json(gx.load_suite(path.with_suffix(".json"))) == made


def test_there_is_a_suite_for_every_policy():
    suites = {path.stem for path in FOLDER.glob("*.json")}
    assert suites == {path.stem for path in READY} != set()


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_ready_suites_block_and_let_pass(path):
    parameters = {"qids": ["area"], "sensitive": "ill", "classified": ["area", "ill"]}
    good = pd.DataFrame({"area": ["10"] * 40, "ill": ["flu", "cold"] * 20})
    gx.run_gate(path.with_suffix(".json"), good, expectation_parameters=parameters)
    bad = pd.concat([good, pd.DataFrame({"area": ["11"], "ill": ["flu"]})])
    with pytest.raises(ReleaseBlocked, match="smallest class"):
        gx.run_gate(path.with_suffix(".json"), bad, expectation_parameters=parameters)


def test_the_plugin_is_one_line():
    (line,) = (FOLDER / "anonrisk_expectations.py").read_text(encoding="utf-8").splitlines()
    assert line.startswith("from anonrisk.gx import *")


def test_the_suites_are_plain_json():
    for path in FOLDER.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["name"] == path.stem


def test_the_guide_works_as_it_is_written(tmp_path):
    """Each block of the guide is a program; they are run in order, in a folder of their own."""
    guide = (FOLDER / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    programs = [block for block in blocks if ">>>" not in block]
    assert len(programs) == 3
    (tmp_path / "expectations").symlink_to(FOLDER)
    # One process for the three: each imports what it needs by itself.
    runs = [{"__name__": "__main__"} for _ in programs]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        exec(programs[0], runs[0])
        with pytest.raises(ReleaseBlocked) as blocked:
            exec(programs[1], runs[1])
        exec(programs[2], runs[2])
    assert str(blocked.value).splitlines()[1:] == re.findall(r"^- expect_.*$", guide, re.MULTILINE)
    assert (tmp_path / "gx/uncommitted/data_docs/local_site/index.html").exists()


def test_an_expectation_shows_its_own_figures_of_persons_alone():
    kind = gx.ExpectQidUniquenessToBeAtMost
    asked = {"qids": ["zip"], "unit": "who", "max_unique_fraction": 0.05}
    sentence, _ = kind.template(asked)
    assert "of the persons" in sentence
    assert "record" not in sentence
    assert "A person is a value of $unit." in sentence
    assert "person" not in kind.template({**asked, "unit": None})[0]
    budgets = [
        {"budget": "max_unique_fraction", "status": "fail", "value": 0.25, "limit": 0.05},
        {"budget": "direct", "status": "could_not_assess", "value": None, "limit": None},
    ]
    details = {"status": "fail", "sentence": "Too many.", "budgets": budgets, "k": 1, "persons": 9}
    result = SimpleNamespace(result={"details": details})
    rows = kind._diagnostic_observed_value_renderer(result=result).table
    assert rows == [
        ["Result", "broken"],
        ["max_unique_fraction", "25.0% (limit 5%)"],
        ["Persons", "9"],
    ]


def figures(expectation, frame):
    """The figures of an expectation in Data Docs, by their names."""
    source = gxp.get_context(mode="ephemeral").data_sources.add_pandas("p")
    batch = source.add_dataframe_asset("a").add_batch_definition_whole_dataframe("w")
    result = batch.get_batch({"dataframe": frame}).validate(expectation)
    rows = type(expectation)._diagnostic_observed_value_renderer(result=result).table
    return [tuple(row) for row in rows]


def test_rows_that_are_not_judged_for_a_missing_value_are_not_counted_as_judged():
    frame = pd.DataFrame({"zip": ["a"] * 6 + ["b"] * 6, "ill": ["x", "y", None] * 4})
    about = {"qids": "zip", "sensitive": "ill", "variant": "distinct", "l": 2}
    dropping = gx.ExpectLDiversityToBeAtLeast(
        missing="drop", missing_sensitive="drop", max_dropped_fraction=0.5, **about
    )
    shown = figures(dropping, frame)
    assert shown[0] == ("Result", "kept")
    assert {("Rows", "12"), ("Rows judged", "8")} <= {*shown}
    told = {"value": "is a value like any other", "drop": "are not judged", "error": "No $sens"}
    for how, words in told.items():
        assert words in dropping.template({**about, "missing_sensitive": how})[0]


def test_a_share_of_a_group_is_no_number_of_persons():
    frame = pd.DataFrame({"zip": ["a"] * 6 + ["b"] * 6})
    expected = gx.ExpectPredictedSingletonsToBeAtMost(
        qids="zip", group_size=3, max_singletons=3, max_fraction=1
    )
    of_group = [text for name, text in figures(expected, frame) if name == "predicted_singletons"]
    assert of_group == ["3 (limit 3)", "100.0% (limit 100%)"]
