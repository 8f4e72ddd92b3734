"""Class sizes on Spark where a missing cell matches every value, and marked rows."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.pushed import count
from anonrisk.engines.spark import jobs
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.rows import SparkTable, label_of
from anonrisk.engines.spark.wildcard import SparkMatchedKeys
from anonrisk.measures.counts import bounds
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import Group, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row

    from anonrisk.core.columns import Name, Qid


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
        n_groups = jobs.count(groups.limit(bounds.MAX_GROUPS + 1))
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
        rows = matched.fetch(matched.histogram(), bounds.MAX_SIZES + 1)
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
