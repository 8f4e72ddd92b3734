"""Roles that Parquet files declare: those of all, or none."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anonrisk.core.column_roles import Roles
from anonrisk.engines.spark import roles
from anonrisk.errors import UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

_ROLES, _MARKS = "anonrisk", "anonrisk_perturbed"
# Each costs a look at the end of one file.
_MOST = 500
# Spark calls the files of one writing alike, but for their number.
_WRITTEN = re.compile(
    r"part-[0-9]+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[^/]*\Z", re.IGNORECASE
)


def refuse_different(
    spark: SparkSession, frame: DataFrame, names: Sequence[str], options: Mapping[str, str]
) -> None:
    """Refuse a table of which one file says less of its columns than another.

    Spark takes the word of one of them, and would publish what another calls a name.
    """
    writings = {_writing(name): name for name in names}
    if len(writings) < 2:
        return
    plain = {**options, "mergeSchema": "false", "recursiveFileLookup": "true"}
    reader = spark.read.format("parquet").options(**plain)
    looked_at = list(writings.values())[:_MOST]
    said = {_said(reader.load(_exact(name)).schema) for name in looked_at}
    if len(said) > 1:
        raise UnreadableTableError(
            f"the {len(names):,} files of this table declare different roles, or different columns "
            "that were changed at random; declare the roles of the whole table, or check the files "
            "one by one"
        )
    if len(writings) > _MOST and (said | {_said(frame.schema)}) != {_said(None)}:
        raise UnreadableTableError(
            f"the table was written in {len(writings):,} times, more than the {_MOST} of which can "
            "be told whether they declare the same roles; write it anew, or without roles"
        )


def on_this_machine(names: Sequence[str]) -> list[str]:
    """List the paths of those files that Spark does not read from elsewhere."""
    return [unquote(name.removeprefix("file:")) for name in names if name.startswith("file:")]


def of_pandas(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Take over the roles that pandas wrote into files of this machine, which Spark overlooks.

    Of files elsewhere nobody but Spark sees anything.
    """
    local = on_this_machine(names)
    found = {_attrs(name) for name in local[:_MOST]}
    if found <= {_attrs(None)} or _said(frame.schema) != _said(None):
        return frame
    (attrs,) = found if len(found) == 1 else (None,)
    stored = {} if attrs is None else json.loads(attrs)
    if _ROLES not in stored or _MARKS in stored or len(local) > _MOST:
        raise UnreadableTableError(
            f"the {len(names):,} files of this table declare different roles, or columns that were "
            "changed at random; declare the roles of the whole table, or check the files one by one"
        )
    return roles.write(frame, Roles.from_dict(stored[_ROLES]))


def _attrs(name: str | None) -> str:
    """Write down what pandas keeps of ours at the end of a file; nothing if it cannot be read."""
    try:
        from pyarrow import parquet

        metadata = {} if name is None else parquet.read_schema(name).metadata or {}
        attrs = json.loads(metadata.get(b"PANDAS_ATTRS", b"{}"))
    except (ImportError, OSError, ValueError):
        attrs = {}
    ours = {key: attrs[key] for key in (_ROLES, _MARKS) if attrs.get(key)}
    return json.dumps(ours, sort_keys=True)


def _writing(name: str) -> str:
    """Say of which writing a file is: those of one have the same columns and roles."""
    found = _WRITTEN.search(name)
    return name if found is None else found[1]


def _exact(name: str) -> str:
    """Write the path of one file so that no letter of it is taken for a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", unquote(name))


def _said(schema: Any) -> str:
    """Write down roles and marks so that equal ones look equal, whichever columns carry them."""
    fields = [] if schema is None else schema.fields
    stated = {_in_order(told) for one in fields if (told := one.metadata.get(_ROLES))}
    marks = {one.name: told for one in fields if (told := one.metadata.get(_MARKS))}
    return json.dumps([sorted(stated), marks], sort_keys=True)


def _in_order(told: str) -> str:
    try:
        stored = json.loads(told)
    except ValueError:
        return told
    return json.dumps(
        {
            key: sorted(value, key=json.dumps) if isinstance(value, list) else value
            for key, value in dict(stored).items()
        },
        sort_keys=True,
    )
