"""Everything about 20 million records in 2 million classes on Spark: it finishes, little leaves.

Two cores and 6 GB; the bar is on the rows that reach the driver, not on the time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row
from benchmarks.attributes_spark import QID, admissions, session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

RECORDS = 20_000_000
PER_CLASS = 10
VALUES = 200
BAR = 100_000
MEASURES = ["k", "uniqueness", "ldiv", "entropy_ldiv", "recursive_ldiv", "tcloseness"]


@contextmanager
def counted(kind: type[DataFrame]) -> Iterator[list[int]]:
    """Count every row that some Python code brings to the driver, or broadcasts through it."""
    seen: list[int] = []
    collect = kind.collect

    def counting(self: Any) -> Any:
        rows = collect(self)
        seen.append(len(rows))
        seen.append(_broadcast(self._jdf.queryExecution().executedPlan()))
        return rows

    def refusing(*_: object, **__: object) -> None:
        raise AssertionError("rows left by another way than collect")

    others = ("toPandas", "toLocalIterator", "take", "head", "first", "tail", "toArrow")
    kept = {name: getattr(kind, name) for name in others if hasattr(kind, name)}
    kind.collect = counting  # type: ignore[method-assign]
    for name in kept:
        setattr(kind, name, refusing)
    try:
        yield seen
    finally:
        kind.collect = collect  # type: ignore[method-assign]
        for name, method in kept.items():
            setattr(kind, name, method)


def _broadcast(plan: Any) -> int:
    """Sum the rows of all broadcasts of a plan that has run."""
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        return _broadcast(plan.executedPlan())
    if kind.endswith("QueryStageExec"):
        return _broadcast(plan.plan())
    own = plan.metrics().apply("numOutputRows").value() if kind == "BroadcastExchangeExec" else 0
    children = plan.children()
    return int(own) + sum(_broadcast(children.apply(i)) for i in range(children.size()))


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    n = asked.records
    with tempfile.TemporaryDirectory() as folder:
        spark = session("2")
        try:
            frame = admissions(spark, n, VALUES, folder, PER_CLASS)
            with counted(type(frame)) as seen:
                start = time.perf_counter()
                found = anonrisk.assess(frame, QID, "value", MEASURES, c=2)
                taken = time.perf_counter() - start
        finally:
            spark.stop()
    print(found)
    what = f"{found.sizes.n_classes:,} classes, k, l and ordered t"
    rows = [
        Row(what, _bench.seconds(taken), "", None),
        Row(
            "rows that reach the driver", f"{sum(seen):,}", "", None, f"≤ {BAR:,}", sum(seen) <= BAR
        ),
    ]
    _bench.report(
        "many_classes_spark",
        f"Many classes on Spark, {n:,} records, {VALUES} ordered values, 2 cores, 6 GB",
        _bench.machine("numpy", "pandas", "pyspark"),
        rows,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
