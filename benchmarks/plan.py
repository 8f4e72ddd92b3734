"""Planning against one count of the classes, masking against one sort; pandas."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDS = 10_000_000
BINS = 25
FIGURE = _bench.ROOT / "docs" / "masking.svg"


def incomes(n_records: int, n_columns: int = 1) -> pd.DataFrame:
    """Make columns of numbers with a long tail."""
    random = np.random.default_rng(2)
    return pd.DataFrame({f"x{i}": random.lognormal(10, 1, n_records) for i in range(n_columns)})


WHOLE = anonrisk.PlanOptions(method="full-domain")


def mask(frame: pd.DataFrame) -> object:
    return anonrisk.generalize(frame, list(frame.columns), bins=BINS)


def planned(n_records: int) -> list[Row]:
    rows = []
    tables = {"uniform": _bench.people(n_records), "skewed": skewed(n_records)}
    for name, frame in tables.items():
        times = _bench.interleaved(
            {
                "plan": partial(anonrisk.plan, frame, list(frame.columns), 5, options=WHOLE),
                "k": partial(anonrisk.k, frame, list(frame.columns)),
            },
            rounds=3,
        )
        what = f"plan for 4 columns, {n_records:,} {name} records, against one k"
        rows.append(compared(what, times["plan"], times["k"], 40))
    return rows


def skewed(n_records: int) -> pd.DataFrame:
    """Make columns as registries have them: age, sex, postal code, income."""
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": random.binomial(100, 0.45, n_records),
            "sex": random.choice(np.array(["f", "m"], dtype=object), n_records),
            "zip": (1000 + random.zipf(1.3, n_records) % 500).astype(str),
            "income": np.round(random.lognormal(10, 1, n_records), -2),
        }
    )


def masked(n_records: int) -> Row:
    frame = incomes(n_records)
    times = _bench.interleaved(
        {"mask": partial(mask, frame), "sort": frame["x0"].sort_values}, rounds=3
    )
    what = f"masking by {BINS} quantiles, {n_records:,} records, against one sort_values"
    return compared(what, times["mask"], times["sort"], 3)


def growth(n_records: int) -> tuple[list[Row], dict[str, tuple[list[int], list[float]]]]:
    """Time masking by number of records (figure 5) and of columns (figure 4 of the paper)."""
    steps = (1, 2, 4, 8)
    sizes = [n_records // 80 * step for step in steps]
    by_records = _times([incomes(size) for size in sizes])
    by_columns = _times([incomes(sizes[1], step) for step in steps])
    rows = []
    for what, times in (("records", by_records), ("columns", by_columns)):
        ratio = times[-1] / times[0]
        shown = _bench.seconds(times[-1]), _bench.seconds(times[0])
        rows.append(Row(f"masking, 8 times the {what}", *shown, ratio, "≤ 12.00", ratio <= 12))
    curves = {"records": (sizes, by_records), "columns": (list(steps), by_columns)}
    return rows, curves


def _times(frames: Sequence[pd.DataFrame]) -> list[float]:
    found = _bench.interleaved({str(i): partial(mask, frame) for i, frame in enumerate(frames)})
    return [median(found[str(i)]) for i in range(len(frames))]


def draw(curves: dict[str, tuple[list[int], list[float]]]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, (what, (sizes, times)) in zip(axes, curves.items(), strict=True):
        axis.plot(sizes, times, marker="o")
        axis.set(xlabel=what, ylabel="seconds", ylim=(0, None), xlim=(0, None))
    figure.suptitle(f"Masking by {BINS} quantiles")
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    rows, curves = growth(asked.records)
    _bench.report(
        "plan",
        "Planning and masking on pandas",
        _bench.machine("numpy", "pandas", "pyarrow"),
        [*planned(asked.records // 10), masked(asked.records), *rows],
        write=not asked.no_write,
    )
    if not asked.no_write:
        draw(curves)
        print(f"drawn to {FIGURE.relative_to(_bench.ROOT)}")


if __name__ == "__main__":
    main()
