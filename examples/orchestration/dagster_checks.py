"""Dagster: a blocking asset check; assets downstream are made only if the gate passes."""

# Not installed where this library is checked.
# mypy: disable-error-code="import-not-found, untyped-decorator"

from pathlib import Path

import pandas as pd
from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    Definitions,
    MetadataValue,
    asset,
    asset_check,
)

from anonrisk import Policy, datasets

PUBLIC = Path("admissions.parquet")
POLICY = Policy(
    name="release of admissions",
    quasi=["pc4", "year_of_birth", "gender", "admission_date"],
    sensitive=["diagnosis", "cost"],
    unit="patient",
    missing_sensitive="error",
    k=5,
    ldiv={"l": 2},
)


@asset
def admissions() -> pd.DataFrame:
    """What is to be published."""
    table = datasets.hospital(2_000)
    return table.assign(year_of_birth=table.pop("date_of_birth").dt.year)


# A check that raises has not passed either: nothing downstream is made.
@asset_check(asset=admissions, blocking=True)
def nobody_is_exposed(admissions: pd.DataFrame) -> AssetCheckResult:
    """Hold the table against the policy."""
    verdict = POLICY.check(admissions, name="admissions")
    return AssetCheckResult(
        passed=verdict.passed,
        severity=AssetCheckSeverity.ERROR,
        description=" ".join(finding.sentence for finding in verdict.failures),
        metadata={"verdict": MetadataValue.json(verdict.to_dict())},
    )


@asset
def published(admissions: pd.DataFrame) -> None:
    """Publish it; not reached unless the check passed."""
    admissions.to_parquet(PUBLIC)


defs = Definitions(assets=[admissions, published], asset_checks=[nobody_is_exposed])
