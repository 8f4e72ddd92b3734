"""pandas-on-Spark tables, counted as the Spark tables that they are underneath."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.engines.spark import SparkEngine
from anonrisk.engines.spark.guard import guarded
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.attackers import Attacker, Matched
    from anonrisk.class_profiles import ClassProfiles
    from anonrisk.column_roles import Roles
    from anonrisk.columns import Name
    from anonrisk.counts import ClassSizes
    from anonrisk.engines.base import Against, Group, Question, Score, Scored, Sensitive
    from anonrisk.engines.traces import LinkCounts, LinkQuestion, TraceCounts, TraceQuestion
    from anonrisk.pseudonyms import Step


def frame_type() -> type:
    """Get the class of pandas-on-Spark tables; the caller knows that it is imported."""
    from pyspark import pandas

    return pandas.DataFrame


class PandasOnSparkEngine:
    """Counts pandas-on-Spark DataFrames."""

    name = "pandas_on_spark"

    def __init__(self) -> None:
        """Keep the engine that does the work."""
        self._spark = SparkEngine()

    def columns(self, frame: Any) -> Sequence[Name]:
        """List the column labels."""
        return list(frame.columns)

    def index(self, frame: Any) -> Sequence[Name]:
        """List the names of the index."""
        return list(frame.index.names)

    def check(self, frame: Any, roles: Mapping[Name, str]) -> None:
        """Refuse what Spark refuses, and what Spark does not know: other labels, categories."""
        for name, role in roles.items():
            _refuse_lossy(name, frame[name].dtype, role)
        self._spark.check(_without_index(frame), roles)

    def count(self, frame: Any, question: Question) -> list[ClassSizes]:
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

    def profiles(self, frame: Any, question: Question, sensitive: Sensitive) -> ClassProfiles:
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

    def traces(self, frame: Any, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""
        return self._spark.traces(_without_index(frame), question)

    def links(self, frame: Any, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
        return self._spark.links(_without_index(frame), question)

    def pseudonymize(self, frame: Any, step: Step) -> Any:
        """Give the table with one column replaced by pseudonyms, its index kept."""
        kept = [name for name in self.columns(frame) if name != step.column]
        return _with_index(frame, lambda table: self._spark.pseudonymize(table, step), kept)

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


def _with_index(
    frame: Any, change: Callable[[DataFrame], DataFrame], kept: Sequence[Name] | None = None
) -> Any:
    """Change a table while its index travels along as columns of its own.

    The columns that are `kept`, or all, come back with the types that they had.
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
        same = dtypes if kept is None else {name: dtypes[name] for name in kept}
        lost = {name: dtype for name, dtype in same.items() if made[name].dtype != dtype}
        return made.astype(lost) if lost else made
