"""Who has all the points of each drawn set, on Spark, where traces are short.

Looking through everybody who has the rarest point of a set costs users times users. Here every user
is written down with each two of their points instead, and followed where these begin a set that was
drawn: where traces are short these are few, and grow as the table does. Sets that many have drawn
are counted once. Points are numbered first, because numbers are compared much faster than structs.

Columns of ours, beside those of `linked`: `n` the number of users who have a point, `code` its
number, `a` the points of a user, the rarest first, `weight` the records of a user, `d` the number
of a draw, `s` the length of a set, `x` its points and `rarest` how many have the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from anonrisk.counts.traces import TraceQuestion
    from anonrisk.engines.spark.linked import Linked

# Points whose hashes agree in all other bits are told apart by so many of their number.
_BITS = 4


class PointSets:
    """The drawn sets of one question, and the queries that count who has them."""

    def __init__(self, linked: Linked, question: TraceQuestion) -> None:
        """Plan nothing but the points of every user."""
        self.linked, self.question, self.f = linked, question, linked.f
        self.users = self._users()

    def _users(self) -> DataFrame:
        """Every user with all their points."""
        f, window = self.f, self.linked.projection.window
        items = [f.col(f"i.i{number}") for number in range(len(self.linked.items))]
        # Nothing is added to a hash by what is missing, so that its place is.
        hashed = f.xxhash64(*(part for item in items for part in (item, item.isNull())))
        each = self.linked.records().groupBy("u", "i").agg(f.count(f.lit(1)).alias("records"))
        near = each.withColumn("hash", f.shiftleft(hashed, _BITS))
        place = f.dense_rank().over(window.partitionBy("hash").orderBy("i")) - f.lit(1)
        points = near.select(
            *("u", "i", "records", "hash", place.alias("place")),
            f.count(f.lit(1)).over(window.partitionBy("hash", "i")).alias("n"),
        )
        # As good as never; but two points of one number would be taken for each other.
        full = f.raise_error(f.lit("too many items have one hash"))
        beyond = f.col("place") >= 1 << _BITS
        code = f.when(beyond, full.cast("long")).otherwise(f.col("hash") + f.col("place"))
        points = points.select(
            "u", "records", f.struct("n", code.alias("code"), "i").alias("point")
        )
        users = points.groupBy("u").agg(
            f.sort_array(f.collect_list("point")).alias("a"), f.sum("records").alias("weight")
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
        few = f.col("rarest") < k
        hit = f.when(few | (f.col("s") == 1), few).otherwise(f.col("holders") < k)
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
            both: Column = f.struct(at.alias("at"), point["i"].alias("i"), point.alias("point"))
            return both

        def numbered(placed: Column) -> Column:
            point = placed["point"]
            pair: Column = f.struct(point["n"].alias("n"), point["code"].alias("code"))
            return pair

        in_random_order = f.transform(f.sort_array(f.transform("a", placed)), numbered)
        longest = f.least(f.size("order"), f.lit(max(question.lengths)))
        lengths = f.explode(f.sequence(f.lit(1), longest)).alias("s")
        first = f.sort_array(f.slice("order", f.lit(1), f.col("s")))
        return (
            asked.select("u", "weight", "a", draws)
            .select("u", "weight", in_random_order.alias("order"))
            .select("u", "weight", "order", lengths)
            .select("u", "weight", "s", first.alias("first"))
            .selectExpr("u", "weight", "s", "first[0].n as rarest", "first.code as x")
        )

    def _random(self, *columns: Any) -> Any:
        """A number that depends on the seed and on values, and on nothing else."""
        return self.f.xxhash64(self.f.lit(str(self.question.seed)), *columns)

    def _begun(self) -> DataFrame:
        """Every two points of a user, `one` and `other`, with the `rest` that comes after them."""
        f = self.f
        # Sets with a point that fewer than k users have are told by that.
        common = f.filter("a", lambda point: point["n"] >= self.question.k)["code"].alias("a")
        one = self.users.select(common).select("a", f.posexplode("a").alias("at", "one"))
        after = f.slice("a", f.col("at") + 2, f.size("a")).alias("a")
        other = one.select("one", after).select("one", "a", f.posexplode("a").alias("at", "other"))
        return other.select(
            "one", "other", f.slice("a", f.col("at") + 2, f.size("a")).alias("rest")
        )

    def _pairs(self) -> DataFrame:
        """Count who has each two points: y, holders."""
        f = self.f
        pairs = self._begun().groupBy("one", "other").agg(f.count(f.lit(1)).alias("holders"))
        return pairs.select(f.array("one", "other").alias("y"), "holders")

    def _longer(self, drawn: DataFrame) -> DataFrame:
        """Count who has the sets of three and more: y, holders."""
        f = self.f
        begun = self._begun().where(f.size("rest") > 0)
        met = begun.join(
            self._starts(drawn).hint("merge"),
            (f.col("one") == f.col("one2")) & (f.col("other") == f.col("other2")),
        )
        third = met.select(
            *("one", "other", "rest", "thirds", "tails"), f.posexplode("rest").alias("at", "third")
        )
        # The function of Spark 3.5 takes no column as its second argument; the expression does.
        place = f.expr("array_position(thirds, third)").cast("int").alias("place")
        third = third.select("*", place).where(f.col("place") > 0)
        holders = third.select(
            *("one", "other", "third"),
            f.slice("rest", f.col("at") + 2, f.size("rest")).alias("rest"),
            f.explode(f.element_at("tails", f.col("place"))).alias("tail"),
        )
        has_all = f.size(f.array_except("tail", "rest")) == 0
        holders = holders.where((f.size("tail") == 0) | has_all)
        sets = holders.groupBy("one", "other", "third", "tail").agg(
            f.count(f.lit(1)).alias("holders")
        )
        return sets.select(f.concat(f.array("one", "other", "third"), "tail").alias("y"), "holders")

    def _starts(self, drawn: DataFrame) -> DataFrame:
        """By two points the drawn sets that begin so: the `thirds`, and the `tails` of each."""
        f = self.f
        sets = drawn.where((f.col("s") > 2) & (f.col("rarest") >= self.question.k)).selectExpr(
            *("x[0] as one2", "x[1] as other2", "x[2] as third"), "slice(x, 4, size(x)) as tail"
        )
        # Brought together once for all three groupings, and for the join.
        sets = sets.repartition("one2", "other2").distinct()
        three = sets.groupBy("one2", "other2", "third").agg(f.collect_list("tail").alias("tails"))
        two = three.groupBy("one2", "other2").agg(
            f.collect_list(f.struct("third", "tails")).alias("next")
        )
        return two.selectExpr("one2", "other2", "next.third as thirds", "next.tails as tails")
