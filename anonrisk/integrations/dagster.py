"""Dagster: a blocking asset check, so that assets downstream are made only if the gate passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.policy import Policy

try:
    from dagster import AssetCheckResult, AssetCheckSeverity, MetadataValue, asset_check
except ImportError:
    raise ImportError("anonrisk.integrations.dagster needs Dagster: pip install dagster") from None

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["gate"]


def gate(asset: Any, policy: Policy | str | Path, *, name: str = "anonrisk_gate") -> Any:
    """Make the asset check that holds an asset's table against a policy.

    Parameters
    ----------
    asset : AssetsDefinition, AssetKey or str
        The asset whose value is a table that anonrisk takes.
    policy : Policy, str or Path
        The policy, or where its file is, which is read now.
    name : str
        What the check is called.

    Returns
    -------
    AssetChecksDefinition
        It blocks: a table that fails or could not be assessed, and an error too, stop what builds
        on the asset. Its metadata hold the verdict, which holds no cell.

    See Also
    --------
    anonrisk.Policy.check : what it asks

    Examples
    --------
    ``Definitions(assets=[admissions, published], asset_checks=[gate(admissions, "release.yaml")])``
    """
    asked = policy if isinstance(policy, Policy) else Policy.load(policy)

    @asset_check(asset=asset, name=name, blocking=True)
    def check(table):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        verdict = asked.check(table)
        return AssetCheckResult(
            passed=verdict.passed,
            severity=AssetCheckSeverity.ERROR,
            description=" ".join(finding.sentence for finding in verdict.failures),
            metadata={"verdict": MetadataValue.json(verdict.to_dict())},
        )

    return check
