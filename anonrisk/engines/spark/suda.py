"""Minimal sample uniques on Spark: all sets of columns in one grouping, then array arithmetic.

Whoever is alone with a few columns is alone with all of them, so that the values of all columns
name a scored record, and its scores find their way back by a join on those.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.jobs import collect
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import Totals
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from anonrisk.engines.spark.sets import SparkSets


def scores(
    counter: SparkSets,
    max_size: int,
    names: list[str],
    risk: Callable[[Totals], float | None],
) -> tuple[DataFrame, DataFrame, Totals]:
    """Score every record; `risk` is what DIS-SUDA adds to 1 / score^power, if it is asked for."""
    taken = {name.casefold() for name in counter.projection.names}
    values = [name for name in names if name]
    for name in values:
        if name.casefold() in taken:
            raise ArgumentError(f"the table already has a column {name!r}; rename it")
    with guarded("score the records"):
        result = _Scores(counter, max_size)
        totals = result.totals()
        odds = risk(totals)
        return (
            result.records(names[:1], odds, only_score=True),
            result.records(values, odds),
            totals,
        )


class _Scores:
    """The minimal uniques of each record that is alone with all columns, as one lazy table."""

    def __init__(self, counter: SparkSets, max_size: int) -> None:
        self.counter = counter
        self.f = counter.projection.functions
        self.n_columns = len(counter.columns)
        self.qs = [f"q{i}" for i in range(self.n_columns)]
        self.weights = weights(self.n_columns, max_size)
        self.table = self._scored()

    def _scored(self) -> DataFrame:
        f = self.f
        everything = tuple(range(self.n_columns))
        different = self.counter.records().groupBy(*self.qs).agg(f.count(f.lit(1)).alias("n"))
        masks = [
            f.lit(sum(1 << i for i in positions)).cast("long")
            for size in range(1, len(self.weights) + 1)
            for positions in combinations(everything, size)
        ]
        repeated = different.select("n", *self.qs, f.explode(f.array(*masks)).alias("m"))
        inside = [f.when(self._has("m", i), f.col(q)).alias(f"k{i}") for i, q in enumerate(self.qs)]
        keys = [f"k{i}" for i in range(self.n_columns)]
        classes = (
            repeated.select("m", "n", *self.qs, *inside)
            .groupBy("m", *keys)
            .agg(f.sum("n").alias("n"), *(f.first(q).alias(q) for q in self.qs))
        )
        alone = classes.where(f.col("n") == 1).groupBy(*self.qs).agg(f.collect_list("m").alias("a"))
        minimal = f.filter("a", lambda s: ~f.exists("a", lambda t: _within(t, s)))
        parts = [self._sum(partial(self._has, i=i)) for i in range(self.n_columns)]
        return alone.select(*self.qs, minimal.alias("a")).select(
            *self.qs,
            "a",
            self._sum(lambda _: f.expr("true")).alias("score"),
            *(part.alias(f"p{i}") for i, part in enumerate(parts)),
        )

    def _has(self, mask: Any, i: int) -> Column:
        column = self.f.col(mask) if isinstance(mask, str) else mask
        has: Column = column.bitwiseAND(self.f.lit(1 << i).cast("long")) != 0
        return has

    def _sum(self, counts: Callable[[Any], Column]) -> Column:
        """Add up the weights of the minimal uniques that count."""
        f = self.f
        weight = f.array(*(f.lit(w) for w in self.weights))
        nothing = f.lit(0.0)
        total: Column = f.aggregate(
            "a",
            nothing,
            lambda so_far, s: (
                so_far + f.when(counts(s), f.element_at(weight, f.bit_count(s))).otherwise(nothing)
            ),
        )
        return total

    def totals(self) -> Totals:
        """Add up all scores, in one job."""
        f = self.f
        by_size = [f.sum(f.size(self._of_size(n + 1))) for n in range(len(self.weights))]
        power = exponent(self.n_columns)
        added = self.table.agg(
            f.count(f.lit(1)),
            f.sum("score"),
            f.max("score"),
            f.sum(f.pow(f.col("score"), f.lit(-power))),
            *by_size,
            *(f.sum(f"p{i}") for i in range(self.n_columns)),
        )
        n_scored, score, largest, adjustment, *rest = (value or 0 for value in collect(added)[0])
        sizes, parts = rest[: len(by_size)], rest[len(by_size) :]
        return Totals(
            n_scored, float(score), float(largest), float(adjustment), tuple(sizes), tuple(parts)
        )

    def _of_size(self, size: int) -> Column:
        f = self.f
        # A second argument, even one with a default, would be taken for the place in the array.
        some: Column = f.filter("a", lambda s: f.bit_count(s) == size)
        return some

    def records(
        self, names: list[str], odds: float | None, *, only_score: bool = False
    ) -> DataFrame:
        """Return the user's table with the scores of each record."""
        f, projection = self.f, self.counter.projection
        keys = [projection.column(name) for name in self.counter.columns]
        left = projection.table.select("*", *(key.alias(f"r{i}") for i, key in enumerate(keys)))
        same = f.expr("true")
        for i, q in enumerate(self.qs):
            same &= f.col(f"r{i}").eqNullSafe(f.col(q))
        joined = left.join(self.table, same, "left")
        score = f.col("score")
        made = [score]
        if not only_score:
            made.append(f.size(f.coalesce(f.col("a"), f.array())).cast("long"))
            if odds is not None:
                power = exponent(self.n_columns)
                made.append(1 / (1 + f.lit(odds) / f.pow(score, f.lit(power))))
            made += [f.col(f"p{i}") / score for i in range(self.n_columns)]
        nothing = f.lit(0)
        filled = [f.coalesce(value, nothing) for value in made]
        if self.counter.drops:
            known = ~projection.any_missing(f.col(f"r{i}") for i in range(len(keys)))
            filled = [f.when(known, value) for value in filled]
        own = [f"c{i}" for i in range(len(projection.names))]
        return joined.select(*own, *(v.alias(f"x{i}") for i, v in enumerate(filled))).toDF(
            *projection.names, *names
        )


def _within(small: Any, large: Any) -> Column:
    inside: Column = (small.bitwiseAND(large) == small) & (small != large)
    return inside
