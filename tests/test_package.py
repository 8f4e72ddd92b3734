"""The package as it is built, and the rules of the house that a machine can read."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "anonrisk").rglob("*.py"))
# What a measure may import.
ARITHMETIC = {
    *("__future__", "dataclasses", "math", "numbers", "time", "typing"),
    *("numpy", "scipy", "anonrisk"),
}
BESIDE = ("benchmarks", "docs", "examples", "expectations", "spark_jobs", "tests")


def imports(path):
    """Top-level names that a file imports, wherever it does so but in `to_frame`.

    A result may give itself as a pandas table when it is asked to; types are for the reader.
    """
    found = []

    def visit(node):
        if isinstance(node, ast.FunctionDef) and node.name == "to_frame":
            return
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                visit(child)

    visit(ast.parse(path.read_text()))
    return found


def inside(path, *folders):
    return any(str(path.relative_to(ROOT / "anonrisk")).startswith(folder) for folder in folders)


def broken(path):
    """The rules that the imports of a file break."""
    names = imports(path)
    found = {name.partition(".")[0] for name in names}
    # The suite for other tools makes its small tables itself.
    of_spark = ("engines", "pandas_on_spark.py", "testing")
    if "pyspark" in found and not inside(path, *of_spark):
        yield "pyspark is for engines"
    # Small tables of results are built in summary; datasets makes tables to try.
    at_home = ("engines", "datasets", "api/summary.py", "testing")
    if "pandas" in found and not inside(path, *at_home):
        yield "pandas is for engines"
    # Only what a user imports by name brings Great Expectations along.
    if "great_expectations" in found and not inside(path, "gx"):
        yield "Great Expectations is for its own folder"
    # Formulas alone stand in the folder itself; beside them are counts and recodings.
    if path.parent.name == "measures" and found - ARITHMETIC:
        yield "measures are arithmetic"


@pytest.mark.slow
def test_only_engines_touch_tables():
    rules = {str(path.relative_to(ROOT)): list(broken(path)) for path in SOURCES}
    assert {path: said for path, said in rules.items() if said} == {}


def test_the_import_check_sees_what_it_should(tmp_path):
    (tmp_path / "x.py").write_text(
        "def f():\n    from pyspark.sql import functions\n    import a.b\n"
    )
    assert set(imports(tmp_path / "x.py")) == {"pyspark.sql", "a.b"}


def test_files_are_short_enough_to_read():
    assert [p.name for p in SOURCES if len(p.read_text().splitlines()) > 800] == []


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy to build in, with a module that an earlier build has left behind."""
    to = tmp_path_factory.mktemp("checkout")
    for folder in ("anonrisk", *BESIDE):
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, to)
    stale = to / "build" / "lib" / "anonrisk" / "stale.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    return to


