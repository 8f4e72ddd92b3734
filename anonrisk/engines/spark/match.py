"""A release matched with a population on Spark, class by class.

Columns of ours, beside those of `count`: `f` and `size_in` the sizes of a class in the release and
in the population, `w` what a record adds to the latter, `home` the household, `step` a risk on the
grid.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.matched import GRID, Attacker, Matched, Presence
from anonrisk.engines import refusals
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.counts.question import Against, Question

_WHOLE = ("byte", "short", "integer", "long")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
# By which size classes are put together.
_RELEASE, _POPULATION = 0, 1


def matched(frame: DataFrame, question: Question, against: Against) -> Matched:
    """Find the size that each class of the release has in the population, in one action."""
    with guarded("match the classes"):
        sides = Sides(frame, question, against)
        rows = sides.histograms().collect()
    sides.refuse(_of_population(rows))
    released = sorted((row for row in rows if row["part"] == _RELEASE), key=lambda row: row["key"])
    sizes = ClassCounts(
        [int(row["key"]) for row in released],
        [row["classes"] for row in released],
        qid=question.qid,
        missing=question.missing,
        n_dropped=sum(row["dropped"] for row in _of_population(rows)),
    )
    found = [row for row in _of_population(rows) if row["key"] is not None]
    present = sorted((row for row in found if row["classes"]), key=lambda row: row["key"])
    keys = np.array([row["key"] for row in present])
    return Matched(
        sizes,
        1 / keys,
        np.array([row["records"] for row in present], dtype=float),
        min(row["smallest"] for row in present),
        sum(row["total"] for row in present),
        sum(row["matches"] for row in present),
        Presence(min(row["lowest"] for row in found), max(row["highest"] for row in found)),
    )


def households(frame: DataFrame, question: Question, against: Against) -> Attacker:
    """Give the risk that a record has by any member of its household, in two actions."""
    with guarded("match the classes"):
        sides = Sides(frame, question, against)
        rows = sides.histograms().collect()
    sides.refuse(_of_population(rows))
    ClassCounts([1][: len(rows)], [1][: len(rows)])
    with guarded("find the risk of households"):
        steps = sides.households().collect()
    lost = sum(row["lost"] for row in steps)
    if lost and against.household is not None:
        raise refusals.missing_household(against.household, lost)
    n = sum(row["records"] for row in steps)
    return Attacker(
        "household",
        sum(row["summed"] for row in steps) / n,
        max(row["highest"] for row in steps),
        np.array([row["step"] / GRID for row in steps]),
        np.array([row["records"] for row in steps], dtype=float),
    )


class Sides:
    """Release and population under one set of names."""

    def __init__(self, frame: DataFrame, question: Question, against: Against) -> None:
        self.question, self.against = question, against
        self.projection = Projection.of(frame)
        self.f = self.projection.functions
        self.qs = [f"q{i}" for i in range(len(question.columns))]
        self._check_types()
        self.records = self._records(self.projection, released=True)
        self.classes = self._classes()

    def _check_types(self) -> None:
        """Refuse weights that are no numbers, and columns that differ in type."""
        against = self.against
        if (
            against.weight is not None
            and self._type(self.projection, against.weight) not in _NUMBERS
        ):
            raise refusals.not_a_number(against.weight)
        if against.population is None:
            return
        other = Projection.of(against.population)
        for name in self.question.columns:
            kinds = [self._type(side, name) for side in (self.projection, other)]
            kinds = ["whole number" if kind in _WHOLE else kind for kind in kinds]
            if kinds[0] != kinds[1]:
                raise UnsupportedColumnError(
                    f"quasi-identifier {name!r} mixes types: {kinds[0]} in the release, "
                    f"{kinds[1]} in the population"
                )

    @staticmethod
    def _type(projection: Projection, name: Any) -> str:
        return str(projection.fields[projection.names.index(str(name))].dataType.typeName())

    def _records(self, projection: Projection, *, released: bool) -> DataFrame:
        f, against = self.f, self.against
        columns = [
            projection.column(name).alias(q)
            for name, q in zip(self.question.columns, self.qs, strict=True)
        ]
        if not released:
            weight: Column = f.lit(1.0)
        elif against.weight is not None:
            weight = projection.column(against.weight).cast("double")
        else:
            weight = f.lit(0.0 if against.population is not None else 1.0)
        columns += [weight.alias("w"), f.lit(int(released)).alias("in_release")]
        if released and against.household is not None:
            columns.append(projection.column(against.household).alias("home"))
        return projection.table.select(*columns)

    def _classes(self) -> DataFrame:
        """One row per class: f, its size in the population, and what is wrong with it."""
        f, against = self.f, self.against
        table = self.records.drop("home")
        if against.population is not None:
            other = self._records(Projection.of(against.population), released=False)
            table = table.union(other)
        inside = f.col("in_release") == 1
        unknown = f.col("w").isNull() | (f.col("w") == f.lit(float("inf")))
        small = f.col("w") < 1 if against.weight is not None else f.expr("false")
        return table.groupBy(*self.qs).agg(
            f.sum("in_release").alias("f"),
            f.sum("w").alias("size_in"),
            f.min("w").alias("w_low"),
            f.max("w").alias("w_high"),
            f.count(f.when(inside & unknown, 1)).alias("no_weight"),
            f.count(f.when(inside & small, 1)).alias("small_weight"),
        )

    def kept(self) -> DataFrame:
        """Leave out classes with a missing quasi-identifier, where those are dropped."""
        if self.question.missing != "drop":
            return self.classes
        return self.classes.where(~self._incomplete())

    def _incomplete(self) -> Column:
        return self.projection.any_missing(self.f.col(q) for q in self.qs)

    def counts(self) -> Column:
        """Tell whether a class counts, or is dropped for a missing quasi-identifier."""
        if self.question.missing != "drop":
            counts: Column = self.f.expr("true")
            return counts
        return ~self._incomplete()

    def wrong(self) -> list[Column]:
        """Count the records with which something is wrong, over some classes."""
        f, counts = self.f, self.counts()
        released, size = f.col("f") > 0, f.col("size_in")
        # Only a population has rows of its own; else its size is a sum of weights.
        rows = f.col("f") + size if self.against.population is not None else f.col("f")
        wrong = {
            "lost": f.when(counts & released & (size == 0), f.col("f")),
            "short": f.when(counts & (size > 0) & (f.col("f") > size), f.col("f")),
            "no_weight": f.col("no_weight"),
            "small_weight": f.col("small_weight"),
            "dropped": f.when(~counts, f.col("f")),
            **{f"m{i}": f.when(f.col(q).isNull(), rows) for i, q in enumerate(self.qs)},
        }
        return [
            f.coalesce(f.sum(amount).cast("long"), f.lit(0)).alias(name)
            for name, amount in wrong.items()
        ]

    def histograms(self) -> DataFrame:
        """Classes by their size in the release, and again by that in the population.

        Each class stands in both, with sums over classes and what is wrong with them; a key of NULL
        has what is dropped, or lost.
        """
        f, counts = self.f, self.counts()
        released, size, share = f.col("f") > 0, f.col("size_in"), f.col("f") / f.col("size_in")
        both = f.explode(f.array(f.lit(_RELEASE), f.lit(_POPULATION)))
        in_release = f.col("part") == _RELEASE
        known = f.when(in_release & released, f.col("f").cast("double"))
        known = known.when(~in_release & (size > 0), size.cast("double"))
        table = self.classes.withColumn("part", both).withColumn("key", f.when(counts, known))
        # Of the release only the sizes are read.
        table = table.where(~in_release | f.col("key").isNotNull())
        return table.groupBy("part", "key").agg(
            f.count(f.when(released & counts, 1)).alias("classes"),
            f.sum(f.when(counts, f.col("f"))).cast("double").alias("records"),
            f.sum(f.when(released, size)).cast("double").alias("total"),
            f.sum(f.when(released & (size > 0), share)).alias("matches"),
            f.min(f.when(released, size)).cast("double").alias("smallest"),
            f.min(f.when(size > 0, share)).alias("lowest"),
            f.max(f.when(size > 0, share)).alias("highest"),
            *self.wrong(),
        )

    def _bad(self) -> list[str]:
        names = [f"m{i}" for i in range(len(self.qs))]
        return ["lost", "short", "no_weight", "small_weight", "dropped", *names]

    def refuse(self, rows: list[Row]) -> None:
        """Refuse what the question refuses, and a population that does not fit."""
        total = {name: sum(row[name] for row in rows) for name in self._bad()}
        if self.question.missing == "error":
            n_missing = {name: total[f"m{i}"] for i, name in enumerate(self.question.columns)}
            if any(n_missing.values()):
                raise refusals.missing_values(n_missing)
        if self.against.weight is not None:
            refusals.check_weights(self.against.weight, total["no_weight"], total["small_weight"])
        if self.against.population is not None:
            refusals.check_population(total["lost"], total["short"])

    def households(self) -> DataFrame:
        """Records by the risk of their household, on the grid."""
        f = self.f
        renamed = self.kept().select(*(f.col(q).alias(f"k_{q}") for q in self.qs), f.col("size_in"))
        same = reduce(and_, (f.col(q).eqNullSafe(f.col(f"k_{q}")) for q in self.qs))
        risk = f.lit(1.0) / f.col("size_in")
        table = self.records.join(renamed, same).withColumn("risk", risk)
        # The logarithm of what is certain is no number in Spark, so that certainty goes by itself.
        certain = f.max((f.col("risk") >= 1).cast("int"))
        safe = f.sum(f.when(f.col("risk") < 1, f.log1p(-f.col("risk"))).otherwise(f.lit(0.0)))
        homes = table.groupBy("home").agg(
            f.count(f.lit(1)).alias("members"), certain.alias("certain"), safe.alias("safe")
        )
        any_of_them = f.when(f.col("certain") == 1, f.lit(1.0)).otherwise(-f.expm1("safe"))
        homes = homes.withColumn("risk", any_of_them)
        homes = homes.withColumn("step", f.ceil(f.col("risk") * GRID - 1e-6))
        return homes.groupBy("step").agg(
            f.sum("members").alias("records"),
            f.max("risk").alias("highest"),
            f.sum(f.col("risk") * f.col("members")).alias("summed"),
            f.sum(f.when(f.col("home").isNull(), f.col("members")).otherwise(0)).alias("lost"),
        )


def _of_population(rows: list[Row]) -> list[Row]:
    """Leave out the classes by their size in the release, which are in the others too."""
    return [row for row in rows if row["part"] == _POPULATION]
