"""Budgets: what a policy allows, one limit each. Every file here but `base` is one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import skeleton
from anonrisk.errors import PolicyError
from anonrisk.policy import fields
from anonrisk.policy.budgets.base import ALSO_CALLED, SHARE, Budget, SensitiveBudget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "ALSO_CALLED",
    "BUDGETS",
    "Budget",
    "about_values",
    "at_least",
    "named",
    "of_shares",
    "read",
    "refuse_others",
    "schema",
    "shared_scores",
    "written",
]


# What is no budget under another name, as skeletons, and what to write instead.
_RISK = "write risk: {prosecutor: {highest: 0.2}}"
_MEASURED = "no budget judges it; df.anon.{} measures it"
_INSTEAD = {
    "rr": "rr is a lower bound of the risk, so that no gate may use it; did you mean "
    "risk: {prosecutor: {average: …}}?",
    **dict.fromkeys(
        ("risk", "prosecutorrisk", "reidentificationrisk", "maxrisk", "highestrisk", "maximumrisk"),
        _RISK,
    ),
    "averagerisk": "write risk: {prosecutor: {average: 0.2}}",
    "entropyldiversity": "write ldiv: {l: 2, variant: entropy}",
    "distinctldiversity": "write ldiv: 2",
    "recursivecldiversity": "write ldiv: {l: 2, variant: recursive, c: 2}",
    "recursiveldiversity": "write ldiv: {l: 2, variant: recursive, c: 2}",
    "alphakanonymity": _MEASURED.format("alpha"),
    "basicbetalikeness": _MEASURED.format("beta_likeness"),
    "betalikeness": _MEASURED.format("beta_likeness"),
    "enhancedbetalikeness": _MEASURED.format("beta_likeness"),
    "deltadisclosure": _MEASURED.format("delta_disclosure"),
    "deltadisclosureprivacy": _MEASURED.format("delta_disclosure"),
    "deltapresence": _MEASURED.format("delta_presence"),
    "kmap": _MEASURED.format("kmap"),
    **dict.fromkeys(
        ("epsilon", "differentialprivacy", "dp", "edp"),
        "differential privacy is of answers to questions, and no budget judges it of a table; "
        "write k: 5",
    ),
}


def _budget_of(name: str) -> type[Budget]:
    module = import_module(f"{__name__}.{name}")
    (kind,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Budget)
        and value.__module__ == module.__name__
    )
    return kind


BUDGETS: dict[str, type[Budget]] = {
    kind.key: kind
    for kind in (_budget_of(file.name) for file in iter_modules(__path__) if file.name != "base")
}


def named(name: str) -> type[Budget] | None:
    """Return the budget that a name in a verdict is of, as ``"risk.prosecutor.highest"``."""
    return next((kind for kind in BUDGETS.values() if kind.owns(name)), None)


def at_least(name: str) -> bool:
    """Return whether the limit of a name in a verdict is the least that is asked for."""
    kind = named(name)
    return kind is not None and kind.at_least


def about_values(name: str) -> bool:
    """Return whether a name in a verdict is of a budget on the values of a sensitive column."""
    kind = named(name)
    return kind is not None and kind.about_values


def of_shares(name: str) -> bool:
    """Return whether the numbers of a name in a verdict are shares of the people."""
    kind = named(name)
    return kind is not None and kind.keys.get("at_most") == SHARE


def shared_scores() -> dict[str, Any]:
    """Return the budgets on a sensitive column that one pass scores together."""
    return {
        key: list(kind.shared)
        for key, kind in BUDGETS.items()
        if issubclass(kind, SensitiveBudget) and kind.shared
    }


def read(argument: Any, where: str) -> tuple[Budget, ...]:
    """Read the budgets of one quasi-identifier."""
    if isinstance(argument, dict):
        refuse_others(argument, argument, where)
    document = fields.mapping(argument, where, BUDGETS, ALSO_CALLED)
    results = [
        b for key, value in document.items() for b in BUDGETS[key].read(value, f"{where}.{key}")
    ]
    if not results:
        raise PolicyError(f"{where} holds no budget; choose from {', '.join(BUDGETS)}")
    return tuple(results)


def refuse_others(keys: Iterable[Any], beside: Mapping[str, Any], where: str) -> None:
    """Reject what is no budget, and say what to write; `beside` is what budgets there are."""
    for key in keys:
        if key == "severity":
            name, value = next((item for item in beside.items() if item[0] in BUDGETS), ("k", 5))
            kind = BUDGETS[name]
            said = value if isinstance(value, dict) else {kind.limit_key: value}
            raise PolicyError(
                f"{where} has no key 'severity', which stands inside a budget: write "
                + kind.corrected(name, kind.keys, {**said, "severity": "warn"})
            )
        instead = _INSTEAD.get(skeleton(key)) if key not in BUDGETS else None
        if instead is not None:
            raise PolicyError(f"{where} has no key {key!r}: {instead}")


def written(budgets: Iterable[Budget]) -> dict[str, Any]:
    """Return the mapping that `read` takes."""
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


def schema(at: str) -> dict[str, Any]:
    """Return the JSON Schema of the budgets of one quasi-identifier, to stand `at` a path."""
    return {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {key: kind.schema(f"{at}/properties/{key}") for key, kind in BUDGETS.items()},
    }
