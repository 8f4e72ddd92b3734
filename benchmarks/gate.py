"""A whole gate on pandas and Spark against the grouping that only counts the pairs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench, attributes
from benchmarks._bench import Row, compared

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS = 1_000_000


def policy(sensitive: str) -> anonrisk.Policy:
    """Make a policy of k, l, t, risk and prediction on one quasi-identifier."""
    return anonrisk.Policy(
        quasi=attributes.QID,
        sensitive=sensitive,
        k=5,
        max_unique_fraction=0.01,
        ldiv={"l": 2},
        tcloseness={"t": 0.2, "distance": "equal"},
        risk={"prosecutor": {"highest": 0.2, "average": 0.1}},
        predicted_singletons={"group_size": 1_000, "at_most_fraction": 0.1},
    )


def checked(frame: Any, sensitive: str) -> Callable[[], object]:
    asked = policy(sensitive)

    def call() -> None:
        verdict = asked.check(frame)
        assert all(finding.value is not None for finding in verdict.findings), verdict

    return call


def on_pandas(n_records: int) -> Row:
    frame = attributes.admissions(n_records, len(attributes.VALUES))
    times = _bench.interleaved(
        {"ours": checked(frame, "sensitive"), "groupby": lambda: attributes.pairs(frame)},
        warm_up=1,
    )
    return compared(
        "check on pandas: k, l, t, risk, prediction", times["ours"], times["groupby"], 3.0
    )


def on_spark(n_records: int) -> Row:
    from pyspark.sql import SparkSession

    from benchmarks import attributes_spark

    with tempfile.TemporaryDirectory() as folder:
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
            frame = attributes_spark.admissions(spark, n_records, 20, f"{folder}/table")
            times = _bench.interleaved(
                {"ours": checked(frame, "value"), "pairs": lambda: attributes_spark.pairs(frame)},
                warm_up=2,
            )
        finally:
            spark.stop()
    return compared("check on Spark: k, l, t, risk, prediction", times["ours"], times["pairs"], 3.5)


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    _bench.report(
        "gate",
        f"A gate, {asked.records:,} records, 20 sensitive values",
        _bench.machine("numpy", "pandas", "pyspark"),
        [on_pandas(asked.records), on_spark(asked.records)],
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
