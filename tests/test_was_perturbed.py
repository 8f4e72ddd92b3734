"""The marks of columns that were changed at random."""

from __future__ import annotations

from steps import CELLS


def test_random_steps_leave_a_mark(frame):
    table = frame(CELLS)
    noisy = table.anon.perturb(["age", "born"], 3, seed=5)
    assert noisy.anon.was_perturbed() == {"age": "perturb", "born": "perturb"}
    both = noisy.anon.permute("income", seed=3)
    expected = {"age": "perturb", "born": "perturb", "income": "permute"}
    assert both.anon.was_perturbed() == expected
    assert table.anon.was_perturbed() == {}
