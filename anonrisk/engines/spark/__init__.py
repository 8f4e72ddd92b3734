"""The Spark engine: lazy expressions of the DataFrame API, classic and Connect alike."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from anonrisk.engines.spark import (
    count,
    interval,
    match,
    population,
    profile,
    rewrite,
    roles,
    score,
)
from anonrisk.engines.spark import sensitive as sensitive_values
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import refuse_nested
from anonrisk.errors import UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.attackers import Attacker, Matched
    from anonrisk.class_profiles import ClassProfiles
    from anonrisk.column_roles import Roles
    from anonrisk.columns import Name
    from anonrisk.counts import ClassSizes
    from anonrisk.engines.base import Against, Group, Question, Score, Scored, Sensitive
    from anonrisk.predict.population.benedetti_franconi import WeightedClasses
    from anonrisk.predict.population.loglinear import Independence


def frame_types() -> tuple[type, ...]:
    """List the classes of Spark tables: one in Spark 4, two unrelated ones in 3.5."""
    from pyspark.sql import DataFrame

    connect = sys.modules.get("pyspark.sql.connect.dataframe")
    return (DataFrame,) if connect is None else (DataFrame, connect.DataFrame)


class SparkEngine:
    """Counts Spark DataFrames."""

    name = "spark"

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

    def count(self, frame: DataFrame, question: Question) -> list[ClassSizes]:
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

    def profiles(self, frame: DataFrame, question: Question, sensitive: Sensitive) -> ClassProfiles:
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

    def read_roles(self, frame: DataFrame) -> Roles | None:
        """Read the roles from column metadata."""
        return roles.read(frame)

    def write_roles(self, frame: DataFrame, declared: Roles) -> DataFrame:
        """Keep the roles in column metadata, which survives `select` and Parquet."""
        return roles.write(frame, declared)
