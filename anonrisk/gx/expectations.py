"""All expectations. Importing this module registers them with Great Expectations.

Limits have no defaults: a stored suite leaves out what equals a default, so that a default that
changed would change every stored suite.
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
from anonrisk.gx.columns import (
    ExpectColumnsToBePublishable,
)
from anonrisk.gx.search import ExpectColumnsNotToBeQuasiIdentifiers
from anonrisk.gx.sensitive import (
    ExpectLDiversityToBeAtLeast,
    ExpectTClosenessToBeAtMost,
)

EXPECTATIONS = (
    ExpectKAnonymityToBeAtLeast,
    ExpectQidUniquenessToBeAtMost,
    ExpectRecordsInSmallClassesToBeAtMost,
    ExpectLDiversityToBeAtLeast,
    ExpectTClosenessToBeAtMost,
    ExpectReidentificationRiskToBeAtMost,
    ExpectPredictedSingletonsToBeAtMost,
    ExpectPopulationUniquenessToBeAtMost,
    ExpectColumnsToBePublishable,
    ExpectColumnsNotToBeQuasiIdentifiers,
)
