"""CSV and JSON lines to columns, without guessing what a cell means.

Cells of a CSV file are text unless the caller says otherwise: 01234 keeps its zero, 250.10 and
250.1 are two diagnoses, NA is a country.
"""

from __future__ import annotations

import json
import re
from array import array
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.reading import csv_text, files, text_files
from anonrisk.errors import UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted

    Columns: TypeAlias = list[tuple[str, Any]]
    Progress: TypeAlias = Callable[[int], None]

_BLOCK = 50_000
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Whole numbers above this are not all floats.
_EXACT = 2**53


class _Codes(dict[str, int]):
    """A number for each different text, in the order they come; missing ones have -1."""

    def __init__(self, na: Sequence[str]) -> None:
        """Begin with the texts that mean missing."""
        super().__init__(dict.fromkeys(("", *na), -1))
        self.values_seen: list[str] = []
        self.codes = array("q")

    def __missing__(self, text: str) -> int:
        self[text] = code = len(self.values_seen)
        self.values_seen.append(text)
        return code


def csv(
    parts: Sequence[Part], wanted: Wanted, text: TextFormat, progress: Progress
) -> tuple[Columns, int]:
    """Read CSV files; every row must have as many cells as the header."""
    header: list[str] = []
    read: dict[str, _Codes] = {}
    n_rows = 0
    for part in parts:
        with files.readable(part, "CSV"), text_files.opened(part, text.encoding) as file:
            rows = csv_text.rows(part, file, text.sep)
            names = csv_text.header(part, next(rows, []), text.sep)
            if header:
                csv_text.same_header(parts[0], header, part, names)
            else:
                header = names
                read = _columns_to_read(part, header, wanted, text)
            places = {name: names.index(name) for name in read if name in names}
            before = n_rows
            for block in _blocks(part, rows, len(names)):
                for name, place in places.items():
                    read[name].codes.extend(map(read[name].__getitem__, block[place]))
                n_rows += len(block[0])
                progress(n_rows)
            for key in part.partitions.keys() & read.keys():
                code = read[key][part.partitions[key] or ""]
                read[key].codes.extend([code] * (n_rows - before))
    cells = {}
    for name, codes in read.items():
        kind = "date" if name in wanted.dates else "text"
        kind = "number" if name in wanted.numbers else kind
        # What is measured on a scale, as a weight, need not be told apart by its last digits.
        exact = name not in wanted.numbers
        cells[name] = _typed(name, codes, text.dtypes.get(name, kind), exact=exact)
    return [(name, cells.get(name)) for name in [*header, *parts[0].partitions]], n_rows


def json_lines(
    parts: Sequence[Part], wanted: Wanted, text: TextFormat, progress: Progress
) -> tuple[Columns, int]:
    """Read files of one JSON object a line; a key that a line lacks is a missing value."""
    missing = {"", *text.na} if text.na else set()
    names: dict[str, None] = {}
    columns: dict[str, list[Any]] = {}
    n_rows = 0

    def put(name: str, cell: Any) -> None:
        # What an object holds is published by name too, whoever asks for it.
        nested = isinstance(cell, (dict, list))
        if wanted.columns is None or name in wanted.columns or nested or name in columns:
            cells = columns.setdefault(name, [])
            cells.extend([None] * (n_rows - len(cells)))
            cells.append(None if isinstance(cell, str) and cell in missing else cell)

    for part in parts:
        with files.readable(part, "JSON lines"), text_files.opened(part, text.encoding) as file:
            for row in _objects(part, file):
                names.update(dict.fromkeys(row))
                for name, cell in row.items():
                    put(name, cell)
                n_rows += 1
                if n_rows % _BLOCK == 0:
                    progress(n_rows)
    files.check_names(wanted, {}, names)
    for cells in columns.values():
        cells.extend([None] * (n_rows - len(cells)))
    made = {name: _of_objects(cells) for name, cells in columns.items()}
    return [(name, made.get(name)) for name in names], n_rows


