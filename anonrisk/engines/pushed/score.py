"""The sensitive values of classes: their scores, and kinds of class, bounded.

Columns of ours, beside those of `count`: `c` how often a class has a value, `persons` who are met
first with it in their class, `t` how often the table has it, `t_all` the sum of those, `share` one
over the other, `r` its rank and `last_r` the last of all, `h0`, `h1`, … its groups in a hierarchy;
`of_last` the last rank, `of_lost` and `of_missing` how many values have no place, are missing.

Of a class, `total` is how many values it has, `x0`, `x1`, … are its scores, `n` is its size.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.order import check_kinds
from anonrisk.engines.pushed.count import (
    CountedRecords,
    Histogram,
    again,
    none_of,
    smallest_classes,
)
from anonrisk.engines.pushed.rows import Numbered, sum_where
from anonrisk.errors import ArgumentError, EngineError, TooManyProfilesError
from anonrisk.measures import tcloseness
from anonrisk.measures.counts import question as questions
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import Scored
from anonrisk.measures.formula import UP_TO, Placeholders
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.engines.pushed.rows import PushedTable, Row, Rows
    from anonrisk.measures.counts.question import Question, Score, Sensitive

_NUMBERS = ("whole numbers", "floats", "decimals")
_NO_ORDER = ("text", "bytes")


@dataclass(frozen=True)
class ClassValues:
    """The classes of one question with their sensitive values; nothing runs yet."""

    records: CountedRecords
    sensitive: Sensitive
    # Whether the records of a class are brought together first, and not what is counted of them.
    moved: bool = False

    @property
    def keys(self) -> list[str]:
        """The columns of a class."""
        return [*self.records.about, *self.records.qs]

    @property
    def persons(self) -> bool:
        """Whether persons are counted, and not records."""
        return self.records.question.unit is not None

    @property
    def members(self) -> str:
        """The column whose sum is the size of a class: without persons, how often it has values."""
        return "persons" if self.persons else "c"

    @property
    def of_class(self) -> list[str]:
        """The columns by which a window over classes sorts."""
        return ["hash"] * self.records.table.sorts_by_hash + self.keys

    @cached_property
    def _source(self) -> Rows:
        rows = self.records.rows
        return rows.arrange(*self.records.qs) if self.moved else rows

    @cached_property
    def every(self) -> Rows:
        """The rows of each class and value, and of each person too; the only scan of the table."""
        records = replace(self.records, source=self._source)
        return records.grouped("s", *["u"] * self.persons, pair_rows="count(1)")

    @cached_property
    def counted(self) -> Rows:
        """Each class and value once, with what is told of it; all of a class together."""
        pair, columns = [*self.keys, "s"], {"c": "cast(c as double)"}
        if self.persons:
            over = f"partition by {', '.join((*self.keys, 'u'))} order by s {UP_TO}"
            met = f"row_number() over ({over})"
            marked = self.every.select("*", first=f"if({met} = 1, 1, 0)")
            summary = self.records.refusal_sums("pair_rows", ["u"])
            counted = marked.group(*pair, c="count(1)", persons="sum(first)", **summary)
            columns |= {"persons": "cast(persons as double)"} | {name: name for name in summary}
        else:
            counted, columns = self.every, {"c": "cast(pair_rows as double)"}
        # As floats: sums and quotients of those are floats in every database.
        if self.records.table.sorts_by_hash:
            columns["hash"] = f"xxhash64({', '.join(self.keys)})"
        arranged = counted if self.moved else counted.arrange(*self.keys)
        return arranged.select(*pair, **columns)

    @cached_property
    def values(self) -> Rows:
        """Each value once, with its number in the table, its share, its rank and its groups."""
        if self.moved:
            return self._described(self._counts(self._source))
        return (
            self.values_alone if self.persons else self._described(self._counts(self.counted, "c"))
        )

    @cached_property
    def values_alone(self) -> Rows:
        """The same, where classes are not needed beside them."""
        if self.persons and not self.moved:
            return self._described(self._counts(self.every, "pair_rows"))
        return self._described(self._counts(self.records.rows))

    def _counts(self, rows: Rows, weight: str = "1D") -> Rows:
        """Count the values of records, or of what was counted of them, but of none that is dropped.

        Those add nothing to a sum. By a condition Spark would leave them out before the shuffle,
        and the classes would need a scan and a shuffle of their own: see `count`, too.
        """
        dropped = self.records.dropped
        n = sum_where(f"not ({dropped})", weight) if "d" in self.records.about else f"sum({weight})"
        if self.persons:
            rows = rows.group("s", "u", n_rows=n).where("n_rows > 0")
            return rows.group("s", t="cast(count(1) as double)")
        return rows.group("s", t=n).where("t > 0")

    def _described(self, counts: Rows) -> Rows:
        few = self._numbered(counts.arrange())
        made = {
            "t_all": "sum(t) over (partition by 0)",
            "share": "t / sum(t) over (partition by 0)",
        }
        if self._lists:
            lost = "sum(if(place is null, 1, 0)) over (partition by 0)"
            no_value = "sum(if(s is null, 1, 0)) over (partition by 0)"
            made |= {"of_lost": lost, "of_missing": no_value}
        if self.sensitive.ordered:
            by = "s" if self.sensitive.order is None else "place"
            rank = f"row_number() over (partition by 0 order by if(s is null, 1, 0), {by}) - 1"
            made |= {"r": rank, "last_r": "count(1) over (partition by 0) - 1"}
        return few.select("*", **made)

    def kept(self, rows: Rows) -> Rows:
        """Leave out dropped records."""
        return rows.where("not d") if "d" in self.records.about else rows

    @property
    def _lists(self) -> bool:
        """Whether the caller lists the values."""
        return self.sensitive.hierarchy is not None or self.sensitive.order is not None

    @property
    def levels(self) -> list[str]:
        """Our names of the groups that values have in a hierarchy, from the leaves up."""
        hierarchy = self.sensitive.hierarchy
        return [] if hierarchy is None else [f"h{i}" for i in range(max(hierarchy.height, 1))]

    def _numbered(self, values: Rows) -> Rows:
        """Add the places that values have among those that the caller lists."""
        listed, numbers = self._listed()
        if not numbers:
            return values
        as_text = self.sensitive.hierarchy is not None
        table, column = self.records.table, self.sensitive.column
        return Numbered.of(values, table, column, listed, numbers, as_text=as_text)

    def _listed(self) -> tuple[Sequence[object], Mapping[str, Sequence[int]]]:
        hierarchy, order = self.sensitive.hierarchy, self.sensitive.order
        if hierarchy is not None:
            leaves = list(hierarchy.leaves)
            levels = hierarchy.levels() or [dict.fromkeys(leaves, 0)]
            groups = {f"h{i}": [level[leaf] for leaf in leaves] for i, level in enumerate(levels)}
            return leaves, {"place": range(len(leaves)), **groups}
        return (order, {"place": range(len(order))}) if order is not None else ((), {})

    def told_of_class(self) -> dict[str, str]:
        """Sum up what may be refused over the pairs of a class, but for its own columns."""
        summary = self.records.refusal_sums("n_rows" if self.persons else "c", ["s"])
        if self.persons:
            summary |= again(self.records.refusal_sums("", ["u"]))
        if self._lists:
            summary |= {name: f"max({name})" for name in ("of_lost", "of_missing")}
        return summary | ({"of_last": "max(last_r)"} if self.sensitive.ordered else {})

    def check(self) -> None:
        """Reject an order or a hierarchy of what the column does not hold."""
        sensitive = self.sensitive
        if not sensitive.ordered and sensitive.hierarchy is None:
            return
        column = sensitive.column
        kind = self.records.table.hold({column: "sensitive column"})[column]
        if sensitive.hierarchy is not None:
            if kind in {"floats", "decimals"}:
                raise refusals.no_hierarchy(column)
        elif sensitive.order is not None:
            held = {"nothing": None, **dict.fromkeys(_NUMBERS, "numbers")}.get(kind, kind)
            check_kinds(column, sensitive.order, held)
        elif kind in _NO_ORDER:
            raise refusals.not_ordered(column)

    def look(self) -> None:
        """Reject values that the caller does not list, where classes are not fetched to tell."""
        if self._lists:
            fields = {name: f"max({name})" for name in ("of_lost", "of_missing")}
            if self.sensitive.ordered:
                fields["of_last"] = "max(last_r)"
            table = self.records.table
            self.refuse(table.fetch_rows(self.values_alone.group(**fields), "look values up"))

    def refuse(self, rows: Sequence[Row]) -> None:
        """Reject too many values, and values that the caller does not list."""
        sensitive, kept = self.sensitive, [row for row in rows if not row.get("d")]
        if sensitive.ordered and kept:
            refusals.check_ordered(sensitive.column, _most(kept, "of_last") + 1)
        if not self._lists or not kept:
            return
        lost, no_value = _most(kept, "of_lost"), _most(kept, "of_missing")
        # A missing value has no place of its own, and needs one only in a hierarchy; one that is
        # refused anyhow is told as such.
        where = "order" if sensitive.hierarchy is None else "hierarchy"
        if n := lost - (no_value if where == "order" or sensitive.missing == "error" else 0):
            raise refusals.unknown_values(sensitive.column, n, where)


def _most(rows: Sequence[Row], name: str) -> int:
    return max((int(row[name]) for row in rows if row[name] is not None), default=0)


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


def profiles(table: PushedTable, question: Question, sensitive: Sensitive) -> ValueCounts:
    """Count the sensitive values of each kind of class, after a look at the values."""
    about = ClassValues(CountedRecords(table, question, sensitive=sensitive), sensitive)
    about.check()
    values = about.values
    if not sensitive.ordered:
        # Any numbering will do; this one is the same in both statements.
        rank = "row_number() over (partition by 0 order by if(s is null, 1, 0), s) - 1"
        values = values.select("*", r=rank)
    most = questions.MAX_ORDERED + 1
    overall = table.fetch_rows(
        values.select("r", "t", *about.levels), "count the sensitive values", most
    )
    kinds = _fetched(about, values, len(overall))
    about.records.refuse(kinds)
    about.refuse(kinds)
    kept = [row for row in kinds if not row.get("d")]
    n_dropped = sum(int(row["n_rows"]) for row in kinds if row.get("d"))
    if not kept:
        ClassCounts([], [], n_dropped=n_dropped)
    entries = [
        ([tuple(map(int, entry.split(":"))) for entry in row["entries"].split(",")], row)
        for row in kept
    ]
    entries.sort(key=lambda result: result[0])
    overall.sort(key=lambda row: int(row["r"]))
    groups = [[int(row[name]) for row in overall] for name in about.levels]
    flat = [entry for result, _ in entries for entry in result]
    return ValueCounts(
        starts=np.concatenate(([0], np.cumsum([len(result) for result, _ in entries]))),
        ranks=np.array([rank for rank, _ in flat], dtype=np.int64),
        counts=np.array([n for _, n in flat], dtype=np.int64),
        classes=np.array([int(row["classes"]) for _, row in entries], dtype=np.int64),
        sizes=np.array([int(row["n"]) for _, row in entries], dtype=np.int64),
        overall=np.array([int(row["t"]) for row in overall], dtype=np.int64),
        ordered=sensitive.ordered,
        levels=np.array(groups, dtype=np.int64) if groups else None,
        qid=question.qid,
        sensitive=sensitive.column,
        unit=question.unit,
        missing=question.missing,
        missing_sensitive=sensitive.missing,
        n_rows=sum(int(row["n_rows"]) for row in kept),
        n_dropped=n_dropped,
    )


def _fetched(about: ClassValues, values: Rows, n_values: int) -> list[Row]:
    """Fetch each kind of class with its values, rank and count, and how many are alike."""
    if n_values > questions.MAX_ORDERED:
        raise _too_many(f"{questions.MAX_ORDERED:,} different values")
    records, summary = about.records, about.told_of_class()
    pairs = about.counted.look_up(values, "s").select("*", c="cast(c as bigint)")
    listed = pairs.list_pairs(
        *about.keys, entry=("r", "c"), name="entries", n=f"sum({about.members})", **summary
    )
    sums = {**records.refusal_sums("n_rows", records.qs), **again(summary)}
    kinds = listed.group(*records.about, "entries", "n", classes="count(1)", **sums)
    rows = records.table.fetch_rows(kinds, "count the profiles", questions.MAX_PROFILES + 1)
    if len(rows) > questions.MAX_PROFILES:
        raise _too_many(f"{questions.MAX_PROFILES:,} kinds of class")
    return rows


def _too_many(limit: str) -> TooManyProfilesError:
    return TooManyProfilesError(
        f"more than {limit}: too many to leave where they are. Ask for the measures themselves "
        "(ldiv, tcloseness, assess), which have no such limit"
    )
