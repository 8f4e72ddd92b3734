"""The pandas engine: columns become integer codes, and counting is arithmetic on those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.numpy import count, profile, tally, whole_person
from anonrisk.engines.pandas import contents, rewrite, schema, sets
from anonrisk.engines.pandas.schema import PandasSchema, guarded, with_roles
from anonrisk.engines.pandas.table import coded
from anonrisk.measures.counts import change as changes
from anonrisk.measures.counts import question as questions
from anonrisk.measures.counts.contents import CellContents, SomeTexts
from anonrisk.pseudonyms.pseudonym import Pseudonymisation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from anonrisk.core.column_roles import Roles
    from anonrisk.measures.counts.class_profiles import ValueCounts
    from anonrisk.measures.counts.question import (
        LinkCounts,
        LinkQuestion,
        TraceCounts,
        TraceQuestion,
    )


@guarded
class PandasEngine:
    """Counts pandas DataFrames; what a gate does not ask is loaded when somebody asks it."""

    name = "pandas"
    sets_a_pass = sets.PandasSets.batch

    def schema(self, frame: pd.DataFrame) -> PandasSchema:
        """Return what a table is."""
        return PandasSchema(frame)

    def with_roles(self, frame: pd.DataFrame, roles: Roles) -> pd.DataFrame:
        """Keep the roles in `attrs`."""
        return with_roles(frame, roles)

    def count(self, frame: pd.DataFrame, asked: questions.Asks[Any]) -> Any:  # noqa: PLR0911
        """Count classes from one encoding of the columns."""
        match asked:
            case questions.Question():
                return count.class_sizes(coded(frame), asked)
            case questions.ByGroup(question, by):
                return count.class_sizes_by(coded(frame), question, by)
            case questions.WholePersons(question):
                return whole_person.whole_persons(coded(frame), question)
            case questions.ManySets(question):
                return sets.PandasSets(frame, question)
            case questions.MarkedRows(columns, marker):
                return rewrite.marked(frame, columns, marker)
            case changes.CountUnseen(change):
                from anonrisk.engines.pandas import recode

                return recode.unseen(frame, change)
            case CellContents():
                return contents.contents(frame, asked)
            case SomeTexts():
                return contents.some_texts(frame, asked)
        raise refusals.unknown(asked)

    def profiles(
        self, frame: pd.DataFrame, question: questions.Question, sensitive: questions.Sensitive
    ) -> ValueCounts:
        """Count the sensitive values of each kind of class."""
        return profile.profiles(coded(frame), question, sensitive)

    def score(
        self,
        frame: pd.DataFrame,
        question: questions.Question,
        sensitive: questions.Sensitive,
        scores: Sequence[questions.Score],
    ) -> questions.Scored:
        """Score every class from its profile, and give the worst."""
        return profile.scores(coded(frame), question, sensitive, scores)

    def tally(self, frame: pd.DataFrame, asked: questions.Asks[Any]) -> Any:  # noqa: PLR0911
        """Count or sum over the classes of some columns."""
        from anonrisk.engines.numpy import match
        from anonrisk.engines.pandas import recode
        from anonrisk.measures.counts.keyed import KeyedTally, SketchCounts, SketchTally

        match asked:
            case questions.ClassesWithValues(columns):
                return tally.tally(coded(frame), dict.fromkeys(columns, "quasi-identifier"))
            case questions.ClassesOfSets(sets):
                return [self.tally(frame, questions.ClassesWithValues(item)) for item in sets]
            case questions.QuantileBins(column, n_bins):
                return recode.quantile_bins(frame, column, n_bins)
            case questions.SumsOfWeights(question, weight):
                return match.weighted(coded(frame), question, weight)
            case questions.IfIndependent(question, fraction):
                return match.independence(coded(frame), question, fraction)
            case KeyedTally():
                return tally.keyed(coded(frame), asked)
            case SketchTally():
                whole = tally.keyed(coded(frame), asked.whole)
                return SketchCounts.of_counts(asked, whole)
        raise refusals.unknown(asked)

    def match(self, frame: pd.DataFrame, asked: questions.Asks[Any]) -> Any:
        """Match the classes of a release with those of a population, or of households."""
        from anonrisk.engines.numpy import match

        match asked:
            case questions.InPopulation(question, against):
                return match.matched(coded(frame), question, against)
            case questions.InHousehold(question, against):
                return match.households(coded(frame), question, against)
        raise refusals.unknown(asked)

    def annotate(self, frame: pd.DataFrame, asked: questions.Asks[Any]) -> Any:
        """Compute something for each record, in a Series or table with the table's own index."""
        from anonrisk.engines.pandas import sets

        match asked:
            case changes.SizeOfClass(question, name):
                return rewrite.sizes(frame, question, name)
            case changes.MinimalUniques(sets.PandasSets() as counter, max_size, names, risk):
                return sets.suda_scores(frame, counter, max_size, names, risk)
        raise refusals.unknown(asked)

    def keep(self, frame: pd.DataFrame, records: changes.Selection) -> pd.DataFrame:
        """Select records by their classes."""
        from anonrisk.engines.pandas import steps

        match records:
            case changes.LargeClasses(question, k, limits):
                return steps.suppress_records(frame, question, k, limits)
            case changes.BreakingClasses(question, k, ()):
                return rewrite.at_risk(frame, question, k)
            case changes.BreakingClasses(question, k, limits):
                return rewrite.breaking(frame, question, limits, k or None)
            case changes.RowsOfPersons():
                return rewrite.of_persons(frame, records)

    def rewrite(self, frame: pd.DataFrame, change: changes.Change) -> pd.DataFrame:  # noqa: C901, PLR0911
        """Return a table with other cells."""
        from anonrisk.engines.pandas import pseudonym, recode, steps

        match change:
            case changes.Recode() | changes.RecodeByRegion():
                return recode.recode(frame, change)
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
                return pseudonym.pseudonymize(frame, change)
            case changes.LabelsAsColumns(name):
                return schema.with_labels(frame, name)
            case changes.LeaveOut(columns):
                return frame.drop(columns=list(columns))
            case changes.FoldSpellings(columns):
                return contents.folded(frame, columns)

    def traces(self, frame: pd.DataFrame, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""
        from anonrisk.engines.pandas import traces

        return traces.traces(frame, question)

    def links(self, frame: pd.DataFrame, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
        from anonrisk.engines.pandas import traces

        return traces.links(frame, question)
