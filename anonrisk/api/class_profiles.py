"""What `profiles` gives: value counts by kind of class, with every measure of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from anonrisk.core.arguments import one_of, positive
from anonrisk.counts.class_profiles import ValueCounts
from anonrisk.errors import ArgumentError
from anonrisk.measures import alpha, beta_likeness, delta_disclosure
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from anonrisk.core.literals import Diversity, Likeness


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClassProfiles(ValueCounts):
    """The value counts of every kind of class, and the measures of the worst class.

    Attributes are those of `anonrisk.counts.class_profiles.ValueCounts`.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": ["flu", "cold", "flu", "flu"]})
    >>> profiles = df.anon.profiles("zip", "illness")
    >>> profiles.ldiv(), profiles.tcloseness("equal"), profiles.alpha()
    (1, 0.25, 1.0)
    """

    @classmethod
    def of(cls, counted: ValueCounts) -> Self:
        """Give the same counts as an object of this class."""
        return cls(**{name: getattr(counted, name) for name in counted.__dataclass_fields__})

    def ldiv(self, kind: Diversity = "distinct", *, c: float | None = None) -> float:
        """l-diversity of the worst class; see `anonrisk.ldiv`."""
        if kind != "recursive" and c is not None:
            raise ArgumentError("c belongs to kind='recursive'")
        one_of(kind, "kind", ("distinct", "entropy", "recursive"))
        return FORMULAS[kind].worst(self, positive(c, "c") if kind == "recursive" else None)

    def tcloseness(self, distance: str) -> float:
        """t-closeness of the worst class; see `anonrisk.tcloseness`."""
        known = {"equal": True, "ordered": self.ordered, "hierarchical": self.levels is not None}
        if not known.get(distance):
            raise ArgumentError(f"distance={distance!r} is not among what these profiles know")
        return FORMULAS[distance].worst(self)

    def alpha(self) -> float:
        """Largest share that one value has of a class."""
        return alpha.ALPHA.worst(self)

    def beta_likeness(self, kind: Likeness = "basic") -> float:
        """Largest relative gain of a value; see `anonrisk.beta_likeness`."""
        one_of(kind, "kind", ("basic", "enhanced"))
        return (beta_likeness.BASIC if kind == "basic" else beta_likeness.ENHANCED).worst(self)

    def delta_disclosure(self, *, strict: bool = False) -> float:
        """Largest ``|ln(p/q)|``; see `anonrisk.delta_disclosure`."""
        return (delta_disclosure.STRICT if strict else delta_disclosure.PRESENT).worst(self)

    def classification_metric(self) -> float:
        """Share of the records whose value is not the commonest of their class (T8)."""
        most = np.maximum.reduceat(self.counts, self.starts[:-1])
        minority = int(((self.totals - most) * self.classes).sum())
        return minority / int((self.totals * self.classes).sum())
