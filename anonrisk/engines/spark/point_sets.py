"""Who has all the points of each drawn set, on Spark, where traces are short.

Looking through everybody who has the rarest point of a set costs users times users. Here every user
is written down with each two of their points instead, and with each three that begin a set that was
drawn: where traces are short these are few, and grow as the table does. Sets that many have drawn
are counted once.

Columns of ours, beside those of `linked`: `a` the points of a user, the rarest first, each with the
number `n` of users who have it, `weight` the records of a user, `d` the number of a draw, `s` the
length of a set, `x` its points, the rarest first, `two` and `three` the first of these, `rest` the
points of a user after them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from anonrisk.counts.traces import TraceQuestion
    from anonrisk.engines.spark.linked import Linked


class PointSets:
    """The drawn sets of one question, and the queries that count who has them."""

    def __init__(self, linked: Linked, question: TraceQuestion) -> None:
        """Plan nothing but the points of every user."""
        self.linked, self.question, self.f = linked, question, linked.f
        self.users = self._users()

    def _users(self) -> DataFrame:
        """Every user with all their points."""
        f, window = self.f, self.linked.projection.window
        each = self.linked.records().groupBy("u", "i").agg(f.count(f.lit(1)).alias("records"))
        points = each.withColumn("n", f.count(f.lit(1)).over(window.partitionBy("i")))
        users = points.groupBy("u").agg(
            f.sort_array(f.collect_list(f.struct("n", "i"))).alias("a"),
            f.sum("records").alias("weight"),
        )
        # True of everybody. But whoever does not ask for the weight would do without it, and have
        # the table scanned again instead of reading what was shuffled for others.
        return users.where("weight > 0")

    def rare(self) -> DataFrame:
        """Tell of each drawn set whether fewer than k users have it: s, u, weight, hit."""
        f, k = self.f, self.question.k
        drawn = self._drawn()
        counted = self._pairs().unionAll(self._longer(drawn)).hint("merge")
        found = drawn.join(counted, f.col("x") == f.col("y"), "left")
        # Nobody has a set more often than its rarest point; only other sets were counted.
        rarest = f.element_at("x", 1)["n"]
        hit = f.when((rarest < k) | (f.col("s") == 1), rarest < k).otherwise(f.col("holders") < k)
        return found.select("s", "u", "weight", hit.cast("int").alias("hit"))

    def _drawn(self) -> DataFrame:
        """The first points of each user in a random order, for each draw and length."""
        f, question = self.f, self.question
        asked = self.users
        if question.sample is not None:
            asked = asked.orderBy(self._random("u"), "u").limit(question.sample)
        draws = f.explode(f.sequence(f.lit(1), f.lit(question.draws))).alias("d")

        def placed(point: Column) -> Column:
            at: Column = self._random(f.col("d"), f.col("u"), point["i"])
            both: Column = f.struct(at.alias("at"), point["i"].alias("i"), point["n"].alias("n"))
            return both

        in_random_order = f.sort_array(f.transform("a", placed))
        longest = f.least(f.size("a"), f.lit(max(question.lengths)))
        lengths = f.explode(f.sequence(f.lit(1), longest)).alias("s")
        first = f.transform(
            f.slice("order", f.lit(1), f.col("s")),
            lambda point: f.struct(point["n"].alias("n"), point["i"].alias("i")),
        )
        return (
            asked.select("*", draws)
            .select("u", "weight", in_random_order.alias("order"), lengths)
            .select("u", "weight", "s", f.sort_array(first).alias("x"))
        )

    def _random(self, *columns: Any) -> Any:
        """A number that depends on the seed and on values, and on nothing else."""
        return self.f.xxhash64(self.f.lit(str(self.question.seed)), *columns)

    def _begun(self) -> DataFrame:
        """Every two points of a user, with those that come after them."""
        f = self.f
        # Sets with a point that fewer than k users have are told by that.
        common = f.filter("a", lambda point: point["n"] >= self.question.k).alias("a")
        one = self.users.select(common).select("a", f.posexplode("a").alias("at", "one"))
        after = f.slice("a", f.col("at") + 2, f.size("a")).alias("a")
        other = one.select("one", after).select("one", "a", f.posexplode("a").alias("at", "other"))
        two = f.array("one", "other").alias("two")
        return other.select(two, f.slice("a", f.col("at") + 2, f.size("a")).alias("rest"))

    def _pairs(self) -> DataFrame:
        """Count who has each two points."""
        f = self.f
        pairs = self._begun().groupBy(f.col("two").alias("y"))
        return pairs.agg(f.count(f.lit(1)).alias("holders"))

    def _longer(self, drawn: DataFrame) -> DataFrame:
        """Count who has the sets of three and more."""
        f = self.f
        rarest = f.element_at("x", 1)["n"]
        sets = drawn.where((f.col("s") > 2) & (rarest >= self.question.k)).select("x").distinct()
        starts = sets.groupBy(f.slice("x", 1, 2).alias("two2")).agg(
            f.collect_set(f.element_at("x", 3)).alias("thirds")
        )
        begun = self._begun().join(starts.hint("merge"), f.col("two") == f.col("two2"))
        third = begun.select("two", "thirds", "rest", f.posexplode("rest").alias("at", "point"))
        third = third.where(f.array_contains(f.col("thirds"), f.col("point")))
        three = f.concat("two", f.array("point")).alias("three")
        left = f.slice("rest", f.col("at") + 2, f.size("rest")).alias("rest")
        sets = sets.select(f.col("x").alias("y"), f.slice("x", 1, 3).alias("three2"))
        holders = third.select(three, left).join(
            sets.hint("merge"), f.col("three") == f.col("three2")
        )
        others = f.slice("y", f.lit(4), f.size("y"))
        holders = holders.where(f.size(f.array_except(others, f.col("rest"))) == 0)
        return holders.groupBy("y").agg(f.count(f.lit(1)).alias("holders"))
