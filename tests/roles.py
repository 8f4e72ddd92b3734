"""A small table with a column of every role, for the tests of roles."""

from __future__ import annotations

CELLS = {
    "zip": ["1011", "1011", "1012"],
    "age": [34, 34, 51],
    "who": [1, 2, 3],
    "diagnosis": ["flu", "flu", "cold"],
    "name": ["Ann", "Bo", "Cy"],
    "note": ["x", "y", "z"],
}


def is_spark(frame):
    return frame.kind in ("spark", "connect")