def build(checkout, kind, folder):
    built = subprocess.run(
        [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", folder, checkout],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-1000:] + built.stderr[-1000:]
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    return build(checkout, "--wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def installed(wheel, tmp_path):
    """Run Python where there is the wheel and no checkout: as an archive, as Spark is sent it."""

    def run(*arguments):
        env = {**os.environ, "PYTHONPATH": str(wheel), "SPARK_LOCAL_IP": "127.0.0.1"}
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    return run


# In one process, for each would import everything anew.
PROMISED = """
import contextlib, importlib, io, json, sys
import anonrisk
from anonrisk.cli import main

def said_by(call, arguments):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = call(arguments)
    return code, said.getvalue()

done = [said_by(main, arguments) for arguments in json.loads(sys.argv[1])]
for name in ("check", "measure", "predict"):
    job = importlib.import_module(f"anonrisk.spark_jobs.{name}")
    done.append(said_by(job.main, ["--help"]))
print(json.dumps([anonrisk.__file__, done]))
"""


@pytest.mark.slow
def test_what_the_readme_promises_is_in_the_wheel(installed, wheel):
    promised = {
        "example --list": (0, "hospital "),
        "example hospital": (0, "k = 1"),
        "example hospital --code": (0, "def main("),
        "example": (0, "Wrote admissions.csv and release.json"),
        "check admissions.csv --policy release.json": (1, "FAIL"),
        "check admissions.csv --policy cms_k11 --qids pc4": (1, "FAIL"),
        "report admissions.csv --policy release.json -o r.html": (1, ""),
        "draft admissions.csv -o draft.json --ready open_data": (0, ""),
    }
    done = installed("-c", PROMISED, json.dumps([line.split() for line in promised]))
    assert done.returncode == 0, done.stderr
    file, found = json.loads(done.stdout)
    assert file.startswith(str(wheel))
    expected = [*promised.values(), *[(0, "--format")] * 3]
    for (code, text), (wanted, said) in zip(found, expected, strict=True):
        assert (code, said in text) == (wanted, True), done.stderr


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_a_cluster_is_sent_the_wheel(installed, wheel, tmp_path):
    import pyspark

    page = (ROOT / "docs" / "howto" / "gate_spark.md").read_text(encoding="utf-8")
    (lines,) = re.findall("```python\n(import sys\n.*?)```", page, flags=re.DOTALL)
    where = "import anonrisk\nprint(anonrisk.__file__)\n"
    (tmp_path / "gate.py").write_text(where + lines)
    (tmp_path / "t.csv").write_text("zip,age\n1,2\n1,2\n")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = ("--master", "local[1]", "--conf", "spark.ui.enabled=false", "--py-files", wheel)
    given = ("t.csv", "--format", "csv", "--policy", "cms_k11", "--qids", "zip", "age")
    command = map(str, (submit, *options, "gate.py", *given, "--output", "v.json"))
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    env.pop("PYTHONPATH", None)
    done = subprocess.run(
        list(command), cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr[-1000:]
    # Spark copies what it is sent.
    assert wheel.name in done.stdout.splitlines()[0]
    assert json.loads((tmp_path / "v.json").read_text())["status"] == "fail"
    # Where Python starts Spark, a job is a module.
    done = installed("-m", "anonrisk.spark_jobs.check", *given[:-2], "zip", "age")
    assert done.returncode == 1, done.stderr[-1000:]


@pytest.mark.slow
def test_the_wheel_holds_anonrisk_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"anonrisk"}
    assert {"anonrisk/py.typed", "anonrisk/accessor.pyi"} <= set(names)
    data = {str(path.relative_to(ROOT)) for path in (ROOT / "anonrisk").rglob("*.json")}
    assert {name for name in names if name.endswith(".json")} == data
    assert "anonrisk/policy/ready/research_k5.json" in data
    packaged = {name for name in names if name.endswith(".py")}
    assert packaged == {str(path.relative_to(ROOT)) for path in SOURCES}


@pytest.mark.slow
def test_the_source_distribution_can_test_itself(checkout, tmp_path):
    with tarfile.open(build(checkout, "--sdist", tmp_path)) as made:
        names = {name.partition("/")[2] for name in made.getnames()}
    assert {
        "conftest.py",
        "dev.py",
        "stubs.py",
        "pyproject.toml",
        "setup.py",
        "CHANGELOG.md",
    } <= names
    assert {"tests/oracle.py", "tests/data/reference.json", "tests/pins/latest.txt"} <= names
    for folder in BESIDE:
        there = {str(path.relative_to(checkout)) for path in (checkout / folder).rglob("*.*")}
        assert {name for name in there if not name.endswith(".pyc")} <= names, folder
    assert not [name for name in names if "__pycache__" in name or "stale" in name]


@pytest.mark.nightly
def test_the_tests_of_a_source_distribution_run(checkout, tmp_path):
    with tarfile.open(build(checkout, "--sdist", tmp_path)) as made:
        made.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--engines", "plain"]
    files = ("tests/test_k.py", "tests/test_ldiv.py", "tests/test_policy.py", "tests/test_cli.py")
    done = subprocess.run(
        [*command, "-m", "not slow", *files],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    links = [link for link in links if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    # The name is on no index so far: what is installed is a checkout.
    for line in page.read_text(encoding="utf-8").splitlines():
        if re.search(r"pip install [\"']?anonrisk", line):
            assert line.startswith("Once it is published on the package index"), line
