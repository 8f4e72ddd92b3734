"""The relative risk: a lower bound that is never shown alone."""

from __future__ import annotations

import json

from anonrisk import ClassSizes


def test_rr_is_never_shown_alone():
    rr = ClassSizes([1, 3], [1, 1]).rr
    assert "lower bound" in str(rr)
    assert "classes/records 0.5" in f"{rr}"
    assert f"{rr:.2f}" == "0.44"
    assert json.loads(json.dumps({"rr": rr})) == {"rr": float(rr)}
