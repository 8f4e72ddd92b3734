"""Files to a pandas table, and back."""

from __future__ import annotations

import gzip
import io
import json
import os
from array import array
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import pandas as pd

from anonrisk.engines.pandas.schema import without_unused
from anonrisk.engines.reading import files, parquet_files, raw_files, text_files
from anonrisk.engines.reading.files import TITLES
from anonrisk.engines.reading.raw_files import whole_file
from anonrisk.errors import UnreadableTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from anonrisk.engines.reading.files import Inferred, Part, TextFormat, Wanted

    Columns: TypeAlias = list[tuple[str, Any]]
    Progress: TypeAlias = Callable[[int], None]

# Cells of a CSV file are text unless the caller says otherwise: 01234 keeps its zero, 250.10 and
# 250.1 are two diagnoses, NA is a country.

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
    parts: Sequence[Part], wanted: Wanted, text: TextFormat, progress: Progress, inferred: Inferred
) -> tuple[Columns, int]:
    """Read CSV files; every row must have as many cells as the header."""
    header: list[str] = []
    read: dict[str, _Codes] = {}
    n_rows = 0
    for block in text_files.blocks(parts, wanted, text):
        if not header:
            header = block.header
            read = {name: _Codes(text.na if name in header else ()) for name in block.chosen}
        with files.readable(block.part, "CSV"):
            for name, cell in block.cells.items():
                read[name].codes.extend(map(read[name].__getitem__, cell))
            for key in block.part.partitions.keys() & read.keys():
                code = read[key][block.part.partitions[key] or ""]
                read[key].codes.extend([code] * block.n_rows)
        n_rows += block.n_rows
        progress(n_rows)
    for name in _open(wanted, text, read):
        values = read[name].values_seen
        kind = text_files.inferred(values)
        if kind != "text" or (values and text_files.seems_number(values)):
            inferred.kinds[name] = kind
            if kind == "text" and any(map(text_files.is_code, values)):
                inferred.codes.add(name)
    made = {
        # What is measured on a scale, as a weight, need not be told apart by its last digits.
        name: _typed_cells(
            name,
            codes,
            inferred.kinds.get(name) or text_files.kind_of(name, wanted, text),
            exact=name not in wanted.numbers,
        )
        for name, codes in read.items()
    }
    inferred.short |= {
        name
        for name, cells in made.items()
        if isinstance(cells, pd.arrays.FloatingArray)
        and text_files.is_short(read[name].values_seen)
    }
    for name, cells in made.items():
        if cells.dtype.kind in "if" and text_files.inferred(read[name].values_seen) != "number":
            inferred.written[name] = pd.Series(_typed_cells(name, read[name], "text", exact=True))
    return [(name, made.get(name)) for name in [*header, *parts[0].partitions]], n_rows


def _open(wanted: Wanted, text: TextFormat, columns: Iterable[str]) -> list[str]:
    """List the columns that nobody has said the type of, and whose cells are to tell it."""
    said = {*text.dtypes, *wanted.numbers, *wanted.dates, *wanted.texts}
    return [
        name
        for name in columns
        if name not in said and (wanted.inferred is None or name in wanted.inferred)
    ]


def json_lines(
    parts: Sequence[Part],
    wanted: Wanted,
    text: TextFormat,
    progress: Progress,
    inferred: Inferred,  # noqa: ARG001
) -> tuple[Columns, int]:
    """Read files of one JSON object per line; a key that a line lacks is a missing value."""
    missing, folders = set(text.na), parts[0].partitions
    names: dict[str, None] = {}
    columns: dict[str, list[Any]] = {}
    n_rows = 0

    def put(name: str, cell: Any) -> None:
        # What an object holds is published by name too, whoever asks for it.
        nested = isinstance(cell, (dict, list))
        if wanted.columns is None or name in wanted.columns or nested or name in columns:
            cells = columns.setdefault(name, [])
            cells.extend([None] * (n_rows - len(cells)))
            absent = isinstance(cell, str) and cell in missing and name not in folders
            cells.append(None if absent else cell)

    for part in parts:
        with files.readable(part, "JSON lines"), text_files.opened(part, text.encoding) as file:
            for row in _objects(part, file):
                names.update(dict.fromkeys(row))
                for name, cell in row.items():
                    put(name, cell)
                n_rows += 1
                if n_rows % text_files.BLOCK == 0:
                    progress(n_rows)
    files.check_names(wanted, {}, names)
    for cells in columns.values():
        cells.extend([None] * (n_rows - len(cells)))
    for name in wanted.numbers & columns.keys():
        cells = columns[name]
        columns[name] = [
            float(cell) if isinstance(cell, NumberWithTooManyDigits) else cell for cell in cells
        ]
    made = {name: _of_objects(cells) for name, cells in columns.items()}
    return [(name, made.get(name)) for name in names], n_rows


