"""What kinds of table are not asked for: the one list, from which docs/engines.md is written.

An engine refuses in these words. A test provokes each of them, and one that is refused without
being listed here fails its test.
"""

from __future__ import annotations

from anonrisk.core.frozen import dataclass
from anonrisk.errors import UnsupportedFrameError

# Kinds of table, as docs/engines.md calls them.
TABLES = (
    *("pandas", "Polars", "Polars, lazy", "narwhals", "pyarrow", "DuckDB relation"),
    *("Spark", "pandas-on-Spark", "DuckDB, PostgreSQL", "DataFusion", "SQLite", "scan"),
)
_WITHOUT_ROLES = ("Polars", "Polars, lazy", "narwhals", "DuckDB relation")
_DATABASES = ("DuckDB, PostgreSQL", "DataFusion", "SQLite", "scan")
# SQLite has no type of dates.
_WITH_DATES = ("DuckDB, PostgreSQL", "DataFusion", "scan")

_READ = "read the table into pandas or Spark"
_CHANGES = "returns a changed table, and anonrisk writes nothing to a database"
_VISITS = "compares the records of each person with those of all others, one by one"
# Words that change a table, or follow persons through it, and what to do instead.
_WORDS = {
    "apply": (_CHANGES, f"run the query that plan.to_sql() writes, or {_READ}"),
    **dict.fromkeys(("generalize", "microaggregate"), (_CHANGES, _READ)),
    **dict.fromkeys(("perturb", "permute", "pseudonymize"), (_CHANGES, _READ)),
    **dict.fromkeys(("trajectory", "linkability"), (_VISITS, _READ)),
}


def _not_asked(what: str) -> str:
    return f"{what} not available from a database, which only counts and scores: {_READ}"


OTHER_CELLS = _not_asked("a table with other cells is")
WILDCARD = _not_asked("missing='wildcard' is")
LIMITS = _not_asked("the records of classes that break a limit of l or t are")
SQLITE_STATE = (
    "a state is not available from SQLite, which has no types for dates, instants, decimals and "
    f"booleans: {_READ}"
)
NO_PLACES = (
    "which a database may write in more than one way, so that they cannot be looked up in an order "
    f"or a hierarchy; {_READ}"
)
NO_ROLES = (
    "cannot carry roles, nor the marks of columns that were changed at random: "
    "anonrisk.table(x, quasi=[…], …) holds both, and is accepted like the table itself"
)
LAZY_ROWS = (
    "suda gives a number to each row, and the rows of a LazyFrame may come in another "
    "order each time; give it the table as collect()"
)
RELATION_ROWS = (
    "suda gives a number to each row, and the rows of a DuckDB relation have no order; "
    "give it the table as to_arrow_table()"
)
ROWS_READ_AGAIN = (
    "suda gives a number to each row, and DataFusion, which reads a table for each use of it, may "
    f"give another one the next time; {_READ}"
)
CATEGORICAL = (
    "is categorical, which pandas-on-Spark keeps as codes; convert it, for example with astype(str)"
)
STREAM = "a streaming table has no end to count to; take a batch of it"
SQLFRAME = (
    "a table of SQLFrame supports only the sizes of classes and what follows from them: query the "
    "database itself with anonrisk.sql.table, or use Spark"
)


@dataclass(frozen=True)
class Refusal:
    """A word, or a use of one, that some kinds of table are not asked for, and what they say."""

    asked: str
    tables: tuple[str, ...]
    sentence: str


REFUSED = (
    *(
        Refusal(
            word,
            _DATABASES,
            f"{word!r} is not available for a table in a database: it {why}; {instead}",
        )
        for word, (why, instead) in _WORDS.items()
    ),
    Refusal("kl_after", _DATABASES, OTHER_CELLS),
    *(Refusal(word, ("SQLite",), SQLITE_STATE) for word in ("compare", "sketch", "state")),
    *(Refusal(word, _WITHOUT_ROLES, NO_ROLES) for word in ("declare", "permute", "perturb")),
    Refusal("suda", ("Polars, lazy",), LAZY_ROWS),
    Refusal("suda", ("DuckDB relation",), RELATION_ROWS),
    Refusal("suda", ("DataFusion",), ROWS_READ_AGAIN),
    Refusal("missing='wildcard'", _DATABASES, WILDCARD),
    Refusal("at_risk(l=), at_risk(t=)", _DATABASES, LIMITS),
    Refusal("suppress(cells=True)", _DATABASES, OTHER_CELLS),
    Refusal("predict_singletons(widths=)", _DATABASES, OTHER_CELLS),
    Refusal("predict_classes(widths=)", _DATABASES, OTHER_CELLS),
    Refusal("order= of decimals or instants", _WITH_DATES, NO_PLACES),
    Refusal("hierarchies= of dates", _WITH_DATES, NO_PLACES),
    Refusal("a categorical column", ("pandas-on-Spark",), CATEGORICAL),
    Refusal("a stream", ("Spark",), STREAM),
    Refusal("all but sizes of classes", ("SQLFrame",), SQLFRAME),
)


def refused(sentence: str) -> UnsupportedFrameError:
    """Make the error of a kind of table that is not asked for something."""
    return UnsupportedFrameError(sentence)


def refuse_word(word: str) -> None:
    """Reject a word that no database is asked for, before any statement is sent."""
    if word in _WORDS:
        raise refused(next(each.sentence for each in REFUSED if each.asked == word))
