"""What DuckDB is told to select: the columns of files, by their places, with the right types.

DuckDB does not tell names apart by case. Columns are therefore `c0`, `c1`, … to it.
"""
# Names of columns are ours, and paths are written as texts.
# ruff: noqa: S608

from __future__ import annotations

from dataclasses import field
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading import parquet_files
from anonrisk.engines.scan.private import path_of, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonrisk.engines.reading.files import Part
    from anonrisk.engines.reading.parquet_files import ParquetFiles

# A type that no column is compared in.
NOTHING = "CAST(NULL AS BOOLEAN[])"
NOT_READ = "was not read, because it was not requested"
_READ_ALIKE = {
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "string_view": "VARCHAR",
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "halffloat": "FLOAT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32[day]": "DATE",
    "time32[ms]": "TIME",
    "time64[us]": "TIME",
    "timestamp[ms]": "TIMESTAMP",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[ns]": "TIMESTAMP_NS",
    "binary": "BLOB",
    "large_binary": "BLOB",
    "binary_view": "BLOB",
    "null": "VARCHAR",
}


@dataclass(frozen=True)
class Columns:
    """The columns of a table, and what DuckDB selects them by.

    Attributes
    ----------
    names : list of str
        What they are called, in their order.
    query : str
        The statement that gives `c0`, `c1`, ….
    refused : dict of str to str
        Columns that cannot be compared, and why, to go on after the name.
    copies : dict of str to Dataset
        Tables of Arrow that the statement selects from, by their names in it.
    """

    names: list[str]
    query: str
    refused: dict[str, str]
    copies: dict[str, Any] = field(default_factory=dict)

    def shown(self, connection: Any) -> Any:
        """Make a view of the columns; give what SQLAlchemy selects from."""
        for name, copy in self.copies.items():
            connection.register(name, copy)
        view = f"anonrisk_{token_hex(8)}"
        connection.execute(f"CREATE TEMP VIEW {view} AS {self.query}")
        return sa.table(view)


def of_parquet(connection: Any, table: ParquetFiles) -> Columns:
    """Select from Parquet files as they lie there."""
    names = [*table.names, *table.folders]
    query = " UNION ALL ".join(_alike(table, group) for group in _groups(table))
    described = connection.execute(f"DESCRIBE {query}").fetchall()
    refused = {}
    for place, name in enumerate(table.names):
        kinds = [parquet_files.stored_type(schema.field(name).type) for schema in table.schemas]
        kind = next((kind for kind in kinds if str(kind) != "null"), kinds[0])
        if not parquet_files.is_nested(kind) and described[place][1] != _expected(kind):
            # The words are Arrow's, and hold no cell.
            refused[name] = f"is of a type, {kind}, that DuckDB may read differently from pandas"
    return Columns(names, query, refused)


def _expected(kind: Any) -> str | None:
    """Name the type of DuckDB that holds exactly the values of a type of Arrow."""
    from pyarrow import types

    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if types.is_fixed_size_binary(kind):
        return "BLOB"
    if types.is_timestamp(kind) and kind.tz is not None:
        return "TIMESTAMP WITH TIME ZONE" if kind.unit != "ns" else None
    return _READ_ALIKE.get(str(kind), "UUID" if "uuid" in str(kind) else None)


def _groups(table: ParquetFiles) -> Iterator[list[int]]:
    """Yield the files whose columns stand in the same places with the same types."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for i, schema in enumerate(table.schemas):
        key = tuple((field.name, str(parquet_files.stored_type(field.type))) for field in schema)
        groups.setdefault(key, []).append(i)
    yield from groups.values()


def _alike(table: ParquetFiles, group: Sequence[int]) -> str:
    """Select from files that are alike; what folders stand for is told by the name of a file."""
    schema = table.schemas[group[0]]
    parts = [table.parts[i] for i in group]
    places = {field.name: i for i, field in enumerate(schema)}
    cells = [
        f"{_nothing(table, name) if _is_null(schema, name) else f'x{places[name]}'} AS c{i}"
        for i, name in enumerate(table.names)
    ]
    paths = ", ".join(text(path_of(part)) for part in parts)
    options = "hive_partitioning = false, union_by_name = false, binary_as_string = false"
    columns = ", ".join(f"x{i}" for i in range(len(places)))
    if not table.folders:
        return f"SELECT {', '.join(cells)} FROM read_parquet([{paths}], {options}) AS t({columns})"
    cells += [f"f{i} AS c{len(cells) + i}" for i in range(len(table.folders))]
    # DuckDB refuses a name that a column of the files has.
    file = f"anonrisk_{token_hex(8)}"
    rows = ", ".join(_row(part) for part in parts)
    keys = ", ".join(["name", *(f"f{i}" for i in range(len(table.folders)))])
    return (
        f"SELECT {', '.join(cells)} FROM read_parquet([{paths}], {options}, "
        f"filename = '{file}') AS t({columns}, file) "
        f"JOIN (VALUES {rows}) AS folders({keys}) ON folders.name = t.file"
    )


def _is_null(schema: Any, name: str) -> bool:
    return str(schema.field(name).type) == "null"


def _nothing(table: ParquetFiles, name: str) -> str:
    """Select nothing for a column without a type, of that which it has in other files."""
    everywhere = all(_is_null(schema, name) for schema in table.schemas)
    return "CAST(NULL AS VARCHAR)" if everywhere else "NULL"


def _row(part: Part) -> str:
    """Write the name of a file, and what its folders stand for, as a row."""
    cells = [str(part.path.absolute()), *part.partitions.values()]
    return f"({', '.join(f'CAST({text(cell)} AS VARCHAR)' for cell in cells)})"
