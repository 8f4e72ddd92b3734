"""Scores of classes, computed where the classes are, so that only the worst of each size leave.

Columns of ours, beside those of `values`: `total` how many values a class has, `x0`, `x1`, … its
scores, `n` its size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anonrisk.engines.pushed.count import Histogram, smallest_classes
from anonrisk.engines.pushed.records import CountedRecords, again, none_of
from anonrisk.engines.pushed.values import ClassValues
from anonrisk.errors import ArgumentError, EngineError
from anonrisk.measures import tcloseness
from anonrisk.measures.counts.question import Scored
from anonrisk.measures.formula import UP_TO, Placeholders
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.engines.pushed.rows import PushedTable, Row, Rows
    from anonrisk.measures.counts.question import Question, Score, Sensitive


def scores(
    table: PushedTable, question: Question, sensitive: Sensitive, asked: Sequence[Score]
) -> Scored:
    """Score every class in one statement, and return the worst."""
    about = class_values(table, question, sensitive, asked)
    about = replace(about, moved=table.moves_first(about.records.rows))
    if any("ln(" in FORMULAS[score.name].sql for score in asked):
        table.check_logarithms()
    rows = table.fetch_rows(worst_of_sizes(about, asked), "score the classes")
    about.records.refuse(rows)
    about.refuse(rows)
    sizes = Histogram()
    for row in rows:
        sizes.add(row)
    kept = [row for row in rows if row["classes"] and not row.get("d")]
    return Scored(
        sizes.class_sizes(question, question.qid),
        {score: _worst(kept, i, score) for i, score in enumerate(asked)},
    )


def class_values(
    table: PushedTable, question: Question, sensitive: Sensitive, asked: Sequence[Score]
) -> ClassValues:
    """Plan what the scores need to know of a column, and check that it can be known."""
    names = {score.name for score in asked}
    if "hierarchical" not in names:
        sensitive = replace(sensitive, hierarchy=None)
    elif len(asked) > 1:
        raise ArgumentError("a hierarchical distance is scored by itself")
    if "ordered" not in names:
        sensitive = replace(sensitive, ordered=False, order=None)
    about = ClassValues(CountedRecords(table, question, sensitive=sensitive), sensitive)
    about.check()
    return about


def worst_of_sizes(about: ClassValues, asked: Sequence[Score]) -> Rows:
    """Plan, for each size, its classes, what is told of them, and their worst scores."""
    records = about.records
    worst = {f"x{i}": f"{FORMULAS[score.name].worst_in_sql}(x{i})" for i, score in enumerate(asked)}
    scored = {f"scored_{i}": f"count(x{i})" for i in range(len(asked))}
    counts = {"classes": "count(1)", "members": "sum(n)", "persons": "0"}
    summary = records.refusal_sums("n_rows", records.qs) | again(about.told_of_class())
    sizes = scored_classes(about, asked).group(
        *records.about, "n", **counts, **summary, **worst, **scored
    )
    if not about.persons:
        return sizes
    once = about.every.group(*about.keys, "u", pair_rows="sum(pair_rows)")
    sized = once.select("*", n=f"count(1) over (partition by {', '.join(about.keys)})")
    persons = smallest_classes(sized, records)
    nothing = (
        dict.fromkeys((*counts, *scored), "0") | dict.fromkeys(worst, "null") | none_of(summary)
    )
    return sizes.union(persons, **nothing | {"persons": "persons"})


def scored_classes(about: ClassValues, asked: Sequence[Score]) -> Rows:
    """Plan one row per class: its columns, size and scores, and what is told of it."""
    if about.levels:
        return _in_hierarchy(about)
    words = Placeholders(", ".join(about.of_class), about.members)
    formulas = [FORMULAS[score.name] for score in asked]
    rows = about.counted
    if any(formula.compared for formula in formulas):
        order = next((formula.order for formula in formulas if formula.order), "")
        rows = rows.look_up(about.values, "s").total("total", "sum(c)", about.of_class, order)
    windows = {name: text for formula in formulas for name, text in formula.windows.items()}
    if windows:
        rows = rows.select("*", **{name: words.text(text) for name, text in windows.items()})
    if about.sensitive.ordered:
        reached = rows.select("*", reached=tcloseness.REACHED)
        column = about.sensitive.column
        split = about.records.table.split_shares(reached, about.values, about.values_alone, column)
        rows = split.select("*", moved=tcloseness.MOVED)
    texts = {
        f"x{i}": words.text(FORMULAS[score.name].sql, score.c) for i, score in enumerate(asked)
    }
    return rows.group(*about.keys, n=f"sum({about.members})", **about.told_of_class(), **texts)


def _in_hierarchy(about: ClassValues) -> Rows:
    """Score classes by the mean over levels of the distance between groups of values."""
    levels = about.levels
    sets = [(level,) for level in levels]
    part = f"coalesce({', '.join(levels)})" if len(levels) > 1 else levels[0]
    shares = about.values.group_sets(sets, name="level", t="sum(t)", t_all="max(t_all)")
    shares = shares.select("level", part=part, share="t / t_all")
    summary = about.told_of_class()
    total = about.counted.look_up(about.values, "s").total("total", "sum(c)", about.of_class)
    sums = {"c": "sum(c)", "n": f"sum({about.members})", "total": "max(total)", **summary}
    merged = total.group_sets(sets, *about.keys, name="level", **sums)
    merged = merged.select(*about.keys, "level", *sums, part=part).look_up(shares, "level", "part")
    # Every level has seen every row, so that one of them speaks for all.
    lowest = {name: f"if(level = 0, {name}, null)" for name in ("n", *summary)}
    score = Placeholders("", "persons", n_levels=len(levels)).text(tcloseness.HIERARCHICAL.sql)
    return merged.group(*about.keys, **again(lowest, lowest), x0=score)


def split_by_sorting(rows: Rows, values: Rows, *_: object) -> Rows:
    """Find the place of a class's share among those of the table by sorting the two together.

    See `measures.tcloseness.ordered`.
    """
    running = f"sum(t) over (partition by 0 order by r {UP_TO})"
    shares = values.select("r", reached=f"{running} / t_all", of_table="1")
    before = "rows between unbounded preceding and 1 preceding"
    sums = shares.select(
        "r", below=f"coalesce(sum(reached) over (partition by 0 order by r {before}), 0D)"
    )
    points = rows.group("reached", of_table="0").union(shares)
    counted = f"sum(of_table) over (partition by 0 order by reached, of_table desc {UP_TO})"
    places = points.select("reached", "of_table", below=counted).where("of_table = 0")
    rows = rows.look_up(places.select("reached", "below"), "reached")
    rows = rows.select("*", split=tcloseness.SPLIT)
    for rank in ("r", "high", "split"):
        of_rank = {rank: "r", f"sum_{rank}": "below"}
        rows = rows.look_up(sums.select(**of_rank), rank)
    return rows


def _worst(rows: Sequence[Row], i: int, score: Score) -> float:
    """Find the worst score among classes of all sizes; every class must have one."""
    if any(int(row[f"scored_{i}"]) != int(row["classes"]) for row in rows):
        raise EngineError(f"no {score.name!r} score of some classes was found")
    formula = FORMULAS[score.name]
    worst = formula.worst_of(row[f"x{i}"] for row in rows)
    return int(worst) if formula.whole else float(worst)
