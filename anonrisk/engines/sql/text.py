"""Formulas are written in Spark's dialect; here they become the text of a database."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.errors import EngineError, UnsupportedFrameError, raise_alone

if TYPE_CHECKING:
    from anonrisk.engines.sql.table import SqlTable

_OLDEST = 25
# What SQLGlot calls the databases of `table.DIALECTS`.
_NAMES = {"sqlite": "sqlite", "duckdb": "duckdb", "postgresql": "postgres"}


@lru_cache(maxsize=256)
def written(query: str, dialect: str) -> str:
    """Write a query of Spark's dialect in that of a database."""
    try:
        import sqlglot
    except ImportError:
        raise _without_sqlglot() from None
    # What an older one writes has not been compared with pandas.
    version: str = sqlglot.__version__  # type: ignore[attr-defined]
    if int(version.partition(".")[0]) < _OLDEST:
        raise _without_sqlglot()
    tree = sqlglot.parse_one(query, read="spark")
    if dialect == "sqlite":
        tree = tree.transform(_infinite)
    return str(tree.sql(_NAMES[dialect], unsupported_level=sqlglot.ErrorLevel.RAISE))


def _without_sqlglot() -> UnsupportedFrameError:
    return UnsupportedFrameError(
        f"scores of tables in a database need SQLGlot {_OLDEST} or newer: "
        "pip install 'anonrisk[sql]'"
    )


def _infinite(node: Any) -> Any:
    """SQLite reads 'inf' as 0, and a number that is too large as infinite."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.this.is_string and node.this.name == "inf":
        return exp.Literal.number("9e999")
    return node


def check_logarithms(table: SqlTable, query: str) -> None:
    """Refuse a query that takes logarithms in an SQLite that was built without them."""
    if table.dialect != "sqlite" or "ln(" not in query:
        return
    try:
        table.fetch(sa.select(sa.func.ln(2.0), sa.func.exp(0.0)), "take a logarithm")
    except EngineError:
        raise_alone(
            UnsupportedFrameError(
                "entropy, enhanced beta and delta take logarithms, and this SQLite was built "
                "without ln and exp: use another build, or read the table into pandas or Spark"
            )
        )
