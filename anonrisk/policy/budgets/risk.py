"""`risk`: what a prosecutor, a journalist or a marketer may reach."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.errors import PolicyError, RoleConflictError
from anonrisk.measures.risk import Risk, of_release
from anonrisk.policy import fields
from anonrisk.policy.budgets import base
from anonrisk.policy.budgets.max_suppressed import MARKED, NOT_LOOKED_FOR, removed
from anonrisk.policy.evidence import Problem, as_given, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.policy.evidence import Context
    from anonrisk.predict.sample_risk import Sampling

# A marketer wants as many as possible, so that no single record is at most risk.
ATTACKERS = {
    "prosecutor": ("highest", "average", "share_above"),
    "journalist": ("highest", "average", "share_above"),
    "marketer": ("average",),
}


# Whom a journalist or marketer looks among is not known: the table's own people are the fewest.
_NOBODY = "nothing is known of a population"
# What is said of a table that is a sample, as a policy and its expectations have it.
OF_SAMPLE = ("sampling_fraction", "population_size", "unsuppressed")


def sampling_said(context: Context) -> Sampling:
    """Read what is said of the draw; the people of a group are not counted."""
    from anonrisk.predict.sample_risk import Sampling

    grouped = context.by is not None and context.unsuppressed
    people = None if grouped else context.population_size
    return Sampling(context.sampling_fraction, people, context.unsuppressed)


def _contradicted(seen: base.Seen) -> Problem | None:
    """Find what else is known of the table and makes `unsuppressed` untrue."""
    known = removed(seen.evidence, seen.context)
    if known is None or isinstance(known, Problem):
        return known
    return Problem(f"the policy says unsuppressed, which does not fit: {known}")


def against_others(frame: Any, engine: Engine, qid: Qid, context: Context) -> Risk:  # noqa: ARG001
    """Measure against a population or sampling weights."""
    from anonrisk.api.risk import risk

    if context.by is not None:
        raise RoleConflictError("by is not taken together with a population or sampling weights")
    return risk(
        frame,
        [name for name in qid if name != context.weight],
        context.population,
        weight=context.weight if context.population is None else None,
        unit=context.unit,
        missing=context.missing,
    )


def with_weight(risk: Risk, sizes: ClassCounts) -> Risk:
    """Take the classes of a table in which the weight is published, and so a quasi-identifier."""
    from anonrisk.predict.sample_risk import SampledRisk, of_unequal

    if isinstance(risk, SampledRisk) and risk.basis == "weights":
        return of_unequal(sizes, risk.model)
    return risk


def _says(asked: Mapping[str, Any]) -> str:
    limits = {
        "max_highest": "at most $max_highest for any record",
        "max_average": "at most $max_average on average",
        "max_share_above": "above $threshold for at most $max_share_above of the records",
    }
    values = [limit for name, limit in limits.items() if asked.get(name) is not None]
    return f"The risk that a $attacker finds somebody by $qids is {', and '.join(values)}."


def _refuse_number(value: Any, where: str, said: str) -> None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        limit = fields.readable(value, fields.share, RiskBudget.example)
        raise PolicyError(f"{where}: {value:g} alone does not say {said}{limit}}}}}")


def _keys(measure: str) -> dict[str, base.BudgetKey]:
    above = {"threshold": base.SHARE} if measure == "share_above" else {}
    return {**above, "at_most": base.SHARE}


def _field(key: str, about: str, kind: str = "share") -> base.Field:
    return base.Field(key, about, kind, required=False)


@dataclass(frozen=True, kw_only=True)
class RiskBudget(base.SizeBudget):
    """The highest or average risk from an attacker, or the share of records above a `threshold`."""

    key = "risk"
    keys = {"at_most": base.SHARE, "threshold": base.SHARE}
    annotation = "dict[str, Any]"
    expectation = base.Expectation(
        "ExpectReidentificationRiskToBeAtMost",
        "Expect the risk of re-identification by one attacker to be small.",
        _says,
        "risk",
        'qids=["zip"], attacker="prosecutor", max_highest=0.2',
    )
    expectation_fields = {
        "attacker": base.Field(
            "attacker", '("prosecutor", "journalist", "marketer"): Whose risk.', tuple(ATTACKERS)
        ),
        "max_highest": _field("highest", "(float): The largest risk of a single record."),
        "max_average": _field(
            "average", "(float): The largest average risk; the only one that a marketer has."
        ),
        "max_share_above": _field(
            "share_above",
            "(float): The largest share of records whose risk is above `threshold`.",
        ),
        "threshold": _field("threshold", "(float): See `max_share_above`."),
        "sampling_fraction": _field(
            "sampling_fraction",
            "(float): The share of the population that was drawn into the table, for journalist "
            "and marketer; left out, the table is taken to be the population.",
        ),
        "population_size": _field(
            "population_size", "(int): The number of people in that population.", "number"
        ),
        "unsuppressed": _field(
            "unsuppressed", "(bool): Whether no record was removed after the draw.", "flag"
        ),
    }

    attacker: str
    measure: str
    threshold: float | None = None

    @property
    def name(self) -> str:
        """The path of keys in the policy."""
        return f"{self.key}.{self.attacker}.{self.measure}"

    @classmethod
    def owns(cls, name: str) -> bool:
        """Return whether a name is such a path."""
        return name.startswith(f"{cls.key}.")

    @classmethod
    def read(cls, argument: Any, where: str) -> list[base.Budget]:
        """Read the limits of every attacker."""
        results: list[base.Budget] = []
        _refuse_number(argument, where, f"whose risk it is: {cls.key}: {{prosecutor: {{highest: ")
        for attacker, limits in fields.mapping(argument, where, ATTACKERS).items():
            here, measures = f"{where}.{attacker}", ATTACKERS[attacker]
            _refuse_number(limits, here, f"which risk: {cls.key}: {{{attacker}: {{{measures[0]}: ")
            stated = fields.mapping(limits, here, measures)
            if not stated:
                raise PolicyError(f"{here} holds no budget; choose from {', '.join(measures)}")
            for measure, value in stated.items():
                at, keys = f"{here}.{measure}", _keys(measure)
                results += [
                    cls(
                        attacker=attacker,
                        measure=measure,
                        **cls.read_keys(item, at, keys, bare=len(keys) == 1),
                    )
                    for item in base.each(value, at)
                ]
        if not results:
            raise PolicyError(f"{where} holds no budget; choose from {', '.join(ATTACKERS)}")
        return results

    @classmethod
    def schema(cls, at: str) -> dict[str, Any]:
        """Return the JSON Schema of the limits of every attacker."""

        def of(properties: dict[str, Any]) -> dict[str, Any]:
            mapping = {"type": "object", "additionalProperties": False, "minProperties": 1}
            return {**mapping, "properties": properties}

        def of_measure(attacker: str, measure: str) -> dict[str, Any]:
            keys = _keys(measure)
            here = f"{at}/properties/{attacker}/properties/{measure}"
            return cls.schema_of(here, keys, bare=len(keys) == 1)

        return of(
            {
                attacker: of({measure: of_measure(attacker, measure) for measure in measures})
                for attacker, measures in ATTACKERS.items()
            }
        )

    def need(self, context: Context) -> base.Need | None:
        """Measure against others, where there are some; a prosecutor needs none."""
        if self.attacker == "prosecutor":
            return None
        if context.population is not None or context.weight is not None:
            return base.Need("risk", against_others)
        return MARKED if context.unsuppressed and context.suppressed is not None else None

    def value(self, seen: base.Seen) -> base.Value | Problem:
        """Take the risk from the attacker."""
        from anonrisk.predict.sample_risk import SampledRisk, Sampling, of_sample

        risk = seen.evidence.apart.get("risk") if self.attacker != "prosecutor" else None
        if isinstance(risk, Problem):
            return risk
        if risk is None:
            sampling = sampling_said(seen.context) if self.attacker != "prosecutor" else Sampling()
            untrue = _contradicted(seen) if sampling.unsuppressed else None
            if untrue is not None:
                return untrue
            known = sampling.known
            risk = of_sample(seen.sizes, sampling) if known else of_release(seen.sizes)
        risk = with_weight(risk, seen.sizes)
        who = getattr(risk, self.attacker)
        if self.measure == "share_above":
            share_interval = who.share_interval(self.threshold)
        else:
            share_interval = getattr(who, f"{self.measure}_interval")
        if not isinstance(risk, SampledRisk):
            unknown = self.attacker != "prosecutor" and risk.basis == "release"
            return base.Value(share_interval.high, note=_NOBODY if unknown else "")
        return base.Value(share_interval.high, share_interval.low, risk.assumes)

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how large the risk is, or how many have a larger one."""
        low, rests_on = value.estimate, f" ({value.note})" if value.note else ""
        most = "at most " if value.note == _NOBODY else ""
        if self.measure == "share_above":
            least = most.capitalize() if low is None else f"From {percent(low)} to "
            return (
                f"{least}{percent(value.number, self.limit)} of the {subject.who}s have a risk "
                f"above {as_given(self.threshold or 0.0)} from a {self.attacker}{rests_on}; "
                f"at most {as_given(self.limit)} may"
            )
        least = most if low is None else f"from {percent(low)} to "
        return (
            f"The {self.measure} risk from a {self.attacker} is {least}"
            f"{percent(value.number, self.limit)}{rests_on}; "
            f"at most {as_given(self.limit)} is allowed"
        )

    @property
    def worst(self) -> float:
        """Certainty; nobody is above a threshold that is certainty itself."""
        return 0.0 if self.threshold is not None and self.threshold >= 1 else 1.0

    @property
    def likely_meaning(self) -> str:
        """No risk is larger than certainty."""
        if self.threshold is not None and self.threshold >= 1:
            return "no risk is above a threshold of 1; 20% is 0.2"
        if self.threshold is not None:
            return super().likely_meaning
        return "1 is certainty; 9% is 0.09"

    @classmethod
    def enough_k(cls, limit: float, parameters: Mapping[str, Any]) -> int | None:
        """Return the k whose risk, at most 1 / k, is the limit or the threshold."""
        most = parameters.get("threshold", limit)
        # A hair, so that 1 / 0.2 is five.
        return math.ceil(1 / most * (1 - 1e-9)) if most else None

    def needed_k(self, context: Context) -> int | None:
        """Return the k of the highest risk, of attackers who look among the table's own people."""
        others = self.attacker != "prosecutor" and (
            sampling_said(context).known or self.need(context) is not None
        )
        if others:
            return None
        if self.measure == "highest":
            return self.enough_k(self.limit, self.parameters())
        return super().needed_k(context)

    def assessed(self) -> dict[str, Any]:
        """Take the risk, if it is the prosecutor's."""
        names = {"highest": "highest_risk", "average": "average_risk"}
        asked = self.attacker == "prosecutor" and self.measure in names
        return {"measures": names[self.measure]} if asked else {}

    @classmethod
    def limits(cls, value: Mapping[str, Any], severity: str) -> dict[str, Any]:
        """Return the limits of one attacker."""
        if (value["max_share_above"] is None) != (value["threshold"] is None):
            raise PolicyError("max_share_above and threshold belong together")
        said = [key for key in OF_SAMPLE if value[key] is not None]
        if value["attacker"] == "prosecutor" and said:
            raise PolicyError(f"the prosecutor knows who is in the table: {said[0]} is of no use")
        results: dict[str, Any] = {
            measure: {"at_most": value[f"max_{measure}"], "severity": severity}
            for measure in ATTACKERS["prosecutor"]
            if value[f"max_{measure}"] is not None
        }
        if "share_above" in results:
            results["share_above"]["threshold"] = value["threshold"]
        return {cls.key: {value["attacker"]: results}} if results else {}

    def expected(self, context: Context) -> dict[str, Any]:
        """Return the limit in the field of its measure."""
        own = {"attacker": self.attacker, f"max_{self.measure}": self.limit}
        own["threshold"] = self.threshold
        if self.attacker != "prosecutor":
            own |= {key: getattr(context, key) or None for key in OF_SAMPLE}
        return own

    def not_expected(self, context: Context) -> str | None:
        """Return the sentence that an expectation knows neither weights nor suppressed cells."""
        if self.attacker == "prosecutor":
            return None
        if context.weight is not None:
            return " by sampling weights: give a sampling_fraction instead"
        if context.unsuppressed and context.suppressed is not None:
            return f" with unsuppressed{NOT_LOOKED_FOR}"
        return None
