"""Tables that speak the Arrow stream: Polars, DuckDB relations, pyarrow and others like them.

Also what stands around one: narwhals frames, and tables that are held with their roles.

What is counted is counted from codes of the columns that a question names. For all else these
become a pandas table over the same memory, and the pandas engine answers. A table that comes back
is one of the caller's kind: columns that were not named are as they were.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core.column_roles import Roles
from anonrisk.engines.arrow import cells
from anonrisk.engines.arrow.kinds import table_of
from anonrisk.engines.held import ROLES_KEY, HeldTable
from anonrisk.engines.pandas import PandasEngine, encode
from anonrisk.engines.pandas.encode import refuse_nested, remembered
from anonrisk.engines.pandas.schema import COLUMNS_KEY, PandasSchema, guarded
from anonrisk.engines.reading.storage import n_unused
from anonrisk.errors import EngineError
from anonrisk.measures.counts import question as questions
from anonrisk.measures.counts.change import LabelsAsColumns, LeaveOut, MinimalUniques, RowsAmong
from anonrisk.measures.counts.keyed import KeyedTally, SketchTally
from anonrisk.measures.counts.schema import Schema, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.arrow.tables import ArrowTable
    from anonrisk.measures.counts.change import Change

# Verbs that give tables back.
GIVE_TABLES = ("annotate", "keep", "rewrite")
# What the pandas engine answers from codes, and a few cells, alone.
FROM_CODES = (
    questions.Question,
    questions.ByGroup,
    questions.WholePersons,
    questions.ClassesWithValues,
    questions.ClassesOfSets,
    questions.SumsOfWeights,
    questions.IfIndependent,
    questions.InPopulation,
    questions.InHousehold,
    KeyedTally,
    SketchTally,
)


@guarded
class ArrowSchema(Schema):
    """What a table that speaks the Arrow stream is, as pandas sees its types."""

    @property
    def columns(self) -> Qid:
        """The names of the columns."""
        return tuple(table_of(self.frame).names())

    @property
    def roles(self) -> Roles | None:
        """The roles that the table carries."""
        stored = table_of(self.frame).attrs().get(ROLES_KEY)
        return None if stored is None else Roles.from_dict(stored)

    @property
    def perturbed(self) -> Mapping[Name, str]:
        """The columns that a random step has changed."""
        return _without_columns(self.frame).perturbed

    def check(self, roles: Mapping[Name, str]) -> None:
        """Reject types that have no equality."""
        for name, column in self._types(roles).items():
            refuse_nested(cells.dtype(column), name, roles[name])

    def nested(self) -> Sequence[str]:
        """List the paths inside structs."""
        table = table_of(self.frame)
        return PandasSchema(cells.to_pandas(table.types(table.names()))).nested()

    def stored(self) -> Stored:
        """Count the values that dictionaries list, as those of categories, and no row has."""
        table = table_of(self.frame)
        empty = table.types(names := list(dict.fromkeys(table.names())))
        listing = [name for name in names if cells.lists_values(empty[name])]
        read = table.read(listing) if listing else {}
        results = {name: n for name, column in read.items() if (n := n_unused(column))}
        return Stored(results, remedy=_remedy(self.frame, list(results)))

    def has_rows(self) -> bool:
        """Return whether there is any row."""
        return table_of(self.frame).has_rows()

    def scale_of(self, column: Name) -> str | None:
        """Look at the type."""
        return encode.scale_of(cells.series(self._types([column])[column]))

    def largest_whole(self, column: Name) -> float | None:
        """Look at all values."""
        return self._of_cells(column).largest_whole(column)

    def is_whole(self, column: Name) -> bool:
        """Look at all values."""
        return self._of_cells(column).is_whole(column)

    def is_text(self, column: Name) -> bool:
        """Look at the first known value."""
        return self._of_cells(column).is_text(column)

    def _types(self, named: Iterable[Any]) -> Mapping[Any, Any]:
        names = list(named)
        # Of no columns, DuckDB makes no query.
        return table_of(self.frame).types(names) if names else {}

    def _of_cells(self, column: Any) -> PandasSchema:
        return PandasSchema(cells.to_pandas(table_of(self.frame).read([column])))


def _remedy(frame: Any, columns: list[str]) -> str:
    """Write the line that takes unused values out of the first column."""
    if not columns:
        return ""
    name, others = columns[0], "" if len(columns) == 1 else ", and the others likewise"
    library = type(frame).__module__.partition(".")[0]
    if library == "polars":
        return f"df = df.with_columns(pl.col({name!r}).cast(pl.String)){others}"
    if library == "pyarrow":
        plain = f"t[{name!r}].cast(t[{name!r}].type.value_type)"
        place = f"t.schema.get_field_index({name!r})"
        return f"t = t.set_column({place}, {name!r}, {plain}){others}"
    return f"give {name!r} a type that lists no values{others}"


@guarded
class ArrowEngine:
    """Counts tables that speak the Arrow stream, by the pandas engine."""

    name = "arrow"
    sets_a_pass = PandasEngine.sets_a_pass

    def schema(self, frame: Any) -> ArrowSchema:
        """Return what a table is."""
        return ArrowSchema(frame)

    def with_roles(self, frame: Any, roles: Roles) -> Any:
        """Return a table that carries these roles, where its kind can."""
        attrs = PandasEngine().with_roles(_without_columns(frame).frame, roles).attrs
        return table_of(frame).changed(None, pd.DataFrame(), attrs)

    def hold(self, frame: Any) -> HeldTable[Any]:
        """Hold a table together with what it says of its columns."""
        return frame if isinstance(frame, HeldTable) else HeldTable(frame, table_of(frame).attrs())

    def rewrite(self, frame: Any, change: Change) -> Any:
        """Return a table with other cells; rows have no labels to bring back."""
        if isinstance(change, LabelsAsColumns):
            return frame
        if isinstance(change, LeaveOut):
            return table_of(frame).held().without(change.columns)
        if isinstance(change, RowsAmong):
            return table_of(frame).mixed(table_of(change.other), change.seed)
        return self.answer("rewrite", frame, change)

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        """Answer like the pandas engine, whatever it is asked."""
        if not hasattr(PandasEngine, verb):
            raise AttributeError(verb)
        return partial(self.answer, verb)

    def answer(self, verb: str, frame: Any, *asked: Any) -> Any:
        """Bring over what is asked about, let the pandas engine answer, and give tables back."""
        method, table = getattr(PandasEngine(), verb), table_of(frame)
        if verb in GIVE_TABLES:
            if any(isinstance(item, MinimalUniques) for item in asked):
                table.check_order()
            # Read once: a second look may find the rows in another order.
            table = table.held()
        if isinstance(asked[0], FROM_CODES):
            # A query may give its rows in another order the next time.
            known = remembered(frame) if table.in_memory else {}
            coded = table.coded(_named(table, asked), known)
            return method(coded, *(_with_population(item, asked) for item in asked))
        value = cells.to_pandas(_asked_columns(table, asked))
        value.attrs = table.attrs()
        result = method(value, *asked)
        if isinstance(result, pd.DataFrame):
            attrs = result.attrs
            if COLUMNS_KEY in attrs and COLUMNS_KEY not in value.attrs:
                # pandas has seen no more than the columns that were named.
                attrs = {**attrs, COLUMNS_KEY: table.names()}
            return table.changed(*_difference(table, verb, value, result), attrs)
        if isinstance(result, pd.Series):
            return table.with_columns(result.to_frame())
        if verb in GIVE_TABLES:
            return tuple(
                table.with_columns(pd.DataFrame(part))
                if isinstance(part, (pd.DataFrame, pd.Series))
                else part
                for part in result
            )
        return result


def _without_columns(frame: Any) -> PandasSchema:
    """Return what a table says of itself."""
    table = table_of(frame)
    empty = pd.DataFrame(columns=table.names())
    empty.attrs = table.attrs()
    return PandasSchema(empty)


def _asked_columns(table: ArrowTable, asked: Any) -> Mapping[str, Any]:
    """Read what is asked about, or everything where no column is named."""
    return table.read(_named(table, asked))


def _named(table: ArrowTable, asked: Any) -> list[str]:
    names, words = table.names(), set(_words(asked))
    return [name for name in dict.fromkeys(names) if name in words] or names


def _difference(
    table: ArrowTable, verb: str, value: pd.DataFrame, result: pd.DataFrame
) -> tuple[Any, pd.DataFrame]:
    """Return the numbers of the rows that are left, if not all are, and the columns to write."""
    if not set(value.columns) <= set(result.columns):
        raise EngineError("a column was lost on the way back")
    rows = None if np.array_equal(value.index, result.index) else result.index.to_numpy()
    if verb != "keep":
        return rows, result
    # Records are kept as they are, but for the categories that none of them has any more.
    seen = [isinstance(value[name].dtype, pd.CategoricalDtype) for name in value]
    coded = [
        name
        for name, categories in zip(map(str, value), seen, strict=True)
        if (value[name].dtype != result[name].dtype if categories else table.has_dictionary(name))
    ]
    return rows, result[coded]


def _with_population(item: Any, asked: Any) -> Any:
    """Bring over the population that a question is about, too."""
    against = getattr(item, "against", None)
    if against is None or against.population is None:
        return item
    table = table_of(against.population)
    population = table.coded(_named(table, asked), {})
    return replace(item, against=replace(against, population=population))


def _words(asked: Any) -> Iterator[str]:
    """Find every text in what an engine is asked: names of columns are among them.

    Text that happens to be a name as well brings a column over that nobody needs.
    """
    if isinstance(asked, str):
        yield asked
    elif isinstance(asked, dict):
        yield from _words((*asked, *asked.values()))
    elif isinstance(asked, (list, tuple, set, frozenset)):
        for item in asked:
            yield from _words(item)
    elif is_dataclass(asked):
        for field in fields(asked):
            yield from _words(getattr(asked, field.name))
