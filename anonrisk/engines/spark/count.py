"""Class sizes on Spark beyond those that are planned for every back end.

With missing cells that match every value, of marked rows, by weights, of joined tables.

With missing cells: a pattern is a number with a bit for each column that is missing. `g` is the
group of `by`, `q0`, `q1`, … the quasi-identifying columns, `key` all of them together, `n` the
number of records of a key, `p` its pattern, `to` a pattern whose keys may match it, `common` what
is left of the key where it is compared with those, `size` the number of records that match it.

By weights, beside the columns of `engines.pushed.match`: `p` the share of a class's population that
is in the table, `rho` what is not over what is, `risk` that of a record.

Of joined tables: `u` the person, `a0`, `a1`, … whether there is a row in each table, `c0_0`,
`c0_1`, … the quasi-identifying columns of each, `d0`, `d1`, … a person's number of classes, `n` the
size of a combination.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.pushed import count
from anonrisk.engines.pushed.match import Sides
from anonrisk.engines.spark import jobs
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.rows import SparkTable, label_of
from anonrisk.measures.counts import question as questions
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.population import WeightedClasses
from anonrisk.measures.counts.question import Against, Group, LinkedCounts, Question
from anonrisk.predict.population.benedetti_franconi import RECURSION, TERMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.question import LinkedClasses


class SparkMatchedKeys:
    """The keys of a quasi-identifier with the records that match each; lazy, but for patterns."""

    def __init__(self, projection: Projection, qid: Qid, by: Name | None = None) -> None:
        """Find out which columns are missing together: one small job."""
        self.projection, self.by = projection, by
        self.f = projection.functions
        self.cells = {f"q{i}": projection.column(name) for i, name in enumerate(qid)}
        missing = [f"if(q{i} is null, {1 << i}L, 0L)" for i in range(len(qid))]
        self.pattern = self.f.expr(" | ".join(missing))
        distinct = self._records().select(self.pattern.alias("p")).distinct()
        self.patterns = sorted(row["p"] for row in self.fetch(distinct, questions.MAX_PATTERNS + 1))
        refusals.check_patterns(len(self.patterns))

    @property
    def key(self) -> Column:
        """What a record of the projection has in common with its key."""
        cells: Column = self.f.struct(*(cell.alias(q) for q, cell in self.cells.items()))
        return cells

    def _records(self) -> DataFrame:
        group = [] if self.by is None else [self.projection.column(self.by).alias("g")]
        cells = [cell.alias(q) for q, cell in self.cells.items()]
        return self.projection.table.select(*group, *cells)

    def fetch(self, table: DataFrame, most: int) -> list[Row]:
        """Bring so many rows to the driver, in one job: a limit alone would look part by part."""
        rows = self.f.collect_list(self.f.struct(*table.columns)).alias("rows")
        fetched: list[Row] = collect(table.limit(most).agg(rows))[0]["rows"]
        return fetched

    def histogram(self) -> DataFrame:
        """Count the keys of each size, and their records."""
        f, about = self.f, [] if self.by is None else ["g"]
        keys, records = f.count(f.lit(1)).alias("classes"), f.sum("n").alias("records")
        return self.sized().groupBy(*about, "size").agg(keys, records)

    def sized(self) -> DataFrame:
        """Return every key (`key`, `g`) with its records (`n`) and those that match it (`size`)."""
        f = self.f
        about = [] if self.by is None else ["g"]
        counted = self._records().groupBy(*about, *self.cells).agg(f.count(f.lit(1)).alias("n"))
        keys = counted.withColumn("p", self.pattern)
        whole = f.struct(*self.cells).alias("key")
        if len(self.patterns) <= 1:
            return keys.select(*about, whole, "n", f.col("n").alias("size"))
        every = f"array({', '.join(f'{p}L' for p in self.patterns)})"
        # Cells that either of two keys misses are NULL in what they have in common, and no others
        # are: where the rest is equal, the same cells are missing.
        offered = (
            keys.select("*", f.explode(f.expr(every)).alias("to"))
            .groupBy("to", self._common("to").alias("common"))
            .agg(f.sum("n").alias("found"))
        )
        joint = f.expr(f"array_distinct(transform({every}, x -> x | p))")
        asked = keys.select("*", f.explode(joint).alias("without")).select(
            *about, whole, "n", f.col("p").alias("to"), self._common("without").alias("common")
        )
        matched = asked.join(offered, ["to", "common"])
        return matched.groupBy(*about, "key", "n").agg(f.sum("found").alias("size"))

    def _common(self, without: str) -> Any:
        """Leave out the columns of a pattern; a group is always compared."""
        cells = [
            self.f.expr(f"if({without} & {1 << i}L = 0, {q}, null)").alias(q)
            for i, q in enumerate(self.cells)
        ]
        return self.f.struct(*([] if self.by is None else ["g"]), *cells)


def class_sizes(frame: DataFrame, question: Question) -> list[ClassCounts]:
    """Count the classes of each quasi-identifier, all in one action over one scan."""
    if question.missing == "wildcard":
        return [_overlapping(frame, question, qid, None)[None] for qid in question.qids]
    return count.class_sizes(SparkTable(frame), question)


def class_sizes_by(frame: DataFrame, question: Question, by: Name) -> list[list[Group]]:
    """Count within each group of `by`."""
    if question.missing != "wildcard":
        return count.class_sizes_by(SparkTable(frame), question, by)
    with guarded("count the groups"):
        projection = Projection.of(frame)
        groups = projection.table.select(projection.column(by)).distinct()
        n_groups = jobs.count(groups.limit(questions.MAX_GROUPS + 1))
    refusals.check_groups(by, n_groups)
    return [
        refusals.in_order(
            Group(label, sizes) for label, sizes in _overlapping(frame, question, qid, by).items()
        )
        for qid in question.qids
    ]


def _overlapping(
    frame: DataFrame, question: Question, qid: Qid, by: Name | None
) -> dict[Any, ClassCounts]:
    """Count classes that overlap, because a missing cell matches every value."""
    with guarded("count the classes"):
        matched = SparkMatchedKeys(Projection.of(frame), qid, by)
        rows = matched.fetch(matched.histogram(), questions.MAX_SIZES + 1)
    refusals.check_sizes(len(rows))
    results: dict[Any, list[Row]] = defaultdict(list) if by is not None else {None: []}
    for row in sorted(rows, key=lambda row: row["size"]):
        results[label_of(row["g"]) if by is not None else None].append(row)
    return {
        label: ClassCounts(
            [row["size"] for row in group],
            [row["classes"] for row in group],
            [row["records"] for row in group],
            qid=qid,
            missing=question.missing,
        )
        for label, group in results.items()
    }


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
        return jobs.count(projection.table.where(same))


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


# A cluster shuffles more than one process holds.
MOST = 100 * questions.MAX_COMBINATIONS
_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
    **dict.fromkeys(("string", "char", "varchar"), "text"),
}


def combinations(frame: DataFrame, asked: LinkedClasses) -> LinkedCounts:
    """Count the persons of each combination of classes; no person reaches the driver."""
    tables = [(frame, asked.question), *asked.others]
    refusals.check_one_type([(question.unit, _kind(table, question)) for table, question in tables])
    # These refuse what is missing, each in one action.
    sizes = [class_sizes(table, question)[0] for table, question in tables]
    with guarded("join the classes"):
        classes = [_classes(table, question, t) for t, (table, question) in enumerate(tables)]
        n_combinations, n_persons, n_shared = _sizes_of_join(classes)
        refusals.check_shared([question.unit for _, question in tables], n_shared)
        refusals.check_combinations(n_combinations, MOST)
        rows = collect(_histogram(classes))
    results = sorted((row for row in rows if row["members"]), key=lambda row: row["n"])
    persons = {row["n"]: row["persons"] for row in rows if row["persons"]}
    counted = ClassCounts(
        [row["n"] for row in results],
        [row["members"] // row["n"] for row in results],
        [persons.get(row["n"], 0) for row in results],
        unit=asked.question.unit,
        missing=asked.question.missing,
        n_rows=sum(size.n_rows for size in sizes),
        n_dropped=sum(size.n_dropped for size in sizes),
    )
    return LinkedCounts(counted, n_persons, n_shared)


def _kind(frame: DataFrame, question: Question) -> str:
    name = frame.schema[str(question.unit)].dataType.typeName()
    return _KINDS.get(name, name)


def _classes(frame: DataFrame, question: Question, t: int) -> DataFrame:
    """Pair the classes of a table with their persons, each once."""
    projection = Projection.of(frame)
    f = projection.functions
    cells = [projection.column(name) for name in question.qid]
    table = projection.table
    if question.missing == "drop":
        table = table.where(~projection.any_missing(cells))
    named = [cell.alias(f"c{t}_{i}") for i, cell in enumerate(cells)]
    assert question.unit is not None  # noqa: S101
    once = table.select(projection.column(question.unit).alias("u"), *named).distinct()
    return once.withColumn(f"a{t}", f.lit(1))


def _outer(tables: Sequence[DataFrame]) -> DataFrame:
    """Join by person; who has no row in a table has NULL there."""
    return reduce(lambda first, other: first.join(other, "u", "full_outer"), tables)


def _sizes_of_join(
    classes: Sequence[DataFrame],
) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """Count what the join will have, whom each table has, and whom of them it shares."""
    f: Any = Projection.of(classes[0]).functions
    degrees = [
        item.groupBy("u").agg(f.count(f.lit(1)).alias(f"d{t}")) for t, item in enumerate(classes)
    ]
    each = reduce(
        lambda first, other: first * other,
        (f.coalesce(f.col(f"d{t}"), f.lit(1)).cast("double") for t in range(len(classes))),
    )
    there = [f.col(f"d{t}").isNotNull() for t in range(len(classes))]
    several = reduce(lambda first, other: first + other, (item.cast("int") for item in there)) > 1
    shared = [f.count(f.when(item & several, 1)) for item in there]
    persons = [f.count(f.when(item, 1)) for item in there]
    total, *numbers = collect(_outer(degrees).agg(f.sum(each), *persons, *shared))[0]
    own = len(classes)
    return float(total or 0.0), tuple(numbers[:own]), tuple(numbers[own:])


def _histogram(classes: Sequence[DataFrame]) -> DataFrame:
    """Return how many combinations there are of each size, and persons by their smallest."""
    first = Projection.of(classes[0])
    f: Any = first.functions
    joined = _outer(classes)
    keys = [name for name in joined.columns if name != "u"]
    sized = joined.withColumn("n", f.count(f.lit(1)).over(first.window.partitionBy(*keys)))
    zero = f.lit(0).cast("long")
    members = sized.groupBy("n").agg(f.count(f.lit(1)).alias("members"))
    smallest = sized.groupBy("u").agg(f.min("n").alias("n"))
    persons = smallest.groupBy("n").agg(f.count(f.lit(1)).alias("persons"))
    return members.select("n", "members", zero.alias("persons")).union(
        persons.select("n", zero.alias("members"), "persons")
    )
