"""Expectations about the sizes of classes: who is alone, at which risk, here or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from great_expectations.compatibility import pydantic

from anonrisk.gx.base import COMMON, PrivacyExpectation
from anonrisk.gx.fields import Number, need_one

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExpectKAnonymityToBeAtLeast(PrivacyExpectation):
    """Expect every record to share its quasi-identifiers with enough others.

    Args:
        qids (str or list of str): The columns that together may single somebody out.
        k (int): The least size of a class.

    Other Parameters
    ----------------
        every_subset_of (int): Check every so many of the columns; the worst subset decides.
        unit (str): The column that says which person a row belongs to.
        missing ("value", "drop", "error"): What a missing quasi-identifier means.
        max_dropped_fraction (float): With missing="drop", the most rows that may be left out.
        dropped_are_removed (bool): Whether those rows are removed before publication.
        unlisted ("quasi"), classified (list of str): Columns of the batch that are not classified
            join the quasi-identifier.
        row_condition: Which rows to look at.
    """

    k: Number = pydantic.Field(...)
    own_keys: ClassVar[tuple[str, ...]] = ("k",)
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limit on the smallest class."""
        return {"k": {"at_least": given["k"], "severity": severity}}

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
        every_subset_of, unit, missing, max_dropped_fraction, dropped_are_removed, unlisted,
        classified, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    max_unique_fraction: Number | None = None
    max_unique_records: Number | None = None
    own_keys: ClassVar[tuple[str, ...]] = ("max_unique_fraction", "max_unique_records")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limits on singletons."""
        need_one(given, cls.own_keys)
        return {
            name: {"at_most": given[name], "severity": severity}
            for name in cls.own_keys
            if given[name] is not None
        }

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
        every_subset_of, unit, missing, max_dropped_fraction, dropped_are_removed, unlisted,
        classified, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    k: Number = pydantic.Field(...)
    max_fraction_below_k: Number = pydantic.Field(...)
    own_keys: ClassVar[tuple[str, ...]] = ("k", "max_fraction_below_k")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limit on records in small classes."""
        limit = {"k": given["k"], "at_most": given["max_fraction_below_k"], "severity": severity}
        return {"max_fraction_below_k": limit}

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
        every_subset_of, unit, missing, max_dropped_fraction, dropped_are_removed, unlisted,
        classified, row_condition: As in ExpectKAnonymityToBeAtLeast.
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

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limits on risk."""
        need_one(given, ("max_highest", "max_average", "max_share_above"))
        if (given["max_share_above"] is None) != (given["threshold"] is None):
            raise ValueError("max_share_above and threshold belong together")
        if given["attacker"] == "prosecutor" and given["sampling_fraction"] is not None:
            raise ValueError(
                "the prosecutor knows who is in the table: sampling_fraction is of no use"
            )
        found = {
            measure: {"at_most": given[f"max_{measure}"], "severity": severity}
            for measure in ("highest", "average", "share_above")
            if given[f"max_{measure}"] is not None
        }
        if "share_above" in found:
            found["share_above"]["threshold"] = given["threshold"]
        return {"risk": {given["attacker"]: found}}

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
        every_subset_of, unit, missing, max_dropped_fraction, dropped_are_removed, unlisted,
        classified, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    group_size: Number = pydantic.Field(...)
    max_singletons: Number | None = None
    max_fraction: Number | None = None
    own_keys: ClassVar[tuple[str, ...]] = ("group_size", "max_singletons", "max_fraction")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limits on the prediction."""
        keys = {"max_singletons": "at_most", "max_fraction": "at_most_fraction"}
        need_one(given, keys)
        return {
            "predicted_singletons": [
                {"group_size": given["group_size"], key: given[name], "severity": severity}
                for name, key in keys.items()
                if given[name] is not None
            ]
        }

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
        every_subset_of, unit, missing, max_dropped_fraction, dropped_are_removed, unlisted,
        classified, row_condition: As in ExpectKAnonymityToBeAtLeast.
    """

    population_size: Number = pydantic.Field(...)
    max_fraction: Number = pydantic.Field(...)
    own_keys: ClassVar[tuple[str, ...]] = ("population_size", "max_fraction")
    success_keys: ClassVar[tuple[str, ...]] = (*COMMON, *own_keys)

    @classmethod
    def limits(cls, given: dict[str, Any], severity: str) -> dict[str, Any]:
        """Give the limit on the estimate."""
        return {
            "population_unique_fraction": {
                "population_size": given["population_size"],
                "at_most": given["max_fraction"],
                "severity": severity,
            }
        }

    @classmethod
    def says(cls, asked: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Say what is expected."""
        return (
            "At most $max_fraction of a population of $population_size are alone with their "
            "$qids, also at the upper end of what can be said."
        )
