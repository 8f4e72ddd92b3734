"""Metrics: counts for a policy, what a batch publishes, a search among its columns.

Great Expectations computes a metric once for all expectations that ask for the same one, and
runs it three times if it raises. So nothing is raised here: what went wrong is a value like any
other, and every expectation that reads it fails with its message.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
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
from anonrisk.core.columns import require
from anonrisk.core.frozen import dataclass
from anonrisk.engines import engine_for
from anonrisk.errors import AnonRiskError, EmptyTableError, NoColumnsError
from anonrisk.policy import Policy
from anonrisk.policy.check import judged_alone
from anonrisk.policy.examine import examined
from anonrisk.policy.measure import CheckedTable, count, is_empty, published_by
from anonrisk.policy.terms import PolicyRoles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.measures.find_qids import QidReport
    from anonrisk.policy.doubts import Examined
    from anonrisk.policy.evidence import Problem
    from anonrisk.policy.measure import Counted
    from anonrisk.policy.release_rules import Published

COUNTS = "anonrisk.measures.counts"
COLUMNS = "anonrisk.columns"
SEARCH = "anonrisk.search"
# The one argument of all: all that is asked, as JSON, so that equal questions are equal texts.
ASKED = "asked"


@dataclass(frozen=True)
class MetricAnswer:
    """What a metric found, or why it could not."""

    counted: Counted | None = None
    published: Published | None = None
    examined: Examined | Problem | None = None
    engine: str | None = None
    empty: bool = False
    columns: tuple[str, ...] | None = None
    search: QidReport | None = None
    problem: str | None = None

    @property
    def about(self) -> dict[str, Any]:
        """What a verdict says of the batch, where nothing was counted."""
        if self.published is None:
            return {}
        return {"published": self.published.to_dict(), "engine": self.engine}


@contextmanager
def _table(engine: Any, domain: Any) -> Iterator[Any]:
    """Return the rows of the batch that the condition keeps, as a table that anonrisk measures."""
    rows = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)[0]
    if not isinstance(engine, SqlAlchemyExecutionEngine):
        yield rows
        return
    import sqlalchemy as sa

    from anonrisk.engines.sql import SqlTable

    with engine.get_connection() as connection:
        table = SqlTable(connection, rows.subquery() if isinstance(rows, sa.Select) else rows)
        with table.reading():
            yield table


def counts_of(table: Any, asked: dict[str, Any]) -> MetricAnswer:
    """Count a batch for a policy, as `Policy.check` does."""
    counted = count(Policy.from_dict(asked), table)
    return MetricAnswer(counted=counted, empty=not counted.has_rows and is_empty(table))


def columns_of(table: Any, asked: dict[str, Any]) -> MetricAnswer:
    """Return what a batch publishes, and look at what its columns hold."""
    published = published_by(table)
    if not published.names:
        raise NoColumnsError("the batch has no column")
    engine = engine_for(table)
    contents = None
    if asked.get("policy") is not None:
        policy = Policy.from_dict(asked["policy"])
        contents = examined(
            policy,
            table,
            published,
            judged_alone(policy, published),
            classified=asked["classified"],
        )
    # What cannot tell whether there is a row is a problem, and not a table that has some.
    empty = not engine.schema(table).has_rows()
    return MetricAnswer(published=published, examined=contents, engine=engine.name, empty=empty)


def search_of(table: Any, asked: dict[str, Any]) -> MetricAnswer:
    """Search the columns that nobody declared for sets that single people out."""
    engine = engine_for(table)
    published = published_by(table)
    known = CheckedTable(table, engine, published, PolicyRoles())
    named = asked.pop("columns")
    if named is None:
        # An index is published as well; what is in it is required, and refused, below.
        named = [*published.columns, *published.index]
    if not named:
        raise NoColumnsError("there is no column to search")
    if not engine.schema(table).has_rows():
        raise EmptyTableError("the batch has no records; there is nothing to search")
    absent = [name for name in named if name not in published.names]
    require(absent, "column", published.columns)
    apart = {*asked.pop("declared"), asked["unit"]}
    searched = tuple(dict.fromkeys(name for name in named if name not in apart))
    known.require_columns([name for name in (asked["unit"],) if name is not None], "unit")
    known.require_columns(searched, "column")
    about = MetricAnswer(published=published, engine=engine.name)
    if not searched:
        return replace(about, columns=())
    # A share of nothing is exceeded by every singleton, and not taken by the search.
    asked["alpha"] = asked["alpha"] or sys.float_info.min
    report = anonrisk.find_qids(table, list(searched), progress=False, **asked)
    return replace(about, columns=tuple(map(str, searched)), search=report)


def measured(measure: Any, engine: Any, domain: Any, value_kwargs: Any) -> MetricAnswer:
    """Measure a batch; errors of others are replaced, because they may quote a cell."""
    try:
        asked = json.loads(value_kwargs[ASKED])
        with _table(engine, domain) as table:
            metric_answer: MetricAnswer = measure(table, asked)
    except AnonRiskError as error:
        return MetricAnswer(problem=str(error))
    except Exception as error:  # noqa: BLE001
        return MetricAnswer(
            problem=f"the batch could not be measured ({type(error).__name__}); the message is "
            "withheld because it may quote a cell"
        )
    return metric_answer


def _provider(name: str, measure: Any) -> type[TableMetricProvider]:
    """Make a metric; Great Expectations registers it as its class is made."""

    def answer(cls: type, **asked: Any) -> MetricAnswer:  # noqa: ARG001
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
    for name, measure in ((COUNTS, counts_of), (COLUMNS, columns_of), (SEARCH, search_of))
)
