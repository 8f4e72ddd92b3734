"""Kinds of class by their sensitive values: explicit, and bounded, because all of them leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.pushed.records import CountedRecords, again
from anonrisk.engines.pushed.values import ClassValues
from anonrisk.errors import TooManyProfilesError
from anonrisk.measures.counts import bounds
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from anonrisk.engines.pushed.rows import PushedTable, Row, Rows
    from anonrisk.measures.counts.question import Question, Sensitive


def profiles(table: PushedTable, question: Question, sensitive: Sensitive) -> ValueCounts:
    """Count the sensitive values of each kind of class, after a look at the values."""
    about = ClassValues(CountedRecords(table, question, sensitive=sensitive), sensitive)
    about.check()
    values = about.values
    if not sensitive.ordered:
        # Any numbering will do; this one is the same in both statements.
        rank = "row_number() over (partition by 0 order by if(s is null, 1, 0), s) - 1"
        values = values.select("*", r=rank)
    most = bounds.MAX_ORDERED + 1
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
    if n_values > bounds.MAX_ORDERED:
        raise _too_many(f"{bounds.MAX_ORDERED:,} different values")
    records, summary = about.records, about.told_of_class()
    pairs = about.counted.look_up(values, "s").select("*", c="cast(c as bigint)")
    listed = pairs.list_pairs(
        *about.keys, entry=("r", "c"), name="entries", n=f"sum({about.members})", **summary
    )
    sums = {**records.refusal_sums("n_rows", records.qs), **again(summary)}
    kinds = listed.group(*records.about, "entries", "n", classes="count(1)", **sums)
    rows = records.table.fetch_rows(kinds, "count the profiles", bounds.MAX_PROFILES + 1)
    if len(rows) > bounds.MAX_PROFILES:
        raise _too_many(f"{bounds.MAX_PROFILES:,} kinds of class")
    return rows


def _too_many(limit: str) -> TooManyProfilesError:
    return TooManyProfilesError(
        f"more than {limit}: too many to leave where they are. Ask for the measures themselves "
        "(ldiv, tcloseness, assess), which have no such limit"
    )
