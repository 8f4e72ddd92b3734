"""Metrics: sizes of classes, worst scores of sensitive values, columns, a search among them.

Great Expectations computes a metric once for all expectations that ask for the same one, and
runs it three times if it raises. So nothing is raised here: what went wrong is a value like any
other, and every expectation that reads it fails with its message.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import (
    PandasExecutionEngine,
    SparkDFExecutionEngine,
    SqlAlchemyExecutionEngine,
)
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

import anonrisk
from anonrisk import column_roles
from anonrisk.column_roles import Roles
from anonrisk.columns import require
from anonrisk.engines import engine_for
from anonrisk.errors import AnonRiskError, EmptyTableError, NoColumnsError, UnsupportedFrameError
from anonrisk.policy.measure import Table
from anonrisk.policy.rules import PolicyRoles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.counts import ClassSizes
    from anonrisk.search.report import QidReport

SIZES = "anonrisk.class_sizes"
SCORES = "anonrisk.class_scores"
COLUMNS = "anonrisk.columns"
SEARCH = "anonrisk.search"
# The one argument of all: all that is asked, as JSON, so that equal questions are equal texts.
ASKED = "asked"
# Scores that need no argument of their own are taken together, so that they share one pass.
TOGETHER = ("ldiv", "entropy_ldiv", "tcloseness")


@dataclass(frozen=True)
class Measured:
    """What a metric found, or why it could not."""

    sizes: ClassSizes | None = None
    scores: dict[str, float] | None = None
    n_without_value: int = 0
    columns: tuple[str, ...] | None = None
    direct: tuple[str, ...] = ()
    renamed: str | None = None
    unnamed_labels: bool = False
    search: QidReport | None = None
    problem: str | None = None


@contextmanager
def _table(engine: Any, domain: Any) -> Iterator[Any]:
    """Give the rows of the batch that the condition keeps, as a table that anonrisk measures."""
    rows = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)[0]
    if not isinstance(engine, SqlAlchemyExecutionEngine):
        yield rows
        return
    import sqlalchemy as sa

    from anonrisk.engines.sql import SqlTable

    with engine.get_connection() as connection:
        yield SqlTable(connection, rows.subquery() if isinstance(rows, sa.Select) else rows)


def _check(table: Any, asked: dict[str, Any]) -> None:
    """Refuse columns as a policy does: not there, in the index, or changed at random."""
    engine = engine_for(table)
    columns, index = engine.columns(table), engine.index(table)
    known = Table(table, engine, columns, index, PolicyRoles(), Roles())
    known.require_columns(asked["qids"], "quasi-identifier")
    if asked["unit"] is not None:
        known.require_columns([asked["unit"]], "unit")
    if "sensitive" in asked:
        known.require_columns([asked["sensitive"]], "sensitive column")


def sizes_of(table: Any, asked: dict[str, Any]) -> Measured:
    """Count the classes."""
    _check(table, asked)
    return Measured(anonrisk.classes(table, asked.pop("qids"), **asked))


def scores_of(table: Any, asked: dict[str, Any]) -> Measured:
    """Score the classes by a sensitive column."""
    _check(table, asked)
    found = anonrisk.assess(table, **asked)
    left_out = 0
    if asked["missing_sensitive"] == "drop":
        left_out = anonrisk.classes(table, [asked["sensitive"]], missing="drop").n_dropped
    return Measured(
        found.sizes,
        {name: _plain(value) for (name, about), value in found.values.items() if about is not None},
        left_out,
    )


def columns_of(table: Any, _: dict[str, Any]) -> Measured:
    """List the columns, what is published beside them, and what the table declares direct."""
    engine = engine_for(table)
    index = (name for name in engine.index(table) if name is not None)
    columns = tuple(str(name) for name in (*engine.columns(table), *index))
    if not columns:
        raise NoColumnsError("the batch has no column")
    if not engine.has_rows(table):
        raise EmptyTableError("the batch has no records; there is nothing to publish")
    declared = engine.read_roles(table) or Roles()
    return Measured(
        columns=columns,
        direct=tuple(map(str, declared.direct)),
        renamed=column_roles.renamed_direct(declared, engine.columns(table), engine.index(table)),
        unnamed_labels=engine.unnamed_labels(table),
    )


def search_of(table: Any, asked: dict[str, Any]) -> Measured:
    """Search the columns that nobody declared for sets that single people out."""
    engine = engine_for(table)
    if engine.name == "sql":
        raise UnsupportedFrameError(
            "columns in a database are not searched: validate a pandas or Spark batch"
        )
    columns, index = engine.columns(table), engine.index(table)
    known = Table(table, engine, columns, index, PolicyRoles(), Roles())
    named = asked.pop("columns")
    if named is None:
        # An index is published as well; what is in it is required, and refused, below.
        named = [*columns, *(name for name in index if name is not None)]
    if not named:
        raise NoColumnsError("there is no column to search")
    if not engine.has_rows(table):
        raise EmptyTableError("the batch has no records; there is nothing to search")
    require([name for name in named if not known.published(name)], "column", columns)
    apart = {*asked.pop("declared"), asked["unit"]}
    searched = tuple(dict.fromkeys(name for name in named if name not in apart))
    known.require_columns([name for name in (asked["unit"],) if name is not None], "unit")
    known.require_columns(searched, "column")
    if not searched:
        return Measured(columns=())
    # A share of nothing is exceeded by every singleton, and not taken by the search.
    asked["alpha"] = asked["alpha"] or sys.float_info.min
    report = anonrisk.find_qids(table, columns=list(searched), progress=False, **asked)
    return Measured(columns=tuple(map(str, searched)), search=report)


def _plain(value: Any) -> float:
    return value if isinstance(value, int) else float(value)


def measured(measure: Any, engine: Any, domain: Any, value_kwargs: Any) -> Measured:
    """Measure a batch; errors of others are replaced, because they may quote a cell."""
    try:
        asked = json.loads(value_kwargs[ASKED])
        with _table(engine, domain) as table:
            found: Measured = measure(table, asked)
    except AnonRiskError as error:
        return Measured(problem=str(error))
    except Exception as error:  # noqa: BLE001
        return Measured(
            problem=f"the batch could not be measured ({type(error).__name__}); the message is "
            "withheld because it may quote a cell"
        )
    return found


def _provider(name: str, measure: Any) -> type[TableMetricProvider]:
    """Make a metric; Great Expectations registers it as its class is made."""

    def answer(cls: type, **asked: Any) -> Measured:  # noqa: ARG001
        return measured(
            measure,
            asked["execution_engine"],
            asked["metric_domain_kwargs"],
            asked["metric_value_kwargs"],
        )

    engines = (PandasExecutionEngine, SparkDFExecutionEngine, SqlAlchemyExecutionEngine)
    answers = {f"_on_{engine.__name__}": metric_value(engine=engine)(answer) for engine in engines}
    about = {"metric_name": name, "value_keys": (ASKED,), "__module__": __name__}
    return type(measure.__name__, (TableMetricProvider,), {**about, **answers})


METRICS = tuple(
    _provider(name, measure)
    for name, measure in (
        (SIZES, sizes_of),
        (SCORES, scores_of),
        (COLUMNS, columns_of),
        (SEARCH, search_of),
    )
)
