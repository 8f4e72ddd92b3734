"""Traces on Spark, and links across a change of pseudonyms; columns are checked in one job.

Columns of ours, of both: `u` the user, `i` the items as a struct, which is equal where all of them
are, and `t` the time as a whole number.

Of links: `u` the person, `i` the quasi-identifier as a struct, or all that a person has of it in a
period as an array, `p` the period, `n` the number of persons who have `i` in it, `m` the same one
period later. What comes later is found by windows: a table that is joined with itself is counted
twice.

Of traces: `d` the number of a draw, `j` the place of a point in its random order, `n` the number of
users who have an item, `x` the points of a user, the rarest first, `o` the same in the order of the
visits, `v` a candidate, `a` the places of an item in a trace.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from anonrisk.core.progress import tell
from anonrisk.engines.limits import check_moment, missing_time, tied_times
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, clock, on_calendar, whole_part
from anonrisk.measures.counts.question import (
    LinkCounts,
    StepCounts,
    TraceCounts,
    check_any,
    missing_items,
    missing_user,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.question import LinkQuestion, TraceQuestion


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


def links(frame: DataFrame, question: LinkQuestion) -> LinkCounts:
    """Match persons before and after each change by their quasi-identifiers."""
    linked = Linked(
        frame,
        question.user,
        question.qid,
        question.time,
        question.missing,
        role="quasi-identifier",
        calendar=question.period is not None,
    )
    if question.at is not None:
        calendar = on_calendar(linked.projection, question.time)
        check_moment(question.time, at_on_calendar=question.at_on_calendar, on_calendar=calendar)
    seen = linked.checked()
    with guarded("link the persons"):
        pairs = _pairs(linked, question, seen["low"], seen["high"])
        rows = collect(_right(linked, _persons(linked, pairs)).unionAll(_wrong(linked, pairs)))
    results = {name: sum(row[name] or 0 for row in rows) for name in _SUMS}
    n_both = int(results["both"])
    return LinkCounts(
        seen["rows"],
        seen["dropped"],
        seen["users"],
        int(results["changes"]),
        n_both,
        int(results["linked"]),
        int(results["false"]),
        float(results["best"]) / n_both if n_both else 0.0,
        float(results["chance"]) / n_both if n_both else 0.0,
    )


def _pairs(linked: Linked, question: LinkQuestion, low: int, high: int) -> DataFrame:
    """Every person once for each period and quasi-identifier."""
    f = linked.f
    if question.period is not None:
        period = whole_part(f, f.col("t"), question.period)
    else:
        at = -(-(low + high) // 2) if question.at is None else question.at
        period = (f.col("t") >= f.lit(at)).cast("long")
    return linked.table().select(period.alias("p"), "i", "u").distinct()


def _persons(linked: Linked, pairs: DataFrame) -> DataFrame:
    """Every person once for each period: the best link by a single value, and all their values."""
    f, window = linked.f, linked.projection.window
    # By person from here on, which serves both what they have next and all that they have.
    sized = _sized(linked, pairs).repartition("u")
    own = window.partitionBy("u", "i").orderBy("p")
    later = f.when(_follows(f.lead("p").over(own), f.col("p")), f.lead("n").over(own))
    every = f.sort_array(f.collect_list("i")).alias("i")
    best, sure = (f.max(column) for column in _chances(linked))
    return (
        sized.withColumn("m", later)
        .groupBy("u", "p")
        .agg(every, best.alias("best"), sure.alias("linked"))
    )


def _sized(linked: Linked, holders: DataFrame) -> DataFrame:
    """Count the persons who have the same in a period."""
    same = linked.projection.window.partitionBy("p", "i")
    return holders.withColumn("n", linked.f.count(linked.f.lit(1)).over(same))


def _follows(later: Column, period: Column) -> Column:
    """Return whether one period comes right after another; a sum would overflow at the last."""
    return later - 1 == period


def _chances(linked: Linked) -> tuple[Column, Column]:
    """The chance that a link is right, and whether it is the only one there is."""
    f = linked.f
    only = (f.col("n") == 1) & (f.col("m") == 1)
    return f.lit(1.0) / f.col("m"), only.cast("int")


def _right(linked: Linked, persons: DataFrame) -> DataFrame:
    """One row: persons on both sides, right links, and the sums of chances."""
    f = linked.f
    in_time = linked.projection.window.partitionBy("u").orderBy("p")
    later = {name: f.lead(name).over(in_time).alias(f"later_{name}") for name in ("p", "i", "n")}
    table = _sized(linked, persons).select("*", *later.values())
    both = f.coalesce(_follows(f.col("later_p"), f.col("p")), f.expr("false"))
    unchanged = both & f.col("later_i").eqNullSafe(f.col("i"))
    table = table.withColumn("m", f.when(unchanged, f.col("later_n")))
    best, sure = _chances(linked)
    here = f.struct(
        f.col("p"),
        f.lit(1).alias("size"),
        f.lit(0).alias("both"),
        f.greatest("best", best).alias("best"),
        f.greatest("linked", sure).alias("linked"),
    )
    # Who is also in the next period is counted there, beside all that are.
    there = f.struct(
        f.col("later_p").alias("p"),
        f.lit(0).alias("size"),
        f.lit(1).alias("both"),
        f.lit(None).cast("double").alias("best"),
        f.lit(None).cast("int").alias("linked"),
    )
    each = f.explode(f.when(both, f.array(here, there)).otherwise(f.array(here))).alias("x")
    sums = (f.sum(name).alias(name) for name in ("size", "both", "best", "linked"))
    periods = table.select(each).select("x.*").groupBy("p").agg(*sums)
    some = f.col("both") > 0
    return periods.agg(
        f.sum("both").alias("both"),
        f.count(f.when(some, 1)).alias("changes"),
        f.sum("linked").alias("linked"),
        f.lit(0).cast("long").alias("false"),
        f.sum("best").alias("best"),
        f.sum(f.when(some, f.col("both") / f.col("size"))).alias("chance"),
    )


def _wrong(linked: Linked, pairs: DataFrame) -> DataFrame:
    """One row: the quasi-identifiers that one person alone has before and another one after."""
    f = linked.f
    cells = pairs.groupBy("p", "i").agg(f.count(f.lit(1)).alias("n"), f.min("u").alias("u"))
    in_time = linked.projection.window.partitionBy("i").orderBy("p")
    another = f.lead("u").over(in_time) != f.col("u")
    false = _follows(f.lead("p").over(in_time), f.col("p")) & another
    table = cells.where(f.col("n") == 1).select(false.cast("long").alias("false"))
    none, nothing = f.lit(0).cast("long"), f.lit(0.0)
    return table.agg(f.sum("false").alias("false")).select(
        none.alias("both"),
        none.alias("changes"),
        none.alias("linked"),
        "false",
        nothing.alias("best"),
        nothing.alias("chance"),
    )


_SUMS = ("both", "changes", "linked", "false", "best", "chance")


# Looking through everybody who has the rarest point of a set costs users times users. Here every
# user is written down with each two of their points instead, and followed where these begin a set
# that was drawn: where traces are short these are few, and grow as the table does. Sets that many
# have drawn are counted once. Points are numbered first, because numbers are compared much faster
# than structs.
#
# Columns of ours, beside `u`, `i` and `t`: `n` the number of users who have a point, `code` its
# number, `a` the points of a user, the rarest first, `weight` the records of a user, `d` the number
# of a draw, `s` the length of a set, `x` its points and `rarest` how many have the first of them.

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
        """Return for each drawn set whether fewer than k users have it: s, u, weight, hit."""
        f, k = self.f, self.question.k
        drawn = self._drawn()
        counted = self._pairs().unionAll(self._longer(drawn)).hint("merge")
        text = drawn.join(counted, f.col("x") == f.col("y"), "left")
        # Nobody has a set more often than its rarest point; only other sets were counted.
        few = f.col("rarest") < k
        hit = f.when(few | (f.col("s") == 1), few).otherwise(f.col("holders") < k)
        return text.select("s", "u", "weight", hit.cast("int").alias("hit"))

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
        item = self.users.select(common).select("a", f.posexplode("a").alias("at", "one"))
        after = f.slice("a", f.col("at") + 2, f.size("a")).alias("a")
        other = item.select("one", after).select("one", "a", f.posexplode("a").alias("at", "other"))
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
    result = items.groupBy("n").agg(f.count(f.lit(1)).cast("decimal(38,0)").alias("value"))
    if linked.time is not None:
        # Of the ends of 64 bits the difference has more.
        last, first = (end("t").cast("decimal(38,0)") for end in (f.max, f.min))
        ends = linked.table().groupBy("u").agg((last - first).alias("span"))
        # No item has 0 records, so that this row is told from the others.
        total = f.sum(f.col("span").cast("decimal(38,0)")).cast("decimal(38,0)").alias("value")
        result = result.unionAll(ends.agg(f.lit(0).cast("long").alias("n"), total))
    with guarded("count the items"):
        rows = {int(row["n"]): int(row["value"] or 0) for row in collect(result)}
    span = rows.pop(0, 0)
    return tuple(sorted(rows.items())), span


def _are_short(
    question: TraceQuestion, seen: dict[str, int], popularity: tuple[tuple[int, int], ...]
) -> bool:
    """Return whether the pairs of points are fewer than those who have a point of a drawn set."""
    n_asked = min(question.sample or seen["users"], seen["users"])
    n_sets = n_asked * question.draws * len(question.lengths)
    holders = sum(size * size * number for size, number in popularity)
    return seen["pairs"] * seen["rows"] <= n_sets * holders


def _refuse_ties(linked: Linked, question: TraceQuestion) -> None:
    f = linked.f
    with guarded("order the records"):
        events = linked.records().groupBy("u", "t").agg(f.count(f.lit(1)).alias("n"))
        tied = collect(events.where(f.col("n") > 1).agg(f.sum("n").alias("n")))[0]["n"]
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
        rows = collect(reduce(lambda first, other: first.unionAll(other), sums))
        results = {int(row["s"]): row for row in rows}
        draws = self.question.draws
        return tuple(_step(s, results.get(s), n_asked, draws) for s in self.question.lengths)

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
        """Return for the first s points of each user whether fewer than k users have them all."""
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
        result = matches.groupBy("u", "d").agg(f.count(f.lit(1)).alias("n"))
        # Everybody has their own points, so that nobody is missing here.
        return result.select("u", (f.col("n") < self.question.k).cast("int").alias("hit"))

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
