"""A pandas table to a file."""

from __future__ import annotations

import gzip
import io
import os
from typing import TYPE_CHECKING, Any, TextIO

from anonrisk.engines.pandas.unused import without_unused
from anonrisk.engines.reading import csv_cells, packed
from anonrisk.engines.reading.files import TITLES
from anonrisk.engines.reading.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pandas as pd

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
                name: frame[name].map(csv_cells.short, na_action="ignore") for name in numbers
            }
            about: Any = {"index": False, "sep": sep, "lineterminator": _END}
            # Neither the hour nor a name goes into the packed file.
            packs = path.suffix.casefold() == packed.GZIP
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
