"""Class sizes and sensitive values of Polars tables against Polars' own `group_by`.

And of small tables, of Arrow as well, against the same of pandas; all in processor time.
"""

from __future__ import annotations

import sys
import time
from functools import partial
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
SMALL = 1_000
LARGE = 10_000_000


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


def small_tables() -> Iterator[Row]:
    frame = people(SMALL, *FEW)
    kinds = {"pandas": frame.to_pandas(), "Polars": frame, "LazyFrame": frame.lazy()}
    kinds["pyarrow"] = frame.to_arrow()
    for what, asked in (
        ("`k`", partial(anonrisk.k, qids=QID)),
        ("k, l and t", partial(anonrisk.assess, qids=QID, sensitive=SENSITIVE, measures=MEASURES)),
    ):
        times = _bench.interleaved(
            {kind: partial(asked, table) for kind, table in kinds.items()},
            rounds=11,
            calls=50,
            clock=time.process_time,
        )
        for kind in list(kinds)[1:]:
            of = f"{what} of {SMALL:,} records, {kind}, against pandas"
            yield compared(of, times[kind], times["pandas"], 1.5)


def against_group_by(
    n_records: int, shape: tuple[int, int], bars: tuple[float, float]
) -> Iterator[Row]:
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
        },
        clock=time.process_time,
    )
    of = f"{sizes.height:,} classes"
    yield compared(f"`k`, {of}", times["k"], times["group_by"], bars[0])
    yield compared(f"`k` of a LazyFrame, {of}", times["lazy"], times["group_by"], bars[0])
    yield compared(f"k, l and t, {of}", times["assess"], times["with sensitive"], bars[1])


def rows(n_records: int) -> Iterator[Row]:
    yield from small_tables()
    bars = (0.5, 1.0) if n_records >= LARGE else (0.9, 1.5)
    yield from against_group_by(n_records, MANY, bars)
    yield from against_group_by(n_records, FEW, bars)


def main() -> None:
    asked = _bench.options(__doc__)
    measured = []
    for row in rows(asked.records):
        print(*row.cells, sep="  ", flush=True)
        measured.append(row)
    _bench.report(
        "polars",
        f"Polars tables, {asked.records:,} records, against `group_by(…).len()`, processor time",
        _bench.machine("numpy", "polars", "pyarrow"),
        measured,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
