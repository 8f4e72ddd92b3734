"""`differencing`: persons whom this release exposes together with earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.policy import fields
from anonrisk.policy.budgets import base
from anonrisk.policy.evidence import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name


class ComparedReleases(Protocol):
    """What is asked of a comparison, which is made a floor above (`anonrisk.releases`)."""

    @property
    def net(self) -> bool:
        """Whether nobody can tell who is who."""

    @property
    def unit(self) -> Name | None:
        """The column of persons."""

    @property
    def n_classes_both(self) -> int:
        """Classes that both releases have."""

    @property
    def renewed(self) -> bool:
        """Whether the unit looks as if many of its values had been renewed."""

    def at_risk(self, k: int) -> int:
        """Count the persons who are exposed, or of whom a value is learned."""


@dataclass(frozen=True, kw_only=True)
class Differencing(base.ReleaseBudget):
    """At most so many persons may be exposed by what this release and an earlier one tell."""

    key = "differencing"
    keys = {
        "k": base.whole(2),
        "at_most": base.BudgetKey(base.whole(0).read, base.whole(0).schema, required=False),
        "net": base.BudgetKey(fields.flag, {"type": "boolean"}, required=False),
    }
    bare = True
    annotation = base.or_list("int | dict[str, Any]")
    what = "What earlier releases reveal together with this one"
    lacks = "it needs a release and a ledger: Release.check judges it"
    not_planned = (
        "it is about earlier releases too, and no recoding hides who came and left: Release.mend "
        "holds people back for it"
    )

    limit: float = 0
    k: int
    net: bool = False

    @classmethod
    def implies(cls, own: Mapping[str, str], other: Mapping[str, str]) -> bool:
        """Return whether it says as much: who is among fewer than k is among fewer than k + 1."""
        return int(own["k"]) >= int(other["k"]) and {**own, "k": ""} == {**other, "k": ""}

    def of(
        self, compared_releases: ComparedReleases, stable_unit: str | None = None
    ) -> base.Value | Problem:
        """Count the persons exposed by a comparison; explain where it cannot be decided.

        `stable_unit` is why the unit's values are known to stay, though it looks otherwise.
        """
        if compared_releases.net and not self.net:
            why = (
                "without a unit only net changes are known, and one person who left and another "
                "who came to the same class are not seen: name a unit"
                if compared_releases.unit is None
                else f"nobody of unit {compared_releases.unit!r} is in both releases: if it is a "
                "pseudonym that changed, only net changes are known; take one that stays"
            )
            return Problem(f"{why}, or accept net changes by {self._accepting}")
        if compared_releases.net and not compared_releases.n_classes_both:
            return Problem(
                "the releases have no class in common, so that net changes say nothing: were "
                "columns recoded? With a unit that stays, it can be decided"
            )
        if not compared_releases.renewed:
            return base.Value(compared_releases.at_risk(self.k))
        alike = "those who left and those who came are alike beyond chance"
        if stable_unit is None:
            return Problem(
                f"{alike}, as if values of unit {compared_releases.unit!r} had been renewed: who "
                "really left would hide among them from this check, and from nobody else; take a "
                "unit that stays, or if it does, say why by stable_unit in the policy"
            )
        note = f"{alike}, and other people by stable_unit: {stable_unit}"
        return base.Value(compared_releases.at_risk(self.k), note=note)

    @property
    def _accepting(self) -> str:
        return f"differencing: {{k: {self.k}, net: true}}"

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how many are exposed."""
        number = int(value.number)
        are = "is" if number == 1 else "are"
        return (
            f"{count_of(number, subject.who)} {are} exposed by two releases together: among fewer "
            f"than {self.k} who came to a class of {subject.columns}, left it, stayed there or "
            f"moved, or with a value that is learned; at most {self.limit:,} may be"
            + (f" ({value.note})" if value.note else "")
        )

    @classmethod
    def enough_k(cls, limit: float, parameters: Mapping[str, Any]) -> None:
        """Larger classes of this release alone do not help."""
        return
