"""Permuted columns: what is kept, what is moved, and the mark."""

from __future__ import annotations

from collections import Counter

from steps import CELLS, cells_of, refused

from anonrisk import errors


def test_permutation_keeps_margins_exactly_and_roles(frame):
    n = 60
    cells = {
        "who": list(range(n)),
        "ward": ["a", "b", None] * (n // 3),
        "x": list(range(n)),
        "y": [None if i % 7 == 0 else i for i in range(n)],
    }
    table = frame(cells).anon.declare(quasi="ward")
    moved = table.anon.permute(["x", "y"], by="ward", seed=3)
    found = cells_of(moved, "ward", "x", "y")
    before = list(zip(cells["ward"], cells["x"], cells["y"], strict=True))
    assert Counter(found) == Counter(before), "each ward has the pairs it had"
    assert all(new != old for new, old in zip(found, before, strict=True)), "nobody keeps theirs"
    assert moved.anon.roles().quasi == ("ward",)
    assert Counter(cells_of(table.anon.permute("x", seed=1), "x")) == Counter(cells["x"])


WRONG = [
    (lambda t: t.anon.permute("age", by="age", seed=1), errors.RoleConflictError, "its own"),
]


def test_wrong_calls(frame):
    refused(frame(CELLS), WRONG)
