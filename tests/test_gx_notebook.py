"""The notebook about a checkpoint: it fails, then passes after the plan."""

from __future__ import annotations

import pytest

pytest.importorskip("great_expectations")
from test_notebooks import elsewhere, told  # noqa: F401 - a fixture


def test_gate_in_a_checkpoint():
    names = told("gate_in_a_checkpoint")
    assert names["blocked"].verdict.status == "fail"
    assert names["result"].success
    assert len(names["safe"]) == len(names["patients"])
