"""Types for annotations: kinds of arrays, words that a caller may write, protocols.

A test compares the words with the checks of arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    # For type checkers alone: NumPy is not loaded before somebody counts.
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    Booleans: TypeAlias = NDArray[np.bool_]
    Complex: TypeAlias = NDArray[np.complex128]
    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]
    # The sizes of published classes, and by column how many of their records each label has.
    LossFunction: TypeAlias = Callable[[Integers, Mapping[Any, Integers]], float]

Missing: TypeAlias = Literal["value", "drop", "error"]
MissingOrWildcard: TypeAlias = Literal["value", "drop", "error", "wildcard"]
SuppressedAs: TypeAlias = Literal["value", "wildcard"]
Distance: TypeAlias = Literal["auto", "equal", "ordered", "hierarchical"]
Diversity: TypeAlias = Literal["distinct", "entropy", "recursive"]
Likeness: TypeAlias = Literal["basic", "enhanced"]
Draw: TypeAlias = Literal["auto", "subgroup", "replacement"]
Method: TypeAlias = Literal["exact", "kl"]
Law: TypeAlias = Literal["normal", "laplace", "uniform"]
Part: TypeAlias = Literal["day", "week", "month", "quarter", "half", "year", "decade"]
Cuts: TypeAlias = Literal["auto", "width", "quantile", "sampled", "rank", "median", "centre"]
PlanMethod: TypeAlias = Literal["full-domain", "multidimensional", "auto"]
Split: TypeAlias = Literal["gain", "median"]
Loss: TypeAlias = Literal["entropy", "range", "discernibility", "target", "private"]
ColumnLoss: TypeAlias = Literal["entropy", "range"]
PlanPicture: TypeAlias = Literal["path", "values"]
OnUnseen: TypeAlias = Literal["refuse", "suppress", "top"]
Points: TypeAlias = Literal["any", "consecutive"]
Alphabet: TypeAlias = Literal["hex", "base32", "base64url"]
Unlisted: TypeAlias = Literal["refuse", "quasi", "ignore"]
ScannedFormat: TypeAlias = Literal["csv", "parquet"]
Spill: TypeAlias = Literal["plain", "encrypted", "never"]
Model: TypeAlias = Literal[
    "auto",
    "dankar",
    "pitman",
    "zayatz",
    "snb",
    "poisson_gamma",
    "dis",
    "benedetti_franconi",
    "loglinear",
]


@runtime_checkable
class ChecksTables(Protocol):
    """A policy, as `anonrisk.apply` knows it."""

    def check(
        self, frame: Any, *, n_original: int | None = None, plan: Any = None, original: Any = None
    ) -> Any:
        """Compare a table with every budget."""


@runtime_checkable
class AssessesTables(Protocol):
    """A policy, as `anonrisk.assess` knows it."""

    def assess(self, frame: Any) -> Any:
        """Take every measure that the policy names."""


class GivesPrices(Protocol):
    """What made a plan, and can say what others would cost."""

    def prices(self, plan: Any, frame: Any, time_limit: float | None) -> Any:
        """Search what else a plan could keep to."""

    def attack(self, plan: Any, frame: Any, sensitive: Any) -> Any:
        """Measure what is learned by whoever knows how a plan is made."""

    def gap(self, plan: Any, frame: Any, sample: int | None, seed: int) -> Any:
        """Compare a plan by region with the least loss."""


@runtime_checkable
class StatesGoals(Protocol):
    """A policy, as `anonrisk.plan` knows it."""

    def plan_goals(self, frame: Any) -> Any:
        """Return what a plan for a table must keep to."""
