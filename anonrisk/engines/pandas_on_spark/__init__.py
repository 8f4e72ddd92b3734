"""pandas-on-Spark tables, counted as the Spark tables that they are underneath."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.engines.pandas.schema import level_names
from anonrisk.engines.refusals import CATEGORICAL
from anonrisk.engines.spark import SparkEngine
from anonrisk.engines.spark.jobs import guarded
from anonrisk.engines.spark.schema import SparkSchema
from anonrisk.errors import UnsupportedColumnError
from anonrisk.measures.counts import change as changes
from anonrisk.measures.counts.change import Totals
from anonrisk.measures.counts.contents import CellContents, SomeTexts
from anonrisk.measures.counts.question import Asks, ManySets
from anonrisk.pseudonyms.pseudonym import Pseudonymisation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name, Qid


def frame_type() -> type:
    """Get the class of pandas-on-Spark tables; the caller knows that it is imported."""
    from pyspark import pandas

    return pandas.DataFrame


class PandasOnSparkSchema(SparkSchema):
    """What a pandas-on-Spark table is: a Spark table with labels and an index."""

    @property
    def table(self) -> DataFrame:
        """The Spark table that it is underneath."""
        return _below(self.frame)

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
        """Reject what Spark refuses, and what Spark does not know: other labels, categories."""
        for name, role in roles.items():
            _refuse_lossy(name, self.frame[name].dtype, role)
        super().check(roles)


def _asked_below(verb: Callable[..., Any]) -> Any:
    """Ask the table underneath; a table that comes back is one of pandas-on-Spark again."""
    gives_tables = verb.__name__ in ("annotate", "keep", "rewrite", "with_roles")

    def call(self: SparkEngine, frame: Any, *asked: Any) -> Any:
        if not gives_tables:
            return verb(self, _below(frame), *map(_with_population_below, asked))
        for name, dtype in frame.dtypes.items():
            _refuse_lossy(name, dtype, "column")
        answer = verb(self, _below(frame, _index_columns(frame)), *asked)
        back = partial(_like, frame, _retyped(*asked))
        return tuple(map(back, answer)) if isinstance(answer, tuple) else back(answer)

    return call


class PandasOnSparkEngine(SparkEngine):
    """Counts pandas-on-Spark DataFrames as Spark does."""

    name = "pandas_on_spark"

    with_roles = _asked_below(SparkEngine.with_roles)
    profiles = _asked_below(SparkEngine.profiles)
    score = _asked_below(SparkEngine.score)
    tally = _asked_below(SparkEngine.tally)
    match = _asked_below(SparkEngine.match)
    annotate = _asked_below(SparkEngine.annotate)
    keep = _asked_below(SparkEngine.keep)
    traces = _asked_below(SparkEngine.traces)
    links = _asked_below(SparkEngine.links)

    def schema(self, frame: Any) -> PandasOnSparkSchema:
        """Return what a table is."""
        return PandasOnSparkSchema(frame)

    def count(self, frame: Any, asked: Asks[Any]) -> Any:
        """Count classes; where many sets are counted, categories are set apart."""
        if isinstance(asked, (CellContents, SomeTexts)):
            return super().count(_below(_with_texts(frame, asked.columns)), asked)
        if not isinstance(asked, ManySets):
            return super().count(_below(frame), asked)
        lossy = {}
        for name in asked.question.qid:
            try:
                _refuse_lossy(name, frame[name].dtype, "column")
            except UnsupportedColumnError as error:
                lossy[name] = str(error)
        kept = tuple(name for name in asked.question.qid if name not in lossy)
        # With the index, beside which scores of records are written.
        table = _below(frame, _index_columns(frame))
        counter = super().count(table, ManySets(replace(asked.question, qids=(kept,))))
        counter.unsupported |= lossy
        return counter

    def rewrite(self, frame: Any, change: changes.Change) -> Any:
        """Return a table with other cells, its index kept."""
        match change:
            case changes.LabelsAsColumns(name):
                named = level_names(frame.index.names, name)
                return frame.rename_axis(named).reset_index()
            case changes.LeaveOut(columns):
                return frame.drop(columns=list(columns))
            case changes.Intervals() | changes.FoldSpellings():
                # Only counted, for which the index is of no use.
                with guarded("make the table"):
                    return super().rewrite(_below(frame), change).pandas_api()
        return _asked_below(SparkEngine.rewrite)(self, frame, change)


def _with_texts(frame: Any, columns: Qid) -> Any:
    """Return a table whose categories, which Spark keeps as codes, are texts."""
    coded = [n for n in columns if isinstance(frame[n].dtype, pd.CategoricalDtype)]
    texts: dict[Any, Any] = {
        name: frame[name].astype(str).mask(frame[name].isna(), None) for name in coded
    }
    return frame.assign(**texts) if texts else frame


def _refuse_lossy(name: Name, dtype: Any, role: str) -> None:
    """Reject a column that would not come through Spark as it is."""
    if not isinstance(name, str):
        raise UnsupportedColumnError(f"{role} {name!r} must be a string to name a Spark column")
    if isinstance(dtype, pd.CategoricalDtype):
        raise UnsupportedColumnError(f"{role} {name!r} {CATEGORICAL}")


def _retyped(asked: Any) -> Qid:
    """List the columns that a change gives another type."""
    match asked:
        case changes.Recode(recodings):
            return tuple(recodings)
        case changes.RecodeByRegion(columns):
            return columns
        case changes.GroupMeans(columns):
            return columns
        case changes.CellSuppression(question) | changes.ChosenCells(question):
            return question.qid
        case Pseudonymisation(column):
            return (column,)
    return ()


def _with_population_below(asked: Any) -> Any:
    against = getattr(asked, "against", None)
    if against is None or against.population is None:
        return asked
    return replace(asked, against=replace(against, population=_below(against.population)))


def _below(frame: Any, index: list[str] | None = None) -> DataFrame:
    """Return the Spark table underneath; its index travels along if its columns get names."""
    with warnings.catch_warnings(), guarded("read the table"):
        # pandas-on-Spark warns where the index is lost; a count has no use for it.
        warnings.simplefilter("ignore")
        table: DataFrame = frame.to_spark(index_col=index)
    return table


def _index_columns(frame: Any) -> list[str]:
    return [f"__anonrisk_index_{i}" for i in range(frame.index.nlevels)]


def _like(frame: Any, retyped: Qid, answer: Any) -> Any:
    """Return a table the index of another, and its types but for columns that have new ones."""
    if isinstance(answer, Totals):
        return answer
    with guarded("make the table"):
        made: Any = answer.pandas_api(index_col=_index_columns(frame))
        made.index.names = frame.index.names
        # Nullable types come back from Spark as plain ones.
        kept = {name: dtype for name, dtype in frame.dtypes.items() if name not in retyped}
        lost = {name: dtype for name, dtype in kept.items() if made[name].dtype != dtype}
        return made.astype(lost) if lost else made
