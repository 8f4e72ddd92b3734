"""Records that a user links, on Spark: columns under names of ours, checked in one job.

Columns of ours: `u` the user, `i` the items as a struct, which is equal where all of them are, and
`t` the time as a whole number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines.spark.clock import clock
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.times import missing_time
from anonrisk.measures.counts.traces import check_any, missing_items, missing_user

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name, Qid


class Linked:
    """The kept records of a table, and the checks that they must pass."""

    def __init__(
        self,
        frame: DataFrame,
        user: Name,
        items: Qid,
        time: Name | None,
        missing: str,
        *,
        role: str,
        calendar: bool = False,
    ) -> None:
        """Rename the columns; nothing runs yet."""
        with guarded("read the records"):
            self.projection = Projection.of(frame)
            self.f: Any = self.projection.functions
            self.user, self.items, self.time = user, items, time
            self.missing, self.role = missing, role
            columns = [self.projection.column(user).alias("u")]
            names = [f"i{number}" for number in range(len(items))]
            for name, item in zip(names, items, strict=True):
                column = self.projection.column(item)
                columns.append(self.projection.in_struct(item, column).alias(name))
            if time is not None:
                at = clock(self.projection, time, calendar=calendar)
                columns.append(at.alias("t"))
            self._raw = self.projection.table.select(*columns)
            self._names = names

    def _lacking(self) -> Any:
        return self.projection.any_missing([self.f.col(name) for name in self._names])

    def table(self) -> DataFrame:
        """Return the kept records as u, i and t."""
        raw = self._raw.where(~self._lacking()) if self.missing == "drop" else self._raw
        item = self.f.struct(*self._names).alias("i")
        return raw.select("u", item, *(["t"] if self.time is not None else []))

    def records(self) -> DataFrame:
        """Return the kept records; the same item of a user at the same time is one of them."""
        return self.table() if self.time is None else self.table().distinct()

    def checked(self) -> dict[str, int]:
        """Count rows, users, what is missing and the ends of time, and refuse what must be.

        Of `pairs` of records of one user there are about so many.
        """
        f = self.f
        dropped = self._lacking() if self.missing == "drop" else f.expr("false")

        def rows_where(condition: Any) -> Any:
            return f.sum(f.when(condition, 1).otherwise(0))

        # By user first: that takes the one shuffle that telling the users apart does.
        sums = ["all", "dropped", *self._names]
        each = [
            f.count(f.lit(1)).alias("all"),
            rows_where(dropped).alias("dropped"),
            *(rows_where(f.col(name).isNull()).alias(name) for name in self._names),
        ]
        ends = []
        if self.time is not None:
            kept = f.when(~dropped, f.col("t"))
            sums.append("no_time")
            each.append(rows_where(f.col("t").isNull() & ~dropped).alias("no_time"))
            each += [f.min(kept).alias("low"), f.max(kept).alias("high")]
            ends = [f.min("low").alias("low"), f.max("high").alias("high")]
        kept_rows = f.col("all") - f.col("dropped")
        known = f.col("u").isNotNull() & (kept_rows > 0)
        square = kept_rows.cast("double") * kept_rows.cast("double")
        with guarded("count the records"):
            users = self._raw.groupBy("u").agg(*each)
            totals = users.agg(
                *(f.sum(name).alias(name) for name in sums),
                *ends,
                f.count(f.when(known, 1)).alias("users"),
                f.sum(f.when(f.col("u").isNull(), f.col("all"))).alias("no_user"),
                (f.sum(square) / 2).alias("pairs"),
            )
            row = collect(totals)[0].asDict()
        results = {name: int(value or 0) for name, value in row.items()}
        if results["no_user"]:
            raise missing_user(self.user, results["no_user"])
        lacking = {item: results[name] for item, name in zip(self.items, self._names, strict=True)}
        if self.missing == "error" and any(lacking.values()):
            raise missing_items(self.role, lacking)
        results["rows"] = results["all"] - results["dropped"]
        check_any(results["rows"], results["dropped"])
        if self.time is not None and results["no_time"]:
            raise missing_time(self.time, results["no_time"])
        return results
