"""The Spark engine: lazy expressions of the DataFrame API, classic and Connect alike."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.pushed import count as pushed_count
from anonrisk.engines.pushed import match as pushed_match
from anonrisk.engines.pushed import score
from anonrisk.engines.spark import (
    contents,
    count,
    keyed,
    recode,
    region,
    rewrite,
    schema,
    sets,
    steps,
    tally,
    traces,
)
from anonrisk.engines.spark.rows import SparkTable
from anonrisk.engines.spark.schema import SparkSchema
from anonrisk.engines.spark.sqlframe import SqlFrameEngine
from anonrisk.measures.counts import change as changes
from anonrisk.measures.counts import question as questions
from anonrisk.measures.counts.contents import CellContents, SomeTexts
from anonrisk.measures.counts.keyed import KeyedTally, SketchTally
from anonrisk.pseudonyms.pseudonym import Pseudonymisation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from anonrisk.core.column_roles import Roles
    from anonrisk.measures.counts.class_profiles import ValueCounts
    from anonrisk.measures.counts.question import (
        LinkCounts,
        LinkQuestion,
        TraceCounts,
        TraceQuestion,
    )


def frame_types() -> tuple[type, ...]:
    """List the classes of Spark tables: one in Spark 4, two unrelated ones in 3.5."""
    from pyspark.sql import DataFrame

    connect = sys.modules.get("pyspark.sql.connect.dataframe")
    return (DataFrame,) if connect is None else (DataFrame, connect.DataFrame)


def engine_of(frame: Any) -> SparkEngine | SqlFrameEngine:
    """Return the engine of a Spark table; SQLFrame's pretend to be some."""
    return SqlFrameEngine() if type(frame).__module__.startswith("sqlframe.") else SparkEngine()


