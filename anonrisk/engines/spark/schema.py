"""What a Spark table is, from its schema and the metadata of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.refused import STREAM, refused
from anonrisk.engines.spark import project, recode, roles, steps
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.jobs import collect, count
from anonrisk.measures.counts.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid

_SCALES = {
    **dict.fromkeys(("float", "double"), "floats"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "dates"),
}


class SparkSchema(Schema):
    """What a Spark table is; it has no index."""

    @property
    def table(self) -> DataFrame:
        """The Spark table."""
        frame: DataFrame = self.frame
        return frame

    @property
    def columns(self) -> Qid:
        """The column names."""
        with guarded("read the columns"):
            return tuple(self.table.columns)

    @property
    def roles(self) -> Roles | None:
        """The roles in the metadata of columns."""
        return roles.read(self.table)

    @property
    def perturbed(self) -> Mapping[Name, str]:
        """The columns whose metadata tell that they were changed."""
        return steps.perturbed(self.table)

    def check(self, roles: Mapping[Name, str]) -> None:
        """Reject streams and nested types from the schema, before any job."""
        with guarded("read the schema"):
            # SQLFrame makes a column of any name that it does not know.
            if self.table.isStreaming is True:
                raise refused(STREAM)
            fields = self.table.schema.fields
        for field in fields:
            if field.name in roles:
                project.refuse_nested(field, roles[field.name])

    def nested(self) -> Sequence[str]:
        """List the paths inside structs, also in arrays and maps of them."""
        with guarded("read the schema"):
            fields = self.table.schema.fields
        return [path for field in fields for path in project.paths(field.name, field.dataType)]

    def has_rows(self) -> bool:
        """Return whether there is any row; no cell comes to the driver."""
        with guarded("look for a row"):
            return bool(count(self.table.limit(1)))

    def scale_of(self, column: Name) -> str | None:
        """Look at the type."""
        with guarded("read the schema"):
            kinds = {field.name: field.dataType.typeName() for field in self.table.schema.fields}
        return _SCALES.get(kinds[str(column)])

    def largest_whole(self, column: Name) -> float | None:
        """Look at all values, in one small job."""
        projection = project.Projection.of(self.table)
        # The remainder of an infinite one is NaN, and greater than anything to Spark.
        number = f"cast({projection.text(column)} as double)"
        with guarded("look for fractions"):
            looked = projection.table.selectExpr(
                f"coalesce(max(abs({number})), 0D) as largest",
                f"coalesce(max(abs({number} % 1D)), 0D) = 0D as whole",
            )
            (row,) = collect(looked)
        return float(row["largest"]) if row["whole"] else None

    def is_whole(self, column: Name) -> bool:
        """Look at the type."""
        return recode.kind_of(project.Projection.of(self.table), column) == "whole"

    def is_text(self, column: Name) -> bool:
        """Look at the type."""
        return recode.kind_of(project.Projection.of(self.table), column) == "text"