# ---- CSV ------------------------------------------------------------------------------------


def _columns_to_read(
    part: Part, header: list[str], wanted: Wanted, text: TextFormat
) -> dict[str, _Codes]:
    chosen = csv_text.chosen(header, list(part.partitions), wanted, text)
    return {name: _Codes(text.na if name in header else ()) for name in chosen}


def _blocks(part: Part, rows: Iterator[list[str]], width: int) -> Iterator[list[tuple[str, ...]]]:
    """Give many rows at a time, column by column; a row of another width is refused."""
    done = 0
    while block := list(islice(rows, _BLOCK)):
        for i, row in enumerate(block, done + 1):
            if len(row) != width:
                raise csv_text.wrong_width(part, f"row {i:,}", len(row), width)
        done += len(block)
        yield list(zip(*block, strict=True))


def _typed(name: str, read: _Codes, kind: str, *, exact: bool) -> Any:
    codes = np.frombuffer(read.codes, dtype=np.int64) if read.codes else np.empty(0, np.int64)
    if kind == "text":
        categories = pd.Index(read.values_seen, dtype=object)
        return pd.Categorical.from_codes(codes.astype(np.int32), categories=categories)
    cells: Any = [_number(text) if kind == "number" else _day(text) for text in read.values_seen]
    bad = {i for i, cell in enumerate(cells) if cell is None}
    if bad:
        raise files.not_all(name, kind, int(np.isin(codes, list(bad)).sum()))
    missing = codes < 0
    if kind == "date":
        days = np.array([*cells, "NaT"], dtype="datetime64[s]")
        return pd.array(days[codes])
    whole = all(isinstance(cell, int) for cell in cells)
    if whole:
        return pd.arrays.IntegerArray(np.array([*cells, 0], dtype=np.int64)[codes], missing)
    if exact:
        lost = [i for i, text in enumerate(read.values_seen) if not _is_float(text)]
        if lost:
            raise files.not_exact(name, int(np.isin(codes, lost).sum()))
    return pd.arrays.FloatingArray(np.array([*cells, 0], dtype=np.float64)[codes], missing)


def _number(text: str) -> int | float | None:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return None


def _is_float(text: str) -> bool:
    """Tell whether a float keeps a number apart from all others: if it is written with its digits.

    The shortest way to write a float has the digits of every number of up to 15 digits.
    """
    return files.digits(text) == files.digits(repr(float(text)))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


# ---- JSON lines -----------------------------------------------------------------------------


def _objects(part: Part, file: Any) -> Iterator[dict[str, Any]]:
    """Give the object of each line, with the columns that the folders stand for."""
    for number, line in enumerate(file, 1):
        # JSON knows no other white space.
        if line.strip(" \t\r\n"):
            found = _object(part, line, number)
            for key in part.partitions:
                if key in found:
                    raise files.in_folders_too(key)
            yield {**found, **part.partitions}


def _object(part: Part, line: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_pairs, parse_constant=_constant)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        hint = ""
        if number == 1 and line.lstrip().startswith("["):
            hint = "; it seems to be one JSON array: write one object a line"
        raise UnreadableTableError(
            f"line {number:,} of {part.shown} is not one JSON object with each key once{hint}"
        )
    return found


def _constant(name: str) -> float | None:
    """Read what is no JSON but often written: infinity is a value, NaN is a missing one."""
    return None if name == "NaN" else float(name)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _of_objects(cells: list[Any]) -> pd.Series[Any]:
    """Make a column; 1 and 1.0 are one number in JSON, and true is none."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int} and all(-(2**63) <= cell < 2**63 for cell in cells if cell is not None):
        return pd.Series(cells, dtype="Int64")
    exact = all(abs(cell) <= _EXACT for cell in cells if type(cell) is int)
    if kinds and kinds <= {int, float} and exact:
        return pd.Series(cells, dtype="Float64")
    return pd.Series(cells, dtype=object)
