"""Notebooks without Jupyter: cells run in one process, and what a cell ends with is shown."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NUMBER = re.compile(r"\d(?:[\d,.]*\d)?%?")


def read(name):
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def source(cell):
    return "".join(cell["source"])


def show(value):
    """What a notebook shows of a value: both its page and its text, for either may be seen."""
    if value is None:
        return ""
    page = getattr(type(value), "_repr_html_", lambda _: None)(value)
    assert page is None or "<" in page
    return f"{value!r}\n{re.sub('<[^>]*>', ' ', page or '')}"


def run_cell(code, names):
    """Run a cell; give all that it prints and shows."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue() + show(value)


def run(notebook):
    """Run a notebook; give its names, and what each cell shows, by its id."""
    names, shown = {"__name__": "__main__"}, {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shown[cell["id"]] = run_cell(source(cell), names)
    return names, shown


def numbers(text):
    return set(NUMBER.findall(re.sub(r"(?<=\d)_(?=\d)", ",", text)))


def stale(notebook, shown):
    """Numbers in sentences that no cell right before or after them holds or shows."""
    cells, found = notebook["cells"], []
    for at, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            near = set()
            for side in (cells[at + 1 :], cells[:at][::-1]):
                for other in side:
                    if other["cell_type"] == "markdown":
                        break
                    near |= numbers(source(other)) | numbers(shown[other["id"]])
            found += [(cell["id"], one) for one in sorted(numbers(source(cell)) - near)]
    return found


def told(name):
    """Run a notebook, hold its sentences to what it shows, and give its names."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'report'")
    plt.switch_backend("Agg")
    # Those of other tests are not counted.
    plt.close("all")
    notebook = read(name)
    names, shown = run(notebook)
    assert stale(notebook, shown) == []
    plots = sum(source(cell).count(".plot") for cell in notebook["cells"])
    assert len(plt.get_fignums()) == plots
    plt.close("all")
    return names


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """What a notebook writes does not stay."""
    monkeypatch.chdir(tmp_path)
