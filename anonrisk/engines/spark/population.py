"""What models of a population need of a Spark table, beyond its class sizes.

Columns of ours, beside those of `match` and `count`: `p` the share of a class's population that is
in the table, `risk` that of a record, `c0`, `c1`, … how many records share a class's value of each
column, `mu` the mean that a class has if the columns are independent.
"""

from __future__ import annotations

from functools import reduce
from math import log
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.question import Against, Question
from anonrisk.counts.weighted import Independence, WeightedClasses
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.match import Sides
from anonrisk.predict.population.benedetti_franconi import RECURSION, TERMS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name


def weighted(frame: DataFrame, question: Question, weight: Name) -> WeightedClasses:
    """Sum weights, and risks that follow from them, over the classes, in one action."""
    with guarded("sum the weights"):
        sides = Sides(frame, question, Against(weight=weight))
        f = sides.f
        # Classes that are left out have no size, and are read for what is wrong only.
        size = f.when(sides.counts(), f.col("f"))
        # Weights of nothing and of infinity are refused below, which a division must not forestall.
        sound = (f.col("no_weight") == 0) & (f.col("small_weight") == 0)
        share = f.when(sound, f.col("f") / f.col("size_in"))
        all_ = (
            sides.classes.withColumn("size", size)
            .withColumn("risk", _risk(f, f.col("size"), share))
            .groupBy("size")
            .agg(
                f.count(f.lit(1)).alias("classes"),
                f.sum("size_in").alias("total"),
                f.sum("risk").alias("risks"),
                f.max("risk").alias("highest"),
                f.min("w_low").alias("low"),
                f.max("w_high").alias("high"),
                *sides.wrong(),
            )
            .collect()
        )
    sides.refuse(all_)
    rows = sorted((row for row in all_ if row["size"]), key=lambda row: row["size"])
    sizes = ClassCounts(
        [row["size"] for row in rows],
        [row["classes"] for row in rows],
        qid=question.qid,
        missing=question.missing,
        n_dropped=sum(row["dropped"] for row in all_) if question.missing == "drop" else 0,
    )
    return WeightedClasses(
        sizes,
        total=sum(row["total"] for row in rows),
        pairs=sum(row["total"] for row in rows if row["size"] == 2),
        singles=sum(row["risks"] for row in rows if row["size"] == 1),
        all=sum(row["size"] * row["risks"] for row in rows),
        highest=max(row["highest"] for row in rows),
        lowest_weight=min(row["low"] for row in rows),
        highest_weight=max(row["high"] for row in rows),
    )


def _risk(f: Any, size: Column, share: Column) -> Column:
    """Give E(1/F) as `benedetti_franconi` does: by recursion, or by a series."""
    p = f.least(share, f.lit(1.0))
    rho = (f.lit(1.0) - p) / p
    first = f.log1p(rho) / rho
    steps = f.sequence(f.lit(1), f.greatest(size.cast("int") - 1, f.lit(1)))
    recursion = f.aggregate(steps, first, lambda risk, i: (f.lit(1.0) / i - risk) / rho)
    start = f.struct(f.lit(1.0).alias("term"), f.lit(1.0).alias("total"))

    def grown(so_far: Column, k: Column) -> Column:
        term = so_far["term"] * (f.lit(1.0) - p) * k / (size + k)
        more: Column = f.struct(term.alias("term"), (so_far["total"] + term).alias("total"))
        return more

    terms = f.sequence(f.lit(1), f.lit(TERMS))
    series = f.aggregate(terms, start, grown, lambda so_far: so_far["total"]) * p / size
    recursive = (size <= RECURSION) & (p <= 0.5)
    chosen: Column = f.when(recursive & (size == 1), first).when(recursive, recursion)
    risk: Column = chosen.otherwise(series)
    return risk


def independence(frame: DataFrame, question: Question, fraction: float) -> Independence:
    """Compare the classes with what their columns give if they are independent, in two actions.

    The margins are counted from the classes and joined to them, so that only sums and the number
    of values by their count reach the driver.
    """
    with guarded("compare the columns"):
        sides = Sides(frame, question, Against())
        f = sides.f
        classes = sides.kept().select(*sides.qs, "f")
        margins = [classes.groupBy(q).agg(f.sum("f").alias("c")) for q in sides.qs]
        counted = [
            margin.groupBy("c").agg(f.count(f.lit(1)).alias("values")).withColumn("q", f.lit(i))
            for i, margin in enumerate(margins)
        ]
        rows = reduce(lambda one, more: one.union(more), counted).collect()
    n = sum(row["c"] * row["values"] for row in rows if row["q"] == 0)
    with guarded("compare the columns"):
        for i, (q, margin) in enumerate(zip(sides.qs, margins, strict=True)):
            named = margin.select(f.col(q).alias(f"k{i}"), f.col("c").alias(f"c{i}"))
            same = f.col(q).eqNullSafe(f.col(f"k{i}"))
            classes = classes.join(named, same).drop(f"k{i}")
        shares = [f.log(f.col(f"c{i}") / f.lit(float(n))) for i in range(len(sides.qs))]
        mu = f.exp(f.lit(log(n)) + reduce(add, shares))
        (sums,) = classes.withColumn("mu", mu).agg(*_sums(f, fraction)).collect()
    found = [sorted((row["c"], row["values"]) for row in rows if row["q"] == i)
             for i in range(len(sides.qs))]  # fmt: skip
    return Independence(
        unique=sums["unique"] or 0.0,
        match=sums["match"] or 0.0,
        observed=sums["observed"],
        margins=tuple(
            (np.array(pairs, dtype=float)[:, 0], np.array(pairs, dtype=float)[:, 1])
            for pairs in found
        ),
    )


def _sums(f: Any, fraction: float) -> list[Column]:
    c = (1 - fraction) / fraction
    mu, size = f.col("mu"), f.col("f").cast("double")
    single, m = size == 1, mu * f.lit(c)
    kept = f.exp(-mu / f.lit(fraction)) * f.lit(c)
    a, b = mu * kept, kept * (f.lit(1.0) - mu - m / 2)
    return [
        f.sum(f.when(single, f.exp(-m))).alias("unique"),
        f.sum(f.when(single, -f.expm1(-m) / m)).alias("match"),
        f.sum(a * size + b * (size * size - size * mu * 2 - size)).alias("observed"),
    ]
