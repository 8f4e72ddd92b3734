"""How time and memory grow with records, classes, columns and sensitive values.

Each table is a folder of Parquet files; each engine reads it in a process of its own, on two
cores, Spark with 6 GB. The slopes, and what larger tables would cost by them, are in docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = _bench.ROOT / "docs" / "scale.md"
ENGINES = ("pandas", "scan", "spark")
CALLS = ("k", "k, l, t", "risk", "check")
# Rows that DuckDB writes at a time; the tables are made once for all engines.
CHUNK = 10_000_000


@dataclass(frozen=True)
class Kind:
    """What a table has: records that fall evenly into classes, and evenly have a value."""

    records: int
    classes: int = 10_000
    columns: int = 4
    values: int = 20
    # So many records are in one class beside the others.
    largest: int = 0

    @property
    def qid(self) -> list[str]:
        return [f"q{i}" for i in range(self.columns)]


START = Kind(1_000_000)
# START itself is measured once, among the records.
GROWING = {
    "records": [10**5, 10**6, 10**7, 10**8],
    "classes": [10**2, 10**5, 5 * 10**5],
    "columns": [2, 8, 12],
    "values": [2, 1_000, 20_000],
}


def tables(most: int, growing: list[str]) -> Iterator[tuple[str, Kind]]:
    """The tables: one of the four numbers grows, the others stay."""
    for what in growing:
        for number in GROWING[what]:
            kind = replace(START, **{what: number})
            if kind.records <= most:
                yield what, kind
    if most >= 10**8 and "records" in growing:
        yield "a class of 30 million", Kind(10**8, largest=3 * 10**7)


def write(kind: Kind, folder: Path) -> None:
    """Write a table: the digits of the number of its class are the cells of a record."""
    import duckdb

    base = math.ceil(kind.classes ** (1 / kind.columns))
    digits = [f"cl // {base**i} % {base}" for i in range(kind.columns)]
    # Every second column is of text, as postal codes are.
    cells = [f"'area ' || ({d})" if i % 2 else f"({d})" for i, d in enumerate(digits)]
    named = ", ".join(f"{cell} as q{i}" for i, cell in enumerate(cells))
    drawn = f"hash(range) % {kind.classes}"
    if kind.largest:
        drawn = f"case when range < {kind.largest} then 0 else {drawn} end"
    folder.mkdir(parents=True)
    with duckdb.connect() as connection:
        connection.execute("set threads = 2")
        for part, start in enumerate(range(0, kind.records, CHUNK)):
            end = min(start + CHUNK, kind.records)
            connection.execute(
                f"copy (select {named}, 'value ' || hash(range + 7) % {kind.values} as s from "  # noqa: S608
                f"(select range, {drawn} as cl from range({start}, {end}))) "
                f"to '{folder}/{part:03}.parquet' (format parquet)"
            )


def calls(table: Any, kind: Kind) -> dict[str, Callable[[], object]]:
    import anonrisk

    policy = anonrisk.Policy(
        quasi=kind.qid,
        sensitive="s",
        k=2,
        ldiv={"l": 2},
        tcloseness={"t": 0.9, "distance": "equal"},
    )
    return {
        "k": lambda: anonrisk.k(table, kind.qid),
        "k, l, t": lambda: anonrisk.assess(table, kind.qid, "s", ["k", "ldiv", "tcloseness"]),
        "risk": lambda: anonrisk.risk(table, kind.qid),
        "check": lambda: policy.check(table),
    }


def opened(engine: str, folder: str) -> Any:
    if engine == "pandas":
        import pandas as pd

        return pd.read_parquet(folder)
    if engine == "scan":
        import anonrisk

        return anonrisk.scan(folder, memory="2GB")
    from benchmarks.attributes_spark import session

    return session("2").read.parquet(folder)


def measure(engine: str, folder: str, kind: Kind) -> dict[str, float]:
    """Time every call once; pandas has the table in memory before."""
    start = time.perf_counter()
    table = opened(engine, folder)
    found = {"open": time.perf_counter() - start}
    for name, call in calls(table, kind).items():
        start = time.perf_counter()
        call()
        found[name] = time.perf_counter() - start
    return {**found, "memory": _high_water()}


def _high_water() -> float:
    """Bytes at the peak of this process and of those that it started, as Spark's Java."""
    peak = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        if str(os.getpid()) in {lines["Pid"].strip(), lines["PPid"].strip()}:
            peak += int(lines.get("VmHWM", "0").split()[0]) * 1024
    return float(peak)


def in_own_process(engine: str, folder: Path, kind: Kind) -> dict[str, float] | None:
    asked = json.dumps({"engine": engine, "folder": str(folder), "kind": asdict(kind)})
    command = [sys.executable, __file__, "--one", asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-600:])
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def slope(points: list[tuple[float, float]]) -> float:
    """The exponent by which a time grows between the two largest of some tables."""
    (a, x), (b, y) = points[-2:]
    return math.log(y / x) / math.log(b / a)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--records", type=int, default=10**8, help="of the largest table")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--grow", default=",".join(GROWING), help="what grows")
    parser.add_argument("--no-write", action="store_true", help="leave docs/scale.md alone")
    asked = parser.parse_args()
    if asked.one:
        one = json.loads(asked.one)
        print(json.dumps(measure(one["engine"], one["folder"], Kind(**one["kind"]))))
        return
    rows: list[tuple[str, ...]] = []
    times: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for what, kind in tables(asked.records, asked.grow.split(",")):
            place = Path(folder, "table")
            write(kind, place)
            for engine in asked.engines.split(","):
                found = in_own_process(engine, place, kind)
                rows.append(_row(engine, what, kind, found))
                print("|", " | ".join(rows[-1]), "|", flush=True)
                for call, taken in (found or {}).items():
                    number = getattr(kind, what, 0)
                    times.setdefault((engine, what, call), []).append((number, taken))
            shutil.rmtree(place)
    header = ("table", "engine", *(f"{call} (s)" for call in CALLS), "memory (GB)")
    lines = [header, ("---", "---", *["--:"] * (len(header) - 2)), *rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    grown = [
        f"- {engine}, {what}: "
        + ", ".join(f"{call} {slope(times[engine, what, call]):.2f}" for call in CALLS)
        for engine in asked.engines.split(",")
        for what in GROWING
        if len(times.get((engine, what, "k"), ())) > 1
    ]
    text = f"{_bench.machine('pandas', 'duckdb', 'pyspark')}\n\n{table}\n\n" + "\n".join(grown)
    print("\n".join(grown))
    if not asked.no_write:
        _bench.replace("slopes", text, PAGE)


def _row(engine: str, what: str, kind: Kind, found: dict[str, float] | None) -> tuple[str, ...]:
    shown = f"{getattr(kind, what):,} {what}" if what in GROWING else what
    if found is None:
        return shown, engine, *["did not end"] * len(CALLS), ""
    return shown, engine, *(f"{found[c]:.2f}" for c in CALLS), f"{found['memory'] / 2**30:.2f}"


if __name__ == "__main__":
    main()
