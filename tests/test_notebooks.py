"""Every notebook runs from first cell to last, and its sentences say what its cells show."""

from __future__ import annotations

import json
import re

import pytest
from notebooks import FOLDER, elsewhere, read, run, run_cell, source, stale, told  # noqa: F401

ALL = {
    "a_release_over_time",
    "find_and_fix",
    "five_minutes",
    "gate_in_a_checkpoint",  # run by test_gx_notebook.py
    "on_spark",
    "predict_before_you_collect",
}
PARTS = {
    "code": {"cell_type", "execution_count", "id", "metadata", "outputs", "source"},
    "markdown": {"cell_type", "id", "metadata", "source"},
}


def test_there_are_no_others():
    assert {path.stem for path in FOLDER.iterdir()} == ALL


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_file_is_a_notebook_without_outputs(name):
    notebook = read(name)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        assert set(cell) == PARTS[cell["cell_type"]]
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        assert cell["metadata"] == {}
        assert (cell.get("outputs", []), cell.get("execution_count")) == ([], None)
        assert 0 < len(cell["source"]) <= 20
    # As Jupyter writes it, so that who saves it changes only what they changed.
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert text == json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@pytest.mark.parametrize("name", sorted(ALL))
def test_files_that_a_notebook_names_are_there(name):
    text = "".join(source(cell) for cell in read(name)["cells"] if cell["cell_type"] == "markdown")
    for named in re.findall(r"`([\w/]+\.(?:ipynb|py))`", text):
        assert (FOLDER / named).exists() or (FOLDER.parents[1] / named).exists(), named


def test_five_minutes():
    names = told("five_minutes")
    assert names["before"].status == "fail"
    assert names["after"].status == "pass"


def test_a_sentence_that_is_no_longer_true_is_found():
    def cell(kind, text):
        return {"cell_type": kind, "id": text, "source": [text]}

    code, far = cell("code", "print(f'{2_500 + 5:,}')"), cell("code", "7")
    texts = ("2,505 of 2,500", "2,506 of 2,500", "7 of 2,505", "a fifth")
    for text, wrong in zip(texts, ([], ["2,506"], ["7"], []), strict=True):
        about = cell("markdown", text)
        notebook = {"cells": [cell("markdown", "Title"), about, code, cell("markdown", "End"), far]}
        _, shown = run(notebook)
        assert stale(notebook, shown) == [(text, one) for one in wrong]


def test_what_a_cell_shows():
    names = {}
    assert run_cell("x = 1_000\nprint(x)", names) == "1000\n"
    assert run_cell("x", names) == "1000\n"
    assert run_cell("None", names) == ""
    page = "class Page:\n    def _repr_html_(self):\n        return '<b>12</b>'\nPage()"
    assert run_cell(page, names).endswith(" 12 ")


@pytest.mark.slow
def test_find_and_fix(tmp_path):
    pytest.importorskip("jinja2", reason="needs the extra 'report'")
    names = told("find_and_fix")
    assert names["before"].status == "fail"
    assert names["after"].status == "pass"
    assert names["why"].best.column == "date_of_birth"
    assert "Keeps every limit" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_release_over_time():
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    pytest.importorskip("pyarrow", reason="needs the extra 'arrow'")
    names = told("a_release_over_time")
    assert names["blocked"].status == "fail"
    assert names["mended"].status == "pass"
    assert names["exposed"]["every 6 months"] == 0 < names["exposed"]["every month"]
    assert (len(names["verified"].waivers), len(names["ledger"].entries())) == (1, 2)
    assert "was changed" in str(names["refused"])


@pytest.mark.slow
def test_predict_before_you_collect(reference):
    names = told("predict_before_you_collect")
    assert names["asked"].size == pytest.approx(reference["appB_final"]["value"])
    assert names["without"].size == pytest.approx(reference["appB_income"]["value"])
    assert names["bands"].width == 5


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_on_spark(spark):
    names = told("on_spark")
    assert names["spark"] is spark
    assert names["before"].status == "fail"
    assert names["after"].status == "pass"
