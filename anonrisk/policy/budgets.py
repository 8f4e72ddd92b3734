"""Budgets: what a policy allows, one limit each."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from anonrisk.errors import HierarchyError, PolicyError
from anonrisk.policy import fields
from anonrisk.policy.finding import AT_LEAST, SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anonrisk.core.columns import Qid

    Reader = Callable[[Any, str], Any]

ATTACKERS = ("prosecutor", "journalist", "marketer")
KINDS = ("distinct", "entropy", "recursive")
DISTANCES = ("equal", "ordered", "hierarchical")
# Budgets that need a sensitive column.
ABOUT_VALUES = ("ldiv", "tcloseness")


@dataclass(frozen=True)
class Budget:
    """One limit, with all that it takes to measure against it.

    Attributes
    ----------
    name : str
        The key of the policy, as ``"k"`` or ``"risk.prosecutor.highest"``.
    limit : int or float
        The least (`k`, `ldiv`) or the most (all others) that is allowed.
    severity : {"fail", "warn"}
        Whether a broken limit blocks a release or is only said.
    k : int, optional
        Of ``max_fraction_below_k``: the size below which a class is small.
    kind, c : optional
        Of ``ldiv``, as in `anonrisk.ldiv`.
    distance, order, hierarchy : optional
        Of ``tcloseness``, as in `anonrisk.tcloseness`; the distance is always named.
    sensitive : tuple of names, optional
        Of ``ldiv`` and ``tcloseness``: the columns it is about; left out, every sensitive one.
    threshold : float, optional
        Of ``risk.….share_above``.
    group_size : int, optional
        Of ``predicted_singletons``.
    as_fraction : bool
        Of ``predicted_singletons``: whether the limit is a share of the group, not a number.
    population_size : int, optional
        Of ``population_unique_fraction``.
    """

    name: str
    limit: float
    severity: str = "fail"
    k: int | None = None
    kind: str | None = None
    c: float | None = None
    distance: str | None = None
    order: tuple[Any, ...] | None = None
    hierarchy: Any = None
    sensitive: Qid | None = None
    threshold: float | None = None
    group_size: int | None = None
    as_fraction: bool = False
    population_size: int | None = None

    @property
    def at_least(self) -> bool:
        """Whether the limit is the least that is asked for, rather than the most."""
        return self.name in AT_LEAST

    @property
    def about_values(self) -> bool:
        """Whether it takes a sensitive column to measure."""
        return self.name in ABOUT_VALUES

    @property
    def measure(self) -> str:
        """What is measured, whatever the limit: budgets that agree in it share one number."""
        asked = {key: getattr(self, key) for key in ("kind", "c", "distance", "order", "hierarchy")}
        return json.dumps([self.name, asked], sort_keys=True, default=str)

    def to_dict(self) -> dict[str, Any]:
        """Give the mapping that a policy holds under the budget's key."""
        written: dict[str, Any] = {_limit_key(self): self.limit}
        for key in _OPTIONAL:
            value = getattr(self, key)
            if value is not None:
                written[key] = list(value) if isinstance(value, tuple) else value
        if self.severity != "fail":
            written["severity"] = self.severity
        return written

    def parameters(self) -> dict[str, Any]:
        """Say what was measured, without the values of an order or a hierarchy."""
        shown = {key: getattr(self, key) for key in _OPTIONAL if key not in _OF_VALUES}
        return {key: value for key, value in shown.items() if value is not None}


_OPTIONAL = (
    *("k", "kind", "c", "distance", "order", "hierarchy", "sensitive", "threshold"),
    *("group_size", "population_size"),
)
_OF_VALUES = ("order", "hierarchy", "sensitive")


def _limit_key(budget: Budget) -> str:
    if budget.as_fraction:
        return "at_most_fraction"
    return {"k": "at_least", "ldiv": "l", "tcloseness": "t"}.get(budget.name, "at_most")


# ---- reading ------------------------------------------------------------------------------------


def read(given: Any, where: str) -> tuple[Budget, ...]:
    """Read the budgets of one quasi-identifier."""
    _refuse_lower_bounds(given)
    document = fields.mapping(given, where, KEYS)
    found: list[Budget] = []
    for key, value in document.items():
        here = f"{where}.{key}"
        if key == "risk":
            found += _risk(value, here)
        else:
            found += [_READERS[key](one, here) for one in _each(value, here)]
    if not found:
        raise PolicyError(f"{where} holds no budget; there are {', '.join(KEYS)}")
    return tuple(found)


