"""Traces on Spark: who else has the points that are known of a user.

Columns of ours, beside those of `linked`: `d` the number of a draw, `j` the place of a point in its
random order, `n` the number of users who have an item, `x` the points of a user, the rarest first,
`o` the same in the order of the visits, `v` a candidate, `a` the places of an item in a trace.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from anonrisk.core.progress import tell
from anonrisk.counts.traces import StepCounts, TraceCounts
from anonrisk.engines.spark.clock import on_calendar
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.linked import Linked
from anonrisk.engines.spark.point_sets import PointSets
from anonrisk.engines.times import tied_times

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.counts.traces import TraceQuestion


def traces(frame: DataFrame, question: TraceQuestion) -> TraceCounts:
    """Count who is singled out by each number of records."""
    linked = Linked(
        frame, question.user, question.item, question.time, question.missing, role="item"
    )
    tell("counting the users")
    seen = linked.checked()
    tell("counting the items")
    popularity, span = _popularity(linked)
    n_records = sum(size * number for size, number in popularity)
    if question.in_time:
        _refuse_ties(linked, question)
    plan = _TracesPlan(linked, question, seen["users"])
    short = _are_short(question, seen, popularity)
    tell("counting who shares the points")
    with guarded("count who shares the points"):
        steps = plan.windows() if question.consecutive else plan.sets(short=short)
    calendar = question.time is not None and on_calendar(linked.projection, question.time)
    return TraceCounts(
        n_records,
        seen["dropped"],
        seen["users"],
        popularity,
        steps,
        n_records - seen["users"] if question.time is not None else 0,
        span,
        calendar,
    )


def _popularity(linked: Linked) -> tuple[tuple[tuple[int, int], ...], int]:
    """How many items have how many records, and the sum of the users' spans of time."""
    f = linked.f
    items = linked.records().groupBy("i").agg(f.count(f.lit(1)).alias("n"))
    found = items.groupBy("n").agg(f.count(f.lit(1)).cast("decimal(38,0)").alias("value"))
    if linked.time is not None:
        # Of the ends of 64 bits the difference has more.
        last, first = (end("t").cast("decimal(38,0)") for end in (f.max, f.min))
        ends = linked.table().groupBy("u").agg((last - first).alias("span"))
        # No item has 0 records, so that this row is told from the others.
        total = f.sum(f.col("span").cast("decimal(38,0)")).cast("decimal(38,0)").alias("value")
        found = found.unionAll(ends.agg(f.lit(0).cast("long").alias("n"), total))
    with guarded("count the items"):
        rows = {int(row["n"]): int(row["value"] or 0) for row in found.collect()}
    span = rows.pop(0, 0)
    return tuple(sorted(rows.items())), span


def _are_short(
    question: TraceQuestion, seen: dict[str, int], popularity: tuple[tuple[int, int], ...]
) -> bool:
    """Tell whether the pairs of points are fewer than those who have some point of a drawn set."""
    n_asked = min(question.sample or seen["users"], seen["users"])
    n_sets = n_asked * question.draws * len(question.lengths)
    holders = sum(size * size * number for size, number in popularity)
    return seen["pairs"] * seen["rows"] <= n_sets * holders


def _refuse_ties(linked: Linked, question: TraceQuestion) -> None:
    f = linked.f
    with guarded("order the records"):
        events = linked.records().groupBy("u", "t").agg(f.count(f.lit(1)).alias("n"))
        tied = events.where(f.col("n") > 1).agg(f.sum("n").alias("n")).collect()[0]["n"]
    if tied:
        raise tied_times(question.time, int(tied))


def _merged(table: DataFrame) -> DataFrame:
    """Have a table that grows with the records joined where they are, not through the driver."""
    return table.hint("merge")


