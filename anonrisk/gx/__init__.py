"""Great Expectations: importing this module registers anonrisk's expectations and its gate.

They work on pandas, Spark and SQL batches. Great Expectations loses expectations that are not
registered and does not stop a job by itself, so that a release needs `run_gate`, or a checkpoint
with `AnonriskGateAction`.
"""

from __future__ import annotations

from anonrisk.gx.expectations import (
    ExpectKAnonymityToBeAtLeast,
    ExpectLDiversityToBeAtLeast,
    ExpectPopulationUniquenessToBeAtMost,
    ExpectPredictedSingletonsToBeAtMost,
    ExpectQidUniquenessToBeAtMost,
    ExpectRecordsInSmallClassesToBeAtMost,
    ExpectReidentificationRiskToBeAtMost,
    ExpectTClosenessToBeAtMost,
)
from anonrisk.gx.gate import AnonriskGateAction
from anonrisk.gx.run import load_suite, run_gate

__all__ = [
    "AnonriskGateAction",
    "ExpectKAnonymityToBeAtLeast",
    "ExpectLDiversityToBeAtLeast",
    "ExpectPopulationUniquenessToBeAtMost",
    "ExpectPredictedSingletonsToBeAtMost",
    "ExpectQidUniquenessToBeAtMost",
    "ExpectRecordsInSmallClassesToBeAtMost",
    "ExpectReidentificationRiskToBeAtMost",
    "ExpectTClosenessToBeAtMost",
    "load_suite",
    "run_gate",
]