def _refuse_lower_bounds(given: Any) -> None:
    if isinstance(given, dict) and "rr" in given:
        raise PolicyError(
            "rr is a lower bound of the risk, so that no gate may use it; did you mean "
            "risk: {prosecutor: {average: …}}?"
        )


def _each(given: Any, where: str) -> list[Any]:
    """A budget may be written as a list: one limit that blocks and a stricter one that warns."""
    return fields.listed(given, where) if isinstance(given, (list, tuple)) else [given]


def _simple(name: str, limit: str, read_limit: Reader, given: Any, where: str) -> Budget:
    """Read a number, or a mapping of the limit and a severity."""
    if not isinstance(given, dict):
        return Budget(name, read_limit(given, where))
    document = _with_limit(given, where, (limit,), limit)
    return Budget(name, read_limit(document[limit], f"{where}.{limit}"), _severity(document, where))


def _with_limit(given: Any, where: str, keys: Iterable[str], *needed: str) -> dict[str, Any]:
    document = fields.mapping(given, where, (*keys, "severity"))
    for key in needed:
        if key not in document:
            raise PolicyError(f"{where} needs {key}")
    return document


def _severity(document: Mapping[str, Any], where: str) -> str:
    return fields.word(document.get("severity", "fail"), f"{where}.severity", SEVERITIES)


def _below_k(given: Any, where: str) -> Budget:
    document = _with_limit(given, where, ("k", "at_most"), "k", "at_most")
    return Budget(
        "max_fraction_below_k",
        fields.share(document["at_most"], f"{where}.at_most"),
        _severity(document, where),
        k=fields.whole(document["k"], f"{where}.k", at_least=2),
    )


def _ldiv(given: Any, where: str) -> Budget:
    document = _with_limit(given, where, ("l", "kind", "c", "sensitive"), "l")
    kind = fields.word(document.get("kind", "distinct"), f"{where}.kind", KINDS)
    if (kind == "recursive") != ("c" in document):
        raise PolicyError(f"{where}: kind 'recursive' and c belong together")
    at = f"{where}.l"
    limit = (
        fields.from_one(document["l"], at)
        if kind == "entropy"
        else fields.whole(document["l"], at, at_least=1)
    )
    c = fields.above_zero(document["c"], f"{where}.c") if kind == "recursive" else None
    about = _sensitive(document, where)
    return Budget("ldiv", limit, _severity(document, where), kind=kind, c=c, sensitive=about)


def _tcloseness(given: Any, where: str) -> Budget:
    keys = ("t", "distance", "order", "hierarchy", "sensitive")
    if isinstance(given, dict) and given.get("distance") == "auto":
        raise PolicyError(
            f"{where}.distance must be named in a policy: {', '.join(DISTANCES)}, not 'auto'"
        )
    document = _with_limit(given, where, keys, "t", "distance")
    distance = fields.word(document["distance"], f"{where}.distance", DISTANCES)
    if "order" in document and distance != "ordered":
        raise PolicyError(f"{where}.order has no use with distance {distance!r}")
    if ("hierarchy" in document) != (distance == "hierarchical"):
        raise PolicyError(f"{where}: distance 'hierarchical' and hierarchy belong together")
    return Budget(
        "tcloseness",
        fields.share(document["t"], f"{where}.t"),
        _severity(document, where),
        distance=distance,
        order=_order(document["order"], f"{where}.order") if "order" in document else None,
        hierarchy=_hierarchy(document.get("hierarchy"), f"{where}.hierarchy"),
        sensitive=_sensitive(document, where),
    )


def _order(given: Any, where: str) -> tuple[Any, ...]:
    values = fields.listed(given, where)
    if not all(isinstance(value, (str, int, float)) for value in values):
        raise PolicyError(f"{where} lists texts or numbers, from the smallest to the largest")
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise PolicyError(f"{where} lists a value that is not a number")
    if len(set(values)) < len(values):
        raise PolicyError(f"{where} names a value twice")
    return tuple(values)


def _hierarchy(given: Any, where: str) -> Any:
    if given is None:
        return None
    from anonrisk.core.hierarchy import Hierarchy

    # A path would make the policy's digest say nothing of the tree.
    if not isinstance(given, (dict, list)):
        raise PolicyError(f"{where} is a nested mapping or a list of rows, written out")
    try:
        Hierarchy.of(given)
    except HierarchyError as error:
        raise PolicyError(f"{where}: {error}") from None
    return _as_text(given)


