"""Break the library one line at a time, in a copy of it, and see which tests notice.

    python3 dev.py mutants                  300 mutants, drawn by the date
    python3 dev.py mutants predict/moments  of one module or folder
    python3 dev.py mutants --date 2026-11-16 --number 60 --minutes 30

The quick tests run once and note which functions each of them enters; a mutant is then shown to
those that enter its function. Who survives them meets the pandas lane, with the slow tests, and
what counts on a database or on Spark meets its own engine.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What is broken: where numbers and verdicts come from, not texts or pictures.
TARGETS = (
    *("measures/*.py", "policy/*.py", "policy/budgets/*.py", "engines/numpy/*.py"),
    *("measures/counts/{keyed,shapes}.py", "predict/trajectory.py"),
    *("engines/pushed/*.py", "engines/sql/{rewrite,rows,sets,tally}.py"),
    *("engines/sql/dialects/*.py", "engines/spark/{count,rows,sets,tally}.py"),
    *("predict/{another_group,degree,distribution,group,independent,kl,law}.py",),
    *("predict/{moments,sample_risk,stirling,width,zipf}.py", "predict/population/*.py"),
    *("planning/{budget,class_rules,goals,losses}.py", "planning/lattice/lattice.py"),
    *("planning/regions/mondrian.py", "releases/compare/*.py"),
)
NOT_BROKEN = {"explain.py", "arguments.py"}
# Judged by a person to be no fault, with the reason: they are told apart, and not counted.
EQUIVALENT = Path(__file__).parent / "data" / "equivalent_mutants.json"
QUICK = ("--engines", "plain", "-m", "not slow and not nightly")
DRAWN = ("--draw", "mutants", "--share")
PANDAS = ("--engines", "pandas,arrow", "-m", "not nightly", *DRAWN, "0.02")
SQL = ("--engines", "sql,scan", "-m", "engine and not nightly", *DRAWN, "0.5")
SPARK = ("--engines", "spark", "-m", "(engine or spark) and not nightly", *DRAWN, "0.1")
# What all engines are asked about counting and scoring.
OF_ENGINES = (
    *("classes", "engines", "explain_risk", "find_qids", "formulas", "kmap", "ldiv", "plan_bins"),
    *("predict_population", "profiles", "risk", "sizes", "suda", "summary", "tcloseness"),
    "verdict",
)
OF_GX = (
    "--ignore-glob=*/tests/test_g[ax]*.py",
    "--ignore=tests/test_doors.py",
    "--ignore=anonrisk/gx",
)
GOAL, QUICK_SECONDS, LANE_SECONDS = 0.85, 90.0, 400.0
TOO_LONG, UNASKED = -9, "undecided: the lane takes too long"
PAIRS = [
    *[(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)],
    *[(ast.In, ast.NotIn), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.Div)],
]
SWAPPED = dict(PAIRS) | {second: first for first, second in PAIRS}
RENAMED = {"min": "max", "minimum": "maximum", "any": "all", "fmin": "fmax", "floor": "ceil"}
RENAMED |= {new: old for old, new in RENAMED.items()}


@dataclass(frozen=True)
class Mutant:
    """One change of one place, and what became of it."""

    path: str
    line: int
    start: int
    end: int
    text: str
    before: str
    function: tuple[str, int] | None
    fate: str = ""

    @property
    def key(self) -> str:
        """Name the change by what it is, whatever line it moves to."""
        inside = self.function[0] if self.function else "module"
        return f"{self.path} {inside}: {self.before} -> {self.text}"


def changed(node: ast.AST):
    """Build what may stand in place of a node."""
    other = copy.deepcopy(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other.ops = [SWAPPED[type(node.ops[0])]()]
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPPED:
        other.op = SWAPPED[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        other = node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        other.value = node.value + 1 if isinstance(node.value, int) else (node.value * 2 or 1.0)
    elif isinstance(node, ast.Name | ast.Attribute):
        name = "id" if isinstance(node, ast.Name) else "attr"
        if getattr(node, name) not in RENAMED:
            return None
        setattr(other, name, RENAMED[getattr(node, name)])
    else:
        return None
    return other


def is_text(node: ast.AST) -> bool:
    """Whether an operand is a text: what it is joined to is one too."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr)


