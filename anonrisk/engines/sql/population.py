"""What models of a population need of a table in a database, beyond its class sizes.

Columns of ours, beside those of `match`: `c0`, `c1`, … how many records share a class's value of
each column, `mu` the mean that a class has if the columns are independent.
"""

from __future__ import annotations

from functools import reduce
from math import log
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from anonrisk.counts.question import Against, Question
from anonrisk.counts.weighted import Independence, WeightedClasses
from anonrisk.engines.numpy.population import of_weights
from anonrisk.engines.sql.match import SqlSides
from anonrisk.engines.sql.numbers import double, exp, rising
from anonrisk.engines.sql.text import check_logarithms

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.engines.sql.table import SqlTable


def weighted(table: SqlTable, question: Question, weight: Name) -> WeightedClasses:
    """Sum weights, and risks that follow from them, over the classes."""
    sides = SqlSides(table, question, Against(weight=weight))
    pairs = sides.pairs()
    return of_weights(pairs, sides.sizes(pairs), sides.weight_range)


def independence(table: SqlTable, question: Question, fraction: float) -> Independence:
    """Compare the classes with what their columns give if they are independent.

    Only sums, and the number of values by their count, leave the database.
    """
    check_logarithms(table, "ln(")
    sides = SqlSides(table, question, Against())
    rows = sides.rows()
    keys = [rows.c[q] for q in sides.qs]
    classes = sa.select(*keys, sa.func.count().label("f")).group_by(*keys).cte("k")
    counted = []
    for i, q in enumerate(sides.qs):
        margin = sa.select(sa.func.sum(classes.c.f).label("c")).group_by(classes.c[q]).subquery()
        number: Any = sa.literal_column(str(i)).label("q")
        counted.append(sa.select(number, margin.c.c, sa.func.count()).group_by(margin.c.c))
    found = table.fetch(sa.union_all(*counted), "compare the columns")
    margins = [sorted((int(c), int(n)) for i, c, n in found if int(i) == k)
               for k in range(len(sides.qs))]  # fmt: skip
    n = float(sum(c * values for c, values in margins[0]))
    shares = []
    for q in sides.qs:
        among = sa.func.sum(classes.c.f).over(partition_by=classes.c[q])
        shares.append(double(among).label(f"c{q}"))
    beside = sa.select(double(classes.c.f).label("f"), *shares).subquery("b")
    logs = (sa.func.ln(beside.c[share.name] / double(n)) for share in shares)
    mu = exp(double(log(n)) + reduce(add, logs)).label("mu")
    expected = sa.select(beside.c.f, mu).subquery("e")
    ((unique, match, observed),) = table.fetch(
        sa.select(*_sums(expected.c.f, expected.c.mu, fraction)), "compare the columns"
    )
    return Independence(
        unique=float(unique or 0),
        match=float(match or 0),
        observed=float(observed),
        margins=tuple(
            (np.array(pairs, dtype=float)[:, 0], np.array(pairs, dtype=float)[:, 1])
            for pairs in margins
        ),
    )


def _sums(f: Any, mu: Any, fraction: float) -> list[Any]:
    c = (1 - fraction) / fraction
    m = mu * double(c)
    kept = exp(-mu / double(fraction)) * double(c)
    a, b = mu * kept, kept * (1 - mu - m / 2)
    single = f == 1
    return [
        sa.func.sum(sa.case((single, exp(-m)))),
        sa.func.sum(sa.case((single, rising(m)))),
        sa.func.sum(a * f + b * (f * f - f * mu * 2 - f)),
    ]
