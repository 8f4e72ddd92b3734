"""From pairs to the worst classes, as text in Spark's dialect, which is that of the formulas.

A pair is a class and a sensitive value, with `persons` and `n_rows` of the class that have it, and
`c` and `t` as in `measures.formula`; a text is a query with a name for each step.
"""
# No text of a caller enters: the columns of a class are called q0, q1, ….
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.counts.question import Score
from anonrisk.measures import tcloseness
from anonrisk.measures.formula import UP_TO, Placeholders
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Sequence

# Beside the user's tables, so that none of those is likely to have these names.
PAIRS, GROUPS = "anonrisk_pairs", "anonrisk_groups"
COUNTS = ("c", "persons", "n_rows", "t")
# Databases whose windows sort, and whose joins do not; PostgreSQL finds only a slow join by NULL.
JOINED = ("duckdb",)


def by_values(qs: Sequence[str], asked: Sequence[Score], *, joined: bool = False) -> str:
    """Write the steps from pairs to classes, for scores of values as they are.

    Sums over classes and values come by windows or, where that is faster, `joined`.
    """
    words = Placeholders(", ".join(qs), "persons", n_values=None)
    formulas = [FORMULAS[score.name] for score in asked]
    windows = dict.fromkeys(words.text(text) for formula in formulas for text in formula.windows)
    ordered = tcloseness.ORDERED in formulas
    # Only where it is needed: DuckDB computes every column of a named step.
    compared = (
        f"sum(c) over (partition by {words.of_class}) as total, "
        "sum(t) over (partition by s) as t, sum(t) over (partition by 0) as t_all"
    )
    columns = (
        *(words.of_class, "c", "persons", "n_rows"),
        *(["r", "max(r) over (partition by 0) as last_r"] if ordered else []),
        *([compared] if any(formula.compared for formula in formulas) else []),
    )
    shares = ["t / t_all as share"] if compared in columns else []
    counted = {"counted": f"select {', '.join(columns)} from {PAIRS}"}
    if joined and compared in columns:
        counted = _joined(qs, ordered=ordered)
    steps = {
        **counted,
        "described": f"select {', '.join(('*', *shares, *windows))} from counted",
        **(_MOVED if ordered else {}),
    }
    scored = "".join(
        f", {words.text(formula.sql, score.c)} as x{i}"
        for i, (score, formula) in enumerate(zip(asked, formulas, strict=True))
    )
    tallies = "sum(persons) as n, sum(n_rows) as n_rows"
    last = list(steps)[-1]
    steps["classes"] = f"select {tallies}{scored} from {last} group by {words.of_class}"
    return _worst(steps, asked)


def _joined(qs: Sequence[str], *, ordered: bool) -> dict[str, str]:
    """Write `counted` without a window; a missing value is equal to another one."""
    of_class = ", ".join(qs)
    columns = [f"p.{name}" for name in (*qs, "c", "persons", "n_rows", *(["r"] if ordered else []))]
    last = [f"(select max(r) from {PAIRS}) as last_r"] if ordered else []
    keys = " and ".join(f"p.{q} <=> sized.{q}" for q in qs)
    return {
        "valued": f"select s, sum(t) as t from {PAIRS} group by s",
        "sized": f"select {of_class}, sum(c) as total from {PAIRS} group by {of_class}",
        "counted": f"select {', '.join([*columns, *last])}, sized.total as total, valued.t as t, "
        f"(select sum(t) from valued) as t_all from {PAIRS} as p "
        f"join valued on p.s <=> valued.s join sized on {keys}",
    }


# What each value moves in an ordered distance; see `measures.tcloseness.ordered`. A class's share
# finds its place among the table's by sorting the two together.
_MOVED = {
    "pairs": f"select *, {tcloseness.REACHED} as reached from described",
    "ranked": "select distinct r, t, t_all from counted",
    "shares": f"select r, sum(t) over (order by r {UP_TO}) / t_all as reached from ranked",
    "sums": "select r, coalesce(sum(reached) over (order by r rows between unbounded preceding and "
    "1 preceding), 0D) as below from shares",
    "points": "select distinct reached, 0 as of_table from pairs "
    "union all select reached, 1 as of_table from shares",
    "places": "select reached, of_table, sum(of_table) over "
    f"(order by reached, of_table desc {UP_TO}) as below from points",
    "placed": f"select pairs.*, {tcloseness.SPLIT} as split from pairs "
    "join places on places.reached = pairs.reached and places.of_table = 0",
    "summed": "select placed.*, a.below as sum_r, b.below as sum_high, c.below as sum_split "
    "from placed join sums as a on a.r = placed.r join sums as b on b.r = placed.high "
    "join sums as c on c.r = placed.split",
    "moved": f"select *, {tcloseness.MOVED} as moved from summed",
}


def in_hierarchy(qs: Sequence[str], n_levels: int) -> str:
    """Write the steps from pairs to classes, for the groups of values on each level."""
    words = Placeholders(", ".join(qs), "persons", n_levels=n_levels)
    sums = ", ".join(f"sum({name}) as {name}" for name in COUNTS)
    merged = (
        f"select {words.of_class}, {i} as level, h{i} as part, {sums}, max(total) as total "
        f"from counted join {GROUPS} as g on g.s = counted.s group by {words.of_class}, h{i}"
        for i in range(n_levels)
    )
    # Every level has seen every row, so that one of them speaks for all.
    tallies = ", ".join(
        f"sum(if(level = 0, {name}, 0)) as {as_}"
        for name, as_ in (("persons", "n"), ("n_rows", "n_rows"))
    )
    score = words.text(tcloseness.HIERARCHICAL.sql)
    steps = {
        "counted": f"select *, sum(c) over (partition by {words.of_class}) as total from {PAIRS}",
        "merged": " union all ".join(merged),
        "shares": "select *, sum(t) over (partition by level, part) / "
        "sum(t) over (partition by level) as share from merged",
        "classes": f"select {tallies}, {score} as x0 from shares group by {words.of_class}",
    }
    return _worst(steps, [Score("hierarchical")])


def _worst(steps: dict[str, str], asked: Sequence[Score]) -> str:
    """Write all steps as one: for each size, its classes, their rows and worst scores."""
    found = "".join(
        f", {FORMULAS[score.name].worst_in_sql}(x{i}) as worst_{i}, count(x{i}) as scored_{i}"
        for i, score in enumerate(asked)
    )
    named = ", ".join(f"{name} as ({text})" for name, text in steps.items())
    classes = f"with {named} select * from classes"
    tallies = "n, count(1) as classes, sum(n_rows) as n_rows"
    return f"select {tallies}{found} from ({classes}) as k group by n"
