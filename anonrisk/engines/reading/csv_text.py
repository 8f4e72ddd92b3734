"""What a CSV file is, for every engine that reads one: rows, names, and what is refused."""

from __future__ import annotations

import csv
from itertools import islice
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.engines.reading import files, text_files
from anonrisk.errors import ArgumentError, UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted

# The most letters of a cell that Python reads unless the whole process is told otherwise.
LONGEST_CELL = 131_072
# Rows that are read at a time.
BLOCK = 50_000


@dataclass(frozen=True)
class Block:
    """Some rows of a file, column by column; every file has one, if it may be without a row."""

    part: Part
    header: list[str]  # of the first file, whatever the order in this one
    chosen: list[str]  # columns that matter, those of folders included
    cells: dict[str, tuple[str, ...]]
    n_rows: int


def blocks(parts: Sequence[Part], wanted: Wanted, text: TextFormat) -> Iterator[Block]:
    """Read CSV files, many rows at a time; every row must have as many cells as the header."""
    first: list[str] = []
    result: list[str] = []
    for part in parts:
        with files.readable(part, "CSV"), text_files.opened(part, text.encoding) as file:
            read = rows(part, file, text.sep)
            names = header(part, next(read, []), text.sep)
            if first:
                same_header(parts[0], first, part, names)
            else:
                first = names
                result = chosen(first, list(part.partitions), wanted, text)
            places = {name: names.index(name) for name in result if name in names}
            yield Block(part, first, result, {}, 0)
            for columns in _columns(part, read, len(names)):
                cells = {name: columns[place] for name, place in places.items()}
                yield Block(part, first, result, cells, len(columns[0]))


def _columns(part: Part, rows: Iterator[list[str]], width: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield many rows at a time, column by column; a row of another width is refused."""
    done = 0
    while block := list(islice(rows, BLOCK)):
        for i, row in enumerate(block, done + 1):
            if len(row) != width:
                raise wrong_width(part, f"row {i:,}", len(row), width)
        done += len(block)
        yield list(zip(*block, strict=True))


def separator(part: Part, sep: str | None) -> str:
    """Return what separates the cells of a file."""
    return sep or ("\t" if part.tabbed else ",")


def rows(part: Part, lines: Iterable[str], sep: str | None) -> Iterator[list[str]]:
    """Yield the rows; blank lines are none, where a row has more than one cell."""
    width = 0
    reader = csv.reader(lines, delimiter=separator(part, sep), strict=True)
    try:
        for row in reader:
            if row:
                width = width or len(row)
                yield row
            elif width == 1:
                raise files.blank(f"line {reader.line_num:,} of {part.shown}")
    except csv.Error:
        raise damaged(part, f", near line {reader.line_num:,}") from None


def damaged(part: Part, where: str = "") -> UnreadableTableError:
    """Return an error: a file is not written as CSV."""
    return UnreadableTableError(
        f"{part.shown} is not a CSV file, or is damaged{where}: a quotation mark is not closed, "
        f"text follows a closing one, or a cell has more than {LONGEST_CELL:,} letters"
    )


def header(part: Part, row: list[str], sep: str | None) -> list[str]:
    """Return the names of the columns, if they can be those of a table with this separator."""
    if not row:
        raise files.nameless(part)
    if len(row) == 1 and sep is None:
        for other, shown in ((";", "';'"), ("\t", r"'\t'"), ("|", "'|'")):
            if other in row[0]:
                raise ArgumentError(
                    f"{part.shown} has one column, whose name holds {shown}; if that separates "
                    f"columns say --sep {shown}, else --sep ','"
                )
    return row


def same_header(first: Part, wanted: list[str], part: Part, names: list[str]) -> None:
    """Reject a file with other columns than the first one; their order may differ."""
    files.same_columns(first, wanted, part, names)
    if sorted(names) != sorted(wanted):
        raise UnreadableTableError(
            f"the files differ: {part.shown} has some column more often than {first.shown}, or less"
        )


def wrong_width(part: Part, row: str, n_cells: int, width: int) -> UnreadableTableError:
    """Return an error: a row has too few or too many cells."""
    return UnreadableTableError(
        f"{part.shown} is damaged: {row} has {count_of(n_cells, 'cell')}, not {width} as the header"
    )


def chosen(
    names: Sequence[str], folders: Sequence[str], wanted: Wanted, text: TextFormat
) -> list[str]:
    """Find the columns that matter; each must be there once."""
    every = [*names, *folders]
    files.check_names(wanted, text.dtypes, every)
    results = [name for name in every if wanted.columns is None or name in wanted.columns]
    for name in results:
        if name in names and name in folders:
            raise files.in_folders_too(name)
        if names.count(name) > 1:
            raise UnreadableTableError(
                f"{name!r} is the name of {names.count(name)} columns of this table; "
                "give each column a name of its own"
            )
    return results
