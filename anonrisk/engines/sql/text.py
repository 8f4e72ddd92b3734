"""Plans and formulas are in Spark's dialect; here they become the text of a database."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.errors import ArgumentError, EngineError, UnsupportedFrameError, raise_alone

if TYPE_CHECKING:
    from anonrisk.engines.sql.dialects import Dialect
    from anonrisk.engines.sql.source import SqlSource

_OLDEST = 25
_DRAWN = {"random", "rand", "uuid"}


@lru_cache(maxsize=256)
def written(query: str, dialect: Dialect) -> str:
    """Write a query of Spark's dialect in that of a database."""
    sqlglot = _sqlglot()
    tree = dialect.rewritten(sqlglot.parse_one(query, read="spark"))
    for ordered in tree.find_all(sqlglot.exp.Ordered):
        # Written out: a session of DuckDB may have another order than ours.
        ordered.set("desc", bool(ordered.args.get("desc")))
    return str(tree.sql(dialect.sqlglot, unsupported_level=sqlglot.ErrorLevel.RAISE))


def one_query(query: str, dialect: Dialect) -> str:
    """Return a query of a caller's without what ends it; refuse more than one statement.

    It is put in parentheses, which one too many of its own would leave.
    """
    sqlglot = _sqlglot()
    wrong = "a query is one statement, with as many closing as opening parentheses"
    try:
        tokens = sqlglot.tokenize(query, read=dialect.sqlglot)
    except sqlglot.errors.SqlglotError:
        # Its message quotes the query, and that may quote cells.
        raise ArgumentError(f"{wrong}; this one cannot be read") from None
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    kinds = sqlglot.TokenType
    if not dialect.keeps_steps:
        cut = {kinds.LIMIT, kinds.FETCH, kinds.TABLE_SAMPLE}
        called = (a.text.lower() for a, b in pairwise(tokens) if b.token_type == kinds.L_PAREN)
        if not _DRAWN.isdisjoint(called) or any(token.token_type in cut for token in tokens):
            raise UnsupportedFrameError(
                f"{dialect.title} runs a query several times for one answer, and one with LIMIT, "
                "TABLESAMPLE, random() or uuid() may have other rows each time: register its "
                "result, and give that table"
            )
    depth = 0
    for token in tokens:
        depth += (token.token_type == kinds.L_PAREN) - (token.token_type == kinds.R_PAREN)
        if depth < 0 or token.token_type == kinds.SEMICOLON:
            raise ArgumentError(f"{wrong}; this one ends before its text does")
    return query[: tokens[-1].end + 1]


def _sqlglot() -> Any:
    try:
        import sqlglot
    except ImportError:
        raise _without_sqlglot() from None
    # What an older one writes has not been compared with pandas.
    version: str = sqlglot.__version__  # type: ignore[attr-defined]
    if int(version.partition(".")[0]) < _OLDEST:
        raise _without_sqlglot()
    return sqlglot


def _without_sqlglot() -> UnsupportedFrameError:
    return UnsupportedFrameError(
        f"a database is asked by way of SQLGlot {_OLDEST} or newer: pip install 'anonrisk[sql]'"
    )


def check_logarithms(table: SqlSource, query: str) -> None:
    """Reject a query that takes logarithms in an SQLite that was built without them."""
    if table.dialect.name != "sqlite" or "ln(" not in query:
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
