"""A small table with sensitive columns, for the tests of what is learned from them."""

from __future__ import annotations

NAN = float("nan")
CELLS = {
    "zip": ["a", "a", "a", "a", "b", "b", "b", None, None, "c", "c", "c"],
    "age": [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2],
    "who": [1, 1, 2, 3, 4, 5, 6, 7, 8, 1, 9, 9],
    "ill": ["flu", "flu", "cold", "hiv", "flu", "cold", "cold", None, "flu", "flu", "hiv", None],
    "cost": [1.5, 2.5, 2.5, 5.5, 1.5, 1.5, NAN, 2.5, 5.5, 9.5, 9.5, -3.5],
    "stage": [1, 2, 3, 4, 1, 1, 2, 4, 4, 3, 3, 1],
}
ROWS = [dict(zip(CELLS, row, strict=True)) for row in zip(*CELLS.values(), strict=True)]
QIDS = [["zip"], ["zip", "age"], ["age"]]
UNITS = [None, "who"]
TREE = {"any": {"airways": ["flu", "cold"], "blood": {"virus": ["hiv"]}}}
PARENTS = {
    "flu": "airways",
    "cold": "airways",
    "hiv": "virus",
    "virus": "blood",
    "airways": "any",
    "blood": "any",
}
ILL = [row for row in ROWS if row["ill"] is not None]