def _as_text(tree: Any) -> Any:
    """Give a tree as JSON can hold it; its labels are compared as texts anyway."""
    from anonrisk.core.hierarchy import text_of

    if isinstance(tree, dict):
        return {text_of(label): _as_text(below) for label, below in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_as_text(label) for label in tree]
    return None if tree is None else text_of(tree)


def _sensitive(document: Mapping[str, Any], where: str) -> Qid | None:
    if "sensitive" not in document:
        return None
    return fields.names(document["sensitive"], f"{where}.sensitive")


def _predicted(given: Any, where: str) -> Budget:
    document = _with_limit(
        given, where, ("group_size", "at_most", "at_most_fraction"), "group_size"
    )
    as_fraction = "at_most_fraction" in document
    if as_fraction == ("at_most" in document):
        raise PolicyError(f"{where} needs at_most (persons) or at_most_fraction (a share): one")
    limit = (
        fields.share(document["at_most_fraction"], f"{where}.at_most_fraction")
        if as_fraction
        else fields.from_zero(document["at_most"], f"{where}.at_most")
    )
    size = fields.whole(document["group_size"], f"{where}.group_size", at_least=1)
    return Budget(
        "predicted_singletons",
        limit,
        _severity(document, where),
        group_size=size,
        as_fraction=as_fraction,
    )


def _population(given: Any, where: str) -> Budget:
    document = _with_limit(
        given, where, ("population_size", "at_most"), "population_size", "at_most"
    )
    return Budget(
        "population_unique_fraction",
        fields.share(document["at_most"], f"{where}.at_most"),
        _severity(document, where),
        population_size=fields.whole(
            document["population_size"], f"{where}.population_size", at_least=1
        ),
    )


def _risk(given: Any, where: str) -> list[Budget]:
    found: list[Budget] = []
    for attacker, limits in fields.mapping(given, where, ATTACKERS).items():
        here = f"{where}.{attacker}"
        # A marketer wants as many as possible, so that no single record is at most risk.
        keys = ("average",) if attacker == "marketer" else ("highest", "average", "share_above")
        stated = fields.mapping(limits, here, keys)
        if not stated:
            raise PolicyError(f"{here} holds no budget; there are {', '.join(keys)}")
        for key, value in stated.items():
            name, at = f"risk.{attacker}.{key}", f"{here}.{key}"
            for one in _each(value, at):
                if key == "share_above":
                    found.append(_share_above(name, one, at))
                else:
                    found.append(_simple(name, "at_most", fields.share, one, at))
    if not found:
        raise PolicyError(f"{where} holds no budget; there are {', '.join(ATTACKERS)}")
    return found


def _share_above(name: str, given: Any, where: str) -> Budget:
    document = _with_limit(given, where, ("threshold", "at_most"), "threshold", "at_most")
    return Budget(
        name,
        fields.share(document["at_most"], f"{where}.at_most"),
        _severity(document, where),
        threshold=fields.share(document["threshold"], f"{where}.threshold"),
    )


_READERS: dict[str, Callable[[Any, str], Budget]] = {
    "k": partial(_simple, "k", "at_least", partial(fields.whole, at_least=1)),
    "max_unique_fraction": partial(_simple, "max_unique_fraction", "at_most", fields.share),
    "max_unique_records": partial(
        _simple, "max_unique_records", "at_most", partial(fields.whole, at_least=0)
    ),
    "max_fraction_below_k": _below_k,
    "ldiv": _ldiv,
    "tcloseness": _tcloseness,
    "predicted_singletons": _predicted,
    "population_unique_fraction": _population,
    "max_suppressed": partial(_simple, "max_suppressed", "at_most", fields.share),
}
KEYS = (*_READERS, "risk")


# ---- writing ------------------------------------------------------------------------------------


def written(budgets: Iterable[Budget]) -> dict[str, Any]:
    """Give the mapping that `read` takes."""
    document: dict[str, Any] = {}
    for budget in budgets:
        *above, key = budget.name.split(".")
        place = document
        for step in above:
            place = place.setdefault(step, {})
        place.setdefault(key, []).append(budget.to_dict())
    _unlist(document)
    return document


def _unlist(document: dict[str, Any]) -> None:
    for key, value in document.items():
        if isinstance(value, dict):
            _unlist(value)
        elif len(value) == 1:
            document[key] = value[0]