class SparkEngine:
    """Counts Spark DataFrames."""

    name = "spark"
    sets_a_pass = sets.SparkSets.batch

    def schema(self, frame: DataFrame) -> SparkSchema:
        """Return what a table is."""
        return SparkSchema(frame)

    def with_roles(self, frame: DataFrame, declared: Roles) -> DataFrame:
        """Keep the roles in column metadata, which survives `select` and Parquet."""
        return schema.write_roles(frame, declared)

    def count(self, frame: DataFrame, asked: questions.Asks[Any]) -> Any:  # noqa: PLR0911
        """Count classes, those of all quasi-identifiers in one action over one scan."""
        match asked:
            case questions.Question():
                return count.class_sizes(frame, asked)
            case questions.ByGroup(question, by):
                return count.class_sizes_by(frame, question, by)
            case questions.WholePersons(question):
                return pushed_count.whole_persons(SparkTable(frame), question)
            case questions.ManySets(question):
                return sets.SparkSets(frame, question)
            case questions.MarkedRows(columns, marker):
                return count.marked(frame, columns, marker)
            case changes.CountUnseen(changes.Recode(recodings)):
                return recode.unseen(frame, recodings)
            case changes.CountUnseen(changes.RecodeByRegion(_, regions)):
                return region.unseen(frame, regions)
            case CellContents():
                return contents.contents(frame, asked)
            case SomeTexts():
                return contents.some_texts(frame, asked)
        raise refusals.unknown(asked)

    def profiles(
        self, frame: DataFrame, question: questions.Question, sensitive: questions.Sensitive
    ) -> ValueCounts:
        """Bring the kinds of class to the driver, if they are not too many."""
        return score.profiles(SparkTable(frame), question, sensitive)

    def score(
        self,
        frame: DataFrame,
        question: questions.Question,
        sensitive: questions.Sensitive,
        scores: Sequence[questions.Score],
    ) -> questions.Scored:
        """Score every class where it is, and give the worst."""
        return score.scores(SparkTable(frame), question, sensitive, scores)

    def tally(self, frame: DataFrame, asked: questions.Asks[Any]) -> Any:  # noqa: PLR0911
        """Count or sum over classes; on the driver only where they are not too many."""
        match asked:
            case questions.ClassesWithValues(columns, collapsible, by_place):
                return tally.tally(frame, columns, collapsible, by_place=by_place)
            case questions.ClassesOfSets(column_sets):
                return tally.tallies(frame, column_sets)
            case questions.ValuesAndSizes(columns, qid):
                return tally.values_and_sizes(frame, columns, qid)
            case questions.ClassesInRegions():
                return region.classes(frame, asked)
            case questions.QuantileBins(column, n_bins):
                return tally.quantile_bins(frame, column, n_bins)
            case questions.SumsOfWeights(question, weight):
                return count.weighted(frame, question, weight)
            case questions.IfIndependent(question, fraction):
                return pushed_match.independence(SparkTable(frame), question, fraction)
            case KeyedTally():
                return keyed.counts(frame, asked)
            case SketchTally():
                return keyed.sketch(frame, asked)
        raise refusals.unknown(asked)

    def match(self, frame: DataFrame, asked: questions.Asks[Any]) -> Any:
        """Match the classes of a release with those of a population, or of households."""
        match asked:
            case questions.InPopulation(question, against):
                return pushed_match.matched(SparkTable(frame), question, against)
            case questions.InHousehold(question, against):
                return pushed_match.households(SparkTable(frame), question, against)
            case questions.LinkedClasses():
                return count.combinations(frame, asked)
        raise refusals.unknown(asked)

    def annotate(self, frame: DataFrame, asked: questions.Asks[Any]) -> Any:
        """Return the table with more columns; lazy, but for totals."""
        match asked:
            case changes.SizeOfClass(question, name):
                return rewrite.sizes(frame, question, name)
            case changes.MinimalUniques(sets.SparkSets() as counter, max_size, names, risk):
                return sets.suda_scores(counter, max_size, names, risk)
        raise refusals.unknown(asked)

    def keep(self, frame: DataFrame, records: changes.Selection) -> DataFrame:
        """Select records by their classes; lazy."""
        match records:
            case changes.LargeClasses(question, k, ()):
                return steps.suppress_records(frame, question, k)
            case changes.LargeClasses(question, k, limits):
                return rewrite.keeping(frame, question, limits, k)
            case changes.BreakingClasses(question, k, ()):
                return rewrite.at_risk(frame, question, k)
            case changes.BreakingClasses(question, k, limits):
                return rewrite.breaking(frame, question, limits, k or None)
            case changes.RowsOfPersons():
                return keyed.of_persons(frame, records)

    def rewrite(self, frame: DataFrame, change: changes.Change) -> DataFrame:  # noqa: C901, PLR0911
        """Return a table with other cells; lazy."""
        match change:
            case changes.Recode(recodings, unseen):
                return recode.recode(frame, recodings, unseen)
            case changes.RecodeByRegion(_, regions, unseen):
                return region.by_region(frame, regions, unseen)
            case changes.Intervals(widths):
                return recode.in_intervals(frame, widths)
            case changes.GroupMeans(columns, k):
                return steps.microaggregate(frame, columns, k)
            case changes.Noise():
                return steps.perturb(frame, change)
            case changes.Shuffle(columns, by, seed):
                return steps.permute(frame, columns, by, seed)
            case changes.CellSuppression() | changes.ChosenCells():
                return steps.suppress_cells(frame, change)
            case changes.RowsAmong(other, seed):
                return rewrite.mixed(frame, other, seed)
            case Pseudonymisation():
                return rewrite.pseudonymize(frame, change)
            case changes.LabelsAsColumns():
                return frame
            case changes.LeaveOut(columns):
                return rewrite.without(frame, columns)
            case changes.FoldSpellings(columns):
                return contents.with_folded(frame, columns)

    def traces(self, frame: DataFrame, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""
        return traces.traces(frame, question)

    def links(self, frame: DataFrame, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
        return traces.links(frame, question)
