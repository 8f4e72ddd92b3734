"""A pandas table to a file."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from anonrisk.engines.pandas.unused import without_unused
from anonrisk.engines.reading import packed
from anonrisk.engines.reading.files import TITLES
from anonrisk.engines.reading.whole_file import whole_file

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


def write(frame: pd.DataFrame, path: Path, kind: str, *, sep: str, encoding: str) -> None:
    """Write a whole file or none: the rows, their columns and our notes on these, nothing else.

    Text whose name ends in .gz is packed.
    """
    with whole_file(path, TITLES[kind]) as beside:
        if kind == "parquet":
            without_unused(frame).to_parquet(beside, index=False, engine="pyarrow")
        elif path.suffix.casefold() == packed.GZIP:
            # Neither the hour nor a name goes into the file.
            with beside.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
                frame.to_csv(file, index=False, sep=sep, encoding=encoding)
        else:
            frame.to_csv(beside, index=False, sep=sep, encoding=encoding)
