"""The Spark engine: lazy expressions of the DataFrame API, classic and Connect alike."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from anonrisk.engines.spark import (
    count,
    link,
    match,
    profile,
    pseudonym,
    rewrite,
    roles,
    score,
    traces,
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
    from anonrisk.engines.traces import LinkCounts, LinkQuestion, TraceCounts, TraceQuestion
    from anonrisk.pseudonyms import Step


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

    def traces(self, frame: DataFrame, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""
        return traces.traces(frame, question)

    def links(self, frame: DataFrame, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
        return link.links(frame, question)

    def pseudonymize(self, frame: DataFrame, step: Step) -> DataFrame:
        """Give the table with one column replaced by pseudonyms; lazy."""
        return pseudonym.pseudonymize(frame, step)

    def read_roles(self, frame: DataFrame) -> Roles | None:
        """Read the roles from column metadata."""
        return roles.read(frame)

    def write_roles(self, frame: DataFrame, declared: Roles) -> DataFrame:
        """Keep the roles in column metadata, which survives `select` and Parquet."""
        return roles.write(frame, declared)
