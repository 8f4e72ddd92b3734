"""SQLFrame: Spark's DataFrame API over databases without Spark, of which class sizes are asked."""

from __future__ import annotations

from typing import Any, NoReturn

from anonrisk.engines.refusals import SQLFRAME, refused
from anonrisk.engines.spark import count
from anonrisk.engines.spark.schema import SparkSchema
from anonrisk.measures.counts.change import LabelsAsColumns
from anonrisk.measures.counts.question import ByGroup, Question


class SqlFrameEngine:
    """Counts the classes of a table of SQLFrame; it lacks what other questions are written in."""

    name = "sqlframe"
    sets_a_pass = 1

    def schema(self, frame: Any) -> SparkSchema:
        """Return what a table is."""
        return SparkSchema(frame)

    def count(self, frame: Any, asked: Any) -> Any:
        """Count classes."""
        match asked:
            case Question():
                return count.class_sizes(frame, asked)
            case ByGroup(question, by):
                return count.class_sizes_by(frame, question, by)
        raise refused(SQLFRAME)

    def rewrite(self, frame: Any, change: Any) -> Any:
        """Bring the index back, of which there is none."""
        if isinstance(change, LabelsAsColumns):
            return frame
        raise refused(SQLFRAME)

    def __getattr__(self, name: str) -> NoReturn:
        """Reject everything else."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise refused(SQLFRAME)
