"""A small table with a column of every kind, for the tests of steps that change it."""

from __future__ import annotations

import datetime as dt

import pytest
import tables

TREE = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}
CELLS = {
    "who": list(range(8)),
    "age": [23, 30, 39, 40, 91, -5, None, 64],
    "income": [0.5, 1.25, 2.0, 2.5, 99.75, -1.5, None, 3.0],
    "zip": ["1011", "1012", "9", "2500", "10119", "", None, "éa11"],
    "born": [dt.date(1981, 12, 31), dt.date(1969, 7, 1), *[dt.date(2000, 2, 29)] * 5, None],
    "seen": [dt.datetime(1999, 12, 31, 23, 59), *[dt.datetime(2020, 4, 1)] * 6, None],
    "illness": ["flu", "cough", "stroke", "angina", "flu", "flu", None, "stroke"],
}


def cells_of(table, *names):
    rows = sorted(tables.to_rows(table), key=lambda row: row["who"])
    return [tuple(row[name] for name in names) if len(names) > 1 else row[names[0]] for row in rows]


def refused(table, calls):
    """Make each of some wrong calls: it raises its error, which says a text and no cell."""
    for call, error, text in calls:
        with pytest.raises(error, match=text) as caught:
            call(table)
        assert "1011" not in str(caught.value)
