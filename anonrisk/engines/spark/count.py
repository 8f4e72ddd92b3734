"""Class sizes on Spark: group, count, group by the count; a few hundred rows reach the driver.

Columns of ours: `s` the number of the quasi-identifier asked about, `g` the group of `by`, `d`
whether the record is dropped, `q0`, `q1`, … the quasi-identifying columns, `u` the person, `n` the
size of a class.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from anonrisk.counts import bounds
from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.question import Group, Question
from anonrisk.engines import refusals
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.wildcard import SparkMatchedKeys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.core.columns import Name, Qid


def class_sizes(frame: DataFrame, question: Question) -> list[ClassCounts]:
    """Count the classes of each quasi-identifier, all in one action over one scan."""
    if question.missing == "wildcard":
        return [_overlapping(frame, question, qid, None)[None] for qid in question.qids]
    read = _collect(frame, question, None)
    return [read[s, None].class_sizes(qid, question) for s, qid in enumerate(question.qids)]


def class_sizes_by(frame: DataFrame, question: Question, by: Name) -> list[list[Group]]:
    """Count within each group of `by`; a first action makes sure that there are not too many."""
    with guarded("count the groups"):
        projection = Projection.of(frame)
        groups = projection.table.select(projection.column(by)).distinct()
        n_groups = groups.limit(bounds.MAX_GROUPS + 1).count()
    refusals.check_groups(by, n_groups)
    if question.missing == "wildcard":
        return [
            refusals.in_order(
                Group(label, sizes)
                for label, sizes in _overlapping(frame, question, qid, by).items()
            )
            for qid in question.qids
        ]
    read = _collect(frame, question, by)
    labels = list(dict.fromkeys(label for _, label in read))
    return [
        refusals.in_order(read[s, label].group(label, qid, question) for label in labels)
        for s, qid in enumerate(question.qids)
    ]


def whole_persons(frame: DataFrame, question: Question) -> ClassCounts:
    """Count the persons who have the same rows, all of them together; one action over one scan."""
    with guarded("count the persons"):
        rows = _CountPlan(frame, question, None).kinds_of_persons().collect()
    found = _sorted(rows, question)[0, None]
    return replace(found.class_sizes(question.qid, question), whole_persons=True)


def _overlapping(
    frame: DataFrame, question: Question, qid: Qid, by: Name | None
) -> dict[Any, ClassCounts]:
    """Count classes that overlap, because a missing cell matches every value."""
    with guarded("count the classes"):
        matched = SparkMatchedKeys(Projection.of(frame), qid, by)
        rows = matched.fetch(matched.histogram(), bounds.MAX_SIZES + 1)
    refusals.check_sizes(len(rows))
    found: dict[Any, list[Row]] = defaultdict(list) if by is not None else {None: []}
    for row in sorted(rows, key=lambda row: row["size"]):
        found[_label(row["g"]) if by is not None else None].append(row)
    return {
        label: ClassCounts(
            [row["size"] for row in group],
            [row["classes"] for row in group],
            [row["records"] for row in group],
            qid=qid,
            missing=question.missing,
        )
        for label, group in found.items()
    }


def _label(cell: Any) -> Any:
    return bytes(cell) if isinstance(cell, bytearray) else cell


def marked(frame: DataFrame, columns: Sequence[Name], marker: str) -> int:
    """Count the rows that have the marker of a suppressed cell in one of the columns."""
    with guarded("count the suppressed records"):
        projection = Projection.of(frame)
        kinds = {x.name: x.dataType.typeName() for x in projection.fields}
        f = projection.functions
        texts = [name for name in columns if kinds[str(name)] in ("string", "char", "varchar")]
        if not texts:
            return 0
        same = reduce(or_, (projection.column(n).eqNullSafe(f.lit(marker)) for n in texts))
        return int(projection.table.where(same).count())


def whole_pairs(sized: DataFrame) -> DataFrame:
    """Keep the pairs of class and person as they are.

    The condition always holds. But where nobody asks for the rows, the optimiser would leave them
    out, and scan the table again instead of reading what it has shuffled for the classes.
    """
    return sized.where("rows > 0")


@dataclass
class _Histogram:
    """One histogram as its rows arrive."""

    classes: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    persons: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    n_rows: int = 0
    n_dropped: int = 0

    def add(self, row: Row) -> None:
        if row["d"]:
            self.n_dropped += row["rows"]
            return
        self.n_rows += row["rows"]
        # Rows about persons have no classes of their own, and the other way round.
        if row["members"]:
            self.classes[row["n"]] += row["members"] // row["n"]
        self.persons[row["n"]] += row["persons"]

    def class_sizes(self, qid: Qid, question: Question) -> ClassCounts:
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

    def group(self, label: Any, qid: Qid, question: Question) -> Group:
        sizes = self.class_sizes(qid, question) if self.classes else None
        return Group(label, sizes, self.n_dropped)


def _collect(
    frame: DataFrame, question: Question, by: Name | None
) -> dict[tuple[int, Any], _Histogram]:
    """Run the one job."""
    with guarded("count the classes"):
        rows = _CountPlan(frame, question, by).histograms().collect()
    return _sorted(rows, question)


def _sorted(rows: list[Row], question: Question) -> dict[tuple[int, Any], _Histogram]:
    """Refuse what the question refuses, and sort the rows by histogram."""
    _refuse_missing(rows, question)
    read: dict[tuple[int, Any], _Histogram] = defaultdict(_Histogram)
    for row in rows:
        read[row["s"], _label(row["g"])].add(row)
    return read


def _refuse_missing(rows: list[Row], question: Question) -> None:
    # Every quasi-identifier has seen every row, so that the first one can speak for all.
    no_unit = sum(row["no_unit"] for row in rows if row["s"] == 0)
    if question.unit is not None and no_unit:
        raise refusals.missing_unit(question.unit, no_unit)
    if question.missing == "error":
        n_missing = {}
        for i, name in enumerate(question.columns):
            asked = next(s for s, qid in enumerate(question.qids) if name in qid)
            n_missing[name] = sum(row[f"m{i}"] for row in rows if row["s"] == asked)
        if any(n_missing.values()):
            raise refusals.missing_values(n_missing)


class _CountPlan:
    """The query behind the histograms of one question."""

    def __init__(self, frame: DataFrame, question: Question, by: Name | None) -> None:
        self.question = question
        self.projection = Projection.of(frame)
        self.f = self.projection.functions
        self.qs = [f"q{i}" for i in range(len(question.columns))]
        self.several = len(question.qids) > 1
        self.drops = question.missing == "drop"
        # What a histogram is of, beside the class itself.
        self.about = [
            *(["s"] if self.several else []),
            *(["g"] if by is not None else []),
            *(["d"] if self.drops else []),
        ]
        self.by = by

    def histograms(self) -> DataFrame:
        """All histograms as rows of one table."""
        if self.question.unit is None:
            return self._of_records()
        return self._of_persons()

    def _of_records(self) -> DataFrame:
        f = self.f
        classes = self._records().groupBy(*self.about, *self.qs).agg(f.count(f.lit(1)).alias("n"))
        counted = classes.groupBy(*self.about, "n").agg(
            f.sum("n").alias("members"), *self._missing(f.col("n"))
        )
        return self._uniform(counted, rows=f.col("members"), members=f.col("members"))

    def _of_persons(self) -> DataFrame:
        f, window = self.f, self.projection.window
        keys = [*self.about, *self.qs]
        pairs = self._records().groupBy(*keys, "u").agg(f.count(f.lit(1)).alias("rows"))
        size = f.count(f.lit(1)).over(window.partitionBy(*keys))
        sized = pairs.withColumn("n", size)
        classes = sized.groupBy(*self.about, "n").agg(
            f.count(f.lit(1)).alias("members"),
            f.sum("rows").alias("rows"),
            self._sum_where(f.col("u").isNull(), f.col("rows")).alias("no_unit"),
            *self._missing(f.col("rows")),
        )
        smallest = whole_pairs(sized).groupBy(*self.about, "u").agg(f.min("n").alias("n"))
        persons = smallest.groupBy(*self.about, "n").agg(f.count(f.lit(1)).alias("persons"))
        return self._uniform(
            classes, rows=f.col("rows"), members=f.col("members"), no_unit=f.col("no_unit")
        ).union(self._uniform(persons, persons=f.col("persons")))

    def kinds_of_persons(self) -> DataFrame:
        """One histogram: how many persons have all their rows in common with how many."""
        f = self.f
        pairs = (
            self._records().groupBy(*self.about, *self.qs, "u").agg(f.count(f.lit(1)).alias("rows"))
        )
        told = [self._sum_where(f.col("u").isNull(), f.col("rows")).alias("no_unit")]
        told += [f.sum("rows").alias("rows"), *self._missing(f.col("rows"))]
        cells = [
            self.projection.in_struct(name, f.col(q)).alias(q)
            for name, q in zip(self.question.columns, self.qs, strict=True)
        ]
        all_rows = f.sort_array(f.collect_list(f.struct(*cells, "rows")))
        persons = pairs.groupBy(*self.about, "u").agg(all_rows.alias("all"), *told)
        names = [name for name in persons.columns if name not in (*self.about, "u", "all")]
        again = [f.sum(name).alias(name) for name in names]
        kinds = persons.groupBy(*self.about, "all").agg(f.count(f.lit(1)).alias("n"), *again)
        counted = kinds.groupBy(*self.about, "n").agg(f.sum("n").alias("members"), *again)
        known = {name: f.col(name) for name in ("rows", "members", "no_unit")}
        return self._uniform(counted, **known, persons=f.col("members"))

    def _records(self) -> DataFrame:
        """One row per record and quasi-identifier asked about, under our names."""
        projection, question = self.projection, self.question
        columns = [
            projection.column(name).alias(q)
            for name, q in zip(question.columns, self.qs, strict=True)
        ]
        if question.unit is not None:
            columns.append(projection.column(question.unit).alias("u"))
        if self.by is not None:
            columns.append(projection.column(self.by).alias("g"))
        table = projection.table.select(*columns)
        others = [name for name in table.columns if name not in self.qs]
        if not self.several:
            return table.select(*self._asked(0, question.qids[0]), *others) if self.drops else table
        # One scan serves all: each record is repeated, with the columns of one at a time.
        repeated = self.f.array(
            *(self.f.struct(*self._asked(s, qid)) for s, qid in enumerate(question.qids))
        )
        return table.select(self.f.explode(repeated).alias("asked"), *others).select(
            "asked.*", *others
        )

    def _asked(self, s: int, qid: Qid) -> list[Column]:
        """The columns of one quasi-identifier; the others, and dropped records', are NULL."""
        f = self.f
        no = f.expr("false")
        inside = {
            q: f.col(q)
            for name, q in zip(self.question.columns, self.qs, strict=True)
            if name in qid
        }
        dropped = self.projection.any_missing(inside.values()) if self.drops else no
        columns = [f.when(~dropped if q in inside else no, f.col(q)).alias(q) for q in self.qs]
        if self.several:
            columns.append(f.lit(s).alias("s"))
        if self.drops:
            columns.append(dropped.alias("d"))
        return columns

    def _missing(self, rows: Column) -> list[Column]:
        if self.question.missing != "error":
            return []
        return [
            self._sum_where(self.f.col(q).isNull(), rows).alias(f"m{i}")
            for i, q in enumerate(self.qs)
        ]

    def _sum_where(self, condition: Column, number: Column) -> Any:
        return self.f.sum(self.f.when(condition, number).otherwise(self.f.lit(0)))

    def _uniform(self, counted: DataFrame, **known: Column) -> DataFrame:
        """Give every histogram the same columns, so that they can be read together."""
        f = self.f
        zero = f.lit(0).cast("long")
        absent = {"s": f.lit(0), "g": f.lit(None), "d": f.expr("false")}
        missing = [f"m{i}" for i in range(len(self.qs))] if self.question.missing == "error" else []
        return counted.select(
            *(f.col(a) if a in self.about else absent[a].alias(a) for a in absent),
            "n",
            *(known.get(c, zero).alias(c) for c in ("rows", "members", "persons", "no_unit")),
            *(f.col(m) if m in counted.columns else zero.alias(m) for m in missing),
        )