# ---- CSV ------------------------------------------------------------------------------------


def _typed_cells(name: str, read: _Codes, kind: str, *, exact: bool) -> Any:
    codes = np.frombuffer(read.codes, dtype=np.int64) if read.codes else np.empty(0, np.int64)
    if kind == "text":
        categories = pd.Index(read.values_seen, dtype=object)
        return pd.Categorical.from_codes(codes.astype(np.int32), categories=categories)
    source = text_files.number if kind == "number" else text_files.day
    values: Any = [source(text) for text in read.values_seen]
    bad = {i for i, cell in enumerate(values) if cell is None}
    if bad:
        raise files.not_all(name, kind, int(np.isin(codes, list(bad)).sum()))
    missing = codes < 0
    if kind == "date":
        days = np.array([*values, "NaT"], dtype="datetime64[s]")
        return pd.array(days[codes])
    whole = all(isinstance(cell, int) for cell in values)
    if whole:
        return pd.arrays.IntegerArray(np.array([*values, 0], dtype=np.int64)[codes], missing)
    if exact:
        lost = [i for i, text in enumerate(read.values_seen) if not text_files.is_float(text)]
        if lost:
            raise files.not_exact(name, int(np.isin(codes, lost).sum()))
    return pd.arrays.FloatingArray(np.array([*values, 0], dtype=np.float64)[codes], missing)


# ---- JSON lines -----------------------------------------------------------------------------


def _objects(part: Part, file: Any) -> Iterator[dict[str, Any]]:
    """Yield the object of each line, with the columns that the folders stand for."""
    for number, line in enumerate(file, 1):
        # JSON knows no other white space.
        if line.strip(" \t\r\n"):
            result = _object(part, line, number)
            for key in part.partitions:
                if key in result:
                    raise files.in_folders_too(key)
            yield {**result, **part.partitions}


def _object(part: Part, line: str, number: int) -> dict[str, Any]:
    try:
        result = json.loads(
            line, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float
        )
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        hint = ""
        if number == 1 and line.lstrip().startswith("["):
            hint = "; it seems to be one JSON array: write one object per line"
        raise UnreadableTableError(
            f"line {number:,} of {part.shown} is not one JSON object with each key once{hint}"
        )
    return result


class NumberWithTooManyDigits:
    """A number with more digits than a float keeps; an engine refuses to compare it."""

    def __init__(self, text: str) -> None:
        """Keep the number as it is written."""
        self._text = text

    def __str__(self) -> str:
        """Return the number as it is written."""
        return self._text

    def __float__(self) -> float:
        """Round the number, where it is measured on a scale."""
        return float(self._text)


def _float(text: str) -> float | NumberWithTooManyDigits:
    return float(text) if text_files.is_float(text) else NumberWithTooManyDigits(text)


def _constant(name: str) -> float | None:
    """Read what is no JSON but often written: infinity is a value, NaN is a missing one."""
    return None if name == "NaN" else float(name)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    results = dict(pairs)
    if len(results) != len(pairs):
        raise ValueError
    return results


