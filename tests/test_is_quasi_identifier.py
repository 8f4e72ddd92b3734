"""Whether columns single out too many: measured, possible, or excluded."""

from __future__ import annotations

import json
from math import log

import pandas as pd
import pytest

import anonrisk
from anonrisk import errors

PEOPLE = {"zip": ["1", "1", "2", None], "sex": ["f", "f", "m", "m"]}


def test_every_engine_answers_alike(frame):
    asked = anonrisk.is_quasi_identifier(
        frame(PEOPLE), ["zip", "sex"], 0.6, 1000, {"zip": 10, "sex": 2}
    )
    assert (asked.answer, asked.share) == ("excluded in expectation", 0.5)
    assert asked.bound == pytest.approx(20 / 1000 * 0.999**999)


def test_three_answers():
    table = pd.DataFrame(PEOPLE)

    def ask(*args):
        return anonrisk.is_quasi_identifier(table, ["zip", "sex"], *args)

    assert ask(0.4, 1000, {"zip": 10, "sex": 2}).answer == "measured"
    assert ask(0.6, 1000).answer == "possible", "what the table shows bounds nothing"
    assert ask(0.6, 1000, {"zip": 10}).answer == "possible"
    assert ask(0.6, 1000, {"zip": 10_000, "sex": 2}).answer == "possible"
    assert ask(0.6, 1000, {"zip": 10, "sex": 2}).excluded
    shown = repr(ask(0.6, 1000))
    assert "possible (alpha 60.0%)" in shown
    assert "which nobody has said" in shown
    assert "<p>" in ask(0.6, 1000)._repr_html_()
    assert json.loads(json.dumps(ask(0.6, 1000).to_dict()))["answer"] == "possible"
    assert ask(0.9, 1000).least_domain == pytest.approx(999 / log(1 / 0.9), rel=0.01)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: anonrisk.is_quasi_identifier(t, "zip", 2, 10), errors.ArgumentError, "alpha"),
        (
            lambda t: anonrisk.is_quasi_identifier(t, "zip", 0.2),
            errors.ArgumentError,
            "population_size",
        ),
        (
            lambda t: anonrisk.is_quasi_identifier(t.head(0), "zip", 0.2, 10),
            errors.EmptyTableError,
            "no records",
        ),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(pd.DataFrame(PEOPLE))
