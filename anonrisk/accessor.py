"""`.anon`: every public function of a table as a method of the table."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

from anonrisk.api import (
    assess,
    at_risk,
    attributes,
    find_qids,
    linkability,
    plan,
    population,
    predict,
    probabilistic,
    pseudonymize,
    risk,
    roles,
    sizes,
    steps,
    suda,
    summary,
    trajectory,
    utility,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    sizes.k,
    sizes.uniqueness,
    sizes.classes,
    summary.summary,
    sizes.entropy,
    sizes.degree,
    sizes.anvc,
    sizes.rr,
    sizes.sizes,
    at_risk.at_risk,
    population.predict_population,
    risk.risk,
    risk.kmap,
    risk.delta_presence,
    attributes.ldiv,
    attributes.tcloseness,
    attributes.alpha,
    attributes.beta_likeness,
    attributes.delta_disclosure,
    attributes.profiles,
    assess.assess,
    predict.predict_singletons,
    predict.predict_classes,
    find_qids.find_qids,
    suda.suda,
    suda.explain_risk,
    probabilistic.probabilistic_k,
    probabilistic.is_quasi_identifier,
    plan.plan,
    plan.apply,
    steps.generalize,
    steps.suppress,
    steps.microaggregate,
    steps.perturb,
    steps.permute,
    steps.was_perturbed,
    utility.utility,
    trajectory.trajectory,
    linkability.linkability,
    pseudonymize.pseudonymize,
    roles.declare,
    roles.roles,
)


class AnonAccessor:
    """How many people in this table can be singled out; see the functions of `anonrisk`."""

    def __init__(self, frame: Any) -> None:
        """Keep the table; nothing is looked at before a question is asked."""
        self._frame = frame

    def __dir__(self) -> list[str]:
        """Complete to the questions only."""
        return [function.__name__ for function in FUNCTIONS]


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def method(self: AnonAccessor, *args: Any, **kwargs: Any) -> Any:
        return function(self._frame, *args, **kwargs)

    signature = inspect.signature(function)
    frame, *rest = signature.parameters.values()
    own = frame.replace(name="self", annotation=inspect.Parameter.empty)
    method.__signature__ = signature.replace(parameters=[own, *rest])  # type: ignore[attr-defined]
    return method


for _function in FUNCTIONS:
    setattr(AnonAccessor, _function.__name__, _bound(_function))
