"""pandas-on-Spark tables, counted as the Spark tables that they are underneath."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.counts.question import Question
from anonrisk.engines.spark import SparkEngine
from anonrisk.engines.spark.guard import guarded
from anonrisk.errors import UnsupportedColumnError

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
        Score,
        Scored,
        Sensitive,
    )
    from anonrisk.counts.tally import Tally
    from anonrisk.counts.traces import LinkCounts, LinkQuestion, TraceCounts, TraceQuestion
    from anonrisk.counts.weighted import Independence, WeightedClasses
    from anonrisk.engines.spark.sets import SparkSets
    from anonrisk.recode import Bins, Recoding


def frame_type() -> type:
    """Get the class of pandas-on-Spark tables; the caller knows that it is imported."""
    from pyspark import pandas

    return pandas.DataFrame


class PandasOnSparkEngine:
    """Counts pandas-on-Spark DataFrames."""

    name = "pandas_on_spark"
    sets_a_pass = SparkEngine.sets_a_pass

    def __init__(self) -> None:
        """Keep the engine that does the work."""
        self._spark = SparkEngine()

    def columns(self, frame: Any) -> Sequence[Name]:
        """List the column labels."""
        return list(frame.columns)

    def index(self, frame: Any) -> Sequence[Name]:
        """List the names of the index."""
        return [name for name in frame.index.names if name is not None]

    def check(self, frame: Any, roles: Mapping[Name, str]) -> None:
        """Refuse what Spark refuses, and what Spark does not know: other labels, categories."""
        for name, role in roles.items():
            _refuse_lossy(name, frame[name].dtype, role)
        self._spark.check(_without_index(frame), roles)

    def count(self, frame: Any, question: Question) -> list[ClassCounts]:
        """Count the classes of each quasi-identifier."""
        return self._spark.count(_without_index(frame), question)

    def count_by(self, frame: Any, question: Question, by: Name) -> list[list[Group]]:
        """Count within each group of `by`."""
        return self._spark.count_by(_without_index(frame), question, by)

    def sizes(self, frame: Any, question: Question, name: str) -> Any:
        """Give the table with one column more, its index kept."""
        return _with_index(frame, lambda table: self._spark.sizes(table, question, name))

    def at_risk(self, frame: Any, question: Question, k: int) -> Any:
        """Select the records in classes smaller than k, their index kept."""
        return _with_index(frame, lambda table: self._spark.at_risk(table, question, k))

    def is_scale(self, frame: Any, column: Name) -> bool:
        """Look at the type."""
        return self._spark.is_scale(_without_index(frame), column)

    def profiles(self, frame: Any, question: Question, sensitive: Sensitive) -> ValueCounts:
        """Bring the kinds of class to the driver, if they are not too many."""
        return self._spark.profiles(_without_index(frame), question, sensitive)

    def scores(
        self, frame: Any, question: Question, sensitive: Sensitive, scores: Sequence[Score]
    ) -> Scored:
        """Score every class where it is, and give the worst."""
        return self._spark.scores(_without_index(frame), question, sensitive, scores)

    def breaking(
        self,
        frame: Any,
        question: Question,
        limits: Sequence[tuple[Sensitive, Score, float]],
        k: int | None,
    ) -> Any:
        """Select the records of the classes that break a limit, their index kept."""
        return _with_index(frame, lambda table: self._spark.breaking(table, question, limits, k))

    def matched(self, frame: Any, question: Question, against: Against) -> Matched:
        """Find the size that each class of the release has in the population."""
        return self._spark.matched(_without_index(frame), question, _on_spark(against))

    def households(self, frame: Any, question: Question, against: Against) -> Attacker:
        """Give the risk that a record has by any member of its household."""
        return self._spark.households(_without_index(frame), question, _on_spark(against))

    def marked(self, frame: Any, columns: Sequence[Name], marker: str) -> int:
        """Count the rows that have the marker in one of the columns."""
        return self._spark.marked(_without_index(frame), columns, marker)

    def in_intervals(self, frame: Any, widths: Mapping[Name, float]) -> Any:
        """Give the table with the number of its interval in place of each value."""
        table = self._spark.in_intervals(_without_index(frame), widths)
        with guarded("make the table"):
            return table.pandas_api()

    def weighted(self, frame: Any, question: Question, weight: Name) -> WeightedClasses:
        """Sum weights, and risks that follow from them, over the classes."""
        return self._spark.weighted(_without_index(frame), question, weight)

    def independence(self, frame: Any, question: Question, fraction: float) -> Independence:
        """Compare the classes with what their columns give if they are independent."""
        return self._spark.independence(_without_index(frame), question, fraction)

    def counter(self, frame: Any, question: Question) -> SparkSets:
        """Get ready to count many sets, several in a job; categories are set apart."""
        lossy = {}
        for name in question.qid:
            try:
                _refuse_lossy(name, frame[name].dtype, "column")
            except UnsupportedColumnError as error:
                lossy[name] = str(error)
        searched = tuple(name for name in question.qid if name not in lossy)
        counter = self._spark.counter(_without_index(frame), replace(question, qids=(searched,)))
        counter.unsupported |= lossy
        return counter

    def suda(
        self,
        frame: Any,
        counter: SparkSets,
        max_size: int,
        names: list[str],
        risk: Callable[[Totals], float | None],
    ) -> tuple[Any, Any, Totals]:
        """Score every record by its minimal uniques, their index kept."""
        found: list[Any] = []

        def score(table: DataFrame, which: int) -> DataFrame:
            asked = Question((counter.columns,), None, counter.missing)
            on_table = self._spark.counter(table, asked)
            found[:] = self._spark.suda(table, on_table, max_size, names, risk)
            scored: DataFrame = found[which]
            return scored

        scores = _with_index(frame, lambda table: score(table, 0))
        records = _with_index(frame, lambda table: score(table, 1))
        return scores, records, found[2]

    def tally(self, frame: Any, columns: Qid, collapsible: Qid = ()) -> Tally:
        """Count the classes of some columns on the driver, if they are not too many."""
        return self._spark.tally(_without_index(frame), columns, collapsible)

    def recode(self, frame: Any, recodings: Mapping[Name, Recoding]) -> Any:
        """Give a table with some columns recoded, its index kept."""
        return _with_index(frame, lambda t: self._spark.recode(t, recodings), tuple(recodings))

    def is_whole(self, frame: Any, column: Name) -> bool:
        """Look at the type."""
        return self._spark.is_whole(_without_index(frame), column)

    def is_text(self, frame: Any, column: Name) -> bool:
        """Look at the type."""
        return self._spark.is_text(_without_index(frame), column)

    def quantile_bins(self, frame: Any, column: Name, n_bins: int) -> Bins:
        """Cut a column of numbers into bins of about the same number of records."""
        return self._spark.quantile_bins(_without_index(frame), column, n_bins)

    def suppress(
        self, frame: Any, question: Question, k: int, cells: CellSuppression | None = None
    ) -> Any:
        """Leave out the records of classes smaller than k, or their cells, the index kept."""
        changed = () if cells is None else question.qid
        return _with_index(frame, lambda t: self._spark.suppress(t, question, k, cells), changed)

    def microaggregate(self, frame: Any, columns: Qid, k: int) -> Any:
        """Replace numbers by the mean of a group of at least k records, the index kept."""
        return _with_index(frame, lambda t: self._spark.microaggregate(t, columns, k), columns)

    def perturb(self, frame: Any, noise: Noise) -> Any:
        """Add noise to some columns, and mark them."""
        return _with_index(frame, lambda t: self._spark.perturb(t, noise))

    def permute(self, frame: Any, columns: Qid, by: Qid, seed: int) -> Any:
        """Shuffle some columns within groups, and mark them."""
        return _with_index(frame, lambda t: self._spark.permute(t, columns, by, seed))

    def nested(self, frame: Any) -> Sequence[str]:
        """List the paths inside structs."""
        return self._spark.nested(_without_index(frame))

    def row_labels(self, frame: Any) -> str | None:
        """Tell by the type: whole numbers without a name are made anew wherever they are needed."""
        if None not in frame.index.names:
            return None
        plain = frame.index.nlevels == 1 and pd.api.types.is_integer_dtype(frame.index.dtype)
        return None if plain else "unnamed"

    def with_labels(self, frame: Any, name: str) -> Any:
        """Bring the index back among the columns."""
        unnamed = iter([name, *(f"{name} {i}" for i in range(2, frame.index.nlevels + 1))])
        names = [next(unnamed) if level is None else level for level in frame.index.names]
        return frame.rename_axis(names).reset_index()

    def has_rows(self, frame: Any) -> bool:
        """Tell whether there is any row."""
        return self._spark.has_rows(_without_index(frame))

    def perturbed(self, frame: Any) -> Mapping[Name, str]:
        """Read from column metadata which columns a random step has changed."""
        return self._spark.perturbed(_without_index(frame))

    def traces(self, frame: Any, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""
        return self._spark.traces(_without_index(frame), question)

    def links(self, frame: Any, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
        return self._spark.links(_without_index(frame), question)

    def pseudonymize(self, frame: Any, step: Pseudonymisation) -> Any:
        """Give the table with one column replaced by pseudonyms, its index kept."""
        change = lambda table: self._spark.pseudonymize(table, step)  # noqa: E731
        return _with_index(frame, change, (step.column,))

    def read_roles(self, frame: Any) -> Roles | None:
        """Read the roles from column metadata."""
        return self._spark.read_roles(_without_index(frame))

    def write_roles(self, frame: Any, declared: Roles) -> Any:
        """Keep the roles in column metadata."""
        return _with_index(frame, lambda table: self._spark.write_roles(table, declared))


def _refuse_lossy(name: Name, dtype: Any, role: str) -> None:
    """Refuse a column that would not come through Spark as it is."""
    if not isinstance(name, str):
        raise UnsupportedColumnError(f"{role} {name!r} must be a string to name a Spark column")
    if isinstance(dtype, pd.CategoricalDtype):
        raise UnsupportedColumnError(
            f"{role} {name!r} is categorical, which pandas-on-Spark keeps as codes; "
            "convert it, for example with astype(str)"
        )


def _without_index(frame: Any) -> DataFrame:
    with warnings.catch_warnings(), guarded("read the table"):
        # pandas-on-Spark warns that the index is lost; a count has no use for it.
        warnings.simplefilter("ignore")
        table: DataFrame = frame.to_spark()
    return table


def _on_spark(against: Against) -> Against:
    if against.population is None:
        return against
    return replace(against, population=_without_index(against.population))


def _with_index(frame: Any, change: Callable[[DataFrame], DataFrame], retyped: Qid = ()) -> Any:
    """Change a table while its index travels along as columns of its own.

    Columns that the change gives another type are named; all others get back the one they had.
    """
    dtypes = dict(frame.dtypes.items())
    for name, dtype in dtypes.items():
        _refuse_lossy(name, dtype, "column")
    labels = [f"__anonrisk_index_{i}" for i in range(frame.index.nlevels)]
    with guarded("read the table"):
        table = frame.to_spark(index_col=labels)
    changed = change(table)
    with guarded("make the table"):
        made = changed.pandas_api(index_col=labels)
        made.index.names = frame.index.names
        # Nullable types come back from Spark as plain ones.
        kept = {name: dtype for name, dtype in dtypes.items() if name not in retyped}
        lost = {name: dtype for name, dtype in kept.items() if made[name].dtype != dtype}
        return made.astype(lost) if lost else made
