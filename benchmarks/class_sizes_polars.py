"""Class sizes and sensitive values of Polars tables against Polars' own `group_by`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

QID = ["area", "sex", "age"]
SENSITIVE = "ill"
MEASURES = ["k", "ldiv", "tcloseness"]
# Names of areas, and years of age: a million classes, and a thousand.
MANY, FEW = (5_000, 100), (10, 50)


def people(n_records: int, n_areas: int, n_ages: int) -> pl.DataFrame:
    """Draw a table of two columns of text and two of numbers evenly."""
    random = np.random.default_rng(1)
    areas = pl.Series([f"area {i:04}" for i in range(n_areas)])
    return pl.DataFrame(
        {
            "area": areas.gather(random.integers(0, n_areas, n_records)),
            "sex": pl.Series(_bench.SEXES).gather(random.integers(0, 2, n_records)),
            "age": random.integers(0, n_ages, n_records),
            "ill": random.integers(0, 12, n_records),
        }
    ).rechunk()


def against_group_by(n_records: int, shape: tuple[int, int], at_most: float) -> Iterator[Row]:
    frame = people(n_records, *shape)
    sizes = frame.group_by(QID).len()
    assert anonrisk.k(frame, QID) == anonrisk.k(frame.lazy(), QID) == sizes["len"].min()
    times = _bench.interleaved(
        {
            "k": lambda: anonrisk.k(frame, QID),
            "lazy": lambda: anonrisk.k(frame.lazy(), QID),
            "group_by": lambda: frame.group_by(QID).len(),
            "assess": lambda: anonrisk.assess(frame, QID, SENSITIVE, MEASURES),
            "with sensitive": lambda: frame.group_by([*QID, SENSITIVE]).len(),
        }
    )
    of = f"{sizes.height:,} classes"
    yield compared(f"`k`, {of}", times["k"], times["group_by"], at_most)
    yield compared(f"`k` of a LazyFrame, {of}", times["lazy"], times["group_by"], at_most)
    yield compared(f"k, l and t, {of}", times["assess"], times["with sensitive"], 1.5)


def rows(n_records: int) -> Iterator[Row]:
    yield from against_group_by(n_records, MANY, 1.0)
    yield from against_group_by(n_records, FEW, 1.3)


def main() -> None:
    asked = _bench.options(__doc__)
    measured = []
    for row in rows(asked.records):
        print(*row.cells, sep="  ", flush=True)
        measured.append(row)
    _bench.report(
        "polars",
        f"Polars tables, {asked.records:,} records, against `group_by(…).len()`",
        _bench.machine("numpy", "polars", "pyarrow"),
        measured,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
