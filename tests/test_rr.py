"""The relative risk: a lower bound that is never shown alone."""

from __future__ import annotations

import json

import oracle
import pytest
from histograms import histograms, rows_with
from hypothesis import given

from anonrisk import ClassSizes


@given(histograms)
def test_rr_equals_the_oracle(histogram):
    rows, rr = rows_with(histogram), ClassSizes.from_histogram(histogram).rr
    assert rr == pytest.approx(2 ** oracle.entropy(rows, ["x"]) / len(rows), rel=1e-12)
    assert rr <= rr.classes_per_record * (1 + 1e-12)


def test_rr_is_never_shown_alone():
    rr = ClassSizes([1, 3], [1, 1]).rr
    assert "lower bound" in str(rr)
    assert "classes/records 0.5" in f"{rr}"
    assert f"{rr:.2f}" == "0.44"
    assert json.loads(json.dumps({"rr": rr})) == {"rr": float(rr)}
