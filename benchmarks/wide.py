"""Tables of many columns and partitions against narrow ones: what nobody asks for is free."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared
from benchmarks.attributes_spark import session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

RECORDS = 20_000
COLUMNS, FEW = 2_000, 500
PARTITIONS = 5_000
QID = ["c0", "c1", "c2"]


def wide(n_records: int, n_columns: int) -> pd.DataFrame:
    """Draw a table of whole numbers."""
    cells = np.random.default_rng(1).integers(0, 30, (n_records, n_columns))
    return pd.DataFrame(cells, columns=[f"c{i}" for i in range(n_columns)])


def wide_on_spark(spark: SparkSession, n_records: int, n_columns: int) -> DataFrame:
    """Make such a table in many partitions, most of which hold a few records."""
    drawn = (f"pmod(xxhash64({i}, id), 30) as c{i}" for i in range(n_columns))
    return spark.range(n_records, numPartitions=PARTITIONS).selectExpr(*drawn)


def checked(frame: Any) -> Callable[[], object]:
    """Check a policy that lists three columns, and refuses all others by name."""
    policy = anonrisk.Policy(quasi=QID, k=1)
    return lambda: policy.check(frame)


def on_pandas(n_records: int) -> list[Row]:
    few, many = wide(n_records, FEW), wide(n_records, COLUMNS)
    narrow = many[QID].copy()
    checks = _bench.interleaved({"many": checked(many), "few": checked(few)}, rounds=3)
    k = _bench.interleaved(
        {"many": lambda: many.anon.k(QID), "narrow": lambda: narrow.anon.k(QID)}, rounds=9, calls=5
    )
    return [
        compared(
            f"check on pandas, {COLUMNS:,} columns and {FEW}", checks["many"], checks["few"], 5.0
        ),
        compared(f"k on pandas, {COLUMNS:,} columns and 3", k["many"], k["narrow"], 1.5),
    ]


def on_spark(n_records: int) -> Row:
    spark = session("2")
    try:
        frame = wide_on_spark(spark, n_records, COLUMNS)
        times = _bench.interleaved(
            {
                "ours": lambda: anonrisk.k(frame, QID),
                "groupBy": lambda: (
                    frame.groupBy(*QID).count().write.format("noop").mode("overwrite").save()
                ),
            },
            rounds=3,
        )
    finally:
        spark.stop()
    what = f"k on Spark, {COLUMNS:,} columns, {PARTITIONS:,} partitions, and one groupBy"
    return compared(what, times["ours"], times["groupBy"], 1.5)


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    _bench.report(
        "wide",
        f"Wide tables, {asked.records:,} records",
        _bench.machine("numpy", "pandas", "pyspark"),
        [*on_pandas(asked.records), on_spark(asked.records)],
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
