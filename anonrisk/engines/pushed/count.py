"""Class sizes: group, count, group by the count; a few hundred rows leave the back end.

One statement and one scan for all quasi-identifiers; columns of ours, beside those of `records`:
`n` the size of a class, `members` its records or persons, `persons` those for whom it is the
smallest of their classes.
"""

from __future__ import annotations

from collections import defaultdict
import dataclasses
from dataclasses import field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.pushed.records import CountedRecords, again, none_of
from anonrisk.measures.counts import bounds
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import Group
from anonrisk.measures.formula import UP_TO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.pushed.rows import PushedTable, Row, Rows
    from anonrisk.measures.counts.question import Question


def class_sizes(table: PushedTable, question: Question) -> list[ClassCounts]:
    """Count the classes of each quasi-identifier."""
    records = CountedRecords(table, question)
    counted = _counted(records, histograms)
    return [counted[records.number(qid), None].class_sizes(question, qid) for qid in question.qids]


def class_sizes_by(table: PushedTable, question: Question, by: Name) -> list[list[Group]]:
    """Count the classes of each quasi-identifier within each group of a column."""
    records = CountedRecords(table, question, by)
    counted = _counted(records, histograms)
    labels = list(dict.fromkeys(label for _, label in counted))
    named = table.group_labels(by, labels)
    return [
        refusals.in_order(
            counted[records.number(qid), label].group(shown, question, qid)
            for label, shown in zip(labels, named, strict=True)
        )
        for qid in question.qids
    ]


def whole_persons(table: PushedTable, question: Question) -> ClassCounts:
    """Count the persons who have the same rows, all of them together."""
    counted = _counted(CountedRecords(table, question), kinds_of_persons)
    return replace(counted[0, None].class_sizes(question, question.qid), whole_persons=True)


@dataclasses.dataclass
class Histogram:
    """One histogram as its rows arrive."""

    classes: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    persons: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    n_rows: int = 0
    n_dropped: int = 0

    def add(self, row: Row) -> None:
        """Take one more row."""
        n_rows = int(row["n_rows"])
        if row.get("d"):
            self.n_dropped += n_rows
            return
        n = int(row["n"])
        self.n_rows += n_rows
        # Rows about persons have no classes of their own, and the other way round.
        if row["members"]:
            self.classes[n] += int(row["members"]) // n
        self.persons[n] += int(row["persons"])

    def class_sizes(self, question: Question, qid: Qid) -> ClassCounts:
        """Return what has arrived."""
        sizes = sorted(self.classes)
        return ClassCounts(
            sizes,
            [self.classes[size] for size in sizes],
            None if question.unit is None else [self.persons[size] for size in sizes],
            qid=qid,
            unit=question.unit,
            missing=question.missing,
            n_rows=self.n_rows,
            n_dropped=self.n_dropped,
        )

    def group(self, label: Any, question: Question, qid: Qid) -> Group:
        """Return what has arrived of one group."""
        sizes = self.class_sizes(question, qid) if self.classes else None
        return Group(label, sizes, self.n_dropped)


def _counted(
    records: CountedRecords, plan: Callable[[CountedRecords], Rows]
) -> dict[tuple[int, Any], Histogram]:
    """Run the one statement, refuse what the question refuses, sort by histogram."""
    counted = plan(records)
    if records.by is not None:
        # No more leaves than it takes to see that there are too many.
        number = f"dense_rank() over (partition by 0 order by g {UP_TO})"
        numbered = counted.select("*", group_number=number)
        counted = numbered.where(f"group_number <= {bounds.MAX_GROUPS + 1}")
    rows = records.table.fetch_rows(counted, "count the classes")
    if records.by is not None and rows:
        refusals.check_groups(records.by, max(int(row["group_number"]) for row in rows))
    records.refuse(rows)
    result: dict[tuple[int, Any], Histogram] = defaultdict(Histogram)
    for row in rows:
        result[int(row.get("w", 0)), row.get("g")].add(row)
    return result


def histograms(records: CountedRecords) -> Rows:
    """Plan all histograms of a question as rows of one table."""
    about = records.about
    if records.question.unit is not None:
        return _of_persons(records)
    classes = records.grouped(n="count(1)")
    return classes.group(*about, "n", members="sum(n)", persons="0", **records.refusal_sums("n"))


def _of_persons(records: CountedRecords) -> Rows:
    about, keys = records.about, [*records.about, *records.qs]
    pairs = records.grouped("u", pair_rows="count(1)")
    sized = pairs.select("*", n=f"count(1) over (partition by {', '.join(keys)})")
    summary = records.refusal_sums("pair_rows")
    classes = sized.group(*about, "n", members="count(1)", persons="0", **summary)
    return classes.union(smallest_classes(sized, records), **none_of(summary))


def smallest_classes(sized: Rows, records: CountedRecords) -> Rows:
    """Plan the number of persons by the smallest of their classes, of classes with their persons.

    The condition always holds. But where nobody asks for the rows, Spark's optimiser would leave
    them out, and scan the table again instead of reading what it has shuffled for the classes.
    """
    smallest = sized.where("pair_rows > 0").group(*records.about, "u", n="min(n)")
    return smallest.group(*records.about, "n", members="0", persons="count(1)")


def kinds_of_persons(records: CountedRecords) -> Rows:
    """Plan one histogram: how many persons have all their rows in common with how many."""
    about = records.about
    pairs = records.grouped("u", pair_rows="count(1)")
    summary = records.refusal_sums("pair_rows")
    persons = pairs.gather(*about, "u", entry=(*records.qs, "pair_rows"), name="e", **summary)
    kinds = persons.group(*about, "e", n="count(1)", **again(summary))
    return kinds.group(*about, "n", members="sum(n)", persons="sum(n)", **again(summary))


def set_histograms(rows: Rows, sets: Sequence[Sequence[str]], *, unit: bool) -> Rows:
    """Plan the histograms of many sets of columns, of records that all count."""
    each = (_of_set(rows, item, str(w), unit=unit) for w, item in enumerate(sets))
    return reduce(lambda above, below: above.union(below), each)


def _of_set(rows: Rows, columns: Sequence[str], w: str, *, unit: bool) -> Rows:
    if not unit:
        classes = rows.group(*columns, n="count(1)")
        return classes.group("n", members="sum(n)", persons="0", n_rows="sum(n)").select("*", w=w)
    pairs = rows.group(*columns, "u", pair_rows="count(1)")
    over = f"count(1) over (partition by {', '.join(columns)})"
    sized = pairs.select("u", "pair_rows", n=over)
    classes = sized.group("n", members="count(1)", persons="0", n_rows="sum(pair_rows)")
    persons = sized.group("u", n="min(n)").group("n", members="0", persons="count(1)")
    return classes.union(persons, n_rows="0").select("*", w=w)


def sizes_of_records(rows: Rows, keys: Sequence[str]) -> Rows:
    """Plan the number of records in classes of each size, and nothing beside it."""
    classes = rows.group(*keys, n="count(1)")
    return classes.group("n", records="sum(n)")


def persons_by_size(rows: Rows, keys: Sequence[str]) -> Rows:
    """Plan the number of persons by the smallest of their classes."""
    once = rows.group(*keys, "u", n_rows="count(1)")
    sized = once.select("u", n=f"count(1) over (partition by {', '.join(keys)})")
    return sized.group("u", n="min(n)").group("n", records="count(1)")
