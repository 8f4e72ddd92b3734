"""The search for quasi-identifiers against one groupby of pandas."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared

VALUES = (2, 5, 7, 9, 15, 16, 42, 73, 94, 3_000)
# Four of the columns, for the groupby that everything is measured against.
FOUR = ["c2", "c16", "c94", "c3000"]
ALPHA = 0.2


def table(n_records: int) -> pd.DataFrame:
    """Draw ten columns evenly, with as many values each as the benchmark states."""
    random = np.random.default_rng(1)
    return pd.DataFrame({f"c{n}": random.integers(0, n, n_records) for n in VALUES})


def with_strings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same table with strings in every other column."""
    named = {str(name): "value " + frame[name].astype("str") for name in list(frame)[::2]}
    return frame.assign(**named)


def row(what: str, frame: pd.DataFrame, at_most: float | None) -> Row:
    def search() -> int:
        report = anonrisk.find_qids(frame, alpha=ALPHA, progress=False)
        assert report.n_sets == 385
        return report.n_counted

    def groupby() -> int:
        return int(frame.groupby(FOUR, observed=True, dropna=False, sort=False).size().min())

    times = _bench.interleaved({"search": search, "groupby": groupby}, rounds=3)
    return compared(f"{what}, {search()} counts", times["search"], times["groupby"], at_most)


def main() -> None:
    asked = _bench.options(__doc__, records=1_000_000)
    plain = table(asked.records)
    rows = [
        row("385 sets of integers", plain, 30),
        row("385 sets, half of the columns strings", with_strings(plain), 30),
    ]
    _bench.report(
        "find",
        f"Finding quasi-identifiers on pandas, {asked.records:,} records",
        _bench.machine("numpy", "pandas", "pyarrow"),
        rows,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
