"""Cells that are chosen against cells marked from the last column on: time, growth, and how many.

For the second part give the folder with ``tables/``: --data PATH. Beside ours stand the numbers of
suppressed cells that the pages of sdcMicro 5.7.9 print for ``localSuppression``.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared
from benchmarks.plan import skewed

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDS = 1_000_000
K = 5
HOW: dict[str, dict[str, Any]] = {
    "each alone": {"missing": "wildcard"},
    "shared": {"missing": "wildcard", "shared": True},
}
ADULT = ["age", "sex", "race", "education", "marital_status", "workclass"]
ARX = [*ADULT[:2], "race", "marital_status", "education", "native_country", "workclass"]
DWELLING = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
# Table, columns, k, and what sdcMicro prints.
TABLES: list[tuple[str, Sequence[str], int, int | None]] = [
    ("francdat", ["Key2", "Key3", "Key4"], 2, 4),
    ("francdat", ["Key1", "Key2", "Key3", "Key4"], 2, 4),
    ("testdata2", DWELLING, 2, 97),
    ("adult", ADULT, 3, None),
    ("arx_adult", [*ARX, "occupation"], 5, None),
]


def timed(n_records: int) -> list[Row]:
    """Time 1%, 10% and all of the records."""
    rows = []
    for size in (n_records // 100, n_records // 10, n_records):
        for name, frame in {"uniform": _bench.people(size), "skewed": skewed(size)}.items():
            call = partial(anonrisk.suppress, frame, list(frame.columns), K, cells=True)
            calls = {how: partial(call, **more) for how, more in HOW.items()}
            rounds = 1 if size > 100_000 else 3
            times = _bench.interleaved({"marked": call, **calls}, rounds=rounds, warm_up=0)
            for how in HOW:
                what = f"cells chosen, {how}, 4 columns, {size:,} {name} records, k = {K}"
                rows.append(compared(what, times[how], times["marked"]))
    return rows


def suppressed(before: pd.DataFrame, after: pd.DataFrame) -> int:
    """Count cells that are missing or marked and were not."""
    gone = after.isna() & before.notna()
    return int((gone | (after.astype(str) == "*")).to_numpy().sum())


def counted(data: Path) -> pd.DataFrame:
    """Count the cells that each way takes, on tables that others have counted too."""
    lines = []
    for name, columns, k, theirs in TABLES:
        table = pd.read_csv(data / "tables" / f"{name}.csv", skipinitialspace=True)[list(columns)]
        if name == "adult":
            table["age"] = table["age"] // 10 * 10
        marked = anonrisk.suppress(table, list(columns), k, cells=True)
        line: dict[str, Any] = {"table": name, "columns": len(columns), "k": k, "sdcMicro": theirs}
        line["marked"] = suppressed(table, marked)
        for how, more in HOW.items():
            after = anonrisk.suppress(table, list(columns), k, cells=True, **more)
            line[how] = suppressed(table, after)
        lines.append(line)
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS, help="size of the large tables")
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md alone")
    parser.add_argument("--data", type=Path, help="folder with tables/ to count cells of")
    asked = parser.parse_args()
    if asked.data is not None:
        print(counted(asked.data).to_string(index=False))
    if asked.records:
        rows = timed(asked.records)
        title = "Cells that are chosen, against cells marked from the last column on"
        machine = _bench.machine("anonrisk", "pandas", "numpy")
        _bench.report("local_suppression", title, machine, rows, write=not asked.no_write)


if __name__ == "__main__":
    main()
