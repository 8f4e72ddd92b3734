"""Roles in the metadata of Spark columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anonrisk.core.column_roles import Roles
from anonrisk.core.documents import Reader
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
