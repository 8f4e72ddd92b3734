"""Expectations about the sizes of classes: who is alone, at which risk, here or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from great_expectations.compatibility import pydantic

from anonrisk.gx.base import COMMON, PrivacyExpectation
from anonrisk.gx.fields import Number, Whole, filled
from anonrisk.policy.budgets import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping


def _need_one(values: dict[str, Any], *names: str) -> dict[str, Any]:
    if all(values.get(name) is None for name in names):
        raise ValueError(f"give a limit: {' or '.join(names)}")
    return values


class ExpectKAnonymityToBeAtLeast(PrivacyExpectation):
    """Expect every record to share its quasi-identifiers with enough others.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        k (int): The least size of a class.

    Other Parameters
    ----------------
        unit (str): The column that says which person a row belongs to.
        missing ("value", "drop", "error"): What a missing quasi-identifier means.
        max_dropped_fraction (float): With missing="drop", the most rows that may be left out.
        row_condition: Which rows to look at.
    """

    k: Whole = pydantic.Field(...)
    own_keys: ClassVar[tuple[str, ...]] = ("k",)
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    def budgets(self) -> list[Budget]:
        """Give the limit on the smallest class."""
        return [Budget("k", filled(self.k))]

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Say what is expected."""
        return "At least $k records share every combination of $qids (k-anonymity)."


class ExpectQidUniquenessToBeAtMost(PrivacyExpectation):
    """Expect few records to be alone with their quasi-identifiers.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        max_unique_fraction (float): The largest share of records that may be singletons.
        max_unique_records (int): The largest number of records that may be singletons.

    Other Parameters
    ----------------
        unit, missing, max_dropped_fraction, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    max_unique_fraction: Number | None = None
    max_unique_records: Whole | None = None
    own_keys: ClassVar[tuple[str, ...]] = ("max_unique_fraction", "max_unique_records")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @pydantic.root_validator(skip_on_failure=True)
    def _has_a_limit(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return _need_one(values, "max_unique_fraction", "max_unique_records")

    def budgets(self) -> list[Budget]:
        """Give the limits on singletons."""
        limits = {name: getattr(self, name) for name in self.own_keys}
        return [Budget(name, filled(limit)) for name, limit in limits.items() if limit is not None]

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Say what is expected."""
        limits = [
            "$max_unique_fraction of the records" if "max_unique_fraction" in asked else "",
            "$max_unique_records records" if "max_unique_records" in asked else "",
        ]
        return f"At most {' and '.join(filter(None, limits))} are alone with their $qids."


class ExpectRecordsInSmallClassesToBeAtMost(PrivacyExpectation):
    """Expect few records to be in classes smaller than k.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        k (int): The size from which a class is large enough.
        max_fraction_below_k (float): The largest share of records in smaller classes.

    Other Parameters
    ----------------
        unit, missing, max_dropped_fraction, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    k: Whole = pydantic.Field(...)
    max_fraction_below_k: Number = pydantic.Field(...)
    own_keys: ClassVar[tuple[str, ...]] = ("k", "max_fraction_below_k")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    def budgets(self) -> list[Budget]:
        """Give the limit on records in small classes."""
        limit = filled(self.max_fraction_below_k)
        return [Budget("max_fraction_below_k", limit, k=filled(self.k))]

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Say what is expected."""
        return (
            "At most $max_fraction_below_k of the records share their combination of $qids with "
            "fewer than $k records, themselves included."
        )


