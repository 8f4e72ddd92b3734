"""pandas-on-Spark tables, counted as the Spark tables that they are underneath."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.core.pseudonyms import Pseudonymisation
from anonrisk.counts import change as changes
from anonrisk.counts import question as questions
from anonrisk.engines.spark import SparkEngine
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.schema import SparkSchema
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid

_SPARK = SparkEngine()


def frame_type() -> type:
    """Get the class of pandas-on-Spark tables; the caller knows that it is imported."""
    from pyspark import pandas

    return pandas.DataFrame


class PandasOnSparkSchema(SparkSchema):
    """What a pandas-on-Spark table is: a Spark table with labels and an index."""

    @property
    def table(self) -> DataFrame:
        """The Spark table that it is underneath."""
        return _without_index(self.frame)

    @property
    def columns(self) -> Qid:
        """The column labels."""
        return tuple(self.frame.columns)

    @property
    def index(self) -> Qid:
        """The names of the index."""
        return tuple(name for name in self.frame.index.names if name is not None)

    @property
    def row_labels(self) -> str | None:
        """Told by the type: whole numbers without a name are made anew wherever they are needed."""
        index = self.frame.index
        if None not in index.names:
            return None
        plain = index.nlevels == 1 and pd.api.types.is_integer_dtype(index.dtype)
        return None if plain else "unnamed"

    def check(self, roles: Mapping[Name, str]) -> None:
        """Refuse what Spark refuses, and what Spark does not know: other labels, categories."""
        for name, role in roles.items():
            _refuse_lossy(name, self.frame[name].dtype, role)
        super().check(roles)


def _counting(verb: str) -> Any:
    """Make a verb that gives counts, for which the index is of no use."""

    def call(_: PandasOnSparkEngine, frame: Any, *asked: Any) -> Any:
        return getattr(_SPARK, verb)(_without_index(frame), *asked)

    return call


class PandasOnSparkEngine:
    """Counts pandas-on-Spark DataFrames."""

    name = "pandas_on_spark"
    sets_a_pass = SparkEngine.sets_a_pass

    profiles = _counting("profiles")
    score = _counting("score")
    tally = _counting("tally")
    traces = _counting("traces")
    links = _counting("links")

    def schema(self, frame: Any) -> PandasOnSparkSchema:
        """Tell what a table is."""
        return PandasOnSparkSchema(frame)

    def with_roles(self, frame: Any, roles: Roles) -> Any:
        """Keep the roles in column metadata."""
        table, back = _with_index(frame)
        return back(_SPARK.with_roles(table, roles))

    def count(self, frame: Any, asked: questions.Asks[Any]) -> Any:
        """Count classes; where many sets are counted, categories are set apart."""
        if not isinstance(asked, questions.ManySets):
            return _SPARK.count(_without_index(frame), asked)
        lossy = {}
        for name in asked.question.qid:
            try:
                _refuse_lossy(name, frame[name].dtype, "column")
            except UnsupportedColumnError as error:
                lossy[name] = str(error)
        searched = tuple(name for name in asked.question.qid if name not in lossy)
        kept = replace(asked.question, qids=(searched,))
        counter = _SPARK.count(_without_index(frame), questions.ManySets(kept))
        counter.unsupported |= lossy
        return counter

    def match(self, frame: Any, asked: Any) -> Any:
        """Match the classes of a release with those of a population, or of households."""
        people = asked.against.population
        if people is not None:
            against = replace(asked.against, population=_without_index(people))
            asked = replace(asked, against=against)
        return _SPARK.match(_without_index(frame), asked)

    def annotate(self, frame: Any, asked: questions.Asks[Any]) -> Any:
        """Give the table with more columns, its index kept."""
        table, back = _with_index(frame)
        if not isinstance(asked, changes.MinimalUniques):
            return back(_SPARK.annotate(table, asked))
        # The counter is of the table without its index.
        counter: Any = asked.counter
        question = questions.Question((counter.columns,), None, counter.missing)
        counter = _SPARK.count(table, questions.ManySets(question))
        scores, records, totals = _SPARK.annotate(table, replace(asked, counter=counter))
        return back(scores), back(records), totals

    def keep(self, frame: Any, records: changes.Records) -> Any:
        """Select records by their classes, their index kept."""
        table, back = _with_index(frame)
        return back(_SPARK.keep(table, records))

    def rewrite(self, frame: Any, change: changes.Change) -> Any:
        """Give a table with other cells, its index kept."""
        retyped: Qid = ()
        match change:
            case changes.LabelsAsColumns(name):
                more = iter([name, *(f"{name} {i}" for i in range(2, frame.index.nlevels + 1))])
                named = [next(more) if level is None else level for level in frame.index.names]
                return frame.rename_axis(named).reset_index()
            case changes.Intervals():
                # Only counted, for which the index is of no use.
                with guarded("make the table"):
                    return _SPARK.rewrite(_without_index(frame), change).pandas_api()
            case changes.Recode(recodings):
                retyped = tuple(recodings)
            case changes.GroupMeans(columns):
                retyped = columns
            case changes.CellSuppression(question):
                retyped = question.qid
            case Pseudonymisation(column):
                retyped = (column,)
        table, back = _with_index(frame, retyped)
        return back(_SPARK.rewrite(table, change))


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


def _with_index(frame: Any, retyped: Qid = ()) -> tuple[DataFrame, Callable[[DataFrame], Any]]:
    """Give a Spark table whose index travels along as columns of its own, and the way back.

    Columns that a change gives another type are named; all others get back the one they had.
    """
    dtypes = dict(frame.dtypes.items())
    for name, dtype in dtypes.items():
        _refuse_lossy(name, dtype, "column")
    labels = [f"__anonrisk_index_{i}" for i in range(frame.index.nlevels)]

    def back(changed: DataFrame) -> Any:
        with guarded("make the table"):
            made = changed.pandas_api(index_col=labels)
            made.index.names = frame.index.names
            # Nullable types come back from Spark as plain ones.
            kept = {name: dtype for name, dtype in dtypes.items() if name not in retyped}
            lost = {name: dtype for name, dtype in kept.items() if made[name].dtype != dtype}
            return made.astype(lost) if lost else made

    with guarded("read the table"):
        return frame.to_spark(index_col=labels), back
