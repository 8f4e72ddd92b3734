"""Classes on Spark where a missing cell matches every value: by pattern of missing columns.

A pattern is a number with a bit for each column that is missing. Columns of ours: `g` the group of
`by`, `q0`, `q1`, … the quasi-identifying columns, `key` all of them together, `n` the number of
records of a key, `p` its pattern, `to` a pattern whose keys may match it, `common` what is left of
the key where it is compared with those, `size` the number of records that match it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.spark.jobs import collect
from anonrisk.measures.counts import bounds

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.spark.project import Projection


class SparkMatchedKeys:
    """The keys of a quasi-identifier with the records that match each; lazy, but for patterns."""

    def __init__(self, projection: Projection, qid: Qid, by: Name | None = None) -> None:
        """Find out which columns are missing together: one small job."""
        self.projection, self.by = projection, by
        self.f = projection.functions
        self.cells = {f"q{i}": projection.column(name) for i, name in enumerate(qid)}
        missing = [f"if(q{i} is null, {1 << i}L, 0L)" for i in range(len(qid))]
        self.pattern = self.f.expr(" | ".join(missing))
        distinct = self._records().select(self.pattern.alias("p")).distinct()
        self.patterns = sorted(row["p"] for row in self.fetch(distinct, bounds.MAX_PATTERNS + 1))
        refusals.check_patterns(len(self.patterns))

    @property
    def key(self) -> Column:
        """What a record of the projection has in common with its key."""
        cells: Column = self.f.struct(*(cell.alias(q) for q, cell in self.cells.items()))
        return cells

    def _records(self) -> DataFrame:
        group = [] if self.by is None else [self.projection.column(self.by).alias("g")]
        cells = [cell.alias(q) for q, cell in self.cells.items()]
        return self.projection.table.select(*group, *cells)

    def fetch(self, table: DataFrame, most: int) -> list[Row]:
        """Bring so many rows to the driver, in one job: a limit alone would look part by part."""
        rows = self.f.collect_list(self.f.struct(*table.columns)).alias("rows")
        fetched: list[Row] = collect(table.limit(most).agg(rows))[0]["rows"]
        return fetched

    def histogram(self) -> DataFrame:
        """Count the keys of each size, and their records."""
        f, about = self.f, [] if self.by is None else ["g"]
        keys, records = f.count(f.lit(1)).alias("classes"), f.sum("n").alias("records")
        return self.sized().groupBy(*about, "size").agg(keys, records)

    def sized(self) -> DataFrame:
        """Return every key (`key`, `g`) with its records (`n`) and those that match it (`size`)."""
        f = self.f
        about = [] if self.by is None else ["g"]
        counted = self._records().groupBy(*about, *self.cells).agg(f.count(f.lit(1)).alias("n"))
        keys = counted.withColumn("p", self.pattern)
        whole = f.struct(*self.cells).alias("key")
        if len(self.patterns) <= 1:
            return keys.select(*about, whole, "n", f.col("n").alias("size"))
        every = f"array({', '.join(f'{p}L' for p in self.patterns)})"
        # Cells that either of two keys misses are NULL in what they have in common, and no others
        # are: where the rest is equal, the same cells are missing.
        offered = (
            keys.select("*", f.explode(f.expr(every)).alias("to"))
            .groupBy("to", self._common("to").alias("common"))
            .agg(f.sum("n").alias("found"))
        )
        joint = f.expr(f"array_distinct(transform({every}, x -> x | p))")
        asked = keys.select("*", f.explode(joint).alias("without")).select(
            *about, whole, "n", f.col("p").alias("to"), self._common("without").alias("common")
        )
        matched = asked.join(offered, ["to", "common"])
        return matched.groupBy(*about, "key", "n").agg(f.sum("found").alias("size"))

    def _common(self, without: str) -> Any:
        """Leave out the columns of a pattern; a group is always compared."""
        cells = [
            self.f.expr(f"if({without} & {1 << i}L = 0, {q}, null)").alias(q)
            for i, q in enumerate(self.cells)
        ]
        return self.f.struct(*([] if self.by is None else ["g"]), *cells)
