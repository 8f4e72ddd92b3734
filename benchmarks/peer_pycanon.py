"""k, l and t on pandas against pycanon, in an environment of its own that git ignores."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks.attributes import QID, VALUES, admissions

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from benchmarks._bench import Row

PYCANON = "pycanon==1.3.6"
FOLDER = _bench.ROOT / ".venv-pycanon"
RECORDS = 100_000
LIMIT = 600
BARS: dict[str, float | None] = {"k": 1 / 50, "l": 1 / 300, "t": 1 / 2_000}

# Runs in pycanon's environment; reads the same table and prints how long a call took, and its
# answer. The first call of k warms up what pandas loads late.
CHILD = """
import json, sys, time
import pandas as pd
from pycanon import anonymity
path, measure = sys.argv[1:]
table = pd.read_csv(path, dtype={"street": str})
qid = ["area", "street"]
call = {
    "k": lambda t: anonymity.k_anonymity(t, qid),
    "l": lambda t: anonymity.l_diversity(t, qid, ["sensitive"]),
    "t": lambda t: anonymity.t_closeness(t, qid, ["sensitive"]),
}[measure]
call(table.iloc[:100])
times = []
while len(times) < 3 and sum(times) < 10:
    start = time.perf_counter()
    answer = call(table)
    times.append(time.perf_counter() - start)
print(json.dumps([times, float(answer)]))
"""


@dataclass(frozen=True)
class Measured:
    """How long a measure took each, on how many records, and what each said."""

    n_records: int
    ours: float
    theirs: float
    answers: tuple[float, float]


def environment() -> Path:
    """Make the environment once; give its interpreter."""
    python = FOLDER / "bin" / "python"
    mark = FOLDER / "anonrisk-stamp"
    if not mark.exists() or mark.read_text(encoding="utf-8") != PYCANON:
        venv.create(FOLDER, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PYCANON], check=True)
        mark.write_text(PYCANON, encoding="utf-8")
    return python


def theirs(python: Path, table: Path, measure: str) -> tuple[list[float], float] | None:
    """Time pycanon in a process of its own; None if a call takes more than ten minutes."""
    try:
        done = subprocess.run(
            [python, "-c", CHILD, str(table), measure],
            check=True,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None
    times, answer = json.loads(done.stdout.splitlines()[-1])
    return times, answer


def ours(frame: pd.DataFrame, measure: str) -> tuple[float, float]:
    asked: dict[str, Callable[[], Any]] = {
        "k": lambda: anonrisk.k(frame, QID),
        "l": lambda: anonrisk.ldiv(frame, QID, "sensitive"),
        "t": lambda: anonrisk.tcloseness(frame, QID, "sensitive", "equal"),
    }
    times = _bench.interleaved({measure: asked[measure]}, rounds=11)[measure]
    return median(times), float(asked[measure]())


def largest(python: Path, folder: Path, measure: str, n_records: int, per_class: float) -> Measured:
    """Grow the table to the size asked for, or to the largest that pycanon finishes."""
    found = None
    for n in (n_records // 100, n_records // 10, n_records):
        frame = admissions(n, len(VALUES), per_class)
        path = folder / f"{n}-{per_class}.csv"
        frame.to_csv(path, index=False)
        before = ours(frame, measure)
        peer = theirs(python, path, measure)
        if peer is None:
            break
        after = ours(frame, measure)
        found = Measured(n, median((before[0], after[0])), median(peer[0]), (after[1], peer[1]))
        print(f"{measure}, {n:,} records: {found.theirs:.3f} s and {found.ours:.5f} s", flush=True)
    if found is None:
        raise RuntimeError("pycanon finished no size at all")
    return found


def row(measure: str, found: Measured, per_class: float, bar: float | None) -> Row:
    same = abs(found.answers[0] - found.answers[1]) <= 1e-9 * max(found.answers)
    said = "same answer" if same else f"ours {found.answers[0]:.6g}, theirs {found.answers[1]:.6g}"
    what = f"{measure}, {found.n_records:,} records, {per_class:.3g} a class ({said})"
    return _bench.compared(what, [found.ours], [found.theirs], bar)


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    python = environment()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for per_class in (10 / 3, 100):
            for measure, bar in BARS.items():
                found = largest(python, Path(folder), measure, asked.records, per_class)
                rows.append(row(measure, found, per_class, bar if per_class < 100 else None))
    _bench.report(
        "peer_pycanon",
        f"Against pycanon on pandas, {asked.records:,} records, 20 values",
        _bench.machine("numpy", "pandas", more=f"{PYCANON} with its own pandas"),
        rows,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
