"""Sensitive values on Spark in the processor time of executors, against counting the pairs alone.

Three shapes of a table: all records differ, 10,000 classes, and one class of 30% of the rows.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import compared
from benchmarks.attributes_spark import QID, pairs, session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

RECORDS = 300_000
SHAPES = ["differ", "few", "skewed"]
BARS = {5: 2.2, 64: 2.2, 500: 2.8}
WARM_UP, ROUNDS = 5, 5


def shaped(spark: SparkSession, shape: str, n: int, n_values: int, folder: str) -> DataFrame:
    """Write a table of one shape, and read it again."""

    def drawn(seed: int, n_values: int) -> Any:
        return f.floor(f.rand(seed=seed) * n_values)

    classes = {
        "differ": f.col("id"),
        "few": drawn(1, 10_000),
        "skewed": f.when(f.rand(seed=2) < 0.3, -1).otherwise(drawn(3, n // 10)),
    }
    table = spark.range(n, numPartitions=4 * _bench.CORES)
    table.select(classes[shape].alias("class"), drawn(4, n_values).alias("value")).select(
        f.floor(f.col("class") / 1_000).alias("area"),
        (f.col("class") % 1_000).cast("string").alias("street"),
        f.concat(f.lit("value "), "value").alias("value"),
        (f.col("class") * 3 + drawn(5, 3)).alias("person"),
    ).write.mode("overwrite").parquet(folder)
    return spark.read.parquet(folder)


def calls(frame: DataFrame) -> dict[str, Callable[[], object]]:
    """What is timed; the first is what the others are compared with."""
    policy = anonrisk.Policy(
        quasi=QID,
        sensitive="value",
        k=5,
        max_unique_fraction=0.01,
        max_fraction_below_k={"k": 5, "at_most": 0.1},
        ldiv={"l": 2},
        tcloseness={"t": 0.2, "distance": "equal"},
        risk={"prosecutor": {"highest": 0.2, "average": 0.1}},
        unlisted="ignore",
    )
    return {
        "pairs": lambda: pairs(frame),
        "assess": lambda: anonrisk.assess(frame, QID, "value", distance="equal"),
        "check, six budgets": lambda: policy.check(frame),
        "assess, persons": lambda: anonrisk.assess(
            frame, QID, "value", distance="equal", unit="person"
        ),
    }


def processor_time(spark: SparkSession, call: Callable[[], object]) -> float:
    """Run something, and read from Spark's own books how long executors were busy with it."""
    context: Any = spark.sparkContext._jsc.sc()  # noqa: SLF001
    java: Any = spark._jvm.java  # type: ignore[union-attr] # noqa: SLF001
    none = java.lang.reflect.Array.newInstance(java.lang.Double.TYPE, 0)

    def taken() -> float:
        context.listenerBus().waitUntilEmpty()
        every = java.util.Collections.emptyList()
        stages = context.statusStore().stageList(None, *[False] * 2, none, every)
        busy: int = sum(stages.apply(i).executorCpuTime() for i in range(stages.size()))
        return busy / 1e9

    before = taken()
    call()
    return taken() - before


def measured(spark: SparkSession, timed: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Take turns, as `_bench.interleaved` does."""
    for call in [*timed.values()] * WARM_UP:
        call()
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    for number in range(ROUNDS):
        for name in list(timed)[:: -1 if number % 2 else 1]:
            seconds[name].append(processor_time(spark, timed[name]))
    return seconds


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS, calls=SHAPES)
    n, rows = asked.records, []
    with tempfile.TemporaryDirectory() as folder:
        spark = session("2")
        try:
            for n_values, bar in BARS.items():
                for shape in asked.only or SHAPES:
                    frame = shaped(spark, shape, n, n_values, f"{folder}/{shape}{n_values}")
                    seconds = measured(spark, calls(frame))
                    bars = {"assess": bar, "check, six budgets": 3.0}
                    for name in list(seconds)[1:]:
                        what = f"{name}: {shape}, {n_values} values"
                        rows.append(compared(what, seconds[name], seconds["pairs"], bars.get(name)))
                        print(*rows[-1].cells, flush=True)
        finally:
            spark.stop()
    _bench.report(
        "assess_spark",
        f"Sensitive values on Spark by shape, {n:,} records, processor time of executors",
        _bench.machine("numpy", "pandas", "pyspark"),
        rows,
        write=not asked.no_write and not asked.only,
    )


if __name__ == "__main__":
    main()
