"""Categories that no row has any more: a file of the table would hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from anonrisk.engines.reading.parquet_files import OURS
from anonrisk.measures.counts.schema import Stored


def stored(frame: pd.DataFrame) -> Stored:
    """Count the categories of each column, and of the index, that no row has."""
    columns = [(str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns)]
    results = {name: n for name, column in columns if (n := _n_unused(column))}
    lines = [
        f"df[{name!r}] = {_line(frame[name])}" for name in frame.columns if str(name) in results
    ]
    if n_labels := _n_unused(frame.index.to_series()):
        results["index"] = n_labels
        lines.append("df.index = df.index.remove_unused_categories()")
    others = "" if len(lines) < 2 else ", and the others likewise"
    return Stored(results, remedy=f"{lines[0]}{others}" if lines else "")


def without_unused(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the categories that its rows have, and with our own notes alone."""
    made = frame.copy(deep=False)
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        if _is_dictionary(column.dtype):
            # As a category of pandas, which reads no other dictionary of its files again.
            held = column.array.__arrow_array__().to_pandas()
            column = pd.Series(held.array, index=column.index, name=column.name)
        if isinstance(column.dtype, pd.CategoricalDtype):
            made.isetitem(i, column.cat.remove_unused_categories().array)
    made.attrs = {key: value for key, value in frame.attrs.items() if key in OURS}
    return made


def _n_unused(column: Any) -> int:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        return len(dtype.categories) - int(np.count_nonzero(np.bincount(codes[codes >= 0])))
    if _is_dictionary(dtype):
        from anonrisk.engines.reading.storage import n_unused

        return n_unused(column.array.__arrow_array__())
    return 0


def _line(column: Any) -> str:
    if _is_dictionary(column.dtype):
        return f"df[{column.name!r}].astype('category').cat.remove_unused_categories()"
    return f"df[{column.name!r}].cat.remove_unused_categories()"


def _is_dictionary(dtype: Any) -> bool:
    if not isinstance(dtype, pd.ArrowDtype):
        return False
    import pyarrow as pa

    return bool(pa.types.is_dictionary(dtype.pyarrow_dtype))