class ExpectReidentificationRiskToBeAtMost(PrivacyExpectation):
    """Expect the risk of re-identification by one attacker to be small.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        attacker ("prosecutor", "journalist", "marketer"): Whose risk.
        max_highest (float): The largest risk of a single record.
        max_average (float): The largest average risk; the only one that a marketer has.
        max_share_above (float): The largest share of records whose risk is above `threshold`.
        threshold (float): See `max_share_above`.
        sampling_fraction (float): The share of the population that is in the table, for the
            journalist and the marketer; left out, the table is taken to be the population.

    Other Parameters
    ----------------
        unit, missing, max_dropped_fraction, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    attacker: Literal["prosecutor", "journalist", "marketer"] = pydantic.Field(...)
    max_highest: Number | None = None
    max_average: Number | None = None
    max_share_above: Number | None = None
    threshold: Number | None = None
    sampling_fraction: Number | None = None
    own_keys: ClassVar[tuple[str, ...]] = (
        *("attacker", "max_highest", "max_average", "max_share_above", "threshold"),
        "sampling_fraction",
    )
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @pydantic.root_validator(skip_on_failure=True)
    def _limits_fit_the_attacker(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        _need_one(values, "max_highest", "max_average", "max_share_above")
        given = {name for name, value in values.items() if value is not None}
        if ("max_share_above" in given) != ("threshold" in given):
            raise ValueError("max_share_above and threshold belong together")
        if values["attacker"] == "marketer" and given & {"max_highest", "max_share_above"}:
            raise ValueError("the marketer has an average only: give max_average")
        if values["attacker"] == "prosecutor" and "sampling_fraction" in given:
            raise ValueError(
                "the prosecutor knows who is in the table: sampling_fraction is of no use"
            )
        return values

    def budgets(self) -> list[Budget]:
        """Give the limits on risk."""
        found = []
        for measure in ("highest", "average", "share_above"):
            limit = filled(getattr(self, f"max_{measure}"))
            if limit is not None:
                threshold = filled(self.threshold) if measure == "share_above" else None
                name = f"risk.{self.attacker}.{measure}"
                found.append(Budget(name, limit, threshold=threshold))
        return found

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Say what is expected."""
        limits = {
            "max_highest": "at most $max_highest for any record",
            "max_average": "at most $max_average on average",
            "max_share_above": "above $threshold for at most $max_share_above of the records",
        }
        given = [words for name, words in limits.items() if asked.get(name) is not None]
        return f"The risk that a $attacker finds somebody by $qids is {', and '.join(given)}."


class ExpectPredictedSingletonsToBeAtMost(PrivacyExpectation):
    """Expect few people of a future group to be alone with their quasi-identifiers.

    The limit is compared with the upper end of the 95% interval of the prediction.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        group_size (int): The number of people in the group.
        max_singletons (float): The largest number of people who may be alone.
        max_fraction (float): The largest share of the group that may be alone.

    Other Parameters
    ----------------
        unit, missing, max_dropped_fraction, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    group_size: Whole = pydantic.Field(...)
    max_singletons: Number | None = None
    max_fraction: Number | None = None
    own_keys: ClassVar[tuple[str, ...]] = ("group_size", "max_singletons", "max_fraction")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @pydantic.root_validator(skip_on_failure=True)
    def _has_a_limit(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return _need_one(values, "max_singletons", "max_fraction")

    def budgets(self) -> list[Budget]:
        """Give the limits on the prediction."""
        limits = {False: self.max_singletons, True: self.max_fraction}
        return [
            Budget(
                "predicted_singletons",
                filled(limit),
                group_size=filled(self.group_size),
                as_fraction=as_fraction,
            )
            for as_fraction, limit in limits.items()
            if limit is not None
        ]

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:
        """Say what is expected."""
        limits = [
            "$max_singletons people" if asked.get("max_singletons") is not None else "",
            "$max_fraction of them" if asked.get("max_fraction") is not None else "",
        ]
        return (
            "In a group of $group_size people like these, at most "
            f"{' and '.join(filter(None, limits))} are alone with their $qids, also at the upper "
            "end of the 95% interval."
        )


class ExpectPopulationUniquenessToBeAtMost(PrivacyExpectation):
    """Expect few people of the population to be alone with their quasi-identifiers.

    The limit is compared with the upper end of the interval of the estimate.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        population_size (int): The number of people that the table is a sample of.
        max_fraction (float): The largest share of the population that may be unique.

    Other Parameters
    ----------------
        unit, missing, max_dropped_fraction, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    population_size: Whole = pydantic.Field(...)
    max_fraction: Number = pydantic.Field(...)
    own_keys: ClassVar[tuple[str, ...]] = ("population_size", "max_fraction")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    def budgets(self) -> list[Budget]:
        """Give the limit on the estimate."""
        return [
            Budget(
                "population_unique_fraction",
                filled(self.max_fraction),
                population_size=filled(self.population_size),
            )
        ]

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Say what is expected."""
        return (
            "At most $max_fraction of a population of $population_size are alone with their "
            "$qids, also at the upper end of what can be said."
        )
