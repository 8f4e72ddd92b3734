"""Pseudonyms on Spark, by the one function of ours that executors run.

HMAC written in SQL would put the padded key into every plan, log and page of the UI; a pandas
function needs pandas on the executors, one of our modules needs anonrisk there. A nested plain
function needs Python's standard library only, and travels with the subkey of pseudonyms inside, as
bytes that Spark neither prints nor logs. The key itself stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines.spark.clock import clock, instant, whole_part
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.rewrite import refusing
from anonrisk.pseudonyms.pseudonym import pseudonym_maker, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from anonrisk.pseudonyms.pseudonym import Pseudonymisation

_TEXT = ("string", "char", "varchar")
_WHOLE = ("byte", "short", "integer", "long")


def pseudonymize(frame: DataFrame, step: Pseudonymisation) -> DataFrame:
    """Return the table with one column replaced; lazy."""
    with guarded("make the pseudonyms"):
        projection = Projection.of(frame)
        f = projection.functions
        value = _canonical(projection, step)
        made = f.udf(_function(step), "string", useArrow=False)(value, _period(projection, step))
        position = projection.names.index(str(step.column))
        metadata = projection.fields[position].metadata
        columns = [f.col(name) for name in projection.table.columns]
        columns[position] = made.alias(f"c{position}", metadata=metadata)
        return projection.table.select(*columns).toDF(*projection.names)


def _function(step: Pseudonymisation) -> Callable[[str | None, str | None], str | None]:
    """Make the function that executors run: nested, so that it travels by value, and plain."""
    make = pseudonym_maker(step)

    def pseudonym(value: str | None, period: str | None) -> str | None:
        return None if value is None else make(value.encode(), (period or "").encode())

    return pseudonym


def _canonical(projection: Projection, step: Pseudonymisation) -> Any:
    """Return the letter and the text of each value; NULL where it is missing."""
    f = projection.functions
    column = projection.column(step.column)
    kind = projection.fields[projection.names.index(str(step.column))].dataType.typeName()
    if kind in _TEXT or kind == "void":
        return f.concat(f.lit("s"), column)
    if kind in _WHOLE:
        return f.concat(f.lit("i"), column.cast("string"))
    if kind == "date":
        return f.concat(f.lit("d"), column.cast("string"))
    if kind in ("timestamp", "timestamp_ntz"):
        return f.concat(f.lit("t"), instant(projection, step.column).cast("string"))
    raise refused(step.column, kind)


def _period(projection: Projection, step: Pseudonymisation) -> Any:
    """Name the period of each record."""
    f = projection.functions
    if step.time is None or step.every is None:
        return f.lit(None).cast("string")
    time = clock(projection, step.time, calendar=not step.by_records)
    value = projection.column(step.column)
    number: Any = time
    if step.by_records:
        earlier = projection.window.partitionBy(value).orderBy(time)
        number = f.rank().over(earlier) - f.lit(1)
    number = whole_part(f, number, step.every)
    label = f.concat(f.lit(step.period_label(0).removesuffix("0")), number.cast("string"))
    lacking = time.isNull() & value.isNotNull()
    return refusing(projection, lacking, f"time {step.time!r} is missing", label)
