"""What a Spark table is, from its schema; its roles are in the metadata of its columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anonrisk.core.column_roles import Roles
from anonrisk.core.documents import Reader
from anonrisk.engines.reading.parquet_files import OURS
from anonrisk.engines.refusals import STREAM, refused
from anonrisk.engines.spark import project, recode, steps
from anonrisk.engines.spark.jobs import collect, count, guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.errors import RolesLostError
from anonrisk.measures.counts.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name, Qid

_METADATA_KEY = "anonrisk"
_READER = Reader("declaration of roles", RolesLostError)


def write_roles(frame: DataFrame, declared: Roles) -> DataFrame:
    """Store the whole role set with every column that has a role.

    One column alone then tells what the others were, so that a recomputed one is not forgotten.
    """
    with guarded("store the roles"):
        projection = Projection.of(frame)
        stored = json.dumps(declared.to_dict())
        columns = []
        for position, field in enumerate(projection.fields):
            # What others keep in the metadata stays. Roles of an earlier declaration are blanked
            # rather than left out, because Spark 3.5 takes empty metadata for none given.
            metadata = dict(field.metadata)
            if field.name in declared.classified:
                metadata[_METADATA_KEY] = stored
            elif _METADATA_KEY in metadata:
                metadata[_METADATA_KEY] = ""
            column = projection.functions.col(f"c{position}")
            columns.append(column.alias(field.name, metadata=metadata))
        return projection.table.select(*columns)


def without_other_notes(frame: DataFrame) -> DataFrame:
    """Return a table whose columns carry our notes alone: a file would hold those of others too.

    What Spark's own library for learning notes of a column are the values that it has had.
    """
    schema = frame.schema
    bare = type(schema).fromJson(_without_notes(json.loads(schema.json())))
    notes = [{k: v for k, v in field.metadata.items() if k in OURS} for field in schema.fields]
    same = [
        (field.metadata, field.dataType) == (kept, plain.dataType)
        for field, kept, plain in zip(schema.fields, notes, bare.fields, strict=True)
    ]
    if all(same):
        return frame
    projection = Projection.of(frame)
    columns = []
    for i, (field, kept) in enumerate(zip(bare.fields, notes, strict=True)):
        column = projection.functions.col(f"c{i}").cast(field.dataType)
        # Spark 3.5 takes empty metadata for none given.
        columns.append(column.alias(field.name, metadata=kept or {_METADATA_KEY: ""}))
    return projection.table.select(*columns)


def _without_notes(stored: Any) -> Any:
    if isinstance(stored, list):
        return [_without_notes(item) for item in stored]
    if not isinstance(stored, dict):
        return stored
    fields = {key: _without_notes(value) for key, value in stored.items()}
    return {**fields, "metadata": {}} if "metadata" in fields else fields


def read_roles(frame: DataFrame) -> Roles | None:
    """Read the roles from whichever columns still carry them."""
    with guarded("read the roles"):
        fields = frame.schema.fields
    stored = {f.metadata[_METADATA_KEY] for f in fields if f.metadata.get(_METADATA_KEY)}
    if len(stored) > 1:
        raise RolesLostError(
            "columns of this table carry different declarations of roles; declare them again"
        )
    return Roles.from_dict(_READER.json(stored.pop())) if stored else None


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
        return read_roles(self.table)

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
