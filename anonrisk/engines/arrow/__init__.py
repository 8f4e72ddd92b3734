"""Tables that speak the Arrow stream: Polars, DuckDB relations, pyarrow and others like them.

The columns that a question names become a pandas table over the same memory, and the pandas engine
answers. A table that comes back is one of the caller's kind: columns that were not named are as
they were.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.counts.question import Against
from anonrisk.engines.arrow import cells, tables
from anonrisk.engines.pandas import PandasEngine
from anonrisk.engines.pandas.guard import guarded
from anonrisk.engines.pandas.sets import SetCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anonrisk.engines.arrow.tables import ArrowTable

# What can be told without a column, and what from the types of columns.
OF_THE_TABLE = ("index", "row_labels", "read_roles", "perturbed", "write_roles")
OF_THE_TYPES = ("check", "is_scale", "nested")


@guarded
class ArrowEngine:
    """Counts tables that speak the Arrow stream, by the pandas engine."""

    name = "arrow"
    sets_a_pass = PandasEngine.sets_a_pass

    def columns(self, frame: Any) -> Sequence[str]:
        """List the names of the columns."""
        return tables.table_of(frame).names()

    def has_rows(self, frame: Any) -> bool:
        """Tell whether there is any row."""
        return len(frame) > 0

    def with_labels(self, frame: Any, name: str) -> Any:  # noqa: ARG002
        """Give the table as it is: its rows have no labels."""
        return frame

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        """Answer like the pandas engine, whatever it is asked."""
        return partial(self.answer, getattr(PandasEngine(), verb))

    def answer(self, method: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
        """Bring over what is asked about, let the pandas engine answer, and give tables back."""
        verb, table = method.__name__, tables.table_of(frame)
        gives_table = "pd." in str(method.__annotations__.get("return"))
        if gives_table:
            if any(isinstance(one, SetCounter) for one in args):
                table.check_order(verb)
            # Read once: a second look may find the rows in another order.
            table = table.held()
        asked: Any = (args, kwargs)
        given = _given(table, verb, asked)
        given.attrs = table.attrs()
        result = method(
            given,
            *(_population(one, asked) for one in args),
            **{key: _population(one, asked) for key, one in kwargs.items()},
        )
        if isinstance(result, pd.DataFrame):
            changed = None if verb in OF_THE_TABLE else result
            return table.changed(given, changed, result.attrs)
        if isinstance(result, pd.Series):
            return table.with_columns(result.to_frame())
        if gives_table:
            return tuple(
                table.with_columns(pd.DataFrame(part))
                if isinstance(part, (pd.DataFrame, pd.Series))
                else part
                for part in result
            )
        return result


def _given(table: ArrowTable, verb: str, asked: Any) -> pd.DataFrame:
    """Bring over what is asked about, or everything where no column is named."""
    names = table.names()
    if verb in OF_THE_TABLE:
        return pd.DataFrame(columns=names)
    words = set(_words(asked))
    named = [name for name in dict.fromkeys(names) if name in words]
    if verb in OF_THE_TYPES:
        return cells.to_pandas(table.types(named or names))
    return cells.to_pandas(table.read(named or names))


def _population(argument: Any, asked: Any) -> Any:
    if not isinstance(argument, Against) or argument.population is None:
        return argument
    return replace(
        argument, population=_given(tables.table_of(argument.population), "matched", asked)
    )


def _words(asked: Any) -> Iterator[str]:
    """Find every text in what an engine is asked: names of columns are among them.

    Text that happens to be a name as well brings a column over that nobody needs.
    """
    if isinstance(asked, str):
        yield asked
    elif isinstance(asked, dict):
        yield from _words((*asked, *asked.values()))
    elif isinstance(asked, (list, tuple, set, frozenset)):
        for one in asked:
            yield from _words(one)
    elif is_dataclass(asked):
        for field in fields(asked):
            yield from _words(getattr(asked, field.name))