def _of_objects(cells: list[Any]) -> pd.Series[Any]:
    """Make a column; 1 and 1.0 are one number in JSON, and true is none."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int} and all(-(2**63) <= cell < 2**63 for cell in cells if cell is not None):
        return pd.Series(cells, dtype="Int64")
    exact = all(abs(cell) <= _EXACT for cell in cells if type(cell) is int)
    if kinds and kinds <= {int, float} and exact:
        return pd.Series(cells, dtype="Float64")
    return pd.Series(cells, dtype=object)


def read(
    paths: Sequence[str] | list[Part],
    wanted: Wanted,
    text: TextFormat,
    *,
    format: str | None = None,  # noqa: A002
    progress: Callable[[int], None] = lambda _: None,
    inferred: Inferred | None = None,
) -> pd.DataFrame:
    """Read a table from files, folders and patterns.

    Columns that are not wanted are in the table by name, without their cells: what is published
    counts, also where nobody measures it. Files that were found already are given as they are.
    What cells of CSV were inferred to be is put into `inferred`, also where numbers stay text.
    """
    parts = [part for part in paths if isinstance(part, files.Part)]
    parts = parts or files.find([path for path in paths if isinstance(path, str)])
    kind = files.format_of(parts, format)
    files.refuse_ignored(kind, text)
    if kind in files.TYPED:
        return _typed(parts, wanted, kind, progress)
    reading = csv if kind == "csv" else json_lines
    columns, n_rows = reading(parts, wanted, text, progress, inferred or files.Inferred())
    named = {i: _unread(n_rows) if cells is None else cells for i, (_, cells) in enumerate(columns)}
    frame = pd.DataFrame(named, index=pd.RangeIndex(n_rows))
    # By position until now: a file may have two columns of one name.
    frame.columns = pd.Index([name for name, _ in columns], dtype=object)
    return frame


class NotRead:
    """What stands in every cell of a column that was not read; an engine refuses to compare it."""


_NOT_READ = pd.Index([NotRead()], dtype=object)


def _unread(n_rows: int) -> Any:
    """A column of which only the name matters: one byte a row, and measuring it is an error."""
    return pd.Categorical.from_codes(np.zeros(n_rows, dtype=np.int8), categories=_NOT_READ)


def _typed(
    parts: Sequence[Part], wanted: Wanted, kind: str, progress: Callable[[int], None]
) -> pd.DataFrame:
    table = parquet_files.opened(parts, wanted, kind)
    chosen = table.chosen(wanted)
    pieces, n_rows = [], 0
    for part in parts:
        piece = _piece(part, kind, chosen)
        pieces.append(piece)
        n_rows += len(piece)
        progress(n_rows)
    frame = pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
    frame.attrs = table.attrs
    for name in table.names:
        if name not in chosen:
            frame[name] = _unread(n_rows)
    return frame


def _piece(part: Part, kind: str, chosen: list[str]) -> pd.DataFrame:
    """Read one file; what pandas calls an index is a column of the file like any other."""
    with files.readable(part, files.TITLES[kind]):
        read = parquet_files.read(part, kind, chosen)
        # Arrow's own types are exact: whole numbers with missing ones would become floats. What
        # pandas noted is ignored, and taken out, because it is read all the same.
        bare = read.replace_schema_metadata(None)
        piece: pd.DataFrame = bare.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
        piece = piece.set_axis(pd.RangeIndex(read.num_rows), axis=0)
    for key, value in part.partitions.items():
        piece[key] = pd.Series([value] * len(piece), dtype=object)
    return piece


# Python's writer of CSV puts quotes around the letters that its rows end in: both, because a cell
# that holds one of them could not be read again.
_END = "\r\n"


def write(
    frame: pd.DataFrame,
    path: Path,
    kind: str,
    *,
    sep: str,
    encoding: str,
    short: Collection[str] = (),
) -> None:
    """Write a whole file or none: the rows, their columns and our notes on these, nothing else.

    Numbers of the columns `short` are written in text without a point where they are whole. Text
    whose name ends in .gz is packed.
    """
    with whole_file(path, TITLES[kind]) as beside:
        if kind == "parquet":
            without_unused(frame).to_parquet(beside, index=False, engine="pyarrow")
        else:
            numbers = [
                name for name in frame.columns if name in short and frame[name].dtype.kind == "f"
            ]
            written = {
                name: frame[name].map(text_files.short, na_action="ignore") for name in numbers
            }
            about: Any = {"index": False, "sep": sep, "lineterminator": _END}
            # Neither the hour nor a name goes into the packed file.
            packs = path.suffix.casefold() == raw_files.GZIP
            with (
                beside.open("wb") as raw,
                gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if packs else raw as binary,
                io.TextIOWrapper(binary, encoding, newline="") as text,
            ):
                rows: Any = _Rows(text)
                frame.assign(**written).to_csv(rows, **about)


class _Rows:
    """Rows of CSV, to be written by this machine's ends of lines."""

    def __init__(self, file: TextIO) -> None:
        """Take where they go."""
        self._file = file

    def write(self, row: str) -> int:
        """Write a row."""
        return self._file.write(row.removesuffix(_END) + os.linesep)
