"""Diversity and closeness on pandas against the groupby that only counts the pairs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared

if TYPE_CHECKING:
    from collections.abc import Callable

QID = ["area", "street"]
VALUES = [f"illness {i:02}" for i in range(20)]
RECORDS = 1_000_000


def admissions(n_records: int, n_values: int, per_class: float = 10 / 3) -> pd.DataFrame:
    """Make records with so many to a class, with strings or, if many values, floats."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, max(round(n_records / per_class), 1), n_records)
    value = rng.integers(0, n_values, n_records)
    sensitive = pd.Series(value + 0.5) if n_values > len(VALUES) else pd.Series(VALUES)[value]
    return pd.DataFrame(
        {
            "area": classes // 1_000,
            "street": (classes % 1_000).astype(str),
            "sensitive": sensitive.to_numpy(),
        }
    )


def pairs(frame: pd.DataFrame) -> object:
    return frame.groupby([*QID, "sensitive"], sort=False, observed=True, dropna=False).size()


def measures(n_records: int) -> list[Row]:
    frame = admissions(n_records, len(VALUES))
    asked: dict[str, tuple[Callable[[], object], float]] = {
        "distinct l": (lambda: anonrisk.ldiv(frame, QID, "sensitive"), 1.2),
        "entropy l": (lambda: anonrisk.ldiv(frame, QID, "sensitive", "entropy"), 1.2),
        "recursive l": (lambda: anonrisk.ldiv(frame, QID, "sensitive", "recursive", c=2), 1.2),
        "equal t": (lambda: anonrisk.tcloseness(frame, QID, "sensitive", "equal"), 1.2),
        "ordered t": (lambda: anonrisk.tcloseness(frame, QID, "sensitive", order=VALUES), 1.2),
        "k, distinct l and equal t": (
            lambda: anonrisk.assess(frame, QID, "sensitive", ["k", "ldiv", "tcloseness"]),
            0.8,
        ),
        "all of these together": (
            lambda: anonrisk.assess(
                frame,
                QID,
                "sensitive",
                ["ldiv", "entropy_ldiv", "recursive_ldiv", "tcloseness"],
                c=2,
                order=VALUES,
            ),
            1.6,
        ),
    }
    rows = []
    for what, (call, bar) in asked.items():
        times = _bench.interleaved({"ours": call, "groupby": lambda: pairs(frame)}, warm_up=1)
        rows.append(compared(what, times["ours"], times["groupby"], bar))
    return rows


def many_values(n_records: int) -> Row:
    frame = admissions(n_records, 5_000)
    times = _bench.interleaved(
        {
            "ours": lambda: anonrisk.tcloseness(frame, QID, "sensitive", "ordered"),
            "groupby": lambda: pairs(frame),
        },
        warm_up=1,
    )
    return compared("ordered t, 5,000 values", times["ours"], times["groupby"], 2.0)


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    _bench.report(
        "attributes",
        f"Sensitive values on pandas, {asked.records:,} records, 20 values",
        _bench.machine("numpy", "pandas", "pyarrow"),
        [*measures(asked.records), many_values(asked.records)],
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
