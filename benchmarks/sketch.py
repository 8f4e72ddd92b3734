"""Sketches beside those of Spark and of Apache DataSketches: seconds, bytes, error.

Theirs tell how many classes there are; `anonrisk.sketch` also how many people are alone.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks.attributes_spark import session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from pyspark.sql import DataFrame

KEY = hashlib.sha256(b"anonrisk example, not a secret").digest()
PAGE = _bench.ROOT / "docs" / "ledger.md"


class Found(NamedTuple):
    """What a sketch says of the number of classes, and its bytes where it gives them."""

    n_classes: float
    n_bytes: int | None = None


def table(spark: Any, n_records: int, folder: str) -> DataFrame:
    """Make classes of text: of six records one shares its class with another."""
    from pyspark.sql import functions as f

    number = f.when(f.col("id") % 6 == 1, f.col("id") - 1).otherwise(f.col("id"))
    made = spark.range(n_records).select(f.concat(f.lit("class "), number).alias("c"))
    made.write.parquet(folder)
    read: DataFrame = spark.read.parquet(folder)
    return read


def on_spark(frame: DataFrame) -> Iterator[tuple[str, Callable[[], Found]]]:
    from pyspark.sql import functions as f

    def of_spark() -> Found:
        return Found(frame.select(f.approx_count_distinct("c", 0.01)).collect()[0][0])

    def of_hll() -> Found:
        made = frame.select(f.hll_sketch_agg("c", 14).alias("s"))
        ((sketch, estimate),) = made.select("s", f.hll_sketch_estimate("s")).collect()
        return Found(estimate, len(sketch))

    yield "Spark: `sketch`", lambda: ours(frame)
    yield "Spark: `approx_count_distinct`, 1%", of_spark
    yield "Spark: `hll_sketch_agg`, 14", of_hll
    yield "Spark: `classes`, exact", lambda: Found(anonrisk.classes(frame, "c").n_classes)


def in_memory(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], Found]]]:
    yield "pandas: `sketch`", lambda: ours(frame)
    yield "pandas: `classes`, exact", lambda: Found(anonrisk.classes(frame, "c").n_classes)
    try:
        import datasketches
    except ImportError:
        return

    def of_theta() -> Found:
        sketch = datasketches.update_theta_sketch(20)
        for cell in frame["c"].tolist():
            sketch.update(cell)
        return Found(sketch.get_estimate(), len(sketch.compact().serialize()))

    def of_hll() -> Found:
        sketch = datasketches.hll_sketch(14)
        for cell in frame["c"].tolist():
            sketch.update(cell)
        return Found(sketch.get_estimate(), len(sketch.serialize_compact()))

    yield "DataSketches: Theta, 20", of_theta
    yield "DataSketches: HLL, 14", of_hll


def ours(frame: Any) -> Found:
    found = anonrisk.sketch(frame, "c", key=KEY)
    return Found(float(found.n_classes), len(found.to_bytes()))


def main() -> None:
    asked = _bench.options(__doc__, 3_000_000)
    spark = session("2")
    lines = ["| | seconds | bytes | error of the number of classes |", "| --- | --: | --: | --: |"]
    with tempfile.TemporaryDirectory() as folder:
        frame = table(spark, asked.records, f"{folder}/table")
        held = frame.toPandas()
        truth = held["c"].nunique()
        for what, call in (*on_spark(frame), *in_memory(held)):
            start = time.perf_counter()
            found = call()
            taken = time.perf_counter() - start
            n_bytes = "" if found.n_bytes is None else f"{found.n_bytes:,}"
            error = f"{found.n_classes / truth - 1:+.2%}"
            lines.append(f"| {what} | {taken:.1f} | {n_bytes} | {error} |")
            print(lines[-1], flush=True)
    machine = _bench.machine("pandas", "pyspark")
    title = f"{asked.records:,} records in {truth:,} classes of text, once each; {machine}"
    if not asked.no_write:
        _bench.replace("sketch", "\n".join((title, "", *lines)), PAGE)


if __name__ == "__main__":
    main()