def left_out(node: ast.AST) -> bool:
    """Whether a part is about texts, errors or types: what they say is not a number."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).endswith("warn")
    return isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert)


def places(node: ast.AST, function=None):
    """Yield the parts of a module that may be broken, with the function that each is in."""
    if left_out(node):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        function = (node.name, first)
    if isinstance(node, ast.Return) and node.value is not None and not is_text(node.value):
        yield node.value, ast.Constant(None), function
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield node.test, ast.UnaryOp(ast.Not(), node.test), function
    joined = isinstance(node, ast.BinOp) and (is_text(node.left) or is_text(node.right))
    other = None if joined else changed(node)
    if other is not None:
        yield node, other, function
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from places(child, function)


def mutants_of(path: Path, root: Path = ROOT) -> list[Mutant]:
    """List every way to break a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = {}
    for node, other, function in places(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before, text = ast.unparse(node), ast.unparse(other)
        if before != text:
            name = str(path.relative_to(root / "anonrisk"))
            found[start, end, text] = Mutant(name, node.lineno, start, end, text, before, function)
    return list(found.values())


def braces(pattern: str) -> list[str]:
    """Write out the alternatives of a pattern."""
    head, brace, rest = pattern.partition("{")
    inside, _, tail = rest.partition("}")
    return [f"{head}{one}{tail}" for one in inside.split(",")] if brace else [pattern]


def all_mutants(module: str | None = None, root: Path = ROOT) -> list[Mutant]:
    """List every mutant of the targets, or of one module or folder."""
    patterns = [one for pattern in TARGETS for one in braces(pattern)]
    if module is not None:
        word = module.removeprefix("anonrisk/").removesuffix(".py").replace(".", "/")
        patterns = [f"{word}.py", f"{word}/**/*.py"]
    paths = {path for pattern in patterns for path in (root / "anonrisk").glob(pattern)}
    paths = {path for path in paths if path.name not in NOT_BROKEN}
    return [mutant for path in sorted(paths) for mutant in mutants_of(path, root)]


# ---- inside pytest ------------------------------------------------------------------------------


class Recorder:
    """Note which functions of the library each test enters, and how long it takes."""

    def __init__(self, folder: str, output: str) -> None:
        self.folder, self.output = folder, output
        self.tests, self.now = {}, set()

    def trace(self, frame, *_):
        self.now.add(frame.f_code)

    def pytest_runtest_protocol(self, item):
        self.now, self.started = set(), time.monotonic()
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.tests[report.nodeid] = None
        if report.when == "teardown":
            sys.settrace(None)
            if report.nodeid in self.tests:
                mine = (c for c in self.now if c.co_filename.startswith(self.folder))
                entered = {(c.co_filename[len(self.folder) :], c.co_firstlineno) for c in mine}
                took = time.monotonic() - self.started
                self.tests[report.nodeid] = [round(took, 3), sorted(entered)]

    def pytest_sessionfinish(self):
        Path(self.output).write_text(json.dumps(self.tests), encoding="utf-8")


class Chooser:
    """Run the named tests alone, in the order of the list."""

    def __init__(self, chosen: str) -> None:
        names = json.loads(Path(chosen).read_text(encoding="utf-8"))
        self.place = {name: place for place, name in enumerate(names)}

    def pytest_collection_modifyitems(self, items):
        kept = [item for item in items if item.nodeid in self.place]
        items[:] = sorted(kept, key=lambda item: self.place[item.nodeid])


def pytest_configure(config):
    """Be a plugin of pytest, where the environment says for what."""
    if "MUTANTS_RECORD" in os.environ:
        recorder = Recorder(os.environ["MUTANTS_FOLDER"], os.environ["MUTANTS_RECORD"])
        config.pluginmanager.register(recorder)
    if "MUTANTS_CHOSEN" in os.environ:
        config.pluginmanager.register(Chooser(os.environ["MUTANTS_CHOSEN"]))


# ---- outside ------------------------------------------------------------------------------------


class Copy:
    """A copy of the checkout in which mutants live."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        left_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
        shutil.copytree(ROOT, self.root, ignore=left_out)
        for name in (".github", ".ci"):  # tests read them
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.root / name)

    def pytest(self, *args: str, limit: float | None = None, **more: str) -> int:
        """Run pytest on the copy; return its exit code, or `TOO_LONG` where it was stopped."""
        paths = os.pathsep.join([str(self.root), str(self.root / "tests")])
        env = {**os.environ, **more, "PYTHONPATH": paths}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants", "-p", "no:cacheprovider"]
        with subprocess.Popen(
            [*command, *args],
            cwd=self.root,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return TOO_LONG

    def check_lanes(self) -> None:
        """Refuse lanes that cannot be asked: their error would be taken for a broken test."""
        for lane in (QUICK, PANDAS, SQL, SPARK):
            if self.pytest(*lane, "--collect-only", "tests/test_engines.py"):
                sys.exit(f"mutants: pytest cannot be started with {' '.join(lane)}")

    def record(self) -> dict[str, list]:
        """Run the quick tests, and read which functions each of them enters."""
        output = self.root.parent / "record.json"
        folder = f"{self.root / 'anonrisk'}{os.sep}"
        self.pytest(*QUICK, *OF_GX, MUTANTS_RECORD=str(output), MUTANTS_FOLDER=folder)
        return json.loads(output.read_text(encoding="utf-8"))

    def fate(self, mutant: Mutant, entered: dict[tuple[str, int | None], list]) -> str:
        """Break the line, ask each lane, mend it; the first lane that notices is told."""
        path = self.root / "anonrisk" / mutant.path
        whole = path.read_bytes()
        text = f"({mutant.text})".encode()
        path.write_bytes(whole[: mutant.start] + text + whole[mutant.end :])
        forget(path)
        try:
            return self.noticed(mutant, entered)
        finally:
            path.write_bytes(whole)
            forget(path)

    def noticed(self, mutant: Mutant, entered) -> str:
        """Ask each lane in turn."""
        place = mutant.function[1] if mutant.function else None
        tests, seconds = [], 0.0
        for took, name in sorted(entered.get((mutant.path, place), [])):
            seconds += took
            if tests and seconds > QUICK_SECONDS:
                break
            tests.append(name)
        if tests:
            chosen = self.root.parent / "chosen.json"
            chosen.write_text(json.dumps(tests), encoding="utf-8")
            files = sorted({name.partition("::")[0] for name in tests})
            limit = 60 + 5 * min(seconds, QUICK_SECONDS)
            asked = (*QUICK, "-x", *files)
            if self.pytest(*asked, limit=limit, MUTANTS_CHOSEN=str(chosen)) not in {0, 5}:
                return "quick"
        for lane, args, files in self.lanes(mutant, tests):
            code = self.pytest(*args, "-x", *files, limit=LANE_SECONDS)
            if code == TOO_LONG:
                return UNASKED
            if code not in {0, 5}:
                return lane
        return f"survived {len(tests)} quick tests" if tests else "survived: no quick test enters"

    def lanes(self, mutant: Mutant, tests: list[str]):
        """Yield the lanes after the quick one, with the files that know the module."""
        on_engine = [f"tests/test_{word}.py" for word in OF_ENGINES]
        if mutant.path.startswith(("engines/sql", "engines/pushed")):
            yield "sql", SQL, on_engine
            of_databases = sorted(self.root.glob("tests/test_sql*.py"))
            yield "pandas", PANDAS, [str(path.relative_to(self.root)) for path in of_databases]
        elif mutant.path.startswith("engines/spark"):
            yield "spark", SPARK, on_engine
        else:
            files = Counter(name.partition("::")[0] for name in tests)
            stem = mutant.path.rpartition("/")[2].removesuffix(".py")
            own = [str(one.relative_to(self.root)) for one in self.root.glob(f"tests/*{stem}*.py")]
            if mutant.path.startswith("policy"):
                own.append("tests/test_doors.py")
            own += [] if tests else self.naming(stem)
            known = [*own, *(name for name, _ in files.most_common(6) if name not in own)]
            yield "pandas", PANDAS, [one for one in known if Path(one).name.startswith("test_")]

    def naming(self, stem: str) -> list[str]:
        """List the three files of tests that name a module most often."""
        often = {
            str(path.relative_to(self.root)): len(
                re.findall(rf"\b{stem}\b", path.read_text("utf-8"))
            )
            for path in self.root.glob("tests/test_*.py")
        }
        return sorted((name for name in often if often[name]), key=lambda name: -often[name])[:3]


def forget(path: Path) -> None:
    """Remove what Python has compiled of a file, which may be as old and as long as the next."""
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def digest() -> str:
    """Compute a digest of everything that decides which test enters what."""
    whole = hashlib.sha256()
    for path in sorted([*ROOT.glob("anonrisk/**/*.py"), *ROOT.glob("tests/*.py")]):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def recorded(where: Copy) -> dict[tuple[str, int | None], list]:
    """Read which tests enter a function, with their times; of a module under None."""
    kept, wanted = ROOT / "build" / "mutants.json", digest()
    stored = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if stored.get("digest") != wanted:
        print("mutants: the quick tests run once, to see what each of them enters", flush=True)
        stored = {"digest": wanted, "tests": where.record()}
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(stored), encoding="utf-8")
    found = defaultdict(set)
    for name, (took, entered) in stored["tests"].items():
        for path, line in entered:
            found[path, line].add((took, name))
            found[path, None].add((took, name))
    return found


def interval(k: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Compute Wilson's 95% interval of a share."""
    middle, about = (k + z * z / 2) / (n + z * z), z / (n + z * z)
    width = about * math.sqrt(k * (n - k) / n + z * z / 4)
    return middle - width, middle + width


def summary(fates: list[Mutant], equivalent: dict[str, str]) -> tuple[str, bool]:
    """Write what became of the mutants, survivors with why, and whether enough were noticed."""
    alive = [one for one in fates if one.fate.startswith("survived")]
    excused = [one for one in alive if one.key in equivalent]
    open_ = [one for one in alive if one.key not in equivalent]
    unasked = [one for one in fates if one.fate == UNASKED]
    n = len(fates) - len(excused) - len(unasked)
    lines = [f"{one.path}:{one.line} {one.key}\n    {one.fate}" for one in open_]
    lines += [f"{one.path}:{one.line} {one.key}\n    {equivalent[one.key]}" for one in excused]
    if not n:
        return "\n".join([*lines, "no mutant was decided"]), False
    killed = n - len(open_)
    by = Counter(one.fate for one in fates if one not in alive and one not in unasked)
    low, high = interval(killed, n)
    lanes = ", ".join(f"{lane} {number}" for lane, number in by.most_common())
    lines.append(
        f"{killed} of {n} mutants noticed ({lanes}): {killed / n:.1%}, "
        f"95% interval {low:.1%} to {high:.1%}; {len(excused)} more change nothing, "
        f"{len(unasked)} are undecided"
    )
    return "\n".join(lines), killed / n >= GOAL


def main(arguments: list[str] | None = None) -> int:
    """Draw mutants, and print what became of each."""
    parser = argparse.ArgumentParser(prog="dev.py mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("module", nargs="?", help="a module or folder of the package")
    parser.add_argument("--number", type=int, default=300, help="how many are drawn (300)")
    parser.add_argument("--date", default=date.today().isoformat(), help="what they are drawn by")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start none after that")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    given = parser.parse_args(arguments)
    if given.number < 1 or not given.minutes > 0:
        parser.error("--number is at least 1, and --minutes above 0")
    every = all_mutants(given.module)
    if not every:
        parser.error(f"{given.module}: nothing there is broken; a module is policy or measures/k")
    drawn = random.Random(given.date).sample(every, min(given.number, len(every)))
    print(f"mutants: {len(drawn)} of {len(every)}, drawn by {given.date}", flush=True)
    equivalent = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        copies = [Copy(Path(folder, str(number))) for number in range(max(1, given.jobs))]
        copies[0].check_lanes()
        entered = recorded(copies[0])
        end, free, fates = time.monotonic() + 60 * given.minutes, copies.copy(), []

        def decide(mutant: Mutant) -> None:
            if time.monotonic() > end:
                return
            where = free.pop()
            try:
                fates.append(replace(mutant, fate=where.fate(mutant, entered)))
            finally:
                free.append(where)
            print(f"{fates[-1].fate:30} {mutant.path}:{mutant.line} {mutant.key}", flush=True)

        with ThreadPoolExecutor(len(copies)) as pool:
            list(pool.map(decide, drawn))
    text, enough = summary(fates, equivalent)
    print(text)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
