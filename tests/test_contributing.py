"""The worked examples of CONTRIBUTING.md, each made in a copy of the package and used."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = """
import pandas as pd, anonrisk
df = pd.DataFrame({"zip": list("aaaab"), "illness": list("xxxyz")})
"""
# What a reader has at the end of each example, and what the first line of it says of files.
MEASURE = (
    TABLE
    + """
import sqlite3
assert df.anon.simpson("zip", "illness") == 1.0
assert df[:4].anon.simpson("zip", "illness") == 0.625
assert "simpson" in str(df.anon.assess("zip", "illness"))
connection = sqlite3.connect(":memory:")
df[:4].to_sql("people", connection, index=False)
assert anonrisk.sql.table(connection, "people").anon.simpson("zip", "illness") == 0.625
"""
)
BUDGET = (
    TABLE
    + """
verdicts = [
    anonrisk.Policy(quasi="zip", sensitive="illness", min_mean_class_size=least).check(df)
    for least in (2, 3)
]
assert [verdict.status for verdict in verdicts] == ["pass", "fail"], verdicts
assert "have 2.5 records on average; at least 3 are required" in str(verdicts[1])
"""
)
DATABASE = (
    TABLE
    + """
import sqlite3, sys, types
class Connection:  # stands for that of the driver, which is not installed
    def __init__(self):
        self.inner = sqlite3.connect(":memory:")
    def __getattr__(self, name):
        return getattr(self.inner, name)
sys.modules["sqlcipher3"] = types.SimpleNamespace(Connection=Connection)
connection = Connection()
df.to_sql("people", connection.inner, index=False)
assert anonrisk.sql.table(connection, "people").anon.k("zip") == 1
"""
)


def example(title):
    """The files of an example: each with its blocks, in the order of the page."""
    part = TEXT.partition(f"### An example: {title}\n")[2]
    part = re.split(r"^##", part, maxsplit=1, flags=re.MULTILINE)[0]
    files = {}
    for place, kind, code in re.findall(
        r"(?:`(anonrisk/[\w/]+\.py)`(?:(?!```).)*)?```(python|diff)\n(.*?)```",
        part,
        flags=re.DOTALL,
    ):
        name = place or list(files)[-1]
        files.setdefault(name, []).append((kind, code))
    return part, files


def change(text, code):
    """Apply a block of lines that go and come."""
    before = "".join(f"{line[1:]}\n" for line in code.splitlines() if line[0] == "-")
    after = "".join(f"{line[1:]}\n" for line in code.splitlines() if line[0] == "+")
    assert text.count(before) == 1, before
    return text.replace(before, after)


NUMBERS = {"One": 1, "Two": 2, "Three": 3}


@pytest.mark.parametrize(
    ("title", "uses"),
    [
        ("Simpson's index", MEASURE),
        ("a mean class size", BUDGET),
        ("SQLCipher", DATABASE),
    ],
)
def test_an_example_can_be_followed(title, uses, tmp_path):
    pytest.importorskip("sqlalchemy", reason="needs the extra 'sql'")
    part, files = example(title)
    assert NUMBERS[part.split()[0]] == len(files), "it says how many files it touches"
    copy = tmp_path / "anonrisk"
    shutil.copytree(ROOT / "anonrisk", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, blocks in files.items():
        path = tmp_path / name
        for kind, code in blocks:
            if kind == "python":
                assert not path.exists(), name
                path.write_text(code, encoding="utf-8")
            else:
                path.write_text(change(path.read_text(encoding="utf-8"), code), encoding="utf-8")
    if any(name.startswith("anonrisk/api/") for name in files):
        shutil.copy(ROOT / "stubs.py", tmp_path)
        words = "import stubs; text = stubs.words_of_api()\n"
        words += "(stubs.PACKAGE / 'api' / '__init__.py').write_text(text)"
        subprocess.run([sys.executable, "-c", words], cwd=tmp_path, check=True)
    run = subprocess.run(
        [sys.executable, "-c", uses], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
