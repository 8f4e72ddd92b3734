"""A table in files that DuckDB reads, for the engine of databases."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, get_args

import pandas as pd
import sqlalchemy as sa

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import bytes_of
from anonrisk.core.types import ScannedFormat
from anonrisk.engines.pandas.schema import PandasSchema
from anonrisk.engines.reading import files, parquet_files
from anonrisk.engines.scan import columns
from anonrisk.engines.scan.private import FileState, ScannedFiles, path_of
from anonrisk.engines.sql import SqlEngine, SqlTable
from anonrisk.engines.sql.database import guarded
from anonrisk.engines.sql.schema import SqlSchema
from anonrisk.errors import UnreadableTableError, UnsupportedColumnError
from anonrisk.measures.counts.question import InHousehold, InPopulation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.engines.reading.files import Part, TextFormat, Wanted
    from anonrisk.engines.scan.columns import Columns
    from anonrisk.engines.sql.database import Database
    from anonrisk.measures.counts.question import Asks

MEMORY = "2GB"


@dataclass(frozen=True, eq=False, repr=False)
class ScanTable(SqlTable):
    """Files of one table, read where they lie."""

    connection: ScannedFiles
    source: Any
    columns: Columns
    format: str
    attrs: Mapping[Any, Any] = field(default_factory=dict)

    @classmethod
    def opened(
        cls,
        parts: Sequence[Part],
        wanted: Wanted,
        text: TextFormat,
        *,
        format: str | None = None,  # noqa: A002
        memory: str = MEMORY,
        spill: str = "plain",
    ) -> Self:
        """Look at the files; those of CSV are read."""
        kind = files.format_of(parts, format)
        _refuse_others(parts, kind, text)
        database = ScannedFiles(list(map(FileState.of, parts)), memory=memory, spill=spill)
        try:
            attrs: dict[Any, Any] = {}
            if kind == "parquet":
                held = parquet_files.opened(parts, wanted)
                attrs = held.attrs
                with guarded("read the columns"):
                    result = columns.of_parquet(database.connection, held)
            else:
                result = columns.of_csv(parts, wanted, text, database.folder)
            with guarded("read the columns"):
                source = result.shown(database.connection)
            roles = _noted(result.names, attrs).roles
            table = cls(database, source, result, kind, attrs, roles=roles)
            if kind == "parquet":
                table._refuse_lost_rows()
            database.refuse_changed()
        except BaseException:
            database.close()
            raise
        return table

    def _refuse_lost_rows(self) -> None:
        """Compare the rows that files say they have with those that are found in them."""
        paths = [path_of(state.part) for state in self.connection.states]
        said = sa.func.parquet_file_metadata(sa.literal(paths, sa.ARRAY(sa.Text)))
        rows: Any = sa.select(sa.func.sum(sa.column("num_rows"))).select_from(said)
        result = sa.select(sa.func.count()).select_from(self.source)
        query = sa.select(rows.scalar_subquery(), result.scalar_subquery())
        ((n_said, n_found),) = self.fetch(query, "count the rows")
        if n_said != n_found:
            raise UnreadableTableError(
                f"the files say that they have {n_said:,} rows, and {n_found:,} were found in them"
            )

    @cached_property
    def database(self) -> Database:
        """What statements are sent to."""
        return self.connection

    @property
    def names(self) -> list[str]:
        """The names of the columns, repeated ones as often as they occur."""
        return self.columns.names

    @property
    def n_bytes(self) -> int:
        """How large the files are."""
        return sum(state.size for state in self.connection.states)

    def raw(self, name: Name) -> Any:
        """Return a column as it is, by its place."""
        return sa.column(f"c{self.names.index(str(name))}")

    def made(self, cells: Mapping[str, Any], rows: Any) -> Self:
        """Return a query of some rows with these columns, by their place."""
        placed = (cell.label(f"c{i}") for i, cell in enumerate(cells.values()))
        source = sa.select(*placed).select_from(rows).subquery()
        return replace(self, source=source, columns=replace(self.columns, names=list(cells)))

    def kinds(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Find the type of each column; refuse those that cannot be compared."""
        for name, role in roles.items():
            if name in self.columns.refused:
                why = self.columns.refused[str(name)]
                raise UnsupportedColumnError(f"{role} {str(name)!r} {why}")
        return super().kinds(roles)

    def close(self) -> None:
        """Let go of the files, and remove what was put down beside them."""
        self.connection.close()

    def __enter__(self) -> Self:
        """Return the table, for a block at whose end it is closed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it, whatever happened."""
        self.close()


class ScanSchema(SqlSchema):
    """What a table in files is: Parquet carries the marks that pandas or Spark noted."""

    @property
    def perturbed(self) -> Mapping[Name, str]:
        """The columns that a random step has changed, and by which."""
        return _noted(self.columns, self.frame.attrs).perturbed


class ScanEngine(SqlEngine):
    """Counts and scores tables in files."""

    def __init__(self, table: ScanTable) -> None:
        """Report what is counted, by its name, and how much of it."""
        self.name = f"scan (DuckDB), {bytes_of(table.n_bytes)}"

    def schema(self, table: SqlTable) -> ScanSchema:
        """Return what a table is."""
        return ScanSchema(table)

    def match(self, table: SqlTable, asked: Asks[Any]) -> Any:
        """Match with a population that is scanned as well, by a DuckDB that reads both."""
        match asked:
            case InPopulation(question, against) | InHousehold(question, against):
                people = against.population
                if isinstance(table, ScanTable) and isinstance(people, ScanTable):
                    with _together(table, people) as (release, population):
                        beside = replace(against, population=population)
                        return super().match(release, type(asked)(question, beside))
        return super().match(table, asked)


@contextmanager
def _together(*tables: ScanTable) -> Iterator[list[ScanTable]]:
    """Let one DuckDB read the files of several tables."""
    states = [state for table in tables for state in table.connection.states]
    first = tables[0].connection
    database = ScannedFiles(states, memory=first.memory, spill=first.spill)
    try:
        with guarded("read the columns"):
            sources = [table.columns.shown(database.connection) for table in tables]
        yield [
            replace(table, connection=database, source=source)
            for table, source in zip(tables, sources, strict=True)
        ]
    finally:
        database.close()


def _noted(names: Sequence[Name], attrs: Mapping[Any, Any]) -> PandasSchema:
    """Read what files say of their columns, as it is read of a table of pandas."""
    empty = pd.DataFrame(columns=list(names))
    empty.attrs = dict(attrs)
    return PandasSchema(empty)


def _refuse_others(parts: Sequence[Part], kind: str, text: TextFormat) -> None:
    if kind not in get_args(ScannedFormat):
        raise UnreadableTableError(
            f"files of {files.TITLES[kind]} are not scanned; read them with pandas, or write them "
            "as Parquet"
        )
    if any(str(part.path) == files.STDIN for part in parts):
        raise UnreadableTableError("a pipe is not scanned: name a file")
    files.refuse_ignored(kind, text)
