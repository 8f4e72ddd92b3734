"""Roles in the metadata of Spark columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anonrisk.core.column_roles import Roles
from anonrisk.core.documents import Reader
from anonrisk.engines.reading.parquet_files import OURS
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.errors import RolesLostError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_METADATA_KEY = "anonrisk"
_READER = Reader("declaration of roles", RolesLostError)


def write(frame: DataFrame, declared: Roles) -> DataFrame:
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


def without_others(frame: DataFrame) -> DataFrame:
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


def read(frame: DataFrame) -> Roles | None:
    """Read the roles from whichever columns still carry them."""
    with guarded("read the roles"):
        fields = frame.schema.fields
    stored = {f.metadata[_METADATA_KEY] for f in fields if f.metadata.get(_METADATA_KEY)}
    if len(stored) > 1:
        raise RolesLostError(
            "columns of this table carry different declarations of roles; declare them again"
        )
    return Roles.from_dict(_READER.json(stored.pop())) if stored else None
