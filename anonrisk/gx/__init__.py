"""Great Expectations: importing this module registers anonrisk's expectations and its gate.

They work on pandas, Spark and SQL batches. Great Expectations loses expectations that are not
registered and does not stop a job by itself, so that a release needs `run_gate`, or a checkpoint
with `AnonriskGateAction`.
"""

from __future__ import annotations

from anonrisk.gx.class_sizes import (
    ExpectKAnonymityToBeAtLeast,
    ExpectPopulationUniquenessToBeAtMost,
    ExpectPredictedSingletonsToBeAtMost,
    ExpectQidUniquenessToBeAtMost,
    ExpectRecordsInSmallClassesToBeAtMost,
    ExpectReidentificationRiskToBeAtMost,
)
from anonrisk.gx.columns import ExpectColumnsToBePublishable
from anonrisk.gx.gate import AnonriskGateAction
from anonrisk.gx.run import load_suite, run_gate
from anonrisk.gx.search import ExpectColumnsNotToBeQuasiIdentifiers
from anonrisk.gx.sensitive import ExpectLDiversityToBeAtLeast, ExpectTClosenessToBeAtMost
from anonrisk.gx.suite import suite_to_json, to_suite

__all__ = [
    "AnonriskGateAction",
    "ExpectColumnsNotToBeQuasiIdentifiers",
    "ExpectColumnsToBePublishable",
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
    "suite_to_json",
    "to_suite",
]
