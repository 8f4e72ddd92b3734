"""A pandas table to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.pandas.unused import without_unused
from anonrisk.engines.reading.files import TITLES
from anonrisk.engines.reading.whole_file import whole_file

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


def write(frame: pd.DataFrame, path: Path, kind: str, *, sep: str, encoding: str) -> None:
    """Write a whole file or none: the rows, their columns and our notes on these, nothing else."""
    with whole_file(path, TITLES[kind]) as beside:
        if kind == "parquet":
            without_unused(frame).to_parquet(beside, index=False, engine="pyarrow")
        else:
            frame.to_csv(beside, index=False, sep=sep, encoding=encoding)
