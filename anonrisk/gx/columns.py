"""The expectation about the columns themselves: what must not be published at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from great_expectations.compatibility import pydantic

from anonrisk.core.render import count_of
from anonrisk.errors import PolicyError
from anonrisk.gx.base import GateExpectation
from anonrisk.gx.fields import Columns, filled, is_parameter, names, parameter
from anonrisk.gx.metrics import COLUMNS, MetricAnswer
from anonrisk.gx.result import Judged, could_not_assess
from anonrisk.policy import Policy, coverage, limits, release_rules
from anonrisk.policy.coverage import unseen
from anonrisk.policy.finding import COULD_NOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Mapping


# A policy has a role for them; an expectation that was made by hand has this field.
_CLASSIFIED = "(In an expectation: classified=[…].)"


def _column_lines(covered: coverage.Coverage) -> list[str]:
    """Return what is known of columns without a policy: not what others look at.

    Those that are classified may be the quasi-identifier of another expectation.
    """
    columns = tuple(
        replace(column, role=None, reason="classified; other expectations say who looks at them")
        if column.role == "insensitive"
        else column
        for column in covered.columns
    )
    return replace(covered, columns=columns).column_lines()


class ExpectColumnsToBePublishable(GateExpectation):
    """Expect no direct identifier in the table, and no column that nobody has classified.

    Args:
        direct (list of str): Columns that name a person, and must be gone; so must those that a
            pandas or Spark table itself declares so.
        classified (list of str): All other columns that may be there.
        unlisted ("refuse", "quasi", "ignore"): What becomes of other columns: the batch cannot be
            assessed; they join the quasi-identifier of every other expectation, which says so
            too; or the result says that nobody has looked at them.
        reviewed (bool): Whether somebody has read the policy that this is a part of.
        policy (dict): The policy that this is a part of, by whose roles the contents of the columns
            are examined; without one, whatever no role is needed for. One that no table can fail,
            or that is advisory, is not met.

    See Also
    --------
    anonrisk.declare : roles kept with a table, which are looked at too
    anonrisk.gx.to_suite : makes it from a policy

    Examples
    --------
    >>> from anonrisk import gx
    >>> gx.ExpectColumnsToBePublishable(direct="name", classified=["zip"]).direct
    ['name']
    """

    direct: list[pydantic.StrictStr] = pydantic.Field(default_factory=list)
    classified: Columns | None = None
    unlisted: Literal["refuse", "quasi", "ignore"] = "refuse"
    reviewed: bool = True
    policy: dict[str, Any] | None = None
    own_keys: ClassVar[tuple[str, ...]] = (
        *("direct", "classified", "unlisted", "reviewed"),
        "policy",
    )
    success_keys: ClassVar[tuple[str, ...]] = own_keys
    metric: ClassVar[str] = COLUMNS

    @pydantic.validator("direct", "classified", pre=True)
    def _one_name_is_a_list(cls, value: Any) -> Any:  # noqa: N805
        return names(value)

    @pydantic.validator("classified")
    def _is_a_list(cls, value: Any, field: Any) -> Any:  # noqa: N805
        return parameter(value, field.name)

    @pydantic.root_validator(skip_on_failure=True)
    def _asks_for_something(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        if not values.get("direct") and values.get("classified") is None:
            raise ValueError("name direct identifiers, or the columns that are classified")
        if not is_parameter(values.get("classified")):
            try:
                cls.policy_of(values)
                if values.get("policy") is not None:
                    Policy.from_dict(values["policy"])
            except PolicyError as error:
                raise ValueError(str(error)) from None
        return values

    @classmethod
    def policy_of(cls, fields: Mapping[str, Any]) -> Policy:
        """Make the policy that the fields stand for."""
        classified = [name for name in fields["classified"] or () if name not in fields["direct"]]
        return Policy(
            direct=list(fields["direct"]),
            insensitive=classified,
            unlisted=fields["unlisted"],
            reviewed=fields["reviewed"],
            k=1,
        )

    def _field_values(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.own_keys}
        return {**fields, "classified": filled(self.classified)}

    def question(self) -> dict[str, Any]:
        """Ask for the names of the columns, and for what they hold."""
        if is_parameter(self.classified):
            return {"policy": None, "classified": []}
        value = self._field_values()
        policy = self.policy or self.policy_of(value).to_dict()
        return {"policy": policy, "classified": list(value["classified"] or ())}

    def judged(self, metric_answer: MetricAnswer) -> Judged:
        """Look for columns that must not be there."""
        published = metric_answer.published
        if published is None:
            return could_not_assess("the batch has no column")
        value = self._field_values()
        policy = self.policy_of(value)
        whole = None if self.policy is None else Policy.from_dict(self.policy)
        known = [*value["classified"]] if value["classified"] else []
        findings = release_rules.of_columns(
            policy, published, metric_answer.examined, whole=whole, classified=known
        )
        if metric_answer.empty:
            findings.append(release_rules.no_records())
        if whole is not None:
            # The only expectation that knows all limits: no other turns Data Docs red where the
            # gate passes no table.
            findings += [f for f in limits.of_policy(whole) if f.status == COULD_NOT_ASSESS]
        covered = coverage.of_table(whole or policy, published)
        n_columns = len(published.names)
        direct = sum(int(f.value or 0) for f in findings if f.budget == "direct")
        loose = [f for f in findings if f.budget == "unlisted" and f.status == COULD_NOT_ASSESS]
        n_unlisted = len(release_rules.unlisted(policy, published))
        return Judged(
            findings,
            f"None of the {count_of(n_columns, 'column')} must be removed.",
            direct + (n_unlisted if loose else 0),
            {
                "columns": n_columns,
                "direct": direct,
                "unclassified": n_unlisted,
                "covers": covered.column_lines() if whole else _column_lines(covered),
            },
            _CLASSIFIED if loose else unseen(covered.not_looked_at),
            metric_answer.about,
        )

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Return what is expected."""
        loose = {
            "quasi": " Columns without a role count as quasi-identifiers.",
            "ignore": " Columns without a role are not looked at.",
        }
        every = loose.get(str(asked.get("unlisted")), " Every column has a role.")
        return f"No direct identifier is left in the table.{every}"
