"""What is refused: by every engine, and by some kinds of table, in the one list of those.

docs/engines.md is written from that list.

An engine refuses in these words. A test provokes each of them, and one that is refused without
being listed here fails its test.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    EmptyTableError,
    HierarchyError,
    MissingSensitiveError,
    MissingUnitError,
    MissingValuesError,
    PopulationError,
    TooManyClassesError,
    TooManyGroupsError,
    TooManyPatternsError,
    TooManyProfilesError,
    TooManyValuesError,
    UnseenValuesError,
    UnsupportedColumnError,
    UnsupportedFrameError,
    WeightError,
)
from anonrisk.measures.counts import question
from anonrisk.pseudonyms.pseudonym import FLOATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.change import UnseenCounts
    from anonrisk.measures.counts.question import Asks, Group
    from anonrisk.measures.recode import Recoding

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


def check_kind(kind: str | None, recoding: Recoding, name: Name) -> None:
    """Reject a recoding that is for other values than the column has."""
    if kind is not None and recoding.takes is not None and kind not in recoding.takes:
        raise UnsupportedColumnError(
            f"column {name!r} holds values of kind {kind}; "
            f"the recoding {recoding.name!r} takes {', '.join(recoding.takes)}"
        )


def check_unseen(unseen_counts: UnseenCounts) -> None:
    """Reject records with values that a hierarchy, or a plan, does not know."""
    if not unseen_counts.n_unseen:
        return
    records = count_of(unseen_counts.n_unseen, "record")
    columns = ", ".join(
        f"column {name!r} ({count_of(n, 'record')})"
        for name, n in unseen_counts.by_column.items()
        if n
    )
    raise UnseenValuesError(
        f"the hierarchy lacks values of {columns}"
        if columns
        else f"the plan has no region for {records}: none was like them when it was made"
    )


def check_k(k: int, n_records: int) -> None:
    """Reject a k that no class can have."""
    if k > n_records:
        raise ArgumentError(f"k={k} is larger than the table, which has {n_records:,} records")


def not_noisy(name: Name, kind: str) -> UnsupportedColumnError:
    """Return an error: noise is for numbers."""
    return UnsupportedColumnError(
        f"column {name!r} holds values of kind {kind}; noise is for numbers and dates"
    )


def not_markable(name: Name) -> ArgumentError:
    """Return an error: a text cannot stand among numbers with a fraction."""
    return ArgumentError(
        f"column {name!r} holds numbers with a fraction, which have no single written form beside "
        "a text: give suppressed=None (missing) or a number"
    )


def missing_unit(unit: Name, n_missing: int) -> MissingUnitError:
    """Return how many rows belong to nobody."""
    rows = count_of(n_missing, "row")
    return MissingUnitError(
        f"unit {unit!r} is missing in {rows}; every row must belong to a person"
    )


def missing_values(n_missing: Mapping[Name, int]) -> MissingValuesError:
    """Return which quasi-identifiers miss how many values."""
    counts = ", ".join(f"{name!r} in {count_of(n, 'row')}" for name, n in n_missing.items() if n)
    return MissingValuesError(
        f"quasi-identifiers are missing ({counts}) and missing='error' refuses them"
    )


def missing_sensitive(column: Name, n_missing: int) -> MissingSensitiveError:
    """Return how often a sensitive value is missing."""
    rows = count_of(n_missing, "row")
    return MissingSensitiveError(
        f"sensitive column {column!r} is missing in {rows} and missing_sensitive='error' refuses "
        "that",
        n_missing,
    )


def check_population(n_lost: int, n_short: int) -> None:
    """Reject a population that cannot be what the release was drawn from."""
    if n_lost or n_short:
        raise PopulationError(
            f"{count_of(n_lost + n_short, 'record')} of the release "
            f"{'is' if n_lost + n_short == 1 else 'are'} in classes that the population lacks "
            f"({n_lost:,}) or has fewer of than the release ({n_short:,})"
        )


def check_weights(weight: Name, n_missing: int, n_small: int) -> None:
    """Reject sampling weights that are missing or below 1."""
    if n_missing or n_small:
        raise WeightError(
            f"weight {weight!r} is missing or infinite in {count_of(n_missing, 'row')} "
            f"and below 1 in {count_of(n_small, 'row')}; a record stands for at least itself"
        )


def missing_household(household: Name, n_missing: int, role: str = "household") -> MissingUnitError:
    """Return how many rows belong to no household."""
    rows = count_of(n_missing, "row")
    return MissingUnitError(f"{role} {household!r} is missing in {rows}")


def not_a_number(weight: Name) -> WeightError:
    """Return an error: weights must be numbers."""
    return WeightError(f"weight {weight!r} is not a column of numbers")


def not_numbers(column: Name) -> UnsupportedColumnError:
    """Return an error: only numbers lie in intervals of a width."""
    return UnsupportedColumnError(
        f"column {column!r} does not hold numbers; only those have a width"
    )


def no_hierarchy(column: Name) -> ArgumentError:
    """Return an error: numbers with a fraction have no place in a hierarchy."""
    return ArgumentError(
        f"sensitive column {column!r} holds numbers with a fraction, which can be written in more "
        "than one way; a hierarchy is over text, whole numbers, dates or booleans"
    )


def not_ordered(column: Name) -> ArgumentError:
    """Return what it takes to order values that have no order of their own."""
    return ArgumentError(
        f"the values of sensitive column {column!r} have no order of their own; "
        "give order=[…], from the smallest to the largest"
    )


def unknown_values(column: Name, n_values: int, where: str) -> AnonRiskError:
    """Return how many values an order or a hierarchy misses, not which."""
    values = count_of(n_values, "value")
    kind = HierarchyError if where == "hierarchy" else ArgumentError
    return kind(f"the {where} lacks {values} of sensitive column {column!r}")


def check_ordered(column: Name, n_values: int) -> None:
    """Reject more values than an ordered distance takes."""
    if n_values > question.MAX_ORDERED:
        raise TooManyValuesError(
            f"sensitive column {column!r} has more than {question.MAX_ORDERED:,} different values; "
            "bin them before you ask for an ordered distance"
        )


def check_groups(by: Name, n_groups: int) -> None:
    """Reject more groups than a summary can hold."""
    if n_groups > question.MAX_GROUPS:
        raise TooManyGroupsError(
            f"{by!r} has more than {question.MAX_GROUPS:,} different values, "
            "the most that `by` takes"
        )


def too_many_classes(limit: int, where: str = "to the driver") -> TooManyClassesError:
    """Return an error: the classes are more than may leave an engine."""
    return TooManyClassesError(
        f"the columns have more than {limit:,} different combinations, too many to bring {where}; "
        "recode the column with most values first, or leave it out"
    )


def check_combinations(n_combinations: float, most: int) -> None:
    """Reject to join tables whose persons have more combinations of classes than are counted."""
    if n_combinations > most:
        raise TooManyClassesError(
            f"the persons of the joined tables have {n_combinations:,.0f} combinations of classes, "
            f"more than the {most:,} that are counted: make quasi-identifiers coarser, or publish "
            "fewer rows per person"
        )


def check_one_type(columns: Sequence[tuple[Name | None, str]]) -> None:
    """Reject columns whose cells cannot be the same; one that is all missing fits any."""
    kinds = {kind for _, kind in columns} - {"missing"}
    if len(kinds) > 1 or "other" in kinds:
        said = ", ".join(f"{name!r} is {kind}" for name, kind in columns)
        hint = f"; {FLOATS}" if kinds == {"integer", "float"} else ""
        raise UnsupportedColumnError(
            f"tables are joined by columns of one type, and these are not ({said}): convert{hint}"
        )


def check_shared(keys: Sequence[Name | None], n_shared: Sequence[int]) -> None:
    """Reject a table whose persons are in no other table of the link: nothing was joined then."""
    for number, (key, n_persons) in enumerate(zip(keys, n_shared, strict=True), start=1):
        if not n_persons:
            raise EmptyTableError(
                f"table {number} of the link has no value of {key!r} in common with another one: "
                "there is no join to measure; check whether the keys are written alike, or take "
                "the table out of the link"
            )


def check_patterns(n_patterns: int) -> None:
    """Reject more ways to miss columns than can be compared with each other."""
    if n_patterns > question.MAX_PATTERNS:
        raise TooManyPatternsError(
            "quasi-identifiers are missing in more than "
            f"{question.MAX_PATTERNS:,} combinations, the most that missing='wildcard' takes: "
            "give fewer columns, or missing='value'"
        )


def check_sizes(n_sizes: int) -> None:
    """Reject more sizes of overlapping classes than may leave an engine."""
    if n_sizes > question.MAX_SIZES:
        raise TooManyProfilesError(
            f"with missing='wildcard' the classes have more than {question.MAX_SIZES:,} different "
            "sizes, the most that are counted: use missing='value'"
        )


def in_order(groups: Iterable[Group]) -> list[Group]:
    """Order groups by their value, the missing one last."""
    all_ = list(groups)
    known = [group for group in all_ if not pd.isna(group.label)]
    # Values without an order of their own stay as they came; objects may raise whatever they like.
    with suppress(Exception):
        known.sort(key=lambda group: group.label)
    return known + [group for group in all_ if pd.isna(group.label)]


def unknown(asked: Asks[Any]) -> NotImplementedError:
    """Return an error: a verb of an engine does not know what it is asked."""
    return NotImplementedError(f"this engine does not answer {type(asked).__name__} here")
