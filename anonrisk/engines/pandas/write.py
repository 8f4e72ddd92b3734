"""A pandas table to a file."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from anonrisk.engines.pandas.unused import without_unused
from anonrisk.engines.reading import csv_cells, packed
from anonrisk.engines.reading.files import TITLES
from anonrisk.engines.reading.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pandas as pd


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
            about: Any = {"index": False, "sep": sep, "encoding": encoding}
            if path.suffix.casefold() != packed.GZIP:
                frame.assign(**written).to_csv(beside, **about)
                return
            # Neither the hour nor a name goes into the file.
            with beside.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
                frame.assign(**written).to_csv(file, **about)
