"""Class sizes of a Spark table against the same query written by hand."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import QID, Row, compared

# Each core then has several files to read.
FILES = 4 * _bench.CORES


def by_hand(frame: DataFrame) -> int:
    return int(frame.groupBy(*QID).count().agg(f.min("count")).collect()[0][0])


def write_table(n_records: int, folder: Path) -> None:
    """Write files from pandas, so that Spark meets the table for the first time when it reads."""
    frame = _bench.people(n_records)
    step = -(-n_records // FILES)
    for number, start in enumerate(range(0, n_records, step)):
        part = frame.iloc[start : start + step]
        part.to_parquet(folder / f"part-{number:03}.parquet", index=False)


def against_hand(frame: DataFrame) -> Row:
    assert anonrisk.k(frame, QID) == by_hand(frame)
    times = _bench.interleaved(
        {"k": lambda: anonrisk.k(frame, QID), "by hand": lambda: by_hand(frame)},
        warm_up=2,
    )
    what = "`k`, against `groupBy(q).count().agg(min)`"
    return compared(what, times["k"], times["by hand"], 1.15)


def main() -> None:
    asked = _bench.options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        write_table(asked.records, Path(folder))
        spark = (
            SparkSession.builder.master("local[*]")
            .appName("anonrisk benchmark")
            .config("spark.driver.memory", "4g")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        try:
            java = spark.sql("select reflect('java.lang.System', 'getProperty', 'java.version')")
            java_version = java.collect()[0][0]
            measured = [against_hand(spark.read.parquet(folder))]
        finally:
            spark.stop()
    _bench.report(
        "class_sizes_spark",
        f"Class sizes on Spark, {asked.records:,} records",
        _bench.machine("numpy", "pandas", "pyspark", more=f"Java {java_version}"),
        measured,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
