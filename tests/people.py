"""A few people, some without a value, for the tests of how classes are counted."""

from __future__ import annotations

import pandas as pd
from tables import to_rows

PEOPLE = {
    "zip": ["1011", "1011", "1012", "1012", "1013", None, None, "1011"],
    "age": [34, 34, 51, 51, None, 51, 51, 35],
    "who": ["a", "b", "c", "c", "d", "e", "f", "a"],
}


def size_column(table, qid, name="class_size", **how):
    """The sizes that `sizes` gives, from a Series or from a table with a column more."""
    sized = table.anon.sizes(qid, name=name, **how)
    if getattr(sized, "ndim", 2) == 1:
        assert sized.name == name
        return [None if pd.isna(size) else int(size) for size in sized]
    return [row[name] for row in to_rows(sized)]
