"""Tables in a database, through SQLAlchemy.

SQLite, DuckDB and PostgreSQL group cells by the rules of `engines.base`, once NaN is made NULL;
columns and collations for which that is not so are refused. Only histograms and worst scores
leave the database, and nothing is ever written to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.pushed import count as pushed_count
from anonrisk.engines.pushed import match as pushed_match
from anonrisk.engines.pushed import score
from anonrisk.engines.refusals import LIMITS, OTHER_CELLS, WILDCARD, refused
from anonrisk.engines.sql import contents, rewrite, sets, tally
from anonrisk.engines.sql.schema import SqlSchema
from anonrisk.engines.sql.table import SqlTable
from anonrisk.measures.counts import change as changes
from anonrisk.measures.counts import question as questions
from anonrisk.measures.counts.contents import CellContents, SomeTexts
from anonrisk.measures.counts.keyed import KeyedTally, SketchTally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.measures.counts.class_profiles import ValueCounts

__all__ = ["SqlEngine", "SqlTable"]


class SqlEngine:
    """Counts and scores tables in a database; everything else is refused."""

    name = "sql"
    sets_a_pass = sets.SqlSets.batch

    def schema(self, table: SqlTable) -> SqlSchema:
        """Return what a table is."""
        return SqlSchema(table)

    def with_roles(self, table: SqlTable, declared: Roles) -> SqlTable:
        """Keep the roles beside what says where the table is."""
        return replace(table, roles=declared)

    def count(self, table: SqlTable, asked: questions.Asks[Any]) -> Any:  # noqa: PLR0911
        """Count classes, or rows."""
        match asked:
            case questions.Question(missing="wildcard") | questions.ByGroup(
                questions.Question(missing="wildcard")
            ):
                raise refused(WILDCARD)
            case questions.Question():
                return pushed_count.class_sizes(table, asked)
            case questions.ByGroup(question, by):
                return pushed_count.class_sizes_by(table, question, by)
            case questions.WholePersons(question):
                return pushed_count.whole_persons(table, question)
            case questions.MarkedRows(columns, marker):
                return rewrite.marked(table, columns, marker)
            case questions.ManySets(question):
                return sets.SqlSets(table, question)
            case CellContents():
                return contents.contents(table, asked)
            case SomeTexts():
                return contents.some_texts(table, asked)
        raise refusals.unknown(asked)

    def profiles(
        self, table: SqlTable, question: questions.Question, sensitive: questions.Sensitive
    ) -> ValueCounts:
        """Return the kinds of class, if they are not too many."""
        return score.profiles(table, question, sensitive)

    def score(
        self,
        table: SqlTable,
        question: questions.Question,
        sensitive: questions.Sensitive,
        scores: Sequence[questions.Score],
    ) -> questions.Scored:
        """Score every class by its sensitive values, and give the worst."""
        return score.scores(table, question, sensitive, scores)

    def tally(self, table: SqlTable, asked: questions.Asks[Any]) -> Any:
        """Count or sum over classes; with their values only where they are not too many."""
        match asked:
            case questions.ClassesWithValues(columns, collapsible):
                return tally.tally(table, columns, collapsible)
            case questions.ClassesOfSets(each):
                return tally.tallies(table, each)
            case questions.ClassesInRegions() | questions.ValuesAndSizes():
                raise refusals.too_many_classes(questions.MAX_CLASSES, tally.OUT)
            case questions.SumsOfWeights(question, weight):
                return pushed_match.weighted(table, question, weight)
            case questions.IfIndependent(question, fraction):
                return pushed_match.independence(table, question, fraction)
            case KeyedTally():
                return tally.counts(table, asked)
            case SketchTally():
                return tally.sketch(table, asked)
        raise refusals.unknown(asked)

    def match(self, table: SqlTable, asked: questions.Asks[Any]) -> Any:
        """Match the classes of a release with those of a population, or of households."""
        match asked:
            case questions.InPopulation(question, against):
                return pushed_match.matched(table, question, against)
            case questions.InHousehold(question, against):
                return pushed_match.households(table, question, against)
        raise refusals.unknown(asked)

    def annotate(self, table: SqlTable, asked: questions.Asks[Any]) -> Any:
        """Return a query with more columns; nothing runs, but for totals."""
        match asked:
            case changes.SizeOfClass(question, name):
                return rewrite.sizes(table, question, name)
            case changes.MinimalUniques(sets.SqlSets() as counter, max_size, names, risk):
                return sets.suda_scores(counter, max_size, names, risk)
        raise refusals.unknown(asked)

    def keep(self, table: SqlTable, records: changes.Selection) -> SqlTable:
        """Return a query of some records."""
        match records:
            case changes.LargeClasses(question, k, ()):
                return rewrite.large(table, question, k)
            case changes.BreakingClasses(question, k, ()):
                return rewrite.small(table, question, k)
        raise refused(LIMITS)

    def rewrite(self, table: SqlTable, change: changes.Change) -> SqlTable:
        """Leave out columns, bring back an index, of which there is none; refuse all else."""
        match change:
            case changes.LabelsAsColumns():
                return table
            case changes.LeaveOut(columns):
                return rewrite.without(table, columns)
            case changes.FoldSpellings(columns):
                return contents.with_folded(table, columns)
        raise refused(OTHER_CELLS)
