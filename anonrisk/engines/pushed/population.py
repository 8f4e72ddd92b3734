"""What models of a population need of a table, beyond its class sizes.

Columns of ours, beside those of `match`: `c` how many records share a class's value of a column,
`mu` the mean that a class has if the columns are independent.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.numpy.match import MatchedPairs
from anonrisk.engines.numpy.population import of_weights
from anonrisk.engines.pushed.match import Sides
from anonrisk.engines.pushed.numbers import exp, rising
from anonrisk.engines.pushed.rows import sum_where
from anonrisk.measures.counts.question import Against, Question
from anonrisk.measures.counts.weighted import Independence, WeightedClasses

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.engines.pushed.rows import PushedTable


def weighted(table: PushedTable, question: Question, weight: Name) -> WeightedClasses:
    """Sum weights, and risks that follow from them, over the classes."""
    sides = Sides(table, question, Against(weight=weight))
    ends = {"low": "min(low)", "high": "max(high)"}
    rows = sides.fetch(
        sides.marked.group("counts", "f", "size_in", classes="count(1)", **ends, **sides.wrong())
    )
    sides.refuse(rows)
    kept = [row for row in rows if row["counts"]]
    results: dict[int, int] = {}
    for row in kept:
        results[int(row["f"])] = results.get(int(row["f"]), 0) + int(row["classes"])
    sizes = sides.sizes(results, rows)
    pairs = MatchedPairs(
        np.array([int(row["f"]) for row in kept]),
        np.array([float(row["size_in"]) for row in kept]),
        np.array([int(row["classes"]) for row in kept]),
    )
    low, high = min(float(row["low"]) for row in kept), max(float(row["high"]) for row in kept)
    return of_weights(pairs, sizes, (low, high))


def independence(table: PushedTable, question: Question, fraction: float) -> Independence:
    """Compare the classes with what their columns give if they are independent.

    Only sums, and the number of values by their count, leave the back end.
    """
    table.check_logarithms()
    sides = Sides(table, question, Against())
    # Of records, not of classes: a look at each is cheaper than grouping them.
    summary = sides.records.group(n_counted=sum_where(sides.counts, "f"), **sides.wrong())
    sides.check(table.fetch_rows(summary, "count the rows"))
    classes = sides.marked.where("counts").select(*sides.qs, "f")
    values = classes.group_sets([[q] for q in sides.qs], name="w", c="sum(f)")
    rows = table.fetch_rows(values.group("w", "c", n_values="count(1)"), "compare the columns")
    margins = [
        np.array(sorted((int(r["c"]), int(r["n_values"])) for r in rows if r["w"] == i), float)
        for i in range(len(sides.qs))
    ]
    n = float((margins[0][:, 0] * margins[0][:, 1]).sum())
    shares = {f"c{q}": f"cast(sum(f) over (partition by {q}) as double)" for q in sides.qs}
    logs = " + ".join(f"ln({share} / {n!r}D)" for share in shares)
    expected = (
        classes.select(f="cast(f as double)", **shares)
        .select("f", log_mu=f"{log(n)!r}D + {logs}")
        .select("f", mu=exp("log_mu"))
    )
    c = (1 - fraction) / fraction
    terms = expected.select(
        "f", "mu", m=f"mu * {c!r}D", less=f"-mu / {fraction!r}D", least=f"-mu * {c!r}D"
    ).select("f", "mu", "m", "least", kept=f"{exp('less')} * {c!r}D")
    (sums,) = table.fetch_rows(
        terms.group(
            uniques=f"sum(if(f = 1, {exp('least')}, 0D))",
            matches=f"sum(if(f = 1, {rising('m')}, 0D))",
            observed="sum(mu * kept * f + kept * (1D - mu - m / 2D) * (f * f - f * mu * 2D - f))",
        ),
        "compare the columns",
    )
    return Independence(
        unique=float(sums["uniques"]),
        match=float(sums["matches"]),
        observed=float(sums["observed"]),
        margins=tuple((pairs[:, 0], pairs[:, 1]) for pairs in margins),
    )
