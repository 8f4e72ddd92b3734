"""`.anon`: every public function of a table as a method of the table.

Type checkers read `accessor.pyi`, which ``python3 dev.py stubs`` writes from the functions.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic

from anonrisk.api.alpha import alpha
from anonrisk.api.anvc import anvc
from anonrisk.api.apply import apply
from anonrisk.api.assess import assess
from anonrisk.api.at_risk import at_risk
from anonrisk.api.beta_likeness import beta_likeness
from anonrisk.api.box_plot import box_plot
from anonrisk.api.classes import classes
from anonrisk.api.declare import declare
from anonrisk.api.degree import degree
from anonrisk.api.delta_disclosure import delta_disclosure
from anonrisk.api.delta_presence import delta_presence
from anonrisk.api.entropy import entropy
from anonrisk.api.explain_risk import explain_risk
from anonrisk.api.find_qids import find_qids
from anonrisk.api.generalize import generalize
from anonrisk.api.is_quasi_identifier import is_quasi_identifier
from anonrisk.api.k import k
from anonrisk.api.kl_after import kl_after
from anonrisk.api.kmap import kmap
from anonrisk.api.ldiv import ldiv
from anonrisk.api.linkability import linkability
from anonrisk.api.microaggregate import microaggregate
from anonrisk.api.permute import permute
from anonrisk.api.perturb import perturb
from anonrisk.api.plan import plan
from anonrisk.api.predict_classes import predict_classes
from anonrisk.api.predict_population import predict_population
from anonrisk.api.predict_singletons import predict_singletons
from anonrisk.api.probabilistic_k import probabilistic_k
from anonrisk.api.profiles import profiles
from anonrisk.api.pseudonymize import pseudonymize
from anonrisk.api.risk import risk
from anonrisk.api.roles import roles
from anonrisk.api.rr import rr
from anonrisk.api.sizes import sizes
from anonrisk.api.suda import suda
from anonrisk.api.summary import summary
from anonrisk.api.suppress import suppress
from anonrisk.api.tcloseness import tcloseness
from anonrisk.api.trajectory import trajectory
from anonrisk.api.uniqueness import uniqueness
from anonrisk.api.utility import utility
from anonrisk.api.was_perturbed import was_perturbed
from anonrisk.core.columns import FrameT

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: tuple[Callable[..., Any], ...] = (
    k,
    uniqueness,
    classes,
    summary,
    box_plot,
    entropy,
    degree,
    anvc,
    rr,
    kl_after,
    sizes,
    at_risk,
    predict_population,
    risk,
    kmap,
    delta_presence,
    ldiv,
    tcloseness,
    alpha,
    beta_likeness,
    delta_disclosure,
    profiles,
    assess,
    predict_singletons,
    predict_classes,
    find_qids,
    suda,
    explain_risk,
    probabilistic_k,
    is_quasi_identifier,
    plan,
    apply,
    generalize,
    suppress,
    microaggregate,
    perturb,
    permute,
    was_perturbed,
    utility,
    trajectory,
    linkability,
    pseudonymize,
    declare,
    roles,
)


class AnonAccessor(Generic[FrameT]):
    """How many people in this table can be singled out; see the functions of `anonrisk`."""

    def __init__(self, frame: FrameT) -> None:
        """Keep the table; nothing is looked at before a question is asked."""
        self._frame = frame

    def __dir__(self) -> list[str]:
        """Complete to the questions only."""
        return [function.__name__ for function in FUNCTIONS]


def anon(frame: FrameT) -> AnonAccessor[FrameT]:
    """Give what a table has as `.anon`, in a way that a type checker can follow.

    Tables that have no `.anon`, such as relations of DuckDB, have this.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take.

    Returns
    -------
    AnonAccessor
        With every function of a table as a method.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> anonrisk.anon(df).k("zip") == df.anon.k("zip") == 1
    True
    """
    return AnonAccessor(frame)


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def method(self: AnonAccessor[Any], *args: Any, **kwargs: Any) -> Any:
        return function(self._frame, *args, **kwargs)

    signature = inspect.signature(function)
    frame, *rest = signature.parameters.values()
    own = frame.replace(name="self", annotation=inspect.Parameter.empty)
    method.__signature__ = signature.replace(parameters=[own, *rest])  # type: ignore[attr-defined]
    return method


for _function in FUNCTIONS:
    setattr(AnonAccessor, _function.__name__, _bound(_function))
