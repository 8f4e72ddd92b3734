"""Diversity and closeness on Spark against the grouping that only counts the pairs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared

QID = ["area", "street"]
RECORDS = 1_000_000


def admissions(
    spark: SparkSession, n_records: int, n_values: int, folder: str, per_class: float = 10 / 3
) -> DataFrame:
    """Write records with so many to a class, and read them again."""
    classes = f.floor(f.rand(seed=1) * round(n_records / per_class))
    table = spark.range(n_records).select(classes.alias("class"), f.rand(seed=2).alias("x"))
    table.select(
        f.floor(f.col("class") / 1_000).alias("area"),
        (f.col("class") % 1_000).cast("string").alias("street"),
        (f.floor(f.col("x") * n_values) + 0.5).alias("value"),
    ).repartition(4 * _bench.CORES).write.mode("overwrite").parquet(folder)
    return spark.read.parquet(folder)


def pairs(frame: DataFrame) -> None:
    frame.groupBy(*QID, "value").count().write.format("noop").mode("overwrite").save()


def together(frame: DataFrame, n_records: int, bar: float) -> Row:
    measures = ["k", "ldiv", "entropy_ldiv", "recursive_ldiv", "tcloseness"]
    times = _bench.interleaved(
        {
            "ours": lambda: anonrisk.assess(frame, QID, "value", measures, c=2, distance="equal"),
            "pairs": lambda: pairs(frame),
        },
        warm_up=4,
    )
    return compared(f"k, l and equal t, {n_records:,} records", times["ours"], times["pairs"], bar)


def ordered(frame: DataFrame) -> Row:
    times = _bench.interleaved(
        {"ours": lambda: anonrisk.tcloseness(frame, QID, "value"), "pairs": lambda: pairs(frame)},
        warm_up=4,
    )
    return compared("ordered t, 500 values", times["ours"], times["pairs"], 5.0)


def session(cores: str) -> SparkSession:
    spark: SparkSession = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("anonrisk benchmark")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    n = asked.records
    with tempfile.TemporaryDirectory() as folder:
        spark = session("*")
        try:
            rows = [
                together(admissions(spark, n, 20, f"{folder}/small"), n, 2.5),
                together(admissions(spark, 10 * n, 20, f"{folder}/large"), 10 * n, 3.5),
                ordered(admissions(spark, n, 500, f"{folder}/many")),
            ]
        finally:
            spark.stop()
    _bench.report(
        "attributes_spark",
        f"Sensitive values on Spark, {n:,} records",
        _bench.machine("numpy", "pandas", "pyspark"),
        rows,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
