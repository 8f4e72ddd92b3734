"""What the benchmarks share: timing, memory, the machine, the table in docs/benchmarks.md."""

from __future__ import annotations

import argparse
import ctypes
import datetime as dt
import gc
import importlib.metadata
import os
import platform
import re
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "benchmarks.md"
CORES = os.cpu_count() or 1

QID = ["age", "sex", "area", "occupation"]
SEXES = ["female", "male"]
N_AREAS = 3_000
N_OCCUPATIONS = 16


@dataclass(frozen=True)
class Row:
    """One line of a table; without a bar it is there for information."""

    what: str
    ours: str
    baseline: str
    ratio: float | None
    bar: str = ""
    met: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else times(self.ratio)
        bar = f"{self.bar}, **not met**" if self.met is False else self.bar
        return self.what, self.ours, self.baseline, ratio, bar


def compared(
    what: str, ours: Sequence[float], baseline: Sequence[float], at_most: float | None = None
) -> Row:
    """Make the row of two series of times, round by round, whose ratio has a bar, or none.

    The median of the ratios is steadier than the ratio of the medians where the speed of the
    machine changes from round to round.
    """
    ratio = median(a / b for a, b in zip(ours, baseline, strict=True))
    shown = seconds(median(ours)), seconds(median(baseline))
    if at_most is None:
        return Row(what, *shown, ratio)
    return Row(what, *shown, ratio, f"≤ {times(at_most)}", ratio <= at_most)


def times(ratio: float) -> str:
    """Write a ratio; a small one as a fraction of one."""
    return f"{ratio:.2f}" if ratio > 0.1 else f"1/{1 / ratio:,.0f}"


def seconds(time_taken: float) -> str:
    return f"{time_taken:.3f} s" if time_taken >= 0.1 else f"{time_taken * 1e3:.2f} ms"


def options(
    description: str | None, records: int = 10_000_000, *, calls: Sequence[str] = ()
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    if calls:
        parser.add_argument(
            "--only", nargs="+", choices=calls, default=[], help="print these calls, write nothing"
        )
    parser.add_argument("--records", type=int, default=records, help="size of the large tables")
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md alone")
    return parser.parse_args()


def people(n_records: int) -> pd.DataFrame:
    """Draw a table evenly: the number of classes, hence the work, is the largest it can be."""
    random = np.random.default_rng(1)
    areas = [f"area {i:04}" for i in range(N_AREAS)]
    occupations = [f"occupation {i:02}" for i in range(N_OCCUPATIONS)]
    return pd.DataFrame(
        {
            "age": random.integers(0, 100, n_records),
            "sex": _drawn(random, SEXES, n_records),
            "area": _drawn(random, areas, n_records),
            "occupation": _drawn(random, occupations, n_records),
        }
    )


def _drawn(random: np.random.Generator, values: Sequence[str], n_records: int) -> Any:
    return pd.array(values, dtype="str").take(random.integers(0, len(values), n_records))


def with_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same table with its strings as Python objects, as pandas 2 had them."""
    strings = frame.columns.difference(frame.select_dtypes("number").columns)
    return frame.astype(dict.fromkeys(strings, object))


def interleaved(
    contestants: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 5,
    calls: int = 1,
    warm_up: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time some functions in turn and give the times of each, in seconds a call.

    Taking turns, in the other direction every other round, spreads over all of them whatever else
    the machine does meanwhile. On a busy machine `time.process_time` is the steadier clock.
    """
    for _ in range(warm_up):
        for function in contestants.values():
            function()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        names = list(contestants)
        for name in names if number % 2 == 0 else reversed(names):
            gc.collect()
            start = clock()
            for _ in range(calls):
                contestants[name]()
            times[name].append((clock() - start) / calls)
    return times


def extra_memory(function: Callable[[], object]) -> int | None:
    """Bytes at the peak of a call above those before it; None where Linux is not there to tell.

    Only in a process made for it: memory that earlier work has freed but not given back would be
    used again unseen.
    """
    _give_back()
    try:
        # Resets the high-water mark, which the making of the table has pushed up.
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _status("VmRSS")
        function()
        return _status("VmHWM") - before
    except (OSError, KeyError):
        return None


def peak_memory(function: Callable[[], object]) -> tuple[int, float]:
    """Bytes that this process has at the peak of a call, and the seconds it takes; on Linux."""
    _give_back()
    # Resets the high-water mark.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    start = time.perf_counter()
    function()
    return _status("VmHWM"), time.perf_counter() - start


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    status = dict(line.split(":", 1) for line in lines)
    return int(status[field].split()[0]) * 1024


def _give_back() -> None:
    """Return freed memory to the system, as far as the allocators let us."""
    gc.collect()
    try:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    except ImportError:
        pass
    # Other C libraries than GNU's have no such function.
    getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)(0)


def machine(*packages: str, more: str = "") -> str:
    """Describe in a line what the figures were measured on."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    software = ", ".join(
        [f"Python {platform.python_version()}", *versions, *([more] if more else [])]
    )
    return (
        f"{_cpu()}, {CORES} cores, {pages / 2**30:.0f} GiB of memory, {platform.system()}; "
        f"{software}; {dt.datetime.now(dt.UTC):%Y-%m-%d}"
    )


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def report(name: str, title: str, machine: str, rows: Sequence[Row], *, write: bool) -> None:
    """Print a table and, if asked to, put it in place of the last one in docs/benchmarks.md."""
    table = table_of(rows)
    usual = re.search("unless a section says otherwise: (.+)\\.", DOCS.read_text(encoding="utf-8"))
    shown = machine.removeprefix(f"{usual[1]}; ") if usual else machine
    section = f"## {title}\n\n{shown}\n\n{table}"
    barred = [row for row in rows if row.met is not None]
    print(f"\n{section}\n\n{sum(bool(row.met) for row in barred)} of {len(barred)} bars are met")
    if write:
        replace(name, section)


def table_of(rows: Sequence[Row]) -> str:
    header = ("", "anonrisk", "baseline", "ratio", "bar")
    lines = [header, ("---", "--:", "--:", "--:", "--:"), *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def replace(name: str, section: str, page: Path = DOCS) -> None:
    """Put a section in place of the last one of that name on a page, or at its end."""
    first, last = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    old = page.read_text(encoding="utf-8") if page.exists() else "# Benchmarks\n"
    new = f"{first}\n{section}\n{last}"
    pattern = re.compile(f"{re.escape(first)}.*?{re.escape(last)}", re.DOTALL)
    here = pattern.search(old)
    text = pattern.sub(lambda _: new, old) if here else f"{old.rstrip()}\n\n{new}\n"
    page.parent.mkdir(exist_ok=True)
    page.write_text(text, encoding="utf-8")
    print(f"written to {page.relative_to(ROOT)}")
