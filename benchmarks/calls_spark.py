"""The costly calls on Spark against one grouping of the same table, and how they grow."""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared, times
from benchmarks.attributes_spark import admissions, session, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

QID = ["zip", "born", "sex"]
RECORDS = 300_000
BARS = {"find_qids, 12 columns": 30.0, "trajectory": 30.0, "linkability": 30.0}
WORDS = ["classes", "risk", "kmap", "utility", "assess", "find_qids", "trajectory", "linkability"]


def people(spark: SparkSession, n: int, folder: str) -> tuple[DataFrame, DataFrame]:
    """Write a table of twelve columns and the population, thrice as large, it was drawn from."""

    def drawn(seed: int, n_values: int) -> Any:
        return f.floor(f.rand(seed=seed) * n_values)

    population = spark.range(3 * n).select(
        "id",
        (1000 + drawn(1, 40)).cast("string").alias("zip"),
        (1930 + drawn(2, 80)).alias("born"),
        f.element_at(f.array(*map(f.lit, "fmx")), (drawn(3, 3) + 1).cast("int")).alias("sex"),
    )
    population.write.mode("overwrite").parquet(f"{folder}/population")
    population = spark.read.parquet(f"{folder}/population")
    visits = population.where("id % 3 = 0").select(
        f.concat(f.lit("p"), drawn(4, n // 2).cast("string")).alias("patient"),
        *QID,
        f.concat(f.lit("job"), drawn(5, 20).cast("string")).alias("job"),
        f.concat(f.lit("region"), drawn(6, 4).cast("string")).alias("region"),
        f.concat(f.lit("illness"), drawn(7, 8).cast("string")).alias("diagnosis"),
        f.round(f.exp(f.randn(seed=8) + 6), 1).alias("cost"),
        (drawn(9, 20) + 1.0).alias("weight"),
        (f.to_timestamp(f.lit("2021-01-01")) + f.make_dt_interval(drawn(10, 365).cast("int")))
        .cast("timestamp_ntz").alias("day"),
        f.concat(f.lit("s"), f.floor(f.rand(seed=11) * f.rand(seed=12) * 200).cast("string"))
        .alias("station"),
        f.concat(f.lit("c"), drawn(13, n // 15).cast("string")).alias("card"),
    )  # fmt: skip
    visits.repartition(4).write.mode("overwrite").parquet(f"{folder}/visits")
    return spark.read.parquet(f"{folder}/visits"), population.select(*QID)


def calls(frame: DataFrame, population: DataFrame) -> dict[str, Callable[[], object]]:
    """Everything that is timed; the first is what the others are compared with."""
    coarse = anonrisk.generalize(frame, "born", bins=10)
    return {
        "groupBy": lambda: (
            frame.groupBy(*QID, "diagnosis").count().write.format("noop").mode("overwrite").save()
        ),
        "classes, unit": lambda: anonrisk.classes(frame, QID, unit="patient"),
        "risk, population": lambda: anonrisk.risk(frame, QID, population),
        "kmap": lambda: anonrisk.kmap(frame, QID, population),
        "utility": lambda: anonrisk.utility(coarse, QID, "diagnosis", original=frame),
        "assess": lambda: anonrisk.assess(frame, QID, "diagnosis", distance="equal"),
        "find_qids, 12 columns": lambda: anonrisk.find_qids(frame, max_size=3),
        "trajectory": lambda: anonrisk.trajectory(frame, "station", unit="card"),
        "linkability": lambda: anonrisk.linkability(
            frame, "station", unit="card", time="day", period="91D"
        ),
    }


def measured(
    spark: SparkSession, n: int, folder: str, rounds: int, only: list[str]
) -> dict[str, list[float]]:
    timed = {
        name: call
        for name, call in calls(*people(spark, n, folder)).items()
        if name == "groupBy" or not only or name.split(",")[0] in only
    }
    return _bench.interleaved(timed, rounds=rounds, warm_up=1)


def rows_of(small: dict[str, list[float]], large: dict[str, list[float]]) -> list[Row]:
    """Each call against the grouping, and how often the time of a tenth of the records."""
    rows = []
    for name, taken in large.items():
        if name == "groupBy":
            continue
        row = compared(name, taken, large["groupBy"], BARS.get(name))
        grown = min(taken) / min(small[name])
        rows.append(Row(f"{name} ({times(grown)} times a tenth's)", *_rest(row)))
    return rows


def _rest(row: Row) -> Any:
    return row.ours, row.baseline, row.ratio, row.bar, row.met


def main() -> None:
    warnings.simplefilter("ignore")
    asked = _bench.options(__doc__, records=RECORDS, calls=WORDS)
    n, only = asked.records, asked.only
    with tempfile.TemporaryDirectory() as folder:
        spark = session("2")
        try:
            small = measured(spark, n // 10, f"{folder}/small", 2, only)
            large = measured(spark, n, f"{folder}/large", 3, only)
            rows = rows_of(small, large)
            if not only or "assess" in only:
                million = admissions(spark, 1_000_000, 20, f"{folder}/million")
                rows.insert(0, together(million, 10**6, 2.0))
        finally:
            spark.stop()
    _bench.report(
        "calls_spark",
        f"Costly calls on Spark, {n:,} records, in groupings by four columns of the same table",
        _bench.machine("numpy", "pandas", "pyspark"),
        rows,
        write=not asked.no_write and not only,
    )


if __name__ == "__main__":
    main()
