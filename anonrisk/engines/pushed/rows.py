"""Rows as a back end will make them: relational steps over a table, which nobody has run yet.

Texts are Spark's dialect of SQL over columns of ours. Spark takes them as they are, through its
DataFrame API; for a database each step becomes a named query in its own dialect. Rows that are used
twice are made once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name

    Row = Mapping[str, Any]


class PushedTable(Protocol):
    """A table that is counted where it is."""

    @property
    def typed_by_cell(self) -> bool:
        """Whether each cell has a type of its own, which is known once all were looked at."""

    @property
    def sorts_by_hash(self) -> bool:
        """Whether windows over classes sort faster by a hash of their columns."""

    def moves_first(self, records: Rows) -> bool:
        """Return whether to bring the records of a class together before anything is counted."""

    def check_types(self, roles: Mapping[Name, str], ends: Mapping[Name, tuple[Any, Any]]) -> None:
        """Reject columns by the first and the last type, in the alphabet, of their cells."""

    def group_labels(self, by: Name, labels: Sequence[Any]) -> list[Any]:
        """Return the values of a column as Python knows them."""

    def fetch_rows(self, rows: Rows, doing: str, most: int | None = None) -> list[Row]:
        """Run the steps, and bring the rows here: all, which are few, or the first so many."""

    def hold(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Return what columns hold, in the words of `engines.order`, but numbers by their kind."""

    def unlike(self, other: Any, names: Iterable[Name]) -> dict[Name, tuple[str, str]]:
        """Return columns of which rows below each other would be changed: their types, by table."""

    def beside(self, other: Any) -> Self:
        """Take another table that is asked in one statement with this one."""

    def check_logarithms(self) -> None:
        """Reject a back end that takes no logarithms."""

    def n_rows(self) -> int:
        """Count all rows."""

    def split_shares(self, rows: Rows, values: Rows, alone: Rows, column: Name) -> Rows:
        """Add `split`, `sum_r`, `sum_high` and `sum_split` of an ordered distance to pairs.

        The values of a column come twice: from the pairs, and without need of them.
        """


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with columns of ours."""

    columns: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Rows, ...]:
        """The rows that these are made of."""
        return ()

    def select(self, *kept: str, **made: str) -> Rows:
        """Keep some columns (``"*"`` is all) and make others, each by its text."""
        names = self.columns if kept == ("*",) else kept
        texts = {name: name for name in names} | made
        return Selected(tuple(texts), self, texts)

    def where(self, condition: str) -> Rows:
        """Keep the rows for which a condition holds."""
        return Filtered(self.columns, self, condition)

    def group(self, *keys: str, **sums: str) -> Rows:
        """Make one row of those that are equal in some columns; a missing value equals another."""
        return Grouped((*keys, *sums), self, keys, sums)

    def union(self, other: Rows, **made: str) -> Rows:
        """Put other rows below these; what they lack is made by a text, such as NULL.

        A NULL that stands in a step of its own has a type already, in some databases.
        """
        return United(self.columns, self, other, {name: name for name in self.columns} | made)

    def group_sets(self, sets: Sequence[Sequence[str]], *keys: str, name: str, **sums: str) -> Rows:
        """Group by each of several sets of columns beside some keys; `name` has a set's number.

        Columns that are not in a set are NULL in its rows.
        """
        columns = tuple(dict.fromkeys(column for item in sets for column in item))
        every = (name, *keys, *columns, *sums)
        return GroupedSets(every, self, tuple(map(tuple, sets)), keys, name, sums)

    def gather(self, *keys: str, entry: Sequence[str], name: str, **sums: str) -> Rows:
        """Group, with all entries of a group as one value, equal where the entries are."""
        return Gathered((*keys, name, *sums), self, keys, tuple(entry), name, sums)

    def list_pairs(self, *keys: str, entry: tuple[str, str], name: str, **sums: str) -> Rows:
        """Group, with the pairs of whole numbers of a group as one text, in order: 0:3,2:1."""
        return Listed((*keys, name, *sums), self, keys, entry, name, sums)

    def arrange(self, *keys: str) -> Rows:
        """Bring rows that are equal in some columns together; without keys all, which are few."""
        return Arranged(self.columns, self, keys)

    def total(self, name: str, text: str, keys: Sequence[str], order: str = "") -> Rows:
        """Add a sum over the rows that are equal in some columns, in an order of other windows."""
        return Totalled((*self.columns, name), self, name, text, tuple(keys), order)

    def look_up(self, few: Rows, *keys: str) -> Rows:
        """Add the columns of a few rows, of which each has its keys; one alone may be missing."""
        added = tuple(name for name in few.columns if name not in keys)
        return LookedUp((*self.columns, *added), self, few, keys, added)


@dataclass(frozen=True, eq=False)
class Cells(Rows):
    """Columns of a table under names of ours, such that missing is NULL and equal is equal."""

    table: Any
    names: Mapping[str, Name]
    roles: Mapping[Name, str]

    @classmethod
    def of(cls, table: Any, names: Mapping[str, Name], roles: Mapping[Name, str]) -> Cells:
        """Name columns of a table; their roles are for messages."""
        return cls(tuple(names), table, names, roles)


@dataclass(frozen=True, eq=False)
class Named(Rows):
    """Rows that somebody else makes, under names of ours, and calls by a name."""

    name: str


@dataclass(frozen=True, eq=False)
class Made(Rows):
    """Rows that a back end has made already, as a query of its own under names of ours.

    A few are read again sooner than kept.
    """

    query: Any
    few: bool = False


@dataclass(frozen=True, eq=False)
class _Step(Rows):
    """Rows made of others."""

    rows: Rows

    @property
    def inputs(self) -> tuple[Rows, ...]:
        """The rows that these are made of."""
        return (self.rows,)


@dataclass(frozen=True, eq=False)
class Selected(_Step):
    """Some columns, each with its text."""

    texts: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Filtered(_Step):
    """The rows for which a condition holds."""

    condition: str


@dataclass(frozen=True, eq=False)
class Grouped(_Step):
    """One row for each combination of keys, with sums."""

    keys: tuple[str, ...]
    sums: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Gathered(_Step):
    """One row for each combination of keys, with its entries as one value and sums."""

    keys: tuple[str, ...]
    entry: tuple[str, ...]
    name: str
    sums: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Listed(_Step):
    """One row for each combination of keys, with its pairs of numbers as a text and sums."""

    keys: tuple[str, ...]
    entry: tuple[str, str]
    name: str
    sums: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Arranged(_Step):
    """The same rows, such that those with equal keys are together where rows are in many places."""

    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Totalled(_Step):
    """The same rows, with a sum over those that have equal keys."""

    name: str
    text: str
    keys: tuple[str, ...]
    order: str


@dataclass(frozen=True, eq=False)
class LookedUp(_Step):
    """The same rows, with columns of others, which are few and known by their keys."""

    few: Rows
    keys: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Rows, ...]:
        """The rows that these are made of."""
        return (self.rows, self.few)


@dataclass(frozen=True, eq=False)
class Numbered(_Step):
    """The same rows, with numbers for the values `s` of a sensitive column that a caller lists.

    NULL where a value is none of those. A value is compared as a text if it has places in a
    hierarchy, and as what the column holds otherwise.
    """

    table: Any
    column: Name
    values: Sequence[Any]
    as_text: bool
    numbers: Mapping[str, Sequence[int]]

    @classmethod
    def of(
        cls,
        rows: Rows,
        table: Any,
        column: Name,
        values: Sequence[Any],
        numbers: Mapping[str, Sequence[int]],
        *,
        as_text: bool,
    ) -> Numbered:
        """Add the numbers; each has one for every value."""
        return cls((*rows.columns, *numbers), rows, table, column, values, as_text, numbers)


@dataclass(frozen=True, eq=False)
class GroupedSets(_Step):
    """Rows grouped by each of several sets of columns."""

    sets: tuple[tuple[str, ...], ...]
    keys: tuple[str, ...]
    name: str
    sums: Mapping[str, str]

    @property
    def of_sets(self) -> tuple[str, ...]:
        """Every column of a set once."""
        return tuple(dict.fromkeys(column for item in self.sets for column in item))


@dataclass(frozen=True, eq=False)
class United(_Step):
    """Rows, and others below them, of which each column is a text."""

    other: Rows
    texts: Mapping[str, str]

    @property
    def inputs(self) -> tuple[Rows, ...]:
        """The rows that these are made of."""
        return (self.rows, self.other)


def any_missing(names: Iterable[str]) -> str:
    """Write the condition that one of some columns is missing."""
    return " or ".join(f"{name} is null" for name in names) or "false"


def sum_where(condition: str, number: str) -> str:
    """Write the sum of a number over the rows for which a condition holds."""
    return f"sum(if({condition}, {number}, 0))"
