"""A release and the population it was drawn from, for the tests of attackers."""

from __future__ import annotations

from tables import rows_of

RELEASE = {
    "zip": ["a", "a", "b", "c", None, "c", "c"],
    "age": [1, 1, 1, 2, 2, 2, 3],
    "w": [2.5, 1.0, 4.0, 1.5, 3.0, 1.0, 8.0],
    "home": [1, 1, 2, 2, 3, 3, 4],
    "who": [1, 2, 3, 4, 5, 5, 6],
}
PEOPLE = {
    "zip": ["a"] * 5 + ["b"] * 3 + ["c"] * 4 + [None] * 2 + ["z"] * 2,
    "age": [1] * 8 + [2] * 3 + [3] + [2] * 4,
}

ROWS, POPULATION = rows_of(RELEASE), rows_of(PEOPLE)