class _TracesPlan:
    """The queries behind one question."""

    def __init__(self, linked: Linked, question: TraceQuestion, n_users: int) -> None:
        self.linked, self.question, self.n_users = linked, question, n_users
        self.f, self.window = linked.f, linked.projection.window

    # ---- runs of records, all of them -----------------------------------------------------

    def windows(self) -> tuple[StepCounts, ...]:
        return self._steps([self._window(s) for s in self.question.lengths], self.n_users)

    def _window(self, s: int) -> DataFrame:
        f = self.f
        in_time = self.window.partitionBy("u").orderBy("t")
        run = f.array(f.col("i"), *(f.lead("i", step).over(in_time) for step in range(1, s)))
        if not self.question.ordered:
            run = f.sort_array(run)
        # A run that would leave the trace has no last record.
        last = f.lead("t", s - 1).over(in_time) if s > 1 else f.col("t")
        runs = self.linked.records().select("u", run.alias("x"), last.alias("last"))
        counted = (
            runs.where(f.col("last").isNotNull())
            .groupBy("x", "u")
            .agg(f.count(f.lit(1)).alias("runs"))
        )
        holders = f.count(f.lit(1)).over(self.window.partitionBy("x"))
        rare = f.when(f.col("n") < self.question.k, f.col("runs")).otherwise(0)
        users = (
            counted.withColumn("n", holders)
            .groupBy("u")
            .agg(f.sum("runs").alias("weight"), f.sum(rare).alias("hits"))
        )
        share = f.col("hits") / f.col("weight")
        return self._sums(s, users, share, f.col("hits"))

    def _sums(self, s: int, users: DataFrame, share: Column, weighted: Column) -> DataFrame:
        """One row about one length; the weight of a user is in column `weight`."""
        return users.agg(self.f.lit(s).alias("s"), *self._summed(share, weighted))

    def _summed(self, share: Column, weighted: Column) -> list[Column]:
        f = self.f
        return [
            f.count(f.lit(1)).alias("users"),
            f.sum(share).alias("total"),
            f.sum(share * share).alias("squares"),
            f.sum(weighted.cast("double")).alias("weighted"),
            f.sum(f.col("weight").cast("double")).alias("weight"),
        ]

    def _steps(self, sums: list[DataFrame], n_asked: int) -> tuple[StepCounts, ...]:
        """Bring all lengths to the driver in one action."""
        rows = reduce(lambda one, other: one.unionAll(other), sums).collect()
        found = {int(row["s"]): row for row in rows}
        draws = self.question.draws
        return tuple(_step(s, found.get(s), n_asked, draws) for s in self.question.lengths)

    # ---- sets of points, drawn ------------------------------------------------------------

    def sets(self, *, short: bool) -> tuple[StepCounts, ...]:
        n_asked = min(self.question.sample or self.n_users, self.n_users)
        if short and not self.question.ordered:
            return self._steps([self._short()], n_asked)
        drawn = self._drawn()
        return self._steps([self._set(drawn, s) for s in self.question.lengths], n_asked)

    def _short(self) -> DataFrame:
        """Rows about all lengths at once, where traces are short."""
        f = self.f
        hits = PointSets(self.linked, self.question).rare()
        users = hits.groupBy("s", "u").agg(
            f.avg("hit").alias("share"), f.first("weight").alias("weight")
        )
        return users.groupBy("s").agg(
            *self._summed(f.col("share"), f.col("share") * f.col("weight"))
        )

    def _points(self) -> DataFrame:
        """Each user and item once, with the user's places of it in time where order matters."""
        f = self.f
        if not self.question.ordered:
            return self.linked.table().select("u", "i").distinct()
        place = f.row_number().over(self.window.partitionBy("u").orderBy("t"))
        placed = self.linked.records().withColumn("place", place)
        return placed.groupBy("u", "i").agg(f.sort_array(f.collect_list("place")).alias("a"))

    def _random(self, *columns: str) -> Any:
        """A number that depends on the seed and on values, and on nothing else."""
        return self.f.xxhash64(self.f.lit(str(self.question.seed)), *columns)

    def _asked(self) -> DataFrame | None:
        if self.question.sample is None or self.question.sample >= self.n_users:
            return None
        users = self.linked.table().select("u").distinct()
        by = [self._random("u"), self.f.col("u")]
        return _merged(
            users.orderBy(*by).limit(self.question.sample).select(self.f.col("u").alias("w"))
        )

    def _drawn(self) -> DataFrame:
        """The first points of each user in a random order, for each draw `d`."""
        f = self.f
        points = self._points()
        popularity = points.groupBy("i").agg(f.count(f.lit(1)).alias("n"))
        named = popularity.select(f.col("i").alias("i2"), "n")
        asked = self._asked()
        if asked is not None:
            points = points.join(asked, f.col("u") == f.col("w"), "left_semi")
        first = f.element_at(f.col("a"), 1) if self.question.ordered else f.lit(0)
        draw = f.explode(f.sequence(f.lit(1), f.lit(self.question.draws)))
        points = points.select("u", "i", first.alias("first"), draw.alias("d"))
        order = self.window.partitionBy("u", "d").orderBy(self._random("d", "u", "i"), "i")
        chosen = points.withColumn("j", f.row_number().over(order))
        chosen = chosen.where(f.col("j") <= max(self.question.lengths))
        return chosen.join(_merged(named), f.col("i").eqNullSafe(f.col("i2"))).select(
            "u", "d", f.struct("n", "i").alias("e"), f.struct("first", "i").alias("o"), "j"
        )

    def _set(self, drawn: DataFrame, s: int) -> DataFrame:
        f = self.f
        share = self._rare(drawn, s).groupBy("u").agg(f.avg("hit").alias("share"))
        weights = (
            self.linked.records()
            .groupBy(f.col("u").alias("w"))
            .agg(f.count(f.lit(1)).alias("weight"))
        )
        users = share.join(_merged(weights), f.col("u") == f.col("w"))
        return self._sums(s, users, f.col("share"), f.col("share") * f.col("weight"))

    def _rare(self, chosen: DataFrame, s: int) -> DataFrame:
        """Tell of the first s points of each user whether fewer than k users have them all."""
        f = self.f
        sets = (
            chosen.where(f.col("j") <= s)
            .groupBy("u", "d")
            .agg(
                f.sort_array(f.collect_list("e")).alias("x"),
                f.sort_array(f.collect_list("o")).alias("o"),
            )
            .where(f.size("x") == s)
        )
        if s == 1:
            few = f.element_at("x", 1)["n"] < self.question.k
            return sets.select("u", few.cast("int").alias("hit"))
        candidates = self._candidates(sets)
        matches = (
            self._in_order(candidates, s) if self.question.ordered else self._all(candidates, s)
        )
        found = matches.groupBy("u", "d").agg(f.count(f.lit(1)).alias("n"))
        # Everybody has their own points, so that nobody is missing here.
        return found.select("u", (f.col("n") < self.question.k).cast("int").alias("hit"))

    def _candidates(self, sets: DataFrame) -> DataFrame:
        """Pair each set with the users who have its rarest point."""
        f = self.f
        holders = (
            self.linked.table().select(f.col("u").alias("v"), f.col("i").alias("h")).distinct()
        )
        rarest = f.element_at("x", 1)["i"]
        return sets.join(_merged(holders), rarest.eqNullSafe(f.col("h"))).drop("h")

    def _all(self, candidates: DataFrame, s: int) -> DataFrame:
        """Keep the candidates who have the other points too."""
        f = self.f
        for place in range(2, s + 1):
            have = (
                self.linked.table().select(f.col("u").alias("v2"), f.col("i").alias("h")).distinct()
            )
            point = f.element_at("x", place)["i"]
            candidates = candidates.join(
                _merged(have),
                (f.col("v") == f.col("v2")) & point.eqNullSafe(f.col("h")),
                "left_semi",
            )
        return candidates

    def _in_order(self, candidates: DataFrame, s: int) -> DataFrame:
        """Keep the candidates who visited the points in this order, anything between them."""
        f = self.f
        candidates = candidates.withColumn("at", f.lit(0))
        for place in range(1, s + 1):
            have = self._points().select(
                f.col("u").alias("v2"), f.col("i").alias("h"), f.col("a").alias("places")
            )
            point = f.element_at("o", place)["i"]
            later = f.expr("array_min(filter(places, p -> p > at))")
            candidates = (
                candidates.join(
                    _merged(have), (f.col("v") == f.col("v2")) & point.eqNullSafe(f.col("h"))
                )
                .withColumn("at", later)
                .where(f.col("at").isNotNull())
                .drop("v2", "h", "places")
            )
        return candidates


def _step(s: int, row: Row | None, n_asked: int, draws: int) -> StepCounts:
    if row is None:
        return StepCounts(s, 0, n_asked, 0.0, 0.0, 0.0, 0.0, draws)
    n_users = int(row["users"])
    return StepCounts(
        s,
        n_users,
        n_asked - n_users,
        float(row["total"] or 0),
        float(row["squares"] or 0),
        float(row["weighted"] or 0),
        float(row["weight"] or 0),
        draws,
    )
