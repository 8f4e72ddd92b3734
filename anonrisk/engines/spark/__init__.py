"""The Spark engine: lazy expressions of the DataFrame API, classic and Connect alike."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from anonrisk.engines.spark import (
    count,
    interval,
    link,
    match,
    population,
    profile,
    project,
    pseudonym,
    recode,
    rewrite,
    roles,
    score,
    sets,
    steps,
    suda,
    suppress,
    tally,
    traces,
)
from anonrisk.engines.spark import sensitive as sensitive_values
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection, refuse_nested
from anonrisk.errors import UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.pseudonyms import Pseudonymisation
    from anonrisk.counts.class_profiles import ValueCounts
    from anonrisk.counts.class_sizes import ClassCounts
    from anonrisk.counts.matched import Attacker, Matched
    from anonrisk.counts.minimal_uniques import Totals
    from anonrisk.counts.question import (
        Against,
        CellSuppression,
        Group,
        Noise,
        Question,
        Score,
        Scored,
        Sensitive,
    )
    from anonrisk.counts.tally import Tally
    from anonrisk.counts.traces import LinkCounts, LinkQuestion, TraceCounts, TraceQuestion
    from anonrisk.counts.weighted import Independence, WeightedClasses
    from anonrisk.recode import Bins, Recoding


def frame_types() -> tuple[type, ...]:
    """List the classes of Spark tables: one in Spark 4, two unrelated ones in 3.5."""
    from pyspark.sql import DataFrame

    connect = sys.modules.get("pyspark.sql.connect.dataframe")
    return (DataFrame,) if connect is None else (DataFrame, connect.DataFrame)


class SparkEngine:
    """Counts Spark DataFrames."""

    name = "spark"
    sets_a_pass = sets.SparkSets.batch

    def columns(self, frame: DataFrame) -> Sequence[Name]:
        """List the column names."""
        with guarded("read the columns"):
            return list(frame.columns)

    def index(self, frame: DataFrame) -> Sequence[Name]:  # noqa: ARG002
        """List nothing: a Spark table has no index."""
        return ()

    def check(self, frame: DataFrame, roles: Mapping[Name, str]) -> None:
        """Refuse streams and nested types from the schema, before any job."""
        with guarded("read the schema"):
            if frame.isStreaming:
                raise UnsupportedFrameError(
                    "a streaming table has no end to count to; take a batch of it"
                )
            fields = frame.schema.fields
        for field in fields:
            if field.name in roles:
                refuse_nested(field, roles[field.name])

    def count(self, frame: DataFrame, question: Question) -> list[ClassCounts]:
        """Count the classes of every quasi-identifier in one action over one scan."""
        return count.class_sizes(frame, question)

    def count_by(self, frame: DataFrame, question: Question, by: Name) -> list[list[Group]]:
        """Count within each group of `by`."""
        return count.class_sizes_by(frame, question, by)

    def sizes(self, frame: DataFrame, question: Question, name: str) -> DataFrame:
        """Give the table with one column more; lazy."""
        return rewrite.sizes(frame, question, name)

    def at_risk(self, frame: DataFrame, question: Question, k: int) -> DataFrame:
        """Select the records in classes smaller than k; lazy."""
        return rewrite.at_risk(frame, question, k)

    def is_scale(self, frame: DataFrame, column: Name) -> bool:
        """Look at the type."""
        return sensitive_values.is_scale(frame, column)

    def profiles(self, frame: DataFrame, question: Question, sensitive: Sensitive) -> ValueCounts:
        """Bring the kinds of class to the driver, if they are not too many."""
        return profile.profiles(frame, question, sensitive)

    def scores(
        self, frame: DataFrame, question: Question, sensitive: Sensitive, scores: Sequence[Score]
    ) -> Scored:
        """Score every class where it is, and give the worst."""
        return score.scores(frame, question, sensitive, scores)

    def breaking(
        self,
        frame: DataFrame,
        question: Question,
        limits: Sequence[tuple[Sensitive, Score, float]],
        k: int | None,
    ) -> DataFrame:
        """Select the records of the classes that break a limit, or are smaller than k; lazy."""
        return score.breaking(frame, question, limits, k)

    def matched(self, frame: DataFrame, question: Question, against: Against) -> Matched:
        """Find the size that each class of the release has in the population."""
        return match.matched(frame, question, against)

    def households(self, frame: DataFrame, question: Question, against: Against) -> Attacker:
        """Give the risk that a record has by any member of its household."""
        return match.households(frame, question, against)

    def marked(self, frame: DataFrame, columns: Sequence[Name], marker: str) -> int:
        """Count the rows that have the marker in one of the columns."""
        return count.marked(frame, columns, marker)

    def in_intervals(self, frame: DataFrame, widths: Mapping[Name, float]) -> DataFrame:
        """Give the table with the number of its interval in place of each value."""
        return interval.in_intervals(frame, widths)

    def weighted(self, frame: DataFrame, question: Question, weight: Name) -> WeightedClasses:
        """Sum weights, and risks that follow from them, over the classes."""
        return population.weighted(frame, question, weight)

    def independence(self, frame: DataFrame, question: Question, fraction: float) -> Independence:
        """Compare the classes with what their columns give if they are independent."""
        return population.independence(frame, question, fraction)

    def counter(self, frame: DataFrame, question: Question) -> sets.SparkSets:
        """Get ready to count many sets, several in a job."""
        return sets.SparkSets(frame, question)

    def suda(
        self,
        frame: DataFrame,  # noqa: ARG002
        counter: sets.SparkSets,
        max_size: int,
        names: list[str],
        risk: Callable[[Totals], float | None],
    ) -> tuple[DataFrame, DataFrame, Totals]:
        """Score every record by its minimal uniques; lazy, but for the totals."""
        return suda.scores(counter, max_size, names, risk)

    def tally(self, frame: DataFrame, columns: Qid, collapsible: Qid = ()) -> Tally:
        """Count the classes of some columns on the driver, if they are not too many."""
        return tally.tally(frame, columns, collapsible)

    def recode(self, frame: DataFrame, recodings: Mapping[Name, Recoding]) -> DataFrame:
        """Give a table with some columns recoded; lazy."""
        return recode.recode(frame, recodings)

    def is_whole(self, frame: DataFrame, column: Name) -> bool:
        """Look at the type."""
        return recode.kind_of(Projection.of(frame), column) == "whole"

    def is_text(self, frame: DataFrame, column: Name) -> bool:
        """Look at the type."""
        return recode.kind_of(Projection.of(frame), column) == "text"

    def quantile_bins(self, frame: DataFrame, column: Name, n_bins: int) -> Bins:
        """Cut a column of numbers into bins of about the same number of records."""
        return tally.quantile_bins(frame, column, n_bins)

    def suppress(
        self, frame: DataFrame, question: Question, k: int, cells: CellSuppression | None = None
    ) -> DataFrame:
        """Leave out the records of classes smaller than k, or their cells."""
        if cells is None:
            return suppress.records(frame, question, k)
        return suppress.cells(frame, question, k, cells.marker)

    def microaggregate(self, frame: DataFrame, columns: Qid, k: int) -> DataFrame:
        """Replace numbers by the mean of a group of at least k records."""
        return steps.microaggregate(frame, columns, k)

    def perturb(self, frame: DataFrame, noise: Noise) -> DataFrame:
        """Add noise to some columns, and mark them."""
        return steps.perturb(frame, noise)

    def permute(self, frame: DataFrame, columns: Qid, by: Qid, seed: int) -> DataFrame:
        """Shuffle some columns within groups, and mark them."""
        return steps.permute(frame, columns, by, seed)

    def nested(self, frame: DataFrame) -> Sequence[str]:
        """List the paths inside structs, also in arrays and maps of them."""
        with guarded("read the schema"):
            fields = frame.schema.fields
        return [path for field in fields for path in project.paths(field.name, field.dataType)]

    def row_labels(self, frame: DataFrame) -> str | None:  # noqa: ARG002
        """Rows have no labels."""
        return None

    def with_labels(self, frame: DataFrame, name: str) -> DataFrame:  # noqa: ARG002
        """There are none to bring back."""
        return frame

    def has_rows(self, frame: DataFrame) -> bool:
        """Tell whether there is any row; no cell comes to the driver."""
        with guarded("look for a row"):
            return bool(frame.limit(1).count())

    def perturbed(self, frame: DataFrame) -> Mapping[Name, str]:
        """Read from column metadata which columns a random step has changed."""
        return steps.perturbed(frame)

    def traces(self, frame: DataFrame, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""
        return traces.traces(frame, question)

    def links(self, frame: DataFrame, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
        return link.links(frame, question)

    def pseudonymize(self, frame: DataFrame, step: Pseudonymisation) -> DataFrame:
        """Give the table with one column replaced by pseudonyms; lazy."""
        return pseudonym.pseudonymize(frame, step)

    def read_roles(self, frame: DataFrame) -> Roles | None:
        """Read the roles from column metadata."""
        return roles.read(frame)

    def write_roles(self, frame: DataFrame, declared: Roles) -> DataFrame:
        """Keep the roles in column metadata, which survives `select` and Parquet."""
        return roles.write(frame, declared)
