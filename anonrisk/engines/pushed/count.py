"""The records that a question is about, and class sizes: group, count, group by the count.

Columns of ours: `q0`, `q1`, … the quasi-identifying columns, `s` the sensitive value, `u` the
person, `g` the group, `w` the number of the quasi-identifier asked about, `d` whether the record is
dropped. How many rows miss what, and where every cell has a type of its own those types, come out
of the statement that counts: a look of its own would be a scan.

All quasi-identifiers take one statement and one scan. There, `n` is the size of a class, `members`
its records or persons, `persons` those for whom it is the smallest of their classes.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.pushed.rows import Cells, any_missing, sum_where
from anonrisk.errors import EmptyTableError, EngineError
from anonrisk.measures.counts import question
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import Group
from anonrisk.measures.formula import UP_TO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.pushed.rows import PushedTable, Row, Rows
    from anonrisk.measures.counts.question import Question, Sensitive


@dataclass(frozen=True)
class CountedRecords:
    """The records of one question, once for each of its quasi-identifiers."""

    table: PushedTable
    question: Question
    by: Name | None = None
    sensitive: Sensitive | None = None
    # Where somebody else makes the records under names of ours.
    source: Rows | None = None

    @cached_property
    def names(self) -> dict[str, Name]:
        """Our name of each column, and its own."""
        names: dict[str, Name] = {f"q{i}": name for i, name in enumerate(self.question.columns)}
        if self.sensitive is not None:
            names["s"] = self.sensitive.column
        if self.question.unit is not None:
            names["u"] = self.question.unit
        if self.by is not None:
            names["g"] = self.by
        return names

    @property
    def roles(self) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        more = {} if self.by is None else {self.by: "grouping column"}
        if self.sensitive is not None:
            more[self.sensitive.column] = "sensitive column"
        return self.question.roles(more)

    @property
    def qs(self) -> list[str]:
        """Our names of the quasi-identifying columns."""
        return [q for q in self.names if q.startswith("q")]

    @cached_property
    def sets(self) -> list[list[str]]:
        """The quasi-identifiers by our names of their columns, each once whatever its order."""
        every = ([q for q in self.qs if self.names[q] in qid] for qid in self.question.qids)
        return [list(item) for item in dict.fromkeys(map(tuple, every))]

    def number(self, qid: Qid) -> int:
        """Return the number of a quasi-identifier among the sets."""
        return self.sets.index([q for q in self.qs if self.names[q] in qid])

    @property
    def about(self) -> list[str]:
        """What classes are counted apart by, beside their cells."""
        several = len(self.sets) > 1
        return ["w"] * several + ["g"] * (self.by is not None) + ["d"] * bool(self._needed)

    @property
    def _needed(self) -> list[str]:
        """The columns without which a record is dropped."""
        no_value = self.sensitive is not None and self.sensitive.missing == "drop"
        return (self.qs if self.question.missing == "drop" else []) + ["s"] * no_value

    @property
    def dropped(self) -> str:
        """The condition that a record is dropped, of a question about one quasi-identifier."""
        return any_missing(self._needed)

    @property
    def rows(self) -> Rows:
        """The records under names of ours."""
        return self.source or Cells.of(self.table, self.names, self.roles)

    def grouped(self, *keys: str, **sums: str) -> Rows:
        """Group by class, and perhaps more, for each quasi-identifier; mark what is dropped."""
        keys = (*(["g"] if self.by is not None else []), *keys)
        dropped = self.dropped
        if len(self.sets) == 1:
            made = self.rows.group(*keys, *self.qs, **sums)
        else:
            made = self.rows.group_sets(self.sets, *keys, name="w", **sums)
            each = (f"w = {w} and ({any_missing(item)})" for w, item in enumerate(self.sets))
            dropped = " or ".join(each)
        return made.select("*", d=dropped) if "d" in self.about else made

    def refusal_sums(self, weight: str, names: Iterable[str] | None = None) -> dict[str, str]:
        """Sum up what may be refused, over rows each of which stands for many.

        Of all columns, or of those by their names of ours.
        """
        asked = {"n_rows": f"sum({weight})"}
        for name in self.names if names is None else names:
            if self._refuses(name):
                asked[f"no_{name}"] = sum_where(f"{name} is null", weight)
            if self.table.typed_by_cell:
                kind = f"nullif(typeof({name}), 'null')"
                asked |= {f"first_{name}": f"min({kind})", f"last_{name}": f"max({kind})"}
        return asked

    def _refuses(self, name: str) -> bool:
        """Return whether a missing value of a column is refused."""
        if name == "s" and self.sensitive is not None:
            return self.sensitive.missing == "error"
        return name == "u" or (name in self.qs and self.question.missing == "error")

    def refuse(self, rows: Sequence[Row]) -> None:
        """Reject what was told of the records."""
        if not rows:
            raise self._no_rows()
        if self.table.typed_by_cell:
            self.table.check_types(
                self.roles, {name: _ends(rows, q) for q, name in self.names.items()}
            )
        # Every quasi-identifier has seen every row, so that the first one can speak for all.
        unit = self.question.unit
        if unit is not None and (n := sum_of(rows, "no_u", 0)):
            raise refusals.missing_unit(unit, n)
        if self.question.missing == "error":
            gaps = {
                self.names[q]: sum_of(
                    rows, f"no_{q}", next(w for w, item in enumerate(self.sets) if q in item)
                )
                for q in self.qs
            }
            if any(gaps.values()):
                raise refusals.missing_values(gaps)
        if self.sensitive is not None and self._refuses("s"):
            # Dropped rows may have no value either, which is no fault of theirs.
            lost = sum(int(row["no_s"]) for row in rows if not row.get("d"))
            if lost:
                raise refusals.missing_sensitive(self.sensitive.column, lost)

    def _no_rows(self) -> Exception:
        """Return the error for a table without rows, or for a driver that has lost them."""
        expected = self.table.n_rows()
        if expected:
            return lost_rows(expected, 0)
        return EmptyTableError("the table has no records; there is nothing to measure")


# How what is told of records is put together, by the beginning of its name; all else is added up.
_ENDS = {"first": "min", "last": "max", "of": "max"}


def again(sums: Mapping[str, str], source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Sum up once more what `CountedRecords.refusal_sums` has summed up, or texts made of it."""
    texts = source or {name: name for name in sums}
    return {name: f"{_ENDS.get(name.partition('_')[0], 'sum')}({texts[name]})" for name in sums}


def none_of(sums: Iterable[str]) -> dict[str, str]:
    """Write what `CountedRecords.refusal_sums` says of no record."""
    return {name: "null" if name.partition("_")[0] in _ENDS else "0" for name in sums}


def sum_of(rows: Sequence[Row], name: str, w: int) -> int:
    """Add up a number of one quasi-identifier."""
    return sum(int(row[name]) for row in rows if row.get("w", 0) == w)


def _ends(rows: Sequence[Row], q: str) -> tuple[Any, Any]:
    firsts = [row[f"first_{q}"] for row in rows if row[f"first_{q}"] is not None]
    lasts = [row[f"last_{q}"] for row in rows if row[f"last_{q}"] is not None]
    return min(firsts, default=None), max(lasts, default=None)


def lost_rows(expected: int, result: int) -> EngineError:
    """Return an error: two counts of the same rows disagree."""
    return EngineError(
        f"the table had {expected:,} rows at first and {result:,} when they were grouped: it "
        "changes while it is measured, or rows are lost on the way"
    )


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
        counted = numbered.where(f"group_number <= {question.MAX_GROUPS + 1}")
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
