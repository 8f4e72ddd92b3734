"""Sums of weights on Spark, with the risks that follow from them computed where the classes are.

Columns of ours, beside those of `match`: `p` the share of a class's population that is in the
table, `rho` what is not over what is, `risk` that of a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.pushed.match import Sides
from anonrisk.engines.spark.rows import SparkTable
from anonrisk.measures.counts.question import Against, Question
from anonrisk.measures.counts.weighted import WeightedClasses
from anonrisk.predict.population.benedetti_franconi import RECURSION, TERMS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name

# E(1/F) as `benedetti_franconi` has it: by recursion, or by a series.
_RECURSION = (
    "aggregate(sequence(1, greatest(cast(size as int) - 1, 1)), log1p(rho) / rho, "
    "(risk, i) -> (1D / i - risk) / rho)"
)
_SERIES = (
    f"aggregate(sequence(1, {TERMS}), named_struct('term', 1D, 'total', 1D), "
    "(so_far, k) -> named_struct("
    "'term', so_far.term * (1D - p) * k / (size + k), "
    "'total', so_far.total + so_far.term * (1D - p) * k / (size + k)), "
    "so_far -> so_far.total) * p / size"
)
_RISK = (
    f"case when size = 1 and p <= 0.5D then log1p(rho) / rho "
    f"when size <= {RECURSION} and p <= 0.5D then {_RECURSION} else {_SERIES} end"
)


def weighted(frame: DataFrame, question: Question, weight: Name) -> WeightedClasses:
    """Sum weights, and risks that follow from them, over the classes, in one action."""
    table = SparkTable(frame)
    sides = Sides(table, question, Against(weight=weight))
    # Classes that are left out have no size, and are read for what is wrong only. Weights of
    # nothing and of infinity are refused below, which a division must not forestall.
    sound = "no_weight = 0 and small_weight = 0"
    shares = sides.marked.select(
        "*", size="if(counts, f, null)", p=f"if({sound}, least(f / size_in, 1D), null)"
    )
    risks = shares.select("*", rho="(1D - p) / p").select("*", risk=_RISK)
    rows = table.fetch_rows(
        risks.group(
            "size",
            classes="count(1)",
            total="sum(size_in)",
            risks="sum(risk)",
            highest="max(risk)",
            low="min(low)",
            high="max(high)",
            **sides.wrong(),
        ),
        "sum the weights",
    )
    sides.refuse(rows)
    kept = [row for row in rows if row["size"]]
    return WeightedClasses(
        sides.sizes({row["size"]: row["classes"] for row in kept}, rows),
        total=sum(row["total"] for row in kept),
        pairs=sum(row["total"] for row in kept if row["size"] == 2),
        singles=sum(row["risks"] for row in kept if row["size"] == 1),
        all=sum(row["size"] * row["risks"] for row in kept),
        highest=max(row["highest"] for row in kept),
        lowest_weight=min(row["low"] for row in kept),
        highest_weight=max(row["high"] for row in kept),
    )
