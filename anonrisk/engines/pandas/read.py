"""Files to a pandas table: the cells of the columns that matter, the names of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.pandas import read_text
from anonrisk.engines.reading import files, parquet_files
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.engines.reading.files import Part, TextFormat, Wanted


def read(
    paths: Sequence[str] | list[Part],
    wanted: Wanted,
    text: TextFormat,
    *,
    format: str | None = None,  # noqa: A002
    progress: Callable[[int], None] = lambda _: None,
) -> pd.DataFrame:
    """Read a table from files, folders and patterns.

    Columns that are not wanted are in the table by name, without their cells: what is published
    counts, also where nobody measures it. Files that were found already are given as they are.
    """
    parts = [part for part in paths if isinstance(part, files.Part)]
    parts = parts or files.find([path for path in paths if isinstance(path, str)])
    kind = files.format_of(parts, format)
    if text.dtypes and kind != "csv":
        raise ArgumentError("--dtypes is for CSV: other files say themselves what their cells are")
    if kind in files.TYPED:
        return _typed(parts, wanted, kind, progress)
    reading = read_text.csv if kind == "csv" else read_text.json_lines
    columns, n_rows = reading(parts, wanted, text, progress)
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
    for one in table.names:
        if one not in chosen:
            frame[one] = _unread(n_rows)
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
